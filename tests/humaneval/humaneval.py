#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""humaneval.py - run solutions of HumanEval, each in a jail of its own, and count what passes

A task passes where three things hold: stepjail's report says that the jail's program completed,
its exit status is 0, and its stdout is this task's secret and nothing else. The secret is made
here for each run and goes into the jail behind the solution and its test; harness.py says why no
solution can read either.

Exit status: 0 all passed, 1 at least one did not, 125 this script or stepjail failed.
"""
import argparse
import collections
import concurrent.futures
import gzip
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import zlib

sys.dont_write_bytecode = True

from results import Failure, Results, parse_object, parse_results, plain, show  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TASKS = os.path.join(TOP, "tests/data/HumanEval.jsonl.gz")
STEPJAIL = os.path.join(TOP, os.environ.get("STEPJAIL_BUILD", "build"), "stepjail")
FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")
LATE_S = 10  # stepjail keeps the time of a task; this is for a stepjail that does not
ERROR_CHARS = 160
JOBS_MAX = 64
OWN_FAILURE = 125


class Stopped(BaseException):
    """A signal came."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failure(message)


Sample = collections.namedtuple("Sample", "task number solution sha256")


def read_lines(path):
    """(number, object) of each line of a file of JSON objects, which may be compressed."""
    with open(path, "rb") as f:
        data = f.read()
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as problem:
        raise Failure(f"{path}: {problem}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            value = parse_object(line)
            if value is None:
                raise Failure(f"{path}:{number}: not a JSON object")
            yield number, value


def need_strings(value, names, where):
    for name in names:
        if not isinstance(value.get(name), str):
            raise Failure(f'{where}: no string called "{name}"')


def read_tasks(path):
    tasks = {}
    for number, task in read_lines(path):
        need_strings(task, FIELDS, f"{path}:{number}")
        if task["task_id"] in tasks:
            raise Failure(f"{path}:{number}: there is a task {task['task_id']} already")
        tasks[task["task_id"]] = task
    if not tasks:
        raise Failure(f"{path} holds no task")
    return tasks


def sample_of(task, number, body):
    solution = task["prompt"] + body
    data = solution.encode(errors="surrogatepass")
    return Sample(task, number, solution, hashlib.sha256(data).hexdigest())


def read_solutions(path, tasks):
    """A sample for each completion; those of one task are numbered in the file's order."""
    samples, count = [], collections.Counter()
    for number, line in read_lines(path):
        need_strings(line, ("task_id", "completion"), f"{path}:{number}")
        name = line["task_id"]
        if name not in tasks:
            raise Failure(f"{path}:{number}: there is no task {name}")
        samples.append(sample_of(tasks[name], count[name], line["completion"]))
        count[name] += 1
    if not samples:
        raise Failure(f"{path} holds no solution")
    return sorted(samples, key=lambda s: list(tasks).index(s.task["task_id"]))


def make_head(tasks, kind):
    """A results file's first line: what its results are of."""
    kept = [[task[name] for name in FIELDS] for task in tasks.values()]
    digest = hashlib.sha256(json.dumps(kept).encode()).hexdigest()
    return {"event": "humaneval", "set_sha256": digest, "tasks": len(tasks), "solutions": kind}


class Jails:
    """Runs samples in jails, from some threads at a time."""

    def __init__(self, options):
        with open(os.path.join(HERE, "judge.py"), encoding="utf-8") as f, \
                open(os.path.join(HERE, "harness.py"), encoding="utf-8") as g:
            self.harness = f.read() + g.read()
        self.options, self.ended = options, False
        self.lock, self.running = threading.Lock(), set()

    def start(self, report):
        o = self.options
        # no /proc: no way from the solution to its judge's fds. setpriv: dies with this script
        command = ["setpriv", "--pdeathsig", "KILL", o.stepjail, "run", "--rootfs", o.rootfs,
                   "--wall-time", f"{round(o.task_time * 1000)}ms", "--report", str(report),
                   "--proc", "none", "--capture=both", "--output-limit=4K", *o.more,
                   "--", "/bin/python3", "-I", "-c", self.harness]
        with self.lock:
            if self.ended:
                raise Failure("stopped")
            jail = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, pass_fds=[report],
                                    start_new_session=True)  # keys of the terminal are ours
            self.running.add(jail)
        return jail

    def run(self, sample):
        secret = secrets.token_hex(16)
        solution = json.dumps({"entry_point": sample.task["entry_point"],
                               "solution": sample.solution})
        test = json.dumps({name: sample.task[name] for name in ("prompt", "test")})
        order = f"{len(solution)}\n{solution}{len(test)}\n{test}{secret}\n"
        begun = time.monotonic()
        report = os.memfd_create("report")
        try:
            jail = self.start(report)
            try:
                out, err = jail.communicate(order.encode(),
                                            timeout=self.options.task_time + LATE_S)
            except subprocess.TimeoutExpired:
                raise Failure(f"stepjail has not ended {LATE_S} s after --task-time") from None
            finally:
                jail.kill()
                jail.wait()
                with self.lock:
                    self.running.discard(jail)
            verdict = read_verdict(report)
        finally:
            os.close(report)
        error = last_line(err)
        if verdict in (None, "launcher-error", "cancelled"):  # by whoever sent it a signal
            raise Failure(f"the jail did not run: {error or 'stepjail gave no reason'}")
        passed = verdict == "completed" and jail.returncode == 0 and out == f"{secret}\n".encode()
        return {"task_id": sample.task["task_id"], "sample": sample.number, "sha256": sample.sha256,
                "passed": passed, "verdict": verdict,
                "wall_ms": round((time.monotonic() - begun) * 1000),
                "error": "" if passed else error}

    def end(self):
        with self.lock:
            self.ended = True
            for jail in self.running:
                jail.kill()


def read_verdict(report):
    os.lseek(report, 0, os.SEEK_SET)
    with open(report, "rb", closefd=False) as f:
        try:
            verdict = json.load(f)["verdict"]
        except (ValueError, KeyError, TypeError):
            return None
    return verdict if isinstance(verdict, str) else None


def last_line(err):
    """The last words of a jail, without what a terminal would obey."""
    lines = [line.rstrip() for line in err.decode(errors="backslashreplace").split("\n")]
    lines = [line for line in lines if line and not line.startswith("stepjail: warning: ")]
    return plain(lines[-1])[:ERROR_CHARS] if lines else ""


def run_samples(samples, options, results, say):
    """Run what has no result yet."""
    pending = []
    for s in samples:
        there = results.known.get((s.task["task_id"], s.number))
        if not there:
            pending.append(s)
        elif there["sha256"] != s.sha256:
            raise Failure(f"{options.results} has a result of another solution of "
                          f"{there['task_id']}, sample {s.number}; give a new name")
    jails = Jails(options)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    missed = 0
    try:
        futures = [pool.submit(jails.run, sample) for sample in pending]
        for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
            results.add(future.result())
            missed += not future.result()["passed"]
            if count % max(len(pending) // 8, 10) == 0:
                print(f"{count} of {len(pending)} run, {missed} not passed", file=say, flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        jails.end()
        pool.shutdown()


def run(options):
    begun = time.monotonic()
    tasks = read_tasks(options.tasks)
    kind = "broken" if options.broken else "completions" if options.solutions else "canonical"
    if kind == "completions":
        samples = read_solutions(options.solutions, tasks)
    else:
        samples = [sample_of(task, 0, "    pass\n" if options.broken else
                             task["canonical_solution"]) for task in tasks.values()]
    results = Results(options.results, make_head(tasks, kind))
    run_samples(samples, options, results, sys.stderr if options.json else sys.stdout)
    # of a file that holds more, what was asked for now
    of = [results.known[s.task["task_id"], s.number] for s in samples]
    return show(of, len(tasks), options.json, time.monotonic() - begun)


def merge(options):
    results, first = {}, None
    for path in options.files:
        with open(path, "rb") as f:
            head, _ = parse_results(f.read(), path, results, first)
        if not head:
            raise Failure(f"{path} is no results file")
        first = first or head
    if not results:
        raise Failure("these files hold no result")
    if options.results:
        if os.path.lexists(options.results):
            raise Failure(f"{options.results} is there already; give a new name")
        kept = Results(options.results, first)
        for result in results.values():
            kept.add(result)
    return show(list(results.values()), first["tasks"], options.json)


def between(kind, low, high):
    def number(word):
        if not low <= kind(word) <= high:
            raise argparse.ArgumentTypeError(f"{word} is not between {low} and {high}")
        return kind(word)
    return number


def parse(words):
    """The options; what is behind -- goes to stepjail run."""
    own, more = words, []
    if "--" in words:
        own, more = words[:words.index("--")], words[words.index("--") + 1:]
    parser = Parser(prog="humaneval.py", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("run", help="run solutions; options for `stepjail run` go behind --")
    p.set_defaults(call=run)
    p.add_argument("tasks", nargs="?", default=TASKS, help="a set of tasks, JSON lines (HumanEval)")
    kind = p.add_mutually_exclusive_group()
    kind.add_argument("--broken", action="store_true", help="replace every body by pass")
    kind.add_argument("--solutions", metavar="FILE",
                      help='JSON lines of {"task_id", "completion"}, not the canonical solutions; '
                      "a task may have several")
    p.add_argument("--results", metavar="FILE",
                   help="keep results; what is in the file already is not run again")
    p.add_argument("--jobs", metavar="N", type=between(int, 1, JOBS_MAX),
                   default=min(len(os.sched_getaffinity(0)), JOBS_MAX),
                   help="jails at a time (a CPU each)")
    p.add_argument("--task-time", metavar="SECONDS", type=between(float, 0.1, 3600),
                   default=20, help="longest time for one task (20)")
    p.add_argument("--rootfs", metavar="NAME", default="core", help="the jails' root tree (core)")
    p.add_argument("--stepjail", metavar="PATH", default=STEPJAIL)
    m = commands.add_parser("merge", help="the numbers of several results files together")
    m.set_defaults(call=merge)
    m.add_argument("files", nargs="+", metavar="FILE")
    m.add_argument("--results", metavar="FILE", help="a new file of what they hold")
    for p in commands.choices.values():
        p.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    options = parser.parse_args(own)
    options.more = more
    return options


def take_signals(handler):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


def stop(number, _):
    take_signals(signal.SIG_IGN)  # one is enough, and nothing is to disturb the end of the jails
    raise Stopped(number)


def main():
    take_signals(stop)
    try:
        options = parse(sys.argv[1:])
        status = options.call(options)
        sys.stdout.flush()
    except (Failure, OSError) as problem:
        print(plain(f"humaneval: {problem}"), file=sys.stderr)
        status = OWN_FAILURE
        if isinstance(problem, OSError):  # stdout may be what failed: its end would say so again
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except Stopped as why:
        print(f"humaneval: ended by {signal.Signals(why.args[0]).name}", file=sys.stderr)
        status = 128 + why.args[0]
    return status


if __name__ == "__main__":
    sys.exit(main())
