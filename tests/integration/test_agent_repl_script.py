#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_repl_script.py - stepjail-agent repl: where a script comes from, and where it ends"""
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase  # noqa: E402


class Script(AgentCase):
    def repl(self, script, *args, status=0, file=None):
        """By stdin, or by a file's name."""
        path = self.path("s.py", script)
        with open(os.devnull if file else path) as stdin:
            got, out, err = self.run_agent(
                "repl", "--stepjail", self.fake, "--transcript", "none", *args,
                *([path if file is True else file] if file else []), stdin=stdin, cwd=self.folder)
        self.assertEqual(got, status, out + err)
        return out, err

    def test_a_file_is_a_script(self):
        script = ("#!/usr/bin/env python3\nx = 41\ndef f():\n\n    return x + 1\nprint(f())\n"
                  ":states\n")
        self.assertEqual(self.repl(script, file=True), self.repl(script))
        self.assertEqual(self.repl(script, file=True)[0], "42\n")
        self.assertEqual(self.repl(script, "-")[0], "42\n")

    def test_a_file_that_is_a_pipe(self):
        os.mkfifo(self.path("fifo"))

        def write():
            with open(self.path("fifo"), "w") as f:
                f.write("print(42)")

        writer = threading.Thread(target=write)
        writer.start()
        self.assertEqual(self.repl("", file=self.path("fifo"))[0], "42\n")
        writer.join()

    def test_a_file_that_is_none(self):
        _, err = self.repl("", file=self.path("nothing"), status=125)
        self.one_line(err, "nothing: No such file or directory")
        _, err = self.repl("", file=self.folder, status=125)
        self.one_line(err, "Is a directory")
        _, err = self.repl("", "x", file=True, status=125)
        self.one_line(err, "is one operand too many")

    def test_the_first_failure_ends_it(self):
        for code, status in (("1/0", 1), ("x = = 1", 1), (":rollback 99", 1), (":dance", 1),
                             ("import os; os._exit(7)", 7), ("'''never", 1),
                             ("import os; os.kill(os.getpid(), 9)", 137)):
            for file in (None, True):
                with self.subTest(code=code, file=file):
                    script = f"print(1)\n{code}\nprint(2)\n"
                    self.assertEqual(self.repl(script, status=status, file=file)[0], "1\n")
        # the rest is not waited for
        with self.popen("repl", "--stepjail", self.fake, stdin=-1) as p:
            p.stdin.write(b"1/0\n")
            p.stdin.flush()
            self.assertEqual(p.wait(timeout=60), 1)
            p.communicate()

    def test_keep_going(self):
        out, err = self.repl("print(1)\n1/0\n:dance\nprint(2)\n", "--keep-going", status=1)
        self.assertEqual(out, "1\n2\n")
        self.assertIn("ZeroDivisionError", err)

    def test_exit(self):
        for code, status in (("exit()", 0), ("quit()", 0), ("exit(3)", 3), ("exit('words')", 1),
                             ("import sys; sys.exit(4)", 4), ("raise SystemExit", 0)):
            for more in ((), ("--keep-going",)):
                with self.subTest(code=code, more=more):
                    head = "1/0\n" if more else ""
                    out, err = self.repl(f"{head}import sys\nexit = quit = sys.exit\nprint(1)\n"
                                         f"{code}\nprint(2)\n", *more, status=status)
                    self.assertEqual(out, "1\n")
                    self.assertNotIn("exited", err)

    def test_nobody_answers(self):
        _, err = self.repl("x = input()\n", status=1)
        self.assertIn("\nEOFError: EOF when reading a line\n", err)


if __name__ == "__main__":
    unittest.main()
