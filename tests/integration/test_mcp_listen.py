#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp_listen.py - stepjail-mcp on a unix socket: many clients"""
import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_scene import MCP  # noqa: E402
from test_mcp import PATIENCE, Case, Client  # noqa: E402


class Listening(Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.path = os.path.join(self.folder, "socket")
        self.server = self.start("--listen", self.path, "--sessions", "4")
        self.assertIn(b"listening", self.server.process.stderr.readline())

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.path)
        self.addCleanup(connection.close)
        client = Client(connection.fileno(), connection.fileno())
        client.socket = connection
        return client

    def stop(self):
        self.server.process.terminate()
        self.assertEqual(self.server.process.wait(), 0)

    def test_clients_have_sessions_of_their_own(self):
        one, two = self.connect(), self.connect()
        session = one.good("python", code="x = 1")["session"]
        self.assertIn("no such session", two.bad("python", session=session, code="x"))
        self.assertEqual(two.good("list_sessions")["sessions"], [])
        one.socket.close()
        self.assertEqual(two.good("python", code="1")["result"], "1")
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
        self.stop()
        self.assertFalse(os.path.exists(self.path))

    def test_a_client_that_does_not_read_delays_nobody(self):
        slow, other = self.connect(), self.connect()
        for _ in range(30):
            slow.ask("tools/call", name="python", arguments={"code": "print('x' * 60000)"})
        for _ in range(300):
            slow.ask("tools/list")
        for n in range(5):
            self.assertEqual(other.good("python", code=str(n))["result"], str(n))
            other.good("close_session", session=other.good("list_sessions")["sessions"][0]["session"])
        self.stop()

    def refusal(self, client):
        """The one line with which the server ends a connection."""
        with client.socket.makefile("rb") as file:
            line = json.loads(file.readline())
            with contextlib.suppress(ConnectionResetError):  # what had come of it was not read
                self.assertEqual(file.read(), b"")
        return line["error"]["message"]

    def test_a_user_has_so_many_connections(self):
        clients = [self.connect() for _ in range(64)]
        self.assertEqual(clients[-1].good("list_sessions")["sessions"], [])
        self.assertIn("at most 64 connections", self.refusal(self.connect()))
        clients.pop().socket.close()
        while True:  # its end is heard of by and by
            client = self.connect()
            with contextlib.suppress(BrokenPipeError):
                client.ask("tools/list")
            with client.socket.makefile("rb") as file:
                if "result" in json.loads(file.readline()):
                    break
        self.assertEqual(clients[0].good("list_sessions")["sessions"], [])
        self.stop()

    def test_half_sent_messages_have_a_bound(self):
        half = b" " * (15 << 20)
        clients = [self.connect() for _ in range(5)]
        for client in clients:
            client.socket.settimeout(60)
            with contextlib.suppress(ConnectionError):  # whoever is the one too many
                client.socket.sendall(half)
        refused = select.select([client.socket for client in clients], [], [], PATIENCE)[0]
        self.assertEqual(len(refused), 1)
        refused = next(client for client in clients if client.socket in refused)
        self.assertIn("have not come whole have at most 67108864 bytes", self.refusal(refused))
        with open(f"/proc/{self.server.process.pid}/status") as file:
            most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
        self.assertLess(most, 300 << 10)  # 1 GiB and more without the bound, by 64 connections
        for client in clients:
            if client is not refused:
                client.socket.sendall(b"\n")
                self.assertEqual(client.good("list_sessions")["sessions"], [])
        self.stop()

    def test_a_path_that_is_in_use(self):
        done = subprocess.run([MCP, "--listen", self.path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn("Address already in use", done.stderr)
        self.server.process.kill()
        self.server.process.wait()
        again = self.start("--listen", self.path)  # nobody listens on what is left there
        self.assertIn(b"listening", again.process.stderr.readline())
        self.assertEqual(self.connect().good("python", code="1")["result"], "1")
        again.process.terminate()
        self.assertEqual(again.process.wait(), 0)

    @unittest.skipIf(os.geteuid(), "needs root, to be another user")
    def test_other_users_are_turned_away(self):
        os.chmod(self.path, 0o666)
        code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(1))"
        done = subprocess.run(["setpriv", "--reuid=65533", "--clear-groups", sys.executable, "-c", code, self.path],
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, "b''\n", done.stderr)
        self.assertIn(b"a client of user 65533", self.server.process.stderr.readline())
        self.stop()


class Activated(Case):
    """By a socket of whoever starts the server, as systemd passes it on: sd_listen_fds(3)."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.path = os.path.join(self.folder, "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen()

    def activate(self, count=1, kind=None):
        """The pid is the server's own, so the shell that becomes it says it."""
        passed = (kind or self.listener).fileno()
        server = subprocess.Popen(["sh", "-c", f'LISTEN_PID=$$ exec "$0" --listen systemd 3<&{passed}', MCP],
                                  env={**os.environ, "LISTEN_FDS": str(count)}, pass_fds=[passed],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server

    def refused(self, server, said):
        _, err = server.communicate()
        self.assertEqual(server.returncode, 125)
        self.assertRegex(err.decode(), rf"\Astepjail-mcp: --listen systemd: .*{said}.*\n\Z")

    def test_one_after_the_other(self):
        """A server that ends leaves the socket to the next one, and who connects meanwhile waits."""
        for n in range(2):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(self.path)
                server = self.activate()
                client = Client(connection.fileno(), connection.fileno())
                self.assertEqual(client.good("python", code=f"{n} + 1")["result"], str(n + 1))
            server.terminate()
            self.assertEqual(server.wait(), 0)
            self.assertTrue(os.path.exists(self.path))

    @unittest.skipIf(os.geteuid(), "needs root, to be another user")
    def test_the_mode_says_who_may(self):
        os.chmod(self.path, 0o666)
        self.activate()
        code = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                "s.sendall(b'{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}\\n'); print(s.recv(99))")
        done = subprocess.run(["setpriv", "--reuid=65533", "--clear-groups", sys.executable, "-c", code, self.path],
                              capture_output=True, text=True)
        self.assertIn('"id": 7', done.stdout, done.stderr)

    def test_what_is_no_such_socket(self):
        alone = subprocess.Popen([MCP, "--listen", "systemd"], stderr=subprocess.PIPE)
        self.addCleanup(alone.stderr.close)
        self.refused(alone, "no socket was passed on")
        self.refused(self.activate(2), "2 sockets")
        for kind in (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX),
                     socket.socket(socket.AF_INET)):
            with kind:
                self.refused(self.activate(1, kind), "another kind")


if __name__ == "__main__":
    unittest.main()
