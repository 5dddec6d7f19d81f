#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_repl_tab.py - stepjail-agent repl: names by Tab, and answers to input()"""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import wait_for  # noqa: E402
from test_agent_repl_person import Terminal  # noqa: E402


class Tab(Terminal):
    def run_code(self, code):
        self.type(code + "\n")
        return self.expect(r"\n\[[0-9]+\]>>> $")

    def tab(self, keys, shown):
        """Type that, see what Tab makes of it, and void the line."""
        self.type(keys)
        self.expect(re.escape(keys) + "$")
        self.type("\t")
        self.expect(shown)
        self.type("\x03")
        self.expect(r"\^C\n\[[0-9]+\]>>> $")

    NAMES = (  # what is typed, and what comes
        ("math.fl", r"oor$"), ("apple.isup", r"per$"), ("impo", r"rt$"), ("print(appl", r"e$"),
        ("isinst", r"ance$"), ("x = math.is", r"\nisclose isfinite isinf isnan isqrt \n"),
        ("ap", r"\napple apricot \n"), (":rol", r"lback$"), (":s", r"\nswitch states show status \n"),
        ("apple.", r"\ncapitalize (\w+ )+zfill \n"))

    def test_names(self):
        self.start()
        self.run_code("import math; apple = 'x'; apricot = 2")
        for keys, shown in self.NAMES:
            with self.subTest(keys=keys):
                self.tab(keys, shown)
        self.type("math.flo\t")
        self.expect(r"or$")
        self.assertIn("\n2\n", self.run_code("(2.5) and print(math.floor(2.5))"))

    def test_what_is_no_name(self):
        """A bell; and nothing is run but attributes that are looked up."""
        self.start()
        self.run_code("x = 1; d = {}")
        for keys in ("nothing.at", "x.no_such", "1.re", "d[].k", "'", "x..r", ".x", "x)", "no_such"):
            with self.subTest(keys=keys):
                self.tab(keys, "\x07$")
        self.assertIn("\n1\n", self.run_code("print(x)"))

    def test_indentation(self):
        self.start()
        self.type("if 1:\n")
        self.expect(r"\.\.\. $")
        self.type("\tprint(6 * 7)\n\n")
        self.expect(r"\n42\n\[1\]>>> $")

    CLASS = ("class A:", "    def __dir__(self):", "        global touched; touched = 1",
             "        open({!r}, 'w').close()", "        {}", "")

    def make_class(self, code):
        for line in self.CLASS:
            self.type(line.format(*[self.path("began")] * ("open" in line), code) + "\n")
        self.expect(r"\[1\]>>> $")
        self.run_code("a = A()")

    def test_nothing_is_kept(self):
        """Of the fork that is asked: no variable, no state, no branch; a number is used up."""
        record = self.path("r.jsonl")
        self.start("--transcript", record)
        self.make_class("return ['mine']")
        self.tab("a.m", r"ine$")
        self.assertIn("\nFalse\n[4]>>> ", self.run_code("print('touched' in globals())"))
        self.assertEqual(self.run_code(":branch").count(" at state "), 1)
        self.assertEqual(re.findall(r"\n[ *] (\d+)", self.run_code(":states")), ["0", "1", "2", "4"])
        self.type(":rollback 2\n")
        self.expect(r"\n\[2\]>>> $")
        self.assertEqual(self.leave(), 0)
        status, out, err = self.run_agent("replay", record, "--stepjail", self.fake)
        self.assertEqual((status, err), (0, ""), out)
        self.assertEqual(self.run_agent("verify", record)[0], 0)

    def test_names_that_are_hostile(self):
        self.start()
        self.make_class("return ['mine', 'm y', 'm' * 51, 'm\\x1b[2J', 'm\\u0430', 'm\\n', 'other']")
        self.tab("a.m", r"ine$")
        for code in ("import os; os.write(1, b'm\\x1b[2J\\nother\\n' + b'mm' * 9000 + b'\\nm'); os._exit(0)",
                     "import os; os.kill(os.getpid(), 9)", "raise SystemExit", "return 5"):
            with self.subTest(code=code):
                self.type("class A:\n    def __dir__(self):\n        " + code + "\n\n")
                self.expect(r"\d\]>>> $")
                self.run_code("a = A()")
                self.tab("a.m", "\x07$")

    def test_names_that_do_not_come(self):
        """It is interrupted after a second, or by Ctrl-C."""
        self.start()
        self.make_class("import time; time.sleep(600)")
        self.tab("a.m", "\x07$")
        os.unlink(self.path("began"))
        self.type("a.m\t")
        self.assertTrue(wait_for(lambda: os.path.exists(self.path("began"))))
        self.type("\x03")
        self.expect("\x07$")
        self.assertIn("\n42\n", self.run_code("\x15print(6 * 7)"))


class Input(Terminal):
    def test_answers(self):
        self.start()
        self.type("name = input('name? ')\n")
        self.expect(r"\nname\? $")
        self.type("somebody\n")
        self.expect(r"\n\[1\]>>> $")
        self.type("print(name.upper())\n")
        self.expect(r"\nSOMEBODY\n\[2\]>>> $")

    def test_many_lines_and_an_end(self):
        self.start()
        self.type("import sys; print('so', flush=True); print(sys.stdin.read().split())\n")
        self.expect(r"\nso\n$")
        self.type("a b\nc\n")
        self.expect(r"a b\nc\n$")
        self.type("\x04")
        self.expect(r"\['a', 'b', 'c'\]\n\[1\]>>> $")
        self.type("input('? ')\n")
        self.expect(r"\n\? $")
        self.type("\x04")
        self.expect(r"EOFError: EOF when reading a line\n+\[2\]>>> $")

    def test_interrupted(self):
        self.start()
        self.type("x = 1; input('? ')\n")
        self.expect(r"\n\? $")
        self.type("\x03")
        self.expect(r"KeyboardInterrupt\n+\[1\]>>> $")
        self.type("print(x + 41)\n")
        self.expect(r"\n42\n\[2\]>>> $")

    def test_what_is_pasted_is_code(self):
        """And no answer: with a line behind it that waits, nobody is there to answer."""
        self.start()
        self.type("x = 0; x = input()\nprint('next', x)\n")
        self.expect(r"EOFError(.|\n)*\nnext 0\n\[2\]>>> $")

    def test_what_is_typed_ahead_is_code(self):
        """Of a step whose code asks for nothing."""
        self.start()
        go = self.path("go")
        self.type(f"import os, time; print('th' + 'ere', flush=True)\nwhile not os.path.exists({go!r}): time.sleep(0.01)\n\n")
        self.expect(r"\nthere\n")
        self.type("print(6 * 7)\n")
        self.path("go", "")
        self.expect(r"\n42\n\[3\]>>> $")

    def test_debugger(self):
        self.start()
        self.type("x = 41\n")
        self.expect(r"\[1\]>>> $")
        self.type("breakpoint()\n")
        self.expect(r"\(Pdb\) $")
        self.type("p x + 1\n")
        self.expect(r"\n42\n\(Pdb\) $")
        self.type("c\n")
        self.expect(r"\[2\]>>> $")


if __name__ == "__main__":
    unittest.main()
