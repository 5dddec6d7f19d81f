# Programs for test_documentation.py, after what the tutorial and the library reference show of text.
# %% strings
import string
import textwrap
from string import Formatter, Template

name, price, width = "Zoë", 1234.5678, 12
print(f"{name!r:>{width}}|{price:,.2f}|{price:e}|{255:#06x}|{255:b}|{0.256:.1%}|{name:^9}|{name!a}")
print("%-8s|%05d|%.3f|%x|%r|%%" % ("ab", 42, 3.14159, 255, "q"), "%(n)s" % {"n": 1})
print("{0} {1} {0} {word} {2[a]} {3.real}".format(1, 2, {"a": 3}, 4j, word="w"), "{:{}}".format("x", ">5"))
print(f"{price = :.1f} {name.upper()=} {{braces}} {'nested ' + f'{1 + 1}'} {(lambda x: x * 2)(3)}")
print(Template("$who owes ${amount}EUR, $$").substitute(who="Tim", amount=5), Template("$a $b").safe_substitute(a=1))
try:
    Template("$a $b").substitute(a=1)
except KeyError as problem:
    print("missing", problem)
text = """\
    A long time ago there was a small boat that went out
      further than all the others.
    It came back."""
print(textwrap.dedent(text))
print(textwrap.fill(textwrap.dedent(text), 30, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten("many words that do not fit", 15, placeholder="..."), textwrap.indent("a\nb\n\nc", "> "))
print(string.capwords("the old man"), string.ascii_letters[20:30], string.punctuation)
print("a,b,,c".split(","), " x  y ".split(), "a-b-c".rsplit("-", 1), "k=v=w".partition("="), "line\nmore\r\n".splitlines(True))
print("abc".translate(str.maketrans("ab", "xy", "c")), "ß".casefold(), "ǆ".title(), "i̇".upper(), "x".zfill(4), "-5".zfill(5))
print("spam" in "eggs and spam", "abcabc".find("c", 3), "abc".replace("", "-"), "tEST".swapcase(), "a\tb".expandtabs(4))
print("prefix.py".removesuffix(".py"), "".join(reversed("abc")), "é".encode(), b"\xff\xc3".decode("latin-1"), "x" * 3)
print(r"raw\n", b"bytes\x00", "con" "cat", '''three '" quotes''', "\N{GREEK SMALL LETTER ALPHA}\u00e9\U0001f600")
print([*Formatter().parse("a{b!r:>{c}}d")], str(b"x", "ascii"), ascii("é"), chr(8364), ord("€"), "a" < "B", "a" < "b")
print(bytes.fromhex("00ff 10").hex(":"), bytearray(b"abc")[::-1], memoryview(b"abcd")[1:3].tobytes(), int("z", 36))
# %% unicode
import sys
import unicodedata

composed, apart = "caf\u00e9", "cafe\u0301"
print(composed == apart, unicodedata.normalize("NFC", apart) == composed, len(composed), len(apart))
for letter in "a\u00e9\u0416\u4e2d\u0661\u20ac\U0001d11e":
    print(f"{ord(letter):06x}", unicodedata.category(letter), unicodedata.name(letter), unicodedata.numeric(letter, None))
print([word.encode(code) for word, code in (("é", "utf-8"), ("é", "utf-16-le"), ("é", "latin-1"), ("Ж", "cp1251"))])
for how in "strict", "ignore", "replace", "backslashreplace", "xmlcharrefreplace", "namereplace":
    try:
        print(how, "aé€b".encode("ascii", how))
    except UnicodeEncodeError as problem:
        print(how, problem)
try:
    b"ab\x80c".decode()
except UnicodeDecodeError as problem:
    print(problem.start, problem.reason, problem.object[problem.start:])
print(b"ab\x80c".decode("utf-8", "surrogateescape").encode("utf-8", "surrogateescape"))
print(sorted(["Ähre", "Zebra", "apfel", "Apfel"], key=str.casefold), "ΑΣ".lower(), "straße".upper())
größe = 3
print(größe, "größe".isidentifier(), "ﬁ".casefold(), unicodedata.unidata_version, sys.getdefaultencoding())
print(sys.stdout.encoding.lower(), sys.getfilesystemencoding(), "\u202eabc\u202c".encode("unicode_escape"))
print("naïve 中文 \U0001f680 \u0645")
# %% separators
import inspect
import traceback
one = """first second
thirdfourth"""
two = "ab c"
print(one.splitlines(), two.split(), len(two))


def fails(x):
    note = "here:  "
    return note, x.missing


for thing in 1, two:
    try:
        fails(thing)
    except AttributeError:
        traceback.print_exc()
print(inspect.getsourcelines(fails)[1], inspect.getsource(fails).count("\n"))
long = "a very long line that goes on " \
    "and on"; total = (1 +
                       2)
print(long,
      total)
if True:
	print("tabs")
print(fails.__code__.co_firstlineno, inspect.currentframe().f_lineno)
fails(
    2)
# %% regex
import re

log = """2024-03-01 Anna sailed 12.5 miles
2024-03-02 Berta stayed
bad line
2024-04-11 Anna sailed 3 miles"""
line = re.compile(r"""
    ^(?P<date>(\d{4})-(\d\d)-(\d\d))\s+   # when
    (?P<ship>\w+)\s
    (?:sailed\s(?P<miles>[\d.]+)|stayed)
""", re.VERBOSE | re.MULTILINE)
for match in line.finditer(log):
    print(match["date"], match.group("ship", "miles"), match.span("ship"), match.lastindex, match.groupdict("none"))
print(re.findall(r"\b(\w)(\w*)\b", "to be or"), re.split(r"([,;])\s*", "a, b;c,d", maxsplit=2), re.escape("a.b*c"))
print(re.sub(r"(\w+) (\w+)", r"\2 \g<1>", "hello big world"), re.sub("[aeiou]", lambda m: m[0].upper(), "vowels here", 2))
print(re.fullmatch("[a-f]+", "abcx"), re.match("b", "ab"), re.search("b", "ab"), bool(re.match("(?i)AB", "ab")))
print(re.findall("<.*?>", "<a><b>"), re.findall("<.*>", "<a><b>"), re.findall(r"(?<=\$)\d+", "$5 6 $77"), re.subn("x", "y", "xxz"))
print(re.findall(r"(?m)^\w+(?!\w*:)", "a:\nbc"), re.search(r"(?P<q>['\"]).*?(?P=q)", "say 'it' now")[0], re.split(r"\b", "a b"))
print(re.compile("a|b", re.I | re.S), re.search("(a)|(b)", "b").groups(), re.sub("(a)?b", r"[\1]", "b"), re.I | re.M)
try:
    re.compile("(unbalanced\n[a-")
except re.error as problem:
    print(problem, problem.pos, problem.lineno, problem.colno)
tokens = re.compile("|".join(f"(?P<{kind}>{what})" for kind, what in
                             dict(NUMBER=r"\d+(\.\d*)?", NAME=r"[a-z]+", OP="[-+*/=]", SKIP=r"\s+", BAD=".").items()))
print([(m.lastgroup, m[0]) for m in tokens.finditer("x = 3.5 * y ?") if m.lastgroup != "SKIP"])
print(re.findall(r"(?>a+)b", "aab"), re.findall("a++b", "aaab"), re.compile(b"\\d").findall(b"a1b2"), re.match(r"\w+", "été"))
# %% printing
import pprint
import reprlib
import sys

tree = {"name": "hull", "parts": [{"name": "plank", "size": (3, 2, 1)}, {"name": "nail " * 8, "size": None}],
        "numbers": list(range(30)), "set": {3, 1, 2}}
pprint.pprint(tree, width=60)
pprint.pp({"b": 1, "a": [1, 2]}, width=8, indent=2)
pprint.pprint(tree, depth=1, compact=True, sort_dicts=False)
print(pprint.pformat([["x"] * 3] * 3, width=20), pprint.isreadable(tree), pprint.saferepr([1]))
loop = [1]
loop.append(loop)
print(loop, reprlib.repr("x" * 100), reprlib.repr(set(range(20))))
print("a", "b", sep="\t", end="|\n", file=sys.stdout, flush=True)
print(*[], sep="")
for row in (("pear", 3, 0.5), ("apple", 12, 12.25)):
    print("{:<8}|{:>4d}|{:>8.2f}".format(*row))
print(repr("tab\t'quote'"), str(1.0), 0.1 + 0.2, 1e16, 1e-7, float("inf"), -0.0, 1_000, 3 + 4j, 10 ** 20)
sys.stdout.write("written\n")
sys.stderr.write("to the other\n")
sys.displayhook({"as": "at a prompt"})
sys.displayhook(None)
# %% arguments
import argparse
import sys

parser = argparse.ArgumentParser(prog="ferry", description="Carries things over.", epilog="Fair winds.")
parser.add_argument("goods", nargs="+", help="what to carry")
parser.add_argument("-v", "--verbose", action="count", default=0)
parser.add_argument("--weight", type=float, default=1.5, metavar="KG", help="of each (default: %(default)s)")
parser.add_argument("--to", choices=["north", "south"], required=True)
group = parser.add_mutually_exclusive_group()
group.add_argument("--fast", action="store_true")
group.add_argument("--slow", dest="fast", action="store_false")
print(parser.parse_args(["salt", "tea", "-vv", "--to", "north", "--weight=3"]))
print(sys.argv[0].endswith(".py"), len(sys.argv), parser.format_usage())
parser.print_help()
lines = argparse.ArgumentParser(prog="tool", exit_on_error=False, fromfile_prefix_chars="@")
commands = lines.add_subparsers(dest="command", required=True)
sail = commands.add_parser("sail", help="go", exit_on_error=False)
sail.add_argument("--days", type=int)
sail.set_defaults(run=lambda args: f"sailing {args.days}")
args = lines.parse_args("sail --days 4".split())
print(args.command, args.run(args), lines.parse_known_args(["sail", "--other"])[1])
try:
    lines.parse_args(["sail", "--days", "x"])
except argparse.ArgumentError as problem:
    print(problem)
try:
    parser.parse_args(["--to", "west", "x"])
except SystemExit as problem:
    print("status", problem.code)


class Upper(argparse.Action):
    def __call__(self, parser, names, values, option=None):
        setattr(names, self.dest, values.upper())


parser.add_argument("--port", action=Upper)
print(vars(parser.parse_args(["x", "--to", "south", "--port", "brest", "--slow"])))
parser.parse_args([])
# %% asked input
# < Nina
# < 3
# < 10 20 30
# < rest one
# < rest two
import sys


def main():
    name = input("Who? ")
    count = int(input())
    numbers = list(map(int, input("Numbers: ").split()))
    print(f"{name}: {count} of {sum(numbers)}")
    for line in sys.stdin:
        print("more:", line.rstrip())
    print(sys.stdin.read() == "", sys.stdin.readline() == "")
    try:
        input()
    except EOFError as problem:
        print(problem)


main()
print("end")
