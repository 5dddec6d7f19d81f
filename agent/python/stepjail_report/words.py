# SPDX-License-Identifier: MIT
"""words.py - the one way of a text onto the page

Tag makes elements; every text and every attribute's value goes through escape() or mark(). What a
reader cannot see, or what turns the direction of text, is a mark in Python's own spelling, as
agent/base/escape.c has it. How much a page may hold is counted in one Budget.
"""
import html
import re
import unicodedata

# code points that are not seen, or move what is: the table of agent/base/escape.c
HIDDEN = re.compile("[\\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
                    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
                    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
                    "\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff]")
COMBINING_MAX = 3  # marks on one letter; more would cover the lines around it

WORD_MAX, LINE_MAX = 120, 2000  # characters of a word and a line of somebody's
TEXT_MAX = 16 << 10  # of one stream, reply, observation
CODE_MAX = 64 << 10


def escaped(c):
    return c.encode("unicode_escape").decode()


def parts(text):
    """A text in pieces: (False, what is seen), (True, the mark of what is not)."""
    at = 0
    for found in HIDDEN.finditer(text):
        yield from piles(text[at:found.start()])
        yield True, escaped(found[0])
        at = found.end()
    yield from piles(text[at:])


def piles(text):
    """The same, without piles of combining characters: those above the bound are marks."""
    at, pile = 0, 0
    for i, c in enumerate(() if text.isascii() else text):
        pile = pile + 1 if c > "\u02ff" and unicodedata.category(c)[0] == "M" else 0
        if pile > COMBINING_MAX:
            yield False, text[at:i]
            yield True, escaped(c)
            at = i + 1
    yield False, text[at:]


def visible(text):
    """As plain text."""
    return "".join(part for _, part in parts(text))


def mark(text):
    """A text of anybody's as HTML: newlines and tabs stay."""
    return "".join(f"<b class=u>{html.escape(part)}</b>" if is_mark else html.escape(part)
                   for is_mark, part in parts(text.replace("\r\n", "\n")))


def line(text, most=LINE_MAX):
    """A text of anybody's as a part of a line, which keeps its direction to itself."""
    cut = text[:most]
    words = mark(cut.replace("\n", "\\n").replace("\t", " "))
    return f"<bdi>{words}{'…' if len(text) > most else ''}</bdi>"


def plain(text, most=WORD_MAX):
    """The same for an attribute or a title, where no mark can stand."""
    return html.escape(visible(text[:most].replace("\n", " ").replace("\t", " ")) + ("…" if len(text) > most else ""))


def count(n, word):
    return f"{n:,.0f} {word}" + "s" * (n != 1)


def size(n):
    for unit, bytes_ in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= bytes_:
            return f"{n / bytes_:.3g} {unit}" if n < 1000 * bytes_ else f"{n / bytes_:,.0f} {unit}"
    return count(n, "byte")


def duration(ms):
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60000:
        return f"{ms / 1000:.3g} s"
    minutes, s = divmod(ms / 1000, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {s:.0f} s"


class Budget:
    """What a page may still hold, in characters of HTML."""

    def __init__(self, most):
        self.left, self.most = most, most

    def take(self, part):
        """The part where it fits, else None."""
        if len(part) > self.left:
            return None
        self.left -= len(part)
        return part


def block(text, kind, left_out=0, tail="", most=TEXT_MAX):
    """A text of many lines: its beginning, what is left out in words, its end."""
    half = most if not tail else most // 2
    cut = len(text) - half
    parts = [f"<pre class={kind}>{mark(text[:half])}</pre>" if text else ""]
    if cut > 0 or left_out:
        told = [count(left_out, "byte") + " were left out of the transcript"] if left_out else []
        told += [count(cut, "character") + " of it are not shown on this page"] if cut > 0 else []
        parts.append(f"<p class=gap>{'; '.join(told)}</p>")
    if tail:
        parts.append(f"<pre class={kind}>{mark(tail[-half:])}</pre>")
    return "".join(parts)
