#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: what a step does to the processes of another branch, and what is told of it.

Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import Case, wait_until, warm  # noqa: E402

# a thread, a child, and a child that leads a group; their numbers, and then it waits
VICTIM = '''
import threading
thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
thread.start()
child = os.fork()
if child == 0:
    time.sleep(1000)
    os._exit(0)
leader = os.fork()
if leader == 0:
    os.setpgid(0, 0)
    time.sleep(1000)
    os._exit(0)
while os.getpgid(leader) != leader:
    time.sleep(0.001)
print(os.getpid(), thread.native_id, child, leader, flush=True)
input()
print([os.waitpid(pid, os.WNOHANG) for pid in (child, leader)] == [(0, 0)] * 2)
os.kill(child, 9), os.killpg(leader, 9), os.wait(), os.wait()
'''
# whom does it reach?
REACH = '''
reached = []
for pid in {pids}:
    for act in {acts}:
        try:
            act(pid, 9)
            reached.append(pid)
        except OSError as e:
            pass
print(reached)
'''
BOTH = '(os.kill, os.killpg)'
# a process of init's that has the pipe's end until it ends
ORPHAN = '''
r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        {first}
        while os.getppid() != 1:
            time.sleep(0.001)
        try:
            {act}
        finally:
            os.write(w, b'on')
            os._exit(0)
    os._exit(0)
os.close(w)
os.wait()
print(os.read(r, 9), flush=True)
'''
VIOLATION = 'os.setpriority(os.PRIO_PROCESS, 1, 5)'


class Branches(Case):
    options = ['--wall-time=60s']

    def setUp(self):
        super().setUp()
        self.session = self.serve.open()
        self.session.run('import os, signal, subprocess, sys, time')
        self.session.branch(1, 1)

    def waits(self, source='input()'):
        """A step on branch 1 that runs until it is told to end; what it prints first."""
        self.session.start('print("on", flush=True)\n' * (source == 'input()') + source, branch=1)
        return self.serve.expect(self.session.number, 1, 'OUT').bytes.decode()

    def goes_on(self, said=b''):
        self.session.stdin(b'\n', branch=1)
        step = self.session.finish(branch=1)
        self.ended(step, 'completed', 'kept', violation=None)
        self.assertEqual(step.out, said)


class Signals(Branches):
    def test_no_process_or_thread_of_another(self):
        pids = self.waits(VICTIM).split()
        step = self.session.run(REACH.format(pids=list(map(int, pids)), acts=BOTH))
        self.assertEqual(step.out, b'[]\n')
        self.ended(step, 'completed', 'kept', violation='kill')
        self.goes_on(b'True\n')

    def test_no_process_that_is_not_there_yet(self):
        """A number that is nobody's is not asked of the kernel, which would see it later."""
        self.waits()
        step = self.session.run('pid = os.fork()\nif pid == 0: os._exit(0)\nos.wait()\n'
                                'try: os.kill(pid, 9)\nexcept ProcessLookupError: print("nobody")')
        self.ended(step, 'completed', 'kept', violation=None)
        self.assertEqual(step.out, b'nobody\n')
        self.goes_on()

    def test_nobodys_alone(self):
        """An orphan that is in no step's session: by the only step there is."""
        for beside, reached in ((False, 1), (True, 0)):
            if beside:
                self.waits()
            step = self.session.run('''
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(w, b'%d' % os.getpid())
        time.sleep(1000)
    os._exit(0)
os.wait()
pid = int(os.read(r, 9))
''' + REACH.format(pids='[pid]', acts='[os.kill]') + 'print(len(reached))')
            self.assertEqual(step.out.split()[-1], b'%d' % reached)
        self.goes_on()

    def test_own_ones(self):
        """Threads, children, their groups and sessions, orphans: whatever runs beside it."""
        self.waits()
        step = self.session.run('''
import threading
got, signals = [], set()
signal.signal(signal.SIGUSR1, lambda *a: signals.add(a[0]))
thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
thread.start()
signal.pthread_kill(thread.ident, signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGUSR1)
os.kill(thread.native_id, signal.SIGUSR1)
for act in os.kill, os.killpg:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(1000)
    while os.getpgid(pid) != pid:
        time.sleep(0.001)
    act(pid, 15)
    got.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.write(w, b'%d' % os.getpid())
        time.sleep(1000)
    os._exit(0)
os.wait()
os.close(w)
os.kill(int(os.read(r, 9)), 9)
got.append(os.read(r, 9))
print(got, signals)
''')
        self.assertEqual(step.out, b"[-15, -15, b''] {10}\n", step)
        self.ended(step, 'completed', 'kept', violation=None)
        self.goes_on()

    def test_an_ended_child(self):
        """A number is taken until somebody has waited for its process."""
        step = self.session.run('''
child = os.fork()
if child == 0:
    os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
os.kill(child, 9), os.waitpid(child, 0)
try:
    os.kill(child, 9)
except ProcessLookupError:
    print('gone')
''')
        self.assertEqual(step.out, b'gone\n', step.trace)


class NoProc(Branches):
    """A jail without /proc: whose a number is, is found outside of it."""
    options = Branches.options + ['--proc=none']

    def test_its_own(self):
        step = self.session.run("""
pids = [os.fork() or (time.sleep(1000), os._exit(0)) for _ in range(3)]
for pid in pids:
    os.kill(pid, 9)
print([os.waitpid(pid, 0)[1] for pid in pids])
for pid in pids[0], 30000:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        print('gone')
""")
        self.assertEqual(step.out, b'[9, 9, 9]\ngone\ngone\n', step)


class Beside(Case):
    """A step that runs beside it, on another branch of its session."""
    # all that can be opened of another process, if it is a step's
    OPEN = """
import os
def opened(pid):
    for fd in 0, 1, 2, 3, 4, 5:
        for flags in os.O_WRONLY, os.O_RDONLY:
            try:
                f = os.open(f'/proc/{pid}/fd/{fd}', flags | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                yield fd, flags, os.write(f, b'forged') if flags == os.O_WRONLY else os.read(f, 99)
            except OSError as e:
                yield fd, flags, e.errno
    for name in 'mem', 'maps', 'environ', 'stat', 'cmdline':
        try:
            yield open(f'/proc/{pid}/{name}').close() or name
        except OSError:
            pass
"""
    OTHERS = 'print([f for pid in range(2, 200) if pid != os.getpid() for f in opened(pid)])'

    def test_its_streams_and_memory(self):
        session = warm(self.serve)
        session.run(self.OPEN)
        # of itself there is something to be seen, and its own streams open again
        self.assertIn("'maps'", session.run('list(opened(os.getpid()))').result)
        for branch in range(1, 4):
            session.branch(branch, 1)
            # one thread; several, so that it moves to another process; a child of its own
            session.start(['', 'import threading, time\n'
                           'threading.Thread(target=time.sleep, args=(99,)).start()\n',
                           'if os.fork(): os.wait(); os._exit(7)\n'][branch - 1]
                          + 'print("begun", flush=True); print(input())', branch=branch)
            self.serve.expect(session.number, branch, 'OUT')
        for _ in range(2):
            self.assertEqual(session.run(self.OTHERS).out, b'[]\n')
        for branch in range(1, 4):
            session.stdin(b'said\n', branch=branch)
            self.assertEqual(session.finish(branch).out, b'said\n')

    def test_its_own_streams(self):
        session = warm(self.serve)
        session.start('for name in "stdout", "stderr":\n'
                      '    print(name, file=open(f"/dev/{name}", "w"))\n'
                      'with open("/dev/stdin") as f: f.readline()')
        session.stdin(b'said\n')
        step = session.finish()
        self.assertEqual((step.out, step.err, step.result), (b'stdout\n', b'stderr\n', None), step)


class Killed(Branches):
    """Where violations kill: whoever made one, and nobody else."""
    options = Branches.options + ['--on-violation=kill']

    def elsewhere(self):
        return self.session.status()['elsewhere']['total']

    def test_an_orphan_is_its_steps(self):
        self.waits()
        step = self.session.run(ORPHAN.format(first='pass', act=VIOLATION) + 'time.sleep(1000)')
        self.ended(step, 'violation', 'rolled-back', violation='setpriority')
        self.assertEqual(step.done['violations']['total'], 1)
        self.assertEqual(self.elsewhere(), 0)
        self.goes_on()

    def test_an_orphan_that_is_nobodys_dies_alone(self):
        for beside in False, True:
            if beside:
                self.waits()
            step = self.session.run(ORPHAN.format(first='os.setsid()', act=VIOLATION))
            self.ended(step, 'completed', 'kept', violation=None)
            self.assertEqual(step.out, b"b''\n")
            self.assertTrue(wait_until(lambda: self.elsewhere() == 1 + beside))
        self.goes_on()


class Limited(Branches):
    """A step that has reached a limit is told so, however it ends within the grace."""
    options = ['--grace=60s', '--wall-time=60s']
    ENDS = {'pass': ('kept', 0), 'raise': ('kept', None), 'sys.exit(0)': ('kept', 0),
            'sys.exit(3)': ('kept', 3), 'os._exit(0)': ('rolled-back', 0),
            'os._exit(3)': ('rolled-back', 3)}

    def each(self, verdict, **limits):
        for end, (state, code) in self.ENDS.items():
            step = self.session.run_until(b'on', 'try:\n print("on", flush=True)\n while True: pass\n'
                                          f'except KeyboardInterrupt: {end}', **limits)
            with self.subTest(end):
                self.ended(step, verdict, state, signal=None)
                if code is not None:
                    self.assertEqual(step.done['exit_code'], code)

    def test_of_wall_time(self):
        self.each('wall-timeout')

    def test_interrupted(self):
        for end, (state, _) in self.ENDS.items():
            self.session.start('try:\n print("on", flush=True)\n while True: pass\n'
                               f'except KeyboardInterrupt: {end}')
            self.serve.expect(self.session.number, 0, 'OUT')
            self.session.interrupt()
            self.ended(self.session.finish(), 'cancelled', state)

    def test_of_cpu_time(self):
        for end, (state, _) in self.ENDS.items():
            step = self.session.run('try:\n for _ in iter(int, 1): pass\n'
                                    f'except KeyboardInterrupt: {end}', cpu_ms=300)
            self.ended(step, 'cpu-timeout', state)

    def test_what_ends_in_time(self):
        self.ended(self.session.run('os._exit(0)'), 'completed', 'rolled-back', exit_code=0)
        self.ended(self.session.run('sys.exit(3)'), 'exited', 'kept', exit_code=3)


if __name__ == '__main__':
    unittest.main()
