#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_processes.py - multiprocessing and concurrent.futures, where a jail executes nothing

In sessions, as steps and from step to step, and in programs; in the tree core, which has no ctypes.
What the tree data adds is in test_data.py.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import Case  # noqa: E402
from test_run import Host, each_user  # noqa: E402

PROGRAM = """
import multiprocessing as mp, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.shared_memory import SharedMemory, ShareableList
kept = 1
def square(x): return x * x, kept, __name__
def work(value, queue, event):
    value.value = 7
    queue.put('put')
    event.set()
    sys.exit(4)
def main():
    global kept
    kept = 2
    for method in 'spawn', 'forkserver', 'fork':
        ctx = mp.get_context(method)
        with ctx.Pool(2) as pool: print(method, pool.map(square, range(2)))
        with ProcessPoolExecutor(2, mp_context=ctx) as executor: print(list(executor.map(square, range(2))))
        value, queue, event = ctx.Value('i', 1), ctx.Queue(), ctx.Event()
        process = ctx.Process(target=work, args=(value, queue, event))
        process.start()
        print(queue.get(), event.wait(60), process.join(), process.exitcode, value.value)
    memory = SharedMemory(create=True, size=10)
    print(memory.size)
    memory.close(), memory.unlink()
    with mp.Manager() as manager: print(manager.list([1]), manager.dict(a=2))
if __name__ == '__main__':
    main()
"""
OWN = "[(0, 1, '__mp_main__'), (1, 1, '__mp_main__')]"
COPIED = "[(0, 2, '__main__'), (1, 2, '__main__')]"
SAID = "".join(f"{method} {some}\n{some}\nput True None 4 7\n" for method, some in
               (("spawn", OWN), ("forkserver", OWN), ("fork", COPIED))) + "10\n[1] {'a': 2}\n"
SETUP = """
import multiprocessing as mp, time, os
import concurrent.futures as cf
from multiprocessing.pool import ThreadPool
def square(n): return n * n
def put(queue, value): queue.put(value)
"""


class Steps(Case):
    def setUp(self):
        super().setUp()
        self.session = self.serve.open()
        self.run_step(SETUP)

    def run_step(self, source, verdict='completed', out=None):
        step = self.session.run(source)
        self.ended(step, verdict, 'kept')
        self.assertEqual(step.done['violations']['total'], 0, step)
        if out is not None:
            self.assertEqual((step.out.decode(), step.err), (out, b''), step)
        return step

    def test_shared_memory(self):
        self.run_step("""
from multiprocessing.shared_memory import SharedMemory, ShareableList
from multiprocessing.managers import SharedMemoryManager
memory = SharedMemory(create=True, size=64)
def write(name):
    other = SharedMemory(name)
    other.buf[0] = 7
    other.close()
process = mp.Process(target=write, args=(memory.name,))
process.start(), process.join()
print(memory.buf[0])
some = ShareableList([1, 'a', 2.5])
print(list(some))
some.shm.close(), some.shm.unlink()
with SharedMemoryManager() as manager:
    print(manager.SharedMemory(10).size)""", out="7\n[1, 'a', 2.5]\n10\n")
        self.run_step("print(memory.buf[0]); memory.close(); memory.unlink()", out="7\n")

    def test_what_has_no_room(self):
        """A line, and not a signal at the first byte that does not fit."""
        for code in ("SharedMemory(create=True, size=100 << 20)", "mp.Array('d', 20 << 20)", "mp.RawArray('b', 100 << 20)"):
            step = self.run_step(f"from multiprocessing.shared_memory import SharedMemory\n{code}", 'exception')
            self.assertRegex(step.trace, r"No space left|OSError: .*28.*shared memory of \d+ bytes does not fit: \d+")
            self.assertIn("--tmp-size", step.trace)

    def test_values_and_arrays(self):
        self.run_step("""
value, array = mp.Value('i', 0), mp.Array('d', 3)
def add():
    for _ in range(50):
        with value.get_lock(): value.value += 1
    array[1] = 2
some = [mp.Process(target=add) for _ in range(3)]
[one.start() for one in some], [one.join() for one in some]
print(value.value, array[:], len(array), list(array))
array[:2] = [1.5, 3]
text = mp.Array('c', b'hello')
text.value = b'hi'
print(array[:], text.value, text.raw, text[1], mp.Array('u', 'abc').value)
raw = mp.RawArray('i', [1, 2, 3])
print(raw[:], mp.RawValue('B', 300).value, mp.Value('b', 200, lock=False).value, mp.Value('Q', 2 ** 64 - 1).value)
from multiprocessing import sharedctypes
copied = sharedctypes.copy(raw)
raw[0] = 9
print(copied[:], raw[-3], isinstance(value, sharedctypes.Synchronized))""",
                      out="150 [0.0, 2.0, 0.0] 3 [0.0, 2.0, 0.0]\n[1.5, 3.0, 0.0] b'hi' b'hi\\x00lo' b'i' abc\n"
                          "[1, 2, 3] 44 -56 18446744073709551615\n[1, 2, 3] 9 True\n")

    def test_values_that_do_not_fit(self):
        for code, words in (("mp.Value('i', 1.5)", "an integer is expected, not float"),
                            ("mp.Value('x')", "none of the typecodes"), ("mp.Array('i', 2)[2]", "IndexError"),
                            ("mp.Array('i', 3)[:2] = [1]", "of its own size"), ("mp.Array('c', 1).value = b'ab'", "too long"),
                            ("import ctypes", "it is in the tree data (--rootfs data), and this is core")):
            step = self.run_step(code, 'exception')
            self.assertIn(words, step.trace)

    def test_start_methods(self):
        for method in 'spawn', 'forkserver', 'fork':
            self.run_step(f"""
ctx = mp.get_context({method!r})
with ctx.Pool(2) as pool: print(pool.map(square, range(4)))
queue = ctx.Queue()
process = ctx.Process(target=put, args=(queue, 5))
process.start()
print(queue.get(), process.join(), process.exitcode)
value = ctx.Value('i', 3)
print(value.value)
with cf.ProcessPoolExecutor(2, mp_context=ctx) as executor: print(list(executor.map(square, [5, 6])))""",
                          out="[0, 1, 4, 9]\n5 None 0\n3\n[25, 36]\n")
        self.run_step("mp.set_start_method('spawn', force=True)\nprocess = mp.Process(target=print, args=('spawned',))\n"
                      "process.start(), process.join()", out="spawned\n")

    def test_the_rest_of_the_module(self):
        self.run_step("""
with mp.Manager() as manager:
    space, queue = manager.Namespace(), manager.Queue()
    space.x = 1
    queue.put(2)
    print(manager.dict(a=1), manager.list([1]), space, queue.get(), manager.Value('i', 3).value)
barrier, (left, right) = mp.Barrier(2), mp.Pipe()
def meet():
    barrier.wait(60)
    right.send('met')
process = mp.Process(target=meet)
process.start()
barrier.wait(60)
print(left.recv(), process.join())
semaphore, condition, event, queue = mp.BoundedSemaphore(2), mp.Condition(), mp.Event(), mp.JoinableQueue()
def consume():
    print(queue.get(), flush=True)
    queue.task_done()
    event.set()
process = mp.Process(target=consume)
process.start()
queue.put('job')
print(queue.join(), event.wait(60), semaphore.acquire(), process.join())
with condition: condition.notify_all()
with ThreadPool(2) as pool: print(pool.map(square, [1, 2]))
print(mp.active_children())""", out="{'a': 1} [1] Namespace(x=1) 2 3\nmet None\njob\nNone True True None\n[1, 4]\n[]\n")

    def test_pools_of_an_earlier_step(self):
        """Their workers have ended with it: they work anew, and know what was defined since."""
        self.run_step("executor = cf.ProcessPoolExecutor(2); print(list(executor.map(abs, [-1])))\n"
                      "pool, spawned, threads = mp.Pool(2), mp.get_context('spawn').Pool(2), ThreadPool(2)\n"
                      "print(pool.map(abs, [-1]), spawned.map(abs, [-5]), threads.map(abs, [-7]))", out="[1]\n[1] [5] [7]\n")
        for _ in range(3):
            self.run_step("def later(n): return n + 100\n"
                          "print(executor.submit(later, -2).result(), pool.map(later, [-2]), spawned.map(later, [1]),\n"
                          "      threads.map(later, [2]))", out="98 [98] [101] [102]\n")
            self.run_step("1", out="")
        self.run_step("pool.close(); pool.join(); spawned.terminate(); executor.shutdown(); print(mp.active_children())",
                      out="[]\n")

    def test_a_pool_that_is_not_used_again(self):
        for end in ("with pool: pass", "pool.close(); pool.join()", "pool.terminate(); pool.join()", "del pool", "pool = 1"):
            self.run_step("pool = mp.Pool(2); print(pool.map(abs, [-1]))", out="[1]\n")
            self.run_step(end, out="")

    def test_results_of_an_earlier_step(self):
        self.run_step("pool, executor = mp.Pool(2), cf.ProcessPoolExecutor(2)\n"
                      "results = [pool.map_async(time.sleep, [1000]).get, pool.apply_async(time.sleep, [1000]).get,\n"
                      "           pool.imap(time.sleep, [1000]).next, executor.submit(time.sleep, 1000).result]")
        step = self.run_step("for get in results:\n"
                             "    try: print(get())\n"
                             "    except (RuntimeError, cf.BrokenExecutor) as problem: print(problem)\n"
                             "print(pool.map(square, [3]), executor.submit(square, 4).result())")
        lines = step.out.decode().splitlines()
        self.assertEqual(len(lines), 5)
        for line in lines[:3]:
            self.assertIn("ended with the step that started them", line)
        self.assertRegex(lines[3], "ended with the step that started them|terminated abruptly")
        self.assertEqual(lines[4], "[9] 16")

    def test_a_manager_of_an_earlier_step(self):
        self.run_step("manager = mp.Manager()\nshared = manager.dict(a=1)")
        step = self.run_step("shared['a']", 'exception')
        self.assertIn("start the manager in the step that uses it", step.trace)

    def test_a_pool_after_a_branch(self):
        made = self.run_step("pool, threads = mp.Pool(2), ThreadPool(2)\nprint(pool.map(abs, [-1]), threads.map(abs, [-1]))")
        self.run_step("print(pool.map(square, [2]))", out="[4]\n")
        self.session.branch(1, made.done['state_number'])
        step = self.session.run("print(pool.map(square, [3]), threads.map(square, [4]))", branch=1)
        self.assertEqual(step.out, b"[9] [16]\n", step)

    def test_programs_that_are_not_there(self):
        """A library that looks for one is no attack, nor is whoever starts it by subprocess."""
        self.run_step("""
import platform, subprocess, uuid, webbrowser, getpass, locale, shutil
print(platform.platform().split('-')[0], repr(platform.processor()), platform.uname().processor == '', platform.architecture()[0])
uuid.getnode(), uuid.uuid1(), webbrowser.open('http://x'), locale.getlocale(), shutil.which('ls')
for words in ['lscpu'], ['/sbin/ldconfig', '-p'], ['uname', '-p'], ['/bin/sh', '-c', 'x'], ['/etc/passwd']:
    try: subprocess.run(words)
    except OSError as problem: print(type(problem).__name__, problem.filename)
try: subprocess.check_output('ls', shell=True)
except OSError as problem: print(type(problem).__name__, problem.filename)
for call in (lambda: os.execv('/bin/no', ['no']), lambda: os.execvp('no', ['no']), lambda: os.execve('/bin/no', ['no'], {})):
    try: call()
    except OSError as problem: print(problem.errno)""",
                      out="Linux '' True 64bit\nFileNotFoundError lscpu\nFileNotFoundError /sbin/ldconfig\n"
                          "FileNotFoundError uname\nFileNotFoundError /bin/sh\nPermissionError /etc/passwd\n"
                          "FileNotFoundError /bin/sh\n2\n2\n2\n")

    def test_a_program_that_is_there(self):
        """That stays what it was: refused, and told."""
        for code in ("import subprocess, sys; subprocess.run([sys.executable, '-V'])",
                     "import os; os.execv('/bin/python3', ['python3', '-V'])", "import os; os.system('ls')"):
            step = self.session.run(code)
            self.assertEqual([one['syscall'] for one in step.done['violations']['list']], ['execve'], step)


class Killed(Steps):
    """The same where a refused call ends the session's step."""
    options = ['--on-violation=kill']
    test_a_program_that_is_there = None


class Programs(Host):
    def test_start_methods(self):
        path = self.file("program.py", PROGRAM)
        for options in ([], ["--file-locks=0"], ["--on-violation=kill"], ["--lock-code=no"]):
            done = self.run_jail("--quiet", *options, "--", path)
            self.assertEqual((done.returncode, done.stdout.decode(), done.stderr), (0, SAID, b""), options)
            self.assertIsNone(done.report["violations"] and done.report["violations"]["list"] or None)

    def test_platform(self):
        code = "import platform; print(platform.platform(), platform.processor(), platform.architecture())"
        done = self.run_jail("--on-violation=kill", "--", "python3", "-c", code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"refused", done.stderr)

    def test_a_shell_that_is_there(self):
        """With --bind and --lock-code=no, it runs."""
        code = "import subprocess; print(subprocess.run('exit 3', shell=True).returncode)"
        bind = [f"--bind={path}:{path}" for path in ("/bin/sh", "/lib", "/lib64") if os.path.exists(path)]
        self.assertEqual(self.run_jail("--quiet", "--", "python3", "-c", code).returncode, 1)
        if os.path.exists("/bin/busybox"):
            bind = ["--bind=/bin/busybox:/bin/sh"]
            done = self.run_jail("--quiet", "--lock-code=no", *bind, "--", "python3", "-c", code)
            self.assertEqual(done.stdout, b"3\n", done.stderr)

    def test_too_few_processes(self):
        done = self.run_jail("--pids=1", "--", "python3", "-c", "import multiprocessing as m; m.Process(target=print).start()")
        self.assertIn(b"--pids", done.stderr)


globals().update(each_user(Programs))

if __name__ == '__main__':
    unittest.main()
