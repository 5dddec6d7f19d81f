"""Judge a solution by plain cases: calls, and what is to come of each. Behind tests.py.

No process that runs a line of the solution ever has an expected value. look_at_cases() runs at the
beginning and leaves the calls alone in a file; call_cases() gets that, in a jail with the solution,
and leaves replies in a file; compare_cases() gets those and the cases in a further jail, where the
solution has never been. Whatever a solution makes of its own process, all it can do is reply, in
JSON, and a reply is right or wrong.
"""
import math
import re
import traceback

NUMBERS = (int, float)
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
SHOWN = 200  # characters


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def parse(text):
    return json.loads(text, parse_constant=refuse_constant)


def read_cases(files):
    """(file's name, number in it, case) of each."""
    for name, data in files.items():
        try:
            found = [parse(line) for line in data.splitlines() if line.strip()] \
                if name.endswith(".jsonl") else parse(data)
        except (ValueError, RecursionError) as problem:
            raise Problem(f"{name}: {problem}")
        if not isinstance(found, list):
            raise Problem(f"{name}: it must be a list of cases, "
                          'as [{"call": "module.function", "args": [1], "returns": 2}]')
        yield from ((name, number, case) for number, case in enumerate(found, 1))


def look_at_case(case):
    """What is wrong with it, or None."""
    if not isinstance(case, dict) or case.keys() - {"call", "args", "kwargs", "returns", "raises"}:
        return "it must be an object of call, args, kwargs, and returns or raises"
    if not isinstance(case.get("call"), str) or not NAME.fullmatch(case["call"]):
        return '"call" must be like "module.function"'
    if is_known(case["call"].split(".")[0]):
        return f'{case["call"]}: Python has a module of this name itself'
    if type(case.get("args", [])) is not list or type(case.get("kwargs", {})) is not dict:
        return '"args" must be a list, and "kwargs" an object'
    if ("returns" in case) == ("raises" in case) or type(case.get("raises", "")) is not str:
        return 'it must have either "returns" with a value or "raises" with a name'
    return None


def look_at_cases(files):
    count, names = 0, set()
    with open(f"{CASES}/calls", "w") as f:
        for name, number, case in read_cases(files):
            problem = look_at_case(case)
            if problem:
                raise Problem(f"{name}, case {number}: {problem}")
            call = [case["call"], case.get("args", []), case.get("kwargs", {})]
            f.write(json.dumps(call) + "\n")
            names.add(case["call"])
            count += 1
    if not count:
        raise Problem("it has no case")
    names = sorted(names)
    return {"count": count, "names": names[:40] + ["and others"] * (len(names) > 40)}


def plain(value):
    kind = type(value)
    if kind in (list, tuple):
        return [plain(one) for one in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: plain(one) for key, one in value.items()}
    if value is None or kind in (bool, int, float, str):
        return value
    raise TypeError(f"a {kind.__name__} is not a plain value (None, bool, int, finite float, str, "
                    "lists, tuples, and dicts with strings as keys)")


def reply_to(function, args, kwargs):
    try:
        value = function(*args, **kwargs)
    except BaseException as problem:
        traceback.print_exc()
        return json.dumps({"raises": type(problem).__name__})
    try:
        return json.dumps({"returns": plain(value)}, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        return json.dumps({"returns nothing that can be compared": str(problem)})


def call_cases(_):
    os.chdir(JUDGED)
    sys.path.append(JUDGED)
    with open(f"{CASES}/calls") as f:
        calls = f.read().splitlines()
    functions = {}
    for name, _, _ in map(json.loads, calls):
        module, _, function = name.rpartition(".")
        functions[name] = getattr(importlib.import_module(module), function)
    with open(f"{CASES}/replies", "w") as f:
        for name, args, kwargs in map(json.loads, calls):
            f.write(reply_to(functions[name], args, kwargs) + "\n")
    return {}


def same(want, got):
    """Numbers by value, floats to nine digits; all else as it is, and true is not 1."""
    kinds = (type(want), type(got))
    if float in kinds and all(kind in NUMBERS for kind in kinds):
        try:
            return math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-12)
        except OverflowError:
            return False
    if kinds[0] is not kinds[1]:
        return False
    if kinds[0] is list:
        return len(want) == len(got) and all(map(same, want, got))
    if kinds[0] is dict:
        return want.keys() == got.keys() and all(same(want[key], got[key]) for key in want)
    return want == got


def holds(case, line):
    try:
        (kind, value), = parse(line).items()
        return kind in ("returns", "raises") and kind in case and same(case[kind], value)
    except (ValueError, AttributeError, RecursionError):
        return False


def show_call(case):
    args = [repr(one) for one in case.get("args", [])] + \
        [f"{name}={one!r}" for name, one in case.get("kwargs", {}).items()]
    return f"{case['call']}({', '.join(args)[:SHOWN]})"


def compare_cases(files):
    """Says what came, and never what was expected: the model is told of it."""
    with open(f"{CASES}/replies", "rb") as f:
        replies = f.read().split(b"\n")
    cases = [case for _, _, case in read_cases(files)]
    rows = zip(cases, replies + [b""] * len(cases))
    bad = [(case, line) for case, line in rows if not holds(case, line)]
    if not bad:
        return {"stands": True, "why": None}
    case, line = bad[0]
    came = line[:SHOWN].decode(errors="backslashreplace")
    return {"stands": False, "why": f"{len(bad)} of {len(cases)} calls failed. The first: "
                                    f"{show_call(case)} gave {came}, which is wrong"}
