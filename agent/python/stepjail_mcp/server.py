# SPDX-License-Identifier: MIT
"""server.py - clients on stdin and stdout, on a unix socket, or over HTTP"""
import asyncio
import collections
import contextlib
import os
import socket
import ssl
import stat
import struct
import sys
import threading

import stepjail
from stepjail_mcp import attach, record, tokens
from stepjail_mcp.client import GRACE, INVALID, Client, Problem, failure
from stepjail_mcp.http_server import HttpServer
from stepjail_mcp.strict_json import packed

LINE_MAX = 16 << 20   # bytes of a message
LINES_MAX = 64 << 20  # bytes of a user's lines that are not taken yet, of all connections to a unix socket
OF_USER = 64          # connections of a user to it, at a time


def say(line):
    with contextlib.suppress(OSError):
        os.write(2, f"stepjail-mcp: {line}\n".encode("utf-8", "backslashreplace"))


def fail(line):
    say(line)
    sys.exit(125)


def transcripts(given):
    """The folder, or None for no transcripts."""
    if given == "no":
        return None
    if not given and not record.state_folder():
        fail("there is no HOME, and so no place for transcripts: give --transcripts DIR, or no to go without")
    return os.path.abspath(given or os.path.join(record.state_folder(), "transcripts"))


class Server:
    def __init__(self, options, jail_options):
        self.options, self.jail_options = options, jail_options
        self.jails = stepjail.AsyncStepjail(options.stepjail, **jail_options)
        self.clients, self.sessions, self.web = set(), set(), None
        self.processes = attach.Processes(options.stepjail)
        self.recorder = record.Recorder(transcripts(options.transcripts), jail_options)

    async def serve(self, lines, write):
        """One client, to the end of its lines and of what it has asked for."""
        lock = asyncio.Lock()

        async def send(message, status=200):
            data = packed(message) + b"\n"
            async with lock:
                with contextlib.suppress(OSError):
                    await write(data)

        client = Client(self)
        try:
            async for line in lines:
                if len(line) > LINE_MAX:
                    await send(failure(None, Problem(INVALID, f"a message has at most {LINE_MAX} bytes")))
                    break
                if line.strip():
                    await client.take(line, send)
            while client.tasks:
                await asyncio.wait(client.tasks)
        finally:
            await client.close()

    async def expire(self):
        while True:
            await asyncio.sleep(min(30, self.options.idle / 2))
            for sessions in list(self.sessions):
                await sessions.expire()
            if self.web:
                self.web.expire()

    async def close(self):
        closing = [asyncio.create_task(client.close()) for client in self.clients]
        closing += [asyncio.create_task(self.web.close())] if self.web else []
        if closing:
            await asyncio.wait(closing, timeout=2 * GRACE)
        await self.jails.close()  # which ends whatever is left
        await self.processes.close()
        await asyncio.gather(*closing, return_exceptions=True)

    async def http(self, address, port, path):
        context, listener = of_tls(self.options.tls), bound_port("--http", address, port)
        path, words = words_of(path, "mcp-token")
        self.web = HttpServer(self, words)
        say(f"clients need a token of {path}")
        await self.web.listen(listener, say, context)

    async def e2b(self, address, port, path):
        from stepjail_e2b.server import E2bServer
        context, listener = of_tls(self.options.tls), bound_port("--e2b", address, port)
        path, words = words_of(path, "e2b-key", "e2b_")
        # without a domain of its own a client would take its code and tokens to E2B's
        domain = self.options.e2b_domain or f"localhost:{listener.getsockname()[1]}"
        self.web = E2bServer(self, words, domain)
        say(f"clients need a key of {path} as E2B_API_KEY")
        await self.web.listen(listener, say, context)

    async def stdio(self):
        await self.serve(lines_of(sys.stdin.buffer), lambda data: asyncio.to_thread(write_all, data))

    async def listen(self, path):
        given = path == "systemd"
        listener = inherited() if given else bound(path)
        connections, held = collections.Counter(), collections.Counter()  # by user

        async def connected(reader, writer):
            pid, uid, _ = struct.unpack("3i", writer.get_extra_info("socket").getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            connections[uid] += 1
            try:
                if not given and uid not in (0, os.geteuid()):
                    say(f"a client of user {uid} (process {pid}) was turned away: only user {os.geteuid()} and "
                        "root may connect")
                    return
                if connections[uid] > OF_USER:
                    raise Problem(INVALID, f"a user has at most {OF_USER} connections at a time: close one")
                lines = stream_lines(reader, held, uid)
                first = await anext(lines, b"")
                words = await attach.asks(first)
                if words is not None:
                    await attach.attach(self, words, reader, writer, uid)
                else:
                    await self.serve(behind(first, lines), lambda data: drained(writer, data))
            except Problem as problem:
                await drained(writer, packed(failure(None, problem)) + b"\n")
            finally:
                connections[uid] -= 1
                writer.close()

        try:
            server = await asyncio.start_unix_server(connected, sock=listener)
            say(f"listening on {path}")
            async with server:
                await server.serve_forever()
        finally:
            if not given:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def words_of(path, name, prefix=""):
    """The file of tokens and what it has; else that of the state's folder, which is made where it is missing."""
    if not path and not record.state_folder():
        fail("there is no HOME, and so no place for tokens: give --token-file FILE")
    path = path or os.path.join(record.state_folder(), name)
    try:
        return path, tokens.tokens_of(path, prefix)
    except tokens.BadFile as problem:
        fail(f"--token-file {path}: {problem}")


def of_tls(path):
    """For a server of https, by a file with a key and its certificates; None without one."""
    if not path:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        with tokens.private(path) as file:  # a key with a passphrase is not asked for one
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password=lambda: b"")
    except tokens.BadFile as problem:
        fail(f"--tls {path}: {problem}")
    except ssl.SSLError as problem:
        fail(f"--tls {path}: it must have a key without a passphrase and its certificate, both as PEM "
             f"({problem.reason})")
    except OSError as problem:
        fail(f"--tls {path}: {problem.strerror}")
    return context


def inherited():
    """The listening socket that a socket unit of systemd's has passed on: sd_listen_fds(3). Its mode and
    group say who may connect."""
    count, pid = os.environ.pop("LISTEN_FDS", "0"), os.environ.pop("LISTEN_PID", "")
    if pid != str(os.getpid()) or count == "0":
        fail("--listen systemd: no socket was passed on; start stepjail-mcp.socket, or give a path")
    listener = socket.socket(fileno=3)
    if count != "1" or (listener.family, listener.type) != (socket.AF_UNIX, socket.SOCK_STREAM) or \
            not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        fail(f"--listen systemd: {count} sockets were passed on, or another kind: give one ListenStream=/PATH")
    listener.set_inheritable(False)
    return listener


def bound_port(option, address, port):
    """A socket that listens, before anything is said or made."""
    try:
        return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                                    backlog=128)
    except OSError as problem:
        fail(f"{option} {address}:{port}: {os.strerror(problem.errno)}; port 0 is a free one")


def bound(path):
    """A listening socket that its owner alone can open. One that nobody listens on is replaced."""
    listener = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            with socket.socket(socket.AF_UNIX) as other:
                try:
                    other.connect(path)
                except ConnectionRefusedError:
                    os.unlink(path)
    before = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen(16)
    except OSError as problem:
        fail(f"--listen {path}: {problem.strerror}")
    finally:
        os.umask(before)
    return listener


async def behind(first, lines):
    yield first
    async for line in lines:
        yield line


async def drained(writer, data):
    writer.write(data)
    await writer.drain()


async def stream_lines(reader, held, owner):
    """Lines, of which one that is too long comes as a part. HELD[OWNER] counts what of them is not taken."""
    more = True
    while more:
        line, whole = bytearray(), False
        try:
            while more and not whole and len(line) <= LINE_MAX:
                try:
                    part, whole = await reader.readuntil(), True
                except asyncio.IncompleteReadError as end:
                    part, more = end.partial, False
                except asyncio.LimitOverrunError as over:
                    part = await reader.readexactly(over.consumed)
                if held[owner] + len(part) > LINES_MAX:
                    raise Problem(INVALID, f"a user's messages that have not come whole have at most {LINES_MAX} "
                                  "bytes, of all connections")
                held[owner] += len(part)
                line += part
            if line:
                yield bytes(line)
        finally:
            held[owner] -= len(line)


async def lines_of(file):
    """Lines of any kind of file, read by a thread: an event loop does not wait for a regular one."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue(4)

    def read():
        with contextlib.suppress(RuntimeError):  # the loop has ended
            while True:
                line = file.readline(LINE_MAX + 1)
                asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()
                if not line:
                    return

    threading.Thread(target=read, daemon=True).start()
    while line := await queue.get():
        yield line


def write_all(data):
    while data:
        data = data[os.write(1, data):]
