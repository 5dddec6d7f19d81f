# SPDX-License-Identifier: MIT
"""egress_scene.py - what the tests of --allow-host share: servers on loopback, a jail's raw bytes
to its proxy, and a proxy that believes everything"""
import contextlib
import http.server
import json
import socket
import socketserver
import threading

PORT = 3128  # of the proxy, in each jail

# in a jail: send the bytes of each row of a file to the proxy, and print what came
RAW = """
import json, socket
told = []
for name, sent, wait in json.load(open("/rows")):
    with socket.create_connection(("127.0.0.1", 3128)) as s:
        s.settimeout(wait)
        got = b""
        try:
            s.sendall(sent.encode("latin-1"))
            while got.count(b"\\n") < 100 and len(got) < 65536 and (piece := s.recv(65536)):
                got += piece
        except OSError as e:
            got += ("<%s>" % type(e).__name__).encode()
        told.append((name, got.decode("latin-1")))
print(json.dumps(told))
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.server.asked.append({"method": self.command, "path": self.path, "body": len(body),
                                  "headers": self.headers.items()})
        status, headers, data = self.server.answers.get(self.path, (200, {}, b"hello\n"))
        if callable(data):
            data(self)
            return
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_CONNECT = do_EVIL = reply

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """On loopback, or where the test says; what it was asked is in asked."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address=("127.0.0.1", 0), context=None):
        self.asked, self.answers = [], {}
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def end(self):
        self.shutdown()
        self.server_close()


class Origin:
    """Keeps each byte that comes, a connection each in came, and answers a head with itself, as TRACE
    does, or with what the test says. It reads on until nothing more can come."""

    def __init__(self, address=("127.0.0.1", 0), context=None, answer=None):
        self.came, self.changed, self.answer, self.context = [], threading.Condition(), answer, context
        self.socket = socket.create_server(address, backlog=128)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):  # it has been ended
            while True:
                one, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        with contextlib.suppress(OSError), one:
            if self.context:
                one = self.context.wrap_socket(one, server_side=True)
            with self.changed:
                at = len(self.came)
                self.came.append(b"")
            head = b""
            while b"\r\n\r\n" not in head and (piece := one.recv(65536)):
                head += piece
                self.keep(at, piece)
                if self.answer and (answer := self.answer(head)):
                    one.sendall(answer)
            if not self.answer:
                one.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + head)
            if self.context:
                one.unwrap()
            else:
                one.shutdown(socket.SHUT_WR)
            while piece := one.recv(65536):
                self.keep(at, piece)

    def keep(self, at, piece):
        with self.changed:
            self.came[at] += piece
            self.changed.notify_all()

    def wait(self, check):
        """What came, once it is so."""
        with self.changed:
            self.changed.wait_for(lambda: check(self.came), 30)
            return list(self.came)

    def end(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Naive(socketserver.StreamRequestHandler):
    """Connects to whatever the first line or the last Host names, and passes all bytes on."""

    def handle(self):
        head = self.rfile.readline(65536)
        method, _, rest = head.decode("latin-1").partition(" ")
        target = rest.split(" ")[0].split("\0")[0]
        while (line := self.rfile.readline(65536)).strip():
            head += line
        head += line
        place = target if method == "CONNECT" else target.split("://", 1)[-1].split("/")[0]
        place = place.rsplit("@", 1)[-1]
        host, _, port = place.rpartition(":")
        host = host.strip("[]").rstrip(".")
        if host in ("127.1", "2130706433", "0x7f000001", "0177.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1"):
            host = "127.0.0.1"  # as getaddrinfo(3) has them, or the kernel
        with contextlib.suppress(OSError, ValueError):
            with socket.create_connection((host or place, int(port or 80)), timeout=5) as server:
                if method == "CONNECT":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    server.sendall(head)
                threads = [threading.Thread(target=self.copy, args=pair) for pair in
                           ((self.connection, server, self.rfile), (server, self.connection, None))]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

    @staticmethod
    def copy(source, to, buffered):
        source.settimeout(2)
        with contextlib.suppress(OSError):
            while piece := buffered.read1(65536) if buffered else source.recv(65536):
                to.sendall(piece)


@contextlib.contextmanager
def naive_proxy():
    class Threads(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True
    with Threads(("127.0.0.1", 0), Naive) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy.server_address[1]
        proxy.shutdown()


# every way out that is not the proxy's, each tried once: four have no route, two nobody who listens
BYPASS = """
import socket
def send(family, to):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", to)
def connect(family, to):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.connect(to)
def tried(how, family, *to):
    try:
        how(family, to)
    except OSError as e:
        return e.errno
def bypass():
    far = [tried(how, *to) for how in (send, connect)
           for to in ((socket.AF_INET, "8.8.8.8", 53), (socket.AF_INET6, "2001:4860:4860::8888", 53))]
    return far, tried(send, socket.AF_INET, "127.0.0.1", 53), tried(send, socket.AF_INET6, "::1", 53)
"""


def send_raw(port, sent, wait=2):
    """As RAW does, to a proxy outside."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(wait)
        got = b""
        with contextlib.suppress(OSError):
            s.sendall(sent.encode("latin-1"))
            while got.count(b"\n") < 100 and len(got) < 65536 and (piece := s.recv(65536)):
                got += piece
    return got.decode("latin-1")


def rows_of(done):
    """{(host, port, why): times} of a report."""
    return {(row["host"], row["port"], row["why"]): row["times"]
            for row in done.report["egress"]["hosts"]}


def dump(rows, wait=5):
    return json.dumps([(name, sent, wait) for name, sent in rows.items()])
