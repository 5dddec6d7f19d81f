#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_flight.py - one jail of a user holds all fds in flight that the kernel lets it hold

It counts them for each user of the host, against the sender's own RLIMIT_NOFILE, and every
jail sends an fd before its program starts. As root each jail has a user of its own; so this is
about an ordinary one, of whom no other test knows.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_client import Refused, Serve  # noqa: E402
from test_run import PLAIN_ENV, STEPJAIL, TIMEOUT, missing_words  # noqa: E402

HOLD = """
import array, os, socket, sys
kept, file = [], os.open('/dev/null', os.O_RDONLY)
try:
    while True:
        kept.append(socket.socketpair())
        kept[-1][0].setblocking(False)
        try:
            while True:
                kept[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                              array.array('i', [file] * 253))])
        except BlockingIOError:
            pass
except OSError as e:
    print(e.errno, flush=True)
sys.stdin.read()
"""


class InFlight(unittest.TestCase):
    """A jail that holds as many as it can, and the user's next ones."""

    def setUp(self):
        self.drop = []
        if os.geteuid() == 0:
            self.drop = ["setpriv", "--reuid=64739", "--regid=64739", "--clear-groups"]
        if subprocess.run([*self.drop, "test", "-x", STEPJAIL], check=False).returncode:
            self.skipTest(f"lacks a {STEPJAIL} that an ordinary user can reach")
        self.missing = missing_words(tuple(self.drop))
        self.holder = None

    def hold(self):
        self.holder = subprocess.Popen(self.words("-c", HOLD), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env=PLAIN_ENV, cwd="/")
        self.assertEqual(self.holder.stdout.readline(), b"109\n")  # ETOOMANYREFS

    def tearDown(self):
        if self.holder:
            self.holder.communicate(timeout=TIMEOUT)
            self.assertEqual(self.holder.returncode, 0)

    def words(self, *words, limit=()):
        return [*limit, *self.drop, STEPJAIL, "run", *self.missing, "--rootfs", "core", "--",
                "/bin/python3", *words]

    def test_next_jail(self):
        self.hold()
        done = subprocess.run(self.words("-c", "print(6 * 7)"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN_ENV,
                              timeout=TIMEOUT, check=False, cwd="/")
        self.assertEqual((done.returncode, done.stdout), (0, b"42\n"), done.stderr)

    def test_next_session(self):
        self.hold()
        command = [*self.drop, STEPJAIL, "serve", *self.missing]
        for option, warm in (("--cold", False), ("--preload=json", True)):
            with Serve([option], command=command, env=PLAIN_ENV, cwd="/") as serve:
                session = serve.open()
                while session.opened["warm"] != warm:
                    session = serve.open()
                self.assertEqual(session.run("print(6 * 7)").out, b"42\n")

    def test_words(self):
        """A user whose own limit is lower than what is held is told what is in the way."""
        low = ["prlimit", "--nofile=300:300"]
        command = [*low, *self.drop, STEPJAIL, "serve", *self.missing]
        with Serve(["--preload=json"], command=command, env=PLAIN_ENV, cwd="/") as serve:
            while not serve.open().opened["warm"]:
                pass
            self.hold()
            with self.assertRaises(Refused) as said:
                while True:  # some stand ready
                    serve.open()
            self.in_words(str(said.exception))
        done = subprocess.run(self.words("-c", "1", limit=low), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN_ENV,
                              timeout=TIMEOUT, check=False, cwd="/")
        self.assertEqual(done.returncode, 125)
        self.in_words(done.stderr.decode())
        with Serve(["--cold"], command=command, env=PLAIN_ENV, cwd="/") as serve:
            with self.assertRaises(Refused) as said:
                serve.open()
            self.in_words(str(said.exception))

    def in_words(self, text):
        for word in ("fds in flight", "300", "RLIMIT_NOFILE"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
