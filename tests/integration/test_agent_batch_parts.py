#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_batch_parts.py - stepjail-batch: a batch in parts, as an array of jobs does them, and their merge"""
import json
import os
import resource
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import wait_for  # noqa: E402
from mock_model import MockModel  # noqa: E402
from test_agent_batch import BROKEN, GOOD, SOME, BatchCase  # noqa: E402

LEFT = 2


class Parts(BatchCase):
    def part(self, file, part, *more, **how):
        """Its results are in a file of its own."""
        self.results = self.path(f"part.{part.partition('/')[0]}")
        args = self.args(file, *more)
        return self.run_batch(*args[:2], "--part", part, *args[2:], **how)

    def merge(self, file, *parts, to="all", status=GOOD):
        self.results = self.path(to)
        got, out, err = self.run_batch("merge", file, self.results, *[self.path(f"part.{part}") for part in parts])
        self.assertEqual((got, out), (status, ""), err)
        return err

    def read(self, name):
        with open(self.path(name)) as f:
            return f.read()

    def whole(self, count, parts):
        """A file of so many tasks, and its parts' results."""
        file = self.tasks(*[{"task": f"Task {i}."} for i in range(count)])
        with MockModel([{"say": "Yes.", "usage": (100, 7)}]) as mock:
            prices = self.path("prices", '{"m": {"input": 1000, "output": 10000}}')
            for i in range(parts):
                got, _, err = self.part(file, f"{i}/{parts}", *self.server(mock), "--prices", prices)
                self.assertEqual(got, GOOD, err)
            self.assertEqual(len(mock.requests), count)
        return file

    def test_all(self):
        """Each task once, in the order of the tasks."""
        file = self.whole(7, 3)
        self.assertEqual([line["id"] for line in self.lines()], ["3", "6"])
        err = self.merge(file, 2, 0, 1)
        self.assertEqual([line["id"] for line in self.lines()], list("1234567"))
        self.assertIn("7 tasks: 7 with exit status 0, 0 with another, 0 not done; $1.1900; results: ", err)
        self.assertEqual(os.stat(self.results).st_mode & 0o777, 0o600)
        self.assertEqual(self.batch(file, "--model", "scripted:/none", "--quiet"), "")  # none is left
        got, _, err = self.part(file, "7/8", "--model", "scripted:/none")
        self.assertEqual((got, "0 tasks: " in err), (GOOD, True), err)

    def test_lost(self):
        """A part that was killed: it is told which tasks lack, and its command does these alone."""
        file = self.tasks(*[{"task": f"Task {i}."} for i in range(6)])
        with MockModel([{"say": "Yes."}, {"say": "Yes."}, {"hang": 600}]) as mock:
            self.results = self.path("part.0")
            args = self.args(file, *self.server(mock))
            with self.popen(*args[:2], "--part", "0/2", *args[2:]) as p:
                self.assertTrue(wait_for(lambda: len(mock.requests) == 3 and len(self.lines()) == 2))
                p.kill()
                p.communicate(timeout=300)
        with open(self.path("part.0"), "ab") as f:
            f.write(b'{"id":"5","task_sha256":"0')
        with MockModel([{"say": "Yes."}]) as mock:
            self.part(file, "1/2", *self.server(mock))
            err = self.merge(file, 0, 1, to="some", status=LEFT)
            self.assertIn("6 tasks: 5 with exit status 0, 0 with another, 1 not done", err)
            self.assertIn("no result: 5\n", err)
            self.assertEqual(len(mock.requests), 3)
            self.assertEqual(self.part(file, "0/2", *self.server(mock))[0], GOOD)
            self.assertEqual(len(mock.requests), 4)
        self.merge(file, 0, 1)
        self.assertEqual([line["id"] for line in self.lines()], list("123456"))

    def test_twice(self):
        """A result that two files have is counted once, and so are its dollars; lines of others are none."""
        file = self.whole(4, 2)
        shutil.copy(self.path("part.1"), self.path("part.2"))
        other = self.read("part.2").replace('"id":"2"', '"id":"x"').replace('"exit_status":0', '"exit_status":9')
        self.path("part.2", other)
        err = self.merge(file, 0, 1, 2)
        self.assertIn("4 tasks: 4 with exit status 0, 0 with another, 0 not done; $0.6800", err)
        self.assertIn("; lines of a task that had one: 1; lines of other tasks: 1\n", err)
        self.assertEqual([(line["id"], line["exit_status"]) for line in self.lines()], [(i, 0) for i in "1234"])
        err = self.merge(file, 2, 0, 1, to="other", status=SOME)
        self.assertIn("3 with exit status 0, 1 with another", err)

    def test_files_are_elsewhere(self):
        """Those of the tasks are on the machines that did them."""
        file = self.tasks({"task": "x", "files": [self.path("data", "1")]})
        self.part(file, "0/1", "--model", self.script("Yes."))
        os.unlink(self.path("data"))
        self.merge(file, 0)

    def test_refused(self):
        file = self.whole(2, 2)
        before = self.read("part.0")
        for words, said in ((("merge", file), "give TASKS, RESULTS and"), (("merge", file, self.path("r")), "give TASKS"),
                            (("merge", "--quiet", file, self.path("r")), "give TASKS"),
                            (("merge", file, self.path("part.0"), self.path("part.1")), "part.0 is there"),
                            (("merge", file, self.path("r"), "/none\x1b"), "/none\\x1b: No such file"),
                            (("merge", file, "/none/r", self.path("part.0")), "/none/r"),
                            (("merge", file, self.path("r"), file), "line 1: it is no result"),
                            ((file, self.path("r"), "--part", "2/2"), "the first part is 0, and the last 1"),
                            ((file, self.path("r"), "--part", "1"), "not a part, such as 0/16"),
                            ((file, self.path("r"), "--part", "0/0"), "not a part, such as 0/16")):
            status, out, err = self.run_batch(*words)
            self.assertEqual((status, out), (BROKEN, ""), words)
            self.one_line(err, said)
            self.assertFalse(os.path.exists(self.path("r")))
        self.assertEqual(self.read("part.0"), before)
        changed = self.tasks({"task": "Task 0, changed."}, {"task": "Task 1."})
        status, _, err = self.run_batch("merge", changed, self.path("r"), self.path("part.0"), self.path("part.1"))
        self.one_line(err, "part.0, line 1: ", "task '1' was another one then")
        self.assertFalse(os.path.exists(self.path("r")))

    def test_full_disk(self):
        """No half of a merged file is left."""
        file = self.whole(2, 1)
        most = os.path.getsize(self.path("part.0")) - 10
        status, _, err = self.run_batch("merge", file, self.path("r"), self.path("part.0"), preexec_fn=lambda:
                                        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        self.assertEqual(status, BROKEN)
        self.one_line(err, "File too large")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("r")], [])


if __name__ == "__main__":
    unittest.main()
