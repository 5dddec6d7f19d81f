# SPDX-License-Identifier: MIT
"""stepjail - sessions of Python in jails, from Python

    >>> from stepjail import Stepjail
    >>> jails = Stepjail(memory="256M"); s = jails.session()
    >>> r = s.run("x = 40 + 2; print('hello'); x")
    >>> r.stdout, r.text, r.verdict, r.state
    ('hello\\n', '42', 'completed', 'kept')

A session keeps its variables from step to step. A step that dies costs none of them. An exception
keeps what the step did before it; rollback() goes back to the state before:

    >>> r = s.run("x = 2; import os; os.kill(os.getpid(), 9)")
    >>> r.verdict, r.signal, r.state, s.run("x").text
    ('signaled', 9, 'rolled-back', '42')
    >>> print(s.run("x = 5; 1 / 0").error.splitlines()[-1])
    ZeroDivisionError: division by zero
    >>> s.rollback()

A branch is a second way on from a state. Files, in /work, are the session's:

    >>> b = s.branch(); b.run("x = 100").ok, b.run("x").text, s.run("x").text
    (True, '100', '42')
    >>> s.put("data/a.csv", "n\\n3\\n4\\n")
    >>> s.get("data/a.csv"), [(f.name, f.size) for f in s.list("data")]
    (b'n\\n3\\n4\\n', [('a.csv', 6)])

What is refused has a name, and what stepjail cannot do is an exception:

    >>> s.run("import os; os.system('id')").violations[0]["syscall"]
    'execve'
    >>> s.get("nothing")
    Traceback (most recent call last):
    stepjail.Refused: GET: No such file or directory
    >>> s.close(); jails.close()

Any thread may use a Stepjail and its sessions, also where a loop runs. One thread of this module's own
calls on_output of all. AsyncStepjail has the same methods, to be awaited in the loop that it belongs to.

Theory of operation
    For each set of options there is one process, `stepjail serve`, which this one speaks frames with
    (serve_wire.h) over a socket; it ends, with all its jails, when that closes. A task reads the frames
    and puts each into the queue of who waits for it: a branch's running step, or a session's one other
    request. The next one is sent behind the answer, even where nobody waits for that any more. What a
    jail says is data, bounded by `stepjail serve`. A frame that cannot be read ends the connection.
"""
import asyncio
import contextlib
import dataclasses
import functools
import itertools
import json
import math
import os
import shutil
import socket
import struct
import subprocess
import threading
import weakref

__all__ = ["Stepjail", "AsyncStepjail", "Result", "Shown", "Entry", "Error", "Refused", "Closed"]

_HEADER, _AT, _MEDIA = struct.Struct("<IHHI"), struct.Struct("<I"), struct.Struct("<IHHIIQ")
_PAYLOAD_MAX, _PATH_MAX, _STDIN_MAX, _FILE_MAX, _LIST_MAX = 65536, 4096, 1 << 20, 256 << 20, 16 << 20  # bytes
_TYPES = {"CODE": 16, "RUN": 17, "INTERRUPT": 18, "KILL": 19, "OUT": 21, "ERR": 22, "RESULT": 23, "TRACE": 24,
          "DONE": 25, "MEDIA": 28, "PIECE": 29, "OPEN": 40, "ONCE": 41, "STDIN": 42, "ROLLBACK": 43, "BRANCH": 44,
          "DROP": 45, "PUT": 46, "GET": 47, "LIST": 48, "STATUS": 49, "CLOSE": 50, "OPENED": 51, "STATE": 52,
          "DATA": 53, "END": 54, "REFUSED": 55, "CLOSED": 56, "WALL": 57}
_NAMES = {number: name for name, number in _TYPES.items()}
_OF_STEPS = {"OUT", "ERR", "RESULT", "TRACE", "MEDIA", "PIECE", "DONE"}
_KINDS, _SOURCES = (None, "text", "html", "json", "png", "svg"), (None, "display", "result", "figure")
_TEXT, _INT = str | None, int | None  # members of JSON


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
    reason: "str | None"     # why there is no state of it
    violations: "list[dict]"  # system calls that were refused
    report: dict             # all that stepjail says of the step's end

    ok = property(lambda self: self.verdict == "completed")

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
    places = (os.path.join(here, to, "stepjail") for to in ("../../../bin", "../../build"))
    return command or os.environ.get("STEPJAIL") or next(filter(shutil.which, (*places, "stepjail")), "stepjail")


def _words(options):
    """Options of stepjail as keywords: memory="1G", lock_code=False, bind=["a:/work/a"]."""
    for name, value in sorted(options.items()):
        for one in value if isinstance(value, (list, tuple)) else [value]:
            yield f"--{name.replace('_', '-')}={('no', 'yes')[one] if isinstance(one, bool) else one}"


def _bytes(name, value):
    if not isinstance(value, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"{name} is str or bytes, and not {type(value).__name__}")
    return value.encode() if isinstance(value, str) else bytes(value)


def _number(name, value, least=0, most=0xffffffff, kinds=int):
    if not isinstance(value, kinds) or not least <= value <= most:
        raise Error(f"{name} must be a number from {least} to {most}, and is {value!r}")
    return value


def _file(name, number, path):
    path = os.fsencode(path)
    return _AT.pack(_number(name, number)) + path[:_number("bytes of a path", len(path), 1, _PATH_MAX)]


def _has(members, **kinds):
    """An object of JSON, which has members of these types."""
    for name, kind in kinds.items():
        if not isinstance(members[name], kind):
            raise TypeError(f"{name} is {str(members[name])[:80]!r}")
    return members


async def _next(queue):
    got = await queue.get()
    if isinstance(got, Error):
        raise got
    return got


def _task(coroutine):
    """Which goes on where its caller is cancelled, and may then fail unheard."""
    task = asyncio.create_task(coroutine)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task


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
        self.gone, self.said, self.vm, self.opened = None, "", None, False
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

    async def _read(self, stream):
        with contextlib.suppress(EOFError, OSError, Closed):
            while True:
                length, kind, zero, number = _HEADER.unpack(await stream.readexactly(_HEADER.size))
                payload = await stream.readexactly(min(length, _PAYLOAD_MAX))
                with self.reading(_NAMES.get(kind, "unknown")):
                    _number("its payload's bytes", -1 if zero else length, _AT.size, _PAYLOAD_MAX)
                    (branch,), body = _AT.unpack_from(payload), payload[_AT.size:]
                    if kind == _TYPES["WALL"]:  # a first frame is the host's, any other a guest's
                        self.vm = self.vm or _has(json.loads(body), vm=dict)["vm"]
                    elif number in self.sessions:
                        self.sessions[number]._take(_NAMES[kind], branch, body)
        self.lose(f"stepjail serve ended with status {await self.ended}: {self.said or 'it said nothing'}")

    @contextlib.contextmanager
    def reading(self, kind):
        """What is in its frames. A guest may say anything."""
        try:
            yield
        except Exception as problem:
            self.lose(f"stepjail serve was ended: its {kind} frame is invalid: {type(problem).__name__}: {problem}")
            raise Closed(self.gone) from None

    def lose(self, why):
        self.gone = self.gone or why
        self.writer.transport.abort()
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
        self.lose("this Stepjail is closed")
        await self.reader


class AsyncBranch:
    """A way on from a state; a session begins with one. Steps of one branch run one after the other."""

    def __init__(self, session, branch):
        self._session, self._sent, self.number = session, asyncio.Event(), branch  # 0 is a session's first one
        self._running = self._left = None  # tasks of steps; the one whose run() was cancelled

    async def run(self, code, *, wall_time=None, cpu_time=None, stdin=b"", on_output=None):
        """Run code as the next step; Result.

        wall_time, cpu_time: seconds, no more than the session's. stdin: bytes or str, then its end.
        on_output: called with "stdout" or "stderr" and bytes, as they come; what it raises interrupts
        the step. So does Ctrl-C, or to cancel run(), which raises at the step's end, or at a second one;
        then the next run() waits for that end.
        """
        code, stdin = _bytes("code", code), _bytes("stdin", stdin)
        _number("bytes of stdin", len(stdin), 0, _STDIN_MAX)
        limits = [0 if time is None else math.ceil(1000 * _number(name, time, 0.001, 10 ** 9, (int, float)))
                  for name, time in (("wall_time", wall_time), ("cpu_time", cpu_time))]
        while self._running and self._running is self._left:
            await asyncio.wait([self._left])
        if self._running:
            raise Error("a step runs on this branch: wait for it, or take another branch")
        queue = self._session._steps[self.number] = asyncio.Queue()
        self._sent.clear()
        task = self._running = _task(self._step(queue, code, struct.pack("<IQQ", 0, *limits), stdin, on_output))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._running is task:
                self._left = task
                await asyncio.wait([_task(self.interrupt()), task])
            raise

    async def _step(self, queue, code, limits, stdin, on_output):
        session, branch, frames, problem = self._session, self.number, [("RUN", limits)], None
        try:
            await session._send("CODE", code, branch)
            await session._send("RUN", limits, branch)
            self._sent.set()
            for piece in (stdin, b"")[not stdin:]:
                await session._send("STDIN", piece, branch)
            while frames[-1][0] != "DONE":
                frames.append(await _next(queue))
                try:
                    if on_output and not problem and frames[-1][0] in ("OUT", "ERR"):
                        on_output("stdout" if frames[-1][0] == "OUT" else "stderr", frames[-1][1])
                except BaseException as raised:
                    problem = raised
                    await self.interrupt()
            with session._serve.reading("DONE"):
                result = self._result(frames)
        finally:
            self._sent.set()
            self._running = None
            del session._steps[branch]
        if problem:
            raise problem
        return result

    @staticmethod
    def _result(frames):
        report = _has(
            json.loads(frames[-1][1]), verdict=str, state=str, state_number=_INT, exit_code=_INT, signal=_INT,
            reason=_TEXT, violation=_TEXT, wall_ms=_INT, cpu_ms=_INT, memory_peak_bytes=_INT, strays=int, threads=int)
        cut = _has(report["output"], stdout_cut=int, stdout_tail=str, stderr_cut=int, stderr_tail=str)
        texts, shown = {"OUT": bytearray(), "ERR": bytearray()}, []
        for kind, body in frames:
            if kind == "MEDIA":
                shown.append((*_MEDIA.unpack_from(body), body[_MEDIA.size:].decode("utf-8", "replace"), bytearray()))
            elif kind == "PIECE":
                shown[-1][-1].extend(body)
            else:
                texts[kind] = texts.get(kind, bytearray()) + body
        for kind, stream in (("OUT", "stdout"), ("ERR", "stderr")):
            if cut[stream + "_cut"]:
                texts[kind] += f"\n[{cut[stream + '_cut']} bytes left out]\n{cut[stream + '_tail']}".encode()
        texts = {kind: text.decode("utf-8", "replace") for kind, text in texts.items()}
        forms = [Shown(number, _KINDS[kind], _SOURCES[source], name, size,
                       bytes(data) if len(data) == size and not left_out else b"", bool(left_out))
                 for number, kind, source, left_out, _, size, name, data in shown]
        return Result(*map(texts.get, ("OUT", "ERR", "RESULT", "TRACE")), forms,
                      *map(report.get, ("verdict", "state", "state_number", "exit_code", "signal", "reason")),
                      [_has(one, syscall=str) for one in report["violations"]["list"]], report)

    async def interrupt(self):
        """KeyboardInterrupt in the running step; none runs: nothing."""
        if self._running:
            await self._sent.wait()  # before RUN it would be for nothing
        await self._session._send("INTERRUPT", b"", self.number)

    async def kill(self):
        """SIGKILL to the running step, which is rolled back."""
        await self._session._send("KILL", b"", self.number)

    async def state(self):
        """The number of the state that the next step begins with."""
        return await self._session._ask("STATUS", STATE=self._here)

    def _here(self, status):
        return _has(status["branches"].get(str(self.number), {"state": None}), state=_INT)["state"]

    async def rollback(self, state=None):
        """Go back to that state; without it, to the one before the last step that was kept."""
        if state is None:
            state = await self._session._ask("STATUS", STATE=lambda status: next((
                one["parent"] for one in status["states"] if one["state"] == self._here(status)), self._here(status)))
        await self._session._ask("ROLLBACK", _AT.pack(_number("state", state)), self.number, STATE=dict)

    async def branch(self, state=None):
        """A new branch at that state, or at this branch's own."""
        state = _number("state", await self.state() if state is None else state)
        branch = next(self._session._branches)
        await self._session._ask("BRANCH", _AT.pack(state), branch, STATE=dict)
        return AsyncBranch(self._session, branch)

    async def drop(self):
        """Forget this branch; the last one of a session cannot be dropped."""
        await self._session._ask("DROP", b"", self.number, STATE=dict)


class AsyncSession(AsyncBranch, contextlib.AbstractAsyncContextManager):
    """A jail, its variables and its files; also its first branch."""
    __aexit__ = lambda self, *unused: self.close()

    def __init__(self, jails, serve):
        super().__init__(self, 0)
        self._jails, self._serve = jails, serve  # which must live as long as this
        self._number, self._branches = next(serve.numbers), itertools.count(1)
        self._lock, self._answers, self._steps, self._closed = asyncio.Lock(), None, {}, None
        self.opened = None  # of the jail: its walls, digests, what the host lacks; in "vm" of its guest, or None
        serve.sessions[self._number] = self

    def _take(self, kind, branch, body):
        queue = self._steps.get(branch) if kind in _OF_STEPS else self._answers
        if kind == "CLOSED":
            self._end(_has(json.loads(body), reason=str)["reason"])
        elif kind == "REFUSED":
            problem = Refused(_has(json.loads(body), kind=str, limit=_TEXT, frame=str, error=str))
            frame = problem.answer["frame"]
            queue = self._steps.get(branch) if frame == "RUN" else self._answers if frame == self._asked else None
            if queue and problem.kind != "ending":  # behind which CLOSED comes
                queue.put_nowait(problem)
        elif queue:
            queue.put_nowait((kind, body))

    def _end(self, reason):
        self._closed = self._closed or reason
        for queue in filter(None, (self._answers, *self._steps.values())):
            queue.put_nowait(Closed(self._closed))

    async def _send(self, kind, payload=b"", branch=0):
        for at in range(0, len(payload) or 1, _PAYLOAD_MAX - _AT.size):
            if self._closed:
                raise Closed(self._closed)
            await self._serve.send(kind, self._number, payload[at:at + _PAYLOAD_MAX - _AT.size], branch)

    async def _ask(self, kind, payload=b"", branch=0, data=None, limit=0, **reads):
        """A request, and what READS makes of its answer. One at a time."""
        async def ask():
            async with self._lock:
                self._answers, self._asked = asyncio.Queue(), "END" if kind == "PUT" else kind
                await self._send(kind, payload, branch)
                for piece in () if data is None else (("DATA", data), ("END", b"")):
                    await self._send(*piece, branch)
                got = bytearray()
                while (answer := await _next(self._answers))[0] == "DATA":
                    got += answer[1] if len(got) <= limit else b""
                if len(got) > limit:
                    raise Error(f"{kind}: more than {limit} bytes")
                with self._serve.reading(answer[0]):
                    return reads[answer[0]](got if answer[0] == "END" else json.loads(answer[1]))
        return await asyncio.shield(_task(ask()))

    async def put(self, path, data, mode=0o644):
        """Write a file below /work, and its folders; data is bytes, or str as UTF-8."""
        await self._ask("PUT", _file("mode", mode, path), data=_bytes("data", data), STATE=dict)

    async def get(self, path, limit=_FILE_MAX):
        """A file's bytes; Refused where there are more than limit."""
        return await self._ask("GET", _file("limit", limit, path), limit=limit, END=bytes)

    async def list(self, path="."):
        """What is in a folder: a list of Entry."""
        return await self._ask("LIST", _file("limit", _LIST_MAX, path), limit=_LIST_MAX, END=lambda data: [
            Entry(kind.decode(), int(size), int(mtime), os.fsdecode(name))
            for kind, size, mtime, name in (entry.split(b" ", 3) for entry in bytes(data).split(b"\0")[:-1])])

    async def status(self):
        """Branches and states: a dict, as stepjail's answer to STATUS."""
        return await self._ask("STATUS", STATE=dict)

    async def close(self):
        """End the session with all of its processes and files."""
        with contextlib.suppress(Closed):
            await self._ask("CLOSE")


class AsyncStepjail(contextlib.AbstractAsyncContextManager):
    """Where sessions come from. Keywords are options of stepjail(1) for all of its sessions.
    command: the program, else $STEPJAIL, the one that was installed with this file, or PATH's."""
    __aexit__ = lambda self, *unused: self.close()

    def __init__(self, command=None, **options):
        self._command, self._options, self._serves, self._process = command, options, {}, os.getpid()

    async def session(self, **options):
        """A new session; options are added to those of all. The first with some options starts
        `stepjail serve` with them, whose template is warm for the next."""
        if self._serves is None:
            raise Error("this Stepjail is closed")
        options = {**self._options, **options}
        key = tuple(_words(options))
        serve = self._serves.get(key)
        if serve is None or serve.gone:
            serve = self._serves[key] = _Serve(self._command, options)
            serve.started = asyncio.create_task(serve.start())
        await asyncio.shield(serve.started)
        session = AsyncSession(self, serve)
        try:
            opened = await session._ask("OPEN", OPENED=lambda opened: _has(opened, posture=dict))
        except Closed as problem:
            raise problem if serve.opened else Error(str(problem)) from None
        session.opened, serve.opened = {**opened, "vm": serve.vm}, True  # whatever a guest says there
        return session

    async def close(self):
        """End all sessions."""
        serves, self._serves = self._serves or {}, None
        for serve in serves.values():
            await serve.started
            await serve.close()

    def __del__(self):
        if os.getpid() == self._process:  # a fork of it has no part in the sessions
            for serve in (self._serves or {}).values():
                with contextlib.suppress(OSError):
                    serve.socket.shutdown(socket.SHUT_RDWR)  # which ends serve and all its jails


@functools.cache
def _loop(process):
    """Where all Stepjails of a process wait: a loop in a thread of its own, which Ctrl-C does not reach."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _waits(method):
    @functools.wraps(method)
    def call(self, *arguments, **options):
        jails = self if isinstance(self, Stepjail) else self._jails
        got = jails._wait(method, self._async, *arguments, **options)
        return Session(jails, got) if isinstance(got, AsyncSession) else \
            Branch(jails, got) if isinstance(got, AsyncBranch) else got
    return call


class Branch:
    __doc__ = AsyncBranch.__doc__
    run, interrupt, kill, state, rollback, branch, drop = map(_waits, (
        AsyncBranch.run, AsyncBranch.interrupt, AsyncBranch.kill, AsyncBranch.state, AsyncBranch.rollback,
        AsyncBranch.branch, AsyncBranch.drop))

    def __init__(self, jails, asynchronous):
        self._jails, self._async = jails, asynchronous


class Session(Branch, contextlib.AbstractContextManager):
    __doc__ = AsyncSession.__doc__
    put, get, list, status, close = map(_waits, (
        AsyncSession.put, AsyncSession.get, AsyncSession.list, AsyncSession.status, AsyncSession.close))
    opened = property(lambda self: self._async.opened)
    __exit__ = lambda self, *unused: self.close()


class Stepjail(contextlib.AbstractContextManager):
    __doc__ = AsyncStepjail.__doc__
    session, close = map(_waits, (AsyncStepjail.session, AsyncStepjail.close))
    __exit__ = lambda self, *unused: self.close()

    def __init__(self, command=None, **options):
        self._async, self._loop = AsyncStepjail(command, **options), _loop(os.getpid())

    def _wait(self, method, *arguments, **options):
        """What it returns. Ctrl-C, or what else a signal raises, cancels it and waits for its end."""
        if self._loop is not _loop(os.getpid()) or self._loop is asyncio._get_running_loop():
            raise Error("on_output may not wait for a Stepjail, nor may a fork use its parent's")
        tasks = []

        async def call():
            tasks.append(asyncio.current_task())
            return await method(*arguments, **options)

        async def cancel():
            tasks[:] = [task for task in tasks if task.cancel()]
            await asyncio.gather(*tasks, return_exceptions=True)

        try:
            return asyncio.run_coroutine_threadsafe(call(), self._loop).result()
        except BaseException:
            asyncio.run_coroutine_threadsafe(cancel(), self._loop).result()
            raise
