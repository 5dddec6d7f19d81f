"""Run a check of the user's: a command line, split as a shell does it, nothing expanded. A step's
code, in a jail in which no other step has run.

Python runs here, as `python3 FILE`, `python3 -c CODE` or `python3 -m MODULE` would run it. Any other
program takes this process's place, where --lock-code allows that.
"""
import base64
import os
import runpy
import shlex
import shutil
import sys

FILES, INPUT = "/work/check/", "checked"  # in /work, too
PYTHONS = ("python", "python3", "/bin/python3", "/usr/bin/python3")
SWITCHES = ("-I", "-B", "-E", "-P", "-s", "-S", "-u")


def run_python(words):
    while words[0] in SWITCHES:
        del words[0]
    if words[0] in ("-c", "-m"):
        kind, what = words[:2]
        sys.argv = [kind, *words[2:]]
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0] = words, os.path.dirname(words[0])
        runpy.run_path(words[0], run_name="__main__")


def check(command):
    """The value: why it cannot be started; None where it came to its end."""
    try:
        words = shlex.split(base64.b64decode(command).decode(errors="surrogateescape"))
    except ValueError as problem:
        return str(problem)
    if not words:
        return "it is empty"
    for word in words:
        if word.startswith(FILES) and not os.path.exists(word):
            return f"there is no {word}: give --check-file .../{os.path.basename(word)}"
    with open(INPUT, "rb") as seen:
        os.dup2(seen.fileno(), 0)
    if words[0] in PYTHONS and len(words) > 1:
        if words[1][:1] != "-" and not os.path.exists(words[1]):
            return f"there is no {words[1]}"
        return run_python(words[1:])
    if not shutil.which(words[0]):
        return f"there is no program {words[0]}"
    try:
        os.execvp(words[0], words)
    except OSError as problem:
        return f"{words[0]}: {problem.strerror} (--lock-code=no allows other programs than Python)"
