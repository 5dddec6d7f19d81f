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


if __name__ == "__main__":
    unittest.main()
