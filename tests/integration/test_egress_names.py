#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_egress_names.py - --allow-host with names: their addresses, TLS, secrets

Each test has a network of its own (egress_world.py): loopback with addresses of the internet, a
name server that answers what the test says, an authority for certificates.
"""
import json
import os
import subprocess
import sys
import textwrap
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from egress_scene import RAW  # noqa: E402
from test_egress import GET, UNLISTED  # noqa: E402
from test_run import BUILD, PLAIN_ENV, STEPJAIL, TIMEOUT, TOP, Host, each_user  # noqa: E402

PRIVATE = "no address of it is public: --allow-host ADDRESS:PORT allows one"
UNTRUSTED = "TLS failed: the answer to the request says why"
OTHER_NAME = "a tunnel carries TLS with the name of its host alone"
BEGIN = f"""
import json, os
GET, RAW, PUBLIC, OTHER, SIX, INSIDE = {GET!r}, {RAW!r}, "{{0}}", "{{1}}", "{{2}}", "{{3}}"
""".format("93.184.216.34", "93.184.216.35", "2606:2800:220:1::34", "10.0.0.5")


class World(Host):
    options = []  # of each run; see test_vm_egress.py
    private = PRIVATE

    def world(self, code, jail=""):
        """Run code in a network of its own, where JAIL is a program; what it put into world.told."""
        new = ["unshare", "--mount", "--net", "--propagation", "private"]
        if self.as_user or os.geteuid() != 0:
            new.insert(1, "--map-root-user")
        path = self.file("test.py", f"{BEGIN}JAIL, world.options = {jail!r}, {self.options!r}\n" + textwrap.dedent(code))
        done = subprocess.run([*self.drop, *new, sys.executable,
                               os.path.join(TOP, "tests/integration/egress_world.py"), self.folder,
                               STEPJAIL, path], text=True, stdout=subprocess.PIPE, timeout=TIMEOUT,
                              stderr=subprocess.PIPE, check=False, env=PLAIN_ENV | {"HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class Names(World):
    def test_addresses(self):
        """A name leads to public addresses alone, whatever else it has."""
        told = self.world("""
            servers = [world.server(at, 80) for at in (PUBLIC, SIX, INSIDE, "127.0.0.1")]
            names = {"public.example": [[PUBLIC]], "six.example": [[SIX]], "mixed.example": [[INSIDE, PUBLIC]],
                     "none.example": [[]]}
            for i, at in enumerate(("10.0.0.5", "127.0.0.1", "0.0.0.0", "169.254.169.254", "100.64.0.1", "::1",
                                    "::ffff:127.0.0.1", "::ffff:10.0.0.5", "fe80::1", "fd00::1", "64:ff9b::a00:5",
                                    "2002:a00:5::1", "::127.0.0.1", "ff02::1", "192.168.1.1", "172.31.0.1")):
                names[f"p{i}.example"] = [[at]]
            world.dns.names = names
            told = world.run(GET + f"tell(*[get('http://%s/' % n)[:2] for n in {list(names)} + ['localhost']])",
                             "--allow-host=*.example.com:80", "--allow-host=localhost:80",
                             *[f"--allow-host={name}:80" for name in names])
            world.told = told | {"asked": [len(s.asked) for s in servers], "names": list(names)}""")
        got = json.loads(told["out"])
        self.assertEqual(got[:3], [[200, "hello\n"]] * 3)
        self.assertEqual(got[3], [502, "none.example cannot be looked up: Name or service not known"])
        for answer, name in zip(got[4:], told["names"][4:] + ["localhost"], strict=True):
            self.assertEqual(answer, [403, f"{name} has no address that is public: --allow-host with "
                                           "the address itself allows one"])
        self.assertEqual(told["asked"], [2, 1, 0, 0])
        rows = {row[0]: row[2] for row in told["rows"]}
        self.assertEqual([rows[name] for name in told["names"][4:]], [self.private] * 16)

    def test_literal(self):
        """An address that is allowed as such is reached, whatever it is."""
        told = self.world("""
            servers = [world.server(INSIDE, 80), world.server("::1", 80)]
            world.told = world.run(GET + "tell(get('http://10.0.0.5/'), get('http://[::1]/'), get('http://[0:0::1]/'))",
                                   "--allow-host=10.0.0.5:80", "--allow-host=[::1]:80")""")
        self.assertEqual([one[0] for one in json.loads(told["out"])], [200] * 3)

    def test_rebinding(self):
        """A name that is public when it is judged, and private a moment later."""
        told = self.world("""
            inside, public = world.server("127.0.0.1", 80), world.server(PUBLIC, 80)
            world.dns.names = {"rebind.example": [[PUBLIC], ["127.0.0.1"]]}
            told = world.run(GET + "tell(*[get('http://rebind.example/%d' % i)[0] for i in range(3)])",
                             "--allow-host=rebind.example:80")
            import socket
            naive = [socket.gethostbyname("rebind.example")]  # who looks up again
            world.told = told | {"public": len(public.asked), "inside": len(inside.asked), "naive": naive}""")
        self.assertEqual(json.loads(told["out"]), [200, 403, 403])
        self.assertEqual((told["public"], told["inside"], told["naive"]), (1, 0, ["127.0.0.1"]))

    def test_wildcard(self):
        told = self.world("""
            server = world.server(PUBLIC, 80)
            world.dns.names = {n: [[PUBLIC]] for n in ("a.data.example", "b.a.data.example", "data.example",
                                                       "xdata.example")}
            world.told = world.run(GET + f"tell(*[get('http://%s/' % n)[0] for n in {list(world.dns.names)}])",
                                   "--allow-host=*.data.example:80")""")
        self.assertEqual(json.loads(told["out"]), [200, 200, 403, 403])

    def test_rows_of_a_wildcard(self):
        """Where names below it have taken their rows, it has one for the others, and each host of a rule its own."""
        told = self.world("""
            server = world.server(PUBLIC, 80)
            names = [f"n{i}.a.example" for i in range(20)] + ["b.example"]
            world.dns.names = {name: [[PUBLIC]] for name in names}
            world.told = world.run(GET + f"tell(*[get('http://%s/' % n)[0] for n in {names}])",
                                   "--allow-host=c.example:80,*.a.example:80,b.example:80")""")
        self.assertEqual(json.loads(told["out"]), [200] * 21)
        self.assertEqual([[row[0], row[3]] for row in told["rows"]],
                         [[f"n{i}.a.example", 1] for i in range(16)] + [["*.a.example", 4], ["b.example", 1]])

    def test_redirects(self):
        """The jail follows them, and each is judged anew."""
        told = self.world("""
            inside, server = world.server("127.0.0.1", 80), world.server(PUBLIC, 80)
            world.dns.names = {"a.example": [[PUBLIC]]}
            server.answers = {"/in": (302, {"Location": "http://127.0.0.1/secret"}, b""),
                              "/on": (302, {"Location": "/there"}, b"")}
            told = world.run(GET + "tell(get('http://a.example/in'), get('http://a.example/on')[:2])",
                             "--allow-host=a.example:80")
            world.told = told | {"inside": len(inside.asked)}""")
        got = json.loads(told["out"])
        self.assertEqual(got[0][:2], [403, f"127.0.0.1:80 is not allowed: {UNLISTED}"])
        self.assertEqual((got[1], told["inside"]), ([200, "hello\n"], 0))


class Tls(World):
    def test_upgrade(self):
        """http://HOST/ goes over TLS where port 443 is allowed, with a secret that the jail lacks."""
        told = self.world("""
            server = world.server(PUBLIC, 443, world.certificate("api.example"))
            plain = world.server(PUBLIC, 80)
            server.answers = {"/long": (200, {}, b"l" * 2000000)}
            world.dns.names = {"api.example": [[PUBLIC]], "other.example": [[PUBLIC]]}
            key = world.file("key", "Bearer s3cr3t-of-operator\\n", 0o600)
            told = world.run(GET + JAIL, "--allow-host=api.example:443", "--allow-host=other.example:80",
                             "--secret-header=api.example:Authorization=" + key)
            world.told = told | {"asked": server.asked, "plain": plain.asked}""", """
import os
a = get('http://api.example/one', headers={'authorization': 'mine', 'X-A': 'b'})
b = get('http://api.example:443/two', data=b'x' * 300000)
c = get('http://api.example/long')
tell(a, b, [c[0], len(c[1])], get('http://other.example/', headers={'authorization': 'mine'})[0],
     's3cr3t' in str(os.environ))""")
        a, b, c, other, leaked = json.loads(told["out"])
        self.assertEqual((a[:2], b[0], c, other, leaked), ([200, "hello\n"], 200, [200, 2000000], 200, False))
        one, two, _ = told["asked"]
        self.assertEqual([v for k, v in one["headers"] if k.lower() == "authorization"],
                         ["Bearer s3cr3t-of-operator"])
        self.assertIn(["Host", "api.example"], one["headers"])
        self.assertIn(["X-A", "b"], one["headers"])
        self.assertEqual(two["body"], 300000)
        self.assertEqual([v for k, v in told["plain"][0]["headers"] if k == "Authorization"], ["mine"])
        self.assertEqual(told["rows"], [["api.example", 443, None, 3, 0], ["other.example", 80, None, 1, 0]])

    def test_secret_comes_once(self):
        """What a gateway takes for the secret's field is dropped, and no method may send it back."""
        told = self.world("""
            origin = world.origin(PUBLIC, 443, world.certificate("api.example"))
            world.dns.names = {"api.example": [[PUBLIC]]}
            key = world.file("key", "s3cr3t", 0o600)
            line = " http://api.example/ HTTP/1.1\\r\\n"
            names = ["x-api-key", "X_API_KEY", "X.Api_Key", "x!api~key", "XApiKey", "X-Api-Key2", "X-Api", "Y-Api-Key"]
            rows = {"GET": "GET" + line + "".join(name + ": mine\\r\\n" for name in names) + "\\r\\n",
                    **{way: way + line + "\\r\\n" for way in ("TRACE", "TRACK")},
                    "Connection": "GET" + line + "Connection: X-Api-Key\\r\\n\\r\\n"}
            path = world.file("rows.json", json.dumps([(k, v, 20) for k, v in rows.items()]))
            secret = "--secret-header=api.example:%s=" + key
            told = world.run(RAW, "--allow-host=api.example:443", secret % "X-Api-Key", f"--bind={path}:/rows")
            told["came"] = [one.decode() for one in origin.wait(lambda came: len(came) == 1)]
            world.told = told""")
        got = dict(json.loads(told["out"]))
        self.assertEqual({name: answer[9:12] for name, answer in got.items()},
                         {"GET": "200", "TRACE": "405", "TRACK": "405", "Connection": "400"})
        head = "GET / HTTP/1.1\r\nHost: api.example\r\nX-Api-Key: s3cr3t\r\n" + "".join(
            name + ": mine\r\n" for name in ("XApiKey", "X-Api-Key2", "X-Api", "Y-Api-Key")) + "Connection: close\r\n\r\n"
        self.assertEqual(told["came"], [head])
        self.assertNotIn("s3cr3t", got["TRACE"] + got["TRACK"] + got["Connection"])

    def test_end_of_the_run(self):
        """A host that was connected to, and has said nothing, is no success."""
        told = self.world("""
            world.certificate("silent.example")
            silent, quick = world.origin(PUBLIC, 443), world.server(OTHER, 80)

            def answer(handler):
                silent.wait(lambda came: came)
                handler.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
            quick.answers = {"/": (200, {}, answer)}
            world.dns.names = {"silent.example": [[PUBLIC]], "quick.example": [[OTHER]]}
            world.told = world.run(GET + JAIL, "--allow-host=silent.example:443,quick.example:80")""", """
import socket
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"GET http://silent.example/ HTTP/1.1\\r\\n\\r\\n")
tell(get("http://quick.example/")[0])""")
        self.assertEqual(json.loads(told["out"]), [200])
        self.assertEqual(sorted(told["rows"]), [
            ["quick.example", 80, None, 1, 0], ["silent.example", 443, "its process ended before it did", 1, 1]])

    def test_certificates(self):
        """Of another name, of nobody's authority, or no TLS at all: nothing is sent."""
        told = self.world("""
            import ssl, subprocess
            wrong = world.server(PUBLIC, 443, world.certificate("right.example"))
            plain = world.server(OTHER, 443)
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-addext",
                            "subjectAltName=DNS:self.example", "-keyout", world.folder + "/self.key", "-out",
                            world.folder + "/self.pem"], check=True, stderr=subprocess.DEVNULL)
            own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            own.load_cert_chain(world.folder + "/self.pem", world.folder + "/self.key")
            alone = world.server(SIX, 443, own)
            world.dns.names = {"wrong.example": [[PUBLIC]], "plain.example": [[OTHER]], "self.example": [[SIX]]}
            told = world.run(GET + f"tell(*[get('http://%s/' % n)[:2] for n in {list(world.dns.names)}])",
                             *[f"--allow-host={n}:443" for n in world.dns.names])
            world.told = told | {"asked": wrong.asked + plain.asked + alone.asked}""")
        got = json.loads(told["out"])
        self.assertEqual([one[0] for one in got], [502] * 3, told)
        self.assertIn("wrong.example: TLS: SSL peer certificate", got[0][1])
        self.assertEqual(told["asked"], [])
        self.assertEqual([row[2] for row in told["rows"]], [UNTRUSTED] * 3)

    @unittest.skipUnless(os.path.isdir(f"{BUILD}/rootfs/data"), "the tree data is missing: make data")
    def test_https_of_the_tree_data(self):
        """Its ssl goes through a tunnel, and trusts whom SSL_CERT_FILE or the tree names."""
        told = self.world("""
            server = world.server(PUBLIC, 443, world.certificate("a.example"))
            world.dns.names = {"a.example": [[PUBLIC]], "b.example": [[PUBLIC]]}
            told = []
            for trust in ([], [f"--bind={world.folder}/ca.pem:/ca.pem", "--env=SSL_CERT_FILE=/ca.pem"]):
                told.append(world.run(GET + "tell(*[get('https://%s.example/' % n)[:2] for n in 'abc'])",
                                      "--rootfs=data", "--memory=512M", "--allow-host=a.example:443",
                                      "--allow-host=b.example:443", *trust))
            told[1]["asked"] = len(server.asked)
            world.told = told""")
        refused = ["URLError", "<urlopen error Tunnel connection failed: 403 c.example:443 is not allowed: "
                   f"{UNLISTED}>"]
        strange, trusted = (json.loads(one["out"]) for one in told)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", strange[0][1])
        self.assertEqual((trusted[0], trusted[2], strange[2]), ([200, "hello\n"], refused, refused))
        self.assertIn("Hostname mismatch", trusted[1][1])
        self.assertEqual([row[:3] for row in told[1]["rows"]], [
            ["a.example", 443, None], ["b.example", 443, None], ["c.example", 443, UNLISTED]])
        self.assertEqual(told[1]["asked"], 1)

    def test_tunnels(self):
        """CONNECT carries TLS for that name, and nothing else."""
        told = self.world("""
            server = world.server(PUBLIC, 443, world.certificate("a.example", PUBLIC))
            inside = world.server(INSIDE, 443)
            world.dns.names = {"a.example": [[PUBLIC]]}
            head = "CONNECT a.example:443 HTTP/1.1\\r\\n\\r\\n"
            hello = world.hello("a.example")
            literal = f"CONNECT {PUBLIC}:443 HTTP/1.1\\r\\n\\r\\n"
            rows = {"right": head + hello, "upper": head.replace("a.ex", "A.EX") + hello,
                    "other": head + world.hello("b.example"), "none": head + world.hello(None),
                    "plain": head + "GET / HTTP/1.1\\r\\nHost: a.example\\r\\n\\r\\n", "cut": head + hello[:50],
                    "noise": head + "\\x16\\x03\\x01\\x00\\x05\\x02\\x00\\x00\\x01\\x00",
                    "literal": literal + world.hello(None), "literal name": literal + hello,
                    "port": head.replace("443", "80") + hello,
                    "inside": f"CONNECT {INSIDE}:443 HTTP/1.1\\r\\n\\r\\n" + hello,
                    "url": "CONNECT http://a.example:443/ HTTP/1.1\\r\\n\\r\\n" + hello,
                    "host": head[:-2] + "Host: b.example\\r\\n\\r\\n" + hello}
            path = world.file("rows.json", json.dumps([(k, v, 3) for k, v in rows.items()]))
            told = world.run(RAW, "--allow-host=a.example:443", f"--allow-host={PUBLIC}:443",
                             f"--bind={path}:/rows")
            world.told = told | {"inside": len(inside.asked)}""")
        got = dict(json.loads(told["out"]))
        passed = {name for name, came in got.items() if "\x16\x03\x03" in came}
        self.assertEqual(passed, {"right", "upper", "literal"}, got)
        self.assertEqual(told["inside"], 0)
        for name in ("port", "inside"):
            self.assertIn("403", got[name])
        for name in ("url", "host"):
            self.assertIn("400", got[name])
        row, = (row for row in told["rows"] if row[:2] == ["a.example", 443])
        self.assertEqual(row[3:], [7, 5])
        self.assertIn(row[2], (OTHER_NAME, "it was broken off"))  # why the one failed that ended last

    def test_records(self):
        """Behind a ClientHello, with a name or without, records of TLS pass, and nothing else; from a host, too."""
        told = self.world("""
            alert = "\\x15\\x03\\x03\\x00\\x02\\x01\\x00"
            origin = world.origin(PUBLIC, 443, answer=lambda came: (b"220 GET\\r\\n" if b"evil" in came else alert.encode()))
            world.dns.names = {"a.example": [[PUBLIC]]}
            plain, data = "GET / HTTP/1.1\\r\\n\\r\\n", "\\x17\\x03\\x03\\x00\\x04"
            rows = {"plain": [plain], "record": [data + "good"], "record in parts": [data[:2], data[2:] + "go", "od"],
                    "empty records": [data[:-1] + "\\x00" + data + "good"], "record, then plain": [data + "good" + plain],
                    "another type": ["\\x18" + data[1:] + "GET "], "another version": ["\\x17\\x02" + data[2:] + "GET "],
                    "longer than any": ["\\x17\\x03\\x03\\x49\\x00GET "], "plain answer": [data + "evil"]}
            hellos = {f"{PUBLIC}:443": world.hello(None), "a.example:443": world.hello("a.example")}
            path = world.file("rows.json", json.dumps([(name, place, hello, parts) for place, hello in hellos.items()
                                                       for name, parts in rows.items()]))
            told = world.run(JAIL, "--allow-host=a.example:443", f"--allow-host={PUBLIC}:443", f"--bind={path}:/rows")
            world.told = told | {"came": [one.decode("latin-1") for one in origin.came]}""", """
import json, socket
told = []
for name, place, hello, parts in json.load(open("/rows")):
    with socket.create_connection(("127.0.0.1", 3128)) as s:
        s.settimeout(30)
        got = b""
        try:
            s.sendall(b"CONNECT %s HTTP/1.1\\r\\n\\r\\n" % place.encode())
            while not got.endswith(b"\\r\\n\\r\\n"):
                got += s.recv(65536)
            s.sendall(hello.encode("latin-1"))
            got = s.recv(65536)
            for part in parts:
                s.sendall(part.encode("latin-1"))
            got += s.recv(65536)
        except OSError:
            pass
        told.append((name, len(got)))
print(json.dumps(told))""")
        passed = ("record", "record in parts", "empty records")
        for name, length in json.loads(told["out"]):
            with self.subTest(name=name):
                self.assertEqual(length > 7, name in passed)
        self.assertEqual("".join(told["came"]).count("GET"), 0)
        self.assertEqual("".join(told["came"]).count("good"), 2 * len(passed))

    def test_https(self):
        """A whole program that speaks TLS itself, by HTTPS_PROXY: the host's Python."""
        told = self.world("""
            server = world.server(PUBLIC, 443, world.certificate("a.example"))
            server.answers = {"/long": (200, {}, b"l" * 3000000)}
            world.dns.names = {"a.example": [[PUBLIC]], "b.example": [[PUBLIC]]}
            binds = [f"--bind={at}:{at}" for at in ("/usr", "/lib", "/lib64") if os.path.isdir(at)]
            script = world.file("s.py", GET + JAIL)
            import subprocess
            done = subprocess.run([world.stepjail, "run", "--allow-missing=cgroup", "--lock-code=no", *binds,
                                   f"--bind={world.folder}:/t", "--env=SSL_CERT_FILE=/t/ca.pem",
                                   "--allow-host=a.example:443", "--", "/usr/bin/python3", "/t/s.py"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            world.told = {"out": done.stdout, "err": done.stderr, "bodies": [a["body"] for a in server.asked]}""", """
a = get('https://a.example/long'), get('https://a.example/', data=b'y' * 200000)[0], get('https://b.example/')
tell(a[0][0], len(a[0][1]), a[1], a[2])""")
        got = json.loads(told["out"]) if told["out"] else told["err"]
        self.assertEqual(got[:3], [200, 3000000, 200])
        self.assertIn(f"403 b.example:443 is not allowed: {UNLISTED}", got[3][1])
        self.assertEqual(told["bodies"], [0, 200000])


globals().update(each_user(Names, Tls))

if __name__ == "__main__":
    unittest.main()
