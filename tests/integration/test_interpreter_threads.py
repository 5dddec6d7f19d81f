#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_interpreter_threads.py - a step ends while its threads run, and they stop with it

In the next step they go on. The state before that step, to which a branch may come back, is one
thread: what others held and half did when it was made is what a fork leaves of them. Nothing of
the interpreter's own may be held by a thread that is no longer there.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from step_client import COMPLETED, OneJail  # noqa: E402

ROUNDS = 8  # the moment at which the threads are left is another one each time
START = """
import threading, time
def go(work, count=4, daemon=True):
    ready = threading.Semaphore(0)
    def loop():
        while True:
            work()
            ready.release()
    threads = [threading.Thread(target=loop, daemon=daemon) for _ in range(count)]
    for t in threads: t.start()
    for _ in range(3 * count): ready.acquire()
    return threads
"""
# what the threads do again and again, and what the next step does with it: True if all is well
BUSY = {
    "logging": (
        "import logging\ndef work():\n    logging.warning('before')\n"
        "    logging.getLogger(f'a.{time.time()}')",
        "logging.warning('after'); logging.getLogger('new').error('x')\n"
        "logging.getLogger('a.b.c').name == 'a.b.c'"),
    "handlers of logging": (
        "import io, logging\nkept = logging.StreamHandler(io.StringIO())\n"
        "logging.getLogger().addHandler(kept)\n"
        "def work():\n    kept.setFormatter(logging.Formatter('%(message)s'))\n"
        "    logging.error('before')",
        "logging.error('after'); kept.stream.getvalue().endswith('after\\n')"),
    "threads": (
        "def work():\n    t = threading.Thread(target=time.sleep, args=(0.0001,))\n"
        "    t.start(); t.join()",
        "threading.active_count() == 1"),
    "allocation": (
        "def work(): bytearray(3000000)[::3]; (b'x' * 200000).hex()",
        "sum(len(bytearray(i * 1000)) for i in range(300)) == 44850000"),
    "code without the interpreter's lock": (
        "import bz2, hashlib, lzma, os, zlib\ndata = os.urandom(30000)\n"
        "def work():\n    zlib.compress(data); bz2.compress(data[:5000])\n"
        "    lzma.compress(data[:500], preset=0); hashlib.sha256(data).digest()",
        "zlib.decompress(zlib.compress(data)) == data == bz2.decompress(bz2.compress(data))"),
    "files": (
        "import os, tempfile\ndef work():\n"
        "    with tempfile.TemporaryFile(dir='/tmp') as f: f.write(b'x' * 10000); f.flush()",
        "f = tempfile.TemporaryFile(dir='/tmp'); f.write(b'x' * 10000)\nf.tell() == 10000"),
    "the C library's time": (
        "def work(): time.strftime('%c'); time.mktime(time.localtime()); time.tzset()",
        "time.strftime('%Y') >= '2024'"),
    "random numbers": (
        "import random, secrets, uuid\n"
        "def work(): random.random(); secrets.token_hex(9); uuid.uuid4()",
        "0 <= random.random() < 1 and uuid.uuid4() != uuid.uuid4()"),
    "caches": (
        "import decimal, functools, re\n@functools.lru_cache(50)\ndef cached(x): return x\n"
        "def work():\n    re.purge(); re.compile(f'a{time.time()}'); decimal.Decimal(2).sqrt()\n"
        "    cached(time.time())",
        "cached(5) == 5 and re.match('a+', 'aa') is not None and decimal.Decimal(4).sqrt() == 2"),
    "queues": (
        "import queue\nq = queue.Queue(10)\n"
        "def work():\n    q.put(1); time.sleep(0); q.get()",
        "new = queue.Queue(); new.put(7)\nnew.get() == 7"),
    "events": (
        "import asyncio\nasync def wait(): await asyncio.sleep(0.0005)\n"
        "def work(): asyncio.run(wait())",
        "async def answer():\n    await asyncio.sleep(0.001)\n    return 42\n"
        "asyncio.run(answer()) == 42"),
    "collection": (
        "import gc, weakref\nclass Node: pass\n"
        "def work():\n    a, b = Node(), Node()\n    a.b, b.a = b, a\n    weakref.ref(a)\n"
        "    gc.collect(0)",
        "gc.collect() >= 0 and gc.isenabled()"),
    "output": (
        "def work(): print('before' * 20)", "print('after'); True"),
    "the C library's other locks": (
        "import socket, sqlite3, syslog\ndef work():\n    syslog.syslog('before')\n"
        "    socket.getaddrinfo('127.0.0.1', 80)\n"
        "    try: socket.gethostbyname('localhost')\n    except OSError: pass\n"
        "    sqlite3.connect(':memory:').execute('with recursive n(x) as (select 1 union all '\n"
        "        'select x + 1 from n where x < 300) select max(datetime(x, \"unixepoch\", '\n"
        "        '\"localtime\")) from n')",
        "syslog.syslog('after'); time.tzset(); socket.getaddrinfo('::1', 80)\n"
        "time.localtime(0).tm_year in (1969, 1970)"),
    "locks of the standard library": (
        "import ipaddress, tempfile\ndef work():\n"
        "    for day in range(1, 29): time.strptime(f'2020-01-{day}', '%Y-%m-%d')\n"
        "    ipaddress.ip_network('10.0.0.0/24').broadcast_address\n"
        "    tempfile.tempdir = None; tempfile.gettempdir()",
        "tempfile.tempdir = None; tempfile.gettempdir()\n"
        "ipaddress.ip_network('10.1.0.0/24').broadcast_address\n"
        "time.strptime('2021', '%Y').tm_year == 2021"),
    "cached properties": (
        "import functools\nclass One:\n    @functools.cached_property\n"
        "    def slow(self):\n        time.sleep(0.001)\n        return 1\n"
        "def work(): One().slow",
        "One().slow == 1"),
    "a database": (
        "import sqlite3\ndef work():\n    c = sqlite3.connect(':memory:')\n"
        "    c.execute('create table t(a, b)')\n"
        "    c.executemany('insert into t values(?,?)', [(i, str(i)) for i in range(200)])\n"
        "    c.execute('select a, b from t order by b').fetchall()",
        "c = sqlite3.connect(':memory:')\nc.execute('select 1').fetchone() == (1,)"),
}


class Threads(OneJail, unittest.TestCase):
    def run_step(self, source, state=None, **rest):
        step = (state or self.jail.zero).run(source)
        self.assertIsNotNone(step.state, (step.out, step.err))
        self.assertEqual(step.how, COMPLETED, step.trace)
        for name, value in rest.items():
            self.assertEqual(getattr(step, name), value, step.err)
        return step.state

    def gone(self, state):
        """What is left of a state when the next step has begun: its threads are the next one's."""
        self.run_step("None", state).close()
        return state

    def test_whatever_they_do(self):
        for name, (source, after) in BUSY.items():
            with self.subTest(name):
                for _ in range(ROUNDS):
                    left = self.jail.zero.run(START + source + "\ngo(work)")
                    self.assertIsNotNone(left.state, left.err)
                    self.assertEqual(left.how, COMPLETED, left.trace)
                    self.assertGreaterEqual(left.strays, 4)
                    # among them, and then without
                    if name != "threads":
                        self.run_step(after, left.state, result="True").close()
                    one = self.run_step(after, self.gone(left.state), result="True", strays=0)
                    # and what that one leaves is a state as any other
                    self.run_step(after, one, result="True").close()
                    one.close()
                    left.state.close()

    def test_they_are_gone_and_threading_knows(self):
        for daemon in (True, False):
            left = self.run_step(START + "here = threading.local()\nhere.x = 5\n"
                                 f"threads = go(lambda: time.sleep(0.001), 3, {daemon})\n"
                                 "timer = threading.Timer(3600, print)\ntimer.start()", strays=4)
            state = self.run_step("""
import os, signal, threading
seen = []
new = threading.Thread(target=seen.append, args=(1,))
new.start(); new.join()
for t in [*threads, timer]: t.join()
signal.signal(signal.SIGUSR1, lambda *a: seen.append(2))
signal.raise_signal(signal.SIGUSR1)
main = threading.main_thread()
[[t.is_alive() for t in [*threads, timer]], threading.enumerate() == [main], main.is_alive(),
 threading.current_thread() is main, main.native_id == os.getpid() == threading.get_native_id(),
 main.ident == threading.get_ident(), seen, here.x, timer.cancel()]
""", self.gone(left), result="[[False, False, False, False], True, True, True, True, True, [1, 2], 5, None]")
            # /proc says the same
            self.run_step("len(os.listdir('/proc/self/task'))", state, result="1").close()
            state.close()
            left.close()

    def test_those_that_were_joined_are_none(self):
        """Python says that they have ended before the kernel has freed their stacks."""
        base = self.run_step("""
import sys, threading
sys.setrecursionlimit(1000000)
def deep(n): return n and next(map(deep, (n - 1,)))
def run():
    threading.stack_size(256 << 20)
    thread = threading.Thread(target=deep, args=(100000,))
    thread.start()
    thread.join()
""")
        for _ in range(ROUNDS):
            self.run_step("run()", base, strays=0).close()
        self.run_step("held = threading.Lock(); held.acquire()\n"
                      "threading.Thread(target=held.acquire).start(); run()", base,
                      strays=1).close()
        base.close()

    def test_pools(self):
        """New ones work; of an old one, what had not ended never will."""
        left = self.run_step("""
import concurrent.futures, time
old = concurrent.futures.ThreadPoolExecutor(2)
done = old.submit(len, 'abc'); done.result()
waits = [old.submit(time.sleep, 3600) for _ in range(5)]
""")
        self.run_step("""
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    answers = list(pool.map(len, ['ab'] * 20))
answers == [2] * 20, done.result(), any(f.done() for f in waits)
""", self.gone(left), result="(True, 3, False)").close()
        left.close()

    def test_a_lock_of_the_users_stays_as_it_was(self):
        """As after any fork: nobody is left who could let it go, and it is seen to be held."""
        left = self.run_step("""
import threading, time
held, free, again, ready = threading.Lock(), threading.Lock(), threading.RLock(), threading.Event()
def hold():
    with held, again:
        ready.set()
        time.sleep(3600)
threading.Thread(target=hold).start()
ready.wait()
""", strays=1)
        self.run_step("""
with free: pass
held.locked(), held.acquire(timeout=0.05), again.acquire(timeout=0.05), ready.is_set()
""", self.gone(left), result="(True, False, False, True)").close()
        # it may be let go for them, and goes on as any other
        self.run_step("held.release()\nwith held: pass\nheld.locked()", left,
                      result="False").close()
        left.close()

    def test_the_state_before_is_none_of_it(self):
        base = self.run_step("import threading, time\nx = [1]")
        left = self.run_step("def change():\n    while True: x.append(2); time.sleep(0.001)\n"
                             "threading.Thread(target=change).start()\n"
                             "while len(x) == 1: time.sleep(0.001)", base)
        grown = self.run_step("first = len(x); time.sleep(0.05)\nlen(x) == first, len(x) > 1", self.gone(left),
                              result="(True, True)")
        self.run_step("x", base, result="[1]", strays=0).close()
        for state in grown, left, base:
            state.close()

    def test_an_import_elsewhere(self):
        """A thread is in the middle of one; others can be imported."""
        left = self.run_step("""
import sys, threading, time
open('/work/endless.py', 'w').write('import time; begun = 1; time.sleep(3600)')
sys.path.insert(0, '/work')
threading.Thread(target=__import__, args=('endless',)).start()
while not hasattr(sys.modules.get('endless'), 'begun'): time.sleep(0.001)
""", strays=1)
        one = self.run_step("import colorsys, json.tool, wave\n'endless' in sys.modules", self.gone(left),
                            result="False")
        # and that one too, from its beginning
        self.run_step("open('/work/endless.py', 'w').write('begun = 2')\n"
                      "import endless; endless.begun", one, result="2").close()
        one.close()
        left.close()

    def test_a_query_that_goes_on(self):
        """Without the interpreter's lock, and with one or another of all databases'."""
        for _ in range(3):
            left = self.run_step("""
import sqlite3, threading, time
def query():
    sqlite3.connect(':memory:').execute(
        "with recursive n(x) as (select 1 union all select x + 1 from n) "
        "select max(length(printf('%d', x))) from n").fetchall()
for _ in range(4): threading.Thread(target=query).start()
time.sleep(0.1)
""", strays=4)
            self.run_step("sqlite3.connect(':memory:').execute('select 1').fetchone()", self.gone(left),
                          result="(1,)").close()
            left.close()

    def test_a_watchdog(self):
        """A thread that Python does not know of, and whose end faulthandler waits for."""
        left = self.run_step("import faulthandler; faulthandler.dump_traceback_later(3600)",
                             strays=1)
        self.run_step("faulthandler.dump_traceback_later(3600)\n"
                      "faulthandler.cancel_dump_traceback_later()", self.gone(left), strays=0).close()
        left.close()

    def test_a_shared_lock_of_multiprocessing(self):
        """Held within an object of the standard library's, for longer than a moment."""
        left = self.run_step("""
import multiprocessing.resource_tracker as tracker, threading, time
def hold():
    with tracker._resource_tracker._lock: time.sleep(3600)
threading.Thread(target=hold).start()
while not tracker._resource_tracker._lock.locked(): time.sleep(0.001)
""", strays=1)
        self.run_step("tracker._resource_tracker._lock.acquire(timeout=5)", self.gone(left),
                      result="True").close()
        left.close()

    def test_a_thread_that_waits_for_a_line(self):
        left = self.jail.zero.step(1, "import threading, time\n"
                                   "threading.Thread(target=input).start()\ntime.sleep(0.05)",
                                   stdin=None).started().end()
        self.assertEqual((left.how, left.strays), (COMPLETED, 1), left.trace)
        step = left.state.step(2, "input()", b"line\n").started().end()
        self.assertEqual((step.how, step.result), (COMPLETED, "'line'"), step.trace)
        step.state.close()
        left.state.close()


if __name__ == "__main__":
    unittest.main()
