# SPDX-License-Identifier: MIT
"""runner.py - run one step; lies in the ELF as the frozen module stepjail_runner

run.c calls begin(), step() with the step's source, and conclude() with what step() raised.
What the step writes goes to fds 1 and 2 by itself; these return the rest: the last
expression's value; how the step ended, a status, and a traceback. (step.c calls run().)
Everything they need is imported before user code runs, so that a file of that name in the
working directory is never taken instead; they use their own builtins, as a step may delete
the ones it shares with others.
"""
import _ast
import _io
import builtins
import linecache
import posix
import sys
import traceback

COMPLETED, EXCEPTION, EXIT = 0, 1, 2  # enum wire_how
ONLY_AST = 0x400  # PyCF_ONLY_AST
STREAMS = "stdin", "stdout", "stderr"
GENERATORS = "random", "numpy.random"
MENDED = (*GENERATORS, "threading")  # modules for which begin() has something to do

__builtins__ = vars(builtins).copy()  # what the functions below look names up in

_owner = posix.getpid()
_streams = [None, None, None]  # of fds 0, 1 and 2
_repeatable = False
_modules = sys.modules
_main = _modules["__main__"].__dict__
_text_max = 0


def start(text_max):
    """Called once, by step.c: from now on '' is on sys.path, as at a prompt."""
    global _text_max
    _text_max = text_max
    sys.stdout.reconfigure(line_buffering=True)
    builtins.exit = builtins.quit = sys.exit  # site's own close stdin, for good
    sys.path.insert(0, "")


def repeatable(wanted):
    """Called once, by run.c: does a step go on with the random numbers of the last one?"""
    global _repeatable
    _repeatable = bool(wanted)


class Input(_io.FileIO):
    """Fd 0, and whether anything was ever read from it: if not, it is as good as new."""
    used = False

    def readinto(self, buffer):
        self.used = True
        return _io.FileIO.readinto(self, buffer)

    def readall(self):
        self.used = True
        return _io.FileIO.readall(self)

    def read(self, *size):
        self.used = True
        return _io.FileIO.read(self, *size)


def stream(raw, name, mode, wrap, **how):
    raw.name = name
    text = _io.TextIOWrapper(wrap(raw), "utf-8", "backslashreplace", **how)
    text.mode = mode
    return text


def fresh(fd):
    if fd == 0:
        return stream(Input(0, "r", closefd=False), "<stdin>", "r", _io.BufferedReader)
    raw = _io.FileIO(fd, "w", closefd=False)
    if fd == 1:
        return stream(raw, "<stdout>", "w", _io.BufferedWriter, line_buffering=True)
    return stream(raw, "<stderr>", "w", lambda same: same, write_through=True)


def usable(fd, text):
    """Can the stream that the last step had be this step's?"""
    try:
        # what was read ahead, and that it was at its end, must not come again
        return not text.closed and not (fd == 0 and text.buffer.raw.used)
    except Exception:
        return False  # not there yet, or detached


def streams():
    """sys.stdin, stdout and stderr are on fds 0, 1 and 2, whatever the last step did."""
    for fd, name in enumerate(STREAMS):
        if not usable(fd, _streams[fd]):
            _streams[fd] = fresh(fd)
        setattr(sys, name, _streams[fd])
        setattr(sys, f"__{name}__", _streams[fd])


def reseed():
    """Steps that were forked from one state must not draw the same numbers.

    So a seed that a step chose for `random`, or for numpy's global generator, holds for
    that step alone. Generators that a step made itself are its own: two branches draw the
    same from them. With STEPJAIL_DETERMINISTIC=1 nothing is reseeded.
    """
    for name in GENERATORS if not _repeatable else ():
        if name in _modules:
            _modules[name].seed()


def begin():
    """A step begins, in a process of its own. Not called where unchanged() said so."""
    _main["__builtins__"] = builtins
    shared = vars(builtins)
    if len(shared) < len(__builtins__):
        for name, value in __builtins__.items():
            shared.setdefault(name, value)
    streams()
    try:
        reseed()
        if "threading" in _modules:
            _modules["threading"].main_thread()._set_native_id()
    except Exception:
        pass  # replaced by something else: the last step's own doing


def unchanged():
    """Is everything as begin() would leave it for the next step?"""
    for fd, name in enumerate(STREAMS):
        text = _streams[fd]
        if not usable(fd, text) or getattr(sys, name, None) is not text:
            return False
    for name in MENDED:
        if name in _modules:
            return False
    return (_main.get("__builtins__") is builtins
            and len(vars(builtins)) >= len(__builtins__))


def bounded(text):
    """UTF-8 of at most _text_max bytes; what is too much goes out of the middle."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= _text_max:
        return data
    note = b"\n[... %d bytes ...]\n" % (len(data) - _text_max)
    half = (_text_max - len(note) - 8) // 2
    head = data[:half].decode("utf-8", "ignore").encode()
    tail = data[-half:].decode("utf-8", "ignore").encode()
    return head + note + tail


def trace(problem):
    """The traceback as Python shows it, without the frame of this file."""
    first = problem.__traceback__
    while first and first.tb_frame.f_globals is globals():
        first = first.tb_next
    if isinstance(problem, SyntaxError) and not problem.text and problem.lineno:
        # found after parsing ('return' outside function): it has no text with it
        problem.text = linecache.getline(problem.filename, problem.lineno)
    try:
        shown = traceback.TracebackException(type(problem), problem, first, compact=True)
        return "".join(shown.format())
    except Exception as second:
        return f"{type(problem).__name__} ({type(second).__name__} in showing it)\n"


def exit_status(problem):
    """What Python itself makes of sys.exit(problem.code)."""
    code = problem.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        print(code, file=sys.stderr)
    except Exception:
        pass  # closed, replaced or gone
    return 1


def execute(source, name):
    """Run the statements; the value of the last one if that is an expression, or None."""
    text = source.decode("utf-8")
    try:
        linecache.cache[name] = len(text), None, text.splitlines(True), name
    except Exception:
        pass  # replaced: tracebacks will do without
    tree = compile(text, name, "exec", ONLY_AST, dont_inherit=True)
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr):
        last = _ast.Expression(tree.body.pop().value)
    # both before either runs: an error that only compiling finds is found first
    code = tree.body and compile(tree, name, "exec", dont_inherit=True)
    last = last and compile(last, name, "eval", dont_inherit=True)
    if code:
        exec(code, _main)
    return eval(last, _main) if last else None


def flush():
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except Exception:
            pass  # closed, replaced or gone: the step's own doing


def step(source, number):
    """Run it; the last expression's value as bytes, or None."""
    value = execute(source, f"<step {number}>")
    if value is None:
        return None
    builtins._ = value
    return bounded(repr(value))


def conclude(problem):
    """(how, status, traceback, unchanged) of a step that raised `problem`, or None."""
    how, status, shown = COMPLETED, 0, None
    if isinstance(problem, SystemExit):
        how, status = EXIT, exit_status(problem)
    elif problem is not None:
        how, shown = EXCEPTION, bounded(trace(problem))
    flush()
    return how, status, shown, unchanged()


def run(source, number):
    """(how, status, result, traceback) of a step, for step.c; the texts bytes or None."""
    result = problem = None
    try:
        result = step(source, number)
    except BaseException as raised:
        problem = raised
    how, status, shown, _ = conclude(problem)
    if posix.getpid() != _owner:
        # a process that the step forked is at the step's end: it ends as a script does
        if shown:
            posix.write(2, shown)
        posix._exit(1 if how == EXCEPTION else status)
    return how, status, result, shown
