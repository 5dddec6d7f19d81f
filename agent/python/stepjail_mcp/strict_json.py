# SPDX-License-Identifier: MIT
"""strict_json.py - JSON in both directions: finite numbers, characters, and a bounded number of values

Python's json takes and writes what other readers of JSON refuse: NaN, 1e999, halves of surrogate pairs. And
16 MiB of empty lists become half a GiB of objects, while the event loop serves nobody.
"""
import asyncio
import json
import math
import re

VALUES_MAX = 100_000  # of one text
DEPTH_MAX = 100       # of lists and objects in each other
APART = 64 << 10      # bytes: larger texts are parsed by a thread

MARK = re.compile(rb'[\[{,"]')
STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # behind its first quote
# what json.dumps() writes: a backslash, a pair, or half of one
HALF = re.compile(r"(\\\\|\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
one_thread = asyncio.Lock()


class Bad(ValueError):
    """What a text is or has, for which it is not taken."""


def no_number(word):
    raise ValueError(word)


def bound_values(data):
    """Each value but the first follows a bracket or a comma. Those within strings count only where it matters."""
    if sum(map(data.count, (b"[", b"{", b","))) < VALUES_MAX:
        return
    at = values = strings = 0
    while found := MARK.search(data, at):
        at = found.end()
        if found[0] == b'"':
            at, strings = STRING.match(data, at).end(), strings + 1
        else:
            values += 1
        if values >= VALUES_MAX or strings > 2 * VALUES_MAX:  # names of members are strings, too
            raise Bad(f"has more than {VALUES_MAX} values")


def bound_depth(found, halves):
    left = [(found, 1)]
    while left:
        value, depth = left.pop()
        if isinstance(value, str) and not halves and not value.isascii():
            value.encode()
        elif isinstance(value, (dict, list)):
            if depth > DEPTH_MAX:
                raise Bad(f"is nested deeper than {DEPTH_MAX}")
            left += ((one, depth + 1) for one in value)
            left += ((one, depth + 1) for one in value.values()) if isinstance(value, dict) else ()


def parse(data, *, number=no_number, halves=False):
    """What a text says; Bad where it is not taken.

    number: what a number becomes that is not finite, as it is written. halves: whether halves of surrogate
    pairs are taken, for a caller that refuses them itself.
    """
    bound_values(data)

    def real(word):
        value = float(word)
        return value if math.isfinite(value) else number(word)

    try:
        found = json.loads(data.decode(), parse_constant=number, parse_float=real)
        bound_depth(found, halves)
    except Bad:
        raise
    except (ValueError, RecursionError):
        raise Bad("is no JSON in UTF-8") from None
    return found


async def apart(function, data, *more):
    """function(data, ...), which parses. Large data is parsed by a thread, one at a time."""
    if len(data) <= APART:
        return function(data, *more)
    async with one_thread:
        return await asyncio.to_thread(function, data, *more)


def packed(message):
    """JSON in ASCII. Half of a surrogate pair, such as a file's name can have, becomes U+FFFD."""
    text = json.dumps(message, allow_nan=False)
    if "\\ud" in text:
        text = HALF.sub(lambda found: found[1] or r"\ufffd", text)
    return text.encode()
