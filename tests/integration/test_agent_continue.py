#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_continue.py - solve --continue: a run that goes on where another has ended"""
import fcntl
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase, chained, fence, unseal, wait_for  # noqa: E402
from mock_model import MockModel  # noqa: E402
from record_schema import wrong_line  # noqa: E402


class Continue(AgentCase):
    def setUp(self):
        super().setUp()
        self.first, self.second = self.path("first.jsonl"), self.path("second.jsonl")

    def events(self, path):
        with open(path, "rb") as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual([wrong_line(line) for line in lines], [[]] * len(lines))
        return lines

    def names(self, path):
        return [line["event"] for line in self.events(path)]

    def run_first(self, *turns, more=()):
        status, out, err = self.solve("--model", self.script(*turns), "--transcript", self.first, *more)
        self.assertEqual(status, 0, out + err)

    def go_on(self, *turns, old=None, new=None, status=0, more=()):
        got, out, err = self.run_agent("solve", "And now?", "--stepjail", self.fake, f"--continue={old or self.first}",
                                       "--model", self.script(*turns), "--transcript", new or self.second, *more)
        self.assertEqual(got, status, out + err)
        return out if status < 125 else err

    def test_variables_and_words(self):
        self.run_first(fence("x = 40\nprint('forty')"), fence("y = 2"), "It is 42.")
        out = self.go_on("expect: And now?\n" + fence("print(x + y)"), "expect: | 42\nStill 42.")
        self.assertIn(f"continued: {self.first}: 2 steps run again: nothing differs\n", out)
        self.assertIn("step 3 of 12\n", out)
        self.assertEqual(out.count("forty"), 0, out)  # what it printed is not shown again
        start, *rest = self.events(self.second)
        with open(self.first, "rb") as f:
            lines = f.readlines()
        self.assertEqual(start["continues"], {"transcript": self.first, "lines": len(lines),
                                              "sha256": unseal(lines[-1])[1]})
        self.assertEqual([e["event"] for e in rest],
                         ["session", "user", "reply", "code", "step", "reply", "code", "step", "reply", "user", "reply",
                          "code", "step", "reply", "end"])
        self.assertEqual([e["step"] for e in rest if e["event"] == "step"], [1, 2, 3])
        self.assertEqual(rest[4]["stdout"]["head"], "forty\n")
        self.assertIn("| forty", rest[4]["observation"])

    def test_conversation(self):
        """What the model is sent: all that was said, in its order, in both kinds of interface."""
        for model, tools in (("openai", "text"), ("openai", "tools"), ("anthropic", "tools")):
            with self.subTest(model=model, tools=tools):
                for path in (self.first, self.second):
                    if os.path.exists(path):
                        os.unlink(path)
                step = {"calls": [("python", '{"code": "x = 5; print(x)"}')]} if tools == "tools" else \
                    {"say": fence("x = 5; print(x)")}
                how = ("--code-in", tools, "--model", model, "--model-name", "m")
                with MockModel([step, {"say": "Five."}, {"say": "Six."}]) as mock:
                    common = (*how, "--base-url", mock.url)
                    self.assertEqual(self.solve(*common, "--transcript", self.first)[0], 0)
                    status, out, err = self.run_agent("solve", "One more?", "--stepjail", self.fake, *common,
                                                      f"--continue={self.first}", "--transcript", self.second)
                    self.assertEqual((status, mock.body(1)["messages"]),
                                     (0, mock.body(2)["messages"][:len(mock.body(1)["messages"])]), out + err)
                    rest = mock.body(2)["messages"][len(mock.body(1)["messages"]):]
                said = json.dumps(rest)
                self.assertEqual([m["role"] for m in rest], ["assistant", "user"])
                self.assertIn("Five.", said)
                self.assertIn("One more?", said)

    def test_answer_by_a_call(self):
        """What became of the call stands before the new task, as interfaces want it."""
        answer = {"calls": [("answer", '{"text": "x = 5"}')]}
        for model in ("openai", "anthropic"):
            first, second = self.path(f"{model}-1"), self.path(f"{model}-2")
            with MockModel([answer, answer]) as mock:
                common = ("--code-in", "tools", "--model", model, "--model-name", "m", "--base-url", mock.url)
                self.assertEqual(self.solve(*common, "--transcript", first)[0], 0)
                status, out, err = self.run_agent("solve", "One more?", "--stepjail", self.fake, *common,
                                                  f"--continue={first}", "--transcript", second)
                self.assertEqual(status, 0, out + err)
                rest = mock.body(1)["messages"][len(mock.body(0)["messages"]):]
            said = json.dumps(rest[1:])
            self.assertEqual([m["role"] for m in rest],
                             ["assistant", "tool", "user"] if model == "openai" else ["assistant", "user"])
            self.assertIn("This was taken as your answer.", said)
            self.assertLess(said.index("taken"), said.index("One more?"))

    def test_again_and_again(self):
        """A continued run has all in its own transcript: the first one is not needed."""
        self.run_first(fence("x = [1]"), "One.")
        self.go_on(fence("x.append(2)"), "Two.")
        os.unlink(self.first)
        third = self.path("third.jsonl")
        out = self.go_on(fence("print(x)"), "expect: | [1, 2]\nThree.", old=self.second, new=third)
        self.assertIn("2 steps run again: nothing differs", out)
        status, out, err = self.run_agent("replay", third, "--stepjail", self.fake)
        self.assertEqual(status, 0, out + err)
        self.assertIn("3 steps run again: nothing differs", out)

    def test_what_differs(self):
        """A person and the model are told, and the record has what came out now."""
        mark = self.path("mark")
        self.run_first(fence(f"import os; n = os.path.exists({mark!r}); open({mark!r}, 'w'); print(n)"), "Done.")
        out = self.go_on("expect: not all of it came out as it did\nDone.")
        self.assertIn("step 1: differs", out)
        self.assertIn("  - False\n", out)
        self.assertIn("1 step run again: 1 difference", out)
        step = next(e for e in self.events(self.second) if e["event"] == "step")
        self.assertEqual(step["stdout"]["head"], "True\n")
        self.assertIn("| False", step["observation"])

    def test_other_options(self):
        self.run_first("Done.")
        words = "the jail's options or files are others than in the run that is continued"
        self.assertIn(words, self.go_on("Done.", more=("--memory", "300M")))
        self.assertNotIn(words, self.go_on("Done.", new=self.path("third")))

    def test_files_of_then(self):
        """A file that the earlier run had is there again; what cannot be had is named."""
        data, folder = self.path("data.csv", "a,b\n1,2\n"), self.path("tables")
        os.mkdir(folder)
        read = fence("print(open('/work/in/data.csv').read())")
        self.run_first(read, "Done.", more=("--file", data))
        out = self.go_on(read, "expect: | 1,2\nDone.")
        self.assertIn("1 step run again: nothing differs", out)
        self.assertNotIn("others than in the run", out)
        start = self.events(self.second)[0]
        self.assertEqual([f["path"] for f in start["inputs"]["files"]], [data])
        # one of that name is the caller's word, and others may come beside it
        os.mkdir(self.path("b"))
        other = self.path("b/data.csv", "a,b\n3,4\n")
        out = self.go_on(read, "expect: | 3,4\nDone.", new=self.path("third"), more=("--file", other))
        self.assertIn(f"file {other}: it has changed: its sha256 was ", out)
        self.go_on(read, "Done.", new=self.path("fourth"), more=("--file", self.path("more", "x")))
        self.path("data.csv", "changed")
        self.one_line(self.go_on("Done.", new=self.path("fifth"), status=125), f"--continue: ", data,
                      "has changed", "--file")
        os.unlink(data)
        self.one_line(self.go_on("Done.", new=self.path("fifth"), status=125), "--continue: ", data, "by --file")
        for words, more, run in (("tables is a folder", ("--file", folder), {}),
                                 ("stdin came by a pipe", ("--file", "-"), {"stdin": subprocess.DEVNULL}),
                                 ("give it by --skills", ("--skills", folder), {})):
            with self.subTest(words=words):
                os.unlink(self.first)
                status, out, err = self.solve("--model", self.script("Done."), "--transcript", self.first, *more, **run)
                self.assertEqual(status, 0, out + err)
                self.one_line(self.go_on("Done.", new=self.path("fifth"), status=125), "--continue: ", words)

    def test_killed(self):
        """kill -9 in a step: what ran to its end is there, and the model knows of the rest."""
        mark = self.path("mark")
        p = self.popen("solve", "x", "--stepjail", self.fake, "--transcript", self.first, "--model", self.script(
            fence("x = 7"), fence(f"open({mark!r}, 'w').close(); import time; time.sleep(600)")))
        self.assertTrue(wait_for(lambda: os.path.exists(mark)))
        p.kill()
        p.communicate()
        os.unlink(mark)
        out = self.go_on("expect: And now?\n" + fence("print(x)"), "expect: | 7\nSeven.")
        self.assertIn("1 step run again: nothing differs, but 1 cut off and not compared", out)
        self.assertFalse(os.path.exists(mark))
        self.assertNotIn("cut off", self.run_agent("verify", self.second)[1])

    def test_cut_off_by_a_signal(self):
        """It is not run again, here or in a replay."""
        mark = self.path("mark")
        p = self.popen("solve", "x", "--stepjail", self.fake, "--transcript", self.first, "--model", self.script(
            fence("x = 7"), fence(f"open({mark!r}, 'w').close(); import time; time.sleep(600)")))
        self.assertTrue(wait_for(lambda: os.path.exists(mark)))
        p.send_signal(signal.SIGINT)
        p.communicate()
        os.unlink(mark)
        self.assertIn("1 cut off", self.go_on(fence("print(x)"), "expect: | 7\nSeven."))
        self.assertFalse(os.path.exists(mark))
        status, out, err = self.run_agent("replay", self.second, "--stepjail", self.fake)
        self.assertEqual(status, 0, out + err)
        self.assertIn("2 steps run again: nothing differs, but 1 cut off", out)

    def test_the_last(self):
        state = self.path("state/stepjail/transcripts")
        for number in range(3):
            self.assertEqual(self.solve("--model", self.script(fence(f"n = {number}"), "Done."))[0], 0)
        with open(self.path("repl-like"), "w"):
            pass
        os.rename(self.path("repl-like"), os.path.join(state, "repl-x.jsonl"))
        status, out, err = self.run_agent("solve", "--continue", "And now?", "--stepjail", self.fake, "--model",
                                          self.script(fence("print(n)"), "expect: | 2\nTwo."))
        self.assertEqual(status, 0, out + err)
        status, out, err = self.solve("--continue", "--model", self.script("Done."),
                                      env=self.env(XDG_STATE_HOME=self.path("other")))
        self.one_line(err, "--continue: there is no transcript of solve or chat in " + self.path("other"))

    def test_refusals(self):
        self.run_first(fence("print('one')"), "Done.")
        with open(self.first, "rb") as f:
            lines = f.readlines()
        with open(self.path("edited"), "wb") as f:
            f.writelines([*lines[:4], lines[4].replace(b"one", b"two"), *lines[5:]])
        with open(self.path("empty"), "wb"):
            pass
        with open(self.path("repl"), "wb") as f:
            f.writelines(chained([{"event": "start", "command": "repl", "format": 2,
                                   "inputs": {"rootfs": "core", "step_ms": 1000}}]))
        for name, words in (("edited", "line 5 is wrong: it was altered"), ("empty", "whole up to line 0"),
                            ("repl", "is of repl, and has no conversation"), ("nowhere", "No such file")):
            with self.subTest(name=name):
                err = self.go_on("Done.", old=self.path(name), new=self.path("new-" + name), status=125)
                self.one_line(err, "--continue: ", words)
                self.assertNotIn("step", self.names(self.path("new-" + name)) if
                                 os.path.exists(self.path("new-" + name)) else [])
        with open(self.first) as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            self.one_line(self.go_on("Done.", status=125), "--continue: a run is still writing")

    def test_hostile(self):
        """A stranger's transcript: no line of it ends the agent, or is more than words and code for a jail."""
        start = {"event": "start", "command": "solve", "format": 2, "user": 7, "inputs": []}
        for number, events in enumerate((
                [{"event": "step", "step": 1, "verdict": "completed"}], [{"event": "code", "step": 1}],
                [{"event": "reply", "text": ["x"], "calls": [1, {"id": "a" * 999, "name": "\x1b[2J", "arguments": 4}] * 20}],
                [{"event": "command", "command": "rollback", "branch": 0, "state": 99, "messages": 10**6}],
                [{"event": "step", "step": -1, "observation": "y" * 10**6}], [{"event": "user"}] * 3,
                [{"event": "command", "command": "rollback", "branch": 0, "state": 0, "messages": 0}])):
            path = self.path(f"h{number}")
            with open(path, "wb") as f:
                f.writelines(chained([start, *events]))
            got, out, err = self.run_agent("solve", "And now?", "--stepjail", self.fake, f"--continue={path}",
                                           "--model", self.script("Done."), "--transcript", "none")
            self.assertIn(got, (0, 125), out + err)
            self.assertNotIn("\x1b", out + err)


if __name__ == "__main__":
    unittest.main()
