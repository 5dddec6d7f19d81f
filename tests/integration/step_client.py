# SPDX-License-Identifier: MIT
"""step_client.py - a client of a session's interpreters, by init/step_wire.h

/bin/stepjail-interpreter runs in a jail, its fd 0 one end of a SOCK_SEQPACKET pair.
STEPJAIL_RUN is the command that runs a program in a jail with rootfs/core as its root, the
words of that behind it; `stepjail run` of STEPJAIL_BUILD by default.
"""
import array
import fcntl
import os
import select
import shlex
import signal
import socket
import struct
import subprocess
import tempfile
import time

from serve_client import PATIENCE

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("STEPJAIL_BUILD", os.path.join(TOP, "build")))
LOCKED = [word for word in shlex.split(os.environ.get("STEPJAIL_RUN", ""))
          if not word.startswith("--lock-code")] or [
    os.path.join(BUILD, "stepjail"), "run", "--allow-missing=cgroup", "--rootfs",
    os.path.join(BUILD, "rootfs/core"), "--"]
# one jail serves many tests, however slow the host
LOCKED[-1:] = ["--wall-time=1h", "--"]
PROGRAM = "/bin/stepjail-interpreter"

FAIL, RUN, STARTED, RESULT, TRACE, DONE, FILE = 1, 17, 20, 23, 24, 25, 27
COMPLETED, EXCEPTION, EXIT = range(3)
PUT, GET, LIST = 1, 2, 3
HEADER = struct.Struct("<IHHI")
DONE_PAYLOAD = struct.Struct("<IIQQQIIII")
BORN = struct.Struct("<II")
FILE_PAYLOAD = struct.Struct("<IIQ")
FILED = struct.Struct("<IIQ")
UCRED = struct.Struct("3i")
PACKET_MAX = 12 + 65536
TEXT_MAX = 32768
SOURCE_MAX = 1 << 20
ALL_SEALS = 0x1 | 0x2 | 0x4 | 0x8


class Gone(Exception):
    """The other end of a channel is closed: its process has ended."""


def sealed(source):
    fd = os.memfd_create("source", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, source if isinstance(source, bytes) else source.encode())
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, ALL_SEALS)
    return fd


class Channel:
    """One end of a channel; the other's fd is `theirs` until it is sent."""

    def __init__(self):
        self.socket, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.settimeout(PATIENCE)
        self.sender = None  # host's pid of who sent the last packet

    def send(self, kind, step, payload=b"", fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        self.socket.sendmsg([HEADER.pack(len(payload), kind, 0, step), payload],
                            rights if fds else [])

    def receive(self):
        try:
            data, extra, _, _ = self.socket.recvmsg(PACKET_MAX, 1024)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Gone
        for level, kind, value in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                self.sender = UCRED.unpack(value)[0]
        length, kind, zero, step = HEADER.unpack(data[:12])
        assert zero == 0 and length == len(data) - 12, data[:100]
        return kind, step, data[12:]

    def expect(self, kind, step=0):
        got = self.receive()
        assert got[:2] == (kind, step), got
        return got[2]

    def close(self):
        self.socket.close()
        self.theirs.close()

    __del__ = close  # a state that nobody holds any more ends


def open_process(host_pid):
    """A pidfd; None where it has ended."""
    try:
        return os.pidfd_open(host_pid)
    except ProcessLookupError:
        return None


def is_waited_for(process):
    try:
        signal.pidfd_send_signal(process, 0)
    except ProcessLookupError:
        return True
    return False


def wait_for_end(process):
    """On a busy host, processes that have said their last word would fill the jail; and so would
    those that have ended, until the jail's init has been told."""
    if process is None:
        return
    deadline = time.monotonic() + PATIENCE
    try:
        assert select.select([process], [], [], PATIENCE)[0]
        while not is_waited_for(process):
            assert time.monotonic() < deadline
            time.sleep(0.0005)
    finally:
        os.close(process)


def wait_for_stop(host_pid):
    """Until all threads of a process have stopped."""
    deadline = time.monotonic() + PATIENCE
    for task in sorted(os.listdir(f"/proc/{host_pid}/task")):
        while open(f"/proc/{host_pid}/task/{task}/stat", "rb").read().rsplit(b")", 1)[1].split()[0] != b"T":
            assert time.monotonic() < deadline
            time.sleep(0.0005)


class State:
    """An interpreter that waits."""

    def __init__(self, channel, pid, host_pid):
        self.channel, self.pid, self.host_pid = channel, pid, host_pid
        self.asked = {}  # steps that have not begun, by number
        self.stopped = False  # with its threads

    def step(self, number, source, stdin=b""):
        return Step(self, number, source, stdin)

    def run(self, source, stdin=b"", number=1):
        """A step from its beginning to its end."""
        return self.step(number, source, stdin).end()

    def file(self, operation, path, data=b"", mode=0o644, limit=1 << 30, number=7):
        """(errno, bytes counted, data) of a file operation."""
        work = FileWork(self, operation, path, mode, limit, number)
        return work.end(data)

    def wake(self):
        """Where it has stopped, let it go on: who asks it for something does so."""
        if self.stopped:
            os.kill(self.host_pid, signal.SIGCONT)
        self.stopped = False

    def close(self):
        self.channel.close()
        self.wake()

    def end(self):
        """Close it, and wait for its process."""
        process = open_process(self.host_pid)
        self.close()
        wait_for_end(process)


class Step:
    """A step that runs, and what it has sent."""

    def __init__(self, state, number, source, stdin=b""):
        self.asked = number
        self.number, self.channel = number, Channel()
        self.out = self.err = b""
        self.result = self.trace = self.how = self.code = self.pid = None
        self.state = None  # what it has become
        inside, self.stdin = os.pipe()
        self.pipes = {}
        fds = [self.channel.theirs.fileno(), inside]
        for name in ("out", "err"):
            read, write = os.pipe()
            self.pipes[read] = name
            fds.append(write)
        if source is not None:
            fds.append(sealed(source))
        state.channel.send(RUN, number, b"", fds)
        state.wake()
        self.channel.theirs.close()
        for fd in fds[1:]:
            os.close(fd)
        if stdin is not None:
            self.feed(stdin)
        self.mother = state
        state.asked[number] = self

    def feed(self, data):
        """Give it stdin, and the end of it."""
        os.write(self.stdin, data)
        os.close(self.stdin)
        self.stdin = None

    def started(self):
        """Wait for STARTED of the snapshot, which takes the state's place: its process runs the step."""
        state = self.mother
        while self.pid is None:
            kind, number, data = state.channel.receive()
            step = state.asked.pop(number)
            if kind == FAIL:
                raise Gone(data[8:].rstrip(b"\0").decode())
            assert kind == STARTED, kind
            step.pid, step.host_pid = state.pid, state.host_pid
            state.pid, state.host_pid = BORN.unpack(data)[0], state.channel.sender
        return self

    def drain(self, fd):
        data = os.read(fd, 1 << 16)
        if not data:
            os.close(fd)
            del self.pipes[fd]
        name = self.pipes.get(fd)
        if name:
            setattr(self, name, getattr(self, name) + data)

    def until(self, text):
        """Read what it writes up to this text."""
        while text not in self.out:
            ready = select.select(list(self.pipes), [], [], PATIENCE)[0]
            assert ready, self.out
            for fd in ready:
                self.drain(fd)
        return self

    def take(self):
        """One packet; True for the last one."""
        kind, step, data = self.channel.receive()
        assert step == self.number, (kind, step)
        if kind == RESULT:
            self.result = data.decode()
        elif kind == TRACE:
            self.trace = data.decode()
        else:
            assert kind == DONE, kind
            (self.how, self.code, self.wall_us, self.cpu_us, self.rss, self.strays,
             self.met, self.barred, _) = DONE_PAYLOAD.unpack(data)
            assert self.channel.sender == self.host_pid
            self.state = State(self.channel, self.pid, self.host_pid)
            self.state.stopped = self.strays > 0
            if self.state.stopped:
                wait_for_stop(self.host_pid)
            return True
        return False

    def end(self):
        """Everything up to DONE, or to its death: then state stays None."""
        self.started()
        alive = True
        while alive:
            ready = select.select([*self.pipes, self.channel.socket], [], [], PATIENCE)[0]
            assert ready, (self.out, self.err)
            for fd in ready:
                if fd is not self.channel.socket:
                    self.drain(fd)
            if ready == [self.channel.socket]:
                try:
                    alive = not self.take()
                except Gone:
                    break
        self.finish()
        return self

    def finish(self):
        """What is left in the pipes now; nobody is waited for."""
        for fd in list(self.pipes):
            os.set_blocking(fd, False)
            try:
                while fd in self.pipes:
                    self.drain(fd)
            except BlockingIOError:
                os.close(fd)
        self.pipes = {}
        if self.stdin is not None:
            os.close(self.stdin)
            self.stdin = None


class FileWork:
    """A PUT, GET or LIST that is being done."""

    def __init__(self, state, operation, path, mode=0o644, limit=1 << 30, number=7):
        self.channel, self.number, self.operation = Channel(), number, operation
        path = path if isinstance(path, bytes) else path.encode()
        read, write = os.pipe()
        self.data, theirs = (write, read) if operation == PUT else (read, write)
        state.channel.send(FILE, number, FILE_PAYLOAD.pack(operation, mode, limit) + path,
                           [self.channel.theirs.fileno(), theirs])
        self.channel.theirs.close()
        os.close(theirs)
        try:
            self.pid = BORN.unpack(self.channel.expect(STARTED, number))[0]
        except Gone:
            raise Gone(state.channel.expect(FAIL, number)[8:].rstrip(b"\0").decode()) from None
        self.process = open_process(self.channel.sender)

    def end(self, data=b""):
        got = b""
        if self.operation == PUT:
            try:
                with open(self.data, "wb") as out:
                    out.write(data)
            except BrokenPipeError:
                pass
        else:
            with open(self.data, "rb") as come:
                got = come.read()
        errnum, reserved, count = FILED.unpack(self.channel.expect(DONE, self.number))
        assert reserved == 0
        try:
            self.channel.receive()
            raise AssertionError("a packet after the last one")
        except Gone:
            pass
        self.channel.close()
        wait_for_end(self.process)
        return errnum, count, got


class Jail:
    """An interpreter in a jail of its own; `zero` is its state 0, `head` the latest."""

    def __init__(self, *arguments, command=None, env=None):
        channel = Channel()
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*(command or LOCKED), PROGRAM, *arguments], stdin=channel.theirs,
            stdout=self.said, stderr=self.said, env=env)
        channel.theirs.close()
        self.zero = self.head = State(channel, 0, 0)
        self.count = 0

    def __enter__(self):
        try:
            self.zero.pid = BORN.unpack(self.zero.channel.expect(STARTED))[0]
        except Gone:
            self.process.wait()
            raise AssertionError(self.words()) from None
        self.zero.host_pid = self.zero.channel.sender
        # the jail ends with its first process: that stays, and its snapshot is state 0 from here on
        self.first = self.zero.run("", number=1 << 30).state
        return self

    def words(self):
        self.said.seek(0)
        return self.said.read().decode(errors="replace")

    def begin(self, source, stdin=b""):
        self.count += 1
        return self.head.step(self.count, source, stdin)

    def run(self, source, stdin=b"", keep=False):
        """The next step; the state before it is left to end, unless @keep or it is 0."""
        step = self.begin(source, stdin).end()
        if step.state:
            if self.head is not self.zero and not keep:
                self.head.end()
            self.head = step.state
        return step

    def __exit__(self, *problem):
        self.head.close()
        self.zero.close()
        self.first.close()
        status = self.process.wait(PATIENCE)
        words = self.words()
        self.said.close()
        if not any(problem) and status != 0:
            raise AssertionError(f"the interpreter ended with status {status}: {words}")


class OneJail:
    """What a unittest.TestCase is besides, all of whose tests use one jail: self.jail."""
    command = None  # None: LOCKED

    @classmethod
    def setUpClass(cls):
        cls.jail = Jail(command=cls.command).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.jail.__exit__(None, None, None)
