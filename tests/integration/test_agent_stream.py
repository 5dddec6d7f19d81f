#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_stream.py - streams in both dialects and both modes, and their faults"""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import KEY, AgentCase, fence  # noqa: E402
from mock_model import chat_events, messages_events  # noqa: E402

MODELS = ("openai", "anthropic")


def call(code):
    return "python", json.dumps({"code": code})


class Dialects(AgentCase):
    def both(self):
        for model in MODELS:
            for stream in (True, False):
                with self.subTest(model=model, stream=stream):
                    yield model, {"stream": stream} if not stream else {}

    def test_text(self):
        for model, how in self.both():
            mock, out, err = self.ask([{"say": "First:\n" + fence("print(6 * 7)"), **how},
                                       {"say": "It is 42. \u00e9\U0001f600", **how}],
                                      "--json", model=model)
            got = json.loads(out)
            self.assertEqual(got["answer"].strip(), "It is 42. \u00e9\U0001f600")
            self.assertEqual(got["usage"], {"requests": 2, "retries": 0, "prompt_tokens": 200,
                                            "completion_tokens": 14, "cached_tokens": 0,
                                            "cache_write_tokens": 0, "judged": 0})
            self.assertEqual(got["budget"]["tokens"], {"used": 214, "limit": None})
            self.assertNotIn("tools", mock.body(0))
            self.assertEqual(mock.body(0)["stream"], True)

    def test_calls(self):
        for model, how in self.both():
            mock, out, err = self.ask([{"say": "", "calls": [call("x = 6\nprint(x * 7)")], **how},
                                       {"say": "42.", **how}], "--json", "--code-in", "tools",
                                      model=model)
            got = json.loads(out)
            self.assertEqual(got["answer"].strip(), "42.")
            self.assertEqual(got["steps"][0]["code"], "x = 6\nprint(x * 7)\n")
            self.assertEqual(got["steps"][0]["stdout"]["head"], "42\n")
            sent = json.dumps(mock.messages(1))
            self.assertIn("Output:\\n| 42\\n", sent)
            self.assertIn("call the tool python", json.dumps(mock.body(0)))

    def test_what_is_sent_back_chat(self):
        mock, out, err = self.ask([{"say": "See:", "calls": [call("a = 1"), call("print(a)")]},
                                   {"say": "1."}], "--code-in", "tools", "--reply-tokens", "500")
        self.assertEqual([t["function"]["name"] for t in mock.body(0)["tools"]], ["python", "answer"])
        self.assertEqual(mock.body(0)["max_tokens"], 500)
        said, first, second = mock.messages(1)[2:]
        self.assertEqual((said["role"], said["content"]), ("assistant", "See:"))
        self.assertEqual([c["id"] for c in said["tool_calls"]], ["call_0", "call_1"])
        self.assertEqual((first["role"], first["tool_call_id"]), ("tool", "call_0"))
        self.assertIn("Output:\n| 1\n", first["content"])
        self.assertEqual((second["role"], second["tool_call_id"]), ("tool", "call_1"))
        self.assertIn("together with the first call", second["content"])
        self.assertIn("  : See:\n", out)

    def test_what_is_sent_back_messages(self):
        mock, out, err = self.ask([{"say": "See:", "calls": [call("a = 1"), call("print(a)")]},
                                   {"say": "1."}], "--code-in", "tools", model="anthropic")
        _, path, headers, _ = mock.requests[0]
        self.assertEqual((path, headers["x-api-key"], headers["anthropic-version"]),
                         ("/v1/messages", KEY, "2023-06-01"))
        self.assertNotIn("Authorization", headers)
        self.assertEqual(mock.body(0)["max_tokens"], 8192)
        self.assertIn("You solve a task", mock.body(0)["system"])
        self.assertEqual([m["role"] for m in mock.messages(1)], ["user", "assistant", "user"])
        said, done = mock.messages(1)[1]["content"], mock.messages(1)[2]["content"]
        self.assertEqual([b["type"] for b in said], ["text", "tool_use", "tool_use"])
        self.assertEqual(said[1]["input"], {"code": "a = 1"})
        self.assertEqual([(b["type"], b["tool_use_id"]) for b in done],
                         [("tool_result", "toolu_0"), ("tool_result", "toolu_1")])

    def test_servers_of_this_host(self):
        """Another base URL is all that they differ in; no key of another provider goes there."""
        for model, port in (("ollama", 11434), ("llamacpp", 8080), ("vllm", 8000)):
            status, out, err = self.solve("--model", model, "--model-name", "m", "--retries", "0",
                                          "--wall-time", "300ms")
            self.assertIn(f"http://127.0.0.1:{port}/v1", out)
            mock, out, err = self.ask([{"say": "Hi."}], model=model,
                                      env=self.env(OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY))
            self.assertEqual(mock.requests[0][1], "/v1/chat/completions")
            self.assertNotIn("Authorization", mock.requests[0][2])

    def test_keys_of_providers(self):
        mock, out, err = self.ask([{"say": "Hi."}], model="anthropic",
                                  env=self.env(OPENAI_API_KEY="not-this", ANTHROPIC_API_KEY=KEY))
        self.assertEqual(mock.requests[0][2]["x-api-key"], KEY)
        status, out, err = self.solve("--model", "anthropic", "--model-name", "m")
        self.assertEqual(status, 125)
        self.one_line(err, "no key", "ANTHROPIC_API_KEY")


class Faults(AgentCase):
    def test_cut_at_every_byte(self):
        """Each byte of the stream is once its last: half an answer is never taken."""
        answer = {"say": "Hi.", "usage": None}
        for model, events in (("openai", chat_events), ("anthropic", messages_events)):
            with self.subTest(model=model):
                stream = events(answer)
                word = b'"finish_reason"' if model == "openai" else b'"stop_reason"'
                whole = stream.index(b"\n\n", stream.index(word)) + 2
                cuts = [{**answer, "cut_at": at} for at in range(whole)]
                mock, out, err = self.ask(cuts + [answer], "--json", "--retries", "1000",
                                          "--retry-wait", "1ms", model=model)
                got = json.loads(out)
                self.assertEqual((got["answer"].strip(), got["usage"]["retries"]), ("Hi.", whole))
                self.assertEqual(len(mock.requests), whole + 1)

    def test_end_without_its_last_words(self):
        for model, events, last in (("openai", chat_events, b"data: [DONE]"),
                                    ("anthropic", messages_events, b"event: message_stop")):
            stream = events({"say": "Hi."})
            mock, out, err = self.ask([{"say": "Hi.", "cut_at": stream.index(last)}],
                                      model=model)
            self.assertEqual(len(mock.requests), 1)

    def test_stalls(self):
        mock, out, err = self.ask([{"say": "Hi.", "stall": (200, 600)}, {"say": "Hi."}],
                                  "--model-time", "3s")
        self.assertEqual(len(mock.requests), 2)
        self.assertIn("no byte came for 3 s (--model-time)", out)
        mock, out, err = self.ask([{"say": "Hi.", "stall": (200, 600)}], "--model-time", "3s",
                                  "--retries", "0", status=4)
        self.one_line(err, "broke off at", "no byte came for 3 s (--model-time)")

    def test_slow_is_not_silent(self):
        """An answer may take longer than --model-time, if it goes on."""
        answer = {"say": "Hi. " * 40}  # so that what says its end is in the last piece
        fifth = len(chat_events(answer)) // 5 + 1
        mock, out, err = self.ask([{**answer, "pace": (fifth, 1.2)}], "--model-time", "4s",
                                  "--retries", "0")
        self.assertEqual(len(mock.requests), 1)

    def test_connection_kept_after_the_end(self):
        for model in MODELS:
            self.ask([{"say": "Hi.", "endless": True}], "--retries", "0", "--model-time", "1h",
                     "--wall-time", "1h", model=model)

    def test_garbage(self):
        rows = [
            (b"data: {\n\n", "is not a JSON object"), (b"data: 7\n\n", "is not a JSON object"),
            (b"\x00\xff" * 1000, "broke off before it began"), (b"", "answer is empty"),
            (b"data: " + b"[" * 100000 + b"\n\n", "is not a JSON object"),
            (b'data: {"choices":{}}\n\n', "no list of choices"),
            (b'data: {"error":{"message":"\x1b[2J\\u001b[2J\xff"}}\n\n', "\\x1b[2J\\x1b[2J\\xff"),
        ]
        for events, words in rows:
            with self.subTest(events=events[:40]):
                mock, out, err = self.ask([{"events": events}, {"say": "Hi."}])
                self.assertIn(words + ("" if "x1b" in words else "; trying again"), out)
                self.assertNotIn("\x1b", out)
                mock, out, err = self.ask([{"events": events}], "--retries", "1", "--retry-wait",
                                          "1ms", status=4)
                self.one_line(err, words, "(tried 2 times, --retries 1)")

    def test_too_long(self):
        one = b"data: " + b"x" * (5 << 20)
        mock, out, err = self.ask([{"events": one}], status=4)
        self.one_line(err, "an event longer than 4194304 bytes")
        words = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % (b"x" * 1000000)
        mock, out, err = self.ask([{"events": words * 9}], status=4)
        self.one_line(err, "the model's reply: longer than 8388608 bytes")
        mock, out, err = self.ask([{"events": (b": " + b"x" * 1000000 + b"\n") * 68}], status=4)
        self.one_line(err, "a stream longer than 67108864 bytes")
        self.assertEqual(len(mock.requests), 1)

    def test_error_in_the_middle(self):
        start = chat_events({"say": "Hello"})[:200]
        start = start[:start.rindex(b"\n\n") + 2]
        busy = b'data: {"error":{"message":"Busy","type":"server_error"}}\n\n'
        mock, out, err = self.ask([{"events": start + busy}, {"say": "Hi."}], "--json")
        got = json.loads(out)
        self.assertEqual(got["answer"].strip(), "Hi.")
        # what came of the first answer was paid for: it is judged, and that is said
        self.assertEqual(got["usage"]["judged"], 1)
        self.assertGreater(got["usage"]["prompt_tokens"], 300)
        self.assertGreater(got["usage"]["completion_tokens"], 7)
        pay = b'data: {"error":{"message":"Pay","code":"insufficient_quota"}}\n\n'
        mock, out, err = self.ask([{"events": start + pay}], status=4)
        self.assertEqual(len(mock.requests), 1)
        self.one_line(err, "Pay", "waiting does not help")
        overloaded = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",' \
                     b'"message":"Overloaded"}}\n\n'
        mock, out, err = self.ask([{"events": overloaded}, {"say": "Hi."}], model="anthropic")
        self.assertEqual(len(mock.requests), 2)
        self.assertIn("'Overloaded'; trying again", out)

    def test_refusals(self):
        for model in MODELS:
            mock, out, err = self.ask([{"say": "Never \x1b[2J.", "finish": "content_filter"}],
                                      status=4, model=model)
            self.one_line(err, "the model refused (", "Never \\x1b[2J.")
            self.assertEqual(len(mock.requests), 1)
        events = b'data: {"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}\n\n'
        mock, out, err = self.ask([{"events": events}], status=4)
        self.one_line(err, "the model refused: 'No.'")

    def test_empty_replies(self):
        for model in MODELS:
            for mode in ("text", "tools"):
                mock, out, err = self.ask([{"say": ""}, {"say": " \n"}, {"say": "Hi."}], "--json",
                                          "--code-in", mode, model=model)
                steps = json.loads(out)["steps"]
                self.assertEqual([s["code"] for s in steps], [None, None])
                self.assertIn("Your reply was empty.", steps[0]["observation"])
                self.assertIn("Your reply was empty.", json.dumps(mock.messages(2)))
        self.assertIn("(an empty reply)", json.dumps(mock.messages(2)))

    def test_wrong_arguments(self):
        none = 'are no JSON object with a string "code"'
        rows = [("python", "print(1)", none), ("python", '{"code": 7}', none),
                ("python", "", none), ("python", "{}", none),
                ("python", '{"code": "\\u0000"}', "NUL byte"),
                ("bash", '{"code": "ls"}', "There is no tool 'bash'"),
                ("x\x1b[2J y", '{"code": "ls"}', "There is no tool 'x__2J_y'")]
        for model in MODELS:
            for name, arguments, words in rows:
                with self.subTest(model=model, arguments=arguments):
                    mock, out, err = self.ask([{"calls": [(name, arguments)]}, {"say": "Hi."}],
                                              "--json", "--code-in", "tools", model=model)
                    (step,) = json.loads(out)["steps"]
                    self.assertIsNone(step["code"])
                    self.assertIn(words, step["observation"])
                    self.assertIn("Nothing was run", step["observation"])
                    # the wrong call is sent back in a form that every server takes
                    sent = mock.messages(1)
                    if model == "openai":
                        json.loads(sent[2]["tool_calls"][0]["function"]["arguments"])
                        self.assertEqual(sent[3]["role"], "tool")
                    else:
                        self.assertIsInstance(sent[1]["content"][0]["input"], dict)
                        self.assertEqual(sent[2]["content"][0]["type"], "tool_result")

    def test_calls_that_were_cut_off(self):
        for model in MODELS:
            mock, out, err = self.ask([{"calls": [("python", '{"code": "print(')],
                                        "finish": "length"}, {"say": "Hi."}], "--json", "--code-in",
                                      "tools", model=model)
            (step,) = json.loads(out)["steps"]
            self.assertIn("cut off before its end", step["observation"])

    def test_calls_where_none_are_offered(self):
        mock, out, err = self.ask([{"calls": [call("print(1)")]}, {"say": "Hi."}], "--json")
        (step,) = json.loads(out)["steps"]
        self.assertIn("there is none here", step["observation"])

    def test_too_many_calls(self):
        mock, out, err = self.ask([{"calls": [call("print(1)")] * 40}, {"say": "Hi."}], "--json",
                                  "--code-in", "tools")
        (step,) = json.loads(out)["steps"]
        self.assertIn("You made more than 16 calls at once", step["observation"])
        self.assertEqual(len(mock.messages(1)[2]["tool_calls"]), 16)
        self.assertEqual(sum(m["role"] == "tool" for m in mock.messages(1)), 16)

    def test_code_in_words_is_not_run_in_tools_mode(self):
        mock, out, err = self.ask([{"say": fence("print(1)")}], "--json", "--code-in", "tools")
        got = json.loads(out)
        self.assertEqual((got["outcome"], got["steps"]), ("answered", []))

    def test_nothing_of_it_moves_the_cursor(self):
        hostile = "\x1b[2J\x07\u202e\x9b"
        mock, out, err = self.ask([{"say": hostile, "calls": [call(f"print('{hostile}')")]},
                                   {"say": hostile}], "--code-in", "tools")
        for bad in "\x1b\x07\u202e\x9b":
            self.assertNotIn(bad, out + err)

    def test_key_quoted_by_the_server(self):
        for model in MODELS:
            mock, out, err = self.ask([{"say": KEY, "calls": [call(f"print('{KEY}')")]},
                                       {"say": f"Your key is {KEY}."}], "--code-in", "tools",
                                      "--transcript", self.path(f"{model}.jsonl"), model=model)
            with open(self.path(f"{model}.jsonl")) as f:
                record = f.read()
            self.assertNotIn(KEY, out + err + record)
            self.assertIn("*" * len(KEY), out)
            self.assertNotIn(KEY, json.dumps(mock.messages(1)))

    def test_key_behind_escapes(self):
        """Arguments are JSON within JSON: what hides the key there is read after the last event.
        Whole and cut off, in a member's name, behind a NUL, and all but its last byte."""
        hidden = "".join(f"\\u{ord(c):04x}" for c in KEY)
        cut = hidden[:-6]
        rows = [f'{{"code": "print(\'{hidden}\')"}}', f'{{"code": "print(\'{cut}\')"}}', f'{{"{hidden}": "1"}}',
                f'{{"code": "a\\u0000{hidden}"}}', f'{{"code": "print(\'{hidden}', f'{{"text": "{hidden}"}}']
        answers = [{"calls": [("answer" if "text" in row else "python", row)]} for row in rows]
        for model in MODELS:
            self.path("fake_stepjail.log", "")
            mock, out, err = self.ask(answers, "--code-in", "tools", "--transcript", self.path(model), model=model)
            self.assertEqual(len(mock.requests), len(rows))
            seen = [out, err, *(json.dumps(mock.body(n)) for n in range(len(rows)))]
            for path in (model, "fake_stepjail.log"):
                with open(self.path(path), encoding="utf-8", errors="replace") as f:
                    seen.append(f.read())
            self.assertGreaterEqual(seen[-2].count("*" * (len(KEY) - 1)), len(rows))
            for text in seen:
                for _ in range(4):  # as often as JSON may have wrapped it
                    self.assertNotIn(KEY[:-1], text)
                    text = re.sub(r"\\+u00([0-7][0-9a-f])", lambda m: chr(int(m[1], 16)), text)

    def test_key_cut_by_thinking(self):
        """Two halves that become neighbours when the reply is taken apart."""
        half, rest = KEY[:15], KEY[15:]
        for answer in ({"thinks": half, "say": f"<think>{rest}</think>Done."},
                       {"thinks": half, "say": f"{rest}</think>Done."}, {"thinks": half, "say": f"{rest}\n</think>Done."}):
            with self.subTest(answer=answer):
                record = self.path("t.jsonl")
                mock, out, err = self.ask([answer], "--transcript", record)
                with open(record) as f:
                    said = f.read()
                os.unlink(record)
                self.assertNotIn(KEY, out + err + said)
                self.assertIn("*" * len(KEY), said)

    def test_answer_by_a_call(self):
        """Its text is the answer, also where it is code, and nothing of it is run."""
        text = fence("print(6 * 7)") + "\ttail"
        answer = ("answer", json.dumps({"text": text}))
        for model in MODELS:
            with self.subTest(model=model):
                record = self.path(f"{model}.jsonl")
                mock, out, _ = self.ask([{"calls": [call("x = 1"), answer]}, {"calls": [("answer", "{}")]},
                                         {"say": "Here:", "calls": [answer]}], "--json", "--code-in", "tools", "--transcript",
                                        record, model=model)
                got = json.loads(out)
                self.assertEqual((got["outcome"], got["answer"], [s["code"] for s in got["steps"]]), ("answered", text, [None] * 2))
                self.assertIn("Call answer alone", got["steps"][0]["observation"])
                self.assertIn('with a string "text"', got["steps"][1]["observation"])
                self.assertIn("a call of the tool answer", json.dumps(mock.body(0)))
                self.assertEqual([t.get("function", t)["name"] for t in mock.body(0)["tools"]], ["python", "answer"])
                with open(record) as f:
                    *_, said, end = map(json.loads, f)
                self.assertEqual((said["text"], said["calls"][0]["name"], end["answer"]), ("Here:", "answer", text))
                self.assertEqual(self.run_agent("verify", record)[0], 0)

    def test_answer_by_a_call_that_does_not_stand(self):
        """A check looks at its text, and the model is told as the result of the call."""
        check = "python3 -c 'import sys; sys.exit(\"42\" not in sys.stdin.read())'"
        for model in MODELS:
            mock, out, _ = self.ask([{"calls": [("answer", '{"text": "41"}')]}, {"calls": [("answer", '{"text": "42"}')]}],
                                    "--json", "--code-in", "tools", "--check-answer", check, model=model)
            self.assertEqual(json.loads(out)["answer"], "42")
            sent = mock.messages(1)[-1]
            self.assertIn("did not pass a check", json.dumps(sent))
            self.assertIn("tool", sent["role"] if model == "openai" else sent["content"][0]["type"])

    def test_scripted_answer(self):
        script = self.script('call: python\n{"code": "print(6 * 7)"}', 'expect: | 42\ncall: answer\n{"text": "x = 42"}')
        status, out, err = self.solve("--model", script, "--code-in", "tools", "--quiet")
        self.assertEqual((status, out), (0, "x = 42\n"), err)

    def test_scripted_calls(self):
        script = self.script('call: python\n{"code": "print(6 * 7)"}',
                             "call: bash\nls", "expect: There is no tool 'bash'\n42.")
        status, out, err = self.solve("--model", script, "--code-in", "tools", "--json")
        got = json.loads(out)
        self.assertEqual((status, got["answer"].strip()), (0, "42."), err)
        self.assertEqual(got["steps"][0]["stdout"]["head"], "42\n")


if __name__ == "__main__":
    unittest.main()
