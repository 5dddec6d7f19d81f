#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_signals.py - signals to the launcher, and what the program inherits of them"""
import ctypes
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_run import PLAIN_ENV, TIMEOUT, Host, each_user  # noqa: E402


def ignore_all():
    """Ignore every signal by the kernel's own call, which knows no signal of a C library."""
    libc = ctypes.CDLL(None)
    ignore = (ctypes.c_ulong * 4)(1)
    for signum in range(1, 65):
        libc.syscall(13 if os.uname().machine == "x86_64" else 134, signum, ignore, None, 8)


class Signals(Host):
    """Who gets a signal, and who does not."""

    def test_cancelled(self):
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            words = self.words("--", "/bin/python3", "-c",
                               f"print('on', flush=True); import time; time.sleep(30)"
                               f"#{self.marker}")
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, env=PLAIN_ENV) as run:
                self.assertEqual(run.stdout.readline(), b"on\n")
                run.send_signal(signum)
                run.communicate(timeout=TIMEOUT)
            run.report = self.read_report()
            self.assertEqual(run.returncode, 128 + signum)
            self.assertEqual(run.report["verdict"], "cancelled")

    def test_ignored_by_the_caller(self):
        words = self.words("--", "/bin/python3", "-c",
                           f"print('on', flush=True); input(); print('done')#{self.marker}")
        with subprocess.Popen(["nohup", *words], stdout=subprocess.PIPE, env=PLAIN_ENV,
                              stderr=subprocess.PIPE, stdin=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), b"on\n")
            run.send_signal(signal.SIGHUP)
            time.sleep(0.1)
            out = run.communicate(b"\n", timeout=TIMEOUT)[0]
        self.assertEqual((out, run.returncode), (b"done\n", 0))
        self.assertEqual(self.read_report()["verdict"], "completed")

    def test_no_signal_is_ignored(self):
        """Not even those that a C library keeps for itself; two are python's own doing."""
        done = self.python("print([int(line.split()[1], 16) for line in open("
                           "'/proc/self/status') if line.startswith(('SigIgn', 'SigBlk'))])",
                           preexec_fn=ignore_all)
        own = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
        self.assertEqual(done.stdout.decode().strip(), f"[0, {own}]")


globals().update(each_user(Signals))

if __name__ == "__main__":
    unittest.main()
