# SPDX-License-Identifier: MIT
"""magics.py - what lines and cells of a notebook's do; frozen, as stepjail_magics

notebook.py makes calls of get_ipython() out of them. Those that set a notebook up do nothing:
figures are shown here as they are. Those that start a program do so where the jail has one, and
else say what to do in its place. What a jail cannot do is said, and the step goes on, as in a
notebook a failed command does not end a cell.
"""
import sys

from stepjail_commands import IN_PYTHON, INSTALLS, LANGUAGES, installs, run, say

__builtins__ = dict(vars(__import__("builtins")))  # what the functions below look names up in
_modules = sys.modules

# nothing is to be done, or it is done anyhow
NOTHING = frozenset("""
    aimport alias autoawait autocall autoindent automagic autoreload autosave colors config
    doctest_mode gui load_ext logoff logon logstart matplotlib page pprint precision pylab rehashx
    reload_ext unload_ext xmode
""".split())
# what surrounds the lines of a cell, which notebook.py compiles
AROUND = "capture", "time", "prun"
class UsageError(Exception):
    """A magic that there is not, or that was called wrongly."""


UsageError.__module__ = "IPython.core.error"


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


class Timed:
    value = None

    def __init__(self, line):
        pass

    def __enter__(self):
        import os
        import time
        self.clock, self.use = time.perf_counter, os.times
        self.begun, self.used = self.clock(), self.use()

    def __exit__(self, kind, problem, trace):
        wall, now = self.clock() - self.begun, self.use()
        user, system = now.user - self.used.user, now.system - self.used.system
        if kind is None:
            print(f"CPU times: user {duration(user)}, sys: {duration(system)}, total: {duration(user + system)}\n"
                  f"Wall time: {duration(wall)}")


class Captured:
    """%%capture NAME: what the cell has printed; nothing of it is shown."""
    value = None

    def __init__(self, line):
        self.name = next((word for word in line.split() if not word.startswith("-")), None)

    def __enter__(self):
        import io
        self.kept = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = self.streams = io.StringIO(), io.StringIO()

    def __exit__(self, *problem):
        sys.stdout, sys.stderr = self.kept
        self.stdout, self.stderr = (stream.getvalue() for stream in self.streams)
        self.value = None
        if self.name:
            names()[self.name] = self

    def show(self):
        print(self.stdout, end="")
        print(self.stderr, end="", file=sys.stderr)

    __call__ = show

    def __str__(self):
        return self.stdout


class Profiled:
    value = None

    def __init__(self, line):
        import cProfile
        self.profile = cProfile.Profile()

    def __enter__(self):
        self.profile.enable()

    def __exit__(self, *problem):
        import pstats
        self.profile.disable()
        pstats.Stats(self.profile, stream=sys.stdout).sort_stats("tottime").print_stats(20)


def names():
    return _modules["__main__"].__dict__


def execute(line):
    """A statement, or an expression, whose value it gives."""
    try:
        code = compile(line, "<magic>", "eval")
    except SyntaxError:
        return exec(compile(line, "<magic>", "exec"), names())
    return eval(code, names())


def public():
    return sorted(name for name, value in names().items()
                  if not name.startswith("_") and not isinstance(value, type(sys)))


class Magics:
    """Each is one, by its name without `line_` or `cell_`."""

    def line_time(self, line):
        with Timed(line):
            value = execute(line)
        return value

    def line_prun(self, line):
        with Profiled(line):
            execute(line)

    def line_timeit(self, line, cell=None):
        import statistics
        import timeit
        number, repeat, words = 0, 7, line.split()
        while words and words[0].startswith("-"):
            word = words.pop(0)
            if word[1:2] in "nr" and (word[2:] or words):
                count = int(word[2:] or words.pop(0))
                number, repeat = (count, repeat) if word[1] == "n" else (number, count)
        text = " ".join(words)
        timer = timeit.Timer(cell or text, text if cell else "pass", globals=names())
        number = number or timer.autorange()[0]
        runs = [one / number for one in timer.repeat(repeat, number)]
        spread = statistics.pstdev(runs)
        print(f"{duration(statistics.mean(runs))} ± {duration(spread)} per loop (mean ± std. dev. of {repeat} runs, "
              f"{number:,} loop{'s' * (number > 1)} each)")

    cell_timeit = line_timeit

    def line_pwd(self, line):
        import os
        return os.getcwd()

    def line_cd(self, line):
        import os
        os.chdir(line.strip("'\"") or os.path.expanduser("~"))
        print(os.getcwd())

    def line_ls(self, line):
        import glob
        import os
        folder = next((word for word in line.split() if not word.startswith("-")), ".")
        print(*sorted(os.listdir(folder) if os.path.isdir(folder) else glob.glob(folder)), sep="\n")

    def line_cat(self, line):
        for name in line.split():
            with open(name) as text:
                print(text.read(), end="")

    def line_env(self, line):
        import os
        name, equals, value = line.partition("=")
        if not line:
            return dict(os.environ)
        if not equals:
            return os.environ.get(name.strip())
        os.environ[name.strip()] = value.strip()
        print(f"env: {name.strip()}={value.strip()}")

    def line_set_env(self, line):
        self.line_env(line if "=" in line else "=".join(line.split(None, 1)))

    def line_who(self, line):
        print(*public(), sep="\t")

    def line_who_ls(self, line):
        return public()

    def line_whos(self, line):
        for name in public():
            value = names()[name]
            print(f"{name:20} {type(value).__name__:15} {repr(value)[:60]}")

    def line_reset(self, line):
        for name in public():
            del names()[name]

    line_reset_selective = line_reset

    def line_run(self, line):
        import runpy
        import shlex
        words = [word for word in shlex.split(line) if word not in ("-i", "-t", "-n")]
        if not words:
            raise UsageError("%run needs the name of a file")
        kept, sys.argv = sys.argv, words
        try:
            found = runpy.run_path(words[0], run_name="__main__")
        finally:
            sys.argv = kept
        names().update({name: value for name, value in found.items() if not name.startswith("__")})

    def line_pinfo(self, line, source=False):
        import inspect
        value = execute(line.strip("%")) if not line.startswith("%") else getattr(self, "line_" + line.strip("%"))
        if callable(value):
            try:
                print(f"Signature: {line}{inspect.signature(value)}")
            except (TypeError, ValueError):
                pass
        print(f"Type:      {type(value).__name__}")
        try:
            print(f"Source:\n{inspect.getsource(value)}" if source else f"Docstring: {inspect.getdoc(value)}")
        except (TypeError, OSError):
            print(f"Docstring: {inspect.getdoc(value)}")

    def line_pinfo2(self, line):
        self.line_pinfo(line, source=True)

    line_psource = line_pinfo2
    line_pdoc = line_pinfo

    def line_lsmagic(self, line):
        print(*sorted({"%" + name[5:] for name in dir(self) if name.startswith("line_")} |
                      {"%%" + name for name in AROUND} |
                      {"%%" + name[5:] for name in dir(self) if name.startswith("cell_")}))

    def line_debug(self, line):
        say("%debug: a step has no terminal to debug at")

    line_pdb = line_debug

    def line_history(self, line):
        say("%history: steps are not kept as text here")

    line_hist = line_recall = line_store = line_history

    def cell_writefile(self, line, cell):
        words = line.split()
        if not words:
            raise UsageError("%%writefile needs the name of a file")
        with open(words[-1], "a" if "-a" in words else "w") as out:
            out.write(cell if cell.endswith("\n") else cell + "\n")
        print(f"Writing {words[-1]}")

    cell_file = cell_writefile

    def cell_python(self, line, cell):
        exec(compile(cell, "<magic>", "exec"), {"__name__": "__main__"})

    cell_python3 = cell_python

    def show(self, kind, cell):
        import stepjail_ipython
        _modules["stepjail_shown"].display(getattr(stepjail_ipython, kind)(cell))

    def cell_html(self, line, cell):
        self.show("HTML", cell)

    cell_HTML = cell_html

    def cell_svg(self, line, cell):
        self.show("SVG", cell)

    cell_SVG = cell_svg

    def cell_markdown(self, line, cell):
        self.show("Markdown", cell)

    def cell_latex(self, line, cell):
        self.show("Latex", cell)


class Events:
    def register(self, event, function):
        pass  # there is no kernel that would have any

    unregister = register


class Shell(Magics):
    """What get_ipython() is."""
    cell = None
    config = {}
    events = Events()
    display_formatter = None

    @property
    def user_ns(self):
        return names()

    user_global_ns = user_ns

    def around(self, kind, line):
        self.cell = {"capture": Captured, "time": Timed, "prun": Profiled}[kind](line)
        return self.cell

    def run_line_magic(self, name, line="", _stack_depth=1):
        name = name.lstrip("%")
        if name in NOTHING:
            if name == "pylab":
                exec("import numpy as np, matplotlib.pyplot as plt\nfrom numpy import *\n"
                     "from matplotlib.pyplot import *", names())
            return None
        if name in INSTALLS:
            return say(installs([name, *line.split()]))
        if name in LANGUAGES or name in IN_PYTHON and not hasattr(self, "line_" + name):
            return self.system(f"{name} {line}" if name in IN_PYTHON else line)
        magic = getattr(self, "line_" + name, None)
        if magic is None:
            raise UsageError(f"Line magic function `%{name}` is not among those of a step: %lsmagic lists them")
        return magic(line)

    def run_cell_magic(self, name, line, cell):
        magic = getattr(self, "cell_" + name, None)
        if magic is not None:
            return magic(line, cell)
        if name in ("bash", "sh", "!", "system", "sx"):
            return self.system(cell.strip())
        if name in LANGUAGES:
            raise UsageError(f"%%{name}: a step runs Python, and nothing else")
        raise UsageError(f"Cell magic `%%{name}` is not among those of a step: %lsmagic lists them")

    def magic(self, line):
        name, _, rest = line.partition(" ")
        return self.run_line_magic(name, rest)

    line_magic = magic

    def system(self, command):
        done = run(command)
        names()["_exit_code"] = done.returncode if done else 127

    def getoutput(self, command, split=True):
        import subprocess
        done = run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done is None:
            raise UsageError(f"!{command[:80]} gave no output: see stderr")
        names()["_exit_code"] = done.returncode
        return done.stdout.splitlines() if split else done.stdout

    def bare(self, command):
        """A command without its ! or %, as IPython takes some."""
        name, _, rest = command.partition(" ")
        return self.run_line_magic(name, rest) if name in ("cd", "ls", "cat") else self.system(command)

    def ev(self, text):
        return eval(text, names())

    def ex(self, text):
        exec(text, names())

    def run_cell(self, text, *how, **more):
        exec(compile(text, "<magic>", "exec"), names())

    def enable_gui(self, gui=None):
        pass

    enable_matplotlib = enable_pylab = enable_gui

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        setattr(Shell, f"{magic_kind}_{magic_name or function.__name__}", staticmethod(function))


shell = Shell()
