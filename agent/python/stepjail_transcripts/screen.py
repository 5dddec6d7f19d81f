# SPDX-License-Identifier: MIT
"""screen.py - words of models and jails where a person reads them: escaped, marked, cut

As agent/base/escape.c and agent/show/ do it: nothing that is shown moves a cursor or is not seen,
and each line that is not the program's own begins with a mark.
"""
import json
import os
import re

from . import Problem, failed

# in order of code points; agent/base/escape.c has the why of each
HIDDEN = ("\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
          "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f"
          "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff")
UNSHOWN = re.compile(f"[{HIDDEN}\ud800-\udfff\ufe0e\ufe0f]")
UNPRINTED = re.compile(f"[{HIDDEN}\ud800-\udfff]")
HEAD, CODE, DIM, PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[2m", ""
OWN_MARK, CODE_MARK, OUT_MARK = "    ", "  > ", "  | "
LEAST_COLUMNS = 8  # behind a mark


def has_forms(before):
    """Is there a form as text and one as emoji of it?"""
    point = ord(before)
    return not 0xd800 <= point <= 0xdfff and (point >= 0x203c or before in "\xa9\xae#*0123456789") and \
        before not in "\ufe0e\ufe0f"


def escape(text):
    """As part of one line."""
    def one(found):
        char, at = found[0], found.start()
        if char in "\ufe0e\ufe0f" and at and has_forms(text[at - 1]):
            return char
        if char in "\n\r":
            return "\\n" if char == "\n" else "\\r"
        point = ord(char)
        if 0xdc80 <= point <= 0xdcff:
            point -= 0xdc00  # a byte that is no UTF-8
        return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
    return UNSHOWN.sub(one, text)


def cut(text, most):
    """Its beginning, of so many bytes at the most."""
    return text if len(text) * 4 <= most else text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def as_json(value):
    """One line of JSON; characters that hide or move a cursor are escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return UNPRINTED.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f"), text)


def size(number):
    units = iter(("bytes", "KiB", "MiB", "GiB", "TiB"))
    unit, tenths = next(units), 0
    while number >= 1024 and unit != "TiB":
        tenths = number % 1024 * 10 // 1024
        number, unit = number // 1024, next(units)
    return f"{number}{f'.{tenths}' if tenths else ''} {unit}"


def cells(char, column):
    return 8 - column % 8 if char == "\t" else 1 if char < "\u1100" else 2


def fold(line, mark, columns):
    """A line in rows of a terminal, each but the first behind the mark."""
    columns, column, row, rows = max(columns, len(mark) + LEAST_COLUMNS), 1, "", []
    for at, char in enumerate(line):
        if column and char not in "\ufe0e\ufe0f" and column + cells(char, column) >= columns:
            rows.append(row)
            column = 0
        if not column:
            row, column = mark, len(mark)
        row += char
        column += cells(char, column)
        if char == " " and not fits(line[at + 1:at + columns + 1], column, mark, columns):
            rows.append(row)
            column, row = 0, ""
    return "\n".join([*rows, row] if column else rows)


def fits(rest, column, mark, columns):
    """Does the next word end in this row?"""
    if column <= len(mark) + 1:
        return True
    for char in rest:
        if char == " ":
            return True
        column += cells(char, column)
        if column >= columns:
            return False
    return column < columns


class Screen:
    """Stdout."""

    def __init__(self, plain):
        self.terminal = os.isatty(1)
        self.color = self.terminal and not plain and not os.environ.get("NO_COLOR") and \
            os.environ.get("TERM") != "dumb"

    def write(self, text):
        left = memoryview(text.encode("utf-8", "backslashreplace"))
        try:
            while left:
                left = left[os.write(1, left):]
        except BrokenPipeError:  # whoever read it has enough, as head does: nothing is to be said
            raise Problem("", 125) from None
        except OSError as e:
            raise failed("cannot write to stdout", e) from None

    def put(self, ink, mark, lines):
        """Lines that are escaped; with a mark each is broken at the terminal's width."""
        try:
            columns = os.get_terminal_size(1).columns if self.terminal else 0
        except OSError:
            columns = 0
        rows = []
        for line in lines:
            folded = fold(line, mark, columns or 80) if mark and self.terminal else line
            rows += [f"{ink}{row}\x1b[0m" if self.color and ink and row else row for row in folded.split("\n")]
        self.write("".join(row + "\n" for row in rows))

    def line(self, text):
        self.put(HEAD, OWN_MARK, [escape(text)])

    def note(self, text):
        self.put(DIM, OWN_MARK, [escape(text)])

    def place(self, text):
        """With a path, in one piece, so that it can be copied."""
        self.put(DIM, None, [escape(text)])

    def said(self, ink, mark, text):
        """Words of a model or a jail."""
        lines = text.split("\n")
        self.put(ink, mark, [mark + escape(line) for line in (lines if lines[-1] else lines[:-1])])
