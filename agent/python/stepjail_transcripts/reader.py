# SPDX-License-Identifier: MIT
"""reader.py - a transcript read back, line by line, each checked before it is believed

agent/record/read_transcript.c reads the same for `verify` and `replay`, and agent/base/chain.h
says how lines are chained. A changed file and one that a kill cut short are told apart.
"""
import hashlib
import json
import re

LINE_MAX, VALUES_MAX, FORMAT = 32 << 20, 100000, 2
WHOLE, CHANGED, CUT = 0, 1, 2  # exit statuses of commands
SEAL, SEAL_BYTES = b',"sha256":"', 11 + 64 + 2
STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.S)
# format 1 had other names
RENAMED = {"start": {"jail": "inputs"},
           "step": {"head": "state_number", "max_rss_bytes": "memory_peak_bytes", "output": "stdout",
                    "error": "stderr"}}


class Wrong(Exception):
    """Why a line does not fit."""


def first(pairs):
    """Of two members of one name, the first is meant, as in `replay`."""
    found = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def number(name):
    raise ValueError(name)


def parse(line):
    """A line's object; None where it is none."""
    try:
        value = json.loads(line.decode(), object_pairs_hook=first, parse_constant=number)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def member(value, *names):
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def words(value, *names):
    """A member that is a string, else ''."""
    value = member(value, *names)
    return value if isinstance(value, str) else ""


def count(value, *names):
    """A member that is a count, else None."""
    value = member(value, *names)
    return int(value) if type(value) in (int, float) and 0 <= value <= 1e12 else None


def renew(event, line):
    """A line of format 1 with the names of today."""
    for was, now in RENAMED.get(event, {}).items():
        if was in line:
            line[now] = line.pop(was)
    if isinstance(line.get("model"), str):
        line["model"] = {"name": line["model"]}
    by = "task-limit" if line.get("budget_ended") is not None else \
        {"cancelled": "user", "launcher-error": "failure"}.get(words(line, "verdict"))
    if by:
        line["ended_by"] = by


def is_crowded(line):
    bare = STRINGS.sub(b"", line)
    return sum(map(bare.count, (b",", b"[", b"{"))) > VALUES_MAX


class Reader:
    """One transcript: iterate over its lines, as (event, object); then how it reads."""

    def __init__(self, file):
        self.file, self.lines, self.digest, self.format = file, 0, "0" * 64, 0
        self.steps = self.cut_off = 0
        self.begun = self.half = False  # a step without an end; a line that was not finished
        self.line_bytes = 0  # of the line that was read last
        self.end, self.why = CUT, ""

    def __iter__(self):
        try:
            while line := self.file.readline(LINE_MAX + 1):
                if not line.endswith(b"\n"):
                    self.look_at_rest(line)
                    break
                self.line_bytes = len(line)
                yield self.take(line)
        except Wrong as wrong:
            self.end, self.why = CHANGED, str(wrong)
        self.steps += self.begun

    def head(self):
        return b'{"line":%d,"prev":"%s",' % (self.lines + 1, self.digest.encode())

    def check_chain(self, line):
        """The digest of a line that is the next one; the last byte is left out. Nothing as long as
        the line is made."""
        at = len(line) - SEAL_BYTES - 1
        seal = line[at:-1]
        if at < 1 or not seal.startswith(SEAL):
            raise Wrong("it does not end with its SHA-256")
        digest = hashlib.sha256(memoryview(line)[:at]).hexdigest()
        if seal != SEAL + digest.encode() + b'"}':
            raise Wrong("it was altered: SHA-256 mismatch")
        if not line.startswith(self.head()):
            place = re.match(rb'\{"line":0*([1-9][0-9]{0,17})', line)
            if place and int(place[1]) != self.lines + 1:
                raise Wrong(f"it says that it is line {int(place[1])}: lines before it were removed, added or moved")
            raise Wrong("the line before it is not the one behind which it was written")
        return digest

    def take(self, line):
        digest = self.check_chain(line)
        if is_crowded(line):
            raise Wrong(f"it has more than {VALUES_MAX} values")
        root = parse(line)
        event = words(root, "event")
        if self.end == WHOLE:
            raise Wrong("it comes after the end line")
        if not event:
            raise Wrong("it is not a JSON object with an event")
        if (self.lines == 0) != (event == "start"):
            raise Wrong("a transcript has one start line, which is the first")
        if self.lines == 0:
            self.format = count(root, "format") or 0
            if not 1 <= self.format <= FORMAT:
                raise Wrong(f"it has format {self.format}, of another release; this one reads 1 and {FORMAT}")
        if self.format < FORMAT:
            renew(event, root)
        self.lines, self.digest = self.lines + 1, digest
        if event == "step":
            self.steps += 1
            self.cut_off += isinstance(root.get("ended_by"), str)
        self.begun = event == "code" or self.begun and event != "step"
        self.end = WHOLE if event == "end" else CUT
        return event, root

    def look_at_rest(self, rest):
        """The file's last bytes, without a newline: a line that was being written?"""
        if len(rest) > LINE_MAX:
            raise Wrong(f"it is longer than the {LINE_MAX >> 20} MiB that a line may have")
        self.half = True
        if re.search(rb"[\x00-\x1f\x7f]", rest):
            raise Wrong("it holds control bytes")
        try:
            self.check_chain(rest)
            whole = True
        except Wrong:
            whole = False
        both = min(len(self.head()), len(rest))
        if self.end == WHOLE or whole or rest[:both] != self.head()[:both]:
            raise Wrong("it is not the beginning of a line of this transcript")

    def say_steps(self):
        return counted(self.steps, "step") + (f", {self.cut_off} of them cut off" if self.cut_off else "") + \
            (", the last of them without an end" if self.begun else "")

    def words(self):
        """How it reads."""
        if self.end == CHANGED:
            return f"line {self.lines + 1} is wrong: {self.why}" + \
                ("" if self.lines else " (is this file a transcript?)")
        if self.end == CUT:
            return f"whole up to line {self.lines} ({self.say_steps()}" + \
                (")" if not self.half else "), and the next one is not finished") + \
                "; the end line is missing: the run was killed, or is still going on, or lines were cut off"
        return f"whole: {counted(self.lines, 'line')}, {self.say_steps()}, sha256 {self.digest}"

    def say(self, name):
        return f"{name}: {self.words()}"


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"
