#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_lease.py - network namespaces that root's runs leave to later ones: lease.c

In a mount namespace with a /run of its own, so that nobody else takes these leases.
"""
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_kill import adopt_orphans, keepers  # noqa: E402
from test_run import PLAIN_ENV, STEPJAIL, TIMEOUT, drop_words, missing_words  # noqa: E402

FOLDER = "/run/stepjail/net"
NEWNS, NEWNET, MS_REC, MS_PRIVATE = 0x20000, 0x40000000, 0x4000, 1 << 18
MNT_DETACH = 2
MOST = 4 * len(os.sched_getaffinity(0))
SAY = "import os; print(os.readlink('/proc/self/ns/net'), flush=True)\n"
STAY = SAY + "input()\n"
LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    if getattr(LIBC, name)(*args) != 0:
        raise OSError(ctypes.get_errno(), name)


def until(what, wanted):
    """Ask until this comes."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        if wanted():
            return
        time.sleep(0.01)
    raise AssertionError(f"in {TIMEOUT} s not seen: {what}")


def kept():
    """{number: namespace} of all leases."""
    with open("/proc/self/mountinfo", encoding="ascii") as lines:
        found = re.findall(rf" (net:\[\d+\]) {FOLDER}/(\d+) ", lines.read())
    return {int(number): name for name, number in found}


def sockets(number):
    """How many the kernel counts in a lease."""
    pid = os.fork()
    if pid == 0:
        fd = os.open(f"{FOLDER}/{number}", os.O_RDONLY)
        call("setns", fd, NEWNET)
        with open("/proc/thread-self/net/sockstat", encoding="ascii") as text:
            os._exit(int(text.readline().split()[-1]))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def stat(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as text:
        return text.read()


def rest():
    """Until no lease has a socket that is still being freed."""
    for number in kept():
        until("a lease without sockets", lambda number=number: sockets(number) == 0)


class Run:
    """One run; its program is there, and has said in which namespace."""

    def __init__(self, *options, code=STAY, stdin=subprocess.PIPE, before=()):
        self.pipe, report = os.pipe()
        self.process = subprocess.Popen(
            [*before, STEPJAIL, "run", "--rootfs", "core", *missing_words(()), "--report", str(report),
             *options, "--", "/bin/python3", "-c", code], env=PLAIN_ENV, text=True,
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(report,))
        os.close(report)
        self.name = self.process.stdout.readline().strip()

    def kill(self):
        with self.process:
            self.process.kill()
        os.close(self.pipe)

    def end(self):
        """Its report's network, once it has ended."""
        with self.process:
            self.said, err = self.process.communicate("\n", timeout=TIMEOUT)
        with open(self.pipe, encoding="utf-8") as report:
            text = report.read()
        if self.process.returncode != 0:
            raise AssertionError(self.said + err + text)
        posture = json.loads(text)["posture"]
        name = f"net:[{posture['namespaces']['net']['jail']}]"
        if name != self.name:
            raise AssertionError(f"{name} is reported, {self.name} is there")
        return posture["network"]


class Lease(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("lacks root")
        # else the kernel continues a keeper that is stopped when its launcher ends
        adopt_orphans()
        call("unshare", NEWNS)
        call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
        LIBC.umount2(FOLDER.encode(), MNT_DETACH)

    def setUp(self):
        call("mount", b"run", b"/run", b"tmpfs", 0, None)
        self.addCleanup(call, "umount2", b"/run", MNT_DETACH)

    def run_one(self, *options, **how):
        """(namespace, whether it was leased)"""
        run = Run(*options, **how)
        return run.end()["leased"], run.name

    def test_one_after_another(self):
        leased, name = self.run_one()
        self.assertTrue(leased)
        self.assertEqual(kept(), {0: name})
        self.assertNotEqual(name, os.readlink("/proc/self/ns/net"))
        for _ in range(3):
            rest()
            self.assertEqual(self.run_one(), (True, name))
        # while the route socket of one is freed, the next is taken: never one of its own
        names = {self.run_one() for _ in range(2)}
        self.assertEqual({leased for leased, _ in names}, {True})

    def test_at_once_each_has_its_own(self):
        runs = [Run() for _ in range(MOST + 2)]
        self.assertEqual(len({run.name for run in runs}), MOST + 2)
        self.assertEqual(sorted(kept()), list(range(MOST)))
        leased = [run.end()["leased"] for run in runs]
        self.assertEqual(leased, [True] * MOST + [False] * 2)

    def test_in_use_until_the_jail_has_ended(self):
        first = Run()
        self.assertEqual(kept(), {0: first.name})
        keeper = keepers(first.process.pid)[0]
        os.kill(keeper, signal.SIGSTOP)
        until("the keeper is stopped", lambda: "(stepjail-keeper) T" in stat(keeper))
        first.kill()
        second = Run()
        self.assertNotEqual(second.name, first.name)
        os.kill(keeper, signal.SIGCONT)
        until("the lease is given again", lambda: self.run_one() == (True, first.name))
        self.assertTrue(second.end()["leased"])

    def test_launcher_is_killed(self):
        name = self.run_one()[1]
        rest()
        run = Run()
        self.assertEqual(run.name, name)
        run.kill()
        until("the lease is given again", lambda: self.run_one() == (True, name))

    def test_passed_over_with_a_socket_in_it(self):
        ours, theirs = socket.socketpair()
        leased, name = self.run_one(stdin=theirs, code=SAY + (
            "import socket; a = socket.socket(socket.AF_UNIX)\n"
            "socket.send_fds(socket.socket(fileno=0), [b'x'], [a.fileno()])"))
        held = socket.recv_fds(ours, 1, 1)[1]
        self.assertTrue(leased)
        ours.close()
        theirs.close()
        until("the route socket is freed", lambda: sockets(0) == 1)
        for _ in range(3):
            self.assertNotEqual(self.run_one()[1], name)
            self.assertEqual(kept()[0], name)
        os.close(held[0])
        rest()
        self.assertEqual(self.run_one(), (True, name))

    def test_sockets_in_flight_among_themselves(self):
        """No process has them any more; the kernel finds that, and frees them."""
        leased, name = self.run_one(code=SAY + (
            "import socket; a, b = socket.socketpair()\n"
            "for s in (a, b): socket.send_fds(s, [b'x'], [a.fileno(), b.fileno()])"))
        self.assertTrue(leased)
        rest()
        self.assertEqual(self.run_one(), (True, name))

    def test_remove(self):
        name = self.run_one()[1]
        rest()
        run = Run()
        self.assertEqual(run.name, name)

        call("umount2", FOLDER.encode(), MNT_DETACH)
        self.assertEqual(kept(), {})
        # one in use is nobody else's, and ends with its jail
        leased, other = self.run_one()
        self.assertTrue(leased)
        self.assertNotEqual(other, name)
        self.assertTrue(run.end()["leased"])
        self.assertEqual(set(kept().values()), {other})

    def test_fresh(self):
        inet = SAY + "import socket; socket.socket().close()"
        for options in (("--net-namespace", "fresh"), ("--net", "loopback"),
                        ("--allow-syscall", "sync")):
            with self.subTest(options=options):
                leased, name = self.run_one(*options, code=inet)
                self.assertFalse(leased)
                self.assertNotIn(name, kept().values())
        for right in ("sys_admin", "net_admin"):
            with self.subTest(without=right):
                before = ("setpriv", f"--bounding-set=-{right}")
                self.assertFalse(self.run_one(before=before, code=inet)[0])
        self.assertEqual(kept(), {})
        user = Run(before=drop_words())
        self.assertFalse(user.end()["leased"])
        self.assertEqual(kept(), {})

    def test_what_is_refused_in_it(self):
        code = SAY + """
import socket
for what in (lambda: socket.socket(), lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
             lambda: socket.socketpair()[0].getsockopt(socket.SOL_SOCKET, 71, 8)):
    try:
        what()
    except OSError as error:
        print(error.errno)
a, b = socket.socketpair()
a.send(b"text"); print(b.recv(4))
"""
        run = Run(code=code)
        self.assertTrue(run.end()["leased"])
        self.assertEqual(run.said, "97\n97\n1\nb'text'\n")


if __name__ == "__main__":
    unittest.main()
