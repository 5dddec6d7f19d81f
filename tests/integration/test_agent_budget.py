#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_budget.py - what a task may cost, and how much of it the model can hold"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase, fence  # noqa: E402

MODELS = ("openai", "anthropic")


class Budgets(AgentCase):
    def prices(self, **rows):
        return "--prices", self.path("prices.json", json.dumps(rows))

    def test_tokens(self):
        mock, out, err = self.ask([{"say": fence("print(1)"), "usage": (3000, 500)}],
                                  "--total-tokens", "5000", "--json", "--quiet", status=3)
        self.one_line(err, "the tokens are used up (--total-tokens 5000; 1500 left, too little "
                           "for another request) and the model has not answered")
        got = json.loads(out)
        self.assertEqual(got["outcome"], "budget-ended")
        self.assertIn("--total-tokens 5000", got["error"])
        self.assertEqual(got["budget"]["tokens"], {"used": 3500, "limit": 5000})
        # one reply left 1,500, and the next request alone would have cost more
        self.assertEqual(len(mock.requests), 1)
        self.assertIn("1500 tokens", got["steps"][0]["observation"])

    def test_tokens_bound_the_reply(self):
        for model in MODELS:
            mock, out, err = self.ask([{"say": "Hi."}], "--total-tokens", "4000", model=model)
            self.assertLess(mock.body(0)["max_tokens"], 4000)
            self.assertGreater(mock.body(0)["max_tokens"], 1000)

    def test_tokens_that_no_server_tells(self):
        mock, out, err = self.ask([{"say": fence("print(1)"), "usage": None}], "--total-tokens",
                                  "5000", "--steps", "50", status=3)
        self.one_line(err, "the tokens are used up (--total-tokens 5000; ", " left, too little")
        self.assertIn("estimated from bytes", out)

    def test_half_answers_are_paid_for(self):
        """They are asked for again, but not for ever."""
        for model in MODELS:
            mock, out, err = self.ask([{"say": "x" * 600, "cut_at": 2000}], "--total-tokens",
                                      "9000", "--retries", "1000", "--retry-wait", "1ms",
                                      "--quiet", status=3, model=model)
            self.one_line(err, "the tokens are used up (--total-tokens 9000")
            self.assertLess(len(mock.requests), 100)
            self.assertGreater(len(mock.requests), 5)

    def test_money(self):
        price = {"input": 2.5, "output": 10}
        mock, out, err = self.ask([{"say": fence("print(1)"), "usage": (1000, 100)},
                                   {"say": "Hi.", "usage": (2000, 100)}], "--json",
                                  "--total-cost", "0.05", *self.prices(m=price))
        got = json.loads(out)
        self.assertIn("$0.0465", got["steps"][0]["observation"])
        self.assertAlmostEqual(got["budget"]["cost_dollars"]["used"], 0.0095)
        self.assertEqual(got["budget"]["cost_dollars"]["limit"], 0.05)
        mock, out, err = self.ask([{"say": fence("print(1)"), "usage": (1000, 100)}],
                                  "--total-cost", "0.005", *self.prices(**{"*": price}), status=3)
        self.one_line(err, "the money is used up (--total-cost $0.0050")
        mock, out, err = self.ask([{"say": "Hi."}], *self.prices(m=price))
        self.assertIn("7 received, $0.0003", out)

    def test_a_cache(self):
        """Its tokens are counted apart, and cost what the file says, or what input does."""
        for model, written in (("openai", 0), ("anthropic", 200)):
            for stream in (True, False):
                answer = {"say": "Hi.", "usage": (1000, 100), "cached": (600, written), "stream": stream}
                with self.subTest(model=model, stream=stream):
                    costs = []
                    for row in ({}, {"cached": 0.25}, {"cached": 0.25, "cache_write": 5}):
                        mock, out, err = self.ask([answer], "--json", *self.prices(
                            m={"input": 2.5, "output": 10, **row}), model=model)
                        got = json.loads(out)
                        costs.append(round(got["budget"]["cost_dollars"]["used"] * 1e6))
                        self.assertEqual(got["budget"]["tokens"]["used"], 1100)
                        self.assertEqual((got["usage"]["prompt_tokens"], got["usage"]["cached_tokens"],
                                          got["usage"].get("cache_write_tokens", 0)), (1000, 600, written))
                    self.assertEqual(costs, [3500, 2150, 2150 + (500 if written else 0)])
        mock, out, err = self.ask([answer], *self.prices(m={"input": 2.5, "output": 10, "cached": 0.25}))
        self.assertIn("1000 tokens sent (600 from a cache), 100 received, $0.0021", out)
        # more than the prompt had is not believed
        mock, out, err = self.ask([{**answer, "cached": (10 ** 9, 0)}], "--json",
                                  *self.prices(m={"input": 2.5, "output": 10, "cached": 0}))
        got = json.loads(out)
        self.assertEqual((got["usage"]["cached_tokens"], got["budget"]["cost_dollars"]["used"]), (1000, 0.001))

    def test_prices_that_are_missing(self):
        for args, words in ((["--total-cost", "1"], "give --prices"),
                            (self.prices(other={"input": 1, "output": 1}), "no price for"),
                            (["--prices", "/no/such/file"], "/no/such/file"),
                            (["--total-cost", "0"], "not an amount")):
            status, out, err = self.solve("--model", "openai", "--model-name", "m", *args)
            self.assertEqual(status, 125)
            self.one_line(err, words)

    def test_cpu_time(self):
        done = {"verdict": "completed", "state": "kept", "exit_code": None, "signal": None,
                "violation": None, "wall_ms": 1, "cpu_ms": 400, "strays": 0}
        busy = fence("# FAKE_DONE=" + json.dumps(done))
        mock, out, err = self.ask([{"say": busy}, {"say": "Late."}], "--total-cpu-time", "300ms",
                                  "--json")
        got = json.loads(out)
        self.assertEqual(got["outcome"], "answered")
        self.assertEqual(got["budget"]["cpu_ms"], {"used": 400, "limit": 300})
        self.assertIn("The CPU time is used up, so no step is left", mock.messages(1)[-1]["content"])
        mock, out, err = self.ask([{"say": busy}], "--total-cpu-time", "300ms", status=3)
        self.one_line(err, "the CPU time is used up (--total-cpu-time 300 ms)")
        self.assertEqual(len(mock.requests), 2)

    def test_output(self):
        mock, out, err = self.ask([{"say": fence("print('x' * 500)")}], "--total-output", "1K",
                                  status=3)
        self.one_line(err, "the room for output is used up (--total-output 1 KiB)")
        self.assertEqual(len(mock.requests), 4)
        self.assertIn("523 bytes of output", mock.messages(1)[-1]["content"])

    def test_all_that_is_left_is_told(self):
        mock, out, err = self.ask([{"say": fence("print(1)")}, {"say": "Hi."}], "--total-cpu-time",
                                  "1h", "--total-output", "1M", "--total-tokens", "100000",
                                  "--total-cost", "1", *self.prices(m={"input": 1, "output": 1}))
        last = mock.messages(1)[-1]["content"].splitlines()[-1]
        self.assertRegex(last, r"^Left for the task: 9 steps, 9 min, \S+ \w+ of CPU time, "
                               r"1023\.9 KiB of output, 99893 tokens, \$0\.9998\.$")


class Context(AgentCase):
    LONG = fence("print('x' * 3000)")

    def test_old_observations_are_left_out(self):
        transcript = self.path("t.jsonl")
        mock, out, err = self.ask([{"say": self.LONG, "usage": None}] * 6 +
                                  [{"say": "Hi.", "usage": None}], "--context", "6000", "--json",
                                  "--transcript", transcript)
        sent = [m["content"] for m in mock.messages(6)]
        whole = [text for text in sent if "x" * 3000 in text]
        short = [text for text in sent if "is left out to save room" in text]
        self.assertGreaterEqual(len(short), 2)
        self.assertIn("x" * 3000, sent[-1])
        self.assertEqual(len(whole) + len(short), 6)
        self.assertTrue(short[0].startswith("Step 1 of 10: the code ran to its end.\n"))
        # never more than there is room for
        for request in mock.requests:
            self.assertLess(len(request[3]) / 3, 6000)
        # the record has all of it
        with open(transcript) as f:
            events = [json.loads(line) for line in f]
        self.assertEqual(sum("x" * 3000 in e.get("observation", "") for e in events
                             if e["event"] == "step"), 6)
        self.assertEqual(sum(e["observations"] for e in events if e["event"] == "compact"),
                         len(short))
        self.assertEqual(sum("x" * 3000 in s["observation"] for s in json.loads(out)["steps"]), 6)
        self.assertIn("old observations are no longer sent", err)

    def test_the_servers_count_is_believed(self):
        """The same conversation, at a server that counts far fewer tokens: nothing to do."""
        mock, out, err = self.ask([{"say": self.LONG, "usage": (10, 5)}] * 4 + [{"say": "Hi."}],
                                  "--context", "6000")
        self.assertNotIn("left out", json.dumps(mock.messages(4)))

    def test_too_small(self):
        mock, out, err = self.ask([{"say": "Hi."}], "--context", "1000", "--reply-tokens", "900",
                                  status=3)
        self.one_line(err, "more than --context 1000")
        self.assertEqual(len(mock.requests), 0)

    def test_a_server_that_finds_it_too_long(self):
        error = {"status": 400, "error": {"message": "maximum context length is 8192 tokens",
                                          "code": "context_length_exceeded"}}
        mock, out, err = self.ask([{"say": self.LONG}, {"say": self.LONG}, error, {"say": "Hi."}])
        self.assertEqual(len(mock.requests), 4)
        self.assertNotIn("left out", json.dumps(mock.messages(2)))
        self.assertIn("is left out to save room", mock.messages(3)[3]["content"])
        mock, out, err = self.ask([error], status=4)
        self.assertEqual(len(mock.requests), 1)
        self.one_line(err, "HTTP 400: 'maximum context length")


if __name__ == "__main__":
    unittest.main()
