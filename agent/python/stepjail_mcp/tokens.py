# SPDX-License-Identifier: MIT
"""tokens.py - the file of bearer tokens: who may use the server over HTTP

A line is a token, and each token is a client with sessions of its own. A file that is missing is made,
with one token. It is the user's alone: mode 0600, no link.
"""
import contextlib
import hmac
import os
import re
import secrets
import stat

from stepjail_mcp.record import make_folder

TOKENS_MAX, TOKEN_MIN, TOKEN_MAX = 64, 20, 256


class BadFile(Exception):
    pass


def make(path, prefix):
    """A file with a new token, there as a whole or not at all; one that is there already stays."""
    folder = os.path.dirname(os.path.abspath(path))
    make_folder(folder)
    beside = os.path.join(folder, f".token-{secrets.token_hex(8)}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(file, "w") as out:
            out.write((prefix + secrets.token_hex(20) if prefix else secrets.token_urlsafe(32)) + "\n")
        with contextlib.suppress(FileExistsError):
            os.link(beside, path)
    finally:
        os.unlink(beside)


def private(path):
    """A file, open, that no other user can read or could have written."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    facts = os.fstat(file)
    if not stat.S_ISREG(facts.st_mode):
        os.close(file)
        raise BadFile("it is no file")
    text = open(file, "rb")
    try:
        if facts.st_uid not in (0, os.geteuid()):
            raise BadFile(f"it belongs to user {facts.st_uid}, and must be yours")
        if facts.st_mode & 0o077:
            raise BadFile(f"its mode is {facts.st_mode & 0o777:04o}, and other users must have no right to it: "
                          "chmod 600")
    except BadFile:
        text.close()
        raise
    return text


def read(path):
    with private(path) as text:
        lines = text.read(TOKENS_MAX * (TOKEN_MAX + 2)).split()
    if not lines or len(lines) > TOKENS_MAX or \
            not all(re.fullmatch(rb"[\x21-\x7e]+", line) and TOKEN_MIN <= len(line) <= TOKEN_MAX for line in lines):
        raise BadFile(f"it must have 1 to {TOKENS_MAX} lines, each a token of {TOKEN_MIN} to {TOKEN_MAX} ASCII "
                      "characters; remove it to have one made")
    return lines


def tokens_of(path, prefix=""):
    """Of a file, which is made where it is missing; BadFile says what to mend. @prefix: of a token that is made"""
    try:
        if not os.path.lexists(path):
            make(path, prefix)
        return read(path)
    except OSError as problem:
        raise BadFile(problem.strerror) from None


def number_of(tokens, word):
    """The number of the token that a word is, or None; no time tells how much of it was right."""
    given = word.strip().encode("latin-1", "replace")
    found = [number for number, token in enumerate(tokens) if hmac.compare_digest(token, given)]
    return found[0] if found else None


def which(tokens, header):
    """The same of a header Authorization."""
    scheme, _, word = (header or "").partition(" ")
    number = number_of(tokens, word)
    return number if scheme.lower() == "bearer" else None
