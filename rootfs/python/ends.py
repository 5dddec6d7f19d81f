# SPDX-License-Identifier: MIT
"""ends.py - what a step's end does for files; lies in the ELF as the frozen module stepjail_ends

What a step has written is in its files when it ends: whoever gets one, copies it or opens it, in
another process or the next step, finds all of it. startup.c notes each file that can be written.
Only regular files are flushed, as nothing that is written to one waits for a reader, and only where
no code of the user's lies between: such code runs in a step, and not at its end.
"""
import _io
import posix

_files = []  # weak references to what may be open for writing: startup.c adds them
_text, _writer, _random, _raw = _io.TextIOWrapper, _io.BufferedWriter, _io.BufferedRandom, _io.FileIO
_get_buffer = vars(_text)["buffer"].__get__
_get_raw = vars(_writer)["raw"].__get__, vars(_random)["raw"].__get__


def plain(file):
    """(its buffer, is that a BufferedRandom?), of a regular file; False where it is none, and None
    where it is not open yet."""
    buffer = file
    if issubclass(type(file), _text):
        buffer = _get_buffer(file)
        if type(buffer) not in (_writer, _random):
            return None if buffer is None else False
    random = issubclass(type(buffer), _random)
    raw = _get_raw[random](buffer)
    if type(raw) is not _raw:
        return None if raw is None else False
    if raw.closed or posix.fstat(_raw.fileno(raw)).st_mode & 0o170000 != 0o100000:
        return False
    return buffer, random


def flush(file):
    """Return: is it to be looked at again?"""
    try:
        found = plain(file)
        if not found:
            return found is None
        buffer, random = found
        if not random:
            (_writer if file is buffer else _text).flush(file)
            return True
        if file is not buffer:
            _text.read(file, 0)  # flush() would also let it tell a position that it does not know
        _random.flush(buffer)
    except (OSError, ValueError):
        pass  # no room, or closed just now: its close() will say so, or has
    return True


def flush_files():
    """A step ends. The youngest first: the buffer of a text is older."""
    kept = []
    try:
        while _files:
            kept.append(_files.pop())
            file = kept[-1]()
            if file is None or not flush(file):
                kept.pop()
    finally:
        _files.extend(reversed(kept))


def free_files():
    """Threads are gone in this process, and one may have held a file's lock. What was written before
    they last ran is flushed, so each gets a new buffer."""
    for reference in _files:
        file = reference()
        if type(file) in (_writer, _random):
            try:
                file.__init__(_get_raw[type(file) is _random](file))
            except Exception:
                pass  # closed
