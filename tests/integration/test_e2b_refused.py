#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_e2b_refused.py - stepjail-mcp --e2b: requests that are wrong or hostile, each of which has an answer"""
import json
import os
import random
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2b_scene import JSON, KEYS, STREAM, Answer, Scene  # noqa: E402
from python_scene import FOLDER, MCP  # noqa: E402
from test_mcp import PATIENCE  # noqa: E402

SEED, COUNT = map(int, os.environ.get("E2B_FUZZ", "251:250").split(":"))
BODIES = (b"{", b"[]", b"5", b"null", b'"x"', b"\xff", b'{"a": NaN}', b'{"a": "\\ud800"}', b"[" * 100000,
          b'{"a":' * 50000, b"9" * 100000, b"\0", b"{}{}", b"\x0a\x05hello\x12\x00\xff", b'{"a": 1e999}',
          b'{"a": "\xed\xa0\x80"}', b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}", b'{"a": [' + b"[]," * 100000 + b"1]}",
          '{"a": 1}'.encode("utf-16"))
VALUES = (None, True, -1, 0, 2 ** 64, 10 ** 400, 1e308, "", "\0", "\u202e", "x" * 70000, "../../etc", [], {},
          [[]] * 1000, {"": {}}, "__class__", {"name": 5}, [1, "2"], 0.5)
CALLS = (("/v2/sandboxes/SANDBOX/connect", {"timeout": 60}), ("/sandboxes/SANDBOX/timeout", {"timeout": 60}),
         ("/execute", {"code": "1", "context_id": "default", "language": "python", "env_vars": {"A": "b"}}),
         ("/contexts", {"language": "python", "cwd": "/home/user"}), ("/contexts/default/restart", {}),
         *((f"/filesystem.Filesystem/{name}", body) for name, body in (
             ("Stat", {"path": "a"}), ("ListDir", {"path": "a", "depth": 2}), ("MakeDir", {"path": "b"}),
             ("Move", {"source": "a", "destination": "b"}), ("Remove", {"path": "a"}))),
         ("/process.Process/List", {}), ("/process.Process/SendSignal", {"process": {"pid": 1}, "signal": 9}),
         ("/process.Process/SendInput", {"process": {"tag": "x"}, "input": {"stdin": "eA=="}}))
STREAMS = (("/process.Process/Start", {"process": {"cmd": "/bin/bash", "args": ["-c", "x"], "envs": {}, "cwd": "a"}}),
           ("/process.Process/Connect", {"process": {"pid": 1}}), ("/filesystem.Filesystem/WatchDir", {"path": "a"}))


class Hostile(Scene):
    def setUp(self):
        super().setUp()
        self.sandbox = self.create()

    def raw(self, data):
        """What comes of bytes, to the end."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(data)
            got = b""
            while more := connection.recv(1 << 16):
                got += more
            return got

    def alive(self):
        self.assertEqual(self.value(self.sandbox, "6 * 7"), "42")


class Refused(Hostile):
    def test_who_may_not(self):
        other = self.create()
        for path in ("/v2/sandboxes", f"/sandboxes/{other['sandboxID']}", "/secrets", "/sandboxes/x/metrics"):
            for headers in ({}, {"X-API-Key": ""}, {"X-API-Key": "e2b_x"}, {"X-API-Key": KEYS[0][:-1]},
                            {"X-API-Key": "\xe4"}, {"Authorization": f"Bearer {KEYS[0]}"}, self.of(other)):
                done = Answer(self.send("GET", path, None, headers))
                self.assertEqual((done.status, "E2B_API_KEY" in done.json()["message"]), (401, True))
        for headers, status in (({}, 401), ({"X-Access-Token": ""}, 401), ({"X-Access-Token": "\xe4"}, 401),
                                ({"X-Access-Token": other["envdAccessToken"]}, 401), ({"X-API-Key": KEYS[0]}, 401),
                                ({"E2b-Sandbox-Id": "ix", "X-Access-Token": other["envdAccessToken"]}, 502),
                                ({"E2b-Sandbox-Id": None}, 400)):
            for method, path in (("GET", "/health"), ("POST", "/execute"), ("GET", "/contexts"),
                                 ("GET", "/files?path=a"), ("POST", "/filesystem.Filesystem/Stat"),
                                 ("POST", "/process.Process/List")):
                done = Answer(self.send(method, path, b"{}" if method == "POST" else None,
                                        {"E2b-Sandbox-Id": self.sandbox["sandboxID"], **headers}))
                self.assertEqual(done.status, status, (path, headers))
        self.alive()

    def test_pages_of_other_sites(self):
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            for path, more in (("/v2/sandboxes", {"X-API-Key": KEYS[0]}), ("/contexts", self.of(self.sandbox))):
                self.assertEqual(Answer(self.send("GET", path, None, {**headers, **more})).status, 403)

    def test_what_is_nowhere(self):
        for method, path, status in (("GET", "/", 404), ("GET", "/execute", 405), ("PUT", "/files", 405),
                                     ("POST", "/filesystem.Filesystem/Format", 404), ("GET", "/%ff", 400),
                                     ("GET", "/v2/sandboxes?" + "a=b&" * 100, 400),
                                     ("GET", "/v2/sandboxes?limit=0", 400), ("GET", "/v2/sandboxes?nextToken=x", 400),
                                     ("GET", "/v2/sandboxes?metadata=" + "a%3Db%26" * 300, 400),
                                     ("GET", "/v2/sandboxes?limit=1e9", 400),
                                     ("GET", "/sandboxes/..%2F..", 501), ("GET", "/sandboxes/a/b/c", 501)):
            done = Answer(self.send(method, path, None, {"X-API-Key": KEYS[0], **self.of(self.sandbox)}))
            self.assertEqual(done.status, status, path)
        self.alive()

    def test_bodies_that_are_no_json(self):
        for path, _ in CALLS[:5]:
            for body in BODIES:
                done = Answer(self.send("POST", path.replace("SANDBOX", self.sandbox["sandboxID"]), body,
                                        {"X-API-Key": KEYS[0], **self.of(self.sandbox)}))
                self.assertEqual(done.status, 200 if "restart" in path else 400, (path, body[:40], done.data))
        for path, _ in CALLS[5:]:
            for body in BODIES:
                done = self.ask(self.sandbox, "POST", path, body)
                self.assertEqual((done.status, done.json()["code"]), (400, "invalid_argument"), (path, body[:40]))
        self.alive()

    def test_protobuf_and_others(self):
        for path, body in (*CALLS[5:], *STREAMS):
            for kind in ("application/proto", "application/connect+proto", "application/grpc-web+proto", "text/plain",
                         "multipart/form-data; boundary=x"):
                done = self.ask(self.sandbox, "POST", path, b"\x0a\x01a\xff", **{"Content-Type": kind})
                self.assertEqual(done.status, 415, path)
                self.assertIn("not protobuf", done.json()["message"])
            kind = JSON if (path, body) in CALLS else STREAM
            done = self.ask(self.sandbox, "POST", path, body, **{"Content-Type": kind, "Content-Encoding": "gzip"})
            self.assertEqual(done.status, 415, path)

    def test_envelopes_that_are_broken(self):
        good = self.framed({"path": "."})
        for path, _ in STREAMS:
            for body in (b"", b"\0", good[:-1], good + b"x", good + good, b"\1" + good[1:], b"\2" + good[1:],
                         struct.pack(">BI", 0, 2 ** 32 - 1), struct.pack(">BI", 0, 1) + b"{", b"{}",
                         *(struct.pack(">BI", 0, len(body)) + body for body in BODIES)):
                done = self.ask(self.sandbox, "POST", path, body, **{"Content-Type": STREAM})
                self.assertEqual((done.status, done.json()["code"]), (400, "invalid_argument"), (path, body[:40]))
        self.alive()

    def test_sizes(self):
        head = (f"POST /execute HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {self.sandbox['sandboxID']}\r\n"
                f"X-Access-Token: {self.sandbox['envdAccessToken']}\r\nContent-Type: application/json\r\n").encode()
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        for data, status in ((head + b"Content-Length: 16777217\r\n\r\n", 413), (head + b"\r\n", 411),
                             (head + b"Content-Length: -1\r\n\r\n", 411),
                             (head + b"Transfer-Encoding: gzip\r\n\r\n", 411),
                             (head + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", 411),
                             (head + b"A: " + b"b" * 20000 + b"\r\n\r\n", 431),
                             (head + b"X-Access-Token: x\r\n\r\n", 400),
                             (chunked + b"1000001\r\n", 413), (chunked + b"x\r\n", 400), (chunked + b"-1\r\n", 400),
                             (chunked + b"2;a=b\r\n{}\r\n0\r\n\r\n", 400), (chunked + b"1\r\n{}\r\n", 400),
                             (chunked + b"f" * 20000, 400), (chunked + b"0\r\nTrailer: x\r\n\r\n", 400),
                             (chunked.replace(b"1.1", b"1.0"), 411),
                             (head + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400),
                             (head + b"Transfer-Encoding:\r\n chunked\r\n\r\n", 400),
                             (head + b"Transfer-Encoding : chunked\r\n\r\n", 400),
                             (chunked + (b"100000\r\n" + b"x" * 0x100000 + b"\r\n") * 16 + b"1\r\n", 413)):
            got = self.raw(data)
            self.assertEqual(got[:12], f"HTTP/1.1 {status}".encode(), (data[-60:], got[:300]))
        body = json.dumps({"code": "7"}).encode()
        got = self.raw(chunked.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) +
                       b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        self.assertIn(b'"text": "7"', got)
        self.alive()

    def test_values_that_are_wrong(self):
        """Bodies whose members are of any kind: an answer each, and never one of 500."""
        chance = random.Random(SEED)
        for number in range(COUNT):
            path, body = chance.choice(CALLS + STREAMS)
            body = json.loads(json.dumps(body))
            inner = body.get("process", body) if chance.random() < 0.5 else body
            inner[chance.choice([*inner, "other", "pty", "stdin", "tag"])] = chance.choice(VALUES)
            data, kind = json.dumps(body).encode(), JSON
            if path in [one for one, _ in STREAMS]:
                data, kind = self.framed(body), STREAM
            if chance.random() < 0.3 and data:
                at = chance.randrange(len(data))
                data = data[:at] + bytes([chance.randrange(256)]) * chance.choice((0, 1, 3)) + data[at + 1:]
            with self.subTest(f"{SEED}, {number}: {path} {data[:120]}"):
                done = Answer(self.send("POST", path.replace("SANDBOX", self.sandbox["sandboxID"]), data, {
                    "X-API-Key": KEYS[0], **self.of(self.sandbox), "Content-Type": kind}))
                self.assertIn(done.status, (200, 201, 204, 400, 404, 409, 413, 429, 501), done.data[:300])
                if done.status == 204 or done.status == 200 and "sandboxes" in path:  # it may live for no second now
                    self.api("POST", f"/sandboxes/{self.sandbox['sandboxID']}/timeout", {"timeout": 300})
                if self.ask(self.sandbox, "GET", "/health").status == 502:
                    self.sandbox = self.create()
                for context in self.ask(self.sandbox, "GET", "/contexts").json()[1:]:
                    self.ask(self.sandbox, "DELETE", f"/contexts/{context['id']}")
        self.alive()


class Slow(Hostile):
    program = (sys.executable, "-c", f"""if True:
        import runpy, sys
        sys.path.insert(0, {FOLDER!r})
        from stepjail_mcp import http_connection
        http_connection.DEADLINE = 0.5
        runpy.run_path({MCP!r}, run_name="__main__")""")

    def test_bodies_that_do_not_come(self):
        head = (f"POST /execute HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {self.sandbox['sandboxID']}\r\n"
                f"X-Access-Token: {self.sandbox['envdAccessToken']}\r\n").encode()
        for data in (head, head + b"Content-Length: 9\r\n\r\n{", head + b"Transfer-Encoding: chunked\r\n\r\n",
                     head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}"):
            self.assertRegex(self.raw(data), b"(?s)HTTP/1.1 408 .*did not come in 0.5 s")
        self.alive()


class Mistakes(Hostile):
    """Of ours, where an answer has begun: it ends by its own terms, or without its end; never by a second one."""
    program = (sys.executable, "-c", f"""if True:
        import runpy, sys
        sys.path.insert(0, {FOLDER!r})
        from stepjail_e2b import execute, process, request
        execute.error_of = lambda result, raised: 1 / 0
        process.why_none = lambda sandbox: 1 / 0
        serve = request.Stream.serve
        async def broken(stream, work):
            await serve(stream, work)
            if stream.connection.path == "/execute?broken":
                raise RuntimeError("behind the answer")
        request.Stream.serve = broken
        runpy.run_path({MCP!r}, run_name="__main__")""")

    def tearDown(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(), 0)
        self.assertIn(b"Traceback", self.server.stderr.read())

    def said(self, path, body, kind=JSON):
        return self.raw((f"POST {path} HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {self.sandbox['sandboxID']}\r\n"
                         f"X-Access-Token: {self.sandbox['envdAccessToken']}\r\nConnection: close\r\n"
                         f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)

    def test_within_an_answer(self):
        got = self.said("/execute", b'{"code": "print(5)"}')
        self.assertEqual(got.count(b"HTTP/1.1"), 1, got)
        self.assertRegex(got, rb'(?s)"stdout".*"type": "error", "name": "ZeroDivisionError".*\r\n0\r\n\r\n\Z')
        got = self.said("/process.Process/Start", self.framed({"process": {"cmd": "x"}}), STREAM)
        self.assertEqual(got.count(b"HTTP/1.1"), 1, got)
        self.assertRegex(got, rb'(?s)"error": {"code": "internal".*ZeroDivisionError.*\r\n0\r\n\r\n\Z')

    def test_behind_an_answer(self):
        got = self.said("/execute?broken", b'{"code": "print(5)"}')
        self.assertEqual(got.count(b"HTTP/1.1"), 1, got)


class Begins(unittest.TestCase):
    def test_options_that_are_wrong(self):
        for options, said in ((("--e2b=0.0.0.0:80",), "of this host alone"),
                              (("--e2b", "0", "--http", "0"), "not allowed"), (("--e2b", "x"), "of this host alone"),
                              (("--token-file", "x"), "--http and --e2b"), (("--tls", "x"), "--http and --e2b"),
                              (("--e2b-domain", "x"), "is for --e2b"),
                              (("--e2b", "0", "--tls", "/nowhere"), "--tls /nowhere: No such file"),
                              *((("--e2b", "0", f"--e2b-domain={word}"), "is no NAME or NAME:PORT") for word in (
                                  "", ".", "a.", ".a", "a..b", "-a", "http://a", "a:0", "a:65536", "a/b", "*.a"))):
            done = subprocess.run([MCP, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual(done.returncode, 125)
            self.assertRegex(done.stderr, rf"\Astepjail-mcp: .*{said}.*\n\Z")


class KeyIsMade(Scene):
    def test_it_is_e2bs_kind(self):
        path = os.path.join(os.environ["XDG_STATE_HOME"], "stepjail/e2b-key")
        server = self.start("--e2b", "0").process
        self.assertIn(path.encode(), server.stderr.readline())
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path) as file:
            self.assertRegex(file.read(), r"\Ae2b_[0-9a-f]{40}\n\Z")


if __name__ == "__main__":
    unittest.main()
