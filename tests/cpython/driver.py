# SPDX-License-Identifier: MIT
"""driver.py - run one module of CPython's test suite and tell the outcome of every test

The program of each run, outside a jail or inside:

	driver.py --list                   the names of all modules, one a line
	driver.py MODULE [LEFT_OUT...]     run it, without the tests of these ids

regrtest does the work, as `python3 -m test -u none MODULE` would; only the way that a
suite's outcomes are told is ours. Records go to what was stdout, one JSON list a line:

	["start", ID]
	["end", ID, OUTCOME, WORDS]        ok, skipped, failed, error, expected failure, ...
	["module", NAME, OUTCOME, WORDS]   last, if the interpreter lives to tell

A failing subtest has a record of its own beside its test's. Everything that tests print
goes to stderr. Children that import this as their __main__ find nothing to run.
"""
import json
import os
import sys

WORDS = 4000
# Modules that import only numbers of C from _testcapi, which core does not have
NUMBERS_ONLY = {"test_sqlite3"}
NUMBERS = {"INT_MAX": 2**31 - 1, "ULLONG_MAX": 2**64 - 1}
CHANNEL = 300  # far from the low fds that tests open, close and count


def main(arguments):
    import fcntl
    channel = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, CHANNEL)
    os.dup2(2, 1)
    del sys.path[0]  # this file's folder
    from test.libregrtest import cmdline, runtest, setup
    if arguments == ["--list"]:
        os.write(channel, "".join(n + "\n" for n in runtest.findtests()).encode())
        return
    run(channel, arguments[0], set(arguments[1:]), cmdline, runtest, setup)


def run(channel, module, left_out, cmdline, runtest, setup):
    import traceback
    import types
    import unittest
    from test import support
    from test.support import os_helper
    owner = os.getpid()
    write = os.write

    def tell(*record):
        if os.getpid() == owner:  # not a child that a test forked
            write(channel, json.dumps(record).encode() + b"\n")

    def words(error):
        """Type and text of what was raised, the end of the traceback behind it."""
        text = "".join(traceback.format_exception(*error))
        return f"{error[0].__name__}: {error[1]}"[:300], text[-WORDS:]

    class Recorder(unittest.TestResult):
        """Tells everything at once, so that a crash loses nothing."""

        def startTest(self, test):
            self.told = False
            tell("start", test.id())
            super().startTest(test)

        def outcome(self, test, outcome, *why):
            self.told = True
            tell("end", test.id(), outcome, why)

        def stopTest(self, test):
            if not self.told:  # failed in subtests only
                self.outcome(test, "failed", "in subtests")
            super().stopTest(test)

        def addSuccess(self, test):
            self.outcome(test, "ok")

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            self.outcome(test, "skipped", reason)

        def addError(self, test, error):
            super().addError(test, error)
            self.outcome(test, "error", *words(error))

        def addFailure(self, test, error):
            super().addFailure(test, error)
            self.outcome(test, "failed", *words(error))

        def addExpectedFailure(self, test, error):
            super().addExpectedFailure(test, error)
            self.outcome(test, "expected failure", *words(error))

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            self.outcome(test, "unexpected success")

        def addSubTest(self, test, subtest, error):
            super().addSubTest(test, subtest, error)
            if error:
                kind = "failed" if issubclass(error[0], test.failureException) else "error"
                tell("end", subtest.id(), kind, words(error))

    def run_suite(suite):
        support._filter_suite(suite, lambda test: test.id() not in left_out)
        result = Recorder()
        suite(result)
        if not result.testsRun and not result.skipped:
            raise support.TestDidNotRun
        if not result.wasSuccessful():
            raise support.TestFailed("tests failed")

    def load(module):
        """As regrtest does, but what cannot be imported is one failed test of many."""
        suite = unittest.TestLoader().loadTestsFromModule(module)
        support.run_unittest(suite)

    def inner(space, name, original=runtest._runtest_inner2):
        try:
            return original(space, name)
        except support.TestFailed as problem:
            raised.append(["failed", [f"TestFailed: {problem}"[:300]]])
            raise
        except unittest.SkipTest as problem:
            raised.append(["skipped", [str(problem)]])
            raise
        except support.TestDidNotRun:
            raise
        except BaseException:
            raised.append(["error", words(sys.exc_info())])
            raise

    raised = []
    if module in NUMBERS_ONLY:
        sys.modules["_testcapi"] = types.ModuleType("_testcapi")
        vars(sys.modules["_testcapi"]).update(NUMBERS)
    support._run_suite = run_suite
    runtest._test_module = load
    runtest._runtest_inner2 = inner
    space = cmdline._parse_args([])
    space.use_resources = []
    setup.setup_tests(space)
    with os_helper.temp_cwd(f"test_{module}", quiet=True):
        # the name is seen in paths; a process id would differ from run to run anyway
        ended = runtest.runtest(space, module)
    kind = type(ended).__name__
    tell("module", module, *(raised[0] if raised else [kind.lower(), []]))


if __name__ == "__main__":
    main(sys.argv[1:])
