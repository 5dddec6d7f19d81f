#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp_http.py - stepjail-mcp over HTTP, in both eras of the protocol"""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mcp_http_scene import LOOP, Web, events  # noqa: E402
from test_mcp import META, MODERN  # noqa: E402


class Modern(Web):
    """Of 2026-07-28: each request for itself."""

    def test_sessions_are_those_of_the_token(self):
        status, said = self.ask(*self.modern("server/discover"))
        self.assertEqual((status, said["result"]["resultType"]), (200, "complete"))
        session = self.good("python", code="x = 41")["session"]
        self.assertEqual(self.good("python", session=session, code="x + 1")["result"], "42")
        self.assertEqual([one["session"] for one in self.good("list_sessions")["sessions"]], [session])
        self.assertEqual(self.good("list_sessions", client=1)["sessions"], [])
        self.assertIn("no such session", self.call("python", client=1, session=session, code="x")["content"][0]["text"])
        self.stop()

    def test_one_connection_takes_many_requests(self):
        connection = self.connect()
        for _ in range(3):
            status, said = self.ask(*self.modern("tools/list"), on=connection)
            self.assertEqual((status, len(said["result"]["tools"])), (200, 9))
        first = connection.sock
        self.ask(*self.modern("tools/list"), on=connection)
        self.assertIs(connection.sock, first)

    def test_headers_are_compared_with_the_message(self):
        encoded = "=?base64?cHl0aG9u?="
        for headers, status, code in (
                ({"Mcp-Method": None}, 400, -32020), ({"Mcp-Method": "TOOLS/CALL"}, 400, -32020),
                ({"Mcp-Name": None}, 400, -32020), ({"Mcp-Name": "rollback"}, 400, -32020),
                ({"Mcp-Name": "=?base64?*?="}, 400, -32020), ({"MCP-Protocol-Version": None}, 400, -32020),
                ({"MCP-Protocol-Version": "2025-11-25"}, 400, -32020), ({"Mcp-Name": encoded}, 200, None),
                ({"Mcp-Name": "  python "}, 200, None)):
            with self.subTest(headers):
                got, said = self.ask(*self.modern("tools/call", headers, name="python", arguments={}))
                self.assertEqual((got, said.get("error", {}).get("code")), (status, code))
                self.assertEqual(said["id"], self.number)

    def test_errors_have_a_status(self):
        future = {**MODERN, META + "protocolVersion": "2030-01-01"}
        for message, status, code in (
                (self.modern("tools/list", {"MCP-Protocol-Version": "2030-01-01"}, future), 400, -32022),
                (self.modern("tools/list", meta={META + "protocolVersion": "2026-07-28"}), 400, -32602),
                ((self.message("tools/list"), {"MCP-Protocol-Version": "2026-07-28"}), 400, -32602),
                ((self.message("tools/list"), {"MCP-Protocol-Version": "1999-01-01"}), 400, -32022),
                (self.modern("resources/list"), 404, -32601), (self.modern("ping"), 404, -32601),
                (self.modern("initialize"), 404, -32601),
                (self.modern("tools/call", name="nothing"), 200, -32602)):
            got, said = self.ask(*message)
            self.assertEqual((got, said["error"]["code"], said["id"]), (status, code, message[0]["id"]))
        for body, code in ((b"{", -32700), (b"[]", -32600), (b"5", -32600), (b"[" * 100000, -32700)):
            got, said = self.ask(body, {"MCP-Protocol-Version": "2026-07-28"})
            self.assertEqual((got, said["error"]["code"], "id" in said), (400, code, False))

    def test_names_that_are_no_utf8(self):
        """Half of a surrogate pair would be JSON that not every client reads."""
        session = self.good("python", code="open(b'\\xff\\xed\\xa0\\x80', 'w').close()")["session"]
        answer = self.send(*self.modern("tools/call", name="list_files", arguments={"session": session}))
        data = answer.read()
        self.assertNotRegex(data, rb"\\ud[89a-f]")
        name, = [one["name"] for one in json.loads(data)["result"]["structuredContent"]["files"]]
        self.assertEqual(name, "\\xff\\xed\\xa0\\x80")

    def test_progress_comes_as_events(self):
        session = self.good("open_session")["session"]
        code = "import os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n5"
        answer = self.send(*self.modern("tools/call", meta={**MODERN, "progressToken": 7}, name="python",
                                        arguments={"session": session, "code": code}))
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        stream = events(answer)
        first = next(stream)
        self.assertEqual((first["method"], first["params"]["progressToken"]), ("notifications/progress", 7))
        self.good("put_file", session=session, path="go", text="")
        *_, last = stream
        self.assertEqual(last["result"]["structuredContent"]["result"], "5")
        # whoever takes no events has the answer alone
        status, said = self.ask(*self.modern(
            "tools/call", {"Accept": "application/json"}, {**MODERN, "progressToken": 7}, name="python",
            arguments={"session": session, "code": "6"}))
        self.assertEqual((status, said["result"]["structuredContent"]["result"]), (200, "6"))

    def test_closing_the_stream_cancels(self):
        session = self.good("python", code="x = 5")["session"]
        answer = self.send(*self.modern("tools/call", meta={**MODERN, "progressToken": "p"}, name="python",
                                        arguments={"session": session, "code": LOOP}))
        next(events(answer))
        answer.close()
        answer.connection.close()
        self.assertEqual(self.good("python", session=session, code="x")["result"], "5")
        self.stop()

    def test_a_session_that_nobody_was_told_of_ends(self):
        answer = self.send(*self.modern("tools/call", meta={**MODERN, "progressToken": "p"}, name="python",
                                        arguments={"code": LOOP}))
        next(events(answer))
        self.assertEqual(len(self.good("list_sessions")["sessions"]), 1)
        answer.close()
        answer.connection.close()
        while self.good("list_sessions")["sessions"]:
            pass

    def test_a_signal_ends_it_while_a_step_runs(self):
        answer = self.send(*self.modern("tools/call", meta={**MODERN, "progressToken": "p"}, name="python",
                                        arguments={"code": LOOP}))
        next(events(answer))
        self.stop()


class Older(Web):
    """With initialize, and Mcp-Session-Id."""

    def test_a_session(self):
        one, two = self.begin(), self.begin()
        status, said = self.ask(self.message("tools/call", name="python", arguments={"code": "x = 6\nx * 7"}), one)
        self.assertEqual((status, said["result"]["structuredContent"]["result"]), (200, "42"))
        session = said["result"]["structuredContent"]["session"]
        _, said = self.ask(self.message("tools/call", name="python", arguments={"code": "x", "session": session}), two)
        self.assertTrue(said["result"]["isError"])
        self.assertEqual(self.ask(self.message("ping"), {"Mcp-Session-Id": one["Mcp-Session-Id"]})[0], 200)
        status, said = self.ask(self.message("resources/list"), one)
        self.assertEqual((status, said["error"]["code"]), (200, -32601))
        self.assertEqual(self.ask({"jsonrpc": "2.0", "id": 5, "result": {}}, one), (202, None))
        self.assertEqual(self.ask(None, one, method="DELETE"), (204, None))
        for again in (self.ask(self.message("ping"), one), self.ask(None, one, method="DELETE")):
            self.assertEqual(again[0], 404)
        self.assertEqual(self.ask(self.message("ping"), two)[0], 200)
        self.assertEqual(self.ask(self.message("ping"), two, client=1)[0], 404)
        self.stop()

    def test_what_is_no_session(self):
        status, said = self.ask(self.message("tools/list"))
        self.assertEqual(status, 400)
        self.assertIn("Mcp-Session-Id is missing", said["error"]["message"])
        self.assertEqual(self.ask(self.message("tools/list"), {"Mcp-Session-Id": "x"})[0], 404)
        answer = self.send(self.message("initialize") | {"params": []})
        self.assertIn("error", json.load(answer))
        self.assertNotIn("Mcp-Session-Id", answer.headers)

    def test_cancelled_by_a_notification_not_by_a_lost_connection(self):
        headers = self.begin()
        _, said = self.ask(self.message("tools/call", name="python", arguments={"code": "x = 5"}), headers)
        session = said["result"]["structuredContent"]["session"]
        code = "import time\nopen('began', 'w')\nwhile x == 5:\n    time.sleep(0.01)"
        step = self.message("tools/call", name="python", _meta={"progressToken": "p"},
                            arguments={"session": session, "code": code})
        answer = self.send(step, headers)
        next(events(answer))
        answer.close()
        answer.connection.close()

        def busy():
            _, said = self.ask(self.message("tools/call", name="list_sessions"), headers)
            return said["result"]["structuredContent"]["sessions"][0]["busy"]

        self.assertTrue(busy())
        self.ask({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": step["id"]}}, headers)
        while busy():
            pass
        answer = self.send({**step, "id": "again"}, headers)
        stream = events(answer)
        next(stream)
        self.ask({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "again"}}, headers)
        self.assertNotIn("again", [one.get("id") for one in stream])

    def test_sessions_are_bounded(self):
        first = self.begin()
        _, said = self.ask(self.message("tools/call", name="open_session"), first)
        self.assertFalse(said["result"]["isError"])
        others = [self.begin() for _ in range(32)]
        self.assertEqual(self.ask(self.message("ping"), others[0])[0], 404)  # it was idle for longest
        for headers in (first, *others[1:]):
            self.assertEqual(self.ask(self.message("ping"), headers)[0], 200)
        self.ask(self.message("initialize"), client=1)
        self.assertEqual(self.ask(self.message("ping"), others[1])[0], 200)


class Expiring(Web):
    options = "--idle", "1s"

    def test_idle_sessions_end(self):
        headers = self.begin()
        name = headers["Mcp-Session-Id"]
        self.good("open_session")
        while self.good("list_sessions")["sessions"]:
            pass
        again = self.begin()
        self.assertNotEqual(again["Mcp-Session-Id"], name)
        while self.ask(self.message("tools/list"), headers)[0] == 200:
            subprocess.run(["sleep", "1.6"], check=True)
        self.assertEqual(self.ask(self.message("tools/list"), headers)[0], 404)


if __name__ == "__main__":
    unittest.main()
