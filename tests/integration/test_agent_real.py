#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_real.py - stepjail-agent with the real stepjail and its root tree"""
import gzip
import json
import os
import random
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import (BUILD, CSV, FORGERIES, HUMANEVAL, KEY, QUESTION,  # noqa: E402
                         SCRIPT, AgentCase, alive, family, fence, wait_for)


class Real(AgentCase):
    """The same with the real stepjail and its root tree."""

    @classmethod
    def setUpClass(cls):
        cls.stepjail = os.path.join(BUILD, "stepjail")
        if not os.path.exists(cls.stepjail) or \
                not os.path.exists(os.path.join(BUILD, "rootfs/core/bin/stepjail-python")):
            raise unittest.SkipTest(f"no stepjail or no rootfs/core in {BUILD}: make all rootfs")
        check = subprocess.run([cls.stepjail, "run", "--rootfs", "core", "--", "/bin/python3", "-c",
                                "pass"], capture_output=True)
        cls.missing = ["--allow-missing", "cgroup"] if check.returncode == 125 else []

    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)

    def test_demo(self):
        status, out, err = self.run_agent("solve", QUESTION, "--file", CSV, "--model",
                                          f"scripted:{SCRIPT}", "--stepjail", self.stepjail,
                                          *self.missing)
        self.assertEqual((status, err), (0, ""), out)
        self.assertIn("Gentoo penguins are the heaviest: 5076 g", out)

    def test_session(self):
        got = self.steps("x = 41\nx + 1", "import os; print(x, sorted(os.environ))",
                         "import os; os._exit(3)", "print(x)",
                         "import os; print(sorted(os.listdir('/proc/self/fd')))",
                         more=tuple(self.missing), env=self.env(STEPJAIL_API_KEY=KEY))
        steps = got["steps"]
        self.assertEqual(steps[0]["result"]["head"], "42")
        self.assertNotIn(KEY, json.dumps(got))
        self.assertEqual([s["state"] for s in steps],
                         ["kept", "kept", "variables-lost", "kept", "kept"])
        self.assertIn("NameError", steps[3]["traceback"]["head"])
        self.assertIn("<step 4>", steps[3]["traceback"]["head"])

    def test_time_limit(self):
        stubborn = "import time\nwhile True:\n    try:\n        time.sleep(60)\n" \
                   "    except BaseException:\n        pass"
        got = self.steps("x = 1", "import time; time.sleep(60)", "print(x)", stubborn, "print(2)",
                         more=("--step-time", "500ms", *self.missing))
        self.assertEqual([(s["verdict"], s["state"]) for s in got["steps"]],
                         [("completed", "kept"), ("wall-timeout", "kept"), ("completed", "kept"),
                          ("wall-timeout", "variables-lost"), ("completed", "kept")])
        self.assertEqual(got["jails"], 1)

    def test_memory(self):
        got = self.steps("x = []\nwhile True: x.append(bytearray(1 << 20))", "print(2)",
                         more=("--memory", "64M", *self.missing))
        first, second = got["steps"]
        self.assertIn(first["verdict"], ("memory", "exception", "signaled"))
        self.assertEqual(second["output"]["head"], "2\n")

    def test_interpreter_that_does_not_start(self):
        """What it said on its stderr, which stepjail keeps, says why."""
        status, _, err = self.run_agent("solve", "x", "--stepjail", self.stepjail, *self.missing,
                                        "--model", self.script("Done."), "--pids", "1")
        self.assertEqual(status, 125)
        self.one_line(err, "the jail did not start: stepjail-python: session: cannot fork")

    def test_kill_9_leaves_nothing(self):
        random.seed(11)
        for _ in range(20):
            p = self.popen("solve", "x", "--stepjail", self.stepjail, *self.missing, "--model",
                           self.script(fence("import time; time.sleep(100)"), "Done."))
            time.sleep(random.uniform(0, 0.08))
            pids = family(p.pid)
            p.kill()
            p.communicate(timeout=10)
            self.assertTrue(wait_for(lambda: not alive(pids), 2), alive(pids))

    def test_humaneval(self):
        tasks = self.path("tasks.jsonl", gzip.open(HUMANEVAL).read().decode())
        args = ("eval", tasks, "--stepjail", self.stepjail, *self.missing)
        status, out, err = self.run_agent(*args, timeout=300)
        self.assertIn("164 of 164 passed", out)
        self.assertEqual((status, err), (0, ""))
        status, out, err = self.run_agent(*args, "--broken", timeout=300)
        self.assertIn("0 of 164 passed", out)
        self.assertEqual(status, 1)

    def test_forgeries_fail(self):
        with gzip.open(HUMANEVAL) as f:
            task = json.loads(f.readline())
        for solution in FORGERIES:
            with self.subTest(solution=solution):
                task["canonical_solution"] = solution
                status, out, err = self.run_agent(
                    "eval", self.path("t.jsonl", json.dumps(task)), "--stepjail", self.stepjail,
                    "--task-time", "5s", *self.missing)
                self.assertEqual(status, 1, out + err)

    def test_flood_beside_the_verdict(self):
        """A solution is not failed for talking, and its last words are there."""
        with gzip.open(HUMANEVAL) as f:
            task = json.loads(f.readline())
        flood = "    import sys\n    for i in range(50): sys.stderr.write('x' * 1000000)\n"
        for end, passed in ((task["canonical_solution"], True),
                            ("    raise ValueError('last words')\n", False)):
            task["canonical_solution"] = flood + end
            status, out, err = self.run_agent(
                "eval", self.path("t.jsonl", json.dumps(task)), "--stepjail", self.stepjail,
                *self.missing)
            self.assertEqual(status, 0 if passed else 1, out + err)
            self.assertEqual("ValueError: last words" in out, not passed)


if __name__ == "__main__":
    unittest.main()
