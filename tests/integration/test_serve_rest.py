#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_rest.py - a state that waits does nothing else, whatever its step was

A step becomes restless.c, which does all that it can so as to run on once it was a state.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_client import Refused  # noqa: E402
from serve_scene import Case, below, inside, wait_until  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'restless.c')
BECOME = """
import os, stat
fd = next(fd for fd in range(3, 4096) if os.path.exists(f'/proc/self/fd/{{fd}}')
          and stat.S_ISSOCK(os.fstat(fd).st_mode))
os.set_inheritable(fd, True)
os.execv('/mnt/restless', ['restless', {way!r}, str(fd), {number!r}])
"""


def setUpModule():
    global built
    built = tempfile.mkdtemp(prefix='stepjail-restless-')
    os.chmod(built, 0o755)
    subprocess.run(['gcc', '-std=gnu17', '-D_GNU_SOURCE', '-O1', '-static', '-Wall', '-Wextra', '-Werror', '-o',
                    f'{built}/restless', SOURCE], check=True)
    for case in Rest, Lies:
        case.options = case.options + ['--bind', f'{built}:/mnt']


def tearDownModule():
    shutil.rmtree(built)


def letter(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0]
    except OSError:
        return 'X'


class Rest(Case):
    # no jail but the session's: what runs is one of its processes
    options = ['--lock-code=no', '--cold', '--wall-time=10m', '--grace=100ms',
               '--pids=32']

    def become(self, way, wall_ms=0):
        session = self.serve.open()
        session.run('x = 1')
        return session, session.run(BECOME.format(way=way, number='2'),
                                    wall_ms=wall_ms or 20000)

    def become_for_ever(self, way):
        """What does not wait, when its limit on time finds it: and not on its way to that."""
        for wall_ms in 500, 5000, 15000:
            session, step = self.become(way, wall_ms)
            if step.out == b'it goes on\n':
                break
            session.close()
        return session, step

    def is_quiet(self):
        for _ in range(20):
            if any(letter(pid) == 'R' for pid in below(self.serve.process.pid)):
                return False
            time.sleep(0.01)
        return True

    def goes_on(self, session):
        """Nothing runs any more, and the state before is as it was."""
        self.assertTrue(wait_until(self.is_quiet))
        session.rollback(1)
        self.assertEqual(session.run('x').result, '1')
        session.close()

    def test_what_never_waits_is_a_step_still(self):
        for way in 'goes-on', 'signal', 'thread':
            with self.subTest(way):
                session, step = self.become_for_ever(way)
                self.ended(step, 'wall-timeout', 'rolled-back')
                self.goes_on(session)

    def switches(self):
        """How often serve has waited, or was made to."""
        with open(f'/proc/{self.serve.supervisor}/status') as file:
            return sum(int(line.split()[1]) for line in file if 'ctxt_switches' in line)

    def test_ends_of_its_processes_are_heard_together(self):
        """10,000 children of init's that end at once do not wake serve each; others go on."""
        session = self.serve.open()
        session.run('x = 1')
        session.branch(1, 1)
        before = self.switches()
        session.start(BECOME.format(way='exits', number='2'), wall_ms=600000)
        self.ended(self.run_beside(session, 'import os; os._exit(3)'), 'exited', 'rolled-back',
                   exit_code=3)
        self.assertEqual(self.run_beside(session, 'x').result, '1')
        self.ended(session.finish(timeout=600), 'completed', 'kept')
        self.assertLess(self.switches() - before, 2500)

    def run_beside(self, session, source):
        """A step of branch 1: again, where init has not reaped enough for one more process."""
        while True:
            try:
                return session.run(source, branch=1)
            except Refused as refused:
                self.assertEqual(refused.json['limit'], 'pids')
                time.sleep(0.2)

    def test_what_it_leaves_is_ended(self):
        session, step = self.become('children')
        self.ended(step, 'completed', 'kept')
        self.assertGreaterEqual(step.done['strays'], 3)
        self.goes_on(session)

    def test_what_it_leaves_is_ended_though_its_first_thread_was(self):
        """That thread is a zombie, and the process is none."""
        session, step = self.become('leaderless')
        self.ended(step, 'completed', 'kept', strays=1)
        self.goes_on(session)

    def test_it_cannot_be_woken_by_a_timer(self):
        session, step = self.become('timers')
        self.ended(step, 'exited', 'rolled-back', exit_code=1)  # EPERM
        self.goes_on(session)

    def test_what_is_asked_and_goes_on_is_ended(self):
        """It becomes a state, which is asked for the next step's process."""
        for way in 'awake', 'awake-children':
            with self.subTest(way):
                session, step = self.become(way)
                self.ended(step, 'completed', 'kept')
                self.assertRaises(Refused, session.run, '1')
                self.assertTrue(wait_until(lambda: session.status()['restless'] > 0), way)
                self.goes_on(session)

    def test_a_process_that_makes_ready_for_ever(self):
        """It is the step, and ended by its limit on time."""
        session, step = self.become('ready')
        self.ended(step, 'completed', 'kept')
        self.ended(session.run('1', wall_ms=500), 'wall-timeout', 'rolled-back')
        self.goes_on(session)

    def test_a_process_that_does_not_say_that_it_is_there(self):
        """Whatever else the session runs sweeps it away."""
        session, step = self.become('ready-mute')
        self.ended(step, 'completed', 'kept')
        session.branch(1, 1)
        session.start('1')
        self.ended(session.run('x', branch=1), 'completed', 'kept')
        self.assertRaises(Refused, session.finish)
        self.goes_on(session)

    def test_what_has_ended_so_is_told(self):
        session, step = self.become('awake')
        self.ended(step, 'completed', 'kept')
        self.assertRaises(Refused, session.run, '1')
        self.assertTrue(wait_until(lambda: session.status()['branches']['0']['lost']))
        with self.assertRaises(Refused):
            session.run('1')
        self.goes_on(session)

    def test_honest_states_are_no_load(self):
        session = self.serve.open()
        for n in range(20):
            session.run(f'x = {n}')
        self.assertTrue(wait_until(lambda: {letter(pid) for pid in below(self.serve.process.pid)}
                                   == {'S'}))
        self.assertEqual(session.status()['restless'], 0)
        self.assertEqual(session.run('x').result, '19')

    def test_a_stop_from_outside(self):
        """By a debugger, or a freezer: an honest state waits again."""
        session = self.serve.open()
        for n in range(5):
            session.run(f'x = {n}')
        pids = [pid for pid in below(self.serve.process.pid) if letter(pid) == 'S'][1:]
        for stop, seen in ((19, 'T'), (18, 'S')):
            for pid in pids:
                os.kill(pid, stop)
            self.assertTrue(wait_until(lambda: {letter(pid) for pid in pids} == {seen}))
        for n in range(5):
            self.assertEqual(session.run('x').result, '4')
        session.rollback(2)
        self.assertEqual(session.run('x').result, '1')
        self.assertEqual(session.status()['restless'], 0)


class Lies(Case):
    """A step's process says that it is another one, and has ended before it is looked at."""
    options = ['--lock-code=no', '--cold', '--wall-time=20s', '--grace=100ms']

    def setUp(self):
        super().setUp()
        self.say(0)
        self.session = self.serve.open()
        self.session.run('x = 1')
        self.session.branch(1, 1)
        self.ended(self.session.run(BECOME.format(way='lies', number='2'), branch=1), 'completed', 'kept')

    @staticmethod
    def say(told):
        """What the liar reads; nothing else of a bound folder can be seen to change at once."""
        fd = os.open(f'{built}/told', os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(fd, b'%9d' % told)
        os.close(fd)

    def lie(self, told):
        """Branch 1 runs a step, whose snapshot says that it has this number, and ends."""
        serve = self.serve.process.pid
        before = set(below(serve))
        self.session.start('1', branch=1)
        self.assertTrue(wait_until(lambda: set(below(serve)) - before))
        liar, = set(below(serve)) - before
        # who would hear of it
        hears = self.serve.supervisor
        os.kill(hears, signal.SIGSTOP)
        try:
            self.assertTrue(wait_until(lambda: letter(hears) == 'T'))
            self.say(told)
            self.assertTrue(wait_until(lambda: not os.path.exists(f'/proc/{liar}')))
        finally:
            os.kill(hears, signal.SIGCONT)

    def test_a_running_step_keeps_its_end(self):
        self.session.start('import os\nprint(os.getpid(), flush=True)\nos._exit(int(input()))')
        self.lie(int(self.serve.expect(self.session.number, 0, 'OUT').bytes))
        self.session.stdin(b'3\n')
        self.ended(self.session.finish(), 'exited', 'rolled-back', exit_code=3)
        self.assertEqual(self.session.run('x').result, '1')
        self.is_killed()

    def is_killed(self):
        """The step of branch 1 goes on, for as long as it may; the state before it is gone."""
        self.session.kill(branch=1)
        self.ended(self.session.finish(branch=1), 'cancelled', 'rolled-back')
        self.assertTrue(self.session.status()['branches']['1']['lost'])

    def test_nobody_is_waited_for_without_an_end(self):
        self.lie(99999)
        self.is_killed()
        self.assertEqual(self.session.run('x').result, '1')

    def test_its_own_end(self):
        """It is what honest ones say that are killed at once: no state is left of them either."""
        self.lie(max(inside(pid) for pid in below(self.serve.process.pid)) + 1)
        self.is_killed()
        self.assertEqual(self.session.run('x').result, '1')


class Others(Case):
    """What a step can learn of states, and do to them, by their numbers."""
    SEEN = """
import os
def seen(pid):
    for name in 'mem', 'maps', 'environ', 'status':
        try:
            open(f'/proc/{pid}/{name}', 'rb').close()
            return True
        except OSError:
            pass
    return False
print(*[pid for pid in range(2, 40) if pid != os.getpid() and seen(pid)])
"""

    def test_their_memory(self):
        session = self.serve.open()
        session.run('1')
        session.branch(1, 1)
        session.run('secret = 1', branch=1)
        for _ in range(3):
            self.assertEqual(session.run(self.SEEN).out, b'\n')
        # where it looks, there is something to be seen
        self.assertNotEqual(session.run(self.SEEN.replace('!= os.getpid()', '')).out, b'\n')

    def test_the_memory_of_what_gets_ready_to_be_a_step(self):
        """Of another branch, whose secrets it has; nor do they show when it runs."""
        session = self.serve.open()
        session.run('import os, time')
        session.start("""
found, me = set(), os.getpid()
open('/work/begun', 'w')
while not os.path.exists('/work/enough'):
    for pid in range(me + 1, me + 30):
        try:
            open(f'/proc/{pid}/environ', 'rb').close()
        except OSError:
            continue
        found.add(pid)
found""")
        session.branch(1, 1)
        session.run('while not os.path.exists("/work/begun"): time.sleep(0.001)', branch=1)
        for n in range(2, 10):
            session.branch(n, 1)
            session.run('secret = 1', branch=n)
        session.run('open("/work/enough", "w")', branch=9)
        self.assertEqual(session.finish().result, 'set()')

    def test_their_priority(self):
        session = self.serve.open()
        session.run('import os, threading, signal')
        for call in ('os.setpriority(os.PRIO_PROCESS, 3, 19)', 'os.setpriority(os.PRIO_PROCESS, 1, 19)',
                     'os.setpriority(os.PRIO_USER, 0, 19)', 'os.setpriority(os.PRIO_PGRP, 0, 19)',
                     'os.sched_setaffinity(3, {0})', 'os.sched_setaffinity(1, {0})'):
            step = session.run(call)
            self.assertIn('PermissionError', step.trace or '', call)
            self.assertIn(step.done['violation'], ('setpriority', 'sched_setaffinity'))
        for call in ('os.setpriority(os.PRIO_PROCESS, 0, 19)', 'os.sched_setaffinity(0, {0})',
                     'os.setpriority(os.PRIO_PROCESS, os.getpid(), 19)', 'os.nice(1)',
                     'os.sched_setaffinity(os.getpid(), {0})',
                     'threading.Thread(target=lambda: os.sched_setaffinity('
                     'threading.get_native_id(), {0})).run()'):
            self.ended(session.run(call), 'completed', 'kept', violation=None)

    def test_their_priority_where_more_is_allowed(self):
        self.end()
        self.serve = type(self.serve)(self.plain() + ['--allow-syscall', 'sched_setscheduler'])
        session = self.serve.open()
        session.run('import os')
        own = 'os.sched_setscheduler({}, os.SCHED_BATCH, os.sched_param(0))'
        self.ended(session.run(own.format(0)), 'completed', 'kept')
        self.assertIn('PermissionError', session.run(own.format(3)).trace)

    def plain(self):
        from serve_scene import OPTIONS
        return OPTIONS


if __name__ == '__main__':
    unittest.main()
