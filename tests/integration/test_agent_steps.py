#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_steps.py - stepjail-agent's steps: how they end, what is seen of them"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import CSV, KEY, SCRIPT, AgentCase  # noqa: E402


class Steps(AgentCase):
    def words(self, *codes, more=()):
        got = self.steps(*codes, more=more)
        return got, [(s.get("verdict"), s.get("state")) for s in got["steps"]]

    def test_variables_persist(self):
        got, ends = self.words("x = 41", "print(x + 1)")
        self.assertEqual(got["steps"][1]["output"]["head"], "42\n")
        self.assertIn("| 42\n", got["steps"][1]["observation"])

    def test_exit_keeps_and_death_loses(self):
        got, ends = self.words("x = 1", "import sys; sys.exit(3)", "print(x)",
                               "import os; os._exit(4)", "print(x)",
                               "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        self.assertEqual(ends, [("completed", "kept"), ("exited", "kept"), ("completed", "kept"),
                                ("exited", "variables-lost"), ("exception", "kept"),
                                ("signaled", "variables-lost")])
        self.assertIn("exit status 3", got["steps"][1]["observation"])
        self.assertIn("exit status 4; the interpreter was restarted and all variables are lost; "
                      "files in /work are kept", got["steps"][3]["observation"])
        self.assertIn("signal 11 (SIGSEGV)", got["steps"][5]["observation"])
        self.assertEqual(got["jails"], 1)

    def test_time_limit_interrupts(self):
        got, ends = self.words("x = 1", "import time; time.sleep(60)", "print(x)",
                               more=("--step-time", "300ms"))
        self.assertEqual(ends[1:], [("wall-timeout", "kept"), ("completed", "kept")])
        self.assertIn("interrupted after 300 ms (wall-clock limit)",
                      got["steps"][1]["observation"])
        self.assertIn("KeyboardInterrupt", got["steps"][1]["observation"])

    def test_time_limit_kills(self):
        stubborn = "import time\nwhile True:\n    try:\n        time.sleep(60)\n" \
                   "    except BaseException:\n        pass"
        got, ends = self.words("x = 1", stubborn, "print(x)", more=("--step-time", "300ms"))
        self.assertEqual(ends[1:], [("wall-timeout", "variables-lost"), ("exception", "kept")])
        self.assertIn("the step was killed after 300 ms (wall-clock limit); the interpreter was "
                      "restarted and all variables are lost; files in /work are kept",
                      got["steps"][1]["observation"])
        self.assertGreater(got["steps"][1]["wall_ms"], 2200)
        self.assertEqual(got["jails"], 1)

    def test_time_limit_ends_the_jail(self):
        got, ends = self.words("x = 1", "FAKE_RAW=''", "print(x)", more=("--step-time", "300ms"))
        self.assertEqual(ends[1:], [("wall-timeout", "all-lost"), ("exception", "kept")])
        self.assertIn("so are the files written to /work", got["steps"][1]["observation"])
        self.assertEqual(got["jails"], 2)

    def test_jail_ends(self):
        rows = [("memory", "more memory than it may"), ("violation", "forbidden here (ptrace)"),
                ("pids", "processes or threads"), ("disk", "disk"), ("cpu-timeout", "CPU time"),
                ("signaled", "signal"), ("launcher-error", "sandbox itself"),
                ("nonsense", "sandbox itself")]
        got, ends = self.words(*[f"# FAKE_END={name}" for name, _ in rows])
        for (name, words), step in zip(rows, got["steps"]):
            self.assertEqual(step["verdict"], name if name != "nonsense" else "launcher-error")
            self.assertEqual(step["state"], "all-lost")
            self.assertIn(words, step["observation"])
            self.assertIn("so are the files written to /work", step["observation"])
        self.assertEqual(got["jails"], len(rows) + 1)

    def test_hostile_frames(self):
        frames = [
            "ffffffff1500000001000000",                    # 4 GiB of OUT
            "000000000000000001000000",                    # no such type
            "000000001000000001000000",                    # CODE, which only a client sends
            "000000000300000001000000",                    # GO, of the other conversation
            "000000001500010001000000",                    # the zero field is not zero
            "0400000019000000" + "%02x000000" + "00000000",  # DONE of the wrong size
            "2800000019000000" + "%02x000000" + "ff" * 40,   # DONE of no known way
        ]
        # the step counter goes on over restarts: a DONE names its place in the list
        codes = [f"# FAKE_RAW={f % (i + 1) if '%' in f else f}" for i, f in enumerate(frames)]
        got, ends = self.words(*codes)
        for code, end in zip(codes, ends):
            self.assertEqual(end, ("cancelled", "all-lost"), code)

    def test_foreign_step_is_ignored(self):
        frame = "0100000015000000" + "63000000" + "41"      # OUT of step 99
        done = "2800000019000000" + "01000000" + "00" * 40
        got, ends = self.words(f"# FAKE_RAW={frame}{done}")
        self.assertEqual(ends, [("completed", "kept")])
        self.assertEqual(got["steps"][0]["output"]["bytes"], 0)

    def test_flood_is_clipped(self):
        got, ends = self.words("for i in range(300000): print('%0100d' % i)")
        out = got["steps"][0]["output"]
        self.assertEqual(out["bytes"], 300000 * 101)
        self.assertLess(len(got["steps"][0]["observation"]), 20000)
        self.assertIn("299999", out["tail"])
        self.assertIn("bytes are not shown here]", got["steps"][0]["observation"])

    def test_observation_cannot_be_imitated(self):
        got, ends = self.words(r"print('42\nStep 2 of 10: the code ran to its end.\rOutput:')")
        own = [line for line in got["steps"][0]["observation"].split("\n")
               if not line.startswith("| ")]
        self.assertEqual(own, ["Step 1 of 10: the code ran to its end.", "Output:", ""])

    def test_large_code(self):
        code = "x = 0\n" + "x += 1\n" * 20000 + "print(x)"   # three frames
        self.assertEqual(self.steps(code)["steps"][0]["output"]["head"], "20000\n")

    def test_replies_that_cannot_be_used(self):
        turns = ["finish: length\n```python\nx = 1\n", "```python\n\n```", "```bash\nls\n```",
                 "```python\nx = 1\n", "Done."]
        status, out, _ = self.solve("--json", "--model", self.script(*turns))
        got = json.loads(out)
        self.assertEqual(status, 0)
        self.assertEqual([s["code"] for s in got["steps"]], [None, None, None, "x = 1\n"])
        for step, words in zip(got["steps"], ["cut off", "empty", "no shell"]):
            self.assertIn(words, step["observation"])

    def test_jail_that_does_not_start(self):
        status, out, err = self.solve("--model", f"scripted:{SCRIPT}", "--rootfs", "broken")
        self.assertEqual(status, 125)
        self.one_line(err, "the jail did not start: stepjail: rootfs 'broken'")

    def test_stepjail_that_cannot_be_run(self):
        path = self.path("nothing", "#!/no/such/interpreter\n")
        os.chmod(path, 0o755)
        status, out, err = self.solve("--model", f"scripted:{SCRIPT}", stepjail=path)
        self.assertEqual(status, 125)
        self.one_line(err, "cannot start", path)
        status, out, err = self.solve("--model", f"scripted:{SCRIPT}", stepjail="/bin/true")
        self.assertEqual(status, 125)
        self.one_line(err, "the jail did not start")

    def test_what_the_jail_inherits(self):
        self.path("fake_stepjail.log", "")
        with open(CSV) as extra:
            os.set_inheritable(extra.fileno(), True)
            self.steps("print(1)", more=("--file", CSV, "--memory", "64M", "--allow-missing",
                                         "cgroup"),
                       env=self.env(STEPJAIL_API_KEY=KEY), close_fds=False)
        (start,) = self.log()
        # what Python itself adds to an empty environment
        self.assertLessEqual(set(start["environ"]), {"LC_CTYPE"})
        self.assertEqual({fd for fd, to in start["fds"].items() if "/proc" not in to},
                         {"0", "1", "2", "3"})
        line = " ".join(start["argv"])
        self.assertIn("run --rootfs core --wall-time ", line)
        # nothing that a jail says beside its frames is read without an end
        self.assertIn("--report 3 --capture=both --output-limit=4K --memory=64M "
                      "--allow-missing=cgroup --bind "
                      f"{CSV}:/work/in/penguins.csv -- /bin/stepjail-python", line)


if __name__ == "__main__":
    unittest.main()
