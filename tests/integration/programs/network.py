# Programs for test_documentation.py, after the library reference on tasks, sockets and the web.
# %% coroutines
import asyncio
import contextvars


async def boil(what, ticks):
    for _ in range(ticks):
        await asyncio.sleep(0)
    return f"{what} done"


async def main():
    print(await boil("egg", 1))
    task = asyncio.create_task(boil("tea", 5), name="kettle")
    print(task.get_name(), task.done())
    print(await asyncio.gather(boil("a", 3), boil("b", 1), task))
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(3600)
    except TimeoutError:
        print("too slow")
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    except asyncio.TimeoutError:
        print("waited")
    sleeper = asyncio.create_task(asyncio.sleep(3600))
    await asyncio.sleep(0)
    sleeper.cancel("enough")
    try:
        await sleeper
    except asyncio.CancelledError as problem:
        print("cancelled", problem)
    done = await asyncio.gather(boil("c", 1), asyncio.wait_for(asyncio.sleep(9), 0), return_exceptions=True)
    print(done[0], type(done[1]).__name__)


asyncio.run(main())


async def produce(queue, n):
    for item in range(n):
        await queue.put(item)
    await queue.join()


async def consume(queue, got):
    while True:
        got.append(await queue.get())
        queue.task_done()


async def market():
    queue, got = asyncio.Queue(2), []
    eaters = [asyncio.create_task(consume(queue, got)) for _ in range(3)]
    await produce(queue, 7)
    for eater in eaters:
        eater.cancel()
    print(sorted(got), [type(one).__name__ for one in await asyncio.gather(*eaters, return_exceptions=True)])
    async with asyncio.TaskGroup() as group:
        one, two = group.create_task(boil("x", 2)), group.create_task(boil("y", 1))
    print(one.result(), two.result())
    lock, order = asyncio.Lock(), []

    async def hold(name):
        async with lock:
            order.append(name)
            await asyncio.sleep(0)
            order.append(name)
    await asyncio.gather(*map(hold, "pq"))
    print(order, [await next_done for next_done in asyncio.as_completed([boil("z", 1)])])


asyncio.run(market())


class Clock:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        await asyncio.sleep(0)
        return self.n

    async def __aenter__(self):
        print("wound")
        return self

    async def __aexit__(self, *problem):
        print("stopped")


async def letters():
    try:
        for letter in "abc":
            yield letter
            await asyncio.sleep(0)
    finally:
        print("letters end")


who = contextvars.ContextVar("who", default="nobody")


async def set_who(name):
    who.set(name)
    await asyncio.sleep(0)
    return who.get()


async def several():
    async with Clock(3) as clock:
        print([tick async for tick in clock], [x async for x in letters() if x != "b"])
    async for letter in letters():
        print(letter)
        break
    print(await asyncio.gather(set_who("a"), set_who("b")), who.get())
    loop, rang = asyncio.get_running_loop(), asyncio.Event()
    loop.call_soon(print, "soon")
    loop.call_later(0.001, rang.set)
    await rang.wait()
    future = loop.create_future()
    loop.call_soon(future.set_result, 5)
    print(await future, asyncio.current_task() in asyncio.all_tasks())
    await asyncio.shield(boil("safe", 1))


asyncio.run(several())
loop = asyncio.new_event_loop()
print(loop.run_until_complete(boil("own", 2)), loop.is_running())
print(loop.run_until_complete(boil("again", 2)))
loop.close()
with asyncio.Runner() as runner:
    print(runner.run(boil("one", 1)), runner.run(boil("two", 1)))
print(contextvars.copy_context().run(lambda: (who.set("in"), who.get())[1]), who.get())
try:
    asyncio.run(boil)
except ValueError as problem:
    print(str(problem).partition(" 0x")[0])
# %% streams once
import asyncio
import socket
import threading


async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line.strip()[::-1] + b"\n")
        await writer.drain()
    writer.close()


async def ask(port, *words):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers = []
    for word in words:
        writer.write(word + b"\n")
        answers.append(await reader.readuntil(b"\n"))
    writer.write_eof()
    rest = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answers, rest


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        print(await ask(port, b"tide", b"moon"))
        print(await asyncio.gather(ask(port, b"one"), ask(port, b"two")))
        print(await asyncio.to_thread(lambda: threading.current_thread() is threading.main_thread()))
        loop = asyncio.get_running_loop()
        print(await loop.run_in_executor(None, sum, [1, 2, 3]))
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.sendall(b"raw")
    print(await loop.sock_recv(ours, 10))
    ours.close()
    theirs.close()


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, where):
        self.transport.sendto(data * 2, where)


class Asks(asyncio.DatagramProtocol):
    def __init__(self):
        self.got = asyncio.get_running_loop().create_future()

    def datagram_received(self, data, where):
        self.got.set_result(data)


async def packets():
    loop = asyncio.get_running_loop()
    echo, _ = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", 0))
    transport, asks = await loop.create_datagram_endpoint(Asks, remote_addr=echo.get_extra_info("sockname"))
    transport.sendto(b"hi")
    print(await asks.got)
    transport.close()
    echo.close()
    await asyncio.sleep(0)


asyncio.run(main())
asyncio.run(packets())
asyncio.run(main())
kept = asyncio.new_event_loop()
server = kept.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0))
port = server.sockets[0].getsockname()[1]
print(kept.run_until_complete(ask(port, b"kept")))
print(kept.run_until_complete(kept.run_in_executor(None, str.upper, "executor")))
print(kept.run_until_complete(kept.run_in_executor(None, str.upper, "again")))
server.close()
kept.run_until_complete(server.wait_closed())
kept.run_until_complete(kept.shutdown_default_executor())
kept.close()
# %% sockets once
# the state before a step has the step's sockets open, too, until it is given up: a socket that an earlier step has made
# comes to its end by shutdown(), and not by close()
import select
import selectors
import socket
import socketserver
import struct
import threading

left, right = socket.socketpair()
left.sendall(b"over there")
print(right.recv(4), right.recv(100))


def to_its_end():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"the last")
        ours.close()
        print(theirs.recv(100), theirs.recv(1))


to_its_end()
left.shutdown(socket.SHUT_RDWR)
print(right.recv(1))
left.close()
right.close()
server = socket.create_server(("127.0.0.1", 0))
address = server.getsockname()


def answer():
    connection, _ = server.accept()
    with connection, connection.makefile("rwb") as stream:
        for line in stream:
            stream.write(struct.pack("!H", len(line)) + line.upper())
            stream.flush()


thread = threading.Thread(target=answer)
thread.start()
with socket.create_connection(address, timeout=30) as client:
    client.sendall(b"first\n")
    length, = struct.unpack("!H", client.recv(2, socket.MSG_WAITALL))
    print(length, client.recv(length, socket.MSG_WAITALL), client.getpeername() == address)
    client.shutdown(socket.SHUT_WR)
    print(client.recv(10))
thread.join()
server.close()
one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.send(b"packet")
print(select.select([two], [], [], 30)[0] == [two], two.recvfrom(100)[0], select.select([two], [], [], 0))
chooser = selectors.DefaultSelector()
chooser.register(two, selectors.EVENT_READ, data="two")
print(chooser.select(timeout=0))
one.send(b"more")
print([(key.data, key.fileobj.recv(9)) for key, events in chooser.select(timeout=30)])
chooser.unregister(two)
chooser.close()
poll = select.poll()
poll.register(one, select.POLLOUT)
print(len(poll.poll(1000)))
two.settimeout(0.01)
for wrong in lambda: two.recv(1), lambda: socket.create_connection(("127.0.0.1", 1)), lambda: one.bind(5):
    try:
        wrong()
    except (TimeoutError, ConnectionRefusedError, TypeError) as problem:
        print(type(problem).__name__)
one.close()
two.close()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
udp.sendto(b"self", udp.getsockname())
print(udp.recv(9), udp.family.name, udp.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == udp.type)
udp.close()


class Upper(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline().upper())


with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Upper) as serving:
    runs = threading.Thread(target=serving.serve_forever, args=(0.01,))
    runs.start()
    for word in b"tar\n", b"rope\n":
        with socket.create_connection(serving.server_address) as client:
            client.sendall(word)
            print(client.makefile().readline())
    serving.shutdown()
    runs.join()
print(socket.inet_aton("127.0.0.1"), socket.htons(1) == 256, socket.inet_ntop(socket.AF_INET6, bytes(15) + b"\1"))
# %% web once
# that nobody listens any more shows in the step that has made the server, for the reason that `sockets` has
import http.client
import http.server
import json
import threading
import urllib.error
import urllib.request
import xmlrpc.client
import xmlrpc.server
from urllib.parse import parse_qs, urlsplit


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urlsplit(self.path)
        if asked.path == "/gone":
            return self.send_error(404)
        self.reply({"path": asked.path, "query": parse_qs(asked.query), "agent": self.headers["X-Ship"]})

    def do_POST(self):
        self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"])))[::-1])

    def reply(self, thing):
        data = json.dumps(thing).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
thread = threading.Thread(target=server.serve_forever, args=(0.01,))
thread.start()
here = f"http://127.0.0.1:{server.server_port}"
asking = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with asking.open(urllib.request.Request(here + "/a?x=1&x=2&y=%C3%A9", headers={"X-Ship": "Anna"})) as page:
    print(page.status, page.headers["Content-Length"], json.load(page))
try:
    asking.open(here + "/gone")
except urllib.error.HTTPError as problem:
    print(problem, problem.code)
print(asking.open(here, data=b"[1, 2, 3]").read())
connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
connection.request("GET", "/kept")
reply = connection.getresponse()
print(reply.status, reply.reason, json.loads(reply.read())["path"])
connection.close()
server.shutdown()
thread.join()
server.server_close()
with xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False, allow_none=True) as calls:
    calls.register_function(lambda a, b: a + b, "add")
    once = threading.Thread(target=calls.handle_request)
    once.start()
    print(xmlrpc.client.ServerProxy(f"http://127.0.0.1:{calls.server_address[1]}").add(2, 3))
    once.join()


def nobody_listens():
    server = http.server.HTTPServer(("127.0.0.1", 0), Pages)
    server.server_close()
    try:
        asking.open(f"http://127.0.0.1:{server.server_port}", timeout=30)
    except urllib.error.URLError as problem:
        print(problem.reason.strerror)


nobody_listens()
