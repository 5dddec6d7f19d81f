# SPDX-License-Identifier: MIT
"""commands.py - command lines of a notebook's, as in !ls; frozen, as stepjail_commands

They are run by the jail's shell where there is one. A tree of Stepjail's has none, so mostly
this says what to do in Python, or of what was to be installed whether it is there.
"""
import sys

__builtins__ = dict(vars(__import__("builtins")))  # what the functions below look names up in

LANGUAGES = frozenset("""
    ! R bash bigquery cmd cython fortran javascript js julia perl powershell ruby script sh spark sql
    system sx typescript zsh
""".split())
INSTALLS = "pip", "pip3", "conda", "mamba", "apt", "apt-get", "npm", "brew", "yum", "apk", "uv", "poetry"
IN_PYTHON = {"ls": "os.listdir()", "cat": "print(open(name).read())", "head": "open(name).readlines()[:10]",
             "tail": "open(name).readlines()[-10:]", "mkdir": "os.makedirs(name, exist_ok=True)",
             "rm": "os.remove(name)", "cp": "shutil.copy(a, b)", "mv": "shutil.move(a, b)", "pwd": "os.getcwd()",
             "wc": "len(open(name).readlines())", "grep": "re.search(pattern, line)", "echo": "print()",
             "unzip": "zipfile.ZipFile(name).extractall()", "tar": "tarfile.open(name).extractall()",
             "wget": "urllib.request.urlretrieve(url, name), if the jail has a network",
             "curl": "urllib.request.urlopen(url).read(), if the jail has a network",
             "python": "runpy.run_path(name)", "python3": "runpy.run_path(name)", "find": "glob.glob(pattern)",
             "date": "datetime.datetime.now()", "free": "resource.getrusage()", "which": "shutil.which(name)"}


def say(line):
    try:
        print(f"[{line}]", file=sys.stderr)
    except Exception:
        pass  # closed, replaced or gone


def why_none(package):
    """Why it is not there, or that it is."""
    import importlib.util
    import re
    import stepjail_lacking as lacking
    name = re.split(r"[=<>!~\[;@ ]", package)[0]
    top = lacking.PACKAGES.get(name.lower(), name).replace("-", "_")
    try:
        if importlib.util.find_spec(top.partition(".")[0]):
            return f"{name} is there already"
    except Exception:
        pass  # no name of a module
    return f"{name}: {lacking.words(top) or 'no tree of Stepjail has it; ' + lacking.OWN}"


def installs(words):
    """What to say of a command that installs something, or None."""
    words = [word for word in words if word not in ("sudo", "python", "python3", "-m")]
    if not words or words[0] not in INSTALLS:
        return None
    wanted = [word for word in words[1:] if not word.startswith("-") and word not in ("install", "add", "update")]
    if "install" not in words and "add" not in words:
        return f"{words[0]}: nothing can be installed in a jail, so there is nothing that it could do"
    told = [why_none(word) for word in wanted[:8]]
    return "; ".join(told) or "nothing can be installed in a jail"


def no_shell(command, problem):
    first = command.split()[0] if command.split() else command
    why = "--lock-code lets the jail start no program" if isinstance(problem, PermissionError) \
        else "the jail's root tree has no shell (/bin/sh)"
    instead = IN_PYTHON.get(first)
    return f"!{command[:80]}: {why}" + (f"; in Python: {instead}" if instead else "")


def run(command, **how):
    """A command line, by the shell; None where that was told."""
    import subprocess
    told = installs(command.split())
    if told is None:
        try:
            return subprocess.run(command, shell=True, text=True, **how)
        except OSError as problem:
            told = no_shell(command, problem)
    say(told)
    return None
