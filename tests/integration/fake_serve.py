# SPDX-License-Identifier: MIT
"""fake_serve.py - `stepjail serve` without any wall, for fake_stepjail.py

It speaks the frames of init/serve_wire.h on fd 0. A state is a process that forks for each
step, as in the real one, with /work/in/NAME as the --bind options say.

Program text can ask for trouble that a real jail makes by itself:
    FAKE_END=verdict    end the session with this verdict
    FAKE_RAW=hex        send these bytes instead of a frame
    FAKE_DONE=json      answer with this and nothing else; FAKE_CLOSED, FAKE_REFUSED likewise
    FAKE_DIE            end stepjail in the middle of the step
    FAKE_LOST           refuse it, as the branch's state is gone
    FAKE_HANG           keep no limit
Its states: fake_state.py. What it shows, and lists that are made up: fake_lies.py.
"""

import io
import json
import os
import re
import select
import signal
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from fake_lies import TREE, Lies  # noqa: E402
from fake_state import die_with_parent, first_state, prctl  # noqa: E402, F401

CODE, RUN, INTERRUPT, KILL, STARTED, OUT, ERR, RESULT, TRACE, DONE = range(16, 26)
(OPEN, ONCE, STDIN, ROLLBACK, BRANCH, DROP, PUT, GET, LIST, STATUS, CLOSE, OPENED, STATE, DATA,
 END, REFUSED, CLOSED, WALL) = range(40, 58)
MAX = 65536
# of stepjail-agent, which speaks with no other; a test may write one of its own
OTHER = os.path.join(HERE, "fake_version")
VERSION = "0.1.0"
if os.path.exists(OTHER):
    with io.open(OTHER) as other:
        VERSION = other.read()
JAIL = {"stepjail": VERSION, "host_uid": 0, "warm": False, "why_cold": "a fake", "not_enforced": [],
        "shut": [], "posture": {"plan_sha256": "0" * 64, "root_sha256": "0" * 64,
                                "root_verified": None}}
GUEST = os.path.join(HERE, "fake_guest")  # --wall vm, of a guest that lies
VM = {"machine": "microvm", "acceleration": "tcg", "kernel": "6.1", "image": {}, "memory_bytes": 1, "cloned": False,
      "template": None}
SLOW = os.path.join(HERE, "fake_slow")  # to open, in seconds


def send(fd, data):
    while data:
        data = data[os.write(fd, data):]


def receive(fd, count):
    data = b""
    while len(data) < count:
        piece = os.read(fd, count - len(data))
        if not piece:
            return None
        data += piece
    return data


def milliseconds(text):
    """In seconds."""
    return float(text[:-2]) / 1000 if text.endswith("ms") else float(text.rstrip("s"))


# --- serve: sessions, one step at a time ----------------------------------------------------


class Session(Lies):
    def __init__(self, serve, number):
        self.serve, self.number = serve, number
        self.states, self.heads, self.made = {0: first_state(serve.binds)}, {0: 0}, 0
        self.source, self.put, self.limit = b"", None, 0

    def say(self, kind, branch, payload=b""):
        if isinstance(payload, dict):
            payload = json.dumps(payload).encode()
        self.serve.frame(kind, self.number, struct.pack("<I", branch) + payload)

    def refuse(self, branch, words, kind="failed", frame=None):
        self.say(REFUSED, branch, {"kind": kind, "limit": None, "frame": frame, "step": None, "error": words})

    def close(self, reason, branch=0):
        for channel in self.states.values():
            channel.close()
        self.serve.sessions.pop(self.number, None)
        self.say(CLOSED, branch, {"reason": reason})

    def take(self, kind, branch, rest):
        if branch not in self.heads and kind != BRANCH:
            return self.refuse(branch, "no such branch", "no-branch")
        if kind == CODE:
            self.source += rest
        elif kind == RUN:
            source, self.source = self.source, b""
            self.limit = struct.unpack_from("<Q", rest, 4)[0] / 1000
            self.run(branch, source)
        elif kind in (ROLLBACK, BRANCH):
            (state,) = struct.unpack("<I", rest)
            if state not in self.states:
                return self.refuse(branch, f"state {state} is not kept", "no-state")
            self.heads[branch] = state
            self.status(branch)
        elif kind == DROP:
            del self.heads[branch]
            self.status(branch)
        elif kind == STATUS:
            self.status(branch)
        elif kind == CLOSE:
            self.close("closed")
        elif kind in (STDIN, INTERRUPT, KILL):
            self.refuse(branch, "no step runs", "no-step", {STDIN: "STDIN", KILL: "KILL"}.get(kind, "INTERRUPT"))
        else:
            self.file(kind, branch, rest)

    def status(self, branch):
        self.say(STATE, branch, {
            "session": self.number, "open": True,
            "branches": {str(b): {"state": s, "lost": False}
                         for b, s in self.heads.items()},
            "states": [{"state": s, "parent": 0, "bytes": 4096} for s in sorted(self.states)]})

    def file(self, kind, branch, rest):
        path = rest[4:].decode()
        name = {LIST: "LIST", GET: "GET"}.get(kind, "PUT")
        if path == "busy":
            return self.refuse(branch, "a step runs on this branch", "busy", name)
        try:
            if kind == END and rest[:1] == b"\1":
                self.say(STATE, branch, {"bytes": 0, "dropped": True})
            elif kind == PUT:
                self.put = (path, [])
            elif kind == DATA:
                self.put[1].append(rest)
            elif kind == END:
                os.makedirs(os.path.dirname(self.put[0]) or ".", exist_ok=True)
                with io.open(self.put[0], "wb") as f:
                    f.write(b"".join(self.put[1]))
                self.say(STATE, branch, {"bytes": sum(map(len, self.put[1]))})
            else:
                self.get(kind, branch, path)
        except OSError as e:
            self.refuse(branch, f"{name}: {e.strerror}", "file", "END" if kind == END else name)

    def get(self, kind, branch, path):
        if os.path.exists(TREE):
            return self.tree(kind, branch, path)
        if kind == GET:
            with io.open(path, "rb") as f:
                data = f.read()
        else:
            data = b"".join(b"%c %d %d %s\0" % (b"d" if e.is_dir() else b"-", e.stat().st_size,
                                                e.stat().st_mtime, os.fsencode(e.name))
                            for e in os.scandir(path or "."))
        for at in range(0, len(data), MAX - 4):
            self.say(DATA, branch, data[at:at + MAX - 4])
        self.say(END, branch, {"bytes": len(data)})

    def trouble(self, branch, source):
        for name, kind in ((b"DONE", DONE), (b"CLOSED", CLOSED), (b"REFUSED", REFUSED)):
            if got := re.search(rb"FAKE_" + name + rb"=(.*)", source):
                self.say(kind, branch, got[1])
                return True
        if b"FAKE_LOST" in source:
            self.refuse(branch, "the state was lost", "no-state")
        elif raw := re.search(rb"FAKE_RAW=([0-9a-f]*)", source):
            send(0, bytes.fromhex(raw[1].decode()))
        elif end := re.search(rb"FAKE_END=([a-z-]+)", source):
            verdict = end[1].decode()
            self.done(branch, verdict, "lost", violation="ptrace", reason="asked for")
            self.close(verdict)
        else:
            return False
        return True

    def done(self, branch, verdict, state, **more):
        self.say(DONE, branch, {
            "verdict": verdict, "state": state, "state_number": self.heads[branch],
            "exit_code": None, "signal": None, "violation": None, "wall_ms": 1, "cpu_ms": 1, "strays": 0,
            "memory_peak_bytes": 1 << 20, **more})

    def run(self, branch, source):
        if self.trouble(branch, source):
            return
        channel, theirs = socket.socketpair()
        out, err, stdin = os.pipe(), os.pipe(), os.pipe()
        state = self.states[self.heads[branch]]
        socket.send_fds(state, [struct.pack("<I", len(source))],
                        [theirs.fileno(), out[1], err[1], stdin[0]])
        state.sendall(source)
        theirs.close()
        os.close(out[1])
        os.close(err[1])
        os.close(stdin[0])
        pid = struct.unpack("<I", channel.recv(4))[0]
        if b"FAKE_DIE" in source:
            time.sleep(0.1)
            os._exit(9)
        Step(self, branch, pid, channel, {out[0]: OUT, err[0]: ERR}, source, stdin[1]).run()


class Step:
    def __init__(self, session, branch, pid, channel, streams, source, stdin):
        self.session, self.branch, self.pid, self.channel = session, branch, pid, channel
        self.stdin = stdin
        self.streams, self.said, self.cause, self.source = streams, b"", None, source
        self.kill_at = self.again_at = None
        self.limit = time.monotonic() + (session.limit or session.serve.limit)
        if b"FAKE_HANG" in source:
            self.limit += 1000

    def interrupt(self, cause):
        self.cause = self.cause or cause
        self.limit, self.kill_at = None, time.monotonic() + self.session.serve.grace
        self.again_at = self.kill_at - self.session.serve.grace / 2
        os.kill(self.pid, signal.SIGINT)

    def clock(self):
        now = time.monotonic()
        if self.limit and now >= self.limit:
            self.interrupt("wall-timeout")
        if self.again_at and now >= self.again_at:  # it slept on
            self.again_at = None
            os.kill(self.pid, signal.SIGINT)
        if self.kill_at and now >= self.kill_at:
            self.kill_at = None
            os.kill(self.pid, signal.SIGKILL)

    def drain(self, seconds):
        ready = select.select(list(self.streams), [], [], seconds)[0]
        pieces = [(self.streams[fd], os.read(fd, MAX - 4)) for fd in ready]
        for kind, piece in pieces:
            self.session.say(kind, self.branch, piece)
        return any(piece for _, piece in pieces)

    def run(self):
        while not self.said.endswith(b"\n"):
            ready = select.select([0, self.channel, *self.streams], [], [], 0.02)[0]
            self.clock()
            if self.channel in ready:
                piece = self.channel.recv(MAX)
                if not piece:
                    break
                self.said += piece
            if 0 in ready:
                self.session.serve.take_in_step(self)
            if set(ready) & set(self.streams) and not self.drain(0):
                break
        while self.drain(0):
            pass
        self.finish()
        for fd in (*self.streams, *([self.stdin] if self.stdin is not None else [])):
            os.close(fd)

    def finish(self):
        session = self.session
        session.show(self.branch, self.source)
        session.made += 1
        if not self.said.endswith(b"\n"):
            status = os.waitpid(self.pid, 0)[1]
            verdict = self.cause or ("signaled" if os.WIFSIGNALED(status) else "exited")
            session.done(self.branch, verdict, "rolled-back",
                         exit_code=None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
                         signal=os.WTERMSIG(status) or None)
            return
        verdict, code, trace = json.loads(self.said)
        if trace:
            session.say(TRACE, self.branch, trace.encode())
        session.states[session.made] = self.channel
        session.heads[self.branch] = session.made
        session.done(self.branch, verdict if self.cause != "wall-timeout" else self.cause, "kept",
                     exit_code=code)


class Serve:
    def __init__(self, options, binds):
        self.binds, self.sessions = binds, {}
        self.limit = milliseconds(options["wall-time"])
        self.grace = milliseconds(options.get("grace", "2s"))

    def frame(self, kind, number, payload):
        try:
            send(0, struct.pack("<IHHI", len(payload), kind, 0, number) + payload)
        except OSError:
            os._exit(0)

    def receive(self):
        head = receive(0, 12)
        if head is None:
            os._exit(0)
        length, kind, _, number = struct.unpack("<IHHI", head)
        payload = receive(0, length)
        return kind, number, struct.unpack("<I", payload[:4])[0], payload[4:]

    def take_in_step(self, step):
        kind, number, branch, rest = self.receive()
        if kind == INTERRUPT:
            step.interrupt("")
        elif kind == KILL:
            step.cause = step.cause or "cancelled"
            os.kill(step.pid, signal.SIGKILL)
        elif kind == STDIN and rest:
            os.write(step.stdin, rest)
        elif kind == STDIN:
            os.close(step.stdin)
            step.stdin = None
        else:
            step.session.refuse(branch, "a step is running", frame="RUN" if kind in (CODE, RUN) else "STATUS")

    def run(self):
        for qemu in (f"of {os.getpid()}", "a lie") if os.path.exists(GUEST) else ():
            self.frame(WALL, 0, b"\0\0\0\0" + json.dumps({"vm": {**VM, "qemu": qemu}}).encode())
        while True:
            kind, number, branch, rest = self.receive()
            session = self.sessions.get(number)
            if kind in (OPEN, ONCE):
                session = self.sessions[number] = Session(self, number)
                if os.path.exists(SLOW):
                    with io.open(SLOW) as f:
                        time.sleep(float(f.read()))
                session.say(OPENED, 0, {"session": number, **JAIL, "vm": "a lie"})
                if kind == ONCE:
                    awaits, source = struct.unpack_from("<I", rest)[0], rest[20:]
                    while awaits:
                        piece = self.receive()[3]
                        source, awaits = source + piece, awaits - len(piece)
                    if not session.marks(0):
                        session.run(0, source)
                    if number in self.sessions:
                        session.close("once")
            elif session:
                session.take(kind, branch, rest)
            else:
                Session.say(Missing(self, number), REFUSED, branch, {"error": "no such session"})


class Missing:
    def __init__(self, serve, number):
        self.serve, self.number = serve, number
