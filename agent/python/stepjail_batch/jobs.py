# SPDX-License-Identifier: MIT
"""jobs.py - tasks that run, so many at once, until all are done or a limit ends them"""
import ctypes
import json
import os
import select
import signal
import subprocess
import time

from . import BROKEN, GOOD, LATE, MODEL, SOME, SPENT, Problem, is_amount, member, parse, say, seen
from .results import summary

RESULT_MAX = 32 << 20  # bytes of what a solve prints
PATIENCE_S = 5  # for a task that was told to end
# what each task has of its own, or gets from the batch
UNSHARED = ("--out", "--json", "--events", "--confirm", "--quiet", "--help", "-h")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def split_options(words, cost):
    """Each option of solve as (name, value or None, its words): a value never begins with --."""
    found = []
    for word in words:
        if word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            found.append((name, value if equals else None, [word]))
        elif found and found[-1][1] is None:
            found[-1] = (found[-1][0], word, [*found[-1][2], word])
        else:
            raise Problem(f"'{seen(word)}' behind -- belongs to no option: a task is a line of TASKS")
    for name, value, _ in found:
        pipe = value == "-" or value and os.path.exists(value) and not (os.path.isdir(value) or os.path.isfile(value))
        bad = " of a pipe" if name == "--file" and pipe else \
            " FILE" if name == "--transcript" and value != "none" else ""
        if bad or name in UNSHARED:
            raise Problem(f"{name}{bad}: tasks of a batch cannot share it: leave it out behind --")
    if cost < float("inf") and "--prices" not in [name for name, _, _ in found]:
        raise Problem("--cost needs --prices FILE behind --")
    return found


def command(agent, options, task):
    """What a task says takes the place of what holds for all; its text goes to stdin."""
    own = [f"--file={os.path.join('.', path)}" for path in task.get("files", ())]
    own += [f"--tests={os.path.join('.', path)}" for path in task.get("tests", ())]
    own += ["--check-answer=" + task["check_answer"]] if "check_answer" in task else []
    replaced = {word.partition("=")[0] for word in own} & {"--check-answer"}
    shared = [word for name, _, words in options if name not in replaced for word in words]
    return [agent, "solve", "-", "--json", "--quiet", *shared, *own]


class Job:
    """A task that runs."""

    def __init__(self, words, task):
        self.task = task
        self.said = os.memfd_create("result")
        asked = os.memfd_create("task")
        parent = os.getpid()

        def end_with_parent():
            if LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0 or os.getppid() != parent:
                os._exit(BROKEN)
        try:
            with open(asked, "r+b") as f:
                f.write(task["task"].encode())
                f.seek(0)
                self.process = subprocess.Popen(words, stdin=f, stdout=self.said, stderr=subprocess.DEVNULL,
                                                preexec_fn=end_with_parent)
            self.pidfd = os.pidfd_open(self.process.pid)
        except (OSError, subprocess.SubprocessError) as e:
            raise Problem(f"start {seen(words[0])}: {getattr(e, 'strerror', None) or e}; see --agent PATH") from None

    def result(self):
        """Of a job that has ended: its exit status, and what it said, or None."""
        status = self.process.wait()
        size = os.fstat(self.said).st_size
        said = parse(os.pread(self.said, size, 0)) if size <= RESULT_MAX else None
        os.close(self.pidfd)
        os.close(self.said)
        return status if status >= 0 else 128 - status, said if isinstance(said, dict) else None

    def end(self):
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Batch:
    def __init__(self, tasks, results, cost, quiet):
        self.tasks, self.results, self.cost, self.jobs = tasks, results, cost, []
        self.say = (lambda line: None) if quiet else say
        self.first = True  # none of this run has a result yet
        self.signals = []
        self.wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, frame: self.signals.append(number))
        signal.set_wakeup_fd(wake)

    def is_spent(self):
        return round(self.results.dollars, 9) >= self.cost

    def take_end(self, job):
        status, said = job.result()
        spoke = member(said, "usage", "completion_tokens") or member(said, "steps")
        why = (member(said, "error") or "") if said else "it ended without a result"
        why = seen(why if isinstance(why, str) else json.dumps(why))
        # a bad option, no key or no server would fail all that follow as well
        if self.first and (status == BROKEN or status == MODEL and not spoke):
            raise Problem(f"task '{seen(job.task['id'])}' failed, the first that ended: no other is begun, and nothing "
                          f"is recorded of it: {why}")
        self.first = False
        dollars = member(said, "budget", "cost_dollars", "used")
        if not said:
            status, said = status or BROKEN, {"outcome": "failed", "error": why}
        self.results.add(job.task, status, dollars if is_amount(dollars) else 0, said)
        self.say(f"{len(self.results.status)}/{len(self.tasks)} {seen(job.task['id'])}: exit status {status}"
                  + (": " + why if why else ""))

    def run(self, agent, options, most, seconds):
        """The exit status; nothing runs any more, also where this raises a Problem."""
        left = [task for name, task in self.tasks.items() if name not in self.results.status][::-1]
        late = time.monotonic() + seconds
        try:
            while not self.signals and time.monotonic() < late:
                while left and len(self.jobs) < most and not self.is_spent():
                    task = left.pop()
                    self.jobs.append(Job(command(agent, options, task), task))
                if not self.jobs:
                    break
                self.take_ends(late)
        finally:
            for job in self.jobs:
                job.process.terminate()
            for job in self.jobs:
                job.end()
            count, codes = len(self.tasks), list(self.results.status.values())
            self.say(summary(count, codes, self.results.dollars, self.results.path))
        if self.signals:
            return 128 + self.signals[0]
        if len(codes) < count:
            return SPENT if self.is_spent() else LATE
        return SOME if any(codes) else GOOD

    def take_ends(self, late):
        poll = select.poll()
        for fd in [self.wake] + [job.pidfd for job in self.jobs]:
            poll.register(fd, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(max(0, min(late - time.monotonic(), 1e6)) * 1000)}
        if self.wake in ready:
            os.read(self.wake, 4096)
            return  # a signal: it reached the tasks as well, and what they say now is no result
        for job in [job for job in self.jobs if job.pidfd in ready]:
            self.jobs.remove(job)
            self.take_end(job)
