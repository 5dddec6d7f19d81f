#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp_clients.py - stepjail-mcp with clients that others wrote: the protocol's own, its inspector, mcporter"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from python_scene import BUILD, MCP  # noqa: E402

MODULES = os.path.join(BUILD, "interop/node_modules")


def output(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Clients(unittest.TestCase):
    def serve(self):
        """Address and token of a server over HTTP."""
        folder = tempfile.TemporaryDirectory(prefix="stepjail-interop-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "token")
        server = subprocess.Popen([MCP, "--http", "0", "--token-file", path], stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        server.stderr.readline()
        address = server.stderr.readline().split()[-1]
        with open(path) as file:
            return address, file.read().strip()

    def test_the_protocols_own(self):
        address, token = self.serve()
        modes = ("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")
        for (mode, version), way in itertools.product(modes, ([MCP], [address, token])):
            with self.subTest(mode, way=way[0]):
                found = json.loads(output("node", f"{HERE}/mcp_client.mjs", MODULES, way[0], mode, *way[1:]))
                self.assertEqual(found["version"], version)
                self.assertEqual(len(found["tools"]), 9)
                self.assertEqual((found["first"], found["after"], found["file"]), ("42", "42", "seven"))
                self.assertEqual((found["raised"], found["cancelled"]), (True, True))
                self.assertEqual((found["dead"]["verdict"], found["dead"]["state"]), ("signaled", "rolled-back"))
                self.assertGreaterEqual(found["progress"], 1)

    def test_inspector(self):
        # it would swallow a --
        inspector = (f"{MODULES}/.bin/mcp-inspector", "--cli", MCP, "--jail-option=hostname=mine", "--method")
        tools = json.loads(output(*inspector, "tools/list"))["tools"]
        self.assertIn("rollback", [tool["name"] for tool in tools])
        code = "import os; os.uname().nodename"
        called = json.loads(output(*inspector, "tools/call", "--tool-name", "python", "--tool-arg", f"code={code}"))
        self.assertEqual(called["structuredContent"]["result"], "'mine'")

        address, token = self.serve()
        tools = json.loads(output(f"{MODULES}/.bin/mcp-inspector", "--cli", address, "--transport", "http", "--header",
                                  f"Authorization: Bearer {token}", "--method", "tools/list"))["tools"]
        self.assertIn("rollback", [tool["name"] for tool in tools])

    def test_mcporter(self):
        said = output(f"{MODULES}/.bin/mcporter", "call", "--stdio", MCP, "python", "code=6*7")
        self.assertIn('"result": "42"', said)


if __name__ == "__main__":
    unittest.main()
