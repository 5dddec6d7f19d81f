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

    async def open(self):
        with self.room():
            session = await whole(self.server.jails.session(), stepjail.AsyncSession.close)
            session.handle = self.hold(session, session)
            return session.handle

    async def branch(self, handle, state):
        held = self.held(handle)
        with self.room():
            branch = await whole(held.branch.branch(state), stepjail.AsyncBranch.drop)
            return self.hold(held.session, branch)

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

    async def close(self):
        self.server.sessions.discard(self)
        for session in {held.session for held in self.handles.values()}:
            with contextlib.suppress(stepjail.Error):
                await session.close()
        self.handles.clear()
