#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_picture_browser.py - the README's picture in Chromium: each line begins where a terminal has it

A screenshot is left in build/interop, to be looked at.
"""
import os
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

SHOTS = os.path.join(TOP, "build", "interop")
PICTURE = os.path.join(TOP, "tests/data/demo.svg")
# of each line: its text, and how many of its characters are drawn: a blank that is left out is none
DRAWN = """[...document.querySelectorAll("g text")].map(t => [t.textContent, t.getNumberOfChars()])"""


class Picture(unittest.TestCase):
    def setUp(self):
        os.makedirs(SHOTS, exist_ok=True)
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def lines(self, path):
        self.browser.open(path)
        lines = self.browser.value(DRAWN)
        self.assertGreater(len(lines), 30)
        self.assertTrue(any(text.startswith("  >     ") for text, _ in lines))
        return lines

    def test_blanks(self):
        for text, drawn in self.lines(PICTURE):
            self.assertEqual(drawn, len(text), text)
        self.browser.screenshot(os.path.join(SHOTS, "demo.png"))

    def test_without_the_style(self):
        """What the test would see: a browser does not go by the attribute xml:space."""
        with open(PICTURE, encoding="utf-8") as file:
            text = file.read().replace("white-space: pre", "")
        with tempfile.NamedTemporaryFile("w", suffix=".svg", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            self.assertTrue(any(drawn < len(text) for text, drawn in self.lines(file.name)))


if __name__ == "__main__":
    unittest.main()
