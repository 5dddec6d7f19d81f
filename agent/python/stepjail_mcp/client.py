# SPDX-License-Identifier: MIT
"""client.py - one client: its messages, its sessions; both eras of the protocol"""
import asyncio
import contextlib
import json
import secrets
import time
import traceback

import stepjail
from stepjail_mcp import VERSION
from stepjail_mcp.tools import TOOLS, Held, ToolProblem, checked

MODERN = "2026-07-28"
LEGACY = "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"
META = "io.modelcontextprotocol/"
REQUESTS_MAX = 64  # of one client at once; further ones wait in its pipe
PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL, BAD_VERSION = -32700, -32600, -32601, -32602, -32603, -32022
ME = {"name": "stepjail", "title": "Stepjail", "version": VERSION}
INSTRUCTIONS = (
    "Runs Python in jails. Variables stay from step to step of a session. A step that dies, hangs or runs out of "
    "memory is rolled back and costs no variable. The working folder is /work; there is no network, and no other "
    "program can be executed.")


class Problem(Exception):
    """A JSON-RPC error."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.data = code, data


class Client:
    def __init__(self, server, send):
        self.server, self.send = server, send
        self.handles, self.opening = {}, 0
        self.asked, self.tasks = {}, set()  # requests by their ids, until they are answered; all tasks

    # sessions

    @contextlib.contextmanager
    def room(self):
        """For one handle more, which is made within."""
        if len(self.handles) + self.opening >= self.server.options.sessions:
            raise ToolProblem(f"{self.server.options.sessions} sessions and branches are open, and no more are "
                              "allowed (--sessions): close one")
        self.opening += 1
        try:
            yield
        finally:
            self.opening -= 1

    def hold(self, session, branch):
        handle = secrets.token_urlsafe(16)
        self.handles[handle] = Held(session, branch)
        return handle

    async def open(self):
        with self.room():
            session = await self.server.jails.session()
            session.handle = self.hold(session, session)
            return session.handle

    def held(self, handle):
        held = self.handles.get(handle)
        if not held:
            raise ToolProblem("there is no such session: it has ended, or was idle for longer than "
                              f"{self.server.options.idle} s; open another")
        held.used = time.monotonic()
        return held

    async def close_handle(self, handle):
        held = self.held(handle)
        others = [one for one in self.handles.values() if one.session is held.session and one is not held]
        if others and held.branch is held.session:
            raise ToolProblem("it has branches that are open: close those first")
        del self.handles[handle]
        await (held.branch.drop() if others else held.session.close())

    async def expire(self):
        late = time.monotonic() - self.server.options.idle
        for handle, held in sorted(self.handles.items(), key=lambda one: one[1].branch is one[1].session):
            if held.used < late and not held.lock.locked():
                with contextlib.suppress(ToolProblem, stepjail.Error):
                    await self.close_handle(handle)

    @contextlib.asynccontextmanager
    async def telling(self, token, last):
        """Progress, a line a second, to a client that has asked for it."""
        async def tell():
            begin = time.monotonic()
            while True:
                await asyncio.sleep(1)
                await self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": token, "progress": round(time.monotonic() - begin, 1),
                    "message": last["line"] or "the step runs"}})
        teller = asyncio.create_task(tell()) if token is not None else None
        try:
            yield
        finally:
            if teller:
                teller.cancel()

    # messages

    async def take(self, line):
        """One line of the client's."""
        number = None
        try:
            message = parsed(line)
            number = message.get("id")
            if "method" not in message:
                return  # an answer, and nothing was asked
            method = METHODS.get(message["method"])
            if number is None:
                if message["method"] == "notifications/cancelled":
                    self.cancel(message)
                return
            if number in self.asked:
                raise Problem(INVALID, f"a request with id {number!r} is not answered yet")
            if not method:
                raise Problem(NO_METHOD, f"there is no method {message['method']!r}")
            while len(self.tasks) >= REQUESTS_MAX:
                await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
            task = self.asked[number] = asyncio.create_task(self.answer(number, method, message))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            # cancelled before it began, it has not done so itself
            task.add_done_callback(lambda task: self.asked.get(number) is task and self.asked.pop(number))
        except Problem as problem:
            await self.send(failure(number, problem))

    def cancel(self, message):
        params = message.get("params")
        number = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(number, (str, int)) and number in self.asked:
            self.asked[number].cancel()

    async def answer(self, number, method, message):
        try:
            said = {"jsonrpc": "2.0", "id": number, "result": await self.result(method, message)}
        except Problem as problem:
            said = failure(number, problem)
        except asyncio.CancelledError:
            said = None  # who cancels wants no answer
        except Exception as problem:  # a mistake of ours: the others go on
            traceback.print_exc()
            said = failure(number, Problem(INTERNAL, f"{type(problem).__name__}: {problem}"))
        del self.asked[number]
        if said:
            await self.send(said)

    async def result(self, method, message):
        params = message.get("params", {})
        if not isinstance(params, dict):
            raise Problem(BAD_PARAMS, "params is no object")
        modern = era(params, message["method"])
        result = await method(self, params)
        if modern:
            result = {**result, "resultType": "complete", "_meta": {META + "serverInfo": ME}}
            if message["method"] in ("tools/list", "server/discover"):
                result.update(ttlMs=3600000, cacheScope="public")
        return result

    async def close(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for session in {held.session for held in self.handles.values()}:
            with contextlib.suppress(stepjail.Error):
                await session.close()
        self.handles.clear()


def parsed(line):
    """A message: an object with an id that may be one. Numbers are finite, nesting is not deep."""
    try:
        message = json.loads(line, parse_constant=lambda word: float("x"))
    except (ValueError, RecursionError):
        raise Problem(PARSE, "this line is no JSON") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or \
            not isinstance(message.get("method", ""), str):
        raise Problem(INVALID, "a message is one JSON-RPC 2.0 object a line")
    if isinstance(message.get("id", 0), bool) or not isinstance(message.get("id", 0), (str, int)):
        message["id"] = None
        raise Problem(INVALID, "id is a string or a whole number")
    return message


def failure(number, problem):
    error = {"code": problem.code, "message": str(problem)}
    if problem.data is not None:
        error["data"] = problem.data
    return {"jsonrpc": "2.0", "id": number, "error": error}


def era(params, method):
    """Whether a request is of the modern era, where each says the version that it is of."""
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise Problem(BAD_PARAMS, "_meta is no object")
    version = meta.get(META + "protocolVersion")
    if version is None:
        if method == "server/discover":
            raise Problem(BAD_PARAMS, f"_meta has no {META}protocolVersion")
        return False
    if version != MODERN:
        raise Problem(BAD_VERSION, "this protocol version is not supported",
                      {"supported": [MODERN, *LEGACY], "requested": version if isinstance(version, str) else ""})
    if not isinstance(meta.get(META + "clientCapabilities"), dict):
        raise Problem(BAD_PARAMS, f"_meta has no {META}clientCapabilities")
    if method in ("initialize", "ping"):
        raise Problem(NO_METHOD, f"there is no method {method!r} in protocol version {MODERN}")
    return True


async def initialize(client, params):
    wanted = params.get("protocolVersion")
    return {"protocolVersion": wanted if wanted in LEGACY else LEGACY[0], "capabilities": {"tools": {}},
            "serverInfo": ME, "instructions": INSTRUCTIONS}


async def discover(client, params):
    return {"supportedVersions": [MODERN, *LEGACY], "capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}


async def ping(client, params):
    return {}


async def tools_list(client, params):
    return {"tools": [{"name": name, "description": words, "inputSchema": takes, "outputSchema": gives}
                      for name, (_, words, takes, gives) in TOOLS.items()]}


async def tools_call(client, params):
    name = params.get("name")
    if not isinstance(name, str) or name not in TOOLS:
        raise Problem(BAD_PARAMS, f"there is no tool {name!r}")
    function, _, takes, _ = TOOLS[name]
    try:
        arguments = checked(params.get("arguments", {}), takes)
        if name == "python":
            arguments["progress"] = token(params)
        return await function(client, **arguments)
    except (ToolProblem, stepjail.Error) as problem:
        return {"content": [{"type": "text", "text": f"{name}: {problem}"}], "isError": True}


def token(params):
    meta = params.get("_meta", {})
    found = meta.get("progressToken")
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


METHODS = {"initialize": initialize, "server/discover": discover, "ping": ping, "tools/list": tools_list,
           "tools/call": tools_call}
