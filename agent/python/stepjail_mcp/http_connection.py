# SPDX-License-Identifier: MIT
"""http_connection.py - a connection of HTTP: requests in, answers and streams of events out; see http_server.py"""
import asyncio
import contextlib
import email.utils
import http
import http.server
import io
import re

from stepjail_mcp.strict_json import packed

HEAD_MAX = 16 << 10     # bytes of a request's head
BODY_MAX = 16 << 20     # bytes of a message
DEADLINE = 30           # seconds for a head, for a body, and for taking what is sent
IDLE = 120              # seconds that a connection waits for a request
ONCE = ("Host", "Origin", "Authorization", "Content-Length", "Content-Type", "Mcp-Session-Id",
        "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-API-Key", "X-Access-Token", "E2b-Sandbox-Id",
        "E2B-Traffic-Access-Token", "Transfer-Encoding")
# the parser of mail also takes lines that are folded, names that end with a blank, and more
LINES = re.compile(rb"[^\r\n]*\r\n(?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[^\r\n]*\r\n)*\r\n")


class Refused(Exception):
    """A request that ends with a status, a line that says why, and perhaps a header."""

    def __init__(self, status, why, **headers):
        super().__init__(why)
        self.status, self.headers = status, headers


class Head(http.server.BaseHTTPRequestHandler):
    """A request's first line and headers."""
    protocol_version = "HTTP/1.1"

    def __init__(self, data):
        self.rfile = io.BytesIO(data)
        self.raw_requestline = self.rfile.readline()
        self.wrong, self.continues = None, False
        if re.search(rb"[^\t\r\n -~\x80-\xff]|\r(?!\n)|(?<!\r)\n", data):
            raise Refused(400, "the head of the request has control characters")
        if not LINES.fullmatch(data):
            raise Refused(400, "the head of the request has a line that is no header")
        if not self.parse_request():
            raise Refused(*(self.wrong or (400, "the head of the request cannot be parsed")))
        twice = [name for name in ONCE if len(self.headers.get_all(name, [])) > 1]
        if twice:
            raise Refused(400, f"the head of the request has {twice[0]} twice")

    def send_error(self, code, message=None, explain=None):
        self.wrong = code, message or "the head of the request cannot be parsed"

    def handle_expect_100(self):
        self.continues = True
        return True

    def header(self, name):
        return self.headers.get(name, "").strip()

    def accepts(self, kind):
        found = {part.partition(";")[0].strip().lower() for part in self.headers.get("Accept", "*/*").split(",")}
        return bool(found & {kind, kind.partition("/")[0] + "/*", "*/*"})


class Exchange:
    """A request and its answer: JSON at the end, or events as they come."""

    def __init__(self, connection, head):
        self.connection, self.streams = connection, head.accepts("text/event-stream")
        self.chunked = head.request_version >= "HTTP/1.1"
        self.final, self.status, self.started = None, 200, False

    async def send(self, message, status=200):
        if "method" not in message:
            self.final, self.status = message, status
        elif self.streams:
            await self.event(b"data: " + packed(message))

    async def event(self, data):
        begin = b""
        if not self.started:
            self.started = True
            begin = self.connection.head_of(200, {
                "Content-Type": "text/event-stream", "X-Accel-Buffering": "no",
                **({"Transfer-Encoding": "chunked"} if self.chunked else {"Connection": "close"})})
        await self.connection.write(begin + self.piece(data + b"\r\n\r\n"))

    def piece(self, data):
        return b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data

    async def finish(self, headers):
        """The answer, where there is one: a request that was cancelled has none."""
        if self.started:
            last = self.piece(b"data: " + packed(self.final) + b"\r\n\r\n") if self.final else b""
            await self.connection.write(last + (self.piece(b"") if self.chunked else b""))
        elif self.final:
            await self.connection.answer(self.status, self.final, headers)
        else:
            await self.connection.answer(202, None, headers)


class Connection:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.keep = True
        self.begun = self.unread = False  # the answer to a request; its body, which would be the next request
        self.lock = asyncio.Lock()

    async def write(self, data):
        """To a client that takes it; one that does not loses its connection."""
        async with self.lock:
            if self.writer.transport.is_closing():
                self.keep = False
                return
            try:
                async with asyncio.timeout(DEADLINE):
                    self.writer.write(data)
                    await self.writer.drain()
            except (OSError, TimeoutError):
                self.keep = False
                self.writer.transport.abort()

    def head_of(self, status, headers, phrase=None):
        lines = {"Date": email.utils.formatdate(usegmt=True), "Cache-Control": "no-store",
                 "X-Content-Type-Options": "nosniff", **headers}
        self.begun = True
        if not self.keep or self.unread:
            lines["Connection"] = "close"
        if lines.get("Connection") == "close":
            self.keep = False
        return (f"HTTP/1.1 {status} {phrase or http.HTTPStatus(status).phrase}\r\n" +
                "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n").encode("latin-1")

    async def answer(self, status, message, headers=()):
        data = packed(message) if message else b""
        kind = {"Content-Type": "application/json"} if message else {}
        await self.write(self.head_of(status, {**kind, "Content-Length": len(data), **dict(headers)}) + data)

    async def head(self):
        """None where the client is done."""
        self.begun = self.unread = False
        try:
            async with asyncio.timeout(IDLE):
                first = await self.reader.read(1)
        except TimeoutError:
            return None
        if not first:
            return None
        if first in b"\r\n":
            raise Refused(400, "a request begins with a method")
        try:
            async with asyncio.timeout(DEADLINE):
                head = Head(first + await self.reader.readuntil(b"\r\n\r\n"))
            self.unread = "Transfer-Encoding" in head.headers or head.header("Content-Length") not in ("", "0")
            return head
        except asyncio.LimitOverrunError:
            raise Refused(431, f"the head of a request has at most {HEAD_MAX} bytes") from None
        except TimeoutError:
            raise Refused(408, f"the head of the request did not come in {DEADLINE} s") from None

    async def body(self, head, take, chunked=False):
        """@take: called with the number of bytes before they are read; it refuses them where they are too many
        @chunked: whether a body may be in chunks, whose sizes come with them"""
        chunked = chunked and head.header("Transfer-Encoding").lower() == "chunked" and \
            "Content-Length" not in head.headers and head.request_version >= "HTTP/1.1"
        length = head.header("Content-Length")
        if not chunked and ("Transfer-Encoding" in head.headers or not re.fullmatch("[0-9]{1,12}", length)):
            raise Refused(411, "a request has a body whose size is in Content-Length")
        if not chunked and int(length) > BODY_MAX:
            raise Refused(413, f"a message has at most {BODY_MAX} bytes")
        if not chunked:
            take(int(length))
        if head.continues:
            await self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            async with asyncio.timeout(DEADLINE):
                data = await (self.chunks(take) if chunked else self.reader.readexactly(int(length)))
            self.unread = False
            return data
        except TimeoutError:
            raise Refused(408, f"the body of the request did not come in {DEADLINE} s") from None

    async def chunks(self, take):
        """A body whose pieces have their sizes before them; nothing follows the last, which is empty."""
        data = bytearray()
        while True:
            try:
                line = await self.reader.readuntil(b"\r\n")
            except asyncio.LimitOverrunError:
                line = b""
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}\r\n", line):
                raise Refused(400, "a chunk of the body does not begin with its size")
            size = int(line, 16)
            if len(data) + size > BODY_MAX:
                raise Refused(413, f"a message has at most {BODY_MAX} bytes")
            take(size)
            data += await self.reader.readexactly(size)
            if await self.reader.readexactly(2) != b"\r\n":
                raise Refused(400, "a chunk of the body is not as long as it says")
            if not size:
                return bytes(data)

    async def gone(self):
        """Until the client has closed its end. What it sends before it has the answer is not heard."""
        with contextlib.suppress(OSError):
            while await self.reader.read(HEAD_MAX):
                self.keep = False

    async def linger(self):
        """What was refused may still be on its way, and closing at once could take the answer back."""
        with contextlib.suppress(OSError, TimeoutError):
            if self.writer.can_write_eof():
                self.writer.write_eof()
            async with asyncio.timeout(2):
                while await self.reader.read(HEAD_MAX):
                    pass
