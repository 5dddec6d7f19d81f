"""Run tests and solution together, and report: what tests.py has its second process do.

Follows tests.py in one source: its names are there. What it says is believed only as far as is
said there.
"""
import ast
import json
import os
import sys

EQUALS = ("assertEqual", "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertIn",
          "assertDictEqual", "assertSequenceEqual", "assertCountEqual", "assertAlmostEqual",
          "assertIs", "assertTrue", "assertIsNone")
PLAIN = (int, str, float, bool, bytes, type(None), complex)


class Doctor(ast.NodeTransformer):
    """Has == asked of no object that says yes to everything; and, to try the judge, has every
    test fail behind its last line."""

    def __init__(self, tests, control):
        self.ends = {id(one) for one in tests.nodes} if control else set()

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            return node
        name = ast.Name("__fair_equal__", ast.Load())
        return ast.copy_location(ast.Call(name, [node.left, *node.comparators], []), node)

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        if id(node) in self.ends:
            fails = [ast.Expr(ast.BinOp(ast.Constant(1), ast.Div(), ast.Constant(0)))]
            node.body = [ast.Try(node.body, [], [], fails)]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


class Forged(BaseException):
    pass


def watch():
    """What no solution has a need for, and what tampers with a judge does: it fails, and is
    remembered. A hook of this kind cannot be taken off. The list of what was seen."""
    seen = []
    never = ("sys.settrace", "sys.setprofile", "gc.get_objects", "gc.get_referrers",
             "gc.get_referents")
    frame_of = sys._getframe

    def hook(event, args):
        frame = event == "sys._getframe" or \
            (event == "object.__getattr__" and args[1] == "tb_frame")
        if asking or not (frame or event in never):
            return
        asking.append(True)
        try:
            file = frame_of(1).f_code.co_filename
        finally:
            asking.pop()
        if event in never or file.startswith(JUDGED):
            seen.append(f"{event} was used")
            raise Forged(seen[-1])

    asking = []  # the question is such an event itself
    sys.addaudithook(hook)
    return seen


def make_fair(exempt):
    controls = (object(), int.from_bytes(os.urandom(6), "big"), os.urandom(9).hex(),
                [os.urandom(9).hex()], float.fromhex("0x1." + os.urandom(5).hex()))

    def fair(value, depth=0):
        kind = type(value)
        if kind in PLAIN or kind in exempt or depth > 4:
            return
        if kind in (list, tuple, set, frozenset, dict):
            for one in list(value.values() if kind is dict else value)[:1000]:
                fair(one, depth + 1)
            return
        for control in controls:
            try:
                same = bool(value == control)
            except Exception:
                same = False
            if same:
                raise Forged(f"an object of class {kind.__name__} says that it equals anything")

    return fair


def make_unittest():
    """One for the tests; whoever imports unittest later gets another."""
    import unittest
    import unittest.mock
    own = {name: module for name, module in sys.modules.items()
           if name.split(".")[0] == "unittest"}
    for name in own:
        del sys.modules[name]
    return own


def used_by(tests):
    """Modules that the tests import by name and that are neither theirs nor the solution's."""
    import importlib
    found = []
    for name in sorted(tests.imports - {"unittest", "pytest", *tests.trees, *tests.modules}):
        try:
            found.append(importlib.import_module(name))
        except Exception:
            pass  # the tests will see it
    return found


def make_sealed(modules, which=lambda value: True):
    """A function that says what of them was changed since, or None."""
    function = type(make_sealed)
    rows = [(sys.modules, module.__name__, module, None) for module in modules
            if type(module) is type(sys) and sys.modules.get(module.__name__) is module]

    def parts(value):
        return (value.__code__, value.__defaults__) if type(value) is function else None

    def names(owner):
        return owner if type(owner) is dict else vars(owner)

    for module in modules:
        for owner in [module, *(one for one in names(module).values() if type(one) is type)]:
            rows += [(owner, name, value, parts(value)) for name, value in names(owner).items()
                     if which(value)]

    def changed():
        for owner, name, value, were in rows:
            if name not in ("_", "__doc__", "__warningregistry__") and \
                    (names(owner).get(name) is not value or parts(value) != were):
                kind = "modules" if owner is sys.modules else "builtins"
                return f"{getattr(owner, '__name__', kind)}.{name} was changed"
        return None

    return changed


def add_tests(tests, control, own, builtins):
    """Modules of the tests, made of what was read, and found before any other of their name."""
    import importlib.machinery
    real_import = builtins["__import__"]

    def own_import(name, names=None, locals=None, fromlist=(), level=0):
        if level or name.split(".")[0] != "unittest":
            return real_import(name, names, locals, fromlist, level)
        if name not in own:
            raise ImportError(f"no module named {name!r}")
        return own[name] if fromlist else own["unittest"]

    builtins["__import__"] = own_import

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name not in tests.trees:
                return None
            return importlib.machinery.ModuleSpec(name, Finder, origin=f"{TESTS}/{name}.py")

        @staticmethod
        def create_module(spec):
            return None

        @staticmethod
        def exec_module(module):
            name = module.__name__
            tree = ast.fix_missing_locations(Doctor(tests, control).visit(tests.trees[name]))
            module.__file__ = f"{TESTS}/{name}.py"
            module.__dict__["__builtins__"] = builtins
            exec(compile(tree, module.__file__, "exec"), module.__dict__)

    sys.meta_path.insert(0, Finder)


def run_unittest(tests, control):
    import builtins
    import importlib
    own = make_unittest()
    unittest, case = own["unittest"], own["unittest.case"]
    fair = make_fair((type(own["unittest.mock"].ANY), own["unittest.mock"]._Call))
    private = dict(vars(builtins))

    def fair_equal(left, right):
        fair(left)
        fair(right)
        return left == right

    def checked(method):
        def check(self, first, *rest, **named):
            for one in (first, *rest[:1]):
                fair(one)
            return method(self, first, *rest, **named)
        return check

    for name in EQUALS:
        setattr(case.TestCase, name, checked(getattr(case.TestCase, name)))
    private["__fair_equal__"] = fair_equal
    add_tests(tests, control, own, private)
    sealed = (make_sealed([*own.values(), builtins, private]),
              make_sealed(used_by(tests), callable))
    passed, bad = [], []

    class Result(own["unittest.runner"].TextTestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            passed.append(test.id())

    suite = unittest.TestSuite()
    load = unittest.TestLoader().loadTestsFromModule
    for stem in tests.trees:
        suite.addTests(load(importlib.import_module(stem)))
    runner = own["unittest.runner"].TextTestRunner
    result = runner(sys.stderr, resultclass=Result, verbosity=1).run(suite)
    if not result.wasSuccessful():
        bad.append("a test failed")
    return passed, bad, sealed[0]() or sealed[1]()


def run_pytest(tests, control):
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import builtins
    import functools
    import unittest
    import pytest
    passed, bad, skipped = [], [], set()
    sealed = (make_sealed([builtins, pytest]),
              make_sealed([module for name, module in sys.modules.items()
                           if name.split(".")[0] in ("unittest", "_pytest", "pluggy")],
                          lambda value: type(value) is type(make_sealed)),
              make_sealed(used_by(tests), callable))

    def failing(test):
        def fail(*args, **named):
            try:
                return test(*args, **named)
            finally:
                1 / 0
        return functools.wraps(test)(fail)

    class Plugin:
        @pytest.hookimpl
        def pytest_itemcollected(self, item):
            if control and not hasattr(item.parent.obj, "assertEqual"):
                item.obj = failing(item.obj)

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_call(self, item):
            outcome = yield
            if control and hasattr(item.parent.obj, "assertEqual"):
                outcome.force_exception(AssertionError("a test that cannot pass"))

        @pytest.hookimpl
        def pytest_runtest_logreport(self, report):
            name = report.nodeid.split("[")[0].replace(".py::", ".").replace("::", ".")
            set_by_mark = {"skip", "skipif", "xfail"} & set(report.keywords)
            if report.failed:
                bad.append(name)
            elif report.skipped and not set_by_mark:
                skipped.add(name)  # or its other parameters would pass for this one
            elif report.when == "call" and report.passed:
                passed.append(name)

    status = pytest.main(["-q", "-c", "/dev/null", "--rootdir", TESTS, "--noconftest", "-p",
                          "no:cacheprovider", "--import-mode=importlib", "--color=no", "--tb=short",
                          *[f"{TESTS}/{stem}.py" for stem in tests.trees]], [Plugin()])
    if status:
        bad.append("pytest ended with status %d" % status)
    passed = [one for one in passed if one not in bad and one not in skipped]
    return passed, bad, sealed[0]() or sealed[1]() or sealed[2]()


def be_second(tests, control, report, secret, output):
    """Tests and solution; does not return."""
    null = os.open("/dev/null", os.O_RDWR)
    for old, new in ((null, 0), (output, 1), (output, 2)):
        os.dup2(old, new)
    kept = sorted((report, secret))
    for low, high in zip([3, kept[0] + 1, kept[1] + 1], [*kept, 65536]):
        os.closerange(low, high)
    write, read, leave, dumps = os.write, os.read, os._exit, json.dumps
    sys.stdin, sys.stdout, sys.stderr = (open(fd, mode, closefd=False) for fd, mode in
                                         ((0, "r"), (1, "w"), (2, "w")))
    sys.dont_write_bytecode = True
    passed, bad, changed = [], ["nothing ran"], None
    seen = watch()
    try:
        os.chdir(JUDGED)
        sys.path += [TESTS, JUDGED] if tests.needs_pytest else [JUDGED]
        run = run_pytest if tests.needs_pytest else run_unittest
        passed, bad, changed = run(tests, control)
    except BaseException as problem:
        bad = ["the tests could not be run"]
        if isinstance(problem, Forged):
            changed = str(problem)
        sys.__excepthook__(type(problem), problem, problem.__traceback__)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        pass
    changed = changed or (seen[0] if seen else None)
    said = {"secret": read(secret, 64).decode(), "passed": passed, "bad": bad, "changed": changed}
    data = dumps(said).encode() + b"\n"
    while data:
        data = data[write(report, data):]
    leave(0)
