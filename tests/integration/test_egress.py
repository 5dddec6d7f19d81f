#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_egress.py - stepjail run --allow-host: HTTP to hosts that are allowed, and to no others

Hosts are servers of the test on loopback, allowed as literal addresses. Names, addresses of names,
TLS and secrets: test_egress_names.py. What a hostile program sends: test_egress_attack.py.
"""
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import record_schema  # noqa: E402
from egress_scene import BYPASS, Origin, Server, rows_of  # noqa: E402
from test_run import PLAIN_ENV, STEPJAIL, TIMEOUT, Host, each_user  # noqa: E402

UNLISTED = "no --allow-host names it"
GET = """
import json, sys, urllib.request as r, urllib.error as e
def get(url, **more):
    try:
        with r.urlopen(r.Request(url, **more)) as a:
            return a.status, a.read().decode(), dict(a.headers)
    except e.HTTPError as a:
        return a.code, a.reason, a.read().decode()
    except OSError as a:
        return type(a).__name__, str(a)
def tell(*all):
    print(json.dumps(all))
"""


class Asking(Host):
    """A server, and a program that asks it."""

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.end)
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.allow = f"--allow-host=127.0.0.1:{self.server.port}"

    def ask(self, code, *options, **settings):
        done = self.python(GET + code, self.allow, *options, **settings)
        self.assertEqual(record_schema.wrong(done.report, record_schema.REPORT), [])
        done.told = json.loads(done.stdout) if done.stdout else None
        return done


class OverMany(Asking):
    """The limit on bytes, over as many connections as there may be."""
    more, many = (), 32

    def over_many(self, limit, sent, answer=None):
        """What came to the host, and how much of its answers to the jail."""
        origin = Origin(answer=answer)
        self.addCleanup(origin.end)
        place = f"127.0.0.1:{origin.port}"
        done = self.python(f"""
import socket, threading
all, came = threading.Barrier({self.many}), []
def one():
    with socket.create_connection(("127.0.0.1", 3128)) as s:
        all.wait()
        try:
            s.sendall(b"POST http://{place}/ HTTP/1.1\\r\\nContent-Length: {sent}\\r\\n\\r\\n" + b"x" * {sent})
            while piece := s.recv(65536):
                came.append(piece.count(b"z"))
        except OSError:
            pass
threads = [threading.Thread(target=one) for _ in range({self.many})]
[t.start() for t in threads], [t.join() for t in threads]
print(sum(came))""", f"--allow-host={place}", f"--egress-limit={limit}", *self.more)
        reports = [done.report, *([done.report["vm"]["jail"]] if self.more else [])]
        rows = [row for report in reports for row in report["egress"]["hosts"]]
        self.assertEqual(len(rows), len(reports))
        for row in rows:
            self.assertLessEqual(row["sent"] + row["received"], limit)
        # of two proxies one meets it first, and the other hears of an end
        self.assertIn("--egress-limit has no bytes left", [row["why"] for row in rows])
        return origin.came, int(done.stdout)

    def test_sent(self):
        came, _ = self.over_many(1024, 32768)
        self.assertLessEqual(sum(len(one) for one in came), 1024)

    def test_received(self):
        """Of hosts that answer all at once."""
        asked = threading.Barrier(self.many)

        def answer(_):
            asked.wait(120)
            return b"HTTP/1.1 200 OK\r\n\r\n" + b"z" * 32768
        came, received = self.over_many(100000, 0, answer)
        self.assertEqual(len(came), self.many)
        self.assertLessEqual(received, 100000)
        self.assertGreater(received, 0)


class Requests(Asking):
    def test_get(self):
        done = self.ask(f"tell(get('{self.url}/a?b=c%20d', headers={{'X-Mine': 'yes'}}))")
        (status, body, _), = done.told
        self.assertEqual((status, body), (200, "hello\n"))
        asked, = self.server.asked
        headers = dict(asked["headers"])
        self.assertEqual((asked["path"], headers["X-Mine"], headers["Connection"], headers["Host"]),
                         ("/a?b=c%20d", "yes", "close", f"127.0.0.1:{self.server.port}"))
        self.assertNotIn("Proxy-Connection", headers)
        egress = done.report["egress"]
        self.assertEqual((egress["whole"], egress["more"]), (True, 0))
        self.assertGreater(egress["proxy"]["landlock_abi"], 0)
        row, = egress["hosts"]
        self.assertEqual((row["host"], row["port"], row["allowed"], row["times"], row["why"]),
                         ("127.0.0.1", self.server.port, True, 1, None))
        self.assertGreater(row["sent"], 50)
        self.assertGreater(row["received"], 50)
        self.assertEqual(egress["bypass"], 0)
        self.assertNotIn(b"egress", done.stderr)

    def test_bypass(self):
        """What does not go by way of the proxy goes nowhere, and is counted."""
        done = self.ask(BYPASS + f"tell(bypass(), get('{self.url}/')[0])")
        self.assertEqual(done.told, [[[errno.ENETUNREACH] * 4, None, None], 200])
        self.assertEqual(done.report["egress"]["bypass"], 6)
        self.assertIn(b"egress: past the proxy, refused: 6 (UDP, DNS, connections): it is the one way out", done.stderr)

    def test_methods_and_bodies(self):
        done = self.ask(f"""
big = b"x" * 5000000
tell(*[get("{self.url}/" + m, method=m, data=d) for m, d in
       (("POST", big), ("PUT", b""), ("PATCH", b"ab"), ("DELETE", None), ("HEAD", None))])""")
        self.assertEqual([one[0] for one in done.told], [200] * 5)
        self.assertEqual([(one["method"], one["body"]) for one in self.server.asked],
                         [("POST", 5000000), ("PUT", 0), ("PATCH", 2), ("DELETE", 0), ("HEAD", 0)])

    def test_answers(self):
        """Statuses, a long body, one in chunks, one that ends with the connection."""
        def chunks(handler):
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            for _ in range(100):
                handler.wfile.write(b"5\r\nabcde\r\n")
            handler.wfile.write(b"0\r\n\r\n")

        def until_end(handler):
            handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")
            handler.close_connection = True
        self.server.answers = {"/500": (500, {}, b"no"), "/long": (200, {}, b"y" * 3000000),
                               "/chunks": (200, {}, chunks), "/end": (200, {}, until_end)}
        done = self.ask(f"""
a = [get("{self.url}" + p)[:2] for p in ("/500", "/long", "/chunks", "/end")]
a[1] = a[1][0], len(a[1][1])
tell(*a)""")
        self.assertEqual(done.told, [[500, "Internal Server Error"], [200, 3000000],
                                     [200, "abcde" * 100], [200, "until the end"]])

    def test_refused(self):
        """The program is told why, and so are the report and the person."""
        other = Server()
        self.addCleanup(other.end)
        done = self.ask(f"""
tell(get("http://127.0.0.1:{other.port}/"), get("http://127.0.0.1:{other.port}/again"),
     get("http://name.example/"), get("http://localhost:{self.server.port}/"))""")
        why = f"127.0.0.1:{other.port} is not allowed: {UNLISTED}"
        self.assertEqual(done.told[0], [403, why, why + "\n"])
        self.assertEqual([one[0] for one in done.told], [403] * 4)
        self.assertEqual(other.asked + self.server.asked, [])
        self.assertEqual(rows_of(done), {("127.0.0.1", other.port, UNLISTED): 2,
                                         ("name.example", 80, UNLISTED): 1,
                                         ("localhost", self.server.port, UNLISTED): 1})
        self.assertIn(f"stepjail: egress: 127.0.0.1:{other.port}, 2 times: {UNLISTED}\n",
                      done.stderr.decode())
        self.assertNotIn(b"egress", self.ask("tell(get('http://name.example/'))", "--quiet").stderr)

    def test_nothing_else_leads_out(self):
        """Other addresses, UDP, DNS: the jail has loopback alone."""
        done = self.ask(f"""
import errno, socket
told = []
for kind, to in ((socket.SOCK_STREAM, ("127.0.0.1", {self.server.port})),
                 (socket.SOCK_STREAM, ("192.0.2.1", 80)), (socket.SOCK_DGRAM, ("192.0.2.1", 53))):
    try:
        socket.socket(socket.AF_INET, kind).connect(to)
        told.append("connected")
    except OSError as e:
        told.append(errno.errorcode[e.errno])
try:
    socket.getaddrinfo("example.com", 80)
except OSError as e:
    told.append("no name")
tell(*told)""")
        self.assertEqual(done.told, ["ECONNREFUSED", "ENETUNREACH", "ENETUNREACH", "no name"])
        self.assertEqual(self.server.asked, [])

    def test_unreachable(self):
        port = self.server.port
        self.server.end()
        done = self.ask(f"tell(get('{self.url}/'))")
        self.assertEqual(done.told[0][:2], [502, f"127.0.0.1:{port} cannot be reached"])
        self.assertEqual(rows_of(done), {("127.0.0.1", port, "it cannot be reached"): 1})

    def test_limit_on_bytes(self):
        """A server that answers without end; then nothing more goes out."""
        def endless(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                handler.wfile.write(b"z" * 65536)
        self.server.answers = {"/": (200, {}, endless)}
        done = self.ask(f"a = get('{self.url}/')\ntell(a[0], get('{self.url}/')[:2])", "--egress-limit=3M")
        self.assertEqual(done.told[0], "ConnectionResetError")
        self.assertEqual(done.told[1], [403, "--egress-limit has no bytes left"])
        row, = done.report["egress"]["hosts"]
        self.assertEqual((row["why"], row["times"], row["failed"]), ("--egress-limit has no bytes left", 2, 2))
        self.assertLess(row["received"], 3500000)

    def test_broken_off(self):
        """Half an answer is no answer: the connection is reset, or its length is wrong."""
        def half(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
            handler.close_connection = True
        self.server.answers = {"/": (200, {}, half)}
        done = self.ask(f"""
try:
    r.urlopen("{self.url}/").read()
except Exception as e:
    tell(type(e).__name__)""")
        self.assertEqual(done.told, ["IncompleteRead"])

    def test_end_of_the_run(self):
        """A run does not wait for what a server does not say; the report tells."""
        held = threading.Event()
        self.addCleanup(held.set)
        self.server.answers = {"/": (200, {}, lambda handler: held.wait(60))}
        done = self.python(GET + f"""
import socket
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"GET {self.url}/ HTTP/1.1\\r\\n\\r\\n")
get("{self.url}/quick")""", self.allow)
        self.assertTrue(done.report["egress"]["whole"])
        row, = done.report["egress"]["hosts"]
        self.assertEqual((row["times"], row["failed"], row["why"]), (2, 1, "it was broken off"))

    def test_many(self):
        """Many connections at once, and more hosts than there are rows for what is refused."""
        done = self.ask(f"""
import threading
got = []
def one(i):
    got.append(get("{self.url}/%d" % i)[0])
threads = [threading.Thread(target=one, args=(i,)) for i in range(50)]
[t.start() for t in threads], [t.join() for t in threads]
tell(got.count(200))""")
        self.assertEqual(done.told, [50])
        row, = done.report["egress"]["hosts"]
        self.assertEqual(row["times"], 50)

    def test_rows(self):
        """What is refused takes no row from a host that is let through, and the more of it is counted."""
        done = self.ask(f"""
for i in range(40):
    get("http://host%d.example/" % i)
tell(get("{self.url}/", data=b"x" * 1000)[0], get("http://host39.example/")[0])""")
        self.assertEqual(done.told, [200, 403])
        *refused, row = done.report["egress"]["hosts"]
        self.assertEqual((len(refused), done.report["egress"]["more"]), (16, 25))
        self.assertEqual({one["allowed"] for one in refused}, {False})
        self.assertEqual((row["host"], row["port"], row["allowed"], row["times"], row["failed"]),
                         ("127.0.0.1", self.server.port, True, 1, 0))
        self.assertGreater(row["sent"], 1000)


class Options(Host):
    def refused(self, *options):
        done = subprocess.run([*self.drop, STEPJAIL, "run", *options, "--", "true"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=TIMEOUT, env=PLAIN_ENV)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (125, 1), done.stderr)
        return done.stderr

    def test_wrong(self):
        port = "a port from 1 to 65535 must be named, as in example.com:443"
        number = "a name does not end in a number, and an IPv4 address is four of them"
        for value, why in (("example.com", port), ("example.com:", port), ("example.com:0", port),
                           ("example.com:65536", port), ("example.com:080", port),
                           (":80", "nothing before or behind a '.'"), ("a..b:80", "nothing before"),
                           ("a.b.:80", "nothing before"), ("127.1:80", number), ("0x7f.1:80", number),
                           ("2130706433:80", number), ("1.2.3.4.5:80", number),
                           ("[::1:80", "in brackets"), ("[127.0.0.1]:80", "in brackets"),
                           ("::1:80", "a name has letters"), ("[fe80::1%lo]:80", "in brackets"),
                           ("*:80", "a name has letters"), ("*.com:80", "two parts or more"),
                           ("a.*.com:80", "a name has letters"), ("http://a.b:80", "a name has letters"),
                           ("a b.c:80", "a name has letters"), ("b\u00fccher.example:80", "a name has letters"),
                           ("a" * 64 + ".b:80", "63 bytes"), ("a." * 130 + "b:80", "253 bytes")):
            with self.subTest(value=value):
                self.assertIn(why, self.refused("--allow-host", value))
        many = [f"--allow-host=h{i}.example:80" for i in range(65)]
        self.assertIn("is one more than 64", self.refused(*many))
        form = "is not of the form HOST:NAME=FILE"
        for value in ("a.b", "a.b:X", "a.b:X=", "a.b:=f", "a.b:X Y=f", ":X=f"):
            self.assertIn(form, self.refused("--allow-host=a.b:443", "--secret-header", value))
        self.assertIn("needs --allow-host for that host", self.refused("--secret-header=a.b:X=f"))
        self.assertIn("127.0.0.0", self.refused("--allow-host=a.b:443", "--egress-limit=127.0.0.0"))

    def test_files_of_secrets(self):
        allow = ("--allow-host=a.example:443",)
        for text, why in (("", "must have one line"), ("a\nb\n", "must have one line"),
                          ("a\x01b", "of ASCII"), ("\u00e9", "of ASCII"), ("x" * 5000, "File too large")):
            path = self.file("secret", text, 0o600)
            with self.subTest(text=text[:9]):
                done = self.run_jail(*allow, f"--secret-header=a.example:X={path}", "--", "true")
                self.assertEqual(done.returncode, 125)
                self.assertIn(why, done.stderr.decode())
                self.assertEqual(done.report["verdict"], "launcher-error")
        done = self.run_jail("--allow-host=a.example:80", f"--secret-header=a.example:X={self.file('f', 'x', 0o600)}", "--",
                             "true")
        self.assertIn("a.example:443 is not allowed: --allow-host a.example:443", done.stderr.decode())
        done = self.run_jail(*allow, "--secret-header=a.example:X=/none", "--", "true")
        self.assertIn("--secret-header: open /none: No such file", done.stderr.decode())
        # nobody else may be able to read it, and a link is somebody's choice
        os.symlink(path, path + ".link")
        for name, mode, why in ((path, 0o644, "mode 0644"), (path, 0o640, "mode 0640"), (path + ".link", 0o600, "is a link")):
            os.chmod(path, mode)
            done = self.run_jail(*allow, f"--secret-header=a.example:X={name}", "--", "true")
            self.assertEqual(done.returncode, 125)
            self.assertIn(why, done.stderr.decode())

    def test_proxy_that_does_not_start(self):
        """A library that it needs is missing: check tries it, and names that."""
        build = os.path.dirname(STEPJAIL)
        with tempfile.TemporaryDirectory() as place:
            for name in "stepjail", "stepjail-init", "stepjail-egress":
                shutil.copy(f"{build}/{name}", place)
            with open(f"{place}/stepjail-egress", "r+b") as file:
                program = file.read()
                self.assertIn(b"libcurl.so.", program)
                file.seek(program.index(b"libcurl.so."))
                file.write(b"libnone")
            os.chmod(place, 0o755)
            for words, state in ([], "absent"), (["--allow-host=a.example:80"], "missing"):
                told = subprocess.run([*self.drop, f"{place}/stepjail", "check", *words], text=True, check=False,
                                      stdout=subprocess.PIPE).stdout
                self.assertRegex(told, rf"(?m)^{state} +proxy of --allow-host it does not start: {place}/.*"
                                       r"stepjail-egress: error while loading shared libraries: libnone\.so")
            words = self.words("--allow-host=a.example:80", f"--rootfs={build}/rootfs/core", "--", "true", report=False)
            words[words.index(STEPJAIL)] = f"{place}/stepjail"
            done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]),
                         (125, "stepjail: egress: the proxy ended: see stepjail check"))

    def test_plan(self):
        """explain prints what reads back; without a host, all is as it was."""
        words = ["--allow-host=*.example.com:443", "--allow-host=[0:0::1]:80", "--egress-limit=5M"]
        plan = subprocess.run([STEPJAIL, "explain", *words], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        for line in ("allow-host *.example.com:443", "allow-host [0:0::1]:80", "net loopback",
                     "egress-limit 5M", "env https_proxy=http://127.0.0.1:3128"):
            self.assertIn(line + "\n", plan)
        again = subprocess.run([STEPJAIL, "explain", "--policy", self.file("p", plan)], text=True,
                               check=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(plan, again)
        done = self.python("import os; print(any('proxy' in k.lower() for k in os.environ))")
        self.assertEqual((done.stdout, done.report["egress"]), (b"False\n", None))


globals().update(each_user(OverMany, Requests, Options))

if __name__ == "__main__":
    unittest.main()
