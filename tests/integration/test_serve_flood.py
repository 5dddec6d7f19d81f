#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: a session of very many steps holds no more than one of a few.

Run by tests/integration/run, as root and as an ordinary user. tests/bench/flood is the same at
length.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import (Case, below, memory_of, open_files, states_settle,  # noqa: E402
                         wait_until)

# one process runs all steps: what it allocates settles behind some hundreds of them
SLACK = {'memory': 192 << 10, 'memory of serve': 64 << 10, 'processes': 0, 'files of serve': 0}


class Flood(Case):
    # no other session's processes, whose share of common pages could change; and room for
    # processes that have ended, which count until the jail's init runs: a busy host delays it
    options = ['--cold', '--pids=400']

    def look(self):
        """What there is to grow."""
        pid = self.serve.spawner
        pids = below(pid)
        return {'memory': memory_of(pids), 'memory of serve': memory_of([pid, self.serve.supervisor]),
                'processes': len(pids), 'files of serve': open_files(pid) + open_files(self.serve.supervisor)}

    def held(self, session):
        """The same when nothing moves: the last state has gone."""
        looks = []
        self.assertTrue(wait_until(lambda: states_settle(self.serve.process.pid, session)))
        self.assertTrue(wait_until(lambda: looks.append(self.look()) or
                                   looks[-10:] == looks[-1:] * 10))
        return looks[-1]

    def flood(self, session, source, steps):
        for _ in range(steps):
            step = session.run(source)
            self.assertEqual(step.done['state'], 'kept', step)

    def no_growth(self, source, steps):
        session = self.serve.open()
        session.run('x = 0')
        self.flood(session, source, 200)
        before = self.held(session)
        self.flood(session, source, steps)
        for key, now in self.held(session).items():
            self.assertLessEqual(now, before[key] + SLACK[key], key)
        return session

    def test_of_plain_steps(self):
        session = self.no_growth('x += 1', 2000)
        self.assertEqual(session.run('x').result, '2200')

    def test_of_functions_made_again(self):
        session = self.no_growth('def f():\n    raise ValueError(x)', 500)
        # the one that is left shows its line
        self.assertIn('raise ValueError(x)', session.run('f()').trace)

    def test_of_exceptions(self):
        self.no_growth('{}[x]', 500)


class Lines(Case):
    def names(self, session):
        # not the very strings: the value of the last step would have them
        return eval(session.run('sorted(n[:5] + n[5:] for n in linecache.cache if n[0] == "<")').result)

    def test_are_kept_while_there_is_code(self):
        session = self.serve.open()
        session.run('import linecache')
        session.run('def f():\n    return 1 / 0  # of f\ng = f')
        session.run('try:\n    f()  # of the call\nexcept Exception as e: kept = e')
        session.run('x = 5')
        self.assertEqual(self.names(session), ['<step 2>', '<step 3>', '<step 5>'])
        session.run('del f')
        self.assertIn('# of f', session.run('g()').trace)
        trace = session.run('raise kept').trace
        self.assertIn('# of f', trace)
        self.assertIn('# of the call', trace)
        session.run('del g, kept')
        for _ in range(20):
            session.run('pass')
        self.assertEqual(len(self.names(session)), 1)

    def test_after_rollback_are_as_they_were(self):
        session = self.serve.open()
        session.run('import linecache\ndef f():\n    return 1 / 0  # of f')
        session.run('del f')
        for _ in range(7):
            session.run('pass')
        session.rollback(1)
        self.assertIn('# of f', session.run('f()').trace)


if __name__ == '__main__':
    unittest.main()
