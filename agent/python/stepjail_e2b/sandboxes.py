# SPDX-License-Identifier: MIT
"""sandboxes.py - a client's sandboxes: a session each, which ends at its time; and their contexts"""
import ast
import asyncio
import contextlib
import hmac
import math
import re
import secrets
import time

import stepjail
from stepjail_mcp.http_connection import Refused
from stepjail_mcp.record import NotWritten
from stepjail_mcp.sessions import Sessions, ToolProblem, finish, whole

CONTEXTS_MAX = 16           # of a sandbox
TIMEOUT, TIMEOUT_MAX = 300, 24 * 3600  # seconds that a sandbox lives
HOME = "/home/user"         # as its clients call /work
SET = "__import__('os').environ.update({})"
RAISED = "__import__('stepjail_runner').failed"  # of rootfs/python/runner.py
UNSET = "[__import__('os').environ.pop(name, None) for name in {}] and None"


def megabytes(text):
    """Of a size as stepjail's options have it; what is none is stepjail's to refuse."""
    found = re.fullmatch("([0-9]+)([KMG]?)", str(text))
    return int(found[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[found[2]] >> 20 if found else 0


class Context:
    """A branch with variables of its own; what runs there runs one after the other."""

    def __init__(self, number, branch, folder):
        self.number, self.branch, self.folder = number, branch, folder  # below /work
        self.lock, self.executions = asyncio.Lock(), 0

    def told(self):
        return {"id": self.number, "language": "python", "cwd": f"{HOME}/{self.folder}".rstrip("/.")}


class Sandbox:
    """What a session is to E2B's SDKs."""

    def __init__(self, owner, session, template, metadata, envs):
        self.owner, self.session, self.template = owner, session, template
        self.branch = session  # as sessions.Held has it
        self.metadata, self.envs = metadata, envs
        self.number = "i" + secrets.token_hex(10)
        self.token, self.traffic = secrets.token_hex(32), secrets.token_hex(32)
        self.contexts, self.making = {}, 0
        self.processes, self.programs = {}, 0  # that run; that were run
        self.side, self.side_lock, self.reading = None, asyncio.Lock(), asyncio.Lock()
        self.runs_programs = None  # unknown; why not, or ""
        self.begin = self.end = time.time()
        self.timer = None

    def knows(self, *words):
        """Whether one of the words is a token of this sandbox's."""
        found = [hmac.compare_digest(token.encode(), word.encode("latin-1", "replace"))
                 for word in words for token in (self.token, self.traffic)]
        return any(found)

    async def run(self, branch, code, heard=lambda name, data: None):
        """A step, which is in the transcript."""
        return await self.session.record.run(branch, code, None, heard)

    async def prepare(self, context):
        """A context's folder and environment, in a state of its own."""
        if self.envs:
            await self.run(context.branch, SET.format(dict(self.envs)))
        if context.folder != ".":
            done = await self.run(context.branch, f"__import__('os').chdir({'/work/' + context.folder!r})")
            if not done.ok:
                raise Refused(400, f"cwd: {HOME}/{context.folder} is no folder that can be entered")

    async def add_context(self, folder):
        if len(self.contexts) + self.making >= CONTEXTS_MAX:
            raise Refused(429, f"a sandbox has at most {CONTEXTS_MAX} contexts: remove one")
        self.making += 1
        try:
            branch = await whole(self.session.branch(0), stepjail.AsyncBranch.drop)
            context = Context(secrets.token_hex(8), branch, folder)
            try:
                await self.session.record.command("branch", branch.number, 0)
                await self.prepare(context)
            except BaseException:
                await asyncio.shield(branch.drop())
                raise
            self.contexts[context.number] = context
            return context
        finally:
            self.making -= 1

    def context(self, number):
        if number is None or number == "python":
            number = "default"
        if not isinstance(number, str) or number not in self.contexts:
            raise Refused(404, f"there is no context {str(number)[:80]!r}")
        return self.contexts[number]

    async def remove_context(self, context):
        if context.branch is self.session:
            raise Refused(400, "the default context cannot be removed: restart it")
        del self.contexts[context.number]
        await context.branch.kill()
        async with context.lock:
            await context.branch.drop()
        await self.session.record.command("drop", context.branch.number, 0)

    async def restart(self, context):
        """As it began: what runs there is ended, and its variables are forgotten."""
        await context.branch.kill()
        async with context.lock:
            await context.branch.rollback(0)
            await self.session.record.command("rollback", context.branch.number, 0)
            context.executions = 0
            await self.prepare(context)

    async def execute(self, context, code, envs, heard):
        """A client's step, and the name and words of what it raised, or None. The environment that is given for it is
        taken back behind it."""
        async with context.lock:
            if envs:
                await self.run(context.branch, SET.format(envs))
            try:
                context.executions += 1
                result = await self.run(context.branch, code, heard)
                return result, await self.raised(context) if result.error else None
            finally:
                if envs:
                    with contextlib.suppress(stepjail.Refused):
                        await self.run(context.branch, UNSET.format(sorted(envs)))
                        await self.run(context.branch, SET.format(dict(self.envs)))

    async def raised(self, context):
        """What the context's last step raised. Not out of its traceback: an exception's words may look like that."""
        with contextlib.suppress(stepjail.Refused, ValueError, SyntaxError, TypeError):
            name, words = ast.literal_eval((await self.run(context.branch, RAISED)).text)
            return str(name), str(words)

    async def aside(self, code):
        """Python that changes files and no context: on a branch that begins at state 0 each time."""
        async with self.side_lock:
            if not self.side:
                self.side = await whole(self.session.branch(0), stepjail.AsyncBranch.drop)
                await self.session.record.command("branch", self.side.number, 0)
            try:
                return await self.run(self.side, code)
            finally:
                with contextlib.suppress(stepjail.Error):
                    await self.side.rollback(0)
                    await self.session.record.command("rollback", self.side.number, 0)


class Sandboxes(Sessions):
    """Those of one API key. They end at their time, and not when they were idle."""

    def __init__(self, server, everyone, domain):
        """@everyone: sandboxes of all keys, by their numbers; @domain: as they are told"""
        super().__init__(server)
        self.everyone, self.domain, self.ending = everyone, domain, set()
        given = server.jail_options
        cpus = str(given.get("cpus", ["1"])[-1])
        self.limits = {"cpuCount": math.ceil(float(cpus)) if re.fullmatch(r"[0-9]{1,4}(\.[0-9]+)?", cpus) else 0,
                       "memoryMB": megabytes(given.get("memory", ["512M"])[-1]),
                       "diskSizeMB": megabytes(given.get("work-size", ["256M"])[-1])}

    async def create(self, owner, who, template, metadata, envs, timeout):
        try:
            with self.room():
                session = await whole(self.start(who), finish)
                sandbox = Sandbox(owner, session, template, metadata, envs)
                sandbox.contexts["default"] = Context("default", session, ".")
                try:
                    await sandbox.prepare(sandbox.contexts["default"])
                except BaseException:
                    await asyncio.shield(finish(session))
                    raise
                self.handles[sandbox.number] = self.everyone[sandbox.number] = sandbox
        except ToolProblem as problem:
            raise Refused(429, str(problem)) from None
        self.live(sandbox, timeout)
        return sandbox

    def live(self, sandbox, timeout):
        """For so many seconds from now on."""
        if sandbox.timer:
            sandbox.timer.cancel()
        sandbox.end = time.time() + timeout
        sandbox.timer = asyncio.get_running_loop().call_later(timeout, self.late, sandbox)

    def late(self, sandbox):
        task = asyncio.create_task(self.kill(sandbox))
        self.ending.add(task)
        task.add_done_callback(self.ending.discard)

    async def kill(self, sandbox, **how):
        if self.handles.pop(sandbox.number, None):
            del self.everyone[sandbox.number]
            sandbox.timer.cancel()
            with contextlib.suppress(stepjail.Error):
                await asyncio.shield(asyncio.create_task(finish(sandbox.session, **how)))

    async def failed(self, sandbox, problem):
        """Of one whose jail is gone, or which cannot be recorded any more."""
        if isinstance(problem, (stepjail.Closed, NotWritten)):
            await self.kill(sandbox, outcome="failed", error=str(problem))

    async def expire(self):
        pass
