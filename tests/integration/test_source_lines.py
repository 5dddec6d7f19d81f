#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_source_lines.py - tracebacks of a step, and programs by `repl FILE`, are as those of a file that `run` runs"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_scene import BUILD  # noqa: E402
from stepjail import Stepjail  # noqa: E402

RUN = [word for word in shlex.split(os.environ.get("STEPJAIL_RUN", "")) if "allow-missing" in word]
# what str.splitlines() cuts at, and Python's tokenizer does not
NO_ENDS = "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"
FAILS = "def f():\n    x = 1\n    return x + 1 / 0  # here\n\nf()\n"
SOURCES = (
    *(f"s = 'a{c}b'\n{FAILS}" for c in NO_ENDS),
    *(f"s = '''a{c}\n{c}b'''  # {c} words {c}\n{FAILS}" for c in NO_ENDS),
    "".join(f"s = '{c}{c}'\n" for c in NO_ENDS) * 3 + FAILS,
    "s = 'a\u2028b'; t = '\u00e4\u6f22'; s + t + 1\n",
    "\f\n\fdef f():\n    return 1 / 0\n\f\nf()\n",
    # ends of lines, and of the source
    "1/0", "1/0\n", "1/0  # words", "1/0\n\n\n", "x = 5; nobody", "def f(): return 1 / 0\nf()",
    "x = (1 +\n     2 +\n     1/0)", "x = [\n    1,\n    nobody,\n]\n", "x = 1 + \\\n    nobody",
    "if 1:\n    if 1:\n        1/0", "if 1:\n    1/0\n    # words", "f'{1/0}'", "s = '''a\nb'''; 1/0",
    FAILS.replace("\n", "\r\n"), FAILS.replace("\n", "\r"), "x = 1\r\ny = 2\rz = 3\n1/0\r\n", "x = 1\n\r1/0\n\r",
    "s = '''a\r\nb\rc\n'''\nassert s == 'a\\nb\\nc\\n', s\n1/0\r",
    # of a deep one the last frames
    "import sys\nsys.setrecursionlimit(4000)\ndef f(n):\n    return 1 / n if n < 1 else f(n - 1)\nf(2000)", "def f(): f()\nf()",
    "import sys\nsys.tracebacklimit = 3\ndef f(n):\n    return 1 / n if n < 1 else f(n - 1)\nf(9)",
    "def f(n):\n    return 1 / n if n < 1 else f(n - 1)\ntry:\n    f(900)\nfinally:\n    nobody",
    # columns
    "def f():\n\treturn\t1 / 0\nf()\n", "if 1:\n\tx\t=\t(\t1 / 0\t)\n", "s = '\u00e4\u6f22\U0001f600'; 1/0",
    "\u00e4 = 1; \u00e4.b.c", "x = {}; x['\u6f22']['b']", "  \n\t\n1/0",
    # errors of syntax
    "x = = 1", "x = (1", "x = (1\ny = 2\n", "s = 'abc", "s = '''abc\nd", "if 1:\nx = 1", "def f():\n    1\n  2",
    "if 1:\n\tx = 1\n        y = 2\n", "return 1", "x = 1\n  y = 2", "f(**x, *y)", "x = 1 \\", "x = 1 \\\n", "\u201cword\u201d",
    "a\u00a0= 1", "s = '\u2028'\nx = = 1", "for", "x = 'a\\N{nothing}'", "break", "print 1", "1 = x",
    # a byte order mark, and what says an encoding. Of the mark's line python3 shows it, too, and its
    # marks stand wrong, so errors are in another
    "\ufeffx = 1\n1/0", "\ufeff\n1/0\n", "\ufeff# -*- coding: utf-8 -*-\n1/0", "# -*- coding: utf-8 -*-\ns = '\u00e4'; 1/0",
    "#!/usr/bin/env python3\n# vim: set fileencoding=utf8 :\n1/0", "\ufeff\nx = = 1", "s = '\ufeff'; 1/0", "\ufeff",
    # what looks for lines itself
    "s = '\x0c\u2028'\nimport warnings\nwarnings.warn('words')", "s = '\x85'\nx = 1\nx is 1",
    "import inspect\ns = '\x1c'\ndef f():\n    return 1\nprint(inspect.getsource(f), end='')\nprint(inspect.getsourcelines(f))",
    "import inspect\ndef f(): return 1\nprint(repr(inspect.getsource(f)))\ndef g():\n    '''words'''",
    "import traceback\ns = '\u2028'\ntry:\n    1/0\nexcept ZeroDivisionError:\n    traceback.print_exc()",
    "import linecache\ns = '\f'\nname = (lambda: 1).__code__.co_filename\n"
    "print([linecache.getline(name, n) for n in range(6)])",
    "s = '\u2028'\ndef f():\n    raise ValueError from KeyError(1)\ntry:\n    f()\nfinally:\n    nobody",
    "s = '\u2028'\nraise ExceptionGroup('some', [ValueError(1), KeyError(2)])",
    "s = '\x85'\nexec('x = 1\\n1/0')", "compile('x = 1\\n= 1', 'words', 'exec')", "eval('1 +')",
    "exec(compile('\\ufeff1/0'.encode(), 'words', 'exec'))",
    "from __future__ import annotations\ndef f(x: nobody): pass\nprint(f.__annotations__)\n1/0",
)

PROGRAMS = (
    "import os, sys\nprint(__file__, sys.argv, sys.path[0], __name__, os.path.basename(sys.argv[0]))\n5\n'words'\n[1]\n_\n",
    "#!/usr/bin/env python3\n# words\n\n\'\'\'Doc\n of it.\'\'\'\nfrom __future__ import annotations\n\nimport argparse\n"
    "\'\'\'not its doc\'\'\'\nclass C:\n    \'\'\'a class\'\'\'\n    x: nobody\n"
    "argparse.ArgumentParser(description=__doc__).print_help()\nprint(C.__annotations__, C.__doc__, __doc__)\n",
    "\ufeffimport sys\nprint(1)\n\n\ndef f(x):\n    # \f\n    return 1 / x\n\n\nf(2)\nf(\n    0)\nprint('not here')\n",
    "def f(x):\r\n    s = '\u2028\f'\r\n    return 1 / x\r\n\r\nx = [\r\n    1,\r\n    f(0)]", "x = 1\n\n# words\n\nx.y.z",
    "import functools, inspect\ndef twice(f):\n    @functools.wraps(f)\n    def g(x):\n        return f(f(x))\n    return g\n\n"
    "@twice\ndef more(x):  # words\n    return x + 1\n\nprint(more(1), inspect.getsource(more), inspect.getsourcelines(twice)[1])\n",
    "import atexit\natexit.register(print, 'bye')\natexit.register(lambda: print('first'))\nprint('end')\n",
    "import atexit\natexit.register(print, 'bye')\n1/0\nprint('not here')\n",
    "import atexit, sys\natexit.register(print, 'bye')\nsys.exit(3)\n", "import sys\nsys.exit('words')",
    "import atexit, os\natexit.register(print, 'not here')\nprint('end', flush=True)\nos._exit(7)\n", "exit(4)\nprint('not here')\n",
    "import threading\nevent = threading.Event()\ndef act():\n    event.wait()\n    print('thread')\n"
    "threading.Thread(target=act).start()\nthreading._register_atexit(event.set)\nprint('main')\n",
    "import random\nrandom.seed(42)\nprint(random.random())\nimport random as r\nprint(r.random())\n",
    "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, 2)\n\n"
    "unittest.main(argv=['s'], exit=False)\n",
    "if __name__ == '__main__':\n    import sys\n    print('main', *sys.argv[1:])\nelse:\n    print('not here')\n",
    "import sys\nprint('out'); print('a', 1, file=sys.stderr)\ntry:\n    nobody\nfinally:\n    print('finally')\n", "",
)


def run(source, *words):
    """(stdout, stderr, status) of a file that `stepjail run` runs, or another command of ours."""
    words = words or (f"{BUILD}/stepjail", "run", "--quiet")
    with tempfile.TemporaryDirectory(prefix="stepjail-test-") as folder:
        path = os.path.join(folder, "s.py")
        with open(path, "wb") as file:
            file.write(source)
        done = subprocess.run([*words, *RUN, path], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    return done.stdout.decode(), done.stderr.decode(), done.returncode


class Lines(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.jails = Stepjail(rootfs="core")
        cls.addClassCleanup(cls.jails.close)

    def step(self, source):
        """The same of a session's first step, which has its number for a file."""
        with self.jails.session() as session:
            done = session.run(source)
        return [words.replace("<step 1>", "/work/s.py") for words in (done.stdout, done.stderr + (done.error or ""))]

    def test_as_in_a_file(self):
        for text in SOURCES:
            with self.subTest(source=text):
                source = text.encode()
                self.assertEqual(self.step(source), list(run(source)[:2]))

    def test_programs_by_repl(self):
        """Of python3's own, that is: what else is on stderr are the agent's words, that it could not limit and
        that a process has ended itself."""
        for text in PROGRAMS:
            with self.subTest(program=text):
                out, err, status = run(text.encode(), f"{BUILD}/stepjail-agent", "repl", "--transcript", "none")
                err = re.sub("^(stepjail-agent: warning: not enforced|exited: |[0-9]+ processes were) ?.*\\n", "", err,
                             flags=re.M)
                told = out, err, status
                self.assertEqual([re.sub("[0-9.]+s$", "", str(one), flags=re.M) for one in told],
                                 [re.sub("[0-9.]+s$", "", str(one), flags=re.M) for one in run(text.encode())])

    def test_at_the_end_of_a_program_files_are_written(self):
        with tempfile.TemporaryDirectory(prefix="stepjail-test-") as folder:
            run(b"import atexit\n@atexit.register\ndef f():\n    open('/work/out/bye', 'w').write('bye')\nprint(1)\n",
                f"{BUILD}/stepjail-agent", "repl", "--transcript", "none", "--out", f"{folder}/out")
            with open(f"{folder}/out/bye") as file:
                self.assertEqual(file.read(), "bye")

    def test_breakpoint_has_nobody_to_ask(self):
        out, err = self.step(b"if 1:\n    breakpoint()\n    x = 1\n")
        self.assertTrue(err.endswith("\nbdb.BdbQuit\nbreakpoint() needs somebody at a terminal; print() what you want "
                                     "to see, or look at variables between steps\n"), err)

    def test_future_features_hold(self):
        """From step to step, as in a file from where they are asked for; in a branch of before they are not."""
        with self.jails.session() as session:
            before = session.branch()
            self.assertTrue(session.run("from __future__ import annotations").ok)
            self.assertEqual(session.run("def f(x: nobody): pass\nf.__annotations__").text, "{'x': 'nobody'}")
            self.assertIn("SyntaxError", session.run("from __future__ import nothing").error)
            self.assertEqual(session.run("class C: x: nobody\nC.__annotations__").text, "{'x': 'nobody'}")
            self.assertIn("NameError", before.run("def f(x: nobody): pass").error)

    def test_a_byte_order_mark_is_not_there(self):
        for text in ("1/0", "x = = 1", "x = 5; nobody\n", "# \u00e4\nprint('\ufeff')", "", "\n"):
            with self.subTest(source=text):
                self.assertEqual(self.step(b"\xef\xbb\xbf" + text.encode()), self.step(text.encode()))
        self.assertIn("U+FEFF", self.step("\ufeff\ufeffx".encode())[1])


if __name__ == "__main__":
    unittest.main()
