# Programs for test_documentation.py, after the library reference on how Python looks at itself.
# %% typed
from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, Protocol, Self, TypedDict, TypeVar, Union

T = TypeVar("T")
UserId = NewType("UserId", int)


class Stack(Generic[T]):
    def __init__(self) -> None:
        self.items: list[T] = []

    def push(self, item: T) -> Self:
        self.items.append(item)
        return self


class Loud(Protocol):
    def shout(self) -> str: ...


@typing.runtime_checkable
class Sized(Protocol):
    def __len__(self) -> int: ...


class Film(TypedDict, total=False):
    name: str
    year: typing.Required[int]


class Pair(NamedTuple):
    a: int
    b: str = "x"


def f(x: Later, y: Optional[int] = None, *z: Literal["a", "b"]) -> Callable[[int], str]: ...


print(f.__annotations__, Pair(1), Pair.__annotations__, Film(name="M", year=1931), Film.__required_keys__)
try:
    typing.get_type_hints(f)
except NameError as problem:
    print(problem)


class Later:
    x: Annotated[int, "metres"]


print(typing.get_type_hints(f))
print(typing.get_type_hints(Later, include_extras=True), isinstance([], Sized), isinstance(3, Sized), UserId(5) + 1)
print(Stack[int]().push(3).items, Stack[int], Union[int, str, int], Optional[int], int | None, list[dict[str, Any]])
print(typing.get_origin(dict[str, int]), typing.get_args(Callable[[int], str]), typing.cast(str, 5), Stack.__parameters__)
def area(w: float, h: "float" = 2) -> nowhere: return w * h
print(area(3), area.__annotations__, typing.TYPE_CHECKING)
try:
    isinstance(3, list[int])
except TypeError as problem:
    print(problem)


@typing.overload
def g(x: int) -> int: ...
@typing.overload
def g(x: str) -> str: ...
def g(x): return x


print(len(typing.get_overloads(g)), typing.assert_type(g(1), int), typing.get_type_hints(Pair))
# %% looking
import ast
import dis
import inspect
import io
import keyword
import symtable
import tokenize
import types

answer = 42


class Cabin:
    """Where one sleeps."""
    beds: int = 2

    def sleep(self, hours, /, *, loud: bool = False) -> None:
        # snore
        return None

    @staticmethod
    def size(): return 4


def gen():
    x = 1
    yield x
    yield x + 1


print(inspect.signature(Cabin.sleep), inspect.getdoc(Cabin), inspect.isclass(Cabin), inspect.getsourcelines(Cabin.sleep))
print([name for name, _ in inspect.getmembers(Cabin, inspect.isfunction)], inspect.getcomments(gen), inspect.getmodule(Cabin).__name__)
print(inspect.getsource(Cabin), inspect.getsourcefile(Cabin) == __file__, inspect.getfile(gen) == __file__)
going = gen()
print(next(going), inspect.getgeneratorstate(going), inspect.getgeneratorlocals(going))
print(inspect.signature(Cabin.sleep).bind(1, 2, loud=True).arguments, inspect.getfullargspec(lambda a, *b, c=1, **d: 0))


def outer():
    frame = inspect.currentframe()
    caller = inspect.stack()[1]
    return frame.f_lineno, caller.function, caller.lineno, caller.code_context


print(outer())
tree = ast.parse("total = sum(x ** 2 for x in data if x > limit)")
print(ast.dump(tree, indent=1)[:200], sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}))


class Double(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value * 2), node)


changed = ast.fix_missing_locations(Double().visit(ast.parse("result = 5 + 7")))
names = {}
exec(compile(changed, "made", "exec"), names)
print(ast.unparse(changed), names["result"], ast.literal_eval("{'a': [1, -2, None]}"), eval("answer + 1"))
try:
    ast.literal_eval("open('x')")
except ValueError as problem:
    print(str(problem)[:30])
print([t.string for t in tokenize.generate_tokens(io.StringIO("x = (1 +\n 2)").readline)], keyword.iskeyword("match"))
out = io.StringIO()
dis.dis(compile("a = b + 1", "made", "exec"), file=out)
print(out.getvalue(), symtable.symtable("def f(a): global b; b = a", "made", "exec").get_children()[0].get_globals())
code = gen.__code__
print(code.co_varnames, code.co_name, code.co_firstlineno, code.co_filename == __file__, [*code.co_lines()][:2])
made = types.FunctionType(compile("def g(n): return n + answer", "made", "exec").co_consts[0], globals())
print(made(1), types.new_class("New", (), {}, lambda ns: ns.update(x=1)).x, sorted(vars(Cabin))[-3:], callable(Cabin))
try:
    compile("x = (", "words.py", "exec")
except SyntaxError as problem:
    print(problem, problem.text, problem.offset)
print(globals() is vars(inspect.getmodule(gen)), "answer" in dir(), locals()["answer"], type(__builtins__), __spec__)
# %% modules
import importlib
import importlib.util
import pkgutil
import sys
import types

import os.path as p
from math import (pi,
                  tau as full)
from string import *

print(p is sys.modules["os.path"], pi < full, ascii_lowercase[:3], "pi" in globals(), __name__, __package__, __doc__)
json = importlib.import_module("json")
decoder = importlib.import_module(".decoder", "json")
print(json.decoder is decoder, json.__name__, json.__package__, importlib.reload(json) is json, importlib.util.find_spec("nothing"))
try:
    import not_there.sub
except ModuleNotFoundError as problem:
    print(problem, problem.name)
try:
    from math import nothing
except ImportError as problem:
    print(str(problem)[:47], problem.name)


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("made_"):
            return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(f"word = {module.__name__!r}.upper()", module.__dict__)


sys.meta_path.append(Finder())
import made_up
from made_also import word

print(made_up.word, word, made_up.__spec__.name, sys.modules["made_also"].word)
module = types.ModuleType("own", "Its words.")
exec("def f(): return __name__", module.__dict__)
sys.modules["own"] = module
import own
print(own.f(), own.__doc__, own is module)
main = sys.modules["__main__"]
main.later = 5
print(later, main.__dict__ is globals(), importlib.import_module("__main__") is main)
import __main__
print(__main__.word, hasattr(__main__, "__file__"), [m.name for m in pkgutil.iter_modules(json.__path__)])
lazy = importlib.util.find_spec("this")
print(lazy.name, lazy.loader is not None, sys.version_info[:2] >= (3, 11), sys.implementation.name, sys.byteorder)
del sys.modules["own"]
try:
    import own
except ImportError as problem:
    print(problem)
print(sys.argv, sys.flags.optimize, sys.maxsize, sys.getrecursionlimit(), sys.path[0] == p.dirname(__file__))
# %% garbage
import gc
import sys
import weakref


class Node:
    def __init__(self, name):
        self.name, self.next = name, None

    def __repr__(self):
        return f"Node({self.name})"

    def __del__(self):
        print("del", self.name)


a = Node("a")
b = a
print(sys.getrefcount(a) - 1)
del a
b = None
one, two = Node("one"), Node("two")
one.next, two.next = two, one
seen = weakref.ref(one, lambda ref: print("gone", ref() is None))
print(seen(), weakref.getweakrefcount(one))
gc.disable()
del one, two
print("still", seen() is not None)
gc.collect()
gc.enable()
print(seen(), gc.isenabled(), gc.get_threshold())
table = weakref.WeakValueDictionary()
held = table["x"] = Node("held")
print(dict(table), len(table))
del held
print(dict(table), "x" in table)
keys = weakref.WeakKeyDictionary()
key = Node("key")
keys[key] = 1
proxy = weakref.proxy(key)
print(proxy.name, list(keys.values()))
finish = weakref.finalize(key, print, "finalized", key.name)
print(finish.alive, finish.peek()[1])
del key
print(finish.alive)
try:
    proxy.name
except ReferenceError as problem:
    print(problem)


class Loud:
    def method(self):
        return "called"


loud = Loud()
method = weakref.WeakMethod(loud.method)
print(method()(), gc.is_tracked([]), gc.is_tracked(1))
loud = None
print(method(), any(one is table for one in gc.get_objects()), gc.garbage)
for n in range(2):
    temporary = Node(n)
print("behind the loop")
del temporary
