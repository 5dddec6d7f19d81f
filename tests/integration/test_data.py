#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_data.py - rootfs/data: numpy, pandas and others, in sessions that are locked

The sessions are clones of a template that has mapped all machine code of the tree, for
behind --lock-code nothing can be mapped any more.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD, Refused, Serve  # noqa: E402
from serve_scene import OPTIONS  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CSV = f"{TOP}/tests/data/penguins.csv"
DIST = "usr/lib/python3/dist-packages"


def output(*words, status=0):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=1800)
    if done.returncode != status:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def run(*words, status=0):
    return output(f"{BUILD}/stepjail", "run", *OPTIONS, "--rootfs", "data", *words,
                  status=status)


class Sessions(unittest.TestCase):
    """One serve for all of them, whose template imports the tree's own list."""

    @classmethod
    def setUpClass(cls):
        cls.serve = Serve([*OPTIONS, "--rootfs", "data", "--bind", f"{CSV}:/work/in/penguins.csv"])
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        status, error = cls.serve.end()
        assert (status, error) == (0, ""), (status, error)

    def setUp(self):
        self.session = self.serve.open()
        self.addCleanup(self.session.close)

    def run_step(self, source, verdict="completed"):
        step = self.session.run(source)
        self.assertEqual(step.done["verdict"], verdict, step)
        self.assertEqual(step.done["violations"]["total"], 0, step)
        self.assertEqual((step.done["strays"], step.done["threads"]), (0, 0), step)
        return step

    def test_warm_and_of_one_thread(self):
        self.assertTrue(self.session.opened["warm"], self.session.opened["why_cold"])
        step = self.run_step("import os; os.listdir('/proc/self/task').__len__()")
        self.assertEqual(step.result, "1")

    def test_code_is_locked(self):
        step = self.session.run("import mmap\n"
                                "mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)")
        self.assertIn("PermissionError", step.trace)
        self.assertEqual(step.done["violation"], "mmap")

    def test_all_machine_code_is_there(self):
        step = self.run_step(f"""
import os
maps = open('/proc/self/maps').read()
modules = [os.path.join(folder, name) for folder, _, files in os.walk('/{DIST}')
           for name in files if name.endswith('.so')]
len(modules) > 200, [name for name in modules if name not in maps]""")
        self.assertEqual(step.result, "(True, [])")

    def test_every_module_with_machine_code_can_be_imported(self):
        """All of them, by their names, in one step: no code is written, no program executed."""
        step = self.run_step(f"""
import importlib, os
names = []
for folder, _, files in os.walk('/{DIST}'):
    package = folder[len('/{DIST}'):].strip('/').replace('/', '.')
    names += [f"{{package}}.{{name.split('.')[0]}}".strip('.') for name in files if name.endswith('.so')]
failed = []
for name in sorted(names):
    try:
        importlib.import_module(name)
    except ImportError as e:
        failed.append((name, str(e)))
len(names) > 200, failed""")
        self.assertEqual(step.result, "(True, [])")

    def test_fonts_are_listed_already(self):
        step = self.run_step("""
import os
from matplotlib import font_manager
len(font_manager.fontManager.ttflist) > 30, os.listdir('/tmp/matplotlib')""")
        self.assertEqual(step.result, "(True, [])")

    def test_no_memory_is_writable_and_executable(self):
        step = self.run_step("[line for line in open('/proc/self/maps') if 'wx' in line]")
        self.assertEqual(step.result, "[]")

    def test_pandas_reads_and_describes(self):
        self.run_step("import pandas as pd\nbirds = pd.read_csv('/work/in/penguins.csv')")
        step = self.run_step("birds.describe().loc['count', 'body_mass_g'], "
                             "birds.groupby('species').body_mass_g.mean().round().to_dict()")
        self.assertEqual(step.result,
                         "(342.0, {'Adelie': 3701.0, 'Chinstrap': 3733.0, 'Gentoo': 5076.0})")

    def test_pandas_writes_and_reads_a_workbook(self):
        step = self.run_step("""
import pandas as pd
pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']}).to_excel('/work/t.xlsx', index=False)
pd.read_excel('/work/t.xlsx').to_markdown(index=False)""")
        self.assertIn("|   1 | x   |", step.result)

    def test_pictures(self):
        self.run_step("""
import os
import matplotlib.pyplot as plt
os.makedirs('/work/out')
plt.plot([1, 3, 2])
plt.title('three')
for name in 'png', 'pdf', 'svg':
    plt.savefig(f'/work/out/picture.{name}')""")
        self.assertEqual(self.session.get("out/picture.png")[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(self.session.get("out/picture.pdf")[:5], b"%PDF-")
        self.assertIn(b"<svg", self.session.get("out/picture.svg"))

    def test_sklearn_learns(self):
        step = self.run_step("""
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
forest = RandomForestClassifier(n_estimators=10, n_jobs=2, random_state=1)
cross_val_score(forest, *load_iris(return_X_y=True), n_jobs=-1).mean() > 0.9""")
        self.assertEqual(step.result, "True")

    def test_no_program_is_asked_for_libraries(self):
        """threadpoolctl asks for the C library, and is content without."""
        step = self.run_step("""
import numpy as np
from sklearn.cluster import KMeans
KMeans(3, n_init=2).fit(np.random.rand(90, 2)).n_features_in_""")
        self.assertEqual(step.result, "2")

    def test_no_callback_of_ctypes_is_made(self):
        """libffi would write its code."""
        step = self.session.run("import ctypes; ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 5)")
        self.assertIn("MemoryError", step.trace)
        self.assertEqual(step.done["violation"], "mmap")

    def test_scipy_solves(self):
        step = self.run_step("""
import numpy as np
from scipy import linalg, optimize, stats
square = np.random.rand(300, 300)
[bool(np.allclose(square @ linalg.inv(square), np.eye(300), atol=1e-6)),
 round(optimize.brentq(lambda x: x * x - 2, 0, 2), 6), round(float(stats.norm.cdf(0)), 3)]""")
        self.assertEqual(step.result, "[True, 1.414214, 0.5]")

    def test_pytest_shows_what_was_compared(self):
        step = self.run_step("""
import pytest
with open('/work/test_sum.py', 'w') as file:
    file.write('def test_sum():\\n    assert 1 + 1 == 3\\n')
int(pytest.main(['-q', '-p', 'no:cacheprovider', '/work/test_sum.py']))""")
        self.assertEqual(step.result, "1")
        self.assertIn(b"assert (1 + 1) == 3", step.out)

    def test_ssl_is_there_and_knows_authorities(self):
        step = self.run_step("""
import ssl
context, there, here = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
try:
    context.wrap_bio(there, here, server_hostname='example.com').do_handshake()
except ssl.SSLWantReadError:
    pass
context.verify_mode.name, len(context.get_ca_certs()) > 100, here.pending > 200, len(ssl.RAND_bytes(9))""")
        self.assertEqual(step.result, "('CERT_REQUIRED', True, True, 9)")

    def test_random_numbers_are_each_sessions_own(self):
        source = "import numpy as np; np.random.rand(), np.random.default_rng().random()"
        other = self.serve.open()
        one, two = eval(self.run_step(source).result), eval(other.run(source).result)
        other.close()
        self.assertEqual(len({*one, *two}), 4)

    def test_a_crash_in_machine_code_keeps_the_frames(self):
        self.run_step("import ctypes, pandas as pd; t = pd.DataFrame({'a': [1, 2]})")
        step = self.session.run("ctypes.string_at(0)")
        self.assertEqual((step.done["signal"], step.done["state"]), (11, "rolled-back"), step)
        self.assertEqual(self.run_step("int(t.a.sum())").result, "3")


class Preload(unittest.TestCase):
    """serve with a list of one's own, and without a template."""

    def serve(self, *options):
        return Serve([*OPTIONS, "--rootfs", "data", *options])

    def test_what_is_named_is_imported_and_all_else_can_be(self):
        with self.serve("--preload", "numpy") as serve:
            session = serve.open()
            self.assertTrue(session.opened["warm"])
            step = session.run("import sys; [name in sys.modules for name in ('numpy', 'pandas', 'scipy')]")
            self.assertEqual(step.result, "[True, False, False]")
            step = session.run("import pandas, sklearn.svm, matplotlib.pyplot; int(pandas.Series([1]).sum())")
            self.assertEqual(step.result, "1", step)
            self.assertEqual(step.done["violations"]["total"], 0, step)

    def test_machine_code_of_a_steps_own_is_not_loaded(self):
        """Only what a template has mapped is there: a copy of the same file is not."""
        with self.serve() as serve:
            step = serve.open().run("""
import glob, importlib.util, shutil
(path,) = glob.glob('/usr/lib/python3/dist-packages/kiwisolver/_cext.*.so')
shutil.copy(path, '/work/_cext.so')
spec = importlib.util.spec_from_file_location('_cext', '/work/_cext.so')
importlib.util.module_from_spec(spec)""")
            self.assertIn("ImportError", step.trace)
            self.assertEqual(step.done["violation"], "mmap", step)

    def test_without_the_lock_all_can_be_imported(self):
        with self.serve("--preload", "numpy", "--lock-code=no") as serve:
            step = serve.open().run("import scipy.stats, sys; 'sklearn' in sys.modules")
            self.assertEqual(step.result, "False", step)

    def test_cold_it_is_not_locked(self):
        with self.serve("--cold") as serve:
            session = serve.open()
            self.assertFalse(session.opened["warm"])
            step = session.run("import numpy; int(numpy.ones(3).sum())")
            self.assertEqual(step.result, "3", step)

    def test_without_a_template_there_is_no_session(self):
        for options, why in ((["--preload", "nowhere"], "a session needs a template here.* it has ended"),
                             (["--env", "OPENBLAS_NUM_THREADS=2"], "it has 2 threads")):
            with self.serve(*options) as serve, self.assertRaises(Refused) as caught:
                serve.open()
            self.assertRegex(str(caught.exception), why)

    def test_no_row_allows_what_the_lock_refuses(self):
        status, error = self.serve("--allow-syscall=execve").end()
        self.assertEqual(status, 125)
        self.assertIn("use --lock-code=no", error)


class Run(unittest.TestCase):
    """A program that is executed loads what it needs, so its code is not locked."""

    def test_a_program(self):
        said = run("--env", "OPENBLAS_NUM_THREADS=2", "--", "/bin/python3", "-c",
                   "import numpy, os; print(numpy.__version__[0], len(os.listdir('/proc/self/task')))")
        self.assertTrue(said.endswith("1 2\n"), said)

    def test_a_lock_that_is_asked_for_stops_the_loader(self):
        self.assertIn("failed to map segment", run("--lock-code=yes", "--", "/bin/python3", "-c",
                                                   "pass", status=127))


if __name__ == "__main__":
    unittest.main()
