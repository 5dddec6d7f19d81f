#!/usr/bin/python3 -I
"""A stand-in for stepjail, for tests of the agent alone. It has no walls whatsoever.

It takes `run [options] -- program [args]`, sends a report to the fd that --report names and
ends as stepjail does. /bin/stepjail-python is played by a few lines of Python that speak the
frames of init/wire.h: a supervisor that forks the interpreter, and steps that run in it, with
/work/in/NAME as the --bind options say. What a test wants to see of argv, environment
and fds is written to the file that FAKE_LOG below names, if it exists.

Program text can ask for trouble that a real jail makes by itself:
    FAKE_END=verdict    end the whole jail with this verdict
    FAKE_RAW=hex        send these bytes instead of a frame
"""

import builtins
import ctypes
import io
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

CODE, RUN, INTERRUPT, KILL, STARTED, OUT, ERR, RESULT, TRACE, DONE = range(16, 26)
COMPLETED, EXCEPTION, EXIT, DIED = range(4)
MAX = 65536
FAKE_LOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_stepjail.log")


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def frame(kind, step, payload=b""):
    return struct.pack("<IHHI", len(payload), kind, 0, step) + payload


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


def receive_frame(fd):
    head = receive(fd, 12)
    if head is None:
        return None
    length, kind, _, step = struct.unpack("<IHHI", head)
    return kind, step, receive(fd, length)


# --- the interpreter: one process, a pipe pair to the supervisor -------------------------


def interpret(commands, answers, binds):
    real_open = open

    def fake_open(path, *args, **kwargs):
        return real_open(binds.get(path, path), *args, **kwargs)

    builtins.open = fake_open
    names = {"__name__": "__main__"}
    while True:
        head = receive(commands, 4)
        if head is None:
            os._exit(0)
        source = receive(commands, struct.unpack("<I", head)[0]).decode()
        how, code, extra = COMPLETED, 0, b""
        try:
            exec(compile(source, "<step>", "exec"), names)
        except SystemExit as e:
            how, code = EXIT, e.code if isinstance(e.code, int) else int(bool(e.code))
        except BaseException:
            how, extra = EXCEPTION, traceback.format_exc().encode()
        sys.stdout.flush()
        sys.stderr.flush()
        send(answers, struct.pack("<III", how, code & 0xFF, len(extra)) + extra)


class Supervisor:
    def __init__(self, client, binds):
        self.client, self.binds = client, binds
        self.start()

    def start(self):
        command, answer, out, err = os.pipe(), os.pipe(), os.pipe(), os.pipe()
        supervisor = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            die_with_parent()
            if os.getppid() != supervisor:
                os._exit(1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.dup2(out[1], 1)
            os.dup2(err[1], 2)
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            for fd in (command[1], answer[0], out[0], err[0], self.client):
                if fd > 2:
                    os.close(fd)
            interpret(command[0], answer[1], self.binds)
        for fd in (command[0], answer[1], out[1], err[1]):
            os.close(fd)
        self.command, self.answer = command[1], answer[0]
        self.streams = {out[0]: OUT, err[0]: ERR}
        send(self.client, frame(STARTED, 0))

    def stop(self):
        for fd in (self.command, self.answer, *self.streams):
            os.close(fd)

    def drain(self, step):
        while True:
            ready, _, _ = select.select(list(self.streams), [], [], 0)
            pieces = [(fd, os.read(fd, MAX)) for fd in ready]
            pieces = [(fd, piece) for fd, piece in pieces if piece]
            if not pieces:
                return
            for fd, piece in pieces:
                send(self.client, frame(self.streams[fd], step, piece))

    def run(self, step, source):
        raw = re.search(rb"FAKE_RAW=([0-9a-f]*)", source)
        end = re.search(rb"FAKE_END=([a-z-]+)", source)
        if raw:
            send(self.client, bytes.fromhex(raw[1].decode()))
            return None
        if end:
            return end[1].decode()
        begun = time.monotonic()
        send(self.command, struct.pack("<I", len(source)) + source)
        while True:
            waiting = [self.answer, self.client, *self.streams]
            ready, _, _ = select.select(waiting, [], [])
            for fd in ready:
                if fd in self.streams:
                    piece = os.read(fd, MAX)
                    if piece:
                        send(self.client, frame(self.streams[fd], step, piece))
            if self.client in ready:
                got = receive_frame(self.client)
                if got is None:
                    os._exit(0)
                if got[0] == INTERRUPT:
                    os.kill(self.pid, signal.SIGINT)
                if got[0] == KILL:
                    os.kill(self.pid, signal.SIGKILL)
            if self.answer in ready:
                self.finish(step, begun, receive(self.answer, 12))
                return None

    def finish(self, step, begun, head):
        how, code = DIED, 0
        if head is None:
            _, code = os.waitpid(self.pid, 0)
        else:
            how, code, length = struct.unpack("<III", head)
            extra = receive(self.answer, length)
        self.drain(step)
        if how == EXCEPTION:
            send(self.client, frame(TRACE, step, extra))
        wall_us = int((time.monotonic() - begun) * 1e6)
        done = struct.pack("<IIQQQII", how, code, wall_us, 1000, 1 << 20, 0, 0)
        send(self.client, frame(DONE, step, done))
        if how == DIED:
            self.stop()
            self.start()

    def serve(self):
        source = b""
        while True:
            got = receive_frame(self.client)
            if got is None:
                return "completed"
            kind, step, payload = got
            if kind == CODE:
                source += payload
            elif kind == RUN:
                verdict = self.run(step, source)
                source = b""
                if verdict:
                    return verdict


# --- the launcher ---------------------------------------------------------------------------


def log_what_was_inherited(argv):
    if not os.path.exists(FAKE_LOG):
        return
    fds = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
           if os.path.exists(f"/proc/self/fd/{fd}")}
    with io.open(FAKE_LOG, "a") as log:
        log.write(json.dumps({"argv": argv, "environ": dict(os.environ), "fds": fds}) + "\n")


def parse(argv):
    options, binds, at = {}, {}, 2
    while argv[at] != "--":
        if "=" in argv[at]:
            name, _, value = argv[at][2:].partition("=")
            options[name] = value
            at += 1
            continue
        if argv[at] == "--bind":
            source, _, target = argv[at + 1].rpartition(":")
            binds[target] = os.path.abspath(source)
        options[argv[at][2:]] = argv[at + 1]
        at += 2
    return options, binds, argv[at + 1:]


def report(options, verdict, code=0, number=0):
    line = {"verdict": verdict, "exit_code": code, "signal": number, "violation": None}
    if verdict == "violation":
        line["violation"] = "ptrace"
    send(int(options["report"]), json.dumps(line).encode() + b"\n")


def run_program(options, program):
    program = ["/usr/bin/python3"] + program[1:] if program[0] == "/bin/python3" else program
    limit = float(options["wall-time"].replace("ms", "")) / 1000 \
        if options["wall-time"].endswith("ms") else float(options["wall-time"].rstrip("s"))

    def prepare():
        os.setsid()
        die_with_parent()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

    def end_all(*_):
        # what a real jail's PID namespace does: nobody of the program is left
        os.killpg(child.pid, signal.SIGKILL)
        os._exit(143)

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    child = subprocess.Popen(program, env={}, preexec_fn=prepare)
    signal.signal(signal.SIGTERM, end_all)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    try:
        code = child.wait(limit)
    except subprocess.TimeoutExpired:
        report(options, "wall-timeout", 0, 9)
        end_all()
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    report(options, "completed" if code == 0 else "exited" if code > 0 else "signaled",
           max(code, 0), max(-code, 0))
    return code if code >= 0 else 128 - code


def main(argv):
    log_what_was_inherited(argv)
    options, binds, program = parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    if options.get("rootfs") == "broken":
        print("stepjail: rootfs 'broken': No such file or directory", file=sys.stderr)
        report(options, "launcher-error")
        return 125
    if options.get("allow-missing"):
        print("stepjail: the cgroup wall is missing, as --allow-missing says", file=sys.stderr)
    if program[0] != "/bin/stepjail-python":
        return run_program(options, program)
    # in the test's folder: an agent that kills this leaves nobody to remove it
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(__file__))) as folder:
        os.chdir(folder)
        verdict = Supervisor(0, binds).serve()
    report(options, verdict, 0, 9 if verdict == "memory" else 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
