#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_denied_without.py - calls that fail where a wall behind them lacks, and programs that go on

What lacks depends on the host: the same tests say what holds where it does not. As root and
as an ordinary user.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_kill import keepers  # noqa: E402
from test_run import PLAIN_ENV, TIMEOUT, Host, each_user, missing_words  # noqa: E402

# what each call comes to: an errno's name, or "done"
CALLS = """
import errno, mmap, os, socket
def say(name, act):
    try:
        act()
        print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
open("/work/a", "w").write("text")
a, b = socket.socketpair()
ends = os.pipe()
os.write(ends[1], b"x")
say("memfd_create", lambda: os.memfd_create("x"))
say("mmap", lambda: mmap.mmap(-1, 4096))
say("splice", lambda: os.splice(ends[0], a.fileno(), 1))
say("sendfile", lambda: os.sendfile(a.fileno(), os.open("/work/a", 0), 0, 1))
say("SO_SNDBUF", lambda: a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22))
say("SO_RCVBUF", lambda: a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22))
say("truncate", lambda: os.truncate("/work/a", 1))
say("O_TRUNC", lambda: os.open("/work/a", os.O_TRUNC))
say("neither", lambda: os.open("/work/a", os.O_TRUNC | 3))
"""
BY_CGROUP = ("memfd_create", "mmap", "splice", "sendfile", "SO_SNDBUF", "SO_RCVBUF")
BY_LANDLOCK = ("truncate", "O_TRUNC", "neither")
SHUT = {"cgroup": ["memfd_create", "mmap", "splice", "sendfile", "setsockopt"],
        "truncate": ["truncate", "open", "openat"], "locked": ["rt_sigaction"]}

# as much as sockets hold: in each process listeners, each with as many connections as it takes, full and
# closed, and in flight as many as may be. Prints KiB and sockets
PENDING = """
import array, os, socket, sys
most, counts = int(sys.argv[1]) << 10, open("/proc/self/net/sockstat", "rb", 0)
reader, writer = os.pipe()
children = 0
try:
    while True:
        if os.fork() == 0:
            children = -1
            break
        children += 1
except OSError:
    pass
away, _kept = socket.socketpair()
held, listeners = 0, []
def fill(listener):
    global held
    while held < most:
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        try:
            client.connect(listener.getsockname())
        except OSError:
            return
        for size in 1 << 15, 1 << 12, 1:
            try:
                while True:
                    held += client.send(bytes(size))
            except OSError:
                pass
        client.close()
try:
    while held < most:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("")
        listener.listen(4096)
        fill(listener)
        try:
            away.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))])
            listener.close()
        except OSError:
            listeners.append(listener)
except OSError:
    pass
os.write(writer, b"%08d" % (held >> 10))
if children < 0:
    os.read(0, 1)  # no end, until the program's
held = sum(int(os.read(reader, 8)) for _ in range(children + 1))
print(held, counts.readline().split()[-1].decode())
"""

HONEST = """
import asyncio, os, shutil, socket, tempfile
with tempfile.TemporaryFile() as file:
    file.write(b"text")
    file.truncate(2)
    os.ftruncate(file.fileno(), 1)
    assert os.fstat(file.fileno()).st_size == 1
for _ in range(2):
    with open("/work/a", "w") as file:
        file.write("text" * 100000)
shutil.copyfile("/work/a", "/work/b")
assert os.stat("/work/b").st_size == 400000
async def echo(reader, writer):
    writer.write(await reader.readexactly(4))
    await writer.drain()
    writer.close()
async def talk(start, connect, where):
    server = await start(echo, *where)
    where = where or (server.sockets[0].getsockname(),)
    async def one():
        reader, writer = await connect(*where)
        writer.write(b"text")
        assert await reader.read() == b"text"
        writer.close()
    await asyncio.gather(*[one() for _ in range(3)])
    server.close()
async def send():
    a, b = socket.socketpair()
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection(sock=b)
    other, far = await asyncio.open_connection(sock=a)
    with open("/work/a", "rb") as file:
        await asyncio.gather(loop.sendfile(far.transport, file), reader.readexactly(400000))
    c, d = socket.socketpair()
    with open("/work/b", "rb") as file:
        assert c.sendfile(file, count=1000) == 1000
    assert len(d.recv(1000)) == 1000
"""
OVER_UNIX = HONEST + """
async def main():
    await talk(asyncio.start_unix_server, asyncio.open_unix_connection, ("/work/s",))
    await send()
asyncio.run(main())
print("whole")
"""
OVER_TCP = HONEST + """
async def main():
    await talk(asyncio.start_server, asyncio.open_connection, ("127.0.0.1", 4000))
asyncio.run(main())
print("whole")
"""

STDIN = """
import os
for flags in (os.O_TRUNC, os.O_TRUNC | 3, os.O_TRUNC | os.O_WRONLY, os.O_TRUNC | os.O_RDWR):
    try:
        os.open("/proc/self/fd/0", flags)
    except PermissionError:
        print("refused")
try:
    os.truncate("/proc/self/fd/0", 0)
except PermissionError:
    print("refused")
"""


class Shut(Host):
    """Where no cgroup counts memory, and where Landlock cannot refuse to truncate."""

    def lacking(self, report):
        """Which parts of SHUT, and which lines of CALLS"""
        cgroup = bool(missing_words(tuple(self.drop)))
        landlock = report["posture"]["landlock"]
        old = landlock is not None and landlock["abi"] < 3
        self.assertEqual(report["cgroup_limits"] is None, cgroup)
        return ((SHUT["cgroup"] if cgroup else []) + (SHUT["truncate"] if old else []) +
                (SHUT["locked"] if cgroup else []),
                (BY_CGROUP if cgroup else ()) + (BY_LANDLOCK if old else ()))

    def check(self, *options):
        done = self.python(CALLS, *options)
        shut, fail = self.lacking(done.report)
        want = [f"{name} {'EPERM' if name in fail else 'done'}"
                for name in BY_CGROUP + BY_LANDLOCK]
        self.assertEqual(done.stdout.decode().splitlines(), want)
        self.assertEqual(done.report["shut"], shut)
        self.assertEqual(done.report["verdict"], "completed")
        self.assertIsNone(done.report["violation"])
        return done, fail

    def test_refused(self):
        self.check()
        # none of it is a violation, and no policy lifts it
        self.check("--on-violation=kill")
        self.check("--allow-syscall", "memfd_create=1", "--allow-syscall", "sendfile",
                   "--allow-syscall", "truncate")

    def test_learned(self):
        done, fail = self.check("--learn")
        for name in SHUT["cgroup"] if "splice" in fail else []:
            self.assertRegex(done.stderr.decode(), f"(?m)^# {name}, [12] times?: .*counts")
            self.assertNotIn(f"allow-syscall {name}", done.stderr.decode())

    def test_a_program_is_still_a_violator(self):
        done = self.python("import os\ntry:\n os.memfd_create('x', 0x10)\n"
                           "except PermissionError:\n pass")
        self.assertEqual(done.report["violation"], "memfd_create")

    def test_dev_zero(self):
        """A shared mapping of it is memory, too."""
        done = self.python("import mmap\n"
                           "with open('/dev/zero', 'r+b', buffering=0) as zero:\n"
                           "    assert zero.read(4) == bytes(4)\n"
                           "    try:\n"
                           "        mmap.mmap(zero.fileno(), 4096)[0] = 1\n"
                           "        print('done')\n"
                           "    except OSError as error:\n"
                           "        print(error.errno)")
        _, fail = self.lacking(done.report)
        self.assertEqual(done.stdout, b"19\n" if "mmap" in fail else b"done\n")

    def test_honest_programs(self):
        for code, options in ((OVER_UNIX, ()), (OVER_TCP, ("--net", "loopback"))):
            done = self.python(code, *options)
            self.assertEqual(done.stdout, b"whole\n", done.stderr.decode())
            self.assertEqual(done.report["verdict"], "completed")

    def test_children_that_nobody_waits_for(self):
        """Their CPU time counts as far as it was seen; where code is locked, all of it."""
        code = ("import os, signal, sys, time\n"
                "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                "for _ in range(60):\n"
                " if os.fork() == 0:\n"
                "  while time.process_time() < 0.5: pass\n"
                "  os._exit(0)\n"
                " try: os.wait()\n"
                " except ChildProcessError: pass\n")
        done = self.python(code, "--cpu-time", "2s", "--lock-code=no", "--wall-time", "150s",
                           status=None)
        self.assertEqual(done.report["verdict"], "cpu-timeout", done.stderr.decode())
        self.assertGreaterEqual(done.report["cpu_ms"], 2000)
        done = self.python(code, "--cpu-time", "2s", "--lock-code=yes", "--wall-time", "150s",
                           status=None)
        locked = missing_words(tuple(self.drop))
        self.assertEqual(done.report["verdict"], "exited" if locked else "cpu-timeout")
        self.assertEqual("PermissionError" in done.stderr.decode(), bool(locked))
        self.assertEqual("rt_sigaction" in done.report["shut"], bool(locked))
        # a question is none of it, nor is another signal
        self.assertEqual(self.say("import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
                                  "print(signal.getsignal(signal.SIGCHLD).name)",
                                  "--lock-code=yes"), "SIG_DFL")

    def test_a_watch_that_cannot_look_ends_the_run(self):
        if not missing_words(tuple(self.drop)):
            self.skipTest("lacks a host without cgroups")
        words = self.words("--wall-time", "150s", "--", "/bin/python3", "-c",
                           f"print('up', flush=True)\nimport time; time.sleep(140)\n#{self.marker}")
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=PLAIN_ENV) as run:
            self.assertEqual(run.stdout.readline(), b"up\n")
            self.addCleanup(run.kill)
            # the keeper looks, as its watcher can open no file; it has fds 0 and 1
            keeper, = keepers(run.pid)
            subprocess.run([*self.drop, "prlimit", f"--pid={keeper}", "--nofile=2:2"],
                           check=True, timeout=TIMEOUT)
            _, said = run.communicate(timeout=TIMEOUT)
        self.assertEqual(run.returncode, 125, said.decode())
        self.assertRegex(said.decode(), "the program was started, and killed: watch: .*file")
        self.assertEqual(self.read_report()["verdict"], "launcher-error")

    def test_given_file(self):
        path = self.file("given", "data\n", mode=0o666)
        with open(path, "rb") as given:
            done = self.python(STDIN, stdin=given)
        with open(path, "rb") as given:
            self.assertEqual(given.read(), b"data\n")
        self.assertEqual(done.stdout, b"refused\n" * 5)


class Pending(Host):
    """What the manual says of connections that nobody accepts, at its worst."""

    def test_bound(self):
        missing = missing_words(tuple(self.drop))
        files, pids = 16, 4
        bound = (pids + 1) * files * 5 * 432
        words = ["--memory", "64M", "--files", str(files), "--pids", str(pids), "--lock-code=no", "--wall-time", "1m",
                 "--", "/bin/python3", "-c", f"{PENDING}#{self.marker}", str(200 << 10)]
        hold, held = os.pipe()
        done = self.run_jail(*words, stdin=hold)
        os.close(hold)
        os.close(held)
        if not missing:
            self.assertEqual(done.report["verdict"], "memory")
            return
        self.assertEqual((done.returncode, done.report["verdict"]), (0, "completed"), done.stderr)
        kib, sockets = map(int, done.stdout.split())
        self.assertLessEqual(kib, bound)
        self.assertGreater(kib, bound // 5)  # it tried
        self.assertGreater(sockets, pids * files * 3)

    def test_backlog(self):
        """Whoever connects waits for his turn."""
        for options in (), ("--net=loopback",):
            self.assertEqual(self.say("""
import multiprocessing.connection, os
listener = multiprocessing.connection.Listener(family="AF_UNIX", backlog=16)
for i in range(20):
    if os.fork() == 0:
        multiprocessing.connection.Client(listener.address).send(i)
        os._exit(0)
print(sorted(listener.accept().recv() for _ in range(20)) == list(range(20)))
""", *options), "True")


for case in (Shut, Pending):
    globals().update(each_user(case))

if __name__ == "__main__":
    unittest.main()
