#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_lacking.py - stepjail-agent in its own jail on kernels that lack a part"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase  # noqa: E402
from mock_model import MockModel  # noqa: E402
from test_agent_confine import (CHILDREN, NO_LANDLOCK, SYS_LANDLOCK_CREATE_RULESET,  # noqa: E402
                                landlock_abi, without_call)


class Lacking(AgentCase):
    """Kernels without Landlock."""

    def test_no_landlock(self):
        lack = without_call(SYS_LANDLOCK_CREATE_RULESET, 38)
        for more, status in (((), 0), (("--require-confinement", "--quiet"), 125)):
            with MockModel([{"say": "Hi."}]) as mock:
                got, out, err = self.solve("--model", "openai", "--model-name", "m", "--json",
                                           "--base-url", mock.url, *more, preexec_fn=lack)
                self.assertEqual((got, len(mock.requests)), (status, 1 if status == 0 else 0))
            self.assertIn(NO_LANDLOCK, err)
            if status:
                self.one_line(err, "--require-confinement")
            else:
                facts = json.loads(out)["confinement"]
                self.assertEqual(facts["client"]["not_enforced"], ["files", "ports"])
                self.assertEqual(facts["not_enforced"], [])

    def test_quiet_is_told_what_is_missing(self):
        """Of the agent's own walls, and of its client's."""
        lack = without_call(SYS_LANDLOCK_CREATE_RULESET, 38)
        with MockModel([{"say": "Hi."}]) as mock:
            got, out, err = self.solve("--model", "openai", "--model-name", "m", "--quiet",
                                       "--base-url", mock.url, preexec_fn=lack)
        self.assertEqual((got, out), (0, "Hi.\n"))
        self.assertIn(NO_LANDLOCK + ": nothing keeps the model client from", err)
        status, out, err = self.solve("--model", self.script("Hi."), "--quiet", "--out",
                                      self.path("o"), preexec_fn=lack)
        self.assertEqual((status, out), (0, "Hi.\n"))
        self.assertIn(NO_LANDLOCK + ": nothing keeps the agent from", err)

    def test_no_landlock_and_nothing_to_open(self):
        """With a scripted model the filter alone refuses every file and port."""
        lack = without_call(SYS_LANDLOCK_CREATE_RULESET, 95)
        got = self.steps("print(1)", more=("--require-confinement",), preexec_fn=lack)
        self.assertEqual(got["confinement"]["not_enforced"], [])
        self.assertEqual(got["confinement"]["landlock_abi"], 0)
        self.assertEqual(got["confinement"]["needs"], CHILDREN)
        self.assertEqual(got["confinement"]["create"], [])
        status, out, err = self.solve("--model", self.script("x"), "--require-confinement", "--out",
                                      self.path("o"), preexec_fn=lack)
        self.assertEqual(status, 125)
        self.assertIn(NO_LANDLOCK, err)

    def test_prompt_without_landlock(self):
        lack = without_call(SYS_LANDLOCK_CREATE_RULESET, 38)
        with open(self.path("script", "print(1)\n")) as stdin:
            status, out, err = self.run_agent("repl", "--stepjail", self.fake, preexec_fn=lack,
                                              stdin=stdin)
            self.assertEqual((status, out), (0, "1\n"))
            self.assertIn(NO_LANDLOCK, err)
            stdin.seek(0)
            status, out, err = self.run_agent("repl", "--stepjail", self.fake, "--transcript",
                                              "none", "--require-confinement", preexec_fn=lack,
                                              stdin=stdin)
            self.assertEqual((status, out), (125, ""))
            self.one_line(err, NO_LANDLOCK)

    def test_kernel_that_answers_oddly(self):
        """Another refusal is no absence: it is an error, and nothing is asked."""
        lack = without_call(SYS_LANDLOCK_CREATE_RULESET, 22)
        status, out, err = self.solve("--model", self.script("Done."), preexec_fn=lack)
        self.assertEqual((status, out.count("answer")), (125, 0))
        self.one_line(err, "ask for Landlock's ABI")

    def test_transcripts_are_read_confined(self):
        """They may be a stranger's: so nothing of them is read, or run, where that fails."""
        path = self.path("t.jsonl")
        status, _, err = self.solve("--model", self.script("Done."), "--transcript", path)
        self.assertEqual(status, 0, err)
        lack = without_call(SYS_LANDLOCK_CREATE_RULESET, 22)
        self.assertEqual(self.solve("--model", self.script("Done."))[0], 0)
        for command in (("verify", path), ("replay", path, "--stepjail", self.fake),
                        ("transcripts", "show", path), ("transcripts", "list")):
            with self.subTest(command=command):
                self.assertEqual(self.run_agent(*command)[0], 0)
                status, out, err = self.run_agent(*command, preexec_fn=lack)
                self.assertEqual((status, out.count("whole"), out.count("run again"),
                                  out.count("answered")), (125, 0, 0, 0))
                self.one_line(err, "ask for Landlock's ABI")
        # nor is it looked at before, to see whether it is one
        for command in (("verify", path), ("replay", path, "--stepjail", self.fake),
                        ("transcripts", "show", path)):
            self.path("t.jsonl", "no transcript\n")
            status, out, err = self.run_agent(*command, preexec_fn=lack)
            self.assertEqual((status, out), (125, ""))
            self.one_line(err, "ask for Landlock's ABI")


if __name__ == "__main__":
    unittest.main()
