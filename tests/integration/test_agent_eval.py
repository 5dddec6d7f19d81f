#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_eval.py - stepjail-agent eval: sets of tasks, and forged passes"""
import gzip
import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import FORGERIES, HUMANEVAL, AgentCase, alive, family, wait_for  # noqa: E402


class Eval(AgentCase):
    def tasks(self, count=None, change=None):
        with gzip.open(HUMANEVAL) as f:
            tasks = [json.loads(line) for line in f][:count]
        for task in tasks:
            if change:
                task.update(change)
        return "".join(json.dumps(task) + "\n" for task in tasks)

    def eval(self, tasks, *args):
        return self.run_agent("eval", self.path("tasks.jsonl", tasks), "--stepjail", self.fake,
                              *args)

    def test_canonical_passes(self):
        status, out, err = self.eval(self.tasks(20), "--jobs", "3")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("20 of 20 passed", out)

    def test_broken_fails(self):
        status, out, err = self.eval(self.tasks(20), "--broken")
        self.assertEqual(status, 1)
        self.assertIn("0 of 20 passed", out)
        self.assertIn("HumanEval/0: failed: AssertionError", out)

    def test_json(self):
        status, out, err = self.eval(self.tasks(3), "--json")
        got = json.loads(out)
        self.assertEqual((status, got["passed"], got["all"]), (0, 3, 3))

    def test_forgeries_fail(self):
        for solution in FORGERIES:
            with self.subTest(solution=solution):
                tasks = self.tasks(1, {"canonical_solution": solution})
                status, out, err = self.eval(tasks, "--task-time", "5s")
                self.assertEqual(status, 1, out + err)
                self.assertIn("0 of 1 passed", out)

    def test_endless_solution(self):
        tasks = self.tasks(1, {"canonical_solution": "    while True: pass\n"})
        status, out, err = self.eval(tasks, "--task-time", "500ms")
        self.assertEqual(status, 1)
        self.assertIn("HumanEval/0: wall-timeout", out)

    def test_jail_that_does_not_start(self):
        status, out, err = self.eval(self.tasks(3), "--rootfs", "broken")
        self.assertEqual(status, 125)
        self.one_line(err, "the jail did not start: stepjail: rootfs 'broken'")

    def test_error_lines_are_escaped(self):
        change = {"canonical_solution": "    raise ValueError('\\x1b[2J\\r')\n"}
        status, out, err = self.eval(self.tasks(1, change))
        self.assertNotIn("\x1b", out)
        self.assertIn("ValueError: \\x1b[2J", out)

    def test_signal(self):
        tasks = self.tasks(2, {"canonical_solution": "    while True: pass\n"})
        p = self.popen("eval", self.path("tasks.jsonl", tasks), "--stepjail", self.fake,
                       "--jobs", "2")
        # the agent and its broker; of each task the fake stepjail, the judge and the
        # solution's server
        pids = wait_for(lambda: len(family(p.pid)) == 8 and family(p.pid))
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=10)
        self.assertEqual(p.returncode, 130)
        self.one_line(err.decode(), "ended by SIGINT")
        self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))


if __name__ == "__main__":
    unittest.main()
