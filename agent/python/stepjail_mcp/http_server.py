# SPDX-License-Identifier: MIT
"""http_server.py - clients over HTTP: MCP's Streamable HTTP, on loopback

Theory of operation
    Connections and their bounds are http_listener.py's. There is one endpoint, /mcp.

    In the era of 2026-07-28 a request stands alone: headers say what it is, and are compared with it. Its
    sessions are those of its token. Who closes the connection before the answer has cancelled it. Before,
    `initialize` makes a session of the protocol's, whose id each later request has in Mcp-Session-Id, and a
    request goes on without its connection, until notifications/cancelled.

    An answer is JSON. It becomes a stream of events (SSE) with the first progress that is told, or after
    KEEPALIVE seconds, so that no client takes a long step for a dead server.
"""
import asyncio
import base64
import binascii
import secrets
import time

from stepjail_mcp import tokens
from stepjail_mcp.client import (BAD_HEADER, BAD_PARAMS, BAD_VERSION, INVALID, LEGACY, META, MODERN, PARSE,
                                 REQUESTS_MAX, Client, Problem, cancel_once, failure, parsed)
from stepjail_mcp.http_connection import Exchange, Refused
from stepjail_mcp.http_listener import Listener
from stepjail_mcp.sessions import Sessions
from stepjail_mcp.strict_json import apart

SESSIONS_MAX = 32       # of a client, in the protocol's older era
KEEPALIVE = 15          # seconds between signs of life of a stream
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Legacy:
    """A session of the protocol's older era."""

    def __init__(self, server, owner):
        self.client, self.owner, self.used = Client(server), owner, time.monotonic()

    def idle(self):
        return not self.client.tasks and not self.client.sessions.handles


class HttpServer(Listener):
    PATH = "/mcp"

    def __init__(self, server, words):
        """@words: the tokens, see tokens.py"""
        super().__init__()
        self.server, self.tokens = server, words
        self.shared, self.legacy = {}, {}  # by tokens; by Mcp-Session-Id

    async def request(self, connection, head):
        owner = self.checked(head)
        if head.command == "DELETE":
            await self.delete(connection, head, owner)
            return
        with self.one_more(owner, connection) as take:
            await self.post(connection, head, owner, await connection.body(head, take))

    async def refuse(self, connection, refused):
        await connection.answer(refused.status, {"jsonrpc": "2.0", "error": {
            "code": INVALID, "message": str(refused)}}, refused.headers)

    def checked(self, head):
        """The token's number, of a request that comes from this host and not from a page of another."""
        self.from_here(head)
        if head.path.partition("?")[0] != "/mcp":
            raise Refused(404, "there is nothing here: the endpoint is /mcp")
        owner = tokens.which(self.tokens, head.headers.get("Authorization"))
        if owner is None:
            raise Refused(401, "Authorization must be Bearer and a token of --token-file",
                          **{"WWW-Authenticate": 'Bearer realm="stepjail"'})
        if head.command not in ("POST", "DELETE"):
            raise Refused(405, "the endpoint takes POST and DELETE, and sends nothing that was not asked for",
                          Allow="POST, DELETE")
        return owner

    async def post(self, connection, head, owner, body):
        if head.headers.get_content_type() != "application/json":
            raise Refused(415, "Content-Type must be application/json")
        if not head.accepts("application/json") and not head.accepts("text/event-stream"):
            raise Refused(406, "Accept must have application/json and text/event-stream")
        message, modern, headers = {}, None, {}
        exchange = Exchange(connection, head)
        try:
            message = await apart(parsed, body, "request")
            modern = is_modern(head, message)
            client, headers = self.client(head, message, owner, modern)
            try:
                await self.exchange(connection, exchange, client, message, modern)
            finally:
                if modern:
                    await client.close()
            if headers and "error" in (exchange.final or {}):
                await self.forget(headers.popitem()[1])
        except Problem as problem:
            exchange.final, exchange.status = failure(message.get("id"), problem), problem.status
        if exchange.final and "error" in exchange.final:
            if exchange.final["id"] is None:
                del exchange.final["id"]
            if modern is False and exchange.final["error"]["code"] not in (PARSE, INVALID):
                exchange.status = 200  # 404 would say that the session has ended
        await exchange.finish(headers)

    async def exchange(self, connection, exchange, client, message, modern):
        task = client.begin(message, exchange.send)
        if not task:
            return
        watched = {task, asyncio.create_task(connection.gone())} if modern else {task}
        try:
            while not (await asyncio.wait(watched, timeout=KEEPALIVE, return_when=asyncio.FIRST_COMPLETED))[0]:
                if exchange.streams:
                    await exchange.event(b":")
        finally:
            if modern and not task.done():  # the client has gone, or the server ends
                connection.keep = exchange.streams = False
                cancel_once(task)
            for other in watched - {task}:
                other.cancel()
            await asyncio.gather(*(watched - {task}), return_exceptions=True)

    def client(self, head, message, owner, modern):
        """Whom the request is of, and headers of its answer."""
        if modern:
            if owner not in self.shared:
                self.shared[owner] = Sessions(self.server)
            return Client(self.server, self.shared[owner]), {}
        if message.get("method") == "initialize" and "id" in message:
            self.make_room(owner)
            session = secrets.token_urlsafe(24)
            self.legacy[session] = Legacy(self.server, owner)
            return self.legacy[session].client, {"Mcp-Session-Id": session}
        session = self.session(head, owner)
        session.used = time.monotonic()
        if len(session.client.tasks) >= REQUESTS_MAX:
            raise Refused(429, f"a session has at most {REQUESTS_MAX} requests at once", **{"Retry-After": "1"})
        return session.client, {}

    # sessions of the older era

    def session(self, head, owner):
        if "Mcp-Session-Id" not in head.headers:
            raise Refused(400, "Mcp-Session-Id is missing: initialize gives it; or MCP-Protocol-Version "
                          f"{MODERN}, which needs none")
        session = self.legacy.get(head.header("Mcp-Session-Id"))
        if not session or session.owner != owner:
            raise Refused(404, "there is no such Mcp-Session-Id: it has ended, or was idle for longer than "
                          f"{self.server.options.idle} s; initialize again")
        return session

    def make_room(self, owner):
        mine = {name: one for name, one in self.legacy.items() if one.owner == owner}
        if len(mine) < SESSIONS_MAX:
            return
        idle = [(one.used, name) for name, one in mine.items() if one.idle()]
        if not idle:
            raise Refused(503, f"a client has at most {SESSIONS_MAX} sessions with initialize, and all have jails: "
                          "DELETE one", **{"Retry-After": "60"})
        self.forget(min(idle)[1])

    def forget(self, name):
        return asyncio.create_task(self.legacy.pop(name).client.close())

    async def delete(self, connection, head, owner):
        self.session(head, owner)
        await self.forget(head.header("Mcp-Session-Id"))
        await connection.answer(204, None)

    def expire(self):
        late = time.monotonic() - self.server.options.idle
        for name in [name for name, one in self.legacy.items() if one.idle() and one.used < late]:
            self.forget(name)


def is_modern(head, message):
    """Whether a message is of the era where headers say what it is; they are compared with it."""
    version = head.header("MCP-Protocol-Version") or None
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    inside = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
    if inside is not None and inside != version:
        raise Problem(BAD_HEADER, f"the header MCP-Protocol-Version is {version!r}, and _meta has {inside!r}")
    if version is None or version in LEGACY:
        return False
    if inside is None and version == MODERN and "id" in message:
        raise Problem(BAD_PARAMS, f"_meta has no {META}protocolVersion", status=400)
    if inside is None and version != MODERN:
        raise Problem(BAD_VERSION, "this protocol version is not supported",
                      {"supported": [MODERN, *LEGACY], "requested": version})
    if "id" in message and "method" in message and inside == MODERN:
        check_mirrored(head, message, params)
    return True


def check_mirrored(head, message, params):
    said = {"Mcp-Method": message["method"]}
    if message["method"] in NAMED and isinstance(params.get(NAMED[message["method"]]), str):
        said["Mcp-Name"] = params[NAMED[message["method"]]]
    for name, value in said.items():
        got = head.header(name) if name in head.headers else None
        if name == "Mcp-Name" and got and got.startswith("=?base64?") and got.endswith("?="):
            try:
                got = base64.b64decode(got[9:-2], validate=True).decode()
            except (binascii.Error, ValueError):
                got = None
        if got != value:
            raise Problem(BAD_HEADER, f"the header {name} is {got!r}, and the message has {value!r}")
