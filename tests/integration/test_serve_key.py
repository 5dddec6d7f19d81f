#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: the key of --lock-code, which a step must not have, and where it would be.

The kernel shows root the filter of a session's interpreter, and in it the number that let it
start. All memory of the session is searched for that: it is where it was planted, and nowhere
else. A clone of a template was started by nobody: no number passes there.
"""
import ctypes
import errno
import os
import re
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD, Serve  # noqa: E402
from serve_scene import below, is_state, memory, wait_until  # noqa: E402
from test_run import drop_words, missing_words  # noqa: E402

SEIZE, INTERRUPT, DETACH, GET_FILTER = 0x4206, 0x4207, 17, 0x420c
ANY_CHILD = 0x40000000  # __WALL of waitpid(2)
LOAD, EQUAL = 0x20, 0x15  # an argument's half; is it this number?
LOW, HIGH = 40, 44  # of execve's register, in struct seccomp_data


def scan(serve, session, high, low):
    """Bytes that were read, and places where both halves stand."""
    read = found = 0
    for data in memory(serve.process.pid, session):
        read += len(data)
        found += sum(high in data[max(at.start() - 64, 0):at.end() + 64]
                     for at in re.finditer(re.escape(low), data))
    return read, found


class Ptrace:
    """A process that is stopped, and asked for the instructions of its filters."""

    def __init__(self, pid):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
        self.libc.ptrace.restype = ctypes.c_long
        self.pid = pid

    def ask(self, request, number=0, data=None):
        r = self.libc.ptrace(request, self.pid, number, data)
        if r < 0:
            raise OSError(ctypes.get_errno(), f'ptrace {request:#x}')
        return r

    def __enter__(self):
        self.ask(SEIZE)
        self.ask(INTERRUPT)
        os.waitpid(self.pid, ANY_CHILD)
        return self

    def __exit__(self, *unused):
        self.ask(DETACH)

    def filter(self, number):
        """(code, where if so, where if not, number) of each instruction."""
        try:
            self.ask(GET_FILTER, number)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EINVAL, errno.EIO):
                raise unittest.SkipTest(f'lacks a kernel that shows filters: {error}') from None
            raise
        room = ctypes.create_string_buffer(self.ask(GET_FILTER, number) * 8)
        self.ask(GET_FILTER, number, room)
        return list(struct.iter_unpack('<HBBI', room.raw))


def as_each_user(test):
    """Of sessions of root, and of an ordinary user's; root looks at both."""
    def both(self):
        for drop in [], drop_words():
            with self.subTest(drop=drop):
                test(self, drop)
    return both


@unittest.skipUnless(os.geteuid() == 0, 'lacks root, whom alone the kernel shows filters')
class Key(unittest.TestCase):
    def serve(self, drop, *options):
        serve = Serve([*missing_words(tuple(drop)), *options],
                      command=[*drop, f'{BUILD}/stepjail', 'serve'], env={'HOME': '/tmp'})
        self.addCleanup(lambda: self.assertEqual(serve.end(), (0, '')))
        return serve

    def compared(self, serve):
        """What execve's register is compared with, by its halves, in all interpreters' filters."""
        found = []
        for pid in filter(is_state, below(serve.process.pid)):
            with Ptrace(pid) as process:
                code = process.filter(0)
                with self.assertRaises(FileNotFoundError):  # no other
                    process.filter(1)
            pairs = [(a[3], b) for a, b in zip(code, code[1:])
                     if a[0] == LOAD and a[3] in (LOW, HIGH) and b[0] == EQUAL]
            self.assertEqual([at for at, _ in pairs], [HIGH, LOW])
            found.append([compare for _, compare in pairs])
        return found

    def hunt(self, serve):
        session = serve.open()
        self.assertFalse(session.opened['warm'])
        session.run('x = 1')
        keys = {tuple(compare[3] for compare in pair) for pair in self.compared(serve)}
        self.assertEqual(len(keys), 1)  # of both states
        (high, low), = keys
        self.assertNotIn(0, (high, low))
        high, low = struct.pack('<I', high), struct.pack('<I', low)
        read, found = scan(serve, session, high, low)
        self.assertGreater(read, 4 << 20)
        self.assertEqual(found, 0)
        for planted in (low + high, high + bytes(12) + low):  # as a number; as in a filter
            hidden = bytes(255 - byte for byte in planted)
            session.run(f'planted = bytes(255 - byte for byte in {hidden!r})')
            self.assertGreater(scan(serve, session, high, low)[1], 0)
            session.rollback(1)
        return high + low

    @as_each_user
    def test_a_step_finds_it_nowhere(self, drop):
        one, other = (self.hunt(self.serve(drop, '--cold')) for _ in range(2))
        self.assertNotEqual(one, other)

    @as_each_user
    def test_a_clone_has_none(self, drop):
        serve, sessions = self.serve(drop), []
        self.assertTrue(wait_until(lambda: sessions.append(serve.open()) or
                                   sessions[-1].opened['warm']))
        sessions[-1].run('x = 1')
        self.assertTrue(serve.open().opened['warm'])
        for session in sessions[:-1]:
            session.close()
        compared = self.compared(serve)
        self.assertGreater(len(compared), 2)
        for if_so, if_not, number in (compare[1:] for pair in compared for compare in pair):
            self.assertEqual((if_so == if_not, number), (True, 0))


if __name__ == '__main__':
    unittest.main()
