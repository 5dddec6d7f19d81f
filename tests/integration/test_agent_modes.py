#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_modes.py - each way of working with a task in which the wrong way fails"""
import fcntl
import json
import os
import pty
import signal
import struct
import sys
import termios
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import Watch, family, fence, read_terminal  # noqa: E402
from ways_scene import (ALLOW, RIGHT, STEPJAIL, TESTS, WRONG, Changing, WaysCase,  # noqa: E402
                        writes)


class Options(WaysCase):
    def test_a_pipe_is_no_test(self):
        """And is not opened: that wakes who waits for its other end."""
        os.mkfifo(self.path("test_pipe.py"))
        watch = Watch(self.path("test_pipe.py"))
        status, _, err = self.shown("tests", "--model", self.script("x"), "--tests",
                                    self.path("test_pipe.py"))
        self.assertEqual(status, 125)
        self.one_line(err, "--tests: ", "test_pipe.py is not a regular file")
        self.assertFalse(watch.opened())

    def test_refusals(self):
        model = ["--model", self.script("x")]
        tests = self.path("test_add.py", TESTS)
        rows = [
            (["--mode", "dance"], "none of codeact, react, program, tests, best-of"),
            (["--mode", "tests"], "needs --tests"),
            (["--mode", "react", "--tests", tests], "--tests belongs to --mode tests or best-of"),
            (["--tests", tests], "--tests belongs to"),
            (["--mode", "tests", "--tests", "/no/such.py"], "/no/such.py"),
            (["--mode", "tests", "--tests", self.path("a-b.py", TESTS)], "can be imported"),
            (["--mode", "tests", "--tests", tests, "--tests", tests], "two files"),
            (["--mode", "tests", "--tests", tests, "--tests", self.path("a.json", "[]")],
             "two kinds"),
            (["--mode", "tests", "--tests", tests, "--stateless"], "--stateless"),
            (["--mode", "best-of", "--tests", tests, "--stateless"], "--stateless"),
            (["--mode", "best-of"], "needs something to tell a good answer by"),
            (["--mode", "react", "--attempts", "3"], "--attempts belongs to"),
            (["--check-time", "3s"], "--check-time: has no effect without --check-answer, "),
            (["--check-file", tests], "--check-file: has no effect without --check-answer, "),
            (["--file-limit", "3M"], "--file-limit: has no effect without --file"),
            (["--out-limit", "3M"], "--out-limit: has no effect without --out"),
            (["--seed", "3"], "--seed: has no effect without --deterministic"),
            (["--base-url", "http://localhost"], "--base-url: belongs to a model on a server"),
            (["--key-file", tests], "--key-file: belongs to a model on a server"),
            (["--mode", "best-of", "--attempts", "17"], "--attempts"),
        ]
        for args, words in rows:
            with self.subTest(args=args):
                status, out, err = self.shown(args[1] if "--mode" in args[:1] else "codeact",
                                              *model, *args[2 if "--mode" in args[:1] else 0:])
                self.assertEqual((status, out), (125, ""))
                self.one_line(err, words)

    def test_tests_that_cannot_judge(self):
        rows = [("import unittest\n", "no test to pass"),
                (TESTS.replace("    def", "    @unittest.skip('no')\n    def"), "no test to pass"),
                ("def broken(:\n", "line 1"),
                ("import pytest\n\ndef test_a():\n    pass\n", "--rootfs data"),
                ("def test_a():\n    pass\n", "--rootfs data")]
        for text, words in rows:
            with self.subTest(words=words, text=text):
                status, _, err = self.way("tests", "--model", self.script("x"), "--tests",
                                          self.path("test_add.py", text))
                self.assertEqual(status, 125)
                self.last_line(err, "--tests", words)
        for name in "json.py", "__main__.py", "zipfile.py":
            with self.subTest(name=name):
                status, _, err = self.way("tests", "--model", self.script("x"), "--tests",
                                          self.path(name, TESTS))
                self.assertEqual(status, 125)
                self.last_line(err, "--tests", f"call it test_{name}")


class Program(WaysCase):
    def test_from_its_head(self):
        script = self.script("It is 41.",
                             "expect: your own words are not taken\n" + fence("print(6 * 7)"),
                             "expect: reply with DONE\nIt is 43, DONE.")
        status, o, err = self.way("program", "--model", script)
        self.assertEqual((status, o["answer"], o["mode"]), (0, "42\n", "program"), err)
        status, out, _ = self.shown("program", "--model", script, "--quiet")
        self.assertEqual((status, out), (0, "42\n"))

    def test_last_good_one(self):
        script = self.script(fence("print('first')"), fence("x = 1\nprint('second')"),
                             fence("print(x)\n"),
                             "expect: last program with status 0 printed\n" +
                             fence("import sys\nprint('third')\nsys.exit(3)"), "DONE")
        status, o, err = self.way("program", "--model", script)
        self.assertEqual((status, o["answer"]), (0, "second\n"), err)

    def test_what_is_no_answer(self):
        rows = [("pass", "printed nothing"), ("print('x' * 2000000)", "cut off"),
                ("import os\nos.write(1, b'\\xff\\n')", "not UTF-8")]
        for code, words in rows:
            with self.subTest(code=code):
                script = self.script(fence("print('old')"), fence(code),
                                     f"expect: {words}\nDONE",
                                     "expect: own words are not taken\n" +
                                     fence("print('y' * 100000)"), "DONE")
                status, o, err = self.way("program", "--model", script)
                self.assertEqual(status, 0, err[-300:])
                self.assertTrue(o["answer"] == "y" * 100000 + "\n")

    def test_by_calls(self):
        call = "call: python\n" + json.dumps({"code": "print(6 * 7)"})
        status, o, err = self.way("program", "--code-in", "tools", "--model",
                                  self.script("42", call, "DONE"))
        self.assertEqual((status, o["answer"]), (0, "42\n"), err)


class React(WaysCase):
    def test_kept_apart(self):
        script = self.script(
            "Thought: I multiply.\n" + fence("print(6 * 7)") + "Observation: 41\n",
            "expect: 42\nThought: I know.\nObservation: 41\nAnswer: 41",
            "expect: told an observation of its own\n" + fence("print(1)"),
            "expect: held no thought\n**Thought:** that was it.\n**Answer:** It is\n42.")
        transcript = self.path("t.jsonl")
        status, o, err = self.way("react", "--model", script, "--transcript", transcript)
        self.assertEqual((status, o["answer"]), (0, "It is\n42."), err)
        events = self.events("t.jsonl")
        thoughts = [(e["step"], e["thought"]) for e in events if e["event"] == "thought"]
        self.assertEqual(thoughts, [(1, "I multiply."), (3, ""), (4, "that was it.")])
        self.assertEqual([s.get("thought") for s in o["steps"]], ["I multiply.", None, ""])
        self.assertEqual(o["steps"][0]["code"], "print(6 * 7)\n")
        self.assertNotIn("41", o["steps"][0]["observation"])
        self.assertEqual(self.run_agent("verify", transcript)[0], 0)
        self.assertEqual(self.run_agent("replay", transcript, "--stepjail", STEPJAIL, *ALLOW)[0],
                         0)

    def test_by_calls(self):
        # the scripted model says nothing beside a call
        call = "call: python\n" + json.dumps({"code": "print(6 * 7)"})
        status, o, err = self.way("react", "--code-in", "tools", "--model",
                                  self.script(call, "expect: held no thought\nAnswer: 42"))
        self.assertEqual((status, o["answer"], o["steps"][0]["thought"]), (0, "42", ""), err)

    def test_words_beside_a_call(self):
        def answers(n):
            call = {"id": "c1", "type": "function",
                    "function": {"name": "python", "arguments": '{"code": "print(6 * 7)"}'}}
            return {"content": "Thought: I multiply.", "tool_calls": [call]} if n == 0 \
                else "Thought: done.\nAnswer: 42"
        with Changing(answers) as url:
            status, o, err = self.way("react", "--code-in", "tools", "--model", "openai",
                                      "--model-name", "m", "--base-url", url,
                                      env=self.env(STEPJAIL_API_KEY="k"))
        self.assertEqual((status, o["answer"]), (0, "42"), err)
        self.assertEqual(o["steps"][0]["thought"], "I multiply.")
        self.assertNotIn("no thought", o["steps"][0]["observation"])

    def test_shown_apart(self):
        status, out, _ = self.shown("react", "--model",
                                    self.script("I multiply.\n" + fence("print(6 * 7)"), "42"))
        self.assertEqual(status, 0)
        lines = out.splitlines()
        for line in ("  : I multiply.", "  > print(6 * 7)", "  | 42"):
            self.assertIn(line, lines)


class BestOf(WaysCase):
    def test_third_is_right(self):
        codes = [WRONG, WRONG, RIGHT, WRONG]
        script = self.script(*[fence(writes({"solution.py": c})) for c in codes],
                             *["Mine is done."] * 3)
        transcript = self.path("t.jsonl")
        status, o, err = self.way("best-of", "--model", script, "--transcript", transcript,
                                  "--tests", self.path("test_add.py", TESTS))
        self.assertEqual((status, o["outcome"], o["attempt"]), (0, "answered", 3), err)
        self.assertEqual([s["attempt"] for s in o["steps"]], [1, 2, 3, 4, 1, 2])
        events = self.events("t.jsonl")
        self.assertEqual({e.get("attempt") for e in events if e["event"] == "reply"}, {1, 2, 3, 4})
        said = [(e["attempt"], e["stands"]) for e in events if e["event"] == "tests"]
        self.assertEqual(said, [(1, False), (2, False), (3, True)])
        self.assertEqual(events[-1]["attempt"], 3)
        status, out, err = self.run_agent("replay", transcript, "--stepjail", STEPJAIL, *ALLOW)
        self.assertEqual(status, 0, out + err)

    def test_shown(self):
        script = self.script(fence(writes({"solution.py": WRONG})),
                             fence(writes({"solution.py": RIGHT})), "Done.", "Done.")
        status, out, err = self.shown("best-of", "--attempts", "2", "--model", script, "--tests",
                                      self.path("test_add.py", TESTS))
        self.assertEqual(status, 0, err)
        self.assertIn("attempt 2 of 2\n\nanswer\n", out)
        self.assertNotIn("attempt 2 of 2\nattempt 2 of 2", out)

    def test_on_a_narrow_terminal(self):
        """A row that tests printed is broken behind its mark: no part looks like the agent's."""
        printing = "print('word ' * 40)\nprint('-' * 200)\n" + TESTS
        model = self.script(fence(writes({"solution.py": WRONG})), "Done.",
                            fence(writes({"solution.py": RIGHT})), "Done.")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        with self.popen("solve", "x", "--stepjail", STEPJAIL, "--mode", "tests", *ALLOW, "--model",
                        model, "--tests", self.path("test_add.py", printing),
                        stdout=theirs, stderr=theirs, env=self.env(NO_COLOR="1")) as p:
            os.close(theirs)
            out = read_terminal(ours)
        os.close(ours)
        self.assertEqual(p.returncode, 0, out)
        rows = out.decode().replace("\r\n", "\n").split("\n")
        rows = rows[rows.index("What the tests printed:") + 1:
                    rows.index("Mend your files, then answer again.")]
        self.assertGreater(len(rows), 3)
        for row in rows:
            self.assertTrue(row.startswith("| ") and len(row) <= 40, row)

    def test_apart(self):
        # variables and folders are an attempt's own
        look = fence("import os\nprint('who' in globals(), os.getcwd(), os.listdir())")
        script = self.script(fence("who = 1\nopen('mine', 'w').close()"), look,
                             "expect: Step 1 of\n" + look, "expect: | False /work/attempt-2 []\n"
                             + look, *["Done."] * 4)
        status, o, err = self.way("best-of", "--attempts", "2", "--steps", "6", "--model", script,
                                  "--tests", self.path("test_add.py", TESTS))
        self.assertIn("| True /work/attempt-1 ['mine']", o["steps"][2]["observation"], err)

    def test_none(self):
        script = self.script(*["Done."] * 6)
        status, o, err = self.way("best-of", "--attempts", "2", "--steps", "4", "--model", script,
                                  "--tests", self.path("test_add.py", TESTS))
        self.assertEqual((status, o["outcome"], o["answer"]), (3, "none-stood", None), err)
        self.last_line(err, "none of the 2 attempts", "--steps")

    def test_lost_session(self):
        """The model's stepjail is killed: every attempt begins anew, and is told."""
        def answers(n):
            if n == 2:
                found = [pid for pid in family(os.getpid()) if self.is_serve(pid)]
                os.kill(found[0], signal.SIGKILL)  # the others are its descendants
            return ["x = 1", "y = 1", "print(x)", "print('y' in globals())",
                    writes({"solution.py": RIGHT}), "pass", None][n]

        def reply(n):
            return fence(answers(n)) if n < 6 else "Done."
        with Changing(reply) as url:
            status, o, err = self.way(
                "best-of", "--attempts", "2", "--model", "openai", "--model-name", "m",
                "--base-url", url, "--tests", self.path("test_add.py", TESTS),
                env=self.env(STEPJAIL_API_KEY="k"))
        self.assertEqual((status, o["attempt"]), (0, 1), err)
        said = [step["observation"] for step in o["steps"]]
        self.assertIn("the whole sandbox was restarted", said[2])
        for words in ("| False", "Before this step the sandbox was lost"):
            self.assertIn(words, said[3])
        self.assertEqual([s["attempt"] for s in o["steps"]], [1, 2, 1, 2, 1, 2])

    @staticmethod
    def is_serve(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return b"\0serve\0" in f.read()
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
