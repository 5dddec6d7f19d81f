# SPDX-License-Identifier: MIT
"""Judge one solution by its test. Runs inside the jail, behind judge.py, given to python3 by -c.

A solution that shares an interpreter with its test can change the test, the comparison or the
verdict, and one that shares its memory can answer what the test wants. So the judge reads the
solution, forks the server that holds it, and only then reads the test: no memory of the server
ever had it. The judge calls the solution over a pipe, in plain data only: what comes back is
rebuilt from numbers, strings, lists, tuples, dicts and sets, so no object of the solution, with an
__eq__ of its own, is ever compared.

The secret is the verdict. The jail has no /proc to reach the judge's stdin, stdout and memory
through, and its seccomp filter refuses the system calls that would (ptrace, process_vm_readv,
pidfd_getfd).
"""
import json
import os
import sys

LINE_MAX = 16 << 20  # bytes of one call or answer
PLAIN = (type(None), bool, int, float, str)
NAMED = {"tuple": tuple, "set": set, "frozenset": frozenset}


def pack(value):
    for plain in PLAIN:
        if isinstance(value, plain):
            return value if type(value) in PLAIN else plain(value)
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[pack(k), pack(v)] for k, v in value.items()]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    for name, kind in NAMED.items():
        if isinstance(value, kind):
            return {name: [pack(item) for item in value]}
    raise TypeError(f"a {type(value).__name__} cannot be handed to or from the test")


def unpack(value):
    if isinstance(value, list):
        return [unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((name, inner),) = value.items()
    if name == "dict":
        return {unpack(k): unpack(v) for k, v in inner}
    if name == "complex":
        return complex(*inner)
    if name == "bytes":
        return bytes.fromhex(inner)
    return NAMED[name](unpack(item) for item in inner)


def answer(function, call):
    try:
        return {"value": pack(function(*unpack(call["args"]), **unpack(call["named"])))}
    except BaseException as problem:
        return {"raise": [type(problem).__name__, str(problem)[:2000]]}


def serve(calls, answers, task):
    """The server: load the solution, answer calls for ever."""
    names = {"__name__": "solution"}
    exec(compile(task["solution"], "<solution>", "exec"), names)
    function = names[task["entry_point"]]
    for line in os.fdopen(calls, "rb"):
        write_line(answers, answer(function, json.loads(line)))


def make_candidate(calls, answers):
    def candidate(*args, **named):
        try:
            write_line(calls, {"args": pack(list(args)), "named": pack(named)})
            line = answers.readline(LINE_MAX)
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            raise RuntimeError("the solution's process ended before its answer")
        got = json.loads(line)
        if "raise" not in got:
            return unpack(got["value"])
        name, words = got["raise"]
        import builtins
        kind = getattr(builtins, name, None) if isinstance(name, str) else None
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise RuntimeError(f"{name}: {words}")
        try:
            problem = kind(words)
        except Exception:  # a kind that wants more arguments
            problem = RuntimeError(f"{name}: {words}")
        raise problem
    return candidate


def main():
    sys.set_int_max_str_digits(0)
    solution, verdict = begin()
    _, calls, answers = start_child(serve, solution)
    task = read_json()  # not before the fork: see above
    candidate = make_candidate(calls, answers)
    names = {"__name__": "test"}
    # the prompt's helpers, which some tests use; its last function gets no body here
    exec(compile(task["prompt"] + "\n    pass\n", "<prompt>", "exec"), names)
    names[solution["entry_point"]] = candidate
    exec(compile(task["test"], "<test>", "exec"), names)
    names["check"](candidate)
    os.write(verdict, read_line(0))
    os._exit(0)


main()
