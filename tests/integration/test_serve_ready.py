#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: jails that are made before a session is asked for, and who takes them.

Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Serve  # noqa: E402
from serve_scene import KILLED, OPTIONS, Case, below, is_alive, wait_until  # noqa: E402

ROOT = os.geteuid() == 0


def words(pid):
    try:
        with open(f'/proc/{pid}/cmdline') as file:
            return file.read()
    except OSError:
        return ''


def inside(pid):
    """Pids from the outermost namespace to the innermost, none for one that is gone."""
    try:
        with open(f'/proc/{pid}/status') as file:
            return next(line for line in file if line.startswith('NSpid')).split()[1:]
    except (OSError, StopIteration):
        return []


class Ready(Case):
    @staticmethod
    def words(more=()):
        return [*OPTIONS, *more]

    def ready(self, count):
        return wait_until(lambda: self.serve.status()['ready'] == count)

    def inits(self):
        """Host pids of the inits of jails that are a template's clones."""
        return [pid for pid in below(self.serve.process.pid)
                if inside(pid)[-1:] == ['1'] and len(inside(pid)) == 4]

    def templates(self):
        return [pid for pid in below(self.serve.process.pid)
                if '--template' in words(pid) and len(inside(pid)) == 3]


    @staticmethod
    def open_warm(serve):
        """What is told of a session out of a template; None if it is none."""
        session = serve.open()
        if session.opened['warm']:
            return session.opened
        session.close()
        return None


class Taken(Ready):
    def test_they_stand_before_anybody_asks(self):
        self.assertTrue(self.ready(2))
        told = self.serve.status()
        self.assertEqual((told['sessions'], told['ready_max'], told['ready_error']), (0, 2, None))
        before = self.inits()
        self.assertEqual(len(before), 2)
        session = self.serve.open()
        self.assertTrue(session.opened['warm'])
        self.assertEqual(session.run('1').done['step'], 1)
        self.assertEqual(self.serve.status()['sessions'], 1)
        self.assertTrue(self.ready(2))
        self.assertTrue(set(before) < set(self.inits()))
        self.assertEqual(len(self.inits()), 3)

    def test_one_begins_as_any_other(self):
        self.assertTrue(self.ready(2))
        first, second = self.serve.open(), self.serve.open()
        self.assertEqual(first.run('x = 6\nx * 7').result, '42')
        self.assertIn('NameError', second.run('x').trace)
        self.assertEqual((first.opened['session'], second.opened['session']), (1, 2))
        self.assertTrue(self.ready(2))
        step = self.serve.once('print("once")')
        self.assertEqual((step.out, step.done['verdict'], step.done['step']),
                         (b'once\n', 'completed', 1))
        chance = [self.serve.once('import random; print(random.random())').out for _ in range(4)]
        self.assertEqual(len(set(chance)), 4)

    def test_walls_are_those_of_others(self):
        """Ids of their own as root, and the posture of one that was asked for."""
        self.assertTrue(self.ready(2))
        opened = [self.serve.open().opened for _ in range(2)]
        found = []
        with Serve(self.words(['--ready=0'])) as plain:
            self.assertTrue(wait_until(lambda: found.append(self.open_warm(plain)) or found[-1]))
        other = found[-1]
        ids = [one['host_uid'] for one in opened]
        self.assertEqual(len(set(ids)), 2 if ROOT else 1)
        self.assertNotIn(0, ids)
        for one in opened:
            posture = one['posture']
            self.assertEqual(int(posture['process']['host_uids'].split()[0]), one['host_uid'])
            self.assertEqual(set(posture), set(other['posture']))
            self.assertEqual(one['not_enforced'], other['not_enforced'])
            for same in 'mounts', 'rlimits', 'open_fds', 'landlock', 'root_sha256':
                self.assertEqual(posture.get(same), other['posture'].get(same), same)
            for same in set(posture['process']) - {'host_uids', 'host_gids', 'pid', 'session'}:
                self.assertEqual(posture['process'][same], other['posture']['process'][same])
        spaces = [opened[n]['posture']['namespaces'] for n in range(2)]
        for kind in spaces[0]:
            self.assertNotEqual(spaces[0][kind]['jail'], spaces[1][kind]['jail'], kind)

    def test_more_are_asked_for_than_there_are(self):
        self.assertTrue(self.ready(2))
        sessions = [self.serve.begin() for _ in range(12)]
        for session in sessions:
            self.serve.expect(session.number, 0, 'OPENED')
        for n, session in enumerate(sessions):
            self.assertEqual(session.run(f'{n}').result, str(n))
        self.assertTrue(self.ready(2))

    def test_nothing_runs_when_all_are_there(self):
        self.assertTrue(self.ready(2))
        self.serve.open().close()
        self.assertTrue(self.ready(2))

        def switches():
            found = []
            for pid in [self.serve.spawner, self.serve.supervisor] + below(self.serve.process.pid):
                try:
                    with open(f'/proc/{pid}/status') as file:
                        found += [(pid, line) for line in file if 'ctxt_switches' in line]
                except OSError:  # it is ending, so this is not yet the time
                    found.append((pid, time.monotonic()))
            return found
        # for a second, after what may be left to do
        self.assertTrue(wait_until(lambda: switches() == (time.sleep(1), switches())[1]))

    def test_they_are_none_of_the_clients(self):
        self.serve.end()
        self.serve = Serve(self.words(['--sessions=1']))
        self.assertTrue(self.ready(2))
        session = self.serve.open()
        self.assertTrue(self.ready(2))
        self.refused('--sessions 1', self.serve.open)
        session.close()
        self.assertEqual(self.serve.open().run('1').result, '1')
        for kind in 'CLOSE', 'CODE', 'GET':
            self.serve.send(kind, 0, b'\0' * 8)
            self.assertEqual(self.serve.receive().kind, 'REFUSED')
        self.assertTrue(self.ready(2))


class Lost(Ready):
    def test_killed_ones_are_replaced(self):
        self.assertTrue(self.ready(2))
        killed = self.inits()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not any(map(is_alive, killed))))
        self.assertEqual(self.serve.open().run('1 + 1').result, '2')
        self.assertTrue(self.ready(2))
        self.assertTrue(wait_until(lambda: len(self.inits()) == 3))
        self.assertFalse(set(killed) & set(self.inits()))

    def test_one_whose_interpreter_is_killed(self):
        self.assertTrue(self.ready(2))
        old = self.inits()
        os.kill(next(pid for pid in below(old[0])), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: len(set(self.inits()) - set(old)) == 1))
        self.assertTrue(self.ready(2))
        self.assertTrue(wait_until(lambda: not is_alive(old[0])))
        self.assertIn('first interpreter', self.serve.status()['ready_error'])
        self.serve.open()
        self.assertIsNone(self.serve.status()['ready_error'])

    def test_their_template_is_killed(self):
        self.assertTrue(self.ready(2))
        (old,) = self.templates()
        clones = self.inits()
        os.kill(old, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not any(map(is_alive, [old, *clones]))))
        self.assertEqual(self.serve.open().run('1 + 1').result, '2')
        # until there is a new one, they are made without
        self.assertTrue(wait_until(lambda: self.open_warm(self.serve)))
        self.assertTrue(self.ready(2))
        self.assertNotIn(old, self.templates())

    def test_none_can_be_made(self):
        """A failure is told, and it is not tried again at once."""
        self.serve.end()
        self.serve = Serve(self.words(['--cold', '--preload=no_such_module']))
        self.assertTrue(wait_until(lambda: self.serve.status()['ready_error']))
        self.assertIn('no_such_module', self.serve.status()['ready_error'])
        self.refused('no_such_module', self.serve.open)
        time.sleep(1)

        def faults():
            """Page faults of all that has been started: an interpreter has over a thousand."""
            with open(f'/proc/{self.serve.spawner}/stat') as file:
                return int(file.read().rsplit(')', 1)[1].split()[8])
        before = faults()
        time.sleep(1)
        self.assertLess(faults() - before, 8000)

    def test_those_of_a_template_that_is_too_old(self):
        self.serve.end()
        # a slow host takes a good part of it to make them
        self.serve = Serve(self.words(['--template-age=4s']))
        self.assertTrue(self.ready(2))
        old, first = self.templates(), self.inits()
        self.assertTrue(wait_until(lambda: not set(old) & set(self.templates())))
        self.assertTrue(wait_until(lambda: not set(first) & set(self.inits())))
        self.assertTrue(self.ready(2))
        self.assertIsNone(self.serve.status()['ready_error'])

    def test_a_template_of_one_clone(self):
        """Each has its own template; none is thrown away for that."""
        self.serve.end()
        self.serve = Serve(self.words(['--template-clones=1']))
        self.assertTrue(self.ready(2))
        self.assertTrue(wait_until(lambda: len(self.templates()) == 2))
        before = set(self.templates())
        time.sleep(0.5)
        self.assertEqual(set(self.templates()), before)
        self.assertEqual(self.serve.open().run('1 + 1').result, '2')
        self.assertTrue(self.ready(2))


class Ends(Ready):
    def test_none_are_made(self):
        self.serve.end()
        self.serve = Serve(self.words(['--ready=0']))
        self.assertTrue(wait_until(self.templates))
        self.assertEqual(self.serve.open().run('1').result, '1')
        told = self.serve.status()
        self.assertEqual((told['ready'], told['ready_max']), (0, 0))
        time.sleep(0.3)
        self.assertLessEqual(len(self.inits()), 1)

    def ends(self, act, status, said=''):
        self.assertTrue(self.ready(2))
        self.serve.open().run('x = 1')
        self.assertTrue(self.ready(2))
        pids = below(self.serve.process.pid)
        self.assertGreaterEqual(len(pids), 8)
        act()
        self.assertEqual(self.serve.process.wait(), status)
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))), pids)
        serve, self.serve = self.serve, None
        self.assertEqual(serve.end()[1], said)

    def test_with_their_client(self):
        self.ends(lambda: self.serve.socket.shutdown(1), 0)

    def test_by_a_signal(self):
        self.ends(self.serve.process.terminate, 128 + signal.SIGTERM)

    def test_by_the_kill_of_serve(self):
        self.ends(self.serve.process.kill, -signal.SIGKILL, KILLED)

    def test_while_one_is_being_made(self):
        for pause in range(12):
            serve = Serve(self.words())
            time.sleep(pause * 0.01)
            self.assertEqual(serve.end(), (0, ''))


if __name__ == '__main__':
    unittest.main()
