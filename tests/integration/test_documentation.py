#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_documentation.py - what Python's documentation shows does the same in a session as in python3

programs/ has small programs after its tutorial, library reference and how-tos, many to a file, each behind a
line `# %% NAME [once] [input]`. Every one is run by the host's python3, by `stepjail run`, by `repl FILE`, and
in a session, one step for each of its statements; then in a session again that goes back behind every
statement and takes it once more. stdout, stderr and exit status are those of python3.

    once    has threads, processes, files that are written, timers or signals that wait: what a rollback does
            not bring back
    input   reads stdin, which `repl FILE` has nothing for: its lines behind `# < `
"""
import ast
import concurrent.futures
import glob
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_scene import BUILD, config  # noqa: E402
from stepjail import Stepjail  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
# what the agent says itself: of the host, of a process that has ended itself, and of children that were ended
AGENTS = re.compile("^(stepjail-agent: warning: not enforced on this host: |exited: |[0-9]+ processes were ).*\\n", re.M)
PATIENCE = 120  # seconds; what hangs is ended
LEAST = 30  # programs that each way must have


class Program:
    def __init__(self, head, text):
        self.name, *words = head.split()
        self.once, self.input = "once" in words, "input" in words
        assert {"once", "input"}.issuperset(words), head
        self.text = text
        self.stdin = "".join(line[4:] for line in text.splitlines(True) if line.startswith("# < "))
        assert bool(self.stdin) == self.input, head

    def statements(self):
        """As steps; two that share a line are one."""
        lines, begun, ended = io.StringIO(self.text, "").readlines(), [], 0
        for node in ast.parse(self.text).body:
            row = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            if row > ended:
                begun.append(row)
            ended = node.end_lineno
        for row, after in zip(begun, [*begun[1:], len(lines) + 1]):
            yield f"# stepjail: line {row} of /work/{self.name}.py\n" + "".join(lines[row - 1:after - 1])


def programs():
    for path in sorted(glob.glob(f"{HERE}/programs/*.py")):
        with open(path, newline="") as file:
            parts = re.split("(?m)^# %% (.*)\\n", file.read())[1:]
        yield from map(Program, parts[::2], parts[1::2])


def command(program, *words, env=None):
    """(stdout, stderr, status) of a command that is given the program's file; where that lies is /work."""
    with tempfile.TemporaryDirectory(prefix="stepjail-test-") as folder:
        path = os.path.join(folder, f"{program.name}.py")
        with open(path, "w", newline="") as file:
            file.write(program.text)
        done = subprocess.run([*words, path], input=program.stdin.encode(), capture_output=True, timeout=PATIENCE,
                              cwd=folder, env=env)
    texts = (text.decode().replace(folder, "/work") for text in (done.stdout, done.stderr))
    return *texts, done.returncode


def by_python(program):
    return command(program, "/usr/bin/python3", env={"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC"})


def by_run(program):
    return command(program, f"{BUILD}/stepjail", "run", "--quiet")


def by_repl(program):
    out, err, status = command(program, f"{BUILD}/stepjail-agent", "repl", "--transcript", "none")
    return out, AGENTS.sub("", err), status


def step(session, code, stdin):
    """(stdout, stderr, status), and whether the program goes on."""
    done = session.run(code, stdin=stdin)
    status = done.exit_code if done.verdict == "exited" else 0 if done.ok else 1
    assert done.state == "kept", (code, done.report)
    return done.stdout, done.stderr + (done.error or ""), status, done.ok


def by_session(program, jails, again=False):
    out = err = ""
    with jails.session() as session:
        for code in program.statements():
            before = session.state()
            *told, status, more = step(session, code, program.stdin)
            if again:
                session.rollback(before)
                second = step(session, code, program.stdin)
                assert second == (*told, status, more), f"{code}\nonce more: {second}, and not {told}"
            out, err = out + told[0], err + told[1]
            if not more:
                return out, err, status
    return out, err, 0


class Documentation(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(config.name, "stepjail/defaults"), "a") as defaults:
            defaults.write("net loopback\n")
        cls.programs = list(programs())
        with concurrent.futures.ThreadPoolExecutor(2) as side_by_side:
            cls.expected = list(side_by_side.map(by_python, cls.programs))
        cls.jails = Stepjail()
        cls.addClassCleanup(cls.jails.close)

    def compare(self, way, which=lambda program: True):
        cases = [(program, told) for program, told in zip(self.programs, self.expected) if which(program)]
        self.assertGreater(len(cases), LEAST)
        with concurrent.futures.ThreadPoolExecutor(2) as side_by_side:
            works = [side_by_side.submit(way, program) for program, _ in cases]
            for (program, expected), work in zip(cases, works):
                with self.subTest(program=program.name):
                    for told, as_expected in zip(work.result(), expected):
                        self.assertEqual(told, as_expected)

    def test_there_are_programs(self):
        self.assertGreater(len({program.name for program in self.programs}), 39)
        for program, (out, err, status) in zip(self.programs, self.expected):
            with self.subTest(program=program.name):
                self.assertGreater(out.count("\n"), 4, err)

    def test_run(self):
        self.compare(by_run)

    def test_repl(self):
        self.compare(by_repl, lambda program: not program.input)

    def test_session(self):
        self.compare(lambda program: by_session(program, self.jails))

    def test_each_statement_twice(self):
        self.compare(lambda program: by_session(program, self.jails, True), lambda program: not program.once)


if __name__ == "__main__":
    unittest.main()
