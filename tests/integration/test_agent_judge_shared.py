#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_judge_shared.py - what tests and a solution have in common, changed by it"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import BUILD, fence  # noqa: E402
from ways_scene import RIGHT, TESTS, WRONG, WaysCase, writes  # noqa: E402


class Tests(WaysCase):
    def test_pytest_shared(self):
        """What tests use of pytest and the builtins, and files of theirs that they import."""
        if not os.path.isdir(os.path.join(BUILD, "rootfs/data")):
            self.skipTest("the root tree data is missing: make rootfs")
        tests = ("import pytest\nfrom known import ZERO\nfrom solution import add\n\n\n"
                 "@pytest.mark.parametrize('a', [1, 2])\n"
                 "def test_add(a):\n    assert add(a, 2) == pytest.approx(a + 2)\n"
                 "    assert abs(add(a, 2) - a - 2) < 1\n    assert add(-a, a) == ZERO\n")
        wrong = [
            {"solution.py": "import pytest\ndef add(a, b):\n"
                            "    abs(a) == 1 and pytest.skip('no')\n    return a + b\n"},
            {"solution.py": "import pytest\npytest.approx = lambda a: -9\n"
                            "def add(a, b):\n    return a + b if a < 0 else -9\n",
             "known.py": ""},
            {"solution.py": RIGHT + "import builtins\nbuiltins.abs = lambda a: 0\n"},
            {"solution.py": "def add(a, b):\n    return a + b if a > 0 else 9\n",
             "known.py": "ZERO = 9\n"}]
        turns = []
        for files in [*wrong, {"solution.py": RIGHT, "known.py": ""}]:
            turns += [fence(writes(files)), "Ready."]
        status, o, err = self.way("tests", "--rootfs", "data", "--model", self.script(*turns),
                                  "--tests", self.path("test_add.py", tests),
                                  "--tests", self.path("known.py", "ZERO = 0\n"))
        self.assertEqual((status, len(o["steps"])), (0, 9), err[-3000:])
        words = ("was skipped", "pytest.approx was changed", "builtins.abs was changed",
                 "assert 9 == 0")
        for step, one in zip(o["steps"][1::2], words):
            self.assertIn(one, step["observation"])

    def test_modules_that_tests_use(self):
        tests = ("import unittest\nfrom solution import add\nimport math\n\n\n"
                 "class Add(unittest.TestCase):\n    def test_near(self):\n"
                 "        from statistics import mean\n"
                 "        self.assertTrue(math.isclose(add(2, 3), 5))\n"
                 "        self.assertEqual(mean([add(2, 2), 4]), 4)\n")
        wrong = [
            WRONG + "import math\nmath.isclose = lambda *a, **k: True\n"
                    "import statistics\nstatistics.mean = lambda a: 4\n",
            WRONG + "import sys\nclass Yes:\n    isclose = lambda *a, **k: True\n"
                    "    mean = lambda self, a: 4\n"
                    "sys.modules['math'] = sys.modules['statistics'] = Yes()\n"]
        turns = []
        for text in [*wrong, "import math, statistics\n" + RIGHT]:
            turns += [fence(writes({"solution.py": text})), "Ready."]
        status, o, err = self.way("tests", "--model", self.script(*turns), "--tests",
                                  self.path("test_add.py", tests))
        self.assertEqual((status, len(o["steps"])), (0, 5), err[-3000:])
        for step, one in zip(o["steps"][1::2], ("math.isclose was", "modules.math was")):
            self.assertIn(one, step["observation"])

    def test_bytes_that_are_taken(self):
        """A byte more than fits is no licence for any number of them."""
        big = "for name, size in (('a', (8 << 20) + 1), ('b', 12 << 20)):\n" \
              "    open(name, 'wb').truncate(size)\n"
        script = self.script(fence(writes({"solution.py": RIGHT}) + big), "Ready.",
                             fence("os.remove('b')"), "Ready.",
                             fence("os.remove('a')"), "Ready.")
        status, o, err = self.way("tests", "--model", script, "--tests",
                                  self.path("test_add.py", TESTS))
        self.assertEqual((status, len(o["steps"])), (0, 5), err[-3000:])
        for step in o["steps"][1::2]:
            self.assertIn("larger than 8 MiB together", step["observation"])


if __name__ == "__main__":
    unittest.main()
