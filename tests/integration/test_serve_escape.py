#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Attacks by steps of a session: on other sessions, the template, its own channel, and serve.

What is not to be found elsewhere is found first where it is; a bomb is watched from another
session, which answers meanwhile. Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import secrets
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Refused, Serve  # noqa: E402
from serve_scene import (CHANNEL, DONE, EXIT, FAIL, FILE, OPTIONS, RESULT, RUN,  # noqa: E402
                         RUNNING, STARTED, TRACE, below, memory, open_files, wait_until, warm)

LOOK = """
import os, stat
for fd in range(4096):
    try:
        st = os.fstat(fd)
    except OSError:
        continue
    kind = 'null' if stat.S_ISCHR(st.st_mode) and os.major(st.st_rdev) == 1 else \\
        stat.filemode(st.st_mode)[0]
    print(fd, kind)
"""
# as a state waits
WAIT = 'try: os.kill(-1 << 31, 0)\nexcept OSError: pass\n'
# past every signal that can be caught or blocked
ON = 'print("on", flush=True)\n'
GOES_ON = ('import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n' + ON
           + 'while True: pass')


class Secret(str):
    """A word that is nowhere else."""

    def __new__(cls):
        return super().__new__(cls, secrets.token_hex(16))


class Sessions(unittest.TestCase):
    """Sessions of one serve, out of its template."""
    # no jails that are ready before: what serve holds is counted
    options = ['--pids=32', '--wall-time=20s', '--tmp-size=8M', '--work-size=8M', '--grace=2s']

    def setUp(self):
        self.of_caller = Secret()
        self.host = tempfile.mkdtemp(prefix=f'{Secret()}-')
        os.chmod(self.host, 0o755)
        self.addCleanup(os.rmdir, self.host)
        self.serve = Serve(OPTIONS + self.options + ['--bind', f'{self.host}:/mnt'],
                           env=dict(os.environ, SECRET=self.of_caller))
        self.addCleanup(self.end)

    def end(self):
        self.assertEqual(self.serve.end(), (0, ''))

    def warm(self):
        return warm(self.serve)

    def held(self):
        with open(f'/proc/{self.serve.supervisor}/statm') as file:
            resident = int(file.read().split()[1]) * os.sysconf('SC_PAGESIZE')
        return open_files(self.serve.supervisor), resident

    def holds(self, session, secret):
        return any(secret.encode() in data for data in memory(self.serve.process.pid, session))

    def prints(self, session, source):
        step = session.run(source)
        self.assertIsNone(step.trace, step)
        return step.out.decode().split()

    def raises(self, session, name, source):
        step = session.run(source)
        self.assertIn(name, step.trace or '', step)


class Elsewhere(Sessions):
    """What is another session's, the template's or the caller's."""

    def test_memory(self):
        other, own = self.warm(), self.warm()
        text, variable, past = Secret(), Secret(), Secret()
        other.run(f'x = "{text}"')
        other.run(f'y = bytes.fromhex("{variable.encode().hex()}")')
        own.run(f'z = bytes.fromhex("{past.encode().hex()}")')
        for secret, session in ((text, other), (variable, other), (past, own)):
            self.assertTrue(self.holds(session, secret), 'the search finds none')
        for secret in (text, variable, self.of_caller):
            self.assertFalse(self.holds(own, secret))
            # and in a session that is made after it was there
            self.assertFalse(self.holds(self.warm(), secret))

    def test_paths_of_the_host(self):
        name = os.path.basename(self.host)[:32]
        secret = str.__new__(Secret, name)
        own = self.warm()
        own.run('import os; before = os.listdir("/mnt")')
        self.assertFalse(self.holds(own, secret))
        for path in '/proc/self/mountinfo', '/proc/self/maps':
            self.assertEqual(self.prints(own, f'print({name!r}[:9] in open({path!r}).read())'),
                             ['False'])

    def test_files_and_sockets(self):
        other, own = self.warm(), self.warm()
        name = "n" + secrets.token_hex(8)
        other.run('import socket, os, threading\n'
                  f's = socket.socket(socket.AF_UNIX); s.bind("\\0{name}"); s.listen()\n'
                  f'f = socket.socket(socket.AF_UNIX); f.bind("/work/{name}"); f.listen()\n'
                  f'for folder in "/work", "/tmp", "/dev/shm": open(folder + "/{name}f", "w")')
        connect = f'import socket; s = socket.socket(socket.AF_UNIX); s.connect("\\0{name}")'
        listing = ('import os\n'
                   'print([n for f in ("/work", "/tmp", "/dev/shm") for n in os.listdir(f)'
                   f' if {name!r} in n] != [])')
        self.assertIsNone(other.run(connect).trace)
        self.assertEqual(self.prints(other, listing), ['True'])
        self.raises(own, 'ConnectionRefusedError', connect)
        self.assertEqual(self.prints(own, listing), ['False'])
        self.raises(own, 'FileNotFoundError', connect.replace('\\0', '/work/'))

    def test_processes(self):
        """Of /proc only what is its own session's; and no number outside of it is anybody."""
        other, own = self.warm(), self.warm()
        other.run('1')
        own.run('import os, signal')
        pids = self.prints(own, 'print(*[n for n in os.listdir("/proc") if n.isdigit()])')
        self.assertLessEqual(set(pids), {'2', '3', '4'})
        for pid in below(self.serve.process.pid):
            if str(pid) not in pids and pid > 300:
                self.raises(own, 'ProcessLookupError', f'os.kill({pid}, 0)')
        self.assertEqual(self.prints(own, 'print(os.getppid(), os.readlink("/proc/self/exe"))'),
                         ['1', '/bin/python3'])
        for word in ('open("/proc/1/maps")', 'os.listdir("/proc/1/fd")', 'os.readlink("/proc/1/exe")',
                     'os.kill(1, 9)', 'os.kill(3, 9)', 'os.kill(3, signal.SIGSTOP)', 'os.kill(3, signal.SIGCONT)',
                     'os.kill(-1, 9)', 'os.kill(-1, 19)', 'open("/proc/3/mem", "wb")',
                     'os.readlink("/proc/3/map_files/" + os.listdir("/proc/3/map_files")[0])'
                     ' and open("/proc/3/map_files/" + os.listdir("/proc/3/map_files")[0])'):
            step = own.run(word)
            self.assertIsNotNone(step.trace, word)
            self.assertRegex(step.trace, 'PermissionError|FileNotFoundError|Read-only', word)
        self.assertEqual(own.run('1').result, '1')

    def test_fds(self):
        """Three pipes, its channel, and /dev/null: no folder, no file, nothing of serve's."""
        kinds = self.prints(self.warm(), LOOK)
        kinds = dict(zip(map(int, kinds[::2]), kinds[1::2]))
        self.assertEqual([kinds[fd] for fd in range(3)], ['p'] * 3)
        rest = [kind for fd, kind in kinds.items() if fd > 2]
        self.assertEqual(rest.count('s'), 1, kinds)
        self.assertLessEqual(set(rest), {'s', 'null'}, kinds)


class Channel(Sessions):
    """A step speaks on its own channel as the interpreter does not."""

    def attack(self, source, session=None):
        session = session or self.warm()
        number = session.run('x = 1').done['step'] + 1
        return session, session.run(CHANNEL.format(number=number) + source)

    def attack_for_ever(self, source):
        """The same until its limit on time, which finds it when it has printed something."""
        for wall_ms in 500, 5000, 15000:
            session = self.warm()
            number = session.run('x = 1').done['step'] + 1
            step = session.run(CHANNEL.format(number=number) + source, wall_ms=wall_ms)
            if step.out:
                break
        return session, step

    def both_go_on(self, session):
        self.assertEqual(session.run('x').result, '1')
        self.assertEqual(self.serve.open().run('1').result, '1')

    def test_that_it_can_speak(self):
        session, step = self.attack(f"say({RESULT}, b'said by hand')")
        self.assertEqual(step.result, 'said by hand')
        self.both_go_on(session)

    def test_of_its_death(self):
        """An end that it told of itself does not stand beside the one that init tells."""
        for kind, payload in ((EXIT, b'\0' * 40), (FAIL, b'\0' * 264), (DONE, b'\0' * 39)):
            session, step = self.attack(f'say({kind}, bytes({len(payload)})); os._exit(9)')
            self.assertEqual((step.done['verdict'], step.done['exit_code'], step.done['state']),
                             ('exited', 9, 'rolled-back'))
            self.both_go_on(session)

    def test_of_others(self):
        """As another step, as init, as a state; with pids that are not its own."""
        session, step = self.attack(f'''
for n in 0, 1, N - 1, N + 1, 1 << 31, (1 << 32) - 1:
    for kind in range(1, 60):
        for payload in b'', bytes(8), done(2, 5), bytes(264):
            say(kind, payload, n)
for pid in 0, 1, 2, 3, N, 99999, (1 << 32) - 1:
    say({STARTED}, struct.pack('<II', pid, 7))
for how in 3, 4, 255, (1 << 32) - 1:
    say({DONE}, done(how))
os._exit(6)
''')
        self.assertEqual((step.done['verdict'], step.done['exit_code'], step.done['threads']),
                         ('exited', 6, 0))
        self.both_go_on(session)

    def test_of_its_end(self):
        """A step that says DONE and goes on has not ended; its last word is what counts."""
        for rest, verdict, state in (
                ('time.sleep(0.2)', 'completed', 'kept'),
                ('1 / 0', 'exception', 'kept'),
                (f'{ON}while True: pass', 'wall-timeout', 'kept'),
                (GOES_ON, 'wall-timeout', 'rolled-back'),
                # as if it waited, but with signals, or with a thread
                (WAIT + GOES_ON, 'wall-timeout', 'rolled-back'),
                ('import threading\nthreading.Thread(target=time.sleep, args=(60,)).start()\n'
                 + WAIT + GOES_ON, 'wall-timeout', 'kept')):  # by an exception, at last
            attack = self.attack_for_ever if verdict == 'wall-timeout' else self.attack
            session, step = attack(f'say({DONE}, done(2, 3))\n{rest}')
            self.assertEqual((step.done['verdict'], step.done['state']), (verdict, state), rest)
            self.both_go_on(session)

    def test_twice(self):
        session, step = self.attack(f'''
for i in range(300):
    say({DONE}, done(2, 3))
    say({RESULT}, b'r' * 1000)
{WAIT}
time.sleep(0.2)
''')
        self.assertEqual((step.done['verdict'], step.done['exit_code']), ('completed', 0))
        # a state whose channel holds that is one no more, or goes on: its words change nothing
        try:
            session.run('1')
        except Refused:
            session.rollback(1)
        self.assertEqual(session.run('x').result, '1')
        self.both_go_on(session)

    def test_by_a_child(self):
        session, step = self.attack(f'''
pid = os.fork()
if pid == 0:
    for i in range(50):
        say({DONE}, done(2, 3)), say({RESULT}, b'child'), say({EXIT}, bytes(40))
    os._exit(0)
pid = os.waitpid(pid, 0)
''')
        self.assertEqual((step.done['verdict'], step.result), ('completed', None))
        self.both_go_on(session)

    def test_by_a_child_that_says_it_is_the_step(self):
        """Or a state: neither is believed, and it is ended with what else the step leaves."""
        session, step = self.attack_for_ever(f'''
if os.fork() == 0:
    say({STARTED}, struct.pack('<II', os.getpid(), 0)), say({DONE}, done(2, 3))
    {GOES_ON.replace(chr(10), chr(10) + '    ')}
while True: pass
''')
        self.assertEqual((step.done['verdict'], step.done['state'], step.done['strays']), ('wall-timeout', 'kept', 1))
        self.assertTrue(wait_until(lambda: self.prints(session, RUNNING) == ['0']))
        self.both_go_on(session)

    def test_of_any_size(self):
        session, step = self.attack(f'''
for size in 1, 11, 4096, 32768, 32769, 65536, 1 << 17:
    for length in None, 0, size - 1, (1 << 32) - 1:
        say({RESULT}, bytes(size), length=length)
        say({RUN}, bytes(size), length=length), say({FILE}, bytes(size), length=length)
for size in 1, 5, 11:
    try: channel.send(bytes(size), socket.MSG_DONTWAIT)
    except OSError: pass
os._exit(5)
''')
        self.assertEqual((step.done['verdict'], step.done['exit_code']), ('exited', 5))
        self.both_go_on(session)

    def test_fds_that_are_sent(self):
        """None stays in serve, however many; test_serve_fds.py has those that are slow to close."""
        session, other = self.warm(), self.warm()
        for _ in range(2):
            session.run('x = 1')
            other.run('x = 1')
        before = self.held()
        session, step = self.attack('''
for i in range(2000):
    try:
        socket.send_fds(channel, [struct.pack('<IHHI', 0, 23, 0, 77)], [0] * (1 + i % 2 * 199))
    except OSError:
        pass
os._exit(4)
''', session)
        # Linux 6.16 refuses them when they are sent; before, the step is killed for them
        self.assertIn((step.done['verdict'], step.done['exit_code']),
                      {('exited', 4), ('violation', None), ('violation', 4)})
        self.assertEqual(other.run('x').result, '1')
        # the states of the two steps that ran meanwhile, and what is ready for the next ones
        self.assertLessEqual(self.held()[0], before[0] + 20)
        self.both_go_on(session)

    def test_a_flood(self):
        session, step = self.attack(f'''
end = time.monotonic() + 2
n = 0
while n < 200 or time.monotonic() < end:
    n += say({TRACE}, b't' * 30000, N + 1) + say({STARTED}, bytes(8))
print(n)
''')
        self.assertGreater(int(step.out), 100)
        self.assertEqual(step.done['verdict'], 'completed')
        self.both_go_on(session)
        self.assertLess(self.held()[1], 16 << 20)


class Locked(Sessions):
    """Code: what a session that is locked may not start or make, and one that is not may."""
    TRIES = {
        'exec': 'os.execv("/bin/python3", ["python3", "-c", "raise SystemExit(7)"])',
        'map': 'import mmap; mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC); os._exit(7)',
    }

    def tried(self, lock):
        with Serve(OPTIONS + ['--memory=256M', f'--lock-code={lock}']) as serve:
            session = warm(serve)
            return {name: session.run('import os\n' + source).done['exit_code'] == 7
                    for name, source in self.TRIES.items()}

    def test_it(self):
        self.assertEqual(set(self.tried('no').values()), {True})
        self.assertEqual(set(self.tried('yes').values()), {False})


class Bombs(Sessions):
    """A step uses up all that its session may have; another session answers meanwhile."""
    BOMBS = {
        'pids': 'while True:\n try:\n  if os.fork() == 0: time.sleep(60)\n except OSError: pass',
        'threads': 'import threading\nwhile True:\n try: threading.Thread(target=time.sleep,'
                   ' args=(60,)).start()\n except RuntimeError: time.sleep(0.01)',
        'fds': 'held = []\nwhile True:\n try: held.append(os.pipe())\n except OSError: pass',
        'memory': 'held = []\nwhile True:\n try: held.append(bytearray(1 << 20))\n'
                  ' except MemoryError: pass',
        'sockets': 'import socket\nheld = []\nwhile True:\n try:\n'
                   '  a, b = socket.socketpair(); a.setblocking(0); held += [a, b]\n'
                   '  while True: a.send(bytes(4096))\n except OSError: pass',
        'work': 'n = 0\nwhile True:\n try:\n  n += 1; open(f"/work/{n}", "wb").write(bytes(1 << 20))\n'
                ' except OSError: pass',
        'tmp': 'n = 0\nwhile True:\n try:\n  n += 1; open(f"/tmp/{n}", "w").close()\n'
               ' except OSError: pass',
        'output': 'while True: os.write(1, b"x" * 65536); os.write(2, b"y" * 65536)',
        'cpu': 'while True: pass',
        'violations': 'while True:\n try: os.kill(1, 9)\n except OSError: pass',
    }

    def test_all(self):
        for name, bomb in self.BOMBS.items():
            with self.subTest(bomb=name):
                self.try_one(bomb)

    def try_one(self, bomb):
        session, other = self.warm(), self.warm()
        for one in session, other:
            one.run('x = 1; import os, time')
        before = self.held()
        session.start(bomb, wall_ms=1200)
        for _ in range(5):
            self.assertEqual(other.run('x').result, '1')
            time.sleep(0.1)
        step = session.finish()
        self.assertNotEqual(step.done['verdict'], 'completed')
        try:
            self.assertEqual(session.run('x').result, '1')
        except Refused:  # what it keeps it keeps, where its end was by SIGINT
            session.rollback(1)
            self.assertEqual(session.run('x').result, '1')
        self.assertEqual(other.run('x').result, '1')
        self.assertLess(self.held()[1] - before[1], 4 << 20)
        session.close()
        other.close()
        if before[0]:
            self.assertTrue(wait_until(lambda: open_files(self.serve.supervisor) < before[0]))


if __name__ == '__main__':
    unittest.main()
