#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_humaneval_results.py - tests/humaneval: results that are kept, gone on from and merged"""
import itertools
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import HUMANEVAL  # noqa: E402
from test_humaneval import STEPJAIL, TASKS, Case, lines_of, read_lines  # noqa: E402


class Kept(Case):
    """Results files."""

    def counted(self):
        """How many jails have been started, from now on."""
        self.stepjail = self.path("counted", "#!/bin/sh\necho >>%s\nexec %s \"$@\"\n" %
                                  (self.path("count", ""), STEPJAIL))
        os.chmod(self.stepjail, 0o755)
        return lambda: os.path.getsize(self.path("count"))

    def test_goes_on(self):
        """What is in the file is not run again; half a line at its end is."""
        results, tasks, ran = self.path("r.jsonl"), self.tasks(6), self.counted()
        for _ in range(2):
            status, out, err = self.run_tasks(tasks, "--results", results)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("6 of 6 passed", out)
            self.assertEqual(ran(), 6)
        with open(results) as f:
            lines = f.readlines()
        self.assertEqual(len(lines), 7)
        self.assertEqual(os.stat(results).st_mode & 0o777, 0o600)
        with open(results, "w") as f:
            f.writelines(lines[:4] + [lines[4][:30]])
        status, out, err = self.run_tasks(tasks, "--results", results)
        self.assertEqual((status, ran()), (0, 9), err)
        self.assertEqual(sorted(line.get("task_id", "") for line in read_lines(results)),
                         ["", *(f"HumanEval/{n}" for n in range(6))])

    def test_solutions_may_grow(self):
        results, ran = self.path("r.jsonl"), self.counted()
        good = TASKS[0]["canonical_solution"]
        for bodies in ([good], [good, "    pass\n", good]):
            got = self.run_tasks(HUMANEVAL, "--results", results, "--solutions",
                                 self.solutions(*bodies))
            self.assertEqual((got[0], ran()), (int(len(bodies) > 1), len(bodies)), got)
        self.assertIn("2 of 3 passed", got[1])
        self.refused(self.run_tasks(HUMANEVAL, "--results", results, "--solutions",
                                    self.solutions("    pass\n", good)),
                     "another solution of HumanEval/0, sample 0")
        self.assertEqual(ran(), 3)

    def test_results_of_something_else(self):
        results = self.path("r.jsonl")
        self.run_tasks(self.tasks(2), "--results", results)
        with open(results) as f:
            before = f.read()
        for count, change, args, words in (
                (3, {}, (), "another set"), (2, {"test": "x"}, (), "another set"),
                (2, {}, ("--broken",), "another kind of solutions (canonical)")):
            self.refused(self.run_tasks(self.tasks(count, **change), "--results", results, *args),
                         words, "give another file")
        with open(results, "a") as f:
            f.write('{"task_id": "HumanEval/0"}\n')
        self.refused(self.run_tasks(self.tasks(2), "--results", results), ":4: not a result")
        with open(results) as f:
            self.assertEqual(f.read(), before + '{"task_id": "HumanEval/0"}\n')

    def test_no_file_of_anybodys_is_emptied(self):
        for text in ("a line of mine", '{"event":"eval"}', '{"event": "humaneval", "set_sha256": "x',
                     "\n", "{}\n", "a line of mine\nand more"):
            path = self.path("mine", text)
            self.refused(self.run_tasks(self.tasks(1), "--results", path), "is no results file")
            with open(path) as f:
                self.assertEqual(f.read(), text)

    def test_first_line_that_was_not_finished(self):
        path = self.path("r")
        self.assertEqual(self.run_tasks(self.tasks(2), "--results", path)[0], 0)
        with open(path, "rb") as f:
            whole = f.read()
        first = whole.index(b"\n")
        for at in (0, 1, first - 1, first, first + 1, first + 20, len(whole) - 1, len(whole)):
            with open(path, "wb") as f:
                f.write(whole[:at])
            status, out, err = self.run_tasks(self.tasks(2), "--results", path)
            self.assertEqual(status, 0, err)
            got = read_lines(path)
            self.assertEqual(got[0]["event"], "humaneval")
            self.assertEqual(sorted(line["task_id"] for line in got[1:]),
                             ["HumanEval/0", "HumanEval/1"])


class Merged(Case):
    """Results files together: made here, where no jail is needed."""

    def results(self, name, of, **head):
        """A file of (task, sample, passed)."""
        head = {"event": "humaneval", "set_sha256": "0" * 64, "tasks": 6, "solutions": "completions",
                **head}
        return self.path(name, lines_of([head, *({
            "task_id": f"T/{t}", "sample": s, "sha256": f"{t}.{s}", "passed": passed,
            "verdict": "completed", "wall_ms": 1, "error": ""} for t, s, passed in of)]))

    def test_nothing_counts_twice(self):
        one = self.results("one", [(0, 0, True), (1, 0, False), (2, 0, True)])
        two = self.results("two", [(2, 0, True), (0, 0, True), (3, 0, True)])
        for files in ([one, two], [two, one], [one, one, two, two]):
            status, out, err = self.command("merge", *files)
            self.assertEqual((status, err), (1, ""))
            self.assertIn("3 of 4 passed", out)
            self.assertRegex(out, r"(?m)^no result +2$")
        self.assertEqual(self.command("merge", two, two)[0], 0)

    def test_merged_file_goes_on(self):
        """Two halves of a run make a whole one."""
        whole = self.path("whole")
        self.assertEqual(self.run_tasks(self.tasks(4), "--results", whole)[0], 0)
        with open(whole) as f:
            lines = f.readlines()
        halves = [self.path(name, "".join(lines[:1] + lines[at:at + 2]))
                  for name, at in (("one", 1), ("two", 2))]
        both = self.path("both")
        status, out, err = self.command("merge", *halves, "--results", both, "--json")
        self.assertEqual((status, err, json.loads(out)["all"]), (0, "", 3))
        self.refused(self.command("merge", *halves, "--results", both), "there already")
        self.assertEqual(self.run_tasks(self.tasks(4), "--results", both)[0], 0)
        self.assertEqual({json.dumps({**line, "wall_ms": 0}) for line in read_lines(both)},
                         {json.dumps({**line, "wall_ms": 0}) for line in read_lines(whole)})

    def test_refusals(self):
        one = self.results("one", [(0, 0, True)])
        with open(one) as f:
            text = f.read()
        for other, words in (
                (self.results("a", [(0, 0, False)]), "says the opposite"),
                (self.path("b", text.replace('"0.0"', '"x"')), "is of another solution"),
                (self.results("c", [], set_sha256="1" * 64), "another set"),
                (self.results("d", [], solutions="broken"), "another kind of solutions (broken)"),
                (self.results("e", [(0, 0, "yes")]), "e:2: not a result"),
                (self.path("f", ""), "is no results file"), ("/no/such", "/no/such")):
            with self.subTest(words=words):
                self.refused(self.command("merge", one, other), words)
        self.refused(self.command("merge", self.results("g", [])), "hold no result")

    def test_pass_at_k(self):
        """The k-th task of six: of its six samples k pass. Compared with the definition."""
        n = 6
        file = self.results("r", [(t, s, s < t) for s in range(n) for t in range(n)])
        status, out, err = self.command("merge", file, "--json")
        self.assertEqual((status, err), (1, ""))
        got = json.loads(out)
        self.assertEqual((got["passed"], got["all"]), (sum(range(n)), n * n))
        self.assertEqual(list(got["pass_at"]), ["1", "2", "5"])
        for k in (1, 2, 5):
            # of all ways to take k samples, those in which one passes
            ways = [any(c < p for c in chosen) for p in range(n)
                    for chosen in itertools.combinations(range(n), k)]
            self.assertAlmostEqual(got["pass_at"][str(k)], sum(ways) / len(ways), places=9)


if __name__ == "__main__":
    unittest.main()
