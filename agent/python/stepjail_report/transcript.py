# SPDX-License-Identifier: MIT
"""transcript.py - the lines of a transcript, and whether the chain of their digests is whole

What is kept is bounded, however long the file is: a line has at most LINE_MAX bytes, and of the
entries of a run, those are kept that a page can show. The chain is computed to the end.
agent/base/chain.h has the format, agent/record/read_transcript.c the same checks in C.
"""
import hashlib
import json
import re

FORMAT = 2
LINE_MAX = 32 << 20  # bytes
VALUES_MAX = 100000  # of JSON in a line
ENTRIES_MAX = 5000  # that are kept: steps, commands, checks
TEXT_BYTES_MAX, KEPT_VALUES_MAX = 64 << 20, 1_000_000  # of the lines that are kept

WHOLE, CHANGED, UNFINISHED = 0, 1, 2  # exit statuses of stepjail-agent verify
SEAL, SEAL_END = b',"sha256":"', b'"}'
SEAL_BYTES = len(SEAL) + 64 + len(SEAL_END)


class Wrong(Exception):
    """Why a line does not fit."""


def first_wins(pairs):
    """An object as cJSON has it: of members of one name the first."""
    members = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def refuse(word):
    raise ValueError(word)


def parse(line):
    """A line's object; None for what is none."""
    try:
        value = json.loads(line.decode(), object_pairs_hook=first_wins, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_crowded(line):
    """Commas and brackets that begin, outside of strings."""
    if sum(map(line.count, (b",", b"[", b"{"))) <= VALUES_MAX:
        return False
    plain = line.replace(rb"\\", b"").replace(rb'\"', b"").split(b'"')[::2]
    return sum(part.count(mark) for part in plain for mark in (b",", b"[", b"{")) > VALUES_MAX


def weight(value):
    """How many values are in it."""
    rest, total = [value], 0
    while rest:
        one = rest.pop()
        total += 1
        rest += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return total


def get(value, *names):
    """A member of members; None where one of them is no object."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value, *names):
    value = get(value, *names)
    return value if isinstance(value, str) else ""


def number(value, *names):
    """A count that a run can have had: 0 where it is none."""
    value = get(value, *names)
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if good else 0


def items(value, *names):
    value = get(value, *names)
    return value if isinstance(value, list) else []


class Transcript:
    """What was read: entries in order, each (event, line), a code event joined to its step."""

    def __init__(self):
        self.start, self.end, self.session = {}, None, None
        self.entries, self.left_out = [], 0
        self.steps = self.cut_off = self.lines = self.sessions = 0
        self.digest = "0" * 64  # of the last line that fits
        self.why = ""  # of the first line that does not
        self.half = False  # the last line has no end
        self.begun, self.began = None, ""  # the code of a step without an end so far, and when
        self.reply = None  # the model's last words, which no step has taken yet
        self.usage = None
        self.kept_bytes = self.kept_values = 0

    @property
    def state(self):
        return CHANGED if self.why else UNFINISHED if self.end is None else WHOLE

    def words(self):
        """As stepjail-agent verify says it."""
        if self.why:
            return f"line {self.lines + 1} is wrong: {self.why}"
        steps = f"{self.steps} step" + "s" * (self.steps != 1)
        if self.cut_off:
            steps += f", {self.cut_off} of them cut off"
        if self.begun is not None:
            steps += ", the last of them without an end"
        if self.end is None:
            return (f"whole up to line {self.lines} ({steps}); the end line is missing: the run was killed, or is still "
                    "going on, or lines were cut off")
        return f"whole: {self.lines} line{'s' * (self.lines != 1)}, {steps}"

    # ---- the chain

    def head(self):
        return b'{"line":%d,"prev":"%s",' % (self.lines + 1, self.digest.encode())

    def check_chain(self, line):
        """The digest of the next line; Wrong where it is not the next one."""
        body = line[:-SEAL_BYTES]
        if not body or line[len(body):len(body) + len(SEAL)] != SEAL:
            raise Wrong("it does not end with its SHA-256")
        digest = hashlib.sha256(body).hexdigest()
        if line[len(body):] != SEAL + digest.encode() + SEAL_END:
            raise Wrong("it was altered: SHA-256 mismatch")
        if not line.startswith(self.head()):
            told = re.match(rb'\{"line":([0-9]{1,19})', line)
            if told and int(told[1]) not in (0, self.lines + 1):
                raise Wrong(f"it says that it is line {int(told[1])}: lines before it were removed, added or moved")
            raise Wrong("the line before it is not the one behind which it was written")
        return digest

    def check_event(self, line, event):
        if self.end is not None:
            raise Wrong("it comes after the end line")
        if not text(line, "event"):
            raise Wrong("it is not a JSON object with an event")
        if (self.lines == 0) != (event == "start"):
            raise Wrong("a transcript has one start line, which is the first")
        if event == "start" and get(line, "format") != FORMAT:
            raise Wrong(f"it has another format than {FORMAT}, the one that this program reads")

    def take(self, line):
        digest = self.check_chain(line)
        if is_crowded(line):
            raise Wrong(f"it has more than {VALUES_MAX} values")
        value = parse(line) if b"\0" not in line else None
        self.check_event(value, text(value, "event"))
        self.lines, self.digest = self.lines + 1, digest
        self.keep(value, value["event"], len(line))

    def take_rest(self, rest):
        """The last bytes, without a newline: a line that was being written?"""
        self.half = True
        head = self.head()
        both = min(len(head), len(rest))
        try:
            self.check_chain(rest[:-1])
            whole = True
        except Wrong:
            whole = False
        if re.search(rb"[\0-\x1f\x7f]", rest):
            raise Wrong("it holds control bytes")
        if self.end is not None or whole or rest[:both] != head[:both]:
            raise Wrong("it is not the beginning of a line of this transcript")

    def read(self, file):
        """All of a binary file."""
        try:
            while line := file.readline(LINE_MAX + 1):
                if not line.endswith(b"\n"):
                    if len(line) > LINE_MAX:
                        raise Wrong(f"it is longer than the {LINE_MAX >> 20} MiB that a line may have")
                    self.take_rest(line)
                else:
                    self.take(line[:-1])
        except Wrong as why:
            self.why = str(why) + (" (is this file a transcript?)" if not self.lines else "")
        if self.begun is not None:
            self.steps += 1
            self.add("step", {"code": self.begun, "step": self.steps, "began": self.began}, 0)
        return self

    # ---- what it says

    def add(self, event, line, size):
        self.kept_bytes += size
        self.kept_values += weight(line)
        if len(self.entries) >= ENTRIES_MAX or self.kept_bytes > TEXT_BYTES_MAX or self.kept_values > KEPT_VALUES_MAX:
            self.left_out += 1
        else:
            self.entries.append((event, line))

    def keep(self, line, event, size):
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
            self.steps += 1
            self.cut_off += bool(text(line, "ended_by"))
            if self.begun is not None:
                line = {**line, "code": self.begun, "began": self.began}
            if self.reply and not self.reply.get("used"):
                line = {**line, "reply": self.reply}
            self.begun, self.reply = None, None
            self.add("step", line, size)
        elif event == "reply":
            self.reply, self.usage = line, get(line, "usage")
        elif event in ("command", "checked", "tests", "compact"):
            self.add(event, line, size)
