# SPDX-License-Identifier: MIT
"""skills_scene.py - what the tests of saved functions share: files to save, and SkillsCase"""
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
        return {e["name"]: e["kept"] or e["words"] for e in got}

    def there(self):
        return sorted(n for n in os.listdir(self.dir) if n != "index.jsonl")

    def file(self, name):
        return os.path.join(self.dir, name)

    def index(self):
        with open(self.file("index.jsonl"), "rb") as f:
            return f.read().splitlines(keepends=True)

    def list(self, status=0, *more):
        got, out, err = self.run_agent("skills", self.dir, *more)
        self.assertEqual((got, err), (status, ""), out)
        return out

    def offered(self):
        err, events = self.task("Done.")
        return [o["name"] for o in events[0]["jail"]["skills"]["offered"]], events[0], err
