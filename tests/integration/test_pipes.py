#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_pipes.py - pipes of the caller's as stdin, stdout and stderr, as root and as an ordinary user

The program never has a pipe that the caller writes into: what it prints is passed on. Of stdin it
has the caller's own, and the last test shows what that lets it do.
"""
import os
import pwd
import select
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import PLAIN_ENV, TIMEOUT, USER, Host, each_user, processes_with  # noqa: E402

# what waits in the pipes of stdout and stderr, and what comes while it looks
TAKE = """
import os, sys, time
got = b""
for _ in range(100):
    for fd in 1, 2:
        try:
            os.fchmod(fd, 0o666)
            got += os.read(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK), 100)
        except OSError:
            pass
    time.sleep(0.005)
os._exit(3 if got else 0)
"""
# both ends are the user's own: the pipe is made by a shell of that user's, which writes into it before,
# meanwhile and behind; whoever reads it begins when all is over
BESIDE = """
{ echo before; { while [ ! -e "$0/end" ]; do echo meanwhile; sleep 0.05; done; } & "$@"; status=$?
  touch "$0/end"; wait; echo "after $status"; : > "$0/over"; } 2>&1 | { : < "$0/over"; cat; }
"""
# into the pipe that is stdin
FORGE = """
import os
try:
    os.write(os.open("/proc/self/fd/0", os.O_WRONLY | os.O_NONBLOCK), b"forged\\n")
except OSError as error:
    print(error.strerror)
"""


class Pipes(Host):
    def shell(self, script, code, *words):
        """The script as the user, in a folder of the test's; its program is a run of this code."""
        for name in words:
            os.mkfifo(f"{self.folder}/{name}")
            self.own(f"{self.folder}/{name}", 0o644)
        os.chmod(self.folder, 0o777)
        words = self.words("--quiet", "--", "/bin/python3", "-c", f"{code}\n#{self.marker}")[len(self.drop):]
        return subprocess.run([*self.drop, "bash", "-c", script, self.folder, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, env=PLAIN_ENV, timeout=TIMEOUT, check=True, text=True).stdout

    def pipe(self):
        """One of the user's own."""
        reader, writer = os.pipe()
        if self.drop:
            entry = pwd.getpwnam(USER)
            os.fchown(writer, entry.pw_uid, entry.pw_gid)
        return open(reader, "rb"), writer

    def start(self, code, *options, both=False):
        words = self.words("--quiet", *options, "--", "/bin/python3", "-c", f"{code}\n#{self.marker}")
        (out, out_end), (err, err_end) = self.pipe(), self.pipe()
        run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out_end, stderr=out_end if both else err_end,
                               env=PLAIN_ENV)
        run.stdout, run.stderr = out, err
        os.close(out_end)
        os.close(err_end)
        return run

    def until_printed(self, run):
        """The program has ended, and what it printed is still to be read."""
        self.assertTrue(select.select([run.stdout], [], [], TIMEOUT)[0])
        while any(self.is_program(pid) for pid in processes_with(self.marker)):
            pass

    def is_program(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                return words.read().startswith(b"/bin/python3\0")
        except OSError:
            return False

    def test_others_words(self):
        out = self.shell(BESIDE, TAKE, "over").split("\n")
        self.assertEqual((out[0], out[-2:]), ("before", ["after 0", ""]))
        self.assertEqual(set(out[1:-2]), {"meanwhile"})

    def test_many_pieces(self):
        """As much fits into the pipe as without stepjail between, however small each piece was."""
        with self.start("import time\nfor i in range(300):\n    print(i, flush=True)\n    time.sleep(0.001)") as run:
            self.assertEqual(run.wait(TIMEOUT), 0)
            self.assertEqual(run.stdout.read().split(), [b"%d" % i for i in range(300)])

    def test_slow_reader(self):
        """What a program printed before its end arrives, with the right end, when somebody reads at last."""
        code = "import os\nos.write(1, b'x' * 100000)\nos.write(2, b'e' * 100000)\nos._exit(7)"
        with self.start(code) as run:
            self.until_printed(run)
            self.assertIsNone(run.poll())
            self.assertEqual(run.communicate(timeout=TIMEOUT), (b"x" * 100000, b"e" * 100000))
            self.assertEqual(run.returncode, 7)
        self.assertEqual(self.read_report()["verdict"], "exited")

    def test_no_reader(self):
        """Nobody reads: --wall-time and signals end that, too. What is read no more ends the program."""
        code = "import os\nos.write(1, b'x' * 100000)"
        for options, end, status, verdict in ((("--wall-time", "1s"), None, 124, "wall-timeout"),
                                              ((), signal.SIGTERM, 143, "cancelled")):
            with self.start(code, *options) as run:
                if end:
                    self.until_printed(run)
                    run.send_signal(end)
                self.assertEqual(run.wait(TIMEOUT), status)
            self.assertEqual(self.read_report()["verdict"], verdict)
        with self.start("import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nwhile True: print(1)") as run:
            run.stdout.readline()
            run.stdout.close()
            self.assertEqual(run.wait(TIMEOUT), 128 + signal.SIGPIPE)

    def test_flood_at_the_end(self):
        """A program that is killed while it prints: what was passed on is whole, and nothing waits."""
        with self.start("while True: print('x' * 1000)", "--wall-time", "1s") as run:
            self.assertEqual(run.wait(TIMEOUT), 124)
            self.assertGreaterEqual(len(run.stdout.read()), 60000)

    def test_one_pipe_for_both(self):
        """Order is kept."""
        code = "import os\nfor i in range(2000): os.write(1 + i % 2, b'%d\\n' % i)"
        with self.start(code, both=True) as run:
            out = run.communicate(timeout=TIMEOUT)[0]
        self.assertEqual(out.split(), [b"%d" % i for i in range(2000)])

    def test_opened_again(self):
        """To write, by every id."""
        code = "for name in 'stdout', 'stderr', 'fd/1': print(name, file=open('/dev/' + name, 'w'), flush=True)"
        self.assertEqual(self.shell('"$@" 2>&1 | cat', code), "stdout\nstderr\nfd/1\n")

    def test_stdin(self):
        """The bound of what holds: a pipe given as stdin is the caller's own, into which an ordinary
        user's program can write what a later reader gets. Root's has other ids, and cannot."""
        out = self.shell("printf 'given\\n' | { \"$@\"; timeout 5 cat; }", FORGE)
        self.assertEqual(out, "given\nforged\n" if self.as_user else "Permission denied\ngiven\n")


globals().update(each_user(Pipes))

if __name__ == "__main__":
    unittest.main()
