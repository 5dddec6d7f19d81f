# SPDX-License-Identifier: MIT
"""sessions.py - a client's sessions and branches, by handles that nobody can guess"""
import asyncio
import contextlib
import secrets
import time

import stepjail


class ToolProblem(Exception):
    """What a model can mend: an error within the tool's result."""


class Held:
    """A handle's branch of a session, and when it was used last."""

    def __init__(self, session, branch):
        self.session, self.branch, self.lock = session, branch, asyncio.Lock()
        self.used = time.monotonic()


async def whole(making, undo):
    """What is made; where the caller is cancelled meanwhile, it is undone."""
    task = asyncio.ensure_future(making)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with contextlib.suppress(stepjail.Error):
            await undo(await task)
        raise


async def finish(session, **how):
    try:
        await session.close()
    finally:
        await session.record.end(**how)


class Sessions:
    def __init__(self, server):
        self.server, self.handles, self.opening = server, {}, 0
        server.sessions.add(self)

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

    async def open(self, who):
        """@who: what the client calls itself, for the transcript"""
        with self.room():
            session = await whole(self.start(who), finish)
            session.handle = self.hold(session, session)
            return session.handle

    async def start(self, who):
        session = await self.server.jails.session()
        try:
            session.record = await self.server.recorder.begin(session, who)
        except stepjail.Error:
            await session.close()
            raise
        return session

    async def branch(self, handle, state):
        held = self.held(handle)
        with self.room():
            state = await held.branch.state() if state is None else state
            branch = await whole(held.branch.branch(state), stepjail.AsyncBranch.drop)
            handle = self.hold(held.session, branch)
        await held.session.record.command("branch", branch.number, state)
        return handle

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
        if not others:
            await finish(held.session)
            return
        await held.branch.drop()
        await held.session.record.command("drop", held.branch.number, 0)

    async def give_up(self, session, why):
        """Of a session that may not go on, with all its branches."""
        self.handles = {handle: held for handle, held in self.handles.items() if held.session is not session}
        await finish(session, outcome="failed", error=why)

    async def expire(self):
        late = time.monotonic() - self.server.options.idle
        for handle, held in sorted(self.handles.items(), key=lambda one: one[1].branch is one[1].session):
            if held.used < late and not held.lock.locked():
                with contextlib.suppress(ToolProblem, stepjail.Error):
                    await self.close_handle(handle)

    async def close(self):
        self.server.sessions.discard(self)
        for session in {held.session for held in self.handles.values()}:
            with contextlib.suppress(stepjail.Error):
                await finish(session)
        self.handles.clear()
