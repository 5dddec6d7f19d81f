# SPDX-License-Identifier: MIT
"""jail_options.py - options of stepjail serve: behind --, or each by --jail-option, for programs that swallow a --

What is wrong with them stepjail itself says, before anybody is served: `explain` of the words as they are, and
`serve` of what was made of them, whose client has gone already.
"""
import re
import socket
import subprocess

import stepjail

PATIENCE = 60  # seconds
WORD = re.compile(r"--[a-z][a-z-]*(=.*)?", re.DOTALL)


class Wrong(Exception):
    """An option, and what is wrong with it."""


def keywords(words):
    """--name VALUE, --name=VALUE and --name as the keywords that the client takes."""
    options, words = {}, list(words)
    while words:
        word = words.pop(0)
        if not WORD.fullmatch(word):
            raise Wrong(f"'{word}' is no option of stepjail serve")
        name, equals, value = word[2:].partition("=")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("--") else True
        options.setdefault(name, []).append(value)
    return options


def run(program, *words):
    """What it prints, where it ends well."""
    client, its = socket.socketpair()
    client.close()
    try:
        done = subprocess.run([program, *words], stdin=its, capture_output=True, timeout=PATIENCE)
    except OSError as problem:
        raise Wrong(f"{program}: {problem.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Wrong(f"{program} {words[0]} has not ended within {PATIENCE} s") from None
    finally:
        its.close()
    if done.returncode:
        said = done.stderr.decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]
        raise Wrong(said.removeprefix("stepjail: ") or f"{program} {words[0]} ended with status {done.returncode}")
    return done.stdout.decode("utf-8", "replace").splitlines()


def checked(command, words):
    """The keywords of words that stepjail takes; Wrong says what it does not."""
    options = keywords(words)
    if not words:
        return options
    program = stepjail._find(command)
    plan = run(program, "explain", *words)
    if "wall vm" not in plan:  # no guest is started for this
        run(program, "serve", *stepjail._words(options), *(() if "cold" in options else ("--cold",)))
    return options
