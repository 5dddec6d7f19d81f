# SPDX-License-Identifier: MIT
"""results.py - the file of results: a line for each task that has ended; and one file of several"""
import fcntl
import json
import os
import stat

from . import GOOD, LEFT, SOME, Problem, is_amount, member, parse, say, seen
from .tasks import read_tasks

BEGIN = b'{"id":"'  # of each line


def read_result(line, tasks, where):
    """Its id, exit status and dollars; the id is None where there is no such task."""
    name, dollars, status = (member(line, key) for key in ("id", "cost_dollars", "exit_status"))
    if not isinstance(name, str) or type(status) is not int or not is_amount(dollars):
        raise Problem(where + "it is no result: remove it, or give another file")
    if name not in tasks:
        return None, 0, 0
    if line.get("task_sha256") != tasks[name]["sha256"]:
        raise Problem(f"{where}task '{seen(name)}' was another one then: remove this line to have it done again, "
                      "or give another file")
    return name, status, dollars


def is_half(line):
    """Without its end, as a kill or a full disk leaves it."""
    return not line.endswith(b"\n") and (line.startswith(BEGIN) or BEGIN.startswith(line))


class Results:
    """The file of them, locked: whole lines, each on the disk when it is counted."""

    def __init__(self, path, tasks):
        self.path, self.tasks, self.bytes, self.dollars = path, tasks, 0, 0
        self.status = {}  # of each task with a line, by id
        try:
            how = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self.fd = os.open(path, how, 0o600)
            if not stat.S_ISREG(os.fstat(self.fd).st_mode):
                raise Problem(f"{seen(path)} is not a regular file")
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.resume()
        except OSError as e:
            locked = isinstance(e, BlockingIOError)
            raise Problem(f"{seen(path)}: {'another batch is writing it' if locked else e.strerror}") from None

    def resume(self):
        with open(os.dup(self.fd), "rb") as f:
            for number, line in enumerate(f, 1):
                if is_half(line):
                    os.ftruncate(self.fd, self.bytes)
                    continue
                self.take(parse(line) if line.endswith(b"\n") else None, f"{seen(self.path)}, line {number}: ")
                self.bytes += len(line)

    def take(self, line, where):
        name, status, dollars = read_result(line, self.tasks, where)
        if name:
            self.status.setdefault(name, status)
            self.dollars += dollars

    def add(self, task, status, dollars, said):
        head = {"id": task["id"], "task_sha256": task["sha256"], "exit_status": status, "cost_dollars": dollars}
        said = {name: value for name, value in said.items() if name not in head}
        line = json.dumps({**head, **said}, separators=(",", ":")).encode() + b"\n"
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self.fd, left):]
            os.fdatasync(self.fd)
        except OSError as e:
            os.ftruncate(self.fd, self.bytes)
            raise Problem(f"{seen(self.path)}: {e.strerror}") from None
        self.bytes += len(line)
        self.status[task["id"]] = status
        self.dollars += dollars


# ---- results of several batches

def find_results(paths, tasks):
    """Where each task's line is, as (exit status, dollars, path, offset, bytes); and how many more lines there are."""
    found, twice, foreign = {}, 0, 0
    for path in paths:
        with open(path, "rb") as f:
            at = 0
            for number, line in enumerate(f, 1):
                if is_half(line):
                    break  # the batch that wrote it will cut it off, and do the task again
                name, *rest = read_result(parse(line), tasks, f"{seen(path)}, line {number}: ")
                twice += name in found
                foreign += name is None
                if name:
                    found.setdefault(name, (*rest, path, at, len(line)))
                at += len(line)
    return found, twice, foreign


def write_results(path, order):
    """A new file, whole or not at all."""
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(new, "xb", opener=lambda path, how: os.open(path, how, 0o600)) as out:
            for _, _, part, at, size in order:
                with open(part, "rb") as f:
                    f.seek(at)
                    out.write(f.read(size))
            out.flush()
            os.fdatasync(out.fileno())
        os.link(new, path)
    finally:
        if os.path.lexists(new):
            os.unlink(new)


def merge(words):
    if len(words) < 3 or any(word.startswith("-") and word != "-" for word in words):
        raise Problem("merge: give TASKS, RESULTS and the files of the parts; see stepjail-batch --help")
    path = words[1]
    tasks = read_tasks(words[0], lambda task: None)  # the files may be on other machines
    try:
        found, twice, foreign = find_results(words[2:], tasks)
        write_results(path, [found[name] for name in tasks if name in found])
    except FileExistsError:
        raise Problem(f"{seen(path)} is there: remove it, or give another name") from None
    except OSError as e:
        raise Problem(f"{seen(e.filename or path)}: {e.strerror}") from None
    left = [name for name in tasks if name not in found]
    say(f"{summary(len(tasks), [one[0] for one in found.values()], sum(one[1] for one in found.values()), path)}"
        + f"; lines of a task that had one: {twice}" * bool(twice)
        + f"; lines of other tasks: {foreign}" * bool(foreign))
    if left:
        say("no result: " + ", ".join(seen(name, 40) for name in left[:20]) + ", ..." * (len(left) > 20))
    return LEFT if left else SOME if any(one[0] for one in found.values()) else GOOD


def summary(count, codes, dollars, path):
    return (f"{count} task{'s' * (count != 1)}: {codes.count(0)} with exit status 0, {len(codes) - codes.count(0)} "
            f"with another, {count - len(codes)} not done; ${dollars:.4f}; results: {seen(path)}")
