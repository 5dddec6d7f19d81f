#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_watch.py - what somebody sees who watches a solve: output, waits, the answer"""
import os
import pty
import re
import select
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import KEY, AgentCase, fence, read_terminal  # noqa: E402
from mock_model import MockModel  # noqa: E402

WAIT = "import os, time\nprint('so', 'far', end='', flush=True)\n" \
       "while not os.path.exists({!r}): time.sleep(0.01)\nprint(' and on')"


class Watch(AgentCase):
    def begin(self, *args, code=None, turns=None, **how):
        how = {"env": self.env(STEPJAIL_API_KEY=KEY), **how}
        turns = turns or [fence(code), "Done."]
        return self.popen("solve", "x", "--stepjail", self.fake, "--model", self.script(*turns),
                          *args, **how)

    def read_until(self, fd, words):
        seen = b""
        while words not in seen:
            self.assertTrue(select.select([fd], [], [], 60)[0], seen)
            piece = os.read(fd, 65536)
            self.assertTrue(piece, seen)
            seen += piece
        return seen

    def test_output_is_shown_while_its_step_runs(self):
        go = self.path("go")
        with self.begin(code=WAIT.format(go)) as p:
            seen = self.read_until(p.stderr.fileno(), b"  | so far")
            self.path("go", "")
            out, err = p.communicate(timeout=60)
        text = (seen + err).decode()
        self.assertIn("\n  | so far and on\ncompleted in ", text)
        self.assertEqual((text.count("so far"), out, p.returncode), (1, b"Done.\n", 0))

    def test_streams_take_turns(self):
        """Each row is of one stream, whatever the order; no row is shown twice."""
        code = ("import sys\nfor i in range(3):\n    print('out', i, end=' ', flush=True)\n"
                "    print('err', i, file=sys.stderr, flush=True)\nraise ValueError('end')")
        status, out, err = self.solve("--model", self.script(fence(code), "Done."))
        rows = [row for row in out.split("\n") if row[:4] in ("  | ", "  ! ")]
        for mark, word in (("|", "out"), ("!", "err")):
            mine = "".join(row[4:] + " " for row in rows if row[2] == mark)
            self.assertEqual([mine.count(f"{word} {i}") for i in range(3)], [1, 1, 1], out)
        self.assertEqual(out.count("ValueError: end"), 1)
        self.assertEqual(status, 0)

    def test_bounds(self):
        """The beginning as it comes, the end when it is there, and what lies between is counted."""
        for count in (100, 6143, 6144, 6145, 12288, 12289, 100000):
            with self.subTest(count=count):
                code = f"print('<' + 'x' * {count - 3} + '>')"
                _, out, _ = self.solve("--model", self.script(fence(code), "Done."))
                shown = "".join(row[4:] for row in out.split("\n") if row.startswith("  | "))
                cut = max(0, count - 12288)
                self.assertEqual(shown, "<" + "x" * (count - 3 - cut) + ">")
                self.assertEqual(f"[{cut} bytes are not shown here]" in out, cut > 0)

    def test_a_character_at_the_bound(self):
        _, out, _ = self.solve("--model", self.script(
            fence("print('x' * 6142 + '\\u20ac' * 10000)"), "Done."))
        self.assertNotIn("\\x", out[out.index("  | "):])

    def test_half_a_character_at_the_end(self):
        """It is of its own stream, and has a row of its own."""
        _, out, _ = self.solve("--model", self.script(fence(
            "import os\nos.write(1, b'out\\n\\xe2\\x80')\nos.write(2, b'err')"), "Done."))
        rows = [row for row in out.split("\n") if row[:4] in ("  | ", "  ! ")]
        self.assertEqual(sorted(rows), ["  ! err", "  | \\xe2\\x80", "  | out"])

    def test_what_display_says(self):
        code = self.code_of_text(b"shown") + "\npass"
        _, out, _ = self.solve("--model", self.script(fence(code), "Done."), "--transcript", "none")
        self.assertEqual(out.count("  | shown\n"), 1)

    def code_of_text(self, data):
        """One that shows a text, as fake_lies.py makes it."""
        name = self.path("text")
        with open(name, "wb") as f:
            f.write(data)
        return '# FAKE_MEDIA={"kind": 1, "from": 1, "file": "%s"}' % name

    def test_answer_alone_is_on_stdout(self):
        for more in ((), ("--quiet",), ("--color", "always")):
            with self.begin(*more, code="print('progress')") as p:
                out, err = p.communicate(timeout=60)
            self.assertEqual(out, b"Done.\n")
            self.assertEqual(b"progress" in err, not more or more[0] != "--quiet")
            self.assertNotIn(b"Done.", err)

    def test_two_terminals(self):
        """One for the answer alone, which has its mark there."""
        ours, theirs = pty.openpty()
        with self.begin(code="print('progress')", stdout=theirs) as p:
            os.close(theirs)
            out = read_terminal(ours)
            p.communicate(timeout=60)
        os.close(ours)
        self.assertEqual(re.sub(rb"\x1b\[[01]m", b"", out), b"\r\nanswer\r\n  > Done.\r\n")

    def waiting(self, *args, seconds, **how):
        """stderr of a run whose model answers when that has waited so long, or said so."""
        gone_on = threading.Event()
        ours, theirs = pty.openpty()
        with MockModel([{"say": "Hi.", "gate": (0, gone_on)}]) as mock, self.popen(
                "solve", "x", "--stepjail", self.fake, "--model", "openai", "--model-name", "m",
                "--base-url", mock.url, *args, env=self.env(STEPJAIL_API_KEY=KEY, TERM="xterm"),
                stderr=theirs, **how) as p:
            os.close(theirs)
            if seconds:
                threading.Timer(seconds, gone_on.set).start()
            err = read_terminal(ours, lambda out: re.search(rb"model, (?!1 s)\d", out) and gone_on.set())
            out = p.stdout.read()
        os.close(ours)
        self.assertEqual((p.returncode, b"Hi." in out), (0, True))
        return err.decode().replace("\r\n", "\n")

    def test_waiting_for_the_model(self):
        err = self.waiting("--color", "never", seconds=0)
        # a busy machine may let a second go by unsaid
        self.assertRegex(err, r"\r\x1b\[K(    waiting for the model, [1-9] s\r\x1b\[K)+")
        self.assertIn("\r\x1b[K  : Hi.\n", err)
        for option in ("--quiet",):
            self.assertEqual(self.waiting(option, seconds=2.5), "")

    def test_waiting_in_a_log(self):
        """Nobody watches it."""
        mock, out, err = self.ask([{"say": fence("1"), "stall": (10, 2)},
                                   {"say": "Hi."}])
        self.assertNotIn("waiting", out)
        self.assertNotIn("\x1b", out)

    def test_waiting_for_a_tree(self):
        """stepjail takes its time to open a session."""
        self.path("fake_slow", "2.5")
        out = self.on_terminal("solve", "x", "--stepjail", self.fake, "--model", self.script("Hi."),
                               "--color", "never", env=self.env(TERM="xterm")).decode()
        self.assertRegex(out, r"\r\x1b\[K(    preparing the tree core, [1-9] s\r\x1b\[K)+")


if __name__ == "__main__":
    unittest.main()
