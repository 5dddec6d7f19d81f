#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_next.py - step after step: each has a new process, and nothing of the last one"""
import os
import statistics
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_scene import (Case, below, inside, is_interpreter, open_files,  # noqa: E402
                         states_settle, wait_until)

PID = 'import os\nos.getpid()'


class Next(Case):
    options = ['--cold']  # no others among the processes that are counted

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

    def begin(self, source='x = 1'):
        """A session that has run two steps."""
        session = self.serve.open()
        for code in '1', source:
            self.ended(session.run(code), 'completed', 'kept')
        return session

    def test_steps_have_one_process(self):
        session = self.begin()
        pids = [int(session.run(PID).result) for _ in range(3)]
        self.assertEqual(len(set(pids)), 1)
        session.rollback(2)
        self.assertNotEqual(int(session.run(PID).result), pids[0])
        # the kernel takes it before any state: it can be made again
        score = 'import time\nwhile open("/proc/self/oom_score_adj").read() != "1000\\n":\n    time.sleep(0.01)'
        if os.getuid() == 0:  # an ordinary user's cold jail closes that file to serve
            self.ended(session.run(score), 'completed', 'kept')

    def test_what_a_step_finds(self):
        session = self.begin('import linecache, gc, random, sys')
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

    def test_a_state_that_is_left(self):
        session = self.begin()
        for _ in range(50):
            head = session.run('x = 2').done['state_number']
            session.rollback(0)
            self.refused('no state', session.rollback, head)
            self.ended(session.run('x = 3'), 'completed', 'kept', strays=0)
        # the first state, and that of the last step
        self.assertTrue(wait_until(lambda: len(self.in_jail()) == 2), self.in_jail())
        session.close()
        self.assertTrue(wait_until(lambda: not self.in_jail()), self.in_jail())

    def test_branches(self):
        session = self.begin()
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
        self.assertTrue(wait_until(lambda: len(self.in_jail()) == len(status['states'])))

    def test_interrupt_at_the_boundary(self):
        session = self.begin()
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

    def test_an_interrupt_at_once(self):
        """It waits for the step's process, and is a SIGINT to that, as a later one is."""
        session = self.serve.open()
        session.run('x = 5')
        for _ in range(20):
            with self.serve.at_once():
                session.start('x += 1\nwhile True: pass')
                session.interrupt()
            step = session.finish()
            self.ended(step, 'cancelled', 'kept', exit_code=1)
            self.assertIn('KeyboardInterrupt', step.trace)
        self.assertIn(int(session.run('x').result), range(5, 26))

    def test_many_steps(self):
        session = self.serve.open()
        own, serve = f'/proc/{self.serve.supervisor}', self.serve.process.pid

        def held():
            with open(f'{own}/statm') as file:
                resident = int(file.read().split()[1])
            return open_files(self.serve.supervisor), len(below(serve)), resident

        def settled():
            self.assertTrue(wait_until(lambda: states_settle(serve, session)))
            return held()
        session.run('x = 0')
        for n in range(200):
            session.run('x += 1')
        before = statistics.mode(settled() for _ in range(50))
        for n in range(500):
            step = session.run('x += 1')
            self.ended(step, 'completed', 'kept', strays=0)
        self.assertEqual(session.run('x').result, '700')
        self.assertTrue(wait_until(lambda: settled()[:2] == before[:2]), (settled(), before))
        after = held()
        self.assertLess(after[2], before[2] + 64)  # pages

    def test_strays_of_a_step_go(self):
        session = self.begin('x = 1; import os, time')
        for _ in range(10):
            step = session.run('if os.fork() == 0: time.sleep(1000)')
            self.ended(step, 'completed', 'kept', strays=1)
        step = session.run('import threading\n'
                           'threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()')
        self.ended(step, 'completed', 'kept', strays=0, threads=1)
        self.ended(session.run('x'), 'completed', 'kept', strays=0)
        self.assertEqual(session.run('x').result, '1')


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


if __name__ == '__main__':
    unittest.main()
