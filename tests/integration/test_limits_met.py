#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_limits_met.py - a limit that is met softly is told by option and value, in report and DONE

What the kernel counted, or stepjail did, is sure; what an exception speaks of, or a peak, is a
hint. A program's own exception that has nothing to do with a limit is told nothing.
"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_client import Serve  # noqa: E402
from serve_scene import LIMITED, OPTIONS  # noqa: E402
from test_run import BUILD, PLAIN_ENV, TIMEOUT, Host, each_user  # noqa: E402

THREADS = ("import threading\ne = threading.Event()\ntry:\n"
           "    for _ in range(200): threading.Thread(target=e.wait).start()\nfinally: e.set()")
# these wait on, so that whoever looks at their limit finds them
STAYING = ("import threading\ne = threading.Event()\n"
           "for _ in range(200): threading.Thread(target=e.wait, daemon=True).start()")
FORKS = ("import os, signal\nfor _ in range(200):\n"
         "    if not os.fork(): signal.pause()")
OPEN = "kept = [open('/dev/null') for _ in range(300)]"
LARGE = "open('/tmp/x', 'wb').write(bytes(1 << 20))"
FULL = "open('/work/x', 'wb').write(bytes(1 << 20))"
GONE = "import os\ntry: open('/work/y', 'wb').write(bytes(1 << 20))\nfinally: os.remove('/work/y')"
AT_ONCE = "x = bytearray(1 << 30)"
PLAIN = ("1 / 0", "raise RuntimeError('no thread')", "raise OSError(2, 'x')", "raise BlockingIOError(11, 'x')",
         "import sys\nsys.exit(7)")


def entries(limits):
    return [(one["option"], one["value"], one["sure"]) for one in limits]


class Runs(Host):
    def end(self, code, *options):
        """Its limits, and the lines of stderr that tell of them."""
        done = self.run_jail(*options, "--", "/bin/python3", "-c", code)
        lines = done.stderr.decode().splitlines()
        return entries(done.report["limits"]), [
            line for line in lines if line.startswith("python3: ")
            or (line.startswith("stepjail: ") and "no cgroup limits" not in line)]

    def test_pythons_word(self):
        """Nobody else knows: the call failed, and that was all."""
        for code, options, said in (
                (OPEN, ["--files=40"], ["--files (RLIMIT_NOFILE is 40)"]),
                (LARGE, ["--file-size=512K"], ["--file-size (RLIMIT_FSIZE is 524288)"]),
                (AT_ONCE, ["--memory=64M"], ["--memory (RLIMIT_DATA is 67108864)"])):
            if code is AT_ONCE and "--allow-missing" not in self.words(report=False):
                continue    # which is a kill there
            with self.subTest(code=code):
                self.assertEqual(self.end(code, *options), (
                    [], [f"python3: perhaps a limit of the jail: {one}" for one in said]))

    def test_processes(self):
        for code in (THREADS, FORKS):
            met, lines = self.end(code, "--pids=12")
            with self.subTest(code=code):
                self.assertIn("perhaps a limit of the jail: --pids (RLIMIT_NPROC is 1", "\n".join(lines))
                self.assertLessEqual(set(met), {("--pids", "12", True), ("--pids", "12", False)})

    def test_stacks_are_memory(self):
        """A thread that finds no memory for its stack is not one too many."""
        if "--allow-missing" not in self.words(report=False):
            self.skipTest("a cgroup counts pages, and no stack that nothing was written to")
        code = "import threading\nthreading.stack_size(8 << 20)\n" + STAYING
        _, lines = self.end(code, "--pids=100", "--memory=64M")
        self.assertIn("python3: perhaps a limit of the jail: --memory (RLIMIT_DATA is 67108864)", lines)

    def test_a_peak(self):
        if "--allow-missing" not in self.words(report=False):
            self.skipTest("a cgroup kills for memory: tests/vm")
        near = "x = [b'x' * (1 << 20) for _ in range(52)]\nraise ValueError"
        met, lines = self.end(near, "--memory=64M")
        self.assertEqual(met, [("--memory", "64M", False)])
        self.assertRegex("\n".join(lines), r"\Astepjail: hint: a limit may be the cause: it had [56]\dM of --memory 64M\Z")
        # it was none: nothing failed, or there was room
        self.assertEqual(self.end(near.replace("raise ValueError", ""), "--memory=64M"), ([], []))
        self.assertEqual(self.end(near, "--memory=128M"), ([], []))

    def test_sure(self):
        self.assertEqual(self.end("while True: pass", "--wall-time=300ms"),
                         ([("--wall-time", "300ms", True)], ["stepjail: killed: --wall-time 300ms"]))
        # also where the program lived with it
        self.assertEqual(self.end("try: " + FULL + "\nexcept OSError: pass", "--work-size=64K"), (
            [("--work-size", "64K", True)], ["stepjail: /work is full (or out of --inodes): --work-size 64K"]))

    def test_nothing_to_do_with_a_limit(self):
        for code in PLAIN:
            with self.subTest(code=code):
                self.assertEqual(self.end(code), ([], []))

    def test_the_hook_is_pythons(self):
        """A program sees one hook, and may have one of its own."""
        self.assertEqual(self.say("import sys; print(sys.excepthook is sys.__excepthook__)"), "True")
        met, lines = self.end("import sys\nsys.excepthook = lambda *a: None\nraise MemoryError")
        self.assertEqual((met, lines), ([], []))


class Steps(unittest.TestCase):
    OPTIONS = ["--pids=40", "--keep-states=16", "--files=60", "--file-size=512K", "--memory=512M", "--work-size=64K",
               "--wall-time=20s"]

    def setUp(self):
        self.serve = Serve(OPTIONS + self.OPTIONS)
        self.addCleanup(self.serve.end)
        self.session = self.serve.open()

    def met(self, code):
        done = self.session.run(code).done
        return done["verdict"], entries(done["limits"])

    def test_exceptions(self):
        disk = [("--tmp-size", "64M", False), ("--work-size", "64K", False)]
        for code, met in ((OPEN, [("--files", "60", False)]), (LARGE, [("--file-size", "512K", False)]),
                          (GONE, disk), (FULL, [("--work-size", "64K", True)]), ("import os; os.remove('/work/x')", []),
                          (THREADS, [("--pids", "40", False)]),
                          # its message was never one of Python's
                          *((plain, []) for plain in PLAIN)):
            with self.subTest(code=code):
                self.assertEqual(self.met(code)[1], met)

    def test_threads_that_stay(self):
        """They hold every place, so that no process of a next step could be made."""
        self.session.run("x = 7")
        step = self.session.run(STAYING)
        self.assertEqual((step.done["verdict"], step.done["state"]), ("exception", "rolled-back"))
        self.assertIn("no step can follow it: its threads", step.done["reason"])
        self.assertEqual(self.session.run("x").result, "7")

    def test_memory(self):
        verdict, met = self.met("x = bytearray(1 << 30)")
        self.assertEqual((verdict, met), ("memory", [("--memory", "512M", True)]) if LIMITED
                         else ("exception", [("--memory", "512M", False)]))

    def test_clocks(self):
        """The value is the step's own."""
        self.assertEqual(self.session.run("while True: pass", wall_ms=300).done["limits"],
                         [{"option": "--wall-time", "value": "300ms", "sure": True}])

    def test_a_lie(self):
        """What a step says of itself is bounded, and is a hint."""
        self.assertEqual(self.met("raise MemoryError('of my own')")[1],
                         [] if LIMITED else [("--memory", "512M", False)])


    def test_the_model_is_told(self):
        """The observation is the agent's, of what DONE has."""
        if LIMITED:
            self.skipTest("a kill there: tests/vm")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as script:
            script.write("--- turn\n```python\nx = bytearray(1 << 40)\n```\n--- turn\nexpect: the code raised an exception "
                         "(perhaps the limit --memory 64M); all variables are kept.\nDone.\n")
            script.flush()
            done = subprocess.run([f"{BUILD}/stepjail-agent", "solve", "--model", f"scripted:{script.name}", "--transcript",
                                   "none", "--memory", "64M", *OPTIONS, "task"], env=PLAIN_ENV, capture_output=True,
                                  text=True, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "Done.\n"), done.stderr)


class Followed(unittest.TestCase):
    """What a step has used up, or forbidden itself, does not cost the next one."""

    def setUp(self):
        self.serve = Serve(OPTIONS + ["--files=60", "--file-size=512K", "--pids=40"])
        self.addCleanup(self.serve.end)
        self.session = self.serve.open()

    def kept(self, code):
        step = self.session.run(code)
        self.assertEqual((step.done["state"], step.done["reason"]), ("kept", None), step.err)
        return step

    def test_soft_limits(self):
        """They are put away while the state rests, and the next step has them."""
        for name, low in (("NOFILE", 5), ("NPROC", 0), ("FSIZE", 0), ("AS", 1 << 20), ("DATA", 1 << 12), ("STACK", 1 << 14)):
            with self.subTest(limit=name):
                self.kept(f"import resource\nlimit = resource.RLIMIT_{name}\nold = resource.getrlimit(limit)\n"
                          f"resource.setrlimit(limit, ({low}, old[1]))")
                self.session.put("given", b"whole")
                self.assertEqual(self.session.get("given"), b"whole")
                self.assertEqual(self.kept("now = resource.getrlimit(limit)\nresource.setrlimit(limit, old)\nnow[0]").result,
                                 str(low))

    def test_hard_limits(self):
        """They cannot be put away. A step that none could follow says so, and is taken back."""
        for name, low, said in (("NOFILE", 8, "open files"), ("NPROC", 0, "another process")):
            with self.subTest(limit=name):
                self.kept("x = 7")
                step = self.session.run(f"import resource\nresource.setrlimit(resource.RLIMIT_{name}, ({low}, {low}))\nx = 8")
                self.assertEqual((step.done["verdict"], step.done["state"]), ("completed", "rolled-back"))
                self.assertRegex(step.done["reason"], f"^no step can follow it: .*{said}")
                self.assertEqual(self.kept("x").result, "7")

    def test_hard_limits_that_leave_room(self):
        self.kept("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
                  "resource.setrlimit(resource.RLIMIT_CPU, (100, 100))\nx = 7")
        self.assertEqual(self.kept("x").result, "7")

    def test_all_files_beside_a_thread(self):
        self.kept("import threading\ne = threading.Event()\n"
                  "threading.Thread(target=e.wait, daemon=True).start()\nkept = []")
        step = self.session.run("while True: kept.append(open('/dev/null'))")
        self.assertEqual((step.done["verdict"], step.done["state"]), ("exception", "kept"))
        for _ in range(2):
            self.assertEqual(self.kept("len(kept) > 20").result, "True")
        self.kept("e.set()\nkept.clear()")

    def test_cpu_time_of_many_steps(self):
        """The limit is each step's, though they are one process."""
        serve = Serve(OPTIONS + ["--cpu-time=1s"])
        self.addCleanup(serve.end)
        self.session = serve.open()
        for _ in range(4):
            self.kept("import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass")
        step = self.session.run("while True: pass")
        self.assertEqual(step.done["verdict"], "cpu-timeout")

    def test_its_channel_is_closed(self):
        """Nobody can ask such a process; it says why."""
        self.kept("x = 7")
        step = self.session.run("import os\nos.closerange(3, 1 << 16)\nx = 8")
        self.assertEqual((step.done["verdict"], step.done["state"]), ("exited", "rolled-back"))
        self.assertIn(b"the step closed the descriptor by which it is asked for the next", step.err)
        self.assertEqual(self.kept("x").result, "7")


globals().update(each_user(Runs))

if __name__ == "__main__":
    unittest.main()
