#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--wall vm, what is done on the host: copies of the caller's files are nobody's, an image that was copied is taken,
and what fails is told in one line."""
import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../jail/vm'))

from serve_client import BUILD  # noqa: E402
from stepjail_vm import Failed, command, image, template  # noqa: E402
from test_vm import OPTIONS, PATIENCE, Scene  # noqa: E402

CGROUP = '/sys/fs/cgroup is not cgroup v2'


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
