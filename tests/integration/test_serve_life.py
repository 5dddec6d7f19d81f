#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: frames of its client, and how sessions and serve itself begin and end.

Run by tests/integration/run, as root and as an ordinary user.
"""
import ctypes
import os
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD, Gone, Refused, Serve  # noqa: E402
from serve_scene import (KILLED, LIMITED, OPTIONS, Case, below, children,  # noqa: E402
                         inside, is_alive, open_files, wait_until)

PIDFD_GETFD = 438  # the number on every architecture


class Frames(Case):
    options = ['--cold']

    def test_out_of_turn(self):
        self.refused('no session 7', self.serve.status, 7)
        for kind in 'CODE', 'STDIN', 'CLOSE', 'GET', 'DATA':
            self.serve.send(kind, 7, b'\0' * 8)
            frame = self.serve.receive()
            self.assertEqual(frame.kind, 'REFUSED', kind)
        self.serve.send('OPEN', 0)
        self.assertIn('not 0', self.serve.receive().json['error'])
        with self.serve.at_once():
            session = self.serve.begin()
            self.serve.send('CODE', session.number, b'x')
        self.refused('wait for OPENED', self.serve.expect, session.number, 0, 'OPENED')
        self.serve.expect(session.number, 0, 'OPENED')
        self.serve.send('OPEN', session.number)
        self.refused('is there already', self.serve.expect, session.number, 0, 'OPENED')
        for kind in 'INTERRUPT', 'KILL', 'STDIN':
            self.serve.send(kind, session.number)
            self.refused('no step runs', self.serve.expect, session.number, 0, 'DONE')
        self.assertEqual(session.run('1').result, '1')

    def test_of_wrong_size_or_type(self):
        for payload in b'', b'\0' * 3, b'\0' * 5:
            self.serve.send_raw(struct.pack('<IHHI', len(payload), 49, 0, 0) + payload)
            self.assertIn('payload', self.serve.receive().json['error'])
        for kind in 1, 3, 24, 25, 27, 51, 56:
            self.serve.send(kind, 1)
            self.assertIn('may not send', self.serve.receive().json['error'])
        self.assertEqual(self.serve.status()['sessions'], 0)

    def test_that_are_none(self):
        for data, words in ((b'GET / HTTP/1.0\r\n\r\n', 'too long'),
                            (struct.pack('<IHHI', 0, 99, 0, 0), 'unknown type'),
                            (struct.pack('<IHHI', 0, 40, 1, 0), 'unknown type')):
            serve = Serve(OPTIONS)
            serve.open()
            serve.send_raw(data)
            with self.assertRaises(Gone):
                while True:
                    serve.receive()
            status, error = serve.end()
            self.assertEqual((status, error.count('\n')), (125, 1))
            self.assertIn(words, error)

    def test_a_client_that_does_not_read(self):
        session = self.serve.open()
        for n in range(200):
            session.start('print("x" * 60000)')
        time.sleep(1)
        with open(f'/proc/{self.serve.supervisor}/statm') as file:
            resident = int(file.read().split()[1]) * os.sysconf('SC_PAGESIZE')
        self.assertLess(resident, 16 << 20)
        answers = 0
        while answers < 200:
            answers += self.serve.receive().kind in ('DONE', 'REFUSED')
        self.assertEqual(session.run('1').result, '1')

    def test_once(self):
        step = self.serve.once('print(6 * 7)')
        self.assertEqual(step.out, b'42\n')
        self.ended(step, 'completed', 'kept')
        self.ended(self.serve.once('import os; os._exit(2)'), 'exited', 'rolled-back', exit_code=2)
        self.assertEqual(self.serve.status()['sessions'], 0)


class Life(Case):
    options = ['--cold']  # who is below serve, and what it holds, is counted

    def test_opened_tells_what_it_is(self):
        opened = self.serve.open().opened
        self.assertEqual((opened['session'], opened['warm']), (1, False))
        self.assertEqual(bool(opened['not_enforced']), not LIMITED)
        process = opened['posture']['process']
        self.assertEqual((process['cap_effective'], process['seccomp_mode']), ('0' * 16, '2'))
        self.assertEqual(opened['host_uid'], int(process['host_uids'].split()[0]))

    def test_nothing_runs_while_it_is_idle(self):
        session = self.serve.open()
        session.run('1')

        def switches():
            with open(f'/proc/{self.serve.supervisor}/status') as file:
                return [line for line in file if 'ctxt_switches' in line]
        # for a second, after what may be left to do
        self.assertTrue(wait_until(lambda: switches() == (time.sleep(1), switches())[1]))

    def test_many_sessions(self):
        sessions = [self.serve.begin() for _ in range(20)]
        for session in sessions:
            self.serve.expect(session.number, 0, 'OPENED')
        for n, session in enumerate(sessions):
            session.start(f'x = {n}')
        for session in sessions:
            self.ended(session.finish(), 'completed', 'kept')
        for n, session in enumerate(sessions):
            self.assertEqual(session.run('x').result, str(n))

    def test_nothing_is_left_of_a_session(self):
        def held():
            pid = self.serve.spawner
            return (len(os.listdir(f'/proc/{pid}/fd')), children(pid),
                    open_files(self.serve.supervisor))
        self.serve.open().close()
        before = held()
        for _ in range(10):
            session = self.serve.open()
            session.run('x = 1')
            session.run('import os; os._exit(1)')
            session.put('a', b'b')
            session.start('while True: pass')
            session.close()
        self.assertEqual(held(), before)

    def test_the_number_can_be_used_again(self):
        session = self.serve.open()
        session.run('x = 1')
        session.close()
        self.serve.next = session.number
        self.assertIn('NameError', self.serve.open().run('x').trace)

    def test_close_before_it_stands(self):
        with self.serve.at_once():
            session = self.serve.begin()
            self.serve.send('CLOSE', session.number)
        with self.assertRaises(Refused):
            self.serve.expect(session.number, 0, 'OPENED')
        self.assertEqual(self.serve.status()['sessions'], 0)

    def test_a_dead_interpreter_ends_the_session(self):
        session = self.serve.open()
        session.run('x = 1')
        first = sorted(below(self.serve.process.pid))
        session.start('print("on", flush=True); import time; time.sleep(1000)')
        self.serve.expect(session.number, 0, 'OUT')
        # not the template, which has no step beside it
        init = next(pid for pid in first if len(children(pid)) > 1 and inside(pid) == 1)
        # that of the first step is its snapshot by now
        os.kill(next(pid for pid in children(init) if inside(pid) == 3), signal.SIGKILL)
        self.ended(session.finish(), 'cancelled', 'lost')
        frame = self.serve.expect(session.number, 0, 'CLOSED')
        self.assertIn('first interpreter has ended', frame.json['reason'])
        self.assertEqual(self.serve.open().run('1').result, '1')

    def test_a_state_that_dies_is_told(self):
        session = self.serve.open()
        session.run('x = 1')
        state = int(session.run('x = 2\nimport os\nos.getpid()').result)
        os.kill(next(pid for pid in below(self.serve.process.pid) if inside(pid) == state),
                signal.SIGKILL)
        self.assertTrue(wait_until(lambda: session.status()['branches']['0']['lost']))
        self.refused('was lost', session.run, 'x')
        session.rollback(1)
        self.assertEqual(session.run('x').result, '1')

    def ends(self, act, status, said=''):
        session = self.serve.open()
        session.run('import os, time\nif os.fork() == 0: time.sleep(1000)')
        session.start('print("on", flush=True)\nwhile True: pass')
        self.serve.expect(session.number, 0, 'OUT')
        pids = below(self.serve.process.pid)
        self.assertGreaterEqual(len(pids), 4)
        act()
        self.assertEqual(self.serve.process.wait(), status)
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))), pids)
        serve, self.serve = self.serve, None
        self.assertEqual(serve.end()[1], said)

    def test_it_ends_with_its_client(self):
        self.ends(lambda: self.serve.socket.shutdown(1), 0)

    def test_it_ends_while_its_template_is_made(self):
        for pause in range(12):
            serve = Serve(OPTIONS)
            time.sleep(pause * 0.01)
            self.assertEqual(serve.end(), (0, ''))

    def test_it_ends_by_a_signal(self):
        self.ends(self.serve.process.terminate, 128 + signal.SIGTERM)

    def test_nothing_survives_its_kill(self):
        self.ends(self.serve.process.kill, -signal.SIGKILL, KILLED)

    def test_nothing_survives_the_kill_of_its_supervisor(self):
        self.ends(lambda: os.kill(self.serve.supervisor, signal.SIGKILL), 125,
                  'stepjail: serve: its supervisor was ended by signal 9\n')

    def test_a_supervisor_that_hangs_ends_with_it(self):
        def act():
            os.kill(self.serve.supervisor, signal.SIGSTOP)
            self.serve.process.terminate()
        self.ends(act, 125,
                  'stepjail: serve: its supervisor has not ended 5 seconds after a signal\n')

    def test_nothing_survives_its_kill_where_its_fds_are_held(self):
        """As what those fork holds them until its exec: no init sees the end of its socket then,
        and the kernel tells each of its parent's death. The keeper forks nothing."""
        libc, held = ctypes.CDLL(None, use_errno=True), []

        def kill():
            for pid in self.serve.spawner, self.serve.supervisor:
                if not open_files(pid):
                    continue
                pidfd = os.pidfd_open(pid)
                held.extend(libc.syscall(PIDFD_GETFD, pidfd, int(fd), 0)
                            for fd in os.listdir(f'/proc/{pid}/fd') if int(fd) > 2)
                os.close(pidfd)
            self.serve.process.kill()
        try:
            self.ends(kill, -signal.SIGKILL, KILLED)
            self.assertGreater(len([fd for fd in held if fd >= 0]), 5, ctypes.get_errno())
        finally:
            for fd in held:
                if fd >= 0:
                    os.close(fd)


class Start(unittest.TestCase):
    def said(self, *options, **kw):
        got = subprocess.run([f'{BUILD}/stepjail', 'serve', *OPTIONS, *options],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, **kw)
        self.assertEqual((got.returncode, got.stdout, got.stderr.count('\n')), (125, '', 1), got)
        return got.stderr

    def test_by_a_person(self):
        self.assertIn('fd 0 is no stream socket', self.said())

    def test_with_what_is_for_run(self):
        for option in '--report=x', '--out=x', '--capture', '--learn', '--oom-group':
            self.assertIn(option.split('=')[0], self.said(option))
        self.assertIn('/bin/true', self.said('--', '/bin/true'))
        self.assertIn('--preload', self.said('--preload=a,'))

    def test_with_standard_fds_closed(self):
        """What serve opens gets none of their numbers: a template has 2 as its own 1 and 2."""
        for closed in '>&-', '2>&-', '>&- 2>&-':
            words = ['sh', '-c', f'exec "$@" {closed}', 'sh', f'{BUILD}/stepjail', 'serve']
            with Serve(OPTIONS, words) as serve:
                serve.open()
                links = [os.readlink(f'/proc/{serve.spawner}/fd/{fd}') for fd in (1, 2)]
                self.assertTrue(all(link == '/dev/null' or link.startswith('pipe:')
                                    for link in links), (closed, links))
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            subprocess.run(['sh', '-c', 'exec "$@" <&-', 'sh', f'{BUILD}/stepjail', 'serve'],
                           check=True, capture_output=True, text=True)
        self.assertEqual(caught.exception.returncode, 125)
        self.assertIn('fd 0 is no stream socket', caught.exception.stderr)

    def test_with_too_few_processes(self):
        """Each state is one: that number is enough for many steps, and one less is refused."""
        for keep, least in ((8, 13), (0, 5)):
            few = f'--pids={least - 1}', f'--keep-states={keep}'
            self.assertIn(f'less than the {least} processes', self.said(*few))
            with Serve(OPTIONS + [f'--pids={least}', few[1], '--cold']) as serve:
                session = serve.open()
                for n in range(20):
                    self.assertEqual(session.run(str(n)).result, str(n))
                    # init, and no state of those that go
                    self.assertTrue(wait_until(lambda: len(below(serve.process.pid)) <= least - 1))

    def test_without_a_tree(self):
        serve = Serve(OPTIONS + ['--rootfs=./nothing'])
        with self.assertRaises(Gone):
            serve.receive()
        status, error = serve.end()
        self.assertEqual((status, error.count('\n')), (125, 1))
        self.assertIn('rootfs', error)

    @unittest.skipIf(LIMITED, 'this host has cgroups for serve')
    def test_without_cgroups(self):
        serve = Serve()
        with self.assertRaises(Gone):
            serve.receive()
        status, error = serve.end()
        self.assertEqual((status, error.count('\n')), (125, 1))
        self.assertIn('cgroup', error)

    def test_without_an_interpreter(self):
        serve = Serve(OPTIONS + [f'--rootfs={BUILD}/rootfs/core/lib', '--lock-code=yes'])
        with self.assertRaises(Refused) as caught:
            serve.open()
        self.assertIn('stepjail-interpreter', str(caught.exception))
        self.assertEqual(serve.end(), (0, ''))

    def test_preload(self):
        with Serve(OPTIONS + ['--preload=json,decimal']) as serve:
            step = serve.open().run('import sys; "json" in sys.modules, "decimal" in sys.modules')
            self.assertEqual(step.result, '(True, True)')
        serve = Serve(OPTIONS + ['--cold', '--preload=no_such_module'])
        with self.assertRaises(Refused) as caught:
            serve.open()
        self.assertIn('no_such_module', str(caught.exception))
        self.assertEqual(serve.end(), (0, ''))


class Moved(Case):
    def test_to_a_process_that_has_ended(self):
        """Nobody can say any more which one it was; the step ends with its own all the same."""
        session = self.serve.open()
        number = session.run('x = 1').done['step']
        for _ in range(5):
            number += 1
            step = session.run(f'''
import os, socket, stat, struct
fd = next(fd for fd in range(3, 300) if os.path.exists(f'/proc/self/fd/{{fd}}')
          and stat.S_ISSOCK(os.fstat(fd).st_mode))
channel = socket.socket(fileno=os.dup(fd))
moved = struct.pack('<IHHIII', 8, 26, 0, {number}, 99999, 0)
for _ in range(20):
    if os.fork() == 0:
        channel.send(moved)
        os._exit(0)
    os.wait()
channel.send(moved)
os._exit(6)
''')
            self.ended(step, 'exited', 'rolled-back', exit_code=6)
            self.assertEqual(session.run('x').result, '1')
            number += 1


if __name__ == '__main__':
    unittest.main()
