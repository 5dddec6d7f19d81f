#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: what one session leaves behind keeps no other session waiting.

A tracer holds a process of session A, so that A's step cannot be answered yet; the order of
answers tells whether session B had to wait for it. Run by tests/integration/run, as root and as
an ordinary user.
"""
import fcntl
import os
import signal
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD  # noqa: E402
from serve_scene import (LIMITED, Case, below, children, inside,  # noqa: E402
                         is_interpreter, is_state, wait_until)
from test_serve_starved import TRACE_CLONE, TRACE_EXIT, TRACE_FORK, Tracer  # noqa: E402

F_OFD_SETLK = 37
IDS_BASE, IDS_SLOTS = 1879048192, 65536  # ids.h
MANY = 300
LEAVE = """
import os
pids = []
for _ in range({count}):
    pid = os.fork()
    if pid == 0:
        import signal
        signal.pause()
        os._exit(0)
    pids.append(pid)
print(pids[-1], flush=True)
{end}
"""


class Apart(Case):
    options = ['--cold', '--pids=400', '--memory=1G', '--wall-time=10m']

    def setUp(self):
        super().setUp()
        self.tracer = Tracer()
        self.addCleanup(self.tracer.let_all_go)
        self.a, self.b = self.serve.open(), self.serve.open()

    def end(self):
        self.tracer.let_all_go()
        super().end()

    def host(self, session, pid):
        """The process of this session that has this number in its jail."""
        own = [jail for jail in self.jails() if jail not in self.others(session)]
        return next(host for jail in own for host in below(jail) if inside(host) == pid)

    def jails(self):
        """The oldest first: so does the kernel list them, whose pids may begin anew meanwhile."""
        return children(self.serve.process.pid)

    def others(self, session):
        """Sessions are opened one after the other, and so are their jails."""
        known = [jail for jail in self.jails() if below(jail)]
        return [jail for i, jail in enumerate(known) if i != session.number - 1]

    def leave(self, count=1, end='input()', branch=0, wall_ms=0):
        """A step of A that ends, and whose stray is dead but for its last moment; that stray."""
        self.a.start(LEAVE.format(count=count, end=end), branch, wall_ms)
        pid = int(self.serve.expect(self.a.number, branch, 'OUT').bytes)
        stray = self.host(self.a, pid)
        self.tracer.seize(stray, TRACE_EXIT)
        self.a.stdin(b'\n', branch)
        self.tracer.stopped(stray)
        return stray

    def not_answered(self):
        told = [frame for frame in self.serve.waiting
                if (frame.session, frame.branch) == (self.a.number, 0)
                and frame.kind in ('DONE', 'CLOSED')]
        self.assertEqual(told, [])

    def other_is_answered(self):
        """Before A is."""
        for n in range(5):
            self.assertEqual(self.b.run(f'{n} + 1').result, str(n + 1))
        self.not_answered()

    def test_a_stray_that_dies_slowly(self):
        stray = self.leave()
        self.other_is_answered()
        self.tracer.let_go(stray)
        self.ended(self.a.finish(), 'completed', 'kept', strays=1)
        self.ended(self.a.run('len(pids)'), 'completed', 'kept', strays=0)

    def test_many_strays(self):
        stray = self.leave(MANY)
        self.other_is_answered()
        self.tracer.let_go(stray)
        self.ended(self.a.finish(), 'completed', 'kept', strays=MANY)
        self.ended(self.a.run('len(pids)'), 'completed', 'kept', strays=0)

    def test_strays_of_a_step_that_has_ended(self):
        stray = self.leave(end='input(); os._exit(3)')
        self.other_is_answered()
        self.tracer.let_go(stray)
        self.ended(self.a.finish(), 'exited', 'rolled-back', exit_code=3, strays=1)

    def test_a_process_that_is_not_there_yet(self):
        """It was asked for, and who is not known must not be taken for a stray."""
        self.a.run('x = 1')
        self.a.branch(1, 0)
        first = self.host(self.a, 3)  # state 0 since the first step
        self.tracer.seize(first, TRACE_FORK | TRACE_CLONE)
        self.a.start('y = 2\ny', branch=1)
        held = self.tracer.child_of(first)
        self.a.start('x')
        self.assertEqual(self.serve.expect(self.a.number, 0, 'RESULT').bytes, b'1')
        self.other_is_answered()
        self.tracer.let_go(held)
        self.ended(self.a.finish(), 'completed', 'kept', strays=0)
        step = self.a.finish(branch=1)
        self.ended(step, 'completed', 'kept', strays=0)
        self.assertEqual(step.result, '2')

    def test_frames_meanwhile(self):
        self.a.run('x = 1')
        self.a.branch(1, 1)
        stray = self.leave()
        self.refused('runs step', self.a.run, '1')
        self.refused('runs step', self.a.rollback, 0)
        self.refused('runs step', self.a.drop, 0)
        self.assertEqual(self.a.branch(2, 1)['branches']['0']['step'], 2)
        self.a.drop(2)
        self.a.interrupt()
        self.a.start('x + 1', branch=1)
        self.assertEqual(self.serve.expect(self.a.number, 1, 'RESULT').bytes, b'2')
        self.other_is_answered()
        self.tracer.let_go(stray)
        self.ended(self.a.finish(), 'completed', 'kept', strays=1)
        self.ended(self.a.finish(branch=1), 'completed', 'kept', strays=0)

    def test_a_limit_on_time_meanwhile(self):
        """The step had ended by then."""
        for limit in 3, 8:  # seconds: a slow host may need more, and a sweep has 10
            begun = time.monotonic()
            stray = self.leave(wall_ms=limit * 1000)
            if time.monotonic() < begun + limit:
                break
            self.tracer.let_go(stray)
            self.a.finish()
        step = self.b.run(f'import time; time.sleep({limit} + 0.2)', wall_ms=20000)
        self.ended(step, 'completed', 'kept')
        self.not_answered()
        self.tracer.let_go(stray)
        self.ended(self.a.finish(), 'completed', 'kept', strays=1)

    def test_a_kill_meanwhile(self):
        self.a.run('x = 1')
        stray = self.leave()
        self.a.kill()
        self.other_is_answered()
        self.tracer.let_go(stray)
        self.ended(self.a.finish(), 'cancelled', 'rolled-back', strays=1)
        self.assertEqual(self.a.run('x').result, '1')

    def test_its_process_ends_meanwhile(self):
        self.a.run('x = 1')
        stray = self.leave()
        with open(f'/proc/{stray}/status') as file:
            parent = next(int(line.split()[1]) for line in file if line.startswith('PPid:'))
        os.kill(parent, signal.SIGKILL)
        self.other_is_answered()
        self.tracer.let_go(stray)
        self.ended(self.a.finish(), 'signaled', 'rolled-back', strays=1)
        self.assertEqual(self.a.run('x').result, '1')

    def test_a_close_meanwhile(self):
        stray = self.leave()
        self.serve.send('CLOSE', self.a.number)
        self.ended(self.a.finish(), 'completed', 'lost')
        self.other_is_answered()
        self.tracer.let_go(stray)
        self.assertEqual(self.serve.expect(self.a.number, 0, 'CLOSED').json['reason'],
                         'the client has closed it')

    def test_the_end_of_serve_meanwhile(self):
        stray = self.leave()
        self.serve.socket.shutdown(1)
        self.tracer.let_go(stray)


class Spawner(Case):
    """What takes the spawner long, or cannot be had, delays its own session alone."""
    options = []

    def others_go_on(self, session, waits):
        for n in range(5):
            self.assertEqual(session.run(f'{n} + 1').result, str(n + 1))
        told = [frame.kind for frame in self.serve.waiting if frame.session == waits.number]
        self.assertEqual(told, [])

    def template(self):
        """Its interpreter: the only one below serve whose init is not a session's, and not the one that waits for it."""
        return max(pid for pid in below(self.serve.process.pid)
                   if is_interpreter(pid) and not is_state(pid))

    def test_a_template_that_does_not_answer(self):
        self.assertTrue(wait_until(lambda: self.serve.open().opened['warm']))
        session = self.serve.open()
        template = self.template()
        os.kill(template, signal.SIGSTOP)
        try:
            late = self.serve.begin()
            self.others_go_on(session, late)
            # which is not waited for without an end
            frame = self.serve.expect_any(late.number)
            self.assertEqual(frame.kind, 'REFUSED')
            self.assertIn('no answer within', frame.json['error'])
            self.assertEqual(session.run('1').result, '1')
        finally:
            os.kill(template, signal.SIGCONT)
        self.assertEqual(self.serve.open().run('2').result, '2')

    def test_a_template_that_answers_late(self):
        self.assertTrue(wait_until(lambda: self.serve.open().opened['warm']))
        session = self.serve.open()
        template = self.template()
        os.kill(template, signal.SIGSTOP)
        try:
            late, closed = self.serve.begin(), self.serve.begin()
            self.serve.send('CLOSE', closed.number)
            self.others_go_on(session, late)
        finally:
            os.kill(template, signal.SIGCONT)
        self.serve.expect(late.number, 0, 'OPENED')
        self.assertEqual(late.run('3').result, '3')
        self.assertEqual(self.serve.expect_any(closed.number).kind, 'REFUSED')

    @unittest.skipUnless(LIMITED, 'there is no cgroup')
    def test_a_leaf_that_cannot_be_removed(self):
        session, late = self.serve.open(), self.serve.open()
        with open(f'/proc/{self.host_of(late)}/cgroup') as file:
            path = next(line.rstrip().split(':', 2)[2] for line in file if line.startswith('0::'))
        held = f'/sys/fs/cgroup{path}/held'
        os.mkdir(held)
        try:
            self.serve.send('CLOSE', late.number)
            self.others_go_on(session, late)
        finally:
            os.rmdir(held)
        self.serve.expect(late.number, 0, 'CLOSED')

    def host_of(self, session):
        space = session.run('import os; os.readlink("/proc/self/ns/pid")').result
        return next(pid for pid in below(self.serve.process.pid)
                    if repr(os.readlink(f'/proc/{pid}/ns/pid')) == space)


@unittest.skipUnless(os.getuid() == 0, 'an ordinary user has one id')
class Slots(Case):
    """All pairs of ids are taken, in a /run of its own."""
    options = ['--cold']
    command = ['unshare', '--mount', '--propagation=private', 'sh', '-c',
               'mount -t tmpfs none /run && exec "$@"', 'sh', f'{BUILD}/stepjail', 'serve']

    def test_ids_that_are_all_taken(self):
        session = self.serve.open()
        own = session.opened['host_uid'], int(session.opened['supervisor']['uids'].split()[0])
        held = sorted((uid - IDS_BASE) // 2 for uid in own)
        fd = os.open(f'/proc/{self.serve.process.pid}/root/run/stepjail/ids', os.O_RDWR)
        try:
            for start, end in zip([-1, *held], [*held, IDS_SLOTS]):
                if end - start > 1:
                    lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, start + 1,
                                       end - start - 1, 0)
                    fcntl.fcntl(fd, F_OFD_SETLK, lock)
            for n in range(5):
                self.refused('in use by running jails', self.serve.open)
                self.assertEqual(session.run(str(n)).result, str(n))
        finally:
            os.close(fd)
        self.assertEqual(self.serve.open().run('4').result, '4')


if __name__ == '__main__':
    unittest.main()
