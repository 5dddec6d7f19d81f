#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_tests.py - which tests are taken, options that do not go together, tests on a terminal"""
import fcntl
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
        status, _, err = self.shown("--model", self.script("x"), "--tests",
                                    self.path("test_pipe.py"))
        self.assertEqual(status, 125)
        self.one_line(err, "--tests: ", "test_pipe.py is not a regular file")
        self.assertFalse(watch.opened())

    def test_refusals(self):
        model = ["--model", self.script("x")]
        tests = self.path("test_add.py", TESTS)
        rows = [
            (["--tests", "/no/such.py"], "/no/such.py"),
            (["--tests", self.path("a-b.py", TESTS)], "can be imported"),
            (["--tests", tests, "--tests", tests], "two files"),
            (["--tests", tests, "--tests", self.path("a.json", "[]")],
             "two kinds"),
            (["--tests", tests, "--stateless"], "--stateless"),
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
                status, out, err = self.shown(*model, *args)
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
                status, _, err = self.way("--model", self.script("x"), "--tests",
                                          self.path("test_add.py", text))
                self.assertEqual(status, 125)
                self.last_line(err, "--tests", words)
        for name in "json.py", "__main__.py", "zipfile.py":
            with self.subTest(name=name):
                status, _, err = self.way("--model", self.script("x"), "--tests",
                                          self.path(name, TESTS))
                self.assertEqual(status, 125)
                self.last_line(err, "--tests", f"call it test_{name}")


class Tests(WaysCase):
    def test_on_a_narrow_terminal(self):
        """A row that tests printed is broken behind its mark: no part looks like the agent's."""
        printing = "print('word ' * 40)\nprint('-' * 200)\n" + TESTS
        model = self.script(fence(writes({"solution.py": WRONG})), "Done.",
                            fence(writes({"solution.py": RIGHT})), "Done.")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        with self.popen("solve", "x", "--stepjail", STEPJAIL, *ALLOW, "--model",
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
