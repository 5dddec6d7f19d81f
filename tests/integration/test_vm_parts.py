#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--wall vm, what is done on the host: copies of the caller's files are nobody's, an image that was copied is taken,
and what fails is told in one line."""
import contextlib
import glob
import io
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../jail/vm'))

from serve_client import BUILD, descendants  # noqa: E402
from stepjail_vm import Failed, command, disks, image, template  # noqa: E402
from test_vm import OPTIONS, PATIENCE, TEMP, Scene  # noqa: E402

CGROUP = '/sys/fs/cgroup is not cgroup v2'


class Plan:
    tree = None


class Copies(Scene):
    """What --bind names may be closed to everybody else, and so must be its copy."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)

    def secret(self):
        path = f'{self.folder}/secret'
        with open(path, 'w', encoding='ascii') as file:
            file.write('a secret')
        os.chmod(path, 0o600)
        return path

    def test_nobody_else_can_open_them(self):
        """While the guest runs there is no name by which to open one, and only QEMU has it."""
        with subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, f'--bind={self.secret()}:/work/s', '--',
                               '/bin/python3', '-c', 'print(open("s").read(), flush=True); input()'],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), b'a secret\n')
            self.assertEqual(glob.glob(f'{TEMP}/**', recursive=True), [f'{TEMP}/'])
            all_of_it = descendants(run.pid)
            qemu, = (pid for pid, line in all_of_it.items() if line[0] == b'/usr/bin/qemu')
            self.assertNotIn(b'secret', b' '.join(all_of_it[qemu]))
            if os.getuid() == 0:  # an ordinary user may not look
                state = os.stat(f'/proc/{qemu}/fd/0')
                self.assertEqual((state.st_nlink, state.st_mode & 0o7777), (0, 0o444))
                with open(f'/proc/{qemu}/fdinfo/0', encoding='ascii') as file:
                    flags = next(int(line.split()[1], 8) for line in file if line.startswith('flags:'))
                self.assertEqual(flags & os.O_ACCMODE, os.O_RDONLY)
                self.assertFalse(os.path.exists(f'/proc/{run.pid}/fd/{disks_left(run.pid, state)}'))
            run.communicate(b'\n', timeout=PATIENCE)
            self.assertEqual(run.returncode, 0)

    def test_killed_while_it_copies(self):
        """Nothing is left, and who copied ends as well."""
        os.mkdir(f'{self.folder}/large')
        with open(f'{self.folder}/large/zeros', 'wb') as file:
            file.truncate(64 << 20)
        os.chmod(f'{self.folder}/large/zeros', 0o644)
        run = subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, f'--bind={self.folder}/large:/work/l', '--',
                                '/bin/python3', '-c', ''])
        copies = []
        while not copies and run.poll() is None:
            copies = [pid for pid, line in descendants(run.pid).items() if line[0].endswith(b'mkfs.erofs')]
        self.assertIsNone(run.poll())
        pidfd = os.pidfd_open(copies[0])
        try:
            signal.pidfd_send_signal(pidfd, signal.SIGSTOP)
            run.kill()
            run.wait(PATIENCE)
            self.assertTrue(select.select([pidfd], [], [], PATIENCE)[0], 'mkfs.erofs goes on')
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)

    def test_image_of_a_file(self):
        """As mkfs.erofs takes it apart: content, mode and owner, whatever its size."""
        chance = random.Random(7)
        for size in 0, 1, 4095, 4096, 4097, 3 << 20:
            with self.subTest(size):
                path, out = f'{self.folder}/{size}', f'{self.folder}/out{size}'
                with open(path, 'wb') as file:
                    file.write(chance.randbytes(size))
                os.chmod(path, 0o640)
                made = disks.Disks(Plan, [path], None, None)
                with open(f'{self.folder}/image', 'wb') as file:
                    with open(made.take_stdin(), 'rb') as copies:
                        shutil.copyfileobj(copies, file)
                    self.assertEqual(made.parts, [(0, file.tell())])
                    self.assertEqual(file.tell() % 4096, 0)
                told = subprocess.run(['/usr/bin/fsck.erofs', f'--extract={out}', f'{self.folder}/image'],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
                with open(path, 'rb') as wanted, open(f'{out}/file', 'rb') as found:
                    self.assertEqual(found.read(), wanted.read())
                said = subprocess.check_output(['/usr/bin/dump.erofs', '--path=/file', f'{self.folder}/image'], text=True)
                self.assertRegex(said, rf'Uid: {os.getuid()} +Gid: {os.getgid()} +Access: 0640/')

    def test_many(self):
        """Each is in a part of its own, of one file that has no name."""
        os.mkdir(f'{self.folder}/d')
        for name in 'a', 'd/b', 'c':
            with open(f'{self.folder}/{name}', 'w', encoding='ascii') as file:
                file.write(name * 1000)
        made = disks.Disks(Plan, [f'{self.folder}/{name}' for name in ('d', 'a', 'd', 'c')], None, None)
        self.assertEqual(made.words, [f'vd{"abcd"[i]} /given/{i}' for i in range(4)])
        with open(made.take_stdin(), 'rb') as copies:
            state = os.fstat(copies.fileno())
            self.assertEqual((state.st_nlink, state.st_mode & 0o7777), (0, 0o444))
            for number, (at, size) in enumerate(made.parts):
                self.assertIn(f'file=/dev/stdin,offset={at},size={size}', made.files())
                with open(f'{self.folder}/image{number}', 'wb') as file:
                    file.write(os.pread(copies.fileno(), size, at))
                subprocess.run(['/usr/bin/fsck.erofs', f'{self.folder}/image{number}'], check=True, capture_output=True)
        self.assertEqual(sum(made.parts[-1]), state.st_size)

    def test_no_room(self):
        with mock.patch.object(shutil, 'copyfileobj', side_effect=OSError(28, 'No space left on device')), \
                self.assertRaisesRegex(Failed, f'^copy {self.secret()} into {tempfile.gettempdir()}, or where TMPDIR says: No space left'):
            disks.Disks(Plan, [self.secret()], None, None)


def disks_left(pid, state):
    """The fd of a process that is the file of @state, or none's."""
    for number in os.listdir(f'/proc/{pid}/fd'):
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(f'/proc/{pid}/fd/{number}')
            if (found.st_dev, found.st_ino) == (state.st_dev, state.st_ino):
                return number
    return 'none'


class Image(Scene):
    def build(self):
        """A folder that looks like one of a build."""
        home = f'{self.folder}/build'
        os.makedirs(f'{home}/rootfs')
        for name in ('stepjail', 'stepjail-init', 'stepjail-vm-init', 'stepjail-vm-egress', 'stepjail-vm-ram.so',
                     'rootfs/core.sha256.sum'):
            with open(f'{home}/{name}', 'w', encoding='ascii') as file:
                file.write(name)
        os.mkdir(f'{home}/guest')
        image.write_json(f'{home}/guest/info.json', {'source': image.source_key(home),
                                                     'marks': image.marks(image.source_files(home))})
        return home

    def test_copied(self):
        """A build that was copied with its image is the same build; it is read once."""
        home = self.build()
        shutil.copytree(home, copy := f'{self.folder}/copy')
        self.assertEqual(image.find(copy)[0], f'{copy}/guest')
        with mock.patch.object(image, 'digest', side_effect=AssertionError('it is read again')):
            place, info = image.find(copy)
        with open(f'{place}/info.json', encoding='utf-8') as file:
            self.assertEqual(json.load(file), info)
        self.assertEqual(os.listdir(place), ['info.json'])
        for name in 'stepjail-init', 'rootfs/core.sha256.sum':
            with self.subTest(name), open(f'{copy}/{name}', 'r+', encoding='ascii') as file:
                file.write('X')
                file.flush()
                with self.assertRaisesRegex(Failed, 'is of another build of stepjail, or of QEMU: run stepjail vm build'):
                    image.find(copy)
                file.seek(0)
                file.write(name[0])

    def make(self, home, make_template):
        """stepjail vm build, but for what takes time, with a tree that has one file."""
        os.makedirs(f'{home}/rootfs/core', exist_ok=True)
        with open(f'{home}/rootfs/core.sha256', 'w', encoding='ascii') as file:
            file.write('list')
        for name in 'vmlinuz-6', 'deb':
            os.makedirs(f'{self.folder}/boot', exist_ok=True)
            with open(f'{self.folder}/boot/{name}', 'wb') as file:
                file.write(b'x')
        with mock.patch.multiple(image, missing=list, make_qemu=lambda home, to: os.mkdir(to), unpack_kernel=bytes,
                                 fetch_kernel=lambda work, place: (self.folder, '6', f'{self.folder}/boot/deb'),
                                 take_modules=lambda tree, version: [], qemu_version=lambda: '7'):
            image.build(home, 1 << 20, make_template, lambda line: None)

    def test_built(self):
        """In a folder that is closed to others; what builds that were killed have left is removed."""
        home = self.build()
        os.makedirs(f'{home}/guest.new.1/guest')
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)

        def make_template(_home, place, memory):
            self.assertEqual(os.stat(os.path.dirname(place)).st_mode & 0o7777, 0o700)
            self.assertEqual([os.path.dirname(place)], glob.glob(f'{home}/guest.*'))
            return {'memory': memory}

        self.make(home, make_template)
        self.assertEqual(glob.glob(f'{home}/guest*'), [f'{home}/guest'])
        for name, mode in ('', 0o755), ('core.erofs', 0o644), ('initrd', 0o644):  # QEMU's id may read them
            self.assertEqual(os.stat(f'{home}/guest/{name}').st_mode & 0o7777, mode, name)
        self.assertEqual(image.find(home)[0], f'{home}/guest')

        def fails(_home, _place, _memory):
            raise Failed('no')

        kept = os.stat(f'{home}/guest').st_ino
        with self.assertRaises(Failed):
            self.make(home, fails)
        self.assertEqual((glob.glob(f'{home}/guest*'), os.stat(f'{home}/guest').st_ino), ([f'{home}/guest'], kept))

    def test_killed_while_a_template_is_made(self):
        """Its guest ends with who builds, and does not wait for ever."""
        place = f'{self.folder}/guest'
        os.mkdir(place)
        for name in 'kernel', 'initrd', 'qemu', 'core.erofs':
            os.symlink(os.path.abspath(f'{BUILD}/guest/{name}'), f'{place}/{name}')
        code = 'import sys\nsys.path.insert(0, sys.argv[1])\nfrom stepjail_vm import guest\n' \
               'guest.make_template(*sys.argv[2:], 256 << 20)'
        run = subprocess.Popen([sys.executable, '-c', code, sys.path[0], os.path.abspath(BUILD), place])
        found = {}
        while run.poll() is None and not any(line[0] == b'/usr/bin/qemu' for line in found.values()):
            found = descendants(run.pid)
        self.assertIsNone(run.poll())
        fds = []
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                fds.append(os.pidfd_open(pid))
        run.kill()
        run.wait(PATIENCE)
        for fd in fds:
            self.assertTrue(select.select([fd], [], [], PATIENCE)[0])
            os.close(fd)

    @unittest.skipIf(os.getuid(), 'root alone writes into folders of others')
    def test_of_another(self):
        """Nothing is written into a folder of somebody else, who could have put a link there."""
        home = self.build()
        os.utime(f'{home}/stepjail', (1, 1))
        before = os.stat(f'{home}/guest/info.json').st_ino
        os.chown(f'{home}/guest', 1234, 1234)
        with contextlib.suppress(Failed):
            image.find(home)
        os.chown(home, 1234, 1234)
        image.find(home)
        self.assertEqual(os.stat(f'{home}/guest/info.json').st_ino, before)

    def test_no_python(self):
        """stepjail-vm is there, and the program of its first line is not."""
        new = ['unshare', '--mount', *(['--map-root-user'] if os.geteuid() else []), 'sh', '-c',
               'mount -t tmpfs none /usr/bin; exec "$@"', 'sh']
        for words in ['run', *OPTIONS, '--', '/bin/python3'], ['serve', *OPTIONS], ['check', *OPTIONS], ['vm', 'build']:
            with socket.socket(socket.AF_UNIX) as client:
                done = subprocess.run([*new, f'{os.path.abspath(BUILD)}/stepjail', *words], capture_output=True, text=True,
                                      stdin=client, timeout=PATIENCE, check=False)
            self.assertEqual((done.returncode, done.stdout), (125, ''))
            self.assertRegex(done.stderr, r'^stepjail: --wall vm: .*/stepjail-vm needs /usr/bin/python3, which is missing: '
                                          r'as root: apt-get install python3\n$')


class Told(Scene):
    def test_no_cgroup(self):
        """The jail of QEMU's cannot be made: that is said, and not that a guest has ended."""
        done = subprocess.run([f'{BUILD}/stepjail', 'run', '--rootfs=core', '--', '/bin/python3', '-c', ''],
                              capture_output=True, text=True, check=False, env={})
        if CGROUP not in done.stderr:
            self.skipTest('this host has cgroup v2')
        cause = done.stderr.strip()
        done = subprocess.run([f'{BUILD}/stepjail', 'run', '--wall=vm', '--', '/bin/python3', '-c', ''],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (125, ''))
        self.assertEqual(done.stderr, f'stepjail: --wall vm: {cause.removeprefix("stepjail: ")} '
                                      "(that is QEMU's own jail, without which there is no guest)\n")
        done = subprocess.run([f'{BUILD}/stepjail', 'check', '--wall=vm'], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, ''))
        self.assertRegex(done.stdout, rf'(?m)^missing  a jail for QEMU       cgroup v2: cgroup: {CGROUP}')

    def act(self, *words):
        """(status, stderr) of stepjail-vm, in this process."""
        with contextlib.redirect_stderr(io.StringIO()) as told:
            return command.act(os.path.abspath(BUILD), list(words)), told.getvalue()

    def test_errors_of_the_system(self):
        """One line each, and no traceback."""
        for error, said in ((PermissionError(13, 'Permission denied', '/a/file'), '/a/file: Permission denied'),
                            (OSError(28, 'No space left on device'), 'No space left on device'),
                            (OSError(18, 'Invalid cross-device link', '/a', None, '/b'), '/a: /b: Invalid cross-device link'),
                            (Failed('a line'), 'a line')):
            with self.subTest(said), mock.patch.object(image, 'build', side_effect=error):
                self.assertEqual(self.act('build'), (125, f'stepjail: vm: {said}\n'))

    def test_stdout(self):
        """A full one is told; who reads no more is no failure."""
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([f'{BUILD}/stepjail', 'vm', '--help'], stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual((done.returncode, done.stderr), (125, 'stepjail: vm: write to stdout: No space left on device\n'))
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, 'wb') as gone:
            done = subprocess.run([f'{BUILD}/stepjail', 'vm', '--help'], stdout=gone, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_template_whose_qemu_ends(self):
        """What it, or its jail, has said is on the console; each time the pipe breaks elsewhere."""
        greeting = b'{"QMP": {}}\n'
        for said, sent in ((b'stepjail: rootfs: /x: No such file or directory\n', b''),
                           (b'qemu: \x1b[1mno\n\n', greeting), (b'Kernel panic\r\n', greeting + b'{"return": {}}\n'),
                           (b'', b'')):
            with self.subTest(said):
                pairs = [socket.socketpair() for _ in range(3)]
                for each, _ in pairs:
                    self.addCleanup(each.close)
                port, console, monitor = (pair[1] for pair in pairs)

                def end(port=port, console=console, monitor=monitor, said=said, sent=sent):
                    monitor.sendall(sent)
                    console.sendall(said)
                    if sent.endswith(b'{}}\n'):
                        monitor.recv(1000)
                    for each in (port, console, monitor):
                        each.close()

                guest = threading.Thread(target=end)
                guest.start()
                last = {b's': 'stepjail: rootfs: /x: No such file or directory', b'q': 'qemu: ?[1mno', b'K': 'Kernel panic',
                        b'': ''}[said[:1]]
                with self.assertRaises(Failed) as caught:
                    template.make(tempfile.mkdtemp(dir=self.folder), 4096,
                                  lambda pairs=pairs: (subprocess.Popen('true'), *(pair[0] for pair in pairs)), [])
                guest.join()
                self.assertRegex(str(caught.exception),
                                 '^the guest that was to be the template: it has ended(?: at its start)?')
                self.assertTrue(str(caught.exception).endswith(f'; its last line: {last}' if last else 'ended'))

    def test_missing_package(self):
        with mock.patch.object(image, 'TOOLS', {'/nonexistent': 'a-package'}):
            status, said = self.act('build')
        self.assertEqual((status, said), (125, 'stepjail: vm: missing: a-package: as root: apt-get install '
                                               '--no-install-recommends a-package\n'))


if __name__ == '__main__':
    unittest.main()
