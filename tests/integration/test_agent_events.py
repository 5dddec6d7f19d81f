#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_events.py - a transcript's lines on stdout, as they are written"""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase, fence, wait_for  # noqa: E402
from record_schema import wrong_line  # noqa: E402


class Events(AgentCase):
    def events(self, p, *args, status=0):
        """The lines of a run that has ended."""
        out, err = p.communicate(timeout=120)
        self.assertEqual(p.returncode, status, err)
        self.assertTrue(out.endswith(b"\n"))
        return out, err.decode()

    def begin(self, *args, command=("solve", "The task."), **how):
        return self.popen(*command, "--stepjail", self.fake, "--events", *args, **how)

    def test_the_same_bytes(self):
        path = self.path("t.jsonl")
        script = self.script(fence("print(1)"), fence("1/0"), "Done.")
        out, err = self.events(self.begin("--model", script, "--transcript", path))
        with open(path, "rb") as f:
            self.assertEqual(out, f.read())
        self.assertIn("step 1 of 10", err)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([wrong_line(line) for line in lines], [[]] * len(lines))
        self.assertEqual((lines[-1]["event"], lines[-1]["answer"]), ("end", "Done.\n"))
        self.assertEqual(self.run_agent("verify", path)[0], 0)

    def test_without_a_file(self):
        """The lines are chained all the same."""
        out, _ = self.events(self.begin("--model", self.script(fence("print(1)"), "Done."), "--transcript", "none"))
        with open(self.path("said"), "wb") as f:
            f.write(out)
        status, said, _ = self.run_agent("verify", self.path("said"))
        self.assertEqual(status, 0, said)

    def test_as_they_happen(self):
        """The line of a step's code is there while it runs, and a signal cuts no line."""
        mark = self.path("mark")
        code = f"open({mark!r}, 'w').close(); import time; time.sleep(600)"
        with self.begin("--model", self.script(fence(code)), "--transcript", self.path("t.jsonl")) as p:
            first = [p.stdout.readline() for _ in range(4)]
            self.assertEqual([json.loads(line)["event"] for line in first], ["start", "session", "reply", "code"])
            self.assertTrue(wait_for(lambda: os.path.exists(mark)))
            p.send_signal(signal.SIGTERM)
            rest = p.stdout.read()
            p.wait()
        self.assertEqual([json.loads(line)["event"] for line in rest.splitlines()], ["step", "end"])
        with open(self.path("t.jsonl"), "rb") as f:
            self.assertEqual(b"".join(first) + rest, f.read())
        self.assertEqual(p.returncode, 143)

    def test_repl(self):
        path = self.path("t.jsonl")
        with open(self.path("s", "print('said')\n1/0\n")) as stdin:
            p = self.begin("--transcript", path, command=("repl",), stdin=stdin)
            out, err = self.events(p, status=1)
        with open(path, "rb") as f:
            self.assertEqual(out, f.read())
        self.assertIn("said\n", err)

    def test_nobody_reads(self):
        """No step runs whose line could not be written."""
        reader, writer = os.pipe()
        os.close(reader)
        p = self.begin("--model", self.script(fence(f"open({self.path('ran')!r}, 'w')"), "Done."), stdout=writer)
        os.close(writer)
        err = p.communicate(timeout=120)[1].decode()
        self.assertEqual(p.returncode, 125)
        self.assertIn("--events: cannot write to stdout: Broken pipe", err)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_not_with_json(self):
        status, out, err = self.solve("--events", "--json=yes", "--model", self.script("Done."))
        self.assertEqual((status, out), (125, ""))
        self.one_line(err, "--events: stdout is that of --json")
        tasks = self.path("tasks", '{"task": "x"}\n')
        p = subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../agent/stepjail-batch"),
                            tasks, self.path("results"), "--", "--events"], capture_output=True, text=True)
        self.assertEqual(p.returncode, 125)
        self.assertIn("--events: tasks of a batch cannot share it", p.stderr)


if __name__ == "__main__":
    unittest.main()
