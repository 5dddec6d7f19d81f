#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_analysis.py - a data analysis by a model at aimock, in a real jail of the tree data

What the model says is tests/data/analysis.turns, over both interfaces, in both ways in which
code comes; what it is told must fit what that file expects, word for word.
"""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)

from agent_scene import AgentCase  # noqa: E402
from analysis import FILES, QUESTION, SCRIPT, look  # noqa: E402
from test_agent_real import Installed  # noqa: E402
from test_aimock import Server, turns  # noqa: E402


def script():
    """[(expected, words, code)]; the last one without code."""
    with open(SCRIPT, encoding="utf-8") as f:
        parts = f.read().split("--- turn\n")[1:]
    for part in parts:
        lines = part.splitlines(keepends=True)
        expected = [line[len("expect: "):-1] for line in lines if line.startswith("expect: ")]
        words, _, code = "".join(lines[len(expected):]).partition("```python\n")
        yield expected, words, code.removesuffix("```\n")


def fixtures():
    said = list(script())
    yield from turns("text", *({"content": words + ("```python\n" + code + "```\n" if code else "")}
                               for _, words, code in said))
    yield from turns("tools", *({"content": words, **({"toolCalls": [
        {"name": "python", "arguments": {"code": code}}]} if code else {})}
        for _, words, code in said))


class Analysis(Installed, AgentCase):
    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)

    def test_over_both_interfaces_in_both_ways(self):
        expected = [words for words, _, _ in script()]
        with Server(self.folder, fixtures=list(fixtures())) as server:
            for model in "openai", "anthropic":
                for code_in in "text", "tools":
                    with self.subTest(model=model, code_in=code_in):
                        out = os.path.join(self.folder, f"out-{model}-{code_in}")
                        status, said, err = self.run_agent(
                            "solve", QUESTION, "--stepjail", self.stepjail, "--model", model, "--model-name", code_in, "--base-url",
                            server.url + "/v1", "--code-in", code_in, "--json", "--quiet",
                            "--rootfs", "data", "--memory", "1G", "--out", out, *self.missing,
                            *(word for file in FILES for word in ("--file", file)),
                            env=self.env(STEPJAIL_API_KEY="some-key"))
                        self.assertEqual(status, 0, said + err)
                        got = json.loads(said)
                        for step, words in zip(got["steps"], expected[1:]):
                            for word in words:
                                self.assertIn(word, step["observation"])
                        look(self, got, out)
            self.assertEqual({e["response"]["status"] for e in server.journal()}, {200})


if __name__ == "__main__":
    unittest.main()
