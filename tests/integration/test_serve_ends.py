#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Sessions of stepjail serve that end at random moments, and what must not grow.

Clients that close, kills of serve, of the template's init and of sessions' inits, while
sessions are opened, step, and take files: afterwards nothing is left of them. STEPJAIL_SESSIONS
and STEPJAIL_STEPS say how many (1000 and 100000 in full); STEPJAIL_SEED repeats a sequence of
moments. Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import random
import select
import signal
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Gone, Refused, Serve  # noqa: E402
from serve_scene import (OPTIONS, PATIENCE, Case, below, children, comm, is_alive,  # noqa: E402
                         open_files, resident, states_settle, wait_until)
from test_kill import Spaces  # noqa: E402

SESSIONS = int(os.environ.get('STEPJAIL_SESSIONS', '240'))
STEPS = int(os.environ.get('STEPJAIL_STEPS', '1000'))
SEED = int(os.environ.get('STEPJAIL_SEED', '20240229'))
A_SERVE = 20  # sessions of one serve
SLOTS = '/run/stepjail/ids'
MIB = 1 << 20
FLOOD = """
import os, threading
def refused():
    while True:
        try: os.setpriority(os.PRIO_PROCESS, 1, 5)
        except OSError: pass
for _ in range(3): threading.Thread(target=refused).start()
refused()
"""


def files(pid):
    return open_files(pid)


def mounts():
    """But for networks that root's runs leave to later ones: such runs may go on beside this test."""
    with open('/proc/self/mountinfo') as file:
        return [line for line in file if ' /run/stepjail/net' not in line]


def locks():
    """Locks that somebody holds on the file of id pairs."""
    try:
        inode = f':{os.stat(SLOTS).st_ino} '
    except OSError:
        return []
    with open('/proc/locks') as file:
        return [line.split(':', 1)[1] for line in file if inode in line]


def kill_one(rng, pids):
    """One that may just be ending by itself."""
    try:
        os.kill(rng.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        pass


class Round:
    """One serve, its sessions in all their ages, and one blow after another."""

    def __init__(self, rng):
        self.rng = rng
        self.serve = Serve(OPTIONS + ['--grace=100ms', '--memory=64M'])
        self.pid = self.serve.process.pid
        self.sessions = []
        self.pids, self.spaces = set(), Spaces()

    def note(self):
        """Who is there, so that it can be asked after later."""
        try:
            for pid in below(self.pid):
                self.pids.add(pid)
                self.spaces.add(pid)
        except OSError:
            pass

    def act(self):
        """One more session, or something with one that is there; nobody waits for it."""
        if len(self.sessions) < 3 or self.rng.random() < 0.5:
            self.sessions.append(self.serve.begin())
            return
        one = self.rng.choice(self.sessions)
        kind = self.rng.randrange(6)
        if kind == 0:
            one.start('x = 1')
        elif kind == 1:
            one.start('import os, time\nif os.fork() == 0: time.sleep(1000)\nwhile True: pass')
        elif kind == 2:
            one.start('open("/work/f", "wb").write(bytes(1 << 20)); import os; os._exit(3)')
        elif kind == 3:  # a PUT that has not ended
            self.serve.send('PUT', one.number, struct.pack('<I', 0) + b'a/b')
            self.serve.send('DATA', one.number, bytes(30000))
        elif kind == 4:
            one.kill()
        else:
            self.serve.send('GET', one.number, struct.pack('<I', 0) + b'f')

    def read(self, seconds):
        """What comes meanwhile is of no interest."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.serve.socket], [], [], left)[0]:
                if not self.serve.socket.recv(1 << 20):
                    return

    def inits(self):
        return children(self.pid)

    def strike(self, how):
        self.note()
        if how == 'serve':
            self.serve.process.kill()
        elif how == 'client':
            self.serve.socket.shutdown(2)
        elif how == 'half':
            self.serve.socket.shutdown(1)
        elif how == 'signal':
            self.serve.process.terminate()
        elif found := self.inits():
            # the template's is below serve as the sessions' are, or above them
            kill_one(self.rng, found)

    def run(self, count):
        """Return: how many were begun"""
        try:
            while len(self.sessions) < count:
                self.act()
                self.read(self.rng.random() * 0.03)
                if self.rng.random() < 0.08:
                    self.strike('init')
            self.strike(self.rng.choice(('serve', 'client', 'half', 'signal')))
        except (BrokenPipeError, ConnectionResetError) as e:
            raise AssertionError(f'serve has ended by itself: {self.serve.end()}') from e
        self.note()
        end = time.monotonic() + PATIENCE
        self.serve.socket.setblocking(False)
        while self.serve.process.poll() is None and time.monotonic() < end:
            try:
                self.serve.socket.recv(1 << 20)
            except OSError:
                pass
            time.sleep(0.002)
        return len(self.sessions)


class Ends(unittest.TestCase):
    def test_at_random_moments(self):
        rng = random.Random(SEED + os.getuid())
        before, held = mounts(), len(locks())
        begun = 0
        while begun < SESSIONS:
            one = Round(rng)
            begun += one.run(A_SERVE)
            self.assertIsNotNone(one.serve.process.poll(), f'seed {SEED}: serve is there still')
            status, error = one.serve.end()
            self.assertIn(status, (0, -signal.SIGKILL, 128 + signal.SIGTERM), error)
            self.assertTrue(wait_until(lambda: not any(map(is_alive, one.pids))), one.pids)
            self.assertTrue(wait_until(lambda: not one.spaces.processes()))
            one.spaces.close()
        self.assertEqual(mounts(), before)
        if os.getuid() == 0:
            # others on this machine have theirs
            self.assertTrue(wait_until(lambda: len(locks()) <= held + 8), locks())
        print(f'{begun} sessions', file=sys.stderr)

    def test_serve_goes_on(self):
        """Inits of sessions and of templates die, one after the other; it opens more."""
        with Serve(OPTIONS) as serve:
            pid = serve.process.pid
            serve.open().close()

            def opens():
                try:
                    step = serve.open().run('1')
                except (Refused, Gone):
                    return False
                if step.done['state'] == 'lost':  # with whom it was a clone of
                    return False
                self.assertEqual(step.result, '1')
                return True
            for _ in range(15):
                try:
                    serve.open().run('x = 1')
                except (Refused, Gone):  # it ends with whom it was a clone of
                    pass
                kill_one(random.Random(SEED), children(pid))
                self.assertTrue(wait_until(opens), 'it opens no more')
            # those that live
            for number in range(1, serve.next):
                serve.send('CLOSE', number)
            self.assertTrue(wait_until(lambda: serve.status()['sessions'] == 0))
            self.assertLess(files(serve.spawner) + files(serve.supervisor), 50)
            self.assertTrue(wait_until(lambda: len(children(pid)) <= 2), children(pid))


    def test_floods_that_die(self):
        """Whoever hears of their refused calls hears of their end between two of these."""
        with Serve(OPTIONS) as serve:
            pid = serve.process.pid
            rng = random.Random(SEED)
            for _ in range(40):
                sessions = [serve.begin() for _ in range(4)]
                for session in sessions:
                    # or REFUSED: it was a clone of one that was killed
                    if serve.expect_any(session.number).kind == 'OPENED':
                        session.start(FLOOD)
                sessions += [serve.begin() for _ in range(3)]
                time.sleep(rng.random() / 50)
                for child in children(pid):
                    try:
                        os.kill(child, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                for session in sessions:
                    serve.send('CLOSE', session.number)
                self.assertTrue(wait_until(lambda: serve.status()['sessions'] == 0))
                serve.waiting.clear()
            self.assertLess(files(serve.spawner) + files(serve.supervisor), 50)


class LateInit(Case):
    options = ['--cold', '--keep-states=8', '--pids=20']

    def test_a_step_waits_for_what_has_ended(self):
        """Processes of states that init has not reaped yet are counted by --pids."""
        session = self.serve.open()
        init = [pid for pid in below(self.serve.process.pid) if comm(pid) == 'stepjail-init']
        self.assertEqual(len(init), 1)
        os.kill(init[0], signal.SIGSTOP)
        for n in range(19):
            session.run(f'x = {n}')
        session.start('x + 1')
        os.kill(init[0], signal.SIGCONT)
        self.assertEqual(session.finish().result, '19')


class Growth(Case):
    # no others among the processes that are counted
    options = ['--wall-time=20s', '--cold', '--keep-states=8']

    def test_tiny_steps(self):
        session = self.serve.open()
        pid = self.serve.process.pid

        def are_kept():
            """The first one, the last one, and as many as are to be kept; none is just ending."""
            return (len(session.status()['states']) == 1 + 1 + 8
                    and states_settle(pid, session))

        def now():
            self.assertTrue(wait_until(are_kept))
            pids = below(pid)
            own = self.serve.spawner, self.serve.supervisor
            return (sum(map(resident, own)), sum(map(files, own)), len(pids),
                    sum(map(resident, pids)))
        for n in range(200):
            session.run(f'x = {n}')
        before = now()
        for n in range(STEPS):
            session.start(f'x = {n}')
            session.finish()
            self.serve.waiting.clear()
        self.assertEqual(session.run('x').result, str(STEPS - 1))
        after = now()
        print(f'{STEPS} steps: {before} before, {after} after', file=sys.stderr)
        self.assertLess(after[0] - before[0], MIB)
        # one fd: of a process that is ready, if it was caught before it hid
        self.assertLessEqual(after[1] - before[1], 1)
        self.assertEqual(after[2], before[2])
        self.assertLess(after[3] - before[3], 16 * MIB)

    def test_a_slow_reader(self):
        """Its client reads nothing; sessions of another serve go on, and so does it then."""
        slow = self.serve.open()
        slow.start('while True: print("x" * 60000)', wall_ms=3000)
        with Serve(OPTIONS) as other:
            session = other.open()
            for n in range(100):
                self.assertEqual(session.run(str(n)).result, str(n))
        self.assertLess(resident(self.serve.supervisor), 16 * MIB)
        self.assertEqual(slow.finish().done['verdict'], 'wall-timeout')


class Shared(Case):
    """Pages that states share are charged once."""
    options = ['--memory=400M', '--keep-states=16']

    def test_many_states(self):
        session = self.serve.open()
        step = session.run('import os\nx = bytearray(os.urandom(1 << 20)) * 200\nlen(x)')
        self.assertEqual(step.result, str(200 * MIB), step)
        for n in range(8):
            step = session.run(f'y = {n}; import time; time.sleep(0.2); x[{n} << 20]')
            self.assertEqual((step.done['verdict'], step.done['state']), ('completed', 'kept'))
        self.assertEqual(len(session.status()['states']), 10)
        print(f"peak {step.done['memory_peak_bytes'] // MIB} MiB", file=sys.stderr)
        self.assertLess(step.done['memory_peak_bytes'], 300 * MIB)
        start = time.monotonic()
        session.rollback(1)
        print(f'rollback {(time.monotonic() - start) * 1000:.1f} ms', file=sys.stderr)
        self.assertEqual(session.run('len(x)').result, str(200 * MIB))


if __name__ == '__main__':
    unittest.main()
