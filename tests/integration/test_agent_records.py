#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_records.py - records that are whole: every field, every step, also of runs cut off"""
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, AgentCase, chained, fence, wait_for  # noqa: E402
from record_schema import FAILURE, REPORT, SOLVE, wrong, wrong_line  # noqa: E402
from test_agent_real import Installed  # noqa: E402

BEGUN = "print('begun', flush=True); open({!r}, 'w').close(); import time; time.sleep(600)"


class RecordCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.record = self.path("t.jsonl")
        self.args = ["--stepjail", self.fake, "--transcript", self.record]

    def good(self, value, kind):
        self.assertEqual(wrong(value, kind), [])

    def events(self, path=None):
        with open(path or self.record, "rb") as f:
            events = [json.loads(line) for line in f]
        for event in events:
            self.assertEqual(wrong_line(event), [], event)
        return events

    def step_events(self):
        return [e for e in self.events() if e["event"] == "step"]

    def agent(self, command, status, *args):
        got, out, err = self.run_agent(command, *args)
        self.assertEqual((got, err), (status, ""), out)
        return out

    def verified(self, words):
        self.assertIn(words, self.agent("verify", 0, self.record))


class Whole(RecordCase):
    def begin(self, command, code, *args, **how):
        """Start it, and wait for the step that marks that it has begun."""
        mark = self.path("mark")
        p = self.popen(*command, *self.args, *args, **how)
        if code:
            p.stdin.write(code.encode())
            p.stdin.flush()
        self.assertTrue(wait_for(lambda: os.path.exists(mark)))
        return p

    def end(self, p, number, status):
        p.send_signal(number)
        out, err = p.communicate(timeout=120)
        self.assertEqual(p.returncode, status, err)
        return out.decode(), err.decode()

    def cut_off(self, step, **more):
        self.assertEqual({name: step[name] for name in ("verdict", "ended_by", *more)},
                         {"verdict": "cancelled", "ended_by": "signal", **more})

    def test_solve_that_a_signal_ends(self):
        script = self.script(fence("x = 1"), fence(BEGUN.format(self.path("mark"))))
        for number, status, state, more in ((signal.SIGINT, 130, "rolled-back", ()),
                                            (signal.SIGTERM, 143, "not-kept", ("--stateless",))):
            with self.subTest(number=number):
                for name in ("t.jsonl", "mark"):
                    if os.path.exists(self.path(name)):
                        os.unlink(self.path(name))
                p = self.begin(["solve", "The task."], None, "--json", "--model", script, *more)
                out, _ = self.end(p, number, status)
                got = json.loads(out)
                self.good(got, SOLVE)
                self.assertEqual((got["outcome"], got["status"], len(got["steps"])),
                                 ("stopped", status, 2))
                self.assertEqual(got["budget"]["steps"]["used"], 2)
                step = self.step_events()[-1]
                self.cut_off(step, state=state)
                self.assertEqual(step["stdout"]["head"], "begun\n")
                self.assertEqual(got["steps"][1]["stdout"], step["stdout"])
                self.verified("2 steps, 1 of them cut off")
                shown = self.agent("transcripts", 0, "show", self.record)
                self.assertIn("cancelled: a signal ended the run while this step ran", shown)
                again = self.agent("replay", 0, "--stepjail", self.fake, self.record)
                self.assertIn("step 2: cut off (signal), and not compared", again)
                self.assertIn("1 step run again: nothing differs, but 1 cut off and not compared",
                              again)

    def test_no_step_is_whole(self):
        script = self.script(fence(BEGUN.format(self.path("mark"))))
        self.end(self.begin(["solve", "The task."], None, "--model", script), signal.SIGTERM, 143)
        self.verified("1 step, 1 of them cut off")
        self.assertIn("0 steps run again: nothing to compare, but 1 cut off and not compared",
                      self.agent("replay", 0, "--stepjail", self.fake, self.record))

    def test_repl_that_a_signal_ends(self):
        code = "x = 1\n" + BEGUN.format(self.path("mark")) + "\n\n"
        p = self.begin(["repl"], code, stdin=subprocess.PIPE)
        self.end(p, signal.SIGTERM, 143)
        self.cut_off(self.step_events()[-1], state="rolled-back")
        self.verified("1 of them cut off")

    def test_task_limit(self):
        status, out, err = self.solve("--json", "--transcript", self.record, "--wall-time", "3s",
                                      "--model", self.script(fence("import time; time.sleep(60)")))
        self.assertEqual(status, 124, err)
        (step,) = json.loads(out)["steps"]
        self.assertEqual((step["ended_by"], step["verdict"], step["limit"]),
                         ("task-limit", "wall-timeout", "--wall-time of the task"))
        self.assertIn("(wall-clock limit: --wall-time of the task)", step["words"])
        self.assertIn("cut off (task-limit), and not compared",
                      self.agent("replay", 0, "--stepjail", self.fake, self.record))

    def test_stepjail_that_dies(self):
        got = self.steps("print(1)", "# FAKE_DIE\nimport time; time.sleep(60)", "print(2)",
                         more=("--transcript", self.record))
        self.good(got, SOLVE)
        self.assertEqual([(s["verdict"], s["state"], s["ended_by"]) for s in got["steps"]],
                         [("completed", "kept", None), ("launcher-error", "lost", "failure"),
                          ("completed", "kept", None)])
        self.assertEqual(len(self.step_events()), 3)
        self.verified("3 steps, 1 of them cut off")

    def test_guest(self):
        """Of --wall vm: the first frame is the host's, and tells of this guest; a later one is the guest's."""
        self.path("fake_guest", "")
        got = self.steps("# FAKE_DIE\nimport time; time.sleep(60)", "print(2)", more=("--transcript", self.record))
        self.good(got, SOLVE)
        told = [event["vm"]["qemu"] for event in self.events() if event["event"] == "session"]
        self.assertEqual(len(set(told)), 2)
        for words in told:
            self.assertRegex(words, "^of [0-9]+$")
        self.assertEqual(got["jail"]["vm"]["qemu"], told[1])
        self.verified("2 steps")

    def test_stepjail_that_dies_for_good(self):
        """No jail for the next step: the one that had begun is in the record all the same."""
        code = f"# FAKE_DIE\nimport os, time; os.unlink({self.fake!r}); time.sleep(60)"
        status, out, _ = self.solve("--json", "--transcript", self.record, "--model",
                                    self.script(fence(code)))
        self.assertEqual(status, 125)
        self.good(json.loads(out), SOLVE)
        self.assertEqual([s["ended_by"] for s in self.step_events()], ["failure"])
        self.assertEqual(json.loads(out)["outcome"], "failed")

    def test_replies_that_are_no_step(self):
        got = self.steps("", more=("--transcript", self.record))
        self.good(got, SOLVE)
        self.assertEqual([s["code"] for s in got["steps"]], [None])
        self.events()


class Origin(RecordCase):
    def test_who_and_what(self):
        got = self.steps("print(1)", more=("--transcript", self.record))
        self.good(got, SOLVE)
        start = self.events()[0]
        for record in (got, start):
            self.assertEqual((record["host"], record["uid"]), (socket.gethostname(), os.getuid()))
            self.assertEqual(record["argv"][:3], [AGENT, "solve", "The task."])
            self.assertEqual(record["model"], {"provider": "scripted", "name": None,
                                               "base_url": None,
                                               "script": self.path("script.turns"), "vision": False})
        self.assertEqual(start["format"], 2)
        version = self.run_agent("--version")[1]
        self.assertEqual(version.splitlines()[0], f"stepjail-agent {got['stepjail_agent']}")

    def test_a_server(self):
        mock, out, _ = self.ask([{"say": "Done."}], "--json", "--transcript", self.record)
        self.assertEqual(json.loads(out)["model"],
                         {"provider": "openai", "name": "m", "base_url": mock.url,
                          "script": None, "vision": False})
        self.events()

    def test_prose(self):
        turn = "First I look.\n" + fence("print(1)") + "\nThen I see.\n"
        more = ("--model", self.script(turn, "Done."), "--transcript", "none")
        status, out, _ = self.solve("--json", *more)
        self.assertEqual(json.loads(out)["steps"][0]["prose"].split(),
                         "First I look. Then I see.".split())
        status, out, _ = self.solve(*more)
        self.assertIn("  : First I look.\n", out)
        self.assertIn("  : Then I see.\n", out)


class Failures(RecordCase):
    """--json, and nothing has begun: one object, and the line on stderr."""

    def test_before_the_first_step(self):
        script = self.script("Done.")
        rows = [(("--json", "--stepz", "1"), "--stepz"),
                (("--stepz", "1", "--json"), "--stepz"),
                (("--json", "--file", "/no/such"), "/no/such"),
                (("--json", "--model", script, "--rootfs", "broken"), "did not start"),
                (("--json", "--model", script, "--transcript", "/no/such/t"), "/no/such/t"),
                (("--json", "--model", "nobody"), "'nobody' is no model")]
        for args, words in rows:
            with self.subTest(args=args):
                status, out, err = self.solve(*args)
                self.assertEqual((status, out.count("\n")), (125, 1))
                self.one_line(err[err.index("stepjail-agent: "):], words)
                got = json.loads(out)
                self.good(got, FAILURE)
                self.assertEqual((got["outcome"], got["status"]), ("failed", 125))
                self.assertTrue(err.endswith(f"stepjail-agent: {got['error']}\n"), err)
        status, out, err = self.solve("--model", "nobody", "--", "--json")
        self.assertEqual((status, out), (125, ""))

    def test_another_stepjail(self):
        self.path("fake_version", "0.0.9")
        for more in ((), ("--stateless",)):
            status, out, err = self.solve("--model", self.script(fence("print(1)")), *more)
            self.assertEqual(status, 125)
            self.one_line(err, "stepjail-agent 0.1.0, and its stepjail is 0.0.9", "--stepjail PATH")


class Other(RecordCase):
    """Transcripts of another release's format."""

    def test_named(self):
        self.steps("print(1)", more=("--transcript", self.record))
        with open(self.record, "rb") as f:
            events = [json.loads(line) for line in f]
        for format, said in ((3, 3), (None, 0)):
            events[0].update(format=format)
            with open(self.record, "wb") as f:
                f.write(b"".join(chained(events)))
            words = f"line 1 is wrong: it has format {said}, of another release; this one reads 1 and 2"
            self.assertIn(words, self.agent("verify", 1, self.record))
            self.assertIn(words, self.agent("transcripts", 1, "show", self.record))
            self.assertIn(words, self.run_agent("replay", "--stepjail", self.fake, self.record)[2])
            self.assertIn("  of another release  " if said else "  changed  ",
                          self.agent("transcripts", 0, "list", os.path.dirname(self.record)))


class Earlier(RecordCase):
    """Transcripts of format 1: read with today's names."""

    def older(self, *codes, cut=False):
        self.steps(*codes, more=("--transcript", self.record))
        names = {"stdout": "output", "stderr": "error", "state_number": "head",
                 "memory_peak_bytes": "max_rss_bytes", "inputs": "jail"}
        with open(self.record, "rb") as f:
            events = [json.loads(line) for line in f]
        if cut:
            del events[-3:-1]
        for event in events:
            for name in ("violations", "ended_by", "limit", "stepjail_agent", "argv"):
                event.pop(name, None)
            for now, was in names.items():
                if now in event:
                    event[was] = event.pop(now)
            if event["event"] == "step":
                event.update(signal=event["signal"] or 0, exit_code=event["exit_code"] or 0,
                             violation=event["violation"] or "")
        events[0].update(format=1, model="model: scripted")
        with open(self.record, "wb") as f:
            f.write(b"".join(chained(events)))

    def test_read(self):
        self.older("print(1)", "import os; os._exit(3)", "import os; os._exit(0)", "raise ValueError",
                   "import os; os.kill(os.getpid(), 9)")
        self.assertIn("5 steps, sha256", self.agent("verify", 0, self.record))
        shown = self.agent("transcripts", 0, "show", self.record)
        self.assertRegex(shown, r"(?m)^recorded: solve \S+ model: scripted$")
        self.assertIn("  | 1\n", shown)
        self.assertIn("5 steps run again: nothing differs\n",
                      self.agent("replay", 0, "--stepjail", self.fake, self.record))

    def test_a_step_without_an_end(self):
        self.older("print(1)", "print(2)", cut=True)
        self.assertIn("2 steps, the last of them without an end",
                      self.agent("verify", 0, self.record))
        self.assertIn("1 step run again: nothing differs, but 1 cut off and not compared\n",
                      self.agent("replay", 0, "--stepjail", self.fake, self.record))
        self.assertIn("the last step was cut off: its end is not recorded",
                      self.agent("transcripts", 0, "show", self.record))


class Real(Installed, RecordCase):
    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)

    def run_real(self, *codes, more=(), status=0):
        turns = [fence(c) for c in codes] + ["Done."]
        got, out, err = self.solve("--model", self.script(*turns), "--transcript", self.record,
                                   *self.missing, *more)
        self.assertEqual(got, status, err)
        return out, err

    def test_refused_calls(self):
        code = "import os\nfor _ in range(3): os.system('ls')"
        out, _ = self.run_real(code, more=("--json",))
        got = json.loads(out)
        self.good(got, SOLVE)
        (step,) = got["steps"]
        line = "refused: execve x3 (--lock-code=no allows it)\n"
        self.assertIn(line, step["observation"])
        (kind,) = step["violations"]["list"]
        self.assertEqual((step["violation"], kind["syscall"], kind["count"], len(kind["args"])),
                         ("execve", "execve", 3, 6))
        self.assertEqual(self.step_events()[0]["violations"], step["violations"])
        self.assertIn(line, self.agent("transcripts", 0, "show", self.record))
        self.assertEqual(f"{os.path.basename(self.record)}  step 1  {line[:-1]}  scripted  The task.\n",
                         self.agent("transcripts", 0, "violations", os.path.dirname(self.record)))
        with open(self.path("script", code + "\n")) as stdin:
            _, _, err = self.run_agent("repl", "--stepjail", self.stepjail, "--transcript", "none",
                                       *self.missing, stdin=stdin)
        self.assertIn(line, err)

    def test_the_jail_is_told(self):
        out, err = self.run_real("print(1)", more=("--json",))
        jail = json.loads(out)["jail"]
        session = next(e for e in self.events() if e["event"] == "session")
        self.assertEqual(jail, {name: session[name] for name in jail})
        line = "stepjail-agent: warning: not enforced on this host: memory.max, "
        self.assertEqual(bool(jail["not_enforced"]), bool(self.missing))
        self.assertEqual("memfd_create" in jail["shut"], bool(self.missing))
        self.assertEqual(err.count(line), len(self.missing) // 2)
        os.unlink(self.record)
        self.assertNotIn("warning", self.run_real("print(1)", more=("--quiet",))[1])
        os.unlink(self.record)
        out, err = self.run_real("print(1)", more=("--stateless", "--json"))
        self.assertEqual(err.count(line), len(self.missing) // 2)

    def test_limits_are_named(self):
        rows = (("import time; time.sleep(60)", ("--step-time", "1500ms"), "--step-time 1500ms"),
                ("while True: pass", ("--cpu-time", "1s"), "--cpu-time 1s"),
                ("while True: pass", ("--total-cpu-time", "1s"), "--total-cpu-time of the task"))
        for code, more, limit in rows:
            with self.subTest(limit=limit):
                if os.path.exists(self.record):
                    os.unlink(self.record)
                out, err = self.run_real(code, more=("--json", *more), status=0)
                (step,) = json.loads(out)["steps"]
                self.assertEqual(step["limit"], limit)
                self.assertIn(limit + ")", step["observation"].split("\n")[0])
                self.assertIn(limit + ")", err)

    def test_report_of_run(self):
        with open(self.path("report"), "w") as report:
            subprocess.run([self.stepjail, "run", *self.missing, "--rootfs", "core", "--report",
                            self.path("report"), "--", "/bin/python3", "-c",
                            "import os; os.system('ls')"], stderr=subprocess.DEVNULL, check=True)
            self.assertEqual(report.tell(), 0)
        with open(self.path("report")) as report:
            got = json.load(report)
        self.good(got, REPORT)
        self.assertEqual(got["violations"]["list"][0]["syscall"], "execve")


if __name__ == "__main__":
    unittest.main()
