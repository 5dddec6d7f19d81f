# SPDX-License-Identifier: MIT
"""account.py - a transcript, told to a person: in some words, or step by step

No line that is shown begins with words of the file.
"""
import re
import time

from .reader import CHANGED, CUT, WHOLE, count, counted, member, words
from .screen import CODE, CODE_MARK, OUT_MARK, PLAIN, cut, size

TASK = "Task: "  # prompt_task() begins with it
PART = 2048  # bytes of a step's code, and of each of its streams
STREAMS = {"stdout": "stdout", "stderr": "stderr", "traceback": "the traceback",
           "result": "the value of the last expression"}
LOCKED = ("execve", "execveat", "mmap", "mprotect", "pkey_mprotect")
REFUSED_TOLD = 8  # kinds of calls in a line
# or in a line: who or what it is of, what it must be, why it is not
ROWS = {"command": ("command", None, None), "tests": (None, "stands", "why"), "checked": ("check", "passed", "printed"),
        "confirm": ("choice", None, None)}


def task_of(start):
    return words(start, "user").removeprefix(TASK)


def first_line(text, most):
    return cut(text.partition("\n")[0], most)


def shown_name(file):
    return file.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def whose(file, start):
    """Of a transcript's first line: what it is called, its model and task, cut."""
    model = "/".join(filter(None, (words(start, "model", name) for name in ("provider", "name"))))
    return {"name": shown_name(file), "model": first_line(model, 80), "task": first_line(task_of(start), 63)}


def listed(file, reader):
    """What a transcript is, in some words of it, a line each and cut."""
    said = {"command": "", "task": "", "outcome": ""}
    for event, line in reader:
        if event == "start":
            said["command"], said["task"] = first_line(words(line, "command"), 15), first_line(task_of(line), 63)
        elif event == "user" and not said["task"]:  # a chat's first words
            said["task"] = first_line(words(line, "text").removeprefix(TASK), 63)
        elif event == "end":
            said["outcome"] = first_line(words(line, "outcome"), 23)
    if reader.end != WHOLE:
        said["outcome"] = "unfinished" if reader.end == CUT else \
            "of another release" if reader.format and not reader.lines else "changed"
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(file.written_ns // 10**9))
    return {"name": shown_name(file), "time": when, **said, "steps": reader.steps, "bytes": file.bytes}


def list_line(one):
    return "  ".join((one["time"], one["name"], one["command"], one["outcome"], counted(one["steps"], "step"),
                      size(one["bytes"]), one["task"]))


def calls_of(line):
    """(name, how often) of each call of a step that was refused."""
    kinds = member(line, "violations", "list")
    kinds = [one for one in kinds if member(one, "violation") is True] if isinstance(kinds, list) else []
    names = [words(kind, "syscall") for kind in kinds]
    return [(name if re.fullmatch("[a-z0-9_]{1,31}", name) else "unknown", count(kind, "count") or 0)
            for name, kind in zip(names, kinds)]


def refused(line):
    """The calls of a step that were refused, in words; '' where none was."""
    killed, kinds = words(line, "verdict") == "violation", calls_of(line)
    told = [f"{name} x{often}" for name, often in kinds[:REFUSED_TOLD]]
    if not told:
        return ""
    text = ("killed: --on-violation kill: " if killed else "refused: ") + ", ".join(told)
    if len(kinds) > REFUSED_TOLD:
        text += f" and {len(kinds) - REFUSED_TOLD} more"
    hint = "--lock-code=no allows it" if kinds[0][0] in LOCKED else "stepjail run --learn says whether a policy may allow it"
    return text if killed else f"{text} ({hint})"


class Account:
    """Step by step, on a screen."""

    def __init__(self, screen):
        self.screen = screen
        self.said = ""  # by the model, and no step came of it

    def part(self, title, text, total):
        """The beginning of a text, of which there were so many bytes."""
        if not total:
            return
        kept = cut(text, PART)
        length = len(kept.encode("utf-8", "surrogatepass"))
        ending = "$" if total > length else "(?!)"  # what a crash of Python lists of modules
        short = re.sub(rf"(?m)(^Extension modules: )(?:[^\n]*?(?= \(total: )|[^\n]*{ending}\Z)", r"\1...", kept)
        self.screen.note(title)
        if short:
            self.screen.said(PLAIN, OUT_MARK, short)
        if total > length:
            left_out = total - len(short.encode("utf-8", "surrogatepass"))
            self.screen.put(PLAIN, OUT_MARK, [f"[{left_out} bytes are not shown here]"])

    def start(self, line):
        model = line.get("model")
        names = [cut(name, 300) for name in model.values() if isinstance(name, str)] if isinstance(model, dict) else []
        self.screen.line(" ".join(["recorded: " + cut(words(line, "command"), 20), cut(words(line, "time"), 30),
                                   *names]))
        self.whole("task", task_of(line))

    def whole(self, title, text):
        self.part(title, text, len(text.encode("utf-8", "surrogatepass")))

    def reply(self, line):
        self.said = words(line, "text")

    def answer(self, text):
        if text:
            self.screen.line("")
            self.screen.line("answer")
            self.screen.said(PLAIN, CODE_MARK, text)
        self.said = ""

    def user(self, line):
        """Of a chat, or of a run that went on: what was said before it was an answer."""
        self.answer(self.said)
        self.whole("the user", words(line, "text").removeprefix(TASK))

    def code(self, line):
        code = words(line, "code")
        self.screen.line("")
        self.screen.line(f"step {count(line, 'step') or 0}")
        if code:
            self.screen.said(CODE, CODE_MARK, cut(code, PART))
        if cut(code, PART) != code:
            self.screen.note("the rest of its code is not shown here")

    def step(self, line):
        self.said = ""
        if "verdict" not in line:
            self.whole("nothing was run", words(line, "observation"))
            return
        for name, title in STREAMS.items():
            self.part(title, words(line, name, "head"), count(line, name, "bytes"))
        self.screen.line(f"ended: {cut(words(line, 'verdict'), 40)}: {cut(words(line, 'words'), 300)}")
        if text := refused(line):
            self.screen.note(text)

    def end(self, line):
        error = words(line, "error")
        self.answer(words(line, "answer") or (self.said if words(line, "outcome") == "ended" else ""))
        self.screen.line("outcome: " + cut(words(line, "outcome"), 40) + (": " if error else "") + cut(error, 300))

    def row(self, event, line):
        of, good, why = ROWS[event]
        text = event + (" " + cut(words(line, of), 100) if of else "")
        if good:
            text += f": {'' if line.get(good) is True else 'not '}{good}: {cut(words(line, why), 300)}"
        self.screen.line(text)

    def show(self, reader):
        for event, line in reader:
            if event in ROWS:
                self.row(event, line)
            elif event in ("start", "user", "reply", "code", "step", "end"):
                getattr(self, event)(line)
        if reader.begun:
            self.screen.note("the end of this step is not shown: a line is wrong" if reader.end == CHANGED else
                             "the last step was cut off: its end is not recorded")
