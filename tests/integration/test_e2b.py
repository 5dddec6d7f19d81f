#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_e2b.py - stepjail-mcp --e2b: sandboxes and their contexts

The SDKs' requests are written down as they send them: paths, headers, encodings. tests/interop runs the SDK itself.
"""
import base64
import http.client
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2b_scene import Scene  # noqa: E402
from python_scene import BUILD  # noqa: E402


class Sandboxes(Scene):
    options = "--sessions", "2"

    def test_a_sandboxs_life(self):
        made = self.create(metadata={"user": "a b"}, envVars={"ONE": "1"}, timeout=60)
        number = made["sandboxID"]
        self.assertRegex(number, "^[a-z0-9]{20,}$")
        self.assertEqual(self.ask(made, "GET", "/health").status, 204)
        found = self.api("GET", f"/sandboxes/{number}").json()
        self.assertEqual((found["state"], found["metadata"], found["memoryMB"]), ("running", {"user": "a b"}, 512))
        other = self.create()
        for query, numbers in (("", {number, other["sandboxID"]}), ("?metadata=user%3Da%2520b", {number}),
                               ("?metadata=user%3Db", set()), ("?state=paused", set()),
                               ("?state=running%2Cpaused", {number, other["sandboxID"]})):
            self.assertEqual({one["sandboxID"] for one in self.api("GET", "/v2/sandboxes" + query).json()}, numbers)
        page = self.api("GET", "/v2/sandboxes?limit=1")
        self.assertEqual((len(page.json()), page.headers["X-Next-Token"]), (1, "1"))
        page = self.api("GET", "/v2/sandboxes?limit=1&nextToken=1")
        self.assertEqual((len(page.json()), page.headers["X-Next-Token"]), (1, None))
        full = self.api("POST", "/sandboxes", {"templateID": "base"})
        self.assertEqual((full.status, "--sessions" in full.json()["message"]), (429, True))

        self.assertEqual(self.value(made, "import os; os.environ['ONE']"), "'1'")
        again = self.api("POST", f"/v2/sandboxes/{number}/connect", {"timeout": 300})
        self.assertEqual(again.json(), made)
        self.assertGreater(self.api("GET", f"/sandboxes/{number}").json()["endAt"], found["endAt"])
        self.assertEqual(self.api("POST", f"/sandboxes/{number}/timeout", {"timeout": 30}).status, 204)
        self.assertLess(self.api("GET", f"/sandboxes/{number}").json()["endAt"], found["endAt"])
        self.assertEqual([self.api("DELETE", f"/sandboxes/{number}").status for _ in range(2)], [204, 404])
        self.assertEqual(self.ask(made, "GET", "/health").status, 502)
        gone = self.ask(made, "POST", "/execute", {"code": "1"})
        self.assertEqual((gone.status, "it has ended" in gone.data.decode()), (502, True))

    def test_it_ends_at_its_time_though_code_runs(self):
        sandbox = self.create()
        running = self.send("POST", "/execute", {"code": "print(1, flush=True)\nwhile True: pass"}, self.of(sandbox))
        self.assertIn(b"stdout", running.readline())
        self.api("POST", f"/sandboxes/{sandbox['sandboxID']}/timeout", {"timeout": 0})
        with self.assertRaises(http.client.IncompleteRead) as raised:
            running.read()
        self.assertIn(b'"error"', raised.exception.partial)
        while self.ask(sandbox, "GET", "/health").status != 502:
            pass

    def test_another_keys_sandbox(self):
        sandbox = self.create()
        number = sandbox["sandboxID"]
        self.assertEqual(self.api("GET", "/v2/sandboxes", key=1).json(), [])
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/timeout"), ("POST", "/connect")):
            self.assertEqual(self.api(method, f"/sandboxes/{number}{path}", {} if method == "POST" else None,
                                      key=1).status, 404)
        self.assertEqual(self.value(sandbox, "6 * 7"), "42")

    def test_as_the_sdk_for_python_asks(self):
        """It says what it takes for granted, and has the older paths."""
        made = self.api("POST", "/sandboxes", {"templateID": "base", "metadata": {}, "timeout": 300, "envVars": {},
                                               "secure": True, "allow_internet_access": True, "autoPause": False})
        self.assertEqual(made.status, 201, made.data)
        number = made.json()["sandboxID"]
        again = self.api("POST", f"/sandboxes/{number}/connect", {"timeout": 300})
        self.assertEqual((again.status, again.json()), (200, made.json()))
        found, = self.api("GET", "/v2/sandboxes?limit=100&state=running").json()
        self.assertLessEqual({"clientID", "cpuCount", "diskSizeMB", "endAt", "envdVersion", "memoryMB", "sandboxID",
                              "startedAt", "state", "templateID"}, set(found))
        self.assertIs(found["allowInternetAccess"], False)

    def test_the_servers_end(self):
        """Code that runs is ended, and the sandbox's transcript has its end."""
        sandbox = self.create()
        running = self.send("POST", "/execute", {"code": "print(1, flush=True)\nwhile True: pass"}, self.of(sandbox))
        self.assertIn(b"stdout", running.readline())
        self.server.terminate()
        self.assertEqual(self.server.wait(), 0)
        folder = os.path.join(os.environ["XDG_STATE_HOME"], "stepjail/transcripts")
        name, = (name for name in os.listdir(folder) if f"-{self.server.pid}-" in name)
        done = subprocess.run([os.path.join(BUILD, "stepjail-agent"), "verify", os.path.join(folder, name)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(folder, name)) as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line["event"] for line in lines], ["start", "session", "code", "step", "end"])

    def test_what_there_is_not(self):
        sandbox = self.create()
        for method, path in (("POST", "/pause"), ("POST", "/snapshots"), ("POST", "/fork"), ("GET", "/metrics"),
                             ("PUT", "/network")):
            done = self.api(method, f"/sandboxes/{sandbox['sandboxID']}{path}", {})
            self.assertEqual((done.status, done.json()["code"]), (501, 501))
        for body, status, said in (({"templateID": "mine"}, 404, "there is no template"),
                                   ({"mcp": {"x": {}}}, 400, "MCP"), ({"timeout": -1}, 400, "timeout"),
                                   ({"timeout": 1e9}, 400, "timeout"),
                                   ({"network": {"denyOut": ["0.0.0.0/0"]}}, 400, "network"),
                                   ({"envVars": {"a=b": "c"}}, 400, "envVars"), ({"envVars": {"a": 5}}, 400, "envVars"),
                                   ({"metadata": []}, 400, "metadata"), ({"autoPause": True}, 400, "paused")):
            done = self.api("POST", "/v2/sandboxes", {"templateID": "base", **body})
            self.assertEqual(done.status, status, body)
            self.assertIn(said, done.json()["message"])


class Execute(Scene):
    def test_what_a_step_says(self):
        sandbox = self.create()
        said = self.execute(sandbox, "import sys\nx = 41\nprint('hello')\nprint('ü', file=sys.stderr)\nx + 1")
        self.assertEqual("".join(one["text"] for one in said["stdout"]), "hello\n")
        self.assertEqual("".join(one["text"] for one in said["stderr"]), "ü\n")
        self.assertEqual(said["result"], [{"text": "42", "is_main_result": True}])
        self.assertEqual(said["number_of_executions"], [{"execution_count": 1}])
        said = self.execute(sandbox, "display({'a': x}); None")
        self.assertEqual(said["result"], [{"text": "{'a': 41}", "is_main_result": False}])
        shown = ("class Shown:\n  def _repr_html_(self): return '<b>'\n  def _repr_svg_(self): return '<svg/>'\n"
                 "  def _repr_png_(self): return b'\\x89PNG'\n  def __repr__(self): return 'shown'\nShown()")
        self.assertEqual(self.execute(sandbox, shown)["result"], [{
            "text": "shown", "html": "<b>", "svg": "<svg/>", "png": base64.b64encode(b"\x89PNG").decode(),
            "is_main_result": True}])

    def test_json_of_a_jail(self):
        """Is JSON for every reader, and else text."""
        sandbox = self.create()
        many, deep = "[" + "[]," * 100000 + "1]", "[" * 200 + "]" * 200
        for said, told in (("[1, {\"a\": 2.5}]", [1, {"a": 2.5}]), ("[1e999, -1e999]", ["1e999", "-1e999"]),
                           ('["\\ud800"]', '["\\ud800"]'), ('["\\ud83d\\ude00"]', ["\U0001f600"]),
                           (many, many), (deep, deep)):
            self.execute(sandbox, f"class Shown:\n  def _repr_json_(self): return {said!r}")
            done = self.ask(sandbox, "POST", "/execute", {"code": "Shown()"})
            self.assertEqual(done.data.count(b"HTTP/1.1"), 0)
            lines = [json.loads(line, parse_constant=self.fail) for line in done.data.splitlines()]
            self.assertEqual(lines[-1]["type"], "number_of_executions")
            self.assertEqual([line.get("json") for line in lines if line["type"] == "result"], [told], said[:20])

    def test_errors(self):
        sandbox = self.create()
        odd = "a\\nTraceback (most recent call last):\\n  File b\\nKeyError: 5"
        for code, name, value in (("1 / 0", "ZeroDivisionError", "division by zero"),
                                  (f"raise ValueError('{odd}')", "ValueError", odd.replace("\\n", "\n")),
                                  ("class MyError(Exception): pass\nraise MyError", "MyError", ""),
                                  ("class E(Exception):\n  def __str__(self): return 'KeyError: x'\nraise E", "E",
                                   "KeyError: x"),
                                  ("class E(Exception):\n  def __str__(self): 1 / 0\nraise E", "E", ""),
                                  ("raise KeyError('a')", "KeyError", "'a'"), ("raise OSError('')", "OSError", ""),
                                  ("raise Exception('\\ud800\\0é')", "Exception", "\ufffd\0é"),
                                  ("raise ExceptionGroup('two', [ValueError(1), TypeError(2)])", "ExceptionGroup",
                                   "two (2 sub-exceptions)"),
                                  ("try: 1 / 0\nexcept Exception as e: raise RuntimeError('of it') from e",
                                   "RuntimeError", "of it"),
                                  ("import json; json.loads('')", "JSONDecodeError",
                                   "Expecting value: line 1 column 1 (char 0)"),
                                  ("x = (", "SyntaxError", "'(' was never closed"), ("exit(3)", "SystemExit", "3"),
                                  ("import os; os.kill(os.getpid(), 9)", "ProcessDied", None)):
            with self.subTest(code):
                error, = self.execute(sandbox, code)["error"]
                self.assertEqual(error["name"], name)
                if value is not None:
                    self.assertEqual(error["value"], value)
                self.assertTrue(error["traceback"])
        said = self.execute(sandbox, "raise ValueError('x' * 100000)")
        self.assertRegex(said["error"][0]["value"], r"^x{1000,}\.\.\.$")
        self.assertEqual(said["number_of_executions"], [{"execution_count": 15}])
        said = self.execute(sandbox, "import os; os.system('id')")
        self.assertIn("refused: execve", said["stderr"][0]["text"])

    def test_code_out_of_a_notebook(self):
        said = self.execute(self.create(), "%matplotlib inline\nfrom IPython.display import display, HTML\n"
                                           "!pip install requests\ndisplay(HTML('<b>x</b>'))\n6 * 7")
        self.assertNotIn("error", said)
        self.assertIn("requests: no tree of Stepjail has it", said["stderr"][0]["text"])
        self.assertEqual([one.get("html") for one in said["result"]], ["<b>x</b>", None])
        self.assertEqual(said["result"][1]["text"], "42")

    def test_output_that_is_cut(self):
        said = self.execute(self.create(), "print('x' * 100000, end='end')")["stdout"]
        text = "".join(one["text"] for one in said)
        self.assertIn("bytes left out]", text)
        self.assertTrue(text.endswith("end"))

    def test_environment_of_a_step(self):
        sandbox = self.create(envVars={"ONE": "1"})
        code = "import os; [os.environ.get(name) for name in ('ONE', 'TWO')]"
        self.assertEqual(self.value(sandbox, code, env_vars={"ONE": "x", "TWO": "'2'"}), "['x', \"'2'\"]")
        self.assertEqual(self.value(sandbox, code), "['1', None]")
        before = self.value(sandbox, "sorted(globals())")
        self.assertEqual(self.value(sandbox, "sorted(globals())", env_vars={"A": "b"}), before)

    def test_contexts(self):
        sandbox = self.create(envVars={"ONE": "1"})
        self.execute(sandbox, "x = 1; import os; os.mkdir('sub')")
        traffic = {"X-Access-Token": None, "E2B-Traffic-Access-Token": sandbox["trafficAccessToken"]}
        made = self.ask(sandbox, "POST", "/contexts", {"cwd": "/home/user/sub", "language": "python"}, **traffic).json()
        self.assertEqual((made["language"], made["cwd"]), ("python", "/home/user/sub"))
        number = made["id"]
        self.assertEqual([one["id"] for one in self.ask(sandbox, "GET", "/contexts", **traffic).json()],
                         ["default", number])
        self.assertEqual(self.value(sandbox, "import os; x = 2; os.getcwd(), os.environ['ONE'], x", context_id=number),
                         "('/work/sub', '1', 2)")
        self.assertEqual(self.value(sandbox, "x"), "1")
        self.assertEqual(self.ask(sandbox, "POST", f"/contexts/{number}/restart", **traffic).status, 200)
        self.assertEqual(self.execute(sandbox, "x", context_id=number)["error"][0]["name"], "NameError")
        self.assertEqual(self.value(sandbox, "import os; os.getcwd(), os.environ['ONE']", context_id=number),
                         "('/work/sub', '1')")
        self.assertEqual(self.ask(sandbox, "DELETE", f"/contexts/{number}", **traffic).status, 204)
        gone = self.ask(sandbox, "POST", "/execute", {"code": "1", "context_id": number})
        self.assertEqual((gone.status, gone.data), (404, f"there is no context {number!r}".encode()))
        self.assertEqual(self.ask(sandbox, "DELETE", "/contexts/default").status, 400)
        for _ in range(15):
            self.assertEqual(self.ask(sandbox, "POST", "/contexts", {}).status, 201)
        self.assertEqual(self.ask(sandbox, "POST", "/contexts", {}).status, 429)
        self.assertEqual(self.ask(sandbox, "POST", "/contexts", {"cwd": "nowhere"}).status, 429)

    def test_what_runs_side_by_side(self):
        """Contexts do, and files can be written meanwhile; steps of one context wait for each other."""
        sandbox = self.create()
        number = self.ask(sandbox, "POST", "/contexts", {}).json()["id"]
        wait = "import os, time\nprint(1, flush=True)\nwhile not os.path.exists('{}'): time.sleep(0.01)\nx = 1"
        first = self.send("POST", "/execute", {"code": wait.format("b")}, self.of(sandbox))
        first.readline()
        behind = self.send("POST", "/execute", {"code": "x"}, self.of(sandbox))
        other = self.send("POST", "/execute", {"code": wait.format("a") + "\nopen('b', 'w').close()",
                                               "context_id": number}, self.of(sandbox))
        other.readline()
        done = self.ask(sandbox, "POST", "/files?path=a", b"", **{"Content-Type": "application/octet-stream"})
        self.assertEqual(done.status, 200)
        for response in (first, other):
            self.assertIn(b"number_of_executions", response.read())
        self.assertIn(b'"text": "1"', behind.read())

    def test_a_client_that_goes_interrupts_its_step(self):
        sandbox = self.create()
        running = self.send("POST", "/execute", {"code": "x = 5\nprint(1, flush=True)\nwhile True: pass"},
                            self.of(sandbox))
        self.assertIn(b"stdout", running.readline())
        running.close()
        self.connection.close()
        self.assertEqual(self.value(sandbox, "x"), "5")

    def test_a_restart_ends_what_runs(self):
        sandbox = self.create()
        running = self.send("POST", "/execute", {"code": "print(1, flush=True)\nwhile True: pass"}, self.of(sandbox))
        self.assertIn(b"stdout", running.readline())
        self.assertEqual(self.ask(sandbox, "POST", "/contexts/default/restart").status, 200)
        self.assertIn(b'"error"', running.read())
        self.assertEqual(self.value(sandbox, "1"), "1")

    def test_other_languages(self):
        for path, body in (("/execute", {"code": "1", "language": "r"}), ("/contexts", {"language": "javascript"})):
            done = self.ask(self.create(), "POST", path, body)
            self.assertEqual((done.status, "runs Python" in done.reason), (400, True))  # SDKs show the reason


if __name__ == "__main__":
    unittest.main()
