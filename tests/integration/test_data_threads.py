#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_data_threads.py - rootfs/data: threads that compute go on beside the next step, and are gone after a rollback

What a thread held without the interpreter's lock, or in a lock that its user never sees, is
free in the state that is gone back to.

Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Serve  # noqa: E402
from serve_scene import OPTIONS  # noqa: E402

ROUNDS = 2
START = """
import io, threading
import numpy as np
def go(work, count=3):
    ready = threading.Semaphore(0)
    def loop():
        while True:
            work()
            ready.release()
    for _ in range(count): threading.Thread(target=loop, daemon=True).start()
    for _ in range(count): ready.acquire()
"""
# what the threads do again and again, and what the next step does with it: True if all is well
BUSY = {
    "random numbers of all": (
        "def work(): np.random.normal(size=300000)", "np.random.rand() < 1"),
    "random numbers of the user's": (
        "own = np.random.default_rng(1)\ndef work(): own.normal(size=300000)", "own.random() < 1"),
    "linear algebra": (
        "a = np.random.rand(40, 40)\ndef work():\n    for _ in range(100): a @ a",
        "(np.ones((90, 90)) @ np.ones((90, 90)))[0, 0] == 90"),
    "a picture": (
        "import matplotlib.pyplot as plt\nfrom matplotlib.figure import Figure\n"
        "def work(): Figure().savefig(io.BytesIO(), format='png')",
        "plt.plot([1, 2]); plt.savefig(io.BytesIO()); plt.close('all')\nTrue"),
    "time zones": (
        "import dateutil.tz as tz\ndef work():\n"
        "    for i in range(200): tz.tzoffset(f'x{i}', i); tz.gettz('UTC')",
        "tz.tzoffset('a', 5) is not tz.gettz('Europe/Paris')"),
    "routines that are not reentrant": (
        "from scipy import optimize, sparse\nimport scipy.sparse.linalg as linalg\n"
        "m = sparse.eye(50, format='csc') * 2\ndef f(x): return (x ** 2).sum()\n"
        "def work():\n    linalg.eigsh(m, k=2); linalg.cg(m, np.ones(50))\n"
        "    optimize.minimize(f, [1., 2.], method='COBYLA')",
        "linalg.eigsh(m, k=2); linalg.cg(m, np.ones(50))\n"
        "optimize.minimize(f, [1., 2.], method='COBYLA').success"),
}


class Threads(unittest.TestCase):
    """One serve for all of them."""

    @classmethod
    def setUpClass(cls):
        cls.serve = Serve([*OPTIONS, "--rootfs", "data", "--wall-time=20s"])
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        status, error = cls.serve.end()
        assert (status, error) == (0, ""), (status, error)

    def run_step(self, session, source, result=None, threads=0):
        step = session.run(source, wall_ms=20000, timeout=60)
        self.assertEqual(step.done["verdict"], "completed", step)
        self.assertEqual((step.result, step.done["threads"]), (result, threads), step)

    def test_whatever_they_do(self):
        for name, (source, after) in BUSY.items():
            with self.subTest(name):
                for _ in range(ROUNDS):
                    session = self.serve.open()
                    self.run_step(session, f"{START}{source}\ngo(work)", threads=3)
                    self.run_step(session, after, "True", threads=3)
                    # the state that the fork has kept of it, which has none of them
                    session.rollback(1)
                    for _ in range(2):
                        self.run_step(session, after, "True")
                    session.close()

    def test_a_transform_has_one_worker(self):
        """A pool that makes its threads anew after each fork: no state could be of one thread."""
        session = self.serve.open()
        for _ in range(2):
            self.run_step(session, """
import numpy, scipy.fft
with scipy.fft.set_workers(2):
    bool(abs(scipy.fft.fft(numpy.ones((64, 4096)), workers=4)[0, 0]) == 4096)""")
        session.close()

    def test_a_thread_that_reads(self):
        """It holds the lock of a FILE; the step's end flushes all FILEs."""
        session = self.serve.open()
        self.run_step(session, """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
ends = os.pipe()
file = ctypes.c_void_p(libc.fdopen(ends[0], b'r'))
thread = threading.Thread(target=libc.fgetc, args=(file,))
thread.start()
while libc.ftrylockfile(file) == 0:
    libc.funlockfile(file)
    time.sleep(0.01)""", threads=1)
        # the thread has one of the two
        self.run_step(session, """
os.write(ends[1], b'xx')
read = libc.fgetc(file)
thread.join()
while os.path.exists(f'/proc/self/task/{thread.native_id}'): time.sleep(0.01)
read""", "120")
        session.rollback(1)
        self.run_step(session, "os.write(ends[1], b'x'); libc.fgetc(file)", "120")
        session.close()


if __name__ == "__main__":
    unittest.main()
