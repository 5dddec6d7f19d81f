"""Try one function that a model wants to keep, in a fresh jail. Behind judge.py and list.py, all of
it given to python3 by -c.

The judge reads the file as a syntax tree, never runs any of it, and compares; a child runs the file
and its examples, and answers in strings alone. The verdict is the secret, which the judge reads
once every example has come to what it says. The jail has no /proc to reach the judge's stdin and
stdout through.

A function that knows how it is judged can behave for it, just as one can hold its examples'
answers: that is as much as examples prove. What it cannot do is pass by leaving early, by printing
what a judge would print, or by changing doctest.
"""
import ast
import doctest
import io
import json
import os
import signal
import sys
import traceback
import types

LINE_MAX = 1 << 20  # bytes of what all examples came to
ANNOTATION = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp,
              ast.BitOr, ast.expr_context)


class Refused(Exception):
    pass


def literal(node):
    try:
        ast.literal_eval(node)
    except Exception:
        return False
    return True


def calm(node):
    """An annotation that runs nothing of anybody's when it is evaluated."""
    return node is None or all(isinstance(inner, ANNOTATION) for inner in ast.walk(node))


def names_of(node):
    """The names that a line at the top binds; None where importing it would do more than that."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [a.asname or a.name.split(".")[0] for a in node.names]
        return None if getattr(node, "level", 0) or "*" in names else names
    if isinstance(node, ast.FunctionDef) and not node.decorator_list:
        a = node.args
        named = filter(None, [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg])
        if all(map(literal, filter(None, a.defaults + a.kw_defaults))) and \
                all(map(calm, [node.returns, *(arg.annotation for arg in named)])):
            return [node.name]
    targets = [None]
    if isinstance(node, ast.Assign) and literal(node.value):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and calm(node.annotation) and \
            (node.value is None or literal(node.value)):
        targets = [node.target]
    return [t.id for t in targets] if all(isinstance(t, ast.Name) for t in targets) else None


def look_at(source, name):
    """The function's node, if the file is what it may be."""
    body = ast.parse(source.encode()).body  # bytes, as imported: a line may name a coding
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    bound = []
    for node in body:
        names = names_of(node)
        if names is None:
            raise Refused(f"line {node.lineno} is neither an import, nor NAME = literal, nor a function "
                          "without decorators, whose defaults are literals and whose annotations "
                          "are names")
        bound += names
    public = [node for node in body
              if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    if [node.name for node in public] != [name] or bound.count(name) != 1:
        raise Refused(f"{name} must be bound once, as its one function whose name begins without _")
    if any(one.startswith("__") for one in bound):
        raise Refused("a name that begins with two underscores")
    return public[0]


def calls(source, name):
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
               for n in ast.walk(ast.parse(source)))


def examples_of(node):
    examples = doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")
    if any(one.options for one in examples):
        raise Refused("an example has a directive (# doctest: ...), which leaves something untested")
    if not any(one.want and one.exc_msg is None and calls(one.source, node.name)
               for one in examples):
        raise Refused(f"no example (>>>) in its docstring calls {node.name} and shows what it gives")
    return examples


def evaluate(source, names):
    """What it printed, and what it raised, or None."""
    out, sys.stdout = sys.stdout, io.StringIO()
    sys.displayhook = sys.__displayhook__
    raised = None
    try:
        exec(compile(source, "<example>", "single"), names)
    except BaseException as problem:
        raised = traceback.format_exception_only(type(problem), problem)[-1]
    finally:
        got, sys.stdout = sys.stdout, out
    return got.getvalue(), raised


def run_examples(_, answers, task):
    """The child: load the file, and say what each example came to."""
    sys.path.append("/work")  # where functions that were kept before are
    names = types.ModuleType(f"skills.{task['name']}").__dict__
    exec(compile(task["source"].encode(), f"{task['name']}.py", "exec", dont_inherit=True), names)
    function, found = names[task["name"]], []
    for source in task["examples"]:
        names[task["name"]] = function  # whatever the example before made of it
        found.append(evaluate(source, names))
    write_line(answers, found)


def check(example, got, raised):
    same = doctest.OutputChecker().check_output
    if raised is None and example.exc_msg is None:
        good = same(example.want, got, 0)
    else:
        good = raised is not None and example.exc_msg is not None and \
            same(example.exc_msg, raised, 0)
    if not good:
        raise Refused(f"its example {example.source.strip()[:80]!r} gave "
                      f"{(raised or got).strip()[:80]!r}")


def judge(task):
    examples = examples_of(look_at(task["source"], task["name"]))
    child, _, answers = start_child(run_examples,
                                    {**task, "examples": [one.source for one in examples]})
    try:
        line = answers.readline(LINE_MAX)
    finally:
        os.kill(child, signal.SIGKILL)  # the last word is the judge's
        os.waitpid(child, 0)
    if not line.endswith(b"\n"):
        raise Refused("its process ended before it answered, or it answered too much")
    found = json.loads(line)
    if len(found) != len(examples):
        raise Refused("its process answers for other examples than it has")
    for example, (got, raised) in zip(examples, found):
        check(example, got, raised)


def main():
    task, out = begin()
    if "source" in task:
        judge(task)
        os.write(out, read_line(0))
    else:
        os.write(out, listing())
    os._exit(0)


try:
    main()
except (Refused, SyntaxError, ValueError) as problem:
    sys.exit(f"{type(problem).__name__}: {problem}".removeprefix("Refused: "))
