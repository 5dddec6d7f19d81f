# SPDX-License-Identifier: MIT
"""skills_scene.py - what the tests of a folder of functions share: files, and SkillsCase"""
import hashlib
import json
import os

from agent_scene import AgentCase
import test_agent_real

DOUBLE = '''import math


def double(x: float) -> float:
    """Twice x.

    >>> double(4)
    8.0
    """
    return math.fsum([x, x])
'''


def function(name, body="return 42", doc=None, example=None):
    doc = f"Words.\n\n    >>> {example or name + '()'}\n    42\n    " if doc is None else doc
    return f'def {name}():\n    """{doc}"""\n    {body}\n'


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class SkillsCase(test_agent_real.Installed, AgentCase):
    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)
        self.dir = self.path("skills")
        os.mkdir(self.dir)
        self.record = self.path("t.jsonl")

    def task(self, *turns, more=(), status=0, task="The task.", **how):
        """Returns (stderr, events)."""
        if os.path.exists(self.record):
            os.unlink(self.record)
        got, out, err = self.run_agent(
            "solve", task, "--json", "--stepjail", self.stepjail, "--skills", self.dir,
            "--transcript", self.record, "--model", self.script(*turns), *self.missing, *more, **how)
        self.assertEqual(got, status, out + err)
        if status == 125:
            return err, []
        with open(self.record) as f:
            return err, [json.loads(line) for line in f]

    def file(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, text):
        """A file of DIR that a person made."""
        with open(self.file(name), "w") as f:
            f.write(text)

    def offered(self):
        """What a task is told of the modules, line by line; its start, and stderr."""
        err, events = self.task("Done.")
        _, _, told = events[0]["system"].partition("the last changed one last:\n")
        return [line for line in told.splitlines() if line.startswith("| ")], events[0], err
