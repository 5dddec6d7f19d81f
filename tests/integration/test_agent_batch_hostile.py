#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_batch_hostile.py - stepjail-batch: results of tasks that were taken over; help and manual"""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import alive, family, wait_for  # noqa: E402
import test_agent_batch  # noqa: E402
from test_agent_batch import BATCH, BROKEN, GOOD, OWN, SOME  # noqa: E402
from test_agent_hostile import bad  # noqa: E402


class Hostile(test_agent_batch.BatchCase):
    """What a solve prints that was taken over."""

    def setUp(self):
        super().setUp()
        self.said = '{"outcome": "answered", "answer": "Yes.", "error": null, "usage": {"completion_tokens": 1}}\n'
        self.agent = self.path("agent", "#!/usr/bin/python3 -I\nimport json, os, sys, time\n"
                               "task = sys.stdin.buffer.read().decode()\nexec(task)\n")
        os.chmod(self.agent, 0o755)

    def hostile(self, *codes, status=SOME):
        tasks = [{"id": str(i), "task": code} for i, code in enumerate((f"print({self.said!r})", *codes))]
        got, out, err = self.run_batch(self.tasks(*tasks), self.results, "--agent", self.agent)
        self.assertEqual((got, out), (status, ""), err)
        self.assertIsNone(bad(err))
        with open(self.results, newline="") as f:
            self.assertIsNone(bad(f.read()))
        self.assertEqual([line["id"] for line in self.lines()], [task["id"] for task in tasks])
        return self.lines()[1:], err

    def test_no_result(self):
        """None, two lines, a NUL, no JSON, no object, too much, too deep."""
        codes = ("pass", f"print({self.said!r} * 2)", f"print({self.said!r} + chr(0))", "print('yes')", "print('[1]')",
                 "print('{\"a\": NaN}')", "print('{\"a\": 1e999}')", "print('{\"a\": ' + '9' * 5000 + '}')",
                 "print('{\"a\": ' + '[' * 990 + ']' * 990 + '}')", "print('{\"a\": ' + '[' * 100000)",
                 "os.write(1, b'{\"a\": \"\\xff\"}')", "print('{\"a\": \"' + 'x' * (33 << 20) + '\"}')",
                 "os.ftruncate(1, 1 << 50)", "os.close(1)")
        lines, err = self.hostile(*codes)
        for line in lines:
            self.assertEqual((line["exit_status"], line["outcome"], line["error"]),
                             (BROKEN, "failed", "it ended without a result"))
        self.assertEqual(err.count("it ended without a result"), len(codes))
        lines, _ = self.hostile(*codes)  # the same results are read again, and nothing is done
        self.assertEqual(len(lines), len(codes))

    def test_members(self):
        """It cannot say that it is another task, nor what has another shape."""
        lines, _ = self.hostile("print(json.dumps({'id': '0', 'task_sha256': '', 'exit_status': 0, 'cost_dollars': -9,"
                                " 'budget': {'cost_dollars': {'used': -1}}, 'usage': [], 'steps': 1}));sys.exit(4)",
                                "print(json.dumps({'error': {'a': 1}, 'budget': {'cost_dollars': {'used': True}}}))",
                                "print(json.dumps({'error': 'x', 'budget': {'cost_dollars': {'used': 0.25}}}))")
        self.assertEqual([(line["exit_status"], line["cost_dollars"]) for line in lines], [(4, 0), (0, 0), (0, 0.25)])

    def test_controls(self):
        text = "a\x1b[2J\r\n\x9b2J\u202e\u200b\u034f\u3164\ufe01\U000e0041\x00\x7f" + "z" * 5000
        lines, err = self.hostile(f"print(json.dumps({{'error': {text!r}}}));sys.exit(3)",
                                  "print('{\"error\": \"\\\\udcff \\\\ud800\"}')")
        self.assertEqual(lines[0]["error"], text)
        self.assertIn("1: exit status 3: a\\x1b[2J\\r\\n\\x9b2J\\u202e\\u200b", err)
        self.assertLess(len(err), 2500)

    def test_ids(self):
        err = self.run_batch(self.tasks({"id": "a\x1b[2J\u202e", "task": f"print({self.said!r})"}), self.results,
                             "--agent", self.agent)[2]
        self.assertIsNone(bad(err))
        self.assertIn("1/1 a\\x1b[2J\\u202e: exit status 0", err)

    def test_deaf(self):
        """A task that does not end when it is told to is killed."""
        file = self.tasks({"task": f"import signal\nsignal.signal(15, signal.SIG_IGN)\nopen({self.path('up')!r}, 'w')\n"
                                   "time.sleep(600)"})
        with self.popen(file, self.results, "--agent", self.agent) as p:
            self.assertTrue(wait_for(lambda: os.path.exists(self.path("up"))))
            pids = family(p.pid)
            p.send_signal(signal.SIGTERM)
            p.communicate(timeout=300)
        self.assertEqual((p.returncode, alive(pids), self.lines()), (143, [], []))

    def test_words(self):
        """What a task says is never seen by ps, and is no option; fds of the batch are not its own."""
        code = "assert task not in open('/proc/self/cmdline').read(); " \
            "assert sorted(map(int, os.listdir('/proc/self/fd')))[:-1] == [0, 1, 2]; " \
            "print(json.dumps({'argv': sys.argv[1:]}))"
        file = self.tasks({"task": code, "files": ["-"], "check_answer": "--out"})
        self.path("-", "")
        got, _, err = self.run_batch(file, self.results, "--agent", self.agent, "--", "--steps", "3", "--check-answer",
                                     "x", cwd=self.folder)
        self.assertEqual(got, GOOD, err)
        self.assertEqual(self.lines()[0]["argv"], ["solve", "-", "--json", "--quiet", "--steps", "3", "--file=./-",
                                                   "--check-answer=--out"])


class Help(test_agent_batch.BatchCase):
    def test_help(self):
        status, out, err = self.run_batch("--help")
        self.assertEqual((status, err), (GOOD, ""))
        self.assertLess(max(map(len, out.splitlines())), 80)
        for title in ("Options", "Examples", "Exit status"):
            self.assertIn(f"\n{title}:\n", out)
        with open("/dev/full", "w") as full:
            with self.popen("--help", stdout=full) as p:
                self.one_line(p.communicate()[1].decode(), "No space left")
            self.assertEqual(p.returncode, BROKEN)

    def test_manual(self):
        page = self.run_batch("--man")[1]
        with open(BATCH + ".1") as f:
            self.assertEqual(f.read(), page)
        if not shutil.which("groff"):
            self.skipTest("groff is missing: apt-get install groff-base")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page.encode(), capture_output=True)
        self.assertEqual(done.stderr, b"")
        for option in OWN:
            self.assertIn(option[2:], done.stdout.decode())


if __name__ == "__main__":
    unittest.main()
