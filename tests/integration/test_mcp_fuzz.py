#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp_fuzz.py - requests of HTTP and JSON-RPC, broken at random: each has an answer or none, the next has one

The seed is fixed: a failure comes again. MCP_FUZZ=SEED:COUNT tries others, for as long as one likes.
"""
import json
import os
import random
import socket
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mcp_http_scene import Web  # noqa: E402
from test_mcp import META, MODERN, PATIENCE, Case  # noqa: E402

SEED, COUNT = map(int, os.environ.get("MCP_FUZZ", "20260728:300").split(":"))
TOOLS = (("python", {"code": "1 + 1", "timeout": 5}), ("open_session", {}), ("close_session", {"session": "x"}),
         ("list_sessions", {}), ("rollback", {"session": "x", "state": 1}), ("branch", {"session": "x"}),
         ("python", {"code": "'\ud800'"}), ("put_file", {"session": "x", "path": "a/b", "base64": "AAAA"}),
         ("put_file", {"session": "x", "path": "\udc80", "text": "\ud800"}), ("get_file", {"session": "x", "path": "a"}),
         ("list_files", {"session": "x", "path": "."}))
CORPUS = [
    *({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": name, "arguments": arguments, "_meta": {**MODERN, "progressToken": 1,
                                                        META + "clientInfo": {"name": "n", "version": "v"}}}}
      for name, arguments in TOOLS),
    *({"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": MODERN}}
      for method in ("server/discover", "tools/list", "ping", "initialize")),
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "v"}}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "r"}},
    {"jsonrpc": "2.0", "id": 1, "result": {}},
]
VALUES = (None, True, -1, 0, 2 ** 64, 10 ** 400, 1e308, -0.0, "", "\0", "\ud800", "\u202e", "x" * 70000,
          "../../etc", [], {}, [[]] * 1000, {"": {}}, "2026-07-28", "__class__", {"name": 5}, [1, "2"], 0.5)
PIECES = (b"\r\n", b"\n", b"\r", b"\0", b":", b" ", b"\t", b",", b"\xff\xfe", b"\xf0\x9f", b"[" * 3000, b"9" * 5000,
          b'"', b"HTTP/9.9", b"Content-Length: 99999999999\r\n", b"Transfer-Encoding: chunked\r\n",
          b"Expect: 100-continue\r\n", b"Mcp-Session-Id: \xe4\r\n", b"Host: x\r\n", b"POST /mcp HTTP/1.1\r\n", b"A: " + b"b" * 20000, b"=?base64?*?=")


def broken_value(chance, value):
    """A value of JSON with a node or more that is another."""
    if chance.random() < 0.12:
        return chance.choice(VALUES)
    if isinstance(value, dict):
        items = [(key if chance.random() > 0.03 else chance.choice(("", "id", "method", "_meta", "\0")),
                  broken_value(chance, one)) for key, one in value.items() if chance.random() > 0.04]
        return dict(items)
    return value


def broken_bytes(chance, data):
    data = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        way = chance.randrange(5)
        if way == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif way == 1:
            del data[at:at + chance.choice((1, 2, 50))]
        elif way == 2:
            data[at:at] = chance.choice(PIECES)
        elif way == 3:
            data[at:at] = data[at:at + chance.randrange(200)]
        else:
            del data[at:]
    return bytes(data)


class Lines(Case):
    def test_lines(self):
        chance = random.Random(SEED)
        client = self.start("--transcripts", "no", "--sessions", "3")
        for n in range(COUNT):
            line = json.dumps(broken_value(chance, chance.choice(CORPUS))).encode()
            client.raw(broken_bytes(chance, line).replace(b"\n", b" ") + b"\n")
            client.say({"jsonrpc": "2.0", "id": f"alive {n}", "method": "ping"})
            while client.next().get("id") != f"alive {n}":
                pass
        client.process.stdin.close()
        while client.process.stdout.read(1 << 16):
            pass
        self.assertEqual(client.process.wait(PATIENCE), 0)
        self.assertEqual(client.process.stderr.read(), b"")


class Requests(Web):
    options = "--transcripts", "no", "--sessions", "3"

    def head(self, chance, message, body):
        params = message.get("params")
        lines = [f"POST /mcp HTTP/1.{chance.choice('011')}", f"Host: {self.host}:{self.port}",
                 f"Authorization: Bearer {self.words[0]}", "Content-Type: application/json",
                 "Accept: application/json, text/event-stream", f"Content-Length: {len(body)}"]
        if isinstance(params, dict) and "_meta" in params:
            lines += ["MCP-Protocol-Version: 2026-07-28", f"Mcp-Method: {message.get('method')}",
                      f"Mcp-Name: {params.get('name')}"]
        else:
            lines += [f"Mcp-Session-Id: {chance.choice((self.session, 'x'))}"]
        return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"

    def test_requests(self):
        chance = random.Random(SEED)
        self.session = self.begin()["Mcp-Session-Id"]
        statuses = set()
        for n in range(COUNT):
            message = chance.choice(CORPUS)
            whole = chance.random() < 0.5  # then the body alone is broken
            body = json.dumps(broken_value(chance, message)).encode()
            body = body if chance.random() < 0.5 else broken_bytes(chance, body)
            data = self.head(chance, message, body) + body
            statuses.add(self.fling(data if whole else broken_bytes(chance, data)))
            if n % 10 == 9:
                self.assertEqual(self.ask(*self.modern("tools/list"))[0], 200)
        self.assertLessEqual({b"200", b"400", b"401", b"403", b"404", b"411"}, statuses)
        self.assertFalse({status for status in statuses if status[:1] == b"5"} - {b"505"}, statuses)
        self.assertEqual(self.good("list_sessions", client=1)["sessions"], [])
        self.stop()

    def fling(self, data):
        """The status of the first answer, b"" where there is none."""
        got = b""
        with socket.create_connection((self.host, int(self.port)), PATIENCE) as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while more := connection.recv(1 << 16):
                    got += more
            except (ConnectionError, BrokenPipeError):
                pass
        self.assertTrue(not got or got.startswith(b"HTTP/1.1 "), got[:200])
        return got[9:12]


if __name__ == "__main__":
    unittest.main()
