#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: steps of sessions, with the interpreter of the tree core.

Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Refused, Serve  # noqa: E402
from serve_scene import OPTIONS, Case  # noqa: E402


class Steps(Case):
    def setUp(self):
        super().setUp()
        self.session = self.serve.open()

    def test_variables_stay(self):
        self.ended(self.session.run('x = 41\nprint("hi")'), 'completed', 'kept', state_number=1,
                   exit_code=0, signal=None, reason=None, strays=0)
        step = self.session.run('x + 1')
        self.assertEqual((step.result, step.out), ('42', b''))
        self.ended(step, 'completed', 'kept', branch=0, state_number=2)
        self.assertEqual(step.done['step'], 2)
        self.assertLess(step.done['cpu_ms'], 1000)
        self.assertGreater(step.done['memory_peak_bytes'], 1 << 20)

    def test_an_exception_keeps_them(self):
        step = self.session.run('x = 1\n1 / 0')
        self.assertIn('ZeroDivisionError', step.trace)
        self.ended(step, 'exception', 'kept', exit_code=1)
        self.assertEqual(self.session.run('x').result, '1')

    def test_sys_exit_keeps_them(self):
        self.ended(self.session.run('import sys; x = 1; sys.exit(4)'), 'exited', 'kept', exit_code=4)
        self.ended(self.session.run('sys.exit()'), 'completed', 'kept', exit_code=0)
        self.assertEqual(self.session.run('x').result, '1')

    def test_a_death_takes_back_one_step(self):
        self.session.run('import os; x = 1')
        step = self.session.run('x = 2; print("before", flush=True); os._exit(3)')
        self.assertEqual(step.out, b'before\n')
        self.ended(step, 'exited', 'rolled-back', exit_code=3, state_number=1)
        self.ended(self.session.run('x = 2; os.kill(os.getpid(), 11)'), 'signaled', 'rolled-back',
                   signal=11, exit_code=None)
        self.ended(self.session.run('os.abort()'), 'signaled', 'rolled-back', signal=6)
        self.assertEqual(self.session.run('x').result, '1')

    def test_wall_time(self):
        step = self.session.run_until(b'on', 'x = 1\nprint("on", flush=True)\nwhile True: pass',
                                      wall_ms=200)
        self.ended(step, 'wall-timeout', 'kept')
        step = self.session.run('x')
        self.assertEqual(step.result, '1')
        self.ended(step, 'completed', 'kept')

    def test_interrupt(self):
        self.session.start('x = 1\nprint("on", flush=True)\nimport time; time.sleep(1000)')
        self.assertEqual(self.serve.expect(self.session.number, 0, 'OUT').bytes, b'on\n')
        self.session.interrupt()
        step = self.session.finish()
        self.assertIn('KeyboardInterrupt', step.trace)
        self.ended(step, 'cancelled', 'kept')
        self.assertEqual(self.session.run('x').result, '1')

    def test_interrupt_is_repeated_to_one_that_sleeps(self):
        handler = ('import os, signal, time\n'
                   'signal.signal(signal.SIGINT, lambda *a: os.write(1, b"struck "))\n'
                   'os.write(1, b"on ")\n')
        # the second signal comes after half of the grace, if a quarter brought no CPU time
        with Serve(OPTIONS + ['--grace=6s']) as serve:
            struck = {}
            for rest in 'while True: time.sleep(1000)', 'while True: pass':
                session = serve.open()
                session.start(handler + rest)
                self.assertEqual(serve.expect(session.number, 0, 'OUT').bytes, b'on ')
                session.interrupt()
                struck[rest] = session
            for session, out in zip(struck.values(), (b'struck struck ', b'struck ')):
                step = session.finish()
                self.assertEqual(step.out, out)
                self.ended(step, 'cancelled', 'rolled-back')

    def test_kill(self):
        self.session.start('x = 1\nprint("on", flush=True)\nwhile True: pass')
        self.serve.expect(self.session.number, 0, 'OUT')
        self.session.kill()
        self.ended(self.session.finish(), 'cancelled', 'rolled-back', signal=9)
        self.assertIn('NameError', self.session.run('x').trace)

    def test_a_kill_at_once(self):
        for act in self.session.kill, self.session.interrupt:
            self.session.start('while True: pass')
            act()
            self.assertEqual(self.session.finish().done['verdict'], 'cancelled')
        self.assertEqual(self.session.run('1').result, '1')

    def test_memory(self):
        step = self.session.run('x = 1\na = bytearray(1 << 30)')
        # without a leaf the limit of the address space refuses it, and nobody dies
        self.assertIn(step.done['verdict'], ('exception', 'memory'))
        self.assertEqual(self.session.run('1').result, '1')

    def test_stdin(self):
        self.session.start('print(input(), input())')
        self.session.stdin(b'a\n')
        self.session.stdin(b'b\n')
        self.assertEqual(self.session.finish().out, b'a b\n')
        self.session.start('import sys; print(len(sys.stdin.read()))')
        for _ in range(10):
            self.session.stdin(b'x' * 60000)
        self.session.stdin(b'')
        self.assertEqual(self.session.finish().out, b'600000\n')
        self.session.start('import time; time.sleep(1000)')
        for _ in range(20):
            self.session.stdin(b'x' * 65000)
        self.refused('1048576 bytes wait', self.session.finish)
        self.session.kill()
        while True:
            try:
                self.ended(self.session.finish(), 'cancelled', 'rolled-back')
                break
            except Refused:
                pass

    def test_output_has_a_limit(self):
        step = self.session.run('print("a" * 65535 + "b" * 5000 + "end", end="")')
        out = step.done['output']
        self.assertEqual(step.out, b'a' * 65535 + b'b')
        self.assertEqual((out['stdout_bytes'], out['stdout_cut'], out['cut']), (70538, 5002, 5002))
        self.assertEqual(out['stdout_tail'], 'b' * 4093 + 'end')
        step = self.session.run('import sys; sys.stderr.write("e" * 65537)')
        self.assertEqual(len(step.err), 65536)
        self.assertEqual(step.done['output']['stderr_tail'], 'e')

    def test_strays_are_swept(self):
        step = self.session.run('''
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    os._exit(0)
os.wait()
if os.fork() == 0:
    time.sleep(1000)
''')
        self.ended(step, 'completed', 'kept', strays=2)
        self.ended(self.session.run('if os.fork() == 0: time.sleep(1000)\nos._exit(1)'), 'exited',
                   'rolled-back', strays=1)
        self.ended(self.session.run('1'), 'completed', 'kept', strays=0)

    def test_threads_are_left_behind(self):
        step = self.session.run('import threading, time\nx = 5\n'
                                'threading.Thread(target=time.sleep, args=(1000,)).start()')
        self.ended(step, 'completed', 'kept', threads=1, strays=0)
        self.assertEqual(self.session.run('x').result, '5')

    def test_a_thread_that_holds_what_forks_wait_for(self):
        """A program's fork waits for logging's lock; what a session forks waits for nobody's."""
        self.session.run('x = 1')
        step = self.session.run(
            'import logging, threading, time\nx = 2\n'
            'ready = threading.Event()\ndef hold():\n'
            '    logging._acquireLock(); ready.set(); time.sleep(1000)\n'
            'threading.Thread(target=hold).start()\nready.wait(); print("held", flush=True)')
        self.ended(step, 'completed', 'kept', threads=1)
        self.ended(self.session.run('x = 3; import os; os._exit(1)'), 'exited', 'rolled-back')
        # nobody who lives on holds it now
        self.ended(self.session.run('logging.warning(x)'), 'completed', 'kept', threads=0)
        self.assertEqual(self.session.run('x').result, '2')

    def test_a_source_has_a_limit(self):
        self.session.start(b'#' * ((1 << 20) - 2) + b'\n7')
        self.assertEqual(self.session.finish().result, '7')
        self.session.start(b'#' * ((1 << 20) + 1))
        self.refused('at most 1048576 bytes', self.session.finish)
        # of which nothing is left for the next one
        self.assertEqual(self.session.run('8').result, '8')

    def test_limits_are_the_policys_at_the_most(self):
        self.refused('more than --wall-time allows', self.session.run, '1', wall_ms=1 << 40)
        self.assertEqual(self.session.run('2').result, '2')

    def test_rollback_and_branches(self):
        for n in 1, 2, 3:
            self.session.run(f'x = {n}')
        answer = self.session.branch(9, 1)
        self.assertEqual(answer['branches'], {'0': {'state': 3, 'lost': False, 'step': None},
                                              '9': {'state': 1, 'lost': False, 'step': None}})
        self.assertEqual(self.session.run('x', branch=9).result, '1')
        self.assertEqual(self.session.run('x').result, '3')
        self.session.rollback(2)
        self.assertEqual(self.session.run('x').result, '2')
        self.refused('no state 3', self.session.rollback, 3)
        self.session.rollback(0)
        self.assertIn('NameError', self.session.run('x').trace)
        self.session.drop(9)
        self.refused('no branch 9', self.session.run, 'x', branch=9)
        self.refused('only one', self.session.drop, 0)
        self.refused('is there already', self.session.branch, 0, 0)

    def test_what_a_fork_shares_is_told(self):
        """It is as the dead step left it, and the answer says so."""
        self.assertIsNone(self.session.run('import mmap, os').done['not_rolled_back'])
        self.assertEqual(self.session.run('os._exit(1)').done['not_rolled_back'], [])
        memory, offsets, both = ['shared-memory'], ['file-offsets'], ['shared-memory', 'file-offsets']
        self.session.run('g = open("/work/m", "wb+", 0); g.truncate(8); m = mmap.mmap(g.fileno(), 8)')
        self.session.run('f = open("/etc/passwd", "rb", 0)')
        step = self.session.run('m[0] = 1; os._exit(1)')
        self.ended(step, 'exited', 'rolled-back', not_rolled_back=memory)
        self.assertEqual(self.session.run('m[0]').result, '1')
        step = self.session.run('f.read(9); os._exit(1)')
        self.ended(step, 'exited', 'rolled-back', not_rolled_back=both)
        self.assertEqual(self.session.run('f.tell()').result, '9')
        # of a state that waits, which others have moved the offset of
        self.assertEqual(self.session.rollback(4)['not_rolled_back'], both)
        self.assertEqual(self.session.rollback(3)['not_rolled_back'], memory)
        self.assertEqual(self.session.branch(1, 1)['not_rolled_back'], [])
        self.assertNotIn('not_rolled_back', self.session.status())
        self.session.run('f = open("/etc/passwd", "rb", 0); f.read(9)', branch=1)
        self.ended(self.session.run('os._exit(1)', branch=1), 'exited', 'rolled-back',
                   not_rolled_back=offsets)

    def test_more_than_is_looked_at_counts_as_shared(self):
        # neighbours that differ, or they would be one mapping
        self.session.run('import os\nfrom mmap import *\n'
                         'maps = [mmap(-1, 4096, MAP_PRIVATE | MAP_ANONYMOUS, prot)\n'
                         '        for prot in (PROT_READ, PROT_READ | PROT_WRITE) * 10000]')
        self.ended(self.session.run('os._exit(1)'), 'exited', 'rolled-back',
                   not_rolled_back=['shared-memory'])

    def test_branches_run_side_by_side(self):
        self.session.run('import os, time; x = 1')
        self.session.branch(1, 1)
        self.session.start('x = 2; print("on", flush=True); time.sleep(1000)', branch=1)
        self.serve.expect(self.session.number, 1, 'OUT')
        self.assertEqual(self.session.run('x').result, '1')
        # and the other's process is none of what this one has left
        self.ended(self.session.run('if os.fork() == 0: time.sleep(1000)'), 'completed', 'kept',
                   strays=1)
        self.refused('runs step', self.session.run, 'x', branch=1)
        self.refused('runs step', self.session.rollback, 0, branch=1)
        self.session.interrupt(branch=1)
        self.ended(self.session.finish(branch=1), 'cancelled', 'kept')
        self.assertEqual(self.session.run('x', branch=1).result, '2')

    def test_old_states_go(self):
        for n in range(12):
            self.session.run(f'x = {n}')
        states = [row['state'] for row in self.session.status()['states']]
        self.assertEqual(states, [0] + list(range(4, 13)))
        self.session.rollback(4)
        self.assertEqual(self.session.run('x').result, '3')

    def test_files(self):
        data = os.urandom(300000)
        self.assertEqual(self.session.put('a/b.bin', data), {'bytes': len(data)})
        self.assertEqual(self.session.get('a/b.bin'), data)
        step = self.session.run('import hashlib; len(open("/work/a/b.bin", "rb").read())')
        self.assertEqual(step.result, '300000')
        self.session.run('open("c d.txt", "w").write("hello")')
        self.assertEqual(self.session.get('c d.txt'), b'hello')
        self.assertEqual({(e[0], e[3]) for e in self.session.list()}, {('d', 'a'), ('-', 'c d.txt')})
        for path in '../etc/passwd', '/etc/passwd', 'a/../../etc/passwd', 'nothing', 'a':
            self.refused('GET', self.session.get, path)
        self.session.run('import os; os.symlink("/etc/passwd", "link"); os.mkfifo("fifo")')
        for path in 'link', 'fifo':
            self.refused('GET', self.session.get, path)
        self.refused('no PUT', lambda: (self.serve.send('END', self.session.number),
                                        self.serve.expect(self.session.number, 0, 'STATE')))
        self.assertEqual(self.session.run('1').result, '1')


class Guard(Case):
    def setUp(self):
        super().setUp()
        self.session = self.serve.open()
        self.session.run('import os, signal, fcntl')
        self.session.run('x = 1')

    def states(self):
        return [row['state'] for row in self.session.status()['states']]

    def test_states_cannot_be_killed(self):
        before = self.states()
        step = self.session.run('''
refused = 0
for pid in list(range(-60, 60)):
    if pid in (os.getpid(), -os.getpid()):
        continue
    try:
        os.kill(pid, 9)
    except PermissionError:
        refused += 1
    except ProcessLookupError:
        pass
refused
''')
        # all, the own group, init, and each state with its group
        self.ended(step, 'completed', 'kept', violation='kill')
        self.assertGreaterEqual(int(step.result), 2 + 1 + len(before))
        self.assertEqual(self.states(), before + [before[-1] + 1])
        kinds = step.done['violations']['list']
        self.assertEqual([(k['syscall'], k['count'], k['violation']) for k in kinds],
                         [('kill', int(step.result), True)])
        self.assertIsNone(self.session.run('x').done['violation'])

    def test_nor_by_other_ways(self):
        step = self.session.run('''
r, w = os.pipe()
seen = []
for act in (lambda: signal.pidfd_send_signal(os.pidfd_open(3), 9),
            lambda: fcntl.fcntl(r, fcntl.F_SETOWN, 3),
            lambda: fcntl.fcntl(r, fcntl.F_SETSIG, 9),
            lambda: os.killpg(3, 15),
            lambda: os.kill(1, 9)):
    try:
        act()
        seen.append("done")
    except OSError as error:
        seen.append(type(error).__name__)
seen
''')
        self.assertEqual(step.result, repr(['PermissionError'] * 5))
        self.assertEqual(self.session.run('x').result, '1')

    def test_own_processes_can_be(self):
        step = self.session.run('''
import time
def child():
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        time.sleep(1000)
    return pid
ends = []
for act in os.kill, os.killpg:
    pid = child()
    while os.getpgid(pid) != pid:
        time.sleep(0.001)
    act(pid, 15)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
got = []
signal.signal(signal.SIGUSR1, lambda *a: got.append(a[0]))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
ends, got
''')
        self.assertEqual(step.result, '([-15, -15], [10, 10])')
        self.ended(step, 'completed', 'kept', violation=None, strays=0)

    def test_a_step_of_another_branch_cannot_be(self):
        self.session.branch(1, 2)
        self.session.start('import time\nprint(os.getpid(), flush=True); time.sleep(1000)', branch=1)
        pid = int(self.serve.expect(self.session.number, 1, 'OUT').bytes)
        step = self.session.run(f'os.kill({pid}, 9)')
        self.assertIn('PermissionError', step.trace)
        self.ended(step, 'exception', 'kept', violation='kill')
        self.session.kill(branch=1)
        self.ended(self.session.finish(branch=1), 'cancelled', 'rolled-back', violation=None)


class KillForViolation(Case):
    options = ['--on-violation=kill']

    def test_it_is_the_step_that_ends(self):
        session = self.serve.open()
        session.run('import os; x = 1')
        self.ended(session.run('x = 2\nos.kill(3, 9)\nprint("on")'), 'violation', 'rolled-back',
                   violation='kill')
        self.assertEqual(session.run('x').result, '1')


class Limits(Case):
    options = ['--cpu-time=300ms', '--grace=2s', '--keep-states=2', '--sessions=2',
               '--wall-time=20s', '--work-size=1M', '--output-limit=1K']

    def test_all_of_them(self):
        session = self.serve.open()
        self.ended(session.run('x = 1\nwhile True: pass'), 'cpu-timeout', 'kept')
        step = session.run('x = 2\nwhile True:\n try:\n  for _ in iter(int, 1): pass\n'
                           ' except KeyboardInterrupt: pass')
        self.ended(step, 'cpu-timeout', 'rolled-back', signal=9)
        self.assertEqual(session.run('x').result, '1')
        for _ in range(4):
            session.run('1')
        self.assertEqual(len(session.status()['states']), 1 + 2 + 1)
        other = self.serve.open()
        self.refused('--sessions 2', self.serve.open)
        self.refused('--work-size', session.put, 'x', b'x' * 1500000)
        self.assertEqual(len(session.run('print("x" * 5000)').out), 1024)
        other.close()
        self.serve.open()


class Beside(Case):
    options = ['--cpu-time=150s', '--grace=4s', '--wall-time=150s', '--keep-states=8']

    def test_an_orphan_is_charged(self):
        """Beside another step, too, where the whole jail's time is not one step's own. It may belong to
        any running step, so the other one has more time to spend."""
        session = self.serve.open()
        session.branch(1, session.run('1').done['state_number'])
        session.start('import time\nprint("up", flush=True)\ntime.sleep(140)', branch=1)
        self.assertEqual(self.serve.expect(session.number, 1, 'OUT').bytes, b'up\n')
        step = session.run('import os, time\nif os.fork() == 0:\n'
                           ' if os.fork() == 0:\n  while True: pass\n'
                           ' os._exit(0)\nos.wait()\ntime.sleep(140)', cpu_ms=1000)
        self.ended(step, 'cpu-timeout', 'kept')
        self.assertGreaterEqual(step.done['cpu_ms'], 1000)


if __name__ == '__main__':
    unittest.main()
