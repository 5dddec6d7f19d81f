# SPDX-License-Identifier: MIT
"""fake_state.py - a state of fake_serve.py: a process that forks for each step"""

import builtins
import ctypes
import io
import json
import os
import signal
import socket
import struct
import sys
import time
import traceback


def prctl(option, value):
    ctypes.CDLL(None).prctl(option, value)


def die_with_parent():
    prctl(1, signal.SIGKILL)


def receive_step(channel):
    """The source and the child's fds (its channel, stdout, stderr, stdin), or the end."""
    head, fds, _, _ = socket.recv_fds(channel, 4, 4)
    if len(head) < 4:
        os._exit(0)
    size, source = struct.unpack("<I", head)[0], b""
    while len(source) < size:
        source += channel.recv(size - len(source))
    return source.decode(), fds


def run_step(source, names, channel):
    how, code, trace = "completed", 0, ""
    try:
        exec(compile(source, "<step>", "exec"), names)
    except SystemExit as e:
        how, code = "exited", e.code if isinstance(e.code, int) else int(bool(e.code))
    except BaseException:
        how, trace = "exception", traceback.format_exc()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout.flush()
    sys.stderr.flush()
    channel.sendall(json.dumps([how, code & 0xFF, trace]).encode() + b"\n")


def wait_as_state(channel, names, serve):
    while True:
        source, fds = receive_step(channel)
        if os.fork() == 0:
            between = os.getpid()
            if os.fork():
                os._exit(0)  # the grandchild's parent is the subreaper then
            while os.getppid() == between:
                time.sleep(0.001)
            die_with_parent()
            if os.getppid() != serve:
                os._exit(1)
            channel.close()
            channel = socket.socket(fileno=fds[0])
            for target, fd in ((1, fds[1]), (2, fds[2]), (0, fds[3])):
                os.dup2(fd, target)
                os.close(fd)
            sys.stdin = io.open(0, closefd=False)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            channel.sendall(struct.pack("<I", os.getpid()))
            run_step(source, names, channel)
        else:
            os.wait()
            for fd in fds:
                os.close(fd)


def first_state(binds):
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    if os.fork() == 0:
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        real_open = open
        builtins.open = lambda path, *args, **kwargs: real_open(binds.get(path, path), *args,
                                                                **kwargs)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        ours.close()
        wait_as_state(theirs, {"__name__": "__main__"}, parent)
    theirs.close()
    return ours
