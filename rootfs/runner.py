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

__builtins__ = vars(builtins).copy()  # what the functions below look names up in

_owner = posix.getpid()
_streams = {}  # of fds 1 and 2
_repeatable = False
_generator = None  # the state of `random` between two steps, where it is kept
_main = sys.modules["__main__"].__dict__
_text_max = 0


def start(text_max):
    """Called once, by step.c: from now on '' is on sys.path, as at a prompt."""
    global _text_max
    _text_max = text_max
    sys.stdout.reconfigure(line_buffering=True)
    builtins.exit = builtins.quit = sys.exit  # site's own close stdin, for good
    sys.path.insert(0, "")


def repeatable(wanted):
    """Called once, by run.c: is a step to go on with the random numbers of the last one?"""
    global _repeatable
    _repeatable = bool(wanted)


def stream(fd, name, mode, wrap, **how):
    raw = _io.FileIO(fd, mode, closefd=False)
    raw.name = name
    text = _io.TextIOWrapper(wrap(raw), "utf-8", "backslashreplace", **how)
    text.mode = mode
    return text


def streams():
    """sys.stdin, stdout and stderr are on fds 0, 1 and 2, whatever the last step did."""
    # what the last one had read ahead, and that it was at its end, go with it
    sys.stdin = sys.__stdin__ = stream(0, "<stdin>", "r", _io.BufferedReader)
    out, err = _streams.get(1), _streams.get(2)
    if not usable(out):
        out = stream(1, "<stdout>", "w", _io.BufferedWriter, line_buffering=True)
    if not usable(err):
        err = stream(2, "<stderr>", "w", lambda raw: raw, write_through=True)
    sys.stdout = sys.__stdout__ = _streams[1] = out
    sys.stderr = sys.__stderr__ = _streams[2] = err


def usable(text):
    try:
        return text is not None and not text.closed
    except Exception:
        return False  # detached


def reseed():
    """Steps that were forked from one state must not draw the same numbers.

    Python does it for `random`, whose own function runs after every fork; a seed that a
    step chose therefore holds for that step alone. The same is done for numpy's global
    generator. Generators that a step made itself are its own: two branches draw the same
    from them. With STEPJAIL_DETERMINISTIC=1 nothing is reseeded.
    """
    module = sys.modules.get("random")
    if _repeatable:
        if module and _generator:
            module.setstate(_generator)
    elif "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def begin():
    """A step begins, in a process of its own."""
    global _owner
    _owner = posix.getpid()
    shared = vars(builtins)
    if len(shared) < len(__builtins__):
        for name, value in __builtins__.items():
            shared.setdefault(name, value)
    streams()
    try:
        reseed()
    except Exception:
        pass  # replaced by something else: the last step's own doing


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
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    tree = compile(text, name, "exec", ONLY_AST, dont_inherit=True)
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr):
        last = _ast.Expression(tree.body.pop().value)
    code = compile(tree, name, "exec", dont_inherit=True)
    last = last and compile(last, name, "eval", dont_inherit=True)
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
    """(how, status, traceback) of a step that raised `problem`, or None; does not raise."""
    global _generator
    how, status, shown = COMPLETED, 0, None
    if isinstance(problem, SystemExit):
        how, status = EXIT, exit_status(problem)
    elif problem is not None:
        how, shown = EXCEPTION, bounded(trace(problem))
    flush()
    if posix.getpid() != _owner:
        leave(how, status, shown)
    if _repeatable:
        try:
            _generator = sys.modules["random"].getstate()
        except Exception:
            pass  # not imported, or replaced
    return how, status, shown


def run(source, number):
    """(how, status, result, traceback) of a step; the texts are bytes or None."""
    result = problem = None
    try:
        result = step(source, number)
    except BaseException as raised:
        problem = raised
    how, status, shown = conclude(problem)
    return how, status, result, shown


def leave(how, status, shown):
    """A process that the step forked is at the step's end: it ends as a script does."""
    if shown:
        posix.write(2, shown)
    posix._exit(1 if how == EXCEPTION else status)
