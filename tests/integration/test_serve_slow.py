#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: clients and steps that read slowly, for a while nothing, or one byte at a time.

Run by tests/integration/run, as root and as an ordinary user.
"""
import hashlib
import os
import random
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import PATIENCE  # noqa: E402
from serve_scene import Case, below, is_alive, is_state, resident, wait_until  # noqa: E402

MIB = 1 << 20
LINES = 'import sys\nfor i in range({0}):\n    print(f"{{i:07}}", end="")\n' \
        '    if i % 7 == 0: sys.stderr.write(f"{{i:07}}")'
MUCH = 'import os; os.write(1, b"on"); print(("%07d" * 1000000) % (*range(1000000),), end="")'


class Trickle:
    """A socket that gives some bytes, now and then."""

    def __init__(self, socket, most):
        self.socket, self.most, self.random = socket, most, random.Random(most)

    def __getattr__(self, name):
        return getattr(self.socket, name)

    def recv(self, size):
        time.sleep(self.random.random() * 0.001)
        return self.socket.recv(min(size, self.random.randrange(1, self.most + 1)))


class Slow(Case):
    # no jail that is just being made for later looks like one that runs a step
    options = ['--output-limit=16M', '--wall-time=60s', '--grace=200ms']

    def stuck(self):
        """A session whose step has 7 MB more to say than its client reads, and its process."""
        session = self.serve.open()
        session.run('x = 1')
        session.status()  # that step is no more the kernel's first choice by now
        before = resident(self.serve.supervisor)
        session.start(MUCH)
        self.assertTrue(wait_until(lambda: self.running() is not None))
        pid = self.running()
        self.assertTrue(wait_until(lambda: self.waits(pid)))
        # neither is it at its end, nor does serve hold it all
        self.assertEqual(self.running(), pid)
        self.assertLess(resident(self.serve.supervisor) - before, 4 * MIB)
        return session, pid

    def running(self):
        """The process of the one step that runs: what waits, or is to wait, blocks all signals."""
        for pid in below(self.serve.process.pid):
            try:
                with open(f'/proc/{pid}/status') as file:
                    if is_state(pid) and '\nSigBlk:\t0000000000000000\n' in file.read():
                        return pid
            except OSError:
                pass
        return None

    @staticmethod
    def waits(pid):
        """It sleeps, and goes on doing so."""
        def used():
            with open(f'/proc/{pid}/stat') as file:
                words = file.read().rsplit(')', 1)[1].split()
            return words[0], words[11:13]
        before = used()
        time.sleep(0.3)
        return before[0] == 'S' and used() == before


class Client(Slow):
    def test_in_pieces(self):
        """Frames of three sessions, each read in many parts."""
        sessions = [self.serve.open() for _ in range(3)]
        before = resident(self.serve.supervisor)
        for most, count in ((3, 300), (100, 3000), (5000, 60000)):
            with self.subTest(most=most):
                plain = self.serve.socket
                self.serve.socket = Trickle(plain, most)
                for session in sessions:
                    session.start(LINES.format(count))
                for session in sessions:
                    step = session.finish()
                    self.ended(step, 'completed', 'kept')
                    self.assertTrue(step.out == b''.join(b'%07d' % i for i in range(count)))
                    self.assertTrue(step.err == b''.join(b'%07d' % i for i in range(0, count, 7)))
                self.serve.socket = plain
        self.assertLess(resident(self.serve.supervisor) - before, 8 * MIB)

    def test_after_a_while(self):
        """A step that must wait for its reader is neither killed nor cut."""
        session, _ = self.stuck()
        step = session.finish()
        self.ended(step, 'completed', 'kept')
        self.assertTrue(step.out == b'on' + b''.join(b'%07d' % i for i in range(1000000)))
        self.assertEqual(session.run('x').result, '1')

    def test_that_ends_it_all(self):
        """What was asked for meanwhile is done when the client has read."""
        for act, verdict in (('kill', 'cancelled'), ('interrupt', 'cancelled')):
            session, pid = self.stuck()
            getattr(session, act)()
            self.assertEqual(session.finish().done['verdict'], verdict)
            self.assertTrue(wait_until(lambda: not is_alive(pid) or act == 'interrupt'))
            self.assertEqual(session.run('x').result, '1')
            session.close()

    def test_that_closes(self):
        session, pid = self.stuck()
        self.serve.send('CLOSE', session.number)
        self.ended(session.finish(), 'cancelled', 'lost')
        self.serve.expect(session.number, 0, 'CLOSED')
        self.assertFalse(is_alive(pid))
        self.assertEqual(self.serve.open().run('1').result, '1')

    def test_that_goes(self):
        """It never reads, and is gone: so is all that waited for it."""
        _, pid = self.stuck()
        pids = below(self.serve.process.pid)
        self.assertIn(pid, pids)
        serve, self.serve = self.serve, None
        self.assertEqual(serve.end(), (0, ''))
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))))

    def test_that_says_no_more(self):
        """Its half of the stream is at its end, and serve takes nothing from it just then."""
        self.stuck()
        pids = below(self.serve.process.pid)
        self.addCleanup(self.serve.process.kill)  # if it does not end by itself
        self.serve.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(self.serve.process.wait(PATIENCE), 0)
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))))


class Step(Slow):
    """The step is the one that reads slowly."""

    def test_stdin(self):
        session = self.serve.open()
        data = os.urandom(900000)
        session.start('import hashlib, os, time\nseen = hashlib.sha256()\n'
                      'while data := os.read(0, 5000):\n    seen.update(data)\n'
                      '    time.sleep(0.001)\nseen.hexdigest()')
        for at in range(0, len(data), 30000):
            session.stdin(data[at:at + 30000])
        session.stdin(b'')
        step = session.finish()
        self.ended(step, 'completed', 'kept')
        self.assertEqual(step.result, repr(hashlib.sha256(data).hexdigest()))

    def test_one_that_never_reads(self):
        """Others of its serve are served meanwhile; what it did not read is nobody's."""
        session, other = self.serve.open(), self.serve.open()
        session.start('import os, time; print("on", flush=True)\n'
                      'while not os.path.exists("/work/enough"): time.sleep(0.01)\nx = 1')
        self.serve.expect(session.number, 0, 'OUT')
        for _ in range(10):
            session.stdin(bytes(45000))
        for n in range(20):
            self.assertEqual(other.run(str(n)).result, str(n))
        session.put('enough', b'')
        self.ended(session.finish(), 'completed', 'kept')
        session.start('import sys; sys.stdin.read()')
        session.stdin(b'of this one')
        session.stdin(b'')
        self.assertEqual(session.finish().result, "'of this one'")


if __name__ == '__main__':
    unittest.main()
