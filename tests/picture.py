#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""picture.py - what a command shows on a terminal, as an SVG: the README's picture

usage: tests/picture.py [--check] FILE.svg TITLE COMMAND [ARGS...]

The command runs on a pseudo-terminal of its own. Of what it writes, text, line ends and
the colours below are understood; anything else is an error, since a picture must show
what a person would see. With --check the picture is not written but compared with what
FILE shows: exit status 1 where they differ by more than times ("in 24 ms").
"""
import difflib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from xml.sax.saxutils import escape, quoteattr

COLUMNS, ROWS = 100, 100
WIDTH, HEIGHT, LEFT, TOP = 8.43, 19, 18, 48  # of a cell, and of the frame, in pixels
# SGR parameter: what the text is drawn with
STYLES = {"1": 'font-weight="bold"', "2": 'fill="#8b949e"', "31": 'fill="#ff7b72"',
          "32": 'fill="#7ee787"', "33": 'fill="#e3b341"', "36": 'fill="#79c0ff"'}


def shown(command):
    """What the command writes to a terminal; its failure is ours."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=env,
                          start_new_session=True) as child:
        os.close(inner)
        written = b""
        while True:
            try:
                piece = os.read(outer, 65536)
            except OSError:  # EIO: the last holder of the terminal has gone
                break
            if not piece:
                break
            written += piece
    os.close(outer)
    if child.returncode:
        sys.exit(f"picture: {command[0]} ended with status {child.returncode}:\n"
                 + written.decode(errors="replace"))
    # which limits a host enforces is its own affair, and so is how long one waits for it
    text = re.sub(r"\r\x1b\[K(    (preparing|waiting)[^\r\n]*)?", "", written.decode())
    return re.sub(r"^(\x1b\[\d*m)*stepjail-agent: warning: not enforced on .*\n"
                  r"((\x1b\[\d*m)*    .*\n)*", "", text, flags=re.M)


def runs(line):
    """The pieces of a line, each with the parameter it is drawn with, or None."""
    style = None
    for part in re.split(r"(\x1b\[\d*m)", line):
        code = re.fullmatch(r"\x1b\[(\d*)m", part)
        if code:
            style = code[1] if code[1] not in ("", "0") else None
            if style and style not in STYLES:
                sys.exit(f"picture: no style for SGR {style}")
        elif part:
            if re.search(r"[\x00-\x1f\x7f]", part):
                sys.exit(f"picture: a control character in {part!r}")
            yield style, part


def drawn(lines, title):
    """The SVG of these lines."""
    width = round(COLUMNS * WIDTH + 2 * LEFT)
    height = TOP + HEIGHT * len(lines) + LEFT
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" role="img" aria-label={quoteattr(title)}>')
    yield f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>'
    yield (f'<text x="{LEFT}" y="25" font-family="monospace" font-size="13" '
           f'fill="#8b949e">{escape(title)}</text>')
    # blanks at a line's beginning: browsers go by CSS alone, older programs by the attribute
    yield "<style>text { white-space: pre }</style>"
    yield '<g font-family="monospace" font-size="14" fill="#e6edf3" xml:space="preserve">'
    for at, line in enumerate(lines):
        spans = "".join(f"<tspan {STYLES.get(style, '')}>{escape(text)}</tspan>"
                        for style, text in runs(line))
        if spans:
            yield f'<text x="{LEFT}" y="{TOP + HEIGHT * at + 14}">{spans}</text>'
    yield "</g></svg>"


def timeless(svg):
    """The same picture, whatever time its steps took."""
    return re.sub(r"\bin [\d.]+ (ms|s|min)\b", "in N ms", svg)


def main():
    words = sys.argv[1:]
    check = words[:1] == ["--check"]
    if len(words) < 3 + check:
        sys.exit(__doc__)
    path, title, *command = words[check:]
    lines = shown(command).replace("\r\n", "\n").rstrip("\n").split("\n")
    picture = "\n".join(drawn(lines, f"$ {title}")) + "\n"
    if not check:
        with open(path, "w", encoding="utf-8") as out:
            out.write(picture)
        return 0
    with open(path, encoding="utf-8") as old:
        differ = list(difflib.unified_diff(timeless(old.read()).split("\n"), timeless(picture).split("\n"),
                                           path, title, n=0, lineterm=""))
    if differ:
        print(*differ, f"picture: {path} is not what {title} shows: make picture", sep="\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
