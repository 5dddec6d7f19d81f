#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_modes.py - each way of working with a task in which the wrong way fails"""
import fcntl
import json
import os
import pty
import struct
import sys
import termios
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import Watch, fence, read_terminal  # noqa: E402
from ways_scene import ALLOW, RIGHT, STEPJAIL, TESTS, WRONG, WaysCase, writes  # noqa: E402


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
            (["--mode", "dance"], "not one of --mode codeact|program|tests"),
            (["--mode", "tests"], "needs --tests"),
            (["--mode", "program", "--tests", tests],
             "--tests belongs to --mode tests, not to program"),
            (["--mode", "react"], "react is gone: use codeact"),
            (["--tests", tests], "--tests belongs to"),
            (["--mode", "tests", "--tests", "/no/such.py"], "/no/such.py"),
            (["--mode", "tests", "--tests", self.path("a-b.py", TESTS)], "can be imported"),
            (["--mode", "tests", "--tests", tests, "--tests", tests], "two files"),
            (["--mode", "tests", "--tests", tests, "--tests", self.path("a.json", "[]")],
             "two kinds"),
            (["--mode", "tests", "--tests", tests, "--stateless"], "--stateless"),
            (["--check-time", "3s"], "--check-time: has no effect without --check-answer or "),
            (["--check-file", tests], "--check-file: has no effect without --check-answer or "),
            (["--file-limit", "3M"], "--file-limit: has no effect without --file"),
            (["--out-limit", "3M"], "--out-limit: has no effect without --out"),
            (["--seed", "3"], "--seed: has no effect without --deterministic"),
            (["--base-url", "http://localhost"], "--base-url: is for a model on a server"),
            (["--key-file", tests], "--key-file: is for a model on a server"),
        ]
        for args, words in rows:
            with self.subTest(args=args):
                status, out, err = self.shown(args[1] if "--mode" in args[:1] else "codeact",
                                              *model, *args[2 if "--mode" in args[:1] else 0:])
                self.assertEqual((status, out), (125, ""))
                self.one_line(err, words)

    def test_tests_that_cannot_judge(self):
        rows = [("import unittest\n", "no test that must pass"),
                (TESTS.replace("    def", "    @unittest.skip('no')\n    def"), "no test that must pass"),
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


class Tests(WaysCase):
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
                    rows.index("Correct your files, then answer again.")]
        self.assertGreater(len(rows), 3)
        for row in rows:
            self.assertTrue(row.startswith("| ") and len(row) <= 40, row)


if __name__ == "__main__":
    unittest.main()
