#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_vision.py - --vision: a model is sent the pictures that steps show, as its interface wants them

The stepjail is an imitation that shows whatever a test wants shown.
"""
import base64
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import test_agent_show as shows  # noqa: E402
from agent_scene import AgentCase, fence  # noqa: E402
from mock_model import MockModel  # noqa: E402
from picture_scene import png  # noqa: E402

MOST = 2 << 20  # bytes of a picture
URL = "data:image/png;base64,"


def picture(number):
    return png(1, 1, lambda x, y: (number, 0, 0, 255))


def padded(size):
    """What goes on behind its last chunk: nobody looks there."""
    return shows.DEEP + bytes(size - len(shows.DEEP))


def pictures(body):
    """Of a request, in either interface: (role, bytes, kind of the block that it stands in) of each."""
    found = []

    def look(role, blocks, inside):
        for block in blocks if isinstance(blocks, list) else []:
            if block["type"] == "image":
                source = block.pop("source")
                assert (source.pop("type"), source.pop("media_type")) == ("base64", "image/png"), source
                found.append((role, base64.b64decode(source.pop("data"), validate=True), inside))
                assert not source, source
            elif block["type"] == "image_url":
                assert list(block["image_url"]) == ["url"] and block["image_url"]["url"].startswith(URL), block
                found.append((role, base64.b64decode(block["image_url"]["url"][len(URL):], validate=True), inside))
            look(role, block.get("content"), block["type"])
    for message in body["messages"]:
        look(message["role"], message["content"], None)
    return found


class Vision(AgentCase):
    media = shows.Shows.media

    def code(self, *lines):
        return "\n".join(lines) + "\npass"

    def see(self, *steps, model="openai", tools=False, more=("--vision",)):
        """The requests, and what is in the transcript: a step for each list of lines, then an answer."""
        record = self.path("t.jsonl")
        codes = [self.code(*lines) for lines in steps]
        answers = [{"calls": [("python", json.dumps({"code": code}))]} if tools else {"say": fence(code)}
                   for code in codes]
        with MockModel(answers + [{"say": "Done."}]) as mock:
            status, out, err = self.solve("--model", f"{model}/m", "--base-url", mock.url, "--transcript", record,
                                          "--code-in", "tools" if tools else "text", *more)
        self.assertEqual(status, 0, out + err)
        with open(record) as f:
            events = [json.loads(line) for line in f]
        os.unlink(record)
        return [mock.body(n) for n in range(len(mock.requests))], events

    def test_as_each_interface_wants_it(self):
        lines = [self.media(shows.DEEP), self.media(b"<svg/>", shows.SVG), self.media(picture(2), object=1),
                 self.media(b"{}", shows.JSON, object=2)]
        wanted = [shows.DEEP, picture(2)]
        for model, tools, role, inside in (("openai", False, "user", None), ("openai", True, "user", None),
                                           ("anthropic", False, "user", None),
                                           ("anthropic", True, "user", "tool_result")):
            with self.subTest(model=model, tools=tools):
                bodies, events = self.see(lines, ["x = 1"], model=model, tools=tools)
                self.assertEqual(len(bodies), 3)
                self.assertEqual(pictures(bodies[0]), [])
                for body in bodies[1:]:  # they stay
                    self.assertEqual(pictures(body), [(role, data, inside) for data in wanted])
                self.assertEqual(events[0]["model"]["vision"], True)
                self.assertIn("You see the pictures that your code shows", events[0]["system"])
                roles = [m["role"] for m in bodies[1]["messages"] if m["role"] != "system"]
                self.assertEqual(roles, ["user", "assistant", "tool", "user"] if tools and model == "openai"
                                 else ["user", "assistant", "user"])

    def test_words_stay_beside_it(self):
        for model in "openai", "anthropic":
            _, last = self.see([self.media(shows.DEEP)], model=model)[0]
            text = last["messages"][-1]["content"][0]
            self.assertEqual(text["type"], "text")
            self.assertIn("Step 1 of 10: the code ran to its end", text["text"])
            self.assertIn("Shown: a picture, 5 by 3 pixels.\n", text["text"])

    def test_only_where_it_is_asked_for(self):
        bodies, events = self.see([self.media(shows.DEEP)], more=())
        self.assertEqual([pictures(body) for body in bodies], [[], []])
        self.assertEqual(events[0]["model"]["vision"], False)
        self.assertNotIn("You see", events[0]["system"])
        self.assertIsInstance(bodies[1]["messages"][-1]["content"], str)

    def test_behind_the_results_of_all_calls(self):
        """A tool's result has text alone in chat completions, and results follow their calls."""
        call = ("python", json.dumps({"code": self.code(self.media(shows.DEEP))}))
        other = ("python", json.dumps({"code": "y = 1"}))
        with MockModel([{"calls": [call, other]}, {"say": "Done."}]) as mock:
            status, out, err = self.solve("--model", "openai/m", "--base-url", mock.url, "--code-in", "tools",
                                          "--vision")
        self.assertEqual(status, 0, out + err)
        self.assertEqual([m["role"] for m in mock.body(1)["messages"][-4:]], ["assistant", "tool", "tool", "user"])
        self.assertEqual(pictures(mock.body(1)), [("user", shows.DEEP, None)])

    def test_what_is_too_large(self):
        wide, tall = png(8001, 1, lambda x, y: (0, 0, 0, 255)), png(1, 8001, lambda x, y: (0, 0, 0, 255))
        fits = [padded(MOST), png(8000, 1, lambda x, y: (0, 0, 0, 255))]
        lines = [self.media(data, object=n) for n, data in enumerate([*fits, padded(MOST + 1), wide, tall])]
        bodies, events = self.see(lines)
        self.assertEqual([data for _, data, _ in pictures(bodies[1])], fits)
        step = next(e for e in events if e["event"] == "step")
        self.assertIn("You do not see 3 of them, of more than 2 MiB or 8000 pixels a side. Make them smaller.\n",
                      step["observation"])

    def test_what_is_no_picture(self):
        bodies, events = self.see([self.media(b"GIF89a"), self.media(shows.DEEP[:20], object=1)])
        self.assertEqual(pictures(bodies[1]), [])
        self.assertNotIn("You do not see", json.dumps(events[1:]))

    def test_the_newest_stay(self):
        first = [self.media(picture(n), object=n) for n in range(5)]
        second = [self.media(picture(n), object=n) for n in range(5, 10)]
        last = [self.media(picture(n), object=n) for n in range(10, 22)]
        bodies, _ = self.see(first, second, last)
        for body, numbers in zip(bodies[1:], (range(5), range(2, 10), range(14, 22))):
            self.assertEqual([data for _, data, _ in pictures(body)], [picture(n) for n in numbers])

    def test_continued(self):
        """Steps that run again show them again; where it was not asked for, they are not sent."""
        first = self.path("first.jsonl")
        status, out, err = self.solve("--model", self.script(fence(self.code(self.media(shows.DEEP))), "Done."),
                                      "--transcript", first)
        self.assertEqual(status, 0, out + err)
        for more, wanted in (("--vision",), [("user", shows.DEEP, None)]), ((), []):
            with MockModel([{"say": "Done."}]) as mock:
                status, out, err = self.run_agent("solve", "And now?", "--stepjail", self.fake, f"--continue={first}",
                                                  "--model", "openai/m", "--base-url", mock.url, *more)
            self.assertEqual(status, 0, out + err)
            self.assertEqual(pictures(mock.body(0)), wanted)

    def test_what_a_check_refused_is_not_sent(self):
        """A checked prompt is the words alone, and the pictures go when it passed."""
        bodies, events = self.see([self.media(shows.DEEP)], more=("--vision", "--check-prompt", "true"))
        self.assertEqual(len(pictures(bodies[1])), 1)
        self.assertEqual([e["passed"] for e in events if e["event"] == "checked"], [True, True])


if __name__ == "__main__":
    unittest.main()
