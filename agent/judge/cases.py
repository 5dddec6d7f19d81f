"""Judge a solution by plain cases: calls, and what is to come of each. Behind tests.py.

No process that runs a line of the solution ever has an expected value. look_at_cases() runs at the
beginning and leaves the calls alone in a file; call_cases() gets that, in a jail with the solution,
and leaves replies in a file; compare_cases() gets those and the cases in a further jail, where the
solution has never been. Whatever a solution makes of its own process, all it can do is reply, in
JSON, and a reply is right or wrong.

Values are compared by what is in them: plain() takes numpy's numbers, sets or Decimals for what JSON
has. Python's limits on depth and digits are lifted for that, and not for the solution: deep().
"""
import collections.abc
import decimal
import fractions
import math
import re
import threading
import traceback

NUMBERS = (int, float)
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
SHOWN = 200  # characters
DEPTH = 20000  # that a value's lists and dicts may have
STACK = 64 << 20  # bytes, for json's C code to go so deep
LONG = 10000  # bits of a number that goes as hex: decimals would take a time that grows as its square


def deep(function, *args):
    """Call it where values may be deep and numbers long, which Python's own limits are not about; the solution is
    called with those."""
    came = []

    def work():
        try:
            came.append((function(*args), None))
        except BaseException as problem:
            came.append((None, problem))

    levels, digits, size = sys.getrecursionlimit(), sys.get_int_max_str_digits(), threading.stack_size(STACK)
    sys.set_int_max_str_digits(0)
    sys.setrecursionlimit(3 * DEPTH)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    except RuntimeError:  # no memory for its stack: as deep as Python itself goes
        sys.setrecursionlimit(levels)
        work()
    finally:
        threading.stack_size(size)
        sys.set_int_max_str_digits(digits)
        sys.setrecursionlimit(levels)
    value, problem = came[0]
    if problem is not None:
        raise problem
    return value


def parse(text):
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"a value is nested deeper than {DEPTH} levels") from None


def read_cases(files):
    """(file's name, number in it, case) of each."""
    for name, data in files.items():
        try:
            found = [parse(line) for line in data.splitlines() if line.strip()] \
                if name.endswith(".jsonl") else parse(data)
        except ValueError as problem:
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
    return deep(look_at_all, files)


def look_at_all(files):
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


def is_of(value, library):
    return any(one.__module__.partition(".")[0] == library for one in type(value).__mro__)


def plain_number(value):
    """A number of whatever type as int or float; None for what is none."""
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, (decimal.Decimal, fractions.Fraction)):
        return int(value) if math.isfinite(value) and value == int(value) else float(value)
    return None


def plain_items(value):
    """What is in it, and the mark of what it is: a list, a dict's pairs, a set; or None."""
    if isinstance(value, collections.abc.Mapping):
        return list(dict.items(value) if isinstance(value, dict) else value.items()), "$dict"
    if isinstance(value, (set, frozenset)) or isinstance(value, collections.abc.Set) and \
            not isinstance(value, collections.abc.MappingView):
        return list(value), "$set"
    if isinstance(value, collections.abc.Sequence) and not isinstance(value, (bytes, bytearray, memoryview)) or \
            isinstance(value, (collections.deque, collections.abc.MappingView)) or is_of(value, "array"):
        return list(value), None
    return None


def plain(value, depth=0):
    """A value as JSON has it. By its content: an OrderedDict is a dict, numpy's numbers are numbers. What JSON has
    no word for is an object of one member, whose name begins with a dollar sign."""
    if depth > DEPTH:
        raise TypeError(f"it is nested deeper than {DEPTH} levels, or holds itself")
    if value is None or type(value) in (bool, float):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) in (list, tuple):  # most are, and this is quick
        values = []
        for one in value:
            values.append(plain(one, depth + 1))
        return values
    if is_of(value, "numpy") or is_of(value, "pandas"):
        simpler = value.tolist() if hasattr(value, "tolist") else value
        if type(simpler) is not type(value):
            return plain(simpler, depth + 1)
        if isinstance(simpler, sys.modules["numpy"].floating):  # longdouble
            return float(simpler)
    number = plain_number(value)
    if number is not None:
        return {"$int": hex(number)} if type(number) is int and number.bit_length() > LONG else number
    found = plain_items(value)
    if found is None:
        raise TypeError(f"a {type(value).__name__} is not a plain value (None, bool, numbers, str, and lists, sets and "
                        "dicts of them, or what is like one of these)")
    items, mark = found
    if mark == "$dict":
        pairs = []
        for key, one in items:
            pairs.append([plain(key, depth + 1), plain(one, depth + 1)])
        if all(type(key) is str and not key.startswith("$") for key, _ in pairs):
            return dict(pairs)
        return {"$dict": pairs}
    values = []
    for one in items:
        values.append(plain(one, depth + 1))
    return {mark: values} if mark else values


def encode(value):
    return json.dumps({"returns": plain(value)})


def reply_to(function, args, kwargs):
    try:
        value = function(*args, **kwargs)
    except BaseException as problem:
        show(problem)
        return json.dumps({"raises": type(problem).__name__})
    try:
        return deep(encode, value)
    except RecursionError:
        return json.dumps({"returns nothing that can be compared": "it is nested too deep"})
    except Exception as problem:
        return json.dumps({"returns nothing that can be compared": str(problem)[:SHOWN]})


def show(problem):
    """Its traceback, without the frames of whoever called the solution."""
    frames = problem.__traceback__
    while frames and (frames.tb_frame.f_globals is globals() or
                      frames.tb_frame.f_code.co_filename.startswith(("<frozen importlib", os.path.dirname(importlib.__file__)))):
        frames = frames.tb_next
    traceback.print_exception(type(problem), problem, frames)


def find(name):
    """A function of the solution; or why it cannot be called, as a reply."""
    module, _, function = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), function), None
    except BaseException as problem:
        show(problem)
        return None, json.dumps({"cannot be called": f"{type(problem).__name__}: {problem}"[:SHOWN]})


def call_cases(_):
    os.chdir(JUDGED)
    sys.path.append(JUDGED)
    with open(f"{CASES}/calls") as f:
        calls = f.read().splitlines()
    functions = {name: find(name) for name in dict.fromkeys(deep(lambda: [json.loads(line)[0] for line in calls]))}
    with open(f"{CASES}/replies", "w") as f:
        for line in calls:
            name, args, kwargs = deep(json.loads, line)
            function, why = functions[name]
            f.write((why or reply_to(function, args, kwargs)) + "\n")
    return {}


def order(value):
    """A key to sort what a set holds."""
    if isinstance(value, NUMBERS):
        return 0, value, ""
    return (1, 0, value) if isinstance(value, str) else (2, 0, json.dumps(value, sort_keys=True))


def same_one(want, got):
    """Numbers by value, floats to nine digits; all else as it is, and true is not 1."""
    kinds = (type(want), type(got))
    if float in kinds and all(kind in NUMBERS for kind in kinds):
        try:
            return math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-12) or want != want and got != got
        except OverflowError:
            return False
    return kinds[0] is kinds[1] and want == got


def marked(got):
    """The mark of a value that plain() has made of what JSON has no word for, and that; or None and the value."""
    if type(got) is dict and len(got) == 1:
        (mark, value), = got.items()
        if mark == "$int":
            return None, int(value, 16)
        if mark in ("$set", "$dict"):
            return mark, value
    return None, got


def same(want, got):
    """A case's value and a reply's; not by recursion, for both may be deep."""
    pairs = [(want, got)]
    while pairs:
        want, got = pairs.pop()
        mark, got = marked(got)
        if mark == "$set" and type(want) is list:
            want, got = sorted(want, key=order), sorted((marked(one)[1] for one in got), key=order)
        elif mark == "$dict" and type(want) is dict:
            if any(type(key) is not str for key, _ in got):
                return False
            got = dict(got)
        elif mark:
            return False
        if type(want) is list and type(got) is list:
            if len(want) != len(got):
                return False
            pairs.extend(zip(want, got))
        elif type(want) is dict and type(got) is dict:
            if want.keys() != got.keys():
                return False
            pairs.extend((want[key], got[key]) for key in want)
        elif type(want) in (list, dict) or type(got) in (list, dict) or not same_one(want, got):
            return False
    return True


def holds(case, line):
    try:
        (kind, value), = parse(line).items()
        return kind in ("returns", "raises") and kind in case and same(case[kind], value)
    except (ValueError, AttributeError, TypeError):
        return False


def show_call(case):
    args = [shown(one) for one in case.get("args", [])] + \
        [f"{name}={shown(one)}" for name, one in case.get("kwargs", {}).items()]
    return f"{case['call']}({', '.join(args)[:SHOWN]})"


def shown(value):
    """Its repr(), but for one that is too deep for that."""
    try:
        return repr(value)
    except RecursionError:
        return "[...]" if type(value) is list else "{...}"


def compare_cases(files):
    return deep(compare_all, files)


def compare_all(files):
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
