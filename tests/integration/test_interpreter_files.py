#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_interpreter_files.py - PUT, GET and LIST, and paths that mean mischief"""
import errno
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from step_client import (COMPLETED, GET, LIST, PUT, FileWork, Gone, LOCKED,  # noqa: E402
                         OneJail)


class Files(OneJail, unittest.TestCase):
    command = [*LOCKED[:-1], "--work-size", "8M", "--"]

    def setUp(self):
        self.zero = self.jail.zero
        self.run_step("import os, shutil\nos.chdir('/work')\nfor n in os.listdir():\n"
                      "    (os.unlink if os.path.islink(n) or not os.path.isdir(n) "
                      "else shutil.rmtree)(n)")

    def run_step(self, source):
        step = self.zero.run("import os\n" + source)
        self.assertEqual(step.how, COMPLETED, step.trace)
        return step.result

    def list(self, path="."):
        errnum, count, data = self.zero.file(LIST, path)
        self.assertEqual((errnum, count), (0, len(data)))
        entries = [entry.split(b" ", 3) for entry in data.split(b"\0")[:-1]]
        for entry in entries:
            self.assertLess(abs(time.time() - int(entry[2])), 1000)
        return {name: (kind, int(size)) for kind, size, _, name in entries}

    def test_there_and_back(self):
        for data in (b"", b"x", os.urandom(3 << 20)):
            self.assertEqual(self.zero.file(PUT, "a", data), (0, len(data), b""))
            self.assertEqual(self.zero.file(GET, "a"), (0, len(data), data))
        self.assertEqual(self.zero.file(PUT, "x/y/z", b"deep", 0o750)[0], 0)
        self.assertEqual(self.run_step("open('/work/x/y/z').read(), oct(os.stat("
                                       "'/work/x/y/z').st_mode), oct(os.stat('/work/x/y')"
                                       ".st_mode)"), "('deep', '0o100750', '0o40755')")
        self.assertEqual(self.list(), {b"a": (b"-", 3 << 20), b"x": (b"d", 60)})
        self.assertEqual(self.list("x/y"), {b"z": (b"-", 4)})

    def test_odd_names(self):
        for name in ("new\nline", " ", "\u00e9", b"\xff\xfe", "...", "..x", "-rf", "n" * 255):
            name = name if isinstance(name, bytes) else name.encode()
            self.assertEqual(self.zero.file(PUT, name, b"odd"), (0, 3, b""))
            self.assertEqual(self.zero.file(GET, name), (0, 3, b"odd"))
            self.assertEqual(self.list()[name], (b"-", 3))

    def test_paths_that_are_refused(self):
        self.run_step("os.mkdir('/work/d'); os.symlink('/etc', '/work/out'); "
                      "os.symlink('d', '/work/in'); os.symlink('/etc/passwd', '/work/d/p'); "
                      "os.mkfifo('/work/d/fifo'); open('/work/d/f', 'w')")
        for operation in (PUT, GET, LIST):
            for path, errnum in (("/etc/passwd", errno.EINVAL), ("..", errno.EINVAL),
                                 ("../etc/passwd", errno.EINVAL), ("a/../../x", errno.EINVAL),
                                 ("d/..", errno.EINVAL), ("/work/../etc/passwd", errno.EINVAL),
                                 ("/workx", errno.EINVAL), ("//work/d", errno.EINVAL),
                                 ("/home/other", errno.EINVAL), ("/", errno.EINVAL),
                                 ("/work/out/passwd", errno.ENOTDIR), ("d/f\0", errno.EINVAL),
                                 ("\0", errno.EINVAL), ("/home/user/..", errno.EINVAL),
                                 ("out/passwd", errno.ENOTDIR), ("in/f", errno.ENOTDIR),
                                 ("d/f/x", errno.ENOTDIR), ("n" * 256, errno.ENAMETOOLONG),
                                 ("d/" * 2000 + "x", errno.ENOENT)):
                if operation == PUT and path.startswith("d/d/"):
                    continue  # it makes them
                self.assertEqual(self.zero.file(operation, path, b"")[0], errnum,
                                 (operation, path[:50]))
        for path in (".", "d/", "d/.", "/work", "/work/", "d/f/"):
            for operation in (PUT, GET):
                self.assertEqual(self.zero.file(operation, path, b"")[0], errno.EINVAL, path)
        for path, errnum in (("d/p", errno.ELOOP), ("d", errno.EISDIR),
                             ("d/fifo", errno.EOPNOTSUPP), ("none", errno.ENOENT)):
            self.assertEqual(self.zero.file(GET, path)[0], errnum, path)
        for path, errnum in (("out", errno.ENOTDIR), ("d/f", errno.ENOTDIR),
                             ("d/fifo", errno.ENOTDIR), ("none/d", errno.ENOENT)):
            self.assertEqual(self.zero.file(LIST, path)[0], errnum, path)
        self.assertEqual(self.zero.file(PUT, "d", b"x")[0], errno.EISDIR)
        self.assertEqual(self.zero.file(9, "d/f")[0], errno.EINVAL)
        self.assertEqual(set(self.list()), {b"d", b"in", b"out"})

    def test_one_place(self):
        """By each way to write it: relative, below /work, and by the name that other sandboxes have for it."""
        self.zero.file(PUT, "d/f", b"1")
        self.assertEqual(self.run_step("open('/home/user/d/f').read()"), "'1'")
        for path in ("d//f", "./d/./f", "/work/d/f", "/work//d/f", "/home/user/d/f"):
            self.assertEqual(self.zero.file(GET, path), (0, 1, b"1"), path)
            self.assertEqual(self.zero.file(PUT, path, b"2")[0], 0, path)
            self.assertEqual(self.run_step("open('d/f').read(), open('d/f', 'w').write('1')"), "('2', 1)")
        for path in ("d", "d/", "./d", "d/.", "/work/d", "/work/d/", "/home/user/d"):
            self.assertEqual(self.list(path), {b"f": (b"-", 1)}, path)
        for path in (".", "/work", "/work/", "/home/user", "./."):
            self.assertEqual(self.list(path), {b"d": (b"d", 60)}, path)

    def test_put_replaces_a_link_and_not_its_aim(self):
        self.run_step("open('/work/aim', 'w').write('kept'); os.symlink('aim', '/work/link')")
        self.assertEqual(self.zero.file(PUT, "link", b"new")[0], 0)
        self.assertEqual(self.run_step("open('/work/aim').read(), open('/work/link').read()"),
                         "('kept', 'new')")

    def test_list_kinds(self):
        self.run_step("import socket\nos.symlink('x', '/work/l'); os.mkfifo('/work/p')\n"
                      "socket.socket(socket.AF_UNIX).bind('/work/s')")
        self.assertEqual({name: kind for name, (kind, _) in self.list().items()},
                         {b"l": b"l", b"p": b"p", b"s": b"s"})

    def test_much(self):
        self.run_step("with open('/work/sparse', 'w') as f: f.truncate(1 << 40)")
        errnum, count, data = self.zero.file(GET, "sparse", limit=1 << 20)
        self.assertEqual((errnum, count, len(data)), (errno.EFBIG, 0, 0))
        self.zero.file(PUT, "ten", b"0123456789")
        self.assertEqual(self.zero.file(GET, "ten", limit=10), (0, 10, b"0123456789"))
        self.assertEqual(self.zero.file(GET, "ten", limit=9), (errno.EFBIG, 0, b""))
        self.assertEqual(self.zero.file(PUT, "ten", b"x" * 11, limit=10)[0], errno.EFBIG)
        self.assertEqual(self.zero.file(PUT, "ten", b"y" * (9 << 20))[0], errno.ENOSPC)
        self.assertEqual(self.zero.file(GET, "ten")[2], b"0123456789")
        self.assertEqual(set(self.list()), {b"ten", b"sparse"})
        self.run_step("for i in range(2000): open(f'/work/{i}', 'w')")
        self.assertEqual(len(self.list()), 2002)
        errnum, count, data = self.zero.file(LIST, ".", limit=100)
        self.assertEqual((errnum, count), (errno.EFBIG, len(data)))
        self.assertLessEqual(count, 100)

    def test_rights(self):
        self.run_step("os.mkdir('/work/shut'); os.chmod('/work/shut', 0); "
                      "open('/work/f', 'w'); os.chmod('/work/f', 0)")
        self.assertEqual(self.zero.file(GET, "f")[0], errno.EACCES)
        self.assertEqual(self.zero.file(GET, "shut/f")[0], errno.EACCES)
        self.assertEqual(self.zero.file(PUT, "shut/f")[0], errno.EACCES)
        self.assertEqual(self.zero.file(LIST, "shut")[0], errno.EACCES)
        self.assertEqual(self.zero.file(PUT, "setid", b"", 0o6755)[0], 0)
        self.assertEqual(self.run_step("os.chmod('/work/shut', 0o755); "
                                       "oct(os.stat('/work/setid').st_mode)"), "'0o100755'")

    def test_put_that_is_dropped(self):
        """The channel closed before the data's end: no file, and no part of one."""
        work = FileWork(self.zero, PUT, "half")
        os.write(work.data, b"half of it")
        work.channel.close()
        os.close(work.data)
        for _ in range(1500):
            if not self.list():
                break
            time.sleep(0.02)
        self.assertEqual(self.list(), {})

    def test_reader_that_goes(self):
        self.zero.file(PUT, "big", b"x" * (1 << 20))
        work = FileWork(self.zero, GET, "big")
        os.close(work.data)
        self.assertEqual(work.channel.expect(25, 7)[:4], errno.EPIPE.to_bytes(4, "little"))
        with self.assertRaises(Gone):
            work.channel.receive()

    def test_while_steps_run_and_move_folders(self):
        step = self.zero.step(3, """
import os
os.makedirs('/work/a/b', exist_ok=True)
open('/work/a/b/f', 'w').write('inside')
print('ready', flush=True)
while not os.path.exists('/work/stop'):
    os.rename('/work/a', '/work/c'); os.symlink('/etc', '/work/a')
    os.unlink('/work/a'); os.rename('/work/c', '/work/a')
""").started().until(b"ready")
        seen = set()
        for _ in range(300):
            errnum, _, data = self.zero.file(GET, "a/b/f")
            seen.add((errnum, data))
            errnum, _, data = self.zero.file(LIST, "a")
            self.assertNotIn(b"passwd", data)
        self.assertLessEqual(seen, {(0, b"inside"), (errno.ENOENT, b""),
                                    (errno.ENOTDIR, b"")})
        self.zero.file(PUT, "stop")
        self.assertEqual(step.end().how, COMPLETED, step.trace)


if __name__ == "__main__":
    unittest.main()
