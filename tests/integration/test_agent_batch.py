#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_batch.py - stepjail-batch: many tasks, a line of results for each"""
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, BUILD, KEY, AgentCase, alive, family, fence, wait_for  # noqa: E402
import test_agent_real  # noqa: E402
from mock_model import MockModel  # noqa: E402
from test_agent_hostile import bad  # noqa: E402

BATCH = os.path.join(BUILD, "stepjail-batch")
GOOD, SOME, SPENT, LATE, BROKEN = 0, 1, 3, 124, 125
OWN = ("--jobs", "--time", "--cost", "--agent", "--quiet")


class BatchCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.results = self.path("results.jsonl")

    def tasks(self, *tasks):
        lines = [t if isinstance(t, str) else json.dumps(t) for t in tasks]
        return self.path("tasks.jsonl", "".join(line + "\n" for line in lines))

    def args(self, file, *more):
        """The batch's own options stand before --, and those of solve behind it."""
        own, solve, to = [], [], None
        for word in more:
            if word.startswith("--") or to is None:
                to = own if word in OWN else solve
            to.append(word)
        return (file, self.results, "--agent", AGENT, *own, "--", "--stepjail", self.fake, *solve)

    def popen(self, *args, env=None, **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
        return subprocess.Popen([BATCH, *args], env=env or self.env(), **how)

    def run_batch(self, *args, **how):
        with self.popen(*args, **how) as p:
            out, err = p.communicate(timeout=300)
        return p.returncode, out.decode(), err.decode()

    def batch(self, file, *more, status=GOOD, **how):
        got, out, err = self.run_batch(*self.args(file, *more), **how)
        self.assertEqual((got, out), (status, ""), err)
        return err

    def one_line(self, err, *words):
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("stepjail-batch: "), err)
        for word in words:
            self.assertIn(word, err)

    def server(self, mock):
        return ("--model", "openai", "--model-name", "m", "--base-url", mock.url)

    def lines(self):
        with open(self.results) as f:
            text = f.read()
        self.assertTrue(text == "" or text.endswith("\n"), text[-200:])
        return [json.loads(line) for line in text.splitlines()]

    def by_id(self):
        lines = {line["id"]: line for line in self.lines()}
        self.assertEqual(len(lines), len(self.lines()))
        return lines


class Results(BatchCase):
    def test_all(self):
        self.path("fake_stepjail.log", "")
        script = self.script(fence("print(6 * 7)"), "It is 42.\x1b[2J\u202e")
        err = self.batch(self.tasks({"task": "One."}, {"id": "b", "task": "Two.", "files": [self.path("x", "1")]},
                                    {"id": "c", "task": "Three."}), "--model", script, "--jobs", "2")
        got = self.by_id()
        self.assertEqual(sorted(got), ["1", "b", "c"])
        for line in got.values():
            self.assertEqual((line["exit_status"], line["outcome"], line["error"]), (0, "answered", None))
            self.assertEqual((line["answer"][:9], len(line["steps"])), ("It is 42.", 1))
            self.assertEqual(len(line["task_sha256"]), 64)
            self.assertTrue(os.path.exists(line["transcript"]))
        self.assertEqual(len({line["transcript"] for line in got.values()}), 3)
        with open(self.results) as f:
            self.assertIsNone(bad(f.read()))
        self.assertEqual(os.stat(self.results).st_mode & 0o777, 0o600)
        self.assertIn("3/3 ", err)
        self.assertIn("3 tasks: 3 with exit status 0, 0 with another, 0 not done", err)
        serves = [line["argv"] for line in self.log() if "serve" in line["argv"]]
        self.assertEqual(sum(any(word.startswith("--bind=") for word in argv) for argv in serves), 1)

    def test_some(self):
        with MockModel([{"say": "One."}, {"status": 401, "error": {"message": "no"}}, {"say": "Three."}]) as mock:
            err = self.batch(self.tasks(*[{"task": f"Task {i}."} for i in range(3)]), *self.server(mock), status=SOME)
        self.assertEqual([line["exit_status"] for line in self.lines()], [0, 4, 0])
        self.assertIn("HTTP 401", self.lines()[1]["error"])
        self.assertRegex(err, r"2/3 2: exit status 4: .*HTTP 401")

    def test_first_fails(self):
        """What would fail them all is no result of any."""
        with MockModel([{"status": 401, "error": {"message": "no"}}]) as mock:
            err = self.batch(self.tasks(*[{"task": "x"}] * 3), *self.server(mock), status=BROKEN)
            self.assertEqual(len(mock.requests), 1)
        self.assertIn("task '1' failed, the first that ended", err)
        self.batch(self.tasks({"task": "x"}), "--model", "scripted:" + self.path("none"), status=BROKEN)
        self.assertEqual(self.lines(), [])

    def test_closed(self):
        """With stderr closed, nothing of the progress is in the results."""
        args = self.args(self.tasks({"task": "x"}, {"task": "y"}), "--model", self.script("Yes."))
        done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", BATCH, *args], env=self.env())
        self.assertEqual((done.returncode, len(self.lines())), (GOOD, 2))

    def test_quiet(self):
        self.assertEqual(self.batch(self.tasks({"task": "x"}), "--model", self.script("Yes."), "--quiet"), "")


class Members(test_agent_real.Installed, BatchCase):
    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)

    def test_judges(self):
        """Tests and checks of one task are not those of another."""
        tests = self.path("test_it.py", "import unittest, sums\n\n\nclass It(unittest.TestCase):\n"
                          "    def test_sums(self):\n        self.assertEqual(sums.add(1, 2), 3)\n")
        write = "with open('/work/sums.py', 'w') as f:\n    f.write('def add(a, b):\\n    return a + b\\n')"
        judge = self.path("judge.py", "import sys; sys.exit(sys.stdin.read() != 'No.\\n')")
        for path in (tests, judge):
            os.chmod(path, 0o644)
        file = self.tasks({"id": "tests", "task": "T", "tests": [tests]}, {"id": "plain", "task": "P"},
                          {"id": "check", "task": "C", "check_answer": "python3 /work/check/judge.py"})
        script = self.script(fence(write), "Yes.", "Yes.", "Yes.")
        self.batch(file, "--model", script, "--steps", "2", "--check-file", judge,
                   "--check-answer", "python3 -c pass", *self.missing, status=SOME)
        got = self.by_id()
        self.assertEqual({name: (line["exit_status"], "checks" in line) for name, line in got.items()},
                         {"tests": (0, True), "plain": (0, True), "check": (3, True)})


class Resume(BatchCase):
    def test_torn(self):
        with MockModel([{"say": "Yes."}]) as mock:
            self.batch(self.tasks({"task": "One."}), *self.server(mock))
            with open(self.results, "ab") as f:
                f.write(b'{"id":"2","task_sha256":"0')
            self.batch(self.tasks({"task": "One."}, {"task": "Two."}), *self.server(mock))
            self.assertEqual(len(mock.requests), 2)
            self.assertIn("Two.", mock.messages(1)[1]["content"])
            with open(self.path("tasks.jsonl"), "rb+") as f:
                f.truncate(os.path.getsize(f.name) - 1)  # the newline is no part of a task
            self.batch(f.name, *self.server(mock))
            self.assertEqual(len(mock.requests), 2)
        self.assertEqual([line["id"] for line in self.lines()], ["1", "2"])

    def test_refused(self):
        script = self.script("Yes.")
        self.batch(self.tasks({"task": "One."}), "--model", script)
        err = self.batch(self.tasks({"task": "Another."}), "--model", script, status=BROKEN)
        self.one_line(err, "results.jsonl, line 1: ", "task '1' was another one then")
        for text in ("[]\n", "{}\n", '{"id":"1"}\n', "x\n"):
            self.path("results.jsonl", text)
            err = self.batch(self.tasks({"task": "One."}), "--model", script, status=BROKEN)
            self.one_line(err, "line 1: it is no result")
            with open(self.results) as f:
                self.assertEqual(f.read(), text)

    def test_one_batch(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        with MockModel([{"say": "Yes.", "gate": (0, gate)}]) as mock:
            file = self.tasks({"task": "One."})
            with self.popen(*self.args(file, *self.server(mock))) as p:
                self.assertTrue(wait_for(lambda: mock.requests))
                self.one_line(self.batch(file, *self.server(mock), status=BROKEN), "another batch is writing it")
                gate.set()
                p.communicate(timeout=300)
        self.assertEqual(p.returncode, GOOD)


class Wrong(BatchCase):
    def refused(self, file, *words):
        err = self.batch(file, "--model", self.script("Yes."), status=BROKEN)
        self.one_line(err, *words)
        self.assertFalse(os.path.exists(self.results))

    def test_lines(self):
        good = {"id": "a", "task": "x"}
        for line, words in (({"task": "x", "fils": []}, "'fils' is no member of a task"), ({"id": "b"}, "no 'task'"),
                            ("[1]", "no JSON object"), ("{", "no JSON object"), ({"task": 1}, "'task' is not a string"),
                            ({"task": ""}, "'task' is not a string, or is empty"),
                            (good, "its id 'a' is that of an earlier task"),
                            ({"task": "x", "files": "y"}, "'files' is not a list"),
                            ({"task": "x", "files": [1]}, "'files' is not a list"),
                            ({"task": "x", "files": ["/none"]}, "files: /none: No such file"),
                            ({"task": "x", "tests": ["/none"]}, "tests: /none: No such file"),
                            ('{"task": "x", "task": "y"}', "one of task is given twice"),
                            ('{"task": "x\\u0000y"}', "NUL"), ('{"task": "\\ud800"}', "half of a character"),
                            ({"task": "x", "id": "y" * 201}, "longer than 200 bytes"),
                            ({"task": "x" * (1 << 20)}, "it is longer than 1048576 bytes")):
            self.refused(self.tasks(good, "", line), "tasks.jsonl, line 3: ", words)
        self.refused(self.tasks(), "has no task")
        self.refused(self.path("none"), "No such file")

    def test_options(self):
        file = self.tasks({"task": "x"})
        os.mkfifo(self.path("pipe"))
        for more, words in ((("--out", self.path("o")), "--out: tasks of a batch"), (("--json",), "--json: tasks"),
                            (("--json=no",), "--json: tasks"), (("--help",), "--help: tasks"),
                            (("--transcript=" + self.path("t"),), "--transcript FILE: tasks"),
                            (("--file", "-"), "--file of a pipe"), (("--file", self.path("pipe")), "--file of a pipe"),
                            (("--steps", "1", "x"), "'x' behind -- belongs to no option"),
                            (("--jobs", "65"), "number between 1 and 64"), (("--jobs", "0"), "number between 1 and 64"),
                            (("--time", "1 week"), "not a time, such as 90s"),
                            (("--cost", "1"), "--cost needs --prices"), (("--cost", "nan"), "not a number of dollars")):
            self.one_line(self.batch(file, "--model", self.script("Yes."), *more, status=BROKEN), words)
        for args, words in (((file,), "give two files"),
                            ((file, self.results, "--agent"), "--agent: '' is not a program"),
                            ((file, self.results, "--quiet=no"), "--quiet: 'no' is not of use"),
                            ((file, self.results, "--steps", "3"), "--steps: no such option; those of solve"),
                            ((file, self.results, "--agent", "/none\x1b[2J"), "start /none\\x1b[2J: No such file")):
            status, out, err = self.run_batch(*args)
            self.assertEqual((status, out), (BROKEN, ""))
            self.assertIn(words, err.splitlines()[-1])
        self.assertEqual(self.lines(), [])

    def test_tasks_on_stdin(self):
        with open(self.tasks({"task": "One."})) as file:
            self.batch("-", "--model", self.script("Yes."), stdin=file)
        self.assertEqual([line["exit_status"] for line in self.lines()], [0])

    def test_other_files(self):
        """What is no file of results stays as it is."""
        file = self.tasks({"task": "One."})
        self.path("results.jsonl", "a line without an end")
        self.one_line(self.batch(file, "--model", self.script("Yes."), status=BROKEN), "line 1: it is no result")
        self.assertEqual(os.path.getsize(self.results), 21)
        os.rename(self.results, self.path("other"))
        for make, words in ((lambda: os.symlink(self.path("other"), self.results), "symbolic links"),
                            (lambda: os.mkfifo(self.results), "not a regular file")):
            make()
            self.one_line(self.batch(file, "--model", self.script("Yes."), status=BROKEN), words)
            os.unlink(self.results)

    def test_full_disk(self):
        """Half a line is taken back; the task has no result."""
        script = ("--model", self.script("Yes."), "--transcript", "none")
        self.batch(self.tasks({"task": "One."}), *script)
        most = int(os.path.getsize(self.results) * 2.5)
        how = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}
        file = self.tasks({"task": "One."}, {"task": "Two."}, {"task": "Three."}, {"task": "Four."})
        err = self.batch(file, *script, status=BROKEN, **how)
        self.assertIn("results.jsonl: File too large", err)
        self.assertIn("2 with exit status 0, 0 with another, 2 not done", err)
        self.assertEqual([line["id"] for line in self.lines()], ["1", "2"])


class Limits(BatchCase):
    def test_cost(self):
        """That of results which are there counts."""
        file = self.tasks(*[{"task": f"Task {i}."} for i in range(4)])
        with MockModel([{"say": "Yes.", "usage": (100, 7)}]) as mock:
            prices = self.path("prices", '{"m": {"input": 1000, "output": 10000}}')
            cost = (*self.server(mock), "--prices", prices, "--cost")
            err = self.batch(file, *cost, "0.3", status=SPENT)
            self.assertIn("2 with exit status 0, 0 with another, 2 not done; $0.3400", err)
            self.batch(file, *cost, "0.34", status=SPENT)
            self.assertEqual(len(mock.requests), 2)
            self.batch(file, *cost, "0.35", status=SPENT)
            self.batch(file, *cost, "1")
        self.assertEqual(len(self.by_id()), 4)

    def test_time(self):
        with MockModel([{"say": "Yes."}, {"hang": 600}]) as mock:
            self.batch(self.tasks({"task": "One."}, {"task": "Two."}), *self.server(mock), "--time", "4s",
                       status=LATE)
        self.assertEqual([line["id"] for line in self.lines()], ["1"])


class Ended(BatchCase):
    def begin(self, mock, jobs, *more):
        """A batch whose first task has a result, and as many others running as there are jobs."""
        file = self.tasks(*[{"task": f"Task {i}."} for i in range(5)])
        p = self.popen(*self.args(file, *self.server(mock), "--jobs", str(jobs), *more),
                       env=self.env(STEPJAIL_API_KEY=KEY))
        self.addCleanup(p.kill)
        self.assertTrue(wait_for(lambda: len(mock.requests) == 1 + jobs))
        self.assertTrue(wait_for(self.lines))
        return p

    def test_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with MockModel([{"say": "Yes."}, {"hang": 600}]) as mock:
                with self.begin(mock, 3) as p:
                    pids = family(p.pid)
                    self.assertGreater(len(pids), 8)
                    p.send_signal(number)
                    err = p.communicate(timeout=300)[1].decode()
            self.assertEqual(p.returncode, 128 + number, err)
            self.assertIn("1 with exit status 0, 0 with another, 4 not done", err)
            self.assertEqual(len(self.lines()), 1)
            self.assertTrue(wait_for(lambda: not alive(pids)), pids)
            os.unlink(self.results)

    def test_killed(self):
        """The tasks end with the batch."""
        with MockModel([{"say": "Yes."}, {"hang": 600}]) as mock:
            with self.begin(mock, 2) as p:
                pids = family(p.pid)
                p.kill()
                p.communicate(timeout=300)
            self.assertTrue(wait_for(lambda: not alive(pids)), pids)

    def test_task_dies(self):
        """A solve that is killed is a result, and the next task is begun."""
        with MockModel([{"say": "Yes."}, {"hang": 600}]) as mock:
            with self.begin(mock, 1) as p:
                with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
                    (solve,) = map(int, f.read().split())
                with open(f"/proc/{solve}/status") as f:
                    status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
                self.assertEqual((status["Seccomp"], status["NoNewPrivs"], int(status["CapEff"], 16)), ("2", "1", 0))
                os.kill(solve, signal.SIGKILL)
                self.assertTrue(wait_for(lambda: len(self.lines()) == 2))
                self.assertTrue(wait_for(lambda: len(mock.requests) == 3))
                p.send_signal(signal.SIGINT)
                p.communicate(timeout=300)
        self.assertEqual((self.lines()[1]["exit_status"], self.lines()[1]["outcome"]), (137, "failed"))
        self.assertIn("it ended without a result", self.lines()[1]["error"])


if __name__ == "__main__":
    unittest.main()
