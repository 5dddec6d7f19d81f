# SPDX-License-Identifier: MIT
"""process.py - programs in a sandbox: a step each on a branch of its own, where the jail lets programs be executed

A jail lets none (--lock-code), or its root tree has no shell: then each call says so. No program has a
terminal, nor a stdin that is written to: it is empty.
"""
import asyncio
import base64
import posixpath

import stepjail
from stepjail_e2b.connect import Failed, many, one
from stepjail_e2b.files import inside
from stepjail_e2b.request import member, texts
from stepjail_mcp.http_connection import Refused
from stepjail_mcp.sessions import whole

PROCESSES_MAX = 8  # of a sandbox at once
CLEAN = "import sys; sys.path[:] = [one for one in sys.path if one]; import os, subprocess\n"
PROBE = CLEAN + "subprocess.run(['/bin/bash', '-c', ':'], stdin=subprocess.DEVNULL).returncode"
RUN = CLEAN + "subprocess.run({words!r}, stdin=subprocess.DEVNULL, cwd={folder!r}, env=dict(os.environ, **{envs!r})" \
              ").returncode"
SIGNALS = {"SIGNAL_SIGTERM": "interrupt", 15: "interrupt", "SIGNAL_SIGKILL": "kill", 9: "kill"}


class Process:
    def __init__(self, number, branch, config, tag):
        self.number, self.branch, self.config, self.tag = number, branch, config, tag

    def told(self):
        return {"config": self.config, "pid": self.number, **({"tag": self.tag} if self.tag else {})}


async def why_none(sandbox):
    """Why no program can be run in this sandbox, or nothing."""
    if sandbox.runs_programs is None:
        result = await sandbox.aside(PROBE)
        last = (result.error or "").rstrip("\n").rpartition("\n")[2]
        sandbox.runs_programs = "" if result.text == "0" else (
            "the jail lets no other program be executed (--lock-code): run Python code" if "PermissionError" in last
            else "the jail's root tree has no /bin/bash (--rootfs, --bind), and with --lock-code it could not be "
                 "executed: run Python code" if "FileNotFoundError" in last
            else f"no program can be run in the jail: {last or result.verdict}")
    return sandbox.runs_programs


def config_of(body):
    config = member(body, "process", dict, {})
    words = [member(config, "cmd", str, ""), *member(config, "args", list, [])]
    envs = texts(config, "envs")
    if not words[0] or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise Refused(400, "process has no cmd, or args that are no strings")
    if any(not name or "=" in name or "\0" in name + value for name, value in envs.items()):
        raise Refused(400, "envs has a name or a value that no environment can have")
    return {"cmd": words[0], "args": words[1:], "envs": envs, "cwd": member(config, "cwd", str, "")}


def end(result):
    """How a program ended: of the step's value, which is its status."""
    if result.ok and (result.text or "").lstrip("-").isdigit():
        status = int(result.text[:12])
        said = f"exit status {status}" if status >= 0 else f"signal {-status}"
        return {"exitCode": status, "exited": status >= 0, "status": said, **({"error": said} if status else {})}
    ended = "it was ended from outside" if result.verdict == "cancelled" else f"its step ended with {result.verdict}"
    said = (result.error or "").rstrip("\n").rpartition("\n")[2] or ended
    return {"exitCode": -1, "exited": False, "status": said, "error": said}


async def start(request, sandbox, body, tell):
    if body.get("pty"):
        raise Failed(501, "a jail has no terminal: run commands without a pty")
    if member(body, "stdin", bool):
        raise Failed(501, "a program's stdin is empty, and cannot be written to")
    config = config_of(body)
    folder = posixpath.join("/work", inside(config["cwd"]))
    why = await why_none(sandbox)
    if why:
        raise Failed(412, why)
    if len(sandbox.processes) >= PROCESSES_MAX:
        raise Failed(429, f"a sandbox has at most {PROCESSES_MAX} programs at once")
    limit = request.head.header("Connect-Timeout-Ms")
    limit = int(limit) / 1000 if limit.isdecimal() and len(limit) < 10 and int(limit) else None
    sandbox.programs += 1
    process = sandbox.processes[sandbox.programs] = Process(sandbox.programs, None, config, member(body, "tag", str))
    try:
        process.branch = await whole(sandbox.session.branch(0), stepjail.AsyncBranch.drop)
        await sandbox.session.record.command("branch", process.branch.number, 0)
        tell({"event": {"start": {"pid": process.number}}})
        code = RUN.format(words=[config["cmd"], *config["args"]], folder=folder,
                          envs={**sandbox.envs, **config["envs"]})
        async with asyncio.timeout(limit):
            result = await sandbox.run(process.branch, code, lambda name, data: tell(
                {"event": {"data": {name: base64.b64encode(data).decode()}}}))
        if sandbox.number not in request.mine.handles:
            raise stepjail.Closed("the sandbox has ended")
        tell({"event": {"end": end(result)}})
    except TimeoutError:
        raise Failed(408, f"the program ran for longer than {limit:g} s") from None
    except stepjail.Error as problem:
        await request.mine.failed(sandbox, problem)
        raise Failed(409 if sandbox.number in request.mine.handles else 502, str(problem)) from None
    finally:
        del sandbox.processes[process.number]
        if process.branch:
            await forget(sandbox, process.branch)


async def forget(sandbox, branch):
    try:
        await asyncio.shield(asyncio.create_task(branch.drop()))
        await sandbox.session.record.command("drop", branch.number, 0)
    except stepjail.Error:
        pass


def process_of(sandbox, body):
    wanted = member(body, "process", dict, {})
    for process in sandbox.processes.values():
        if process.branch and (process.number == wanted.get("pid") or
                               process.tag and process.tag == wanted.get("tag")):
            return process
    raise Refused(404, "there is no such process: it has ended")


async def listing(request, sandbox, body):
    return {"processes": [process.told() for process in sandbox.processes.values()]}


async def signal(request, sandbox, body):
    process, word = process_of(sandbox, body), body.get("signal")
    if not isinstance(word, (str, int)) or word not in SIGNALS:
        raise Refused(400, "signal is neither SIGNAL_SIGTERM nor SIGNAL_SIGKILL")
    await getattr(process.branch, SIGNALS[word])()
    return {}


async def no_input(request, sandbox, body):
    process_of(sandbox, body)
    raise Refused(501, "a program's stdin is empty, and cannot be written to; it has no terminal")


async def no_connect(request, sandbox, body, tell):
    process_of(sandbox, body)
    raise Failed(501, "the output of a program goes to who has started it, and to nobody else")


CALLS = {"List": one(listing), "Start": many(start), "SendSignal": one(signal), "SendInput": one(no_input),
         "CloseStdin": one(no_input), "Update": one(no_input), "Connect": many(no_connect),
         "StreamInput": many(no_connect)}
