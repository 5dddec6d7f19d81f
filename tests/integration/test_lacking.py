#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_lacking.py - modules, fonts and programs that a tree has not: which has them, and what to do

By rootfs/python/lacking.py and what rootfs/appended/ has for pandas and matplotlib; in both trees.
"""
import ast
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD  # noqa: E402
from serve_scene import Case  # noqa: E402
from test_run import Host, each_user  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIST = f"{BUILD}/rootfs/data/usr/lib/python3/dist-packages"
ADVICE = "pip", "conda", "install"
NONE = "no tree of Stepjail has it"
IN_DATA = "it is in the tree data (--rootfs data), and this is core"


def table(name):
    """A set that lacking.py has as one constant."""
    with open(f"{TOP}/rootfs/python/lacking.py", encoding="utf-8") as source:
        for node in ast.parse(source.read()).body:
            if isinstance(node, ast.Assign) and node.targets[0].id == name:
                return set(node.value.args[0].func.value.value.split())
    raise AssertionError(name)


class Core(Case):
    def setUp(self):
        super().setUp()
        self.session = self.serve.open()

    def run_step(self, source, verdict='completed'):
        step = self.session.run(source)
        self.ended(step, verdict, 'kept')
        self.assertEqual(step.done['violations']['total'], 0, step)
        step.err = step.err.decode()
        return step

    def last(self, source):
        return self.run_step(source, 'exception').trace.rstrip().splitlines()[-1]

    def lacks(self, source, name, *words):
        last = self.last(source)
        self.assertTrue(last.startswith(f"ModuleNotFoundError: No module named {name!r}: "), last)
        for word in words:
            self.assertIn(word, last)
        for word in ADVICE:
            self.assertNotIn(word, last)

    def test_what_hashlib_has_of_openssl(self):
        step = self.run_step("import hashlib\nhashlib.pbkdf2_hmac('sha256', b'secret', b'salt', 2).hex(), hasattr(hashlib, 'scrypt')")
        self.assertEqual((step.result, step.err), (
            "('f92f45f9df4c2aeabae1ed3c16f7b64660c1f8e377fa9b4699b23c2c3a29f569', False)", ""))
        self.assertEqual(self.last("hashlib.scrypt(b'secret', salt=b'salt', n=2, r=8, p=1)"),
                         "AttributeError: module 'hashlib' has no attribute 'scrypt': it needs OpenSSL's, which no tree "
                         "of Stepjail has; pbkdf2_hmac() is there")
        self.assertEqual(self.last("hashlib.sha0"), "AttributeError: module 'hashlib' has no attribute 'sha0'")

    def test_modules(self):
        for name, words in (("requests", ("urllib.request is there", NONE)), ("sympy", (NONE, "stepjail-tree(1)")),
                            ("tkinter", ("a step has no display",)), ("curses", ("no terminal",)), ("lxml", (NONE,)),
                            ("numpy", (IN_DATA,)), ("ctypes", (IN_DATA,)), ("distutils", (IN_DATA,)), ("jinja2", (IN_DATA,))):
            self.lacks(f"import {name}", name, *words)
        self.lacks("from statsmodels.api import OLS", "statsmodels", NONE)
        self.lacks("import pandas.core.frame", "pandas", IN_DATA)
        self.lacks("import ssl", "_ssl", IN_DATA, "http:// is sent over TLS")
        self.lacks("import importlib; importlib.import_module('torch')", "torch", NONE)
        self.lacks("__import__('yaml')", "yaml", "use json")

    def test_what_nobody_knows(self):
        """Python's own words, as elsewhere."""
        self.assertEqual(self.last("import mymodule"), "ModuleNotFoundError: No module named 'mymodule'")
        self.assertEqual(self.last("import json.mine"), "ModuleNotFoundError: No module named 'json.mine'")
        self.session.put("sympy.py", b"here = 1")
        self.assertEqual(self.run_step("import sympy; sympy.here").result, "1")

    def test_who_only_asks(self):
        step = self.run_step("""
import importlib.util, pkgutil
try:
    import torch
except ImportError as problem:
    found = problem.name, problem.path
[importlib.util.find_spec(name) for name in ('requests', 'torch', 'tkinter', 'mymodule')], pkgutil.find_loader('lxml'), found""")
        self.assertEqual(step.result, "([None, None, None, None], None, ('torch', None))")

    def test_advice_of_libraries(self):
        """What says to install a module says what can be done here, and all else stays as it is."""
        for source in ("raise ImportError('Foo needs torch. Install it with pip install torch')",
                       "raise RuntimeError('this requires `torch`, an optional dependency, to be installed')",
                       "try: import torch\nexcept ImportError: raise ImportError('Please conda install it.')"):
            last = self.last(source)
            self.assertIn(NONE, last)
            for word in ADVICE:
                self.assertNotIn(word, last)
        for text in ("install the pump", "no dependency", "torch", "pip install nosuchthing"):
            self.assertEqual(self.last(f"raise ValueError({text!r})"), f"ValueError: {text}")

    def test_https(self):
        """A network that is not there is what is told, as in the tree data."""
        for call in ("urlopen('https://api.github.com', timeout=3)", "Request('https://x.example'), urlretrieve('https://x.example')"):
            last = self.last(f"import urllib.request\nurllib.request.{call.replace(', url', ', urllib.request.url')}")
            self.assertIn("<urlopen error [Errno", last)
        self.assertRegex(self.last("import http.client\nhttp.client.HTTPSConnection('x.example').request('GET', '/')"),
                         "Errno")

    def test_https_where_there_is_a_network(self):
        last = self.last("""
import http.client, socket
left, right = socket.socketpair()
socket.create_connection = lambda *arguments, **named: left
socket.socket.setsockopt = lambda *arguments: None
http.client.HTTPSConnection('x.example').request('GET', '/')""")
        self.assertIn(IN_DATA, last)


class Data(Core):
    options = ['--rootfs=data']
    test_modules = test_https_where_there_is_a_network = None

    def test_modules_of_data(self):
        self.lacks("import requests", "requests", "urllib.request is there", NONE)
        self.lacks("import statsmodels.api", "statsmodels", "there is scipy.stats")
        self.lacks("import lxml.etree", "lxml", "html5lib with bs4 there")
        self.lacks("import tkinter", "tkinter", "a step has no display")

    def test_the_list_is_the_tree(self):
        """What lacking.py says to be in data can be imported there; and it forgets no module."""
        names = sorted(table("DATA"))
        step = self.run_step(f"import importlib\nfor name in {names!r}: importlib.import_module(name)")
        self.assertEqual(step.err, "")
        found = {name.split(".")[0] for name in os.listdir(DIST) if not name.endswith(("-info", "-nspkg.pth"))}
        self.assertEqual({name for name in found - set(names) if not name.startswith("_")}, set())

    def test_pandas(self):
        self.assertIn("<table", self.run_step("import pandas as pd\npd.DataFrame({'a': [1]}).style.to_html()").result)
        step = self.run_step("import io\npd.read_html(io.StringIO('<table><tr><th>a</th></tr><tr><td>1</td></tr></table>'))[0].a[0]")
        self.assertEqual(step.result, "1")
        for source, name in (("pd.DataFrame({'a': [1]}).to_hdf('x.h5', 'a')", "tables"),
                             ("pd.DataFrame({'a': [1]}).to_excel('x.xlsx', engine='xlsxwriter')", "xlsxwriter"),
                             ("pd.DataFrame({'a': [1]}).to_parquet('x')", "pyarrow"), ("pd.read_excel('x.xls')", "xlrd"),
                             ("pd.DataFrame({'a': [1]}).to_feather('x')", "pyarrow"), ("pd.Series([1]).to_xarray()", "xarray"),
                             ("pd.read_html('<table></table>', flavor='lxml')", "lxml"),
                             ("pd.read_xml('<a><b>1</b></a>')", "lxml"), ("pd.read_spss('x.sav')", "pyreadstat"),
                             ("pd.eval('1 + x', engine='numexpr', local_dict={'x': pd.Series([1])})", "numexpr")):
            self.session.put("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
            last = self.last(source)
            self.assertIn(name, last)
            self.assertIn(NONE, last, source)
            for word in ADVICE:
                self.assertNotIn(word, last)

    def test_a_font_that_is_missing(self):
        step = self.run_step("import matplotlib.pyplot as plt\nplt.rcParams['font.family'] = 'SimHei'\n"
                             "plt.plot([1, 2, 3]); plt.title('sales'); plt.xlabel('a'); plt.show()\nplt.plot([1]);")
        self.assertEqual(step.err, "findfont: Font family 'SimHei' not found.\n")
        step = self.run_step("plt.plot([1]);")
        self.assertEqual(step.err, "findfont: Font family 'SimHei' not found.\n")
        step = self.run_step("plt.rcParams['font.family'] = 'sans-serif'\nplt.title('\\u9500\\u552e\\u6570\\u636e' * 3);")
        self.assertLess(len(step.err.splitlines()), 10)
        self.assertIn("missing from current font", step.err)

    def test_latex(self):
        step = self.run_step("import matplotlib.pyplot as plt\nplt.rcParams['text.usetex'] = True\nplt.plot([1]); plt.title('$x^2$');")
        self.assertIn("text.usetex needs LaTeX, and latex is not in this tree", step.err)
        self.assertNotIn("Read-only", step.err)
        self.assertIn("text.usetex needs LaTeX", self.last("plt.title('x'); plt.plot([1]); plt.savefig('x.png')"))

    def test_libraries_that_look_for_programs(self):
        """fc-list, lscpu, ffmpeg, gs and others: none is there, and no look is told as a refused call."""
        self.run_step("""
import matplotlib, numpy.testing, joblib, warnings, ctypes.util
from matplotlib import font_manager, animation
font_manager.findSystemFonts()
font_manager.findSystemFonts(fontext='afm')
animation.writers.list()
for name in 'dvipng', 'gs', 'inkscape', 'magick', 'pdftops':
    try: matplotlib._get_executable_info(name)
    except FileNotFoundError: pass
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    joblib.cpu_count(only_physical_cores=True)
ctypes.util.find_library('c')
import pandas, sklearn, contextlib, io
with contextlib.redirect_stdout(io.StringIO()):
    sklearn.show_versions()
from PIL import Image, ImageShow
Image.new('RGB', (2, 2)).show()""")


class Programs(Host):
    def test_modules(self):
        done = self.run_jail("--quiet", "--", "python3", "-c", "import sympy")
        self.assertIn(NONE, done.stderr.decode())
        done = self.run_jail("--quiet", "--", "python3", "-c", "import IPython")
        self.assertIn("there in sessions", done.stderr.decode())

    def test_notebooks_are_sessions(self):
        done = self.run_jail("--quiet", "--", "python3", "-c", "%matplotlib inline")
        self.assertIn("SyntaxError", done.stderr.decode())
        done = self.run_jail("--quiet", "--", "python3", "-c", "get_ipython()")
        self.assertIn("NameError", done.stderr.decode())


globals().update(each_user(Programs))

if __name__ == '__main__':
    unittest.main()
