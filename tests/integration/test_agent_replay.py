#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_replay.py - a transcript's code run again by the real stepjail"""
import hashlib
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import CSV, QUESTION, SCRIPT, AgentCase, chained, fence  # noqa: E402
import test_agent_real  # noqa: E402

SAME, DIFFERS, CUT = 0, 1, 2


class ReplayCase(test_agent_real.Installed, AgentCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.record = self.path("t.jsonl")

    def solve_for_real(self, *args, status=0):
        got, out, err = self.run_agent("solve", QUESTION, "--stepjail", self.stepjail,
                                       *self.missing, "--transcript", self.record, *args)
        self.assertEqual(got, status, out + err)

    def run_steps(self, *codes, more=()):
        self.solve_for_real("--model", self.script(*map(fence, codes), "Done."), *more)

    def repl(self, script, *more):
        with open(self.path("s", script)) as stdin:
            return self.run_agent("repl", "--stepjail", self.stepjail, *self.missing,
                                  "--transcript", self.record, *more, stdin=stdin)

    def events(self):
        with open(self.record) as f:
            return [json.loads(line) for line in f]

    def rewrite(self, change):
        """The record made anew; @change gets its events and may edit them."""
        events = self.events()
        change(events)
        with open(self.record, "wb") as f:
            f.write(b"".join(chained(events)))
        self.assertEqual(self.run_agent("verify", self.record)[0], 0)

    def edit_code(self, step, old, new):
        def change(events):
            (one,) = [e for e in events if e["event"] == "code" and e["step"] == step]
            self.assertIn(old, one["code"])
            one["code"] = one["code"].replace(old, new)
        self.rewrite(change)

    def replay(self, *args, status=SAME, missing=None):
        got, out, err = self.run_agent("replay", self.record, "--stepjail", self.stepjail, *args,
                                       *(self.missing if missing is None else missing))
        self.assertEqual(got, status, out + err)
        return out if got < 125 else err


class Demo(ReplayCase):
    def setUp(self):
        super().setUp()
        self.csv = shutil.copy(CSV, self.path("penguins.csv"))
        os.chmod(self.csv, 0o644)
        self.solve_for_real("--file", self.csv, "--model", f"scripted:{SCRIPT}")

    def test_policy(self):
        """Its options are those of each jail, and the agent's own come first."""
        self.record = self.path("policy.jsonl")
        policy = self.path("policy", "hostname given\nmemory 64M\nwall-time 1ms\n")
        self.run_steps("import socket; print(socket.gethostname())", more=("--policy", policy))
        step = [e for e in self.events() if e["event"] == "step"][0]
        self.assertIn("given\n", json.dumps(step).replace("\\n", "\n"))
        self.assertIn("--memory 512M", self.replay("--policy", policy))
        self.assertIn("step 1: differs", self.replay(status=DIFFERS))

    def test_nothing_differs(self):
        out = self.replay()
        self.assertEqual([f"step {n}: the same" for n in (1, 2, 3)], out.splitlines()[-4:-1])
        self.assertIn("3 steps run again: nothing differs", out)
        self.assertNotIn("plan", out)

    def test_options_are_shown_as_they_are_given(self):
        os.unlink(self.record)
        self.run_steps("print(1)", more=("--deterministic", "--seed", "7"))
        self.assertIn(" --deterministic yes --seed 7 ", self.replay().splitlines()[0])

    def test_from_another_folder(self):
        os.chdir("/")
        self.addCleanup(os.chdir, self.folder)
        self.assertNotIn("plan", self.replay())

    def test_changed_program(self):
        self.edit_code(3, 'row["body_mass_g"]:', 'row["body_mass_g"] > "4":')
        out = self.replay(status=DIFFERS)
        self.assertEqual(out.count("step 1: the same") + out.count("step 2: the same"), 2)
        self.assertIn("step 3: differs\nstdout was ", out)
        self.assertIn("it differs from line 1 on\n  - Gentoo: 5076.0 g from 123 birds\n  + Gentoo: ",
                      out)
        self.assertIn("3 steps run again: 1 difference\n", out)

    def test_changed_file(self):
        with open(self.csv, "a") as f:
            f.write("Adelie,Dream,1,1,1,9999,male,2009\n")
        err = self.replay(status=125)
        self.one_line(err, self.csv, "has changed: its sha256 was", "--file")
        out = self.replay("--file", self.csv, status=DIFFERS)
        self.assertIn("it has changed: its sha256 was ", out)
        self.assertIn("  - 344 rows", out)
        self.assertIn("  + 345 rows", out)

    def test_unknown_file(self):
        other = self.path("other.csv", "x")
        self.one_line(self.replay("--file", other, "--file", self.csv, status=125), f"--file: {other}: the transcript",
                      "no file that is called other.csv")
        self.record = self.path("r.jsonl")
        self.repl(":put " + self.path("put.txt", "x") + "\n")
        self.assertIn("nothing to compare", self.replay("--file", self.path("put.txt")))
        self.one_line(self.replay("--file", other, status=125), "no file that is called other.csv")

    def test_moved_file(self):
        os.mkdir(self.path("moved"))
        there = shutil.move(self.csv, self.path("moved/penguins.csv"))
        self.one_line(self.replay(status=125), self.csv, "No such file", "--file")
        self.assertIn("nothing differs", self.replay("--file", there))

    def test_cut_short(self):
        with open(self.record, "rb") as f:
            lines = f.readlines()
        for count, again, words in (
                (8, "2 steps run again: nothing differs\n", "up to line 8"),
                (7, "1 step run again: nothing differs, but 1 cut off and not compared\n",
                 "the last step was cut off, and is not compared: its end is not recorded"),
                (1, "0 steps run again: nothing to compare\n", "up to line 1 ")):
            with open(self.record, "wb") as f:
                f.writelines(lines[:count])
            out = self.replay(status=CUT)
            self.assertIn(again, out)
            self.assertIn(words, out)

    def test_changed_record_is_not_run(self):
        with open(self.record, "rb") as f:
            lines = f.readlines()
        lines[9] = lines[9].replace(b'"step":3', b'"step":4')
        with open(self.record, "wb") as f:
            f.writelines(lines)
        err = self.replay(status=125)
        self.one_line(err, "line 10 is wrong: it was altered", "only what was recorded")

    def test_a_mode_that_is_gone(self):
        """An older agent recorded thoughts beside the steps, which are steps like all others."""
        def change(events):
            events[0]["mode"] = "react"
            for at, e in reversed(list(enumerate(events))):
                if e["event"] == "code":
                    events.insert(at, {"event": "thought", "step": e["step"], "thought": "I read."})
                elif e["event"] == "step":
                    e["thought"] = "I read."
        self.rewrite(change)
        self.assertIn("3 steps run again: nothing differs", self.replay())
        got, out, err = self.run_agent("transcripts", "show", self.record)
        self.assertEqual((got, err), (0, ""))
        self.assertIn("step 3", out.lower())

    def test_another_tree(self):
        def change(events):
            (one,) = [e for e in events if e["event"] == "session"]
            one["root_sha256"] = "0" * 64
        self.rewrite(change)
        self.assertIn("the root tree differs: its sha256 was 0000",
                      self.replay(status=DIFFERS))


class Structure(ReplayCase):
    def test_deaths(self):
        """Rolled back then, rolled back now: what follows starts from the same."""
        self.run_steps("x = [1]", "import os; x.append(2); os._exit(3)", "print(x)",
                       "x = 5; 1/0", "import os; del x; os.kill(os.getpid(), 9)",
                       "print(x)", "import time; time.sleep(60)", "print(x, 'time' in globals())",
                       more=("--step-time", "3s"))
        states = [e["state"] for e in self.events() if e["event"] == "step"]
        self.assertEqual(states.count("rolled-back"), 2)
        self.assertIn("8 steps run again: nothing differs", self.replay())

    def test_a_death_that_does_not_happen(self):
        """The recorded state is gone back to, so only the step itself differs."""
        self.run_steps("x = [1]", "import os; x.append(2); os._exit(3)", "print(x)", "print(x)")
        self.edit_code(2, "os._exit(3)", "print(x)")
        out = self.replay(status=DIFFERS)
        self.assertIn("step 2: differs\nverdict was exited, is completed\n"
                      "state was rolled-back, is kept\nstate_number was 1, is 2\n"
                      "exit_code was 3, is 0\nstdout was 0 bytes, is 7: it differs from line 1 on\n"
                      "  - \n  + [1, 2]\n", out)
        self.assertIn("step 3: the same", out)
        self.assertIn("1 difference\n", out)

    def test_stateless(self):
        self.run_steps("x = 1\nprint(x)", "print('x' in globals())", "import os; os._exit(2)",
                       more=("--stateless",))
        self.assertIn("3 steps run again: nothing differs", self.replay())
        self.edit_code(2, "globals()", "'x'")
        self.assertIn("step 2: differs", self.replay(status=DIFFERS))

    def test_prompt(self):
        self.path("put.txt", "of mine")
        self.repl("x = 1\nx = 2\n:branch side 1\nprint(x)\nx = 7\n:switch main\nprint(x)\n"
                  ":rollback 1\nprint(x)\n:switch side\nprint(x)\n:switch main\n:drop side\n"
                  f":put {self.path('put.txt')} p\nprint(open('/work/p').read())\n"
                  ":reset\nprint('x' in globals())\n:branch again\nprint(1/0)\n")
        self.assertIn("10 steps run again: nothing differs", self.replay())
        self.path("put.txt", "of yours")
        out = self.replay(status=DIFFERS)
        self.assertIn(":put cannot be repeated", out)
        self.assertIn("has changed: its sha256 was", out)
        out = self.replay("--file", self.path("put.txt"), status=DIFFERS)
        self.assertIn("  - of mine\n  + of yours", out)

    def test_by_nature(self):
        self.run_steps("import os, time\nprint(time.time_ns())", "print('always')")
        out = self.replay(status=DIFFERS)
        self.assertIn("step 1: differs\nstdout was 20 bytes, is 20", out)
        self.assertIn("step 2: the same", out)

    def test_not_to_be_run_again(self):
        """What the task's own time ended: a state stands in for it."""
        self.run_steps_until_late()
        out = self.replay()
        self.assertIn("step 2: cut off (task-limit), and not compared", out)
        self.assertIn("1 step run again: nothing differs, but 1 cut off and not compared", out)

    def run_steps_until_late(self):
        for seconds in (2, 15, 50):
            self.solve_for_real("--model", self.script(fence("x = 1"),
                                                       fence("import time\nx = 2\ntime.sleep(600)")),
                                "--wall-time", f"{seconds}s", status=124)
            if [e["step"] for e in self.events() if e["event"] == "code"] == [1, 2]:
                return  # on a busy host the time may be over before
            os.unlink(self.record)

    def test_output_that_is_not_kept(self):
        """A change in the middle, which no one keeps, is seen by its digest."""
        code = "import sys\nsys.stdout.write('a' * 20000 + 'X' + 'b' * 20000)"
        self.run_steps(code)
        self.replay()
        self.edit_code(1, "'X'", "'Y'")
        self.assertIn("differs after the part that is kept", self.replay(status=DIFFERS))

    def test_hostile_output_is_escaped(self):
        self.run_steps(r"print('\x1b[2Jold\u202e')")
        self.edit_code(1, "old", "new")
        out = self.replay(status=DIFFERS)
        self.assertIn("  - \\x1b[2Jold\\u202e\n  + \\x1b[2Jnew\\u202e\n", out)
        self.assertNotIn("\x1b", out)


class Strangers(ReplayCase):
    """A transcript is a stranger's words."""

    def setUp(self):
        super().setUp()
        self.run_steps("print(1)")

    def refused(self, change, *words):
        self.rewrite(change)
        self.one_line(self.replay(status=125), *words)

    def jail(self, events):
        return events[0]["inputs"]

    def test_policy_is_never_theirs(self):
        """A file that the transcript names is not opened: it could hold any option."""
        policy = self.path("theirs", "bind-rw %s:/work/x\nno-such-option 1\n" % self.path("."))
        self.rewrite(lambda e: self.jail(e).update(options={"policy": policy}))
        self.assertNotIn("policy", self.replay())
        self.assertIn("'no-such-option' is not an option", self.replay("--policy", policy, status=125))

    def test_options_that_solve_does_not_have(self):
        for name in ("bind-rw", "bind", "report", "wall-time", "stepjail", "", "memory "):
            with self.subTest(name=name):
                self.refused(lambda e: self.jail(e).update(options={name: "x"}),
                             "what its jails were made with", f": --{name}=x: no such option")
        for name, words in (("rootfs", "given twice"), ("step-time", "given twice"),
                            ("file", "is invalid"), ("stateless", "'x' is not one of"),
                            ("format", "no such option"), ("skills", "is missing")):
            with self.subTest(name=name):
                self.refused(lambda e: self.jail(e).update(options={name: "x"}), words)
        for value in (7, None, [], "", {}):
            self.refused(lambda e: self.jail(e).update(options={"memory": value}),
                         "--memory: needs a value")
        self.refused(lambda e: self.jail(e).update(options=["--bind-rw=/:/"]), ": --=--bind-rw")

    def test_it_gives_up_no_wall(self):
        if not self.missing:
            self.rewrite(lambda e: self.jail(e).update(options={"allow-missing": "cgroup"}))
            self.assertNotIn("allow-missing", self.replay())
            return
        self.assertIn("cgroup", self.replay(missing=[], status=125))
        self.assertIn("--allow-missing cgroup", self.replay().splitlines()[0])

    def test_files_that_it_names(self):
        secret = self.path("secret", "of the host")
        file = {"path": secret, "name": "secret", "bytes": 11, "sha256": "0" * 64}
        self.refused(lambda e: self.jail(e).update(files=[file]), "has changed: its sha256 was")
        file.update(path=self.path("nowhere"), name="nowhere")
        self.refused(lambda e: self.jail(e).update(files=[file]), "No such file")
        self.refused(lambda e: self.jail(e).update(files=[{"name": 1}]), "is invalid")
        with open(CSV, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        file = {"path": CSV, "name": "other", "bytes": 1, "sha256": digest}
        self.refused(lambda e: self.jail(e).update(files=[file]), "is invalid")
        self.refused(lambda e: self.jail(e).update(files=[{
            **file, "path": self.folder, "name": os.path.basename(self.folder)}]), "a folder, and a transcript may not choose one")
        self.refused(lambda e: self.jail(e).update(files=[{
            **file, "path": "/dev/null", "name": "null"}]), "not a regular file")
        self.refused(lambda e: self.jail(e).update(files=[{
            **file, "path": "passwd", "name": "passwd"}]), "came by a pipe")
        file["name"] = "penguins.csv"
        self.refused(lambda e: self.jail(e).update(files=[file] * 257), "more than 256 times")

    def test_what_makes_no_sense(self):
        for change, words in (
                (lambda e: e[0].pop("inputs"), "what its jails were made with"),
                (lambda e: self.jail(e).update(step_ms=1), "what its jails were made with"),
                (lambda e: self.jail(e).update(step_ms="60"), "what its jails were made with"),
                (lambda e: self.jail(e).update(rootfs=""), "what its jails were made with"),
                (lambda e: [x for x in e if x["event"] == "code"][0].pop("code"), "without"),
                (lambda e: [x for x in e if x["event"] == "code"][0].update(code="x" * (1 << 19)),
                 "without its code"),
                (lambda e: e.insert(2, {"event": "command", "command": "shell", "branch": 0,
                                        "state": 0}), "unknown command"),
                (lambda e: e.insert(2, {"event": "command", "command": "rollback", "branch": -1,
                                        "state": 0}), "unknown command"),
                (lambda e: e.remove([x for x in e if x["event"] == "code"][0]), "without its code"),
                (lambda e: self.jail(e).update(rootfs="no-such-tree"), "no-such-tree")):
            with open(self.record, "rb") as f:
                before = f.read()
            self.refused(change, words)
            with open(self.record, "wb") as f:
                f.write(before)


if __name__ == "__main__":
    unittest.main()
