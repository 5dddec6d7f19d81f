#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_exec_engines.py - exec of containerd's and Podman's: see test_oci_engines.py"""
import concurrent.futures
import itertools
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_oci_engines import TIMEOUT, Containerds, Podmans, Scene, quote  # noqa: E402


class Execs(Scene):
    """Mixin."""

    def test_exec(self):
        """A program more in a container that runs: its output, input, status, a terminal, its end."""
        self.up("exec")

        def run(code, *options, **settings):
            return self.call(*self.exec_words("exec", code, *options)[len(self.engine):], **settings)
        self.assertEqual(run("open('/tmp/made', 'w').write('by another')").returncode, 0)
        done = run("import os, sys; print(open('/tmp/made').read(), os.getuid()); sys.exit(7)")
        self.assertEqual((done.returncode, done.stdout), (7, "by another 1000\n"), done.stderr)
        done = run("import sys; print(sys.stdin.read())", *self.interactive, input="typed")
        self.assertEqual(done.stdout, "typed\n", done.stderr)
        words = self.exec_words("exec", "import os; print(os.isatty(0), os.isatty(2))", "-t")
        done = subprocess.run(["script", "-qec", " ".join(map(quote, words)), "/dev/null"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=TIMEOUT, check=False, text=True)
        self.assertIn("True True", done.stdout)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda i: run(f"import sys; sys.exit({i})").returncode, range(20)))
        self.assertEqual(got, list(range(20)))
        done = self.call(*self.exec_words("exec", "")[len(self.engine):-3], "/bin/none")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/bin/none: No such file", done.stderr)
        self.end("exec")


class OfContainerd(Containerds, Execs, unittest.TestCase):
    interactive = ()  # always so
    number = itertools.count()

    def exec_words(self, name, code, *options):
        return [*self.engine, "tasks", "exec", "--exec-id", f"e{next(self.number)}", *options, name, "/bin/python3",
                "-c", code]


class OfPodman(Podmans, Execs, unittest.TestCase):
    interactive = ("-i",)

    def exec_words(self, name, code, *options):
        return [*self.engine, "exec", *options, name, "/bin/python3", "-c", code]


if __name__ == "__main__":
    unittest.main()
