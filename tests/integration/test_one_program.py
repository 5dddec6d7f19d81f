#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_one_program.py - the steps of a session are one program, as in a notebook

What would show a process for each step goes on from step to step: its id and clocks, seeds that
were chosen, locks on files and transactions, threads, and what is built on these. After a
rollback it is another process, without threads and locks of the one before.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import Case  # noqa: E402

# of each program the last statement is a value, and is the same as in one run of python3
PROGRAMS = {
    "its id": ["import os\np = os.getpid(), os.getppid()", "p == (os.getpid(), os.getppid())"],
    "its clocks": ["import time\nsum(range(10**6))\nt = time.process_time()", "time.process_time() >= t > 0"],
    "a seed": ["import random\nrandom.seed(42)\na = random.random()", "b = random.random()",
               "random.seed(42)\n(a, b) == (random.random(), random.random())"],
    "a generator of one's own": ["import random\nr = random.Random(5)\na = r.random()", "b = r.random()",
                                 "r = random.Random(5)\n(a, b) == (r.random(), r.random())"],
    "a lock on a file": [
        "import fcntl, os\nf = open('/work/lock', 'w')\nfcntl.lockf(f, fcntl.LOCK_EX)",
        "def is_free():\n    pid = os.fork()\n    if pid == 0:\n        try: fcntl.lockf(open('/work/lock', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "        except OSError: os._exit(1)\n        os._exit(0)\n    return os.waitpid(pid, 0)[1] == 0\nheld = not is_free()",
        "fcntl.lockf(f, fcntl.LOCK_UN)\nheld and is_free()"],
    "a transaction": [
        "import sqlite3\na = sqlite3.connect('/work/x.db', timeout=0)\na.execute('create table t (n)')\na.commit()",
        "a.execute('insert into t values (1)').rowcount", "a.commit()",
        "b = sqlite3.connect('/work/x.db', timeout=0)\nb.execute('insert into t values (2)')\nb.commit()",
        "a.execute('select sum(n) from t').fetchone() == (3,)"],
    "a thread": ["import queue, threading\nasked, told = queue.Queue(), queue.Queue()\ndef act():\n    while True: told.put(asked.get() + 1)\n"
                 "t = threading.Thread(target=act, daemon=True)\nt.start()", "asked.put(1)", "told.get() == 2 and t.is_alive()"],
    "a timer": ["import threading\nrung = threading.Event()\nt = threading.Timer(0.01, rung.set)\nt.start()", "rung.wait()"],
    "threads in a pool": ["from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(2)\na = p.submit(pow, 2, 3)",
                          "b = p.submit(pow, 2, 4)", "(a.result(), b.result(), *p.map(abs, [-1, -2])) == (8, 16, 1, 2)"],
    "a loop's executor": ["import asyncio\nloop = asyncio.new_event_loop()\n"
                          "async def act(n): return await loop.run_in_executor(None, pow, 2, n)", "a = loop.run_until_complete(act(3))",
                          "(a, loop.run_until_complete(act(4))) == (8, 16)"],
    "a lock that a thread holds": [
        "import threading\nlock, go, done = threading.Lock(), threading.Event(), threading.Event()\n"
        "def hold():\n    with lock:\n        go.wait()\n    done.set()\nthreading.Thread(target=hold, daemon=True).start()",
        "lock.locked()", "go.set()\ndone.wait() and not lock.locked()"],
    "a signal's handler and timer": ["import signal\nhits = []\nsignal.signal(signal.SIGALRM, lambda *a: hits.append(1))\nsignal.setitimer(signal.ITIMER_REAL, 0.01)",
                                     "import time\nwhile not hits: time.sleep(0.01)\nhits == [1]"],
    "a server in a thread": [
        "import socket, threading\ns = socket.socket(socket.AF_UNIX)\ns.bind('/work/s')\ns.listen()\n"
        "def serve():\n    while True:\n        c, _ = s.accept()\n        c.sendall(b'here')\n        c.close()\nthreading.Thread(target=serve, daemon=True).start()",
        "c = socket.socket(socket.AF_UNIX)\nc.connect('/work/s')", "c.recv(9) == b'here'"],
    "a local of a thread": ["import threading\nx = threading.local()\nx.n = 5\nm = threading.main_thread()",
                            "x.n == 5 and threading.current_thread() is m and m.native_id == threading.get_native_id()"],
}


class OneProgram(Case):
    def steps(self, name, session):
        for code in PROGRAMS[name]:
            step = session.run(code)
            self.ended(step, 'completed', 'kept')
        self.assertEqual(step.result, 'True', name)

    def test_each(self):
        for name in PROGRAMS:
            with self.subTest(program=name):
                session = self.serve.open()
                self.steps(name, session)
                session.close()

    def test_each_in_one_session(self):
        """Also behind threads and locks that others have left, and behind a step that fails."""
        session = self.serve.open()
        for name in PROGRAMS:
            with self.subTest(program=name):
                self.steps(name, session)
                self.ended(session.run("1 / 0"), 'exception', 'kept')
                session.run("import os\nfor one in '/work/x.db', '/work/s':\n    if os.path.exists(one): os.remove(one)")

    def test_after_a_rollback(self):
        """Another process, without the threads and locks; what was drawn is not drawn again."""
        session = self.serve.open()
        session.run("import fcntl, os, random, threading\nf = open('/work/lock', 'w')\nfcntl.lockf(f, fcntl.LOCK_EX)\n"
                    "p = os.getpid()\nthreading.Thread(target=threading.Event().wait, daemon=True).start()")
        drawn = [session.run("random.random()").result]
        self.ended(session.run("os._exit(1)"), 'exited', 'rolled-back')
        self.assertEqual(session.run("p == os.getpid(), threading.active_count()").result, "(False, 1)")
        for _ in range(2):
            session.rollback(1)
            drawn.append(session.run("random.random()").result)
        self.assertEqual(len(set(drawn)), 3, drawn)
        self.assertEqual(session.run("fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)").result, None)

    def test_a_seed_after_a_rollback(self):
        session = self.serve.open()
        session.run("import random\nrandom.seed(7)")
        drawn = []
        for _ in range(3):
            drawn.append(session.run("random.random()").result)
            session.rollback(1)
        self.assertEqual(len(set(drawn)), 1, drawn)


if __name__ == '__main__':
    unittest.main()
