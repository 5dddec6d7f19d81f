# SPDX-License-Identifier: MIT
"""stepjail_batch - many tasks for stepjail-agent, a line of results for each

Each task is a process, stepjail-agent solve --json, with walls of its own. What it prints holds
words of a model: it is read when its process has ended, up to RESULT_MAX bytes, taken for JSON,
and written anew as ASCII. A person sees it through seen() alone. tasks.py reads what is to be done,
results.py the file of what was, and merges several; jobs.py runs the tasks.
"""
import json
import os
import re

GOOD, SOME, LEFT, SPENT, MODEL, LATE, BROKEN = 0, 1, 2, 3, 4, 124, 125  # exit statuses
# what is not seen although Unicode has it as printable: agent/base/escape.c says why
UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")


class Problem(Exception):
    """What ends the batch: one line, with what to do."""


def seen(text, most=1000):
    """A text of anybody's as part of one line: what is invisible or moves a cursor is an escape."""
    return "".join(c if c.isprintable() and not UNSEEN.match(c) else c.encode("unicode_escape").decode()
                   for c in text[:most]) + ("..." if len(text) > most else "")


def say(line):
    try:
        os.write(2, (line + "\n").encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # the results count, and nobody reads this


def member(value, *names):
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_amount(value):
    return type(value) in (int, float) and 0 <= value < 1e15


def parse(data, hook=None):
    """Of bytes; None for what is no JSON, or is too deep to be written again."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=hook)
        json.dumps([[value]], allow_nan=False)
        return value
    except (ValueError, RecursionError, MemoryError):
        return None
