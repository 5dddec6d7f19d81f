#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_file_locks.py - --file-locks: how many a jail may hold, what counts, and what goes on working

Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import Case  # noqa: E402
from test_run import TIMEOUT, Host, each_user  # noqa: E402

# locks that do not touch, on the one inode of all eventfds; they are kept until it is killed
HOLD = """
import fcntl, os, time
fd = os.eventfd(0)
for at in range({0}):
    fcntl.lockf(fd, fcntl.LOCK_EX, 1, {1} + 2 * at)
"""
WAIT = "print('held', flush=True)\ntime.sleep({0})\n"
# programs that lock: a database, flock, a pool with its semaphores, a lock that others wait for
HONEST = """
import fcntl, multiprocessing, os, sqlite3, tempfile, threading
base = sqlite3.connect("/work/base")
base.execute("create table t (n)")
for n in range(300):
    base.execute("insert into t values (?)", (n,))
    base.commit()
others = [sqlite3.connect("/work/base") for _ in range(20)]
assert [o.execute("select count(*) from t").fetchone() for o in others] == [(300,)] * 20
for n in range(2000):
    with open("/work/lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
def square(n):
    with open("/work/lock", "w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(8) as pool:
        assert pool.map(square, range(200)) == [n * n for n in range(200)]
    print("whole")
"""
CALLS = """
import errno, fcntl, os, struct
file = open("/work/a", "w+")
def say(name, act):
    try:
        act()
        print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
lock = struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)
say("flock", lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
say("F_SETLK", lambda: fcntl.fcntl(file, fcntl.F_SETLK, lock))
say("F_SETLKW", lambda: fcntl.fcntl(file, fcntl.F_SETLKW, lock))
say("F_GETLK", lambda: fcntl.fcntl(file, fcntl.F_GETLK, lock))
say("F_OFD_GETLK", lambda: fcntl.fcntl(file, 36, lock))
say("F_OFD_SETLK", lambda: fcntl.fcntl(file, 37, lock))
say("F_OFD_SETLKW", lambda: fcntl.fcntl(file, 38, lock))
say("F_SETLEASE", lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK))
say("F_SETDELEG", lambda: fcntl.fcntl(file, 1040, 0))
say("F_GETFL", lambda: fcntl.fcntl(file, fcntl.F_GETFL))
say("F_DUPFD", lambda: fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3))
"""
LOCKING = ("flock", "F_SETLK", "F_SETLKW", "F_GETLK", "F_SETLEASE", "F_SETDELEG")
OWNERLESS = ("F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW")


class Runs(Host):
    def test_one_more_than_it_may(self):
        done = self.python(HOLD.format(41, 0) + WAIT.format(60), "--file-locks=40", status=137)
        self.assertEqual(done.report["verdict"], "file-locks")
        self.assertIn(b"stepjail: killed: --file-locks 40\n", done.stderr)
        self.assertLess(done.report["wall_ms"], 30000)

    def test_as_many_as_it_may(self):
        """Twenty looks, and none of them sees more."""
        done = self.python(HOLD.format(40, 0) + WAIT.format(1), "--file-locks=40")
        self.assertEqual((done.report["verdict"], done.stdout), ("completed", b"held\n"))

    def test_those_of_others_do_not_count(self):
        """Nor do locks of no process's, which every procfs shows."""
        code = HOLD.format(60, 0) + (
            "import struct\nfor at in range(60):\n"
            "    fcntl.fcntl(fd, 37, struct.pack('hhqqi', fcntl.F_RDLCK, 0, 1000 + 2 * at, 1, 0))\n"
            "print('held', flush=True)\ninput()\n")
        with subprocess.Popen([*self.drop, sys.executable, "-c", code], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as holder:
            self.assertEqual(holder.stdout.readline(), b"held\n")
            done = self.python("import time\nprint('on')\ntime.sleep(.5)", "--file-locks=1")
            holder.communicate(b"\n", timeout=TIMEOUT)
        self.assertEqual((done.report["verdict"], done.stdout), ("completed", b"on\n"))

    def test_of_children_and_of_who_waits(self):
        code = ("import fcntl, os, time\nfile = open('/work/a', 'w')\nfcntl.lockf(file, fcntl.LOCK_EX)\n"
                "for _ in range(30):\n"
                "    if os.fork() == 0:\n        fcntl.lockf(file, fcntl.LOCK_EX)\n        os._exit(0)\n"
                "time.sleep(60)")
        done = self.python(code, "--file-locks=20", status=137)
        self.assertEqual(done.report["verdict"], "file-locks")

    def test_programs_that_lock(self):
        done = self.python(HONEST, "--lock-code=no")
        self.assertEqual((done.stdout, done.report["verdict"]), (b"whole\n", "completed"),
                         done.stderr.decode())

    def calls(self, *options):
        return dict(line.split() for line in self.say(CALLS, *options).splitlines())

    def test_none_at_all(self):
        said = self.calls("--file-locks=0", "--on-violation=kill")
        for name in LOCKING + OWNERLESS:
            self.assertEqual(said[name], "EPERM", name)
        self.assertEqual((said["F_GETFL"], said["F_DUPFD"]), ("done", "done"))
        done = self.python(CALLS, "--file-locks=0", "--allow-syscall", "flock", "--learn")
        self.assertIn(b"flock EPERM", done.stdout)
        self.assertTrue({"flock", "fcntl"} <= set(done.report["shut"]))
        self.assertIn("# flock, 1 time: ", done.stderr.decode())
        self.assertNotIn("allow-syscall f", done.stderr.decode())

    def test_locks_without_an_owner(self):
        said = self.calls()
        self.assertEqual({name: said[name] for name in OWNERLESS}, dict.fromkeys(OWNERLESS, "EPERM"))
        self.assertEqual([said[name] for name in LOCKING[:4]], ["done"] * 4)

    def test_without_a_procfs_in_the_jail(self):
        done = self.python(HOLD.format(41, 0) + WAIT.format(60), "--file-locks=40", "--proc=none",
                           status=137)
        self.assertEqual(done.report["verdict"], "file-locks")


class Steps(Case):
    options = ["--file-locks=40"]

    def test_a_step_that_locks_too_much(self):
        session = self.serve.open()
        session.run("x = 1")
        step = session.run(HOLD.format(41, 0) + WAIT.format(60))
        self.ended(step, "file-locks", "rolled-back", signal=9)
        self.assertEqual(session.run("x").result, "1")

    def test_what_states_hold_counts(self):
        """A step that is over before anybody looks leaves them to its state, whose session ends then; else it is killed."""
        for _ in range(10):
            session = self.serve.open()
            self.ended(session.run(HOLD.format(40, 0)), "completed", "kept")
            step = session.run("other = os.eventfd(0)\nfor at in range(40):\n"
                               "    fcntl.lockf(other, fcntl.LOCK_EX, 1, 100 + 2 * at)")
            if step.done["verdict"] == "completed":
                self.assertEqual(self.serve.expect(session.number, 0, "CLOSED").json["reason"],
                                 "its states hold more file locks than --file-locks 40")
                break
            self.ended(step, "file-locks", "rolled-back", signal=9)
            self.ended(session.run("at"), "completed", "kept")
        self.assertEqual(self.serve.open().run("1 + 1").result, "2")


class NoSteps(Case):
    options = ["--file-locks=0"]

    def test_none_at_all(self):
        session = self.serve.open()
        step = session.run("import fcntl\nfcntl.flock(open('/work/a', 'w'), fcntl.LOCK_EX)")
        self.assertIn("PermissionError", step.trace)
        self.assertEqual(session.run("1").result, "1")


globals().update(each_user(Runs))

if __name__ == "__main__":
    unittest.main()
