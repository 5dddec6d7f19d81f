#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_violation.py - refused calls by name: recorded, counted, answered, deadly, learned

The calls are made by violate.c, as the program of a jail whose root tree holds nothing
else; it makes none anywhere else. As root and as an ordinary user.
"""
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_kill import children, jails  # noqa: E402
from test_run import (PLAIN_ENV, STEPJAIL, TIMEOUT, TOP, Host, each_user,  # noqa: E402
                      missing_words)

BURST, PER_S = 200, 1000    # as jail/watch/violation.h has them
KINDS = 32
NATIVE = platform.machine()
FOREIGN = {"i386:26": "ptrace", "i386:20": "getpid", "i386:192": "mmap2",
           "x32:39": "getpid", "x32:0": "read", "x32:59": "execve"}
PROGRAMS = {"violate": ["-pthread"], "listener": []}
built = None


def setUpModule():
    """Compile what the tests run: static, for a tree that holds nothing else."""
    global built
    built = tempfile.mkdtemp(prefix="stepjail-violate-")
    os.chmod(built, 0o755)
    for name, options in PROGRAMS.items():
        subprocess.run(["gcc", "-O1", "-static", "-Wall", "-Wextra", "-D_GNU_SOURCE", *options,
                        "-o", f"{built}/{name}", f"{TOP}/tests/integration/{name}.c"],
                       check=True, timeout=TIMEOUT)


def tearDownModule():
    shutil.rmtree(built)


def all_names():
    done = subprocess.run([f"{built}/violate", "list"], stdout=subprocess.PIPE, text=True,
                          check=True, timeout=TIMEOUT)
    return done.stdout.split()


class Jail(Host):
    """Host, with a tree for violate."""

    def setUp(self):
        super().setUp()
        self.tree = self.make_folder("tree")
        self.make_folder("tree/bin")
        shutil.copy(f"{built}/violate", f"{self.tree}/bin/violate")

    def jail_words(self, *words, options=()):
        return ["--rootfs", self.tree, *options, "--", "/bin/violate", *words]

    def violate(self, *words, options=(), status=0):
        done = self.run_jail(*self.jail_words(*words, options=options))
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr.decode())
        done.kinds = (done.report["violations"] or {"list": []})["list"] if done.report else []
        return done

    def foreign_names(self):
        """Those of FOREIGN whose entry this processor has: without 32-bit emulation int 0x80 is a
        fault, which no filter sees. A number of x32's is refused before it is found missing."""
        lacks = b"lacks" in self.violate("call", "i386:20").stdout
        return [name for name in FOREIGN if not (lacks and name.startswith("i386"))]

    def started(self, *words, options=()):
        """A run that goes on, after its first line."""
        run = subprocess.Popen(self.words(*self.jail_words(*words, options=options)),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=PLAIN_ENV)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.assertTrue(run.stdout.readline())
        return run


class Recorded(Jail):
    """Each is refused, and in the report by its name."""

    def expect(self, names):
        done = self.violate("call", *names)
        self.assertEqual(done.stdout.decode().splitlines(),
                         [f"{name} EPERM" for name in names])
        self.assertEqual(done.report["verdict"], "completed")
        self.assertEqual(done.report["violations"]["total"], len(names))
        self.assertEqual(done.report["violations"]["unlisted"], 0)
        return done

    def test_every_call_by_name(self):
        names = all_names()
        self.assertGreater(len(names), 60)
        for at in range(0, len(names), KINDS):
            batch = names[at:at + KINDS]
            done = self.expect(batch)
            said = [f"{kind['syscall']}:{kind['asks'] or ''}" for kind in done.kinds]
            wanted = [name if ":" in name else name + ":" for name in batch]
            self.assertEqual(said, wanted)
            for kind in done.kinds:
                self.assertEqual((kind["arch"], kind["count"], kind["violation"]),
                                 (NATIVE, 1, True))
            self.assertEqual(done.report["violation"], batch[0].split(":")[0])

    @unittest.skipUnless(NATIVE == "x86_64", "lacks the entries of i386 and x32")
    def test_other_entries(self):
        names = self.foreign_names()
        done = self.expect(names)
        self.assertEqual([(kind["arch"], kind["syscall"]) for kind in done.kinds],
                         [(name.split(":")[0], FOREIGN[name]) for name in names])
        self.assertTrue(all(kind["violation"] for kind in done.kinds))

    def test_every_socket_family(self):
        seen = set()
        for first, last in ((3, 9), (11, 30), (31, 45)):
            done = self.violate("families", str(first), str(last))
            self.assertEqual(done.stdout, b"")
            for kind in done.kinds:
                self.assertEqual(kind["syscall"], "socket")
                self.assertRegex(kind["asks"], "^AF_[A-Za-z0-9]+$")
                seen.add(int(kind["args"][0], 16))
        self.assertEqual(seen, set(range(3, 46)) - {10})

    def test_arguments(self):
        args = ["0x123456789abcdef", "0xffffffffffffffff", "0x0", "0x7", "0x8000000000000000",
                "0x2a"]
        done = self.violate("raw", "keyctl", *args)
        self.assertEqual(done.stdout, b"EPERM\n")
        self.assertEqual(done.kinds[0]["args"], args)
        self.assertEqual(done.kinds[0]["syscall"], "keyctl")

    def test_pid_and_time(self):
        run = self.started("hold", "ptrace")
        init = jails(run.pid)
        program = children(init[0])
        self.assertEqual((len(init), len(program)), (1, 1))
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(TIMEOUT), 130)
        report = self.read_report()
        kind, = report["violations"]["list"]
        self.assertEqual(kind["pid"], program[0])
        self.assertLessEqual(kind["first_ms"], kind["last_ms"])
        self.assertLessEqual(kind["last_ms"], report["wall_ms"])
        self.assertEqual(report["violation"], "ptrace")

    def test_none(self):
        done = self.violate("call")
        self.assertEqual(done.report["violations"], {"total": 0, "unlisted": 0, "list": []})
        self.assertIsNone(done.report["violation"])

    def test_what_is_quiet_is_not_recorded(self):
        done = self.violate("call", "syncfs", "msgget", "ioctl:FIOASYNC")
        self.assertEqual(done.stdout.split()[1::2], [b"EPERM"] * 3)
        self.assertEqual(done.report["violations"]["total"], 0)

    def test_counts(self):
        for calls, threads, processes in ((50, 1, 1), (20, 8, 1), (5, 4, 6), (1, 1, 20)):
            done = self.violate("many", str(calls), str(threads), str(processes))
            self.assertEqual(done.report["violations"]["total"], calls * threads * processes)
            self.assertEqual(done.kinds[0]["count"], calls * threads * processes)
            self.assertEqual(len(done.kinds), 1)

    def test_signals_repeat_no_call(self):
        done = self.violate("interrupted", "300")
        self.assertEqual(done.report["violations"]["total"], 300)

    def test_kinds_are_limited(self):
        done = self.violate("call", *all_names()[:KINDS + 7])
        self.assertEqual(done.report["violations"]["total"], KINDS + 7)
        self.assertEqual(done.report["violations"]["unlisted"], 7)
        self.assertEqual(len(done.kinds), KINDS)


class Flood(Jail):
    """Eight threads in a tight loop cost the launcher little, and stop nothing else."""

    def cost(self, pid):
        """CPU seconds of a process alone, without its children, and its peak RSS in KiB."""
        with open(f"/proc/{pid}/stat", encoding="ascii") as line:
            user, system = line.read().rsplit(")", 1)[1].split()[11:13]
        with open(f"/proc/{pid}/status", encoding="ascii") as lines:
            peak = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK"), int(peak)

    def expect_bounded(self, report):
        total, wall_ms = report["violations"]["total"], report["wall_ms"]
        self.assertGreater(total, BURST)
        self.assertLessEqual(total, BURST + wall_ms * PER_S / 1000 + 1)
        self.assertEqual(report["violations"]["list"][0]["count"], total)

    def test_launcher_stays_small(self):
        quiet = self.started("hold", "ptrace")
        idle_kib = self.cost(quiet.pid)[1]
        quiet.send_signal(signal.SIGINT)
        quiet.wait(TIMEOUT)
        run = self.started("flood", "8", "60000", options=["--wall-time", "4s"])
        cpu_s, peak_kib = 0, 0
        while run.poll() is None:
            try:
                cpu_s, peak_kib = self.cost(run.pid)
            except (FileNotFoundError, ProcessLookupError, StopIteration):
                pass    # it is on its way out
            time.sleep(0.01)
        self.assertEqual(run.wait(TIMEOUT), 124)
        report = self.read_report()
        self.assertEqual(report["verdict"], "wall-timeout")
        self.expect_bounded(report)
        # a share of its own wall time, whatever the machine
        self.assertLess(cpu_s, report["wall_ms"] / 1000 / 2)
        # a kernel may tell of memory late, by 64 pages of each kind for each CPU
        self.assertLess(peak_kib, idle_kib + 1024)

    def test_other_ends_are_served(self):
        """The program ends by itself, and its own count is the launcher's."""
        done = self.violate("flood", "8", "4000")
        self.expect_bounded(done.report)
        self.assertEqual(int(done.stdout.split()[1]), done.report["violations"]["total"])
        self.assertEqual(done.report["verdict"], "completed")

    def test_cancel(self):
        run = self.started("flood", "8", "60000")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(TIMEOUT), 130)
        self.assertEqual(self.read_report()["verdict"], "cancelled")


    def test_killed_callers(self):
        """Answers that nobody waits for any more, and calls that are gone when taken."""
        done = self.violate("killed", "300", options=["--wall-time", "150s"])
        self.assertEqual((done.stdout, done.report["verdict"]), (b"done\n", "completed"))
        self.assertLessEqual(done.report["violations"]["total"],
                             BURST + done.report["wall_ms"] * PER_S / 1000 + 1)


class Deadly(Jail):
    """--on-violation kill: not another instruction."""

    OPTIONS = ("--on-violation", "kill")

    def test_kill(self):
        for how in ("here", "fork", "thread"):
            for name in ("ptrace", "mount", "clone:CLONE_NEWUSER", "ioctl:TIOCSTI",
                         "socket:AF_VSOCK"):
                done = self.violate("after", how, name, options=self.OPTIONS, status=137)
                with self.subTest(f"{how} {name}"):
                    self.assertEqual(done.stdout, b"before\n")
                    self.assertEqual(done.report["verdict"], "violation")
                    self.assertEqual(done.report["violation"], name.split(":")[0])
                    self.assertEqual(done.report["violations"]["total"], 1)

    @unittest.skipUnless(NATIVE == "x86_64", "lacks the entries of i386 and x32")
    def test_other_entries_kill(self):
        for name in set(self.foreign_names()) & {"i386:20", "x32:39"}:
            done = self.violate("call", name, options=self.OPTIONS, status=137)
            self.assertEqual((done.stdout, done.report["verdict"]), (b"", "violation"))

    def test_a_storm_kills_once(self):
        done = self.violate("many", "1000", "8", "4", options=self.OPTIONS, status=137)
        self.assertEqual(done.report["violations"]["total"], 1)

    def test_what_is_quiet_kills_nobody(self):
        for learn in ("no", "yes"):
            done = self.violate("call", "syncfs", "msgget",
                                options=[*self.OPTIONS, f"--learn={learn}"])
            self.assertEqual(done.report["verdict"], "completed")

    def test_refused_it_goes_on(self):
        done = self.violate("after", "here", "ptrace")
        self.assertEqual(done.stdout, b"before\nafter\n")


class Own(Jail):
    """What a program may add, where a policy lets it: rights can only be taken away."""

    def test_no_filter_by_default(self):
        self.assertEqual(self.violate("own-filter").stdout.split()[1::2],
                         [b"EPERM", b"EPERM", b"EPERM", b"EPERM"])

    def test_own_filter(self):
        """It hears nothing itself; it can refuse unheard, as the risk says."""
        done = self.violate("own-filter", options=["--allow-syscall", "seccomp"])
        self.assertEqual(done.stdout.decode().splitlines(),
                         ["listener EBUSY", "filter 0", "ptrace ENOTTY", "keyctl EPERM"])
        self.assertEqual(done.report["violations"]["total"], 1)
        learned = self.violate("own-filter", options=["--learn"]).stderr.decode()
        self.assertRegex(learned, "(?m)^# seccomp, .*refuse violations before they are told "
                                  "of.*\nallow-syscall seccomp$")

    def test_domain_is_not_inherited(self):
        for words in ((), ("setarch", "-R"), ("setarch", "linux32", "-Z", "-X")):
            done = subprocess.run([*words, *self.words(*self.jail_words("domain"))],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=PLAIN_ENV, timeout=TIMEOUT,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout), (0, b"0\n"), done.stderr)


class Learned(Jail):
    """--learn prints rows that do let through what was refused."""

    ALLOWED = ("syncfs", "msgget", "ioprio_set", "ioctl:FIOASYNC", "prctl:PR_SET_MM",
               "socket:AF_INET", "socket:AF_NETLINK", "ptrace", "kcmp",
               "personality:PER_LINUX32")
    BARRED = ("mount", "keyctl", "ioctl:TIOCSTI", "clone:CLONE_NEWUSER", "socket:AF_VSOCK",
              "personality:READ_IMPLIES_EXEC", "memfd_create:MEMFD_EXEC")

    def learn(self, *names, options=()):
        done = self.violate("call", *names, options=["--learn", *options])
        self.assertEqual(done.stdout.decode().splitlines(),
                         [f"{name} EPERM" for name in names])
        return "".join(line for line in done.stderr.decode().splitlines(True)
                       if not line.startswith("stepjail: warning: "))

    def test_the_fragment_is_a_policy(self):
        foreign = self.foreign_names()[:2] if NATIVE == "x86_64" else []
        text = self.learn(*self.ALLOWED, *self.BARRED, *foreign)
        rows = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(rows), len(self.ALLOWED))
        self.assertEqual({row.split()[0] for row in rows}, {"allow-syscall"})
        for name in self.BARRED:
            self.assertRegex(text, f"(?m)^# {name.split(':')[0]}\\b.*\n#   no policy may")
        policy = self.file("policy", text, mode=0o644)
        done = self.violate("call", *self.ALLOWED, *self.BARRED,
                            options=["--policy", policy])
        said = dict(line.split() for line in done.stdout.decode().splitlines())
        for name in self.ALLOWED:
            self.assertNotEqual(said[name], "EPERM", name)
        for name in self.BARRED:
            self.assertEqual(said[name], "EPERM", name)
        self.assertEqual(done.report["violations"]["total"], len(self.BARRED))

    def test_nothing_to_learn(self):
        # what the kernel refuses by other walls is in no record, and that is said
        self.assertRegex(self.learn(), r"\A# no system call was refused\n# not learned: networks .*allow-host.*\n\Z")

    def test_with_the_lock(self):
        text = self.learn("ptrace", "syncfs", options=["--lock-code=yes"])
        self.assertRegex(text, "(?m)^# ptrace.*\n#   --lock-code refuses it$")
        self.assertRegex(text, "(?m)^allow-syscall syncfs$")
        self.assertEqual(text.count("\nlock-code no\n"), 1)
        policy = self.file("policy", text, mode=0o644)
        done = self.violate("call", "ptrace", "syncfs",
                            options=["--lock-code=yes", "--policy", policy])
        self.assertEqual(done.stdout, b"ptrace EPERM\nsyncfs EBADF\n")


class Unheard(Jail):
    """A surrounding sandbox has the one listener that the kernel gives."""

    def surrounded(self, *names, options=()):
        self.report = self.file("report.json", mode=0o666)
        done = subprocess.run(
            [*self.drop, f"{built}/listener", STEPJAIL, "run",
             *missing_words(tuple(self.drop)), "--report", self.report,
             *self.jail_words("call", *names, options=options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=PLAIN_ENV, timeout=TIMEOUT, check=False)
        done.said = [line for line in done.stderr.decode().splitlines()
                     if not line.startswith("stepjail: warning: ")]
        return done

    def test_refused_in_one_line(self):
        done = self.surrounded("ptrace")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertEqual(len(done.said), 1)
        self.assertIn("--allow-missing=audit", done.said[0])
        self.assertEqual(self.read_report()["verdict"], "launcher-error")

    def test_allowed_by_name(self):
        names = all_names()
        for options in ((), ("--learn",), ("--lock-code=yes",)):
            done = self.surrounded(*names, options=["--allow-missing=audit", *options])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.decode().splitlines(),
                             [f"{name} EPERM" for name in names])
            report = self.read_report()
            self.assertIsNone(report["violations"])
            self.assertIsNone(report["violation"])
            self.assertIn("record of violations", json.dumps(report["not_enforced"]))
            self.assertEqual(len(done.said), "--learn" in options)
            self.assertTrue(all("nothing was learned" in line for line in done.said))

    def test_nobody_is_killed(self):
        done = self.surrounded("ptrace", options=["--allow-missing=audit", *Deadly.OPTIONS])
        self.assertEqual((done.returncode, done.stdout), (0, b"ptrace EPERM\n"))
        self.assertIn("--on-violation kill: refused calls fail with EPERM, and the jail goes on",
                      self.read_report()["not_enforced"])

    def test_what_may_be_missing_and_is_not(self):
        done = self.violate("call", "ptrace", options=["--allow-missing=audit"])
        self.assertEqual(done.report["violations"]["total"], 1)
        self.assertNotIn("record of violations", json.dumps(done.report["not_enforced"]))


for case in (Recorded, Flood, Deadly, Own, Learned, Unheard):
    globals().update(each_user(case))

if __name__ == "__main__":
    unittest.main()
