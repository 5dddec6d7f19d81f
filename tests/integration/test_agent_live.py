#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_live.py - a model's words on a terminal while they come"""
import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import KEY, AgentCase, fence, read_terminal, unwaited  # noqa: E402
from mock_model import MockModel, chat_events, messages_events  # noqa: E402

COLUMNS = 40
EVENTS = {"openai": chat_events, "anthropic": messages_events}


def delta(text):
    return b'data: {"choices":[{"delta":{"content":%s}}]}\n\n' % (
        text if isinstance(text, bytes) else json.dumps(text).encode())


def stream(*pieces):
    """A stream of chat completions in exactly these pieces."""
    return b"".join(map(delta, pieces)) + \
        b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class Live(AgentCase):
    def on_terminal(self, answers, *args, model="openai", seen=None, status=0, ink=False):
        """What the terminal got, "\\n" for a row's end; @seen(text so far) is called with each
        piece."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        with MockModel(answers) as mock, self.popen(
                "solve", "x", "--stepjail", self.fake, "--model", model, "--model-name", "m",
                "--base-url", mock.url, "--retry-wait", "1ms", *args, stdout=theirs,
                stderr=theirs, env=self.env(STEPJAIL_API_KEY=KEY, **({} if ink else {"NO_COLOR": "1"}))
                ) as p:
            os.close(theirs)
            out = read_terminal(ours, seen)
            p.wait(timeout=60)
        os.close(ours)
        self.assertEqual(p.returncode, status, out)
        return out.decode().replace("\r\n", "\n")

    def live(self, text):
        """The rows before the line about the answer; none is rewritten, but one of the agent's."""
        text = re.sub(r"\x1b\[[0-9]+m", "", unwaited(text))
        return [row for row in re.split(r"\n(?:the answer is above|answer)\n", text)[0].split("\n")
                if row.startswith("  : ")]

    def test_before_the_reply_is_whole(self):
        """The server goes on only when its first words have been seen on the terminal."""
        for model, events in EVENTS.items():
            answer = {"say": "The first words and the last."}
            at = events(answer).index(b"d the las")  # a piece has nine characters; a word is whole
            gone_on = threading.Event()
            out = self.on_terminal(
                [{**answer, "gate": (at, gone_on)}], model=model,
                seen=lambda out: b"words" in out and b"las" not in out and gone_on.set())
            self.assertTrue(gone_on.is_set(), out)
            self.assertEqual(self.live(out), ["  : The first words and the last."])
            self.assertIn("  : The first words and the last.\nthe answer is above\n", out)
            self.assertEqual(out.count("first words"), 1)

    def test_code_and_words_beside_a_call(self):
        out = self.on_terminal([{"say": "So:\n" + fence("print(6 * 7)")}, {"say": "It is 42."}])
        self.assertEqual(self.live(out), ["  : So:", "  : ```python", "  : print(6 * 7)",
                                          "  : ```", "  : It is 42."])
        # the code was seen, and is not shown again
        self.assertIn("step 1 of 10\n  | 42\n", out)
        calls = [("python", json.dumps({"code": "print(1)"}))]
        out = self.on_terminal([{"say": "Look:", "calls": calls}, {"say": "1."}], "--code-in",
                               "tools")
        self.assertEqual(self.live(out), ["  : Look:", "  : 1."])
        self.assertIn("step 1 of 10\n  > print(1)\n  | 1\n", out)  # arguments are not streamed

    def test_nothing_of_it_moves_the_cursor(self):
        """A sequence in two pieces, halves of surrogates, what is no UTF-8, what is not seen."""
        hostile = stream("\x1b", "[2J\x9b", "\r", "\nanswer\n", "    transcript: /x", b'"\\ud83d"',
                         b'"\\ude00\xff\xf0\x9f"', "\u202e\u200b\x00", "<\x07>", "\r")
        out = self.on_terminal([{"events": hostile}])
        rows = self.live(out)
        self.assertEqual(rows[0], "  : \\x1b[2J\\x9b")
        self.assertEqual(rows[1], "  : answer")
        self.assertEqual((out.count("\nanswer\n"), out.count("\nthe answer is above\n")), (0, 1))
        out = unwaited(out)
        for bad in "\x1b\x07\x9b\u202e\u200b\x00\r":
            self.assertNotIn(bad, out)
        for good in ("\\u202e", "\\u200b", "<\\x07>", "\ufffd"):
            self.assertIn(good, "".join(row[4:] for row in rows))

    def test_rows_end_at_the_terminals_edge(self):
        words = "x" * 35 + "\u4f60" * 40 + "\t" * 20 + "answer\n" + "y" * 100
        out = self.on_terminal([{"events": stream(*words)}], ink=True)
        rows = self.live(out)
        self.assertGreater(len(rows), 6)
        for row in rows:
            self.assertLessEqual(len(row) + row.count("\u4f60") + 7 * row.count("\t"), COLUMNS, row)
        self.assertEqual("".join(row[4:] for row in rows), words.replace("\n", ""))
        # ink is begun and ended in each piece
        self.assertEqual(out.count("\x1b[2m") + out.count("\x1b[1m"), out.count("\x1b[0m"))

    def test_key_in_pieces(self):
        """What may be a beginning of the key waits for what follows it. Half of it at the end is
        passed on: who puts the pieces together does not know the key (mask.h). Nearly all of it
        is the key, for the rest can be tried."""
        out = self.on_terminal([{"events": stream("It is ", *KEY, ", or " + KEY[:12], "-not. ",
                                                  KEY[:20])}])
        self.assertNotIn(KEY, out.replace("\n  : ", "").replace("\n  > ", ""))
        text = "".join(row[4:] for row in self.live(out))
        self.assertEqual(text, f"It is {'*' * len(KEY)}, or {KEY[:12]}-not. {KEY[:20]}")
        for more in ("", " or so.", "\u00e9"):
            out = self.on_terminal([{"events": stream("It is ", *KEY[:-1], *more)}])
            text = "".join(row[4:] for row in self.live(out))
            self.assertEqual(text, f"It is {'*' * (len(KEY) - 1)}{more}")

    def test_key_between_thoughts_and_words(self):
        """What is a piece of the text, and what one of the thinking, makes one row."""
        def thought(text):
            return delta(text).replace(b"content", b"reasoning_content")
        events = delta("Well: ") + thought(KEY[:9]) + thought(KEY[9:]) + stream(".")
        out = self.on_terminal([{"events": events, "pace": (len(delta("Well: ")), 0.02)}])
        self.assertNotIn(KEY[:-1], out.replace("\n  : ", ""))
        self.assertIn("*" * len(KEY), out.replace("\n  : ", ""))

    def test_broken_off_and_again(self):
        half = stream("Half a li")[:-60]
        out = self.on_terminal([{"events": half[:half.index(b"\n\n") + 2]}, {"say": "Whole."}])
        self.assertIn("  : Half a li\nthe model's answer broke off", out)
        self.assertEqual(self.live(out), ["  : Half a li", "  : Whole."])

    def test_bounds(self):
        for words in ("x\n" * 5000, "y" * 100000):
            out = self.on_terminal([{"events": stream(words[:50000], words[50000:])}])
            rows = self.live(out)
            self.assertLessEqual(len(rows), 16384 // (COLUMNS - 5) + 1)
            self.assertGreater(len(rows), 150)
            self.assertEqual(out.count("the rest of this reply is shown"), 1)
            # what was left out is there
            answer = out[out.index("\nanswer\n"):out.rindex("\nmodel: ")]
            self.assertEqual(answer.count(words[0]), words.count(words[0]))

    def test_silent(self):
        for option in ("--quiet", "--json"):
            out = self.on_terminal([{"say": "Nothing but this."}], option)
            self.assertNotIn("  : ", out)
        # and into a pipe each word goes once
        _, out, _ = self.ask([{"say": "Nothing but this."}])
        self.assertEqual(out.count("Nothing"), 1)


if __name__ == "__main__":
    unittest.main()
