"""Judge one solution by its test. Runs inside the jail, given to python3 by -c.

Two processes, because a solution that shares an interpreter with its test can change the test,
the comparison or the verdict. The judge forks the server before either has seen the task. The
server holds the solution; the judge holds the test and calls the solution over a pipe, in plain
data only: what comes back is rebuilt from numbers, strings, lists, tuples, dicts and sets, so
no object of the solution, with an __eq__ of its own, is ever compared.

stdin: a line of JSON, then a line with a secret. The judge reads the secret only after the
test has passed, and writes it to stdout; nothing else passes. The server has neither stdin nor
stdout, and the jail no /proc to reach them through. Leaving early, with whatever status, is
not passing.
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


def write_line(fd, value):
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[os.write(fd, data):]


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


def start_server(task):
    call, reply = os.pipe(), os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(2, 1)
            for fd in range(3, 64):
                if fd not in (call[0], reply[1]):
                    try:
                        os.close(fd)
                    except OSError:
                        pass
            serve(call[0], reply[1], task)
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(call[0])
    os.close(reply[1])
    return call[1], os.fdopen(reply[0], "rb")


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


def read_line(fd):
    """Up to the newline and no byte further: the secret stays in the pipe."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            raise EOFError("the task was cut off")
        line += byte
    return line


def main():
    sys.set_int_max_str_digits(0)
    size = int(read_line(0))
    data = b""
    while len(data) < size:
        data += os.read(0, size - len(data)) or sys.exit("the task was cut off")
    task = json.loads(data)
    verdict = os.dup(1)
    os.dup2(2, 1)  # what the test prints is not the verdict
    candidate = make_candidate(*start_server(task))
    names = {"__name__": "test"}
    # the prompt's helpers, which some tests use; its last function gets no body here
    exec(compile(task["prompt"] + "\n    pass\n", "<prompt>", "exec"), names)
    names[task["entry_point"]] = candidate
    exec(compile(task["test"], "<test>", "exec"), names)
    names["check"](candidate)
    os.write(verdict, read_line(0))
    os._exit(0)


main()
