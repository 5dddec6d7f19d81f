# SPDX-License-Identifier: MIT
"""A client of `stepjail serve`: the frames of init/serve_wire.h, and one way to use them.

    with Serve(['--allow-missing=cgroup']) as serve:
        session = serve.open()
        step = session.run('x = 1\\nx + 1')
        step.done['verdict'], step.result
"""
import contextlib
import json
import os
import select
import socket
import struct
import subprocess

HEADER = struct.Struct('<IHHI')
MEDIA = struct.Struct('<IHHIIQ')
PAYLOAD_MAX = 65536
TYPES = {'CODE': 16, 'RUN': 17, 'INTERRUPT': 18, 'KILL': 19, 'OUT': 21, 'ERR': 22, 'RESULT': 23,
         'TRACE': 24, 'DONE': 25, 'MEDIA': 28, 'PIECE': 29, 'OPEN': 40, 'ONCE': 41, 'STDIN': 42, 'ROLLBACK': 43, 'BRANCH': 44,
         'DROP': 45, 'PUT': 46, 'GET': 47, 'LIST': 48, 'STATUS': 49, 'CLOSE': 50, 'OPENED': 51,
         'STATE': 52, 'DATA': 53, 'END': 54, 'REFUSED': 55, 'CLOSED': 56, 'WALL': 57}
NAMES = {number: name for name, number in TYPES.items()}
JSON = {'DONE', 'OPENED', 'STATE', 'END', 'REFUSED', 'CLOSED', 'WALL'}
PATIENCE = 180  # seconds: only what hangs takes so long
BUILD = os.environ.get('STEPJAIL_BUILD', 'build')


def encode(path):
    """A name is bytes; those that are no UTF-8 are shown as os.fsdecode() does."""
    return path.encode(errors='surrogateescape')


class Refused(Exception):
    """REFUSED came in place of an answer; json is all of it."""

    def __init__(self, json):
        super().__init__(json['error'])
        self.json = json


class Gone(Exception):
    """serve has closed its end."""


class Frame:
    def __init__(self, kind, session, payload):
        self.kind = NAMES.get(kind, kind)
        self.session = session
        self.branch = struct.unpack_from('<I', payload)[0] if len(payload) >= 4 else 0
        self.bytes = payload[4:]
        self.json = json.loads(self.bytes) if self.kind in JSON else None

    def __repr__(self):
        return f'{self.kind}({self.session}.{self.branch}, {self.bytes[:200]!r})'


class Shown:
    """A form of an object that a step shows, as init/media.h has it."""
    KINDS = (None, 'text', 'html', 'json', 'png', 'svg')
    FROM = (None, 'display', 'result', 'figure')

    def __init__(self, payload):
        self.object, kind, source, flags, zero, self.size = MEDIA.unpack_from(payload)
        assert zero == 0 and flags in (0, 1), payload
        self.kind, self.source, self.left_out = self.KINDS[kind], self.FROM[source], flags == 1
        self.name = payload[MEDIA.size:].decode()
        self.data = bytearray()

    @property
    def whole(self):
        return not self.left_out and len(self.data) == self.size

    def __repr__(self):
        return f'Shown({self.object}, {self.kind}, {self.source}, {self.name!r}, ' \
               f'{len(self.data)} of {self.size}, {self.data[:60]!r})'


class Step:
    """What came of a step: out, err, result, trace, shown, done."""

    def __init__(self):
        self.out, self.err = bytearray(), bytearray()  # bytes when it is done
        self.shown = []
        self.result = self.trace = self.done = None

    def take(self, frame):
        if frame.kind == 'OUT':
            self.out += frame.bytes
        elif frame.kind == 'ERR':
            self.err += frame.bytes
        elif frame.kind == 'RESULT':
            self.result = frame.bytes.decode()
        elif frame.kind == 'TRACE':
            self.trace = frame.bytes.decode()
        elif frame.kind == 'MEDIA':
            assert not self.shown or self.shown[-1].whole or self.shown[-1].left_out, self.shown
            self.shown.append(Shown(frame.bytes))
        elif frame.kind == 'PIECE':
            self.shown[-1].data += frame.bytes
            assert len(self.shown[-1].data) <= self.shown[-1].size, self.shown
        elif frame.kind == 'DONE':
            self.done = frame.json
            self.out, self.err = bytes(self.out), bytes(self.err)

    def __repr__(self):
        return f'Step({self.out!r}, {self.err!r}, {self.result!r}, {self.trace!r}, {self.done!r})'


def child_named(pid, name):
    """The child that has named itself so; AssertionError where there is none."""
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        for child in file.read().split():
            with contextlib.suppress(OSError), open(f'/proc/{child}/comm') as comm:
                if comm.read() == name + '\n':
                    return int(child)
    raise AssertionError(f'process {pid} has no child {name}')


def descendants(pid):
    """{pid: its command line} of a process and all below it."""
    found = {}
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            found[pid] = file.read().split(b'\0')
        for thread in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{thread}/children', encoding='ascii') as file:
                for child in file.read().split():
                    found.update(descendants(int(child)))
    return found


class Serve:
    def __init__(self, options=(), command=None, **kw):
        own, its = socket.socketpair()
        self.socket = own
        self.process = subprocess.Popen((command or [f'{BUILD}/stepjail', 'serve']) + list(options),
                                        stdin=its, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, **kw)
        its.close()
        self.buffer = b''
        self.waiting = []  # frames that nobody has asked for yet
        self.next = 1

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end()

    def end(self):
        """Close this end; the exit status, and what serve said on stderr."""
        self.socket.close()
        error = self.process.stderr.read().decode()
        self.process.stderr.close()
        return self.process.wait(), error

    @property
    def spawner(self):
        """The process that launches jails; the one that was started keeps its end."""
        return child_named(self.process.pid, 'stepjail-spawn')

    @property
    def supervisor(self):
        """The process that reads what jails and this client say."""
        return child_named(self.spawner, 'stepjail-superv')

    def send(self, kind, session, payload=b'', branch=0):
        """A frame; payload is what stands behind the branch."""
        payload = struct.pack('<I', branch) + payload
        self.send_raw(HEADER.pack(len(payload), TYPES.get(kind, kind), 0, session) + payload)

    def send_raw(self, data):
        self.socket.sendall(data)

    @contextlib.contextmanager
    def at_once(self):
        """What is sent meanwhile is sent as one: serve has all of it when it has the first."""
        sent = []
        self.send_raw = sent.append
        yield
        del self.send_raw
        self.send_raw(b''.join(sent))

    def receive(self, timeout=PATIENCE):
        """The next frame of any session, whether somebody waits for it or not."""
        while True:
            if len(self.buffer) >= HEADER.size:
                length, kind, zero, session = HEADER.unpack_from(self.buffer)
                assert zero == 0 and length <= PAYLOAD_MAX, 'not a frame'
                end = HEADER.size + length
                if len(self.buffer) >= end:
                    payload, self.buffer = self.buffer[HEADER.size:end], self.buffer[end:]
                    return Frame(kind, session, payload)
            if not select.select([self.socket], [], [], timeout)[0]:
                raise TimeoutError('no frame came')
            try:
                got = self.socket.recv(1 << 20)
            except ConnectionResetError:
                got = b''
            if not got:
                raise Gone()
            self.buffer += got

    def expect(self, session, branch, *kinds, timeout=PATIENCE):
        """The next frame of this session and branch, of these kinds; others are kept."""
        def wanted(frame):
            return (frame.session == session and branch in (None, frame.branch)
                    and frame.kind in kinds + ('REFUSED', 'CLOSED'))
        for i, frame in enumerate(self.waiting):
            if wanted(frame):
                del self.waiting[i]
                break
        else:
            while not wanted(frame := self.receive(timeout)):
                self.waiting.append(frame)
        if frame.kind == 'REFUSED':
            raise Refused(frame.json)
        if frame.kind == 'CLOSED' and 'CLOSED' not in kinds:
            raise Gone(frame.json['reason'])
        return frame

    def expect_any(self, session, timeout=PATIENCE):
        """The next frame of this session, whatever it is; others are kept."""
        for i, frame in enumerate(self.waiting):
            if frame.session == session:
                return self.waiting.pop(i)
        while (frame := self.receive(timeout)).session != session:
            self.waiting.append(frame)
        return frame

    def begin(self):
        """OPEN, without waiting for it."""
        session = Session(self, self.next)
        self.next += 1
        self.send('OPEN', session.number)
        return session

    def open(self):
        session = self.begin()
        session.opened = self.expect(session.number, 0, 'OPENED').json
        return session

    def begin_once(self, source, wall_ms=0, cpu_ms=0, first=PAYLOAD_MAX - 24):
        """ONCE, without waiting for it; first: bytes of the source in its own frame."""
        session = Session(self, self.next)
        self.next += 1
        data = source if isinstance(source, bytes) else source.encode()
        rest = data[first:]
        self.send('ONCE', session.number,
                  struct.pack('<IQQ', len(rest), wall_ms, cpu_ms) + data[:first])
        for at in range(0, len(rest), PAYLOAD_MAX - 4):
            self.send('CODE', session.number, rest[at:at + PAYLOAD_MAX - 4])
        return session

    def once(self, source, **kw):
        session = self.begin_once(source, **kw)
        session.opened = self.expect(session.number, 0, 'OPENED').json
        step = session.finish()
        self.expect(session.number, 0, 'CLOSED')
        return step

    def status(self, session=0):
        self.send('STATUS', session)
        return self.expect(session, None, 'STATE').json


class Session:
    def __init__(self, serve, number):
        self.serve = serve
        self.number = number
        self.opened = None

    def start(self, source, branch=0, wall_ms=0, cpu_ms=0):
        """Run a source, without waiting for its end."""
        data = source if isinstance(source, bytes) else source.encode()
        for at in range(0, len(data), PAYLOAD_MAX - 4):
            self.serve.send('CODE', self.number, data[at:at + PAYLOAD_MAX - 4], branch)
        self.serve.send('RUN', self.number, struct.pack('<IQQ', 0, wall_ms, cpu_ms), branch)

    def finish(self, branch=0, timeout=PATIENCE):
        step = Step()
        while step.done is None:
            step.take(self.serve.expect(self.number, branch, 'OUT', 'ERR', 'RESULT', 'TRACE', 'MEDIA',
                                        'PIECE', 'DONE', timeout=timeout))
        return step

    def run(self, source, branch=0, wall_ms=0, cpu_ms=0, timeout=PATIENCE):
        self.start(source, branch, wall_ms, cpu_ms)
        return self.finish(branch, timeout)

    def run_until(self, said, source, branch=0, wall_ms=500):
        """A step that says so when it is where its limit on time is to find it.

        On a slow host that may be too late: then it is run again, with ten times as much.
        """
        here = self.status()['branches'][str(branch)]['state']
        while said not in (step := self.run(source, branch, wall_ms)).out and wall_ms < 10000:
            self.rollback(here, branch)
            wall_ms *= 10
        return step

    def stdin(self, data, branch=0):
        self.serve.send('STDIN', self.number, data, branch)

    def interrupt(self, branch=0, step=None):
        self.serve.send('INTERRUPT', self.number, self._step(step), branch)

    def kill(self, branch=0, step=None):
        self.serve.send('KILL', self.number, self._step(step), branch)

    @staticmethod
    def _step(step):
        return b'' if step is None else struct.pack('<I', step)

    def _state(self, kind, branch, payload=b''):
        self.serve.send(kind, self.number, payload, branch)
        return self.serve.expect(self.number, branch, 'STATE').json

    def rollback(self, state, branch=0):
        return self._state('ROLLBACK', branch, struct.pack('<I', state))

    def branch(self, name, state):
        return self._state('BRANCH', name, struct.pack('<I', state))

    def drop(self, branch):
        return self._state('DROP', branch)

    def status(self):
        return self._state('STATUS', 0)

    def put(self, path, data, mode=0, drop=None):
        self.serve.send('PUT', self.number, struct.pack('<I', mode) + encode(path))
        for at in range(0, len(data), PAYLOAD_MAX - 4):
            self.serve.send('DATA', self.number, data[at:at + PAYLOAD_MAX - 4])
        self.serve.send('END', self.number, b'' if drop is None else struct.pack('<I', drop))
        return self.serve.expect(self.number, 0, 'STATE').json

    def _read(self, kind, path, most=0):
        self.serve.send(kind, self.number, struct.pack('<I', most) + encode(path))
        data = []
        while (frame := self.serve.expect(self.number, 0, 'DATA', 'END')).kind == 'DATA':
            data.append(frame.bytes)
        return b''.join(data)

    def get(self, path, most=0):
        return self._read('GET', path, most)

    def list(self, path='.', most=0):
        """Entries: (kind, size, mtime, name)."""
        entries = self._read('LIST', path, most).split(b'\0')[:-1]
        return [(k.decode(), int(s), int(m), n.decode(errors='surrogateescape'))
                for k, s, m, n in (entry.split(b' ', 3) for entry in entries)]

    def close(self):
        self.serve.send('CLOSE', self.number)
        return self.serve.expect(self.number, 0, 'CLOSED').json
