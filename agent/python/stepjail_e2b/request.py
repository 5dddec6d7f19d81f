# SPDX-License-Identifier: MIT
"""request.py - one request of HTTP: what it asks for, and its answer, whole or as a stream"""
import asyncio
import contextlib
import urllib.parse

from stepjail_mcp import strict_json
from stepjail_mcp.client import cancel_once
from stepjail_mcp.http_connection import Refused, packed

KEEPALIVE = 15  # seconds between signs of life of a stream


def parsed(data, what="the body"):
    """An object of JSON."""
    try:
        found = strict_json.parse(data)
    except strict_json.Bad as problem:
        raise Refused(400, f"{what} {problem}") from None
    if not isinstance(found, dict):
        raise Refused(400, f"{what} is no JSON object")
    return found


def member(body, name, kind, default=None):
    """A member of a body that has the right type; null is none."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
        raise Refused(400, f"{name} is not of type {getattr(kind, '__name__', 'number')}")
    return value


def texts(body, name):
    """A member that is an object of strings."""
    found = member(body, name, dict, {})
    if len(found) > 256 or not all(isinstance(value, str) for value in found.values()):
        raise Refused(400, f"{name} is no object of at most 256 strings")
    return found


class Request:
    def __init__(self, connection, head):
        self.connection, self.head = connection, head
        path, _, query = head.path.partition("?")
        self.method, self.path = head.command, urllib.parse.unquote(path, errors="strict")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=64))
        self.data, self.number = b"", None  # number: of the sandbox that Host names

    async def read(self, take):
        """The body, where there is one."""
        if self.method not in ("GET", "DELETE") or "Content-Length" in self.head.headers or \
                "Transfer-Encoding" in self.head.headers:
            self.data = await self.connection.body(self.head, take, chunked=True)

    async def json(self):
        return await strict_json.apart(parsed, self.data) if self.data else {}

    async def answer(self, status, data=b"", kind="application/json", phrase=None, headers=()):
        if not isinstance(data, bytes):
            data = packed(data)
        size = {} if status == 204 else {"Content-Type": kind, "Content-Length": len(data)}
        await self.connection.write(self.connection.head_of(status, {**size, **dict(headers)}, phrase) + data)


class Stream:
    """An answer that comes in pieces, as they are told."""

    def __init__(self, request, kind, alive):
        """@alive: a piece that says nothing"""
        self.connection, self.kind, self.alive = request.connection, kind, alive
        self.chunked = request.head.request_version >= "HTTP/1.1"
        self.queue = asyncio.Queue()
        self.broken = False  # by this the SDKs know that a sandbox has ended: the connection ends before the answer

    def tell(self, data):
        """A piece, soon. They are few: the output of a step has its limit."""
        self.queue.put_nowait(data)

    async def piece(self, data):
        await self.connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data)

    async def serve(self, work):
        """All that a task tells, to its end. A client that has gone cancels it."""
        await self.connection.write(self.connection.head_of(200, {
            "Content-Type": self.kind,
            **({"Transfer-Encoding": "chunked"} if self.chunked else {"Connection": "close"})}))
        task, gone = asyncio.ensure_future(work), asyncio.create_task(self.connection.gone())
        task.add_done_callback(lambda task: self.queue.put_nowait(None))
        getting = None
        try:
            while True:
                getting = getting or asyncio.create_task(self.queue.get())
                done, _ = await asyncio.wait({getting, gone}, timeout=KEEPALIVE, return_when=asyncio.FIRST_COMPLETED)
                if gone in done:
                    break
                if not done:
                    await self.piece(self.alive)
                    continue
                data, getting = getting.result(), None
                if data is None:
                    break
                await self.piece(data)
        finally:
            others = [other for other in (gone, getting) if other]
            for other in others:
                other.cancel()
            if not task.done():
                self.connection.keep = False
                cancel_once(task)
            await asyncio.gather(*others, return_exceptions=True)
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self.broken:
            self.connection.keep = False
        elif self.chunked:
            await self.connection.write(b"0\r\n\r\n")
