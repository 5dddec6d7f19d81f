# SPDX-License-Identifier: MIT
"""stepjail_transcripts - transcripts of stepjail-agent, listed, shown, checked and removed

A transcript may be a stranger's, and holds words of models and jails. reader.py believes no line
that does not fit into its chain, screen.py lets none of its words move a cursor or begin a line,
and folder.py opens nothing but regular files of one folder, and closes all others to this process.
"""


class Problem(Exception):
    """What ends the program: one line."""


def failed(what, error):
    """The Problem of an OSError."""
    return Problem(f"{what}: {error.strerror or error}")
