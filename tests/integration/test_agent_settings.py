#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_settings.py - what a user adds to each request, and names of models"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import KEY, TOP, AgentCase, fence  # noqa: E402
from mock_model import MockModel  # noqa: E402


class Set(AgentCase):
    SETTINGS = {"temperature": 0.2, "seed": 7, "effort": "high", "reasoning": {"effort": "low"}, "stop": ["a", None],
                "logprobs": False, "top-k_1": 5}

    def test_in_each_request(self):
        options = ["--set", "temperature=0.2", "--set=seed=7", '--set=effort="high"',
                   '--set=reasoning={"effort": "low"}', '--set=stop=["a", null]', "--set=logprobs=false",
                   "--set=top-k_1= 5 "]
        for model in ("openai", "anthropic"):
            mock, _, _ = self.ask([{"say": fence("print(1)")}, {"say": "Done."}], *options, model=model)
            self.assertEqual(len(mock.requests), 2)
            for number in range(2):
                body = mock.body(number)
                self.assertEqual({name: body[name] for name in self.SETTINGS}, self.SETTINGS)
                self.assertEqual((body["model"], body["stream"]), ("m", True))

    def test_refusals(self):
        for item, words in (
                ("temperature", "'temperature' is not KEY=JSON"), ("=1", "'=1' is not KEY=JSON"),
                ("a b=1", "'a b=1' is not KEY=JSON"), ("a.b=1", "'a.b=1' is not KEY=JSON"),
                ("effort=high", "the value of 'effort' is not JSON: 'high'; a string has quotes"),
                ("x=", "the value of 'x' is not JSON: ''"), ("x={", "the value of 'x' is not JSON: '{'"),
                ("x=1 2", "is not JSON: '1 2'"), ("x=[" * 1200, "is not JSON"),
                ("messages=[]", "'messages' cannot be set: the conversation is the agent's"),
                ('model="x"', "'model' cannot be set: give --model-name"), ("stream=false", "'stream' cannot be set"),
                ("stream_options={}", "'stream_options' cannot be set"), ("tools=[]", "give --code-in tools"),
                ('system="x"', "give --system"), ("max_tokens=1", "give --reply-tokens"),
                ("max_completion_tokens=1", "give --reply-tokens"), ("n=2", "one answer is asked for")):
            with self.subTest(item=item[:80]):
                status, out, err = self.solve("--model", "openai", "--model-name", "m", "--base-url",
                                              "http://127.0.0.1:1/v1", f"--set={item}")
                self.assertEqual((status, out), (125, ""))
                self.one_line(err, "--set: ", words)
        for more, words in ((("--set=a=1", "--set=a=2"), "'a' is given twice"),):
            self.one_line(self.solve("--model", "openai", "--model-name", "m", *more)[2], words)
        self.one_line(self.solve("--model", self.script("Done."), "--set=a=1")[2],
                      "--set: is for a model on a server")


class Prices(AgentCase):
    SHIPPED = os.path.join(TOP, "agent/prices.json")

    def test_prompt_cache(self):
        """One member asks for it, and what it reads and writes is priced; a line after each step."""
        with MockModel([{"say": fence("print(1)"), "cached": (50, 30)}, {"say": "Done."}]) as mock:
            status, out, err = self.solve("--model", "anthropic/claude-opus-5", "--prices", self.SHIPPED,
                                          '--set=cache_control={"type": "ephemeral"}', "--base-url", mock.url)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(mock.body(1)["cache_control"], {"type": "ephemeral"})
        self.assertIn("\n$0.0004875 so far\n", out.replace("    ", ""))  # 20 * 5 + 50 * 0.5 + 30 * 6.25 + 7 * 25
        self.assertIn(" $0.0011625", out)  # and 100 * 5 + 7 * 25 of the second

    def test_cost_at_openai(self):
        """50 tokens of 100 from the cache, where they have a price, and 7 back."""
        for model, cost in ("openai/gpt-6.2-sol", "$0.000175 so far"), ("openai/gpt-4", "$0.00342 so far"):
            with MockModel([{"say": fence("print(1)"), "cached": (50, 0)}, {"say": "Done."}]) as mock:
                out = self.solve("--model", model, "--prices", self.SHIPPED, "--base-url", mock.url)[1]
            self.assertIn(cost, out)

    def test_no_price_no_line(self):
        with MockModel([{"say": fence("print(1)")}, {"say": "Done."}]) as mock:
            out = self.solve("--model", "openai/m", "--base-url", mock.url)[1]
        self.assertNotIn("so far", out)

    def test_shipped(self):
        """Each row can be used, and says where it is from."""
        with open(self.SHIPPED) as f:
            rows = json.load(f)
        about = rows.pop("about")
        self.assertRegex(about["read"], r"^20\d\d-\d\d-\d\d$")
        self.assertIn("https://", about["source"])
        for name, row in rows.items():
            self.assertEqual(set(row) | {"cached", "cache_write"}, {"input", "output", "cached", "cache_write"}, name)
            self.assertLessEqual(row.get("cached", 0), row["input"])
            self.assertAlmostEqual(row.get("cache_write", row["input"] * 1.25), row["input"] * 1.25, msg=name)
            if name.startswith("claude-"):
                self.assertIn("cache_write", row)
            self.assertLess(row["input"], row["output"])
            status, _, err = self.solve("--model", f"anthropic/{name}", "--prices", self.SHIPPED, "--total-cost", "1",
                                        "--base-url", "http://127.0.0.1:1/v1", "--retries", "0")
            self.assertEqual(status, 4, err)
        status, _, err = self.solve("--model", "anthropic/x", "--prices", self.SHIPPED)
        self.one_line(err, "has no price for the model 'x'")


class Name(AgentCase):
    def test_behind_a_slash(self):
        for given, name in (("openai/m-1", "m-1"), ("anthropic/claude-x", "claude-x"), ("ollama/qwen3:8b", "qwen3:8b"),
                            ("openai/meta/llama-4", "meta/llama-4")):
            with MockModel([{"say": "Done."}]) as mock:
                status, out, err = self.solve("--model", given, "--base-url", mock.url,
                                              env=self.env(STEPJAIL_API_KEY=KEY))
            self.assertEqual(status, 0, out + err)
            self.assertEqual(mock.body(0)["model"], name)
            self.assertIn(f"model: {name} at ", out)

    def test_price(self):
        """It is found by that name."""
        prices = self.path("prices", '{"m-1": {"input": 1, "output": 1}}')
        with MockModel([{"say": "Done."}]) as mock:
            status, out, err = self.solve("--model", "openai/m-1", "--prices", prices, "--base-url", mock.url)
        self.assertEqual(status, 0, err)
        self.assertIn("$0.000107", out)

    def test_refusals(self):
        for args, words in ((("openai/",), "--model openai: which model? give --model-name"),
                            (("openai/x", "--model-name", "y"), "--model-name: the name stands in --model openai/x"),
                            (("nobody/x",), "'nobody/x' is no model"), (("scripted/x",), "'scripted/x' is no model"),
                            (("openai:x",), "or both as openai/NAME")):
            status, _, err = self.solve("--model", *args)
            self.assertEqual(status, 125)
            self.one_line(err, words)


if __name__ == "__main__":
    unittest.main()
