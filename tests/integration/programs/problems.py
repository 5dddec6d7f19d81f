# Programs for test_documentation.py, after the tutorial's words on errors, and on patterns.
# %% exceptions
import sys
import traceback


class TideError(Exception):
    """The water is not there."""

    def __init__(self, height, *, place):
        super().__init__(height, place)
        self.height, self.place = height, place

    def __str__(self):
        return f"{self.place} has {self.height} m"


def sail(height):
    try:
        if height < 0:
            raise TideError(height, place="Brest")
        return 10 / height
    except ZeroDivisionError as cause:
        raise ValueError("no water at all") from cause
    else:
        print("never after a return")
    finally:
        print("moored", height)


print(sail(5))
for height in 0, -2, "deep":
    try:
        sail(height)
    except (TideError, ValueError) as problem:
        print(type(problem).__name__, problem, problem.args, repr(problem.__cause__))
        traceback.print_exc(file=sys.stdout)
    except Exception:
        traceback.print_exc()
try:
    try:
        {}["port"]
    except KeyError:
        undefined_name
except NameError as problem:
    print(problem, "while", repr(problem.__context__), problem.name)
    print(traceback.format_exc().count("File"))
problem = OSError(2, "gone")
problem.add_note("see the harbour's log")
problem.add_note("or ask")
try:
    raise problem
except FileNotFoundError:
    traceback.print_exc()
print(traceback.format_exception_only(ValueError("words")), sys.exc_info())
with open("/dev/null") as empty:
    print(repr(empty.read()))


def deep(n):
    return deep(n - 1) if n else 1 / n


deep(5)
print("not reached")
# %% groups
import asyncio
import traceback


def check(boats):
    problems = []
    for boat, people in boats.items():
        try:
            if people < 0:
                raise ValueError(f"{boat} has {people} people")
            if people > 4:
                raise OverflowError(f"{boat} is full")
        except (ValueError, OverflowError) as problem:
            problems.append(problem)
    if problems:
        raise ExceptionGroup("boats", problems)


try:
    check({"A": 5, "B": -1, "C": 2, "D": -7})
except* ValueError as group:
    print("values:", [str(one) for one in group.exceptions])
except* OverflowError as group:
    print("full:", group.exceptions)
try:
    try:
        check({"A": 5, "B": -1})
    except* ValueError:
        raise KeyError("new")
except ExceptionGroup as group:
    traceback.print_exception(group)
tree = ExceptionGroup("outer", [ExceptionGroup("inner", [TypeError(1), OSError(2)]), ValueError(3)])
print(tree.subgroup(lambda e: isinstance(e, (TypeError, ValueError))).exceptions)
print(*tree.split(OSError), sep="\n")


async def fail(word):
    raise RuntimeError(word)


async def main():
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail("one"))
            tasks.create_task(fail("two"))
    except* RuntimeError as group:
        print(sorted(map(str, group.exceptions)))


asyncio.run(main())
raise ExceptionGroup("last", [ValueError("a"), ExceptionGroup("more", [KeyError("b")])])
# %% matching
from dataclasses import dataclass
from enum import Enum


class Sail(Enum):
    MAIN = "main"
    JIB = "jib"


@dataclass
class Point:
    x: int
    y: int


class Wind:
    __match_args__ = ("speed", "course")

    def __init__(self, speed, course):
        self.speed, self.course = speed, course


def describe(thing):
    match thing:
        case 0 | 1:
            return "few"
        case int(n) if n > 100:
            return f"many: {n}"
        case Sail.MAIN:
            return "the large one"
        case Point(x=0, y=0):
            return "origin"
        case Point(x, y) if x == y:
            return f"diagonal at {x}"
        case Wind(speed, "N" | "S" as course):
            return f"{course} with {speed}"
        case [] | {}:
            return "empty or a mapping"
        case ["go", ("left" | "right") as side, *rest]:
            return f"{side}, then {rest}"
        case [first, *_, last]:
            return f"{first} to {last}"
        case {"name": str(name), **others}:
            return f"{name} {others}"
        case str() | bytes():
            return "text"
        case None | True | False:
            return "a constant"
        case _:
            return "something"


for thing in (0, 101, 50, Sail.MAIN, Sail.JIB, Point(0, 0), Point(3, 3), Point(1, 2), Wind(3, "S"), Wind(3, "W"), [],
              ["go", "left", 1, 2], (1, 2, 3), {"name": "x", "y": 1}, "word", b"", None, 1.5):
    print(f"{thing!r:.20}" if not isinstance(thing, Wind) else "wind", "->", describe(thing))
match 1, 2:
    case a, b:
        print(a + b, __name__)
match = {"case": 1}
match["case"] += 1
print(match)
