#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_transcripts.py - the folder of transcripts: listed, shown, and what is removed of it

What is in a transcript is in test_agent_transcript.py.
"""
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import CSV, QUESTION, SCRIPT, AgentCase, chained, fence, wait_for  # noqa: E402
from test_agent_hostile import bad  # noqa: E402

DAY = 86400
START = {"event": "start", "time": "2026-01-02T03:04:05.678Z", "format": 2}


class FolderCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.state = self.path("state/stepjail/transcripts")

    def transcripts(self, *args, status=0):
        got, out, err = self.run_agent("transcripts", *args)
        self.assertEqual(got, status, out + err)
        return out if got < 125 else err

    def put(self, name, events=(), age_s=0, size=None, shown=()):
        """A transcript of these events, written so long ago, and files that its steps showed."""
        os.makedirs(self.state, exist_ok=True)
        path = os.path.join(self.state, name)
        with open(path, "wb") as f:
            f.write(b"".join(chained(events)))
            f.truncate(f.tell() if size is None else size)
        if shown:
            os.mkdir(path + ".shown")
        for file in shown:
            with open(os.path.join(path + ".shown", file), "w") as f:
                f.write("x" * 100)
        now = os.stat(path).st_mtime_ns
        os.utime(path, ns=(now, now - age_s * 10**9))
        return path

    def names(self):
        return sorted(os.listdir(self.state))

    def listed(self):
        return json.loads(self.transcripts("list", "--json"))["transcripts"]


class List(FolderCase):
    def test_runs(self):
        self.assertEqual(self.solve("--model", self.script(fence("print(1)"), "Done."))[0], 0)
        with open(self.path("s", "x = 1\nx = 2\n")) as stdin:
            self.assertEqual(self.run_agent("repl", "--stepjail", self.fake, stdin=stdin)[0], 0)
        repl, solve = self.listed()
        self.assertEqual((solve["command"], solve["task"], solve["outcome"], solve["steps"]),
                         ("solve", "The task.", "answered", 1))
        self.assertEqual((repl["command"], repl["task"], repl["outcome"], repl["steps"]),
                         ("repl", "", "ended", 2))
        for one in (repl, solve):
            path = os.path.join(self.state, one["name"])
            self.assertEqual(one["bytes"], os.path.getsize(path))
            self.assertRegex(one["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        lines = self.transcripts("list").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[1], re.escape(f"{solve['time']}  {solve['name']}  solve  answered  1 step  ") +
                         r"[0-9.]+ KiB  The task\.$")

    def test_order_and_outcomes(self):
        end = {"event": "end", "outcome": "answered"}
        self.put("old.jsonl", [START, end], age_s=9 * DAY)
        self.put("new.jsonl", [START, end])
        self.put("cut.jsonl", [START, {"event": "step"}], age_s=DAY)
        self.put("empty.jsonl", age_s=2 * DAY)
        with open(self.put("edited.jsonl", [START, end], age_s=3 * DAY), "r+b") as f:
            f.write(b"[")
        os.utime(f.name, (1, time.time() - 3 * DAY))
        self.put("shown.jsonl", [START, end], age_s=5 * DAY, shown=("a", "b"))
        got = self.listed()
        self.assertEqual([(t["name"], t["outcome"]) for t in got],
                         [("new.jsonl", "answered"), ("cut.jsonl", "unfinished"), ("empty.jsonl", "unfinished"),
                          ("edited.jsonl", "changed"), ("shown.jsonl", "answered"), ("old.jsonl", "answered")])
        self.assertEqual(got[4]["bytes"], os.path.getsize(self.state + "/shown.jsonl") + 200)

    def test_what_is_none(self):
        self.path("secret", "x")
        self.put("good.jsonl", [START])
        os.symlink(self.path("secret"), self.state + "/link.jsonl")
        os.mkdir(self.state + "/folder.jsonl")
        os.mkfifo(self.state + "/pipe.jsonl")
        os.mkdir(self.state + "/shown")
        for name in (".jsonl", "text", "x.jsonl.shown"):
            with open(os.path.join(self.state, name), "w"):
                pass
        self.assertEqual([t["name"] for t in self.listed()], ["good.jsonl"])

    def test_hostile(self):
        words = "\x1b[2J\u202e\n2026-01-01T00:00:00Z  forged.jsonl"
        self.put("x\x1b[2J\n.jsonl", [{**START, "command": words, "user": "Task: " + words},
                                      {"event": "end", "outcome": words}])
        out = self.transcripts("list")
        self.assertEqual(out.count("\n"), 1)
        self.assertIsNone(bad(out))
        self.assertNotIn("forged", out)
        self.assertIsNone(bad(self.transcripts("list", "--json")))

    def test_none_yet(self):
        self.assertEqual(self.transcripts("list"), "")
        self.assertEqual(self.listed(), [])


class Show(FolderCase):
    def test_demo(self):
        self.assertEqual(self.run_agent("solve", QUESTION, "--file", CSV, "--model", f"scripted:{SCRIPT}",
                                        "--stepjail", self.fake)[0], 0)
        (name,) = self.names()
        out = self.transcripts("show", name)
        self.assertRegex(out, rf"(?m)^recorded: solve \S+ scripted {re.escape(SCRIPT)}$")
        for words in (f"task\n  | {QUESTION}\n", "step 1\n  > import csv\n",
                      "stdout\n  | 344 rows: ", "ended: exception: ", "the traceback\n  | Traceback",
                      "\nanswer\n  > Gentoo", "outcome: answered\n", ": whole: "):
            self.assertIn(words, out)
        path = os.path.join(self.state, name)
        self.assertEqual(out.replace(name, "N"), self.transcripts("show", name[:-6]).replace(name[:-6], "N"))
        self.assertEqual(out.replace(name, "N"), self.transcripts("show", path).replace(path, "N"))
        for command in ("verify", "replay"):
            for words in ((name,), (name[:-6],), (path,)):
                status, out, err = self.run_agent(command, *words, *(
                    ("--stepjail", self.fake) if command == "replay" else ()))
                self.assertEqual(status, 0, out + err)
        status, out, err = self.run_agent("verify", "no-such-name")
        self.assertEqual(status, 125)
        self.one_line(err, "no-such-name", "No such file")
        with open(path, "rb") as f:
            lines = f.readlines()
        lines[4] = lines[4].replace(b"344", b"345")
        with open(self.path("edited"), "wb") as f:
            f.writelines(lines)
        out = self.transcripts("show", self.path("edited"), status=1)
        self.assertIn("step 1\n", out)
        self.assertNotIn("345", out)
        self.assertIn("line 5 is wrong: it was altered", out.splitlines()[-1])
        with open(self.path("cut"), "wb") as f:
            f.writelines(lines[:4])
        self.assertIn("the end line is missing", self.transcripts("show", self.path("cut"), status=2))

    def test_rows(self):
        self.put("x.jsonl", [START, {"event": "command", "command": "rollback", "branch": 0, "state": 1},
                             {"event": "checked", "check": "answer", "passed": True, "printed": ""},
                             {"event": "tests", "stands": True, "why": ""},
                             {"event": "step", "step": 1, "observation": "no code"},
                             {"event": "unheard-of", "x": 1},
                             {"event": "end", "outcome": "model-failed", "error": "too busy"}])
        out = self.transcripts("show", "x")
        self.assertEqual(out.splitlines()[1:-1],
                         ["command rollback", "checked answer: passed: ",
                          "tests: stands: ", "nothing was run", "  | no code",
                          "outcome: model-failed: too busy"])

    def test_hostile(self):
        """Nothing moves a cursor, and no line of the file's stands where the agent's begin."""
        forged = "\x1b[2J\u202e\noutcome: answered\nstep 9\n" + "y" * 300
        stream = {"head": forged * 9, "bytes": 10**7, "left_out": 5}
        self.put("x.jsonl", [{**START, "command": forged, "model": forged, "time": forged, "user": forged},
                             {"event": "code", "step": 1, "code": forged * 9},
                             {"event": "step", "step": 1, "verdict": forged, "words": forged, "stdout": stream,
                              "stderr": stream, "result": {"head": 7, "bytes": -1}, "traceback": []},
                             {"event": "checked", "check": forged, "passed": 1, "printed": forged},
                             {"event": "end", "outcome": forged, "answer": forged, "error": forged}])
        out = self.transcripts("show", "x")
        self.assertIsNone(bad(out))
        self.assertEqual([line for line in out.split("\n") if re.match("outcome|step", line)],
                         ["step 1", [line for line in out.split("\n") if line.startswith("outcome")][0]])
        self.assertIn("bytes are not shown here]\n", out)
        self.assertIn("the rest of its code is not shown here\n", out)
        self.assertLess(len(out), 20000)

    def test_on_a_terminal(self):
        """A long line is broken, each part behind its mark."""
        self.put("x.jsonl", [{**START, "user": "x" * 79 + "outcome: answered"}, {"event": "end"}])
        out = self.on_terminal("transcripts", "show", "x", columns=80, env=self.env(NO_COLOR="1")).decode()
        self.assertNotIn("\noutcome: answered", out.replace("\r", ""))
        self.assertEqual(out.count("outcome:"), 2)

    def test_what_is_none(self):
        self.one_line(self.transcripts("show", "nowhere", status=125), "nowhere", "No such file")
        self.one_line(self.transcripts("show", "/dev/null", status=125), "not a regular file")
        self.path("secret", "of mine")
        self.put("x.jsonl")
        os.symlink(self.path("secret"), self.state + "/link.jsonl")
        self.one_line(self.transcripts("show", "link", status=125), "No such file")


class Prune(FolderCase):
    def setUp(self):
        super().setUp()
        self.fill()

    def fill(self):
        shutil.rmtree(self.state, ignore_errors=True)
        for n in range(5):  # e is the last one; of a day, two days ...
            self.put("edcba"[n] + ".jsonl", age_s=n * DAY + 60, size=1000, shown=("p",) * (n == 1))

    def left(self):
        return "".join(name[0] for name in self.names() if name.endswith(".jsonl"))

    def test_options(self):
        for args, left in ((("--older-than", "3d"), "cde"), (("--keep", "4"), "bcde"), (("--keep", "9"), "abcde"),
                           (("--max-bytes", "3100"), "cde"), (("--max-bytes", "3099"), "de"),
                           (("--max-bytes", "1"), ""), (("--older-than", "1s"), ""), ((), "abcde"),
                           (("--keep", "4", "--older-than", "50h"), "cde")):
            with self.subTest(args=args):
                before = self.names()
                out = self.transcripts("prune", "--dry-run", *args)
                self.assertEqual(self.names(), before)
                self.assertEqual(out.count("would be removed: "), 6 - len(left))
                out = self.transcripts("prune", *args)
                self.assertEqual(self.left(), left, out)
                self.assertIn(f"removed: {5 - len(left)} of 5 transcripts, ", out)
                self.assertEqual("d.jsonl.shown" in self.names(), "d" in left)
                self.fill()
        for args in (("--keep", "0"), ("--keep", "-1"), ("--older-than", "0s"), ("x",), ("--older-than", "1w")):
            self.one_line(self.transcripts("prune", *args, status=125), args[-1])
            self.assertEqual(self.left(), "abcde")

    def test_never_elsewhere(self):
        """No link is followed: not of a file, of a folder, in one, nor the folder itself."""
        outside = self.path("outside")
        os.mkdir(outside)
        for name in ("kept.jsonl", "kept"):
            self.path("outside/" + name, "x")
        os.symlink(outside + "/kept.jsonl", self.state + "/link.jsonl")
        os.symlink(outside, self.state + "/e.jsonl.shown")
        os.symlink(outside + "/kept", self.state + "/d.jsonl.shown/link")
        os.link(outside + "/kept", self.state + "/hard.jsonl")
        self.transcripts("prune", "--older-than", "1s")
        self.assertEqual(sorted(os.listdir(outside)), ["kept", "kept.jsonl"])
        self.assertEqual(set(self.names()) - {"hard.jsonl"}, {"e.jsonl.shown", "link.jsonl"})
        os.rename(self.state, self.path("elsewhere"))
        self.path("elsewhere/a.jsonl", "x")
        os.symlink(self.path("elsewhere"), self.state)
        for command in (("prune", "--keep", "1"), ("list",)):
            self.one_line(self.transcripts(*command, status=125), "transcripts: the folder ")
        self.assertTrue(os.path.exists(self.path("elsewhere/a.jsonl")))

    def test_a_folder_in_one(self):
        """That is none of the agent's: it stays, and so does the transcript."""
        os.makedirs(self.state + "/d.jsonl.shown/mine")
        self.one_line(self.run_agent("transcripts", "prune", "--older-than", "1s")[2],
                      "remove d.jsonl.shown", "not empty")
        self.assertEqual(self.left(), "abcd")
        self.assertTrue(os.path.isdir(self.state + "/d.jsonl.shown/mine"))

    def test_locked(self):
        with open(self.state + "/c.jsonl") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            out = self.transcripts("prune", "--older-than", "1s")
        self.assertIn("left, for a run is writing it: c.jsonl\n", out)
        self.assertIn("removed: 4 of 5 transcripts", out)
        self.assertEqual(self.left(), "c")

    def test_being_written(self):
        repl = self.popen("repl", "--stepjail", self.fake, stdin=subprocess.PIPE)
        path = wait_for(lambda: [n for n in self.names() if n.startswith("repl") and n.endswith("l") and
                                 os.path.getsize(os.path.join(self.state, n))])[0]
        os.utime(os.path.join(self.state, path), (1, 1))
        self.assertIn("left, for a run is writing it: " + path, self.transcripts("prune", "--older-than", "1s"))
        repl.communicate(b"print(1)\n", timeout=60)
        self.assertEqual(repl.returncode, 0)
        self.assertEqual([(t["name"], t["outcome"], t["steps"]) for t in self.listed()], [(path, "ended", 1)])
        os.utime(os.path.join(self.state, path), (1, 1))
        self.assertIn("removed: " + path, self.transcripts("prune", "--older-than", "1s"))
        self.assertEqual(self.names(), [])


class All(FolderCase):
    """verify and violations, of all of a folder."""

    END = {"event": "end", "outcome": "answered"}

    def edit(self, name):
        with open(os.path.join(self.state, name), "r+b") as f:
            f.seek(40)
            f.write(b"#")

    def test_verify(self):
        self.assertEqual(self.transcripts("verify"), "")
        self.put("whole.jsonl", [START, self.END], age_s=3)
        self.assertRegex(self.transcripts("verify"), r"^whole\.jsonl: whole: 2 lines, 0 steps, sha256 [0-9a-f]{64}\n$")
        self.put("cut.jsonl", [START, {"event": "step"}], age_s=2)
        out = self.transcripts("verify", status=2)
        self.assertEqual([line.split(":")[0] for line in out.splitlines()], ["cut.jsonl", "whole.jsonl"])
        self.put("edited.jsonl", [START, self.END], age_s=1)
        self.edit("edited.jsonl")
        self.put("new.jsonl", [START])
        out = self.transcripts("verify", status=1)
        self.assertEqual(out.count("\n"), 4)
        self.assertIn("line 1 is wrong: it was altered", out)

    def test_another_folder(self):
        self.put("whole.jsonl", [START, self.END])
        there = shutil.copytree(self.state, self.path("there"))
        shutil.rmtree(self.state)
        for what in ("verify", "list"):
            self.assertIn("whole.jsonl", self.transcripts(what, there))
            self.assertEqual(self.transcripts(what), "")
        self.one_line(self.transcripts("verify", self.path("none"), status=125), "No such file")

    def test_violations(self):
        def step(number, *calls, verdict="completed"):
            return {"event": "step", "step": number, "verdict": verdict, "violations": {"list": [
                {"syscall": name, "count": count, "violation": True} for name, count in calls]}}
        about = {**START, "user": "Task: What?\nmore", "model": {"provider": "openai", "name": "m\x1b[2J"}}
        self.put("list.jsonl", [about, step(2, ("execve", 3), ("ptrace\x1b[2J\n", 1)), step(3), self.END], age_s=1)
        self.put("kill.jsonl", [about, step(1, ("unshare", 1), verdict="violation"), step(2),
                                {"event": "code", "step": 9}, self.END], age_s=2)
        out = self.transcripts("violations")
        self.assertEqual(out.splitlines(), [
            "list.jsonl  step 2  refused: execve x3, unknown x1 (--lock-code=no allows it)  openai/m\\x1b[2J  What?",
            "kill.jsonl  step 1  killed: --on-violation kill: unshare x1  openai/m\\x1b[2J  What?"])
        told = json.loads(self.transcripts("violations", "--json"))
        common = {"model": "openai/m\x1b[2J", "task": "What?"}
        self.assertEqual(told, {"folder": self.state, "violations": [
            {"name": "list.jsonl", **common, "step": 2, "killed": False,
             "calls": [{"syscall": "execve", "count": 3}, {"syscall": "unknown", "count": 1}]},
            {"name": "kill.jsonl", **common, "step": 1, "killed": True, "calls": [{"syscall": "unshare", "count": 1}]}]})
        self.edit("kill.jsonl")
        self.assertEqual(self.transcripts("violations", status=1).count("\n"), 1)


class Bound(FolderCase):
    def told(self, *args):
        status, out, err = self.solve("--model", self.script("Done."), *args)
        self.assertEqual(status, 0, err)
        return re.findall(r"^(\d+) transcripts hold (.*); to remove old ones: stepjail-agent transcripts prune$",
                          out, re.M)

    def test_number(self):
        for n in range(999):
            self.put(f"{n}.jsonl", age_s=n)
        self.assertEqual(self.told(), [])
        (told,) = self.told()
        self.assertEqual(told[0], "1001")
        self.assertEqual(self.told("--transcript", self.path("t.jsonl")), [])
        self.transcripts("prune")
        self.assertEqual(len(self.names()), 1000)
        self.assertNotIn("998.jsonl", self.names())

    def test_bytes(self):
        self.put("large.jsonl", size=1 << 30)
        (told,) = self.told()
        self.assertEqual((told[0], told[1]), ("2", "1 GiB"))
        self.transcripts("prune")
        self.assertNotIn("large.jsonl", self.names())
        self.assertEqual(self.told(), [])


if __name__ == "__main__":
    unittest.main()
