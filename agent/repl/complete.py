# SPDX-License-Identifier: MIT
"""complete.py - which names a word may become; complete.c runs this in a fork that is thrown away

What is looked at are objects of the session's, whose classes may answer as they like.
"""
_known = globals().copy()
import builtins
import keyword
import os

MOST, LONGEST = 200, 50


def names(word):
    head, dot, part = word.rpartition(".")
    if dot:
        first, *rest = head.split(".")
        value = _known[first] if first in _known else getattr(builtins, first)
        for name in rest:
            value = getattr(value, name)
        found = dir(value)
    else:
        found = {*_known, *dir(builtins), *keyword.kwlist}
    return sorted(n for n in found if n.startswith(part) and (part or n[0] != "_"))


def complete(word):
    try:
        good = [n for n in names(word) if n.isidentifier() and n.isascii() and len(n) <= LONGEST]
        os.write(1, "".join(n + "\n" for n in good[:MOST]).encode())
    except Exception:
        pass  # no such object: no names
    os._exit(0)
