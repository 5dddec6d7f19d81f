#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_egress_attack.py - what a hostile program sends to the proxy of --allow-host

Each row of ATTACKS is what a program sends. It hits a server that it must not reach, or slips
something past the proxy to the one that it may reach, if the proxy is a naive one
(egress_scene.Naive); and hits nothing through ours. {a} is the port that is allowed, {b} another.
"""
import json
import os
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from egress_scene import RAW, Origin, Server, dump, naive_proxy, rows_of, send_raw  # noqa: E402
from test_egress import GET  # noqa: E402
from test_run import Host, each_user  # noqa: E402

ALLOWED = "GET http://127.0.0.1:{a}/ HTTP/1.1\r\n"
POST = "POST http://127.0.0.1:{a}/ HTTP/1.1\r\n"
NEXT = "GET http://127.0.0.1:{a}/evil HTTP/1.1\r\nHost: x\r\n\r\n"
INSIDE = "GET /evil HTTP/1.1\r\nHost: x\r\n\r\n"


def place(text):
    return f"GET http://{text}/evil HTTP/1.1\r\n\r\n"


ATTACKS = {
    # places that are not allowed
    "another port": place("127.0.0.1:{b}"),
    "tunnel to another port": "CONNECT 127.0.0.1:{b} HTTP/1.1\r\n\r\n" + INSIDE,
    "tunnel without TLS": "CONNECT 127.0.0.1:{a} HTTP/1.1\r\n\r\n" + INSIDE,
    "user before it": place("127.0.0.1:{a}@127.0.0.1:{b}"),
    "empty user": place("@127.0.0.1:{b}"),
    "dot behind it": place("127.0.0.1.:{b}"),
    "another name of it": place("localhost:{b}"),
    "another name of what is allowed": place("localhost:{a}"),
    "two numbers": place("127.1:{b}"),
    "one number": place("2130706433:{b}"),
    "hexadecimal": place("0x7f000001:{b}"),
    "octal": place("0177.0.0.1:{b}"),
    "octal, allowed": place("0177.0.0.1:{a}"),
    "mapped": place("[::ffff:127.0.0.1]:{b}"),
    "mapped, allowed": place("[::ffff:127.0.0.1]:{a}"),
    "mapped, hexadecimal": place("[::ffff:7f00:1]:{b}"),
    "tunnel to a mapped one": "CONNECT [::ffff:127.0.0.1]:{b} HTTP/1.1\r\n\r\n" + INSIDE,
    "NUL in the place": "CONNECT 127.0.0.1:{b}\0.127.0.0.1:{a} HTTP/1.1\r\n\r\n" + INSIDE,
    "NUL in the URL": "GET http://127.0.0.1:{b}\0/evil HTTP/1.1\r\n\r\n",
    "another scheme": "GET ftp://127.0.0.1:{b}/evil HTTP/1.1\r\n\r\n",
    # what is slipped past the proxy: another host, or more than one request
    "another Host": ALLOWED + "Host: evil\r\n\r\n",
    "two Hosts": ALLOWED + "Host: 127.0.0.1:{a}\r\nHost: evil\r\n\r\n",
    "empty line first": "GET http://127.0.0.1:{a}/ HTTP/1.1\r\nHost:127.0.0.1:{a}\r\n\r\n" + NEXT,
    "next request": ALLOWED + "\r\n" + NEXT,
    "next request behind a body": POST + "Content-Length: 5\r\n\r\nabcde" + NEXT,
    "two lengths": POST + "Content-Length: 5\r\nContent-Length: 0\r\nX: evil\r\n\r\nabcde",
    "length with a sign": POST + "Content-Length: +0\r\nX: evil\r\n\r\n",
    "length with a comma": POST + "Content-Length: 0\r\nContent-length: 0, 0\r\nX: evil\r\n\r\n",
    "chunks and a length": POST + "Content-Length: 0\r\nTransfer-Encoding: evil, chunked\r\n\r\n0\r\n\r\n" + NEXT,
    "blank before the colon": ALLOWED + "X: evil\r\nX-A : 1\r\n\r\n",
    "folded line": ALLOWED + "X-A: 1\r\n evil\r\n\r\n",
    "LF alone": ALLOWED + "X-A: 1\nX-evil: 1\r\n\r\n",
    "LF alone everywhere": ALLOWED.replace("\r\n", "\n") + "X: evil\n\n",
    "CR alone": ALLOWED + "X: evil\r\nX-A: 1\rX-B: 1\r\n\r\n",
    "NUL in a header": ALLOWED + "X-A: \0evil\r\n\r\n",
    "field without a name": ALLOWED + "X: evil\r\n: 1\r\n\r\n",
    "byte in the URL": "GET http://127.0.0.1:{a}/evil\xe9 HTTP/1.1\r\n\r\n",
    "for this hop alone": ALLOWED + "Connection: close, X-Hop\r\nX-Hop: evil\r\n\r\n",
    "for the proxy": ALLOWED + "Proxy-Authorization: evil\r\n\r\n",
    "upgrade": ALLOWED + "Connection: upgrade\r\nUpgrade: evil\r\n\r\n",
    "long head": ALLOWED + "X-evil: " + "e" * 40000 + "\r\n\r\n",
}
MANY = 10000
# What a program sends behind the request line, and what of it arrives at a server that is allowed: the
# fields behind Host, and the body. Or the status of a refusal: then nothing arrives. {} is INSIDE's length.
ANEW = {
    "nothing": ("\r\n", "", ""),
    "a field": ("X-A:\t b c \t\r\n\r\n", "X-A: b c", ""),
    "Host": ("hOsT: 127.0.0.1:1\r\nX-A: 1\r\n\r\n", "X-A: 1", ""),
    "length": ("content-LENGTH: 0005\r\nX-A: 1\r\n\r\nabcde" + INSIDE, "X-A: 1\r\nContent-Length: 5", "abcde"),
    "no body": ("Content-Length: 0\r\n\r\n" + INSIDE, "Content-Length: 0", ""),
    "for this hop": ("Connection: Keep-Alive, TE,,Upgrade , http2-settings\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
                     "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\nProxy-Connection: x\r\nTrailer: X\r\n\r\n", "", ""),
    # a gateway such as CGI makes one name of these
    "length that folds": ("Content_Length: {}\r\n\r\n" + INSIDE, "", ""),
    "length that folds beside one": ("Content.Length: 9\r\nContent-Length: 1\r\n\r\nab", "Content-Length: 1", "a"),
    "coding that folds": ("transfer_encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "Content-Length: 5", "0\r\n\r\n"),
    "others that fold": ("Proxy_Authorization: x\r\nKeep!Alive: x\r\n\r\n", "", ""),
    **{f"Connection names {name}": (f"Content-Length: {{}}\r\nConnection: {name}\r\n\r\n" + INSIDE, "400") for name in (
        "Content-Length", "close, content-length", "content_length", "Content-Length;x", "close\tContent-Length",
        "close\r\nConnection: Content-Length", "Host", "Transfer-Encoding", "X-A", "Connection", "Trailer", "Cookie",
        "Authorization", "Stepjail-End", "clo se")},
    "two lengths": ("Content-Length: {}\r\nContent-Length: {}\r\n\r\n" + INSIDE, "400"),
    "lengths in a list": ("Content-Length: {}, {}\r\n\r\n" + INSIDE, "400"),
    "length, blank before the colon": ("Content-Length : {}\r\n\r\n" + INSIDE, "400"),
    "length, tab before the colon": ("Content-Length\t: {}\r\n\r\n" + INSIDE, "400"),
    "length, NUL behind it": ("Content-Length\0: {}\r\n\r\n" + INSIDE, "400"),
    "length, hexadecimal": ("Content-Length: 0x{}\r\n\r\n" + INSIDE, "400"),
    "length, Latin-1 blank": ("Content-Length: {}\xa0\r\n\r\n" + INSIDE, "400"),
    "length, negative": ("Content-Length: -{}\r\n\r\n" + INSIDE, "400"),
    "length, huge": ("Content-Length: 184467440737095516{}\r\n\r\n" + INSIDE, "400"),
    "length in a folded line": ("X-A: 1\r\n Content-Length: {}\r\n\r\n" + INSIDE, "400"),
    "length in a folded first line": (" Content-Length: {}\r\n\r\n" + INSIDE, "400"),
    "length behind a lone LF": ("X-A: 1\nContent-Length: {}\r\n\r\n" + INSIDE, "400"),
    "length behind a lone CR": ("X-A: 1\rContent-Length: {}\r\n\r\n" + INSIDE, "400"),
    "length behind CR CR LF": ("X-A: 1\r\r\nContent-Length: {}\r\n\r\n" + INSIDE, "400"),
    **{f"length behind {ord(byte):#x}": (f"X-A: 1{byte}Content-Length: {{}}\r\n\r\n" + INSIDE, "400")
       for byte in "\v\f\x1c\x1d\x1e\x85\xa8"},  # what str.splitlines() takes for the end of a line
    **{f"coding {coding!r}": (f"Transfer-Encoding:{coding}\r\n\r\n0\r\n\r\n" + INSIDE, "411") for coding in (
        " chunked", "chunked", " identity", " xchunked", " chunked, identity", "\tCHUNKED", " chunked\r\nTransfer-Encoding: x", "")},
    "coding and a length": ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n5c\r\n" + INSIDE, "411"),
    "length and coding": ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n" + INSIDE, "411"),
    "chunk with extension and trailer": ("Transfer-Encoding: chunked\r\nTrailer: Host\r\n\r\n"
                                         "1;a=\"\r\n0\r\nHost: evil\r\n\r\n" + INSIDE, "411"),
    "coding, blank before the colon": ("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + INSIDE, "400"),
    "coding in a folded line": ("Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + INSIDE, "411"),
    "another Host": ("Host: evil.example\r\n\r\n", "400"),
    "Host with a user": ("Host: 127.0.0.1@evil.example\r\n\r\n", "400"),
    "Host in a list": ("Host: 127.0.0.1, evil.example\r\n\r\n", "400"),
    "empty Host": ("Host:\r\n\r\n", "400"),
}
# the same, of whole request lines, which no field follows
LINES = {"TRACE http://127.0.0.1:{a}/ HTTP/1.1": "405", "TRACK http://127.0.0.1:{a}/ HTTP/1.1": "405",
         "Trace http://127.0.0.1:{a}/ HTTP/1.1": "400", "trace http://127.0.0.1:{a}/ HTTP/1.1": "400",
         "GET /evil HTTP/1.1": "400", "GET //127.0.0.1:{a}/ HTTP/1.1": "400",
         "GET https://127.0.0.1:{a}/ HTTP/1.1": "400", "GET http://127.0.0.1:{a}/ HTTP/1.1 HTTP/1.1": "400",
         "GET http://127.0.0.1:{a}/ HTTP/1.2": "400", "GET http://127.0.0.1:{a}/ HTTP/2.0": "400",
         "GET http://127.0.0.1:{a}/": "400", "GET http://127.0.0.1:{a}/ http/1.1": "400",
         "GET\thttp://127.0.0.1:{a}/ HTTP/1.1": "400", "GET http://127.0.0.1:{a}/\tHTTP/1.1": "400",
         "GET http://127.0.0.1:{a}\\@evil.example/ HTTP/1.1": "400", "PRI * HTTP/2.0": "400",
         "GET http://127.0.0.1:{a}/a b HTTP/1.1": "400", "GET http://127.0.0.1:{a}#@evil.example/ HTTP/1.1": "400"}


class Attacks(Host):
    def setUp(self):
        super().setUp()
        self.allowed, self.inside = Server(), Server()
        self.addCleanup(self.allowed.end)
        self.addCleanup(self.inside.end)
        self.allow = f"--allow-host=127.0.0.1:{self.allowed.port}"
        self.url = f"http://127.0.0.1:{self.allowed.port}/"

    def hit(self):
        """Whether anything evil has come, to either server."""
        asked = self.allowed.asked + self.inside.asked
        self.allowed.asked, self.inside.asked = [], []
        return any("evil" in json.dumps(one).lower() for one in asked) or len(asked) > 1

    def test_table(self):
        rows = {name: text.replace("{a}", str(self.allowed.port)).replace("{b}", str(self.inside.port))
                for name, text in ATTACKS.items()}
        self.assertEqual(len(rows), len(ATTACKS))
        with naive_proxy() as port:
            for name, text in rows.items():
                send_raw(port, text, 0.3)
                end = time.monotonic() + 10
                while not (hit := self.hit()) and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertTrue(hit, f"{name}: did not succeed against a naive proxy")
        came = {}
        path = self.file("rows", dump(rows))
        done = self.python(RAW, self.allow, f"--bind={path}:/rows")
        for name, answer in json.loads(done.stdout):
            came[name] = answer
        self.assertEqual(set(came), set(rows))
        # refused with a status and words, but for what is dropped from a request that is good
        dropped = {"empty line first", "next request", "next request behind a body", "for the proxy",
                   "upgrade"}
        for name, answer in came.items():
            if name == "tunnel without TLS":
                self.assertEqual(answer.splitlines()[0], "HTTP/1.1 200 Connection established")
            elif name in dropped:
                self.assertEqual(answer.count("hello"), 1, (name, answer))
            else:
                self.assertIn(answer[9:12], ("400", "403", "411", "431"), (name, answer))
        self.assertEqual(self.inside.asked, [])
        self.assertNotIn("evil", json.dumps(self.allowed.asked).lower())
        self.assertEqual(len(self.allowed.asked), len(dropped))

    def test_what_arrives(self):
        """Of what a request has, its parts alone, made anew: one request, with one length and one Host."""
        origin = Origin()
        self.addCleanup(origin.end)
        line = f"http://127.0.0.1:{origin.port}/a?b HTTP/1.1\r\n"
        rows = {name: "POST " + line + text.replace("{}", str(len(INSIDE))) for name, (text, *_) in ANEW.items()}
        rows |= {name: name.replace("{a}", str(origin.port)) + "\r\n\r\n" for name in LINES}
        done = self.python(RAW, f"--allow-host=127.0.0.1:{origin.port}", f"--bind={self.file('rows', dump(rows))}:/rows")
        came = dict(json.loads(done.stdout))
        self.assertEqual(set(came), set(rows))
        expected = []
        for name, (_, *wanted) in ANEW.items() | {(name, ("", status)) for name, status in LINES.items()}:
            with self.subTest(name=name):
                status = wanted[0] if len(wanted) == 1 else "200"
                self.assertEqual(came[name][9:12], status, came[name])
                if status == "200":
                    fields, body = wanted
                    fields += "\r\n" * bool(fields)
                    arrived = f"POST /a?b HTTP/1.1\r\nHost: 127.0.0.1:{origin.port}\r\n{fields}Connection: close\r\n\r\n"
                    self.assertEqual(came[name].partition("\r\n\r\n")[2].partition("\r\n\r\n")[0] + "\r\n\r\n", arrived)
                    expected.append(arrived + body)
        arrived = origin.wait(lambda came: sorted(came) == sorted(one.encode() for one in expected))
        self.assertEqual(sorted(one.decode() for one in arrived), sorted(expected))

    def test_many_connections(self):
        """Each is counted, and a good request is served behind them."""
        done = self.python(GET + f"""
import socket
for i in range({MANY}):
    with socket.create_connection(("127.0.0.1", 3128)) as s:
        s.sendall(b"x\\r\\n\\r\\n")
        s.recv(1)  # else the queue is full, and the kernel waits a second
tell(get("{self.url}")[0])""", self.allow, "--wall-time=170s")
        self.assertEqual(json.loads(done.stdout), [200])
        rows = rows_of(done)
        self.assertEqual(sum(rows.values()) + done.report["egress"]["more"], MANY + 1)

    def test_slow_loris(self):
        """Who asks slowly loses the connection after 10 s, and others have theirs."""
        with naive_proxy() as port, socket.create_connection(("127.0.0.1", port)) as naive:
            naive.sendall(b"GET ")
            done = self.python(GET + f"""
import socket, time
start = time.monotonic()
slow = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(40)]
for s in slow:
    s.sendall(b"GET ")
got = get("{self.url}")[0]
tell(got, time.monotonic() - start > 9, [s.recv(99)[:12].decode() for s in slow[:5]])""", self.allow,
                               "--wall-time=170s")
            naive.settimeout(0.1)
            with self.assertRaises(TimeoutError):
                naive.recv(1)
        self.assertEqual(json.loads(done.stdout), [200, True, ["HTTP/1.1 408"] * 5])
        self.assertEqual({why for _, _, why in rows_of(done)}, {None, "nothing was asked within 10 s"})


globals().update(each_user(Attacks))

if __name__ == "__main__":
    unittest.main()
