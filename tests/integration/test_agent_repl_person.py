#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_repl_person.py - stepjail-agent repl with a person on a terminal"""
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import sys
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, AgentCase, alive, family, wait_for  # noqa: E402



class Terminal(AgentCase):
    """Somebody who types."""

    def start(self, *args, shell=None, **env):
        words = [AGENT, "repl", "--stepjail", self.fake, "--color", "never", *args]
        if shell:
            words = ["/bin/bash", "-mc", shell % shlex.join(words)]
        environ = self.env(**{"TERM": "xterm", "XDG_STATE_HOME": self.path("state"),
                              "HOME": self.folder, **env})
        self.begin(words, environ)
        self.expect(r"\[0\]>>> $")

    def begin(self, words, environ):
        """The program, on a terminal of its own."""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
            os.execve(words[0], words, environ)
        self.addCleanup(self.stop)
        self.seen = ""

    def stop(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)
            self.pid = 0

    def expect(self, pattern, seconds=60):
        """What came until the pattern stands in it; the rest is for the next one."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            self.assertLess(time.monotonic(), end, (pattern, self.seen))
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    piece = os.read(self.fd, 65536)
                except OSError:
                    piece = b""
                self.assertTrue(piece, ("it ended", pattern, self.seen))
                self.seen += piece.decode(errors="replace").replace("\r\n", "\n")
        before, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return before

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def leave(self, keys="\x04"):
        self.type(keys)
        status = None
        end = time.monotonic() + 60
        while status is None and time.monotonic() < end:
            pid, got = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                status = os.waitstatus_to_exitcode(got)
            elif select.select([self.fd], [], [], 0.05)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
        self.assertIsNotNone(status)
        os.close(self.fd)
        self.pid = 0
        return status


class Person(Terminal):
    WHOLE = (  # with its last line, and not before
        "x = 1", "x = (1,\n2)", "x = [\n\n# ] in a comment\n1\n]", "str({'a': 1},\n\")\",\n')')",
        "x = 1 + \\\n2", "s = 'a\\\nb'", "s = \"\"\"a\n\n'''\n\"\"\"", "s = '''a\\'''\n'''",
        "s = 'no end", "x = 1)", "s = r'\\'; y = 1", "if x:\n    x\n", "if x: x\n", "x = = 1",
        "for i in (1,\n2):\n  print(i)\n", "def f(a,\n      b):\n   return 1\n", "else:",
        "def f():\n    s = '''\n\n'''\n    return s\n", "@str\ndef f(): pass\n", "class A: pass\n",
        "async def f(): pass\n", "match x:\n  case 1: pass\n   ", "while 0: # ever\n  pass\n",
        "try:\n  x\nfinally:\n  x\n", "match = 1", "iffy = {1: 2}", "x = {1:\n2}", "lambda: 0",
        "s = 'ends with:'", "x = 1 # ends with:", "print(s[1:])")

    def test_statements_are_whole(self):
        self.start()
        for count, text in enumerate(self.WHOLE):
            with self.subTest(text=text):
                *lines, last = text.split("\n")
                for line in lines:
                    self.type(line + "\n")
                    self.expect(r"\n\[%d\]\.\.\. $" % count)
                self.type(last + "\n")
                self.expect(r"\n\[%d\]>>> $" % (count + 1))
        for nothing in ("", "   ", "# nothing"):
            self.type(nothing + "\n")
            self.expect(r"\n\[%d\]>>> $" % len(self.WHOLE))

    def test_too_long(self):
        self.start()
        self.type("x = '''\n")
        self.expect(r"\n\[0\]\.\.\. $")
        for _ in range(100):
            self.type("x" * 3000 + "\n")
            if self.expect(r"\n\[0\](>>>|\.\.\.) $").endswith(">>> "):
                break
        else:
            self.fail("more than 256 KiB were taken")
        self.type("print(6 * 7)\n")
        self.expect(r"\n42\n\[1\]>>> $")

    def test_pasted(self):
        """Lines that come at once, as from a clipboard."""
        self.start()
        self.type("def f(x):\n    if x:\n        return [\n            x,\n        ]\n\n"
                  "print(f(6)[0] * 7)\nf(1)[0]; print(2)\n")
        self.assertRegex(self.expect(r"\[3\]>>> $"), r"(?s)\n42\n.*\n2\n")

    PASTES = (  # and what is printed; each is one paste, with the newline behind it
        ("def f(x):\n    y = x\n\n    return y\n\nprint(f(6) * 7)", "42"),
        ("class A:\n\n    def f(self):\n        return 1\n\n\n    def g(self):\n\n        return 2\n"
         "print(A().f(), A().g())", "1 2"),
        ("if 0:\n    1\n\nelse:\n    print('other')\n\n# words\n\nprint('end')", "other"),
        ("try:\n    1/0\n\nexcept ZeroDivisionError:\n    print('caught')\n\nfinally:\n\n"
         "    print('fin')\nx = 1", "caught\nfin"),
        ("@str\n@repr\n\ndef f(): pass\nprint(f[1:9])", "function"),
        ("def f():\n    return '''\n\na'''\n\n\nprint(f().strip())", "a"),
    )

    def test_pasted_blank_lines(self):
        """At a prompt they end a function, but not one that is pasted."""
        self.start()
        for text, printed in self.PASTES:
            with self.subTest(text=text):
                self.type(text + "\nprint('pas' + 'ted')\n")
                seen = self.expect(r"\npasted\n")
                self.expect(r"\]>>> $")
                self.assertNotIn("Traceback", seen)
                self.assertIn("\n" + printed, seen)

    def test_exit(self):
        for keys, status in (("exit()\n", 0), ("quit(3)\n", 3), ("exit\n", 0), ("quit\n", 0),
                             (":quit\n", 0)):
            with self.subTest(keys=keys):
                self.start()
                self.type("import sys; exit = quit = sys.exit; 1/0\n")  # as in a jail
                self.expect(r"\[1\]>>> $")
                self.assertEqual(self.leave(keys), status)
        self.start()
        self.type("import os; os._exit(7)\n")
        self.expect(r"exit status 7; rolled back to state 0: .*\n\[0\]>>> $")

    def test_statements(self):
        self.start()
        self.type("x = 41\n")
        self.expect(r"\[1\]>>> $")
        self.type("def f(y):\n")
        self.expect(r"\[1\]\.\.\. $")
        self.type("    return x + y\n")
        self.expect(r"\[1\]\.\.\. $")
        self.type("\n")
        self.expect(r"\[2\]>>> $")
        self.type("print(f(1), end='')\n")
        self.assertIn("\n42\n[3]>>> ", self.expect(r"\[3\]>>> $"))
        self.type("1/0\n")
        self.assertIn("ZeroDivisionError", self.expect(r"\[4\]>>> $"))
        self.assertEqual(self.leave(), 0)

    def test_interrupt_of_a_step(self):
        self.start()
        self.type("x = 1\n")
        self.expect(r"\[1\]>>> $")
        self.type("x = 2; import time; print('there', flush=True); time.sleep(60)\n")
        self.expect("\nthere\n")
        self.type("\x03")
        self.assertIn("KeyboardInterrupt", self.expect(r"\[2\]>>> $"))
        self.type("print(x + 40)\n")
        self.expect(r"\n42\n\[3\]>>> $")

    def test_interrupt_that_is_caught(self):
        """The grace, or a second Ctrl-C, ends what does not listen; the variables come back."""
        self.start()
        self.type("x = 1\n")
        self.expect(r"\[1\]>>> $")
        for code in ("import time", "def f():", "    x = 2", "    while 1:",
                     "        try: print('there', flush=True); time.sleep(60)",
                     "        except BaseException: pass", ""):
            self.type(code + "\n")
        self.expect(r"\[3\]>>> $")
        self.type("f()\n")
        self.expect("\nthere\n")
        self.type("\x03")
        time.sleep(0.2)
        self.type("\x03")
        self.expect(r"rolled back to state 3: your variables are as they were\n\[3\]>>> $")
        self.type("print(x)\n")
        self.expect(r"\n1\n\[5\]>>> $")

    def test_interrupt_of_a_flood(self):
        self.start()
        self.type("while 1: print('x' * 1000)\n")
        self.expect(r"\.\.\. $")
        self.type("\n")
        self.expect("xxxx")
        self.type("\x03")
        self.expect(r"KeyboardInterrupt\n\[1\]>>> $")

    def test_interrupt_at_the_prompt(self):
        self.start()
        self.type("def f():\n")
        self.expect(r"\.\.\. $")
        self.type("    garb")
        self.expect("garb$")
        self.type("\x03")
        self.expect(r"\^C\n\[0\]>>> $")
        self.type("print(6 * 7)\n")
        self.expect(r"\n42\n\[1\]>>> $")
        self.assertEqual(self.leave(), 0)

    def test_interrupt_of_the_jail_that_is_asked(self):
        self.start()
        self.path("fake_marks", "wait")
        self.type("x = 1\n")
        self.assertTrue(wait_for(lambda: os.path.exists(self.path("fake_waits"))))
        self.type("\x03")
        self.expect(r"\n\[0\]>>> $")
        os.unlink(self.path("fake_marks"))
        self.type("print('x' in globals())\n")
        self.assertIn("\nFalse\n", self.expect(r"\n\[1\]>>> $"))

    def test_branch_in_the_prompt(self):
        self.start()
        self.type("x = 1\n")
        self.expect(r"\[1\]>>> $")
        self.type(":branch other\n")
        self.expect(r"\[other 1\]>>> $")
        self.type("x = 2\n")
        self.expect(r"\[other 2\]>>> $")
        self.type(":switch main\n")
        self.expect(r"\[1\]>>> $")
        self.type(":rollback 0\n")
        self.expect(r"at state 0 again; files stay\n\[0\]>>> $")

    def test_history(self):
        self.start()
        self.type("print('caf\u00e9')\n")
        self.expect("\ncaf\u00e9\n")
        self.assertEqual(self.leave(), 0)
        path = self.path("state/stepjail/history")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700)
        self.start()
        self.type("\x1b[A\n")
        self.expect("\ncaf\u00e9\n")
        self.assertEqual(self.leave(), 0)

    def test_stop_and_go_on(self):
        """Ctrl-Z, which takes a shell that waits for it."""
        self.start(shell="%s; echo stopped; fg")
        self.type("x = 6\n")
        self.expect(r"\[1\]>>> $")
        self.type("\x1a")
        self.expect("stopped\n")
        self.type("print(x * 7)\n")
        self.expect(r"42\n.*\[2\]>>> $")

    def test_no_history(self):
        self.start("--no-history")
        self.type("print(1)\n")
        self.expect(r"\[1\]>>> $")
        self.assertEqual(self.leave(), 0)
        self.assertFalse(os.path.exists(self.path("state/stepjail/history")))

    def test_history_without_xdg(self):
        self.start(XDG_STATE_HOME="")
        self.assertEqual(self.leave(), 0)
        self.start(XDG_STATE_HOME="relative")
        self.assertEqual(self.leave(), 0)
        self.assertTrue(os.path.exists(self.path(".local/state/stepjail/history")))

    def test_sigterm_at_the_prompt(self):
        self.start()
        pids = family(self.pid)
        os.kill(self.pid, signal.SIGTERM)
        self.expect("ended by SIGTERM")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), 143)
        os.close(self.fd)
        self.pid = 0
        self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))


if __name__ == "__main__":
    unittest.main()
