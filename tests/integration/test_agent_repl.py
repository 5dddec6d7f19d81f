#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_repl.py - stepjail-agent repl: a script on stdin"""
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import CSV, AgentCase, Watch, alive, family, wait_for  # noqa: E402


class Script(AgentCase):
    def repl(self, script, *args, status=0):
        """To its end, whatever fails."""
        with open(self.path("script", script)) as stdin:
            got, out, err = self.run_agent("repl", "--stepjail", self.fake, "--keep-going",
                                           "--transcript", tempfile.mktemp(dir=self.folder), *args,
                                           stdin=stdin, cwd=self.folder)
        self.assertEqual(got, status, out + err)
        return out, err

    def test_statements(self):
        out, err = self.repl("x = 20\ndef f():\n    y = x + 1\n\n    return 2 * y\n\n"
                             "for i in range(2):\n    print(i)\nelse:\n    print('end')\n"
                             "print(f(), end='')\nimport sys\nprint('e', file=sys.stderr)")
        self.assertEqual((out, err), ("0\n1\nend\n42", "e\n"))

    SCRIPTS = (  # and the code of their steps
        ("x = 1\ny = 2", ["x = 1\n", "y = 2\n"]),
        ("x = 1\n\n\n# c\ny = 2\n", ["x = 1\n\n\n# c\n", "y = 2\n"]),
        ("def f():\n    1\n\n    2\n\n\nf()\n", ["def f():\n    1\n\n    2\n\n\n", "f()\n"]),
        ("if 0:\n    a\nelif 0:\n    b\n\nelse:\n    3\n4",
         ["if 0:\n    a\nelif 0:\n    b\n\nelse:\n    3\n", "4\n"]),
        ("try:\n    a\nexcept NameError:\n    b = 1\nfinally:\n    c = 1\n"
         "try:\n    d = 1\nfinally: e = 1\n",
         ["try:\n    a\nexcept NameError:\n    b = 1\nfinally:\n    c = 1\n",
          "try:\n    d = 1\nfinally: e = 1\n"]),
        ("a = b = str\n@a\n@b\n\ndef f():\n    a\n1",
         ["a = b = str\n", "@a\n@b\n\ndef f():\n    a\n", "1\n"]),
        ("def f():\n    s = '''\nx\n'''\n    return s\n# c\n    # d\n\nf()\n",
         ["def f():\n    s = '''\nx\n'''\n    return s\n# c\n    # d\n\n", "f()\n"]),
        ("x = [\n1,\n]\ny = (\n\n)\n", ["x = [\n1,\n]\n", "y = (\n\n)\n"]),
        ("for i in ():\n    a\n# at the margin\n    b\n3\n",
         ["for i in ():\n    a\n# at the margin\n    b\n", "3\n"]),
        ("elsewhere = 1\nexcepted = 2\n", ["elsewhere = 1\n", "excepted = 2\n"]),
        ("if 0:\n    a\nelsewhere = 1\n", ["if 0:\n    a\n", "elsewhere = 1\n"]),
        ("x = 1; y = 2\nz = 1 + \\\n2\n", ["x = 1; y = 2\n", "z = 1 + \\\n2\n"]),
        ("'''doc\n\n:param x:\n'''\n:states\n1\n", ["'''doc\n\n:param x:\n'''\n", "1\n"]),
        (":states (it's\n1\n:states\n:states\n2\n", ["1\n", "2\n"]),
        ("match 1:\n  case 1: 2\nmatch = 3\r\n\r\n4\r\n",
         ["match 1:\n  case 1: 2\n", "match = 3\r\n\r\n", "4\r\n"]),
        ("s = '\f\u2028\u00e4'\n\u00e4 = 1\n", ["s = '\f\u2028\u00e4'\n", "\u00e4 = 1\n"]),
    )

    def steps(self, script, status=0):
        record = tempfile.mktemp(dir=self.folder)
        with open(self.path("script"), "w", newline="") as f:
            f.write(script)
        with open(self.path("script")) as stdin:
            got, out, err = self.run_agent("repl", "--stepjail", self.fake, "--keep-going",
                                           "--transcript", record, stdin=stdin, cwd=self.folder)
        self.assertEqual(got, status, out + err)
        with open(record) as f:
            events = [json.loads(line) for line in f]
        return [e["code"] for e in events if e["event"] == "code"], out, err

    def test_pieces_of_a_script(self):
        for script, steps in self.SCRIPTS:
            with self.subTest(script=script):
                self.assertEqual(self.steps(script, "(it's" in script)[0], steps)

    def test_error_of_syntax(self):
        """What is before it runs, Python says what is wrong, and what follows runs."""
        for wrong, words in (("x = = 1\n", "invalid syntax"), ("x = 1)\n", "unmatched"),
                             ("x = 'no end\n", "unterminated string"), ("$\n", "invalid syntax"),
                             ("return 1\n", "outside function")):
            with self.subTest(wrong=wrong):
                script = f"def f():\n    print(1)\nf()\n\n{wrong}print(2)\n"
                steps, out, err = self.steps(script, 1)
                self.assertEqual((out, len(steps)), ("1\n2\n", 4))
                self.assertIn(words, err)
        # where nobody can tell what follows, all of it is that statement
        for wrong in ("x = (\n", "'''never\n", "if 1:\n    1\n  2\n", "try: pass\n"):
            with self.subTest(wrong=wrong):
                steps, out, err = self.steps(f"print(1)\n{wrong}    print(2)\n", 1)
                self.assertEqual((out, len(steps)), ("1\n", 2))
                self.assertRegex(err, "SyntaxError|IndentationError")

    def test_script_larger_than_what_is_asked_at_once(self):
        long = "s = '''" + "nine byte\n" * 20000 + "'''\n"
        steps, out, err = self.steps(long * 3 + long.replace("'''\n", "") + long[7:] +
                                     "print(len(s))\n", 1)
        self.assertEqual((out, err), ("200000\n", "not run: it is longer than 256 KiB\n"))
        self.assertEqual(steps, [long] * 3 + ["print(len(s))\n"])

    def test_jail_that_does_not_tell(self):
        """It can split the text badly; without an answer of the right length it is one step."""
        one = ["x = 3\nprint(x)\n"]
        for answer, steps in (("", one), ("b", one), ("bb", one), ("b" * 4000000, one),
                              ("\0\0\0", []), ("...", []), ("b..", one), (".bb", ["print(x)\n"]),
                              ("bbb", ["x = 3\n", "print(x)\n"])):
            with self.subTest(answer=answer[:5]):
                told = len(answer) == 3
                self.path("fake_marks", answer)
                got, out, err = self.steps("x = 3\nprint(x)\n", not told or answer == ".bb")
                self.assertEqual((got, "the jail did not tell where" in err), (steps, not told))

    def test_nothing(self):
        for script in ("", "\n\n", "# nothing", ":quit\n1/0\n"):
            self.assertEqual(self.repl(script), ("", ""))

    def test_death_rolls_back(self):
        deaths = [("os._exit(7)", 7, "exit status 7"),
                  ("os.kill(os.getpid(), 11)", 139, "SIGSEGV"),
                  ("os.kill(os.getpid(), 9)", 137, "SIGKILL")]
        for code, status, words in deaths:
            with self.subTest(code=code):
                out, err = self.repl(f"import os\nx = 1\nif 1:\n    x = 2\n    {code}\nprint(x)\n",
                                     status=status)
                self.assertEqual(out, "1\n")
                self.assertIn(words, err)
                self.assertIn("rolled back to state 2: your variables are as they were", err)

    def test_status_is_of_the_last_that_failed(self):
        self.repl("1/0\nimport os\nos._exit(5)\nprint(1)\n", status=5)
        self.repl("import os\nos._exit(5)\n1/0\nprint(1)\n", status=1)
        self.repl("import time; time.sleep(60)\n", "--step-time", "200ms", status=124)

    def test_endless_loop(self):
        out, err = self.repl("x = 1\nimport signal\nif 1:\n    x = 2\n"
                             "    signal.signal(2, signal.SIG_IGN)\n    while 1: pass\nprint(x)\n", "--step-time", "3s",
                             status=124)
        self.assertEqual(out, "1\n")
        self.assertIn("killed after 3 s (wall-clock limit: --step-time 3s); rolled back to state 2", err)

    def test_states_and_branches(self):
        out, err = self.repl("x = 1\nx = 2\n:rollback 1\nprint(x)\n:branch other 2\nprint(x)\n"
                             "x = 7\n:branch\n:switch main\nprint(x)\n:drop other\n"
                             ":switch other\n", status=1)
        self.assertEqual(out, "1\n2\n1\n")
        self.assertIn("  main at state 3\n* other at state 5\n", err)
        self.assertIn("there is no branch 'other'", err)

    def test_files(self):
        self.path("mine", "\0\xff" * 100000)
        back = self.path("back")
        out, err = self.repl(f":put {self.path('mine')}\nimport os\nprint(os.path.getsize('mine'))"
                             f"\nopen('mine', 'a').write('end')\n:get mine {back}\n:files\n")
        self.assertEqual(out, "300000\n")
        self.assertRegex(err, r"(?m)^kind +bytes +changed +name\nfile +300003  \d{4}-\d\d-\d\d \d\d:\d\d  'mine'$")
        with open(back) as f:
            self.assertEqual(f.read(), "\0\xff" * 100000 + "end")
        out, err = self.repl(f":get mine {back}\n", status=1)
        self.assertIn("File exists", err)
        out, err = self.repl(f":get nothing {self.path('here')}\n:put /no/such\n:put /tmp\n"
                             ":files nowhere\n", status=1)
        for words in ("nothing: No such file", "/no/such: No such file",
                      "/tmp is not a regular file", "nowhere: No such file"):
            self.assertIn(words, err)
        self.assertFalse(os.path.exists(self.path("here")))
        # the name is before every refusal, whatever its words begin with
        _, err = self.repl(":get busy\n:files busy\n:get GET\n", status=1)
        self.assertEqual(err, "busy: a step runs on this branch\n" * 2 +
                         "GET: No such file or directory\n")
        # of /proc and /sys nothing is read; and the next one is written
        out, err = self.repl(":put /proc/self/environ half\n:put /sys/class/net/lo/speed half\n"
                             f":put {self.path('mine')} whole\n"
                             "print(__import__('os').listdir())\n", status=1)
        for name in ("/proc/self/environ", "/sys/class/net/lo/speed"):
            self.assertIn(f"{name}: Permission denied", err)
        self.assertEqual(out, "['whole']\n")

    def test_put_opens_no_pipe(self):
        """Nor a device: that may wait, or wake who waits for its other end."""
        os.mkfifo(self.path("fifo"))
        watch = Watch(self.path("fifo"))
        _, err = self.repl(":put fifo\n:put /dev/null\n", status=1)
        self.assertEqual(err, "fifo is not a regular file\n/dev/null is not a regular file\n")
        self.assertFalse(watch.opened())

    def test_get_that_finds_no_room(self):
        """The beginning is left, for nothing is removed at a prompt; so it is named."""
        script = self.path("script", "import resource as r\nr.setrlimit(r.RLIMIT_FSIZE, (-1, -1))\n"
                                     "open('a', 'wb').write(bytes(300000))\n:get a\n")
        limit = resource.RLIMIT_FSIZE, (100000, -1)  # of the agent; the jail lifts its own
        with open(script) as stdin:
            status, _, err = self.run_agent("repl", "--stepjail", self.fake, "--transcript", "none",
                                            stdin=stdin, cwd=self.folder,
                                            preexec_fn=lambda: resource.setrlimit(*limit))
        self.assertEqual((status, err), (1, "a holds only the beginning: a: File too large\n"))
        self.assertEqual(os.path.getsize(self.path("a")), 100000)

    def test_get_makes_files_below_the_folder_alone(self):
        os.mkdir(self.path("below"))
        with tempfile.TemporaryDirectory() as elsewhere:
            script = "open('a', 'w').write('bytes')\nopen('empty', 'w').close()\n"
            out, err = self.repl(script + f":get a below/a\n:get empty\n:get a {elsewhere}/a\n",
                                 status=1)
            self.assertIn(f"{elsewhere}/a: permission denied: the agent makes files below the folder", err)
            self.assertEqual(os.listdir(elsewhere), [])
        with open(self.path("below/a")) as a, open(self.path("empty")) as empty:
            self.assertEqual((a.read(), empty.read()), ("bytes", ""))

    def test_commands_that_are_none(self):
        out, err = self.repl(":dance\n:rollback\n:rollback -1\n:rollback 99\n:branch a/b\n"
                             ":rollback 1 2 3 4 5 6\nprint(1)\n", status=1)
        self.assertEqual(out, "1\n")
        self.assertEqual(err.count("\n"), 6, err)
        for words in (":help lists them", "write :rollback N", "'-1' is no state's number",
                      "state 99 is not kept", "a branch's name"):
            self.assertIn(words, err)

    def test_help_status_reset(self):
        out, err = self.repl("x = 1\n:help\n:status\n:states\n:reset\nprint('x' in globals())\n")
        self.assertEqual(out, "False\n")
        for name in ("rollback N", "branch [NAME [N]]", "switch NAME", "drop NAME", "states", "files [DIR]",
                     "put FILE [NAME]", "get NAME [FILE]", "show", "status", "reset", "help", "quit"):
            self.assertRegex(err, rf"(?m)^:{re.escape(name)} +[A-Z].*\.$")
        told = ("session number 1, root tree core, 60 s for a step\non branch main, at state 1\n"
                "  state  from   memory\n  0      0      4 KiB\n* 1      0      4 KiB\n")
        self.assertIn(told * 2, err)  # :status and :states are one

    def test_control_bytes(self):
        out, err = self.repl("print('\\x1b[2J\\u202e\\r')\nraise ValueError('\\x1b]0;t\\x07')\n",
                             status=1)
        self.assertEqual(out, "\\x1b[2J\\u202e\\r\n".replace("\\r\n", "\n"))
        self.assertIn("ValueError: \\x1b]0;t\\x07", err)
        for byte in "\x1b\x07\u202e\r":
            self.assertNotIn(byte, out + err)

    def test_character_cut_in_two(self):
        out, _ = self.repl("import os, time\nif 1:\n    os.write(1, b'\\xe2\\x82')\n"
                           "    time.sleep(0.2)\n    os.write(1, b'\\xac\\n')\n")
        self.assertEqual(out, "\u20ac\n")

    def test_input_that_is_no_code(self):
        with open(self.path("script"), "wb") as f:
            f.write(b"x = '\xff'\nprint(1)\n")
        with open(self.path("script")) as stdin:
            got, out, err = self.run_agent("repl", "--stepjail", self.fake, "--transcript",
                                           "none", "--keep-going", stdin=stdin)
        self.assertEqual((got, out, err), (1, "1\n", "not run: it is no UTF-8\n"))
        out, err = self.repl("x = [\n" + "1,\n" * 200000 + "]\nprint(1)\n", status=1)
        self.assertEqual((out, err), ("1\n", "not run: it is longer than 256 KiB\n"))
        out, err = self.repl("x" * (2 << 20), status=125)
        self.one_line(err, "a statement of the script is longer than 640 KiB")

    def test_lost_session(self):
        out, err = self.repl("x = 1\n:branch b\n# FAKE_END=memory\npass  # FAKE_END=memory\n"
                             ":branch\nprint('x' in globals())\n", status=1)
        self.assertEqual(out, "False\n")
        self.assertIn("the session is lost, and your variables and files with it", err)
        self.assertIn("* main at state 0\n", err)
        self.assertNotIn("b at", err)

    def test_stepjail_dies(self):
        out, err = self.repl("x = 1\nimport time\ntime.sleep(60)  # FAKE_DIE\nprint(2)\n",
                             status=125)
        self.assertEqual(out, "2\n")
        self.assertIn("launcher-error: the sandbox itself failed", err)

    def test_jail_that_does_not_start(self):
        out, err = self.repl("print(1)", "--rootfs", "broken", status=125)
        self.one_line(err, "the jail did not start: stepjail: rootfs 'broken'")

    def test_stdout_that_takes_nothing(self):
        with open("/dev/full", "w") as full, open(self.path("s", "print(1)\nprint(2)")) as stdin:
            status, _, err = self.run_agent("repl", "--stepjail", self.fake, "--transcript",
                                            "none", stdin=stdin, stdout=full)
        self.assertEqual(status, 125)
        self.one_line(err, "cannot write what the code printed: No space left")

    def test_as_it_comes(self):
        """A line is shown while its step still runs; a signal ends the script."""
        with open(self.path("s", "import time\nif 1:\n    print('now', flush=True)\n"
                                 "    time.sleep(60)\n")) as stdin:
            p = self.popen("repl", "--stepjail", self.fake, "--transcript", "none",
                           stdin=stdin)
        self.assertEqual(p.stdout.readline(), b"now\n")
        pids = family(p.pid)
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 130)
        self.one_line(err.decode(), "ended by SIGINT")
        self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))

    def test_statement_runs_before_the_next_comes(self):
        """For whoever talks to it by pipes: no line has to follow."""
        with self.popen("repl", "--stepjail", self.fake, stdin=-1) as p:
            for i in range(3):
                p.stdin.write(b"print(%d)\n" % i)
                p.stdin.flush()
                self.assertEqual(p.stdout.readline(), b"%d\n" % i)
            p.communicate(timeout=60)
        self.assertEqual(p.returncode, 0)

    def test_files_are_given(self):
        out, _ = self.repl("print(len(open('/work/in/penguins.csv').readlines()))\n", "--file", CSV)
        self.assertEqual(out, "345\n")


if __name__ == "__main__":
    unittest.main()
