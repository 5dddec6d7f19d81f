#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_supervisor.py - who takes over the supervisor of sessions gains nothing

build/stepjail-obey is stepjail, but that its supervisor obeys what a step prints (obey.c). The
attacks are tried with the whole confinement, without it, and with each of its walls alone and
left out, so that the table says which wall stops what. See test_watcher.py, which does the same
to `run`. Run by tests/integration/run, as root and as an ordinary user.
"""
import contextlib
import errno
import os
import re
import shutil
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD, Gone, Serve  # noqa: E402
from serve_scene import OPTIONS, below, is_interpreter  # noqa: E402
from test_posture import landlock_abi  # noqa: E402

OBEY = f'{BUILD}/stepjail-obey'
ROOT = os.geteuid() == 0
ABI = landlock_abi()
WALLS = ('ids', 'capabilities', 'landlock', 'root', 'filter')

# What stops each attack, beside the filter, where it stands alone. Root's change of ids takes the
# capabilities along; an ordinary user has no ids to give up, but capabilities in the user
# namespace around all jails.
IDS, CAPS = ({'ids'}, {'ids', 'capabilities'}) if ROOT else (set(), {'capabilities'})
LAND, AWAY = {'landlock'}, {'root'}
# whoever owns a jail's user namespace needs no capability to reach into it
SIGNAL = (LAND if ABI >= 6 else set()) | IDS
ATTACKS = {
    'open': LAND | AWAY | IDS,
    'write': LAND | AWAY | IDS,
    'unix': AWAY | IDS,
    'tcp': LAND if ABI >= 4 else set(),
    'kill': SIGNAL, 'tkill': SIGNAL, 'tgkill': SIGNAL, 'pidfd': SIGNAL,
    'getfd': LAND | IDS, 'ptrace': LAND | IDS, 'readv': LAND | IDS,
    'code': set(),
    'fork': set(),
    'chroot': AWAY | CAPS,
    'mount': LAND | AWAY | IDS,
    'exec': LAND | AWAY | IDS,
}
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOENT)


def inner(pid):
    """A host pid as the PID namespace around all jails counts."""
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        line = next(line for line in file if line.startswith('NSpid:'))
    return int(line.split()[2])


@unittest.skipUnless(os.access(OBEY, os.X_OK), f'lacks {OBEY}')
class Obeyed(unittest.TestCase):
    """The supervisor does what an intruder in it would do."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text, mode in ('secret', 'secret', 0o600), \
                ('program', '#!/bin/sh\n', 0o700):
            with open(f'{self.folder}/{name}', 'w', encoding='utf-8') as file:
                file.write(text)
            os.chmod(f'{self.folder}/{name}', mode)
        os.mkdir(f'{self.folder}/mount')
        self.tcp = socket.create_server(('127.0.0.1', 0), backlog=100)
        self.addCleanup(self.tcp.close)
        self.unix = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.unix.close)
        self.unix.bind(f'{self.folder}/socket')
        os.chmod(f'{self.folder}/socket', 0o700)
        self.unix.listen(100)

    def order(self, attack, victim, address):
        """What a step writes; the victim is a process of another session."""
        place = {'open': 'secret', 'write': 'secret', 'exec': 'program', 'unix': 'socket',
                 'mount': 'mount', 'chroot': 'mount'}.get(attack)
        number = {'tcp': self.tcp.getsockname()[1], 'readv': address}.get(attack, 0)
        argument = f'{self.folder}/{place}' if place else str(victim)
        return f'import os; os.write(1, b"\\1OBEY {attack} {argument} {number}\\n")'

    def obey(self, lacks, attack):
        """In a serve of its own. Return: the errno, or 0."""
        if lacks:
            os.environ['STEPJAIL_LACKS'] = ','.join(lacks)
        try:
            serve = Serve(OPTIONS + ['--cold', '--ready=0'], [OBEY, 'serve'])
        finally:
            os.environ.pop('STEPJAIL_LACKS', None)
        other = serve.open()
        address = other.run('secret = [1]\nid(secret)').result  # where it is
        jail = below(serve.process.pid)
        victim = inner([pid for pid in jail if is_interpreter(pid)][-1])
        session = serve.open()
        session.start(self.order(attack, victim, int(address)))
        # what has changed into another program is ended, and says nothing
        with contextlib.suppress(Gone):
            session.finish()
        status, said = serve.end()
        obeyed = re.search(rf'obeyed {attack}: (\d+)', said)
        if attack == 'exec' and not obeyed:
            return 0
        self.assertEqual(status, 0, said)
        return int(obeyed[1])

    def expect(self, stands):
        """With these walls alone."""
        lacks = [wall for wall in WALLS if wall not in stands]
        for attack, stops in ATTACKS.items():
            stops = (stops | {'filter'}) & set(stands)
            with self.subTest(attack=attack, stands=stands):
                got = self.obey(lacks, attack)
                if stops:
                    self.assertIn(got, REFUSED, sorted(stops))
                else:
                    self.assertEqual(got, 0, os.strerror(got))

    def test_all_are_refused(self):
        for attack in ATTACKS:
            with self.subTest(attack=attack):
                self.assertEqual(self.obey((), attack), errno.EPERM)

    def test_without_confinement_all_succeed(self):
        self.expect(())

    def test_each_wall_alone(self):
        for wall in WALLS:
            if wall != 'landlock' or ABI:
                self.expect((wall,))

    def test_each_wall_left_out(self):
        for left_out in WALLS:
            if left_out != 'landlock' or ABI:
                self.expect(tuple(wall for wall in WALLS if wall != left_out))


if __name__ == '__main__':
    unittest.main()
