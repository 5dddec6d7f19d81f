# SPDX-License-Identifier: MIT
"""e2b_scene.py - what tests of stepjail-mcp --e2b share: a server, and requests as E2B's SDKs send them"""
import http.client
import json
import os
import re
import shutil
import struct
import tempfile

from test_mcp import PATIENCE, Case

KEYS = "e2b_of-the-first-client", "e2b_of-the-second-client"
JSON, STREAM = "application/json", "application/connect+json"


class Answer:
    def __init__(self, response):
        self.status, self.reason, self.headers = response.status, response.reason, response.headers
        self.data = response.read()

    def json(self):
        return json.loads(self.data)


class Scene(Case):
    options, jail = (), ()
    scheme = "http"

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, folder)
        keys = os.path.join(folder, "keys")
        with open(keys, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("\n".join(KEYS))
        self.server = self.start("--e2b", "0", "--token-file", keys, *self.options, "--", *self.jail).process
        self.assertIn(b"as E2B_API_KEY", self.server.stderr.readline())
        said = self.server.stderr.readline().decode()
        self.port = int(re.search(rf"listening on {self.scheme}://127.0.0.1:(\d+)$", said)[1])

    def tearDown(self):
        self.server.terminate()
        self.assertEqual((self.server.wait(), self.server.stderr.read()), (0, b""))

    def send(self, method, path, body=None, headers=()):
        """A response that is not read yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = {"Content-Type": JSON, **dict(headers)}
        connection.request(method, path, data, {name: word for name, word in headers.items() if word is not None})
        self.connection = connection
        return connection.getresponse()

    def api(self, method, path, body=None, key=0):
        return Answer(self.send(method, path, body, {"X-API-Key": KEYS[key]}))

    def create(self, **body):
        made = self.api("POST", "/v2/sandboxes", {"templateID": "code-interpreter-v1", **body})
        self.assertEqual(made.status, 201, made.data)
        return made.json()

    @staticmethod
    def of(sandbox, **more):
        return {"E2b-Sandbox-Id": sandbox["sandboxID"], "X-Access-Token": sandbox["envdAccessToken"], **more}

    def ask(self, sandbox, method, path, body=None, **more):
        return Answer(self.send(method, path, body, self.of(sandbox, **more)))

    def execute(self, sandbox, code, **body):
        """Lines of the answer, by their types."""
        done = self.ask(sandbox, "POST", "/execute", {"code": code, **body})
        self.assertEqual(done.status, 200, done.reason)
        found = {}
        for line in done.data.splitlines():
            one = json.loads(line)
            found.setdefault(one.pop("type"), []).append(one)
        return found

    def value(self, sandbox, code, **body):
        return self.execute(sandbox, code, **body)["result"][0]["text"]

    def call(self, sandbox, name, body, status=200):
        done = self.ask(sandbox, "POST", f"/filesystem.Filesystem/{name}", body, **{"Connect-Protocol-Version": "1"})
        self.assertEqual(done.status, status, done.data)
        return done.json()

    @staticmethod
    def framed(body):
        data = json.dumps(body).encode()
        return struct.pack(">BI", 0, len(data)) + data

    def stream(self, sandbox, path, body, **more):
        """Messages of a stream, the last of which ends it."""
        done = self.ask(sandbox, "POST", path, self.framed(body), **{"Content-Type": STREAM, **more})
        self.assertEqual((done.status, done.headers["Content-Type"]), (200, STREAM), done.data)
        found, at = [], 0
        while at < len(done.data):
            flags, size = struct.unpack_from(">BI", done.data, at)
            found.append((flags, json.loads(done.data[at + 5:at + 5 + size])))
            at += 5 + size
        self.assertEqual([flags for flags, _ in found], [0] * (len(found) - 1) + [2])
        return [message for _, message in found]
