# SPDX-License-Identifier: MIT
"""attach.py - a connection that becomes the stream to a `stepjail serve` which is warm

Theory of operation
    stepjail-agent --server PATH says in its first line the options of the `stepjail serve` that it would start
    otherwise: {"stepjail/attach": ["--rootfs=core", ...]}. The answer is an empty line, or says why not. From then
    on the connection carries frames
    (init/serve_wire.h) both ways, as that process's own stream would. One process for each set of options is kept,
    and with it its template. Clients share it, and none knows: each frame's session number is changed on the way.
    Who attaches may name any folder of this user's as root tree or bind, so it is this user or root.
"""
import asyncio
import contextlib
import json
import os
import re
import time

import stepjail
from stepjail import _AT as AT, _HEADER as HEADER, _NAMES as NAMES, _PAYLOAD_MAX as PAYLOAD_MAX, _TYPES as TYPES
from stepjail_mcp import strict_json

ATTACH = "stepjail/attach"
KEPT_MAX = 8              # processes that no session is of
UNREAD_MAX = 64 << 20     # bytes that wait for a client
REQUESTS = {"CODE", "RUN", "INTERRUPT", "KILL", "OPEN", "ONCE", "STDIN", "ROLLBACK", "BRANCH", "DROP", "PUT", "GET",
            "LIST", "STATUS", "CLOSE", "DATA", "END"}


def options_of(words):
    """Of a request, as the keywords that the Python client takes."""
    options = {}
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Unfit("options is no list of words")
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        if not re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word, re.DOTALL) or name == "session-fd":
            raise Unfit(f"{word[:80]!r} is no option of stepjail serve")
        path = value.partition("=")[2] if name == "secret-header" else value
        if name in ("policy", "rootfs", "bind", "bind-rw", "secret-header") and "/" in path and not path.startswith("/"):
            raise Unfit(f"--{name} {value[:200]}: a server is in another folder: give a whole path")
        options.setdefault(name, []).append(value)
    return options


class Unfit(Exception):
    """A request that is refused, and why."""


def frame(kind, number, body, branch):
    return HEADER.pack(AT.size + len(body), TYPES[kind], 0, number) + AT.pack(branch) + body


async def read_frame(reader):
    """kind, number, branch, body; ValueError where it is none of a client's."""
    length, kind, zero, number = HEADER.unpack(await reader.readexactly(HEADER.size))
    if zero or not AT.size <= length <= PAYLOAD_MAX or NAMES.get(kind) not in REQUESTS:
        raise ValueError
    payload = await reader.readexactly(length)
    return NAMES[kind], number, AT.unpack_from(payload)[0], payload[AT.size:]


class Processes:
    """A `stepjail serve` for each set of options."""

    def __init__(self, command):
        self.command, self.all = command, {}

    async def one(self, options):
        key = json.dumps(options, sort_keys=True)
        serve = self.all.pop(key, None)
        if serve is None or serve.gone:
            serve = stepjail._Serve(self.command, options)
            serve.starting = asyncio.create_task(serve.start())
        self.all[key] = serve  # the last one that was asked for is the last
        await asyncio.shield(serve.starting)
        idle = [key for key, one in self.all.items() if not one.sessions and one is not serve]
        for key in idle[:max(0, len(self.all) - KEPT_MAX)]:
            await self.all.pop(key).close()
        return serve

    async def close(self):
        for serve in self.all.values():
            await serve.close()


class Session:
    """A client's session, for the reader of its process's frames."""

    def __init__(self, attached, theirs):
        self.attached, self.theirs = attached, theirs
        self.number = next(attached.serve.numbers)
        self.steps = set()  # branches where one runs
        attached.serve.sessions[self.number] = self

    def _take(self, kind, branch, body):
        if kind == "OPENED" and self.attached.serve.vm:
            self.attached.tell("WALL", 0, 0, json.dumps({"vm": self.attached.serve.vm}).encode())
        if kind == "DONE":
            self.steps.discard(branch)
        if kind == "CLOSED":
            self.attached.sessions.pop(self.theirs, None)
        if kind:
            self.attached.tell(kind, self.theirs, branch, body)

    def _end(self, reason):
        self._take("CLOSED", 0, json.dumps({"reason": reason}).encode())


class Attached:
    def __init__(self, serve, writer, most):
        self.serve, self.writer, self.most, self.sessions = serve, writer, most, {}

    def tell(self, kind, number, branch, body):
        if self.writer.transport.get_write_buffer_size() > UNREAD_MAX:
            self.writer.transport.abort()  # it does not read
        self.writer.write(frame(kind, number, body, branch))

    def refuse(self, frame, number, branch, kind, words):
        self.tell("REFUSED", number, branch, json.dumps(
            {"kind": kind, "limit": None, "frame": frame, "step": 0, "error": words}).encode())

    async def take(self, kind, number, branch, body):
        session = self.sessions.get(number)
        if session is None and kind not in ("OPEN", "ONCE"):
            return self.refuse(kind, number, branch, "no-session", "there is no such session")
        if session is None and len(self.sessions) >= self.most:
            return self.refuse(kind, number, branch, "limit", f"{self.most} sessions are open, and no more are allowed "
                               "(stepjail-mcp --sessions)")
        if session is None:
            session = self.sessions[number] = Session(self, number)
        if kind in ("RUN", "ONCE"):
            session.steps.add(branch)
        try:
            await self.serve.send(kind, session.number, body, branch)
        except stepjail.Closed as problem:
            self.sessions.pop(number, None)
            self.refuse(kind, number, branch, "ending", str(problem))

    async def run(self, reader, idle):
        """To the end of its frames, to bytes that are none, or until it has said nothing for IDLE seconds."""
        said = time.monotonic()
        head = asyncio.ensure_future(read_frame(reader))
        try:
            while True:
                done, _ = await asyncio.wait([head], timeout=max(0, said + idle - time.monotonic()))
                if any(session.steps for session in self.sessions.values()):
                    said = time.monotonic()
                elif not done:
                    return
                if done:
                    kind, number, branch, body = head.result()
                    said = time.monotonic()
                    await self.take(kind, number, branch, body)
                    head = asyncio.ensure_future(read_frame(reader))
        except (asyncio.IncompleteReadError, OSError, ValueError):
            pass
        finally:
            head.cancel()
            await self.close()

    async def close(self):
        for session in list(self.sessions.values()):
            with contextlib.suppress(stepjail.Error):
                await self.serve.send("CLOSE", session.number)
        self.sessions.clear()


async def asks(line):
    """The words of the options, where this first line of a connection is one to attach; else None."""
    if ATTACH.encode() in line:
        with contextlib.suppress(strict_json.Bad):
            message = await strict_json.apart(strict_json.parse, line)
            return message.get(ATTACH) if isinstance(message, dict) else None
    return None


async def attach(server, words, reader, writer, uid):
    """All of a client of user UID that attaches."""
    attached = why = None
    try:
        if uid not in (0, os.geteuid()):
            raise Unfit(f"only user {os.geteuid()} and root may attach to it: start a server of your own")
        attached = Attached(await server.processes.one(options_of(words)), writer, server.options.sessions)
    except (Unfit, stepjail.Error) as problem:
        why = " ".join(str(problem).split())
    writer.write((why or "").encode("utf-8", "backslashreplace") + b"\n")
    if attached:
        await attached.run(reader, server.options.idle)
    else:
        await writer.drain()
