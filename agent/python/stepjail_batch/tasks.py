# SPDX-License-Identifier: MIT
"""tasks.py - the lines of TASKS: each is checked before the first is begun"""
import hashlib
import os

from . import Problem, parse, seen

LINE_MAX, ID_MAX = 1 << 20, 200  # bytes of a task
TASKS_MAX, TASKS_BYTES = 20000, 64 << 20
TEXTS, LISTS = ("id", "task", "check_answer"), ("files", "tests")


def once(pairs):
    names = {name for name, _ in pairs}
    if len(names) < len(pairs):
        raise Problem("one of " + seen(", ".join(sorted(names)), 80) + " is given twice")
    return dict(pairs)


def check_member(name, value):
    texts = value if isinstance(value, list) and name in LISTS else [value]
    if name not in TEXTS + LISTS:
        raise Problem(f"'{seen(name, 80)}' is no member of a task; there are id, task, files, tests and check_answer")
    if (name in LISTS) != isinstance(value, list) or not all(isinstance(one, str) and one for one in texts):
        raise Problem(f"'{name}' is not a " + ("list of strings" if name in LISTS else "string, or is empty"))
    if any("\0" in one or any("\ud800" <= c <= "\udfff" for c in one) for one in texts):
        raise Problem(f"'{name}' holds a NUL, or half of a character")


def check_files(task):
    for name in LISTS:
        for one in task.get(name, ()):
            try:
                os.close(os.open(one, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
            except OSError as e:
                raise Problem(f"{name}: {seen(one)}: {e.strerror}") from None


def read_task(line, number, tasks):
    if len(line) > LINE_MAX or len(tasks) == TASKS_MAX:
        raise Problem(f"it is longer than {LINE_MAX} bytes, or the task after {TASKS_MAX} others")
    task = parse(line, once)
    if not isinstance(task, dict):
        raise Problem("it is no JSON object")
    for name, value in task.items():
        check_member(name, value)
    if "task" not in task:
        raise Problem("it has no 'task'")
    task.setdefault("id", str(number))
    if task["id"] in tasks or len(task["id"].encode()) > ID_MAX:
        raise Problem(f"its id '{seen(task['id'], 40)}' is that of an earlier task, or longer than {ID_MAX} bytes")
    task["sha256"] = hashlib.sha256(line).hexdigest()
    return task


def read_tasks(path, check=check_files):
    try:
        with open(0 if path == "-" else path, "rb") as f:
            data = f.read(TASKS_BYTES + 1)
    except OSError as e:
        raise Problem(f"{seen(path)}: {e.strerror}") from None
    if len(data) > TASKS_BYTES:
        raise Problem(f"{seen(path)} has more than {TASKS_BYTES} bytes: make several files of it")
    tasks = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip(b" \t\r"):
            try:
                task = read_task(line, number, tasks)
                check(task)
            except Problem as e:
                raise Problem(f"{seen(path)}, line {number}: {e}") from None
            tasks[task["id"]] = task
    if not tasks:
        raise Problem(f"{seen(path)} has no task")
    return tasks


def part_of(tasks, part, parts):
    """Every so many of them, so that tasks that are alike and stand together are spread."""
    if part >= parts:
        raise Problem(f"--part {part}/{parts}: the first part is 0, and the last {parts - 1}")
    return dict(list(tasks.items())[part::parts])
