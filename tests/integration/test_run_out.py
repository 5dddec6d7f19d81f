#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_run_out.py - stepjail run --out: files of /work/out, in a folder of the caller's"""
import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import record_schema  # noqa: E402
from intruder_scene import LAND, SIGNAL, TCP, Intruder  # noqa: E402
from test_posture import without_landlock  # noqa: E402
from test_run import PLAIN_ENV, STEPJAIL, TIMEOUT, Host, drop_words, each_user  # noqa: E402
from test_watcher import OBEY, VICTIM  # noqa: E402

OUT = "import os; os.chdir('/work/out')\n"


class Out(Host):
    def setUp(self):
        super().setUp()
        self.out = self.folder + "/o"

    def copy(self, code, *options, **settings):
        return self.python(OUT + code, "--out", self.out, *options, **settings)

    def tree(self, folder=None):
        """{path: bytes} of the files there, and nothing but files and folders."""
        found = {}
        for top, folders, names in os.walk(folder or self.out):
            for name in names + folders:
                path = os.path.join(top, name)
                mode = os.lstat(path).st_mode
                self.assertTrue(stat.S_ISREG(mode) or stat.S_ISDIR(mode), path)
                if stat.S_ISREG(mode):
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.out)] = file.read()
        return found

    def left(self, done):
        self.assertEqual(record_schema.wrong(done.report, record_schema.REPORT), [])
        return {why: n for why, n in done.report["out"]["left_out"].items() if n}

    def test_files_and_folders(self):
        done = self.copy("os.makedirs('a/b/c'); os.mkdir('empty'); open('x', 'w').write('x' * 5)\n"
                         "open('a/b/c/big', 'wb').write(b'12345678' * 100000); open('none', 'w')\n"
                         "open('run', 'w').write('#!'); os.chmod('run', 0o777); os.umask(0)\n"
                         "open('-rf', 'w').write('r'); open('~', 'w'); open('e\\u0301\\u2764\\ufe0f', 'w')",
                         preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(self.tree(), {"x": b"xxxxx", "a/b/c/big": b"12345678" * 100000, "none": b"",
                                       "run": b"#!", "-rf": b"r", "~": b"", "e\u0301\u2764\ufe0f": b""})
        self.assertTrue(os.path.isdir(self.out + "/empty"))
        self.assertEqual(self.left(done), {})
        self.assertEqual({k: done.report["out"][k] for k in ("files", "folders", "bytes", "error")},
                         {"files": 7, "folders": 4, "bytes": 800008, "error": None})
        self.assertIn(f"stepjail: --out: files: 7, 800008 bytes, in {self.out}\n", done.stderr.decode())
        uid = os.stat(self.folder).st_uid
        for path, mode in ((self.out, 0o750), (self.out + "/a", 0o750), (self.out + "/run", 0o640)):
            st = os.stat(path)
            self.assertEqual((stat.S_IMODE(st.st_mode), st.st_uid), (mode, uid))

    def test_quiet_and_nothing(self):
        done = self.copy("", "--quiet")
        self.assertEqual((self.tree(), done.stderr), ({}, b""))
        os.rmdir(self.out)
        for code in ("os.rmdir('/work/out')", "os.rename('/work/out', '/work/o')"):
            self.assertEqual(self.left(self.copy(code)), {})
        for code in ("os.symlink('/etc', '/work/out')", "open('/work/out', 'w')", "os.mkfifo('/work/out')"):
            self.assertEqual(self.left(self.copy("os.rmdir('/work/out');" + code)), {"special": 1})
        self.assertEqual(self.tree(), {})
        self.assertIsNone(self.python("").report["out"])

    def test_what_is_left_out(self):
        """Each by its reason; the names of these are never printed."""
        names = ["a\x1b[2Jb", "a\nb", "a\u202eb", "tab\there", "\udcff", "a\u200bb", "\u2764\ufe00"]
        done = self.copy(
            "import socket; open('ok', 'w'); os.mkdir('d'); os.symlink('/etc/passwd', 'l'); os.symlink('/etc', 'd/l')\n"
            "os.mkfifo('f'); socket.socket(socket.AF_UNIX).bind('s'); open('.env', 'w'); os.mkdir('.git')\n"
            f"open('.git/config', 'w')\nfor name in {names!a}: open(os.fsencode(name), 'w')\n"
            "open('c', 'w'); os.chmod('c', 0); os.mkdir('k'); os.chmod('k', 0)\n"
            "os.makedirs('p/' * 17 + 'q'); open('p/' * 17 + 'r', 'w')", "--net", "loopback")
        closed = not self.drop and os.geteuid() == 0
        self.assertEqual(set(self.tree()), {"ok", "c"} if closed else {"ok"})
        self.assertEqual(self.left(done), {
            "link": 2, "special": 2, "hidden": 2, "name": len(names), "deep": 1,
            **({} if closed else {"closed": 2})})
        self.assertIn("left out: links: 2, neither files nor folders: 2, names that begin with a dot "
                      "(--out-hidden copies these): 2, names with control", done.stderr.decode())
        self.assertNotIn(b"\x1b", done.stderr)

    def test_hidden(self):
        done = self.copy("os.mkdir('.git')\nfor n in ('.git/config', '.stepjail.part', '.x'): open(n, 'w').write(n)",
                         "--out-hidden")
        self.assertEqual(self.tree(), {".git/config": b".git/config", ".x": b".x"})
        self.assertEqual(self.left(done), {"name": 1})

    def test_limits(self):
        """Of bytes: a huge sparse file is its length; a hard link counts again. Of files."""
        done = self.copy("open('a', 'w').write('x' * 600); os.link('a', 'b')\n"
                         "for n in 'cd':\n with open(n, 'w') as f: f.truncate(1 << 42)", "--out-limit", "1000")
        self.assertEqual(list(self.tree().values()), [b"x" * 600])
        self.assertEqual(self.left(done), {"limit": 3})
        subprocess.run(["rm", "-r", self.out], check=True)
        done = self.copy("for i in range(10100): open(str(i), 'w')", "--quiet")
        self.assertEqual((len(self.tree()), self.left(done)), (10000, {"limit": 100}))

    def test_hole(self):
        self.copy("f = open('a', 'wb'); f.seek(3 << 20); f.write(b'x')")
        self.assertEqual(self.tree(), {"a": bytes(3 << 20) + b"x"})

    def test_a_program_that_fails(self):
        """Killed or not, what it left is copied; and its status is its own."""
        for code, status, options in (("exit(3)", 3, ()), ("import time; time.sleep(50)", 124, ("--wall-time", "1s")),
                                      ("os.kill(os.getpid(), 9)", 137, ())):
            done = self.copy("open('x', 'w').write('x'); " + code, *options, status=status)
            self.assertEqual((self.tree(), done.report["out"]["files"]), ({"x": b"x"}, 1))
            subprocess.run(["rm", "-r", self.out], check=True)

    def test_nothing_of_what_did_not_run(self):
        done = self.run_jail("--out", self.out, "--", "/bin/nothing")
        self.assertEqual((done.returncode, self.tree()), (127, {}))
        words = self.words("--out", self.out, "--", "/bin/python3", "-c",
                           f"{OUT}open('x', 'w'); print(1, flush=True); import time; time.sleep(50) #{self.marker}")
        with subprocess.Popen(words, stdout=subprocess.PIPE, env=PLAIN_ENV, stderr=subprocess.PIPE) as run:
            run.stdout.readline()
            run.send_signal(signal.SIGTERM)
            run.communicate(timeout=TIMEOUT)
        self.assertEqual((run.returncode, self.tree()), (143, {}))
        self.assertIsNone(self.read_report()["out"])

    def test_swapped_while_it_runs(self):
        """Whatever the last swap was: all processes are gone before the first look."""
        secret = self.file("secret", "secret", 0o644)
        for _ in range(5):
            done = self.copy("for i in range(4):\n if os.fork() == 0:\n  while True:\n"
                             "   try:\n    open(f't{i}', 'w').write('mine'); os.rename(f't{i}', 'x')\n"
                             "    os.symlink('/secret', f's{i}'); os.rename(f's{i}', 'x')\n"
                             "    os.mkdir('d'); os.rmdir('d'); os.symlink('/', 'd'); os.unlink('d')\n"
                             "   except OSError: pass\nimport time; time.sleep(.3)",
                             "--bind", secret + ":/secret", "--lock-code=no")
            self.assertLessEqual(set(self.tree().values()), {b"mine", b""})
            self.assertLessEqual(set(self.left(done)), {"link"})
            subprocess.run(["rm", "-r", self.out], check=True)

    def refused(self, out, *words, options=()):
        done = self.python("print('ran')", "--out", out, *options, status=125, cwd=self.folder)
        self.assertEqual(done.stdout, b"")
        line = done.stderr.decode().splitlines()[-1]
        for word in ("out", *words):
            self.assertIn(word, line)

    def test_folder(self):
        self.make_folder("full")
        self.file("full/x", "x")
        self.make_folder("empty")
        os.symlink("empty", self.folder + "/link")
        self.make_folder("closed", 0o555)
        for out, word in (("full", "not empty"), ("full/x", "folder"), ("link", "symlink"), ("link/new", "symlink"),
                          ("no/such", "No such"), ("", "empty")):
            self.refused(out, word)
        if self.as_user or os.geteuid() != 0:
            self.refused("closed", "make a file")
        elif not self.drop:
            os.chown(self.folder + "/closed", 12345, 12345)
            self.refused("closed", "make a file", "Permission denied", "root's right")
        for bind in ("/work", "/work/out", "/work/out/x"):
            self.refused("empty", bind, options=("--bind", f"{self.folder}/full:{bind}"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["closed", "empty", "full", "link", "report.json"])
        self.copy("open('x', 'w')", "--bind", f"{self.folder}/full:/work/in")
        done = self.python(OUT + "open('y', 'w')", "--out", "empty", cwd=self.folder)
        self.assertEqual((done.report["out"]["files"], os.listdir(self.folder + "/empty")), (1, ["y"]))

    def test_other_commands(self):
        done = subprocess.run([*self.drop, STEPJAIL, "explain", "--out", "x"], stdout=subprocess.PIPE, check=True)
        for line in ("out x", "out-hidden no", "out-limit 256M"):
            self.assertIn(line, done.stdout.decode().splitlines())
        done = subprocess.run([*self.drop, STEPJAIL, "serve", "--out", self.out], stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, b"--out" in done.stderr), (125, True))
        self.assertFalse(os.path.exists(self.out))

    def test_without_landlock(self):
        done = self.copy("print('ran')", status=125, preexec_fn=without_landlock)
        self.assertEqual((done.stdout, b"Landlock" in done.stderr), (b"", True))

    def test_it_breaks_off(self):
        """A file is there whole or not at all, and the exit status tells of it."""
        code = ("import resource\nlimit = resource.RLIMIT_FSIZE\n"
                "resource.setrlimit(limit, (resource.getrlimit(limit)[1],) * 2)\n"
                "for name, size in (('a', 1), ('big', 99000), ('c', 2)): open(name, 'wb').write(b'x' * size)\n")
        for end, status in (("", 123), ("exit(4)", 4)):
            done = self.copy(code + end, status=status, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (50000, 1 << 40)))
            self.assertEqual(self.tree(), {"a": b"x", "c": b"xx"})
            self.assertEqual((done.report["status"], done.report["out"]["error"]), (status, "File too large"))
            self.assertEqual(self.left(done), {"unwritten": 1})
            self.assertIn("not all could be written: File too large; left out: not written: 1\n",
                          done.stderr.decode())
            subprocess.run(["rm", "-r", self.out], check=True)

    def test_full_disk(self):
        """A tmpfs of a few pages, in a mount namespace of its own."""
        if os.geteuid() != 0:
            self.skipTest("lacks root, to mount a small disk")
        disk = self.make_folder("disk")
        code = OUT + ("os.mkdir('d')\nfor n in range(3): open(f'f{n}', 'wb').write(b'x' * (100 if n != 1 else 1 << 20))"
                      f"#{self.marker}")
        words = self.words("--out", disk + "/o", "--", "/bin/python3", "-c", code)
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount -t tmpfs -o size=65536,mode=777 none "$0" && { "$@"; s=$?; find "$0/o" -type f; exit $s; }',
             disk, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN_ENV, check=False, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 123, done.stderr)
        self.assertNotIn(b"/f1\n", done.stdout)
        self.assertNotIn(b".part\n", done.stdout)
        self.assertEqual(self.read_report()["out"]["error"], "No space left on device")
        self.assertIn("No space left on device", done.stderr.decode())

    def test_kill_while_it_copies(self):
        """No file under its name that is not whole, and in the end none under the other."""
        words = self.words("--out", self.out, "--", "/bin/python3", "-c", OUT +
                           f"for i in range(9): open(f'f{{i}}', 'wb').write(bytes(20 << 20)) #{self.marker}")
        with subprocess.Popen(words, stderr=subprocess.DEVNULL, env=PLAIN_ENV) as run:
            end = time.monotonic() + TIMEOUT
            while not os.path.isdir(self.out) or not os.listdir(self.out):
                self.assertLess(time.monotonic(), end)
            run.kill()
        while any("stepjail" in name for name in os.listdir(self.out)):
            self.assertLess(time.monotonic(), end)
        for name, text in self.tree().items():
            self.assertEqual(len(text), 20 << 20, name)


CAPS = {"capabilities"}
# what stops each attack where it stands alone; the copier has its caller's ids
ATTACKS = {
    "open": LAND, "write": LAND, "unix": set(), "tcp": TCP, "kill": SIGNAL, "tkill": SIGNAL, "tgkill": SIGNAL,
    "pidfd": SIGNAL, "getfd": LAND | CAPS, "ptrace": LAND | CAPS, "readv": LAND | CAPS, "code": set(),
    "fork": set(), "chroot": CAPS, "mount": LAND, "exec": LAND,
}
AS_USER = {"getfd": LAND, "ptrace": LAND, "readv": LAND, "chroot": None}


class Obeyed(Intruder, Host):
    """The copier does what an intruder in it would do: orders come in the files that it copies."""

    walls = ("capabilities", "landlock", "filter")

    def setUp(self):
        super().setUp()
        if not os.access(OBEY, os.X_OK):
            raise unittest.SkipTest(f"lacks {OBEY}")
        self.victim = subprocess.Popen([*self.drop, "/usr/bin/python3", "-c", VICTIM], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env=PLAIN_ENV)
        self.address = int(self.victim.stdout.readline())
        for path in self.open_targets():
            self.own(path, os.stat(path).st_mode & 0o777)
        self.own(self.file("program", '#!/bin/sh\n: > "$0.ran"\n'), 0o700)
        table = ATTACKS | (AS_USER if self.as_user else {})
        self.stops = {name: stops for name, stops in table.items() if stops is not None}

    def tearDown(self):
        self.victim.communicate()
        super().tearDown()

    def obey(self, lacks, names, **settings):
        orders = "".join(self.order(name, self.victim.pid, self.address) for name in names)
        out = self.folder + "/o"
        words = self.words("--out", out, "--", "/bin/python3", "-c", f"{OUT}open('orders', 'w').write('{orders}')"
                           f"#{self.marker}")
        words[words.index(STEPJAIL)] = OBEY
        env = PLAIN_ENV | ({"STEPJAIL_LACKS": ",".join(lacks)} if lacks else {})
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False, **settings)
        said, ran = {}, self.folder + "/program.ran"
        end = time.monotonic() + TIMEOUT
        while "exec" in names and not os.path.exists(ran) and not os.path.exists(out + "/orders"):
            self.assertLess(time.monotonic(), end)
        if os.path.exists(ran):
            said["exec"] = 0
            os.unlink(ran)
        else:
            with open(out + "/orders", encoding="utf-8") as text:
                said = {name: int(number) for name, number in re.findall(r"obeyed (\w+): (\d+)", text.read())}
        subprocess.run(["rm", "-r", out], check=True)
        self.assertEqual(set(names), set(said), done.stderr)
        return said

    def test_its_own_folders_alone(self):
        """It may write to the folder; below / and beside it there is nothing."""
        self.assertEqual(set(self.obey((), ["open", "write"]).values()), {errno.EPERM})


globals().update(each_user(Out))
globals().update(each_user(Obeyed))

if __name__ == "__main__":
    unittest.main()
