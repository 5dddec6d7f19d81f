#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_aimock.py - the agent at aimock, an imitation of model providers that others wrote

Each scene is a model's name. The jail is the fake one of tests/integration: this is about
what is said to a server, and what it answers.
"""
import json
import os
import socket
import subprocess
import sys
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from agent_scene import BUILD, AgentCase, fence, wait_for  # noqa: E402

CLI = os.path.join(BUILD, "interop/node_modules/@copilotkit/aimock/dist/cli.js")
PROVIDERS = ("openai", "anthropic", "ollama", "llamacpp", "vllm")
CODE = "x = 6\nprint(x * 7)"
RUN = {"toolCalls": [{"name": "python", "arguments": {"code": CODE}}]}
BUSY = {"error": {"message": "Busy", "type": "rate_limit_error"}, "status": 429}


def turns(model, *responses):
    return [{"match": {"model": model, "turnIndex": i}, "response": r}
            for i, r in enumerate(responses)]


def in_order(model, *fixtures):
    return [{"match": {"model": model, "sequenceIndex": i}, **f} for i, f in enumerate(fixtures)]


FIXTURES = [
    *turns("text", {"content": "First:\n" + fence(CODE)}, {"content": "It is 42. \u00e9\U0001f600"}),
    *turns("tools", RUN, {"content": "42."}),
    *turns("both", {"content": "See:", **RUN}, {"content": "42."}),
    *turns("tool-first", {"blocks": [{"type": "toolCall", "name": "python",
                                      "arguments": json.dumps({"code": CODE})},
                                     {"type": "text", "text": "See:"}]}, {"content": "42."}),
    *turns("several", {"toolCalls": [{"name": "python", "arguments": {"code": "x = 6"}},
                                     {"name": "python", "arguments": {"code": "print(x * 7)"}}]},
           {"content": "42."}),
    *turns("wrong", {"toolCalls": [{"name": "bash", "arguments": {"code": "ls"}}]}, RUN,
           {"content": "42."}),
    *turns("counted", {"content": "Hi.", "usage": {"prompt_tokens": 1234, "completion_tokens": 56,
                                                   "input_tokens": 1234, "output_tokens": 56}}),
    *turns("long", {"content": fence(CODE), "finishReason": "length"}, {"content": "42."}),
    *turns("flaky", {"content": fence(CODE) + "x" * 500}, {"content": "42."}),
    *in_order("truncated", {"response": {"content": "It is 42." * 50}, "truncateAfterChunks": 3},
              {"response": {"content": "Hi."}}),
    *in_order("busy", {"response": BUSY}, {"response": {"content": "Hi."}}),
    *[{**f, "chunkSize": 1} for f in turns("tools-split", RUN, {"content": "42."})],
    *[{**f, "chunkSize": 1} for f in turns("text-split", {"content": "First:\n" + fence(CODE)},
                                           {"content": "42. \u00e9\U0001f600"})],
    {"match": {"model": "torn-call", "turnIndex": 0, "sequenceIndex": 0}, "response": RUN,
     "chunkSize": 3, "truncateAfterChunks": 6},
    {"match": {"model": "torn-call", "turnIndex": 0, "sequenceIndex": 1}, "response": RUN},
    {"match": {"model": "torn-call", "turnIndex": 1}, "response": {"content": "42."}},
    *turns("silent", {"content": " "}, {"content": "Hi."}),
    *turns("badly", {"toolCalls": [{"name": "python", "arguments": {"cod": "1"}}]}, RUN,
           {"content": "42."}),
    *turns("refused", {"content": "I would rather not.", "finishReason": "content_filter"}),
    *turns("refused-so", {"content": "I would rather not.", "finishReason": "refusal"}),
    *in_order("overloaded", {"response": {"error": {"message": "Full", "type": "overloaded_error"},
                                          "status": 529}},
              {"response": {"error": {"message": "Gone", "type": "api_error"}, "status": 503}},
              {"response": {"content": "Hi."}}),
    *in_order("busy-long", {"response": {**BUSY, "retryAfter": 7200}}),
    *in_order("denied", {"response": {"error": {"message": "No", "type": "authentication_error"},
                                      "status": 401}}),
]


class Server:
    def __init__(self, folder, *args, fixtures=FIXTURES):
        path = os.path.join(folder, "fixtures.json")
        with open(path, "w") as f:
            json.dump({"fixtures": fixtures}, f)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            ["node", CLI, "-p", str(self.port), "-f", path, "--strict", "--log-level", "silent",
             "--validate-on-load", *args], env={**os.environ, "AIMOCK_STRICT_TURN_INDEX": "1"})

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def journal(self):
        with urllib.request.urlopen(self.url + "/__aimock/journal") as answer:
            return json.load(answer)

    def __enter__(self):
        if not wait_for(lambda: self.process.poll() is not None or self.listens(), 30) or \
                not self.listens():
            self.__exit__()
            raise AssertionError("aimock does not listen")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Aimock(AgentCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(CLI):
            raise AssertionError(f"{CLI} is not there: make interop")

    def at(self, server, model, name, *args, status=0):
        got, out, err = self.solve("--model", model, "--model-name", name, "--base-url",
                                   server.url + "/v1", "--retry-wait", "5ms", "--json", "--quiet",
                                   *args, env=self.env(STEPJAIL_API_KEY="some-key"))
        self.assertEqual(got, status, out + err)
        return json.loads(out), err

    def test_every_provider_in_both_modes(self):
        with Server(self.folder) as server:
            for model in PROVIDERS:
                for name in ("text", "text-split", "tools", "tools-split", "both", "tool-first",
                             "several"):
                    with self.subTest(model=model, name=name):
                        mode = "text" if name.startswith("text") else "tools"
                        got, err = self.at(server, model, name, "--code-in", mode)
                        self.assertIn("42.", got["answer"])
                        (step,) = got["steps"]
                        self.assertEqual(step["code"], CODE + "\n")
                        self.assertEqual(step["stdout"]["head"], "42\n")
                        self.assertEqual(got["usage"]["retries"], 0)
            got, err = self.at(server, "openai", "text")
            self.assertEqual(got["answer"], "It is 42. \u00e9\U0001f600")
            # --strict: it has known each request; nothing was answered by chance
            self.assertEqual({e["response"]["status"] for e in server.journal()}, {200})

    def test_complaints_go_round(self):
        with Server(self.folder) as server:
            for model in ("openai", "anthropic"):
                got, err = self.at(server, model, "wrong", "--code-in", "tools")
                self.assertIn("There is no tool 'bash'", got["steps"][0]["observation"])
                self.assertEqual(got["steps"][1]["stdout"]["head"], "42\n")

                got, err = self.at(server, model, "badly", "--code-in", "tools")
                self.assertIn('no JSON object with a string "code"', got["steps"][0]["observation"])
                self.assertEqual(got["steps"][1]["stdout"]["head"], "42\n")
                got, err = self.at(server, model, "silent")
                self.assertIn("Your reply was empty", got["steps"][0]["observation"])
                self.assertEqual(got["answer"], "Hi.")

    def test_what_is_sent(self):
        """As a stream, with the tool and its schema where calls are asked for."""
        with Server(self.folder) as server:
            for model in ("openai", "anthropic"):
                self.at(server, model, "tools", "--code-in", "tools")
                self.at(server, model, "text")
            asked = [e["body"] for e in server.journal()]
            self.assertEqual([b["stream"] for b in asked], [True] * 8)
            self.assertEqual([len(b.get("tools") or []) for b in asked], [2, 2, 0, 0] * 2)
            for body in asked[:2] + asked[4:6]:
                self.assertIn("python", json.dumps(body["tools"]))
                self.assertIn('"required": ["code"]', json.dumps(body["tools"]))

    def test_refusals(self):
        with Server(self.folder) as server:
            for model, name in (("openai", "refused"), ("anthropic", "refused-so")):
                got, err = self.at(server, model, name, status=4)
                self.one_line(err, "the model refused", "I would rather not.")

    def test_ends_and_counts(self):
        with Server(self.folder) as server:
            for model in ("openai", "anthropic"):
                got, err = self.at(server, model, "counted")
                self.assertEqual(got["usage"], {"requests": 1, "retries": 0,
                                                "prompt_tokens": 1234, "completion_tokens": 56,
                                                "cached_tokens": 0, "cache_write_tokens": 0, "judged": 0})
                got, err = self.at(server, model, "long")
                self.assertEqual([s["code"] for s in got["steps"]], [CODE + "\n"])

    def test_faults(self):
        # a server counts for itself how often a fixture was asked for
        for model in ("openai", "anthropic"):
            with Server(self.folder) as server:
                got, err = self.at(server, model, "truncated")
                self.assertEqual((got["answer"], got["usage"]["retries"]), ("Hi.", 1))
                got, err = self.at(server, model, "busy")
                self.assertEqual((got["answer"], got["usage"]["retries"]), ("Hi.", 1))
                got, err = self.at(server, model, "overloaded")
                self.assertEqual((got["answer"], got["usage"]["retries"]), ("Hi.", 2))
                got, err = self.at(server, model, "torn-call", "--code-in", "tools")
                self.assertEqual([s["code"] for s in got["steps"]], [CODE + "\n"])
                self.assertEqual((got["answer"], got["usage"]["retries"]), ("42.", 1))
                # Retry-After, which is waited out, and is too long
                got, err = self.at(server, model, "busy-long", status=4)
                self.one_line(err, "HTTP 429: 'Busy' (the next try would be in ", "after --wall-time")
                self.assertEqual(got["usage"]["requests"], 1)
                got, err = self.at(server, model, "denied", status=4)
                self.one_line(err, "HTTP 401: 'No'")
                got, err = self.at(server, model, "unheard-of", "--retries", "1", status=4)
                self.one_line(err, "HTTP ")

    def test_chaos(self):
        """Whatever fails in between, what is answered in the end is right."""
        with Server(self.folder, "--chaos-drop", "0.3", "--chaos-disconnect", "0.3") as server:
            retries = 0
            for _ in range(20):
                for model in ("openai", "anthropic"):
                    got, err = self.at(server, model, "flaky", "--retries", "100")
                    retries += got["usage"]["retries"]
                    self.assertEqual(got["answer"], "42.")
                    self.assertEqual([s["code"] for s in got["steps"]], [CODE + "\n"])
            self.assertGreater(retries, 20)
        with Server(self.folder, "--chaos-ratelimit", "0.3") as server:
            limited = 0
            while not limited:  # chance: each of them waits a second, as it is told to
                got, err = self.at(server, "openai", "flaky", "--retries", "100", "--code-in", "text")
                self.assertEqual(got["answer"], "42.")
                limited += got["usage"]["retries"]
        with Server(self.folder, "--chaos-malformed", "1") as server:
            for model in ("openai", "anthropic"):
                got, err = self.at(server, model, "flaky", status=4)
                self.one_line(err, "the model's answer is not JSON")


if __name__ == "__main__":
    unittest.main()
