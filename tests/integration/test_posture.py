#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_posture.py - each wall left out once: the launcher sees it, and nothing is started

build/stepjail-unwalled is stepjail without the wall that STEPJAIL_LACKS names: unwalled.c.
Also what the report tells of a whole jail, and the digests, as an outsider computes them.
"""
import ctypes
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import test_run  # noqa: E402
from test_run import BUILD, PLAIN_ENV, STEPJAIL, TIMEOUT, Host, each_user  # noqa: E402

UNWALLED = os.path.join(BUILD, "stepjail-unwalled")
# what is read back only if it is asked for
FIXED = ("--deterministic", "--aslr=no", "--clock-start=0", "--net=loopback")
PROGRAM = ("--", "/bin/python3", "-c", "print('ran')")

# the wall, and what is said without it; by root's jails, and by an ordinary user's
LACKING = [
    ("rlimit_set_files", "posture: RLIMIT_NOFILE reads", ...),
    ("rlimit_set", "posture: RLIMIT_NPROC reads", ...),
    ("caps_drop_bounding", "posture: cap_bounding reads", ...),
    ("caps_drop_all", "posture: cap_permitted reads", ...),
    ("filter_listen", "posture: seccomp_mode reads '0'", ...),
    ("setsid", "posture: session reads", ...),
    ("umount2", "posture: the mount /", ...),
    ("mount_set_flags", "posture: the mount /dev is writable", ...),
    ("mount_setattr", "is writable", ...),
    ("flags of the root", "posture: the mount / is writable", ...),
    ("subset", "posture: the mount /proc is of a file system with other options", ...),
    ("hidepid", "posture: the mount /proc is of a file system with other options", ...),
    ("close_range", "would stay open", ...),
    ("net", "posture: the net namespace is the launcher's own", ...),
    ("ipc", "posture: the ipc namespace is the launcher's own", ...),
    ("cgroup", "posture: the cgroup namespace is the launcher's own", ...),
    ("personality", "posture: personality reads '00000000'", ...),
    ("deterministic_cpu", "posture: cpu reads", ...),
    ("deterministic_clock", "posture: the time namespace is the launcher's own", ...),
    ("network_up", "posture: links reads 'lo loopback' where 'lo up, alone'", ...),
    ("no other address", "posture: addresses reads '10.1.2.3/8'", ...),
    ("ids_become", "posture: host_uids reads", None),
    ("setgroups", "posture: host_groups reads '4'", None),
    # the kernel itself refuses an ordinary user's map then
    ("setgroups deny", "posture: setgroups reads 'allow'", "ids: the kernel refused"),
    ("uid_map", "posture: uid_map reads", "ids: the kernel refused"),
    ("gid_map", "posture: gid_map reads", "ids: the kernel refused"),
]
# of root's, where loopback is not asked for
LEASED = [
    ("lease", "posture: net reads"),
    ("way back from the lease", "posture: the net namespace is the launcher's own"),
]
LANDLOCK = [
    ("landlock_restrict", "landlock: not in force: it did not refuse a device node (Op"),
]


def landlock_abi():
    return max(0, ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1))


def without_landlock():
    """In a child: let landlock_create_ruleset(2) fail as on a kernel without it."""
    code = b"".join(struct.pack("HBBI", *row) for row in (
        (0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38),
        (0x06, 0, 0, 0x7fff0000)))
    text = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HP", 4, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        os._exit(99)


class Lacking(Host):
    """A jail without one of its walls."""

    def run_lacking(self, wall, fixed=FIXED):
        """As root, with a group to give up; and with an fd that must not come along."""
        words = self.words(*fixed, *PROGRAM)
        words[words.index(STEPJAIL)] = UNWALLED
        if self.drop or os.geteuid() != 0:
            groups = []
        else:
            groups = ["setpriv", "--groups", "4"]
        with open(os.devnull, encoding="ascii") as leaked:
            done = subprocess.run([*groups, *words], stdin=subprocess.DEVNULL, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  pass_fds=[leaked.fileno()], timeout=TIMEOUT,
                                  env=PLAIN_ENV | {"STEPJAIL_LACKS": wall})
        done.report = self.read_report()
        return done

    def check(self, wall, says, fixed=FIXED):
        with self.subTest(wall):
            done = self.run_lacking(wall, fixed)
            self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
            last = done.stderr.splitlines()[-1]
            self.assertIn(says, last)
            self.assertTrue(last.startswith("stepjail: "), last)
            self.assertEqual(done.report["verdict"], "launcher-error")
            self.assertIn(says, done.report["error"])
            self.assertIsNone(done.report["posture"])

    def test_nothing_lacks(self):
        """The same binary runs the program when all walls are up."""
        done = self.run_lacking("nothing")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_each_wall(self):
        for wall, as_root, as_user in LACKING:
            root = os.geteuid() == 0 and not self.as_user
            says = as_root if root or as_user is ... else as_user
            if says is not None:
                self.check(wall, says)

    def test_lease(self):
        """Of root's alone."""
        for wall, says in () if self.as_user else LEASED:
            self.check(wall, says, FIXED[:-1])

    def test_port(self):
        """What comes through the gate in place of a proxy's port: the proxy would accept without end."""
        self.check("port that listens", "egress: no port came through the gate", ("--allow-host=a.example:443",))

    def test_landlock(self):
        if landlock_abi() == 0:
            self.skipTest("lacks Landlock in the kernel")
        for wall, says in LANDLOCK:
            self.check(wall, says)


class Posture(Host):
    """What the report tells of a jail."""

    def test_all_of_it(self):
        source = self.make_folder("data and more", 0o755)
        target = self.make_folder("out", 0o777)
        done = self.python("print('ran')", "--bind", f"{source}:/data",
                           "--bind-rw", f"{target}:/work/out")
        got = done.report["posture"]
        own = got["process"]
        self.assertEqual({own[name] for name in own if name.startswith("cap_")}, {"0" * 16})
        self.assertEqual((own["no_new_privs"], own["seccomp_mode"]), ("1", "2"))
        self.assertEqual(own["host_uids"], " ".join(4 * [str(done.report["host_uid"])]))
        self.assertEqual(own["session"], own["pid"])
        self.assertEqual(set(got["namespaces"]),
                         {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"})
        for name, both in got["namespaces"].items():
            self.assertEqual(both["host"], os.stat(f"/proc/self/ns/{name}").st_ino)
            self.assertNotEqual(both["jail"], both["host"])
        self.assertEqual(got["setgroups"], "deny")
        self.assertEqual(got["rlimits"]["RLIMIT_NOFILE"], 256)
        self.assertEqual(got["open_fds"], "0-2")
        self.assertEqual(got["network"],
                         {"leased": not self.as_user, "entered": None, "links": ["lo loopback"],
                          "addresses": [], "routes": []})
        abi = landlock_abi()
        self.assertEqual(got["landlock"], {"abi": abi, "tried": "EACCES"} if abi else None)
        self.check_mounts({mount["at"]: mount for mount in got["mounts"]}, target)

    def test_loopback(self):
        """lo alone, with what the kernel gives it; and it carries a connection."""
        done = self.python("import socket; s = socket.create_server(('127.0.0.1', 0));"
                           " socket.create_connection(s.getsockname()); print('ran')",
                           "--net=loopback")
        self.assertEqual(done.stdout, b"ran\n")
        got = done.report["posture"]["network"]
        self.assertEqual(got["links"], ["lo loopback,up,running,lowerup"])
        self.assertEqual(got["addresses"][0], "127.0.0.1/8")
        self.assertIn("local 127.0.0.0/8", got["routes"])

    def check_mounts(self, mounts, target):
        self.assertEqual(set(mounts), {
            "/", "/dev", "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
            "/dev/urandom", "/dev/tty", "/dev/shm", "/work", "/tmp", "/proc", "/data",
            "/work/out"})
        for path, mount in mounts.items():
            flags = mount["flags"].split(",")
            self.assertIn("nosuid", flags, path)
            self.assertEqual("rw" in flags,
                             path in ("/work", "/tmp", "/dev/shm", "/work/out"), path)
            self.assertEqual("noexec" in flags, path not in ("/", "/data"), path)
        self.assertTrue(mounts["/work/out"]["root"].endswith(os.path.basename(target)))
        self.assertEqual(mounts["/data"]["root"], "/")

    def test_what_the_program_sees(self):
        """The report and the program's own /proc tell the same."""
        done = self.python("import os; print(*(os.readlink('/proc/self/ns/' + name) for name"
                           " in ('user', 'mnt', 'net'))); print(len(open("
                           "'/proc/self/mountinfo').readlines()))")
        links, count = done.stdout.decode().splitlines()
        got = done.report["posture"]
        self.assertEqual(links.split(), [f"{name}:[{got['namespaces'][name]['jail']}]"
                                         for name in ("user", "mnt", "net")])
        self.assertEqual(len(got["mounts"]), int(count))

    def test_a_launcher_behind_a_filter(self):
        """One more filter than the launcher's own, whatever that is; and no Landlock."""
        plain = self.python("print('ran')").report["posture"]
        got = self.python("print('ran')", preexec_fn=without_landlock).report["posture"]
        self.assertEqual(int(got["process"]["seccomp_filters"]),
                         int(plain["process"]["seccomp_filters"]) + 1)
        self.assertIsNone(got["landlock"])

    def test_required_landlock(self):
        done = self.python("print('ran')", "--require", "landlock",
                           preexec_fn=without_landlock, status=125)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(done.stderr.endswith(
            b"stepjail: landlock: is required, and this kernel has none: "
            b"boot with lsm=landlock,...\n"), done.stderr)
        if landlock_abi():
            done = self.python("print('ran')", "--require", "landlock")
            self.assertEqual(done.stdout, b"ran\n")

    def test_without_ptrace(self):
        """Root that may not trace: it reads all the same."""
        if os.geteuid() != 0 or self.as_user:
            return
        words = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
        done = subprocess.run([*words, *self.words(*PROGRAM)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                              timeout=TIMEOUT, check=False, env=PLAIN_ENV)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_foreign_proc(self):
        """The numbers of another PID namespace's /proc are other processes'."""
        if os.geteuid() != 0 or self.as_user:
            return
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *self.words(*PROGRAM)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False, text=True,
                              env=PLAIN_ENV)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn("/proc shows another PID namespace", done.stderr)


class Digests(Host):
    """As an outsider computes them."""

    def test_plan_and_argv(self):
        options = ["--memory", "64M", "--bind", self.folder + ":/in", "--env", "A=b c"]
        done = self.python("print('ran')", *options)
        given = self.words(*options)[len(self.drop) + 2:]
        explained = subprocess.run([STEPJAIL, "explain", *given], stdout=subprocess.PIPE,
                                   check=True, timeout=TIMEOUT, env=PLAIN_ENV).stdout
        argv = ["/bin/python3", "-c", f"print('ran')\n#{self.marker}"]
        got = done.report["posture"]
        self.assertEqual(got["plan_sha256"], hashlib.sha256(explained).hexdigest())
        self.assertEqual(got["argv_sha256"], hashlib.sha256(
            b"".join(word.encode() + b"\0" for word in argv)).hexdigest())

    def test_shipped_tree(self):
        with open(os.path.join(BUILD, "rootfs/core.sha256"), "rb") as lines:
            digest = hashlib.sha256(lines.read()).hexdigest()
        for option, verified in ([], False), (["--verify-rootfs"], True):
            got = self.python("print('ran')", *option).report["posture"]
            self.assertEqual((got["root_sha256"], got["root_verified"]), (digest, verified))

    def make_tree(self):
        """A tree of our own, with the list that rootfs/trees/tree.py makes of it."""
        tree = self.make_folder("tree")
        self.make_folder("tree/bin")
        self.make_folder("tree/bin-x")
        with open(os.path.join(BUILD, "rootfs/core/bin/python3"), "rb") as python:
            path = self.file("tree/bin/python3", mode=0o755)
            with open(path, "wb") as copy:
                shutil.copyfileobj(python, copy)
        os.symlink("python3", tree + "/bin/python")
        self.file("tree/bin-x/file", "text")
        # what could pass for two fields or two lines
        self.file("tree/bin-x/a b\tc\\d\ne", "text")
        os.symlink("to x", tree + "/bin-x/y z")
        lister = os.path.join(test_run.TOP, "rootfs/trees/tree.py")
        return tree, subprocess.run([sys.executable, lister, "list", tree], check=True,
                                    stdout=subprocess.PIPE, timeout=TIMEOUT).stdout

    def verify(self, tree, option="--verify-rootfs=yes"):
        return self.run_jail("--rootfs", tree, option, "--", "/bin/nothing")

    def test_own_tree(self):
        tree, lines = self.make_tree()
        digest = hashlib.sha256(lines).hexdigest()
        for given, option, want in (
                (None, "--verify-rootfs=no", (None, None)),
                (None, "--verify-rootfs=yes", (digest, None)),
                (lines, "--verify-rootfs=no", (digest, False)),
                (lines, "--verify-rootfs=yes", (digest, True))):
            if given:
                with open(tree + ".sha256", "wb") as out:
                    out.write(given)
            # no program is there, and no standard library: 127 says that the jail stood
            done = self.verify(tree, option)
            self.assertEqual(done.returncode, 127, done.stderr)
            got = done.report["posture"]
            self.assertEqual((got["root_sha256"], got["root_verified"]), want)

    def test_changed_tree(self):
        tree, lines = self.make_tree()
        with open(tree + ".sha256", "wb") as out:
            out.write(lines)
        self.file("tree/bin-x/file", "tex!")
        done = self.verify(tree)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"bin-x/file' and not 'file ", done.stderr)
        self.assertIn("is not what its list says", done.report["error"])
        # nobody asked: it runs, and the report says that nobody asked
        self.assertEqual(self.verify(tree, "--verify-rootfs=no").returncode, 127)
        os.unlink(tree + "/bin-x/file")
        self.assertIn(b"lacks bin-x/file", self.verify(tree).stderr)


globals().update(each_user(Lacking, Posture, Digests))

if __name__ == "__main__":
    unittest.main()
