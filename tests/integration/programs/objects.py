# Programs for test_documentation.py, after how-tos and the library reference on objects that describe others.
# %% decorators
import functools
import inspect


def logged(before="call"):
    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **more):
            print(before, function.__name__, args, more)
            return function(*args, **more)
        return wrapped
    return decorate


def times(n):
    return lambda f: lambda *a: [f(*a) for _ in range(n)]


@logged()
@logged("again")
def add(a, b=2):
    """Sum of two."""
    return a + b


print(add(1), add(1, b=5), add.__doc__, inspect.signature(add), add.__wrapped__.__wrapped__(1, 1))


@times(3)
def tick(word):
    return word.upper()


print(tick("tock"))


class Registry(dict):
    def __call__(self, thing):
        self[thing.__name__] = thing
        return thing


register = Registry()


@register
class Boat:
    @functools.cached_property
    def length(self):
        print("measured")
        return 12

    @functools.singledispatchmethod
    def load(self, what):
        return f"unknown {what}"

    @load.register
    def _(self, what: int):
        return f"{what} boxes"

    @load.register(str)
    def _(self, what):
        return f"a {what}"


@register
def crew():
    return inspect.currentframe().f_code.co_firstlineno, inspect.currentframe().f_lineno


boat = Boat()
print(boat.length, boat.length, boat.load(3), boat.load("chest"), boat.load(1.5))
print(list(register), crew(), inspect.getsource(crew))


@functools.lru_cache(maxsize=2)
def slow(n):
    print("slow", n)
    return n * n


print([slow(n) for n in (1, 2, 1, 3, 2)], slow.cache_info())
slow.cache_clear()
print(slow.cache_info(), functools.partial(add, 4)(b=1), functools.reduce(lambda a, b: a * 10 + b, [1, 2, 3]))
# %% descriptors
import weakref


class Positive:
    def __set_name__(self, owner, name):
        print("named", owner.__name__, name)
        self.name, self.values = name, weakref.WeakKeyDictionary()

    def __get__(self, thing, owner=None):
        return self if thing is None else self.values.get(thing, 0)

    def __set__(self, thing, value):
        if value <= 0:
            raise ValueError(f"{self.name} must be positive, not {value}")
        self.values[thing] = value

    def __delete__(self, thing):
        del self.values[thing]


class Lazy:
    def __init__(self, make):
        self.make = make

    def __get__(self, thing, owner=None):
        if thing is None:
            return self
        value = thing.__dict__[self.make.__name__] = self.make(thing)
        return value


class Box:
    width = Positive()
    height = Positive()

    def __init__(self, width, height):
        self.width, self.height = width, height

    @Lazy
    def area(self):
        print("computed")
        return self.width * self.height


box = Box(2, 3)
print(box.area, box.area, vars(box), len(Box.width.values))
try:
    box.width = -1
except ValueError as problem:
    print(problem)
del box.width
print(box.width, type(Box.height).__name__, Box.__dict__["area"].make.__name__)


class Loud:
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return f"<{name}>"

    def __setattr__(self, name, value):
        print("set", name)
        object.__setattr__(self, name, value)

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


loud = Loud()
loud.x = 1
print(loud.x, loud.y, hasattr(loud, "_z"), Box.__init__.__get__(box)(5, 5), box.width)


class Meta(type):
    def __new__(meta, name, bases, names, **options):
        cls = super().__new__(meta, name, bases, names)
        cls.options = options
        return cls

    def __init__(cls, name, bases, names, **options):
        super().__init__(name, bases, names)

    def __prepare__(name, bases, **options):
        return {"prepared": name}

    def __len__(cls):
        return len(cls.__dict__["prepared"])


class Made(metaclass=Meta, colour="red"):
    def __init_subclass__(cls, /, tag="", **more):
        super().__init_subclass__(**more)
        cls.tag = tag

    def __class_getitem__(cls, key):
        return f"{cls.__name__}[{key}]"


print(Made.options, Made.prepared, len(Made), Made[int], type(Made))
# %% records
import dataclasses
from dataclasses import dataclass, field, KW_ONLY
from typing import ClassVar


@dataclass(order=True)
class Item:
    sort: int = field(init=False, repr=False)
    name: str
    price: float = 1.0
    tags: list[str] = field(default_factory=list, compare=False)
    count: ClassVar[int] = 0

    def __post_init__(self):
        self.sort = len(self.name)
        Item.count += 1


items = [Item("lantern", 9.5), Item("rope"), Item("tar", 3, ["black"])]
print(sorted(items), Item.count, items[1] == Item("rope", 1.0, ["x"]))
print(dataclasses.asdict(items[2]), dataclasses.astuple(items[0]))
print([f.name for f in dataclasses.fields(Item)], dataclasses.replace(items[0], name="lamp"))


@dataclass(frozen=True, slots=True)
class Place:
    lat: float
    _: KW_ONLY
    lon: float = 0.0


place = Place(48.4, lon=-4.5)
print(place, hash(place) == hash(Place(48.4, lon=-4.5)), Place.__slots__)
for wrong in lambda: setattr(place, "lat", 1), lambda: Place(1, 2), lambda: Item(price=3):
    try:
        wrong()
    except (dataclasses.FrozenInstanceError, TypeError) as problem:
        print(type(problem).__name__, problem)


@dataclass
class Child(Item):
    age: int = 3


print(Child("ann", age=5), Child.__match_args__, Child.__eq__ is Item.__eq__)
Quick = dataclasses.make_dataclass("Quick", [("x", int), ("y", int, 5)], namespace={"sum": lambda self: self.x + self.y})
print(Quick(1), Quick(1).sum(), dataclasses.is_dataclass(Quick))
# %% enums
import enum
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum, auto, unique


class Colour(Enum):
    RED = 1
    GREEN = auto()
    BLUE = auto()
    CRIMSON = 1

    @property
    def short(self):
        return self.name[0].lower()

    @classmethod
    def _missing_(cls, value):
        return cls.BLUE if value == "sky" else None


print(list(Colour), Colour(2), Colour["BLUE"], Colour.CRIMSON is Colour.RED, Colour.__members__.keys())
print(Colour("sky"), [c.short for c in Colour], Colour.RED in Colour, repr(Colour.GREEN), f"{Colour.GREEN}")
try:
    Colour(9)
except ValueError as problem:
    print(problem)


class Right(Flag):
    READ = auto()
    WRITE = auto()
    RUN = auto()
    ALL = READ | WRITE | RUN


print(Right.READ | Right.RUN, Right.ALL & ~Right.WRITE, bool(Right.READ & Right.RUN), list(Right.ALL), Right(0))


class Level(IntEnum):
    LOW = 10
    HIGH = 20


class Word(StrEnum):
    HELLO = auto()
    BYE = "goodbye"


class Bits(IntFlag, boundary=enum.KEEP):
    A = 1
    B = 2


print(Level.LOW < 15, Level.HIGH + 1, sorted([Level.HIGH, Level.LOW]), Word.HELLO.upper(), f"{Word.BYE:>9}", Bits(11))
try:
    @unique
    class Twice(Enum):
        A = 1
        B = 1
except ValueError as problem:
    print(problem)


class Planet(Enum):
    EARTH = (5.976e24, 6.37814e6)
    MARS = (6.421e23, 3.3972e6)

    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius


class Holder(Enum):
    @enum.member
    class Inner:
        pass

    @enum.nonmember
    class Outer:
        pass


print(list(Holder.__members__), Holder.Outer.__name__)
Tool = Enum("Tool", "SAW AXE", start=5)
print(round(6.67e-11 * Planet.EARTH.mass / Planet.EARTH.radius ** 2, 2), list(Tool), Tool.AXE.value)
