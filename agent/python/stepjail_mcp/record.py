# SPDX-License-Identifier: MIT
"""record.py - transcripts of served sessions, as stepjail-agent's own (agent/record/transcript.h)

Theory of operation
    A session has a file of JSON lines, each of which has the digest of the one before, so that
    `stepjail-agent verify` and `transcripts show` read it. Written first, then done: a step's code is on
    the disk before the jail gets it, and how it ended before the client is told. A line that cannot be
    written ends the session: no step runs that is not in the record. What a jail or a client says is data
    in strings, escaped to ASCII. Threads write, so that a slow disk holds up no other client.
"""
import asyncio
import contextlib
import datetime
import fcntl
import hashlib
import itertools
import json
import os
import re
import socket
import sys
import time

import stepjail
from stepjail_mcp import VERSION

FORMAT = 2
LINE_MAX = 32 << 20          # bytes of a line; no longer one is read
KEPT_MAX = 6144              # bytes of a stream's head, and of its tail
WHO_MAX = 200                # characters of what a client calls itself
OPENED = "host_uid", "warm", "why_cold", "not_enforced", "shut"
DIGESTS = "plan_sha256", "root_sha256", "root_verified"
WORDS = {
    "completed": "the code ran to its end", "exception": "the code raised an exception",
    "exited": "the code ended its process", "signaled": "the step's process was ended by a signal",
    "wall-timeout": "it took longer than it may", "cpu-timeout": "it used up its CPU time",
    "memory": "it used more memory than it may", "pids": "it started more processes or threads than it may",
    "disk": "it wrote more than the disk may hold", "file-locks": "it held more file locks than it may", "violation": "it tried a system call that is forbidden here",
    "cancelled": "the step was ended from outside", "launcher-error": "the sandbox itself failed"}
STATES = {"kept": "all variables are kept", "rolled-back": "all variables are as they were before this step",
          "lost": "the session is gone"}
LIMITS = {"wall-timeout": "--wall-time", "cpu-timeout": "--cpu-time", "memory": "--memory", "pids": "--pids",
          "disk": "--work-size or --tmp-size", "file-locks": "--file-locks"}
numbers = itertools.count(1)
started = time.time()


class NotWritten(stepjail.Error):
    """A transcript that cannot be written, and why."""


def state_folder():
    """Where stepjail-agent has its own; None where the environment names no folder."""
    state, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
    if state.startswith("/"):
        return os.path.join(state, "stepjail")
    return os.path.join(home, ".local/state/stepjail") if home.startswith("/") else None


def make_folder(path):
    """With all above it that is missing, the user's alone."""
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):  # then opening it says what it is
            os.mkdir(path, 0o700)


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"


def milliseconds(text):
    """Of a time as stepjail's options have it; what is none is stepjail's to refuse."""
    found = re.fullmatch(r"([0-9]+)(ms|s|m|h)?", text)
    return int(found[1]) * {"ms": 1, "m": 60000, "h": 3600000}.get(found[2], 1000) if found else 60000


def plain(text):
    """What any reader of JSON takes: no NUL, and no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def packed(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class Clip:
    """The head and the tail of a stream; the middle is counted and let go, the digest is of all that came."""

    def __init__(self, data=b""):
        self.total, self.sum, self.head, self.tail = 0, hashlib.sha256(), bytearray(), bytearray()
        self.add(data)

    def add(self, data, missing=0):
        """@missing: bytes before these that never came"""
        room = 0 if missing else KEPT_MAX - len(self.head)
        if missing:
            self.tail.clear()
        self.total += missing + len(data)
        self.sum.update(data)
        self.head += data[:room]
        self.tail += data[room:]
        del self.tail[:-KEPT_MAX]

    def told(self):
        head, tail = bytes(self.head), bytes(self.tail)
        if len(head) + len(tail) == self.total:
            head, tail = head + tail, b""
        cut = self.total - len(head) - len(tail)
        if cut:  # between characters
            head, tail = whole_end(head), tail.lstrip(bytes(range(0x80, 0xc0)))
            cut = self.total - len(head) - len(tail)
        texts = {"head": plain(head.decode("utf-8", "replace"))}
        if cut:
            texts["tail"] = plain(tail.decode("utf-8", "replace"))
        return {**texts, "bytes": self.total, "left_out": cut, "sha256": self.sum.hexdigest()}


def whole_end(head):
    """Without the beginning of a character at its end."""
    for back in range(1, min(4, len(head) + 1)):
        if head[-back] >= 0xc0:
            size = 2 if head[-back] < 0xe0 else 3 if head[-back] < 0xf0 else 4
            return head if back >= size else head[:-back]
        if head[-back] < 0x80:
            break
    return head


class Transcript:
    """Of one session; without a folder, nothing is written."""

    def __init__(self, folder, described, session, who):
        self.folder, self.described, self.opened, self.who = folder, described, session.opened, who
        self.file, self.lock, self.failed = None, asyncio.Lock(), None
        self.lines, self.digest, self.steps, self.branch = 0, "0" * 64, 0, 0
        self.states = {0: 0}  # of branches
        self.running, self.quiet = set(), asyncio.Event()

    async def begin(self):
        if not self.folder:
            return
        await asyncio.to_thread(self.make)
        await self.add("start", command="mcp", **self.described, user=plain(self.who)[:WHO_MAX])
        opened = self.opened
        posture = opened["posture"]
        await self.add("session", session=1, **{name: opened[name] for name in OPENED},
                       **{name: posture[name] for name in DIGESTS},
                       **({"vm": opened["vm"]} if opened["vm"] else {}),
                       posture_sha256=hashlib.sha256(packed(posture).encode()).hexdigest(), posture=posture)

    def make(self):
        """The file, its owner's alone, and there after a power cut. `prune` leaves it as long as it is locked."""
        now = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        path = os.path.join(self.folder, f"mcp-{now}-{os.getpid()}-{next(numbers)}.jsonl")
        try:
            make_folder(self.folder)
            self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_APPEND,
                                0o600)
            os.fchmod(self.file, 0o600)  # whatever the umask
            fcntl.flock(self.file, fcntl.LOCK_EX)
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as problem:
            self.fail(path, problem)

    def fail(self, path, problem):
        self.failed = (f"the transcript {path} cannot be written: {problem.strerror}; give another folder by "
                       "--transcripts DIR, or no to go without")
        raise NotWritten(self.failed) from None

    async def add(self, event, **members):
        """A line, down to the disk. Lines of several branches are in the order in which they came."""
        if self.file is not None or self.failed:  # a line that has begun is written, whoever is cancelled meanwhile
            await asyncio.shield(asyncio.create_task(self.locked(event, members)))

    async def locked(self, event, members):
        async with self.lock:
            if self.failed:
                raise NotWritten(self.failed)
            await asyncio.to_thread(self.write, event, members)

    def write(self, event, members):
        body = packed({"line": self.lines + 1, "prev": self.digest, "event": event, "time": utc(time.time()),
                       **members})[:-1].encode()
        digest = hashlib.sha256(body).hexdigest()
        data = body + f',"sha256":"{digest}"}}\n'.encode()
        if len(data) > LINE_MAX:
            raise NotWritten(f"a line of the transcript has at most {LINE_MAX} bytes, and this has {len(data)}")
        end = os.lseek(self.file, 0, os.SEEK_END)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self.file, left):]
            os.fdatasync(self.file)
        except OSError as problem:
            with contextlib.suppress(OSError):
                os.ftruncate(self.file, end)  # half a line is of no use
            self.fail(os.readlink(f"/proc/self/fd/{self.file}"), problem)
        self.lines, self.digest = self.lines + 1, digest

    async def move(self, branch):
        """To the branch that what follows is of, where it was another before."""
        if branch != self.branch:
            self.branch = branch
            await self.command("switch", branch, self.states.get(branch, 0))

    async def command(self, command, branch, state, **more):
        if command in ("rollback", "branch"):
            self.states[branch], self.branch = state, branch
        await self.add("command", command=command, branch=branch, state=state, **more)

    async def put(self, path, data):
        await self.command("put", self.branch, self.states.get(self.branch, 0), file={
            "name": plain(path), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})

    async def run(self, branch, code, wall_time, heard):
        """A step, with its code before it and its end behind. Where the caller is cancelled it is interrupted, and
        has its end in the record all the same."""
        self.steps += 1
        number, streams = self.steps, {"stdout": Clip(), "stderr": Clip()}

        def hear(name, data):
            streams[name].add(data)
            heard(name, data)

        async def step():
            nonlocal begun
            await self.move(branch.number)
            await self.add("code", step=number, code=plain(code))
            if cancelled:
                return None
            begun = True
            return await branch.run(code, wall_time=wall_time, on_output=hear)

        begun = cancelled = False
        task = asyncio.create_task(step())
        self.running.add(task)
        try:
            while not task.done():
                try:
                    await asyncio.shield(task)
                except asyncio.CancelledError:
                    cancelled = True
                    with contextlib.suppress(stepjail.Error):
                        await (branch.interrupt() if begun else asyncio.sleep(0))
                except Exception:
                    pass  # of the task's, which ends the step in the record, too
            if task.cancelled() or not isinstance(task.exception(), NotWritten):
                await self.add("step", step=number, **self.ended(branch, task, streams, cancelled))
        finally:
            self.running.discard(task)
            self.quiet.set()
        if cancelled:
            raise asyncio.CancelledError
        return task.result()

    def ended(self, branch, task, streams, cancelled):
        """How it ended, and what came of it."""
        problem = stepjail.Closed("its server ended") if task.cancelled() else task.exception()
        result = None if problem else task.result()
        if result:
            self.states[branch.number] = result.state_number
            told = ended_step(result, streams, cancelled)
        else:
            told = unrun_step(problem)
        return {**told, **{name: clip.told() for name, clip in streams.items()}, **texts_of(result)}

    async def end(self, outcome="ended", **more):
        """The last line, behind those of steps that end with their session. What is recorded no more has none."""
        while self.running:
            self.quiet.clear()
            await self.quiet.wait()
        with contextlib.suppress(NotWritten):
            await self.add("end", outcome=outcome, **more)
        if self.file is not None:
            os.close(self.file)
            self.file = None


def ended_step(result, streams, cancelled):
    report, output = result.report, result.report["output"]
    for name, clip in streams.items():
        cut, tail = output[name + "_cut"], output[name + "_tail"].encode()
        if cut:
            clip.add(tail, max(cut - len(tail), 0))
    words = WORDS.get(result.verdict, result.verdict)
    if result.verdict != "completed" or result.state != "kept":
        words += "; " + STATES.get(result.state, result.state)
    return {
        "verdict": result.verdict, "state": result.state, "state_number": result.state_number,
        "exit_code": result.exit_code, "signal": result.signal, "violation": report["violation"],
        "violations": report["violations"], "egress": report.get("egress"), "limit": LIMITS.get(result.verdict),
        "ended_by": "user" if cancelled or result.verdict == "cancelled" else None, "words": words + ".",
        **{name: int(report[name] or 0) for name in ("wall_ms", "cpu_ms", "memory_peak_bytes")},
        "strays": int(report["strays"] or 0) + int(report["threads"] or 0),
        "media": [shown(one) for one in result.shown]}


def unrun_step(problem):
    """Of a step that has no report: its session is gone, it was refused, or cancelled before it began."""
    verdict = "launcher-error" if problem else "cancelled"
    lost = isinstance(problem, stepjail.Closed) or not isinstance(problem, (stepjail.Error, type(None)))
    state = "lost" if lost else "kept"
    return {"verdict": verdict, "state": state, "state_number": None, "exit_code": None, "signal": None,
            "violation": None, "violations": None, "egress": None, "limit": None, "ended_by": "failure" if problem else "user",
            "wall_ms": 0, "cpu_ms": 0, "memory_peak_bytes": 0, "strays": 0, "media": [],
            "words": plain(WORDS[verdict] + (f": {problem}" if problem else "; " + STATES[state] + "."))}


def texts_of(result):
    texts = {"traceback": result and result.error, "result": result and result.text}
    return {name: Clip((text or "").encode("utf-8", "replace")).told() for name, text in texts.items()}


def shown(one):
    """A picture or table: what it was, and its digest. Its bytes are not kept."""
    whole = not one.left_out and len(one.data) == one.size
    return {"object": one.object, "kind": one.kind, "from": one.source, "bytes": one.size,
            "state": "whole" if whole else "left-out" if one.left_out else "broken",
            **({"sha256": hashlib.sha256(one.data).hexdigest()} if whole else {}),
            **({"name": plain(one.name)} if one.name else {})}


class Recorder:
    """What is the same in all transcripts of a server."""

    def __init__(self, folder, jail_options):
        self.folder = folder
        options = {name: " ".join("yes" if value is True else plain(value) for value in values)
                   for name, values in jail_options.items()}
        jail = {"rootfs": options.pop("rootfs", "core"), "step_ms": milliseconds(options.pop("wall-time", "1m")),
                "stateless": False, "options": options, "files": []}
        self.described = {
            "format": FORMAT, "stepjail_agent": VERSION, "host": socket.gethostname(), "uid": os.getuid(),
            "argv": [plain(os.fsencode(word).decode("utf-8", "replace")) for word in sys.argv], "started": utc(started),
            "confinement": None, "inputs": jail}

    async def begin(self, session, who):
        """The transcript of a session that has opened."""
        transcript = Transcript(self.folder, self.described, session, who)
        try:
            await transcript.begin()
        except BaseException:
            await transcript.end("failed")
            raise
        return transcript
