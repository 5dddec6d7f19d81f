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
from serve_scene import LIMITED, Case, wait_until  # noqa: E402

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
FIT = "y = bytearray(b'y') * (40 << 20)"
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
    options = ['--keep-memory=11M', '--keep-states=20']

    def test_the_oldest_states_go_first(self):
        session = self.serve.open()
        session.run('x = bytearray(3 << 20)')
        dropped = []
        for _ in range(10):
            # in place: the pages as they were are the state's alone from now on
            step = session.run('for i in range(0, len(x), 4096): x[i] += 1')
            self.assertEqual(step.done['state'], 'kept')
            dropped += step.done['states_dropped']

        def kept():
            # all but state 0, which is there for good, and that of the branch
            return session.status()['states'][1:-1]
        self.assertTrue(wait_until(lambda: sum(state['bytes'] for state in kept()) <= 11 * MIB))
        # three, where a template has most of the interpreter's own pages as well
        left = [state['state'] for state in kept()]
        self.assertIn(left, ([9, 10], [8, 9, 10]))
        self.refused('no state 1', session.rollback, 1)
        dropped += session.run('1').done['states_dropped']
        self.assertEqual(dropped[:left[0] - 1], list(range(1, left[0])))
        session.rollback(10)

    def test_what_two_states_share_counts_once_for_both(self):
        """It is nobody's own, and yet all of it is kept by them."""
        session = self.serve.open()
        session.run('x = bytearray(b"x") * (20 << 20)')
        dropped = []
        for code in ('1', '2', 'del x'):
            dropped += session.run(code).done['states_dropped']
        self.assertTrue(wait_until(lambda: [one['state'] for one in session.status()['states']] == [0, 4]))
        self.assertEqual(dropped + session.run('5').done['states_dropped'], [1, 2, 3])


class Held(Case):
    """A step is not ended for what states hold, as long as one can go, or for the one it began with."""
    options = ['--memory=64M', '--keep-states=8']
    FILL = 'x = None; x = bytearray(b"x") * (25 << 20)'

    def setUp(self):
        super().setUp()
        if LIMITED:
            self.skipTest('the kernel looks at memory there: tests/vm')
        self.session = self.serve.open()

    def test_old_states_go_first(self):
        dropped = []
        for code in (self.FILL, self.FILL, self.FILL, *['import time; time.sleep(0.2)'] * 100):
            step = self.session.run(code)
            self.ended(step, 'completed', 'kept')
            dropped += step.done['states_dropped']
            if dropped:
                break
        self.assertEqual(dropped[:1], [1])

    def test_what_was_used_up_is_freed(self):
        self.ended(self.session.run('x = []\nwhile True: x.append(bytearray(10**6))'), 'exception', 'kept')
        for code in ('len(x) > 30', 'import time; time.sleep(0.2); del x; time.sleep(0.2)', 'time.sleep(0.2)', FIT):
            self.ended(self.session.run(code), 'completed', 'kept')

    def test_children_are_the_steps_own(self):
        """Each is below the limit, and so are they beside the state. Together they are not."""
        self.session.run(self.FILL)
        step = self.session.run('import os, time\nif os.fork() == 0:\n    y = bytearray(b"y") * (30 << 20)\n    time.sleep(60)\n'
                                'z = bytearray(b"z") * (30 << 20)\ntime.sleep(60)')
        self.ended(step, 'memory', 'rolled-back')
        self.assertEqual(self.session.run('len(x)').result, str(25 << 20))


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
