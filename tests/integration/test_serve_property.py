#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_serve_property.py - random steps, and a model that knows what each variable must be

Steps that succeed, raise, exit, crash, hang and exhaust memory, on several branches,
interleaved with rollback, branch and drop. The model keeps the variables of every state; after
any step the branch must hold just those. STEPJAIL_SEED repeats a run, STEPJAIL_STEPS is how
many steps a session gets.
"""
import copy
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Serve  # noqa: E402

OPTIONS = [word for word in os.environ.get("STEPJAIL_RUN", "").split() if "allow-missing" in word]
SEED = int(os.environ.get("STEPJAIL_SEED", random.randrange(1 << 32)))
STEPS = int(os.environ.get("STEPJAIL_STEPS", 120))
SHOW = "repr({k: v for k, v in sorted(globals().items()) if k.startswith('v_')})"

# what a step does after it has changed its variable: (code, verdicts, states)
ENDS = {
    "nothing": ("pass", {"completed"}, {"kept"}),
    "value": ("'a value'", {"completed"}, {"kept"}),
    "raise": ("1 / 0", {"exception"}, {"kept"}),
    "raise far down": ("def f(n):\n    return f(n + 1)\nf(0)", {"exception"}, {"kept"}),
    "sys.exit": ("import sys; sys.exit(3)", {"exited"}, {"kept"}),
    "_exit": ("import os; os._exit(4)", {"exited"}, {"rolled-back"}),
    "segfault": ("import faulthandler; faulthandler.disable(); faulthandler._sigsegv()",
                 {"signaled"}, {"rolled-back"}),
    "stack": ("import sys\nsys.setrecursionlimit(1 << 30)\n"
              "def f(x):\n    return list(map(f, [x]))\nf(0)", {"signaled"}, {"rolled-back"}),
    "abort": ("import os; os.abort()", {"signaled"}, {"rolled-back"}),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {"signaled"},
             {"rolled-back"}),
    # the id of a thread is one of its process
    "kill all": ("import os, threading\ntry:\n    os.kill(-1, 9)\nexcept OSError:\n    pass\n"
                 "own = {thread.native_id for thread in threading.enumerate()}\n"
                 "for pid in range(1, 200):\n    try:\n"
                 "        pid in own or os.kill(pid, 9)\n"
                 "    except OSError:\n        pass", {"completed"}, {"kept"}),
    "hang": ("print('on', flush=True)\nwhile True: pass", {"wall-timeout"}, {"kept"}),
    "hang on": ("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                "print('on', flush=True)\nwhile True: pass", {"wall-timeout"}, {"rolled-back"}),
    # a MemoryError comes first where the limit on data is nearer than the look at memory
    "memory": ("def hoard(all):\n    import time\n    while True:\n"
               "        all.append(b'x' * (8 << 20))\n        time.sleep(0.005)\nhoard([])",
               {"memory", "exception"}, {"rolled-back", "kept"}),
    "threads": ("import threading, time\n"
                "threading.Thread(target=time.sleep, args=(60,)).start()", {"completed"}, {"kept"}),
    "children": ("import os, time\nif os.fork() == 0:\n    time.sleep(60)", {"completed"},
                 {"kept"}),
}
RARE = ("memory", "hang on", "stack")  # these take their time


class Model:
    """Variables of every state, and where each branch is."""

    def __init__(self):
        self.states = {0: {}}
        self.heads = {0: 0}
        self.made = 0


class Property(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.serve = Serve([*OPTIONS, "--memory=256M", "--grace=1s", "--keep-states=6"])
        self.session = self.serve.open()
        self.model = Model()
        self.log = []

    def tearDown(self):
        status, error = self.serve.end()
        self.assertEqual((status, error), (0, ""))

    def check(self, branch):
        """The branch holds what the model says; looking makes a state like the one before."""
        step = self.session.run(SHOW, branch)
        want = self.model.states[self.model.heads[branch]]
        self.assertEqual(step.done["verdict"], "completed", step)
        self.assertEqual(eval(eval(step.result)), want, (branch, self.log[-20:]))
        self.moved(branch, step, want)

    def moved(self, branch, step, variables):
        self.model.made += 1
        self.assertEqual(step.done["step"], self.model.made)
        self.assertEqual(step.done["state_number"], self.model.made)
        self.model.states[self.model.made] = variables
        self.model.heads[branch] = self.model.made

    def act_step(self, branch):
        kind = self.random.choice(list(ENDS))
        if kind in RARE and self.random.random() < 0.7:
            kind = "nothing"
        code, verdicts, states = ENDS[kind]
        name, value = f"v_{self.random.randrange(6)}", self.random.randrange(1000)
        self.log.append((branch, kind, name, value))
        # a list, so that a change in place would show in another state if it were shared
        source = f"if '{name}' not in globals(): {name} = []\n{name}.append({value})\n{code}"
        step = self.session.run(source, branch, 300 if kind.startswith("hang") else 0)
        while kind.startswith("hang") and step.out == b"":  # its time was over before that
            self.model.made += 1
            self.session.rollback(self.model.heads[branch], branch)
            step = self.session.run(source, branch, 10000)
        self.assertIn(step.done["verdict"], verdicts, (kind, step))
        self.assertIn(step.done["state"], states, (kind, step))
        if step.done["state"] == "kept":
            variables = copy.deepcopy(self.model.states[self.model.heads[branch]])
            variables.setdefault(name, []).append(value)
            self.moved(branch, step, variables)
        else:
            self.model.made += 1
            self.assertEqual(step.done["state_number"], self.model.heads[branch], step)

    def known(self):
        return [row["state"] for row in self.session.status()["states"]]

    def act_rollback(self, branch):
        state = self.random.choice(self.known())
        self.log.append((branch, "rollback", state))
        self.session.rollback(state, branch)
        self.model.heads[branch] = state

    def act_branch(self, _):
        if len(self.model.heads) < 4:
            name = max(self.model.heads) + 1
            state = self.random.choice(self.known())
            self.log.append((name, "branch", state))
            self.session.branch(name, state)
            self.model.heads[name] = state

    def act_drop(self, branch):
        if branch != 0:
            self.log.append((branch, "drop"))
            self.session.drop(branch)
            del self.model.heads[branch]

    def test_variables_are_what_they_must_be(self):
        acts = [self.act_step] * 6 + [self.check] * 2 + [self.act_rollback, self.act_branch,
                                                         self.act_drop]
        with self.subTest(seed=SEED):
            for _ in range(STEPS):
                self.random.choice(acts)(self.random.choice(list(self.model.heads)))
            for branch in list(self.model.heads):
                self.check(branch)


if __name__ == "__main__":
    unittest.main()
