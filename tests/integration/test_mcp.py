#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp.py - stepjail-mcp as its clients use it, and as they should not"""
import base64
import json
import os
import select
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_scene import BUILD, MCP  # noqa: E402
from serve_client import PATIENCE  # noqa: E402

META = "io.modelcontextprotocol/"
MODERN = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}


class Failed(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.error = error["code"], error


class Client:
    """Messages over two files; answers are found by their ids, and notifications kept."""

    def __init__(self, read, write, meta=None):
        self.read, self.write, self.meta = read, write, meta
        self.number, self.answers, self.told = 0, {}, []
        self.buffer = b""

    def raw(self, data):
        while data:
            data = data[os.write(self.write, data):]

    def say(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def next(self):
        while b"\n" not in self.buffer:
            if not select.select([self.read], [], [], PATIENCE)[0]:
                raise TimeoutError("no message came")
            got = os.read(self.read, 1 << 16)
            if not got:
                raise EOFError
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, method, **params):
        self.number += 1
        if self.meta is not None:
            params["_meta"] = {**self.meta, **params.get("_meta", {})}
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def answer(self, number):
        while number not in self.answers:
            message = self.next()
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.told.append(message)
        message = self.answers.pop(number)
        if "error" in message:
            raise Failed(message["error"])
        return message["result"]

    def request(self, method, **params):
        return self.answer(self.ask(method, **params))

    def call(self, name, **arguments):
        return self.request("tools/call", name=name, arguments=arguments)

    def good(self, name, **arguments):
        result = self.call(name, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def bad(self, name, **arguments):
        result = self.call(name, **arguments)
        assert result["isError"], result
        return result["content"][0]["text"]


class Case(unittest.TestCase):
    meta = None
    program = (MCP,)

    def start(self, *options, meta=None):
        process = subprocess.Popen([*self.program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        client = Client(process.stdout.fileno(), process.stdin.fileno(), meta or self.meta)
        client.process = process
        return client

    def end(self, process):
        if not process.stdin.closed:
            process.stdin.close()
        process.terminate()
        process.wait()
        process.stdout.close()
        process.stderr.close()


class Legacy(Case):
    """With the handshake."""

    def setUp(self):
        self.client = self.start()
        self.begun = self.client.request("initialize", protocolVersion="2025-11-25", capabilities={},
                                         clientInfo={"name": "test", "version": "1"})
        self.client.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def test_versions(self):
        self.assertEqual(self.begun["protocolVersion"], "2025-11-25")
        self.assertEqual(self.begun["serverInfo"]["name"], "stepjail")
        for asked, got in (("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25"), (7, "2025-11-25")):
            self.assertEqual(self.client.request("initialize", protocolVersion=asked)["protocolVersion"], got)
        self.assertEqual(self.client.request("ping"), {})

    def test_tools_have_schemas_that_hold(self):
        tools = {tool["name"]: tool for tool in self.client.request("tools/list")["tools"]}
        self.assertEqual(len(tools), 9)
        session = self.client.good("open_session")["session"]
        for name, arguments in (("python", {"code": "1"}), ("put_file", {"path": "a", "text": "b"}),
                                ("get_file", {"path": "a"}), ("list_files", {}), ("branch", {}),
                                ("rollback", {}), ("list_sessions", None)):
            got = self.client.good(name, **({} if arguments is None else {"session": session, **arguments}))
            gives = tools[name]["outputSchema"]
            self.assertLessEqual(set(gives["required"]), set(got), name)
            self.assertLessEqual(set(got), set(gives["properties"]), name)
            self.assertFalse(tools[name]["inputSchema"]["additionalProperties"])

    def test_variables_stay(self):
        first = self.client.call("python", code="x = 41\nprint('set')\nx + 1")
        session = first["structuredContent"]["session"]
        self.assertEqual(first["content"], [{"type": "text", "text": "set\n42"},
                                            {"type": "text", "text": f"[session: {session}]"}])
        self.assertEqual(self.client.good("python", session=session, code="x")["result"], "41")
        other = self.client.call("python", code="x")
        self.assertTrue(other["isError"])
        self.assertIn("NameError", other["content"][0]["text"])

    def test_what_a_terminal_would_have_written_over(self):
        session = self.client.good("python", code="import sys")["session"]
        for printed, shown in (("10%\r50%\r100%\nend\n", "100%\nend\n[8 {}]"), ("|\b/\b-\bok", "ok\n[6 {}]"),
                               ("a\r\nb\r\r\n", "a\r\nb\r\r"), ("50%\r", "50%\r"), ("\b\bx\n\by\n", "x\ny\n[3 {}]"),
                               ("\u00e9\b\u6f22\n", "\u6f22\n[2 {}]"), ("x\r\ny\rz\n", "x\r\nz\n[2 {}]")):
            for stream in "stdout", "stderr":
                with self.subTest(printed=printed, stream=stream):
                    step = self.client.call("python", session=session, code=f"sys.{stream}.write({printed!r}); None")
                    self.assertEqual(step["content"][0]["text"], shown.format(
                        "characters that a terminal would have written over are not shown"))
                    self.assertEqual(step["structuredContent"][stream], printed)

    def test_a_step_that_dies_says_what_became_of_the_variables(self):
        session = self.client.good("python", code="x = 1")["session"]
        said = self.client.bad("python", session=session, code="import os; x = 2; os.kill(os.getpid(), 9)")
        self.assertIn("signal 9", said)
        self.assertIn("all variables are as they were", said)
        said = self.client.bad("python", session=session, code="while True: pass", timeout=0.2)
        self.assertIn("longer than its time limit", said)
        said = self.client.call("python", session=session, code="import os; os.system('id'); x")
        self.assertIn("[refused: execve", said["content"][0]["text"])
        self.assertEqual(said["structuredContent"]["result"], "1")

    def test_rollback_and_branch(self):
        session = self.client.good("python", code="x = 1")["session"]
        self.client.good("python", session=session, code="x = 2")
        branch = self.client.good("branch", session=session, state=1)["session"]
        self.assertEqual(self.client.good("python", session=branch, code="x")["result"], "1")
        self.client.good("rollback", session=session)
        self.assertEqual(self.client.good("python", session=session, code="x")["result"], "1")
        self.assertIn("branches that are open", self.client.bad("close_session", session=session))
        self.client.good("close_session", session=branch)
        self.client.good("close_session", session=session)
        self.assertIn("no such session", self.client.bad("python", session=session, code="x"))
        self.assertEqual(self.client.good("list_sessions")["sessions"], [])

    def test_files(self):
        session = self.client.good("open_session")["session"]
        self.client.good("put_file", session=session, path="d/ä.txt", text="grün")
        raw = bytes(range(256))
        self.client.good("put_file", session=session, path="d/raw", base64=base64.b64encode(raw).decode())
        self.assertEqual(self.client.good("get_file", session=session, path="d/ä.txt")["text"], "grün")
        self.assertEqual(base64.b64decode(self.client.good("get_file", session=session, path="d/raw")["base64"]), raw)
        self.assertEqual(self.client.good("list_files", session=session, path="d")["files"],
                         [{"name": "raw", "kind": "file", "bytes": 256}, {"name": "ä.txt", "kind": "file", "bytes": 5}])
        for arguments, said in (({"path": "no"}, "No such file"), ({"path": "../x"}, "GET: "),
                                ({"path": ""}, "bytes of a path must be a number from 1 to 4096, and is 0")):
            self.assertIn(said, self.client.bad("get_file", session=session, **arguments))
        for path in ("a", "./a", "/work/a", "/work//a", "/home/user/a"):  # one place
            self.client.good("put_file", session=session, path=path, text=path)
            done = self.client.good("python", session=session, code=f"open({path!r}).read() == {path!r}")
            self.assertEqual((done["result"], self.client.good("get_file", session=session, path="a")["text"]),
                             ("True", path))
        self.assertEqual([len(self.client.good("list_files", session=session, path=path)["files"])
                          for path in (".", "/work", "/work/d/", "d")], [2, 2, 2, 2])
        self.client.good("python", session=session, code=r"open(b'd/\xc3.txt', 'w').write('x')")
        self.assertIn(r"\xc3.txt", [one["name"] for one in self.client.good("list_files", session=session, path="d")["files"]])
        self.assertEqual(self.client.good("get_file", session=session, path=r"/work/d/\xc3.txt")["text"], "x")
        for path in ("/tmp/a", "/etc/passwd", "/workx"):
            self.assertIn("is not below /work", self.client.bad("get_file", session=session, path=path))
        self.assertIn("one of them", self.client.bad("put_file", session=session, path="a"))
        self.assertIn("base64: ", self.client.bad("put_file", session=session, path="a", base64="*"))

    def test_a_cancelled_request_interrupts_its_step(self):
        session = self.client.good("python", code="x = 5")["session"]
        step = self.client.ask("tools/call", name="python", _meta={"progressToken": "p"}, arguments={
            "session": session, "code": "print('running', flush=True)\nwhile True: pass"})
        while not self.client.told:
            self.client.told.append(self.client.next())
        told = self.client.told[0]
        self.assertEqual((told["method"], told["params"]["progressToken"]), ("notifications/progress", "p"))
        self.client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": step}})
        self.assertEqual(self.client.good("python", session=session, code="x")["result"], "5")
        self.assertNotIn(step, self.client.answers)

    def test_cancelled_before_it_began(self):
        lines = ({"id": "same", "method": "ping"},
                 {"method": "notifications/cancelled", "params": {"requestId": "same"}}) * 50
        self.client.raw(b"".join(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n" for line in lines))
        self.client.say({"jsonrpc": "2.0", "id": "last", "method": "ping"})
        while (message := self.client.next())["id"] != "last":
            self.assertEqual(message["result"], {})

    def test_steps_of_two_sessions_run_side_by_side(self):
        one, two = (self.client.good("open_session")["session"] for _ in range(2))
        slow = self.client.ask("tools/call", name="python", arguments={"session": one, "code": "while True: pass"})
        self.assertEqual(self.client.good("python", session=two, code="2")["result"], "2")
        self.assertTrue([s["busy"] for s in self.client.good("list_sessions")["sessions"]
                         if s["session"] == one][0])
        self.client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
        self.client.good("python", session=one, code="1")

    def test_arguments_that_are_wrong_are_told_to_the_model(self):
        for name, arguments, said in (
                ("python", {}, "code is missing"), ("python", {"code": 5}, "code is not of type string"),
                ("python", {"code": "1", "x": 1}, "there is no argument 'x'"),
                *[("python", {"code": "1", "timeout": time}, "timeout must be a number from 0.001 to 1000000000, and is")
                  for time in (-1, 0, 0.0005, 1e300, 10 ** 30)],
                ("python", {"code": "1", "timeout": True}, "not of type number"),
                ("python", {"code": "1", "timeout": 1e9}, "--wall-time"),
                ("python", {"code": "1", "session": "../../x"}, "no such session"),
                ("rollback", {"session": "x", "state": -1}, "state must be a number from 0 to 4294967295, and is -1"),
                ("branch", {"session": "x", "state": 2 ** 40}, "state must be a number from 0 to 4294967295"),
                ("rollback", {"session": "x", "state": 1.5}, "not of type integer")):
            with self.subTest(arguments):
                self.assertIn(said, self.client.bad(name, **arguments))
        session = self.client.good("open_session")["session"]
        self.assertIn("no state", self.client.bad("rollback", session=session, state=99))
        for tool, more in (("get_file", {}), ("list_files", {}), ("put_file", {"text": ""})):
            said = self.client.bad(tool, session=session, path="a" * 70000, **more)
            self.assertIn("bytes of a path must be a number from 1 to 4096, and is 70000", said)
        self.client.good("python", session=session, code="open('f', 'wb').truncate((8 << 20) + 1)")
        self.assertIn("f has more than 8388608 bytes", self.client.bad("get_file", session=session, path="f"))
        with self.assertRaises(Failed) as caught:
            self.client.call("no_tool")
        self.assertEqual(caught.exception.code, -32602)

    def test_messages_that_are_wrong(self):
        for line, code in ((b"{", -32700), (b"[]", -32600), (b"5", -32600), (b'{"id":1}', -32600),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b"\xff\xfe", -32700),
                           (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600), (b"[" * 100000, -32700),
                           (b'{"jsonrpc":"2.0","id":null,"method":NaN}', -32700)):
            with self.subTest(line[:60]):
                self.client.raw(line + b"\n")
                message = self.client.next()
                self.assertEqual((message["error"]["code"], message["id"]), (code, None))
        for params in ([], {"_meta": 5}):
            self.client.say({"jsonrpc": "2.0", "id": "s", "method": "tools/list", "params": params})
            message = self.client.next()
            self.assertEqual((message["error"]["code"], message["id"]), (-32602, "s"))
        with self.assertRaises(Failed) as caught:
            self.client.request("resources/list")
        self.assertEqual(caught.exception.code, -32601)
        # neither an answer nor a notification has one
        self.client.raw(b'\n{"jsonrpc":"2.0","id":9,"result":{}}\n{"jsonrpc":"2.0","method":"nothing"}\n')
        self.client.raw(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}\n')
        self.assertEqual(self.client.request("ping"), {})


class Modern(Case):
    """Each request for itself."""
    meta = MODERN

    def test_discover(self):
        client = self.start()
        found = client.request("server/discover")
        self.assertEqual(found["supportedVersions"][0], "2026-07-28")
        self.assertEqual((found["resultType"], found["cacheScope"]), ("complete", "public"))
        self.assertEqual(found["_meta"][META + "serverInfo"]["name"], "stepjail")
        self.assertEqual(client.request("tools/list")["ttlMs"], 3600000)
        result = client.call("python", code="6 * 7")
        self.assertEqual((result["resultType"], result["structuredContent"]["result"]), ("complete", "42"))

    def test_what_a_request_must_say(self):
        client = self.start()
        for meta, code in (({META + "protocolVersion": "2030-01-01"}, -32022), ({META + "protocolVersion": 5}, -32022),
                           ({META + "clientCapabilities": None}, -32602), ({META + "clientCapabilities": []}, -32602)):
            with self.assertRaises(Failed) as caught:
                client.request("tools/list", _meta=meta)
            self.assertEqual(caught.exception.code, code)
            if code == -32022:
                self.assertIn("2026-07-28", caught.exception.error["data"]["supported"])
        with self.assertRaises(Failed) as caught:
            client.request("ping")
        self.assertEqual(caught.exception.code, -32601)
        client.meta = None
        with self.assertRaises(Failed) as caught:
            client.request("server/discover")
        self.assertEqual(caught.exception.code, -32602)
        self.assertNotIn("resultType", client.request("tools/list"))


class Ends(Case):
    def test_the_end_of_stdin_comes_behind_the_answers(self):
        done = subprocess.run([MCP], input=b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                              b'{"name":"python","arguments":{"code":"3"}}}', stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["result"]["structuredContent"]["result"], "3")

    def test_signals(self):
        for number in signal.SIGTERM, signal.SIGINT:
            client = self.start()
            client.good("open_session")
            client.ask("tools/call", name="python", arguments={"code": "while True: pass"})
            client.process.send_signal(number)
            self.assertEqual(client.process.wait(), 0)

    def test_a_step_that_catches_its_interrupt_holds_up_nobody(self):
        client = self.start()
        client.ask("tools/call", name="python", _meta={"progressToken": 1}, arguments={
            "code": "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass"})
        self.assertEqual(client.next()["method"], "notifications/progress")
        client.process.terminate()
        self.assertEqual(client.process.wait(PATIENCE), 0)

    def test_stepjail_is_not_there(self):
        client = self.start("--stepjail", "/nowhere")
        self.assertIn("/nowhere: No such file or directory", client.bad("open_session"))
        self.assertEqual(len(client.request("tools/list")["tools"]), 9)

    def test_an_option_that_stepjail_refuses(self):
        """Before anybody is served."""
        for options, said in ((("--", "--memory", "nothing"), "--memory: 'nothing'"),
                              (("--", "--lock-code", "no"), "write --lock-code=no"),
                              (("--", "--rootfs", "nowhere"), "no tree named 'nowhere'"),
                              (("--jail-option", "rootfs=/nowhere"), "/nowhere"),
                              (("--jail-option", "memroy=1G"), "--memroy=1G is not an option"),
                              (("--jail-option", "memory"), "--memory needs a value"),
                              (("--jail-option", "lock-code no"), "no option of stepjail"),
                              (("--", "--bind", "--env"), "--bind")):
            client = self.start(*options)
            self.assertEqual((client.process.wait(PATIENCE), client.process.stdout.read()), (125, b""))
            self.assertRegex(client.process.stderr.read().decode(),
                             rf"\Astepjail-mcp: options of the jails: .*{said}.*\n\Z")

    def test_options_reach_the_jail(self):
        client = self.start("--jail-option", "hostname=mine", "--jail-option=deterministic", "--", "--env", "A=b")
        said = client.good("python", code="import os, socket; socket.gethostname(), os.environ['A']")
        self.assertEqual(said["result"], "('mine', 'b')")

    def test_bad_options(self):
        for options, said in ((["--sessions", "0"], "from 1 to 1000"), (["--idle", "5"], "no time"),
                              (["--nope"], "--nope"), (["x"], "x"), (["--", "x"], "'x' is no option of stepjail"),
                              (["--listen", "/nowhere/x"], "/nowhere/x: No such file")):
            done = subprocess.run([MCP, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual(done.returncode, 125, options)
            self.assertRegex(done.stderr, rf"\Astepjail-mcp: .*{said}.*\n\Z")

    def test_help(self):
        said = subprocess.run([MCP, "--help"], capture_output=True, text=True, check=True).stdout
        self.assertLessEqual(max(map(len, said.splitlines())), 80)
        self.assertIn("stepjail-mcp 0", subprocess.run([MCP, "--version"], capture_output=True, text=True,
                                                       check=True).stdout)

    def test_sessions_are_bounded(self):
        client = self.start("--sessions", "2")
        one = client.good("open_session")["session"]
        client.good("branch", session=one)
        self.assertIn("(--sessions)", client.bad("open_session"))
        self.assertIn("(--sessions)", client.bad("branch", session=one))

    def test_idle_sessions_end(self):
        client = self.start("--idle", "1s")
        session = client.good("python", code="1")["session"]
        while client.good("list_sessions")["sessions"]:
            pass
        self.assertIn("idle for longer than 1 s", client.bad("python", session=session, code="1"))

    def test_a_line_without_end(self):
        client = self.start()
        with self.assertRaises((BrokenPipeError, EOFError)):
            for _ in range(40):
                client.raw(b" " * (1 << 20))
            client.next()
            client.next()


@unittest.skipUnless(os.path.exists(f"{BUILD}/rootfs/data.key"), "no tree data: make data")
class Data(Case):
    def test_a_picture(self):
        client = self.start("--", "--rootfs", "data")
        got = client.call("python", code="import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('a.png')")
        (image,) = [part for part in got["content"] if part["type"] == "image"]
        self.assertEqual(base64.b64decode(image["data"])[:4], b"\x89PNG")
        got = client.call("get_file", session=got["structuredContent"]["session"], path="a.png")
        self.assertEqual(got["content"][0]["mimeType"], "image/png")


if __name__ == "__main__":
    unittest.main()
