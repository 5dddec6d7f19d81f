#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--wall vm: runs and sessions in a guest are as without one, and a guest that fails is told so."""
import atexit
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

import record_schema
from serve_client import BUILD, Serve, descendants

OPTIONS = ['--wall=vm', *(word for word in os.environ['STEPJAIL_RUN'].split() if 'allow-missing' in word)]
PATIENCE = 180  # seconds; only ends what hangs
HEAD = struct.Struct('<BBHI')
CONTROL, IN, OUT, ERR, REPORT = range(5)
DATA, END, ACK, CLOSED = range(1, 5)
READY, TAKEN, WINDOW = b'R', b'T', 65536


def run(*words, stdin=b'', **options):
    return subprocess.run([f'{BUILD}/stepjail', 'run', *OPTIONS, *words], input=stdin, capture_output=True,
                          timeout=PATIENCE, check=False, **options)


def python(code, *options, **more):
    return run(*options, '--', '/bin/python3', '-c', code, **more)


# guests' folders are made there, and nobody else's
TEMP = tempfile.mkdtemp()
os.chmod(TEMP, 0o711)
os.environ['TMPDIR'] = TEMP
atexit.register(shutil.rmtree, TEMP)


class Scene(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def tearDown(self):
        self.assertEqual(glob.glob(f'{TEMP}/*'), [])

    def report(self, *words, **options):
        path = f'{self.folder}/report'
        done = run(f'--report={path}', *words, **options)
        with open(path, encoding='utf-8') as file:
            return done, json.load(file)


class Run(Scene):
    def test_streams_status_report(self):
        script = f'{self.folder}/script.py'
        with open(script, 'w', encoding='utf-8') as file:
            file.write('import sys\nprint(len(sys.stdin.buffer.read()), sys.argv[1])\n'
                       'sys.stdout.write("x" * 300000)\nprint("said", file=sys.stderr)\nsys.exit(7)')
        done, report = self.report(script, 'word', stdin=bytes(300000))
        self.assertEqual((done.returncode, done.stderr), (7, b'said\n'))
        self.assertEqual(record_schema.wrong(report, record_schema.REPORT), [])
        self.assertEqual(done.stdout, b'300000 word\n' + b'x' * 300000)
        self.assertEqual((report['verdict'], report['exit_code'], report['status']), ('exited', 7, 7))
        # the guest has whole limits, whatever the host has
        self.assertEqual(report['not_enforced'], [])
        self.assertEqual(report['cgroup_limits']['memory.max'], str(512 << 20))
        with open(f'{BUILD}/rootfs/core.sha256.sum', encoding='ascii') as file:
            self.assertEqual(report['posture']['root_sha256'], file.read().split()[0])
        wall = report['vm']
        self.assertEqual((wall['machine'], wall['acceleration'], wall['started']), ('microvm', 'tcg', True))
        self.assertRegex(wall['kernel'], r'^[0-9]+\.[0-9]+.*cloud')
        self.assertRegex(wall['qemu'], r'^[0-9]')
        self.assertRegex(wall['image']['kernel'], '^[0-9a-f]{64}$')
        # QEMU's own walls, as the kernel told them
        self.assertEqual(wall['jail']['posture']['process']['seccomp_mode'], '2')
        self.assertEqual(wall['jail']['posture']['process']['cap_effective'], '0' * 16)

    def test_limits(self):
        for code, options, status, verdict in (
                ('x = bytearray(200 << 20)', ['--memory=64M'], 137, 'memory'),
                ('while True: pass', ['--wall-time=1s'], 124, 'wall-timeout'),
                ('import os; os.kill(os.getpid(), 11)', [], 139, 'signaled')):
            with self.subTest(verdict):
                done, report = self.report(*options, '--', '/bin/python3', '-c', code)
                self.assertEqual((done.returncode, report['verdict']), (status, verdict), done.stderr)

    def test_binds(self):
        os.chmod(self.folder, 0o755)
        os.mkdir(f'{self.folder}/data')
        for name in 'data/a', 'b':
            with open(f'{self.folder}/{name}', 'w', encoding='ascii') as file:
                file.write(name)
            os.chmod(f'{self.folder}/{name}', 0o644)
        done = python('print(open("data/a").read(), open("b").read())\nopen("data/a", "w")',
                      f'--bind={self.folder}/data:/work/data', f'--bind={self.folder}/b:/work/b')
        self.assertEqual((done.stdout, done.returncode), (b'data/a b\n', 1))
        self.assertIn(b'Read-only file system', done.stderr)

    def test_clock_machine_and_random(self):
        code = 'import os, time; print(os.urandom(16).hex(), int(time.time()))'
        first, second = (python(code).stdout.split() for _ in range(2))
        self.assertNotEqual(first[0], second[0])
        self.assertLess(abs(int(second[1]) - int(subprocess.check_output(['date', '+%s']))), 60)

    @unittest.skipUnless('--allow-missing=cgroup' in OPTIONS, 'this host keeps them')
    def test_limits_of_the_host(self):
        """They are those of QEMU's jail, which says what this host does not keep of them."""
        done, report = self.report('--cpuset=0', '--io-max=/ rbps=1G', '--', '/bin/python3', '-c', '')
        self.assertEqual((done.returncode, report['not_enforced']), (0, []), done.stderr)
        told = [re.split('[: ]', line)[0] for line in report['vm']['jail']['not_enforced']]
        self.assertIn('cpuset.cpus', told)
        self.assertIn('io.max', told)

    def test_refused(self):
        for words, said in ((['--bind-rw=/tmp:/work/x'], '--bind-rw'),
                            (['--cpuset=x'], '--cpuset'), (['--memory=2G'], 'raise --vm-memory'),
                            (['--bind=/nonexistent:/work/x'], 'is no file and no folder')):
            with self.subTest(words[0]):
                done = python('print(1)', *words)
                self.assertEqual((done.returncode, done.stdout), (125, b''))
                self.assertIn(said, done.stderr.decode())

    def test_report_to_nowhere(self):
        self.assertEqual(python('print(1)', '--report=/dev/null').stdout, b'1\n')

    def test_policy_from_pipe(self):
        """It is read once."""
        ours, theirs = os.pipe()
        os.write(theirs, b'wall vm\nhostname once\n')
        os.close(theirs)
        try:
            done = python('import socket; print(socket.gethostname())', f'--policy=/dev/fd/{ours}', pass_fds=[ours])
        finally:
            os.close(ours)
        self.assertEqual((done.stdout, done.stderr), (b'once\n', b''))

    def test_signal(self):
        """It is the program's in the guest: the verdict is its report's."""
        path = f'{self.folder}/report'
        process = subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, f'--report={path}', '--', '/bin/python3',
                                    '-c', 'print("on", flush=True)\nwhile True: pass'], stdout=subprocess.PIPE)
        with process:
            self.assertEqual(process.stdout.readline(), b'on\n')
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        with open(path, encoding='utf-8') as file:
            self.assertEqual(json.load(file)['verdict'], 'cancelled')


class Ends(Scene):
    """Whoever is killed: the others end, and nothing is left."""

    def scene(self):
        path = f'{self.folder}/report'
        process = subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, f'--report={path}', '--', '/bin/python3',
                                    '-c', 'print("on", flush=True)\nwhile True: pass'], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b'on\n')
        all_of_it = descendants(process.pid)
        return process, path, {pid: os.pidfd_open(pid) for pid in all_of_it}, all_of_it

    def gone(self, fds):
        for pid, fd in fds.items():
            self.assertTrue(select.select([fd], [], [], PATIENCE)[0], pid)
            os.close(fd)

    def end(self, name):
        process, path, fds, words = self.scene()
        for pid, line in words.items():
            if name(pid, line, process.pid):
                os.kill(pid, signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE)
        self.gone(fds)
        return process.returncode, said.decode(), path

    @unittest.skipIf(os.getuid(), 'a user cannot see whose processes are in the jail')
    def test_qemu_killed(self):
        status, said, path = self.end(lambda pid, line, main: line[0] == b'/usr/bin/qemu')
        self.assertEqual(status, 125)
        self.assertIn('the guest has ended without an answer', said)
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
        self.assertEqual((report['verdict'], report['vm']['started']), ('launcher-error', True))

    @unittest.skipIf(os.getuid(), 'a user cannot see whose processes are in the jail')
    def test_qemu_killed_before_it_is_ready(self):
        path = f'{self.folder}/report'
        process = subprocess.Popen([f'{BUILD}/stepjail', 'run', *OPTIONS, f'--report={path}', '--', '/bin/python3',
                                    '-c', 'print("on")'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        qemu = []
        while not qemu and process.poll() is None:
            qemu = [pid for pid, line in descendants(process.pid).items() if line[0] == b'/usr/bin/qemu']
        os.kill(qemu[0], signal.SIGKILL)
        out, said = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (125, b''))
        self.assertIn(b'the guest has ended without an answer', said)
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
        self.assertEqual((report['verdict'], report['vm']['started']), ('launcher-error', False))

    def test_main_killed(self):
        status, _, _ = self.end(lambda pid, line, main: pid == main)
        self.assertEqual(status, -signal.SIGKILL)

    def test_relay_killed(self):
        status, _, _ = self.end(lambda pid, line, main: line[0].endswith(b'stepjail-vm-relay'))
        self.assertEqual(status, 128 + signal.SIGKILL)


class Hostile(unittest.TestCase):
    """A guest that lies, floods or hangs, played to the relay: the line says what it did."""

    @staticmethod
    def begin(port):
        """As a guest begins: it is ready, and takes the request, which is empty."""
        port.sendall(HEAD.pack(CONTROL, DATA, 0, 1) + READY)
        port.recv(4, socket.MSG_WAITALL)
        port.sendall(HEAD.pack(CONTROL, DATA, 0, 1) + TAKEN)

    def relay(self, act, boot_ms=PATIENCE * 1000, run_ms=0, request=b'', how='booted'):
        """(status, stdout, stderr) when a guest does what @act does with (port, console)."""
        port, guest = socket.socketpair()
        console, prints = socket.socketpair()
        main, its = socket.socketpair()
        wanted = os.memfd_create('request')
        os.pwrite(wanted, request, 0)
        fds = [port.fileno(), console.fileno(), wanted, os.memfd_create('report'), its.fileno()]
        high = [os.dup2(fd, 40 + i, inheritable=False) for i, fd in enumerate(fds)]
        process = subprocess.Popen(
            [f'{BUILD}/stepjail-vm-relay', 'run', how, str(boot_ms), str(run_ms)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False,
            preexec_fn=lambda: [os.dup2(fd, 3 + i, inheritable=True) for i, fd in enumerate(high)])
        for fd in (*high, fds[2], fds[3]):
            os.close(fd)
        for each in (port, console, its):
            each.close()

        def play():
            try:
                act(guest, prints)
            except OSError:
                pass  # the relay has had enough

        self.process, self.main = process, main
        guest_thread = threading.Thread(target=play)
        guest_thread.start()
        try:
            said = process.communicate(timeout=PATIENCE)
            status = process.returncode
        finally:
            for each in (guest, prints, main):
                with_shutdown(each)
            guest_thread.join()
        return status, *said

    def test_frames_that_are_none(self):
        ready = HEAD.pack(CONTROL, DATA, 0, 1) + READY
        for name, sent in (('noise', b'\xff' * 4096), ('long', HEAD.pack(OUT, DATA, 0, 1 << 30)),
                           ('exit before it is ready', HEAD.pack(CONTROL, DATA, 0, 2) + b'E\0'),
                           ('exit before it has its request', ready + HEAD.pack(CONTROL, DATA, 0, 2) + b'E\0'),
                           ('ready twice', ready + ready), ('no such stream', ready + HEAD.pack(9, DATA, 0, 0)),
                           ('a window too much', ready + 5 * (HEAD.pack(IN, DATA, 0, 16384) + bytes(16384))),
                           ('credit from nowhere', ready + HEAD.pack(OUT, ACK, 0, 4) + struct.pack('<I', 1)),
                           ('data after the end', ready + HEAD.pack(ERR, END, 0, 0) + HEAD.pack(ERR, DATA, 0, 1) + b'x')):
            with self.subTest(name):
                status, out, said = self.relay(lambda port, console, sent=sent: port.sendall(sent))
                self.assertEqual((status, out), (125, b''))
                self.assertIn(b'has sent what is no frame', said)

    def test_end_without_a_word(self):
        def act(port, console):
            console.sendall(b'Kernel panic - \x1b[31mnot syncing\n')
            console.shutdown(socket.SHUT_RDWR)
            port.shutdown(socket.SHUT_RDWR)
        status, _, said = self.relay(act)
        self.assertEqual(status, 125)
        self.assertIn(b'ended without an answer; its last line: Kernel panic - ?[31mnot syncing\n', said)

    def test_flood_of_the_console(self):
        def act(port, console):
            for _ in range(1000):
                console.sendall(b'y' * 65536)
            self.begin(port)
            port.sendall(HEAD.pack(OUT, DATA, 0, 2) + b'ok' + HEAD.pack(CONTROL, DATA, 0, 2) + b'E\5')
        self.assertEqual(self.relay(act), (5, b'ok', b''))

    def test_gone_once_all_is_said(self):
        """What came before the end is passed on; a stream that goes the other way is a lie."""
        def act(port, console):
            self.begin(port)
            self.main.recv(1)
            os.kill(self.process.pid, signal.SIGSTOP)  # it reads in pieces, and answers each to nobody
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)
            port.sendall(3 * (HEAD.pack(OUT, DATA, 0, 16384) + bytes(16384)) + HEAD.pack(CONTROL, DATA, 0, 2) + b'E\5')
            port.sendall(HEAD.pack(IN, DATA, 0, 2) + b'no')
            port.shutdown(socket.SHUT_RDWR)
            os.kill(self.process.pid, signal.SIGCONT)
        self.assertEqual(self.relay(act), (5, bytes(3 * 16384), b''))

    def test_port_closed_console_open(self):
        def act(port, console):
            console.sendall(b'last word\n')
            port.shutdown(socket.SHUT_RDWR)
        status, _, said = self.relay(act)
        self.assertEqual((status, b'its last line: last word' in said), (125, True))

    def test_takes_no_request(self):
        """A long one is not written to the end; the relay does not wait for ever."""
        def act(port, console):
            port.sendall(HEAD.pack(CONTROL, DATA, 0, 1) + READY)
        status, _, said = self.relay(act, boot_ms=5000, request=bytes(900000))
        self.assertEqual((status, said), (125, b'stepjail: --wall vm: the guest takes no request\n'))

    def test_ends_before_its_request(self):
        def act(port, console):
            console.sendall(b'last word\n')
            console.shutdown(socket.SHUT_RDWR)
            port.shutdown(socket.SHUT_RDWR)
        status, _, said = self.relay(act, how='cloned')
        self.assertEqual((status, b'ended without an answer; its last line: last word' in said), (125, True))

    def test_line_of_qemus_jail(self):
        """It is the host's until the guest has its request; then the guest could have printed it."""
        for begin, said in (lambda port: None, b"no room (that is QEMU's own jail, without which there is no guest)\n"), \
                           (self.begin, b'the guest has ended without an answer; its last line: stepjail: no room\n'):
            def act(port, console, begin=begin):
                begin(port)
                console.sendall(b'stepjail: no room\n')
                console.shutdown(socket.SHUT_RDWR)
                port.shutdown(socket.SHUT_RDWR)
            self.assertEqual(self.relay(act), (125, b'', b'stepjail: --wall vm: ' + said))

    def test_hangs(self):
        status, _, said = self.relay(lambda port, console: None, boot_ms=50)
        self.assertEqual((status, b'the guest does not start' in said), (125, True))
        status, _, said = self.relay(lambda port, console: None, boot_ms=50, how='cloned')
        self.assertEqual((status, b'the guest does not start' in said), (125, True))
        status, _, said = self.relay(lambda port, console: self.begin(port), run_ms=50)
        self.assertEqual((status, b'the guest hangs' in said), (125, True))


def with_shutdown(each):
    """Wakes who writes to it."""
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    each.close()


class Sessions(Scene):
    def test_many_in_one_guest(self):
        with Serve([*OPTIONS, '--rootfs=core']) as serve:
            first, second = serve.open(), serve.open()
            self.assertEqual(first.run('x = 1').done['verdict'], 'completed')
            self.assertEqual(first.run('x + 1').result, '2')
            self.assertEqual(second.run('x').done['verdict'], 'exception')
            self.assertEqual(first.run('import os; os._exit(3)').done['verdict'], 'exited')
            self.assertEqual(first.run('x').result, '1')

    def test_wall(self):
        """The first frame is the host's word of the guest; and at the end there is a report, with QEMU's own walls."""
        path = f'{self.folder}/report'
        with Serve([*OPTIONS, '--rootfs=core', f'--report={path}']) as serve:
            told = serve.receive()
            self.assertEqual((told.kind, told.session, told.branch), ('WALL', 0, 0))
            self.assertEqual(record_schema.wrong(told.json, {'vm': record_schema.VM}), [])
            self.assertEqual(serve.open().run('1').result, '1')
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
        wall = report['vm']
        self.assertEqual(report, {'status': 0, 'vm': wall})
        self.assertEqual(record_schema.wrong(wall, record_schema.REPORT['vm?']), [])
        self.assertEqual({name: wall[name] for name in told.json['vm']}, told.json['vm'])
        self.assertEqual(wall['jail']['posture']['process']['seccomp_mode'], '2')

    def test_client_that_is_gone(self):
        """It has closed its socket before anything was said."""
        ours, its = socket.socketpair()
        ours.close()
        with its:
            done = subprocess.run([f'{BUILD}/stepjail', 'serve', *OPTIONS, '--rootfs=core'], stdin=its, timeout=PATIENCE,
                                  capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_agent(self):
        """Its transcript has what the host says of the guest."""
        path = f'{self.folder}/transcript'
        done = subprocess.run([f'{BUILD}/stepjail-agent', 'repl', f'--transcript={path}', *OPTIONS],
                              input='x = 20\nprint(x + 1)\n', capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, '21'), done.stderr)
        with open(path, encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([wrong for line in lines for wrong in record_schema.wrong_line(line)], [])
        (session,) = (line for line in lines if line['event'] == 'session')
        self.assertEqual(session['vm']['machine'], 'microvm')


class Check(unittest.TestCase):
    def test_check(self):
        done = subprocess.run([f'{BUILD}/stepjail', 'check', *OPTIONS], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertRegex(done.stdout, r'(?m)^ok +QEMU +[0-9]')
        said = subprocess.check_output([f'{BUILD}/stepjail', 'check', '--json', *OPTIONS])
        self.assertIn(('QEMU', 'ok'), [(row['name'], row['state']) for row in json.loads(said)['checks']])
        self.assertTrue(json.loads(said)['ok'])


if __name__ == '__main__':
    unittest.main()
