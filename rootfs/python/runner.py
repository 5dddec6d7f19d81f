# SPDX-License-Identifier: MIT
"""runner.py - run one step; lies in the ELF as the frozen module stepjail_runner

source.c calls begin() before a step and run.c conclude() behind it, with what it raised,
each only where it has something to do; conclude() tells how the step ended, a status, and a
traceback. leave(), numbers() and alone() are for a fork of a process with threads. Everything they
need is imported before user code runs, so that a file of that name in the working directory is
never taken instead; they use their own builtins, as a step may delete the ones it shares with
others.
"""
import _frozen_importlib
import _io
import _thread
import builtins
import faulthandler
import functools
import gc
import linecache
import posix
import sys
import traceback
import warnings  # noqa: F401  what C code warns of is shown with its line then

import stepjail_ends
import stepjail_shown  # noqa: F401  display() is a builtin from here on

NO_TERMINAL = """\
breakpoint() needs somebody at a terminal; print() what you want to see, or look at variables between steps
"""
COMPLETED, EXCEPTION, EXIT = 0, 1, 2  # enum wire_how
STREAMS = (("stdin", "r", _io.BufferedReader), ("stdout", "w", _io.BufferedWriter),
           ("stderr", "w", _io.BufferedWriter))

__builtins__ = vars(builtins).copy()  # what the functions below look names up in

_streams = [None, None, None]  # of fds 0, 1 and 2
_file, _lines = None, []  # the program that steps are pieces of, as far as they have come
failed = None  # of the last step that raised an exception: its name, and what it says
touched = False  # one of the streams was read from, closed or detached
_modules = sys.modules
_main = _modules["__main__"].__dict__
_text_max = 0
_tree = ()  # where modules are that are not the user's
_locks = (_thread.LockType, _thread.RLock)
_cached = functools.cached_property
_watch = faulthandler.cancel_dump_traceback_later


def map_code(folders):
    """Map the machine code of each of the tree's modules. A step can then import it where no
    memory may become executable any more (--lock-code). Nothing is imported: importing all is
    what takes long."""
    import os
    names = [f"{place}/{name}" for folder in folders for place, _, names in os.walk(folder)
             for name in names if name.endswith(".so")]
    if not names:
        return
    import _ctypes
    import platform
    for name in names:
        try:
            _ctypes.dlopen(name, os.RTLD_LAZY)
        except OSError:
            pass  # its import will say why
    platform.processor()  # remembered: pandas asks for it, and a program would be executed


def start(text_max, template):
    """Called once: from now on '' is on sys.path, as at a prompt."""
    global _text_max, _tree
    _text_max = text_max
    if template and len(sys.path) > 1:
        map_code(sys.path)
    _tree = "built-in", "frozen", *(path + "/" for path in sys.path if path)
    sys.stdout.reconfigure(line_buffering=True)
    builtins.exit = builtins.quit = sys.exit  # site's own close stdin, for good
    sys.path.insert(0, "")


class Raw(_io.FileIO):
    """One of fds 0, 1 and 2; tells when it is no longer as good as new."""

    def readinto(self, buffer):
        touch()
        return _io.FileIO.readinto(self, buffer)

    def readall(self):
        touch()
        return _io.FileIO.readall(self)

    def read(self, *size):
        touch()
        return _io.FileIO.read(self, *size)

    def close(self):
        touch()
        return _io.FileIO.close(self)


class Text(_io.TextIOWrapper):
    def detach(self):
        touch()
        return _io.TextIOWrapper.detach(self)


Raw.__name__, Text.__name__ = "FileIO", "TextIOWrapper"  # for their repr()
Raw.__module__ = Text.__module__ = "_io"


def touch():
    global touched
    touched = True


def fresh(fd):
    name, mode, wrap = STREAMS[fd]
    raw = Raw(fd, mode, closefd=False)
    raw.name = f"<{name}>"
    # a line is one write, of stderr as well, as in Python itself
    text = Text(wrap(raw), "utf-8", "backslashreplace", line_buffering=mode == "w")
    text.mode = mode
    return text


def usable(text):
    try:
        return not text.closed
    except Exception:
        return False  # not there yet, or detached


def streams():
    """sys.stdin, stdout and stderr are on fds 0, 1 and 2, whatever the last step did."""
    global touched
    if touched:
        # what was read ahead, and that it was at its end, must not come again
        _streams[0] = None
    for fd, (name, *_) in enumerate(STREAMS):
        if not usable(_streams[fd]):
            _streams[fd] = fresh(fd)
        setattr(sys, name, _streams[fd])
        setattr(sys, f"__{name}__", _streams[fd])
    touched = False


def begin():
    """A step begins, in a process of its own. What asks for it is in source_end()."""
    _main["__builtins__"] = builtins
    shared = vars(builtins)
    if len(shared) < len(__builtins__):
        for name, value in __builtins__.items():
            shared.setdefault(name, value)
    streams()


def piece(source):
    """What a step is that begins with "# stepjail: line N of FILE": (FILE, the source with its lines
    where they are in FILE). None where that is not what its first line says."""
    global _file
    head, _, rest = source.partition("\n")
    rest = rest.removeprefix("\ufeff")
    number, _, name = head.removeprefix("# stepjail: line ").partition(" of ")
    if not name or not number.isdecimal() or not 0 < len(number) < 8:
        return None
    above = max(int(number) - 1, 0)
    begun = _file == name
    if not begun:
        _file = sys.intern(name)
        _lines.clear()
        _main["__file__"], sys.argv[:] = name, [name]
        if sys.path and not sys.path[0]:
            sys.path[0] = name.rpartition("/")[0] or "/"
    del _lines[above:]
    _lines.extend(["\n"] * (above - len(_lines)))
    _lines.extend(_io.StringIO(rest, None).readlines())
    linecache.cache[_file] = len(rest), None, _lines, _file
    # only the first statement of a file can be its __doc__
    first = "pass" if begun and above and "__future__" not in rest else ""
    return _file, first + "\n" * above + rest


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


def advised(problem):
    """An error that advises to install a module is to say what can be done here."""
    try:
        text, = problem.args
        if isinstance(text, str) and ("install" in text or "depend" in text):
            import stepjail_lacking
            stepjail_lacking.mend(problem)
    except Exception:
        pass  # it has no text


def frames_shown():
    """How many python3 itself shows of a traceback, the last ones."""
    count = getattr(sys, "tracebacklimit", 1000)
    return max(count, 0) if type(count) is int else 1000


def trace(problem):
    """The traceback as Python shows it, without the frames of our own files."""
    advised(problem)
    first = problem.__traceback__
    while first and first.tb_frame.f_globals is globals():
        first = first.tb_next
    count = frames_shown()
    ahead = first
    for _ in range(count):
        ahead = ahead and ahead.tb_next
    while ahead:  # a million calls deep, each frame that is looked at would take its time
        first, ahead = first.tb_next, ahead.tb_next
    if isinstance(problem, SyntaxError) and not problem.text and problem.lineno:
        # found after parsing ('return' outside function): it has no text with it
        problem.text = linecache.getline(problem.filename, problem.lineno)
    try:
        shown = traceback.TracebackException(type(problem), problem, first, limit=-count, compact=True)
        shown.stack[:] = [frame for frame in shown.stack if not frame.filename.startswith("<stepjail_")]
        return "".join(shown.format()) + (NO_TERMINAL if type(problem).__name__ == "BdbQuit" else "")
    except Exception as second:
        return f"{type(problem).__name__} ({type(second).__name__} in showing it)\n"


def remember(problem):
    """The exception's name and words, for a client that wants them apart from the traceback."""
    global failed
    try:
        words = problem.msg if isinstance(problem, SyntaxError) else str(problem)
        words = words if len(repr(words)) < _text_max // 2 else words[:_text_max // 16] + "..."
    except Exception:
        words = ""
    failed = type(problem).__name__[:1000], words


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


def flush():
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except Exception:
            pass  # closed, replaced or gone: the step's own doing


def retire(threads_gone):
    """What an earlier step has started processes for: those are gone."""
    for name in "multiprocessing.pool", "concurrent.futures.process":
        try:
            _modules[name]._retire_all(threads_gone)
        except Exception:
            pass  # not imported, or replaced by something else


def leave():
    """A fork is to come that leaves threads; faulthandler's is ended, and waited for."""
    retire(False)
    _watch()


def numbers():
    """Where `random` is, if a step has chosen its seed; else False."""
    module = _modules.get("random")
    try:
        return module._seed_is_chosen and module._inst.getstate()
    except Exception:
        return False  # not there, or not what it was


def free(names):
    """Locks of a module, of a class or of an object, with those of what caches a property."""
    for value in list(names.values()):
        if type(value) is _cached:
            value = value.lock
        if type(value) in _locks:
            value._at_fork_reinit()


def free_module(module):
    """A module of the tree. threading mends its own, and some of those are held for good."""
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if not isinstance(origin, str) or not origin.startswith(_tree):
        return
    if module.__name__ == "threading":
        return
    names = vars(module)
    free(names)
    for value in list(names.values()):
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                free(vars(value))
        elif type(value) is not type(sys) and type(value).__module__ != "threading":
            free(getattr(value, "__dict__", {}))


def free_all():
    """What nobody can see to be locked: in the tree's modules, and within the user's objects.

    A lock that the user has made stays as it is, as after any fork.
    """
    for module in list(_modules.values()):
        try:
            free_module(module)
        except Exception:
            pass
    try:
        numbers = _modules["numpy.random"].BitGenerator
        _modules["numpy.random"].mtrand._rand._bit_generator.lock._at_fork_reinit()
    except Exception:
        numbers = _cached
    for thing in gc.get_objects():
        # by its type alone: what it says of itself is code of the user's
        if issubclass(type(thing), (_cached, numbers)):
            try:
                free({"": thing.lock})
            except Exception:
                pass


def alone(numbers):
    """Threads are gone in this process, and what they held nobody will let go."""
    for text in _streams:
        try:
            text.buffer.__init__(text.buffer.raw)  # a lock of its own, and nothing held back
        except Exception:
            pass  # detached
    stepjail_ends.free_files()
    _frozen_importlib._module_locks.clear()
    _frozen_importlib._blocking_on.clear()
    for name, module in list(_modules.items()):
        try:
            if module.__spec__._initializing:
                del _modules[name]  # to be imported once more
        except Exception:
            pass
    free_all()
    retire(True)
    if numbers:
        _modules["random"]._inst.setstate(numbers)


def conclude(problem):
    """(how, status, traceback) of a step that raised `problem`, or None."""
    how, status, shown = COMPLETED, 0, None
    if isinstance(problem, SystemExit):
        how, status = EXIT, exit_status(problem)
    elif problem is not None:
        how, shown = EXCEPTION, bounded(trace(problem))
        remember(problem)
    flush()
    return how, status, shown
