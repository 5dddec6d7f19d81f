# Programs for test_documentation.py, after Python's tutorial.
# %% flow
"""What the harbour master counts."""
ships = ["Anna", "Berta", "Clara", "Dora"]
for number, ship in enumerate(ships, 1):
    if number % 2:
        continue
    print(number, ship)
else:
    print("all ships seen")

for ship in ships:
    if ship.startswith("C"):
        print("found", ship)
        break
else:
    print("not here")
tide, hours = 5.5, 0
while tide > 1:
    tide /= 1.5
    hours += 1
print(hours, round(tide, 3))
print(*(f"{n}:{n * n}" for n in range(10, 0, -3)), sep=", ", end=".\n")
first, *middle, last = ships
print(first, middle, last)
pairs = [(a, b) for a in "xyz" for b in range(3) if (ord(a) + b) % 2]
print(pairs)
table = {word: len(word) for word in sorted(ships, key=len)}
print(table, {len(ship) % 2 for ship in ships})
print(__doc__, __name__)
del ships[1:3], table["Dora"]
print(ships, table, all(ships), any([]), 3 < len("word") < 5, None or "else")
if (n := len(ships)) > 1: print(f"{n=}")
# a comment at the end
# %% functions
def greet(name, /, word="Hello", *others, mark="!", **more):
    """Greet somebody.

    And others.
    """
    return f"{word}, {' and '.join((name, *others))}{mark} {sorted(more.items())}"


print(greet("Ida"), greet("Ida", "Hi", "Joe", mark="?", age=3), greet.__doc__, sep="\n")
print(greet.__defaults__, greet.__kwdefaults__, greet.__annotations__)


def collect(item, into=[]):
    into.append(item)
    return into


print(collect(1), collect(2))
print(collect(3))
try:
    greet(name="Ida")
except TypeError as problem:
    print(problem)


def counter(start):
    value = start

    def more(by=1):
        nonlocal value
        value += by
        return value
    return more


one, ten = counter(1), counter(10)
print(one(), one(), ten(5), one.__closure__[0].cell_contents, more := one())
total = 0


def add(x: "a number") -> "nothing":
    global total
    total += x


for x in range(5):
    add(x)
print(total, add.__annotations__)
squares = [lambda x=x: x * x for x in range(4)]
late = [lambda: x for x in range(4)]
print([f() for f in squares], [f() for f in late], x)


def fact(n):
    return 1 if n < 2 else n * fact(n - 1)


def fib(n, known={0: 0, 1: 1}):
    if n not in known:
        known[n] = fib(n - 1) + fib(n - 2)
    return known[n]


print(fact(30), fib(90), len(fib.__defaults__[0]))
print(list(map(lambda a, b: a * b, [1, 2, 3], [4, 5, 6])), (lambda *a, **k: (a, k))(1, b=2))
if __name__ == "__main__":
    print("as a program")
# %% generators
def count_down(n):
    print("begin")
    try:
        while n:
            got = yield n
            n = got if got is not None else n - 1
    finally:
        print("end")


steps = count_down(5)
print(next(steps))
print(steps.send(3))
print(next(steps))
steps.close()
try:
    next(steps)
except StopIteration:
    print("over")


def flat(tree):
    for leaf in tree:
        if isinstance(leaf, list):
            yield from flat(leaf)
        else:
            yield leaf


print(list(flat([1, [2, [3, [], 4]], 5])))


def averager():
    total = count = 0
    while (value := (yield)) is not None:
        total, count = total + value, count + 1
    return total / count


def keeper(results):
    while True:
        results.append((yield from averager()))


results = []
keep = keeper(results)
next(keep)
for value in 4, 5, 9, None, 1, 2, None:
    keep.send(value)
print(results)


class Backwards:
    def __init__(self, word):
        self.word, self.at = word, len(word)

    def __iter__(self):
        return self

    def __next__(self):
        if not self.at:
            raise StopIteration
        self.at -= 1
        return self.word[self.at]


letters = Backwards("reed")
print(next(letters), "".join(letters), list(letters))
lines = (line.strip() for line in "  one\n two \nthree".splitlines())
print(next(lines))
print(list(lines), sum(x * x for x in range(100)), max((len(w), w) for w in "a bcd ef".split()))
def thrown():
    while True:
        try:
            yield 1
        except KeyError as problem:
            print("took", problem)
machine = thrown(); next(machine)
print(machine.throw(KeyError("b")), machine.gi_frame.f_lineno)
# %% classes
class Shape:
    count = 0

    def __init__(self, name):
        self.name = name
        Shape.count += 1

    def area(self):
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"

    def __lt__(self, other):
        return self.area() < other.area()


class Square(Shape):
    def __init__(self, side):
        super().__init__("square")
        self.side = side

    def area(self):
        return self.side ** 2


class Disc(Shape):
    def __init__(self, r):
        super().__init__("disc")
        self.__r = r

    def area(self):
        return 3 * self.__r ** 2


shapes = [Square(3), Disc(1), Square(1)]
print(sorted(shapes), Shape.count, vars(shapes[1]))
print(isinstance(shapes[0], Shape), issubclass(Disc, Square), Disc.__mro__)
try:
    Shape("none").area()
except NotImplementedError as problem:
    print(repr(problem), Shape.count)


class Left:
    def who(self):
        return ["left"]


class Right:
    def who(self):
        return ["right"]


class Both(Left, Right):
    def who(self):
        return ["both"] + super().who() + Right.who(self)


print(Both().who(), [c.__name__ for c in Both.mro()])
Square.double = lambda self: Square(self.side * 2)
print(shapes[0].double().area())


class Money:
    __slots__ = "cents",

    def __init__(self, cents):
        self.cents = cents

    def __add__(self, other):
        return Money(self.cents + other.cents) if isinstance(other, Money) else NotImplemented

    def __eq__(self, other):
        return self.cents == other.cents

    def __hash__(self):
        return hash(self.cents)

    def __format__(self, form):
        return f"{self.cents / 100:{form or '.2f'}} EUR"

    def __bool__(self):
        return self.cents != 0

    def __call__(self, times):
        return Money(self.cents * times)

    @classmethod
    def parse(cls, text):
        return cls(round(float(text) * 100))

    @staticmethod
    def name():
        return "money"

    @property
    def euros(self):
        return self.cents // 100


print(f"{Money(250) + Money.parse('1.25')} {Money(5)(3):.1f}", Money(1) == Money(1), len({Money(1), Money(1)}))
print(bool(Money(0)), Money.name(), Money(1234).euros)
for wrong in (lambda: Money(1) + 1, lambda: setattr(Money(1), "x", 1), lambda: setattr(Money(1), "euros", 1)):
    try:
        wrong()
    except (TypeError, AttributeError) as problem:
        print(problem)
