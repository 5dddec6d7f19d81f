#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_kill.py - kill -9 at random moments: soon nothing of the run is left

A hundred and twenty runs in all, as root and as an ordinary user. Each is killed once, by the
launcher's, init's, the program's or the keeper's PID, at a random moment between its first
instruction and some time into the program. Then no process with its marker, no process of its PID namespace, no mount,
no file, no lock on an id pair and no cgroup may be left.
STEPJAIL_SEED repeats a sequence of moments; it is printed.
"""
import ctypes
import errno
import fcntl
import os
import random
import secrets
import select
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import PLAIN_ENV, TIMEOUT, Host, each_user, processes_with  # noqa: E402

SEED = int(os.environ.get("STEPJAIL_SEED", "20240229"))
VICTIMS = ("launcher", "init", "program", "keeper")
ROUNDS = 60     # for each of the two users
LEFT_S = 30     # what is left for so long is left behind
SLOTS = "/run/stepjail/ids"
PR_SET_CHILD_SUBREAPER = 36

# children, grandchildren and threads, in sessions of their own, busy and asleep
PROGRAM = """
import os, threading, time
open('/work/file', 'wb').write(bytes(1 << 20))
threading.Thread(target=time.sleep, args=(30,)).start()
for i in range(3):
    if os.fork() == 0:
        os.setsid()
        if i == 2:
            while True: pass
        time.sleep(30)
print('on', flush=True)
time.sleep(30)
"""


def children(pid):
    """The children of a process's threads; none when it is gone."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as pids:
                found += [int(child) for child in pids.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def is_keeper(pid):
    """The one child of a launcher that is no jail: jail/launch/keeper.c."""
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as name:
            return name.read() == "stepjail-keeper\n"
    except (FileNotFoundError, ProcessLookupError):
        return False


def jails(pid):
    """The inits of a launcher's jails."""
    return [child for child in children(pid) if not is_keeper(child)]


def keepers(pid):
    return [child for child in children(pid) if is_keeper(child)]


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


class Spaces:
    """PID namespaces of processes, but not our own; close() at the end.

    One that is gone leaves its number to the next one, which may be anybody's: so each is held
    by an fd.
    """

    def __init__(self):
        self.held = {namespace("self"): -1}

    def add(self, pid):
        """That of a process, which may be gone."""
        try:
            fd = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return
        if self.held.setdefault(f"pid:[{os.fstat(fd).st_ino}]", fd) != fd:
            os.close(fd)

    def processes(self):
        """PIDs of all that are in one of them."""
        others = {space for space, fd in self.held.items() if fd >= 0}
        return [int(pid) for pid in os.listdir("/proc")
                if pid.isdigit() and namespace(int(pid)) in others]

    def close(self):
        while self.held:
            fd = self.held.popitem()[1]
            if fd >= 0:
                os.close(fd)


def holders_of_slots(pids):
    """Which of these processes hold the file of id pairs open, and so perhaps a lock."""
    held = []
    for pid in pids:
        try:
            held += [pid for fd in os.listdir(f"/proc/{pid}/fd")
                     if os.readlink(f"/proc/{pid}/fd/{fd}") == SLOTS]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return held


def adopt_orphans():
    """Become the parent of what a killed launcher leaves, in place of the host's PID 1.

    So nothing depends on how soon that one reaps, and no orphan can escape the count.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def reap_orphans():
    """Reap our children that have ended. Return: the PIDs of those that have not."""
    left = []
    for pid in children(os.getpid()):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            left.append(pid)
    return left


def cgroup_leaves():
    """stepjail's cgroups, where there is cgroup v2."""
    found = []
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        for folder, folders, _ in os.walk("/sys/fs/cgroup"):
            found += [os.path.join(folder, name) for name in folders if "stepjail" in name]
    return set(found)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Kills(Host):
    """One test of many rounds, so that a seed repeats all of them."""

    def setUp(self):
        super().setUp()
        adopt_orphans()
        self.random = random.Random(SEED + self.as_user)
        print(f"\nseed {SEED}, {'user' if self.as_user else 'root'}:", end=" ", flush=True)

    def test_kill(self):
        hit = {}
        for number in range(ROUNDS):
            victim = VICTIMS[number % len(VICTIMS)]
            started = self.round(victim, number)
            hit[victim, started] = hit.get((victim, started), 0) + 1
        print(", ".join(f"{victim} {'running' if started else 'starting'} {count}"
                        for (victim, started), count in sorted(hit.items())))
        for victim in VICTIMS:
            self.assertIn((victim, True), hit, "no kill hit a running program")
        self.assertIn(("launcher", False), hit, "no kill hit a launcher on its way")

    def round(self, victim, number):
        """One run, one kill, and the look at what is left. Return: had the program begun?"""
        marker, spaces = "marker-" + secrets.token_hex(8), Spaces()
        leaves, files = cgroup_leaves(), set(os.listdir(self.folder)) | {"report.json"}
        words = self.words("--wall-time", "20s", "--", "/bin/python3", "-c",
                           f"{PROGRAM}#{marker}")
        # a third of the moments lie in the first milliseconds, where the jail is being built,
        # and a third where the program runs, however long it takes to get there
        when = number // len(VICTIMS) % 3
        wait_s = self.random.random() * (0.015, 0.25, 0.05)[when]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, env=PLAIN_ENV) as run:
            try:
                if when == 2:
                    self.assertTrue(select.select([run.stdout], [], [], TIMEOUT)[0])
                time.sleep(wait_s)
                family = self.strike(run.pid, victim, spaces)
                run.wait(TIMEOUT)
                self.expect_nothing(marker, spaces, family, (victim, number, wait_s))
            finally:
                kill(run.pid)
                spaces.close()
            started = run.stdout.read() == b"on\n"
        if victim == "keeper":  # which removes the leaf
            for leaf in cgroup_leaves() - leaves:
                os.rmdir(leaf)
        self.assertEqual(cgroup_leaves() - leaves, set())
        self.assertLessEqual(set(os.listdir(self.folder)), files)
        return started

    def strike(self, launcher, victim, spaces):
        """Kill; an init or program that is not there yet is waited for, for a while."""
        end = time.monotonic() + LEFT_S
        while victim != "launcher" and time.monotonic() < end:
            family = keepers(launcher) if victim == "keeper" else jails(launcher)
            if victim == "program" and family:
                family = children(family[0])
            if family or not os.path.exists(f"/proc/{launcher}/task"):
                break
        init = jails(launcher)
        # as root, before the kill: afterwards nobody is left to ask
        for pid in init:
            spaces.add(pid)
        kill(launcher if victim == "launcher" else family[0] if family else launcher)
        return init

    def expect_nothing(self, marker, spaces, family, what):
        end = time.monotonic() + LEFT_S
        while True:
            left = (reap_orphans() + processes_with(marker) + spaces.processes() +
                    holders_of_slots(family))
            if not left:
                return
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        for pid in children(os.getpid()):
            kill(pid)
        self.fail(f"{what}: processes are left: {left}")

    def tearDown(self):
        super().tearDown()
        self.assertEqual(reap_orphans(), [])

    def test_slot_is_free(self):
        """As root: a running jail holds one lock, and its death gives it back."""
        if self.as_user or os.geteuid() != 0:
            self.skipTest("lacks root")
        for victim in ("launcher", "init"):
            words = self.words("--", "/bin/python3", "-c",
                               f"print('on', flush=True); import time; time.sleep(30)"
                               f"#{self.marker}")
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL, env=PLAIN_ENV) as run:
                self.assertEqual(run.stdout.readline(), b"on\n")
                ids = self.lock_of(run.pid)
                self.assertIsNotNone(ids, "the launcher locks no pair")
                self.assertTrue(self.is_locked(ids))
                kill(run.pid if victim == "launcher" else jails(run.pid)[0])
                run.wait(TIMEOUT)
            end = time.monotonic() + LEFT_S
            while self.is_locked(ids) and time.monotonic() < end:
                time.sleep(0.02)
            self.assertFalse(self.is_locked(ids), victim)

    def lock_of(self, launcher):
        """The byte that the jail's host uid names: pairs from ids.h's IDS_BASE."""
        base = 1879048192
        with open(f"/proc/{jails(launcher)[0]}/uid_map", encoding="ascii") as lines:
            first = int(lines.readline().split()[1])
        return (first - base) // 2 if first >= base else None

    def is_locked(self, slot):
        with open(SLOTS, "r+b") as slots:
            lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, slot, 1, 0)
            try:
                fcntl.fcntl(slots, fcntl.F_OFD_SETLK, lock)
            except OSError as error:
                self.assertIn(error.errno, (errno.EAGAIN, errno.EACCES))
                return True
        return False


globals().update(each_user(Kills))

if __name__ == "__main__":
    unittest.main()
