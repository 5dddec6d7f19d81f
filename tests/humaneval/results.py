# SPDX-License-Identifier: MIT
"""results.py - the results of humaneval.py: the file that they are kept in, and their numbers

The first line says of which set of tasks and whose solutions a file is. Each further line is one
result, written as soon as it is there, so a run that was stopped goes on where it was.
"""
import collections
import fcntl
import json
import math
import os

HEAD = {"event": str, "set_sha256": str, "tasks": int, "solutions": str}
RESULT = {"task_id": str, "sample": int, "sha256": str, "passed": bool, "verdict": str,
          "wall_ms": int, "error": str}
KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Failure(Exception):
    """One line for the user; nothing more is run."""


def plain(text):
    """The same in ASCII, with nothing that a terminal would obey."""
    return "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in text)


def parse_object(line):
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def fits(value, kinds):
    """Is this an object with members of these types?"""
    return value is not None and all(type(value.get(k)) is kind for k, kind in kinds.items())


def add_result(results, result, where):
    """What is there already is not counted again, and must be the same."""
    if not fits(result, RESULT):
        raise Failure(f"{where}: not a result")
    name, number = result["task_id"], result["sample"]
    there = results.setdefault((name, number), result)
    for field, words in ("sha256", "is of another solution"), ("passed", "says the opposite"):
        if there[field] != result[field]:
            raise Failure(f"{where}: what is known of {name}, sample {number}, {words}: "
                          "a results file is of one file of solutions, which may only grow")


def check_head(head, want, path):
    if head["set_sha256"] != want["set_sha256"]:
        raise Failure(f"{path} is of another set of tasks; give another file")
    if head["solutions"] != want["solutions"]:
        raise Failure(f"{path} holds another kind of solutions ({head['solutions']}); "
                      "give another file")


def parse_results(data, path, results, want=None):
    """Add the whole lines' results, where the first line is as it is wanted; returns that, and the
    bytes of whole lines."""
    whole = data[:data.rfind(b"\n") + 1]
    lines = [parse_object(line) for line in whole.split(b"\n")[:-1]]
    if lines and not (fits(lines[0], HEAD) and lines[0]["event"] == "humaneval"):
        raise Failure(f"{path} is no results file")
    if lines and want:
        check_head(lines[0], want, path)
    for number, line in enumerate(lines[1:], 2):
        add_result(results, line, f"{path}:{number}")
    return lines[0] if lines else None, len(whole)


class Results:
    """What has run, and the file of it, if there is one: a line for each as soon as it is there."""

    def __init__(self, path, head):
        self.known, self.fd = {}, None
        if not path:
            return
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"another run writes into {path}") from None
        with open(self.fd, "rb", closefd=False) as f:
            data = f.read()
        found, whole = parse_results(data, path, self.known, head)
        if not found and not json.dumps(head).encode().startswith(data):
            raise Failure(f"{path} is no results file")
        # a run that was killed may have left half a line at the end
        os.ftruncate(self.fd, whole)
        if not found:
            self.write(head)

    def write(self, line):
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(self.fd, data):]

    def add(self, result):
        self.known[result["task_id"], result["sample"]] = result
        if self.fd is not None:
            self.write(result)


def pass_at(by_task, k):
    """The chance that one of k samples passes, without bias, and the mean over the tasks: of n
    samples with c that passed it is 1 - C(n-c, k) / C(n, k) (Chen et al., 2021)."""
    chances = [1 - math.comb(sum(not r["passed"] for r in of), k) / math.comb(len(of), k)
               for of in by_task]
    return sum(chances) / len(chances)


def ended(result):
    """How one ended that did not pass: by the test, or by the jail."""
    return "failed" if result["verdict"] in ("completed", "exited") else result["verdict"]


def show(list_of, tasks, as_json, wall_s=None):
    """The numbers; returns the exit status."""
    by_task = collections.defaultdict(list)
    for r in list_of:
        by_task[r["task_id"]].append(r)
    passed = sum(r["passed"] for r in list_of)
    most = min(map(len, by_task.values()))
    chances = {str(k): pass_at(by_task.values(), k) for k in KS if k <= most}
    ends = collections.Counter(ended(r) for r in list_of if not r["passed"])
    took = {} if wall_s is None else {"wall_ms": round(wall_s * 1000)}
    if as_json:
        print(json.dumps({"tasks": list_of, "pass_at": chances, "passed": passed, "ends": ends,
                          "all": len(list_of), "no_result": tasks - len(by_task), **took}))
        return int(passed != len(list_of))
    for name, of in by_task.items():
        if not any(r["passed"] for r in of):
            times = f"none of {len(of)} passed, " if len(of) > 1 else ""
            print(plain(f"{name}: {times}{ended(of[-1])}: {of[-1]['error']}"))
    rows = {"passed": passed, "failed": 0, **ends, "all": len(list_of)}
    if tasks > len(by_task):
        rows["no result"] = tasks - len(by_task)
    print("", *(f"{plain(name):14} {count:5}" for name, count in rows.items()), sep="\n")
    if most > 1:
        print(*(f"pass@{k:9} {chance:.4f}" for k, chance in chances.items()), sep="\n")
    print(f"{passed} of {len(list_of)} passed, each in a jail of its own" +
          (f", in {wall_s:.1f} s" if took else ""))
    return int(passed != len(list_of))
