# SPDX-License-Identifier: MIT
"""execute.py - code in a sandbox's contexts: /execute, whose answer is a line of JSON each, and /contexts"""
import base64
import codecs
import contextlib
import time
import traceback

import stepjail
from stepjail_e2b.files import inside
from stepjail_e2b.request import Stream, member, packed, texts
from stepjail_mcp import strict_json
from stepjail_mcp.http_connection import Refused
from stepjail_mcp.tools import outcome

NAMES = {"exited": "SystemExit", "wall-timeout": "TimeoutError", "cpu-timeout": "TimeoutError",
         "memory": "MemoryError", "cancelled": "KeyboardInterrupt"}
LANGUAGES = None, "", "python", "python3"


def python_only(body):
    language = member(body, "language", str)
    if language not in LANGUAGES:
        raise Refused(400, f"a jail runs Python, and no {language[:40]!r}")


def error_of(result, raised):
    """Name, value and traceback of a step that came to no good end; None of one that did. @raised: an exception's
    name and words, as they were told apart from the traceback, or None."""
    if result.verdict == "exited":
        code = str(result.exit_code)
        return {"name": "SystemExit", "value": code, "traceback": f"SystemExit: {code}\n{outcome(result)}"}
    if result.error:
        name, value = raised or ("Exception", result.error.rstrip("\n").rpartition("\n")[2])
        return {"name": name, "value": value, "traceback": result.error}
    if result.ok:
        return None
    said = outcome(result)
    return {"name": NAMES.get(result.verdict, "ProcessDied"), "value": said, "traceback": said}


def shown(one):
    if one.kind == "png":
        return base64.b64encode(one.data).decode()
    if one.kind == "json":  # numbers that are not finite become strings; what is no JSON for everybody is text
        with contextlib.suppress(strict_json.Bad):
            return strict_json.parse(one.data, number=str)
    return one.data.decode("utf-8", "replace")


def results(result):
    """Objects that a step showed, and the value of its last expression, in order."""
    found = {}
    for one in result.shown:
        forms = found.setdefault(one.object, {"type": "result", "is_main_result": one.source == "result"})
        if one.data:
            forms[one.kind] = shown(one)
    said = list(found.values())
    if result.text is not None and result.text != "None":
        main = next((forms for forms in said if forms["is_main_result"]), None)
        if main is None:
            said.append(main := {"type": "result", "is_main_result": True})
        main["text"] = result.text
    return [forms for forms in said if len(forms) > 2]


def notes(result):
    """What a reader of the output should know, in lines."""
    lines = [f"[{one.kind} of {one.size} bytes was left out: --media-limit]" for one in result.shown if one.left_out]
    if result.violations and (result.ok or result.error):
        lines.append(outcome(result))
    return "".join(f"{line}\n" for line in lines if line)


class Said:
    """What a step says, as lines of JSON."""

    def __init__(self, tell):
        self.tell = tell
        self.decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}

    def line(self, **members):
        self.tell(packed(members) + b"\n")

    def heard(self, name, data):
        self.text(name, self.decoders[name].decode(data))

    def text(self, name, text):
        if text:
            self.line(type=name, text=text, timestamp=time.time_ns())

    def ended(self, result, raised):
        output = result.report["output"]
        for name, decoder in self.decoders.items():
            cut = output[name + "_cut"]
            self.text(name, decoder.decode(b"", True) +
                      (f"\n[{cut} bytes left out]\n{output[name + '_tail']}" if cut else ""))
        self.text("stderr", notes(result))
        for forms in results(result):
            self.line(**forms)
        error = error_of(result, raised)
        if error:
            self.line(type="error", **error)

    def failed(self, problem):
        self.line(type="error", name=type(problem).__name__, value=str(problem), traceback=str(problem))


async def execute(request, sandbox):
    body = await request.json()
    python_only(body)
    code, envs = member(body, "code", str), texts(body, "env_vars")
    if code is None:
        raise Refused(400, "code is missing")
    context = sandbox.context(member(body, "context_id", str))
    stream = Stream(request, "application/x-ndjson", b'{"type": "keepalive"}\n')
    said = Said(stream.tell)

    async def step():
        try:
            said.ended(*await sandbox.execute(context, code, envs, said.heard))
            said.line(type="number_of_executions", execution_count=context.executions)
        except stepjail.Error as problem:
            said.failed(problem)
            await request.mine.failed(sandbox, problem)
        except Exception as problem:  # a mistake of ours, within an answer that has begun
            traceback.print_exc()
            said.failed(problem)
        stream.broken = sandbox.number not in request.mine.handles

    await stream.serve(step())


async def create(request, sandbox):
    body = await request.json()
    python_only(body)
    context = await sandbox.add_context(inside(member(body, "cwd", str, "")))
    await request.answer(201, context.told())


async def listing(request, sandbox):
    await request.answer(200, [context.told() for context in sandbox.contexts.values()])


async def remove(request, sandbox, number):
    await sandbox.remove_context(sandbox.context(number))
    await request.answer(204)


async def restart(request, sandbox, number):
    await sandbox.restart(sandbox.context(number))
    await request.answer(200, sandbox.context(number).told())


ROUTES = (
    ("POST", "/execute", execute),
    ("POST", "/contexts", create),
    ("GET", "/contexts", listing),
    ("DELETE", "/contexts/([^/]+)", remove),
    ("POST", "/contexts/([^/]+)/restart", restart),
)
