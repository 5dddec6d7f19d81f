# Programs for test_documentation.py, after the how-to on logs, and the library reference on Python's own services.
# %% logs
import io
import logging
import logging.config
import logging.handlers
import sys

logging.warning("Watch %s", "out")
logging.info("not shown")
logging.basicConfig(format="%(levelname)s:%(name)s:%(lineno)d:%(funcName)s:%(message)s", level=logging.DEBUG, stream=sys.stdout, force=True)
logging.debug("now to stdout")
log = logging.getLogger("harbour.crane")
log.setLevel(logging.INFO)


def lift(weight):
    log.info("lifting %d", weight)
    try:
        return 100 / weight
    except ZeroDivisionError:
        log.exception("nothing to lift")


lift(5)
lift(0)
print(log.parent.name, log.isEnabledFor(logging.DEBUG), log.getEffectiveLevel(), log.hasHandlers())
kept = io.StringIO()
handler = logging.StreamHandler(kept)
handler.setFormatter(logging.Formatter("{levelname:>8} {message} {place}", style="{", defaults={"place": "?"}))
handler.addFilter(lambda record: "secret" not in record.getMessage())
log.addHandler(handler)
log.propagate = False
log.error("a secret word")
log.critical("chain broke", extra={"place": "north"})
log.warning("rain")
print(kept.getvalue(), len(log.handlers))


class Where(logging.LoggerAdapter):
    def process(self, message, more):
        return f"[{self.extra['where']}] {message}", more


Where(log, {"where": "dock"}).warning("ice")
memory = logging.handlers.MemoryHandler(10, flushLevel=logging.ERROR, target=handler)
quiet = logging.getLogger("quiet")
quiet.propagate = False
quiet.addHandler(memory)
quiet.warning("kept back")
print(kept.getvalue().count("\n"))
quiet.error("now all")
print(kept.getvalue().splitlines()[-2:])
logging.config.dictConfig({
    "version": 1, "disable_existing_loggers": True, "formatters": {"short": {"format": "%(name)s> %(message)s"}},
    "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "short", "stream": "ext://sys.stdout"}},
    "root": {"level": "INFO", "handlers": ["out"]}})
logging.getLogger("new").info("configured")
log.error("is disabled")
logging.captureWarnings(True)
import warnings
warnings.warn("by the log", stacklevel=1)
print(logging.getLevelName(25), logging.addLevelName(25, "NOTE"), logging.getLevelName(25))
logging.log(25, "of a level of its own")
# %% warned
import sys
import warnings


def old():
    warnings.warn("old() goes away", DeprecationWarning, stacklevel=2)
    return 1


old()
warnings.warn("look here")
for _ in range(3):
    warnings.warn("only once")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old()
    warnings.warn("second", RuntimeWarning)
    print([(w.category.__name__, str(w.message), w.lineno) for w in caught])
warnings.filterwarnings("error", "bad.*", UserWarning)
try:
    warnings.warn("bad thing")
except UserWarning as problem:
    print("raised", problem)
warnings.resetwarnings()
warnings.simplefilter("ignore")
warnings.warn("unheard")
with warnings.catch_warnings():
    warnings.simplefilter("default")
    old()
    exec("'\\d'")
print(warnings.formatwarning("words", UserWarning, "file.py", 3, "the line"))
class OwnWarning(Warning):
    pass
warnings.simplefilter("once", OwnWarning)
warnings.warn(OwnWarning("mine")); warnings.warn(OwnWarning("mine"))
print("done", file=sys.stderr)
# %% managers
import contextlib
import io
import sys


class Door:
    def __init__(self, name, swallow=False):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        print("open", self.name)
        return self

    def __exit__(self, kind, problem, trace):
        print("close", self.name, kind and kind.__name__)
        return self.swallow


with Door("front") as front, Door("back"):
    print("in", front.name)
with Door("cellar", swallow=True):
    raise ValueError("dark")
try:
    with (Door("a"), Door("b")):
        1 / 0
except ZeroDivisionError:
    print("came out")


@contextlib.contextmanager
def painted(colour):
    print("paint", colour)
    try:
        yield colour.upper()
    except LookupError as problem:
        print("took", repr(problem))
    finally:
        print("dry")


with painted("red") as colour:
    print(colour)
    raise KeyError("brush")


@painted("blue")
def work():
    print("working")


work()
with contextlib.suppress(FileNotFoundError, ZeroDivisionError):
    1 / 0
with contextlib.redirect_stdout(io.StringIO()) as heard:
    print("not on the screen")
print(repr(heard.getvalue()))
with contextlib.ExitStack() as stack:
    doors = [stack.enter_context(Door(f"gate {n}")) for n in range(3)]
    stack.callback(print, "called back", sep="!")
    stack.pop_all().close()
with contextlib.closing(io.StringIO("text")) as text, contextlib.nullcontext(5) as five:
    print(text.read(), five)
print(text.closed)
kept = contextlib.ExitStack()
kept.enter_context(Door("kept"))
print("later")
kept.close()
with contextlib.redirect_stderr(sys.stdout):
    print("to stdout", file=sys.stderr)
stream = io.BytesIO(b"abc\ndef\n")
wrapped = io.TextIOWrapper(stream, "ascii", newline="\n")
print(wrapped.readline(), wrapped.tell(), wrapped.read(), io.StringIO("a\r\nb", newline=None).readlines())
# %% tests
"""Words for doctest.

>>> double(4)
8
>>> double("ab")
'abab'
>>> double(None)
Traceback (most recent call last):
TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'
>>> [1, 2,
...  3]  # doctest: +NORMALIZE_WHITESPACE
[1,   2, 3]
>>> double(1)
3
"""
import doctest
import io
import re
import sys
import unittest
from unittest import mock


def double(x):
    """
    >>> double(5)
    10
    >>> print(double("<>"))  # doctest: +ELLIPSIS
    <...>
    """
    return x * 2


print(doctest.testmod())
print(doctest.testmod(name="again", report=False, verbose=False).failed, doctest.run_docstring_examples(double, globals()))


class Sums(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = ["class"]

    def setUp(self):
        self.addCleanup(self.made.append, self.id().rpartition(".")[2])

    def test_good(self):
        self.assertEqual(double(2), 4)
        with self.assertRaisesRegex(TypeError, "None"):
            double(None)

    def test_bad(self):
        self.assertEqual([1, 2, 3], [1, 5, 3], "not the same")

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertLess(n, 2)

    @unittest.skip("no time")
    def test_skipped(self):
        raise AssertionError

    @unittest.expectedFailure
    def test_expected(self):
        self.fail("as it is")

    def test_error(self):
        self.assertLogs(None)
        nobody


said = io.StringIO()
suite = unittest.defaultTestLoader.loadTestsFromTestCase(Sums)
result = unittest.TextTestRunner(said, verbosity=2).run(suite)
print(re.sub(r"in [\d.]+s", "in a moment", said.getvalue()))
print(result.testsRun, len(result.failures), len(result.errors), len(result.skipped), Sums.made)
with mock.patch(f"{__name__}.double", return_value=7) as fake:
    print(double(1), fake.call_args, fake.called)
print(double(1))
thing = mock.Mock(spec=["go"], **{"go.side_effect": [1, ValueError("no")]})
print(thing.go("x"), thing.mock_calls)
for wrong in thing.go, lambda: thing.stop:
    try:
        wrong()
    except (ValueError, AttributeError) as problem:
        print(problem)
with mock.patch.dict("os.environ", {"SHIP": "Anna"}), mock.patch("builtins.input", lambda prompt: "typed"):
    import os
    print(os.environ["SHIP"], input("?"))
program = unittest.main(argv=["x", "Sums.test_good"], exit=False, testRunner=unittest.TextTestRunner(io.StringIO()))
print(program.result.wasSuccessful(), "SHIP" in os.environ)
unittest.main(argv=["x", "-q", "Sums.test_bad"], testRunner=unittest.TextTestRunner(io.StringIO()))
# %% timers once
import signal
import sched
import time
import timeit

got = []
signal.signal(signal.SIGALRM, lambda number, frame: got.append(signal.Signals(number).name))
if signal.setitimer(signal.ITIMER_REAL, 0.01) == (0, 0):
    while not got:
        time.sleep(0.001)
print(got, signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL, signal.getitimer(signal.ITIMER_REAL))


class Late(Exception):
    pass


def late(number, frame):
    raise Late("too long")


signal.signal(signal.SIGALRM, late)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0)
    while True:
        time.sleep(5)
except Late as problem:
    print(problem)
finally:
    signal.setitimer(signal.ITIMER_REAL, 0)
print(signal.alarm(0), signal.strsignal(signal.SIGTERM), signal.default_int_handler.__name__)
signal.signal(signal.SIGUSR1, lambda *_: print("usr1"))
signal.raise_signal(signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
signal.raise_signal(signal.SIGUSR1)
print("pending", signal.sigpending())
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt as problem:
    print("interrupted", repr(problem))
now = [0]
plan = sched.scheduler(lambda: now[0], lambda seconds: now.__setitem__(0, now[0] + seconds))
plan.enter(5, 1, print, ("second",))
plan.enter(2, 1, print, ("first",), {"end": "!\n"})
third = plan.enterabs(5, 0, print, ("before the second",))
plan.cancel(plan.enter(9, 1, print, ("never",)))
print(len(plan.queue), third.time)
plan.run()
print(now, plan.empty(), timeit.timeit("x += 1", "x = 0", number=100) > 0, len(timeit.repeat("pass", number=1, repeat=3)))
begin = time.monotonic()
print(time.process_time() > 0, time.perf_counter_ns() > 0, time.monotonic() >= begin, time.get_clock_info("monotonic").monotonic)
begun = time.thread_time()
print(time.thread_time() >= begun)
