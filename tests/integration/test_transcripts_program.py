#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_transcripts_program.py - stepjail-transcripts itself: its options, and what it gives up"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import BUILD, sealed  # noqa: E402
from test_agent_transcripts import START, FolderCase  # noqa: E402


class Program(FolderCase):
    """stepjail-transcripts itself, which stepjail-agent executes."""

    def run_it(self, *args, status=0, **how):
        p = subprocess.run([os.path.join(BUILD, "stepjail-transcripts"), *args], capture_output=True, text=True,
                           env=self.env(), **how)
        self.assertEqual(p.returncode, status, p.stdout + p.stderr)
        return p.stdout or p.stderr

    def test_help_and_man(self):
        for name in ("list", "show", "verify", "violations", "prune"):
            said = self.run_it(name, "--help")
            self.assertEqual(said, self.transcripts(name, "--help", "all"))
            self.assertIn(f"\n.SH {name.upper()}\n", self.run_it("--man"))
            self.assertIn(f"transcripts {name}", self.run_it("--help"))

    def test_refusals(self):
        for args, words in (((), "'' is no command"), (("dance",), "'dance' is no command"),
                            (("show",), "the FILE is missing"), (("list", "--json=1"), "'1' is not one of --json"),
                            (("list", "a", "b"), "'b' is one operand too many"),
                            (("prune", "--keep", "2", "--keep", "2"), "given twice"),
                            (("prune", "--keep", "1.5"), "whole number"), (("prune", "--quick"), "no such option")):
            said = self.run_it(*args, status=125)
            self.assertEqual((said.startswith("stepjail-transcripts: "), said.count("\n")), (True, 1), said)
            self.assertIn(words, said)
            self.one_line(self.transcripts(*args, status=125), words)

    def test_stdout_that_takes_nothing(self):
        self.put("x.jsonl", [START])
        with open("/dev/full", "w") as full:
            for args in (("list",), ("show", "x"), ("--help",)):
                status, _, err = self.run_agent("transcripts", *args, stdout=full)
                self.assertEqual(status, 125)
                self.one_line(err, "cannot write to stdout: No space left")

    def test_stdout_that_nobody_reads(self):
        """Whoever reads has enough of it: no word is said."""
        self.put("x.jsonl", [{**START, "user": "x" * 3000}] + [
            {"event": "step", "step": n, "observation": "y" * 2000} for n in range(200)])
        for n in range(700):
            self.put(f"{n:060}.jsonl", [START])
        for args in (("list",), ("list", "--json"), ("show", "x"), ("verify",)):
            with self.popen("transcripts", *args) as p:
                p.stdout.read(1)
                p.stdout.close()
                err = p.stderr.read()
                self.assertEqual((p.wait(timeout=60), err), (125, b""), args)

    def test_walls(self):
        """What it has given up, told by the kernel, while it waits for its reader."""
        self.put("x.jsonl", [{**START, "user": "x" * 3000}] + [
            {"event": "step", "step": n, "observation": "y" * 2000} for n in range(200)])
        with self.popen("transcripts", "show", "x") as p:
            pid = p.pid
            p.stdout.read(4096)
            with open(f"/proc/{pid}/status") as f:
                told = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
            p.stdout.read()
        self.assertEqual((told["NoNewPrivs"], told["CapEff"], told["CapPrm"]), ("1", "0" * 16, "0" * 16))

    def test_chat(self):
        """Words of both, in their order; the first of the user's is what it is about."""
        said = [{"event": "user", "text": "Task: one\n\x1b[2J"}, {"event": "reply", "text": "code"},
                {"event": "code", "step": 1, "code": "1"}, {"event": "step", "step": 1, "verdict": "completed"},
                {"event": "reply", "text": "One."}, {"event": "user", "text": "two\nanswer"},
                {"event": "reply", "text": "Two.\x1b[2J"}, {"event": "end", "outcome": "ended"}]
        self.put("x.jsonl", [{**START, "command": "chat"}, *said])
        out = self.transcripts("show", "x")
        self.assertNotIn("\x1b", out)
        self.assertEqual([line for line in out.splitlines() if line.strip()][1:-1],
                         ["the user", "  | one", "  | \\x1b[2J", "step 1", "  > 1", "ended: completed: ", "answer",
                          "  > One.", "the user", "  | two", "  | answer", "answer", "  > Two.\\x1b[2J",
                          "outcome: ended"])
        (one,) = self.listed()
        self.assertEqual((one["command"], one["task"], one["outcome"]), ("chat", "one", "ended"))

    def test_first_of_two_members(self):
        """What replay takes is what is shown."""
        head = b'{"line":1,"prev":"%s","event":"start","format":2,"user":"first","user":"second"' % (b"0" * 64)
        os.makedirs(self.state)
        with open(os.path.join(self.state, "x.jsonl"), "wb") as f:
            f.write(sealed(head))
        out = self.transcripts("show", "x", status=2)
        self.assertIn("| first", out)
        self.assertNotIn("second", out)


if __name__ == "__main__":
    unittest.main()
