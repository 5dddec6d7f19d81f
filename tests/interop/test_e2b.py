#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_e2b.py - a program that was written for E2B's sandboxes, with E2B's own packages, against stepjail-mcp --e2b"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from python_scene import BUILD, MCP  # noqa: E402

MODULES = os.path.join(BUILD, "interop/node_modules")
SHELL = ("--lock-code=no", "--bind", "/bin/bash:/bin/bash",
         "--bind", "/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu",
         "--bind", "/lib64/ld-linux-x86-64.so.2:/lib64/ld-linux-x86-64.so.2")


class E2b(unittest.TestCase):
    def client(self, *jail, port="0", options=(), own=None):
        """What the program showed, by its names; its lines are printed as well."""
        folder = tempfile.TemporaryDirectory(prefix="stepjail-interop-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "key")
        server = subprocess.Popen([MCP, "--e2b", port, "--token-file", path, *options, "--", *jail],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        server.stderr.readline()
        address = server.stderr.readline().split()[-1]
        with open(path) as file:
            key = file.read().strip()
        own = {**(own or {"E2B_API_URL": address, "E2B_SANDBOX_URL": address}), "E2B_API_KEY": key}
        done = subprocess.run(["node", f"{HERE}/e2b_client.mjs", MODULES], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, env={**os.environ, **own})
        print(f"-- stepjail-mcp --e2b -- {' '.join(jail)}\n{done.stdout}{done.stderr}", flush=True)
        self.assertEqual(done.returncode, 0)
        return {one["name"]: one["came"] for one in map(json.loads, done.stdout.splitlines())}

    def raised(self, came, kind, said):
        self.assertEqual(came.get("raised"), kind, came)
        self.assertIn(said, came["message"])

    def test_code_files_and_sandboxes(self):
        self.all_of_it(self.client("--rootfs", "data"))

    def test_names_below_a_domain(self):
        """Over TLS, where E2B_DOMAIN is all that the program is told; preloaded is what a record of DNS would do."""
        folder = tempfile.TemporaryDirectory(prefix="stepjail-interop-")
        self.addCleanup(folder.cleanup)
        certificate, pem, names = (os.path.join(folder.name, name) for name in ("certificate", "pem", "names.cjs"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=jails", "-addext", "subjectAltName=DNS:*.jails.localhost",
                        "-keyout", pem, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        with open(certificate) as public, open(pem, "a") as both, open(names, "w") as script:
            both.write(public.read())
            script.write("const dns = require('dns'), lookup = dns.lookup\ndns.lookup = (name, ...more) => "
                         "lookup(name.endsWith('.jails.localhost') ? '127.0.0.1' : name, ...more)\n")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        domain = f"jails.localhost:{port}"
        self.all_of_it(self.client("--rootfs", "data", port=port, options=("--tls", pem, "--e2b-domain", domain), own={
            "E2B_DOMAIN": domain, "NODE_EXTRA_CA_CERTS": certificate, "NODE_OPTIONS": f"--require {names}"}))

    def all_of_it(self, came):
        self.assertEqual((came["running"], came["info"]), (True, {"state": "running", "metadata": {"user": "a b"},
                                                                  "same": True}))
        logs = {name: "".join(pieces) for name, pieces in came["stdout"].pop("logs").items()}
        self.assertEqual(came["stdout"], {"results": [{"text": "42"}], "text": "42", "count": 1})
        self.assertEqual(logs, {"stdout": "hello\n", "stderr": "oh\n"})
        self.assertEqual(came["heard"], "hello\n42")
        error = came["error"]["error"]
        self.assertEqual((error["name"], error["value"]), ("ZeroDivisionError", "division by zero"))
        self.assertIn("Traceback", error["traceback"])
        self.assertEqual(came["syntax"]["error"]["name"], "SyntaxError")
        self.assertEqual(came["envs"]["text"], "['1', '2']")
        self.assertIn("<table", came["forms"]["results"][0]["html"])
        self.assertEqual(came["png"], [{"formats": ["svg", "png"], "png": "PNG"}])
        self.assertIn("execve", came["refused"]["logs"]["stderr"][0])
        self.raised(came["language"], "SandboxError", "a jail runs Python")

        self.raised(came["timeout"], "TimeoutError", "Execution timed out")
        self.assertEqual(came["goes on"]["text"], "41")

        self.assertEqual(came["contexts"], [["python", "/home/user"]] * 2)
        self.assertEqual(came["apart"]["error"]["name"], "NameError")
        self.assertEqual(came["kept"]["text"], "1")
        self.assertEqual((came["restarted"]["error"]["name"], came["restarted"]["count"]), ("NameError", 1))
        self.raised(came["removed"], "NotFoundError", "there is no context")

        self.assertEqual(came["write"]["path"], "/home/user/data/a.csv")
        self.assertEqual([one["path"] for one in came["writes"]], ["/home/user/b.txt", "/home/user/c.bin"])
        self.assertEqual((came["read"], came["bytes"], came["stream"]), ("n\n3\n4\n", [0, 13, 10, 45], "b"))
        self.assertEqual((came["summed"]["text"], came["link"], came["upload"]), ("7", came["read"], [200, "up"]))
        self.assertIn(["file", "/home/user/data/a.csv", "a.csv"], came["list"])
        self.assertEqual((came["made"], came["renamed"], came["exists"]),
                         ([True, False], "/home/user/new/b.txt", [False, True]))
        self.assertEqual(came["entry"], {"name": "b.txt", "type": "file", "path": "/home/user/new/b.txt", "size": 1,
                                         "recent": True})
        self.raised(came["gone"], "FileNotFoundError", "No such file")
        self.raised(came["elsewhere"], "InvalidArgumentError", "is not below /home/user")
        self.raised(came["watch"], "SandboxError", "cannot be watched")

        self.raised(came["command"], "SandboxError", "--lock-code")
        self.assertEqual(came["processes"], [])
        self.raised(came["pty"], "SandboxError", "no terminal")
        self.raised(came["pause"], "SandboxError", "no such operation")
        self.raised(came["template"], "SandboxError", "there is no template")

        self.assertEqual((came["connected"], came["listed"]), ("41", [1, 1, True]))
        self.raised(came["ended"], "TimeoutError", "The sandbox was killed while the request was in progress")
        self.assertEqual(came["killed"], [False, False, True])
        self.raised(came["after"], "TimeoutError", "it has ended")
        self.raised(came["unknown"], "SandboxNotFoundError", "not found")
        self.raised(came["key"], "AuthenticationError", "E2B_API_KEY")

    @unittest.skipUnless(os.path.isdir("/lib/x86_64-linux-gnu"), "the host's shell is elsewhere")
    def test_commands(self):
        came = self.client("--rootfs", "core", *SHELL)
        self.assertEqual(came["command"], {"exitCode": 0, "stdout": "out\n", "stderr": "err\n"})
        self.raised(came["pty"], "SandboxError", "no terminal")


if __name__ == "__main__":
    unittest.main()
