# SPDX-License-Identifier: MIT
"""runner.py - run one step; lies in the ELF as the frozen module stepjail_runner

step.c calls run() with the step's source. What the step writes goes to fds 1 and 2 by
itself; run() returns the rest: how the step ended, a status, and the last expression's
value or a traceback. Everything it needs is imported before user code runs, so that a
file of that name in the working directory is never taken instead.
"""
import _ast
import builtins
import linecache
import posix
import sys
import traceback

COMPLETED, EXCEPTION, EXIT = 0, 1, 2  # enum wire_how
ONLY_AST = 0x400  # PyCF_ONLY_AST

_owner = posix.getpid()
_main = sys.modules["__main__"].__dict__
_text_max = 0


def start(text_max):
    """Called once, by step.c: from now on '' is on sys.path, as at a prompt."""
    global _text_max
    _text_max = text_max
    sys.stdout.reconfigure(line_buffering=True)
    builtins.exit = builtins.quit = sys.exit  # site's own close stdin, for good
    sys.path.insert(0, "")


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
    print(code, file=sys.stderr)
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


def run(source, step):
    """(how, status, result, traceback) of a step; the texts are bytes or None."""
    how, status, result, shown = COMPLETED, 0, None, None
    try:
        value = execute(source, f"<step {step}>")
        if value is not None:
            builtins._ = value
            result = bounded(repr(value))
    except SystemExit as problem:
        how, status = EXIT, exit_status(problem)
    except BaseException as problem:
        how, shown = EXCEPTION, bounded(trace(problem))
    flush()
    if posix.getpid() != _owner:
        leave(how, status, shown)
    return how, status, result, shown


def leave(how, status, shown):
    """A process that the step forked is at the step's end: it ends as a script does."""
    if shown:
        posix.write(2, shown)
    posix._exit(1 if how == EXCEPTION else status)
