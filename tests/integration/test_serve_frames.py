#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a client of stepjail serve can tell by a program from the frames alone.

Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Refused, Serve, Session  # noqa: E402
from serve_scene import OPTIONS, Case  # noqa: E402

U32 = struct.Struct('<I').pack


class Kinds(Case):
    options = ['--sessions=2', '--work-size=1M', '--wall-time=20s', '--cpu-time=10s']

    def setUp(self):
        super().setUp()
        self.session = self.serve.open()

    def answer(self, frame, kind, limit=None, step=None, session=None):
        """The next frame is this refusal."""
        got = self.serve.expect_any(self.session.number if session is None else session)
        self.assertEqual(got.kind, 'REFUSED', got)
        self.assertEqual({**got.json, 'error': ''},
                         {'kind': kind, 'limit': limit, 'frame': frame, 'step': step, 'error': ''},
                         got)
        self.assertTrue(got.json['error'])

    def said(self, frame, payload, kind, limit=None, step=None, session=None, branch=0):
        number = self.session.number if session is None else session
        self.serve.send(frame, number, payload, branch)
        self.answer(frame, kind, limit, step, number)

    def test_frames(self):
        self.said('RUN', b'', 'bad-frame')
        self.said('OPEN', b'', 'bad-frame', session=0)
        self.said('GET', U32(0), 'bad-frame')
        self.serve.send('DONE', self.session.number)
        self.answer(None, 'bad-frame')
        for frame in 'DATA', 'END':
            self.said(frame, b'', 'out-of-turn')
        self.said('DROP', b'', 'out-of-turn')
        # RUN uses up its source, whatever it is refused for
        self.serve.send('CODE', self.session.number, b'print("of a RUN that was none")\n')
        self.said('RUN', b'', 'bad-frame')
        step = self.session.run('1')
        self.assertEqual((step.result, step.out), ('1', b''))

    def test_sessions(self):
        for frame in 'CODE', 'CLOSE', 'STATUS':
            self.said(frame, b'', 'no-session', session=77)
        self.said('OPEN', b'', 'exists')
        other = self.serve.begin()
        self.said('OPEN', b'', 'limit', 'sessions', session=9)
        self.said('ONCE', struct.pack('<IQQ', 0, 0, 0) + b'1', 'limit', 'sessions', session=9)
        self.serve.expect(other.number, 0, 'OPENED')

    def test_branches_and_states(self):
        self.said('CODE', b'', 'no-branch', branch=5)
        self.said('BRANCH', U32(0), 'exists')
        self.said('BRANCH', U32(9), 'no-state', branch=1)
        self.said('ROLLBACK', U32(9), 'no-state')
        for name in range(1, 64):
            self.session.branch(name, 0)
        self.said('BRANCH', U32(0), 'limit', 'branches', branch=64)

    def test_steps(self):
        for frame in 'STDIN', 'INTERRUPT', 'KILL':
            self.said(frame, b'', 'no-step')
        self.said('RUN', struct.pack('<IQQ', 0, 30000, 0), 'limit', 'wall-time')
        self.said('RUN', struct.pack('<IQQ', 0, 0, 30000), 'limit', 'cpu-time')
        self.session.start(b'#' * ((1 << 20) + 1))
        self.answer('RUN', 'limit', 'source')
        self.session.run('1')
        self.session.start('print("on", flush=True); import time; time.sleep(1000)')
        self.serve.expect(self.session.number, 0, 'OUT')
        self.session.start('2')
        self.answer('RUN', 'busy', step=2)
        self.said('ROLLBACK', U32(0), 'busy', step=2)
        self.session.stdin(b'')
        self.said('STDIN', b'x', 'out-of-turn')
        self.session.kill()
        self.assertEqual(self.session.finish().done['step'], 2)
        self.session.start('import time; time.sleep(1000)')
        for _ in range(18):
            self.session.stdin(b'x' * 65000)
        self.answer('STDIN', 'limit', 'stdin')
        self.session.kill()
        self.session.finish()

    def test_files(self):
        self.serve.send('PUT', self.session.number, U32(0o7777) + b'x')
        self.said('PUT', U32(0) + b'x', 'busy')
        self.said('END', b'', 'bad-frame')
        self.serve.send('PUT', self.session.number, U32(0) + b'x')
        for _ in range(17):
            self.serve.send('DATA', self.session.number, b'x' * 65000)
        self.said('END', b'', 'limit', 'work-size')
        self.serve.send('PUT', self.session.number, U32(0) + b'/etc/passwd')
        self.said('END', b'', 'file')
        for frame in 'GET', 'LIST':
            self.said(frame, U32(0) + b'nothing', 'file')

    def test_before_it_stands(self):
        cold = Serve(OPTIONS + ['--cold'])
        self.addCleanup(cold.end)
        self.serve, kept = cold, self.serve
        with cold.at_once():  # before the jail is
            self.session = cold.begin()
            cold.send('RUN', self.session.number, struct.pack('<IQQ', 0, 0, 0))
            cold.send('CLOSE', self.session.number)
        self.answer('RUN', 'not-open')
        self.answer('OPEN', 'closed')
        self.serve = kept

    def test_processes(self):
        """A fork that the jail refuses names --pids, where the kernel counts for this jail."""
        self.session.run('import os, time')
        self.session.start('print("on", flush=True)\n'
                           'try:\n while True:\n  if os.fork() == 0: time.sleep(1000)\n'
                           'except OSError:\n print("full", flush=True); time.sleep(1000)')
        while b'full' not in self.serve.expect(self.session.number, 0, 'OUT').bytes:
            pass
        self.session.branch(1, 1)
        self.session.start('1', branch=1)
        self.answer('RUN', 'limit', 'pids', step=3)
        self.session.kill()
        self.assertEqual(self.session.finish().done['step'], 2)
        self.assertEqual(self.session.run('1', branch=1).done['step'], 4)


class Order(Case):
    """What a step prints, and what it says by its channel, come by two ways."""
    options = Case.options + ['--media-limit=1M']

    def setUp(self):
        # on one processor a step is often done before anybody has read of it
        processors = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, processors)
        os.sched_setaffinity(0, {min(processors)})
        super().setUp()
        self.session = self.serve.open()

    def printed_before(self, source):
        """How many bytes of OUT came before each of the other frames."""
        self.session.start(source)
        printed, before = 0, {}
        while 'DONE' not in before:
            frame = self.serve.expect_any(self.session.number)
            if frame.kind == 'OUT':
                printed += len(frame.bytes)
            else:
                before[frame.kind] = printed
        return before

    def test_what_was_printed_comes_first(self):
        for end, frames in (('"the end"', {'RESULT': 60001, 'DONE': 60001}),
                            ('1 / 0', {'TRACE': 60001, 'DONE': 60001}),
                            ('display(1)', {'MEDIA': 60001, 'PIECE': 60001, 'DONE': 60001})):
            for _ in range(100):
                self.assertEqual(self.printed_before('print("x" * 60000)\n' + end), frames)


class Dropped(Case):
    """A PUT that its client gives up leaves nothing, and another one can begin."""
    options = ['--work-size=1M']

    def drop(self, session):
        told = {'bytes': 0, 'dropped': True}
        self.assertEqual(session.put('new/file', b'x' * 100000, drop=1), told)
        self.assertEqual(session.put('there', b'another', drop=1), told)
        # nor is what is wrong with it of any interest then
        self.assertEqual(session.put('new/file', b'x' * 1500000, drop=1), told)
        self.assertEqual(session.put('', b'', drop=1), told)
        self.assertEqual([name for *_, name in session.list()], ['there'])
        self.assertEqual(session.get('there'), b'this')
        self.assertEqual(session.put('there', b'that', drop=0), {'bytes': 4})
        self.assertEqual(session.get('there'), b'that')

    def test_it_leaves_nothing(self):
        session = self.serve.open()
        session.put('there', b'this')
        self.drop(session)
        self.assertEqual(session.run('__import__("os").listdir("/work")').result, "['there']")

    def test_beside_a_step(self):
        session = self.serve.open()
        session.run('import time')
        session.put('there', b'this')
        session.start('print("on", flush=True); time.sleep(1000)')
        self.serve.expect(session.number, 0, 'OUT')
        session.put('x', b'x', drop=1)
        session.kill()
        session.finish()
        self.drop(session)

    @unittest.skipIf(os.geteuid(), 'lacks root, to look into a process that is not dumpable')
    def test_nothing_is_held(self):
        # nothing else is opened or closed meanwhile
        with Serve(OPTIONS + ['--cold']) as serve:
            session = serve.open()
            folder = f'/proc/{serve.supervisor}/fd'
            session.put('a', b'', drop=1)
            before = len(os.listdir(folder))
            for _ in range(20):
                session.put('a', b'x' * 1000, drop=1)
            self.assertEqual(len(os.listdir(folder)), before)


class Once(Case):
    options = ['--wall-time=20s', '--cpu-time=10s']

    def test_limits(self):
        step = self.serve.once('while True: pass', wall_ms=200)
        self.ended(step, 'wall-timeout', 'kept')
        step = self.serve.once('while True: pass', cpu_ms=200)
        self.ended(step, 'cpu-timeout', 'kept')
        self.assertEqual(self.serve.once('1', wall_ms=20000, cpu_ms=10000).result, '1')
        for limits, name in (({'wall_ms': 20001}, 'wall-time'), ({'cpu_ms': 10001}, 'cpu-time')):
            with self.assertRaises(Refused) as caught:
                self.serve.once('1', **limits)
            self.assertEqual(caught.exception.json['limit'], name)
            self.assertEqual(caught.exception.json['frame'], 'ONCE')
        self.assertEqual(self.serve.status()['sessions'], 0)

    def sources(self):
        for size in 0, 1, 65512, 65513, 200000, 1 << 20:
            for first in 0, 1, 65512:
                text = b'6 * 7' if size >= 5 else b''
                yield b'#' * (size - len(text) - 1) + b'\n' * (size > 5) + text, first

    def test_long_sources(self):
        for source, first in self.sources():
            step = self.serve.once(source, first=first)
            self.ended(step, 'completed', 'kept')
            self.assertEqual(step.result, '42' if b'6' in source else None, (len(source), first))
        # also where the jail does not stand when it comes
        with Serve(OPTIONS + self.options + ['--cold']) as cold:
            for source, first in self.sources():
                self.assertEqual(cold.once(source, first=first).done['verdict'], 'completed')
        with self.assertRaises(Refused) as caught:
            self.serve.once(b'#' * ((1 << 20) + 1))
        self.assertEqual(caught.exception.json['limit'], 'source')

    def test_that_comes_late(self):
        session = self.serve.open()    # others go on meanwhile
        once = Session(self.serve, 50)
        self.serve.send('ONCE', 50, struct.pack('<IQQ', 4, 0, 0) + b'6 ')
        self.serve.expect(50, 0, 'OPENED')
        self.serve.send('CODE', 50, b'* ')
        self.assertEqual(session.run('5').result, '5')
        self.serve.send('CODE', 50)    # nothing is no more
        self.serve.send('RUN', 50, struct.pack('<IQQ', 0, 0, 0))
        with self.assertRaises(Refused) as caught:
            self.serve.expect(50, 0, 'DONE')
        self.assertEqual(caught.exception.json['kind'], 'out-of-turn')
        self.serve.send('CODE', 50, b'7 ')
        self.assertEqual(once.finish().result, '42')
        self.serve.expect(50, 0, 'CLOSED')

    def test_that_never_comes(self):
        once = Session(self.serve, 50)
        self.serve.send('ONCE', 50, struct.pack('<IQQ', 4, 0, 0) + b'1')
        self.serve.expect(50, 0, 'OPENED')
        self.assertIn('client', once.close()['reason'])

    def test_too_much_of_it(self):
        self.serve.send('ONCE', 50, struct.pack('<IQQ', 4, 0, 0) + b'1')
        self.serve.expect(50, 0, 'OPENED')
        self.serve.send('CODE', 50, b'12345')
        self.assertIn('more than 5 bytes', self.serve.expect(50, 0, 'CLOSED').json['reason'])
        with Serve(OPTIONS + ['--cold']) as cold:
            cold.send('ONCE', 50, struct.pack('<IQQ', 4, 0, 0) + b'1')
            cold.send('CODE', 50, b'12345')
            told = cold.expect_any(50)
            self.assertEqual((told.kind, told.json['kind'], told.json['frame']),
                             ('REFUSED', 'bad-frame', 'ONCE'))
        session = self.serve.open()
        self.serve.send('RUN', session.number, struct.pack('<IQQ', 1, 0, 0))
        with self.assertRaises(Refused) as caught:
            session.finish()
        self.assertEqual(caught.exception.json['kind'], 'bad-frame')


class Late(Case):
    """An INTERRUPT or a KILL may come when its step has just ended."""

    def test_it_is_told(self):
        session = self.serve.open()
        for n, act in enumerate((session.interrupt, session.kill), 1):
            session.start('x = 0')
            session.finish()
            act(step=2 * n - 1)
            session.start('x = 1\ninput()\nx')
            act(step=2 * n - 1)
            session.stdin(b'\n')
            late = [self.serve.expect_any(session.number)]
            while late[-1].kind != 'DONE':
                late.append(self.serve.expect_any(session.number))
            refused = [f.json for f in late if f.kind == 'REFUSED']
            self.assertEqual([(r['kind'], r['step']) for r in refused], 2 * [('no-step', 2 * n - 1)])
            self.assertEqual({r['frame'] for r in refused},
                             {'INTERRUPT' if act == session.interrupt else 'KILL'})
            self.assertEqual((late[-1].json['verdict'], late[-1].json['step']), ('completed', 2 * n))

    def test_it_is_the_one_that_runs(self):
        session = self.serve.open()
        for step, act in enumerate((session.kill, session.interrupt, session.kill), 1):
            session.start('while True: pass')
            act(step=step if step < 3 else 0)
            self.assertEqual(session.finish().done['verdict'], 'cancelled')
        self.serve.send('KILL', session.number, b'abc')
        self.assertIn('or 4 more', self.serve.expect_any(session.number).json['error'])


if __name__ == '__main__':
    unittest.main()
