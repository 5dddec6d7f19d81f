#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_analysis.py - a data analysis over real files, by the scripted model"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase  # noqa: E402
from analysis import FILES, QUESTION, SCRIPT, look  # noqa: E402
from test_agent_real import Installed  # noqa: E402


class Analysis(Installed, AgentCase):
    def test_wrong_column_is_mended_and_two_pictures_come_out(self):
        out = os.path.join(self.folder, "out")
        status, said, err = self.run_agent(
            "solve", QUESTION, "--stepjail", self.stepjail, "--model", f"scripted:{SCRIPT}",
            "--json", "--quiet", "--rootfs", "data", "--memory", "1G", "--out", out,
            *self.missing, *(word for file in FILES for word in ("--file", file)))
        self.assertEqual(status, 0, err)
        look(self, json.loads(said), out)

    def test_what_the_tree_lacks_and_a_crash_are_told_in_few_words(self):
        turns = self.path("turns", "".join(f"--- turn\n```python\n{code}\n```\n" for code in (
            "import pandas; pandas.read_parquet('x')", "import duckdb",
            "import os; os.kill(os.getpid(), 11)")) + "--- turn\nDone.\n")
        status, said, err = self.run_agent(
            "solve", "x", "--stepjail", self.stepjail, "--model", f"scripted:{turns}", "--json", "--quiet",
            "--rootfs", "data", "--memory", "1G", *self.missing, "--transcript", self.path("t.jsonl"))
        self.assertEqual(status, 0, err)
        told = [step["observation"] for step in json.loads(said)["steps"]]
        self.assertIn("No module named 'pyarrow': no tree of Stepjail has it; use CSV or SQLite files", told[0])
        self.assertNotIn("pip", told[0])
        self.assertIn("No module named 'duckdb': no tree of Stepjail has it; use sqlite3", told[1])
        self.assertRegex(told[2], r"\| Extension modules: \.\.\. \(total: \d+\)\n")
        with open(self.path("t.jsonl"), encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines]
        self.assertIn("no Parquet, no DuckDB", events[0]["system"])
        crash = [event for event in events if event["event"] == "step"][2]
        self.assertIn("Extension modules: numpy.core", crash["stderr"]["head"])


if __name__ == "__main__":
    unittest.main()
