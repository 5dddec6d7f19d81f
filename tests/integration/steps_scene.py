# SPDX-License-Identifier: MIT
"""steps_scene.py - a client of one session's interpreter, by its frames (init/wire.h)

/bin/stepjail-python runs in a jail, its fd 0 one end of a socket pair. STEPJAIL_RUN is
the command that runs a program in a jail with rootfs/core as its root, the words of that
behind it; bubblewrap's by default. STEPJAIL_BUILD is the build folder.
"""
import os
import shlex
import socket
import struct
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("STEPJAIL_BUILD", os.path.join(TOP, "build")))
RUN = shlex.split(os.environ.get("STEPJAIL_RUN", "")) or [
    "bwrap", "--ro-bind", os.path.join(BUILD, "rootfs/core"), "/", "--proc", "/proc",
    "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/work", "--chdir", "/work",
    "--unshare-all", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--clearenv"]

CODE, RUN_STEP, INTERRUPT, KILL, STARTED, OUT, ERR, RESULT, TRACE, DONE = range(16, 26)
COMPLETED, EXCEPTION, EXIT, DIED = range(4)
HEADER = struct.Struct("<IHHI")
DONE_PAYLOAD = struct.Struct("<IIQQQII")
PAYLOAD_MAX = 65536
TEXT_MAX = 32768
SOURCE_MAX = 1 << 20
PATIENCE = 30  # seconds


class Done:
    """What a step sent, put together."""

    def __init__(self):
        self.out = self.err = b""
        self.result = self.trace = None
        self.how = self.code = self.strays = None
        self.wall_us = self.cpu_us = self.rss = None


class Session:
    """A client of one interpreter."""

    def __init__(self, stderr=None):
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(PATIENCE)
        self.process = subprocess.Popen([*RUN, "/bin/stepjail-python"], stdin=theirs,
                                        stderr=stderr)
        theirs.close()
        self.step = 0

    def __enter__(self):
        self.expect_started()
        return self

    def __exit__(self, *problem):
        self.socket.close()
        status = self.process.wait(PATIENCE)
        if not any(problem) and status != 0:
            raise AssertionError(f"the session ended with status {status}")

    def send(self, kind, payload=b"", step=None):
        step = self.step if step is None else step
        self.socket.sendall(HEADER.pack(len(payload), kind, 0, step) + payload)

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self):
        length, kind, zero, step = HEADER.unpack(self.read(HEADER.size))
        assert length <= PAYLOAD_MAX and zero == 0, (length, kind, zero, step)
        return kind, step, self.read(length)

    def expect_started(self):
        assert self.receive() == (STARTED, 0, b"")

    def begin(self, source):
        self.step += 1
        data = source if isinstance(source, bytes) else source.encode()
        for at in range(0, len(data), PAYLOAD_MAX):
            self.send(CODE, data[at:at + PAYLOAD_MAX])
        self.send(RUN_STEP)

    def end(self):
        """Everything up to DONE."""
        done = Done()
        while True:
            kind, step, data = self.receive()
            assert step == self.step, (kind, step, data)
            if kind == OUT:
                done.out += data
            elif kind == ERR:
                done.err += data
            elif kind == RESULT:
                done.result = data.decode()
            elif kind == TRACE:
                done.trace = data.decode()
            elif kind == DONE:
                (done.how, done.code, done.wall_us, done.cpu_us, done.rss, done.strays,
                 reserved) = DONE_PAYLOAD.unpack(data)
                assert reserved == 0
                return done
            else:
                raise AssertionError((kind, step, data))

    def run(self, source):
        self.begin(source)
        done = self.end()
        if done.how == DIED:
            self.expect_started()
        return done

    def until(self, text):
        """Read OUT frames up to the one with a text in it: the step has come so far."""
        while text not in (frame := self.receive())[2]:
            assert frame[0] == OUT, frame
