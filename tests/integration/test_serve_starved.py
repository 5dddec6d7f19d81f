#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: processes that the kernel does not let run for a while, as on a busy host.

A tracer holds one at its first instruction, or at its last; what its session answers is what it
would have answered without. Run by tests/integration/run, as root and as an ordinary user.
"""
import ctypes
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import Case, below, inside  # noqa: E402

SEIZE, DETACH, GET_EVENT = 0x4206, 17, 0x4201
TRACE_FORK, TRACE_CLONE, TRACE_EXIT = 2, 8, 0x40
ANY_CHILD = 0x40000000  # __WALL of waitpid(2)
HELD = 0.3  # seconds, which is longer than serve waits before it looks again
LATE = 0.8  # likewise, at what is to rest


class Tracer:
    """Processes that are held where they begin, or end."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
        self.libc.ptrace.restype = ctypes.c_long
        self.held = set()

    def ask(self, request, pid, data=None):
        if self.libc.ptrace(request, pid, 0, data) < 0:
            raise OSError(ctypes.get_errno(), f'ptrace {request:#x}')

    def seize(self, pid, options):
        self.ask(SEIZE, pid, options)
        self.held.add(pid)

    def stopped(self, pid):
        """Wait until it is."""
        _, status = os.waitpid(pid, ANY_CHILD)
        assert os.WIFSTOPPED(status), status

    def let_go(self, pid):
        self.held.remove(pid)
        try:
            self.ask(DETACH, pid)
        except ProcessLookupError:  # it was ended, and its tracer is told first
            os.waitpid(pid, ANY_CHILD)

    def let_all_go(self):
        while self.held:
            self.let_go(next(iter(self.held)))

    def child_of(self, pid):
        """The process that this one makes, which has done nothing yet."""
        self.stopped(pid)
        child = ctypes.c_ulong()
        self.ask(GET_EVENT, pid, ctypes.addressof(child))
        self.held.add(child.value)
        self.stopped(child.value)
        self.let_go(pid)
        return child.value


class Starved(Case):
    options = ['--cold']

    def setUp(self):
        super().setUp()
        self.tracer = Tracer()
        self.addCleanup(self.tracer.let_all_go)
        self.session = self.serve.open()

    def host(self, pid):
        """The process that has this number in the jail."""
        return next(host for host in below(self.serve.process.pid) if inside(host) == pid)

    def test_a_stray_that_dies_slowly_is_one(self):
        self.session.start('import os\npid = os.fork()\nif pid == 0:\n    while True: pass\n'
                           'print(pid, flush=True)\ninput()')
        pid = int(self.serve.expect(self.session.number, 0, 'OUT').bytes)
        stray = self.host(pid)
        self.tracer.seize(stray, TRACE_EXIT)
        self.session.stdin(b'\n')
        self.tracer.stopped(stray)
        time.sleep(HELD)
        self.tracer.let_go(stray)
        self.ended(self.session.finish(), 'completed', 'kept', strays=1)

    def test_one_that_is_asked_for_and_not_there_is_no_stray(self):
        """Neither is it ended for another branch's sake."""
        self.session.run('x = 1')
        self.session.branch(1, 0)
        first = self.host(3)  # state 0 since the first step
        self.tracer.seize(first, TRACE_FORK | TRACE_CLONE)
        self.session.start('y = 2\ny', branch=1)
        held = self.tracer.child_of(first)
        self.session.start('x')
        time.sleep(HELD)
        self.tracer.let_go(held)
        step = self.session.finish()
        self.ended(step, 'completed', 'kept', strays=0)
        self.assertEqual(step.result, '1')
        step = self.session.finish(branch=1)
        self.ended(step, 'completed', 'kept', strays=0)
        self.assertEqual(step.result, '2')

    def test_what_gets_ready_slowly_is_ready_in_the_end(self):
        state = self.host(int(self.session.run('import os; x = 1\nos.getpid()').result))
        self.tracer.seize(state, TRACE_FORK | TRACE_CLONE)
        self.session.start('os.getpid(), x')
        held = self.tracer.child_of(state)
        time.sleep(LATE)
        pid = inside(state)
        self.tracer.let_go(held)
        step = self.session.finish()
        self.ended(step, 'completed', 'kept', strays=0)
        self.assertEqual(step.result, f'({pid}, 1)')
        self.assertEqual(self.session.status()['restless'], 0)


if __name__ == '__main__':
    unittest.main()
