#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_run.py - stepjail run as a user runs it, as root and as an ordinary user

STEPJAIL_BUILD is the build folder; STEPJAIL_TEST_USER the ordinary user, games by default.
Where the host gives no cgroup v2, --allow-missing=cgroup is passed, and only then.
Also what test_cli.py and test_kill.py share: Host, and the words of a run.
"""
import calendar
import fcntl
import functools
import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("STEPJAIL_BUILD", os.path.join(TOP, "build")))
STEPJAIL = os.path.join(BUILD, "stepjail")
USER = os.environ.get("STEPJAIL_TEST_USER", "games")
TIMEOUT = 180  # seconds: only what hangs takes so long
PLAIN_ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


def drop_words():
    entry = pwd.getpwnam(USER)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]


@functools.lru_cache(maxsize=None)
def missing_words(drop):
    """--allow-missing=cgroup, where check says that cgroup v2 is what is missing."""
    done = subprocess.run([*drop, STEPJAIL, "check", "--json"], stdout=subprocess.PIPE,
                          check=False, timeout=TIMEOUT, env=PLAIN_ENV)
    states = {row["name"]: row["state"] for row in json.loads(done.stdout)["checks"]}
    return ["--allow-missing", "cgroup"] if states["cgroup v2"] == "missing" else []


def processes_with(marker):
    """PIDs whose words hold a marker, without our own."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                if marker.encode() in words.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def jail_mounts(folder):
    """Mounts of this namespace that only a jail, or a test's folder, could have made."""
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        return [line for line in lines if "lowerdir=z:r:e" in line or folder in line]


class Host:
    """Mixin: a scratch folder, and runs as root; nothing may be left after each test."""

    as_user = False

    @classmethod
    def setUpClass(cls):
        if not cls.as_user and os.geteuid() != 0:
            raise unittest.SkipTest("lacks root")
        cls.drop = drop_words() if cls.as_user and os.geteuid() == 0 else []
        if subprocess.run([*cls.drop, "test", "-x", STEPJAIL], check=False).returncode:
            raise unittest.SkipTest(f"lacks a {STEPJAIL} that {USER} can reach")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.own(self.folder, 0o755)
        self.marker = "marker-" + secrets.token_hex(8)

    def tearDown(self):
        end = time.monotonic() + 30
        while processes_with(self.marker) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(processes_with(self.marker), [], "processes are left")
        self.assertEqual(jail_mounts(self.folder), [], "mounts are left")
        if os.geteuid() == 0 and os.path.isdir("/run/stepjail"):
            self.assertLessEqual(set(os.listdir("/run/stepjail")), {"ids", "net"})
        shutil.rmtree(self.folder)

    def own(self, path, mode):
        if self.drop:
            shutil.chown(path, USER, pwd.getpwnam(USER).pw_gid)
        os.chmod(path, mode)
        return path

    def file(self, name, text="", mode=0o644):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return self.own(path, mode)

    def make_folder(self, name, mode=0o755):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return self.own(path, mode)

    def words(self, *words, report=True):
        """A run's command line; what it reports is read by run()."""
        self.report = self.file("report.json", mode=0o666)
        return [*self.drop, STEPJAIL, "run", *missing_words(tuple(self.drop)),
                *(["--report", self.report] if report else []), *words]

    def run_jail(self, *words, report=True, **settings):
        settings = {"stdin": subprocess.DEVNULL, "env": PLAIN_ENV} | settings
        if "input" in settings:
            del settings["stdin"]
        done = subprocess.run(self.words(*words, report=report), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT, check=False, **settings)
        done.report = self.read_report() if report else None
        return done

    def read_report(self):
        with open(self.report, encoding="utf-8") as text:
            text = text.read()
        return json.loads(text) if text else None

    def python(self, code, *options, status=0, **settings):
        """Run code with core's python; the marker makes its processes known."""
        done = self.run_jail(*options, "--", "/bin/python3", "-c", f"{code}\n#{self.marker}",
                             **settings)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr.decode())
        return done

    def say(self, code, *options):
        return self.python(code, *options).stdout.decode().strip()


FIELDS = {
    "stepjail", "verdict", "exit_code", "signal", "status", "violation", "error", "wall_ms",
    "cpu_ms", "cpu_user_ms", "cpu_system_ms", "cpu_throttled_ms", "memory_peak_bytes",
    "oom_kills", "pids_peak", "pids_refused", "strays", "output", "not_enforced",
    "host_uid", "full", "limits", "started", "argv", "out", "cgroup_limits", "violations", "posture", "shut",
}


class Ends(Host):
    """Exit status and verdict of every way in which a run can end."""

    def check(self, done, status, verdict, exit_code=None, signum=None):
        got = done.report
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.assertLessEqual(FIELDS, set(got))
        self.assertEqual((got["verdict"], got["status"], got["exit_code"], got["signal"]),
                         (verdict, status, exit_code, signum))

    def test_completed(self):
        start = time.monotonic()
        done = self.python("import sys, time; print(6*7); print('e', file=sys.stderr);"
                           "time.sleep(.3); x = bytearray(30 << 20)")
        self.check(done, 0, "completed", 0)
        self.assertEqual(done.stdout, b"42\n")
        self.assertTrue(done.stderr.endswith(b"e\n"))
        self.assertGreaterEqual(done.report["wall_ms"], 300)
        self.assertLessEqual(done.report["wall_ms"], (time.monotonic() - start) * 1000 + 1)
        self.assertGreater(done.report["memory_peak_bytes"], 30 << 20)
        self.assertIsNone(done.report["error"])
        self.assertEqual(done.report["strays"], 0)

    def test_which_run_it_was(self):
        before = int(time.time())
        done = self.run_jail("--", "/bin/python3", "-c", "pass", "x" * 300, *"abcdefghijklmnop")
        self.assertEqual(done.report["argv"], ["/bin/python3", "-c", "pass", "x" * 256, *"abcdefghijkl"])
        started = calendar.timegm(time.strptime(done.report["started"], "%Y-%m-%dT%H:%M:%SZ"))
        self.assertTrue(before <= started <= time.time(), done.report["started"])
        self.assertIsNone(self.run_jail("--chdir=/nothing", "--", "/bin/python3").report["started"])

    def test_exited(self):
        for code in (1, 3, 124, 125, 126, 127, 255):
            self.check(self.python(f"import os; os._exit({code})", status=code), code,
                       "exited", code)

    def test_signaled(self):
        for name in ("KILL", "TERM", "ABRT", "SEGV", "PIPE", "USR1"):
            signum = getattr(signal, "SIG" + name)
            done = self.python(f"import os, signal; signal.signal(13, signal.SIG_DFL);"
                               f"os.kill(os.getpid(), {int(signum)}); import time;"
                               f"time.sleep(9)", status=None)
            self.check(done, 128 + signum, "signaled", None, signum)

    def test_disk(self):
        done = self.python("import signal; signal.signal(25, signal.SIG_DFL);"
                           "open('x', 'wb').write(bytes(70000))", "--file-size", "64K",
                           status=None)
        self.check(done, 128 + signal.SIGXFSZ, "disk", None, signal.SIGXFSZ)
        # a tmpfs that is full at the end, if the program then fails
        fill = "open('{}', 'wb', 0).write(bytes(4 << 20)) < 4 << 20 and {}"
        for path, name in (("/work/x", "/work"), ("/tmp/x", "/tmp"), ("/dev/shm/x", "/tmp")):
            for code, verdict in ((0, "completed"), (3, "disk")):
                done = self.python(fill.format(path, f"exit({code})"), "--work-size", "1M",
                                   "--tmp-size", "1M", status=None)
                self.check(done, code, verdict, code)
                self.assertEqual(done.report["full"], [name])
        done = self.python("exit(3)", "--work-size", "1M", status=None)
        self.check(done, 3, "exited", 3)
        self.assertEqual(done.report["full"], [])

    def test_wall_timeout(self):
        done = self.python("while True: pass", "--wall-time", "300ms", status=None)
        self.check(done, 124, "wall-timeout")
        self.assertGreaterEqual(done.report["wall_ms"], 300)

    def test_cpu_timeout(self):
        done = self.python("import os\nfor i in range(2): os.fork()\nwhile True: pass",
                           "--cpu-time", "400ms", "--wall-time", "30s", status=None)
        self.check(done, 137, "cpu-timeout")

    def test_memory(self):
        done = self.python("import os, time\nfor i in range(2): os.fork()\n"
                           "x = bytearray(b'x') * (40 << 20)\ntime.sleep(50)",
                           "--memory", "80M", status=None)
        self.check(done, 137, "memory")

    def test_memory_of_vfork(self):
        """A child that waits for a FIFO's other end before it executes has no memory of its own."""
        done = self.python("import os, time\nos.mkfifo('/work/f')\nif os.fork() == 0:\n"
                           "    while not os.path.exists('/work/there'): time.sleep(.05)\n"
                           "    time.sleep(1)\n    open('/work/f', 'w')\n    os._exit(0)\n"
                           "x = bytearray(60 << 20)\nos.mkdir('/work/there')\ntry:\n"
                           "    os.posix_spawn('/no', ['/no'], {}, "
                           "file_actions=[(os.POSIX_SPAWN_OPEN, 0, '/work/f', 0, 0)])\n"
                           "except FileNotFoundError:\n    print('on')",
                           "--memory", "100M", "--lock-code=no")
        self.assertEqual((done.stdout, done.report["verdict"]), (b"on\n", "completed"))

    def test_not_found(self):
        for program in ("/bin/nothing", "nothing", "/bin/python3/x"):
            done = self.run_jail("--", program)
            self.check(done, 127, "launcher-error")
            self.assertIn(program, done.report["error"])
            self.assertIn(program.encode(), done.stderr)

    def test_not_executable(self):
        path = self.file("plain", "text\n")
        for options, program in ((["--bind", path + ":/plain"], "/plain"), ([], "/bin")):
            done = self.run_jail(*options, "--", program)
            self.check(done, 126, "launcher-error")
            self.assertIn(program, done.report["error"])

    def test_no_root_tree(self):
        plain = self.file("plain", "text\n")
        closed = self.make_folder("closed")
        if os.geteuid() == 0:
            os.chown(closed, 0, 0)
        os.chmod(closed, 0o700 if os.geteuid() == 0 else 0)
        for tree, reason in ((plain, "folder"), (self.folder + "/no", "No such"),
                             ("nothing", "no tree"), (closed, None)):
            done = self.run_jail("--rootfs", tree, "--", "/bin/python3")
            self.check(done, 125, "launcher-error")
            line = done.stderr.decode().splitlines()[-1]
            self.assertIn("rootfs" if tree != closed else closed, line)
            self.assertIn(reason or "", line)
        os.rmdir(closed)


class Streams(Host):
    """What passes through, and what is left behind."""

    def test_stdin(self):
        data = os.urandom(5 << 20)
        done = self.python("import sys, hashlib;"
                           "print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())",
                           input=data)
        import hashlib
        self.assertEqual(done.stdout.decode().strip(), hashlib.sha256(data).hexdigest())

    def test_big_output(self):
        done = self.python("import sys\nfor i in range(300):\n"
                           " sys.stdout.buffer.write(bytes([i % 251]) * 65536)")
        self.assertEqual(done.stdout, b"".join(bytes([i % 251]) * 65536 for i in range(300)))

    def test_closed_streams(self):
        script = 'exec "$@" <&- >&- 2>&-'
        words = self.words("--", "/bin/python3", "-c",
                           f"import os; os._exit(len(os.listdir('/proc/self/fd')))"
                           f"#{self.marker}")
        done = subprocess.run(["sh", "-c", script, "sh", *words], check=False,
                              timeout=TIMEOUT, env=PLAIN_ENV)
        self.assertEqual(done.returncode, 4)  # /dev/null three times, and the folder itself

    def test_reader_gone(self):
        words = self.words("--", "/bin/python3", "-c", "import signal; signal.signal(13,"
                           f"signal.SIG_DFL)\nwhile True: print('x' * 999)#{self.marker}")
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, env=PLAIN_ENV) as run:
            run.stdout.read(10)
            run.stdout.close()
            self.assertEqual(run.wait(TIMEOUT), 128 + signal.SIGPIPE)

    def test_strays(self):
        """A child that holds stdout hangs nobody; neither does a daemon's grandchild. Waited
        for, each would be no stray in the end."""
        plain = "import os, time\nif os.fork() == 0: time.sleep(50)\nprint('end')"
        daemon = ("import os, time\nif os.fork() == 0:\n os.setsid()\n"
                  " if os.fork() == 0: time.sleep(50)\n os._exit(0)\nos.wait()\nprint('end')")
        for code in (plain, daemon):
            done = self.python(code)
            self.assertEqual(done.stdout, b"end\n")
            self.assertEqual((done.report["strays"], done.report["verdict"]),
                             (1, "completed"))
            self.assertEqual(processes_with(self.marker), [])

    def test_loader_variables(self):
        done = self.python("import os; print(sorted(os.environ))", env={
            **PLAIN_ENV, "LD_PRELOAD": "/nothing.so", "LD_DEBUG": "all",
            "LD_LIBRARY_PATH": "/tmp", "PYTHONSTARTUP": "x", "SECRET": "x"},
            preexec_fn=None) if not self.drop else None
        if done is None:  # setpriv is dynamic, so env comes behind it
            words = self.words("--", "/bin/python3", "-c", "import os;"
                               "print(sorted(os.environ))")
            at = len(self.drop)
            words[at:at] = ["env", "LD_PRELOAD=/nothing.so", "LD_DEBUG=all", "SECRET=x"]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  check=False, timeout=TIMEOUT, env=PLAIN_ENV)
        self.assertEqual(done.stdout.decode().strip(), "['HOME', 'LANG', 'PATH']")
        self.assertNotIn(b"nothing.so", done.stderr)


class Reports(Host):
    """Where a report can go, and where it cannot."""

    def to(self, target, code="print('ran')", **settings):
        return self.python(code, "--report", target, report=False, status=None, **settings)

    def test_fd(self):
        path = self.file("other.json")
        with open(path, "w", encoding="utf-8") as out:
            fd = fcntl.fcntl(out, fcntl.F_DUPFD, 40)
            done = self.to(str(fd), "import os; print(len(os.listdir('/proc/self/fd')))",
                           pass_fds=[fd])
            os.close(fd)
        self.assertEqual((done.returncode, done.stdout), (0, b"4\n"))
        with open(path, encoding="utf-8") as text:
            self.assertEqual(json.load(text)["verdict"], "completed")

    def test_fd_that_cannot_be_written(self):
        path = self.file("read", "", 0o644)
        for flags in (os.O_RDONLY, os.O_PATH):
            fd = fcntl.fcntl(os.open(path, flags), fcntl.F_DUPFD, 40)
            done = self.to(str(fd), pass_fds=[fd])
            os.close(fd)
            self.assertEqual((done.returncode, done.stdout), (125, b""), done.stderr)
            self.assertIn(b"is not open for writing", done.stderr)

    def test_refused_before_the_run(self):
        folder = self.make_folder("shut", 0o500)
        if os.geteuid() == 0:
            os.chown(folder, 0, 0)
        targets = [self.folder, self.folder + "/no/report", "77"]
        if self.as_user:
            targets.append(folder + "/report")
        for target in targets:
            done = self.to(target)
            self.assertEqual((done.returncode, done.stdout), (125, b""), target)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(b"--report", done.stderr)

    def test_read_only_fd(self):
        with open(self.report_file(), encoding="utf-8") as out:
            done = self.to(str(out.fileno()), pass_fds=[out.fileno()])
        self.assertEqual((done.returncode, done.stdout), (125, b""))

    def report_file(self):
        return self.file("read-only.json")

    def test_full_device(self):
        done = self.to("/dev/full")
        self.assertEqual((done.returncode, done.stdout), (125, b"ran\n"))
        self.assertIn(b"--report", done.stderr)

    def test_full_disk(self):
        """Root, or "root" of a user namespace, mounts a small tmpfs and fills it."""
        words = self.words("--report", self.folder + "/disk/report", "--", "/bin/python3",
                           "-c", "print('ran')", report=False)
        disk = self.make_folder("disk")
        script = ('mount -t tmpfs -o size=16k,mode=777 none "$1" && '
                  '! head -c 1M /dev/zero >"$1/full" 2>/dev/null && shift && exec "$@"')
        kind = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
        done = subprocess.run(["unshare", *kind, "sh", "-c", script, "sh", disk, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=TIMEOUT, env=PLAIN_ENV)
        self.assertEqual((done.returncode, done.stdout), (125, b""), done.stderr)
        self.assertIn(b"--report", done.stderr)


def each_user(*mixins):
    """Two test cases of every mixin: as root, and as an ordinary user."""
    cases = {}
    for mixin in mixins:
        for as_user in (False, True):
            name = mixin.__name__ + ("AsUser" if as_user else "AsRoot")
            cases[name] = type(name, (mixin, unittest.TestCase), {
                "as_user": as_user, "__module__": sys._getframe(1).f_globals["__name__"]})
    return cases


globals().update(each_user(Ends, Streams, Reports))

if __name__ == "__main__":
    unittest.main()
