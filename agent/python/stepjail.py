# SPDX-License-Identifier: MIT
"""stepjail - sessions of Python in jails, from Python

    >>> from stepjail import Stepjail
    >>> with Stepjail().session() as s:
    ...     r = s.run("x = 40 + 2; print('hello'); x")
    >>> r.stdout, r.text, r.verdict, r.state
    ('hello\\n', '42', 'completed', 'kept')

A session keeps its variables from step to step. A step that dies costs none of them:

    >>> jails = Stepjail(memory="256M")
    >>> s = jails.session()
    >>> s.run("x = 1").ok
    True
    >>> r = s.run("x = 2; import os; os.kill(os.getpid(), 9)")
    >>> r.verdict, r.signal, r.state
    ('signaled', 9, 'rolled-back')
    >>> s.run("x").text
    '1'

An exception keeps what the step did before it; rollback() goes back to the state before:

    >>> print(s.run("x = 5; 1 / 0").error.splitlines()[-1])
    ZeroDivisionError: division by zero
    >>> s.rollback()
    >>> s.run("x").text
    '1'

A branch is a second way on from a state. Files, in /work, are the session's:

    >>> b = s.branch()
    >>> b.run("x = 100").ok, b.run("x").text, s.run("x").text
    (True, '100', '1')
    >>> s.put("data/a.csv", "n\\n3\\n4\\n")
    >>> s.run("sum(int(n) for n in open('data/a.csv').read().split()[1:])").text
    '7'
    >>> s.get("data/a.csv")
    b'n\\n3\\n4\\n'
    >>> [(f.name, f.size) for f in s.list("data")]
    [('a.csv', 6)]

What is refused has a name, and what stepjail cannot do is an exception:

    >>> s.run("import os; os.system('id')").violations[0]["syscall"]
    'execve'
    >>> s.get("nothing")
    Traceback (most recent call last):
    stepjail.Refused: GET: No such file or directory
    >>> s.close(); jails.close()

AsyncStepjail has the same, to be awaited. A task that is cancelled interrupts its step:

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncStepjail() as jails, await jails.session() as a, await jails.session() as b:
    ...         return await asyncio.gather(a.run("sum(range(10))"), b.run("2 ** 10"))
    >>> [r.text for r in asyncio.run(main())]
    ['45', '1024']

Theory of operation
    For each set of options there is one process, `stepjail serve`, which this one speaks frames with
    (serve_wire.h) over a socket; it ends, with all its jails, when that closes. A task reads the
    frames and puts each into the queue of who waits for it: of a branch's running step, or of a
    session's one request that is no step. What a jail says is data: it is decoded, and bounded by
    the limits of `stepjail serve` (--output-limit, --media-limit).
"""
import asyncio
import contextlib
import dataclasses
import functools
import itertools
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import weakref

__all__ = ["Stepjail", "AsyncStepjail", "Result", "Shown", "Entry", "Error", "Refused", "Closed"]

_HEADER, _AT, _TWO = struct.Struct("<IHHI"), struct.Struct("<I"), struct.Struct("<II")
_LIMITS, _MEDIA = struct.Struct("<IIQQ"), struct.Struct("<IHHIIQ")
_PAYLOAD_MAX = 65536
_TYPES = {"CODE": 16, "RUN": 17, "INTERRUPT": 18, "KILL": 19, "OUT": 21, "ERR": 22, "RESULT": 23, "TRACE": 24,
          "DONE": 25, "MEDIA": 28, "PIECE": 29, "OPEN": 40, "ONCE": 41, "STDIN": 42, "ROLLBACK": 43,
          "BRANCH": 44, "DROP": 45, "PUT": 46, "GET": 47, "LIST": 48, "STATUS": 49, "CLOSE": 50, "OPENED": 51, "STATE": 52,
          "DATA": 53, "END": 54, "REFUSED": 55, "CLOSED": 56, "WALL": 57}
_NAMES = {number: name for name, number in _TYPES.items()}
_OF_STEPS = {"OUT", "ERR", "RESULT", "TRACE", "MEDIA", "PIECE", "DONE"}
_KINDS = (None, "text", "html", "json", "png", "svg")
_SOURCES = (None, "display", "result", "figure")


class Error(Exception):
    """What stepjail could not do."""


class Refused(Error):
    """A request was refused, and nothing changed. kind and limit are words of serve_wire.h."""

    def __init__(self, answer):
        super().__init__(answer["error"])
        self.kind, self.limit, self.answer = answer["kind"], answer["limit"], answer


class Closed(Error):
    """The session, or all of `stepjail serve`, is gone."""


@dataclasses.dataclass(frozen=True)
class Shown:
    """One form of an object that a step showed: a table as HTML, a figure as PNG and as SVG."""
    object: int    # forms of one object have one number
    kind: str      # text, html, json, png or svg
    source: str    # display, result or figure
    name: str      # of the file that the step saved it to, or ""
    size: int      # bytes; more than there are where left_out
    data: bytes    # b"" where it was too large for --media-limit, or the step broke off
    left_out: bool


@dataclasses.dataclass(frozen=True)
class Result:
    """How a step ended, and what it said. stepjail(1) has the words of verdict and state."""
    stdout: str
    stderr: str
    text: "str | None"       # repr of the last expression
    error: "str | None"      # traceback
    shown: "list[Shown]"
    verdict: str
    state: str               # kept, rolled-back or lost: what became of the session's variables
    state_number: int
    exit_code: "int | None"
    signal: "int | None"
    reason: "str | None"     # why the state is lost
    violations: "list[dict]"  # system calls that were refused
    report: dict             # all that stepjail says of the step's end

    @property
    def ok(self):
        return self.verdict == "completed"

    def first(self, kind):
        """Bytes of the first object's form that is text, html, json, png or svg; None."""
        return next((s.data for s in self.shown if s.kind == kind and s.data), None)

    html, png, svg = (property(lambda self, kind=kind: self.first(kind)) for kind in ("html", "png", "svg"))


@dataclasses.dataclass(frozen=True)
class Entry:
    """Of a folder: kind is "-" file, "d" folder, "l" link, or another letter as in ls -l."""
    kind: str
    size: int
    mtime: int
    name: str


def _find(command):
    """The program's path. An installed client lies in PREFIX/lib/pythonX.Y/dist-packages."""
    here = os.path.dirname(os.path.realpath(__file__))
    beside = (os.path.join(here, to, "stepjail") for to in ("../../../bin", "../../build"))
    return command or os.environ.get("STEPJAIL") or \
        next(filter(shutil.which, beside), None) or shutil.which("stepjail") or "stepjail"


def _words(options):
    """Options of stepjail as keywords: memory="1G", lock_code=False, bind=["a:/work/a"]."""
    for name, value in sorted(options.items()):
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool):
                one = "yes" if one else "no"
            yield f"--{name.replace('_', '-')}={one}"


class _Serve:
    """One `stepjail serve`, and who waits for its frames."""

    def __init__(self, command, options):
        self.socket, its = socket.socketpair()
        program = _find(command)
        try:
            self.process = subprocess.Popen([program, "serve", *_words(options)], stdin=its,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except OSError as problem:
            self.socket.close()
            raise Error(f"{program}: {problem.strerror}; install it, or give command=") from None
        finally:
            its.close()
        self.sessions, self.numbers = weakref.WeakValueDictionary(), itertools.count(1)
        self.gone, self.said, self.vm = None, "", None
        self.ended = asyncio.get_running_loop().create_future()
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self):
        """Its stderr goes to ours; the last line may be why it ended. asyncio has no thread to give at an exit."""
        with self.process.stderr as lines:
            for line in lines:
                self.said = line.decode("utf-8", "backslashreplace").strip()
                with contextlib.suppress(OSError):
                    os.write(2, line)
        status = self.process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self.ended.get_loop().call_soon_threadsafe(self.ended.set_result, status)

    async def start(self):
        read, self.writer = await asyncio.open_connection(sock=self.socket)
        self.reader = asyncio.create_task(self._read(read))

    def _take(self, kind, number, payload):
        session = self.sessions.get(number)
        if kind == _TYPES["WALL"]:  # a first frame is the host's, any other a guest's
            self.vm = self.vm or json.loads(payload[_AT.size:])["vm"]
        elif session and len(payload) >= _AT.size:
            session._take(_NAMES.get(kind), _AT.unpack_from(payload)[0], payload[_AT.size:])

    async def _read(self, stream):
        try:
            while True:
                length, kind, zero, number = _HEADER.unpack(await stream.readexactly(_HEADER.size))
                if zero or length > _PAYLOAD_MAX:
                    break
                self._take(kind, number, await stream.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):
            pass
        self.writer.close()
        self.gone = f"stepjail serve ended with status {await self.ended}: {self.said or 'it said nothing'}"
        for session in list(self.sessions.values()):
            session._end(self.gone)

    async def send(self, kind, number, payload=b"", branch=0):
        if self.gone:
            raise Closed(self.gone)
        payload = _AT.pack(branch) + payload
        self.writer.write(_HEADER.pack(len(payload), _TYPES[kind], 0, number) + payload)
        with contextlib.suppress(ConnectionError):  # the reader's task says what happened
            await self.writer.drain()

    async def close(self):
        self.writer.close()
        await self.reader

    def abandon(self):
        """Without a loop: the socket's end ends serve and all its jails."""
        self.socket.close()


class AsyncBranch:
    """A way on from a state; a session begins with one. Steps of one branch run one after the other."""

    number = property(lambda self: self._branch, doc="0 for a session's first one.")

    def __init__(self, session, branch):
        self._session, self._branch, self._queue, self._sent = session, branch, None, asyncio.Event()

    async def run(self, code, *, wall_time=None, cpu_time=None, stdin=b"", on_output=None):
        """Run code as the next step; Result.

        wall_time, cpu_time: seconds, no more than the session's. stdin: bytes or str, behind which is
        its end. on_output: called with "stdout" or "stderr" and bytes, as they come. Cancelled, or
        with Ctrl-C, it interrupts the step, waits for its end, and then raises.
        """
        if self._queue:
            raise Error("a step runs on this branch: wait for it, or take another branch")
        self._queue = self._session._steps[self._branch] = asyncio.Queue()
        self._sent.clear()
        try:
            step = asyncio.create_task(self._step(code, wall_time, cpu_time, stdin, on_output))
            try:
                return await asyncio.shield(step)
            except asyncio.CancelledError:
                await self.interrupt()
                with contextlib.suppress(Error):
                    await step
                raise
        finally:
            self._queue = None
            del self._session._steps[self._branch]

    async def _step(self, code, wall_time, cpu_time, stdin, on_output):
        session, branch = self._session, self._branch
        code, stdin = (text.encode() if isinstance(text, str) else text for text in (code, stdin))
        ms = [int(time * 1000) if time else 0 for time in (wall_time, cpu_time)]
        try:
            await session._send_pieces("CODE", code, branch)
            await session._send("RUN", _LIMITS.pack(branch, 0, *ms)[_AT.size:], branch)
        finally:
            self._sent.set()
        await session._send_pieces("STDIN", stdin, branch)
        await session._send("STDIN", b"", branch)
        texts = {"OUT": bytearray(), "ERR": bytearray(), "RESULT": None, "TRACE": None}
        shown = []
        while (got := await session._next(self._queue))[0] != "DONE":
            kind, body = got
            if kind in ("OUT", "ERR"):
                texts[kind] += body
                if on_output:
                    on_output("stdout" if kind == "OUT" else "stderr", body)
            elif kind == "MEDIA":
                shown.append((_MEDIA.unpack_from(body), body[_MEDIA.size:], bytearray()))
            elif kind == "PIECE":
                shown[-1][2].extend(body)
            else:
                texts[kind] = body.decode("utf-8", "replace")
        report = json.loads(got[1])
        cut = report["output"]
        for kind, stream in (("OUT", "stdout"), ("ERR", "stderr")):
            if cut[stream + "_cut"]:
                texts[kind] += f"\n[{cut[stream + '_cut']} bytes left out]\n{cut[stream + '_tail']}".encode()
        out, err = (texts[kind].decode("utf-8", "replace") for kind in ("OUT", "ERR"))
        return Result(out, err, texts["RESULT"], texts["TRACE"], [self._shown(*one) for one in shown],
                      **{name: report[name] for name in ("verdict", "state", "state_number", "exit_code",
                                                         "signal", "reason")},
                      violations=report["violations"]["list"], report=report)

    @staticmethod
    def _shown(head, name, data):
        number, kind, source, left_out, _, size = head
        whole = not left_out and len(data) == size
        return Shown(number, _KINDS[kind], _SOURCES[source], name.decode("utf-8", "replace"), size,
                     bytes(data) if whole else b"", bool(left_out))

    async def interrupt(self):
        """KeyboardInterrupt in the running step; none runs: nothing."""
        if self._queue:
            await self._sent.wait()  # before RUN it would be for nothing
        await self._session._send("INTERRUPT", b"", self._branch)

    async def kill(self):
        """SIGKILL to the running step, which is rolled back."""
        await self._session._send("KILL", b"", self._branch)

    async def state(self):
        """The number of the state that the next step begins with."""
        return (await self._session.status())["branches"][str(self._branch)]["state"]

    async def rollback(self, state=None):
        """Go back to that state; without it, to the one before the last step that was kept."""
        if state is None:
            status = await self._session.status()
            here = status["branches"][str(self._branch)]["state"]
            state = next((s["parent"] for s in status["states"] if s["state"] == here), here)
        await self._session._ask("ROLLBACK", _AT.pack(state), self._branch)

    async def branch(self, state=None):
        """A new branch at that state, or at this branch's own."""
        state = await self.state() if state is None else state
        branch = next(self._session._branches)
        await self._session._ask("BRANCH", _AT.pack(state), branch)
        return AsyncBranch(self._session, branch)

    async def drop(self):
        """Forget this branch; the last one of a session cannot be dropped."""
        await self._session._ask("DROP", b"", self._branch)


class AsyncSession(AsyncBranch, contextlib.AbstractAsyncContextManager):
    """A jail, its variables and its files; also its first branch."""

    def __init__(self, jails, serve):
        super().__init__(self, 0)
        self._jails, self._serve = jails, serve  # which must live as long as this
        self._number = next(serve.numbers)
        self._lock, self._answers, self._steps = asyncio.Lock(), asyncio.Queue(), {}
        self._branches = itertools.count(1)
        self._closed = None
        self.opened = None  # of the jail: its walls, digests, what the host lacks; in "vm" of its guest, or None
        serve.sessions[self._number] = self

    async def __aexit__(self, *unused):
        await self.close()

    def _take(self, kind, branch, body):
        if kind == "CLOSED":
            self._end(json.loads(body)["reason"])
        elif kind in _OF_STEPS:
            if branch in self._steps:
                self._steps[branch].put_nowait((kind, body))
        elif kind == "REFUSED":
            answer = json.loads(body)
            if answer["frame"] in ("RUN", "CODE"):
                if branch in self._steps:
                    self._steps[branch].put_nowait((kind, answer))
            elif answer["frame"] not in ("STDIN", "INTERRUPT", "KILL"):  # the step has ended: its DONE came
                self._answers.put_nowait((kind, answer))
        elif kind:
            self._answers.put_nowait((kind, body))

    def _end(self, reason):
        self._closed = self._closed or reason
        for queue in (self._answers, *self._steps.values()):
            queue.put_nowait(("CLOSED", None))

    async def _next(self, queue):
        kind, body = await queue.get()
        if kind == "CLOSED":
            queue.put_nowait((kind, body))
            raise Closed(self._closed)
        if kind == "REFUSED":
            if body["kind"] == "ending":
                return await self._next(queue)  # which is CLOSED
            raise Refused(body)
        return kind, body

    async def _send(self, kind, payload=b"", branch=0):
        if self._closed:
            raise Closed(self._closed)
        await self._serve.send(kind, self._number, payload, branch)

    async def _send_pieces(self, kind, data, branch=0):
        for at in range(0, len(data), _PAYLOAD_MAX - _AT.size):
            await self._send(kind, data[at:at + _PAYLOAD_MAX - _AT.size], branch)

    async def _ask(self, kind, payload=b"", branch=0, data=None):
        """A request and its answer: bytes of a GET or LIST, else a dict. One at a time."""
        async def ask():
            async with self._lock:
                await self._send(kind, payload, branch)
                if data is not None:
                    await self._send_pieces("DATA", data, branch)
                    await self._send("END", b"", branch)
                got = bytearray()
                while (answer := await self._next(self._answers))[0] == "DATA":
                    got += answer[1]
                return bytes(got) if answer[0] == "END" else json.loads(answer[1])
        # an answer that nobody waits for would be the next request's
        return await asyncio.shield(asyncio.create_task(ask()))

    async def put(self, path, data, mode=0o644):
        """Write a file below /work, and its folders; data is bytes, or str as UTF-8."""
        data = data.encode() if isinstance(data, str) else bytes(data)
        await self._ask("PUT", _AT.pack(mode) + os.fsencode(path), data=data)

    async def get(self, path):
        """A file's bytes."""
        return await self._ask("GET", _AT.pack(0) + os.fsencode(path))

    async def list(self, path="."):
        """What is in a folder: a list of Entry."""
        got = await self._ask("LIST", _AT.pack(0) + os.fsencode(path))
        entries = (entry.split(b" ", 3) for entry in got.split(b"\0")[:-1])
        return [Entry(kind.decode(), int(size), int(mtime), os.fsdecode(name))
                for kind, size, mtime, name in entries]

    async def status(self):
        """Branches and states: a dict, as stepjail's answer to STATUS."""
        return await self._ask("STATUS")

    async def close(self):
        """End the session with all of its processes and files."""
        if not self._closed:
            with contextlib.suppress(Closed):
                await self._ask("CLOSE")


class AsyncStepjail(contextlib.AbstractAsyncContextManager):
    """Where sessions come from. Keywords are options of stepjail(1) for all of its sessions.

    command: the program, else $STEPJAIL, the one that was installed with this file, or PATH's.
    """

    def __init__(self, command=None, **options):
        self._command, self._options, self._serves = command, options, {}

    async def session(self, **options):
        """A new session; options are added to those of all. The first with some options starts
        `stepjail serve` with them, whose template is warm for the next."""
        options = {**self._options, **options}
        key = tuple(_words(options))
        serve = self._serves.get(key)
        if serve is None or serve.gone:
            serve = self._serves[key] = _Serve(self._command, options)
            serve.started = asyncio.create_task(serve.start())
        await asyncio.shield(serve.started)
        session = AsyncSession(self, serve)
        session.opened = {**await session._ask("OPEN"), "vm": serve.vm}  # whatever a guest says there
        return session

    async def close(self):
        """End all sessions."""
        for serve in self._serves.values():
            await serve.close()
        self._serves.clear()

    async def __aexit__(self, *unused):
        await self.close()

    def __del__(self):
        for serve in self._serves.values():
            serve.abandon()


# --- the same without await -------------------------------------------------------------

def _waits(method):
    @functools.wraps(method)
    def call(self, *arguments, **options):
        return self._jails._wait(method(self._async, *arguments, **options))
    return call


class Branch:
    __doc__ = AsyncBranch.__doc__
    run, interrupt, kill, state, rollback, drop = map(_waits, (
        AsyncBranch.run, AsyncBranch.interrupt, AsyncBranch.kill, AsyncBranch.state, AsyncBranch.rollback,
        AsyncBranch.drop))
    _branch = _waits(AsyncBranch.branch)

    def __init__(self, jails, asynchronous):
        self._jails, self._async = jails, asynchronous

    @functools.wraps(AsyncBranch.branch)
    def branch(self, state=None):
        return Branch(self._jails, self._branch(state))


class Session(Branch, contextlib.AbstractContextManager):
    __doc__ = AsyncSession.__doc__
    put, get, list, status, close = map(_waits, (
        AsyncSession.put, AsyncSession.get, AsyncSession.list, AsyncSession.status, AsyncSession.close))

    @property
    def opened(self):
        return self._async.opened

    def __exit__(self, *unused):
        self.close()


class Stepjail(contextlib.AbstractContextManager):
    __doc__ = AsyncStepjail.__doc__

    def __init__(self, command=None, **options):
        self._async = AsyncStepjail(command, **options)
        self._runner = asyncio.Runner()
        # also when it is forgotten, or at the interpreter's exit
        self._end = weakref.finalize(self, self._close, self._async, self._runner, os.getpid())

    @staticmethod
    def _close(asynchronous, runner, owner):
        # no fork of it, which has no part in the sessions; where a loop runs they end without waiting
        if os.getpid() == owner and not (asyncio._get_running_loop() or runner.get_loop().is_running()):
            with runner:
                runner.run(asynchronous.close())

    def _wait(self, coroutine):
        if not self._end.alive or asyncio._get_running_loop():
            coroutine.close()
            raise Error("this Stepjail is closed" if not self._end.alive else
                        "a loop runs here, as in a notebook: use AsyncStepjail, and await it")
        return self._runner.run(coroutine)  # Ctrl-C cancels it, which interrupts the step

    @functools.wraps(AsyncStepjail.session)
    def session(self, **options):
        return Session(self, self._wait(self._async.session(**options)))

    @functools.wraps(AsyncStepjail.close)
    def close(self):
        self._end()

    def __exit__(self, *unused):
        self.close()
