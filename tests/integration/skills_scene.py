# SPDX-License-Identifier: MIT
"""skills_scene.py - what the tests of saved functions share: files to save, and SkillsCase"""
import hashlib
import json
import os

from agent_scene import AgentCase, fence
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


def save(*files):
    """Code of a step that leaves these (name, text) to be saved."""
    lines = ["import os", "os.makedirs('skills_new', exist_ok=True)"]
    return fence("\n".join(lines + [f"_ = open('skills_new/{n}', 'w').write({t!r})"
                                    for n, t in files]))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class SkillsCase(test_agent_real.Installed, AgentCase):
    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)
        self.dir = self.path("skills")
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
        self.told = json.loads(out).get("saved", [])
        with open(self.record) as f:
            return err, [json.loads(line) for line in f]

    def save(self, *files):
        """Have a task save them; what was told of each, {name: words}, kept ones as True."""
        err, events = self.task(save(*files), "Done.", more=("--step-time", "8s"))
        self.assertEqual(events[-1]["outcome"], "answered")
        self.assertEqual(self.run_agent("verify", self.record)[0], 0)
        got = [e for e in events if e["event"] == "skill"]
        self.assertEqual([(e["name"], e["kept"], e["words"]) for e in got],
                         [(e["name"], e["kept"], e["words"]) for e in self.told])
        for e in got:
            if e["kept"]:
                self.assertEqual(digest(self.file(e["name"])), e["file_sha256"])
        return {e["name"].removesuffix(".py"): e["kept"] or e["words"] for e in got}

    def file(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, text):
        """A file of DIR that a person made."""
        os.makedirs(self.dir, exist_ok=True)
        with open(self.file(name), "w") as f:
            f.write(text)

    def there(self):
        return sorted(os.listdir(self.dir))

    def offered(self):
        """What a task is told of the modules, line by line; its start, and stderr."""
        err, events = self.task("Done.")
        _, _, told = events[0]["system"].partition("the last saved one last:\n")
        return [line for line in told.splitlines() if line.startswith("| ")], events[0], err
