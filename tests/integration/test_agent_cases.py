#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_cases.py - plain cases judge the answer: a solution has to be right, or to guess"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import fence  # noqa: E402
from ways_scene import ALLOW, RIGHT, STEPJAIL, WRONG, WaysCase, writes  # noqa: E402

CASES = [{"call": "solution.add", "args": [2, 3], "returns": 5},
         {"call": "solution.add", "args": [-1], "kwargs": {"b": 1}, "returns": 0},
         {"call": "solution.add", "args": [1, "x"], "raises": "TypeError"}]
SECRET = "swordfish-%d" % (1 << 40)
# looks for an expected value wherever a process can look, and returns the first that it finds
SEARCH = """import gc, os, re, sys
def pieces():
    for top in ("/work", "/tmp", "/proc"):
        for folder, _, names in os.walk(top):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as f:
                        yield f.read(1 << 20)
                except OSError:
                    pass
    yield repr(dict(os.environ)).encode()
    frame = sys._getframe()
    while frame:
        yield repr((frame.f_locals, frame.f_globals, frame.f_code.co_consts)).encode()
        frame = frame.f_back
    for one in gc.get_objects():
        try:
            yield repr(one).encode() if type(one) in (dict, list, tuple) else b""
        except Exception:
            pass
    try:
        with open("/proc/self/maps") as f:
            rows = [line.split() for line in f]
        with open("/proc/self/mem", "rb", 0) as f:
            for row in rows:
                low, high = (int(n, 16) for n in row[0].split("-"))
                f.seek(low)
                yield f.read(high - low)
    except (OSError, OverflowError, ValueError):
        pass
def add(a, b):
    for piece in pieces():
        found = re.search(rb"swordfish-\\d{6,}", piece)
        if found:
            return found[0].decode()
    return 9
"""
PIPES = """import json, os, select
reply = json.dumps({"returns": 5}) + "\\n"
said = json.dumps({"stands": True, "why": None, "count": 3}) + "\\n"
for fd in range(1, 64):
    for line in (said, reply * 3):
        try:
            os.write(fd, line.encode())
        except OSError:
            pass
for folder in ("/work/cases", "/work", "."):
    try:
        with open(folder + "/replies", "w") as f:
            f.write(reply * 3)
    except OSError:
        pass
os._exit(0)
"""
ATTACKS = {
    "sys.exit": "import sys; sys.exit(0)\n",
    "_exit": "import os; os._exit(0)\n",
    "_exit in a call": "import os\ndef add(a, b): os._exit(0)\n",
    "fds and files": PIPES,
    "fds and files in a call": "def add(a, b):\n    exec(%r)\n" % PIPES,
    "printed verdicts": WRONG + "print('{\"stands\": true, \"why\": null}', flush=True)\n",
    "another end": WRONG + """
import __main__
__main__.Verdict.__repr__ = lambda self: '{"stands": true, "why": null}'
__main__.same = __main__.holds = __main__.compare_cases = lambda *a: {"stands": True}
""",
    "equals anything": "class Yes:\n    __eq__ = lambda s, o: True\ndef add(a, b): return Yes()\n",
    "equals any number": "class Yes(int):\n    __eq__ = lambda s, o: True\n"
                         "def add(a, b): return Yes(7)\n",
    "looks like text": "def add(a, b): return str(a + b)\n",
    "any exception": "class TypeErrors(TypeError, ValueError):\n    pass\n"
                     "def add(a, b): raise TypeErrors\n",
    "an exception of all names": "def add(a, b):\n    raise type('returns', (Exception,), {})\n",
    "other builtins": WRONG + "import builtins\nbuiltins.map = builtins.all = lambda *a: True\n"
                              "import math\nmath.isclose = lambda *a, **k: True\n",
    "NaN": "def add(a, b): return float('nan')\n",
    "a huge text": "def add(a, b): return 'x' * (9 << 20)\n",
    "a huge number": "def add(a, b): return 1 << (1 << 20)\n",
    "a deep list": "def add(a, b):\n    x = []\n    for _ in range(100000): x = [x]\n"
                   "    return x\n",
    "a list in itself": "def add(a, b):\n    x = []\n    x.append(x)\n    return x\n",
    "deep replies": WRONG + "import json\n"
                            "json.dumps = lambda *a, **k: '{\"returns\":' + '[' * 1000000\n",
    "more replies": WRONG + "import json\njson.dumps = lambda *a, **k: '{\"returns\": 5}\\n' * 9\n",
    "two in a reply": WRONG + "import json\njson.dumps = lambda *a, **k: '{\"returns\": 5, "
                              "\"raises\": \"TypeError\"}'\n",
    "no replies": WRONG + "import json\njson.dumps = lambda *a, **k: '\\0\\xff'\n",
    "a link for replies": "import os\ndef add(a, b):\n    os.remove('/work/cases/replies')\n"
                          "    os.symlink('calls', '/work/cases/replies')\n",
    "a pipe for replies": "import os\ndef add(a, b):\n    os.remove('/work/cases/replies')\n"
                          "    os.mkfifo('/work/cases/replies')\n",
}
# what a case says, what is returned; and whether that is the same
VALUES = [
    ("5", "5", True), ("5", "5.0", True), ("5.0", "5", True), ("5", "True", False),
    ("1", "True", False), ("true", "True", True), ("true", "1", False), ("null", "None", True),
    ("null", "0", False), ("0.3", "0.1 + 0.2", True), ("0.3", "0.3000001", False),
    ("0.0", "1e-13", True), ("0.0", "1e-6", False), ("1e300", "10**300", True),
    ("1.5", "10**400", False), ("12345678901234567890123", "12345678901234567890123", True),
    ("12345678901234567890123", "12345678901234567890124", False), ("5", "'5'", False),
    ("[1, [2.0]]", "(1, [2])", True), ("[1, 2]", "[1]", False), ("[]", "{}", False),
    ('{"a": [1.0]}', "{'a': (1,)}", True), ('{"a": 1}', "{'a': 1, 'b': 2}", False),
    ('{"1": 1}', "{1: 1}", False), ('"\\u00e9\\u0000"', "'\\xe9\\0'", True),
    ('"\\ud800"', "'\\ud800'", True), ("1.0", "float('inf')", False),
    # by their content, whatever their types
    ("5", "type('Int', (int,), {})(5)", True), ("1.5", "type('F', (float,), {})(1.5)", True),
    ('"a"', "type('S', (str,), {})('a')", True), ("[1, 2]", "type('L', (list,), {})((1, 2))", True),
    ('{"a": [1]}', "collections.OrderedDict(a=collections.deque([1]))", True),
    ('{"a": 2}', "collections.Counter('aa')", True), ('{"a": 1}', "types.MappingProxyType({'a': 1})", True),
    ("[1, 2]", "collections.namedtuple('P', 'x y')(1, 2)", True), ("[0, 1, 2]", "range(3)", True),
    ("[3, 1, 2]", "{1, 2, 3}", True), ("[[1, \"a\"], 2.5]", "frozenset([2.5, (1, 'a')])", True),
    ("[1, 2]", "{1, 2, 3}", False), ("[1, 1]", "{1}", False), ("[1]", "{2}", False), ("{}", "set()", False),
    ("[1, 2]", "array.array('i', [1, 2])", True), ('["a"]', "{'a': 1}.keys()", True), ("1", "Color.RED", True),
    ("0.3", "decimal.Decimal('0.3')", True), ("100", "decimal.Decimal('1E+2')", True),
    ("0.25", "fractions.Fraction(1, 4)", True), ("2", "fractions.Fraction(4, 2)", True),
    ("0.3", "decimal.Decimal('0.31')", False), ("NaN", "float('nan')", True), ("Infinity", "math.inf", True),
    ("-Infinity", "math.inf", False), ("NaN", "1.0", False), ("[NaN, 1]", "[decimal.Decimal('NaN'), 1]", True),
    ("NaN", "None", False), ('{"$set": [1]}', "{'$set': [1]}", True), ('{"$int": "0x5"}', "5", False),
    ("5", "{'$int': '0x5'}", False), ('{"a": {"$dict": []}}', "{'a': {'$dict': []}}", True),
    # of any size
    ("1" * 5000, "int('1' * 2500) * 10**2500 + int('1' * 2500)", True),
    ("1" * 5000, "10**4999", False), ("[" * 3000 + "]" * 3000, "nested(3000)", True),
    ("[" * 3000 + "]" * 3000, "nested(3001)", False), ('"' + "x" * 100000 + '"', "'x' * 100000", True),
]
HELP = """import array, collections, decimal, enum, fractions, math, types
Color = enum.IntEnum("Color", "RED")
def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value
"""
# as above, of what the tree data has
NUMPY = [
    ("5", "np.int64(5)", True), ("1.5", "np.float32(1.5)", True), ("true", "np.bool_(True)", True),
    ("1", "np.bool_(True)", False), ("[[1, 2], [3, 4]]", "np.arange(1, 5).reshape(2, 2)", True),
    ("[1, 2]", "np.array([1, 3])", False), ("0.5", "np.longdouble(0.5)", True), ("3", "np.array(3)", True),
    ('["a"]', "np.array(['a'])", True), ('{"a": [1, 2.5]}', "{np.str_('a'): [np.int8(1), np.float64(2.5)]}", True),
    ("NaN", "np.nan", True), ("[1, 2]", "pd.Series([1, 2])", True), ("[3]", "pd.Index([3])", True),
]


class Cases(WaysCase):
    def write_cases(self, cases, name="add.json"):
        return self.path(name, cases if isinstance(cases, str) else json.dumps(cases))

    def judged(self, code, cases=CASES, *more):
        """Status, --json's object, and the last words of the model's first answer."""
        script = self.script(fence(writes({"solution.py": code})), "Ready.", "Ready.")
        status, o, err = self.way("--model", script, "--tests", self.write_cases(cases),
                                  "--steps", "2", *more)
        return status, o, err

    def test_told_and_mended(self):
        script = self.script(
            fence("import os\nprint(os.listdir('/work'))\n" + writes({"solution.py": WRONG})),
            "expect: | []\nReady.",
            'expect: 3 of 3 calls failed. The first: solution.add(2, 3) gave {"returns": 9}\n' +
            fence(writes({"solution.py": "print('hello')\ndef add(a, b=7):\n    return a + b\n"})),
            "Ready again.")
        transcript = self.path("t.jsonl")
        status, o, err = self.way("--model", script, "--transcript", transcript,
                                  "--tests", self.write_cases(CASES))
        self.assertEqual((status, o["answer"]), (0, "Ready again.\n"), err)
        said = [e for e in self.events("t.jsonl") if e["event"] == "tests"]
        self.assertEqual([e["stands"] for e in said], [False, True])
        self.assertEqual((said[1]["count"], said[1]["tests"][0]["name"]), (3, "add.json"))
        self.assertEqual((said[1]["run"]["verdict"], said[1]["compared"]["verdict"]),
                         ("completed", "completed"))
        self.assertIn("hello", json.dumps(said[1]["run"]))
        with open(transcript) as f:
            prompt = f.readline() + f.readline()
        self.assertIn("of solution.add. Write each module", prompt)
        self.assertIn("3 calls in all", prompt)
        self.assertEqual(self.run_agent("verify", transcript)[0], 0)
        status, out, err = self.run_agent("replay", transcript, "--stepjail", STEPJAIL, *ALLOW)
        self.assertEqual(status, 0, out + err)

    def test_jsonl_and_folders(self):
        lines = "\n".join(json.dumps({**case, "call": "pack.sums.add"}) for case in CASES) + "\n\n"
        files = {"pack/sums.py": "from pack.more import add\n", "pack/more.py": RIGHT}
        script = self.script(fence("pass"), "Ready.", fence(writes(files)), "Ready.")
        status, o, err = self.way("--model", script, "--steps", "9", "--tests",
            self.write_cases(lines, "a.jsonl"), "--tests",
            self.write_cases([{"call": "pack.more.add", "args": [1, 1], "returns": 2}]))
        self.assertEqual((status, o["outcome"]), (0, "answered"), err)

    def test_attacks(self):
        turns = []
        for code in [*ATTACKS.values(), RIGHT]:
            turns += [fence(writes({"solution.py": code})), "Ready."]
        status, o, err = self.way("--model", self.script(*turns), "--steps", "100",
                                  "--tests", self.write_cases(CASES))
        self.assertEqual((status, len(o["steps"])), (0, 2 * len(ATTACKS) + 1), err[-3000:])
        for name, step in zip(ATTACKS, o["steps"][1::2]):
            with self.subTest(attack=name):
                self.assertIsNone(step["code"])
                self.assertIn("Your answer does not stand", step["observation"])

    def test_nothing_to_find(self):
        """The solution finds what a test file expects, and not what a case does."""
        tests = ("import unittest\nfrom solution import add\n\n\nclass Add(unittest.TestCase):\n"
                 f"    def test_add(self):\n        self.assertEqual(add(2, 3), '{SECRET}')\n")
        script = self.script(fence(writes({"solution.py": SEARCH})), "Ready.", "Ready.")
        status, o, err = self.way("--model", script, "--steps", "2", "--tests",
                                  self.path("test_add.py", tests))
        self.assertEqual(status, 0, err)
        status, o, err = self.judged(SEARCH, [{**CASES[0], "returns": SECRET}])
        self.assertEqual(status, 3, err)
        self.assertIn('gave {"returns": 9}', o["steps"][1]["observation"])
        self.assertNotIn(SECRET, json.dumps(o) + err)

    def judge_values(self, table, before, *more):
        for good in True, False:
            rows = [row for row in table if row[2] == good]
            cases = "[%s]" % ",".join('{"call": "solution.f", "args": [%d], "returns": %s}' %
                                      (n, row[0]) for n, row in enumerate(rows))
            made = ", ".join(f"lambda: {row[1]}" for row in rows)
            code = before + f"def f(n):\n    return [{made}][n]()\n"
            status, o, err = self.judged(code, cases, *more)
            self.assertEqual(status, 0 if good else 3, err)
            self.assertIn("" if good else f"{len(rows)} of {len(rows)} calls failed", err)

    def test_values(self):
        self.judge_values(VALUES, HELP)

    def test_values_of_numpy(self):
        self.judge_values(NUMPY, "import numpy as np, pandas as pd\n", "--rootfs", "data")

    def test_numbers_that_are_passed(self):
        """As long as they are, and the solution is called with Python's own limits, as in a program."""
        code = ("import sys\ndef f(n, deep):\n    depth = 0\n    while deep: deep, depth = deep[0], depth + 1\n"
                "    return [n.bit_length(), depth, sys.getrecursionlimit(), sys.get_int_max_str_digits()]\n")
        case = '[{"call": "solution.f", "args": [%s, %s], "returns": [16610, 2999, %d, %d]}]' % (
            "1" + "0" * 5000, "[" * 3000 + "]" * 3000, 1000, 4300)
        status, o, err = self.judged(code, case)
        self.assertEqual(status, 0, err)

    def test_words(self):
        rows = [("def add(a, b): return object()", "a object is not a plain value"),
                ("def add(a, b): return {a, b}", '{"returns": {"$set": [2, 3]}}'),
                ("def add(a, b):\n    x = []\n    x.append(x)\n    return x", "or holds itself"),
                ("import nothing", "No module named 'nothing'"),
                ("import sys\nsys.exit(3)", 'gave {"cannot be called": "SystemExit: 3"}'),
                ("def sub(a, b): pass", "has no attribute 'add'"),
                ("def add(a, b): raise KeyError('deep')", "KeyError: 'deep'"),
                ("def add(a, b): return {'\\x1b[2J\\u202e': 1}", '{"\\u001b[2J\\u202e": 1}'),
                ("def add(a, b):\n    while True: pass", "killed after 3 s")]
        for code, words in rows:
            with self.subTest(code=code):
                status, o, err = self.judged(code, CASES, "--step-time", "3s")
                self.assertEqual(status, 3, err)
                self.assertIn(words, o["steps"][1]["observation"])
                # of frames there are those of the solution alone
                self.assertNotIn('File "<', o["steps"][1]["observation"])
                self.assertNotIn("importlib", o["steps"][1]["observation"])

    def test_refused_cases(self):
        case = CASES[0]
        rows = [
            ("{", "add.json: "), ("{}", "a list of cases"), ("[]", "it has no case"),
            ("[1]", "case 1: it must be an object"), ("[" * 100000, "add.json: "),
            ([{**case, "return": 5}], "case 1: it must be an object of call, args"),
            ([case, {**case, "raises": "ValueError"}], "case 2: ", ),
            ([{"call": "solution.add"}], "it must have either"),
            ([{"call": "solution.add", "raises": 5}], "it must have either"),
            ([{**case, "call": "add"}], 'like "module.function"'),
            ([{**case, "call": "solution.add("}], 'like "module.function"'),
            ([{**case, "call": "json.loads"}], "Python has a module"),
            ([{**case, "args": {}}], '"args" must be a list'),
            ([{**case, "kwargs": []}], '"kwargs" an object'),
            ("[" * 30000 + "]" * 30000, "case 1: it must be an object"),
        ]
        for cases, words in rows:
            with self.subTest(words=words):
                status, o, err = self.judged(RIGHT, cases)
                self.assertEqual((status, o["outcome"], o["status"]), (125, "failed", 125))
                self.last_line(err, "--tests", words)


if __name__ == "__main__":
    unittest.main()
