#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_given.py - what a user gives beside a task: words, headers, a server's address, files of a judge"""
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import KEY, AgentCase, wait_for  # noqa: E402
from mock_model import MockModel  # noqa: E402
from test_agent_real import Installed  # noqa: E402

YES = [{"say": "Yes."}]


def bytes_in(pipe):
    """How many of them nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class Task(AgentCase):
    def piped(self, text, *args, task="-"):
        """The agent's words where a file of this text is its stdin."""
        with open(self.path("stdin"), "wb") as f:
            f.write(text)
        with open(self.path("stdin"), "rb") as f:
            return self.run_agent("solve", task, "--stepjail", self.fake, *args, stdin=f)

    def test_stdin(self):
        with MockModel(YES) as mock:
            got = self.piped("Zwei Zeilen\nund ä.\n\n".encode(), "--model", "openai", "--model-name", "m", "--base-url",
                             mock.url)
            self.assertEqual(got[0], 0, got)
            self.assertEqual(mock.messages(0)[1]["content"], "Task: Zwei Zeilen\nund ä.\n")

    def test_stdin_wrong(self):
        script = ("--model", self.script("Yes."))
        for text, more, words in ((b"", (), "the task on stdin is empty"), (b"\n", (), "is empty"),
                                  (b"a\0b", (), "is no text in UTF-8"), (b"\xff", (), "is no text in UTF-8"),
                                  (b"x" * (1 << 20) + b"y", (), "longer than 1048576 bytes"),
                                  (b"x", ("--file", "-"), "cannot both be -")):
            status, _, err = self.piped(text, *script, *more)
            self.assertEqual(status, 125)
            self.one_line(err, words)
        self.assertEqual(self.piped(b"x" * (1 << 20), *script)[0], 0)

    def test_stdin_waits(self):
        """Ctrl-C ends who waits for the rest of it."""
        with self.popen("solve", "-", "--model", self.script("Yes."), "--stepjail", self.fake,
                        stdin=subprocess.PIPE) as p:
            p.stdin.write(b"The ta")
            p.stdin.flush()
            self.assertTrue(wait_for(lambda: not bytes_in(p.stdin)))
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(300), -signal.SIGINT)

    def test_system(self):
        words = "Answer in German.\nBe brief.\n"
        path, record = self.path("rules", words), self.path("t.jsonl")
        mock, _, _ = self.ask(YES, "--system", path, "--transcript", record)
        self.assertTrue(mock.messages(0)[0]["content"].endswith("whatever they say.\n\n" + words + "\n"))
        with open(record) as f:
            start = json.loads(f.readline())
        self.assertEqual(start["inputs"]["system"], {"path": path, "name": "rules", "bytes": len(words),
                                                   "sha256": hashlib.sha256(words.encode()).hexdigest()})
        self.assertIn(words, start["system"])
        self.assertEqual(self.run_agent("replay", record, "--stepjail", self.fake)[0], 0)
        for text, said in (("x" * (256 << 10) + "y", "longer than 262144 bytes"), ("a\0b", "is no text in UTF-8")):
            self.one_line(self.solve("--model", self.script("Yes."), "--system", self.path("rules", text))[2], said)
        self.one_line(self.solve("--model", self.script("Yes."), "--system", self.path("none"))[2], "No such file")

    def test_state_folder(self):
        """Where no transcript can be made, the error names the cause and what to give."""
        err = self.solve("--model", self.script("Yes."), env=self.env(XDG_STATE_HOME=self.path("a file", "")))[2]
        self.one_line(err, f"make the folder {self.path('a file')}/stepjail: Not a directory", "--transcript none")


class Headers(AgentCase):
    def test_sent(self):
        file = self.path("headers", "X-Secret: open sesame\r\nX-Two: 2\n\nX-Trace:a:b\n", 0o600)
        mock, out, err = self.ask(YES, "--header-file", file)
        sent = mock.requests[0][2]
        self.assertEqual([sent[name] for name in ("X-Secret", "X-Two", "X-Trace")], ["open sesame", "2", "a:b"])
        self.assertEqual(sent["Authorization"], "Bearer " + KEY)
        self.assertNotIn("sesame", out + err)

    def test_refused(self):
        for text, words in (("Authorization: x", "Authorization is a header that the agent sends itself"),
                            ("host: x", "Host is"), ("X-Api-Key: x", "x-api-key is"), ("X-A: 1\nHost: x\n", "Host is"),
                            ("Transfer-Encoding: chunked", "Transfer-Encoding is"), ("X: a\tb", "a control character"),
                            ("X", "not of the form Name: value"), ("X: ", "not of the form"), (": x", "not of the form"),
                            ("X Y: x", "not of the form"), ("X;", "not of the form"), ("secret", "not of the form"),
                            ("A: b\n" * 33, "there are more than 32 lines"), ("X: " + "y" * 70000, "longer than 65536 bytes")):
            mock, _, err = self.ask(YES, "--header-file", self.path("headers", text, 0o600), status=125)
            self.one_line(err, "--header-file: ", words)
            self.assertEqual(mock.requests, [])
            self.assertNotIn("secret", err)
        self.assertEqual(len(self.ask(YES, "--header-file", self.path("headers", "A: b\n" * 32, 0o600))[0].requests), 1)
        self.one_line(self.solve("--model", self.script("Yes."), "--header-file", "x")[2], "--header-file: is for a model")


class Address(AgentCase):
    def test_not_doubled(self):
        for model, end in (("openai", "/chat/completions"), ("anthropic", "/messages")):
            for more in (end, end + "/", "/" + end + "//"):
                with MockModel(YES) as mock:
                    status, out, err = self.solve("--model", model, "--model-name", "m", "--base-url", mock.url + more,
                                                  env=self.env(STEPJAIL_API_KEY=KEY))
                    self.assertEqual((status, mock.requests[0][1]), (0, "/v1" + end), out + err)
                    self.assertIn(f"model: m at {mock.url}\n", out)

    def test_not_found(self):
        mock, _, err = self.ask([{"status": 404, "error": {"message": "no such page"}}], status=4)
        self.one_line(err, f"HTTP 404 to {mock.url}/chat/completions", "--base-url", "no such page")

    def test_scheme(self):
        for url in ("api.openai.com/v1", "127.0.0.1:8000/v1", "localhost:8000/v1"):
            err = self.solve("--model", "openai", "--model-name", "m", "--base-url", url)[2]
            self.one_line(err, f"--base-url: '{url}' does not begin with http:// or https://")

    def test_variable(self):
        with MockModel(YES) as mock, MockModel(YES) as other:
            env = self.env(STEPJAIL_API_KEY=KEY, OPENAI_BASE_URL=mock.url + "/")
            ask = ("--model", "openai", "--model-name", "m")
            status, out, err = self.solve(*ask, env=env)
            self.assertEqual((status, len(mock.requests)), (0, 1), err)
            self.assertIn(f"model: m at {mock.url} (OPENAI_BASE_URL)\n", out)
            self.assertEqual(self.solve(*ask, "--base-url", other.url, env=env)[0], 0)
            self.assertEqual((len(mock.requests), len(other.requests)), (1, 1))
        err = self.solve(*ask, env=self.env(OPENAI_BASE_URL="nowhere"))[2]
        self.one_line(err, "OPENAI_BASE_URL: --base-url: 'nowhere' does not begin with http://")


class Judges(Installed, AgentCase):
    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)

    def wrong(self, *args):
        with MockModel(YES) as mock:
            got, out, err = self.solve("--model", "openai", "--model-name", "m", "--base-url", mock.url, *self.missing,
                                       *args)
            self.assertEqual((got, mock.requests), (125, []), out + err)
        return err

    def test_wrong_path(self):
        """Before the model is asked anything."""
        judge = self.path("judge.py", "")
        for option in ("--check-answer", "--check-reply", "--check-prompt"):
            err = self.wrong("--quiet", option, "python3 /work/check/jugde.py", "--check-file", judge)
            self.one_line(err, f"{option}: it cannot be started: 'there is no /work/check/jugde.py: give --check-file")
        for option in ("--check-answer", "--check-reply"):
            self.assertIn(f"{option}: it cannot be started", self.wrong(option, "/no/such/judge"))


if __name__ == "__main__":
    unittest.main()
