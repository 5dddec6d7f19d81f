#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_break.py - servers and files that mean mischief, where nothing else looks"""
import gzip
import itertools
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import KEY, AgentCase, fence  # noqa: E402
from mock_model import MockModel, chat_events  # noqa: E402

MODELS = ("openai", "anthropic")
LONG_KEY = "sk-proj-" + "".join(f"{n:04x}" for n in range(40))  # longer than a call's id may be


class Talker:
    """A server that says something, and then the same again until nobody listens."""

    def __init__(self, begin, piece, pause):
        self.begin, self.piece, self.pause, self.sent = begin, piece, pause, 0

    def talk(self):
        client, _ = self.listener.accept()
        with client:
            client.recv(65536)
            client.sendall(self.begin)
            try:
                while self.sent < 64 << 20 and not self.ending.wait(self.pause):
                    client.sendall(self.piece)
                    self.sent += len(self.piece)
            except OSError:
                pass

    def __enter__(self):
        self.listener, self.ending = socket.create_server(("127.0.0.1", 0)), threading.Event()
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.thread = threading.Thread(target=self.talk)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()
        self.listener.close()


class Quoted(AgentCase):
    """A server that quotes the key where nobody expects it."""

    def check(self, key, answers, model, status, *args):
        record = self.path("t.jsonl")
        if os.path.exists(record):
            os.unlink(record)
        mock, out, err = self.ask(answers, "--transcript", record, *args, status=status,
                                  model=model, env=self.env(STEPJAIL_API_KEY=key))
        with open(record) as f:
            everything = out + err + f.read() + b"".join(r[3] for r in mock.requests[1:]).decode()
        for begun in range(0, len(key) - 20, 7):
            self.assertNotIn(key[begun:begun + 20], everything)
        return out + err

    def test_where_an_error_is_cut_off(self):
        for key, model in ((LONG_KEY, "openai"), (KEY, "anthropic")):
            for at in (5, 280):
                words = "x" * at + " " + key + " is wrong"
                error = {"message": words, "type": "authentication_error"}
                self.check(key, [{"status": 401, "error": error}], model, 4)
                out = self.check(key, [{"events": b"data: " + json.dumps(
                    {"type": "error", "error": error}).encode() + b"\n\n"}], model, 4)
                self.assertIn("***", out)

    def test_in_a_refusal(self):
        for at in (5, 280):
            self.check(LONG_KEY, [{"say": "x" * at + LONG_KEY, "finish": "content_filter"}],
                       "openai", 4)
            refusal = {"choices": [{"delta": {"refusal": "x" * at + LONG_KEY},
                                    "finish_reason": "stop"}]}
            self.check(LONG_KEY, [{"events": b"data: " + json.dumps(refusal).encode() + b"\n\n"}],
                       "openai", 4)

    def test_as_a_calls_name_and_id(self):
        for key in (KEY, LONG_KEY):
            for model in MODELS:
                out = self.check(key, [{"calls": [(key, '{"code": "1"}')]}, {"say": "Hi."}], model,
                                 0, "--code-in", "tools")
                self.assertIn("There is no tool", out)
            call = {"index": 0, "id": key, "function": {"name": "python", "arguments": '{"code":"1"}'}}
            events = b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [call]},
                                                          "finish_reason": "stop"}]}).encode()
            self.check(key, [{"events": events + b"\n\n"}, {"say": "Hi."}], "openai", 0,
                       "--code-in", "tools")


class Roads(AgentCase):
    """Where a request goes, and where not."""

    def test_redirects(self):
        for status in (301, 302, 303, 307, 308):
            with MockModel([{"say": "Stolen."}]) as other:
                mock, out, err = self.ask([{"status": status, "headers": {"Location": other.url}}],
                                          status=4)
                self.one_line(err, "redirects are not followed")
                self.assertEqual((len(mock.requests), len(other.requests)), (1, 0))

    def test_this_host_is_asked_without_a_proxy(self):
        """With a key or without: what it is asked is nobody else's to hear."""
        for key in ({}, {"STEPJAIL_API_KEY": KEY}):
            for name in ("127.0.0.1", "localhost"):
                with MockModel([{"say": "Heard it."}]) as proxy, MockModel([{"say": "Hi."}]) as mock:
                    status, out, err = self.solve(
                        "--json", "--model", "openai", "--model-name", "m", "--base-url",
                        mock.url.replace("127.0.0.1", name), "--retries", "0",
                        env=self.env(http_proxy=proxy.url, all_proxy=proxy.url, **key))
                    self.assertEqual((status, len(mock.requests), len(proxy.requests)), (0, 1, 0), err)
                    ports = [mock.server.server_port] + ([53] if name == "localhost" else [])
                    self.assertEqual(json.loads(out)["confinement"]["client"]["ports"],
                                     ports)

    @unittest.skipUnless(shutil.which("openssl"), "openssl is missing: apt-get install openssl")
    def test_certificates_are_checked(self):
        """One that nobody vouches for; no variable says otherwise."""
        key, certificate = self.path("tls.key"), self.path("tls.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-keyout", key, "-out", certificate, "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        with MockModel([{"say": "Hi."}]) as mock:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            mock.server.socket = context.wrap_socket(mock.server.socket, server_side=True)
            for more in ({}, {"SSL_CERT_FILE": certificate, "CURL_CA_BUNDLE": certificate,
                              "REQUESTS_CA_BUNDLE": certificate, "CURL_SSL_BACKEND": "none"}):
                status, out, err = self.solve(
                    "--model", "openai", "--model-name", "m", "--base-url",
                    mock.url.replace("http:", "https:"), env=self.env(STEPJAIL_API_KEY=KEY, **more))
                self.assertEqual((status, len(mock.requests)), (4, 0))
                self.one_line(err, "certificate")

    def test_names_that_look_like_this_host(self):
        for host in ("127.0.0.1.5", "127.1.example", "localhost.example", "127.0.0.1.", "0.0.0.0",
                     "[::ffff:192.0.2.1]"):
            status, out, err = self.solve("--model", "openai", "--model-name", "m", "--base-url",
                                          f"http://{host}/v1", env=self.env(OPENAI_API_KEY=KEY))
            self.assertEqual(status, 125, host)
            self.one_line(err, "clear text")


class Endless(AgentCase):
    """Each of these goes on for ever. How many pieces were sent says who gave up."""
    TIMES = 400

    def test_talk_behind_the_end(self):
        for model in MODELS:
            mock, out, err = self.ask([{"say": "Hi.", "drip": (b": still here\n\n", self.TIMES)}],
                                      "--json", model=model)
            self.assertEqual(json.loads(out)["answer"], "Hi.")
            self.assertLess(mock.server.dripped, self.TIMES)

    def test_comments_and_empty_pieces(self):
        begin = chat_events({"say": "Hi."})[:100].rpartition(b"\n\n")[0] + b"\n\n"
        for piece in (b": x\n", b'data: {"choices":[{"delta":{"content":""}}]}\n\n', b"x",
                      b"event: ping\n\n"):
            mock, out, err = self.ask([{"events": begin, "drip": (piece, self.TIMES)}],
                                      "--wall-time", "400ms", status=124)
            self.one_line(err, "the wall time is used up (--wall-time 400 ms)")
            self.assertLess(mock.server.dripped, self.TIMES)

    def test_headers_and_trailers(self):
        """Bytes that are no answer are bounded, and do not count as one."""
        head = b"HTTP/1.1 200 OK\r\n"
        chunked = head + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        quick, slow = 0, 0.05
        for begin, piece, pause, words in (
                (head, b"X: y\r\n" * 1000, quick, "oo large response headers"),
                (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, quick, "oo large response headers"),
                (chunked + b"0\r\n", b"X: y\r\n" * 1000, quick, "more than 400000 bytes of headers"),
                (head, b"X: y\r\n", slow, "no byte came for 400 ms"),
                (chunked + b"1;", b"0", slow, "no byte came for 400 ms")):
            with self.subTest(words=words, begin=begin), Talker(begin, piece, pause) as server:
                status, out, err = self.solve("--model", "openai", "--model-name", "m", "--base-url",
                                              server.url, "--model-time",
                                              "20s" if pause == quick else "400ms", "--retries", "0")
                self.assertEqual(status, 4)
                self.one_line(err, words)
                # what went into buffers on the way counts, too
                self.assertLess(server.sent, 20 << 20)

    def test_compressed(self):
        """Nothing compressed is asked for, and nothing is unpacked."""
        bomb = gzip.compress(b" " * (200 << 20), 9)
        mock, out, err = self.ask([{"status": 200, "body": bomb,
                                    "headers": {"Content-Encoding": "gzip"}}], status=4)
        self.assertNotIn("Accept-Encoding", mock.requests[0][2])
        self.one_line(err, "is not JSON")


class Counts(AgentCase):
    def test_usage_that_makes_no_sense(self):
        """It is judged by bytes then, and budgets hold."""
        for asked in (-1, 1e308, "7"):
            for model in MODELS:
                mock, out, err = self.ask([{"say": fence("print(1)"), "usage": (asked, asked)}],
                                          "--json", "--total-tokens", "5000", "--steps", "1000",
                                          model=model, status=3)
                got = json.loads(out)
                self.assertEqual(got["outcome"], "budget-ended", asked)
                self.assertEqual(got["usage"]["judged"], got["usage"]["requests"])
                self.assertLessEqual(got["budget"]["tokens"]["used"], 8000)
        # what it may be, if it is one: all is used up
        mock, out, err = self.ask([{"say": fence("print(1)"), "usage": (10**12, 10**12)}], "--json",
                                  "--total-tokens", "5000", status=3)
        self.assertEqual(json.loads(out)["budget"]["tokens"]["used"], 2 * 10**12)


class Thinking(AgentCase):
    """What a model thinks is shown and recorded; it is not run, no answer, and not sent back."""

    DRAFT = "Hm, \x1b[2Jlet me see.\n" + fence("print('dra' + 'ft')")

    def replies(self, record):
        with open(record) as f:
            return [e for e in map(json.loads, f) if e["event"] == "reply"]

    def test_in_the_text(self):
        for before, after in (("<think>\n", "</think>\n\n"), ("", "</think>\n"), ("<reasoning>", "</reasoning>")):
            with self.subTest(before=before):
                record = self.path("t.jsonl")
                mock, out, err = self.ask(
                    [{"say": before + self.DRAFT + after + fence("print('fin' + 'al')")},
                     {"say": before + self.DRAFT + after + "It is 42."}], "--transcript", record)
                self.assertIn("  | final\n", out)
                self.assertNotIn("  | draft\n", out)
                self.assertIn("thinking\n  : Hm, \\x1b[2Jlet me see.\n  : ```python\n", out)
                self.assertIn("\nIt is 42.\n", out)
                first, second = self.replies(record)
                self.assertEqual((first["text"], second["text"]), (fence("print('fin' + 'al')"), "It is 42."))
                self.assertEqual((first["reasoning"].strip(), first["reasoning_bytes"]),
                                 (self.DRAFT.strip(), len(first["reasoning"])))
                self.assertNotIn("let me see", json.dumps(mock.messages(1)))
                os.unlink(record)

    def test_apart(self):
        for model, stream in itertools.product(("openai", "anthropic"), (True, False)):
            with self.subTest(model=model, stream=stream):
                record = self.path("t.jsonl")
                how = {"thinks": self.DRAFT, "stream": stream}
                mock, out, err = self.ask([{"say": fence("print('fin' + 'al')"), **how}, {"say": "It is 42.", **how}],
                                          "--transcript", record, model=model)
                self.assertIn("  | final\n", out)
                self.assertNotIn("  | draft\n", out)
                self.assertIn("thinking\n  : Hm, \\x1b[2Jlet me see.\n", out)
                self.assertEqual([r["reasoning"] for r in self.replies(record)], [self.DRAFT] * 2)
                self.assertNotIn("let me see", json.dumps(mock.messages(1)))
                os.unlink(record)

    def test_no_end(self):
        """Cut off while it thinks: nothing is run, and it is told so."""
        for answer in ({"say": "<think>" + self.DRAFT}, {"say": "", "thinks": self.DRAFT}):
            mock, out, err = self.ask([{**answer, "finish": "length"}, {"say": "It is 42."}])
            self.assertIn("Your reply was cut off before its end", mock.messages(1)[-1]["content"])
            self.assertNotIn("  | draft\n", out)
            self.assertIn("\nIt is 42.\n", out)

    def test_much(self):
        record = self.path("t.jsonl")
        mock, out, err = self.ask([{"say": "It is 42.", "thinks": "Hm.\n" * 50000, "stream": False,
                                    "usage": None}], "--transcript", record)
        (reply,) = self.replies(record)
        self.assertEqual((len(reply["reasoning"]), reply["reasoning_bytes"]), (65536, 200000))
        self.assertEqual(out.count("  : Hm.\n"), 40)
        self.assertIn("199840 more bytes of thinking are not shown\n", out)
        # it was paid for
        self.assertGreater(reply["usage"]["completion_tokens"], 60000)

    def test_the_key_in_it(self):
        record = self.path("t.jsonl")
        mock, out, err = self.ask([{"say": "It is 42.", "thinks": f"It is {KEY}."}], "--transcript", record)
        with open(record) as f:
            self.assertNotIn(KEY, out + err + f.read())

    def test_live(self):
        """On a terminal it comes before the words, and once."""
        with MockModel([{"say": "It is 42.", "thinks": "Let me see."}]) as mock:
            out = self.on_terminal("solve", "x", "--stepjail", self.fake, "--model", "openai", "--model-name", "m",
                                   "--base-url", mock.url, env=self.env(STEPJAIL_API_KEY=KEY, NO_COLOR="1")).decode()
        self.assertIn("  : Let me see.\r\n  : \r\n  : It is 42.\r\n", out)
        self.assertEqual(out.count("Let me see."), 1)


if __name__ == "__main__":
    unittest.main()
