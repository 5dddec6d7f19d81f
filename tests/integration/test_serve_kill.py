#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_kill.py - SIGKILL to each process of serve, at each stage: nothing of it is left

A stage is held by what it waits for, and not found by a moment: a template or a spawner that
is stopped, a step that sleeps, a file whose end does not come. What ends serve ends every
process below it; where it goes on without the process that was killed, its client ends it.
Then no process, no mount, no cgroup leaf and no lock on a pair of ids may be left.
Run by tests/integration/run, as root and as an ordinary user.
"""
import contextlib
import fcntl
import os
import select
import signal
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD, Serve  # noqa: E402
from serve_scene import OPTIONS, PATIENCE, wait_until  # noqa: E402
from test_kill import (SLOTS, adopt_orphans, cgroup_leaves, children,  # noqa: E402
                       reap_orphans)

IDS_BASE = 1879048192  # ids.h


def read(pid, file):
    try:
        with open(f'/proc/{pid}/{file}', encoding='latin-1') as text:
            return text.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ''


def tree(pid):
    """This process and all below it."""
    found = [pid]
    for child in children(pid):
        found += tree(child)
    return found


def mounts():
    return set(read('self', 'mountinfo').splitlines())


def state(pid):
    """A letter, the parent, the process group; nothing when it is gone."""
    return read(pid, 'stat').rpartition(')')[2].split()[:3]


class Kills(unittest.TestCase):
    def setUp(self):
        adopt_orphans()

    # ---- who

    def named(self, *names):
        """The processes of serve with one of these names; a program says its own."""
        return [pid for pid in tree(self.serve.process.pid)
                if read(pid, 'comm').strip() in names]

    def launcher(self):
        return [self.serve.process.pid]

    def spawner(self):
        return self.named('stepjail-spawn') or self.launcher()

    def supervisor(self):
        return self.named('stepjail-superv')

    def template(self):
        """The first; those below it are its clones, which have its words."""
        return [pid for pid in tree(self.serve.process.pid)
                if '\0--template\0' in read(pid, 'cmdline')][:1]

    def spawner_and_supervisor(self):
        return self.spawner() + self.supervisor()

    def group(self):
        """All that a kill of its process group reaches, which the spawner and what is below it are apart from."""
        return [pid for pid in tree(self.serve.process.pid)
                if state(pid)[2:] == [str(self.serve.process.pid)]]

    VICTIMS = (launcher, spawner, supervisor, template, spawner_and_supervisor, group)

    # ---- when

    def stop(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            self.assertTrue(wait_until(lambda: state(pid)[:1] == ['T']), pid)
            self.stopped.append(pid)

    def starting(self):
        """A template is there, and goes no further."""
        self.assertTrue(wait_until(self.template))
        self.stop(self.template())

    def ready(self):
        """A session was made out of the template, and is gone."""
        while not (session := self.serve.open()).opened['warm']:
            session.close()
        session.close()

    def opening(self):
        """OPEN was asked for, and the template, which is stopped, does not answer."""
        self.ready()
        self.stop(self.template())
        self.serve.begin()
        self.serve.status()  # answered behind it

    def step(self):
        self.ready()
        session = self.serve.open()
        session.run('import os, time\nif os.fork() == 0: os.setsid(); time.sleep(1000)')
        session.start('print("on", flush=True)\nwhile True: pass')
        self.serve.expect(session.number, 0, 'OUT')

    def file(self):
        """A process of the session writes more than a client that does not read lets through."""
        self.ready()
        session = self.serve.open()
        session.run('open("/work/file", "wb").write(bytes(8 << 20))')
        self.serve.send('GET', session.number, struct.pack('<I', 0) + b'file')
        self.serve.expect(session.number, 0, 'DATA')

    def closing(self):
        """The supervisor has asked for the end, and the spawner, which is stopped, does nothing."""
        self.ready()
        session = self.serve.open()
        session.run('1')
        self.stop(self.spawner())
        self.serve.send('CLOSE', session.number)
        self.serve.status()

    STAGES = (starting, ready, opening, step, file, closing)

    # ----

    def locked(self):
        """Which pairs of ids are locked, as far as this user may ask."""
        if os.geteuid() != 0:
            return set()
        found = set()
        for pid in tree(self.serve.process.pid):
            first = int((read(pid, 'uid_map').split() or ['', '0'])[1])
            if first >= IDS_BASE:
                found.add((first - IDS_BASE) // 2)
        return {slot for slot in found if self.is_locked(slot)}

    @staticmethod
    def is_locked(slot):
        with open(SLOTS, 'r+b') as slots:
            try:
                fcntl.fcntl(slots, fcntl.F_OFD_SETLK,
                            struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, slot, 1, 0))
            except OSError:
                return True
        return False

    def kill_at(self, stage, victim):
        self.stopped, before, leaves = [], mounts(), cgroup_leaves()
        self.serve = Serve(OPTIONS, ['setsid', f'{BUILD}/stepjail', 'serve'])
        self.assertTrue(wait_until(self.supervisor))
        try:
            self.strike(stage, victim, before, leaves)
        finally:  # of a test that fails, too
            if self.serve.process.poll() is None:
                self.serve.process.kill()
                self.serve.end()

    def strike(self, stage, victim, before, leaves):
        stage(self)
        victims, slots = victim(self), self.locked()
        pidfds = {}
        for pid in tree(self.serve.process.pid):  # of a session before, one may just end
            with contextlib.suppress(ProcessLookupError):
                pidfds[pid] = os.pidfd_open(pid)
        for pids, number in (victims, signal.SIGKILL), (self.stopped, signal.SIGCONT):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError, KeyError):
                    signal.pidfd_send_signal(pidfds[pid], number)
        self.serve.end()
        for pid, pidfd in pidfds.items():
            gone = select.select([pidfd], [], [], PATIENCE)[0]
            os.close(pidfd)
            self.assertTrue(gone, (pid, read(pid, 'cmdline'), read(pid, 'status')))
        self.assertTrue(wait_until(lambda: not reap_orphans()))
        self.assertTrue(wait_until(lambda: mounts() <= before))
        self.assertTrue(wait_until(lambda: not any(map(self.is_locked, slots))), slots)
        self.assertTrue(wait_until(lambda: cgroup_leaves() <= leaves))
        self.assertTrue(victims)

    def test_each_at_each_stage(self):
        for stage in self.STAGES:
            for victim in self.VICTIMS:
                with self.subTest(stage=stage.__name__, victim=victim.__name__):
                    self.kill_at(stage, victim)

    def test_serve_can_be_started_again(self):
        """With the ids that it had, where it has any of its own."""
        self.kill_at(Kills.step, Kills.group)
        with Serve(OPTIONS) as serve:
            self.assertEqual(serve.open().run('1').result, '1')


if __name__ == '__main__':
    unittest.main()
