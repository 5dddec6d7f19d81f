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
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from intruder_scene import LAND, SIGNAL, TCP, Intruder  # noqa: E402
from serve_client import BUILD, Gone, Serve  # noqa: E402
from serve_scene import OPTIONS, below, is_interpreter  # noqa: E402

OBEY = f'{BUILD}/stepjail-obey'
ROOT = os.geteuid() == 0

# What stops each attack, beside the filter, where it stands alone. Root's change of ids takes the
# capabilities along; an ordinary user has no ids to give up, but capabilities in the user
# namespace around all jails.
IDS, CAPS = ({'ids'}, {'ids', 'capabilities'}) if ROOT else (set(), {'capabilities'})
AWAY = {'root'}
# whoever owns a jail's user namespace needs no capability to reach into it
SIGNAL = SIGNAL | IDS
ATTACKS = {
    'open': LAND | AWAY | IDS,
    'write': LAND | AWAY | IDS,
    'unix': AWAY | IDS,
    'tcp': TCP,
    'kill': SIGNAL, 'tkill': SIGNAL, 'tgkill': SIGNAL, 'pidfd': SIGNAL,
    'getfd': LAND | IDS, 'ptrace': LAND | IDS, 'readv': LAND | IDS,
    'code': set(),
    'fork': set(),
    'chroot': AWAY | CAPS,
    'mount': LAND | AWAY | IDS,
    'exec': LAND | AWAY | IDS,
}
# By the one fd that the filter lets a path be opened below. Memory is root's to try alone: no
# process of a session is dumpable, so its file is not an ordinary user's.
UNFILTERED = {'openat': LAND | AWAY | IDS} | ({'memory': LAND | CAPS} if ROOT else {})


def inner(pid):
    """A host pid as the PID namespace around all jails counts."""
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        line = next(line for line in file if line.startswith('NSpid:'))
    return int(line.split()[2])


@unittest.skipUnless(os.access(OBEY, os.X_OK), f'lacks {OBEY}')
class Obeyed(Intruder, unittest.TestCase):
    """The supervisor does what an intruder in it would do."""

    walls = ('ids', 'capabilities', 'landlock', 'root', 'filter')
    stops = ATTACKS | UNFILTERED
    unfiltered = UNFILTERED
    refused = (*Intruder.refused, errno.ENOENT)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.open_targets()

    def obey(self, lacks, attacks):
        return {attack: self.obey_one(lacks, attack) for attack in attacks}

    def obey_one(self, lacks, attack):
        """In a serve of its own; the victim is a process of another session."""
        if lacks:
            os.environ['STEPJAIL_LACKS'] = ','.join(lacks)
        try:
            serve = Serve(OPTIONS + ['--cold'], [OBEY, 'serve'])
        finally:
            os.environ.pop('STEPJAIL_LACKS', None)
        other = serve.open()
        address = other.run('secret = [1]\nid(secret)').result  # where it is
        jail = below(serve.process.pid)
        victim = inner([pid for pid in jail if is_interpreter(pid)][-1])
        session = serve.open()
        order = self.order(attack, victim, int(address))
        session.start(f'import os; os.write(1, b"{order}")')
        # what has changed into another program is ended, and says nothing
        with contextlib.suppress(Gone):
            session.finish()
        status, said = serve.end()
        obeyed = re.search(rf'obeyed {attack}: (\d+)', said)
        if attack == 'exec' and not obeyed:
            return 0
        self.assertEqual(status, 0, said)
        return int(obeyed[1])


if __name__ == '__main__':
    unittest.main()
