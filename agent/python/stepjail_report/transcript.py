# SPDX-License-Identifier: MIT
"""transcript.py - what a page says of a transcript: its entries in order

stepjail_transcripts/reader.py checks the lines. What is kept is bounded, however long the file
is: of the entries of a run, those that a page can show.
"""
from stepjail_transcripts.reader import CHANGED, LINE_MAX, WHOLE, Reader
from stepjail_transcripts.reader import CUT as UNFINISHED
from stepjail_transcripts.reader import member as get
from stepjail_transcripts.reader import words as text

ENTRIES_MAX = 5000  # that are kept: steps, commands, checks
TEXT_BYTES_MAX, KEPT_VALUES_MAX = 64 << 20, 1_000_000  # of the lines that are kept


def number(value, *names):
    """A count that a run can have had: 0 where it is none."""
    value = get(value, *names)
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if good else 0


def items(value, *names):
    value = get(value, *names)
    return value if isinstance(value, list) else []


def weight(value):
    """How many values are in it."""
    rest, total = [value], 0
    while rest:
        one = rest.pop()
        total += 1
        rest += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return total


class Transcript:
    """What was read: entries, each (event, line), a code event joined to its step."""

    def __init__(self, file):
        """All of a binary file."""
        self.start, self.end, self.session = {}, None, None
        self.entries, self.left_out = [], 0
        self.sessions = 0
        self.begun, self.began = None, ""  # the code of a step without an end so far, and when
        self.reply = None  # the model's last words, which no step has taken yet
        self.usage = None
        self.kept_bytes = self.kept_values = 0
        reader = Reader(file)
        for event, line in reader:
            self.keep(line, event, reader.line_bytes)
        self.state, self.words = reader.end, reader.words().partition(", sha256 ")[0]
        self.lines, self.steps, self.digest = reader.lines, reader.steps, reader.digest
        if self.begun is not None:
            self.add("step", {"code": self.begun, "step": self.steps, "began": self.began,
                              "unread": self.state == CHANGED}, 0)

    def add(self, event, line, size):
        self.kept_bytes += size
        self.kept_values += weight(line)
        if len(self.entries) >= ENTRIES_MAX or self.kept_bytes > TEXT_BYTES_MAX or self.kept_values > KEPT_VALUES_MAX:
            self.left_out += 1
        else:
            self.entries.append((event, line))

    def take_answer(self):
        """In a chat, the reply that no step has taken; in other runs the end has it."""
        if self.reply and text(self.start, "command") == "chat":
            self.add("said", self.reply, 0)
            self.reply = None

    def keep(self, line, event, size):
        if event in ("user", "command", "end"):
            self.take_answer()
        if event == "start":
            self.start = line
        elif event == "end":
            self.end = line
        elif event == "session":
            self.session, self.sessions = line, self.sessions + 1
        elif event == "code":
            self.begun = get(line, "code")
            self.begun = self.begun if isinstance(self.begun, str) else ""
            self.began = text(line, "time")
        elif event == "step":
            if self.begun is not None:
                line = {**line, "code": self.begun, "began": self.began}
            if self.reply and not self.reply.get("used"):
                line = {**line, "reply": self.reply}
            self.begun, self.reply = None, None
            self.add("step", line, size)
        elif event == "reply":
            self.reply, self.usage = line, get(line, "usage")
        elif event == "confirm" and text(line, "choice") == "run":
            pass
        elif event in ("user", "confirm", "command", "checked", "tests", "compact"):
            self.add(event, line, size)


__all__ = ["CHANGED", "LINE_MAX", "UNFINISHED", "WHOLE", "Transcript", "get", "items", "number", "text"]
