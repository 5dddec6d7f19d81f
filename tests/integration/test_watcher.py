#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_watcher.py - who takes over the process that reads a jail's output gains nothing

build/stepjail-obey is stepjail, but that its watcher obeys what the program prints (obey.c):
each attack is an order in the program's captured output. With the whole confinement all are
refused; without it all succeed; and each of its walls is put up alone and left out alone, so
that the table says which wall stops what.
"""
import errno
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from intruder_scene import ABI, LAND, SIGNAL, TCP, Intruder  # noqa: E402
from test_kill import children  # noqa: E402
from test_posture import without_landlock  # noqa: E402
from test_run import BUILD, PLAIN_ENV, STEPJAIL, TIMEOUT, Host, each_user  # noqa: E402

OBEY = os.path.join(BUILD, "stepjail-obey")

# What stops each attack, where it stands alone: of root's watcher, and of a user's, who has
# neither ids nor capabilities to give up. "ids" takes root's capabilities along.
ROOT, CAPS = {"ids"}, {"ids", "capabilities"}
ATTACKS = {
    "open": (LAND | ROOT, LAND),
    "write": (LAND | ROOT, LAND),
    "unix": (ROOT, set()),
    "tcp": (TCP, TCP),
    "kill": (SIGNAL | ROOT, SIGNAL),
    "tkill": (SIGNAL | ROOT, SIGNAL),
    "tgkill": (SIGNAL | ROOT, SIGNAL),
    "pidfd": (SIGNAL | ROOT, SIGNAL),
    "getfd": (LAND | CAPS, LAND),
    "ptrace": (LAND | CAPS, LAND),
    "readv": (LAND | CAPS, LAND),
    "code": (set(), set()),
    "fork": (set(), set()),
    # the order matters: those from here on change what the process is
    "become": (ROOT, None),
    "chroot": (CAPS, None),
    "mount": (LAND, LAND),
    "exec": (LAND | ROOT, LAND),
}

# the victim: it may be traced by anyone whom the kernel lets, and says where its memory is
VICTIM = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.prctl(0x59616d61, ctypes.c_ulong(-1 & 2**64 - 1), 0, 0, 0)
secret = ctypes.create_string_buffer(b'12345678')
print(ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""


class Obeyed(Intruder, Host):
    """The watcher does what an intruder in it would do."""

    walls = ("ids", "capabilities", "landlock", "filter")

    def setUp(self):
        super().setUp()
        if not os.access(OBEY, os.X_OK):
            raise unittest.SkipTest(f"lacks {OBEY}")
        self.victim = subprocess.Popen([*self.drop, "/usr/bin/python3", "-c", VICTIM],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       env=PLAIN_ENV)
        self.address = int(self.victim.stdout.readline())
        for path in self.open_targets():
            self.own(path, os.stat(path).st_mode & 0o777)
        self.stops = {name: stops[self.as_user] for name, stops in ATTACKS.items()
                      if stops[self.as_user] is not None}

    def tearDown(self):
        self.victim.communicate()
        super().tearDown()

    def obey(self, lacks, names, **settings):
        """One run of these attacks. Return: what came of each, and whether it executed."""
        orders = [self.order(name, self.victim.pid, self.address) for name in names]
        orders = ";".join(f"print('{order}', flush=True); time.sleep(.01)" for order in orders)
        words = self.words("--capture=both", "--", "/bin/python3", "-c",
                           f"import time; {orders} #{self.marker}")
        words[words.index(STEPJAIL)] = OBEY
        env = PLAIN_ENV | ({"STEPJAIL_LACKS": ",".join(lacks)} if lacks else {})
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False, **settings)
        said = dict(re.findall(r"obeyed (\w+): (\d+)", done.stderr.decode()))
        said = {name: int(number) for name, number in said.items()}
        if b"executed\n" in done.stdout:
            said["exec"] = 0
        self.assertEqual(set(names), set(said), (done.stdout, done.stderr))
        return said

    def test_without_landlock(self):
        """The filter alone refuses every path, and the report says what is missing."""
        for name, got in self.obey((), self.stops, preexec_fn=without_landlock).items():
            self.assertEqual(got, errno.EPERM, name)
        self.assertIsNone(self.read_report()["watcher"]["landlock"])

    def test_the_look_back_sees_a_wall_that_is_missing(self):
        """Not with STEPJAIL_LACKS, which switches it off: see test_jail_confine.c."""
        watcher = self.python("pass").report["watcher"]
        self.assertEqual((watcher["seccomp_mode"], watcher["no_new_privs"]), ("2", "1"))
        for name in ("inheritable", "permitted", "effective", "ambient"):
            self.assertEqual(watcher["cap_" + name], "0" * 16)
        self.assertEqual(watcher["landlock"], {"abi": ABI, "tried": "EACCES"} if ABI else None)
        ids = set(watcher["uids"].split() + watcher["gids"].split())
        if self.drop or os.geteuid() != 0:
            self.assertNotIn("0", watcher["uids"].split())
        else:
            self.assertEqual(len(ids), 1)
            self.assertGreaterEqual(int(ids.pop()), 1879048192)


class Running(Host):
    """A run that waits, and what is around it."""

    def start(self, *options):
        words = self.words(*options, "--", "/bin/python3", "-c",
                           f"print('on', flush=True); import time; time.sleep(60)"
                           f"#{self.marker}")
        run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, env=PLAIN_ENV)
        self.addCleanup(run.communicate)
        self.assertEqual(run.stdout.readline(), b"on\n")
        return run

    def name_of(self, pid):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
            return name.read().strip()

    def find(self, run, name):
        return next(pid for pid in children(run.pid) if self.name_of(pid) == name)

    def expect_nothing(self):
        """No process and, in tearDown(), nothing else is left."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            left = [pid for pid in filter(str.isdigit, os.listdir("/proc"))
                    if self.is_keeper(pid)]
            if not left:
                return
            time.sleep(0.02)
        self.fail(f"keepers are left: {left}")

    def is_keeper(self, pid):
        """Of this test, and not of another that runs at the same time."""
        return int(pid) in self.keepers and os.path.exists(f"/proc/{pid}")

    def test_no_fd_that_it_does_not_need(self):
        """Neither folders nor the file of id pairs nor another process; /locks is of a procfs that is nowhere."""
        if os.geteuid() != 0:
            self.skipTest("lacks root, to look at a process that is not dumpable")
        run = self.start("--capture=stderr")
        folder = f"/proc/{run.pid}/fd"
        held = {os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder) if int(fd) > 2}
        for path in held:
            self.assertRegex(path, r"^(pipe|socket|anon_inode):|report.json$|^/$|^/tmp$|"
                                   r"/sys/fs/cgroup/.*[.]|^/work$|^anon_inode|^/proc/|^/locks$")
        run.send_signal(signal.SIGTERM)

    def end_by_killing(self, victim):
        run = self.start()
        self.keepers = [self.find(run, "stepjail-keeper")]
        pid = {"watcher": run.pid, "keeper": self.keepers[0]}[victim]
        os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=TIMEOUT)
        self.expect_nothing()
        return run

    def test_kill_of_the_watcher(self):
        self.end_by_killing("watcher")

    def test_kill_of_the_keeper(self):
        """The watcher ends the jail all the same, and says why."""
        run = self.end_by_killing("keeper")
        report = self.read_report()
        self.assertEqual((run.returncode, report["verdict"]), (125, "launcher-error"))
        self.assertIn("keeper", report["error"])

    def test_parent_death_signal_stays(self):
        """A change of ids makes the kernel forget it."""
        code = (f"import ctypes, os, subprocess, sys, time\n"
                f"run = subprocess.Popen(sys.argv[1:], preexec_fn=lambda:"
                f" ctypes.CDLL(None).prctl(1, 15, 0, 0, 0), stdout=subprocess.PIPE)\n"
                f"run.stdout.readline(); print(run.pid, flush=True); sys.stdin.read()\n"
                f"os._exit(0)\n")
        words = self.words("--", "/bin/python3", "-c", f"print('on', flush=True);"
                           f"import time; time.sleep(60) #{self.marker}")
        words = words[len(self.drop):]
        with subprocess.Popen([*self.drop, "/usr/bin/python3", "-c", code, *words],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=PLAIN_ENV) as p:
            pid = int(p.stdout.readline())
            p.stdin.close()
            p.wait(TIMEOUT)
        end = time.monotonic() + 30
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
            time.sleep(0.02)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertEqual(self.read_report()["verdict"], "cancelled")


globals().update(each_user(Obeyed))
globals().update(each_user(Running))

if __name__ == "__main__":
    unittest.main()
