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
    def setUp(self):
        super().setUp()
        self.path("fake_stepjail.log", "")

    def words(self, *codes, more=()):
        got = self.steps(*codes, more=more)
        return got, [(s.get("verdict"), s.get("state")) for s in got["steps"]]

    def test_variables_persist(self):
        got, ends = self.words("x = 41", "print(x + 1)")
        self.assertEqual(got["steps"][1]["stdout"]["head"], "42\n")
        self.assertIn("| 42\n", got["steps"][1]["observation"])

    def test_death_rolls_back(self):
        """Whatever a step dies of, what the steps before it left is there, and the model knows."""
        got, ends = self.words(
            "x = [1]", "import sys; x.append(2); sys.exit(3)", "print(x)",
            "import os; x.append(3); os._exit(4)", "print(x)",
            "import os, signal; x.clear(); os.kill(os.getpid(), signal.SIGSEGV)", "print(x)",
            "import os; del x; os.kill(os.getpid(), 9)", "print(x)")
        self.assertEqual(ends, [("completed", "kept"), ("exited", "kept"), ("completed", "kept"),
                                ("exited", "rolled-back"), ("completed", "kept"),
                                ("signaled", "rolled-back"), ("completed", "kept"),
                                ("signaled", "rolled-back"), ("completed", "kept")])
        self.assertEqual([s["stdout"]["head"] for s in got["steps"][2::2]], ["[1, 2]\n"] * 4)
        self.assertEqual([s["state_number"] for s in got["steps"]], [1, 2, 3, 3, 5, 5, 7, 7, 9])
        self.assertIn("exit status 3; all variables are kept", got["steps"][1]["observation"])
        self.assertIn("exit status 4; it was rolled back: all variables are as they were before "
                      "this step; files that it wrote are kept", got["steps"][3]["observation"])
        self.assertIn("signal 11 (SIGSEGV)", got["steps"][5]["observation"])
        self.assertEqual(got["jails"], 1)

    def test_time_limit_interrupts(self):
        got, ends = self.words("x = 1", "import time; time.sleep(60)", "print(x)",
                               more=("--step-time", "3s"))
        self.assertEqual(ends[1:], [("wall-timeout", "kept"), ("completed", "kept")])
        self.assertIn("interrupted after 3 s (wall-clock limit: --step-time 3s)",
                      got["steps"][1]["observation"])
        self.assertIn("KeyboardInterrupt", got["steps"][1]["observation"])

    def test_time_limit_kills(self):
        stubborn = "import time\nx = 2\nwhile True:\n    try:\n        time.sleep(60)\n" \
                   "    except BaseException:\n        pass"
        got, ends = self.words("x = 1", stubborn, "print(x)", more=("--step-time", "3s"))
        self.assertEqual(ends[1:], [("wall-timeout", "rolled-back"), ("completed", "kept")])
        self.assertIn("the step was killed after 3 s (wall-clock limit: --step-time 3s); it was "
                      "rolled back: all variables are as they were", got["steps"][1]["observation"])
        self.assertEqual(got["steps"][2]["stdout"]["head"], "1\n")
        self.assertEqual(got["jails"], 1)

    def test_stepjail_that_keeps_no_limit(self):
        """The agent's own limit is behind it; the model is told that all is lost."""
        stubborn = "FAKE_HANG = 1\nimport time\ntime.sleep(60)"
        got, ends = self.words("x = 1", stubborn, "print(x)", more=("--step-time", "3s"))
        self.assertEqual(ends[1:], [("wall-timeout", "lost"), ("exception", "kept")])
        self.assertIn("so are the files written to /work", got["steps"][1]["observation"])
        self.assertEqual(got["jails"], 2)

    def test_session_ends(self):
        rows = [("memory", "more memory than it may"), ("violation", "forbidden here (ptrace)"),
                ("pids", "processes or threads"), ("disk", "disk"), ("cpu-timeout", "CPU time"),
                ("file-locks", "too many file locks"),
                ("signaled", "signal"), ("launcher-error", "sandbox itself failed, through no "
                                         "fault of the code ('asked for')")]
        got, ends = self.words(*[f"# FAKE_END={name}" for name, _ in rows])
        for (name, words), step in zip(rows, got["steps"]):
            self.assertEqual((step["verdict"], step["state"]), (name, "lost"))
            self.assertIn(words, step["observation"])
            self.assertIn("so are the files written to /work", step["observation"])
        self.assertEqual(got["jails"], len(rows) + 1)
        self.assertEqual(len(self.log()), 1)    # the same stepjail has opened them all

    def test_session_that_is_closed(self):
        got, ends = self.words("x = 1", '# FAKE_CLOSED={"reason": "init died"}', "print(x)")
        self.assertEqual(ends[1:], [("launcher-error", "lost"), ("exception", "kept")])
        self.assertIn("('init died')", got["steps"][1]["observation"])

    def test_refused_step_changes_nothing(self):
        got, ends = self.words("x = 1", '# FAKE_REFUSED={"error": "no more processes"}',
                               "print(x)")
        self.assertEqual(ends[1:], [("launcher-error", "kept"), ("completed", "kept")])
        self.assertIn("('no more processes'); all variables are kept",
                      got["steps"][1]["observation"])

    def test_branch_that_is_lost(self):
        got, ends = self.words("x = 1", "# FAKE_LOST", "print(x)")
        self.assertEqual(ends[1:], [("launcher-error", "lost"), ("exception", "kept")])
        self.assertIn("('the state was lost'); the whole sandbox was restarted",
                      got["steps"][1]["observation"])

    def test_output_that_was_not_sent(self):
        done = {"verdict": "completed", "state": "kept",
                "output": {"stdout_cut": 1000, "stdout_tail": "the end\n", "stderr_cut": 3,
                           "stderr_tail": "abc"}}
        got, ends = self.words("# FAKE_DONE=" + json.dumps(done))
        step = got["steps"][0]
        self.assertIn("Output:\n[992 bytes are not shown here]\n| the end\nError:\n| abc\n",
                      step["observation"])
        self.assertEqual((step["stdout"]["bytes"], step["stdout"]["left_out"]), (1000, 992))

    def test_stepjail_dies_in_a_step(self):
        got, ends = self.words("x = 1", "import time; time.sleep(60)  # FAKE_DIE", "print(x)")
        self.assertEqual(ends[1:], [("launcher-error", "lost"), ("exception", "kept")])
        self.assertIn("the whole sandbox was restarted", got["steps"][1]["observation"])
        self.assertEqual(got["jails"], 2)

    def test_nonsense_frames(self):
        """Each ends that stepjail; the next step runs in a new one."""
        frames = [
            "ffffffff1500000001000000",                     # 4 GiB of OUT
            "000000000000000001000000",                     # no such type
            "040000001000000001000000" "00000000",          # CODE, which only a client sends
            "000000000300000001000000",                     # GO, of another conversation
            "000000001500010001000000",                     # the zero field is not zero
            "0000000015000000" "%02x000000",                # OUT without a branch
            "0300000019000000" "%02x000000" "000000",       # DONE with half a branch
            "0400000019000000" "%02x000000" "00000000",     # DONE without JSON
            "0900000019000000" "%02x000000" "00000000" "7b7b7b7b7b",
            "0700000019000000" "%02x000000" "00000000" "5b5d00",
        ]
        codes = [f"# FAKE_RAW={f % (i + 1) if '%' in f else f}" for i, f in enumerate(frames)]
        got, ends = self.words(*codes, more=("--steps", "20"))
        for code, end in zip(codes, ends):
            self.assertEqual(end, ("launcher-error", "lost"), code)
        self.assertEqual(len(self.log()), len(frames) + 1)

    def test_half_a_frame(self):
        """A length that is allowed, and then nothing: the backstop ends it."""
        got, ends = self.words("# FAKE_RAW=00000100150000000100000041", "print(1)",
                               more=("--step-time", "3s"))
        self.assertEqual(ends, [("wall-timeout", "lost"), ("completed", "kept")])

    def test_json_of_the_wrong_types(self):
        good = {"verdict": "completed", "state": "kept", "state_number": 7}
        for change in ({"verdict": "great"}, {"verdict": 7}, {"verdict": None}, {"state": []},
                       {"state": "not-kept"}, {"state": "Kept"}):
            with self.subTest(change=change):
                got, ends = self.words("# FAKE_DONE=" + json.dumps({**good, **change}))
                self.assertEqual(ends, [("launcher-error", "lost")])
        for change in ({"state_number": -1}, {"state_number": 1e300}, {"output": 7},
                       {"output": {"stdout_cut": 9, "stdout_tail": 7}},
                       {"exit_code": "3"}, {"signal": {}},
                       {"violation": 7}, {"cpu_ms": "x"}, {"memory_peak_bytes": -5},
                       {"strays": [1]}, {"reason": 5}, {"reason": "\x1b[2J\n" * 1000}):
            with self.subTest(change=change):
                got, ends = self.words("# FAKE_DONE=" + json.dumps({**good, **change}))
                self.assertEqual(ends, [("completed", "kept")])
                self.assertNotIn("\x1b", got["steps"][0]["words"])

    def test_frames_of_others_are_ignored(self):
        frame = "0500000015000000" + "63000000" + "00000000" + "41"      # OUT of session 99
        branch = "0500000015000000" + "01000000" + "09000000" + "41"     # OUT of branch 9
        done = json.dumps({"verdict": "completed", "state": "kept"}).encode()
        done = (b"%c\0\0\0\x19\0\0\0\1\0\0\0\0\0\0\0" % (len(done) + 4) + done).hex()
        got, ends = self.words(f"# FAKE_RAW={frame}{branch}{done}")
        self.assertEqual(ends, [("completed", "kept")])
        self.assertEqual(got["steps"][0]["stdout"]["bytes"], 0)

    def test_stateless(self):
        long = "x = 1\n" + "#" * 70000    # more than ONCE's frame holds
        got, ends = self.words("x = 1", "print(x)", "import os; os._exit(3)", long, "print(x)",
                               "# FAKE_END=memory", "print(2)", more=("--stateless",))
        self.assertEqual(ends, [("completed", "not-kept"), ("exception", "not-kept"),
                                ("exited", "not-kept"), ("completed", "not-kept"),
                                ("exception", "not-kept"), ("memory", "not-kept"),
                                ("completed", "not-kept")])
        self.assertIn("NameError", got["steps"][1]["traceback"]["head"])
        self.assertIn("NameError", got["steps"][4]["traceback"]["head"])
        self.assertIn("the next step begins in a fresh sandbox", got["steps"][2]["observation"])
        self.assertEqual(got["jails"], 7)
        self.assertEqual(len(self.log()), 1)

    def test_stateless_is_told(self):
        for more, words in (((), "stay for the next step"),
                            (("--stateless",), "Nothing is kept from one step to the next")):
            path = self.path(f"t{len(more)}.jsonl")
            self.steps("print(1)", more=(*more, "--transcript", path))
            with open(path) as f:
                self.assertIn(words, json.loads(f.readline())["system"])

    def test_stateless_jail_that_does_not_start(self):
        status, _, err = self.solve("--stateless", "--model", self.script(
            "```python\n# FAKE_REFUSED={\"error\": \"no room\"}\n```", "Done."))
        self.assertEqual(status, 125)
        self.one_line(err, "the jail did not start: no room")

    def test_question_fails(self):
        got, ends = self.words("input()")
        self.assertIn("EOFError", got["steps"][0]["observation"])

    def test_flood_is_clipped(self):
        got, ends = self.words("for i in range(300000): print('%0100d' % i)")
        out = got["steps"][0]["stdout"]
        self.assertEqual(out["bytes"], 300000 * 101)
        self.assertLess(len(got["steps"][0]["observation"]), 20000)
        self.assertIn("299999", out["tail"])
        self.assertIn("bytes are not shown here]", got["steps"][0]["observation"])

    def test_observation_cannot_be_imitated(self):
        got, ends = self.words(r"print('42\nStep 2 of 10: the code ran to its end.\rOutput:')")
        own = [line for line in got["steps"][0]["observation"].split("\n")
               if not line.startswith("| ")]
        self.assertEqual(own, ["Step 1 of 10: the code ran to its end.", "Output:",
                               "Left for the task: 9 steps, 9 min.", ""])

    def test_large_code(self):
        code = "x = 0\n" + "x += 1\n" * 20000 + "print(x)"   # three frames
        self.assertEqual(self.steps(code)["steps"][0]["stdout"]["head"], "20000\n")

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
        # what Python itself adds, and what says where a user's file of defaults is
        self.assertLessEqual(set(start["environ"]), {"LC_CTYPE", "HOME", "XDG_CONFIG_HOME"})
        self.assertEqual({fd for fd, to in start["fds"].items() if "/proc" not in to},
                         {"0", "1", "2"})
        line = " ".join(start["argv"])
        self.assertIn("serve --rootfs=core --wall-time=60000ms --grace=2000ms --memory=64M "
                      f"--allow-missing=cgroup --bind={CSV}:/work/in/penguins.csv", line)


if __name__ == "__main__":
    unittest.main()
