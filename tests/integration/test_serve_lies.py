#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: a first interpreter that lies, or is silent, about file operations.

It is tests/integration/first.c, in the place of the tree's own. Run by tests/integration/run, as
root and as an ordinary user.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import HEADER, PATIENCE, PAYLOAD_MAX, TYPES, Refused  # noqa: E402
from serve_scene import Case, wait_until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, '../..')
NO_ERRNO = '4294967295', '2147483648', '4096'


def setUpModule():
    global built
    built = tempfile.mkdtemp(prefix='stepjail-lies-')
    os.chmod(built, 0o755)
    subprocess.run(['gcc', '-std=gnu17', '-D_GNU_SOURCE', '-O1', '-static', '-Wall', '-Wextra', '-Werror',
                    '-I', TOP, '-o', f'{built}/first', f'{HERE}/first.c', f'{TOP}/init/wire.c',
                    f'{TOP}/init/io.c'], check=True)


def tearDownModule():
    shutil.rmtree(built)


class Lies(Case):
    def setUp(self):
        self.host = tempfile.mkdtemp(prefix='stepjail-answer-')
        os.chmod(self.host, 0o755)
        self.addCleanup(shutil.rmtree, self.host)
        self.options = self.options + [
            '--cold', '--ready=0', '--lock-code=no', '--bind',
            f'{built}/first:/bin/python3', '--bind', f'{self.host}:/mnt']
        super().setUp()
        self.session = self.serve.open()

    def answers(self, text):
        with open(f'{self.host}/answer', 'w') as file:
            file.write(text)

    def acts(self):
        return {'PUT': lambda path: self.session.put(path, b'x'), 'GET': self.session.get,
                'LIST': self.session.list}

    def says(self, kind, limit, words, act, *args):
        with self.assertRaises(Refused) as caught:
            act(*args)
        told = caught.exception.json
        self.assertEqual((told['kind'], told['limit']), (kind, limit), told)
        self.assertIn(words, told['error'])


class Files(Lies):
    options = ['--wall-time=2s']

    def test_numbers_that_are_no_errno(self):
        for kind, act in self.acts().items():
            for number in NO_ERRNO:
                self.says('file', None, f'{kind}: Protocol error', act, number)
            self.says('file', None, f'{kind}: No such file', act, '2')

    def test_one_that_never_ends(self):
        for kind, act in self.acts().items():
            self.says('limit', 'wall-time', kind, act, 'late')
        self.says('file', None, 'No such file', self.session.get, '2')


class Kept(Lies):
    """The files of states, with --rollback-files."""
    options = ['--rollback-files', '--wall-time=2s']

    def test_numbers_that_are_no_errno(self):
        for number in NO_ERRNO:
            self.answers(number)
            self.says('files', None, 'Protocol error', self.session.run, '1')

    def test_more_bytes_than_there_is_room_for(self):
        self.answers(f'bytes={1 << 62}')
        self.says('files', None, 'Protocol error', self.session.run, '1')

    def test_one_that_never_ends(self):
        self.answers('late')
        self.says('files', None, '--wall-time', self.session.run, '1')
        self.answers('0')
        self.ended(self.session.run('1'), 'completed', 'kept')


class Held(Lies):
    """Frames that wait for files, more than serve holds at once."""
    options = ['--rollback-files', '--wall-time=1h']

    def ends(self, leave):
        self.addCleanup(self.serve.process.kill)  # if it does not end by itself
        self.answers('late')
        self.session.start('1')
        frame = HEADER.pack(PAYLOAD_MAX, TYPES['CODE'], 0, self.session.number) + bytes(PAYLOAD_MAX)
        self.left, self.idle = frame * 100, 0
        self.serve.socket.setblocking(False)
        self.assertTrue(wait_until(self.takes_no_more))
        self.assertGreater(len(self.left), len(frame))
        leave()
        self.assertEqual(self.serve.process.wait(PATIENCE), 0)

    def test_the_client_goes(self):
        self.ends(self.serve.socket.close)

    def test_the_client_says_no_more(self):
        self.ends(lambda: self.serve.socket.shutdown(1))

    def takes_no_more(self):
        """Has serve slept for a while, with more to read?"""
        try:
            self.left = self.left[self.serve.socket.send(self.left):]
            self.idle = 0
        except BlockingIOError:
            with open(f'/proc/{self.serve.process.pid}/stat') as file:
                asleep = file.read().rsplit(')', 1)[1].split()[0] == 'S'
            self.idle = self.idle + 1 if asleep else 0
        return self.idle == 20


if __name__ == '__main__':
    unittest.main()
