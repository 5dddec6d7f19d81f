# Programs for test_documentation.py, after what the library reference shows of data, numbers and files' formats.
# %% sorting
from functools import cmp_to_key
from operator import attrgetter, itemgetter
import bisect
import heapq
import locale


class Sailor:
    def __init__(self, name, rank, age):
        self.name, self.rank, self.age = name, rank, age

    def __repr__(self):
        return f"{self.name}/{self.rank}/{self.age}"


crew = [Sailor("Ole", 2, 33), Sailor("Ada", 1, 51), Sailor("Max", 2, 19), Sailor("Eve", 1, 19)]
print(sorted(crew, key=lambda s: s.age), sorted(crew, key=attrgetter("rank", "age"), reverse=True))
by_name = sorted(crew, key=attrgetter("name"))
by_name.sort(key=attrgetter("rank"))
print(by_name, sorted([("b", 1), ("a", 1), ("c", 0)], key=itemgetter(1)))
print(sorted("The quick Brown fox".split(), key=str.lower), sorted([3, -1, 2], key=abs, reverse=True))
print(sorted(["b10", "b9", "a2"], key=cmp_to_key(lambda a, b: len(a) - len(b) or (a > b) - (a < b))))
decorated = [(s.age, i, s) for i, s in enumerate(crew)]
decorated.sort()
print([s for _, _, s in decorated], sorted(["z", "a"], key=locale.strxfrm))
heap = []
for work in (5, "caulk"), (1, "pump"), (3, "paint"):
    heapq.heappush(heap, work)
print(heapq.heappop(heap), heapq.heappushpop(heap, (2, "sew")), heapq.nsmallest(2, heap), heapq.nlargest(1, range(9)))
print(list(heapq.merge([1, 4, 7], [2, 5], reverse=False)), heapq.heapreplace(heap, (9, "rest")), heap)
marks = [60, 70, 80, 90]
print([("FDCBA")[bisect.bisect(marks, score)] for score in (33, 99, 77, 70, 89)], bisect.bisect_left(marks, 70))
bisect.insort(marks, 75)
print(marks, bisect.bisect_right(crew, 1, hi=2, key=lambda s: s.rank))
try:
    sorted([1, "a"])
except TypeError as problem:
    print(problem)
# %% functional
import itertools
import operator
from functools import partial, reduce

tides = [3, 1, 4, 1, 5, 9, 2, 6]
print(list(itertools.accumulate(tides)), list(itertools.accumulate(tides, max)), list(itertools.pairwise("abcd")))
print([(key, list(group)) for key, group in itertools.groupby(sorted(tides), lambda x: x % 3)])
print(list(itertools.chain.from_iterable(["ab", "c"])), list(itertools.islice(itertools.count(10, 5), 2, 8, 3)))
print(list(itertools.takewhile(lambda x: x < 5, tides)), list(itertools.dropwhile(lambda x: x < 5, tides)))
print(list(itertools.zip_longest("abc", "x", fillvalue="-")), list(itertools.starmap(pow, [(2, 5), (3, 2)])))
print(list(itertools.product("ab", repeat=2)), list(itertools.permutations("abc", 2))[:4])
print(list(itertools.combinations("abcd", 3)), list(itertools.combinations_with_replacement("ab", 2)))
one, two = itertools.tee(iter("xyz"))
print(next(one), list(two), list(one), list(itertools.compress("abcdef", [1, 0, 1])), list(itertools.filterfalse(str.isdigit, "a1")))
print(reduce(operator.mul, range(1, 7)), list(map(operator.methodcaller("upper"), "ab")), operator.itemgetter(1, 3)("abcd"))
primes = iter(range(2, 10 ** 6))
found = []
for candidate in primes:
    if all(candidate % p for p in found):
        found.append(candidate)
    if len(found) == 8:
        break
print(found, next(primes), list(filter(None, [0, 1, "", "a"])), list(zip("ab", [1, 2], strict=True)))
wheel = itertools.cycle("NESW")
print([next(wheel) for _ in range(5)])
print(next(wheel), dict(enumerate("ab", 5)), any(x > 8 for x in tides), sum(map(partial(operator.add, 1), tides)))
print(list(itertools.repeat("go", 2)), list(reversed(range(3))), sorted(set("hello") & set("yellow")), max(tides, key=lambda x: -x))
# %% containers
import array
import collections
import copy
import types
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple

count = Counter("the rain in the lane".split())
print(count.most_common(2), count["none"], Counter(a=3, b=1) - Counter(a=1, b=2), sorted((count + Counter(["in"])).elements()))
groups = defaultdict(list)
for word in "ant bee cat ape bat".split():
    groups[word[0]].append(word)
print(dict(groups), groups["z"], len(groups))
last = deque(maxlen=3)
for n in range(6):
    last.append(n)
last.rotate(1)
last.appendleft(99)
print(last, last.popleft(), list(last)[::-1])
Point = namedtuple("Point", "x y z", defaults=[0])
p = Point(1, 2)
print(p, p._replace(y=5), p._asdict(), Point._fields, p + (4,), p.x)
layers = ChainMap({"a": 1}, {"a": 2, "b": 3})
layers["c"] = 4
print(layers["a"], sorted(layers), layers.maps[0], layers.new_child({"b": 0})["b"], layers.parents)
order = OrderedDict.fromkeys("abc")
order.move_to_end("a")
print(list(order), order.popitem(last=False), {"x": 1} | {"y": 2})


class Bounded(collections.UserDict):
    def __setitem__(self, key, value):
        if len(self) >= 2:
            self.data.pop(next(iter(self.data)))
        super().__setitem__(key, value)


bound = Bounded(a=1, b=2)
bound["c"] = 3
print(bound, isinstance(bound, collections.abc.Mapping), types.MappingProxyType({"a": 1})["a"], types.SimpleNamespace(x=1))
numbers = array.array("d", [1.5, 2])
numbers.extend([3])
print(numbers, numbers.tobytes()[:8], numbers.itemsize, array.array("i", [1, 2]).tolist())
nested = {"list": [1, [2]], "set": {3}}
shallow, deep = copy.copy(nested), copy.deepcopy(nested)
nested["list"][1].append("new")
print(shallow["list"], deep["list"], shallow["set"] is nested["set"])


class Knot:
    def __init__(self):
        self.me, self.rope = self, [1]

    def __copy__(self):
        return "copied"

    def __deepcopy__(self, memo):
        return len(memo)


print(copy.copy(Knot()), copy.deepcopy([Knot()]))
# %% figures
import cmath
import decimal
import fractions
import math
import numbers
import random
import statistics
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

getcontext().prec = 30
print(Decimal(1) / 7, Decimal("3.14").quantize(Decimal("0.1"), rounding=decimal.ROUND_UP), Decimal("1.10") + Decimal("2.2"))
with localcontext() as context:
    context.prec = 5
    print(Decimal(2).sqrt(), context.flags[decimal.Inexact])
print(getcontext().prec, Decimal("NaN").is_nan(), Decimal(-0.5).as_tuple().exponent, Decimal("1E+3").normalize(), +Decimal("1.0"))
try:
    Decimal(1) / 0
except decimal.DivisionByZero as problem:
    print(type(problem).__name__, problem)
print(Fraction(3, 4) + Fraction("1/6"), Fraction(0.125), Fraction(math.pi).limit_denominator(100), Fraction(7, -3) // 1)
print(math.gcd(84, 36), math.isclose(0.1 + 0.2, 0.3), math.fsum([0.1] * 10), math.comb(10, 3), math.hypot(3, 4), math.nan == math.nan)
print(cmath.sqrt(-2), cmath.phase(1j), abs(3 + 4j), (1 + 2j).conjugate(), complex("1-2j"), divmod(-7, 3), -7 % 3, round(2.5))
values = [2.5, 3.25, 5.5, 11.25, 3.25]
print(statistics.mean(values), statistics.median(values), statistics.mode(values), round(statistics.stdev(values), 6))
print(statistics.quantiles(values, n=4), statistics.linear_regression([1, 2, 3], [2, 4, 6.5]), statistics.NormalDist(5, 2).cdf(5))
random.seed(2024)
print(random.random(), random.randint(1, 6), random.choice("abc"))
print(random.sample(range(100), 5), random.gauss(0, 1), random.choices("xy", weights=[1, 5], k=4))
deck = list(range(8))
random.shuffle(deck)
print(deck, random.uniform(1, 2))
own = random.Random("words")
kept = own.getstate()
print(own.random(), own.getrandbits(64))
own.setstate(kept)
print(own.random(), own.expovariate(1.5), own.triangular(), random.random())
print((255).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "little"), (10).bit_length(), 0.1.hex(), (0.75).as_integer_ratio(), 2 ** -1)
print(isinstance(True, numbers.Integral), int("0b101", 0), int(" -12 "), float("1e3"), 7 // 2, 1e308 * 10, 0b101 ^ 3, ~5, 1 << 70)
# %% dates
import calendar
import datetime
import time
import zoneinfo
from datetime import date, timedelta, timezone

sailed = datetime.datetime(2024, 2, 28, 22, 30, tzinfo=timezone.utc)
print(sailed + timedelta(days=2, hours=5), sailed.isoformat(), sailed.strftime("%A %d. %B %Y, %H:%M %z %j %U"))
print(sailed.astimezone(timezone(timedelta(hours=-3), "out")).tzname(), sailed.timestamp(), sailed.date() - date(2023, 12, 31))
print(datetime.datetime.strptime("21/11/06 16:30", "%d/%m/%y %H:%M"), date.fromisoformat("2024-12-30").isocalendar())
paris = zoneinfo.ZoneInfo("Europe/Paris")
for month in 1, 7:
    there = datetime.datetime(2024, month, 1, 12, tzinfo=paris)
    print(there, there.utcoffset(), there.tzname(), there.astimezone(zoneinfo.ZoneInfo("America/New_York")))
twice = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=paris)
print(twice.utcoffset(), twice.replace(fold=1).utcoffset(), "Asia/Tokyo" in zoneinfo.available_timezones())
try:
    zoneinfo.ZoneInfo("Nowhere/Town")
except zoneinfo.ZoneInfoNotFoundError as problem:
    print(problem)
print(timedelta(minutes=-5), timedelta(hours=25) // timedelta(hours=2), timedelta(1).total_seconds(), str(timedelta(days=3, seconds=5)))
print(calendar.month(2024, 2), calendar.isleap(1900), calendar.monthrange(2023, 2), calendar.day_name[date(2024, 5, 1).weekday()])
print(time.strftime("%Y-%m-%d", time.gmtime(0)), time.gmtime(86400 * 365).tm_year, calendar.timegm((2001, 9, 9, 1, 46, 40)))
try:
    sailed < datetime.datetime(2024, 1, 1)
except TypeError as problem:
    print(problem)
print(date.min, date(2024, 1, 31).replace(month=3), time.strptime("3 Mar 2001", "%d %b %Y").tm_yday, repr(sailed))
print(time.tzname, time.timezone, datetime.datetime.fromtimestamp(0).hour, time.localtime(0).tm_isdst)
# %% formats
import base64
import binascii
import csv
import io
import json
import pickle
import struct
import zlib

table = io.StringIO()
writer = csv.DictWriter(table, ["ship", "tons", "note"], lineterminator="\n")
writer.writeheader()
writer.writerows([{"ship": "Anna", "tons": 12, "note": 'says "ahoy"'}, {"ship": "B, C", "tons": 3.5, "note": "two\nlines"}])
print(table.getvalue())
table.seek(0)
print(list(csv.DictReader(table)), next(csv.reader(["a;'b;c'"], delimiter=";", quotechar="'")))
print(csv.Sniffer().sniff("a;b\n1;2\n").delimiter, csv.list_dialects())
print(json.dumps({"b": [1, 2.5, None, True], "a": "é\n"}, sort_keys=True, indent=2), json.dumps("é", ensure_ascii=False))
print(json.loads('{"x": [1, 1e2, "\\u00e9"], "y": NaN}'), json.loads("[1.1]", parse_float=str))
try:
    json.loads('{"a": 1,}')
except json.JSONDecodeError as problem:
    print(problem, problem.pos)


class Encoder(json.JSONEncoder):
    def default(self, thing):
        return sorted(thing) if isinstance(thing, set) else super().default(thing)


print(json.dumps({"s": {2, 1}}, cls=Encoder), json.loads("[1, {}]", object_hook=lambda d: "object"))


class Chest:
    def __init__(self, gold):
        self.gold, self.key = gold, lambda: 1

    def __getstate__(self):
        return {"gold": self.gold}

    def __setstate__(self, state):
        self.gold, self.key = state["gold"] + 1, None

    def __reduce_ex__(self, protocol):
        return super().__reduce_ex__(protocol)


def opened(n):
    return n


for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    copy = pickle.loads(pickle.dumps([Chest(5), opened, {1: (2, b"3")}], protocol))
    print(protocol, copy[0].gold, copy[1] is opened, copy[2])
try:
    pickle.dumps(lambda: 1)
except (pickle.PicklingError, AttributeError) as problem:
    print("cannot", str(problem)[:20])
packed = struct.pack("<hIq5s?", -2, 70000, 1 << 40, b"ropes", True)
print(packed.hex(), struct.unpack("<hIq5s?", packed), struct.calcsize("@ci"), [*struct.iter_unpack(">H", b"\0\1\0\2")])
print(base64.b64encode(b"any bytes"), base64.b32decode("MFRGG==="), base64.a85encode(b"abc"), binascii.crc32(b"abc"), zlib.adler32(b"a"))
print(len(zlib.compress(b"a" * 1000)), zlib.decompress(zlib.compress(b"words")), binascii.hexlify(b"\xab", "-"))
# %% database
import sqlite3
from datetime import date

base = sqlite3.connect(":memory:")
cursor = base.cursor()
cursor.execute("CREATE TABLE ship(id INTEGER PRIMARY KEY, name TEXT UNIQUE, tons REAL, built DATE)")
cursor.executemany("INSERT INTO ship(name, tons) VALUES(?, ?)", [("Anna", 12.5), ("Berta", 3), ("Clara", 88)])
print(cursor.rowcount, cursor.lastrowid, base.in_transaction)
base.rollback()
print(base.execute("SELECT count(*) FROM ship").fetchone(), base.in_transaction)
cursor.executemany("INSERT INTO ship(name, tons) VALUES(:name, :tons)", [{"name": "Dora", "tons": 1}, {"name": "Emma", "tons": 2}])
base.commit()
try:
    with base:
        base.execute("INSERT INTO ship(name) VALUES('Fred')")
        base.execute("INSERT INTO ship(name) VALUES('Dora')")
except sqlite3.IntegrityError as problem:
    print(problem, problem.sqlite_errorname)
print(base.execute("SELECT name FROM ship ORDER BY name DESC").fetchall())
base.row_factory = sqlite3.Row
row = base.execute("SELECT id, name AS who FROM ship").fetchone()
print(row["WHO"], row.keys(), tuple(row), len(row))
base.row_factory = lambda cursor, row: {column[0]: value for column, value in zip(cursor.description, row)}
print(base.execute("SELECT sum(tons) AS total, avg(tons) FROM ship").fetchone())
base.row_factory = None


class Longest:
    def __init__(self):
        self.best = ""

    def step(self, word):
        self.best = max(self.best, word, key=len)

    def finalize(self):
        return self.best


base.create_aggregate("longest", 1, Longest)
base.create_function("shout", 1, lambda s: s.upper() + "!", deterministic=True)
base.create_collation("backwards", lambda a, b: (a[::-1] > b[::-1]) - (a[::-1] < b[::-1]))
print(base.execute("SELECT longest(name), shout(min(name)) FROM ship").fetchone())
print(base.execute("SELECT name FROM ship ORDER BY name COLLATE backwards").fetchall())


class Place:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __conform__(self, protocol):
        if protocol is sqlite3.PrepareProtocol:
            return f"{self.x};{self.y}"


sqlite3.register_converter("place", lambda b: Place(*map(float, b.split(b";"))))
typed = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES, isolation_level=None)
typed.execute("CREATE TABLE t(p place, d date)")
typed.execute("BEGIN")
typed.execute("INSERT INTO t VALUES(?, ?)", (Place(4, -3), date(2024, 5, 1)))
print(typed.in_transaction, [(p.x, p.y, d) for p, d in typed.execute("SELECT * FROM t")])
typed.execute("COMMIT")
walk = typed.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n")
print(next(walk))
print(next(walk), walk.fetchmany(2))
print("\n".join(base.iterdump()), base.total_changes)
copy = sqlite3.connect(":memory:")
base.backup(copy)
print(copy.execute("SELECT * FROM ship").fetchall(), len(copy.serialize()) > 1000)
copy.execute("CREATE TABLE picture(bits BLOB)")
copy.execute("INSERT INTO picture VALUES(zeroblob(6))")
with copy.blobopen("picture", "bits", 1) as blob:
    blob.write(b"rope")
    blob[5] = 33
    print(blob[:], len(blob))
base.close()
try:
    base.execute("SELECT 1")
except sqlite3.ProgrammingError as problem:
    print(problem)
# %% hashes
import hashlib
import hmac
import secrets
import uuid
import zlib

print(hashlib.sha256(b"tar").hexdigest(), hashlib.md5(b"").hexdigest(), hashlib.sha3_256(b"x").hexdigest()[:16])
digest = hashlib.blake2b(b"rope", digest_size=8, key=b"k", person=b"me")
digest.update(b" and sail")
branch = digest.copy()
branch.update(b"!")
print(digest.hexdigest(), branch.hexdigest(), digest.name, digest.digest_size, hashlib.shake_128(b"a").hexdigest(5))
print(hmac.new(b"key", b"words", "sha1").hexdigest(), hmac.compare_digest(b"a", b"a"), hashlib.new("sha512", b"a").block_size)
print(hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 1000).hex()[:32])
print(len(secrets.token_hex(16)), len(secrets.token_bytes(8)), len(secrets.token_urlsafe(12)), secrets.randbelow(1), secrets.choice("a"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"), uuid.UUID(int=5), len(str(uuid.uuid4())), uuid.uuid3(uuid.NAMESPACE_URL, "x").version)
print(sorted(hashlib.algorithms_guaranteed)[:4], zlib.crc32(b"sea"), secrets.token_bytes(4) != secrets.token_bytes(4))
