#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_humaneval.py - tests/humaneval: solutions that pass, that do not, and that forge"""
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import BUILD, HUMANEVAL, TOP, alive, family, wait_for  # noqa: E402

SCRIPT = os.path.join(TOP, "tests/humaneval/humaneval.py")
STEPJAIL = os.path.join(BUILD, "stepjail")
MISSING = [word for word in os.environ["STEPJAIL_RUN"].split() if "allow-missing" in word]
ENDLESS = "    while True: pass\n"
with gzip.open(HUMANEVAL) as lines:
    TASKS = [json.loads(line) for line in lines]

# bodies that would pass without solving
FORGERIES = [
    "    import sys; sys.exit(0)\n",
    "    import os; os._exit(0)\n",
    "    pass\nimport sys; sys.exit(0)\n",
    "    pass\nimport os; os._exit(0)\n",
    "    class Yes:\n        __eq__ = lambda s, o: True\n    return Yes()\n",
    "    class Yes(int):\n        __eq__ = lambda s, o: True\n    return Yes(1)\n",
    "    pass\nimport builtins\nbuiltins.exec = lambda *a: None\n",
    "    pass\nimport builtins, json\njson.loads = json.dumps = builtins.compile = lambda *a: {}\n",
    "    import os, signal; os.kill(os.getppid(), signal.SIGINT)\n",
    "    import os, signal; os.kill(os.getppid(), signal.SIGKILL)\n",
    "    raise SystemExit(0)\n",
    "    raise KeyboardInterrupt\n",
    "    pass\nimport os\nfor fd in range(64):\n    try:\n        os.write(fd, b'00000000\\n')\n"
    "    except OSError:\n        pass\n",
    "    pass\nimport os\nfor fd in range(3, 64):\n    try:\n"
    "        os.write(fd, b'{\"value\": true}\\n' * 50)\n    except OSError:\n        pass\n",
    "    pass\nimport os\nprint(open('/proc/%d/cmdline' % os.getppid()).read())\nos._exit(0)\n",
    # whoever finds the secret has won: on stdin, in a frame, in memory
    "    pass\nimport os, sys\nos.write(1, os.read(0, 100))\nprint(sys.stdin.read())\nos._exit(0)\n",
    "    pass\nimport gc, sys\nprint([o for o in gc.get_objects() if isinstance(o, dict) and "
    "'secret' in o], sys._getframe(1).f_back.f_locals)\nsys._getframe(1).f_globals['read_line']"
    " = lambda fd: b'{}'\n",
]

# A body that knows the test by heart, wherever find() has its text from: when the solution is
# loaded, and again when it is called
LEARNT = """    return {**KNOWN, **learn(find())}[repr((numbers, threshold))]


def learn(texts):
    known = {}

    class Result:
        def __init__(self, *args):
            self.args = repr(args)

        def __eq__(self, other):
            known[self.args] = other
            return True

    for text in texts:
        try:
            names = {}
            exec(text, names)
            names["check"](Result)
        except Exception:
            pass
    return known


%s

KNOWN = learn(find())
"""
FINDERS = {
    "frame": """
import sys
def find():
    frame = sys._getframe()
    while frame := frame.f_back:
        yield frame.f_locals.get("task", {}).get("test", "")
""",
    "objects": """
import gc, json, sys
def texts_in(found):
    for one in found:
        text = one.decode(errors="replace") if isinstance(one, bytes) else one
        if isinstance(text, str) and "def check" + "(candidate" in text:
            yield text
            try:
                yield json.loads(text)["test"]
            except Exception:
                pass
def find():
    frame, found = sys._getframe(), gc.get_objects()
    while frame := frame.f_back:
        found += [frame, *frame.f_locals.values(), *frame.f_globals.values()]
    for depth in range(3):
        found = list({id(o): o for o in found + gc.get_referents(*found)}.values())
    return list(texts_in(found))
""",
    # write() says of a page that is not there that it is not; read() of a pipe has the others
    "memory": """
import ctypes, os
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
pipe = os.pipe()
def page(at):
    there = libc.write(pipe[1], ctypes.c_void_p(at), 4096) == 4096
    return os.read(pipe[0], 4096) if there else b""
def find():
    top, near = libc.sbrk(ctypes.c_ssize_t(0)), id(object()) & ~4095
    for low, high in (top - (8 << 20), top), (near - (2 << 20), near + (2 << 20)):
        memory = b"".join(page(at) for at in range(low, high, 4096))
        for piece in memory.split(b"def check" + b"(candidate")[1:]:
            text = "def check(candidate" + piece.split(b"\\0")[0].decode(errors="replace")
            yield text
            yield text.split('"')[0].replace("\\\\n", chr(10))
""",
}
FROM_MEMORY = {name: LEARNT % find for name, find in FINDERS.items()}
# what it is to have the test in the solution's process
HOLDS_THE_TEST = """
import json, sys
def load(task):
    names = {}
    exec(task["solution"], names)
    return names[task["entry_point"]]
def main():
    task = json.load(sys.stdin)
    function, names = load(task), {}
    exec(task["test"], names)
    names["check"](function)
main()
"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BUILD, "rootfs/core.key")):
            raise unittest.SkipTest(f"no rootfs/core in {BUILD}: make all rootfs")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.stepjail = STEPJAIL

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        return path

    def tasks(self, count=None, **change):
        return self.path("tasks.jsonl", lines_of({**task, **change} for task in TASKS[:count]))

    def popen(self, *args, **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen([SCRIPT, *args], stdin=subprocess.DEVNULL, **how)

    def command(self, *args, **how):
        """Exit status, stdout, stderr."""
        with self.popen(*args, **how) as p:
            out, err = p.communicate(timeout=600)
        return p.returncode, (out or b"").decode(), err.decode()

    def words(self, tasks, *args, more=()):
        return ["run", tasks, "--stepjail", self.stepjail, *args, "--", *MISSING, *more]

    def run_tasks(self, tasks, *args, more=(), **how):
        return self.command(*self.words(tasks, *args, more=more), **how)

    def solutions(self, *bodies, task=0):
        return self.path("solutions.jsonl", lines_of(
            {"task_id": TASKS[task]["task_id"], "completion": body} for body in bodies))

    def refused(self, got, *words):
        status, out, err = got
        self.assertEqual((status, out), (125, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        for word in ("humaneval: ", *words):
            self.assertIn(word, err)


def lines_of(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def read_lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


class Runs(Case):
    def test_all(self):
        status, out, err = self.run_tasks(HUMANEVAL)
        self.assertIn("164 of 164 passed", out)
        self.assertEqual((status, err), (0, ""))
        status, out, err = self.run_tasks(HUMANEVAL, "--broken")
        self.assertIn("\n0 of 164 passed", out)
        self.assertIn("HumanEval/0: failed: AssertionError", out)
        self.assertEqual((status, err), (1, ""))

    def test_json(self):
        status, out, err = self.run_tasks(self.tasks(3), "--json")
        got = json.loads(out)
        self.assertEqual((status, got["passed"], got["all"], got["ends"]), (0, 3, 3, {}))
        self.assertEqual([t["task_id"] for t in got["tasks"]], [t["task_id"] for t in TASKS[:3]])

    def test_the_same_without_chance(self):
        status, out, err = self.run_tasks(self.tasks(20), more=["--deterministic"])
        self.assertEqual(status, 0, out + err)

    def test_solutions(self):
        """Only those of the file; a whole function is a body, too."""
        whole = TASKS[7]["prompt"] + TASKS[7]["canonical_solution"]
        status, out, err = self.run_tasks(HUMANEVAL, "--solutions", self.solutions(whole, task=7))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("1 of 1 passed", out)
        self.assertRegex(out, r"(?m)^no result +163$")

    def test_table(self):
        good = TASKS[1]["canonical_solution"]
        self.path("solutions.jsonl", lines_of(
            {"task_id": TASKS[n]["task_id"], "completion": body}
            for n, body in ((0, "    pass\n"), (1, good), (1, good), (0, ENDLESS))))
        status, out, err = self.run_tasks(HUMANEVAL, "--solutions", self.path("solutions.jsonl"),
                                          "--task-time", "2")
        self.assertEqual((status, err), (1, ""))
        self.assertIn("HumanEval/0: none of 2 passed, wall-timeout: ", out)
        self.assertNotIn("HumanEval/1:", out)
        self.assertIn("pass@1         0.5000\npass@2         0.5000\n2 of 4 passed", out)
        for row in ("passed +2", "failed +1", "wall-timeout +1", "all +4", "no result +162"):
            self.assertRegex(out, f"(?m)^{row}$")

    def test_forgeries_fail(self):
        """As canonical solutions they are whole tasks' own; then all of them as samples."""
        self.assertEqual(self.run_tasks(self.tasks(1, canonical_solution=FORGERIES[0]))[0], 1)
        status, out, err = self.run_tasks(HUMANEVAL, "--task-time", "5", "--json", "--solutions",
                                          self.solutions(*FORGERIES))
        self.assertEqual((status, err.count("Traceback")), (1, 0), err)
        got = json.loads(out)
        self.assertEqual((got["passed"], got["all"]), (0, len(FORGERIES)))
        for sample in got["tasks"]:
            with self.subTest(solution=FORGERIES[sample["sample"]]):
                self.assertFalse(sample["passed"])

    def test_forgeries_pass_a_naive_judge(self):
        """Most of them, or the test above would say nothing: solution and test in one process."""
        for forgery in FORGERIES[:5]:
            code = TASKS[0]["prompt"] + forgery + TASKS[0]["test"] + "check(has_close_elements)\n"
            with self.subTest(solution=forgery):
                self.assertEqual(subprocess.run(["/usr/bin/python3", "-c", code]).returncode, 0)

    def test_the_test_is_not_in_memory(self):
        """Neither when the solution is loaded nor when it is called. data has ctypes, core none."""
        for name, body in FROM_MEMORY.items():
            with self.subTest(find=name):
                tree = "data" if name == "memory" else "core"
                if tree == "data" and not os.path.exists(os.path.join(BUILD, "rootfs/data.key")):
                    self.skipTest(f"no rootfs/data in {BUILD}: make data")
                status, out, err = self.run_tasks(HUMANEVAL, "--rootfs", tree, "--solutions",
                                                  self.solutions(body))
                self.assertEqual((status, err), (1, ""), out)
                self.assertIn("HumanEval/0: failed: KeyError: ", out)

    def test_a_test_in_memory_is_found(self):
        """Or the test above would say nothing."""
        for name, body in FROM_MEMORY.items():
            task = json.dumps({**TASKS[0], "solution": TASKS[0]["prompt"] + body})
            with self.subTest(find=name):
                got = subprocess.run(["/usr/bin/python3", "-c", HOLDS_THE_TEST],
                                     input=task.encode(), stderr=subprocess.PIPE)
                self.assertEqual((got.returncode, got.stderr), (0, b""))

    def test_flood_beside_the_verdict(self):
        """A solution is not failed for talking, and its last words are there."""
        flood = "    import sys\n    for i in range(50): sys.stderr.write('x' * 1000000)\n"
        for end, passed in ((TASKS[0]["canonical_solution"], True),
                            ("    raise ValueError('last words')\n", False)):
            status, out, err = self.run_tasks(HUMANEVAL, "--solutions",
                                              self.solutions(flood + end))
            self.assertEqual(status, 0 if passed else 1, out + err)
            self.assertEqual("ValueError: last words" in out, not passed)

    def test_error_lines_are_escaped(self):
        body = "    raise ValueError('\\x1b[2J\\r\\udcff')\n"
        status, out, err = self.run_tasks(HUMANEVAL, "--solutions", self.solutions(body))
        self.assertEqual((status, err), (1, ""))
        self.assertNotIn("\x1b", out)
        self.assertIn("ValueError: \\x1b[2J", out)

    def test_solutions_that_are_no_text(self):
        got = self.run_tasks(HUMANEVAL, "--solutions", self.solutions("    x = '\udcff'\n", "\0"))
        self.assertEqual((got[0], got[2]), (1, ""))
        self.assertIn("0 of 2 passed", got[1])

    def test_refusals(self):
        task = lines_of(TASKS[:1])
        lacking = {k: v for k, v in TASKS[0].items() if k != "test"}
        for text, words in (("", "holds no task"), ("[]\n", ":1: not a JSON object"),
                            ("\n{", ":2: not a JSON object"), ("[" * 100000, ":1: not"),
                            ("{}", '"task_id"'), ('{"task_id": 7}', '"task_id"'),
                            (lines_of([lacking]), '"test"'),
                            (task + task, ":2: there is a task HumanEval/0 already")):
            with self.subTest(words=words):
                self.refused(self.run_tasks(self.path("bad", text)), words)
        for text, words in (("", "holds no solution"), ("7\n", ":1: not a JSON object"),
                            ('{"task_id": "HumanEval/0"}', '"completion"'),
                            ('{"task_id": "X\\u001b", "completion": ""}', "no task X\\x1b")):
            with self.subTest(words=words):
                self.refused(self.run_tasks(HUMANEVAL, "--solutions", self.path("bad", text)),
                             words)
        for args, words in ((["--broken", "--solutions", "x"], "not allowed with"),
                            (["--jobs", "0"], "--jobs"), (["--task-time", "nan"], "--task-time"),
                            (["--rootfs", "broken"], "the jail did not run: stepjail: rootfs"),
                            (["--stepjail", "/no/such"], "/no/such")):
            with self.subTest(args=args):
                self.refused(self.run_tasks(HUMANEVAL, *args), words)
        self.refused(self.run_tasks("/no/such"), "/no/such")
        self.refused(self.run_tasks(HUMANEVAL, more=["--proc", "pid"]), "--proc")
        with open(self.path("broken.gz"), "wb") as f, open(HUMANEVAL, "rb") as whole:
            f.write(whole.read()[:1000] + bytes(1000))
        self.refused(self.run_tasks(self.path("broken.gz")), "broken.gz")

    def test_stdout_that_takes_nothing(self):
        with open("/dev/full", "w") as full:
            self.refused(self.run_tasks(self.tasks(1), stdout=full), "No space left")

    def started(self, *args):
        """Two endless solutions, a judge and the solution's server for each."""
        tasks = self.path("tasks.jsonl", lines_of(
            [*TASKS[:3], *({**task, "canonical_solution": ENDLESS} for task in TASKS[3:5])]))
        p = self.popen(*self.words(tasks, "--jobs", "2", "--task-time", "600", "--results",
                                   self.path("r.jsonl")))
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        self.assertTrue(wait_for(lambda: os.path.exists(self.path("r.jsonl")) and
                                 len(read_whole(self.path("r.jsonl"))) == 4 and
                                 len(in_jails(p.pid)) == 4))
        return p, family(p.pid)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            p, pids = self.started()
            p.send_signal(number)
            out, err = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 128 + number, (out, err))
            self.assertEqual(err.decode(), f"humaneval: ended by {number.name}\n")
            self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))
            self.assertEqual(len(read_lines(self.path("r.jsonl"))), 4)
            os.remove(self.path("r.jsonl"))

    def test_killed(self):
        p, pids = self.started()
        self.refused(self.run_tasks(self.path("tasks.jsonl"), "--results", self.path("r.jsonl")),
                     "another run writes into")
        p.kill()
        p.wait()
        self.assertTrue(wait_for(lambda: not alive(pids)), alive(pids))
        status, out, err = self.run_tasks(self.path("tasks.jsonl"), "--results",
                                          self.path("r.jsonl"), "--task-time", "1")
        self.assertEqual((status, err), (1, ""))
        self.assertIn("3 of 5 passed", out)
        self.assertEqual(len(read_lines(self.path("r.jsonl"))), 6)


def read_whole(path):
    """The lines of a file that somebody is still writing."""
    with open(path) as f:
        return [line for line in f if line.endswith("\n")]


def in_jails(pid):
    """The Pythons among all that descends from a process."""
    found = []
    for one in family(pid)[1:]:
        try:
            with open(f"/proc/{one}/comm") as f:
                found += [one] if f.read() == "python3\n" else []
        except OSError:
            pass
    return found


if __name__ == "__main__":
    unittest.main()
