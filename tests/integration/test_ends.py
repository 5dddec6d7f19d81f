#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_ends.py - what steps have written is in their files when they end"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_scene  # noqa: E402, F401
from stepjail import Stepjail  # noqa: E402

# each leaves a file open, by the name f, that has text in it which no flush() was asked for
WAYS = {
    "text": "f = open('f', 'w'); f.write('some')",
    "bytes": "f = open('f', 'wb'); f.write(b'some')",
    "both ways": "f = open('f', 'w+'); f.write('some')",
    "bytes, both ways": "f = open('f', 'w+b'); f.write(b'some')",
    "added to": "open('f', 'w').write('so'); f = open('f', 'a'); f.write('me')",
    "large buffer": "f = open('f', 'wb', 1 << 20); f.write(b'some')",
    "pathlib": "import pathlib; f = pathlib.Path('f').open('w'); f.write('some')",
    "csv": "import csv; f = open('f', 'w'); csv.writer(f, lineterminator='').writerow(['some'])",
    "json": "import json; f = open('f', 'w'); json.dump([], f); f.seek(0); f.write('some')",
    "codecs": "import codecs; f = codecs.open('f', 'w', 'utf-8'); f.write('some')",
    "tempfile": "import tempfile; f = tempfile.NamedTemporaryFile('w', dir='.', delete=False); "
                "import os; os.link(f.name, 'f'); f.write('some')",
    "fdopen": "import os; f = os.fdopen(os.open('f', os.O_WRONLY | os.O_CREAT), 'w'); f.write('some')",
    "within a list": "def make():\n    l = [open('f', 'w')]; l[0].write('some'); l.append(l)\nmake()",
    "a class of the user's": "import io\nclass F(io.TextIOWrapper):\n"
                             "    def flush(self): raise SystemExit(9)\n"
                             "    def __init__(self, path): io.TextIOWrapper.__init__(self, open(path, 'wb'))\n"
                             "f = F('f'); f.write('some')",
    "logging": "import logging.handlers\nf = logging.StreamHandler(open('f', 'w')); f.flush = lambda: None\n"
               "f.terminator = ''; l = logging.getLogger('l'); l.addHandler(f); l.error('some')",
    "an exception": "f = open('f', 'w'); f.write('some'); 1 / 0",
    "an exit": "f = open('f', 'w'); f.write('some'); raise SystemExit(3)",
}


class Written(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jails = Stepjail(work_size="4M", wall_time="20s")
        cls.addClassCleanup(cls.jails.close)

    def setUp(self):
        self.session = self.jails.session()
        self.addCleanup(self.session.close)

    def run_step(self, code, **limits):
        step = self.session.run(code, **limits)
        self.assertEqual((step.verdict, step.state), ("completed", "kept"), step.error)
        return step

    def test_every_way_to_open(self):
        for name, way in WAYS.items():
            with self.subTest(name), self.jails.session() as session:
                step = session.run(way)
                self.assertEqual(step.state, "kept", step.reason)
                self.assertEqual(session.get("f"), b"some")
                self.assertEqual(session.run("open('f').read()").text, "'some'")

    def test_an_archive_has_what_it_passed_on(self):
        self.run_step("import zipfile; z = zipfile.ZipFile('z', 'w'); z.writestr('a', 'some')")
        self.assertIn(b"some", self.session.get("z"))
        self.run_step("z.close()")
        self.assertEqual(self.run_step("zipfile.ZipFile('z').read('a')").text, "b'some'")

    def test_what_is_read_goes_on(self):
        self.run_step("open('f', 'w').write('one\\ntwo\\nthree\\n')\nf = open('f'); b = open('f', 'r+b')\n"
                      "t = open('f', 'r+'); got = [next(t), f.readline(), b.readline()]")
        # where a file cannot tell where it is, it still says so
        self.assertIn("disabled by next()", self.session.run("t.tell()").error)
        self.assertEqual(self.run_step("got + [next(t), f.readline(), b.readline()]").text,
                         "['one\\n', 'one\\n', b'one\\n', 'two\\n', 'two\\n', b'two\\n']")
        self.run_step("b.write(b'THREE')")
        self.assertEqual(self.session.get("f"), b"one\ntwo\nTHREE\n")

    def test_each_byte_once_over_branches(self):
        self.run_step("f = open('f', 'a'); f.write('a')")
        other = self.session.branch()
        self.run_step("f.write('b'); f.close()")
        self.assertTrue(other.run("f.write('c'); f.close()").ok)
        self.assertEqual(self.session.get("f"), b"abc")

    def test_nobody_is_waited_for(self):
        # a pipe, a socket and a place that was a file are full, and nobody reads
        step = self.run_step(
            "import os, socket\nends = os.pipe(); p = os.fdopen(ends[1], 'wb', 1 << 20); p.write(b'x' * (1 << 19))\n"
            "a, b = socket.socketpair(); s = a.makefile('wb', 1 << 20); s.write(b'x' * (1 << 20 - 1))\n"
            "f = open('f', 'wb', 1 << 20); f.write(b'x' * (1 << 19)); os.dup2(os.pipe()[1], f.fileno())\n"
            "class W:\n    def writable(self): return True\n    def __getattr__(self, name):\n"
            "        while True: pass\n"
            "import io; t = io.TextIOWrapper(io.BufferedWriter(io.FileIO('g', 'w')))\n"
            "class S(io.BufferedWriter):\n    def flush(self):\n        while True: pass\n"
            "t = io.TextIOWrapper(S(io.FileIO('g', 'w'))); t.write('some'); None")
        self.assertLess(step.report["wall_ms"], 10000)
        self.assertLess(self.run_step("1").report["wall_ms"], 10000)

    def test_a_full_disk(self):
        step = self.run_step("f = open('f', 'wb', 1 << 23); f.write(b'x' * (1 << 22)); f.write(b'end'); None")
        self.assertEqual((step.stderr, step.error), ("", None))
        self.run_step("print('on')")
        step = self.session.run("f.close()")
        self.assertIn("No space left", step.error)
        # what is made smaller meanwhile gets its bytes
        self.run_step("import os; os.truncate('f', 0); f = open('f', 'wb', 1 << 23); g = open('g', 'wb')\n"
                      "g.write(b'y' * (1 << 20)); f.write(b'x' * (7 << 19)); None")
        self.run_step("os.truncate('g', 0)")
        self.assertEqual(self.session.get("f"), b"x" * (7 << 19))

    def test_a_time_limit(self):
        step = self.session.run("import time\nf = open('f', 'w'); f.write('some'); time.sleep(60)", wall_time=0.5)
        self.assertEqual((step.verdict, step.state), ("wall-timeout", "kept"))
        self.assertEqual(self.session.get("f"), b"some")

    def test_after_a_rollback_from_threads(self):
        self.run_step("import threading\nf = open('f', 'wb'); f.write(b'a')\nend = threading.Event()\n"
                      "def write():\n    while not end.wait(0.001):\n        f.write(b''); f.flush()\n"
                      "t = threading.Thread(target=write); t.start()")
        state = self.session.state()
        self.run_step("end.set(); t.join(); f.write(b'no'); f.seek(0, 2)")
        self.session.rollback(state)
        self.run_step("f.seek(0); f.truncate(); f.write(b'here'); None")
        self.assertEqual(self.session.get("f"), b"here")

    def test_very_many(self):
        size = "len(sys.modules['stepjail_ends']._files)"
        step = self.run_step(f"import sys\nfor i in range(5000): open('f', 'w').write('x')\n{size} < 200")
        self.assertEqual(step.text, "True")
        # those that cannot be written, and those that are gone, are not looked at again
        self.run_step("r = [open('f') for i in range(100)]")
        self.assertLess(int(self.run_step(size).text), 3)
        self.run_step("w = [open(f'f{i}', 'w') for i in range(100)]; [f.write('some') for f in w]")
        self.assertEqual([self.session.get(f"f{i}") for i in (0, 50, 99)], [b"some"] * 3)


if __name__ == "__main__":
    unittest.main()
