# SPDX-License-Identifier: MIT
"""server.py - requests of E2B's SDKs: whose they are, and who answers them

Theory of operation
    One address serves all that the SDKs know as two kinds: the service, by an API key (X-API-Key), and each
    sandbox, by the token that came with it (X-Access-Token, or E2B-Traffic-Access-Token) and its number in
    E2b-Sandbox-Id. Clients that know no other address than names below a domain (--e2b-domain) have the number in
    their Host: api.DOMAIN is the service, 49999-NUMBER.DOMAIN a sandbox. Whom a request is of is known from its
    head, before its body is read. A sandbox that is gone is 502: by that the SDKs know that it has ended.

    What is refused is said in the form that the SDKs show to their users: JSON, Connect's errors, or, for code
    and contexts, the reason of HTTP's status line.
"""
import asyncio
import re

import stepjail
from stepjail_e2b import api, connect, execute, files, filesystem, process
from stepjail_e2b.request import Request
from stepjail_e2b.sandboxes import Sandboxes
from stepjail_mcp import tokens
from stepjail_mcp.http_connection import Refused, packed
from stepjail_mcp.http_listener import Listener


async def health(request, sandbox):
    await request.answer(204)


OF_SANDBOXES = (
    ("GET", "/health", health),
    *execute.ROUTES,
    *files.ROUTES,
    *connect.routes("filesystem.Filesystem", filesystem.CALLS),
    *connect.routes("process.Process", process.CALLS),
)


def route(routes, request):
    """Who answers a request, and the parts of its path."""
    allowed = []
    for methods, path, handler in routes:
        found = re.fullmatch(path, request.path)
        if found and re.fullmatch(methods, request.method):
            return handler, found.groups()
        if found:
            allowed.append(methods)
    if allowed:
        raise Refused(405, f"{request.path[:80]} takes {', '.join(allowed)}", Allow=", ".join(allowed))
    return None, ()


PORTS = "49983", "49999"  # of a sandbox: for files and programs; for code


class E2bServer(Listener):
    def __init__(self, server, words, domain):
        """@words: API keys, see tokens.py; @domain: a name, and perhaps a port, that sandboxes are told to be below"""
        super().__init__()
        self.server, self.keys, self.domain = server, words, domain
        name = re.escape(domain.partition(":")[0])
        self.hosts = re.compile(r"(?:api|(?P<port>[0-9]{1,5})-(?P<number>[a-z0-9]{1,60}))\."
                                rf"{name}(?::[0-9]{{1,5}})?")
        self.mine, self.everyone = {}, {}  # Sandboxes by their keys' numbers; each sandbox by its own

    def expire(self):
        pass

    async def close(self):
        await asyncio.gather(*(mine.close() for mine in self.mine.values()))

    def of_key(self, owner):
        if owner not in self.mine:
            self.mine[owner] = Sandboxes(self.server, self.everyone, self.domain)
        return self.mine[owner]

    def names(self, host):
        return self.hosts.fullmatch(host)

    async def request(self, connection, head):
        connection.path = head.path
        self.from_here(head)
        try:
            request = Request(connection, head)
        except (UnicodeDecodeError, ValueError):
            raise Refused(400, "the path or its query is no UTF-8, or has more than 64 parts") from None
        place = self.names(head.header("Host").lower())
        request.number = place and place["number"]
        if request.number and place["port"] not in PORTS:
            raise Refused(404, f"a sandbox has nothing at port {place['port']}: no program in it can be reached")
        handler, parts = route(OF_SANDBOXES, request) if request.number or not place else (None, ())
        if handler:
            subject = self.sandbox(request)
            request.owner = subject.owner
            request.mine = self.of_key(subject.owner)
        else:
            handler, parts = route(api.ROUTES, request) if not request.number else (None, ())
            if not handler:
                raise Refused(404, f"there is nothing at {request.path[:80]}")
            request.owner = tokens.number_of(self.keys, head.header("X-API-Key"))
            if request.owner is None:
                raise Refused(401, "X-API-Key must be a key of --token-file: set E2B_API_KEY")
            subject = request.mine = self.of_key(request.owner)
        with self.one_more(request.owner, connection) as take:
            await request.read(take)
            try:
                await handler(request, subject, *parts)
            except stepjail.Error as problem:
                await self.failed(request, subject, problem)

    def sandbox(self, request):
        """Of a request's head, which must have the sandbox's token."""
        head = request.head
        number = head.header("E2b-Sandbox-Id") or request.number
        if request.number and number != request.number:
            raise Refused(400, "E2b-Sandbox-Id is another sandbox than Host names")
        sandbox = self.everyone.get(number)
        if "signature" in request.query and request.path == "/files":
            return files.signed(request, [sandbox] if sandbox else [] if number else self.everyone.values())
        if not number:
            raise Refused(400, "E2b-Sandbox-Id is missing, and Host names no sandbox")
        if not sandbox:
            raise Refused(502, f"there is no sandbox {number[:80]!r}: it has ended")
        if not sandbox.knows(head.header("X-Access-Token"), head.header("E2B-Traffic-Access-Token")):
            raise Refused(401, "X-Access-Token must be the one that came with the sandbox")
        return sandbox

    async def failed(self, request, subject, problem):
        if isinstance(problem, stepjail.Refused):
            raise Refused(*{"limit": (429, str(problem)), "file": (400, str(problem))}.get(
                problem.kind, (409, str(problem)))) from None
        if subject is not request.mine:
            await request.mine.failed(subject, problem)
            raise Refused(502, f"the sandbox has ended: {problem}") from None
        raise Refused(500, str(problem)) from None

    async def refuse(self, connection, refused):
        """In the form that who asked shows to its user."""
        path, why = getattr(connection, "path", ""), str(refused)
        kind, data, phrase = "application/json", packed({"code": refused.status, "message": why}), None
        if path.startswith(("/execute", "/contexts")):
            kind, data, phrase = "text/plain; charset=utf-8", why.encode(), re.sub("[^ -~]", "?", why)
        elif path.startswith(("/filesystem.", "/process.")):
            data = packed(connect.error(refused.status, why))
        await connection.write(connection.head_of(refused.status, {
            "Content-Type": kind, "Content-Length": len(data), **refused.headers}, phrase) + data)
