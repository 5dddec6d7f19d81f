#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_eval.py - stepjail-agent eval: sets of tasks, and forged passes"""
import gzip
import http.server
import itertools
import json
import os
import signal
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import (FORGERIES, HUMANEVAL, AgentCase, alive, family, fence,  # noqa: E402
                         wait_for)


class EvalCase(AgentCase):
    def tasks(self, count=None, change=None):
        with gzip.open(HUMANEVAL) as f:
            tasks = [json.loads(line) for line in f][:count]
        for task in tasks:
            if change:
                task.update(change)
        return "".join(json.dumps(task) + "\n" for task in tasks)

    def eval(self, tasks, *args, **how):
        return self.run_agent("eval", self.path("tasks.jsonl", tasks), "--stepjail", self.fake,
                              *args, **how)


class Eval(EvalCase):
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

    def test_results_are_kept(self):
        """What is in the file is not run again; half a line at its end is."""
        results = self.path("r.jsonl")
        tasks = self.tasks(6)
        counted = self.path("counted", "#!/bin/sh\necho >>%s\nexec %s \"$@\"\n" %
                            (self.path("count"), self.fake))
        os.chmod(counted, 0o755)
        self.fake = counted

        def ran():
            return os.path.getsize(self.path("count"))
        for round in range(2):
            status, out, err = self.eval(tasks, "--results", results)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("6 of 6 passed", out)
            self.assertEqual(ran(), 6)
        with open(results) as f:
            lines = f.readlines()
        self.assertEqual(len(lines), 7)
        self.assertEqual(os.stat(results).st_mode & 0o777, 0o600)
        with open(results, "w") as f:
            f.writelines(lines[:4] + [lines[4][:30]])
        status, out, err = self.eval(tasks, "--results", results)
        self.assertEqual((status, ran()), (0, 9), err)
        with open(results) as f:
            self.assertEqual(sorted(json.loads(line).get("task_id", "") for line in f),
                             ["", *(f"HumanEval/{n}" for n in range(6))])

    def test_results_of_something_else(self):
        results = self.path("r.jsonl")
        self.eval(self.tasks(2), "--results", results)
        for tasks, args, words in ((self.tasks(3), (), "another set"),
                                   (self.tasks(2), ("--broken",), "another kind"),
                                   (self.tasks(2, {"test": "x"}), (), "another set")):
            status, _, err = self.eval(tasks, "--results", results, *args)
            self.assertEqual(status, 125)
            self.one_line(err, words, "give a new name")
        self.path("r.jsonl", "{}\n")
        status, _, err = self.eval(self.tasks(2), "--results", results)
        self.one_line(err, "no file of eval's")

    def test_one_kind_of_solutions(self):
        status, _, err = self.eval(self.tasks(1), "--broken", "--canonical")
        self.assertEqual(status, 125)
        self.one_line(err, "give one of them")
        status, _, err = self.eval(self.tasks(1), "--canonical", "--samples", "2")
        self.assertEqual(status, 125)
        self.one_line(err, "--samples: has no effect without --model")

    def test_signal(self):
        tasks = self.tasks(2, {"canonical_solution": "    while True: pass\n"})
        p = self.popen("eval", self.path("tasks.jsonl", tasks), "--stepjail", self.fake,
                       "--jobs", "2", "--task-time", "10m")
        # the agent and its broker; of each task the fake stepjail, the judge and the
        # solution's server
        pids = wait_for(lambda: len(family(p.pid)) == 8 and family(p.pid))
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 130)
        self.one_line(err.decode(), "ended by SIGINT")
        self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))


class Asked(EvalCase):
    """Solutions of a model."""

    def whole(self, task, good=True):
        """A reply that solves it, or does not."""
        return fence(task["prompt"] + (task["canonical_solution"] if good else "    return None\n"))

    def asked(self, count, reply, *args, status=0, tasks=None, **how):
        """Ask a server that answers reply(task, how often it was asked for it)."""
        tasks = tasks or [json.loads(line) for line in self.tasks(count).splitlines()]
        times = {}

        def answer(body):
            text = body["messages"][-1]["content"]
            (task,) = [t for t in tasks if t["prompt"] in text]
            times[task["task_id"]] = times.get(task["task_id"], 0) + 1
            return reply(task, times[task["task_id"]])

        with Oracle(answer) as oracle:
            got, out, err = self.eval("".join(json.dumps(t) + "\n" for t in tasks), "--model",
                                      "openai", "--model-name", "m", "--base-url", oracle.url,
                                      *args, env=self.env(STEPJAIL_API_KEY="k" * 20), **how)
        self.assertEqual(got, status, out + err)
        return out, err, times

    def test_pass_at_k(self):
        """The k-th task of six: of its six samples k pass. Compared with the definition."""
        n = 6
        out, err, times = self.asked(
            n, lambda t, i: self.whole(t, i <= int(t["task_id"].split("/")[1])),
            "--samples", str(n), "--json", "--jobs", "3", status=1)
        got = json.loads(out)
        self.assertEqual(set(times.values()), {n})
        self.assertEqual((got["passed"], got["all"]), (sum(range(n)), n * n))
        passed = [sum(s["passed"] for s in got["tasks"] if s["task_id"] == f"HumanEval/{t}")
                  for t in range(n)]
        self.assertEqual(passed, list(range(n)))
        self.assertEqual(list(got["pass_at"]), ["1", "2", "5"])
        for k in (1, 2, 5):
            # of all ways to take k samples, those in which one passes
            ways = [any(c < p for c in chosen) for p in range(n)
                    for chosen in itertools.combinations(range(n), k)]
            self.assertAlmostEqual(got["pass_at"][str(k)], sum(ways) / len(ways), places=9)

    def test_table(self):
        out, _, _ = self.asked(2, lambda t, i: self.whole(t, t["task_id"].endswith("0")),
                               "--samples", "2", status=1)
        self.assertIn("HumanEval/1: none of 2 passed, failed: ", out)
        self.assertIn("pass@1         0.5000\npass@2         0.5000\n", out)
        self.assertIn("2 of 4 passed", out)

    def test_goes_on_where_it_was(self):
        """A server that fails in the middle; then what is there is not asked for again."""
        results = self.path("r.jsonl")
        count = 0

        def failing(task, times):
            nonlocal count
            count += 1
            return self.whole(task) if count <= 5 else 500
        _, err, _ = self.asked(8, failing, "--results", results, "--retries", "0", "--jobs", "2",
                               status=125)
        self.assertIn("500", err)
        with open(results) as f:
            have = {json.loads(line)["task_id"] for line in f.readlines()[1:]}
        # one that another asker had is lost, if the failure comes before it
        self.assertIn(len(have), (4, 5))
        out, _, times = self.asked(8, lambda t, i: self.whole(t), "--results", results)
        self.assertIn("8 of 8 passed", out)
        self.assertEqual(set(times) & have, set())
        self.assertEqual(len(times), 8 - len(have))
        # more samples than before: those that lack
        out, _, times = self.asked(8, lambda t, i: self.whole(t), "--results", results,
                                   "--samples", "3")
        self.assertEqual(list(times.values()), [2] * 8)
        self.assertIn("24 of 24 passed", out)

    def test_what_was_handed_back_is_kept(self):
        """It was paid for: the failure of one asker loses nothing that came of another."""
        results, asked, go = self.path("r.jsonl"), [], threading.Event()
        tasks = [json.loads(line) for line in self.tasks(12).splitlines()]

        def answer(body):
            go.wait()
            (task,) = [t for t in tasks if t["prompt"] in body["messages"][-1]["content"]]
            asked.append(task["task_id"])
            return self.whole(task) if len(asked) <= 6 else 500

        self.addCleanup(go.set)
        with Oracle(answer) as oracle:
            p = self.popen("eval", self.path("tasks.jsonl", self.tasks(12)), "--stepjail", self.fake,
                           "--model", "openai", "--model-name", "m", "--base-url", oracle.url,
                           "--results", results, "--jobs", "2", "--retries", "0",
                           env=self.env(STEPJAIL_API_KEY="k" * 20))
            self.assertTrue(wait_for(lambda: len(oracle.waiting) == 2))
            askers = family(p.pid)[2:]  # behind the agent and its broker
            p.send_signal(signal.SIGSTOP)
            go.set()
            self.assertTrue(wait_for(lambda: not alive(askers)))
            p.send_signal(signal.SIGCONT)
            _, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 125)
        self.assertIn(b"500", err)
        with open(results) as f:
            have = [json.loads(line)["task_id"] for line in f.readlines()[1:]]
        self.assertEqual(sorted(have), sorted(asked[:6]))

    def test_killed(self):
        results = self.path("r.jsonl")
        tasks = [json.loads(line) for line in self.tasks(12).splitlines()]
        text = self.path("tasks.jsonl", "".join(json.dumps(t) + "\n" for t in tasks))
        asked = []

        def which(body):
            (task,) = [t for t in tasks if t["prompt"] in body["messages"][-1]["content"]]
            return task

        def answer(body):
            task = which(body)
            asked.append(task["task_id"])
            return self.whole(task) if len(asked) < 9 else never.wait() and 500

        never = threading.Event()
        args = ("eval", text, "--stepjail", self.fake, "--model", "openai", "--model-name", "m",
                "--results", results, "--base-url")
        with Oracle(answer) as oracle:
            p = self.popen(*args, oracle.url, env=self.env(STEPJAIL_API_KEY="k" * 20))
            self.assertTrue(wait_for(lambda: len(asked) > 8))
            pids = family(p.pid)
            p.kill()
            p.communicate()
            self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))
        with open(results) as f:
            have = sum(line.endswith("\n") for line in f) - 1
        # another server: what the first was sent before the kill may be read by it later
        again = []
        with Oracle(lambda body: again.append(1) or self.whole(which(body))) as oracle:
            status, out, err = self.run_agent(*args, oracle.url,
                                              env=self.env(STEPJAIL_API_KEY="k" * 20))
        never.set()
        self.assertEqual(status, 0, err)
        self.assertIn("12 of 12 passed", out)
        self.assertEqual(len(again), 12 - have)

    def test_replies_without_code(self):
        out, _, _ = self.asked(1, lambda t, i: "I would rather not.", status=1)
        self.assertIn("HumanEval/0: failed: the reply holds no code", out)

    def test_forgeries_fail(self):
        for solution in FORGERIES:
            with self.subTest(solution=solution):
                out, _, _ = self.asked(1, lambda t, i: fence(t["prompt"] + solution),
                                       "--task-time", "5s", status=1)
                self.assertIn("0 of 1 passed", out)

    def test_scripted(self):
        """One asker, from the first turn on, and again where only a part is there."""
        tasks = [json.loads(line) for line in self.tasks(4).splitlines()]
        model = self.script(*["expect: " + t["entry_point"] + "\n" + self.whole(t) for t in tasks])
        results = self.path("r.jsonl")
        for count in (0, 3):
            if count:
                with open(results) as f:
                    lines = f.readlines()
                with open(results, "w") as f:
                    f.writelines(lines[:count])
            status, out, err = self.eval(self.tasks(4), "--model", model, "--results", results)
            self.assertEqual(status, 0, out + err)
            self.assertIn("4 of 4 passed", out)

    def test_signal_at_the_model(self):
        over = threading.Event()
        self.addCleanup(over.set)
        with Oracle(lambda body: over.wait() and "x") as oracle:
            p = self.popen("eval", self.path("t.jsonl", self.tasks(2)), "--stepjail", self.fake,
                           "--model", "openai", "--model-name", "m", "--base-url", oracle.url,
                           env=self.env(STEPJAIL_API_KEY="k" * 20))
            self.assertTrue(wait_for(lambda: oracle.waiting))
            p.send_signal(signal.SIGTERM)
            _, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 143)
        self.one_line(err.decode(), "ended by SIGTERM")


class Oracle:
    """A server of chat completions, as many requests at a time as come."""

    def __init__(self, answer):
        oracle = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                oracle.waiting.append(body)
                with oracle.lock:
                    said = answer(body)
                status = said if isinstance(said, int) else 200
                kind = "application/json"
                data = json.dumps({"choices": [{"message": {"role": "assistant", "content": said},
                                                "finish_reason": "stop"}]}).encode()
                if body.get("stream") and status == 200:
                    kind = "text/event-stream"
                    pieces = [{"delta": {"content": said}}, {"delta": {}, "finish_reason": "stop"}]
                    data = b"".join(b"data: %s\n\n" % json.dumps({"choices": [p]}).encode()
                                    for p in pieces) + b"data: [DONE]\n\n"
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass

            def log_message(self, *args):
                pass

        self.lock, self.waiting = threading.Lock(), []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # who asked may be killed
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


if __name__ == "__main__":
    unittest.main()
