"""Judge a solution by the user's tests. Runs as a step in a jail that has seen no other code.

Two processes. The first reads the tests (mounted read-only) and compares their digests, finds by
their syntax which tests there are, and gives the verdict; no line of the solution ever runs in
it. The second, forked from it, runs tests and solution together, as tests want it, and reports.

What that second process says is believed only so far:
- every test that the syntax shows must be reported as passed: a skipped one is not;
- the report must hold a secret, which is in a pipe and read when the last test has ended;
- tests and runner have a unittest of their own, loaded before the solution, which must be as it
  was when they have ended; so must the builtins, and functions of what else the tests import;
- nobody traces it, or looks for its objects or frames;
- what claims to equal anything at all equals nothing;
- then the same once more with tests that cannot pass: if one of those is reported as passed,
  so might all others have been.
The agent reads the verdict as the value of the last expression, which only this process can give.
"""
import ast
import hashlib
import json
import os
import select
import signal
import sys

sys.path[:] = [path for path in sys.path if path.startswith(("/lib", "/usr"))]
__unittest = True  # frames of this file are left out of what unittest prints
TESTS, JUDGED = "/work/tests", "/work/judged"
REPORT_MAX, OUTPUT_MAX = 1 << 20, 1 << 16  # bytes



class Problem(Exception):
    """Said to the user or to the model as it stands."""


class Verdict(dict):
    def __repr__(self):
        return json.dumps(self)


# --- which tests there are, by their syntax

def last_name(node):
    if isinstance(node, ast.Call):
        node = node.func
    return getattr(node, "attr", getattr(node, "id", ""))


def set_aside(node):
    """Left out by whoever wrote the tests, whatever the solution does."""
    return any(last_name(d) in ("skip", "expectedFailure", "xfail") for d in node.decorator_list)


def functions(body):
    return [one for one in body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]


class Tests:
    def __init__(self, files):
        self.trees = {name[:-3]: ast.parse(data, name) for name, data in files.items()}
        for stem in self.trees:
            if self.is_taken(stem):
                raise Problem(f"{stem}.py cannot be imported, as Python has a module of this name: "
                              f"call it test_{stem}.py")
        self.classes, self.ids, self.nodes, self.imports = {}, [], [], set()
        self.needs_pytest = False
        for tree in self.trees.values():
            for one in tree.body:
                if isinstance(one, ast.ClassDef):
                    self.classes[one.name] = one
        for stem, tree in self.trees.items():
            self.look(stem, tree)
        self.modules = sorted(name for name in self.imports if self.missing(name))
        self.digest = hashlib.sha256("\n".join(self.ids).encode()).hexdigest()

    def is_taken(self, name):
        import importlib.util
        try:
            return name in sys.modules or importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            return False

    def missing(self, name):
        import importlib.util
        try:
            return name not in self.trees and not importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return False

    def family(self, one, seen=()):
        """A class and those of its bases that are written in these files."""
        found = [one]
        for base in one.bases:
            other = self.classes.get(last_name(base))
            if other and other is not one and other not in seen:
                found += self.family(other, (*seen, one))
        return found

    def is_case(self, one):
        return any(last_name(base).endswith("TestCase") for each in self.family(one)
                   for base in each.bases)

    def look(self, stem, tree):
        gone = {last_name(t) for one in tree.body if isinstance(one, ast.Delete)
                for t in one.targets}
        for one in ast.walk(tree):
            if isinstance(one, ast.Import):
                self.imports |= {alias.name.split(".")[0] for alias in one.names}
            elif isinstance(one, ast.ImportFrom) and one.module and not one.level:
                self.imports.add(one.module.split(".")[0])
        self.needs_pytest |= "pytest" in self.imports
        for one in functions(tree.body):
            if one.name == "load_tests":
                raise Problem(f"{stem}.py chooses its tests by load_tests(), so they cannot be "
                              "told from its text")
            if one.name.startswith("test"):
                self.needs_pytest = True
                self.add(f"{stem}.{one.name}", one, [])
        for one in tree.body:
            if not isinstance(one, ast.ClassDef) or one.name in gone:
                continue
            case = self.is_case(one)
            if not case and not one.name.startswith("Test"):
                continue
            named = set()
            for each in self.family(one):
                for test in functions(each.body):
                    if test.name.startswith("test") and test.name not in named:
                        named.add(test.name)
                        self.needs_pytest |= not case
                        self.add(f"{stem}.{one.name}.{test.name}", test, [one])

    def add(self, name, test, holders):
        self.nodes.append(test)
        if not any(set_aside(one) for one in (test, *holders)):
            self.ids.append(name)


# --- the first process

def listen(report, output):
    """The report's line, and what was printed; ends with the line, or when nobody can write."""
    line, printed, total = b"", b"", 0
    waiting = [report, output]
    while report in waiting and not line.endswith(b"\n") and len(line) < REPORT_MAX:
        for fd in select.select(waiting, [], [])[0]:
            data = os.read(fd, 65536)
            if not data:
                waiting.remove(fd)
            elif fd == report:
                line += data
            else:
                total += len(data)
                printed = (printed + data)[-OUTPUT_MAX:]
    while select.select([output], [], [], 0)[0]:
        data = os.read(output, 65536)
        if not data or total > 1 << 28:
            break
        total += len(data)
        printed = (printed + data)[-OUTPUT_MAX:]
    return line, printed


def run_once(tests, control):
    """What was reported, and what was printed."""
    report, secret, output = os.pipe(), os.pipe(), os.pipe()
    word = os.urandom(16).hex()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            be_second(tests, control, report[1], secret[0], output[1])
        finally:
            os._exit(1)
    for fd in (report[1], secret[0], output[1]):
        os.close(fd)
    os.write(secret[1], word.encode())
    line, printed = listen(report[0], output[0])
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for fd in (report[0], secret[1], output[0]):
        os.close(fd)
    try:
        said = json.loads(line)
        if said["secret"] != word:
            raise ValueError
        return said["passed"], said["bad"], said["changed"], printed
    except (ValueError, KeyError, TypeError):
        return [], ["the process that ran the tests ended before it could report"], None, printed


def judge_solution(tests):
    """None, or why it does not stand."""
    passed, bad, changed, printed = run_once(tests, False)
    sys.stdout.write(printed.decode(errors="replace"))
    if changed:
        return f"the judge was tampered with: {changed}"
    for name in tests.ids:
        if not bad and name not in passed:
            return f"{name} did not run to its end, or was skipped"
    if bad:
        return str(bad[0])
    passed = run_once(tests, True)[0]
    if passed:
        return "the judge was tampered with: a test that cannot pass was reported as passed"
    return None


def read_tests(order):
    files = {}
    for test in order["tests"]:
        with open(f"{TESTS}/{test['name']}", "rb") as f:
            files[test["name"]] = f.read()
        if hashlib.sha256(files[test["name"]]).hexdigest() != test["sha256"]:
            raise Problem(f"{test['name']} is not what it was when the task began")
    return files


def judge(order):
    order = json.loads(bytes.fromhex(order))
    verdict = Verdict(nonce=order["nonce"], stands=False, problem=None)
    try:
        files = read_tests(order)
        tests = Tests(files)
        verdict.update(count=len(tests.ids), ids=tests.digest, modules=tests.modules[:8])
        if not tests.ids:
            raise Problem("there is no test to pass in it, or all are marked to be skipped")
        import importlib.util
        if tests.needs_pytest and not importlib.util.find_spec("pytest"):
            raise Problem("these tests need pytest, which this root tree does not have: give "
                          "--rootfs data, or tests that use unittest alone")
        if order["judge"]:
            verdict["why"] = judge_solution(tests)
            read_tests(order)
            verdict["stands"] = verdict["why"] is None
    except SyntaxError as problem:
        verdict["problem"] = f"{problem.filename}, line {problem.lineno}: {problem.msg}"
    except (OSError, Problem) as problem:
        verdict["problem"] = str(problem)
    return verdict
