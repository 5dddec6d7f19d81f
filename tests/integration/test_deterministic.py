#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_deterministic.py - the same run twice gives the same bytes, and without the options not

Run, cold sessions and warm ones; each thing that is fixed is first seen to differ. The same
transcript is run again over the 164 solutions of HumanEval.
"""
import gzip
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase, fence  # noqa: E402
from serve_client import BUILD, Serve  # noqa: E402
import test_agent_real  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
STEPJAIL = os.path.join(BUILD, "stepjail")
MISSING = [word for word in os.environ["STEPJAIL_RUN"].split() if "allow-missing" in word]
RUN = [STEPJAIL, "run", *MISSING]
FIXED = ["--deterministic"]
# how steps are served: a template's clones, an executed interpreter each
WAYS = {"warm": [], "cold": ["--cold"]}
NOON = 1709208000
START = ["--clock-start", "2024-02-29T12:00:00Z"]
WORDS = "{w for w in 'the order of a set of ten words or so is by hash'.split()}"
# objects without a hash of their own are ordered by where they lie
PLACED = "[type(x).__name__ for x in {object(), len, None, int, print, ord, OSError, Ellipsis}]"


def run(code, *options, words=("/bin/python3", "-c"), env=None):
    """A program's whole output: of `run`, or of the steps of a session."""
    options = [option for option in options if not option.startswith("--preload=")]
    return subprocess.run([*RUN, *options, "--", *words, code], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=True, env=env,
                          timeout=60).stdout.decode().split("\n", bool(MISSING))[-1]


def serve(codes, *options, times=1):
    """What the steps print, in each of some sessions."""
    said = []
    with Serve([*MISSING, *options]) as server:
        for _ in range(times):
            session = server.open()
            steps = [session.run(code) for code in codes]
            said.append([(s.out + s.err).decode() + (s.result or "") + (s.trace or "")
                         for s in steps])
            session.close()
    return said


def report_of(*options, code="pass"):
    done = subprocess.run([*RUN, *options, "--report", "2", "--", "/bin/python3", "-c", code],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, timeout=60)
    return json.loads(done.stderr.decode().splitlines()[-1])


class Same(unittest.TestCase):
    """One thing at a time, everywhere: other without the option, the same with it."""

    def check(self, *codes, more=(), fixed=(*FIXED, "--seed=3"), trees=("core",)):
        for tree in trees:
            whole = "\n".join(codes)
            tree_run = ["--rootfs", tree]
            self.assertNotEqual(run(whole, *tree_run, *more), run(whole, *tree_run, *more))
            once = run(whole, *tree_run, *more, *fixed)
            self.assertEqual(once, run(whole, *tree_run, *more, *fixed))
            for way, options in WAYS.items():
                with self.subTest(tree=tree, way=way):
                    options = [*options, *tree_run, *more]
                    # one template's clones have its hash seed and layout
                    one, other = (serve(codes, *options, times=2) if way == "cold" else
                                  serve(codes, *options) + serve(codes, *options))
                    self.assertNotEqual(one, other)
                    first, second = serve(codes, *options, *fixed, times=2)
                    self.assertEqual(first, second)
                    if way == "warm":
                        self.assertEqual(serve(codes, *options, *fixed), [first])
                    yield once, first

    def test_hash(self):
        for once, first in self.check(f"print({WORDS}, hash('x'))"):
            self.assertEqual(once, first[0])
        # by the environment alone, Python's own way
        self.assertIn("PYTHONHASHSEED=3", run("import os; print(*map('='.join, os.environ.items()))",
                                              *FIXED, "--seed=3"))

    def test_hash_of_an_isolated_python(self):
        code = f"print({WORDS})"
        isolated = [run(code, *FIXED, words=("/bin/python3", "-I", "-E", "-c")) for _ in "12"]
        self.assertEqual(isolated, [run(code, *FIXED)] * 2)

    def test_random(self):
        codes = ("import random, tempfile\nprint(random.random(), random.gauss(0, 1))",
                 "print(random.random(), random.Random().random())",
                 "random.seed()\nprint(random.sample(range(1000), 5))\n"
                 "print(tempfile.mktemp(), random.Random(7).random())")
        for once, first in self.check(*codes):
            self.assertEqual(once, "".join(first))
        import random
        random.seed(3)
        self.assertEqual(float(once.split()[0]), random.random())
        self.assertNotEqual(run(codes[0], *FIXED), run(codes[0], *FIXED, "--seed=1"))

    def test_random_of_children(self):
        code = ("import os, random\nfor _ in range(3):\n    if os.fork() == 0:\n"
                "        os.write(1, f'{random.random()} {random.Random().random()}\\n'.encode())\n"
                "        os._exit(0)\n    os.wait()\nprint(random.random())")
        for once, first in self.check(code, more=["--lock-code=no"]):
            self.assertEqual(once, first[0])
        self.assertEqual(len(set(once.split())), 7)

    def test_a_chosen_seed_holds(self):
        import random
        random.seed(5)
        (said,) = serve(["import random\nrandom.seed(5)", "random.random()",
                         "random.random()"], *FIXED)
        self.assertEqual(said[1:], [repr(random.random()), repr(random.random())])

    def test_secrets_stay_secret(self):
        for code in ("import os; print(os.urandom(8))", "import uuid; print(uuid.uuid4())",
                     "import secrets; print(secrets.token_hex())",
                     "import random; print(random.SystemRandom().random())"):
            self.assertNotEqual(run(code, *FIXED), run(code, *FIXED))

    def test_numpy(self):
        if not os.path.exists(f"{BUILD}/rootfs/data.key"):
            self.skipTest("no tree data: make data")
        codes = ("import numpy\nprint(numpy.random.rand(2), numpy.random.default_rng().random())",
                 "numpy.random.seed(3)", "print(numpy.random.rand(2), numpy.random.RandomState())",
                 "print(numpy.random.default_rng().random(3))\nimport random\nrandom.random()")
        codes = [code.replace("RandomState()", "RandomState().rand()") for code in codes]
        for once, first in self.check(*codes, trees=["data"], more=["--preload=numpy"]):
            lines = once.split("\n")
            self.assertEqual(first[0], lines[0] + "\n")
            self.assertEqual(first[2].split("]")[0], lines[0].split("]")[0])

    def test_places(self):
        self.assertEqual(run(f"print({PLACED})", "--aslr=no"), run(f"print({PLACED})", "--aslr=no"))
        codes = (f"x = object()\nprint(hex(id(x)), id(int), {PLACED})", "print(repr(x), x)")
        for _ in self.check(*codes, fixed=(*FIXED, "--aslr=no")):
            pass
        # neither alone is enough: hashes of words, and of places
        both = f"print({WORDS}, id(object()))"
        self.assertNotEqual(run(both, *FIXED), run(both, *FIXED))
        self.assertNotEqual(run(both, "--aslr=no"), run(both, "--aslr=no"))

    def test_folders(self):
        names = [f"{n * 7919 % 1000:03d}" for n in range(40)]
        # that order is the file system's: the same each time, but not by name
        made = f"import os, glob, pathlib\nfor n in {names}: open('/work/' + n, 'x').close()"
        look = ("print([os.listdir(), os.listdir(b'.')[0], [e.name for e in os.scandir()],"
                " glob.glob('*'), [p.name for p in pathlib.Path().iterdir()],"
                " next(os.walk('.'))[2]])\nwith os.scandir('/work') as e: print(next(e).path)\n"
                "fd = os.open('/work', os.O_RDONLY); print(os.listdir(fd)[0])\n"
                "import shutil; os.mkdir('d'); shutil.rmtree('d'); shutil.rmtree.avoids_symlink_attacks")
        want = sorted(names)
        text = (f"{[want, want[0].encode(), want, want, want, want]}\n/work/{want[0]}\n"
                f"{want[0]}\n")
        self.assertNotEqual(run(f"{made}\n{look}"), text)
        self.assertEqual(run(f"{made}\n{look}", *FIXED), text)
        for options in WAYS.values():
            self.assertNotEqual(serve([made, look], *options)[0][1], text + "True")
            self.assertEqual(serve([made, look], *FIXED, *options)[0][1], text + "True")

    def test_a_list_is_sorted(self):
        """That of a session, always: here nobody is used to another order."""
        names = [f"{n * 7919 % 1000:03d}" for n in range(40)] + ["B", "a", "ä"]
        with Serve(MISSING) as server:
            session = server.open()
            session.run(f"for n in {names}: open('/work/' + n, 'x').close()")
            self.assertEqual([entry[3] for entry in session.list()],
                             sorted(names, key=str.encode))


class Around(unittest.TestCase):
    """Locale, time zone, processors, clocks, and what the report reads back."""

    def test_locale_and_zone(self):
        code = ("import time, locale, os; print(time.tzname, time.localtime(0).tm_hour,"
                "locale.setlocale(locale.LC_ALL, ''), os.environ['LC_ALL'])")
        self.assertEqual(run(code, "--env", "TZ=CET-1", "--env", "LC_ALL=C").split(" ")[2], "1")
        self.assertEqual(run(code, *FIXED), "('UTC', 'UTC') 0 C.UTF-8 C.UTF-8\n")
        for variable in ("TZ=CET", "LC_ALL=C", "PYTHONHASHSEED=5"):
            with self.assertRaises(subprocess.CalledProcessError) as refused:
                run("pass", *FIXED, "--env", variable)
            self.assertEqual(refused.exception.returncode, 125)
            self.assertIn(f"leave out --env {variable}".encode(), refused.exception.stdout)

    def test_one_cpu(self):
        code = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))"
        others = os.sched_getaffinity(0)
        if len(others) < 2:
            self.skipTest("this machine has one processor")
        self.assertEqual(run(code), f"{len(others)} {len(others)}\n")
        self.assertEqual(run(code, *FIXED), "1 1\n")
        widen = f"import os; os.sched_setaffinity(0, {others}); print('wide')"
        self.assertEqual(run(widen), "wide\n")
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            run(widen, *FIXED)
        self.assertIn(b"PermissionError", refused.exception.stdout)
        for options in WAYS.values():
            self.assertEqual(serve([code], *FIXED, *options), [["1 1\n"]])
            self.assertIn("PermissionError", serve([widen], *FIXED, *options)[0][0])

    def test_posture(self):
        plain = report_of()
        fixed = report_of(*FIXED, "--aslr=no", *START)
        self.assertEqual(plain["verdict"], "completed")
        added = set(fixed["posture"]) - set(plain["posture"])
        self.assertEqual(added, {"cpu", "personality", "clock_offsets"})
        self.assertNotIn("time", plain["posture"]["namespaces"])
        time_ns = fixed["posture"]["namespaces"]["time"]
        self.assertNotEqual(time_ns["jail"], time_ns["host"])
        self.assertIn(int(fixed["posture"]["cpu"]), os.sched_getaffinity(0))
        self.assertEqual(fixed["posture"]["personality"], "00040000")
        self.assertEqual(set(fixed["shut"]) - set(plain["shut"]), {"sched_setaffinity"})
        for way in WAYS.values():
            with Serve([*MISSING, *FIXED, "--aslr=no", *START, *way]) as server:
                posture = server.open().opened["posture"]
                self.assertEqual(posture["personality"], "00040000")
                self.assertLess(int(posture["cpu"]), 4096)
                self.assertLess(posture["clock_offsets"]["monotonic"][0], 0)
                self.assertIn("time", posture["namespaces"])

    # each of Python's ways to ask, as seconds since then
    CLOCKS = ("import time, datetime, calendar\n"
              "print(time.time(), time.time_ns() / 1e9, datetime.datetime.now().timestamp(),"
              " datetime.datetime.now(datetime.timezone.utc).timestamp(),"
              " time.clock_gettime(time.CLOCK_REALTIME), calendar.timegm(time.gmtime()),"
              " calendar.timegm(time.localtime()), calendar.timegm(time.strptime(time.ctime())),"
              " calendar.timegm(time.strptime(time.strftime('%c'))))\n"
              "print(time.monotonic(), time.perf_counter(), time.clock_gettime(time.CLOCK_BOOTTIME))")

    def check_clocks(self, said, since):
        """@since: how long the jail can be there at most, in seconds."""
        wall, mono = ([float(word) for word in line.split()] for line in said.splitlines())
        for value in wall:
            self.assertTrue(NOON <= value <= NOON + since, said)
        for value in mono:
            self.assertTrue(0 <= value <= since, said)

    def test_clocks(self):
        with self.assertRaises(AssertionError):
            self.check_clocks(run(self.CLOCKS), 1000)
        begun = time.monotonic()
        for words in (("/bin/python3", "-c"), ("/bin/python3", "-I", "-S", "-c")):
            self.check_clocks(run(self.CLOCKS, *START, words=words), time.monotonic() - begun)
        for options in WAYS.values():
            begun = time.monotonic()
            for (said,) in serve([self.CLOCKS], *options, *START, times=2):
                self.check_clocks(said, time.monotonic() - begun)

    def test_a_session_starts_its_clock(self):
        """And no other one, however long serve is there."""
        with Serve([*MISSING, *START]) as server:
            server.open().close()
            time.sleep(1.5)
            begun = time.monotonic()
            session = server.open()
            self.check_clocks(bytes(session.run(self.CLOCKS).out).decode(),
                              time.monotonic() - begun)
            time.sleep(0.5)
            later = bytes(session.run("print(time.time(), time.monotonic())").out).decode().split()
            self.assertTrue(float(later[0]) >= NOON + 0.5 and float(later[1]) >= 0.5, later)

    def test_no_clock_lags(self):
        """A coarse clock that lags by a tick would be before the start in a jail's first one."""
        code = ("import time\n"
                "def asked(clock): return time.clock_gettime_ns(clock)\n"
                "print(sum(asked(0) <= asked(5) for _ in range(1000)))\n")
        self.assertNotEqual(run(code).strip(), "1000")
        self.assertEqual(run(code, *START).strip(), "1000")

    def test_numpy_clock(self):
        if not os.path.exists(f"{BUILD}/rootfs/data.key"):
            self.skipTest("no tree data: make data")
        (said,) = serve(["import numpy, time\nprint(str(numpy.datetime64('now'))[:14],"
                         " int(time.time()))"], "--rootfs=data", "--preload=numpy", *START)
        self.assertTrue(said[0].startswith("2024-02-29T12: 17092080"), said)

    def test_waits(self):
        """By the monotonic clock, and by the wall clock that the kernel does not know of."""
        code = ("import multiprocessing, threading, time, select\n"
                "t = time.monotonic()\nprint(multiprocessing.Semaphore(0).acquire(timeout=0.3),"
                "threading.Lock().acquire(timeout=0) or threading.Event().wait(0.3))\n"
                "select.select([], [], [], 0.1); time.sleep(0.1)\nprint(time.monotonic() - t)\n")
        for options in ([], START):
            said = run(code, *options).split()
            self.assertEqual(said[0], "False")
            self.assertTrue(0.5 <= float(said[2]) < 20, said)

    def test_files_keep_the_hosts_time(self):
        now = time.time()
        said = float(run("import os; open('x', 'x').close(); print(os.stat('x').st_mtime)", *START))
        self.assertTrue(now - 5 <= said <= time.time() + 5)

    def test_nothing_of_it_opens(self):
        """Offsets stand, and no program of a jail makes clocks of its own."""
        code = ("import os\n"
            "for flags in (os.O_WRONLY, os.O_RDWR):\n"
            "    try: os.open('/proc/self/timens_offsets', flags); print('open')\n"
            "    except OSError as e: print(e.errno in (1, 13, 30))\n"
            "print(open('/proc/self/timens_offsets').read().split()[0])\n"
            "try: time_ns = os.open('/proc/self/ns/time', os.O_RDONLY); print('ns')\n"
            "except OSError as e: print(e.errno in (1, 2, 13))")
        self.assertEqual(run(code, *START).split()[:3], ["True", "True", "monotonic"])

    def test_explain(self):
        options = ["--deterministic", "--seed", "7", "--aslr=no", *START]
        policy = subprocess.run([STEPJAIL, "explain", *options], stdout=subprocess.PIPE,
                                check=True).stdout
        self.assertIn(b"\nclock-start 2024-02-29T12:00:00Z\n", policy)
        read_end, write_end = os.pipe()
        os.write(write_end, policy)
        os.close(write_end)
        again = subprocess.run([STEPJAIL, "explain", "--policy", f"/dev/fd/{read_end}"],
                               stdout=subprocess.PIPE, check=True, pass_fds=[read_end]).stdout
        os.close(read_end)
        self.assertEqual(again, policy)


def humaneval():
    """Steps out of tasks: each solution, its test, and what would tell two runs apart."""
    with gzip.open(os.path.join(HERE, "../data/HumanEval.jsonl.gz"), "rt") as lines:
        tasks = [json.loads(line) for line in lines]
    for task in tasks:
        name = task["entry_point"]
        words = sorted(set(task["canonical_solution"].split()))
        yield (f"{task['prompt']}{task['canonical_solution']}\n{task['test']}\ncheck({name})\n"
               f"import os, random\nopen('/work/{name}', 'a').close()\n"
               f"print(set({words}), hash('{name}'), random.random(), os.listdir())\n"
               f"print({name}, {PLACED}, id(object()))")


class HumanEval(test_agent_real.Installed, AgentCase):
    """The same transcript, run again by the agent."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.codes = list(humaneval())

    def record(self, name, *options):
        """A transcript, and where its steps were wrong: nowhere."""
        path = self.path(name)
        status, out, err = self.run_agent(
            "solve", "HumanEval", "--model", self.script(*map(fence, self.codes), "Done."),
            "--stepjail", self.stepjail, "--steps", "1000", "--transcript", path, *self.missing,
            *options, timeout=600)
        self.assertEqual(status, 0, out + err)
        with open(path) as lines:
            events = [json.loads(line) for line in lines]
        ends = [e for e in events if e["event"] == "step"]
        self.assertEqual([e["verdict"] for e in ends], ["completed"] * len(self.codes))
        return path, [e["code"] for e in events if e["event"] == "code"]

    def replay(self, path, status):
        got, out, err = self.run_agent("replay", path, "--stepjail", self.stepjail, *self.missing,
                                       timeout=600)
        self.assertEqual(got, status, out[-2000:] + err)
        return [line for line in out.splitlines() if line.startswith("step ")]

    def test_the_same_transcript_twice(self):
        path, codes = self.record("fixed.jsonl", *FIXED, "--seed=5", "--aslr", "no")
        self.assertEqual(len(codes), len(self.codes))
        same = [f"step {n}: the same" for n in range(1, len(codes) + 1)]
        for _ in range(2):
            self.assertEqual(self.replay(path, 0), same)
        again, _ = self.record("again.jsonl", *FIXED, "--seed=5", "--aslr", "no")
        self.assertEqual(self.printed(again), self.printed(path))

    def printed(self, path):
        with open(path) as lines:
            events = [json.loads(line) for line in lines]
        return [e.get("stdout") for e in events if e["event"] == "step"]

    def test_without(self):
        del self.codes[12:]
        path, codes = self.record("plain.jsonl")
        said = self.replay(path, 1)
        self.assertEqual([line for line in said if "the same" in line], [])
        self.assertEqual(sum("differs" in line for line in said), len(codes), said)


if __name__ == "__main__":
    unittest.main()
