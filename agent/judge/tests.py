"""Run the user's test files with a solution. In front of cases.py; each function that C names is
a step's code, in a jail in which no other step has run.

Tests and solution share a process, as unittest and pytest want it. So this holds for a solution
that is wrong, gives up, leaves early or skips, and not for one that is written to change what this
process reports: no code in the same process could tell. cases.py is for whoever needs that.
"""
import ast
import base64
import hashlib
import importlib
import importlib.util
import json
import os
import sys

sys.path[:] = [path for path in sys.path if path.startswith(("/lib", "/usr"))]
TESTS, CASES, JUDGED = "/work/tests", "/work/cases", "/work/judged"
SKIPS = {"skip", "skipIf", "skipUnless", "skipif", "xfail", "expectedFailure"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Problem(Exception):
    """Said to the user or to the model as it stands."""


class Verdict(dict):
    """The value of the step's last expression, which is what the agent reads."""
    __repr__ = json.dumps


def judge(what, files):
    """@what is given each file's bytes, once they are those that the agent knows."""
    read = {}
    try:
        for name, digest in json.loads(base64.b64decode(files)).items():
            with open(f"{TESTS if name.endswith('.py') else CASES}/{name}", "rb") as f:
                read[name] = f.read()
            if hashlib.sha256(read[name]).hexdigest() != digest:
                raise Problem(f"{name} has changed since the task began")
        return Verdict(what(read))
    except Problem as problem:
        return Verdict(problem=str(problem), why=str(problem))


def is_known(name):
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def names_in(nodes):
    return {getattr(one, "attr", getattr(one, "id", ""))
            for node in nodes for one in ast.walk(node)}


def find_tests(files):
    """By the text alone: tests that must pass, modules that are imported, is pytest needed?"""
    needed, imports, by_pytest = set(), set(), False
    for name, data in files.items():
        try:
            tree = ast.parse(data, name)
        except (SyntaxError, ValueError) as problem:
            raise Problem(f"{name}, line {getattr(problem, 'lineno', 1)}: {problem}")
        except (RecursionError, MemoryError):
            raise Problem(f"{name}: its code is nested deeper than Python's parser goes")
        for one in ast.walk(tree):
            if isinstance(one, ast.Import):
                imports |= {alias.name.split(".")[0] for alias in one.names}
            elif isinstance(one, ast.ImportFrom) and one.module and not one.level:
                imports.add(one.module.split(".")[0])
        classes = [one for one in tree.body if isinstance(one, ast.ClassDef)
                   and (one.bases or one.name.startswith("Test"))]
        for holder in [tree, *classes]:
            for one in holder.body:
                if isinstance(one, FUNCTIONS) and one.name.startswith("test"):
                    by_pytest |= not getattr(holder, "bases", None)
                    marks = one.decorator_list + getattr(holder, "decorator_list", [])
                    if not SKIPS & names_in(marks):
                        within = f"{holder.name}." if holder is not tree else ""
                        needed.add(f"{name[:-3]}.{within}{one.name}")
    return needed, imports, by_pytest or "pytest" in imports


def look_at_tests(files):
    stems = [name[:-3] for name in files]
    for stem in stems:
        if is_known(stem):
            raise Problem(f"{stem}.py cannot be imported, as Python has a module of this name: "
                          f"call it test_{stem}.py")
    needed, imports, by_pytest = find_tests(files)
    if not needed:
        raise Problem("it has no test that must pass")
    if by_pytest and not is_known("pytest"):
        raise Problem("these tests need pytest, which this root tree does not have: give "
                      "--rootfs data, or tests that use unittest alone")
    missing = sorted(name for name in imports - {*stems} if not is_known(name))
    return {"count": len(needed), "names": missing[:40]}


def names_of(holder, name):
    """A test, by each class that it has its text from."""
    return {f"{one.__module__}.{one.__qualname__}.{name}"
            for one in holder.__mro__ if name in vars(one)}


def run_unittest(stems, passed, skipped):
    import unittest

    class Result(unittest.TextTestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            passed.update(names_of(type(test), test._testMethodName))

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            skipped.update(names_of(type(test), getattr(test, "_testMethodName", "")))

    load = unittest.defaultTestLoader.loadTestsFromModule
    suite = unittest.TestSuite(load(importlib.import_module(stem)) for stem in stems)
    return unittest.TextTestRunner(sys.stdout, resultclass=Result).run(suite).wasSuccessful()


def run_pytest(stems, passed, skipped):
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    class Plugin:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = (yield).get_result()
            names = names_of(item.cls, item.originalname) if item.cls else \
                {f"{item.path.stem}.{item.originalname}"}
            if report.skipped:
                skipped.update(names)
            elif report.passed and report.when == "call":
                passed.update(names)

    return not pytest.main(["-q", "-c", "/dev/null", "--rootdir", TESTS, "--noconftest", "-p",
                            "no:cacheprovider", "--import-mode=importlib", "--color=no",
                            "--tb=short", *[f"{TESTS}/{stem}.py" for stem in stems]], [Plugin()])


def run_tests(files):
    """Each test that the text shows has passed, and none has failed."""
    needed, _, by_pytest = find_tests(files)
    passed, skipped = set(), set()
    os.chdir(JUDGED)
    sys.path += [TESTS, JUDGED]  # behind Python's own: nothing there takes a module's place
    run = run_pytest if by_pytest else run_unittest
    good = run([name[:-3] for name in files], passed, skipped)
    left = sorted(needed & skipped or needed - passed)
    why = "a test failed" if not good else \
        f"{left[0]} was skipped, or did not run" if left else None
    return {"stands": why is None, "why": why}
