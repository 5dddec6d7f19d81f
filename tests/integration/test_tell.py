#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_tell.py - what run says on stderr of its end: the limit that was met, calls refused

Each is one line that names the option; --quiet leaves them out, and warnings, too.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import Host, each_user  # noqa: E402

SPIN = "while True: pass"
FILL = "open('/{}/x', 'wb').write(bytes(1 << 20))"
GROW = ("import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "open('/work/x', 'wb').write(bytes(1 << 20))")
CALL = "import os; os.system('x'); os.system('x')"
FORK = "import os\nfor i in range(9):\n if not os.fork(): os.read(0, 1); os._exit(0)\n"


class Told(Host):
    def told(self, code, *options):
        """The lines of stepjail's own, but for its warning of a host without cgroup v2."""
        done = self.run_jail(*options, "--", "/bin/python3", "-c", code)
        return [line for line in done.stderr.decode().splitlines()
                if line.startswith("stepjail: ")
                and not line.startswith("stepjail: warning: no cgroup limits are enforced: ")]

    def test_limits(self):
        for code, options, line in (
                (SPIN, ["--wall-time", "300ms"], "killed: --wall-time 300ms"),
                (SPIN, ["--cpu-time", "0.1"], "killed: --cpu-time 100ms"),
                (FILL.format("work"), ["--work-size", "64K"],
                 "/work is full (or out of --inodes): --work-size 64K"),
                (FILL.format("tmp"), ["--tmp-size=64k"],
                 "/tmp is full (or out of --inodes): --tmp-size 64K"),
                (GROW, ["--file-size", "4096"], "killed: a file grew too large: --file-size 4K")):
            with self.subTest(line=line):
                self.assertEqual(self.told(code, *options), ["stepjail: " + line])
                self.assertEqual(self.told(code, *options, "--quiet"), [])

    def test_what_is_never_given_up(self):
        """A limit of all jails, where there is no cgroup to have it. Elsewhere it would be set."""
        if "--allow-missing" not in self.words(report=False):
            self.skipTest("cgroup v2 is here: tests/vm/cases/total.sh")
        for option in ("--total-memory=1G", "--total-pids=100", "--total-cpus=2"):
            done = self.run_jail(option, "--", "/bin/python3", "-c", "1", report=False)
            self.assertEqual(done.returncode, 125)
            self.assertIn(b"leave out the --total- limits, or mend this: cgroup: ", done.stderr)

    def test_refused_calls(self):
        self.assertEqual(self.told(CALL),
                         ["stepjail: refused: execve x2 (--lock-code=no allows it)"])
        self.assertEqual(self.told(CALL, "--quiet"), [])
        self.assertEqual(self.told(CALL, "--on-violation=kill"),
                         ["stepjail: killed: --on-violation kill: execve x1"])
        self.assertEqual(self.told("import os; os.system('x'); os.chroot('/')"),
                         ["stepjail: refused: execve x1, chroot x1 (--lock-code=no allows it)"])
        self.assertEqual(self.told(CALL, "--lock-code=no"), [])
        # --learn would have nothing to show
        self.assertEqual(self.told("import os; os.chroot('/')"), ["stepjail: refused: chroot x1 (no option allows it)"])
        # what --learn prints has these calls, with what would allow each
        self.assertEqual(self.told(CALL, "--learn"), [])

    def test_nothing_to_say(self):
        for code in ("print(1)", "raise ValueError", "import os; os.kill(os.getpid(), 2)",
                     "import os, signal; signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), 13)"):
            self.assertEqual(self.told(code), [])

    def test_signals(self):
        """As a shell tells of them; stepjail has sent none of these."""
        for number, said in ((9, "9 (Killed)"), (6, "6 (Aborted)"), (15, "15 (Terminated)")):
            code = f"import os; os.kill(os.getpid(), {number})"
            self.assertEqual(self.told(code), [f"stepjail: ended by signal {said}"])
            self.assertEqual(self.told(code, "--quiet"), [])
        line, = self.told("import os; os.kill(os.getpid(), 11)")
        self.assertRegex(line, r"^stepjail: ended by signal 11 \(Segmentation fault\): a fault of the program's, or "
                               r"its stack was full \(ulimit -s of the caller: (\d+[KMG]?|unlimited)\)$")

    def test_quiet_is_no_gag(self):
        done = self.run_jail("--quiet", "--rootfs=/nothing", "--", "/bin/python3")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr.decode(), r"\Astepjail: .*/nothing.*\n\Z")


globals().update(each_user(Told))

if __name__ == "__main__":
    unittest.main()
