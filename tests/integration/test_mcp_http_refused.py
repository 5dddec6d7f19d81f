#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp_http_refused.py - stepjail-mcp over HTTP: who and what is refused, and what one client does to others"""
import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mcp_http_scene import JSON, LOOP, Web  # noqa: E402
from python_scene import FOLDER, MCP  # noqa: E402
from test_mcp import MODERN, PATIENCE  # noqa: E402


class RefusedRequests(Web):
    def refused(self, status, words, *arguments, **options):
        got, said = self.ask(*arguments, **options)
        self.assertEqual(got, status, said)
        self.assertIn(words, said["error"]["message"])

    def test_who_and_where_from(self):
        message, headers = self.modern("tools/list")
        for word in (None, "Bearer x", "Bearer ", f"Basic {self.words[0]}", f"Bearer {self.words[0]}x", "Bearer ä"):
            self.refused(401, "--token-file", message, {**headers, "Authorization": word})
        self.assertEqual(self.ask(message, {**headers, "Authorization": f"bearer  {self.words[1]}"})[0], 200)
        for host in "evil.example.com", "127.0.0.1.evil.com", "127.0.0.1@evil.com", "", "localhost:99999x":
            self.refused(403, "Host", message, {**headers, "Host": host})
        here = f"{self.host}:{self.port}"
        for origin in ("http://evil.example.com", "null", "", f"https://{here}", f"http://{here}.evil.com",
                       "http://127.0.0.1:1"):
            self.refused(403, "Origin", message, {**headers, "Origin": origin})
        for host in here, f"localhost:{self.port}", f"LOCALHOST:{self.port}", "[::1]:1":
            self.assertEqual(self.ask(message, {**headers, "Host": host, "Origin": f"http://{host}"})[0], 200)
        self.stop()

    def test_what_and_how(self):
        message, headers = self.modern("tools/list")
        self.refused(404, "/mcp", message, headers, path="/")
        self.refused(404, "/mcp", None, path="/.well-known/oauth-protected-resource", method="GET")
        for method in "GET", "PUT", "OPTIONS":
            self.refused(405, "POST and DELETE", None, method=method)
        self.assertEqual(self.send(None, method="GET").headers["Allow"], "POST, DELETE")
        self.refused(415, "Content-Type", message, {**headers, "Content-Type": "text/plain"})
        self.refused(406, "Accept", message, {**headers, "Accept": "text/html"})
        self.refused(411, "Content-Length", message, {**headers, "Content-Length": "x"})
        self.refused(413, "at most 16777216 bytes", b"", {**headers, "Content-Length": str((16 << 20) + 1)})
        self.refused(431, "at most 16384 bytes", message, {**headers, "X": "x" * 20000})
        self.assertEqual(self.ask(b" " * (1 << 20) + json.dumps(message).encode(), headers)[0], 200)

    def test_heads_that_are_wrong(self):
        token = f"Authorization: Bearer {self.words[0]}\r\n".encode()
        host = b"Host: localhost\r\n"
        for head, status in (
                (b"POST /mcp HTTP/1.1\r\n" + host + b"Host: localhost\r\n\r\n", 400),
                (b"POST /mcp HTTP/1.1\r\n" + host + token + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
                (b"POST /mcp HTTP/1.1\r\n" + host + b"no header\r\n\r\n", 400),
                (b"POST /mcp HTTP/1.1\r\n" + host + b"A: b\nc\r\n\r\n", 400),
                (b"POST /mcp HTTP/1.1\r\n" + host + b"A: b\rOrigin: c\r\n\r\n", 400),
                (b"POST /mcp HTTP/1.1\r\n" + host + b"A: \0\r\n\r\n", 400),
                (b"POST /mcp HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431),
                (b"PRI * HTTP/2.0\r\n\r\n", 505), (b"\r\n\r\n", 400), (b"POST /mcp\r\n\r\n", 400),
                (b"POST /mcp HTTP/x\r\n\r\n", 400), (b"GET /mcp\r\n\r\n", 403),
                (b"POST /mcp HTTP/1.1\r\n" + host + token + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411)):
            with self.subTest(head[:90]):
                got = self.raw(head)
                self.assertRegex(got, rb"\AHTTP/1.1 %d .*(?s:.*)Connection: close" % status)
        self.assertEqual(self.raw(b"GET /mcp HTTP/1.0\r\n" + host + token + b"\r\n")[9:12], b"405")
        expects = (b"POST /mcp HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\n" + host + token +
                   b"Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{")
        self.assertRegex(self.raw(expects), rb"\AHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 ")
        self.stop()

    def test_a_body_is_never_the_next_request(self):
        session = self.begin()["Mcp-Session-Id"]
        inner = b"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"
        head = (f"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.words[0]}\r\n"
                f"Mcp-Session-Id: {session}\r\n").encode()
        for lines, status in ((b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", 400),
                              (b"Content-Length : 5\r\n\r\n", 400), (b"A: b\r\n Content-Length: 5\r\n\r\n", 400),
                              (b": 5\r\n\r\n", 400), (f"Content-Length: {len(inner)}\r\n\r\n".encode(), 204),
                              (b"Content-Length: 9\r\n\r\n", 404),
                              (b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 404)):
            with self.subTest(lines):
                got = self.raw(head + lines + inner)
                self.assertEqual((got.count(b"HTTP/1.1"), got[9:12]), (1, b"%d" % status), got)
                self.assertIn(b"\r\nConnection: close\r\n", got)
        self.stop()

    def test_json_of_many_values(self):
        """It is refused before it is in memory as objects, and a text that is as long is not."""
        def peak():
            with open(f"/proc/{self.server.pid}/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) >> 10

        message, headers = self.modern("tools/list")
        commas = json.dumps({**message, "commas": "x,[{" * (3 << 20)})
        self.assertEqual(self.ask(commas.encode(), headers)[0], 200)
        before = peak()
        for many in ("[]," * (5 << 20) + "1", '"",' * (5 << 20) + "1", "[" * (15 << 20), '"' * (15 << 20)):
            self.refused(400, "this request ", f'{{"jsonrpc": "2.0", "a": [{many}]}}'.encode(), headers)
        self.assertLess(peak() - before, 128)
        self.refused(400, "has more than 100000 values", ("[" + "[]," * 100000 + "1]").encode(), headers)
        self.refused(400, "is nested deeper than 100", ("[" * 101 + "]" * 101).encode(), headers)
        self.refused(400, "is no JSON in UTF-8", b'{"jsonrpc": "2.0", "a": 1e999}', headers)
        self.stop()

    def test_bodies_at_once_are_bounded(self):
        """By what they say, before they come."""
        def begun(client, size=16 << 20):
            connection = socket.create_connection((self.host, int(self.port)), PATIENCE)
            self.addCleanup(connection.close)
            connection.sendall((
                f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.words[client]}\r\n"
                f"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n").encode())
            return connection.recv(4096), connection

        held = [begun(0) for _ in range(4)]
        self.assertEqual([said for said, _ in held], [b"HTTP/1.1 100 Continue\r\n\r\n"] * 4)
        self.assertRegex(begun(0, 1)[0], b"(?s)HTTP/1.1 503 .*a client's requests at once have at most 67108864 bytes")
        self.assertEqual(self.good("python", client=1, code="1")["result"], "1")
        for _, connection in held:
            connection.close()
        while begun(0)[0].startswith(b"HTTP/1.1 503"):
            pass
        self.stop()

    def test_many_connections_make_way_for_new_ones(self):
        mine = self.connect()
        self.ask(*self.modern("tools/list"), on=mine)
        silent = []
        for _ in range(300):
            silent.append(socket.create_connection((self.host, int(self.port)), PATIENCE))
            self.addCleanup(silent[-1].close)
            silent[-1].sendall(b"POST /mcp HTTP/1.1\r\n")
        self.assertEqual(self.ask(*self.modern("tools/list"))[0], 200)
        self.assertEqual(self.good("python", client=1, code="1")["result"], "1")
        self.assertLessEqual(len(os.listdir(f"/proc/{self.server.pid}/fd")), 300)
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(silent[0].recv(1), b"")

    def test_requests_at_once_are_bounded(self):
        session = self.good("open_session")["session"]
        message, headers = self.modern("tools/call", meta={**MODERN, "progressToken": 1}, name="python",
                                       arguments={"session": session, "code": LOOP})
        held = []
        for _ in range(64):
            held.append(self.connect())
            held[-1].request("POST", "/mcp", json.dumps(message), {
                **JSON, **headers, "Authorization": f"Bearer {self.words[0]}"})
        while self.ask(*self.modern("tools/list"))[0] != 429:
            pass
        self.refused(429, "at most 64 requests", *self.modern("tools/list"))
        self.assertEqual(self.good("python", client=1, code="1")["result"], "1")
        for connection in held:
            connection.close()
        while self.ask(*self.modern("tools/list"))[0] == 429:
            pass
        self.assertEqual(self.good("python", session=session, code="1")["result"], "1")
        self.stop()

    def test_a_client_that_does_not_read_delays_nobody(self):
        session = self.good("open_session")["session"]
        body = json.dumps(self.modern("tools/call", name="python", arguments={
            "session": session, "code": "print('x' * 60000)"})[0]).encode()
        head = (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.words[0]}\r\n"
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: python\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        for _ in range(20):
            slow = socket.create_connection((self.host, int(self.port)), PATIENCE)
            self.addCleanup(slow.close)
            slow.sendall(head + body)
        for n in range(5):
            self.assertEqual(self.good("python", client=1, code=str(n))["result"], str(n))


class Bounds(Web):
    """With bounds that a test can reach."""
    program = (sys.executable, "-c", f"""if True:
        import runpy, sys
        sys.path.insert(0, {FOLDER!r})
        from stepjail_mcp import http_connection, http_listener, http_server
        http_connection.DEADLINE = 0.5
        http_server.SESSIONS_MAX = 2
        http_listener.CONNECTIONS_MAX = 3
        runpy.run_path({MCP!r}, run_name="__main__")""")

    def held(self, client):
        """A step that runs."""
        answer = self.send(*self.modern("tools/call", meta={**MODERN, "progressToken": 1}, name="python",
                                        arguments={"code": LOOP}), client=client)
        answer.readline()
        return answer

    def test_slow_heads_and_bodies(self):
        self.assertRegex(self.raw(b"POST /mcp HTTP/1.1\r\n"), b"(?s)HTTP/1.1 408 .*the head .* did not come in 0.5 s")
        head = (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.words[0]}\r\n"
                "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{").encode()
        self.assertRegex(self.raw(head), b"(?s)HTTP/1.1 408 .*the body .* did not come in 0.5 s")
        self.stop()

    def test_an_answer_that_nobody_takes(self):
        session = self.good("python", code="open('a', 'w').write('x' * 8000000)")["session"]
        other, slow = self.connect(), self.connect()
        self.ask(*self.modern("tools/list"), on=other)
        before = len(os.listdir(f"/proc/{self.server.pid}/fd"))
        slow.connect()
        slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
        message, headers = self.modern("tools/call", name="get_file", arguments={"session": session, "path": "a"})
        slow.request("POST", "/mcp", json.dumps(message),
                     {**JSON, **headers, "Authorization": f"Bearer {self.words[0]}"})
        answer = slow.getresponse()
        while len(os.listdir(f"/proc/{self.server.pid}/fd")) > before:
            self.assertEqual(self.ask(*self.modern("tools/list"), on=other)[0], 200)
        with self.assertRaises((ConnectionResetError, http.client.IncompleteRead)):
            answer.read()
        self.stop()

    def test_requests_of_all_at_once(self):
        held = [self.held(0), self.held(0), self.held(1)]
        status, said = self.ask(*self.modern("tools/list"), client=1)
        self.assertEqual(status, 503)
        self.assertIn("the server has at most 3 requests at once", said["error"]["message"])
        for answer in held:
            answer.close()
            answer.connection.close()
        while self.ask(*self.modern("tools/list"))[0] == 503:
            pass
        self.stop()

    def test_sessions_with_jails_are_not_forgotten(self):
        sessions = [self.begin(), self.begin()]
        for headers in sessions:
            self.ask(self.message("tools/call", name="open_session"), headers)
        status, said = self.ask(self.message("initialize"))
        self.assertEqual(status, 503)
        self.assertIn("at most 2 sessions with initialize", said["error"]["message"])
        self.ask(None, sessions[0], method="DELETE")
        self.begin()
        self.stop()


class Begins(Web):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.tokens = os.path.join(self.folder, "tokens")

    def test_a_token_is_made_once(self):
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = self.folder
        try:
            self.serve()
            path = os.path.join(self.folder, "stepjail/mcp-token")
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            self.assertEqual(os.listdir(os.path.dirname(path)), ["mcp-token"])
            with open(path) as file:
                self.words = file.read().split()
            self.number = 0
            self.assertEqual(self.ask(*self.modern("tools/list"))[0], 200)
            self.stop()
            self.serve(address="[::1]:0")
            self.assertEqual(self.host, "[::1]")
            self.assertEqual(self.ask(*self.modern("tools/list"))[0], 200)
            self.stop()
        finally:
            os.environ.pop("XDG_STATE_HOME") if before is None else os.environ.update(XDG_STATE_HOME=before)

    def fails(self, said, *options):
        done = subprocess.run([MCP, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, 125, options)
        self.assertRegex(done.stderr, rf"\Astepjail-mcp: .*{said}.*\n\Z")

    def test_options_that_are_wrong(self):
        for address in ("0.0.0.0:80", "192.168.0.1:80", "example.com:80", "127.0.0.1", "65536", "x", "", ":", "[::]:80",
                        "127.0.0.1:-1", "[::1]"):
            self.fails("is no PORT or ADDRESS:PORT of this host alone", f"--http={address}")
        self.fails("not allowed with", "--http", "0", "--listen", "x")
        self.fails("is for --http", "--token-file", "x")

    def test_files_of_tokens_that_are_wrong(self):
        good = "a" * 30
        for text, mode, said in ((good, 0o644, "mode is 0644.*chmod 600"), (good, 0o620, "chmod 600"),
                                 ("", 0o600, "1 to 64 lines"), ("short", 0o600, "20 to 256 ASCII"),
                                 (good + "\n" + "ü" * 30, 0o600, "ASCII"), ((good + "\n") * 65, 0o600, "1 to 64")):
            self.write_tokens(text, mode)
            self.fails(said, "--http", "0", "--token-file", self.tokens)
        os.symlink(self.tokens, self.tokens + ".link")
        self.fails("Too many levels of symbolic links", "--http", "0", "--token-file", self.tokens + ".link")
        self.fails("it is no file", "--http", "0", "--token-file", self.folder)
        self.fails("Not a directory", "--http", "0", "--token-file", "/dev/null/x")

    def test_a_port_that_is_in_use(self):
        """Nothing is said or made before."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            for option in "--http", "--e2b":
                self.fails(f"{option} 127.0.0.1:[0-9]+: Address already in use", option, str(other.getsockname()[1]),
                           "--token-file", self.tokens)
                self.assertFalse(os.path.exists(self.tokens))


if __name__ == "__main__":
    unittest.main()
