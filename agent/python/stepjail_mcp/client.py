# SPDX-License-Identifier: MIT
"""client.py - one client: its messages, in both eras of the protocol"""
import asyncio
import traceback

import stepjail
from stepjail_mcp import VERSION, strict_json
from stepjail_mcp.sessions import Sessions, ToolProblem
from stepjail_mcp.tools import TOOLS, Call, checked

MODERN = "2026-07-28"
LEGACY = "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"
META = "io.modelcontextprotocol/"
GRACE = 3  # seconds that a step has to end by itself when its client has gone
REQUESTS_MAX = 64  # of one client at once; further ones wait in its pipe
PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
BAD_HEADER, BAD_VERSION = -32020, -32022
STATUS = {PARSE: 400, INVALID: 400, NO_METHOD: 404, BAD_HEADER: 400, BAD_VERSION: 400}  # of HTTP
ME = {"name": "stepjail", "title": "Stepjail", "version": VERSION}
INSTRUCTIONS = (
    "Runs Python in jails. Variables stay from step to step of a session. A step that dies, hangs or runs out of "
    "memory is rolled back and costs no variable. The working folder is /work; there is no network, and no other "
    "program can be executed.")


class Problem(Exception):
    """A JSON-RPC error; status is that of HTTP in the modern era."""

    def __init__(self, code, message, data=None, status=None):
        super().__init__(message)
        self.code, self.data, self.status = code, data, status or STATUS.get(code, 200)


class Client:
    """Sessions are its own, and end with it, or are shared with other clients."""

    def __init__(self, server, shared=None):
        self.server, self.shared = server, shared
        self.sessions = shared or Sessions(server)
        self.closing, self.who = False, None
        self.asked, self.tasks = {}, set()  # requests by their ids, until they are answered; all tasks

        server.clients.add(self)

    async def take(self, line, send):
        """One line of the client's; its answer is sent."""
        message = {}
        try:
            message = await strict_json.apart(parsed, line)
            while len(self.tasks) >= REQUESTS_MAX:
                await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
            self.begin(message, send)
        except Problem as problem:
            await send(failure(message.get("id"), problem))

    def begin(self, message, send):
        """The task that will send the answer; None where there will be none."""
        number = message.get("id")
        if "method" not in message or self.closing:
            return None  # an answer, and nothing was asked
        method = METHODS.get(message["method"])
        if number is None:
            if message["method"] == "notifications/cancelled":
                self.cancel(message)
            return None
        if number in self.asked:
            raise Problem(INVALID, f"a request with id {number!r} is not answered yet")
        if not method:
            raise Problem(NO_METHOD, f"there is no method {message['method']!r}")
        task = self.asked[number] = asyncio.create_task(self.answer(number, method, message, send))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        # cancelled before it began, it has not done so itself
        task.add_done_callback(lambda task: self.asked.get(number) is task and self.asked.pop(number))
        return task

    def cancel(self, message):
        params = message.get("params")
        number = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(number, (str, int)) and number in self.asked:
            cancel_once(self.asked[number])

    async def answer(self, number, method, message, send):
        status = 200
        try:
            said = {"jsonrpc": "2.0", "id": number, "result": await self.result(method, message, send)}
        except Problem as problem:
            said, status = failure(number, problem), problem.status
        except asyncio.CancelledError:
            said = None  # who cancels wants no answer
        except Exception as problem:  # a mistake of ours: the others go on
            traceback.print_exc()
            said = failure(number, Problem(INTERNAL, f"{type(problem).__name__}: {problem}"))
        del self.asked[number]
        if said:
            await send(said, status)

    async def result(self, method, message, send):
        params = message.get("params", {})
        if not isinstance(params, dict):
            raise Problem(BAD_PARAMS, "params is no object")
        modern = era(params, message["method"])
        result = await method(self, params, send)
        if modern:
            result = {**result, "resultType": "complete", "_meta": {META + "serverInfo": ME}}
            if message["method"] in ("tools/list", "server/discover"):
                result.update(ttlMs=3600000, cacheScope="public")
        return result

    async def close(self):
        self.closing = True
        for task in self.tasks:
            cancel_once(task)
        if not self.shared:
            if self.tasks:  # a step may catch its interrupt, but not the end of its session
                await asyncio.wait(self.tasks, timeout=GRACE)
            await self.sessions.close()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.server.clients.discard(self)


def cancel_once(task):
    """A task that is cancelled waits for the end of its step, and may not be torn away from that."""
    if not task.cancelling():
        task.cancel()


def parsed(line, unit="line"):
    """A message: an object with an id that may be one."""
    try:
        message = strict_json.parse(line, halves=True)
    except strict_json.Bad as problem:
        raise Problem(PARSE, f"this {unit} {problem}") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or \
            not isinstance(message.get("method", ""), str):
        raise Problem(INVALID, f"a message is one JSON-RPC 2.0 object a {unit}")
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
        raise Problem(BAD_PARAMS, "_meta is no object", status=400)
    version = meta.get(META + "protocolVersion")
    if version is None:
        if method == "server/discover":
            raise Problem(BAD_PARAMS, f"_meta has no {META}protocolVersion", status=400)
        return False
    if version != MODERN:
        raise Problem(BAD_VERSION, "this protocol version is not supported",
                      {"supported": [MODERN, *LEGACY], "requested": version if isinstance(version, str) else ""})
    if not isinstance(meta.get(META + "clientCapabilities"), dict):
        raise Problem(BAD_PARAMS, f"_meta has no {META}clientCapabilities", status=400)
    if method in ("initialize", "ping"):
        raise Problem(NO_METHOD, f"there is no method {method!r} in protocol version {MODERN}")
    return True


def calls_itself(info):
    """A client's name and version, as it says."""
    parts = [info.get(name) for name in ("name", "version")] if isinstance(info, dict) else []
    return " ".join(part for part in parts if isinstance(part, str))


async def initialize(client, params, send):
    wanted = params.get("protocolVersion")
    client.who = calls_itself(params.get("clientInfo"))
    return {"protocolVersion": wanted if wanted in LEGACY else LEGACY[0], "capabilities": {"tools": {}},
            "serverInfo": ME, "instructions": INSTRUCTIONS}


async def discover(client, params, send):
    return {"supportedVersions": [MODERN, *LEGACY], "capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}


async def ping(client, params, send):
    return {}


async def tools_list(client, params, send):
    return {"tools": [{"name": name, "description": words, "inputSchema": takes, "outputSchema": gives}
                      for name, (_, words, takes, gives) in TOOLS.items()]}


async def tools_call(client, params, send):
    name = params.get("name")
    if not isinstance(name, str) or name not in TOOLS:
        raise Problem(BAD_PARAMS, f"there is no tool {name!r}")
    function, _, takes, _ = TOOLS[name]
    try:
        meta = params.get("_meta", {})
        call = Call(client.sessions, meta, send, client.who or calls_itself(meta.get(META + "clientInfo")))
        return await function(call, **checked(params.get("arguments", {}), takes))
    except (ToolProblem, stepjail.Error) as problem:
        return {"content": [{"type": "text", "text": f"{name}: {problem}"}], "isError": True}


METHODS = {"initialize": initialize, "server/discover": discover, "ping": ping, "tools/list": tools_list,
           "tools/call": tools_call}
