#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_nested.py - inside of other people's namespaces: walls whole, or refused in words"""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import PLAIN_ENV, STEPJAIL, TIMEOUT, Host, each_user, missing_words  # noqa: E402

PROGRAM = ("--", "/bin/python3", "-c", "print(6*7)")


class Nested(Host):
    def within(self, *outer, options=()):
        """A run as a child of another program that makes namespaces."""
        words = [*self.drop, *outer, STEPJAIL, "run", *missing_words(tuple(self.drop)), *options,
                 *PROGRAM]
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT, check=False,
                              text=True, env=PLAIN_ENV | {"HOME": "/"})

    def expect_refusal(self, done, word):
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn(word, done.stderr.splitlines()[-1])

    def test_user_namespace(self):
        done = self.within("unshare", "-Ur")
        if os.geteuid() == 0 and not self.as_user:
            # uid 0 in there is the host's own root: no jail may run under it
            self.expect_refusal(done, "container")
        else:
            self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)

    def test_masked_proc(self):
        """As containers do it; a user's own namespace takes the mount, root's real one too."""
        mask = ["unshare", "-m" if os.geteuid() == 0 and not self.as_user else "-Urm", "sh",
                "-c", 'mount -t tmpfs none /proc/sys && exec "$@"', "sh"]
        self.expect_refusal(self.within(*mask), "--proc none")
        done = self.within(*mask, options=("--proc", "none"))
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)

    def test_bubblewrap(self):
        if not shutil.which("bwrap"):
            self.skipTest("lacks bwrap (apt-get install bubblewrap)")
        if os.geteuid() == 0 and not self.as_user:
            self.skipTest("root in bubblewrap is the host's root: test_user_namespace")
        done = self.within("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc")
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)


globals().update(each_user(Nested))

if __name__ == "__main__":
    unittest.main()
