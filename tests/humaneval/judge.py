# SPDX-License-Identifier: MIT
"""A judge in a jail: two processes, a task, a secret. In front of harness.py.

Code that shares an interpreter with its judge can change the judge, so it has a process of its own,
and they speak over a pair of pipes, in lines of JSON. The judge's stdin is the task, and a line
with a secret: the judge reads that only when it lets the code pass, and writes it to the stdout
that it began with. Leaving early, with whatever status, is not passing.

The code's process is a fork, so it has whatever the judge had read by then. What is to stay from
the code stands behind the task, and is read after the fork.
"""
import json
import os
import sys


def write_line(fd, value):
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[os.write(fd, data):]


def start_child(serve, task):
    """(pid, fd of questions, file of answers) of a process that serves: it has neither the judge's
    stdin nor its stdout, nor any other fd of its own."""
    question, answer = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(2, 1)
            for fd in range(3, 64):
                if fd not in (question[0], answer[1]):
                    try:
                        os.close(fd)
                    except OSError:
                        pass
            serve(question[0], answer[1], task)
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(question[0])
    os.close(answer[1])
    return child, question[1], os.fdopen(answer[0], "rb")


def read_line(fd):
    """Up to the newline and no byte further: the secret stays in the pipe."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            raise EOFError("the task was cut off")
        line += byte
    return line


def read_json():
    """What stands next on stdin: a line with a size, and so many bytes of JSON."""
    size = int(read_line(0))
    data = b""
    while len(data) < size:
        data += os.read(0, size - len(data)) or sys.exit("the task was cut off")
    return json.loads(data)


def begin():
    """The task, and the fd that the verdict goes to: what is printed is not the verdict."""
    verdict = os.dup(1)
    os.dup2(2, 1)
    return read_json(), verdict
