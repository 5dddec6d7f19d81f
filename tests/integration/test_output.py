#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_output.py - captured output, as root and as an ordinary user

Head and tail kept and the middle counted, whatever the bytes are, however many and however
the run ends. STEPJAIL_SEED repeats the random part; it is printed.
"""
import os
import random
import select
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import PLAIN_ENV, TIMEOUT, Host, each_user  # noqa: E402

SEED = int(os.environ.get("STEPJAIL_SEED", "20240607"))
DEFAULT_LIMIT = 64 << 10
WRITE = "import os\ndef write(fd, data):\n while data: data = data[os.write(fd, data):]\n"
# the launcher's whole memory, however much comes: its own, and 3 times the limit for a report
PEAK_KIB = 8 << 10


def marker(count):
    return f"[stepjail: {count} bytes left out]\n".encode()


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


class Capturing(Host):
    """What the tests share."""

    def captured(self, code, *options, status=0, **settings):
        options = options if any("--capture" in o for o in options) else ("--capture", *options)
        return self.python(code, *options, status=status, **settings)

    def check(self, done, stream, total, left_out=0):
        got = done.report["output"][stream]
        self.assertEqual((got["bytes"], got["left_out"]), (total, left_out))
        return got

    def stderr(self, done):
        """The program's own, without what stepjail says while it starts."""
        lines = done.stderr.splitlines(keepends=True)
        return b"".join(x for x in lines if b"stepjail: warning: no cgroup" not in x)


class Captured(Capturing):
    """What is kept, told and handed out."""

    def test_both_streams(self):
        done = self.captured("import sys; print('out'); print('err', file=sys.stderr);"
                             "print(sys.stdout.isatty()); print(sys.stdin.read())", input=b"in")
        self.assertEqual((done.stdout, self.stderr(done)), (b"out\nFalse\nin\n", b"err\n"))
        self.assertEqual(self.check(done, "stdout", 13)["head"], "out\nFalse\nin\n")
        self.assertEqual(self.check(done, "stderr", 4)["head"], "err\n")
        self.assertEqual(done.report["output"]["stdout"]["tail"], "")

    def test_nothing_is_written(self):
        # and the pipes are the only fds: with the folder's own that is four
        done = self.captured("import os; os._exit(len(os.listdir('/proc/self/fd')))", status=4)
        self.assertEqual((done.stdout, self.stderr(done)), (b"", b""))
        for stream in ("stdout", "stderr"):
            self.assertEqual(self.check(done, stream, 0)["head"], "")

    def test_without_capture(self):
        self.assertIsNone(self.python("print(1)").report["output"])

    def test_stderr_alone(self):
        """stdout still passes live, so a protocol can be spoken on it."""
        words = self.words("--capture=stderr", "--", "/bin/python3", "-c", "import sys\n"
                           "print('kept', file=sys.stderr)\nprint('hello', flush=True)\n"
                           f"print(input())#{self.marker}")
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=PLAIN_ENV) as run:
            self.assertEqual(run.stdout.readline(), b"hello\n")
            out, _ = run.communicate(b"bye\n", timeout=TIMEOUT)
        self.assertEqual((run.returncode, out), (0, b"bye\n"))
        output = self.read_report()["output"]
        self.assertIsNone(output["stdout"])
        self.assertEqual((output["stderr"]["bytes"], output["stderr"]["head"]), (5, "kept\n"))

    def test_two_gigabytes(self):
        """Not killed for it, all of it counted, and the launcher does not grow."""
        total = (2 << 30) + len("begin\nend\n")
        words = self.words("--capture", "--output-limit", "256K", "--wall-time", "10m", "--",
                           "/bin/python3", "-c", f"{WRITE}write(1, b'begin\\n')\nblock = b'x' * (1 << 20)\n"
                           f"for i in range(2048): write(1, block)\n"
                           f"write(1, b'end\\n')#{self.marker}")
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=PLAIN_ENV) as run:
            # readable, but not read: all is over but the handing out, which cannot end yet
            self.assertTrue(select.select([run.stdout], [], [], 600)[0])
            peak = peak_kib(run.pid)
            out = run.stdout.read()
            self.assertEqual(run.wait(TIMEOUT), 0)
        self.assertLess(peak, PEAK_KIB)
        half = 128 << 10
        left = marker(total - 2 * half)
        self.assertEqual(len(out), 2 * half + 1 + len(left))
        self.assertTrue(out.startswith(b"begin\nxxx") and out.endswith(b"xxxend\n"))
        self.assertEqual(out[half:half + 1 + len(left)], b"\n" + left)
        report = self.read_report()
        got = report["output"]["stdout"]
        self.assertEqual((report["verdict"], got["bytes"], got["left_out"]),
                         ("completed", total, total - 2 * half))
        self.assertEqual((len(got["head"]), len(got["tail"])), (half, half))

    def test_both_floods_at_once(self):
        done = self.captured(f"{WRITE}pid = os.fork()\nfor i in range(200): "
                             "write(1 + (pid == 0), b'0123456789abcdef' * 4096)\n"
                             "if pid: os.wait()")
        for stream in ("stdout", "stderr"):
            got = self.check(done, stream, 200 << 16, (200 << 16) - DEFAULT_LIMIT)
            self.assertEqual(got["tail"], "0123456789abcdef" * 2048)

    def test_bytes_that_are_no_text(self):
        data = bytes(range(256)) * 4 + "Grüße\u2028".encode()
        done = self.captured(f"{WRITE}write(1, bytes(range(256)) * 4 + "
                             "'Gr\\xfc\\xdfe\\u2028'.encode())")
        self.assertEqual(done.stdout, data)
        got = self.check(done, "stdout", len(data))
        self.assertEqual(got["head"], data.decode(errors="replace"))
        self.assertIn("\0", got["head"])

    def test_characters_are_not_cut(self):
        for limit in range(1024, 1036):
            for char in ("é", "€", "🐧"):
                size = len(char.encode()) * 2000
                done = self.captured(f"print({char!r} * 2000, end='')",
                                     "--output-limit", str(limit))
                got = done.report["output"]["stdout"]
                head, tail = got["head"], got["tail"]
                self.assertEqual({*head, *tail}, {char})
                kept = len((head + tail).encode())
                self.assertEqual(got["left_out"], size - kept)
                self.assertGreater(kept, limit - 8)
                self.assertEqual(done.stdout, head.encode() + b"\n" + marker(size - kept)
                                 + tail.encode())

    def test_opened_again(self):
        """By any id: but no program reads back what it said."""
        done = self.captured("import os\nos.write(1, b'1')\n"
                             "open('/proc/self/fd/1', 'wb').write(b'2')\n"
                             "open('/proc/self/fd/2', 'a').write('3')\n"
                             "try: open('/proc/self/fd/1', 'rb', 0); print('read')\n"
                             "except PermissionError: print('refused')")
        self.assertEqual((done.stdout, self.stderr(done)), (b"12refused\n", b"3"))

    def test_program_closes_its_streams(self):
        done = self.captured("import os\nos.write(1, b'first')\nos.close(1); os.close(2)\n"
                             "import time; time.sleep(.2)\nos._exit(5)", status=5)
        self.assertEqual((done.stdout, done.report["verdict"]), (b"first", "exited"))

    def test_pipes_that_a_program_changed(self):
        """Its size, packets, not to block: all is the program's own affair."""
        for change in ("fcntl.fcntl(1, 1031, 1 << 20)", "fcntl.fcntl(1, 1031, 4096)",
                       "fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)",
                       "os.set_blocking(1, False)"):
            done = self.captured(f"import fcntl, os, time\n{change}\nsent = 0\n"
                                 "while sent < 1000000:\n try: sent += os.write(1, b'7' * 2000)\n"
                                 " except BlockingIOError: time.sleep(.001)\n"
                                 "os.write(2, str(sent).encode())")
            sent = int(self.stderr(done))
            self.assertGreaterEqual(sent, 1000000)
            self.check(done, "stdout", sent, sent - DEFAULT_LIMIT)

    def test_random_pieces(self):
        """What is kept is the start and the end of what was written, whatever its pieces."""
        print(f"STEPJAIL_SEED={SEED}", file=sys.stderr)
        random.seed(SEED)
        for _ in range(12):
            seed = random.randrange(1 << 30)
            limit = random.randrange(1024, 40000)
            count, most = random.randrange(60), random.choice([9, 900, 60000])
            make = (f"import random\nrandom.seed({seed})\npieces = [random.randbytes("
                    f"random.randrange(1, {most})) for i in range({count})]\n")
            names = {}
            exec(make, names)  # pylint: disable=exec-used
            data = b"".join(names["pieces"])
            done = self.captured(f"{WRITE}{make}for p in pieces: write(1, p)",
                                 "--output-limit", str(limit))
            half, left = limit // 2, done.report["output"]["stdout"]["left_out"]
            self.assertEqual(done.report["output"]["stdout"]["bytes"], len(data))
            if len(data) <= 2 * half:
                self.assertEqual((done.stdout, left), (data, 0))
                continue
            # a character that was cut is left out whole: that is up to three bytes
            heads = [data[:half - n] for n in range(4)]
            tails = [data[n - half:] for n in range(4)]
            self.assertIn(done.stdout, [
                head + (b"" if head.endswith(b"\n") else b"\n") + marker(left) + tail
                for head in heads for tail in tails
                if len(head) + left + len(tail) == len(data)])

    def test_many_short_runs(self):
        for i in range(40):
            done = self.captured(f"print({i})")
            self.assertEqual(done.stdout, f"{i}\n".encode())


class Ends(Capturing):
    """However it ends, what was written until then is there, and the status is the run's."""

    def test_stray_holds_the_pipe(self):
        for stray in ("time.sleep(50)", "\n  while True: os.write(1, b's' * 4096)"):
            done = self.captured("import os, time\nos.write(1, b'program\\n')\n"
                                 f"if os.fork() == 0:\n  {stray}\nos._exit(3)", status=3)
            self.assertEqual((done.report["verdict"], done.report["strays"]), ("exited", 1))
            self.assertTrue(done.stdout.startswith(b"program\n"))

    def test_wall_timeout(self):
        """A flood does not put off a deadline."""
        done = self.captured(f"{WRITE}write(1, b'begin')\nwhile True: write(1, b'f' * (1 << 20))",
                             "--wall-time", "5s", status=124)
        self.assertEqual(done.report["verdict"], "wall-timeout")
        self.assertTrue(done.stdout.startswith(b"beginfff"))
        self.assertGreater(done.report["output"]["stdout"]["left_out"], 0)

    def test_signal(self):
        done = self.captured("import os\nos.write(1, b'last'); os.write(2, b'words')\n"
                             "os.kill(os.getpid(), 11)", status=128 + signal.SIGSEGV)
        self.assertEqual((done.stdout, self.stderr(done)[:5]), (b"last", b"words"))
        self.assertRegex(self.stderr(done)[5:], rb"^stepjail: ended by signal 11 \(.*\n$")
        self.assertEqual(done.report["verdict"], "signaled")

    def test_no_sigpipe(self):
        """The reader of a captured pipe is there as long as the program is."""
        done = self.captured("import signal; signal.signal(13, signal.SIG_DFL)\n"
                             "for i in range(20000): print('x' * 99)")
        self.check(done, "stdout", 2000000, 2000000 - DEFAULT_LIMIT)

    def start(self, *options, code="print('on', flush=True); import time; time.sleep(50)"):
        words = self.words("--capture", *options, "--", "/bin/python3", "-c",
                           f"import os\n{code}#{self.marker}")
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=PLAIN_ENV)

    def test_cancelled(self):
        """Once the program has begun to talk: its clock says so, in a file that we share."""
        shared = self.make_folder("shared", 0o777)
        with self.start("--bind-rw", shared + ":/work/s", code=(
                "print('on', flush=True); open('s/on', 'w').close(); import time; "
                "time.sleep(50)")) as run:
            while not os.path.exists(shared + "/on"):
                self.assertIsNone(run.poll())
            run.send_signal(signal.SIGTERM)
            out, _ = run.communicate(timeout=TIMEOUT)
        self.assertEqual((run.returncode, out), (128 + signal.SIGTERM, b"on\n"))
        self.assertEqual(self.read_report()["output"]["stdout"]["head"], "on\n")

    def test_ended_while_nobody_reads(self):
        """When all is over but the handing out, a signal ends stepjail at once."""
        with self.start("--output-limit", "1M", code="os.write(1, b'x' * 900000)") as run:
            self.assertTrue(select.select([run.stdout], [], [], TIMEOUT)[0])
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(TIMEOUT), -signal.SIGTERM)
        self.assertEqual(self.read_report()["verdict"], "completed")

    def shell(self, script, code, *options, pass_fds=()):
        words = self.words("--capture", *options, "--", "/bin/python3", "-c",
                           f"{code}\n#{self.marker}")
        return subprocess.run(["sh", "-c", script, "sh", *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=TIMEOUT, env=PLAIN_ENV, pass_fds=pass_fds)

    def test_own_stdout_is_closed(self):
        code = "import os; os.write(1, b'x' * 200000); os._exit(7)"
        read, write = os.pipe()
        os.close(read)
        for script in ('exec "$@" >&-', 'exec "$@" >&- 2>&-', f'exec "$@" >&{write}',
                       f'exec "$@" >&{write} 2>&{write}'):
            done = self.shell(script, code, pass_fds=[write])
            self.assertEqual(done.returncode, 7, script)
            report = self.read_report()
            self.assertEqual((report["verdict"], report["output"]["stdout"]["bytes"]),
                             ("exited", 200000))
        os.close(write)

    def test_own_stdout_is_full(self):
        """What cannot be handed out is an error, which tells the run's own status."""
        done = self.shell('exec "$@" >/dev/full', "import os; os.write(1, b'x'); os._exit(7)")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"the program ended with status 7, but --capture: ", done.stderr)
        self.assertEqual((self.read_report()["status"],
                          self.read_report()["output"]["stdout"]["head"]), (7, "x"))

    def test_own_stdout_does_not_block(self):
        """The open file is shared with others, who may have made it so."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        words = self.words("--capture", "--output-limit", "1M", "--", "/bin/python3", "-c",
                           f"{WRITE}write(1, b'x' * 900000)\n#{self.marker}")
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=write,
                              stderr=subprocess.DEVNULL, env=PLAIN_ENV) as run:
            os.close(write)
            with open(read, "rb") as out:
                self.assertEqual(out.read(), b"x" * 900000)
            self.assertEqual(run.wait(TIMEOUT), 0)

    def test_report_has_its_room(self):
        """Reserved before the run for the worst case, given back after it."""
        self.captured("print(1)", "--output-limit", "1M")
        self.assertLess(os.stat(self.report).st_blocks * 512, 64 << 10)
        # every byte six times as long in the report
        done = self.captured("import os; os.write(1, bytes(70000))")
        self.assertEqual(len(done.report["output"]["stdout"]["head"]), DEFAULT_LIMIT // 2)

    def on_small_disk(self, size, *options, code="print('ran')"):
        """Root, or "root" of a user namespace, mounts a small tmpfs."""
        disk = self.make_folder("disk")
        words = self.words("--capture", *(o.replace("DISK", disk) for o in options), "--",
                           "/bin/python3", "-c", f"{code}\n#{self.marker}",
                           report="--report" not in options)
        script = (f'mount -t tmpfs -o size={size},mode=777 none "$1" && shift && "$@"; '
                  'r=$?; cat "$DISK/stdout" | wc -c >&2; exit $r')
        kind = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
        return subprocess.run(["unshare", *kind, "--propagation", "private", "sh", "-c", script,
                               "sh", disk, *words], stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.PIPE, timeout=TIMEOUT,
                              env={**PLAIN_ENV, "DISK": disk})

    def test_report_has_no_room(self):
        """64K of two streams may need 768K of a report: that is known before the run."""
        done = self.on_small_disk("256k", "--report", "DISK/report")
        self.assertEqual((done.returncode, done.stdout), (125, b""), done.stderr)
        self.assertIn(b"--report: reserve", done.stderr)


globals().update(each_user(Captured, Ends))

if __name__ == "__main__":
    unittest.main()
