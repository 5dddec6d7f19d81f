#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_step_stderr.py - a step's stderr: a line is one write, as in Python itself, and nothing of it is lost"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_scene  # noqa: E402, F401
from stepjail import Stepjail  # noqa: E402

WRITES = """
import logging, os, socket, sys, traceback, warnings
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
a.setblocking(False)
def writes(act):
    keep = os.dup(2); os.dup2(b.fileno(), 2)
    act(); sys.stderr.flush()
    os.dup2(keep, 2); os.close(keep)
    got = []
    while True:
        try: got.append(a.recv(9999))
        except BlockingIOError: return got
def fails():
    try: 1 / 0
    except ZeroDivisionError: traceback.print_exc()
"""


class Stderr(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jails = Stepjail(rootfs="core")
        cls.addClassCleanup(cls.jails.close)

    def setUp(self):
        self.session = self.jails.session()
        self.addCleanup(self.session.close)

    def check(self, code, stderr, verdict="completed", state="kept"):
        step = self.session.run(code)
        self.assertEqual((step.verdict, step.state), (verdict, state), step.error)
        self.assertEqual(step.stderr, stderr)
        return step

    def test_a_line_is_one_write(self):
        self.check(WRITES, "")
        for act, lines in (("print('e', 1, 'f', file=sys.stderr)", [b"e 1 f\n"]),
                           ("print('a', end='', file=sys.stderr)", [b"a"]),
                           ("print('\\u00e9\\ud800', file=sys.stderr)", ["\u00e9\\ud800\n".encode()]),
                           ("[print(i, end='\\r', file=sys.stderr, flush=True) for i in range(3)]",
                            [b"0\r", b"1\r", b"2\r"]),
                           ("logging.warning('%s and %s', 1, 2)", [b"WARNING:root:1 and 2\n"])):
            with self.subTest(act=act):
                self.assertEqual(self.session.run(f"writes(lambda: {act})").text, repr(lines))
        for act in "warnings.warn('words')", "fails()":
            with self.subTest(act=act):
                got = self.session.run(f"[one[-1:] for one in writes(lambda: {act})]")
                self.assertRegex(got.text, r"^\[(b'\\n'(, )?)+\]$")

    def test_no_part_of_a_line_is_lost(self):
        self.check("import os, sys, threading\nsys.stderr.write('no newline')", "no newline")
        self.check("sys.stderr.buffer.write(b'bytes')", "bytes")
        self.check("sys.stderr.write('a'); 1/0", "a", "exception")
        self.check("sys.stderr.write('b'); sys.exit('words')", "bwords\n", "exited")
        self.check("err = sys.stderr; sys.stderr = None; err.write('c')", "c")
        self.check("t = threading.Thread(target=sys.stderr.write, args=['d']); t.start(); t.join()", "d")
        self.check("sys.stderr.detach().write(b'bytes')", "bytes")
        self.check("sys.stderr.write('e')", "e")
        self.check("os.write(2, b'x'); sys.stderr.write('y'); os.write(2, b'z')", "xzy")

    def test_in_forks(self):
        self.check("import os, sys\nif not os.fork(): sys.stderr.write('f')\nelse: os.wait()\n", "f")
        self.check("if not os.fork(): sys.stderr.write('g'); sys.exit(1)\nelse: os.wait()\n", "g")
        self.check("import multiprocessing\np = multiprocessing.Process(target=sys.stderr.write, args=['h'])\n"
                   "p.start(); p.join()", "h")
        step = self.session.run("if not os.fork(): sys.stderr.write('i\\n'); 1/0\nelse: os.wait()\n")
        self.assertRegex(step.stderr, "^i\nTraceback [^$]*\nZeroDivisionError: division by zero\n$")
        # what is written before a branch is the step's own
        self.check("sys.stderr.write('j')", "j")
        branch = self.session.branch()
        self.assertEqual(branch.run("sys.stderr.write('k')").stderr, "k")
        self.check("sys.stderr.write('l')", "l")

    def test_whole_lines_outlive_a_crash(self):
        for end in "os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()":
            with self.subTest(end=end):
                step = self.session.run(f"import os, sys\nprint('a', 'line', file=sys.stderr); {end}")
                self.assertEqual((step.state, step.stderr[:7]), ("rolled-back", "a line\n"))
        # the time limit interrupts it first, and then it is at its end
        step = self.session.run("import sys; sys.stderr.write('begun')\nwhile True: pass", wall_time=1)
        self.assertEqual((step.verdict, step.stderr), ("wall-timeout", "begun"))
        self.check("sys.stderr.write('still')", "still")


if __name__ == "__main__":
    unittest.main()
