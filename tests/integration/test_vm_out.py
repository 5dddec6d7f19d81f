#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--wall vm with --out: files come out of a guest, and nothing else does, whatever the guest sends."""
import errno
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import record_schema  # noqa: E402
from serve_client import BUILD, descendants  # noqa: E402
from test_vm import OPTIONS, PATIENCE, Scene, python  # noqa: E402

HEAD = struct.Struct('<IIQ')  # files.h
FILE, FOLDER, UP, END = range(1, 5)
SAYS = struct.Struct('=iII8I4xQ')  # struct copied of copy.h
PROGRAM = """
import os
os.makedirs('/work/out/a/b')
os.mkdir('/work/out/none')
for name, data in ('x.txt', b'hello'), ('a/b/big', bytes(range(256)) * 3000), ('empty', b''), ('.hidden', b'h'):
    with open('/work/out/' + name, 'wb') as file:
        file.write(data)
os.symlink('/etc/passwd', '/work/out/link')
os.mkfifo('/work/out/fifo')
os.chmod('/work/out/x.txt', 0o755)
"""


def entry(kind, name=b'', data=b'', **lies):
    return HEAD.pack(kind, lies.get('length', len(name)), lies.get('bytes', len(data))) + name + data


def tree(folder):
    """{path below it: bytes of a file, None of a folder}"""
    found = {}
    for place, folders, files in os.walk(folder):
        inside = os.path.relpath(place, folder)
        found.update({os.path.normpath(f'{inside}/{name}'): None for name in folders})
        for name in files:
            with open(f'{place}/{name}', 'rb') as file:
                found[os.path.normpath(f'{inside}/{name}')] = file.read()
    return found


class Guest(Scene):
    """What a program leaves in /work/out."""

    def setUp(self):
        super().setUp()
        self.out = f'{self.folder}/out'

    def test_files(self):
        done, report = self.report(f'--out={self.out}', '--', '/bin/python3', '-c', PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(record_schema.wrong(report, record_schema.REPORT), [])
        self.assertEqual(tree(self.out), {'a': None, 'a/b': None, 'none': None, 'x.txt': b'hello', 'empty': b'',
                                          'a/b/big': bytes(range(256)) * 3000})
        told = {'files': 3, 'folders': 3, 'bytes': 768005, 'error': None}
        self.assertEqual(report['vm']['out'], told)
        self.assertEqual({name: report['out'][name] for name in told}, told)
        self.assertEqual((report['out']['left_out']['link'], report['out']['left_out']['hidden']), (1, 1))
        self.assertIn(b'--out: files: 3, 768005 bytes, in the folder of --out; left out:', done.stderr)
        state = os.stat(f'{self.out}/x.txt')
        self.assertEqual((state.st_mode & 0o7777, state.st_uid), (0o644, os.geteuid()))

    def test_program_that_fails(self):
        done, report = self.report(f'--out={self.out}', '--out-hidden', '--', '/bin/python3', '-c',
                                   PROGRAM + 'os.kill(os.getpid(), 9)')
        self.assertEqual((done.returncode, report['verdict']), (137, 'signaled'), done.stderr)
        self.assertEqual(tree(self.out)['.hidden'], b'h')

    def test_none(self):
        done, report = self.report(f'--out={self.out}', '--', '/bin/python3', '-c', 'pass')
        self.assertEqual((done.returncode, tree(self.out), report['vm']['out']['files']), (0, {}, 0), done.stderr)

    def test_folder_is_wrong(self):
        """It is said before a guest is started."""
        os.mkdir(self.out)
        with open(f'{self.out}/there', 'w', encoding='ascii'):
            pass
        for path, said in (self.out, 'is not empty'), (f'{self.folder}/no/where', 'must be a folder'):
            done = python('print(1)', f'--out={path}')
            self.assertEqual((done.returncode, done.stdout), (125, b''))
            self.assertEqual(done.stderr.count(b'\n'), 1, done.stderr)
            self.assertIn(f'stepjail: --out: {path}'.encode(), done.stderr)
            self.assertIn(said, done.stderr.decode())

    def test_no_room(self):
        """A guest has as much memory as it has: what does not fit is told, and the guest goes on."""
        done, report = self.report(f'--out={self.out}', '--memory=600M', '--work-size=200M', '--', '/bin/python3', '-c',
                                   'open("/work/out/zeros", "wb").truncate(150 << 20)')
        self.assertEqual((done.returncode, report['verdict'], tree(self.out)), (123, 'completed', {}), done.stderr)
        self.assertIn(b'the guest has room for 72M of files beside --memory: raise --vm-memory', done.stderr)

    def test_receiver_is_killed(self):
        with subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, f'--out={self.out}', '--', '/bin/python3', '-c',
                               PROGRAM + 'print("on", flush=True)\ninput()'], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b'on\n')
            receiver, = (pid for pid, words in descendants(process.pid).items() if words[0].endswith(b'-receive'))
            with open(f'/proc/{receiver}/status', encoding='ascii') as file:
                status = dict(line.rstrip('\n').split(':\t', 1) for line in file)
            self.assertEqual((status['CapEff'], status['CapPrm'], status['NoNewPrivs'], status['Seccomp']),
                             ('0' * 16, '0' * 16, '1', '2'))
            os.kill(receiver, 9)
            _, said = process.communicate(b'\n', timeout=PATIENCE)
        self.assertEqual(process.returncode, 123, said)
        self.assertIn(b'not all came out of the guest: the process that takes them was killed', said)


class Hostile(unittest.TestCase):
    """The receiver, and streams that stepjail in a guest would not send."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def receive(self, stream, limit=1000, hidden='no', out=None, before=()):
        done = subprocess.run([*before, f'{BUILD}/stepjail-vm-receive', out or f'{self.folder}/out', str(limit),
                               hidden], input=stream, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr, len(done.stdout)), (0, b'', 2 * SAYS.size))
        self.assertEqual(SAYS.unpack(done.stdout[:SAYS.size]), (0,) * 12)
        number, files, folders, *_, written = SAYS.unpack(done.stdout[SAYS.size:])
        return number, files, folders, written

    def test_honest(self):
        self.assertEqual(self.receive(entry(FOLDER, b'a') + entry(FILE, b'f', b'data') + entry(UP) +
                                      entry(FILE, 'é'.encode(), b'') + entry(END)), (0, 2, 1, 4))
        self.assertEqual(tree(f'{self.folder}/out'), {'a': None, 'a/f': b'data', 'é': b''})

    def test_lies(self):
        good = entry(FILE, b'good', b'1')
        deep = b''.join(entry(FOLDER, b'd') for _ in range(17))
        for name, lie, why in (
                ('above', entry(FILE, b'..', b'x'), errno.EPROTO), ('itself', entry(FOLDER, b'.'), errno.EPROTO),
                ('path', entry(FILE, b'../x', b'x'), errno.EPROTO), ('root', entry(FILE, b'/etc/x', b'x'), errno.EPROTO),
                ('no name', entry(FILE, b'', b'x'), errno.EPROTO), ('NUL', entry(FILE, b'a\0b', b'x'), errno.EPROTO),
                ('long', entry(FILE, b'n' * 256, b'x'), errno.EPROTO), ('hidden', entry(FILE, b'.x', b'x'), errno.EPROTO),
                ('control', entry(FILE, b'a\x1b[2J', b'x'), errno.EPROTO),
                ('no UTF-8', entry(FILE, b'\xff', b'x'), errno.EPROTO),
                ('unseen', entry(FILE, 'a\u202eb'.encode(), b'x'), errno.EPROTO),
                ('in part', entry(FILE, b'.stepjail.part', b'x'), errno.EPROTO),
                ('twice', good, errno.EEXIST), ('folder twice', entry(FOLDER, b'good'), errno.EEXIST),
                ('deep', deep, errno.EPROTO), ('up', entry(UP), errno.EPROTO),
                ('end within', entry(FOLDER, b'a') + entry(END), errno.EPROTO), ('kind', entry(9), errno.EPROTO),
                ('large', entry(FILE, b'l', b'', bytes=1000), errno.EPROTO),
                ('huge', entry(FILE, b'l', b'', bytes=(1 << 64) - 1), errno.EPROTO),
                ('name that is longer', entry(FILE, b'n', b'', length=1 << 31), errno.EPROTO),
                ('cut name', entry(FILE, b'n', b'', length=9), errno.EPIPE),
                ('cut file', entry(FILE, b'n', b'xy', bytes=9), errno.EPIPE), ('cut head', b'\1\0', errno.EPIPE),
                ('no end', b'', errno.EPIPE)):
            with self.subTest(name):
                out = f'{self.folder}/{name}'
                told = self.receive(good + lie, out=out)
                self.assertEqual((told[0], told[1], told[3]), (why, 1, 1))
                self.assertEqual({path: data for path, data in tree(out).items() if data is not None}, {'good': b'1'})
        self.assertEqual(len(os.listdir(self.folder)), 25)

    def test_many(self):
        number, files, folders, _ = self.receive(b''.join(entry(FILE, b'%d' % i) for i in range(10001)) + entry(END))
        self.assertEqual((number, files, folders), (errno.EPROTO, 10000, 0))

    def test_links_are_not_followed(self):
        """Such as are there, because somebody else can write to the folder."""
        out, other = f'{self.folder}/out', f'{self.folder}/other'
        os.mkdir(out)
        os.mkdir(other)
        reader, writer = os.pipe()
        with subprocess.Popen([f'{BUILD}/stepjail-vm-receive', out, '1000', 'no'], stdin=reader,
                              stdout=subprocess.PIPE) as process:
            os.close(reader)
            process.stdout.read(SAYS.size)
            os.symlink(other, f'{out}/a')
            os.symlink(f'{other}/x', f'{out}/.stepjail.part')
            os.write(writer, entry(FOLDER, b'a') + entry(FILE, b'x', b'x'))
            os.close(writer)
            number, *_ = SAYS.unpack(process.stdout.read())
        self.assertEqual((number, os.listdir(other)), (errno.EEXIST, []))

    def test_disk_is_full(self):
        code = ('mount -t tmpfs -o size=64k none "$1"; d=$1; shift; "$@"; s=$?; '
                'test "$(find "$d" -type f)" = "$d/o/good" || exit 9; exit $s')
        place = f'{self.folder}/small'
        os.mkdir(place)
        new = ['unshare', '--mount', *(['--map-root-user'] if os.geteuid() else []), 'sh', '-c', code, 'sh', place]
        told = self.receive(entry(FILE, b'good', b'1') + entry(FILE, b'big', bytes(200000)) + entry(END),
                            limit=1 << 20, out=f'{place}/o', before=new)
        self.assertEqual(told, (errno.ENOSPC, 1, 0, 1))

    def test_noise(self):
        """Of a seed that is shown where it fails."""
        for seed in range(150):
            with self.subTest(seed):
                chance = random.Random(seed)
                stream = bytearray(b''.join(
                    entry(chance.choice([FILE, FILE, FOLDER, UP, END]), chance.randbytes(chance.randint(0, 3)),
                          chance.randbytes(chance.randint(0, 40))) for _ in range(20)) + entry(END))
                for _ in range(chance.randint(0, 6)):
                    stream[chance.randrange(len(stream))] = chance.randrange(256)
                number, files, _, written = self.receive(bytes(stream), out=f'{self.folder}/{seed}')
                found = [data for data in tree(f'{self.folder}/{seed}').values() if data is not None]
                self.assertEqual((len(found), sum(map(len, found))), (files, written))
                self.assertIn(number, (0, errno.EPROTO, errno.EPIPE, errno.EEXIST))


if __name__ == '__main__':
    unittest.main()
