#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: PUT, GET and LIST of what a guest may leave where its client reads and writes.

Names that are odd, paths that lead out, links, files that are huge or say so: each of the three.
Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Refused  # noqa: E402
from serve_scene import Case, resident  # noqa: E402

MIB = 1 << 20
NAMES = ('a\nb', '\n', 'end\n', '\n\n x', 'a b', '-rf', 'ä\u202eb', ' ', '\x7f\x1b[2J', 'x' * 255,
         '...', '..x', 'x..', '\udcff\udcfe', '"\\\'', '{"bytes":1}')
NO_SUCH_PATH = 'Invalid argument'
NOT_A_PATH = 'a path has 1 to 4096 bytes, and no NUL among them'
OUTWARD = {'..': NO_SUCH_PATH, '../x': NO_SUCH_PATH, '../../etc/passwd': NO_SUCH_PATH,
           'a/..': NO_SUCH_PATH, 'a/../../x': NO_SUCH_PATH, 'a/../a/f': NO_SUCH_PATH,
           '/': NO_SUCH_PATH, '/etc/passwd': NO_SUCH_PATH, '/work/../x': NO_SUCH_PATH,
           '/workx/a': NO_SUCH_PATH, '/tmp/a': NO_SUCH_PATH, '/home/a': NO_SUCH_PATH,
           'x' * 256: 'Filename too long', 'a\0b': NOT_A_PATH, '\0': NOT_A_PATH, '': NOT_A_PATH,
           'y/' * 3000: NOT_A_PATH}


class Files(Case):
    options = ['--work-size=40M']

    def setUp(self):
        super().setUp()
        self.session = self.serve.open()
        self.session.run('import os')

    def acts(self, data=b'x'):
        return {'PUT': lambda path: self.session.put(path, data), 'GET': self.session.get,
                'LIST': self.session.list}

    def ask(self, source):
        step = self.session.run(source)
        self.assertIsNone(step.trace, step)
        return eval(step.result)

    def listed(self, path='.'):
        return {name: (kind, size) for kind, size, _, name in self.session.list(path)}

    def all_go_on(self):
        self.assertEqual(self.session.run('1').result, '1')


class Stay(Files):
    def test_files_stay(self):
        """They do not go back; a client can read them before a step, and write them after it."""
        self.session.put('a', b'one')
        self.session.run('1')
        before = self.session.get('a')
        step = self.session.run('open("/work/a", "w").write("two"); open("/work/b", "w"); '
                                '__import__("os")._exit(1)')
        self.ended(step, 'exited', 'rolled-back')
        self.assertEqual([name for *_, name in self.session.list()], ['a', 'b'])
        self.assertEqual(self.session.get('a'), b'two')
        self.session.put('a', before)
        self.assertEqual(self.session.run('open("/work/a").read()').result, "'one'")
        self.session.rollback(0)
        self.assertEqual(self.session.get('a'), b'one')


class Names(Files):
    def test_odd_ones(self):
        """Newlines above all: a listing of lines would show two files, or none."""
        for name in NAMES:
            data = repr(name).encode()
            self.assertEqual(self.session.put(name, data), {'bytes': len(data)})
            self.assertEqual(self.session.get(name), data)
        self.assertEqual(self.listed(), {name: ('-', len(repr(name).encode())) for name in NAMES})
        self.assertEqual(set(self.ask('os.listdir("/work")')), set(NAMES))

    def test_odd_folders(self):
        for name in NAMES:
            self.session.put(f'{name}/{name}', b'12345')
            self.assertEqual(self.session.get(f'{name}/{name}'), b'12345')
            self.assertEqual(self.listed(name), {name: ('-', 5)})
        self.assertEqual({name: kind for name, (kind, _) in self.listed().items()},
                         dict.fromkeys(NAMES, 'd'))

    def test_made_by_a_guest(self):
        self.session.run(f'for n in {NAMES!r}: open("/work/" + n, "w").write("by a step")')
        self.assertEqual(self.listed(), dict.fromkeys(NAMES, ('-', 9)))
        for name in NAMES:
            self.assertEqual(self.session.get(name), b'by a step')

    def test_paths_that_lead_out(self):
        self.session.put('a/f', b'text')
        for path, words in OUTWARD.items():
            for kind, act in self.acts().items():
                with self.subTest(path=path[:40], kind=kind):
                    self.refused(words, act, path)
        for kind, act in self.acts().items():
            if kind != 'LIST':
                self.refused('Invalid argument', act, '.')
        # none has made anything
        self.assertEqual(self.ask('sorted(os.walk("/work"))'),
                         [('/work', ['a'], []), ('/work/a', [], ['f'])])
        self.assertEqual(self.ask('os.listdir("/tmp"), os.path.exists("/x")'), ([], False))
        self.assertEqual(self.session.get('a/f'), b'text')


class Links(Files):
    """Of a symlink nothing is read, written or listed but itself."""

    def setUp(self):
        super().setUp()
        self.session.run('''
os.makedirs('real/sub'); open('real/f', 'w').write('text'); os.mkdir('/tmp/out')
for name, to in {'middle': 'real', 'last': 'real/f', 'out': '/etc/passwd', 'loop': 'loop',
                 'magic': '/proc/self', 'root': '/', 'up': '..', 'dangling': '/tmp/out/new',
                 'real/back': '../real', 'self': '.'}.items():
    os.symlink(to, name)
''')

    def test_on_the_way(self):
        for path in ('middle/f', 'middle/new', 'root/etc/passwd', 'root/tmp/out/new', 'up/tmp/x',
                     'loop/x', 'magic/environ', 'magic/mem', 'real/back/f', 'self/real/f'):
            for kind, act in self.acts().items():
                self.refused(f'{kind}: Not a directory', act, path)
        self.unchanged()

    def test_at_the_end(self):
        for name in 'middle', 'last', 'out', 'loop', 'magic', 'root', 'up', 'dangling', 'self':
            self.refused('GET: Symbolic link loop', self.session.get, name)
            self.refused('LIST: Not a directory', self.session.list, name)
            self.assertEqual(self.listed()[name][0], 'l')
        self.refused('LIST: Not a directory', self.session.list, 'real/back')
        self.unchanged()

    def test_put_takes_their_place(self):
        for name in 'middle', 'last', 'out', 'loop', 'magic', 'root', 'dangling', 'self':
            self.session.put(name, b'changed')
            self.assertEqual((self.session.get(name), self.listed()[name]), (b'changed', ('-', 7)))
        self.unchanged()

    def unchanged(self):
        self.assertEqual(self.ask('open("real/f").read(), sorted(os.listdir("real")), '
                                  'os.listdir("/tmp/out"), os.listdir("/tmp")'),
                         ('text', ['back', 'f', 'sub'], [], ['out']))

    def test_a_folder_that_becomes_one_meanwhile(self):
        self.session.run('os.mkdir("a")')
        self.session.branch(2, 0)
        self.session.start('''
import os
while True:
    try:
        os.rename('a', 'c'); os.symlink('/tmp/out', 'a'); os.unlink('a'); os.rename('c', 'a')
    except OSError:
        pass
    try:
        os.mkdir('a')
    except OSError:
        pass
''', branch=2)
        done = dict.fromkeys(('PUT', 'GET', 'LIST'), 0)
        for n in range(200):
            for kind, act in self.acts().items():
                try:
                    act('a' if kind == 'LIST' else f'a/f{n}')
                    done[kind] += 1
                except Refused as e:
                    self.assertRegex(str(e), 'Not a directory|No such file')
        self.session.kill(branch=2)
        self.session.finish(branch=2)
        self.assertGreater(min(done.values()), 0, done)
        self.assertEqual(self.ask('os.listdir("/tmp/out")'), [])


class Kinds(Files):
    def test_they_are_refused(self):
        self.session.run('''
os.mkfifo('fifo'); os.mkdir('folder')
import socket; socket.socket(socket.AF_UNIX).bind('socket')
''')
        for name, words in (('fifo', 'GET: Not supported'),
                            ('socket', 'GET: '), ('folder', 'GET: Is a directory')):
            self.refused(words, self.session.get, name)
        self.refused('PUT: Is a directory', self.session.put, 'folder', b'x')
        for name in 'fifo', 'socket':
            self.refused('LIST: Not a directory', self.session.list, name)
            for kind, act in self.acts().items():
                self.refused(f'{kind}: Not a directory', act, name + '/x')
        self.assertEqual({name: kind for name, (kind, _) in self.listed().items()},
                         {'fifo': 'p', 'folder': 'd', 'socket': 's'})
        self.all_go_on()


class Sizes(Files):
    """serve itself grows by none of it."""

    def setUp(self):
        super().setUp()
        self.before = resident(self.serve.supervisor)
        self.addCleanup(self.look)

    def look(self):
        self.assertLess(resident(self.serve.supervisor) - self.before, 12 * MIB)

    def test_huge(self):
        data = os.urandom(3 * MIB) * 10
        self.assertEqual(self.session.put('huge', data), {'bytes': len(data)})
        self.assertEqual(self.ask('import hashlib\n'
                                  'os.stat("huge").st_size, os.stat("huge").st_blocks * 512'),
                         (30 * MIB, 30 * MIB))
        self.assertTrue(self.session.get('huge') == data)
        # beside it there is no room; nothing is left of the attempt, and nothing is lost
        self.refused('PUT: No space left on device', self.session.put, 'second', data)
        self.refused('PUT: No space left on device', self.session.put, 'huge', data[::-1])
        self.refused('--work-size', self.session.put, 'huge', bytes(40 * MIB + 1))
        self.assertEqual(self.listed(), {'huge': ('-', 30 * MIB)})
        self.assertTrue(self.session.get('huge') == data)
        self.all_go_on()

    def test_sparse(self):
        self.session.run('f = open("some", "wb"); f.seek(20 << 20); f.write(b"end"); f.close()\n'
                         'f = open("most", "wb"); f.truncate(40 << 20); f.close()\n'
                         'f = open("more", "wb"); f.truncate((40 << 20) + 1); f.close()\n'
                         'f = open("vast", "wb"); f.truncate(1 << 50); f.close()')
        self.assertEqual(self.listed(), {'some': ('-', 20 * MIB + 3), 'most': ('-', 40 * MIB),
                                         'more': ('-', 40 * MIB + 1), 'vast': ('-', 1 << 50)})
        self.assertTrue(self.session.get('some') == bytes(20 * MIB) + b'end')
        self.assertTrue(self.session.get('most') == bytes(40 * MIB))
        for name in 'more', 'vast':
            self.refused('GET: File too large', self.session.get, name)
        # nor more than is asked for
        self.assertTrue(self.session.get('some', 20 * MIB + 3) == bytes(20 * MIB) + b'end')
        self.refused('GET: File too large: above --work-size, or the bound', self.session.get, 'some', 20 * MIB + 2)
        self.refused('GET: File too large', self.session.get, 'vast', 2 ** 32 - 1)
        length = len(self.session._read('LIST', '.'))
        self.assertEqual(len(self.session.list('.', length)), 4)
        self.refused('LIST: File too large', self.session.list, '.', length - 1)
        self.session.put('vast', b'small now')
        self.assertEqual(self.session.get('vast'), b'small now')
        self.assertEqual(self.listed()['vast'], ('-', 9))
        # what was put is no sparse file, even where it is all zeros
        self.session.put('zeros', bytes(MIB))
        self.assertEqual(self.ask('os.stat("zeros").st_blocks'), MIB // 512)

    def test_one_that_grows_while_it_is_read(self):
        self.session.run('open("log", "w").write("begin\\n")')
        self.session.branch(2, 0)
        self.session.start('with open("/work/log", "ab", 0) as f:\n'
                           '    while f.tell() < 20 << 20: f.write(b"x" * 65536)', branch=2)
        for _ in range(20):
            try:
                self.assertEqual(self.session.get('log')[:6], b'begin\n')
            except Refused as e:
                self.assertIn('File too large', str(e))
        self.session.finish(branch=2)
        self.assertEqual(len(self.session.get('log')), self.listed()['log'][1])

    def test_many(self):
        count = self.ask('n = 0\ntry:\n    while n < 5000:\n'
                         '        open(f"/work/{n:0255}", "w").close(); n += 1\n'
                         'except OSError: pass\nn')
        self.assertGreater(count, 1000)
        self.assertEqual(self.listed(), {f'{n:0255}': ('-', 0) for n in range(count)})
        self.all_go_on()


class SlowReader(Files):
    """A client that has asked for much, and does not read it for a while."""

    def test_get(self):
        data = os.urandom(MIB) * 30
        self.session.put('huge', data)
        before = resident(self.serve.supervisor)
        self.serve.send('GET', self.session.number, bytes(4) + b'huge')
        time.sleep(1)
        self.assertLess(resident(self.serve.supervisor) - before, 12 * MIB)
        got = []
        while (frame := self.serve.receive()).kind == 'DATA':
            got.append(frame.bytes)
        self.assertEqual((frame.kind, frame.json), ('END', {'bytes': len(data)}))
        self.assertTrue(b''.join(got) == data)
        self.all_go_on()

    def test_one_that_never_does(self):
        """It goes away in the middle: so do serve and the one who was reading the file."""
        self.session.put('huge', bytes(30 * MIB))
        self.serve.send('GET', self.session.number, bytes(4) + b'huge')
        self.assertEqual(self.serve.receive().kind, 'DATA')


if __name__ == '__main__':
    unittest.main()
