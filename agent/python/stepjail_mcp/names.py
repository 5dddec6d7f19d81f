# SPDX-License-Identifier: MIT
"""names.py - names of files that are no UTF-8: as text that any reader of JSON takes, and back

A byte that is none of UTF-8's is told as an escape, such as \\xc3. Whoever asks for a file by the name that was told
gets it; a file that is really called so goes before it.
"""
import os
import posixpath
import re

import stepjail


def told(name):
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def meant(path):
    """A path whose escapes are bytes again, or None where it has none."""
    data = re.sub(rb"\\x([89a-f][0-9a-f])", lambda at: bytes([int(at[1], 16)]), os.fsencode(path))
    return os.fsdecode(data) if data != os.fsencode(path) else None


async def exists(session, path):
    try:
        return any(one.name == posixpath.basename(path) for one in await session.list(posixpath.dirname(path) or "."))
    except stepjail.Refused:
        return False


async def found(session, path):
    """The path of a file or folder by a name that told() may have made."""
    other = meant(path)
    return other if other and not await exists(session, path) and await exists(session, other) else path
