# SPDX-License-Identifier: MIT
"""ways_scene.py - what the tests of --tests share: WaysCase, a task and its tests"""
import http.server
import json
import os
import threading

from agent_scene import BUILD, AgentCase

STEPJAIL = os.path.join(BUILD, "stepjail")
ALLOW = ["--allow-missing", "cgroup"] \
    if "allow-missing=cgroup" in os.environ.get("STEPJAIL_RUN", "") else []
TESTS = """import unittest
from solution import add


class Add(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(2, 3), 5)

    def test_negative(self):
        assert add(-1, 1) == 0
"""
RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return 9\n"


class WaysCase(AgentCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)  # the jail, of other ids than root, is to reach the tests

    def way(self, *args, **how):
        status, out, err = self.solve("--json", *ALLOW, *args, stepjail=STEPJAIL, **how)
        return status, json.loads(out) if out else None, err

    def shown(self, *args):
        return self.solve(*ALLOW, *args, stepjail=STEPJAIL)

    def last_line(self, err, *words):
        self.one_line(err.splitlines(True)[-1], *words)

    def events(self, name):
        with open(self.path(name)) as f:
            return [json.loads(line) for line in f]


def writes(files):
    """Code of a step that makes these files in the folder it runs in."""
    return (f"import os\nfor name, text in {files!r}.items():\n"
            "    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)\n"
            "    with open(name, 'w') as f:\n        f.write(text)\n")


class Changing:
    """A server of chat completions whose answers a function makes, of their number."""

    def __init__(self, answers):
        class Handler(http.server.BaseHTTPRequestHandler):
            count = 0

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                said = answers(Handler.count)
                Handler.count += 1
                if isinstance(said, str):
                    said = {"content": said}
                body = json.dumps({"choices": [{"message": {"role": "assistant", **said},
                                                "finish_reason": "stop"}]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
