#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--wall vm, clones of a template: each is a guest of its own, and none can change the template."""
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../jail/vm'))

from serve_client import BUILD, Serve, descendants  # noqa: E402
from stepjail_vm import Failed, template  # noqa: E402
from stepjail_vm.guest import warm_requests  # noqa: E402
from stepjail_vm.image import write_json  # noqa: E402
from test_vm import OPTIONS, PATIENCE, Scene  # noqa: E402

GUEST = f'{BUILD}/guest'
UNIQUE = """
import json, os, random, tempfile, time, uuid
print(json.dumps([os.urandom(16).hex(), os.getrandom(16).hex(), uuid.uuid4().hex, hash("a"), random.random(),
                  tempfile.mktemp(), id(object())]))
print(time.time())
"""


def files():
    """{name: digest} of the template."""
    found = {}
    for name in 'ram', 'state', 'template.json':
        with open(f'{GUEST}/{name}', 'rb') as file:
            found[name] = hashlib.file_digest(file, 'sha256').hexdigest()
    return found


class Clones(Scene):
    def clone(self, *words, cloned=True):
        done, report = self.report(*words)
        self.assertEqual((report['vm']['cloned'], report['vm']['template'] is not None), (cloned, cloned), done.stderr)
        return done, report

    def test_each_is_one_of_its_own(self):
        said = []
        for _ in range(2):
            done, report = self.clone('--', '/bin/python3', '-c', UNIQUE)
            self.assertEqual((done.returncode, done.stderr, report['verdict']), (0, b'', 'completed'))
            values, now = done.stdout.decode().splitlines()
            said.append(json.loads(values))
            self.assertLess(abs(float(now) - time.time()), 60)
        for first, second in zip(*said):
            self.assertNotEqual(first, second)

    def test_in_sessions(self):
        with Serve([*OPTIONS, '--rootfs=core']) as first, Serve([*OPTIONS, '--rootfs=core']) as second:
            drawn = [serve.open().run('import os, random\nprint(os.urandom(8).hex(), random.random(), hash("a"))').out
                     for serve in (first, second)]
            self.assertEqual(len(set(b' '.join(drawn).split())), 6, drawn)

    def test_as_when_booted(self):
        """Another --vm-memory is none of the template's."""
        for code, options, verdict in (
                ('x = bytearray(200 << 20)', ['--memory=64M'], 'memory'),
                ('while True: pass', ['--wall-time=1s'], 'wall-timeout'),
                ('import os; os.kill(os.getpid(), 11)', [], 'signaled'),
                ('import sys; print(sys.path, file=sys.stderr); sys.exit(3)', [], 'exited')):
            told = []
            for memory in '768M', '800M':
                with self.subTest(verdict, memory=memory):
                    done, report = self.clone(f'--vm-memory={memory}', *options, '--', '/bin/python3', '-c', code,
                                              cloned=memory == '768M')
                    self.assertEqual(report['verdict'], verdict)
                    told.append((done.returncode, done.stdout, done.stderr, report['signal'], report['exit_code'],
                                 report['not_enforced'], report['cgroup_limits']))
            self.assertEqual(*told)

    def test_what_boots(self):
        with open(f'{self.folder}/a', 'w', encoding='ascii') as file:
            file.write('a')
        os.chmod(f'{self.folder}/a', 0o644)
        os.chmod(self.folder, 0o755)
        done, _ = self.clone(f'--bind={self.folder}/a:/work/a', '--', '/bin/python3', '-c', 'print(open("a").read())',
                             cloned=False)
        self.assertEqual(done.stdout, b'a\n')

    def test_ten_at_once(self):
        before = files()
        # ten guests at once may be slow where the host is busy
        running = [subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, '--wall-time=10m', f'--report={self.folder}/{i}', '--',
                                     '/bin/python3', '-c', f'print(sum(bytearray(b"x" * (40 << 20)))); import sys; sys.exit({i})'],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(10)]
        told = [(*each.communicate(timeout=PATIENCE), each.returncode) for each in running]
        self.assertEqual(told, [(b'%d\n' % (ord('x') * (40 << 20)), b'', i) for i in range(10)])
        for i in range(10):
            with open(f'{self.folder}/{i}', encoding='utf-8') as file:
                self.assertTrue(json.load(file)['vm']['cloned'])
        self.assertEqual(files(), before)

    def test_memory_is_read_alone(self):
        """QEMU has the template's file open to read, and maps it privately."""
        with subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, '--', '/bin/python3', '-c',
                               'print("on", flush=True); input()'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), b'on\n')
            ram, maps = os.stat(f'{GUEST}/ram'), []
            for pid in filter(str.isdigit, os.listdir('/proc')):
                try:
                    with open(f'/proc/{pid}/maps', encoding='ascii', errors='replace') as file:
                        maps += [(pid, line.split()[1]) for line in file if line.split()[4:5] == [str(ram.st_ino)] and
                                 line.rstrip().endswith('/vm/ram')]
                except OSError:
                    continue
            if os.geteuid() == 0:  # an ordinary user may not look
                self.assertEqual({mode for _, mode in maps}, {'rw-p'})
            run.communicate(b'\n', timeout=PATIENCE)
            self.assertEqual(run.returncode, 0)

    def test_files_are_the_makers(self):
        """Nobody else may write to what every clone is, or to its folder."""
        for name in '', 'ram', 'state', 'template.json':
            stat = os.stat(f'{GUEST}/{name}')
            self.assertEqual((stat.st_mode & 0o022, stat.st_uid), (0, os.stat(GUEST).st_uid), name)
        if os.geteuid() != os.stat(GUEST).st_uid:
            for name in 'ram', 'state', 'template.json':
                with self.assertRaises(PermissionError), open(f'{GUEST}/{name}', 'ab'):
                    pass

    def test_qemu_killed_at_any_time(self):
        """A run has ended whole, or says that its guest has failed; nothing is left."""
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        for turn in range(6):
            path = f'{self.folder}/{turn}'
            run = subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, f'--report={path}', '--', '/bin/python3', '-c',
                                    'import time; print("a", flush=True); time.sleep(0.2); print("b")'],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(chance.uniform(0, 1.5))
            killed = [pid for pid, line in descendants(run.pid).items() if line[0] == b'/usr/bin/qemu']
            for pid in killed:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            out, said = run.communicate(timeout=PATIENCE)
            with self.subTest(seed=seed, turn=turn), open(path, encoding='utf-8') as file:
                told = (run.returncode, json.load(file)['verdict'])
                if told != (125, 'launcher-error') or not killed:
                    self.assertEqual((*told, out), (0, 'completed', b'a\nb\n'), said)

    def test_changed(self):
        """One that is not as it was made is refused, and not booted around; one that was only copied is read once."""
        for name in template.FILES:
            with open(f'{self.folder}/{name}', 'wb') as file:
                file.write(b'x')
        self.assertIsNone(template.find(self.folder))
        digests = {name: hashlib.sha256(b'x').hexdigest() for name in template.FILES}
        known = {'marks': template.marks(self.folder), 'sha256': digests}
        write_json(f'{self.folder}/template.json', known)
        self.assertEqual(template.find(self.folder), known)
        for act in (lambda path: os.utime(path, ns=(1, 1)),
                    lambda path: (os.rename(path, f'{path}.old'), shutil.copy(f'{path}.old', path))):
            act(f'{self.folder}/state')
            self.assertNotEqual(template.marks(self.folder), known['marks'])
            known = {'marks': template.marks(self.folder), 'sha256': digests}
            self.assertEqual(template.find(self.folder), known)
            with open(f'{self.folder}/template.json', encoding='utf-8') as file:
                self.assertEqual(json.load(file), known)
        for name in template.FILES:
            path = f'{self.folder}/{name}'
            for act in (lambda path=path: os.truncate(path, 2), lambda path=path: (os.truncate(path, 0), os.truncate(path, 1)),
                        lambda path=path: os.unlink(path)):
                with self.subTest(name, act=act):
                    act()
                    with self.assertRaisesRegex(Failed, 'run stepjail vm build'):
                        template.find(self.folder)
            with open(path, 'wb') as file:
                file.write(b'x')
        with open(f'{self.folder}/template.json', 'w', encoding='ascii') as file:
            file.write('[')
        with self.assertRaisesRegex(Failed, 'cannot be read .*run stepjail vm build'):
            template.find(self.folder)

    def make(self, mute):
        """What a guest that is made a template is asked, of two trees; @mute: the request at which it ends."""
        asked, pairs = [], [socket.socketpair() for _ in range(3)]
        port, console, monitor = (pair[1] for pair in pairs)

        def guest():
            while True:
                port.sendall(template.READY)
                if not (length := port.recv(4)):
                    return
                asked.append(port.recv(struct.unpack('<I', length)[0], socket.MSG_WAITALL).split(b'\0'))
                if len(asked) == mute:
                    console.sendall(b'no such tree')
                    port.close()
                    return
                port.sendall(template.TAKEN)

        def qmp():
            monitor.sendall(b'{"QMP": {}}\n')
            while monitor.recv(4096):
                monitor.sendall(b'{"return": {"status": "completed"}}\n')

        threads = [threading.Thread(target=each) for each in (guest, qmp)]
        for each in threads:
            each.start()
        try:
            template.make(tempfile.mkdtemp(dir=self.folder), 4096,
                          lambda: (subprocess.Popen('true'), *(pair[0] for pair in pairs)), warm_requests(['core', 'data']))
        finally:
            for pair in pairs:
                pair[0].shutdown(socket.SHUT_RDWR)
            for each in threads:
                each.join(PATIENCE)
            for pair in pairs:
                for each in pair:
                    each.close()
        return asked

    def test_warmed(self):
        """A template runs Python in each of its trees before it is kept, or is none."""
        for request, disk, tree in zip(self.make(0), (b'vda', b'vdb'), (b'core', b'data'), strict=True):
            self.assertEqual(request[:6], [b'warm', b'', b'disk', disk + b' /stepjail/rootfs/' + tree, b'command', b'run'])
            self.assertIn(b'rootfs ' + tree + b'\n', request[7])
        for mute in 1, 2:
            with self.assertRaisesRegex(Failed, 'the template: it has ended at its start; its last line: no such tree$'):
                self.make(mute)

    def test_ended(self):
        """A QEMU that has ended at once says why on its console, and to nobody else."""
        ours, its = socket.socketpair()
        its.close()
        with ours:
            template.wake(ours, GUEST, template.find(GUEST))

    def test_told(self):
        said = subprocess.check_output([f'{BUILD}/stepjail', 'check', *OPTIONS], text=True)
        self.assertRegex(said, r'(?m)^ok +template +guests of 768M are its clones$')
        _, report = self.clone('--', '/bin/python3', '-c', '')
        self.assertEqual(sorted(report['vm']['template']), ['ram', 'state'])
        self.assertTrue(all(re.fullmatch('[0-9a-f]{64}', text) for text in report['vm']['template'].values()))
        self.assertEqual({name: files()[name] for name in ('ram', 'state')}, report['vm']['template'])


if __name__ == '__main__':
    unittest.main()
