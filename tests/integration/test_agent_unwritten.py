#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_unwritten.py - transcripts of runs that are killed, and of runs that find no room"""
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, errors, fence, wait_for  # noqa: E402
from test_agent_transcript import CUT, WHOLE, TranscriptCase  # noqa: E402


class Killed(TranscriptCase):
    def check(self, path, shown, begun, alone=True):
        """What is there fits; it has each step that was shown or begun."""
        lines = self.lines(path) if os.path.exists(path) else []
        status, out = self.verify(lines)
        self.assertIn(status, (WHOLE, CUT), out)
        events = [json.loads(line) for line in lines if line.endswith(b"\n")]
        steps = [e["step"] for e in events if e["event"] == "step"]
        codes = [e["step"] for e in events if e["event"] == "code"]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertIn(len(codes) - len(steps), (0, 1))
        self.assertGreaterEqual(len(steps), shown, "a step was shown and is not in it")
        self.assertGreaterEqual(len(codes), begun, "a step was run and is not in it")
        self.assertLessEqual(len(steps), begun if alone else begun + 1)
        return status

    def kill(self, p, lines):
        """At a random moment, after some of its steps have left their lines in `begun`."""
        def has_begun():
            with open(self.path("begun")) as f:
                return f.read().count("\n") >= lines
        self.assertTrue(wait_for(has_begun))
        time.sleep(random.uniform(0, 0.08))
        p.kill()
        p.communicate()
        # of the one before, a step that still lives would be taken for one of the next
        self.assertTrue(wait_for(lambda: not self.jailed()))

    def jailed(self):
        """Its jail's processes: all have the command line of what they were forked from."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as f:
                    if f.read().split(b"\0")[:3][-1] == self.fake.encode():
                        found.append(int(entry))
            except OSError:
                pass
        return found

    def test_kill_9(self):
        """At random moments; a step leaves a file behind as soon as it begins."""
        random.seed(9)
        count, cut = 40, 0
        model = self.script(*[fence(f"open('{self.path('begun')}', 'a').write('{i}\\n')\n"
                                    f"print({i})") for i in range(1, count + 1)], "Done.")
        for n in range(40):
            with self.subTest(n=n):
                path = self.path(f"t{n}.jsonl")
                self.path("begun", "")
                out = self.path("out")
                with open(out, "wb") as stdout:
                    p = self.popen("solve", "x", "--stepjail", self.fake, "--model", model,
                                   "--steps", "50", "--transcript", path, stdout=stdout)
                    self.kill(p, random.randint(0, 25))
                with open(out) as f:
                    shown = f.read().count("completed in")
                with open(self.path("begun")) as f:
                    begun = f.read().count("\n")
                cut += self.check(path, shown, begun) == CUT
        self.assertGreater(cut, 0)

    def test_kill_9_of_a_script(self):
        random.seed(10)
        begun = self.path("begun")
        script = self.path("s", "".join(f"open({begun!r}, 'a').write('{i}\\n')\nprint({i})\n"
                                        for i in range(200)))
        cut = 0
        for n in range(15):
            with self.subTest(n=n), open(script) as stdin:
                path = self.path(f"t{n}.jsonl")
                self.path("begun", "")
                p = self.popen("repl", "--stepjail", self.fake, "--transcript", path, stdin=stdin)
                self.kill(p, random.randint(0, 60))
                with open(begun) as f:
                    # every second statement
                    count = 2 * f.read().count("\n") - 1
                cut += self.check(path, 0, max(count, 0), alone=False) == CUT
        self.assertGreater(cut, 0)

    def test_a_signal_is_an_end(self):
        path = self.path("t.jsonl")
        p = self.popen("solve", "x", "--stepjail", self.fake, "--transcript", path, "--model",
                       self.script(fence("import time; print(1); time.sleep(60)"), "Done."))
        self.assertTrue(wait_for(lambda: os.path.exists(path) and
                                 b'"code"' in b"".join(self.lines(path))))
        p.send_signal(signal.SIGTERM)
        p.communicate()
        lines = self.lines(path)
        self.assertEqual(self.verify(lines)[0], WHOLE)
        self.assertEqual(json.loads(lines[-1])["outcome"], "stopped")


class Full(TranscriptCase):
    """No room: the run ends with a line, and nothing has run that is not in the record."""

    CODES = [f"print({i})\nopen(BEGUN, 'a').write('{i}\\n')" for i in range(1, 6)]

    def model(self):
        return self.script(*[fence(c.replace("BEGUN", repr(self.path("begun"))))
                             for c in self.CODES], "Done.")

    def check(self, status, out, err, path, repl=False):
        """True where it was stopped."""
        told = re.findall(r"^transcript: .*, (\d+) lines, sha256 (\w+)$", out, re.M)
        lines = self.lines(path) if os.path.exists(path) else []
        events = [json.loads(line) for line in lines]
        with open(self.path("begun")) as f:
            begun = f.read().count("\n")
        self.assertGreaterEqual(sum(e["event"] == "code" for e in events), begun)
        # the digest that a person keeps is that of the last line which is there
        last = [(str(len(lines)), events[-1]["sha256"])] if lines else []
        self.assertIn(told, (last, []) if repl else (last,))
        verified, out = self.verify(lines)
        if status == 0:
            self.assertEqual((verified, begun, err), (WHOLE, 5, ""))
            return False
        self.assertEqual(status, 125)
        self.assertEqual(verified, CUT, out)
        self.assertNotIn("not finished", out)  # what was written of the last line is gone
        self.one_line(err, "the run was stopped, as its transcript cannot be written", path)
        return True

    def test_limit_on_the_size_of_files(self):
        path = self.path("whole.jsonl")
        self.path("begun", "")
        self.solve("--model", self.model(), "--transcript", path)
        size = os.path.getsize(path)
        # times in it have as many digits as they have
        sizes = sorted({*range(4096, size - 100, 700), size - 1, size})
        stopped = 0
        for limit in sizes:
            with self.subTest(limit=limit):
                self.path("begun", "")
                path = self.path(f"t{limit}.jsonl")
                status, out, err = self.solve(
                    "--model", self.model(), "--transcript", path,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                stopped += self.check(status, out, err, path)
        self.assertIn(stopped, (len(sizes) - 1, len(sizes) - 2, len(sizes)))
        self.assertGreater(stopped, 5)

    def test_full_disk(self):
        """A tmpfs of a few pages, in a mount namespace of its own."""
        disk = self.path("disk")
        os.mkdir(disk)
        stopped = 0
        for pages in (1, 2, 3, 4, 8, 100):
            with self.subTest(pages=pages):
                self.path("begun", "")
                kept = self.path(f"kept{pages}.jsonl")
                script = f'mount -t tmpfs -o size={pages * 4096} none "$1" && shift && ' \
                         f'{{ "$@"; s=$?; cp {disk}/t.jsonl {kept}; exit $s; }}'
                as_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
                p = subprocess.run(
                    ["unshare", *as_user, "--mount", "--propagation", "private", "sh", "-c",
                     script, "sh", disk, AGENT, "solve", "x", "--stepjail", self.fake, "--model",
                     self.model(), "--transcript", disk + "/t.jsonl"],
                    capture_output=True, env=self.env(), timeout=60)
                err = p.stderr.decode().replace(disk + "/t.jsonl", kept)
                self.assertTrue(os.path.exists(kept), err)
                stopped += self.check(p.returncode, errors(err, False), errors(err), kept)
        self.assertGreaterEqual(stopped, 2)
        self.assertLess(stopped, 6)

    def test_repl(self):
        path = self.path("t.jsonl")
        begun = self.path("begun", "")
        script = "".join(f"open({begun!r}, 'a').write('{i}\\n')\n" for i in range(60))
        with open(self.path("s", script)) as stdin:
            status, out, err = self.run_agent(
                "repl", "--stepjail", self.fake, "--transcript", path, stdin=stdin,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)))
        self.assertTrue(self.check(status, out, err, path, repl=True))


if __name__ == "__main__":
    unittest.main()
