#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_reviews.py - holes of other launchers, and why they are none here

One test for each row of the README's table of reviews. What is tried in a jail is a row of
reviews.c; the same is seen to open a door outside, where a user namespace and nothing else
is around it, so that "closed" means something.
"""
import ctypes
import fcntl
import hashlib
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from hosts_scene import REVIEWS, Surrounded, mounts  # noqa: E402
from test_run import BUILD, PLAIN_ENV, STEPJAIL, TIMEOUT, TOP, each_user  # noqa: E402

# "root" of a user namespace, without a filter, on mounts of its own
BARE = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "--pid",
        "--fork", "--kill-child", "--mount-proc", "--cgroup"]


class Reviews(Surrounded):
    def attempt(self, name, *options, tree=None, outer=(), **settings):
        """A row of reviews.c in a jail."""
        words = self.words("--rootfs", tree or "core", "--bind", REVIEWS + ":/reviews", *options, "--", "/reviews", name)
        at = len(self.drop)
        words = [*words[:at], *outer, *words[at:]]
        settings = {"stdin": subprocess.DEVNULL} | settings
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT, check=False, env=PLAIN_ENV, **settings)

    def closed(self, name, *options, **settings):
        done = self.attempt(name, *options, **settings)
        self.assertEqual((done.returncode, done.stdout), (0, "closed\n"), done.stderr)

    def refused(self, reason, name, *options, **settings):
        done = self.attempt(name, *options, **settings)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn(reason, done.stderr.splitlines()[-1])

    def opens(self, name, door, outer=None):
        """Without a jail, the same attempt succeeds; on a tmpfs of its own for /tmp."""
        # the checkout may lie in /tmp
        script = 'mount --bind "$0" /mnt; mount -t tmpfs none /tmp; "$@"; exit $?'
        folder, program = os.path.split(REVIEWS)
        done = self.outside(*BARE, "sh", "-c", script, folder, *(outer or ()), "/mnt/" + program,
                            name)
        self.assertEqual(done.returncode, 1, (done.stdout, done.stderr))
        self.assertIn("open: " + door, done.stdout)

    def digests(self):
        found = []
        for path in (STEPJAIL, STEPJAIL + "-init", REVIEWS):
            with open(path, "rb") as text:
                found.append(hashlib.sha256(text.read()).hexdigest())
        return found

    def make_tree(self, name, **links):
        """A root tree of an attacker's making."""
        tree = self.make_folder(name)
        for link, target in links.items():
            path = os.path.join(tree, link.replace("_", "/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(target, path)
        return tree

    def test_cve_2019_5736(self):
        """runc: its own program file, overwritten through /proc/self/exe."""
        before = self.digests()
        self.closed("executable")
        self.assertEqual(self.digests(), before)
        copy = self.file("copy")
        shutil.copyfile(REVIEWS, copy)
        os.chmod(copy, 0o755)
        done = self.outside(copy, "executable")
        self.assertIn("open: change its mode", done.stdout)

    def test_cve_2024_21626(self):
        """runc: a folder of the host left open, reached by the working folder."""
        where = self.make_folder("host")
        fd = os.open(where, os.O_RDONLY)
        high = fcntl.fcntl(fd, fcntl.F_DUPFD, 2000)
        self.closed("descriptors", cwd=where, pass_fds=[fd, high])
        done = subprocess.run([REVIEWS, "descriptors"], pass_fds=[fd], check=False,
                              stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        # without Landlock, which would hide what the paths lead to
        outer = [os.path.join(BUILD, "tests/within"), "landlock_create_ruleset=enosys", "--"]
        numbers = {*range(3, 24), fd, high}
        for number in numbers:
            for way in (f"/proc/self/fd/{number}", f"/proc/1/fd/{number}"):
                self.refused("chdir: ", "descriptors", "--chdir", way, cwd=where, outer=outer,
                             pass_fds=[fd, high])
        # and by a symlink of the tree, where no path says so
        for number in numbers:
            tree = self.make_tree(f"tree{number}", data=f"/proc/self/fd/{number}")
            self.refused("chdir: ", "descriptors", "--chdir", "/data", tree=tree, cwd=where,
                         outer=outer, pass_fds=[fd, high])
        os.close(fd)
        os.close(high)

    def test_cve_2022_0492(self):
        """The kernel: release_agent of cgroup v1, from a user namespace."""
        self.closed("cgroup")
        self.opens("cgroup", "a user and a cgroup namespace")

    def test_cve_2022_0185(self):
        """The kernel: fsconfig, from a user namespace."""
        self.closed("fsconfig")
        self.opens("fsconfig", "fsconfig")

    def test_cve_2023_2640(self):
        """Ubuntu's kernel: attributes copied up by an overlay of one's own."""
        self.closed("overlay")
        self.opens("overlay", "setxattr security.capability")

    def test_cve_2025_31133(self):
        """runc: /dev/null of the tree is a symlink where places in /proc are masked with it."""
        self.closed("masked")
        self.opens("masked", "open /proc/cmdline for reading")
        tree = self.make_tree("tree", dev_null="/proc/sys/kernel/core_pattern",
                              dev_console="/proc/sysrq-trigger", dev_pts="/proc")
        self.closed("masked", tree=tree)
        # nor is a host's false /dev/null handed on, as in a container that somebody changed
        script = (f"mount --bind {self.file('false')} /dev/null")
        done = self.outside(*mounts(script), *self.words("--", "/bin/python3", "-c", "1")[
            len(self.drop):])
        self.assertEqual(done.returncode, 125)
        self.assertIn("/dev/null is not the device", done.stderr.splitlines()[-1])

    def test_cve_2025_52565(self):
        """runc: /dev/console of the tree is a symlink where a terminal is bound over it."""
        ends = pty.openpty()
        tree = self.make_tree("tree", dev_console="/proc/sysrq-trigger")
        self.closed("masked", tree=tree, stdin=ends[1])
        for end in ends:
            os.close(end)

    def test_cve_2026_41579(self):
        """runc: /dev of the tree is a symlink itself; so might be any point of a mount."""
        for name in ("dev", "proc", "tmp", "work"):
            self.refused("symlink", "masked",
                         tree=self.make_tree("tree-" + name, **{name: "/bin"}))

    def test_cve_2025_52881(self):
        """runc: what it writes to /proc lands in another file, by mounts of the tree.

        The launcher's side of it: test_hosts.py, Proc, and tests/unit/test_jail_procfs.c.
        """
        self.closed("proc-files")
        self.opens("proc-files", "mount over /proc")

    def test_cve_2017_5226(self):
        """Flatpak on bubblewrap: letters pushed into the terminal of the caller."""
        caller, ours = pty.openpty()
        self.closed("terminal", stdin=ours, start_new_session=True,
                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        waiting = bytearray(4)
        fcntl.ioctl(ours, termios.FIONREAD, waiting)
        self.assertEqual(bytes(waiting), bytes(4))
        for end in (caller, ours):
            os.close(end)

    def test_cve_2016_8659(self):
        """bubblewrap: a set-user-ID helper that the program could trace; also CVE-2026-41163."""
        self.closed("init")
        self.opens("init", "open /proc/1/mem for writing")

    def test_cve_2019_12439(self):
        """bubblewrap: a mount point of a known name in /tmp. Here no host folder is needed."""
        script = "; ".join(f"mount -t tmpfs -o mode=0 none {path} 2>/dev/null"
                           for path in ("/var/tmp", "/dev/shm", "/run/user", "/tmp")
                           if not STEPJAIL.startswith(path + "/"))
        words = self.words("--", "/bin/python3", "-c", "print(42)", report=False)
        done = self.outside(*mounts(script + "; true"), *words[len(self.drop):])
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)

    def test_cve_2024_42472(self):
        """Flatpak: another folder is in its place after it was looked at.

        A folder that is closed to the jail changes places with one that is open, all the
        time: the jail has the open one, or there is none. As an ordinary user the jail has
        the caller's own rights, so that it may be given the other one, closed.
        """
        free, closed = self.make_folder("free"), self.make_folder("closed", 0o000)
        with open(os.path.join(free, "free"), "w", encoding="ascii"):
            pass
        libc, over = ctypes.CDLL(None), threading.Event()

        def exchange():
            while not over.is_set():
                libc.renameat2(-100, free.encode(), -100, closed.encode(), 2)

        mover = threading.Thread(target=exchange)
        mover.start()
        try:
            for _ in range(60):
                done = self.run_jail("--bind", free + ":/data", "--", "/bin/python3", "-c",
                                     "import os; print(os.listdir('/data'))", report=False)
                may = [(0, b"['free']\n"), (125, b"")]
                if not self.is_root() and b"PermissionError" in done.stderr:
                    may.append((1, b""))
                self.assertIn((done.returncode, done.stdout), may, done.stderr)
        finally:
            over.set()
            mover.join()
            for path in (free, closed):
                os.chmod(path, 0o755)

    def test_isolate_report(self):
        """isolate: root's files written through symlinks that a program left behind."""
        shared = self.make_folder("shared", 0o777)
        target = self.file("target", "kept", 0o666)
        done = self.python("import os; os.symlink(%r, '/work/s/report.json')\n"
                           "os.symlink(%r, '/work/s/way')" % (target, self.folder),
                           "--bind-rw", shared + ":/work/s")
        self.assertEqual(done.returncode, 0)
        for words in (["--report", shared + "/report.json"],
                      ["--report", shared + "/way/target"]):
            done = self.run_jail(*words, "--", "/bin/python3", "-c", "1", report=False)
            self.assertEqual(done.returncode, 125)
            self.assertIn(b"is a symlink", done.stderr)
        with open(target, encoding="utf-8") as text:
            self.assertEqual(text.read(), "kept")

    def test_nsjail_proc(self):
        """nsjail: a /proc without nosuid, nodev, noexec; calls that its audit did not see."""
        self.closed("proc-mount")

    def test_nsjail_descriptors(self):
        """nsjail: fds from 1024 on survived where close_range(2) is refused."""
        outer = [os.path.join(BUILD, "tests/within"), "close_range=enosys", "--"]
        with open(self.file("open"), encoding="utf-8") as fd:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD, 2048)
        self.refused("close_range", "descriptors", outer=outer, pass_fds=[high])
        self.closed("descriptors", pass_fds=[high])
        os.close(high)

    def test_nsjail_ids(self):
        """nsjail: maps written by a pid that nothing pins. A parent's child keeps its pid
        until it is waited for, also where the caller ignores SIGCHLD."""
        done = self.attempt("init", preexec_fn=lambda: signal.signal(signal.SIGCHLD,
                                                                     signal.SIG_IGN))
        self.assertEqual((done.returncode, done.stdout), (0, "closed\n"), done.stderr)


class SetUserId(Surrounded):
    def test_cve_2020_5291(self):
        """bubblewrap: more rights, where it is set-user-ID; isolate, too, was misused so."""
        closed = self.make_folder("closed", 0o700)
        for mode in (0o4755, 0o2755):
            path = os.path.join(self.make_folder(f"bin{mode}"), "stepjail")
            shutil.copyfile(STEPJAIL, path)
            os.chown(path, 0, 0)
            os.chmod(path, mode)
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                   path, "run", "--report", closed + "/report", "--", "/bin/python3"],
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (125, 1))
            self.assertIn("must not be set-user-ID", done.stderr)
            self.assertEqual(os.listdir(closed), [])


class Table(unittest.TestCase):
    def test_names(self):
        """The table of holes has a row for each test, and no other."""
        with open(os.path.join(TOP, "jail/README.md"), encoding="utf-8") as text:
            named = set(re.findall(r"`(test_(?:cve|isolate|nsjail)\w*)`", text.read()))
        here = {name for case in (Reviews, SetUserId) for name in vars(case)
                if name.startswith("test_")}
        self.assertEqual(named, here)


cases = each_user(Reviews, SetUserId)
# root alone can make a set-user-ID file of root's
del cases["SetUserIdAsUser"]
globals().update(cases)

if __name__ == "__main__":
    unittest.main()
