#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_confirm.py - solve --confirm: a person at the terminal is asked before each step"""
import json
import os
import pty
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, fence, unwaited  # noqa: E402
from mock_model import MockModel  # noqa: E402
from record_schema import wrong_line  # noqa: E402
from test_agent_repl_person import Terminal  # noqa: E402

ASKED = r"run this step\? y: yes; n REASON: no, and tell the model why; stop: $"


class Asked(Terminal):
    def start(self, *turns, stdout=None, stderr=None, model=(), more=()):
        """Solve, with a terminal, and perhaps what is printed somewhere else."""
        self.record = self.path("t.jsonl")
        words = [AGENT, "solve", "The task.", "--stepjail", self.fake, "--model",
                 *(model or [self.script(*turns)]), "--confirm", "--transcript", self.record, *more]
        environ = self.env(TERM="xterm")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number, path in ((1, stdout), (2, stderr)):
                if path:
                    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
            os.execve(words[0], words, environ)
        self.addCleanup(self.stop)
        self.seen = ""

    def say(self, words):
        """Wait for the question, and answer it; what was shown before it."""
        before = self.expect(ASKED)
        self.type(words)
        return before

    def events(self, name):
        with open(self.record, "rb") as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual([wrong_line(line) for line in lines], [[]] * len(lines))
        return [line for line in lines if line["event"] == name]

    def test_run(self):
        self.start(fence("print('one')"), fence("print('two')"), "Done.")
        self.assertIn("print('one')", self.say("y\n"))
        self.assertIn("| one", self.say("yes\n"))
        self.expect(r"\| two")
        self.assertEqual(self.leave(""), 0)
        self.assertEqual([(e["step"], e["choice"], e.get("reason")) for e in self.events("confirm")],
                         [(1, "run", None), (2, "run", None)])
        with open(self.record) as f:
            order = [json.loads(line)["event"] for line in f]
        self.assertLess(order.index("confirm"), order.index("code"))

    def test_no(self):
        """Nothing of it runs, and the model hears why; it is a step all the same."""
        ran = self.path("ran")
        self.start(fence(f"open({ran!r}, 'w')"), "expect: did not let it run. Nothing was run. Their reason: use \u00e4 "
                   "list\n" + fence("print(2)"), "expect: They gave no reason.\nDone.")
        self.say("n use \u00e4 list\n")
        self.say("no\n")
        self.assertEqual(self.leave(""), 0)
        self.assertFalse(os.path.exists(ran))
        self.assertEqual(self.events("code"), [])
        self.assertEqual([(e["choice"], e.get("reason")) for e in self.events("confirm")],
                         [("skip", "use \u00e4 list"), ("skip", None)])
        self.assertEqual([e["code"] for e in self.events("step")], [None, None])

    def test_stop(self):
        for keys in ("stop\n", "\x04"):
            self.start(fence("print(1)"), "Done.")
            self.say(keys)
            self.expect("stepjail-agent: ended at --confirm, before step 1")
            self.assertEqual(self.leave(""), 5)
            self.assertEqual([(e["outcome"], e["error"]) for e in self.events("end")],
                             [("refused", "ended at --confirm, before step 1")])
            os.unlink(self.record)

    def test_asked_again(self):
        """Nothing but a clear word runs a step."""
        self.start(fence("print(1)"), "Done.")
        for words in ("", "yes please", "Y", "nn", "stop it", " y"):
            self.say(words + "\n")
        self.say("y\n")
        self.assertEqual(self.leave(""), 0)
        self.assertEqual(len(self.events("confirm")), 1)

    def test_typed_ahead(self):
        """One paste is one answer, and what was typed before the question none."""
        self.start(fence("print('one')"), fence("print('two')"), fence("print('three')"), "Done.")
        for words in ("y\ny\ny\n", "what\nyes\nyes\n", "n\ny\n", "stop\n"):
            self.say(words)
        self.assertEqual(self.leave(""), 5)
        self.assertEqual([(e["step"], e["choice"]) for e in self.events("confirm")],
                         [(1, "run"), (2, "skip"), (3, "stop")])
        self.assertEqual([e["code"] for e in self.events("code")], ["print('one')\n"])

    def test_the_code_is_shown(self):
        """Not the reply that it was taken out of: two blocks, and one in an example."""
        reply = ("Do not run this:\n" + fence("open('/tmp/x', 'w')") + "\nbut only this:\n" + fence("print(1)"))
        with MockModel([{"say": reply}, {"say": "Done."}]) as mock:
            self.start(model=("openai", "--model-name", "m", "--base-url", mock.url), more=("--color", "never"))
            before = self.say("n\n")
            self.assertIn("  > open('/tmp/x', 'w')\n  > print(1)\n", unwaited(before))
            self.assertEqual(self.leave(""), 0)

    def test_ctrl_c(self):
        self.start(fence("print(1)"), "Done.")
        self.expect(ASKED)
        self.type("\x03")
        self.assertEqual(self.leave(""), 130)
        self.assertEqual([e["outcome"] for e in self.events("end")], ["stopped"])

    def test_progress_elsewhere(self):
        """The question and the code are on the terminal, harmless to look at."""
        self.start(fence("print('\x1b[2J\u202e')"), "Done.", stdout=self.path("out"), stderr=self.path("err"),
                   more=("--quiet", "--color", "never"))
        before = self.say("y\n")
        self.assertIn("  > print('\\x1b[2J\\u202e')\n", before)
        self.assertEqual(self.leave(""), 0)
        with open(self.path("out")) as f:
            self.assertEqual(f.read(), "Done.\n")

    def test_a_persons_time_is_no_tasks(self):
        began = time.monotonic()
        self.start(fence("print('it', 'ran')"), "Done.", stdout=self.path("out"), more=("--json",))
        self.expect(ASKED)
        time.sleep(1.5)
        self.type("y\n")
        self.assertEqual(self.leave(""), 0)
        with open(self.path("out")) as f:
            used_ms = json.load(f)["budget"]["wall_ms"]["used"]
        self.assertLess(used_ms, (time.monotonic() - began - 1.5) * 1000 + 2)

    def test_no_terminal(self):
        status, out, err = self.solve("--model", self.script("Done."), "--confirm", start_new_session=True)
        self.assertEqual((status, out), (125, ""))
        self.one_line(err, "--confirm: there is no terminal to ask at")


if __name__ == "__main__":
    unittest.main()
