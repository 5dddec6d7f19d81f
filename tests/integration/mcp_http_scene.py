# SPDX-License-Identifier: MIT
"""mcp_http_scene.py - what tests of stepjail-mcp over HTTP share: a server, requests of both eras"""
import http.client
import json
import os
import re
import shutil
import socket
import tempfile

from test_mcp import MODERN, PATIENCE, Case

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
LOOP = "import time\nprint('running', flush=True)\nwhile True: pass"


def events(answer):
    """Messages of a stream, as they come."""
    while line := answer.readline():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


class Web(Case):
    options = ()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.tokens = os.path.join(self.folder, "tokens")
        self.words = ["token-of-the-first-client", "token-of-the-second-client"]
        self.write_tokens("\n".join(self.words))
        self.number = 0
        self.serve("--token-file", self.tokens, *self.options)

    def write_tokens(self, text, mode=0o600):
        with open(self.tokens, "w") as file:
            file.write(text)
        os.chmod(self.tokens, mode)

    def serve(self, *options, address="0"):
        self.server = self.start("--http", address, *options).process
        self.assertIn(b"clients need a token of ", self.server.stderr.readline())
        said = self.server.stderr.readline().decode()
        self.host, self.port = re.search(r"listening on http://(.*):(\d+)/mcp$", said).groups()

    def connect(self):
        connection = http.client.HTTPConnection(self.host.strip("[]"), int(self.port), timeout=PATIENCE)
        self.addCleanup(connection.close)
        return connection

    def send(self, message, headers=None, *, client=0, on=None, method="POST", path="/mcp"):
        """A response that is not read yet."""
        connection = on or self.connect()
        body = message if isinstance(message, (bytes, type(None))) else json.dumps(message)
        headers = {**JSON, "Authorization": f"Bearer {self.words[client]}", **(headers or {})}
        connection.request(method, path, body, {name: value for name, value in headers.items() if value is not None})
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def message(self, method, **params):
        self.number += 1
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}

    def modern(self, method, headers=None, meta=None, **params):
        """A message of 2026-07-28 and its headers."""
        message = self.message(method, **params, _meta=meta or MODERN)
        mirrored = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": params.get("name")}
        return message, {**mirrored, **(headers or {})}

    def ask(self, *arguments, **options):
        """Status and JSON of an answer that is whole."""
        answer = self.send(*arguments, **options)
        data = answer.read()
        return answer.status, json.loads(data) if data else None

    def call(self, name, *, client=0, **arguments):
        status, said = self.ask(*self.modern("tools/call", name=name, arguments=arguments), client=client)
        self.assertEqual(status, 200, said)
        return said["result"]

    def good(self, name, **arguments):
        result = self.call(name, **arguments)
        self.assertFalse(result["isError"], result)
        return result["structuredContent"]

    def raw(self, data):
        """What comes of bytes, to the end."""
        connection = socket.create_connection((self.host.strip("[]"), int(self.port)), PATIENCE)
        self.addCleanup(connection.close)
        connection.sendall(data)
        got = b""
        while more := connection.recv(1 << 16):
            got += more
        return got

    def begin(self):
        """Headers of a session of the older era."""
        answer = self.send(self.message("initialize", protocolVersion="2025-11-25", capabilities={}))
        self.assertEqual(json.load(answer)["result"]["protocolVersion"], "2025-11-25")
        session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
        answer = self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        self.assertEqual((answer.status, answer.read()), (202, b""))
        return session

    def stop(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(), 0, self.server.stderr.read())
        self.assertEqual(self.server.stderr.read(), b"")
