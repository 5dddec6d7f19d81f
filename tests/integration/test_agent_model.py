#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_model.py - stepjail-agent at a server: faults, retries, the key"""
import email.utils
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, CSV, KEY, AgentCase, family, fence, wait_for  # noqa: E402
from mock_model import MockModel  # noqa: E402


class OpenAi(AgentCase):
    def test_whole_road(self):
        mock, out, err = self.ask([{"say": "First:\n" + fence("print(6 * 7)")},
                                   {"say": "It is 42."}], "--json", "--file", CSV)
        got = json.loads(out)
        self.assertEqual((got["outcome"], got["answer"].strip()), ("answered", "It is 42."))
        self.assertEqual(got["usage"], {"requests": 2, "retries": 0, "prompt_tokens": 200,
                                        "completion_tokens": 14, "cached_tokens": 0,
                                        "cache_write_tokens": 0, "judged": 0})
        _, path, headers, _ = mock.requests[0]
        self.assertEqual(path, "/v1/chat/completions")
        self.assertEqual(headers["Authorization"], f"Bearer {KEY}")
        roles = [m["role"] for m in mock.messages(1)]
        self.assertEqual(roles, ["system", "user", "assistant", "user"])
        self.assertIn("/work/in/penguins.csv, 13478 bytes", mock.messages(0)[1]["content"])
        self.assertIn("Output:\n| 42\n", mock.messages(1)[3]["content"])

    def test_unreachable(self):
        status, out, err = self.solve("--model", "openai", "--model-name", "m", "--base-url",
                                      "http://127.0.0.1:9/v1", "--retries", "1")
        self.assertEqual(status, 4)
        self.one_line(err, "cannot be reached at http://127.0.0.1:9/v1", "tried 2 times")

    def test_never_stops(self):
        mock, out, err = self.ask([{"say": fence("print(1)")}], "--steps", "3", status=3)
        self.one_line(err, "the steps are used up (--steps 3)")
        self.assertEqual(len(mock.requests), 4)
        self.assertIn("no step is left", mock.messages(3)[-1]["content"])

    def test_wall_budget_in_a_step(self):
        mock, out, err = self.ask([{"say": fence("import time; time.sleep(600)")}], "--wall-time",
                                  "1s", "--step-time", "10m", status=124)
        self.one_line(err, "the wall time is used up")

    def test_wall_budget_at_the_model(self):
        mock, out, err = self.ask([{"hang": 600}], "--wall-time", "1s", status=124)
        self.one_line(err, "the wall time is used up")

    def test_garbage(self):
        rows = [
            (b"<html>", "not JSON"), (b"{}", "no list of choices"),
            (b'{"choices":[]}', "no text in"), (b"\x00\xff" * 100, "not JSON"),
            (b'{"choices":[{"message":{"content":null}}]}', "which is null"),
            (b'{"choices":[{"message":{"content":7}}]}', "no text"),
            (b'{"choices":"x"}', "no list of choices"), (b"[" * 100000, "not JSON"),
        ]
        for body, words in rows:
            with self.subTest(body=body[:50]):
                mock, out, err = self.ask([{"body": body}], status=4)
                self.one_line(err, words)
                self.assertEqual(len(mock.requests), 1)

    def test_answer_too_long(self):
        mock, out, err = self.ask([{"flood": 9 << 20}], status=4)
        self.one_line(err, "longer than 8388608 bytes")

    def test_retry_after_seconds(self):
        mock, out, err = self.ask([{"status": 429, "headers": {"Retry-After": "2"},
                                    "error": {"message": "slow \x1b[2J"}}, {"say": "Hi."}])
        self.assertEqual(len(mock.requests), 2)
        self.assertGreater(mock.requests[1][0] - mock.requests[0][0], 1.9)
        self.assertIn("HTTP 429: 'slow \\x1b[2J'; trying again in 2", out)

    def test_retry_after_date(self):
        when, ahead = int(time.time()) + 3, time.time() - time.monotonic()
        date = email.utils.formatdate(when, usegmt=True)
        mock, out, err = self.ask([{"status": 503, "headers": {"Retry-After": date}},
                                   {"say": "Hi."}])
        self.assertGreater(mock.requests[1][0] + ahead, when - 0.1)

    def test_retry_after_too_long(self):
        mock, out, err = self.ask([{"status": 429, "headers": {"Retry-After": "7200"}}], status=4)
        self.assertEqual(len(mock.requests), 1)
        self.one_line(err, "HTTP 429", "after --wall-time")

    def test_retries_pass(self):
        for trouble in ({"status": 500}, {"status": 599}, {"drop": True}, {"cut": b'{"choi'},
                        {"body": b""}, {"status": 408}, {"status": 529},
                        {"status": 429, "error": {"code": "rate_limit_exceeded"}}):
            with self.subTest(trouble=trouble):
                mock, out, err = self.ask([trouble, trouble, {"say": "Hi."}], "--json")
                got = json.loads(out)
                self.assertEqual((got["usage"]["requests"], got["usage"]["retries"]), (3, 2))

    def test_retries_end(self):
        mock, out, err = self.ask([{"status": 500}], "--retries", "2", status=4)
        self.assertEqual(len(mock.requests), 3)
        self.assertIn("HTTP 500 (tried 3 times, --retries 2)", err)

    def test_hang_is_a_failure_that_may_pass(self):
        mock, out, err = self.ask([{"hang": 600}, {"say": "Hi."}], "--model-time", "3s")
        self.assertEqual(len(mock.requests), 2)
        self.assertIn("no byte came for 3 s (--model-time); trying again", out)

    def test_no_retry(self):
        rows = [
            ({"status": 429, "error": {"message": "pay", "code": "insufficient_quota"}}, "quota"),
            ({"status": 400, "error": {"message": "bad"}}, "HTTP 400: 'bad'"),
            ({"status": 401, "error": {"message": "no"}}, "HTTP 401: 'no'"),
            ({"status": 404, "body": b"<html>"}, "HTTP 404"),
            ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, "--base-url"),
        ]
        for answer, words in rows:
            with self.subTest(answer=answer):
                mock, out, err = self.ask([answer], status=4)
                self.assertEqual(len(mock.requests), 1)
                self.one_line(err, words)

    def test_model_that_plays_both_parts(self):
        reply = fence("print(6 * 7)") + "Output:\n| 41\n\nSo:\n" + fence("print('never')")
        mock, out, err = self.ask([{"say": reply}, {"say": "42."}], "--json")
        (step,) = json.loads(out)["steps"]
        self.assertEqual(step["stdout"]["head"], "42\n")
        self.assertIn("was ignored", step["observation"])

    def test_key_in_clear_text_is_refused(self):
        status, out, err = self.solve("--model", "openai", "--model-name", "m", "--base-url",
                                      "http://192.0.2.1/v1", env=self.env(OPENAI_API_KEY=KEY))
        self.assertEqual(status, 125)
        self.one_line(err, "clear text", "https")


class Secrets(AgentCase):
    """The key: sent to the server, and to be found nowhere else."""

    def check_everywhere(self, *extra, env):
        self.path("fake_stepjail.log", "")
        transcript = self.path("t.jsonl")
        begun, looked = self.path("begun"), self.path("looked")
        code = f"import os, time; open({begun!r}, 'w').close()\n" \
               f"while not os.path.exists({looked!r}): time.sleep(0.01)\n" \
               "print(dict(os.environ), open('/proc/self/environ').read())"
        answers = [{"status": 500, "error": {"message": f"bad key {KEY}"}},
                   {"say": fence(code)}, {"say": f"Your key is {KEY}."}]
        with MockModel(answers) as mock:
            p = self.popen("solve", "x", "--stepjail", self.fake, "--model", "openai",
                           "--model-name", "m", "--base-url", mock.url, "--transcript",
                           transcript, *extra, env=env)
            seen = b""
            while p.poll() is None and not os.path.exists(looked):
                runs = os.path.exists(begun)
                for pid in family(p.pid):
                    for name in ("cmdline", "environ"):
                        try:
                            with open(f"/proc/{pid}/{name}", "rb") as f:
                                # before its first request the agent may not have read it yet
                                seen += f.read() if mock.requests or name == "cmdline" else b""
                        except OSError:
                            pass
                if runs:
                    self.path("looked", "")
                time.sleep(0.05)
            out, err = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 0, err)
            headers = mock.requests[0][2]
        self.assertEqual(headers["Authorization"], f"Bearer {KEY}")
        everything = [seen, out, err]
        for name in ("t.jsonl", "fake_stepjail.log"):
            with open(self.path(name), "rb") as f:
                everything.append(f.read())
        self.assertGreater(len(seen), 100)
        for text in everything:
            self.assertNotIn(KEY.encode(), text)
        for _, _, _, body in mock.requests:
            self.assertNotIn(KEY.encode(), body)

    def test_from_environment(self):
        for name in ("STEPJAIL_API_KEY", "OPENAI_API_KEY"):
            with self.subTest(name=name):
                self.check_everywhere(env=self.env(**{name: KEY}))
                for name in ("t.jsonl", "begun", "looked"):
                    os.unlink(self.path(name))

    def test_from_file(self):
        self.check_everywhere("--key-file", self.path("key", KEY + "\n", 0o600),
                              env=self.env(STEPJAIL_API_KEY="another-key"))

    def test_no_dump_and_no_look_from_outside(self):
        """What is not dumpable has its folder in /proc owned by root, whoever runs it."""
        name = os.environ.get("STEPJAIL_TEST_USER", "games")
        user = {"user": name, "extra_groups": []} if os.getuid() == 0 else {}
        os.chmod(self.folder, 0o777)
        agent = shutil.copy(AGENT, self.folder)  # where that user may execute it
        with MockModel([{"hang": 600}]) as mock:
            p = subprocess.Popen([agent, "solve", "x", "--stepjail", self.fake, "--model",
                                  "openai", "--model-name", "m", "--base-url", mock.url],
                                 env=self.env(STEPJAIL_API_KEY=KEY), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, **user)
            try:
                self.assertTrue(wait_for(lambda: mock.requests))
                _, client, serve = family(p.pid)[1:4]
                for pid in (p.pid, client):
                    self.assertEqual(os.stat(f"/proc/{pid}/environ").st_uid, 0)
                self.assertNotEqual(os.stat(f"/proc/{serve}/environ").st_uid, 0)
            finally:
                p.terminate()
                p.communicate(timeout=60)

    def test_whose_file(self):
        """A key that others could read is none, nor one behind a link; a pipe with a number is the caller's."""
        server = ("--model", "openai", "--model-name", "m", "--base-url", "http://127.0.0.1:9/v1")
        file, link = self.path("key", KEY), self.path("link")
        os.symlink(file, link)
        rows = [(file, 0o644, "mode 0644"), (file, 0o640, "mode 0640"), (file, 0o620, "mode 0620"), (link, 0o600, "is a link")]
        for path, mode, words in rows:
            os.chmod(file, mode)
            for option in ("--key-file", "--header-file"):
                status, out, err = self.solve(*server, option, path)
                self.assertEqual((status, out), (125, ""))
                self.one_line(err, f"{option}: {path}", words)
                self.assertNotIn(KEY, err)
        if os.geteuid() == 0:
            os.chown(file, 12345, 12345)
            self.one_line(self.solve(*server, "--key-file", file)[2], "belongs to uid 12345")
        with MockModel([{"say": "Yes."}]) as mock:
            done = subprocess.run(
                ["/bin/bash", "-c", '"$0" solve x --stepjail "$1" --model openai --model-name m --base-url "$2" --transcript none'
                 f' --key-file <(echo {KEY})', AGENT, self.fake, mock.url], env=self.env(), capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, b"Yes.\n"), done.stderr)
            self.assertEqual(mock.requests[0][2]["Authorization"], f"Bearer {KEY}")

    def test_query(self):
        """Whatever stands in a query would stand before the path, in the transcript and in each message."""
        for url in (f"https://127.0.0.1:9/v1?key={KEY}", f"https://127.0.0.1:9/v1#{KEY}"):
            for args, env in ((("--base-url", url), self.env()), ((), self.env(OPENAI_BASE_URL=url))):
                status, out, err = self.solve("--model", "openai", "--model-name", "m", "--transcript", self.path("t.jsonl"),
                                              *args, env=env)
                self.assertEqual((status, out), (125, ""))
                self.one_line(err, "it has a query ('?') or a fragment ('#')", "--header-file")
                self.assertNotIn(KEY, err)
                for name in os.listdir(self.folder):
                    with open(self.path(name), "rb") as f:
                        self.assertNotIn(KEY.encode(), f.read())

    def test_bad_keys_are_not_shown(self):
        for key in ("with blanK7", "with\nnewlinE7", "\u00e9ccenT7"):
            status, out, err = self.solve("--model", "openai", "--model-name", "m",
                                          env=self.env(STEPJAIL_API_KEY=key))
            self.assertEqual(status, 125)
            self.one_line(err, "STEPJAIL_API_KEY")
            self.assertNotIn(key.split()[-1], err)


if __name__ == "__main__":
    unittest.main()
