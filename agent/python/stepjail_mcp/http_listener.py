# SPDX-License-Identifier: MIT
"""http_listener.py - connections of HTTP on loopback, and their bounds; what they ask for is a subclass's

Theory of operation
    A connection is a task, which takes one request after the other: head, then who it is of, then body, in
    this order, so that nobody without a token has memory or time of the server's beyond a head. The head is
    parsed by http.server (http_connection.py).

    Whatever a client does, it has bounds: of bytes, of time, of requests at once. Each is named in the answer
    to who meets it. Connections without a request make way for new ones.
"""
import asyncio
import collections
import contextlib
import re
import traceback

from stepjail_mcp.client import REQUESTS_MAX
from stepjail_mcp.http_connection import DEADLINE, HEAD_MAX, Connection, Refused

CONNECTIONS_MAX = 256   # of all clients, and requests at once; a client has REQUESTS_MAX of these
BODIES_MAX = 128 << 20  # bytes of requests that are not answered, of all clients
OF_CLIENT = 64 << 20    # and of one
HERE = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?")


class Listener:
    """A subclass has request(connection, head), and refuse(connection, refused) for what that raised."""
    PATH = ""
    tls = None

    def __init__(self):
        self.waiting = {}  # connections without a request, who waits longest first
        self.busy, self.bytes = collections.Counter(), collections.Counter()  # of requests of a token

    async def listen(self, listener, say, tls=None):
        """@listener: a socket that listens; @tls: an ssl.SSLContext for https"""
        self.tls = tls
        server = await asyncio.start_server(self.connected, sock=listener, limit=HEAD_MAX)
        host, port = listener.getsockname()[:2]
        say(f"listening on http{'s' if tls else ''}://{f'[{host}]' if ':' in host else host}:{port}{self.PATH}")
        async with server:
            await server.serve_forever()

    async def close(self):
        """What is to be done when the server ends, but for its clients and its jails."""

    async def connected(self, reader, writer):
        connection = Connection(reader, writer)
        if len(self.waiting) + self.busy.total() >= CONNECTIONS_MAX and self.waiting:
            longest = next(iter(self.waiting))
            del self.waiting[longest]
            longest.writer.transport.abort()
        self.waiting[connection] = True
        try:
            if self.tls:
                await writer.start_tls(self.tls, ssl_handshake_timeout=DEADLINE)
            while connection.keep:
                await self.next(connection)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.waiting.pop(connection, None)
            writer.close()

    async def next(self, connection):
        self.waiting[connection] = True
        try:
            head = await connection.head()
            if not head:
                connection.keep = False
                return
            if head.close_connection:
                connection.keep = False
            await self.request(connection, head)
        except Refused as refused:
            await self.fail(connection, refused)
        except (asyncio.IncompleteReadError, OSError):
            raise
        except Exception as problem:  # a mistake of ours: the others go on
            traceback.print_exc()
            await self.fail(connection, Refused(500, f"{type(problem).__name__}: {problem}"[:300]))
        if connection.unread:
            connection.keep = False
            await connection.linger()

    async def fail(self, connection, refused):
        """Within an answer no other can begin: its connection ends, and by that the client knows."""
        connection.keep, connection.unread = False, True
        if not connection.begun:
            await self.refuse(connection, refused)

    @contextlib.contextmanager
    def one_more(self, owner, connection):
        if self.busy[owner] >= REQUESTS_MAX:
            raise Refused(429, f"a client has at most {REQUESTS_MAX} requests at once", **{"Retry-After": "1"})
        if self.busy.total() >= CONNECTIONS_MAX:
            raise Refused(503, f"the server has at most {CONNECTIONS_MAX} requests at once", **{"Retry-After": "1"})
        self.busy[owner] += 1
        self.waiting.pop(connection, None)
        taken = 0

        def take(size):
            nonlocal taken
            for held, most, whose in ((self.bytes[owner], OF_CLIENT, "a client's"),
                                      (self.bytes.total(), BODIES_MAX, "all clients'")):
                if held + size > most:
                    raise Refused(503, f"{whose} requests at once have at most {most} bytes", **{"Retry-After": "1"})
            taken += size
            self.bytes[owner] += size

        try:
            yield take
        finally:
            self.busy[owner] -= 1
            self.bytes[owner] -= taken

    def names(self, host):
        """Whether a request may have such a Host, which is in lower case, beside those of loopback."""
        return False

    def from_here(self, head):
        """A request comes from this host, and not from a page of another."""
        host = head.header("Host").lower()
        if not HERE.fullmatch(host) and not self.names(host):
            raise Refused(403, "Host is not this host: use localhost, 127.0.0.1 or [::1]")
        if "Origin" in head.headers and head.header("Origin").lower() != f"http{'s' if self.tls else ''}://{host}":
            raise Refused(403, "Origin is a page of another server, which may not use this one")
