#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_e2b_domain.py - stepjail-mcp --e2b for clients that find sandboxes by names below a domain, over TLS

Client does what LiteLLM's does, which is none of E2B's: it makes a sandbox by api_base, and takes its code and
tokens to https://49999-ID.DOMAIN/execute, with the domain of the answer. Names lead to this host, as by a DNS
record for all below the domain.
"""
import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2b_scene import KEYS, Scene  # noqa: E402
from python_scene import MCP  # noqa: E402
from test_mcp import PATIENCE  # noqa: E402

NAME = "jails.localhost"


class Connection(http.client.HTTPSConnection):
    """To a name that is resolved to this host."""

    def connect(self):
        self.sock = self._context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), PATIENCE),
                                              server_hostname=self.host)


class Client:
    """@api_base: of the service; @port: where all names lead; @context: whom it trusts"""

    def __init__(self, api_base, port, context, key=KEYS[0]):
        self.base, self.port, self.context, self.key = api_base.removeprefix("https://"), port, context, key

    def ask(self, method, authority, path, body=None, headers=()):
        connection = Connection(authority, self.port, context=self.context)
        with contextlib.closing(connection):
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Host": authority, "Content-Type": "application/json",
                                                    **dict(headers)})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def create(self):
        status, data = self.ask("POST", self.base, "/sandboxes", {
            "templateID": "code-interpreter-v1", "timeout": 300, "secure": True, "allow_internet_access": True},
            {"X-API-Key": self.key})
        if status != 201:
            raise AssertionError(data)
        made = json.loads(data)
        self.number, self.domain = made["sandboxID"], made["domain"] or "e2b.app"
        self.tokens = {"X-Access-Token": made["envdAccessToken"],
                       "E2B-Traffic-Access-Token": made["trafficAccessToken"]}
        return made

    def execute(self, code, **more):
        status, data = self.ask("POST", more.pop("to", f"49999-{self.number}.{self.domain}"), "/execute", {
            "code": code, "context_id": None, "env_vars": None}, {**self.tokens, **more})
        return status, [json.loads(line) for line in data.splitlines()] if status == 200 else data

    def delete(self):
        return self.ask("DELETE", self.base, f"/sandboxes/{self.number}", None, {"X-API-Key": self.key})[0]


class Domain(Scene):
    scheme = "https"

    @classmethod
    def setUpClass(cls):
        """A key and a certificate, as agent/README.md has them."""
        folder = tempfile.TemporaryDirectory(prefix="stepjail-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.certificate, cls.pem = f"{folder.name}/certificate", f"{folder.name}/tls"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:*.{NAME}",
                        "-keyout", cls.pem, "-out", cls.certificate], check=True, stderr=subprocess.DEVNULL)
        with open(cls.certificate) as certificate, open(cls.pem, "a") as pem:
            pem.write(certificate.read())
        cls.context = ssl.create_default_context(cafile=cls.certificate)
        cls.options = "--tls", cls.pem, "--e2b-domain", NAME

    def client(self, **more):
        return Client(f"https://api.{NAME}", self.port, self.context, **more)

    def test_a_client_that_is_not_e2bs(self):
        client = self.client()
        self.assertEqual(client.create()["domain"], NAME)
        status, lines = client.execute("import sys\nprint('hello')\nprint('oh', file=sys.stderr)\n6 * 7")
        said = {kind: "".join(line.get("text", "") for line in lines if line["type"] == kind)
                for kind in ("stdout", "stderr", "result")}
        self.assertEqual((status, said), (200, {"stdout": "hello\n", "stderr": "oh\n", "result": "42"}))
        self.assertEqual(lines[-1], {"type": "number_of_executions", "execution_count": 1})
        error, = [line for line in client.execute("1/0")[1] if line["type"] == "error"]
        self.assertEqual(error["name"], "ZeroDivisionError")
        info = json.loads(client.ask("GET", client.base, f"/sandboxes/{client.number}", None,
                                     {"X-API-Key": KEYS[0]})[1])
        self.assertEqual(info["domain"], NAME)
        self.assertEqual((client.delete(), client.delete()), (204, 404))
        self.assertEqual(client.execute("1")[0], 502)

    def test_host_says_whom_a_request_is_of(self):
        one, other = self.client(), self.client(key=KEYS[1])
        one.create(), other.create()
        own = f"49999-{one.number}.{NAME}"
        for to, more, status in (
                (own, {}, 200), (own.upper() + ":1", {}, 200), (f"49983-{one.number}.{NAME}", {}, 200),
                (own, {"E2b-Sandbox-Id": one.number}, 200), (own, {"E2b-Sandbox-Id": other.number}, 400),
                (f"localhost:{self.port}", {"E2b-Sandbox-Id": one.number}, 200), (f"localhost:{self.port}", {}, 400),
                (f"49999-{other.number}.{NAME}", {}, 401), (f"49999-inothing.{NAME}", {}, 502),
                (f"3000-{one.number}.{NAME}", {}, 404), (f"api.{NAME}", {"E2b-Sandbox-Id": one.number}, 404),
                (f"49999-{one.number}.{NAME}.evil.example", {}, 403), (f"x.49999-{one.number}.{NAME}", {}, 403),
                (f"49999-{one.number}.jails-localhost", {}, 403), (NAME, {}, 403),
                (own, {"Origin": f"https://{NAME}"}, 403)):
            with self.subTest(to, more=more):
                connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                                         context=ssl._create_unverified_context())
                with contextlib.closing(connection):
                    connection.request("POST", "/execute", b'{"code": "1"}', {"Host": to, **one.tokens, **more})
                    self.assertEqual(connection.getresponse().status, status)
        # the service's key is of no use at a sandbox's name, nor a path of the service's
        self.assertEqual(one.ask("GET", own, "/v2/sandboxes", None, {"X-API-Key": KEYS[0]})[0], 404)
        self.assertEqual(one.ask("GET", f"api.{NAME}", "/v2/sandboxes", None, {"X-API-Key": KEYS[0]})[0], 200)

    def test_who_speaks_no_tls(self):
        for said in b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", b"\x16\x03\x01\x00\x05hello":
            with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection, \
                    contextlib.suppress(ConnectionError):
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                self.assertNotIn(b"HTTP", connection.recv(4096))
        client = self.client()
        client.create()
        self.assertEqual(client.execute("1", **{"X-Access-Token": "x", "E2B-Traffic-Access-Token": "x"})[0], 401)
        self.assertEqual(client.ask("POST", client.base, "/sandboxes", {"metadata": "x" * (1 << 20)},
                                    {"X-API-Key": KEYS[0]})[0], 400)


class NoDomain(Scene):
    def test_sandboxes_are_nowhere_else(self):
        """Who takes code and tokens to the domain of the answer keeps them on this host."""
        made = self.create()
        self.assertEqual(made["domain"], f"localhost:{self.port}")
        done = self.ask(made, "GET", "/health", Host=f"49983-{made['sandboxID']}.{made['domain']}")
        self.assertEqual(done.status, 204)


class Files(unittest.TestCase):
    def test_what_is_no_key(self):
        Domain.setUpClass()
        self.addCleanup(Domain.doClassCleanups)
        closed, crt = Domain.pem, Domain.certificate
        os.symlink(closed, closed + ".link")
        for path, mode, said in ((closed, 0o640, "chmod 600"), (crt, 0o600, "must have a key without a passphrase"),
                                 (closed + ".link", 0o600, "symbolic links"), (closed + ".no", None, "No such file")):
            if mode:
                os.chmod(path, mode)
            done = subprocess.run([MCP, "--e2b", "0", "--tls", path], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 125)
            self.assertRegex(done.stderr, rf"\Astepjail-mcp: --tls {path}: .*{said}.*\n\Z")


if __name__ == "__main__":
    unittest.main()
