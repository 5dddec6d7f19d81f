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
from serve_client import Refused  # noqa: E402
from serve_scene import Case  # noqa: E402

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
        self.options = ['--wall-time=2s', '--cold', '--lock-code=no', '--bind',
                        f'{built}/first:/bin/python3']
        super().setUp()
        self.session = self.serve.open()

    def acts(self):
        return {'PUT': lambda path: self.session.put(path, b'x'), 'GET': self.session.get,
                'LIST': self.session.list}

    def says(self, kind, limit, words, act, *args):
        with self.assertRaises(Refused) as caught:
            act(*args)
        told = caught.exception.json
        self.assertEqual((told['kind'], told['limit']), (kind, limit), told)
        self.assertIn(words, told['error'])

    def test_numbers_that_are_no_errno(self):
        for kind, act in self.acts().items():
            for number in NO_ERRNO:
                self.says('file', None, f'{kind}: Protocol error', act, number)
            self.says('file', None, f'{kind}: No such file', act, '2')

    def test_one_that_never_ends(self):
        for kind, act in self.acts().items():
            self.says('limit', 'wall-time', kind, act, 'late')
        self.says('file', None, 'No such file', self.session.get, '2')


if __name__ == '__main__':
    unittest.main()
