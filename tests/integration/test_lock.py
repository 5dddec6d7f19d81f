#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_lock.py - --lock-code: nothing becomes code that was not

Every way of recode.c is seen to run new code without the lock, where the other walls let
it, and to fail with it; and a started program does not hold the lock's key. As root and as
an ordinary user.
"""
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import BUILD, TIMEOUT, TOP, Host, each_user, missing_words  # noqa: E402

STATIC = ["-O1", "-static", "-Wall", "-Wextra", "-D_GNU_SOURCE"]
PROGRAMS = {"recode": [*STATIC, "-pthread", "recode_map.c", "recode_other.c"]}
if platform.machine() == "x86_64":
    PROGRAMS["keyhunt"] = [*STATIC, "-nostdlib", "-ffreestanding", "-fno-stack-protector",
                           "-fno-pie", "-no-pie"]
built = None

# what --allow-syscall must say before the other walls let these ways be tried at all
ALLOWED = {
    "ptrace": ["ptrace"],
    "process_vm_writev": ["process_vm_writev"],
    "shmat": ["shmget", "shmat"],
    # UFFDIO_API, UFFDIO_REGISTER, UFFDIO_COPY
    "userfaultfd": ["userfaultfd", "ioctl=0xc018aa3f", "ioctl=0xc020aa00",
                    "ioctl=0xc028aa03"],
}
# what each comes to without the lock, where it is not "ran"
OPEN = {
    "work-file": "EPERM",           # noexec
    "shm-file": "EPERM",
    "mremap": "SIGSEGV",            # data stays data, wherever it lies
    "stack": "SIGSEGV",
    "brk": "SIGSEGV",
    "shmat": "EPERM",               # seccomp, unless a policy allows it
    "ptrace": "EPERM",
    "process_vm_writev": "EPERM",
    "userfaultfd": "EPERM",
    "personality": "EPERM",         # no policy may
    "personality-two": "EPERM",
    "int80": "EPERM",
    "proc-mem": ("EACCES", "EROFS"),    # Landlock; a read-only /proc, with Landlock or not
}
# and where no cgroup counts memfds: jail/walls/seccomp/denied_without.c
SHUT = dict.fromkeys(("fexecve", "memfd-path", "memfd-shared", "memfd-private", "mmap-shared"),
                     "EPERM")
# with the lock, these are not refused by a call of the lock's own. The one that runs shows
# as code what the program's own, read-only file holds, and nothing of the program's choice
LOCKED = {"mremap-grow": "ran", "mremap": "SIGSEGV", "stack": "SIGSEGV", "brk": "SIGSEGV",
          "proc-mem": OPEN["proc-mem"]}
# calls of the lock that --lock-code=yes must not be given together with
CONTRADICTIONS = ("execve", "execveat", "mprotect", "pkey_mprotect", "shmat", "ptrace",
                  "userfaultfd")


def setUpModule():
    global built
    built = tempfile.mkdtemp(prefix="stepjail-lock-")
    os.chmod(built, 0o755)
    for name, options in PROGRAMS.items():
        subprocess.run(["gcc", *options, "-o", f"{built}/{name}", f"{name}.c"], check=True,
                       timeout=TIMEOUT, cwd=f"{TOP}/tests/integration")


def tearDownModule():
    shutil.rmtree(built)


def all_ways():
    done = subprocess.run([f"{built}/recode"], stdout=subprocess.PIPE, text=True, check=True,
                          timeout=TIMEOUT)
    return done.stdout.split()


def lacking_ways():
    """What each comes to that this kernel has not, in a jail as outside: {way: "lacks"}."""
    done = subprocess.run([f"{built}/recode", "int80"], stdout=subprocess.PIPE, text=True,
                          check=True, timeout=TIMEOUT)
    return {way: said for way, said in [done.stdout.split()] if said == "lacks"}


class Lock(Host):
    """Host, with a tree for recode and keyhunt."""

    def setUp(self):
        super().setUp()
        self.tree = self.make_tree(self.folder)

    def make_tree(self, folder):
        tree = os.path.join(folder, "tree")
        os.makedirs(f"{tree}/bin")
        for path in (tree, f"{tree}/bin"):
            self.own(path, 0o755)
        for name in PROGRAMS:
            shutil.copy(f"{built}/{name}", f"{tree}/bin/{name}")
        return tree

    def recode(self, lock, *ways, options=(), tree=None, status=0):
        done = self.run_jail("--rootfs", tree or self.tree, f"--lock-code={lock}", *options,
                             "--", "/bin/recode", *ways)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        done.said = dict(line.split() for line in done.stdout.decode().splitlines()
                         if " " in line.strip())
        return done

    def expect(self, said, expected, default):
        for way in all_ways():
            want = expected.get(way, default)
            with self.subTest(way):
                self.assertIn(said[way], want if isinstance(want, tuple) else (want,))


class Ways(Lock):
    """Each way, without the lock and with it."""

    def test_without_the_lock(self):
        expected = OPEN | (SHUT if missing_words(tuple(self.drop)) else {}) | lacking_ways()
        self.expect(self.recode("no", *all_ways()).said, expected, "ran")

    def test_with_the_lock(self):
        done = self.recode("yes", *all_ways())
        self.expect(done.said, LOCKED | lacking_ways(), "EPERM")
        names = {kind["syscall"] for kind in done.report["violations"]["list"]}
        self.assertLessEqual({"execve", "execveat", "mmap", "mprotect", "pkey_mprotect",
                              "ptrace", "userfaultfd", "process_vm_writev", "personality"},
                             names)

    def test_writing_own_text_needs_no_landlock(self):
        """A kernel without Landlock must refuse it too; the mount is asked before it."""
        self.assertEqual(self.recode("yes", "proc-mem").said["proc-mem"], "EROFS")

    def allow(self, way):
        return [word for call in ALLOWED[way] for word in ("--allow-syscall", call)]

    def test_allowed_ways_do_run(self):
        """They are no dead letters: the wall that a policy opens is the one that held."""
        for way in ("ptrace", "shmat"):
            self.assertEqual(self.recode("no", way, options=self.allow(way)).said[way], "ran")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            self.own(folder, 0o755)
            done = self.recode("no", "userfaultfd", options=self.allow("userfaultfd"),
                               tree=self.make_tree(folder))
            self.assertEqual(done.said["userfaultfd"], "ran")

    def test_writev_respects_pages(self):
        """So a policy may have it together with the lock."""
        for lock in ("no", "yes"):
            done = self.recode(lock, "process_vm_writev",
                               options=self.allow("process_vm_writev"))
            self.assertEqual(done.said["process_vm_writev"], "EFAULT")

    def test_contradictions_are_refused(self):
        for call in CONTRADICTIONS:
            done = self.run_jail("--rootfs", self.tree, "--lock-code=yes", "--allow-syscall",
                                 call, "--", "/bin/recode", report=False)
            self.assertEqual((done.returncode, done.stdout), (125, b""))
            self.assertIn(f"{call} is what --lock-code refuses", done.stderr.decode())

    def test_a_second_jail_within_is_none(self):
        """execve's first argument, path, environment: no way to the right key by them."""
        done = self.recode("yes", "guess", "execve", "vfork", options=["--learn"])
        self.assertEqual(set(done.said.values()), {"EPERM"})
        self.assertIn("--lock-code refuses it", done.stderr.decode())

    def test_kill(self):
        for way in ("execve", "mmap", "handler"):
            done = self.recode("yes", way, options=["--on-violation", "kill"], status=137)
            self.assertEqual(done.report["verdict"], "violation")


class Key(Lock):
    """The key is nowhere in the program that it started."""

    def hunt(self, lock):
        if "keyhunt" not in PROGRAMS:
            self.skipTest("lacks a keyhunt for this machine")
        return self.run_jail("--rootfs", self.tree, f"--lock-code={lock}", "--wall-time",
                             "150s", "--env", "CANARY=THECANRY", "--", "/bin/keyhunt")

    def test_hunt(self):
        done = self.hunt("yes")
        said = done.stdout.decode()
        self.assertRegex(said, r"^hunted \d+, canary yes\n$")
        tries = int(said.split()[1].rstrip(","))
        self.assertGreater(tries, 100)
        # each was refused, and zero before them
        self.assertEqual(done.report["violations"]["total"], tries + 1)

    def test_hunt_can_find(self):
        self.assertTrue(self.hunt("no").stdout.startswith(b"FOUND zero\n"))


class Core(Host):
    """The shipped tree is locked by default, and needs nothing of what that takes."""

    def test_default(self):
        done = self.python("import os\ntry: os.execv('/bin/python3', ['python3', '-V'])\n"
                           "except PermissionError as e: print(e.errno)")
        self.assertEqual(done.stdout, b"1\n")
        self.assertEqual(done.report["violation"], "execve")
        self.assertEqual(self.python("import os; os.execv('/bin/python3', ['x', '-c', "
                                     "'print(3)'])", "--lock-code=no").stdout, b"3\n")

    def test_subprocess_says_so(self):
        done = self.python("import subprocess; subprocess.run(['/bin/python3', '-V'])",
                           status=1)
        self.assertIn("PermissionError", done.stderr.decode())

    def test_mmap_module(self):
        self.assertEqual(self.say(
            "import mmap\ntry: mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_EXEC)\n"
            "except PermissionError: print('refused')"), "refused")

    def test_imports_make_no_violation(self):
        """Every module of the standard library that core has: test_core.py imports them."""
        with open(f"{TOP}/tests/integration/core_imports.py", encoding="utf-8") as script:
            text = script.read()
        lib = f"{BUILD}/rootfs/core/lib"
        lib = os.path.join(lib, os.listdir(lib)[0])
        names = set(self.say("import sys; print(*sys.builtin_module_names)").split())
        for folder, _, found in os.walk(lib):
            for name in found:
                parts = os.path.relpath(os.path.join(folder, name[:-4]), lib).split("/")
                if parts[-1] == "__init__":
                    parts.pop()
                if parts[-1] != "__main__":
                    names.add(".".join(parts))
        self.assertGreater(len(names), 400)
        done = self.run_jail("--wall-time", "150s", "--lock-code=yes", "--", "/bin/python3",
                             "-", *sorted(names), input=text.encode())
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        self.assertEqual(done.report["violations"]["total"], 0,
                         done.report["violations"]["list"])

    def test_work_under_the_lock(self):
        """Threads, forks, pools, a database, big numbers: none makes code."""
        done = self.python("""
import concurrent.futures, decimal, json, multiprocessing, re, sqlite3, threading, zlib
if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(len, ['a'] * 50)) == 50
    assert sqlite3.connect(':memory:').execute('select 1').fetchone() == (1,)
    assert re.match('a+', 'aaa') and zlib.decompress(zlib.compress(b'x')) == b'x'
    print(decimal.Decimal(1) / 7, len(bytearray(1 << 24)))
""")
        self.assertEqual(done.report["violations"]["total"], 0)


for case in (Ways, Key, Core):
    globals().update(each_user(case))

if __name__ == "__main__":
    unittest.main()
