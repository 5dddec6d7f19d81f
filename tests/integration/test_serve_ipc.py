#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: System V objects and POSIX message queues of steps, sessions and the host.

By default no step gets at any; where a policy allows the calls, a session is one namespace of
them, of which nobody outside sees anything and nothing is left. ipc.c makes them and looks for
them. Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_scene import Case, is_alive, wait_until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = ('shmget', 'shmat', 'shmdt', 'shmctl', 'semget', 'semctl', 'msgget', 'msgsnd', 'msgrcv',
         'msgctl', 'mq_open', 'mq_timedsend', 'mq_timedreceive', 'mq_unlink')
KINDS = ('shm', 'sem', 'msg', 'mq', 'objects')
NOTHING = dict.fromkeys(KINDS, 'ENOENT') | {'objects': '0 0 0'}
folder = None


def setUpModule():
    global folder
    folder = tempfile.mkdtemp(prefix='stepjail-ipc-')
    os.chmod(folder, 0o755)
    subprocess.run(['gcc', '-O1', '-static', '-Wall', '-Wextra', '-D_GNU_SOURCE', '-o',
                    f'{folder}/ipc', f'{HERE}/ipc.c'], check=True)


def tearDownModule():
    shutil.rmtree(folder)


def holds(word):
    """What there is once it is made; queues with names cannot be: RLIMIT_MSGQUEUE is 0."""
    return {'shm': word, 'sem': '42', 'msg': word, 'objects': '1 1 1'}


def said(text):
    return dict(line.split(' ', 1) for line in text.splitlines())


def members(space):
    """Processes in an IPC namespace, of those that may be looked at."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.readlink(f'/proc/{pid}/ns/ipc') == f'ipc:[{space}]':
                found.append(int(pid))
        except OSError:
            pass
    return found


class Ipc(Case):
    def setUp(self):
        self.options = ['--lock-code=no', f'--bind={folder}:/mnt', *self.more]
        self.key = str(random.randrange(1 << 20, 1 << 30))
        super().setUp()

    def step(self, session, *words, branch=0):
        step = session.run(f'import subprocess\nprint(subprocess.run(["/mnt/ipc", *{words!r}], '
                           'capture_output=True, text=True, check=True).stdout)', branch)
        self.ended(step, 'completed', 'kept', violation=None)
        return said(step.out.decode().strip())

    def host(self, *words):
        done = subprocess.run([f'{folder}/ipc', *words], capture_output=True, text=True, check=True)
        return said(done.stdout)

    def made_by_host(self):
        self.addCleanup(self.host, 'remove', self.key)
        made = self.host('make', self.key, 'of-the-host')
        self.assertEqual([made[kind] for kind in KINDS[:4]],
                         ['of-the-host', '42', 'of-the-host', 'of-the-host'])


class Refused(Ipc):
    more = []

    def test_by_default(self):
        self.made_by_host()
        session = self.serve.open()
        for act in ['make', self.key, 'word'], ['look', self.key]:
            self.assertEqual(self.step(session, *act), dict.fromkeys(KINDS, 'EPERM'))


class Allowed(Ipc):
    more = [f'--allow-syscall={call}' for call in CALLS]

    def test_the_hosts_are_not_there(self):
        self.made_by_host()
        session = self.serve.open()
        self.assertEqual(self.step(session, 'look', self.key), NOTHING)
        # nor do they stand in the way of one's own
        self.assertEqual(self.step(session, 'make', self.key, 'word'),
                         holds('word') | {'mq': 'EMFILE'})
        self.assertEqual(self.step(session, 'look', self.key), holds('word') | {'mq': 'ENOENT'})
        self.step(session, 'remove', self.key)
        self.assertEqual(self.step(session, 'look', self.key), NOTHING)
        self.assertEqual(self.host('look', self.key)['shm'], 'of-the-host')

    def test_the_steps_of_a_session_share_theirs(self):
        session = self.serve.open()
        self.step(session, 'make', self.key, 'word')
        there = holds('word') | {'mq': 'ENOENT'}
        self.assertEqual(self.step(session, 'look', self.key), there)
        session.branch(1, 0)
        self.assertEqual(self.step(session, 'look', self.key, branch=1), there)

    def test_other_sessions_have_none_of_them(self):
        first, second = self.serve.open(), self.serve.open()
        self.step(first, 'make', self.key, 'first')
        third = self.serve.open()
        for session in second, third:
            self.assertEqual(self.step(session, 'look', self.key), NOTHING)
        self.step(second, 'make', self.key, 'second')
        self.assertEqual(self.step(first, 'look', self.key), holds('first') | {'mq': 'ENOENT'})
        self.assertEqual(self.step(second, 'look', self.key), holds('second') | {'mq': 'ENOENT'})
        self.assertEqual({kind: self.host('look', self.key)[kind] for kind in KINDS[:4]},
                         {kind: 'ENOENT' for kind in KINDS[:4]})

    def test_nothing_survives(self):
        session = self.serve.open()
        self.step(session, 'make', self.key, 'word')
        pids = members(session.opened['posture']['namespaces']['ipc']['jail'])
        self.assertGreater(len(pids), 1)
        session.close()
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))))
        for _ in range(4):
            self.assertEqual(self.step(self.serve.open(), 'look', self.key), NOTHING)
        self.assertEqual(self.host('look', self.key)['shm'], 'ENOENT')


class Cold(Allowed):
    more = [*Allowed.more, '--cold']


if __name__ == '__main__':
    unittest.main()
