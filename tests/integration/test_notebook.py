#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_notebook.py - what notebooks take and Python does not, in steps

By rootfs/python/notebook.py and its neighbours: magics, commands, prompts, indented blocks, await,
and IPython's modules. Each surface runs steps by the same interpreter; E2B's and the agent's own
way to it is in test_e2b.py and test_agent.py, MCP's below.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_mcp  # noqa: E402
from serve_scene import Case  # noqa: E402

SETS_UP = ("%matplotlib inline", "%config InlineBackend.figure_format = 'retina'", "%load_ext autoreload\n%autoreload 2",
           "%pprint", "%precision 3", "%xmode Plain")


class Notebook(Case):
    options = ['--media-limit=100K']

    def setUp(self):
        super().setUp()
        self.session = self.serve.open()

    def run_step(self, source, verdict='completed'):
        step = self.session.run(source)
        self.ended(step, verdict, 'kept')
        self.assertEqual(step.done['violations']['total'], 0, step)
        step.out, step.err = step.out.decode(), step.err.decode()
        return step

    def value(self, source, value, out=''):
        step = self.run_step(source)
        self.assertEqual((step.result, step.out, step.err), (value, out, ''), source)

    def raised(self, source, *words):
        """The traceback's lines are those of the step, and none is a file's of ours."""
        step = self.run_step(source, 'exception')
        for word in words:
            self.assertIn(word, step.trace)
        self.assertNotIn('stepjail_', step.trace)
        return step

    def test_what_sets_a_notebook_up(self):
        for line in SETS_UP:
            self.value(f"{line}\nx = 6\nx * 7", '42')
            self.value(f"if x:\n    {line.splitlines()[0]}\n    x += 1\nx", '7')
            self.value("x = 6", None)

    def test_lines_of_tracebacks(self):
        """They are those that were written, and so are the columns."""
        for head in ("%matplotlib inline\n\n", "!ls\n%time 1\n", "%%time\n# a\n", "len?\n\n"):
            self.raised(f"{head}a = 1\nb = a + c\n", 'line 4', "    b = a + c\n            ^\n", "NameError")
        self.raised("    a = 1\n    b = a + c\n", 'line 2', "    b = a + c\n            ^\n")
        self.raised(">>> a = 1\n>>> b = a + c\n", 'line 2', "    >>> b = a + c\n                ^\n")
        self.raised("await f()\n1 / 0", "line 1", "NameError")

    def test_a_syntax_error_stays_one(self):
        for source, line, words in (
                ("def f(:\n  pass", 1, "invalid syntax"), ("return 5", 1, "'return' outside function"),
                ("x = 1\n  y = 2", 2, "unexpected indent"), ("x = (1,\n  %y)", 1, "was never closed"),
                ("%matplotlib inline\nprint 'x'", 2, "Missing parentheses"), ("$x", 1, "invalid syntax"),
                ("  a = 1\n  b = (", 2, "was never closed"), (">>> a = 1\n>>> def f(:\n", 2, "invalid syntax")):
            self.raised(source, f"line {line}\n", words)

    def test_strings_are_left_alone(self):
        self.value("x = '''\n%matplotlib inline\n!ls\n>>> a\n'''\nx", repr("\n%matplotlib inline\n!ls\n>>> a\n"))
        self.value("%pprint\nx = '''\n!ls\n    a?\n'''\nx", repr("\n!ls\n    a?\n"))
        self.value("    x = '''\nleft\n'''\n    x", repr("\nleft\n"))
        self.value("10\\\n%3", '1')

    def test_indented_as_a_whole(self):
        self.value("    x = 1\n    if x:\n        print('in')\n    x", '1', 'in\n')
        self.value("\n  # a\n  x = 2\n\n  x", '2')
        self.value("  x = 3\nx", '3')

    def test_prompts(self):
        self.value(">>> x = 3\n>>> for i in range(2):\n...     print(i)\n...\n>>> x", '3', '0\n1\n')
        self.value("In [1]: x = 2\n\nIn [2]: for i in (x,):\n   ...:     print(i)\n   ...:\n\nIn [12]: x", '2', '2\n')
        step = self.run_step(">>> 1 + 1\n2\n>>> [\n... 5]\n[5]\n")
        self.assertEqual((step.result, step.out), ('[5]', ''))
        self.assertIn("2 lines without a prompt are taken for output, and not run: 2", step.err)

    def test_a_fence(self):
        self.value("```python\nx = 5\nx\n```", '5')

    def test_await(self):
        self.value("import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n", None)
        self.value("await f(3)", '3')
        self.value("x = await f(4)\nprint(x)\nawait asyncio.gather(f(1), f(2))", '[1, 2]', '4\n')
        self.value("async def g():\n    yield 1\nasync for i in g():\n    print(i)\n[n async for n in g()]", '[1]', '1\n')
        self.value("task = asyncio.ensure_future(f(9), loop=asyncio.get_event_loop())", None)
        self.value("await task", '9')
        self.value("asyncio.run(f(5))", '5')
        self.raised("x = 1\nawait f(1 / 0)", "line 2", "ZeroDivisionError")

    def test_a_semicolon_hides_the_value(self):
        for source in ("5;", "5 ; # five", "(1,\n 2);", "'''a\nb''' ;\n", "x = 1; x;"):
            self.value(source, None)
        self.value("x = ';'; x", "';'")
        self.value("'ä' + '''\nß''' + ';'", repr("ä\nß;"))

    def test_commands(self):
        """There is no shell, and nothing is asked of the kernel: the step goes on."""
        for line, words in (("!pip install requests numpy", ("requests: no tree", "numpy: it is in the tree data")),
                            ("%pip install -q lxml", ("lxml: no tree", "xml.etree.ElementTree")),
                            ("pip install json5", ("json5: no tree of Stepjail has it",)),
                            ("!python -m pip install json", ("json is there already",)),
                            ("!apt-get update", ("nothing can be installed",)),
                            ("!ls -la *.csv", ("no shell (/bin/sh)", "os.listdir()")),
                            ("!!ls", ("no shell",)), ("!head x | wc", ("open(name)",)), ("%%bash\nls", ("no shell",))):
            tail = "" if line.startswith(("%%", "!!")) else "\nprint('on')"
            step = self.run_step(line + tail)
            for word in words:
                self.assertIn(word, step.err, line)
            self.assertEqual(step.out, "on\n" if tail else "", line)
        self.raised("files = !ls\n", "gave no output")

    def test_magics_that_work(self):
        self.value("%pwd", "'/work'")
        self.value("x = %pwd\nx", "'/work'")
        self.value("%%writefile m.py\nhello = 'x'\nprint(__name__)\n", None, "Writing m.py\n")
        self.value("%cat m.py", None, "hello = 'x'\nprint(__name__)\n")
        self.value("%run m.py\nhello", "'x'", "__main__\n")
        self.value("%ls", None, "m.py\n")
        self.value("%cd /tmp", None, "/tmp\n")
        self.value("%cd /work\n%env A=b\n%env A", "'b'", "/work\nenv: A=b\n")
        self.value("%%capture said\nprint('hidden')\n5", None)
        self.value("said.stdout", r"'hidden\n'")
        self.value("get_ipython().run_line_magic('matplotlib', 'inline')", None)
        for source in ("%time sum(range(4))", "%%time\nimport math\nsum(range(4))"):
            step = self.run_step(source)
            self.assertEqual(step.result, '6')
            self.assertRegex(step.out, r"\ACPU times: .*\nWall time: .*\n\Z")
        for source in ("%timeit -n 2 -r 3 1 + 1", "%%timeit -n2 -r3\ny = 1\ny + 1"):
            self.assertIn("std. dev. of 3 runs, 2 loops each", self.run_step(source).out)
        self.value("%reset -f\n'hello' in dir()", 'False')

    def test_magics_that_are_not_there(self):
        self.raised("%nosuch 1", "UsageError", "%nosuch")
        self.raised("%%nosuch 1\nx", "UsageError", "%%nosuch")
        self.raised("%%javascript\nx", "UsageError", "a step runs Python")
        self.raised("%%R\nx", "UsageError", "a step runs Python")

    def test_help(self):
        self.run_step("def twice(n):\n    'Two of it.'\n    return 2 * n")
        for source in ("twice?", "?twice", "%pinfo twice"):
            step = self.run_step(source)
            self.assertIn("Signature: twice(n)", step.out)
            self.assertIn("Two of it.", step.out)
        self.assertIn("return 2 * n", self.run_step("twice??").out)

    def test_ipython(self):
        step = self.run_step("""
from IPython.display import display, HTML, Markdown, Image, SVG, JSON, Latex, clear_output
from IPython.core.display import HTML as Older
import IPython, matplotlib_inline.backend_inline
matplotlib_inline.backend_inline.set_matplotlib_formats('svg')
clear_output(wait=True)
display(HTML('<b>x</b>'), Markdown('# head'), display_id='a')
display(SVG('<svg/>'), Image(data=b'\\x89PNG'), JSON({'a': 1}), Older('o'))
handle = display({'text/html': '<i>', 'text/plain': 'i'}, raw=True, display_id=True)
handle.update(HTML('<u>'))
IPython.get_ipython() is get_ipython(), Latex('$x$')""")
        self.assertEqual(step.result, '(True, $x$)')
        forms = {shown.kind: [] for shown in step.shown}
        for shown in step.shown:
            forms[shown.kind].append(bytes(shown.data).decode('latin-1'))
        self.assertEqual(forms['html'], ['<b>x</b>', 'o', '<i>', '<u>'])
        self.assertEqual((forms['svg'], forms['png'], forms['json']), (['<svg/>'], ['\x89PNG'], ['{"a": 1}']))
        self.assertIn('# head', forms['text'])
        self.value("import importlib.util\nimportlib.util.find_spec('IPython') is not None", 'True')
        self.raised("import IPython.nosuch", "No module named 'IPython.nosuch'")

    def test_files_of_the_users(self):
        """Modules of these names in the working directory are not taken in their place."""
        for name in ("ast", "stepjail_magics", "stepjail_notebook", "stepjail_commands"):
            self.session.put(f"{name}.py", b"raise SystemExit('taken')")
        self.value("%pprint\n1", '1')


class Mcp(test_mcp.Case):
    meta = test_mcp.MODERN

    def test_code_out_of_a_notebook(self):
        client = self.start()
        said = client.good("python", code="%matplotlib inline\n!pip install requests\n    \nx = 1\nx")
        self.assertEqual(said["result"], "1")
        said = client.good("python", session=said["session"], code="    y = 2\n    x + y")
        self.assertEqual(said["result"], "3")


if __name__ == '__main__':
    unittest.main()
