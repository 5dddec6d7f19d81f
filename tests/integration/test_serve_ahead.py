#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_ahead.py - a step's process that is ready before the step is asked for"""
import os
import signal
import statistics
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_scene import (Case, below, children, inside, is_alive, is_asleep,  # noqa: E402
                         is_interpreter, open_files, wait_until)

PID = 'import os\nos.getpid()'


def is_stopped(pid):
    with open(f'/proc/{pid}/stat') as file:
        return file.read().rsplit(')', 1)[1].split()[0] == 'T'


class Ahead(Case):
    options = ['--cold', '--ready=0']  # no others among the processes that are counted

    def in_jail(self):
        """pid in the jail: host's, of all interpreters below serve"""
        found = {}
        for pid in below(self.serve.process.pid):
            try:
                if is_interpreter(pid):
                    found[inside(pid)] = pid
            except OSError:
                pass
        return found

    def newest(self):
        found = self.in_jail()
        return found[max(found)]

    def ready(self, known):
        """The process in the jail that is none of the known ones: (inside, outside)."""
        self.assertTrue(wait_until(lambda: len(self.in_jail().keys() - known) == 1),
                        (self.in_jail(), known))
        pid = next(iter(self.in_jail().keys() - known))
        host = self.in_jail()[pid]
        # it has said that it is there, and serve has heard it
        self.assertTrue(wait_until(lambda: is_asleep(host)))
        self.serve.status()
        self.serve.status()
        return pid, host

    def begin(self, source='x = 1'):
        """A session that has run two steps: itself, and the processes of its states."""
        session = self.serve.open()
        known = set(self.in_jail())
        for code in PID, source + '\n' + PID:
            step = session.run(code)
            self.ended(step, 'completed', 'kept')
            known.add(int(step.result))
        return session, known

    def test_a_step_gets_it(self):
        session, known = self.begin()
        pid, host = self.ready(known)

        def score_of(pid):
            with open(f'/proc/{pid}/oom_score_adj') as file:
                return file.read().strip()
        # an ordinary user's cold jail closes that file to serve
        score = '1000' if os.getuid() == 0 or session.opened['warm'] else score_of('self')
        # the kernel takes it before any state: it can be made again
        self.assertTrue(wait_until(lambda: score_of(host) == score))
        step = session.run('open("/proc/self/oom_score_adj").read().strip(), os.getpid(), x')
        self.assertEqual(step.result, f"('{score}', {pid}, 1)")
        self.assertLess(step.done['cpu_ms'], 1000)
        self.assertEqual((step.done['step'], step.done['strays']), (3, 0))
        # and the next one, one step further
        known = {*known, pid}
        pid, _ = self.ready(known)
        self.assertEqual(session.run('x += 1; os.getpid()').result, str(pid))
        self.assertEqual(session.run('x').result, '2')

    def test_before_the_second_step_there_is_none(self):
        session = self.serve.open()
        before = below(self.serve.process.pid)
        session.put('a', b'b')
        self.assertFalse(set(self.in_jail().values()) - set(before))
        pid = int(session.run(PID).result)
        session.put('a', b'b')
        self.assertEqual(sorted(self.in_jail()), [2, pid])

    def test_the_step_sees_nothing_of_it(self):
        session, known = self.begin('import linecache, gc, random, sys')
        session.run('5')
        session.run('def f(): raise ValueError')
        step = session.run('_, sorted(n for n in linecache.cache if n[0] == "<"), gc.isenabled()')
        self.assertEqual(step.result, "(5, ['<step 4>', '<step 5>'], True)")
        self.assertIn('<step 4>', session.run('f()').trace)
        session.run('gc.disable()')
        self.assertEqual(session.run('gc.isenabled()').result, 'False')
        # streams that a step has replaced or read from are new again
        session.run('import io; sys.stdout = io.StringIO(); print("lost")')
        self.assertEqual(session.run('print("heard")').out, b'heard\n')
        session.start('input()')
        session.stdin(b'one\ntwo\n')
        self.assertEqual(session.finish().result, "'one'")
        session.start('input()')
        session.stdin(b'three\n')
        self.assertEqual(session.finish().result, "'three'")
        drawn, here = set(), session.status()['branches']['0']['state']
        for _ in range(4):
            session.rollback(here)
            drawn.add(session.run('random.random()').result)
        self.assertEqual(len(drawn), 4)

    def test_nothing_of_the_users_runs_ahead(self):
        session, known = self.begin('import gc, os, random')
        step = session.run("""
class Loud:
    def __del__(self):
        open('ran', 'a').write(f'{os.getpid()} ')
loud = Loud()
loud.itself = loud
random.seed = lambda *a: open('seeded', 'a').write('x')
print(os.getpid())
gc.disable()
del loud
gc.set_threshold(1)
os.getpid()
gc.enable()""")
        self.assertTrue(wait_until(lambda: max(self.in_jail()) > int(step.out)))
        self.assertTrue(wait_until(lambda: is_asleep(self.newest())))
        pid = max(self.in_jail())
        if any(name == 'ran' for _, _, _, name in session.list()):
            self.assertNotIn(str(pid), session.get('ran').decode().split())
        session.run('1')
        seeded = int(session.run('os.path.getsize("seeded")').result)
        self.assertEqual(session.run('os.path.getsize("seeded")').result, str(seeded + 1))

    def test_gone_when_its_state_is_left(self):
        session, known = self.begin()
        for leave in (lambda: session.rollback(0), lambda: session.rollback(0)):
            pid, host = self.ready(known)
            leave()
            self.assertTrue(wait_until(lambda: not is_alive(host)))
            step = session.run('x = 1\n' + PID)
            self.ended(step, 'completed', 'kept', strays=0)
            known = {*self.in_jail()} & {*known, int(step.result)}
        # at once, when it cannot be there yet
        for _ in range(50):
            head = session.run('x = 2').done['state_number']
            session.rollback(0)
            self.refused('no state', session.rollback, head)
            self.ended(session.run('x = 3'), 'completed', 'kept', strays=0)
        self.assertTrue(wait_until(lambda: len(self.in_jail()) == 3), self.in_jail())
        session.close()
        self.assertTrue(wait_until(lambda: not self.in_jail()
                                   or len(self.in_jail()) <= 1), self.in_jail())

    def test_branches(self):
        session, known = self.begin()
        session.branch(1, 1)
        session.branch(2, 0)
        for n in range(30):
            session.start(f'a = {n}', branch=0)
            session.start(f'b = {n}', branch=1)
            session.start(f'c = {n}', branch=2)
            for branch in range(3):
                self.ended(session.finish(branch), 'completed', 'kept', strays=0)
        for branch, name in enumerate('abc'):
            self.assertEqual(session.run(name, branch=branch).result, '29')
        session.drop(1)
        session.drop(2)
        self.ended(session.run('a'), 'completed', 'kept', strays=0)
        status = session.status()
        # a state, the first one and what is ready; nothing else
        self.assertTrue(wait_until(lambda: len(self.in_jail()) == len(status['states']) + 1))

    def test_it_dies(self):
        session, known = self.begin()
        for n in range(30):
            pid, host = self.ready(known)
            os.kill(host, signal.SIGKILL)
            if n % 2:
                self.assertTrue(wait_until(lambda: not is_alive(host)))
            step = session.run(f'x += 1; {n}\n' + PID)
            if step.done['verdict'] == 'signaled':  # it had the source after all
                self.assertEqual(n % 2, 0)
                step = session.run(f'x += 1; {n}\n' + PID)
            self.ended(step, 'completed', 'kept', strays=0)
            known = {*self.in_jail()} & {*known, int(step.result)}
        self.assertEqual(session.run('x').result, '31')

    def test_it_dies_with_the_source_unread(self):
        session, known = self.begin()
        for n in range(10):
            pid, host = self.ready(known)
            os.kill(host, signal.SIGSTOP)
            self.assertTrue(wait_until(lambda: is_stopped(host)))
            session.start('x += 1\n' + PID)
            self.assertEqual(session.status()['branches']['0']['step'], n + 3)
            os.kill(host, signal.SIGKILL)
            step = session.finish()
            self.ended(step, 'completed', 'kept', strays=0)
            self.assertEqual(step.done['step'], n + 3)
            self.assertNotEqual(int(step.result), pid)
            known = {*self.in_jail()} & {*known, int(step.result)}
        # but where the client has killed it, it is the step that was
        pid, host = self.ready(known)
        os.kill(host, signal.SIGSTOP)
        self.assertTrue(wait_until(lambda: is_stopped(host)))
        session.start('x += 1')
        session.kill()
        self.ended(session.finish(), 'cancelled', 'rolled-back')
        self.assertEqual(session.run('x').result, '11')

    def test_a_step_cannot_signal_it(self):
        session, known = self.begin('import os, signal')
        pid, host = self.ready(known)
        session.branch(1, 0)
        session.run('import os, signal', branch=1)
        for call in (f'os.kill({pid}, 9)', f'os.kill({pid}, signal.SIGINT)', 'os.kill(-1, 9)',
                     f'os.killpg({pid}, 9)', f'signal.pidfd_send_signal(os.pidfd_open({pid}), 9)'):
            self.assertIn('PermissionError', session.run(call, branch=1).trace, call)
        self.assertTrue(is_alive(host))
        self.assertEqual(session.run('os.getpid()').result, str(pid))

    def test_interrupt_at_the_boundary(self):
        session, known = self.begin()
        for n in range(100):
            session.start('while True: pass')
            session.interrupt()
            step = session.finish()
            self.assertEqual(step.done['verdict'], 'cancelled', step)
            # one that comes too late strikes nobody
            session.start('x')
            step = session.finish()
            session.interrupt()
            self.refused('no step runs', self.serve.expect, session.number, 0, 'STATE')
            self.assertEqual(session.run('x').result, '1')

    def test_many_steps(self):
        session = self.serve.open()
        own, serve = f'/proc/{self.serve.supervisor}', self.serve.process.pid

        def held():
            with open(f'{own}/statm') as file:
                resident = int(file.read().split()[1])
            return open_files(self.serve.supervisor), len(below(serve)), resident

        def settled():
            # the first state, eight to go back to, the last one, and what is ready
            self.assertTrue(wait_until(lambda: len(self.in_jail()) == 11), self.in_jail())
            self.assertTrue(wait_until(
                lambda: is_asleep(self.newest())))
            session.status()
            return held()
        session.run('x = 0')
        for n in range(200):
            session.run('x += 1')
        before = statistics.mode(settled() for _ in range(50))
        for n in range(2000):
            step = session.run('x += 1')
            self.ended(step, 'completed', 'kept', strays=0)
        self.assertEqual(session.run('x').result, '2200')
        # one fd more or less: of a process that is ready, if it was caught before it hid
        self.assertTrue(wait_until(lambda: abs(settled()[0] - before[0]) <= 1
                                   and settled()[1] == before[1]), (settled(), before))
        after = held()
        self.assertLess(after[2], before[2] + 64)  # pages

    def test_strays_of_a_step_go(self):
        session, known = self.begin('x = 1; import os, time')
        for _ in range(10):
            step = session.run('if os.fork() == 0: time.sleep(1000)')
            self.ended(step, 'completed', 'kept', strays=1)
        step = session.run('import threading\n'
                           'threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()')
        self.ended(step, 'completed', 'kept', strays=0, threads=1)
        self.ended(session.run('x'), 'completed', 'kept', strays=0)
        self.assertEqual(session.run('x').result, '1')


class Few(Case):
    options = ['--pids=10', '--keep-states=5', '--cold', '--ready=0']

    def test_not_near_the_limit(self):
        session = self.serve.open()
        session.run('x = 1')
        session.run('x += 1')
        for _ in range(5):
            self.ended(session.run('x += 1'), 'completed', 'kept')
            session.branch(9, session.status()['branches']['0']['state'])
            session.drop(9)
        states = len(session.status()['states'])
        self.assertGreaterEqual(states, 4)
        self.assertTrue(wait_until(lambda: len([pid for pid in below(children(
            self.serve.process.pid)[-1]) if is_interpreter(pid)]) <= states + 1))


class Warm(Case):
    def test_the_same_of_a_template(self):
        session = self.serve.open()
        while not session.opened['warm']:
            self.assertIn('template', session.opened['why_cold'])
            session.close()
            session = self.serve.open()
        session.run('x = 0')
        for n in range(100):
            step = session.run('x += 1; x')
            self.ended(step, 'completed', 'kept', strays=0)
            self.assertEqual(step.result, str(n + 1))


class Without(Case):
    options = ['--ahead=no', '--cold', '--ready=0']

    def test_the_same_steps(self):
        session = self.serve.open()
        session.run('x = 1')
        before = below(self.serve.process.pid)
        self.assertEqual(session.run('x += 1; x').result, '2')
        self.assertEqual(len(below(self.serve.process.pid)), len(before) + 1)


if __name__ == '__main__':
    unittest.main()
