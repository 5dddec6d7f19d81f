#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: what a process of the spawner's measures, and what waits for it.

Run by tests/integration/run, as root and as an ordinary user.
"""
import contextlib
import os
import signal
import struct
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import Case, wait_until  # noqa: E402

MIB = 1 << 20
# a limit on one process would not notice
TOO_MUCH = '''
import os, time
for _ in range(6):
    if os.fork() == 0:
        x = b"x" * (20 << 20)
        time.sleep(1000)
os.wait()
os._exit(1)
'''
BOTH = ['shared-memory', 'file-offsets']
# neighbours that differ, or they would be one mapping; none is written to
MANY = '''
import os
from mmap import *
maps = [mmap(-1, 4096, MAP_PRIVATE | MAP_ANONYMOUS, prot) for prot in (PROT_READ, PROT_READ | PROT_WRITE) * 2500]
'''


def measurers(serve):
    pid = serve.spawner
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        for child in file.read().split():
            try:
                with open(f'/proc/{child}/comm') as name:
                    if name.read() == 'stepjail-measur\n':
                        yield int(child)
            except OSError:
                pass


class Order(Case):
    options = ['--keep-states=8']

    def frames_of(self, session, branch, count):
        frames = []
        while len(frames) < count:
            frame = self.serve.expect_any(session.number)
            if frame.branch == branch:
                frames.append(frame)
        return frames

    def test_nothing_overtakes_an_answer(self):
        """A client need not wait for STATE before it goes on with the branch."""
        session = self.serve.open()
        session.run(MANY)
        for _ in range(20):
            with self.serve.at_once():
                self.serve.send('ROLLBACK', session.number, struct.pack('<I', 1))
                self.serve.send('STATUS', session.number)
                session.start('print(len(maps), flush=True)')
            frames = self.frames_of(session, 0, 2)
            self.assertEqual([f.kind for f in frames], ['STATE', 'STATE'])
            # the state may be at work for the step already, and hold its source
            self.assertIn(frames[0].json['not_rolled_back'], ([], ['file-offsets']))
            self.assertNotIn('not_rolled_back', frames[1].json)
            step = session.finish()
            self.assertEqual(step.out, b'5000\n', step)

    def test_what_waits_is_bounded(self):
        """A branch that says much meanwhile has its answer sooner, and less sure."""
        session = self.serve.open()
        session.run(MANY)
        for _ in range(20):
            with self.serve.at_once():
                self.serve.send('ROLLBACK', session.number, struct.pack('<I', 1))
                for _ in range(500):
                    self.serve.send('STATUS', session.number)
            frames = self.frames_of(session, 0, 501)
            self.assertEqual({f.kind for f in frames}, {'STATE'})
            self.assertIn(frames[0].json['not_rolled_back'], ([], BOTH))
            self.assertFalse(any('not_rolled_back' in f.json for f in frames[1:]))

    def test_the_end_does_not_wait(self):
        session = self.serve.open()
        session.run(MANY)
        with self.serve.at_once():
            for _ in range(50):
                self.serve.send('ROLLBACK', session.number, struct.pack('<I', 1))
            self.serve.send('CLOSE', session.number)
        frames = self.frames_of(session, 0, 51)
        self.assertEqual([f.kind for f in frames], 50 * ['STATE'] + ['CLOSED'])


class Killed(Case):
    def test_a_measurer_that_is_killed_is_an_answer(self):
        session = self.serve.open()
        session.run(MANY)
        stop, hit = threading.Event(), threading.Event()

        def hunt():
            while not stop.is_set():
                for pid in measurers(self.serve):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        hunter = threading.Thread(target=hunt)
        hunter.start()
        self.addCleanup(hunter.join)
        self.addCleanup(stop.set)

        def is_hit():
            shares = session.rollback(1)['not_rolled_back']
            self.assertIn(shares, ([], BOTH))
            return shares
        self.assertTrue(wait_until(is_hit))
        stop.set()
        hunter.join()
        # not at once, where the host is so busy that a measurer misses its deadline
        self.assertTrue(wait_until(lambda: session.rollback(1)['not_rolled_back'] == []))


class Keep(Case):
    options = ['--keep-memory=8M', '--keep-states=20']

    def test_the_oldest_states_go_first(self):
        session = self.serve.open()
        session.run('x = bytearray(3 << 20)')
        for _ in range(10):
            # in place: the pages as they were are the state's alone from now on
            step = session.run('for i in range(0, len(x), 4096): x[i] += 1')
            self.assertEqual(step.done['state'], 'kept')

        def kept():
            # all but state 0, which is there for good, and that of the branch
            return session.status()['states'][1:-1]
        self.assertTrue(wait_until(lambda: sum(state['bytes'] for state in kept()) <= 8 * MIB))
        self.assertEqual([state['state'] for state in kept()], [9, 10])
        self.refused('no state 1', session.rollback, 1)
        session.rollback(9)


class Many(Case):
    """More sessions at once than may be measured at once, each over the limit by the quick sum."""
    options = ['--memory=64M', '--keep-states=8', '--sessions=20']

    def test_each_is_measured(self):
        sessions = [self.serve.open() for _ in range(20)]
        for session in sessions:
            session.run('import time; x = b"x" * (10 << 20)')
            for _ in range(7):
                session.run('y = x[0]')
        for session in sessions:
            session.start('time.sleep(1)')
        for session in sessions:
            step = session.finish()
            self.assertEqual((step.done['verdict'], step.done['state']), ('completed', 'kept'), step)
    def test_too_much_is_too_much(self):
        session = self.serve.open()
        self.ended(session.run(TOO_MUCH), 'memory', 'rolled-back')
        self.assertEqual(session.run('1').result, '1')


if __name__ == '__main__':
    unittest.main()
