#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_chat.py - stepjail-agent chat: a person talks, and the model writes steps"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, CSV, fence  # noqa: E402
from record_schema import wrong_line  # noqa: E402
from test_agent_repl_person import Terminal  # noqa: E402

PROMPT = r"(^|\n)>>> $"


class Chat(Terminal):
    def start(self, *turns, record="t.jsonl", more=()):
        self.record = self.path(record)
        words = [AGENT, "chat", "--stepjail", self.fake, "--color", "never", "--model", self.script(*turns),
                 "--transcript", self.record, *more]
        self.begin(words, self.env(TERM="xterm", HOME=self.folder))
        return self.expect(PROMPT)

    def say(self, words):
        """What came of it, up to the next prompt."""
        self.type(words + "\n")
        return self.expect(PROMPT)

    def events(self, *names):
        with open(self.record, "rb") as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual([wrong_line(line) for line in lines], [[]] * len(lines))
        return [line for line in lines if not names or line["event"] in names]

    def test_turns(self):
        """Variables and words are kept from turn to turn."""
        before = self.start(fence("x = 20"), "It is set.", "expect: twice\n" + fence("print(x * 2)"),
                            "expect: | 40\nForty.", more=("--file", CSV))
        self.assertIn(":undo takes your last turn back", before)
        self.assertIn("It is set.", self.say("set x"))
        self.assertIn("Forty.", self.say("twice that?"))
        self.assertEqual(self.leave(), 0)
        start, end = self.events("start", "end")
        self.assertEqual((start["command"], "user" in start, end["outcome"]), ("chat", False, "ended"))
        first, second = [e["text"] for e in self.events("user")]
        self.assertIn("Task: set x", first)
        self.assertIn("penguins.csv", first)
        self.assertEqual(second, "twice that?")
        self.assertEqual([e["step"] for e in self.events("step")], [1, 2])
        self.assertEqual(self.run_agent("verify", self.record)[0], 0)
        status, out, err = self.run_agent("replay", self.record, "--stepjail", self.fake, "--file", CSV)
        self.assertEqual(status, 0, out + err)

    def test_undo(self):
        self.start(fence("x = 1"), "One.", fence("x = 2"), fence("x = 3"), "Three.", fence("print('it is', x)"), "Done.")
        for words in ("one", "three"):
            self.say(words)
        self.assertIn("at state 1 again; files stay", self.say(":undo"))
        self.assertIn("it is 1", self.say("what is it?"))
        for _ in range(2):
            self.assertIn("again; files stay", self.say(":undo"))
        self.assertIn("What you type goes to the model", self.say(":undo"))
        self.assertEqual(self.leave("exit\n"), 0)
        undone = self.events("command")
        self.assertEqual([(e["command"], e["state"], e["messages"]) for e in undone],
                         [("rollback", 1, 5), ("rollback", 1, 5), ("rollback", 0, 1)])
        status, out, err = self.run_agent("replay", self.record, "--stepjail", self.fake)
        self.assertEqual(status, 0, out + err)
        self.assertIn("nothing differs", out)

    def test_what_the_model_has_after_undo(self):
        """Nothing of the turn that was taken back."""
        self.start(fence("x = 1"), "One.", "Two.", "expect: third\n" + fence("print(1)"), "Three.")
        for words in ("first", "second", ":undo", "third"):
            self.say(words)
        self.leave()
        with open(self.record) as f:
            self.assertIn("second", f.read())
        status, out, err = self.run_agent("solve", "And now?", "--stepjail", self.fake, f"--continue={self.record}",
                                          "--model", self.script("Done."), "--transcript", self.path("next"))
        self.assertEqual(status, 0, out + err)
        self.assertIn("2 steps run again: nothing differs", out)

    def test_continue(self):
        self.start(fence("x = 5"), "Five.")
        self.say("five")
        self.leave()
        before = self.start(fence("print(x + 1)"), "expect: | 6\nSix.", record="u.jsonl",
                            more=(f"--continue={self.path('t.jsonl')}",))
        self.assertIn("1 step run again: nothing differs", before)
        self.assertIn("Six.", self.say("and one more"))
        self.leave()
        self.assertEqual([e["text"] for e in self.events("user")], ["Task: five\n", "and one more"])
        self.assertIn("continues", self.events("start")[0])

    def test_limits_are_of_a_turn(self):
        self.start(*[fence("x = 1")] * 3, "Late.", *[fence("x = 1")] * 2, "Good.", more=("--steps", "2"))
        self.assertIn("the steps are used up", self.say("go"))
        self.say("again")
        self.assertEqual(self.leave(), 0)

    def test_a_model_that_fails(self):
        """It is said, and the person can go on."""
        self.start("expect: magic\nYes.")
        self.assertIn("turn 1 expects 'magic'", self.say("hello"))
        self.say(":undo")
        self.assertEqual(self.leave(":quit\n"), 0)

    def test_ctrl_c(self):
        """In a step it interrupts that; at the prompt it voids the line."""
        mark = self.path("mark")
        self.start(fence(f"x = 1; open({mark!r}, 'w').close(); print('be' + 'gun', flush=True)\n"
                         "import time; time.sleep(600)"), fence("print('kept', x)"), "Done.")
        self.type("go\n")
        self.expect("begun")
        self.type("\x03")
        self.assertIn("kept 1", self.expect(PROMPT))
        self.type("nothing\x03")
        self.expect(PROMPT)
        self.assertEqual(self.leave(), 0)
        first, second = self.events("step")
        self.assertIn("KeyboardInterrupt", first["traceback"]["head"])
        self.assertEqual((first["state"], second["verdict"]), ("kept", "completed"))

    def test_hostile(self):
        self.start("\x1b[2J\u202ehello\n>>> forged")
        shown = self.say("hello")
        self.assertIn("\\x1b[2J\\u202ehello", shown)
        self.assertIn("  > >>> forged", shown)
        self.leave()

    def test_no_terminal(self):
        for more in ((), ("--json",), ("--events",)):
            status, _, err = self.run_agent("chat", "--model", self.script("Done."), "--stepjail", self.fake, *more)
            self.assertEqual(status, 125)
            self.one_line(err, "chat: it needs a terminal as stdin and stdout, and takes neither --json nor --events")
        status, _, err = self.run_agent("chat", "hello")
        self.one_line(err, "'hello' is one operand too many")


if __name__ == "__main__":
    unittest.main()
