# SPDX-License-Identifier: MIT
"""tools.py - what a model can call: a row of TOOLS each"""
import asyncio
import base64
import contextlib
import functools
import json
import time

import stepjail
from stepjail_mcp import names
from stepjail_mcp.record import NotWritten
from stepjail_mcp.sessions import ToolProblem

FILE_MAX = 8 << 20  # bytes that get_file hands out


class Call:
    """One call of a tool: whose sessions it is about, and who hears of its progress."""

    def __init__(self, sessions, meta, send, who):
        token = meta.get("progressToken")
        self.sessions, self.meta, self.send, self.who = sessions, meta, send, who
        self.token = token if isinstance(token, (str, int)) and not isinstance(token, bool) else None

    async def progress(self, done, **words):
        """Told to a client that has asked for it."""
        if self.token is not None:
            await self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": self.token, "progress": done, **words}})

    @contextlib.asynccontextmanager
    async def telling(self, last):
        """Progress, a line a second."""
        async def tell():
            begin = time.monotonic()
            while True:
                await asyncio.sleep(1)
                await self.progress(round(time.monotonic() - begin, 1), message=last["line"] or "the step runs")
        teller = asyncio.create_task(tell()) if self.token is not None else None
        try:
            yield
        finally:
            if teller:
                teller.cancel()


def outcome(result):
    """What a model should know of a step's end that is not a good one, in a line or nothing."""
    lines = []
    if result.verdict in ("signaled", "wall-timeout", "cpu-timeout", "memory", "pids", "disk", "file-locks",
                          "violation"):
        words = {"signaled": f"its process was ended by signal {result.signal}",
                 "wall-timeout": "it took longer than its time limit", "cpu-timeout": "it used up its CPU time",
                 "memory": "it used more memory than the jail may have"}
        lines.append(f"[the step did not come to its end: {words.get(result.verdict, result.verdict)}]")
    if result.verdict == "exited":
        lines.append(f"[the step called exit with status {result.exit_code}]")
    if result.state == "rolled-back":
        lines.append("[all variables are as they were before this step; files stay as the step left them]")
    if result.state == "lost":
        lines.append(f"[the session's variables are lost: {result.reason}]")
    names = sorted({v["syscall"] for v in result.violations})
    if names:
        lines.append(f"[refused: {', '.join(names)}: the jail allows no such system call]")
    return "\n".join(lines)


def settled(text):
    """What was printed, without what a terminal would have written over: in each line what stands before its last
    return, and what backspaces take back. How much that was is said."""
    if "\r" not in text and "\b" not in text:
        return text
    lines = []
    for line in text.split("\n"):
        body = line.rstrip("\r")
        kept = []
        for char in body[body.rfind("\r") + 1:]:
            if char != "\b":
                kept.append(char)
            elif kept:
                kept.pop()
        lines.append("".join(kept) + line[len(body):])
    shown = "\n".join(lines)
    note = f"[{len(text) - len(shown)} characters that a terminal would have written over are not shown]"
    return shown if shown == text else shown + "\n" * (shown[-1:] not in ("", "\n")) + note + "\n"


def contents(result):
    parts = [settled(result.stdout), settled(result.stderr), result.text if result.text != "None" else "", result.error,
             outcome(result)]
    found = [{"type": "text", "text": "\n".join(part.rstrip("\n") for part in parts if part)}]
    for shown in result.shown:
        if shown.kind == "png" and shown.data:
            found.append({"type": "image", "mimeType": "image/png",
                          "data": base64.b64encode(shown.data).decode()})
        elif shown.kind == "text" and shown.source == "display":
            found.append({"type": "text", "text": shown.data.decode("utf-8", "replace")})
    return found


async def tool_python(call, code, session=None, timeout=None):
    handle = session or await call.sessions.open(call.who)
    try:
        return await run_step(call, handle, code, timeout, told=session is not None)
    except asyncio.CancelledError:
        if session is None:  # nobody will ever know this handle
            await call.sessions.close_handle(handle)
        raise


async def run_step(call, handle, code, timeout, told):
    held = call.sessions.held(handle)
    last = {"line": ""}

    def heard(_, data):
        lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
        last["line"] = lines[-1][:200] if lines else last["line"]

    record = held.session.record
    async with held.lock, call.telling(last):
        try:
            result = await record.run(held.branch, code, timeout, heard)
        except NotWritten as problem:
            if record.failed:
                await call.sessions.give_up(held.session, str(problem))
            raise
    structured = {"session": handle, "verdict": result.verdict, "state": result.state,
                  "state_number": result.state_number, "stdout": result.stdout, "stderr": result.stderr,
                  "result": result.text, "error": result.error, "exit_code": result.exit_code,
                  "signal": result.signal, "refused": sorted({v["syscall"] for v in result.violations}),
                  "wall_ms": result.report["wall_ms"], "memory_peak_bytes": result.report["memory_peak_bytes"]}
    texts = contents(result)
    if not told:
        texts.append({"type": "text", "text": f"[session: {handle}]"})
    good = result.ok or (result.verdict == "exited" and result.exit_code == 0)
    return {"content": texts, "structuredContent": structured, "isError": not good}


def unbroken(function):
    """Done and recorded as a whole, whether or not the client waits for it."""
    @functools.wraps(function)
    async def tool(*arguments, **options):
        return await asyncio.shield(asyncio.create_task(function(*arguments, **options)))
    return tool


def said(**members):
    return {"content": [{"type": "text", "text": json.dumps(members, ensure_ascii=False)}],
            "structuredContent": members, "isError": False}


async def tool_open(call):
    return said(session=await call.sessions.open(call.who))


@unbroken
async def tool_close(call, session):
    await call.sessions.close_handle(session)
    return said(closed=session)


async def tool_list(call):
    now = time.monotonic()
    return said(sessions=[{"session": handle, "idle_seconds": int(now - held.used),
                           "busy": held.lock.locked(), "branch_of": held.session.handle}
                          for handle, held in call.sessions.handles.items()])


@unbroken
async def tool_rollback(call, session, state=None):
    held = call.sessions.held(session)
    async with held.lock:
        await held.branch.rollback(state)
        state = await held.branch.state()
        await held.session.record.command("rollback", held.branch.number, state)
        return said(session=session, state=state)


async def tool_branch(call, session, state=None):
    return said(session=await call.sessions.branch(session, state), branch_of=session)


async def place_of(session, path):
    """Where a session has a file: relative to /work, or below it by one of the names that code has for that."""
    if path.startswith("/") and not path.startswith(("/work/", "/home/user/")) and path not in ("/work", "/home/user"):
        raise ToolProblem(f"{path[:200]} is not below /work, where a session's files are")
    return await names.found(session, path)


@unbroken
async def tool_put(call, session, path, text=None, base64_data=None):
    if (text is None) == (base64_data is None):
        raise ToolProblem("give text or base64, one of them")
    try:
        data = text.encode() if base64_data is None else base64.b64decode(base64_data, validate=True)
    except ValueError as problem:
        raise ToolProblem(f"{'base64' if text is None else 'text'}: {problem}") from None
    held = call.sessions.held(session)
    place = await place_of(held.session, path)
    await held.session.put(place, data)
    await held.session.record.put(place, data)
    return said(path=path, bytes=len(data))


async def tool_get(call, session, path):
    held = call.sessions.held(session).session
    try:
        data = await held.get(await place_of(held, path), limit=FILE_MAX)
    except stepjail.Refused as problem:
        if "File too large" in str(problem):
            raise ToolProblem(f"{path} has more than {FILE_MAX} bytes, and no more can be handed out: read a part of it "
                              "with python") from None
        raise
    try:
        return said(path=path, text=data.decode())
    except UnicodeDecodeError:
        done = said(path=path, base64=base64.b64encode(data).decode())
        if data.startswith(b"\x89PNG\r\n"):
            done["content"] = [{"type": "image", "mimeType": "image/png",
                                "data": done["structuredContent"]["base64"]}]
        return done


async def tool_files(call, session, path="."):
    held = call.sessions.held(session).session
    entries = await held.list(await place_of(held, path))
    return said(files=[{"name": names.told(e.name), "kind": {"-": "file", "d": "folder", "l": "link"}.get(e.kind, "other"),
                        "bytes": e.size} for e in entries])


def schema(required, **members):
    return {"type": "object", "properties": members, "required": required, "additionalProperties": False}


STRING, WHOLE = {"type": "string"}, {"type": "integer"}
SESSION = {"type": "string", "description": "a session's handle"}
STATE = {"type": "integer", "minimum": 0, "maximum": 2 ** 32 - 1, "description": "a state_number that python has told"}
PATH = {"type": "string", "description": "below /work, such as data/a.csv or /work/data/a.csv"}
MAYBE = {"type": ["string", "null"]}
# name: function, description, input, output
TOOLS = {
    "python": (tool_python, "Run Python in a session and see its output, the value of the last expression, and "
               "figures of matplotlib. Variables stay for the session's next call. Without session a new one is "
               "opened, whose handle is in the answer.",
               schema(["code"], code=STRING, session=SESSION, timeout={
                   "type": "number", "minimum": 0.001, "maximum": 10 ** 9, "description": "seconds for this step"}),
               schema(["session", "verdict", "state"], session=STRING, verdict=STRING, state=STRING,
                      state_number={"type": ["integer", "null"]}, stdout=STRING, stderr=STRING, result=MAYBE, error=MAYBE,
                      exit_code={"type": ["integer", "null"]}, signal={"type": ["integer", "null"]},
                      refused={"type": "array", "items": STRING}, wall_ms={"type": ["number", "null"]},
                      memory_peak_bytes={"type": ["number", "null"]})),
    "open_session": (tool_open, "Open a session: a jail of its own, with variables and files of its own.",
                     schema([]), schema(["session"], session=STRING)),
    "close_session": (tool_close, "End a session, or forget a branch.", schema(["session"], session=SESSION),
                      schema(["closed"], closed=STRING)),
    "list_sessions": (tool_list, "List the open sessions and branches.", schema([]),
                      schema(["sessions"], sessions={"type": "array", "items": {"type": "object"}})),
    "rollback": (tool_rollback, "Bring a session's variables back to a state, or to the one before its last step. "
                 "Files do not go back.", schema(["session"], session=SESSION, state=STATE),
                 schema(["session", "state"], session=STRING, state=WHOLE)),
    "branch": (tool_branch, "A second way on from a session's state: another handle with the same variables and "
               "files, whose later variables are its own.", schema(["session"], session=SESSION, state=STATE),
               schema(["session", "branch_of"], session=STRING, branch_of=STRING)),
    "put_file": (tool_put, "Write a file for a session's code.",
                 schema(["session", "path"], session=SESSION, path=PATH, text=STRING, base64=STRING),
                 schema(["path", "bytes"], path=STRING, bytes=WHOLE)),
    "get_file": (tool_get, "Read a file that a session's code has written.",
                 schema(["session", "path"], session=SESSION, path=PATH),
                 schema(["path"], path=STRING, text=STRING, base64=STRING)),
    "list_files": (tool_files, "List a folder of a session.", schema(["session"], session=SESSION, path=PATH),
                   schema(["files"], files={"type": "array", "items": {"type": "object"}})),
}
TYPES = {"string": str, "integer": int, "number": (int, float)}


def checked(arguments, accepted):
    """Arguments by a tool's input schema, as the function takes them."""
    if not isinstance(arguments, dict):
        raise ToolProblem("arguments is no object")
    for name in accepted["required"]:
        if name not in arguments:
            raise ToolProblem(f"{name} is missing")
    for name, value in arguments.items():
        kind = accepted["properties"].get(name)
        if kind is None:
            raise ToolProblem(f"there is no argument {name!r}; there are: {', '.join(accepted['properties']) or 'none'}")
        if isinstance(value, bool) or not isinstance(value, TYPES[kind["type"]]):
            raise ToolProblem(f"{name} is not of type {kind['type']}")
        try:
            str(value).encode()
        except UnicodeEncodeError:
            raise ToolProblem(f"{name} has half of a surrogate pair, which is no character") from None
        if "minimum" in kind and not kind["minimum"] <= value <= kind["maximum"]:
            raise ToolProblem(f"{name} must be a number from {kind['minimum']} to {kind['maximum']}, and is {value}")
    return {"base64_data" if name == "base64" else name: value for name, value in arguments.items()}
