#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_real.py - stepjail-agent with the real stepjail and its root tree"""
import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_agent_repl_person import Terminal  # noqa: E402
from agent_scene import (BUILD, CSV, KEY, QUESTION, SCRIPT, AgentCase,  # noqa: E402
                         alive, errors, family, fence, unwarned, wait_for)


class Installed:
    """The real stepjail, and its root tree, for all tests of a case."""

    @classmethod
    def setUpClass(cls):
        cls.stepjail = os.path.join(BUILD, "stepjail")
        if not os.path.exists(cls.stepjail) or \
                not os.path.exists(os.path.join(BUILD, "rootfs/core/bin/stepjail-interpreter")):
            raise unittest.SkipTest(f"no stepjail or no rootfs/core in {BUILD}: make all rootfs")
        check = subprocess.run([cls.stepjail, "run", "--rootfs", "core", "--", "/bin/python3", "-c",
                                "pass"], capture_output=True)
        cls.missing = ["--allow-missing", "cgroup"] if check.returncode == 125 else []


class Real(Installed, AgentCase):
    """The same with the real stepjail and its root tree."""

    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)

    def test_demo(self):
        status, out, err = self.run_agent("solve", QUESTION, "--file", CSV, "--model",
                                          f"scripted:{SCRIPT}", "--stepjail", self.stepjail,
                                          *self.missing)
        self.assertEqual((status, errors(err)), (0, ""), out)
        self.assertIn("Gentoo penguins are the heaviest: 5076 g", out)

    def test_session(self):
        got = self.steps("x = 41\nx + 1", "import os; print(x, sorted(os.environ))",
                         "raise ValueError(x)", "print(x)",
                         "import os; print(sorted(os.listdir('/proc/self/fd')))",
                         more=tuple(self.missing), env=self.env(STEPJAIL_API_KEY=KEY))
        steps = got["steps"]
        self.assertEqual(steps[0]["result"]["head"], "42")
        self.assertNotIn(KEY, json.dumps(got))
        self.assertEqual([s["state"] for s in steps], ["kept"] * 5)
        self.assertEqual([s["state_number"] for s in steps], [1, 2, 3, 4, 5])
        self.assertIn("<step 3>", steps[2]["traceback"]["head"])
        self.assertEqual(steps[3]["stdout"]["head"], "41\n")

    def test_code_out_of_a_notebook(self):
        got = self.steps("%matplotlib inline\nx = 41", "    x += 1\n    x", "!pip install requests\nprint(x)",
                         "from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))", ">>> x\n",
                         "import asyncio\nawait asyncio.sleep(0, x)", more=tuple(self.missing))
        steps = got["steps"]
        self.assertEqual([step["verdict"] for step in steps], ["completed"] * 6)
        self.assertEqual([steps[n]["result"]["head"] for n in (1, 4, 5)], ["42"] * 3)
        self.assertIn("requests: no tree of Stepjail has it", steps[2]["stderr"]["head"])
        self.assertEqual(steps[2]["stdout"]["head"], "42\n")

    def test_stateless_question(self):
        """A question fails there as well; and a source may be longer than a frame."""
        got = self.steps("input()", "x = 0\n" + "x += 1\n" * 20000 + "print(x)",
                         more=("--stateless", "--step-time", "20s", *self.missing))
        self.assertIn("EOFError", got["steps"][0]["traceback"]["head"])
        self.assertEqual(got["steps"][1]["stdout"]["head"], "20000\n")
        self.assertEqual([s["state"] for s in got["steps"]], ["not-kept"] * 2)

    def test_cpu_budget_ends_a_step(self):
        """What is left of --total-cpu-time is the step's own limit."""
        for more in ((), ("--stateless",)):
            with self.subTest(more=more):
                got = self.steps("x = 1", "while True: pass",
                                 more=("--total-cpu-time", "1s", *more, *self.missing))
                self.assertEqual([s["verdict"] for s in got["steps"]],
                                 ["completed", "cpu-timeout"])
                self.assertGreaterEqual(got["budget"]["cpu_ms"]["used"], 1000)
                self.assertLess(got["budget"]["cpu_ms"]["used"], 30000)
                self.assertIn("The CPU time is used up", got["steps"][1]["observation"])

    def test_deaths_roll_back(self):
        """Each in turn, in one session: the variables from before it are all there."""
        deaths = [
            ("import os; x.append('lost'); os._exit(3)", "exited"),
            ("import os, signal; x.clear(); os.kill(os.getpid(), signal.SIGSEGV)", "signaled"),
            ("import os; del x; os.kill(os.getpid(), 9)", "signaled"),
            ("import os; x = 2; os.abort()", "signaled"),
            ("import signal\nx.clear()\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass",
             "wall-timeout"),
            ("import sys\nsys.setrecursionlimit(10 ** 9)\nx.clear()\ndef f(): f()\nf()", None),
        ]
        codes = ["x = [1]"]
        for code, _ in deaths:
            codes += [code, "print(x)"]
        got = self.steps(*codes, more=("--step-time", "5s", "--steps", "20", *self.missing))
        for (code, verdict), death, after in zip(deaths, got["steps"][1::2], got["steps"][2::2]):
            with self.subTest(code=code):
                self.assertEqual(death["state"], "rolled-back", death)
                if verdict:
                    self.assertEqual(death["verdict"], verdict)
                self.assertIn("all variables are as they were before this step",
                              death["observation"])
                self.assertEqual((after["state"], after["stdout"]["head"]), ("kept", "[1]\n"))
        self.assertEqual(got["jails"], 1)

    def test_files_stay(self):
        got = self.steps("import os; open('/work/f', 'w').write('text'); os._exit(1)",
                         "print(open('/work/f').read())", more=tuple(self.missing))
        self.assertIn("files that it wrote are kept", got["steps"][0]["observation"])
        self.assertEqual(got["steps"][1]["stdout"]["head"], "text\n")

    def test_time_limit(self):
        stubborn = "import time\nwhile True:\n    try:\n        time.sleep(60)\n" \
                   "    except BaseException:\n        pass"
        got = self.steps("x = 1", "import time; time.sleep(60)", "print(x)", stubborn, "print(x)",
                         more=("--step-time", "3s", *self.missing))
        self.assertEqual([(s["verdict"], s["state"]) for s in got["steps"]],
                         [("completed", "kept"), ("wall-timeout", "kept"), ("completed", "kept"),
                          ("wall-timeout", "rolled-back"), ("completed", "kept")])
        self.assertIn("interrupted after 3 s", got["steps"][1]["observation"])
        self.assertEqual(got["steps"][4]["stdout"]["head"], "1\n")
        self.assertEqual(got["jails"], 1)

    def test_memory(self):
        """By an exception, or by a kill: the variables are there in either case."""
        hog = "import os\nx = 2\nwhile True: y = [y if 'y' in globals() else 0, " \
              "bytearray(os.urandom(1 << 20))]"
        got = self.steps("x = 1", hog, "print('x =', x, 'of', 'y' in globals())",
                         more=("--memory", "96M", *self.missing))
        first, second = got["steps"][1:]
        self.assertIn((first["verdict"], first["state"]),
                      [("memory", "rolled-back"), ("exception", "kept"), ("memory", "kept")])
        if first["state"] == "rolled-back":
            self.assertEqual(second["stdout"]["head"], "x = 1 of False\n")
        # beside a y that fills the memory the last step may be ended by the watch, if it takes long enough
        full = first["state"] == "kept" and (second["verdict"], second["state"]) == ("memory", "rolled-back")
        self.assertTrue(full or second["verdict"] == "completed", second)
        self.assertEqual(got["jails"], 1)

    def test_stateless(self):
        got = self.steps("x = 1\nopen('/work/f', 'w').close()", "import os; os._exit(3)",
                         "import os; print('x' in globals(), os.listdir('/work'))",
                         more=("--stateless", *self.missing))
        self.assertEqual([(s["verdict"], s["state"]) for s in got["steps"]],
                         [("completed", "not-kept"), ("exited", "not-kept"),
                          ("completed", "not-kept")])
        self.assertEqual(got["steps"][2]["stdout"]["head"], "False []\n")
        self.assertEqual(got["jails"], 3)

    def test_flood(self):
        """Head and tail are seen, of what stepjail sent and of what it did not."""
        got = self.steps("for i in range(200000): print('%099d' % i)", more=tuple(self.missing))
        out = got["steps"][0]["stdout"]
        self.assertEqual(out["bytes"], 200000 * 100)
        self.assertTrue(out["head"].startswith("0" * 99 + "\n"))
        self.assertTrue(out["tail"].endswith("%099d\n" % 199999))
        self.assertIn("bytes are not shown here]", got["steps"][0]["observation"])

    def test_kill_of_all(self):
        """No step can end the states that it may have to go back to."""
        got = self.steps("x = 1", "import os\ntry: os.kill(-1, 9)\n"
                         "except PermissionError: print('refused')", "print(x)",
                         more=tuple(self.missing))
        self.assertEqual([s["stdout"]["head"] for s in got["steps"]], ["", "refused\n", "1\n"])

    def test_jail_that_does_not_start(self):
        """stepjail's own words, in one line."""
        for more, words in ((("--memory", "0"), "--memory"),
                            (("--pids", "1"), "--pids 1 is less"),
                            (("--rootfs", "/no/such"), "/no/such")):
            with self.subTest(more=more):
                status, _, err = self.run_agent("solve", "x", "--stepjail", self.stepjail,
                                                *self.missing, "--model", self.script("Done."),
                                                *more)
                self.assertEqual(status, 125)
                self.one_line(err, "the jail did not start: ", words)

    def test_repl_takes_what_a_notebook_does(self):
        script = "%pwd\n!ls\n%%capture said\nprint('hidden')\n5\n\nsaid.stdout\nasync def f():\n    yield 5\n\n" \
                 "async for x in f():\n    print(x)\n\n[x async for x in f()]\nx;\n%%writefile a.txt\na\n"
        with open(self.path("script", script)) as stdin:
            status, out, err = self.run_agent("repl", "--stepjail", self.stepjail, *self.missing, stdin=stdin,
                                              cwd=self.folder)
        self.assertEqual((status, out), (0, "'/work'\n'hidden\\n'\n5\n[5]\nWriting a.txt\n"), err)
        self.assertIn("no shell", err)

    def test_repl(self):
        script = "x = 1\nimport os\nif 1:\n    x = 2\n    os._exit(3)\nprint(x)\n" \
                 "x = 5\n:branch other 2\nx = 7\n:switch main\n:rollback 1\nx\n" \
                 ":switch other\nx - 6\n" \
                 f":put {CSV} data.csv\nlen(open('/work/data.csv').readlines())\n" \
                 f":get data.csv {self.path('back')}\n:files\n:states\n:status\n:reset\n" \
                 "'x' in globals()\n"
        with open(self.path("script", script)) as stdin:
            status, out, err = self.run_agent("repl", "--stepjail", self.stepjail, *self.missing,
                                              "--keep-going", stdin=stdin, cwd=self.folder)
        self.assertEqual((status, out), (3, "1\n1\n1\n345\nFalse\n"), err)
        self.assertIn("rolled back to state 2: your variables are as they were", err)
        self.assertRegex(err, r"(?m)^file +13478  \d{4}-\d\d-\d\d \d\d:\d\d  'data.csv'$")
        with open(CSV) as want, open(self.path("back")) as got:
            self.assertEqual(got.read(), want.read())

    def test_kill_9_leaves_nothing(self):
        random.seed(11)
        for _ in range(20):
            p = self.popen("solve", "x", "--stepjail", self.stepjail, *self.missing, "--model",
                           self.script(fence("import time; time.sleep(100)"), "Done."))
            time.sleep(random.uniform(0, 0.08))
            pids = family(p.pid)
            p.kill()
            p.communicate(timeout=60)
            self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))

    def test_files_that_mean_mischief(self):
        """At the prompt: a name is one line of a listing, and no path and no link leads out."""
        back, secret = self.path("back"), self.path("secret", "the caller's own")
        script = self.path("script", f"""\
import os
for name in 'one\\ntwo', '\\x1b[2J', '- 5 0 three': open(name, 'w').close()
os.symlink({secret!r}, 'out'); os.symlink('/', 'root'); os.truncate('- 5 0 three', 1 << 50)
:files
:get out {back}
:get ../../etc/passwd {back}
:get root/etc/passwd {back}
:files root
:files ..
:put {secret} ../outside
:put {secret} root/tmp/outside
:put {secret} out
open('out').read(), os.path.islink('out'), os.listdir('/tmp')
""")
        with open(script) as stdin:
            status, out, err = self.run_agent("repl", "--stepjail", self.stepjail, "--transcript",
                                              "none", "--keep-going", *self.missing, stdin=stdin)
        listed = re.findall(r"(?m)^(file|link) +\d+  [-0-9]{10} [0-9:]{5}  (.*)$", err)
        self.assertEqual(sorted(listed), sorted([("file", "'one\\ntwo'"), ("file", "'\\x1b[2J'"),
                                                 ("file", "'- 5 0 three'"), ("link", "'out'"),
                                                 ("link", "'root'")]), err)
        self.assertRegex(err, rf"file +{1 << 50}  ")
        self.assertEqual([line for line in unwarned(err).splitlines()
                          if not re.match("(kind|file|link) ", line)],
                         ["out: Symbolic link loop", "../../etc/passwd: Invalid argument",
                          "root/etc/passwd: Not a directory", "root: Not a directory",
                          "..: Invalid argument", "../outside: Invalid argument",
                          "root/tmp/outside: Not a directory", "written, below /work"])
        self.assertEqual(out, "(\"the caller's own\", False, [])\n")
        self.assertFalse(os.path.exists(back))
        self.assertNotIn("\x1b", out + err)
        self.assertEqual(status, 1)


class RealTerminal(Installed, Terminal):
    """Somebody who types to the real one."""

    def setUp(self):
        super().setUp()
        self.fake = self.stepjail

    def test_interrupts(self):
        self.start(*self.missing)
        self.type("x = 1\n")
        self.expect(r"\[1\]>>> $")
        self.type("x = 2; import time; print('there'); time.sleep(60)\n")
        self.expect("\nthere\n")
        self.type("\x03")
        self.assertIn("KeyboardInterrupt", self.expect(r"\[2\]>>> $"))
        self.type("import signal; signal.signal(2, signal.SIG_IGN); x = 3; print('deaf')\n")
        self.expect(r"\ndeaf\n\[3\]>>> $")
        self.type("x = 4; signal.signal(2, signal.SIG_IGN); print('there'); time.sleep(60)\n")
        self.expect("\nthere\n")
        self.type("\x03\x03")
        self.expect(r"rolled back to state 3: your variables are as they were\n\[3\]>>> $")
        self.type("print(x)\n")
        self.expect(r"\n3\n\[5\]>>> $")
        self.assertEqual(self.leave(), 0)

    def test_tab_input_and_exit(self):
        self.start(*self.missing)
        self.type("import math; apple = 1\n")
        self.expect(r"\[1\]>>> $")
        self.type("math.flo\t")
        self.expect(r"or$")
        self.type("(2.5) * 21, app\t\n")
        self.expect(r"\n\(42, 1\)\n\[4\]>>> $")
        self.type("print(input('who? ') + '!')\n")
        self.expect(r"\nwho\? $")
        self.type("me\n")
        self.expect(r"\nme!\n\[5\]>>> $")
        self.type("breakpoint()\n")
        self.expect(r"\(Pdb\) $")
        self.type("p apple + 41\n")
        self.expect(r"\n42\n\(Pdb\) $")
        self.type("c\n")
        self.expect(r"\[6\]>>> $")
        self.assertEqual(self.leave("exit(3)\n"), 3)

    def test_flood(self):
        self.start(*self.missing)
        self.type("while 1: print('x' * 1000)\n")
        self.expect(r"\.\.\. $")
        self.type("\n")
        self.expect("xxxx")
        self.type("\x03")
        self.expect(r"\[[01]\]>>> $")


if __name__ == "__main__":
    unittest.main()
