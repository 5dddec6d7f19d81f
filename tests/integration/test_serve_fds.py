#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: a step sends file descriptors over its channel that are slow to close.

Whoever closes the last copy of a TCP socket that lingers waits, for an hour here; serve must
not be the one. Linux 6.16 refuses such a packet when it is sent; on an older kernel serve does
without that. Both are tried: build/stepjail-unwalled with STEPJAIL_LACKS=SO_PASSRIGHTS is
serve as an older kernel has it. Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import shutil
import signal
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import BUILD, Serve, child_named  # noqa: E402
from serve_scene import (CHANNEL, DONE, OPTIONS, RESULT, below, is_alive,  # noqa: E402
                         open_files, wait_until)

SO_PASSRIGHTS = 83
SLOW = '''
import signal
def slow():
    listener = socket.create_server(('127.0.0.1', 0))
    s = socket.create_connection(listener.getsockname())
    s.setblocking(False)
    try:
        while True: s.send(bytes(65536))
    except BlockingIOError: pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 3600))
    return s, listener
def send(data, fds):
    try:
        socket.send_fds(channel, [data], fds)
        return 'sent'
    except PermissionError:
        return 'refused'
frame = struct.pack('<IHHI', 4, {result}, 0, N) + b'said'
s, listener = slow()
told = send({data}, [s.fileno()] * {count})
if told == 'sent': s.close()
'''
REST = 'os.write(1, told.encode())\nsignal.pause()'


def refuses_rights():
    """Does this kernel have it?"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        try:
            s.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
        except OSError:
            return False
    return True


class Slow:
    """What must hold whether fds can be sent or not; test() is given a session that can."""
    command, told = None, 'sent'

    def setUp(self):
        env = dict(os.environ, STEPJAIL_LACKS='SO_PASSRIGHTS')
        self.folder = tempfile.mkdtemp(prefix='stepjail-fds-')
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o777)
        self.serve = Serve(OPTIONS + ['--net=loopback', '--wall-time=1h', '--grace=2s',
                                      f'--bind-rw={self.folder}:/mnt'], self.command, env=env)
        self.addCleanup(self.kill)

    def kill(self):
        """serve that waits in close(2) can only be killed."""
        if self.serve.process.poll() is None:
            self.serve.process.kill()
            self.serve.socket.close()
            self.serve.process.wait()
        self.serve.process.stderr.close()

    def make(self, name):
        with open(f'{self.folder}/{name}', 'w'):
            pass

    def sends(self, data='frame', count=1, rest=REST, first=''):
        """A session whose step does that."""
        session = self.serve.open()
        number = session.run('x = 1').done['step'] + 1
        session.start(CHANNEL.format(number=number) + first
                      + SLOW.format(result=RESULT, data=data, count=count) + rest)
        return session

    def is_told(self, session):
        """It is known by then what the step's attempt came to."""
        if self.told == 'refused':
            self.assertEqual(self.serve.expect(session.number, 0, 'OUT').bytes, b'refused')
            session.kill()
        step = session.finish()
        killed = self.told == 'sent'
        self.assertEqual((step.done['verdict'], step.done['state'], step.result),
                         ('violation' if killed else 'cancelled', 'rolled-back', None), step)
        self.assertEqual(step.done['reason'],
                         'it sent file descriptors over its channel' if killed else None)

    def others_go_on(self):
        """A limit is one; and so is the end of serve, which waits for nobody."""
        other = self.serve.open()
        step = other.run('while True: pass', wall_ms=300)
        self.assertEqual(step.done['verdict'], 'wall-timeout')
        self.assertEqual(other.run('1').result, '1')

    def ends(self):
        pids = below(self.serve.process.pid)
        self.assertEqual(self.serve.end(), (0, ''))
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))))

    def test_a_limit_of_another_session(self):
        other = self.serve.open()
        other.run('1')
        session = self.sends()
        self.others_go_on()
        self.is_told(session)
        self.others_go_on()
        self.assertEqual(session.run('x').result, '1')
        self.ends()

    def test_in_a_packet_of_any_kind(self):
        for data in 'b""', 'b"x"', 'frame * 9000', f'struct.pack("<IHHI", 40, {DONE}, 0, N) + done(2)':
            session = self.sends(data)
            self.is_told(session)
            self.others_go_on()
        self.ends()

    def test_many(self):
        session = self.sends(count=100)
        self.is_told(session)
        self.others_go_on()
        self.ends()

    def test_behind_others(self):
        """serve closes a channel of which it has not received all."""
        session = self.sends(rest='os.write(1, b"there")\n'
                             'while say(0): pass\n' + 'os.kill(os.getpid(), 9)')
        session.finish()
        self.others_go_on()
        self.assertEqual(session.run('x').result, '1')
        self.ends()

    def test_by_a_child(self):
        session = self.sends(first='import signal\nif os.fork(): signal.pause()')
        self.is_told(session)
        self.others_go_on()
        self.ends()

    def test_at_the_end_of_the_session(self):
        """serve is asked to close it before it can have received anything."""
        session = self.sends(first='os.write(1, b"here")\n'
                             'while not os.path.exists("/mnt/go"): time.sleep(0.01)',
                             rest='open("/mnt/sent", "w")\nsignal.pause()')
        self.serve.expect(session.number, 0, 'OUT')
        os.kill(self.serve.supervisor, signal.SIGSTOP)
        self.make('go')
        self.assertTrue(wait_until(lambda: os.path.exists(f'{self.folder}/sent')))
        self.serve.send('CLOSE', session.number)
        os.kill(self.serve.supervisor, signal.SIGCONT)
        self.serve.expect(session.number, 0, 'CLOSED')
        self.others_go_on()
        self.ends()

    def test_at_the_end_of_serve(self):
        session = self.sends()
        pids = below(self.serve.process.pid)
        self.assertTrue(wait_until(lambda: self.has_sent(session)))
        self.serve.process.send_signal(signal.SIGTERM)
        # end() hangs up, which may come first
        self.serve.process.wait()
        self.assertEqual(self.serve.end(), (128 + signal.SIGTERM, ''))
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))))

    def has_sent(self, session):
        frame = self.serve.expect(session.number, 0, 'OUT', 'DONE')
        return frame.kind in ('OUT', 'DONE')


class Older(Slow, unittest.TestCase):
    command = [f'{BUILD}/stepjail-unwalled', 'serve']

    def closer(self):
        """The closer, when it has said its name and has closed all but its socket."""
        found = []
        self.assertTrue(wait_until(lambda: found.append(self.find_closer()) or found[-1]))
        self.assertTrue(wait_until(lambda: open_files(found[-1]) <= 1))
        return found[-1]

    def find_closer(self):
        try:
            return child_named(self.serve.supervisor, 'stepjail-closer')
        except AssertionError:
            return None

    def test_the_closer_closes_it(self):
        """The supervisor's end of the channel goes to the closer, which stays and holds nothing."""
        self.serve.open().close()
        closer = self.closer()
        before = open_files(self.serve.supervisor), open_files(closer)
        for _ in range(3):
            session = self.sends()
            self.is_told(session)
            session.close()
        self.assertTrue(wait_until(lambda: before == (
            open_files(self.serve.supervisor), open_files(closer))))
        self.others_go_on()
        self.assertTrue(is_alive(closer))
        self.ends()


class Newer(Slow, unittest.TestCase):
    told = 'refused' if refuses_rights() else 'sent'


if __name__ == '__main__':
    unittest.main()
