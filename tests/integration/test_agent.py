#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent.py - stepjail-agent as a user runs it: options, the demo, endings"""
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import (AGENT, BUILD, CSV, QUESTION, SCRIPT, AgentCase, alive,  # noqa: E402
                         errors, family, fence, read_terminal, wait_for)
from mock_model import MockModel  # noqa: E402


class Options(AgentCase):
    def test_refusals(self):
        rows = [
            ([], "no command is given"),
            (["dance"], "'dance' is not a command"),
            (["solve"], "the TASK is missing"),
            (["replay", "--help=all"], "--help=all: no such option"),
            (["solve", "x"], "--model is missing: give --model scripted:FILE"),
            (["solve", "x", "--model", "scripted:/no/such"], "/no/such"),
            (["solve", "x", "--model", "openai"], "--model-name"),
            (["solve", "x", "--model", "openai", "--model-name", "m"], "STEPJAIL_API_KEY"),
            (["solve", "x", "--steps", "0"], "--steps: '0'"),
            (["solve", "x", "--steps", "1e9"], "--steps"),
            (["solve", "x", "--wall-time", "99999999999999999999h"], "--wall-time"),
            (["solve", "x", "--json", "--json"], "--json: given twice"),
            (["solve", "x", "--file", "/no/such"], "--file: /no/such"),
            (["solve", "x", "--file", CSV, "--file", CSV], "two files are called penguins.csv"),
            (["solve", "x", "--model", f"scripted:{SCRIPT}", "--stepjail", "/no/such"],
             "/no/such: give the program by --stepjail: No such file or directory"),
            (["eval", "x"], "'eval' is not a command"),
        ]
        for args, words in rows:
            with self.subTest(args=args):
                status, out, err = self.run_agent(*args)
                self.assertEqual(status, 125)
                self.one_line(err, words)
                if "--json" not in args:
                    self.assertEqual(out, "")

    def test_help_version_man(self):
        for args in (["--help"], ["help"], ["help", "solve"], ["solve", "--help"],
                     ["repl", "-h"], ["--version"], ["--man"]):
            status, out, err = self.run_agent(*args)
            self.assertEqual((status, err), (0, ""), args)
            self.assertTrue(out)
        self.assertIn("COMMAND --help ends with", self.run_agent("--help")[1])

    def test_help_in_groups(self):
        for command, common, rest in (("solve", "--model-name", "--retry-wait"),
                                      ("repl", "--step-time", "--keep-states")):
            short, every = (self.run_agent(command, *words)[1]
                            for words in (["--help"], ["--help", "all"]))
            where = f"\n  stepjail-agent {command} --help all has every option.\n"
            self.assertEqual((short.count(where), every.count(where)), (1, 0))
            self.assertEqual((f"\n  {common} " in short, f"\n  {rest} " in short), (True, False))
            for line in (f"\n  {common} ", f"\n  {rest} ", "\nLimits:\n", "\nExit status:\n"):
                self.assertEqual(every.count(line), 1, line)
            self.assertEqual(self.run_agent(command, "-h", "all")[1], every)
            self.assertEqual(self.run_agent("help", command)[1], short)
            self.assertIn("\nLimits:\n", self.run_agent("--man")[1])
        names = re.findall(r"^  --([a-z-]+)", self.run_agent("solve", "--help")[1], re.MULTILINE)
        usual = "file rootfs out model model-name base-url key-file code-in steps wall-time " \
                "step-time memory total-cost prices transcript json quiet tests"
        self.assertLessEqual(set(usual.split()), set(names))
        self.assertEqual(self.run_agent("replay", "--help")[1],
                         self.run_agent("replay", "-h", "all")[1])

    def test_help_ends_with_its_own_exit_statuses(self):
        for command, statuses in (("solve", "0 3 4 5 6 124"), ("repl", "0 1 N 6 124"),
                                  ("verify", "0 1 2"), ("transcripts show", "0 1 2"),
                                  ("replay", "0 1 2"), ("transcripts list", "0"), ("check", "0"),
                                  ("transcripts prune", "0")):
            for words in (["--help"], ["--help", "all"]):
                text = self.run_agent(*command.split(), *words)[1]
                end = text.split("\nExit status:\n")[1]
                self.assertEqual(re.findall(r"^  (\S+)", end, re.MULTILINE),
                                 [*statuses.split(), "125", "128+N"], command)
                self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        page = self.run_agent("--man")[1]
        for title in ("EXIT STATUS", "EXAMPLES", "FILES", "ENVIRONMENT", "SEE ALSO"):
            self.assertEqual(page.count(f"\n.SH {title}\n"), 1, title)

    def test_an_option_is_worded_alike_in_both_programs(self):
        def options(text):
            rows = re.split(r"\n  --", text.split("\nExit status:")[0])[1:]
            rows = [" ".join(row.split("\n\n")[0].split()) for row in rows]
            return {re.match("[a-z-]+", row)[0]: row for row in rows}

        def plain(row):
            return re.sub(r" \(\S+\)$| \[\S+\]$", "", row).rstrip(".").lower()

        agent = options(self.run_agent("solve", "--help", "all")[1])
        jail = options(subprocess.run([os.path.join(BUILD, "stepjail"), "serve", "--help"],
                                      stdout=subprocess.PIPE, text=True, check=True).stdout)
        for name in ("memory", "keep-states", "keep-memory", "cpus", "tmp-size", "work-size",
                     "lock-code", "on-violation", "deterministic", "seed", "aslr", "media-limit"):
            self.assertEqual(plain(agent[name]), plain(jail[name]))

    def test_yes_and_no(self):
        told = "means yes where no value is given"
        for words in (["solve", "--help"], ["solve", "--help", "all"], ["--man"]):
            self.assertEqual(self.run_agent(*words)[1].count(told), 1)
        for option, printed in (("--json", True), ("--json=yes", True), ("--json=no", False)):
            status, out, _ = self.run_agent("solve", QUESTION, "--file", CSV, option, "--model",
                                            f"scripted:{SCRIPT}", "--stepjail", self.fake)
            self.assertEqual(out.startswith("{"), printed, out)
        self.one_line(self.run_agent("solve", "x", "--json=1")[2], "'1' is not one of --json[=no|yes]")

    def test_man_page_is_clean(self):
        if not shutil.which("groff"):
            self.skipTest("groff is missing: apt-get install groff-base")
        page = self.run_agent("--man")[1]
        p = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page.encode(),
                           capture_output=True)
        self.assertEqual(p.stderr, b"")

    def test_man_page_has_every_option(self):
        page = self.run_agent("--man")[1].replace("\\-", "-")
        for command in ("solve", "chat", "repl", "replay", "check", "verify"):
            part = page.split(f"\n.SH COMMAND {command}\n")[1].split("\n.SH ")[0]
            names = re.findall(r"^  --([a-z-]+)", self.run_agent(command, "--help", "all")[1], re.M)
            self.assertEqual([name for name in names if f"\n  --{name}" not in part], [])
            self.assertIn("\nExit status:\n  0 ", part)

    def test_stdout_that_takes_nothing(self):
        with open("/dev/full", "w") as full:
            for args in (["--help"], ["solve", "x", "--model", f"scripted:{SCRIPT}", "--stepjail",
                                      self.fake, "--file", CSV]):
                status, _, err = self.run_agent(*args, stdout=full)
                self.assertEqual(status, 125)
                self.one_line(err, "stdout", "No space left")

    def test_stdout_closed(self):
        for redirect, words in (("1>&-", "Bad file descriptor"), ("| true", "Broken pipe")):
            line = f"'{AGENT}' solve x --model scripted:'{SCRIPT}' --stepjail '{self.fake}' " \
                   f"--file '{CSV}' {redirect}; exit ${{PIPESTATUS[0]}}"
            if "true" in redirect:
                line = line.replace("| true", "| sleep 0")
            p = subprocess.run(["/bin/bash", "-c", line], capture_output=True, env=self.env(),
                               timeout=60)
            self.assertEqual(p.returncode, 125, p)
            self.one_line(errors(p.stderr.decode()), words)


class Scripted(AgentCase):
    def demo(self, *args, **how):
        return self.run_agent("solve", QUESTION, "--file", CSV, "--model", f"scripted:{SCRIPT}",
                              "--stepjail", self.fake, *args, **how)

    def test_demo(self):
        status, out, err = self.demo()
        self.assertEqual((status, err), (0, ""))
        lines = out.split("\n")
        self.assertIn("no language model is asked", lines[0])
        self.assertIn("  ! ValueError: could not convert string to float: ''", lines)
        self.assertIn("  | Gentoo: 5076.0 g from 123 birds", lines)
        self.assertIn("\nGentoo penguins are the heaviest: 5076 g", out)
        self.assertNotIn("\x1b", out)

    def test_json(self):
        status, out, err = self.demo("--json")
        self.assertEqual(status, 0)
        self.assertIn("no language model is asked", err.split("\n")[0])
        got = json.loads(out)
        self.assertEqual(out.count("\n"), 1)
        self.assertEqual(got["outcome"], "answered")
        self.assertEqual([s["verdict"] for s in got["steps"]],
                         ["completed", "exception", "completed"])
        self.assertEqual([s["state"] for s in got["steps"]], ["kept"] * 3)
        self.assertIn("ValueError", got["steps"][1]["traceback"]["head"])
        self.assertEqual((got["jails"], got["error"]), (1, None))

    def test_quiet(self):
        status, out, err = self.demo("--quiet")
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(out.startswith("Gentoo penguins are"), out)

    def test_color(self):
        self.assertIn("\x1b[", self.demo("--color=always")[1])
        self.assertIn("\x1b[", self.demo("--color=always", env=self.env(NO_COLOR="1"))[1])
        self.assertNotIn("\x1b", self.demo("--color=never")[1])

    def on_terminal(self, *args, env):
        ours, theirs = pty.openpty()
        with self.popen("solve", QUESTION, "--file", CSV, "--model", f"scripted:{SCRIPT}",
                        "--stepjail", self.fake, *args, env=env, stdout=theirs, stderr=theirs) as p:
            os.close(theirs)
            out = read_terminal(ours)
        os.close(ours)
        self.assertEqual(p.returncode, 0)
        return out

    def test_color_on_a_terminal(self):
        self.assertIn(b"\x1b[", self.on_terminal(env=self.env(TERM="xterm")))
        self.assertNotIn(b"\x1b", self.on_terminal(env=self.env(TERM="xterm", NO_COLOR="1")))
        self.assertNotIn(b"\x1b", self.on_terminal(env=self.env(TERM="dumb")))

    def test_drift_is_a_failure(self):
        model = self.script(fence("print(41)"), "expect: 42\nIt is 42.")
        status, out, err = self.solve("--model", model)
        self.assertEqual(status, 4)
        self.one_line(err, "expects '42'", "41")

    def test_script_too_short(self):
        status, out, err = self.solve("--model", self.script(fence("print(1)")))
        self.assertEqual(status, 4)
        self.one_line(err, "ends before turn 2")

    def test_transcript(self):
        path = self.path("t.jsonl")
        self.assertEqual(self.demo("--transcript", path)[0], 0)
        with open(path) as f:
            events = [json.loads(line)["event"] for line in f]
        self.assertEqual(events, ["start", "session"] + ["reply", "code", "step"] * 3 + ["reply", "end"])
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        status, _, err = self.demo("--transcript", path)
        self.assertEqual(status, 125)
        self.one_line(err, "exists", "give a new name")

    def test_transcript_on_a_full_disk(self):
        os.symlink("/dev/full", self.path("full"))
        status, _, err = self.demo("--transcript", self.path("full"))
        self.assertEqual(status, 125)  # refused: it exists

    def test_control_bytes_are_escaped(self):
        code = r'print("\x1b[2J\x07\u202e\x9b31m"); import os; os.write(1, b"\xff\x00\r")' \
               r'; raise ValueError("\x1b]0;title\x07")'
        model = self.script(fence(code) + "\x1b[31m", "Answer \x1b[2J\u202e\x85.")
        status, out, err = self.solve("--model", model, env=self.env(PYTHONUTF8="1"))
        self.assertEqual(status, 0, err)
        for byte in "\x1b\x07\u202e\x9b\x85\x00\r":
            self.assertNotIn(byte, out)
        self.assertIn("\\x1b[2J\\x07\\u202e\\x9b31m", out)
        self.assertIn("\\xff\\x00\\r", out)
        self.assertIn("Answer \\x1b[2J\\u202e\\x85.", out)

    def test_files_that_cannot_be_given(self):
        for name, words in ((self.path("a:b", "x"), "colon"), ("/", "by its name"),
                            (self.path("nowhere"), "No such file")):
            status, _, err = self.solve("--model", f"scripted:{SCRIPT}", "--file", name)
            self.assertEqual(status, 125)
            self.one_line(err, "--file", words)


class Endings(AgentCase):
    def start(self, code="import time; time.sleep(100)"):
        return self.popen("solve", "x", "--stepjail", self.fake, "--model",
                          self.script(fence(code), "Done."))

    def test_signals_in_a_step(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number=number), self.start() as p:
                # agent, its broker, fake stepjail, its state 0 and the step
                pids = wait_for(lambda: len(family(p.pid)) == 5 and family(p.pid))
                p.send_signal(number)
                out, err = p.communicate(timeout=60)
                self.assertEqual(p.returncode, status)
                self.one_line(errors(err.decode()), f"ended by {signal.Signals(number).name}")
                self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))

    def test_signal_at_the_model(self):
        with MockModel([{"hang": 600}]) as mock:
            p = self.popen("solve", "x", "--stepjail", self.fake, "--model", "openai",
                           "--model-name", "m", "--base-url", mock.url)
            self.assertTrue(wait_for(lambda: mock.requests))
            p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 130)
        self.one_line(errors(err.decode()), "ended by SIGINT")

    def test_json_of_an_interrupted_run(self):
        p = self.popen("solve", "x", "--json", "--stepjail", self.fake, "--model",
                       self.script(fence("import time; time.sleep(100)"), "Done."))
        self.assertTrue(wait_for(lambda: len(family(p.pid)) == 5))
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
        self.assertEqual(json.loads(out)["outcome"], "stopped")
        self.assertEqual(p.returncode, 130)

    def test_kill_9_leaves_nothing(self):
        random.seed(7)
        for _ in range(20):
            with self.start() as p:
                time.sleep(random.uniform(0, 0.15))
                pids = family(p.pid)
                p.kill()
                p.communicate(timeout=60)
                self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))

    def test_stderr_that_nobody_reads(self):
        ours, theirs = os.pipe()
        p = self.popen("solve", "x", "--stepjail", self.fake, "--model",
                       self.script(*[fence("print('x' * 100000)")] * 12, "Done."), "--steps", "12",
                       stderr=theirs)
        self.assertTrue(wait_for(lambda: not select.select([], [theirs], [], 0)[1]))
        os.close(theirs)
        self.assertIsNone(p.poll())
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(60), 143)
        p.communicate()
        os.close(ours)


if __name__ == "__main__":
    unittest.main()
