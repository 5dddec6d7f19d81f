#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Images of /work, made and unpacked by a child of state 0: init/step_wire.h, rootfs/interpreter/image.h.

Run by tests/integration/run, as root and as an ordinary user.
"""
import errno
import os
import random
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from step_client import (BORN, DONE, FILE, FILE_PAYLOAD, FILED, STARTED, Channel, Gone,  # noqa: E402
                         Jail)

IMAGE, COMPARE, RESTORE = 4, 5, 6
TOP, FOLDER, UP, REGULAR, LINK, FIFO, END = range(1, 8)
RECORD = struct.Struct('<IIIIqQ')
EXTENT = struct.Struct('<QQ')


def record(kind, name=b'', mode=0o700, ns=0, seconds=1, size=0):
    return RECORD.pack(kind, len(name), mode, ns, seconds, size) + name


def extents(*parts):
    return b''.join(EXTENT.pack(at, len(data)) + data for at, data in parts)


class Images(unittest.TestCase):
    def setUp(self):
        self.jail = Jail().__enter__()
        self.addCleanup(self.jail.__exit__)

    def job(self, operation, memfd):
        channel = Channel()
        self.jail.zero.channel.send(FILE, 7, FILE_PAYLOAD.pack(operation, 0, 0) + b'.',
                                    [channel.theirs.fileno(), memfd])
        channel.theirs.close()
        BORN.unpack(channel.expect(STARTED, 7))
        answer = FILED.unpack(channel.expect(DONE, 7))
        with self.assertRaises(Gone):
            channel.receive()
        channel.close()
        return answer[0], answer[2]

    def image(self, room=1 << 24):
        memfd = os.memfd_create('image')
        os.truncate(memfd, room)
        error, size = self.job(IMAGE, memfd)
        data = os.pread(memfd, size, 0)
        os.close(memfd)
        return error, data

    def with_image(self, operation, data):
        memfd = os.memfd_create('image')
        os.write(memfd, data)
        error = self.job(operation, memfd)[0]
        os.close(memfd)
        return error

    def restore(self, data):
        return self.with_image(RESTORE, data)

    def look(self):
        return self.jail.run("import os; sorted(os.listdir('/work'))").result

    def test_what_an_image_is(self):
        self.assertEqual(self.jail.run("open('/work/f', 'w').write('text')\n"
                                       "import os; os.utime('/work/f', ns=(0, 5 * 10**9 + 7))\n"
                                       "os.utime('/work', ns=(0, 10**9))\n"
                                       "os.chmod('/work', 0o700); os.chmod('/work/f', 0o640)").how, 0)
        error, data = self.image()
        expected = (record(TOP) + record(REGULAR, b'f', 0o640, 7, 5, 4)
                    + extents((0, b'text'), (4, b'')) + record(END, mode=0, seconds=0))
        self.assertEqual((error, data), (0, expected))
        self.assertEqual(self.with_image(COMPARE, data), 0)
        for other in (data[:-1], data + b'\0', data.replace(b'text', b'TEXT'), data[:40], b''):
            self.assertEqual(self.with_image(COMPARE, other), errno.ESTALE)
        self.assertEqual(self.restore(data), 0)
        self.assertEqual(self.with_image(COMPARE, data), 0)

    def test_room(self):
        size = len(self.image()[1])
        self.assertEqual(self.image(size)[0], 0)
        for room in (0, 1, size - 1):
            self.assertEqual(self.image(room)[0], errno.EFBIG)

    def test_that_are_none(self):
        top, end = record(TOP), record(END)
        bad = [b'', b'\0', top[:-1], end, record(FOLDER, b'x'), record(TOP, b'x'), top, top + top,
               top + record(UP), top + record(FOLDER, b'd') + end,
               top + record(FOLDER, b'd') + record(UP) + record(UP) + end,
               top + record(END, b'x'), top + record(0, b'x') + end, top + record(99, b'x') + end,
               top + record(FIFO, b'p', mode=0o4755) + end, record(TOP, mode=0o40755) + end,
               top + record(FIFO, b'p', ns=10**9) + end,
               top + record(FOLDER, b'd') + record(UP) + record(FOLDER, b'd') + record(UP) + end,
               top + record(LINK, b'l', size=4096) + b'a' * 4096 + end,
               top + record(LINK, b'l', size=1 << 63) + end,
               top + RECORD.pack(REGULAR, 256, 0o600, 0, 0, 0) + b'n' * 256 + end,
               top + RECORD.pack(REGULAR, 1 << 31, 0o600, 0, 0, 0)]
        for name in (b'', b'.', b'..', b'a/b', b'/etc', b'../x', b'a\0b', b'/'):
            bad.append(top + record(FIFO, name) + end)
        for size, parts in ((1 << 63, [(0, b'')]), (4, [(0, b'12345'), (4, b'')]), (4, [(5, b'')]),
                            (9, [(4, b'12'), (3, b'1'), (9, b'')]), (9, [(2**64 - 1, b'12')]),
                            (4, [(0, b'12')]), (4, [])):
            bad.append(top + record(REGULAR, b'f', size=size) + extents(*parts))
        bad.append(top + record(REGULAR, b'f', size=9) + EXTENT.pack(1, 2**64 - 1))
        for data in bad:
            self.assertEqual(self.restore(data), errno.EBADMSG, data[:200])
        self.assertEqual(self.restore(top + end), 0)
        self.assertEqual(self.look(), '[]')

    def test_twice_the_same_name(self):
        twice = record(FIFO, b'p') * 2
        self.assertEqual(self.restore(record(TOP) + twice + record(END)), errno.EEXIST)

    def test_links_are_not_followed(self):
        """An image that says so cannot be made; it would still not leave /work."""
        data = (record(TOP) + record(LINK, b'out', size=4) + b'/tmp' + record(FOLDER, b'out')
                + record(FIFO, b'p') + record(UP) + record(END))
        self.assertNotEqual(self.restore(data), 0)
        self.assertEqual(self.jail.run("import os; os.listdir('/tmp')").result, '[]')

    def test_any_bytes(self):
        self.jail.run("import os\nos.makedirs('/work/a/b'); os.symlink('x', '/work/a/l')\n"
                      "os.mkfifo('/work/p')\n"
                      "for n in 'abc': open('/work/a/b/' + n, 'w').write(n * 9000)")
        error, data = self.image()
        self.assertEqual(error, 0)
        rng = random.Random(7)
        for _ in range(300):
            broken = bytearray(data)
            for _ in range(rng.randrange(1, 4)):
                broken[rng.randrange(len(data)) if rng.random() < .3 else
                       rng.randrange(200)] = rng.randrange(256)
            if rng.random() < .3:
                del broken[rng.randrange(len(broken)):]
            self.assertIn(self.restore(bytes(broken)),
                          (0, errno.EBADMSG, errno.EEXIST, errno.ENOSPC, errno.EFBIG, errno.ENOENT,
                           errno.EINVAL, errno.EACCES, errno.ENOTDIR), broken)
        self.assertEqual(self.restore(data), 0)
        self.assertEqual(self.with_image(COMPARE, self.image()[1]), 0)
        self.assertEqual(self.jail.run("import os\nsorted(os.listdir('/work')), "
                                       "open('/work/a/b/c').read() == 'c' * 9000").result,
                         "(['a', 'p'], True)")


if __name__ == '__main__':
    unittest.main()
