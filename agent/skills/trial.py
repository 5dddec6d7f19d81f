"""Try one function that a model wants to keep. Runs inside the jail, behind judge.py, given to
python3 by -c.

The judge reads the file as a syntax tree, never runs any of it, and compares;
a child holds the function and evaluates examples, over a pipe, in strings alone.

The verdict is what it found and the secret, once every example has passed. The jail has no /proc to
reach the judge's stdin and stdout through. A function that knows how it is judged can behave for it, just as one can hold its examples'
answers: that is as much as examples prove. What it cannot do is skip one, compare for itself,
or pass by leaving early.
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

LINE_MAX = 1 << 20  # bytes of one example or answer
SIGNATURE_MAX = 200
DOC_MAX = 200


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
    kinds = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp,
             ast.BitOr, ast.expr_context)
    return node is None or all(isinstance(inner, kinds) for inner in ast.walk(node))


def look_at_function(node):
    if node.decorator_list:
        raise Refused("a decorator would run when it is imported")
    a = node.args
    if not all(literal(d) for d in a.defaults + [d for d in a.kw_defaults if d is not None]):
        raise Refused("a default value is no literal")
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    if not all(calm(n) for n in [node.returns, *(arg.annotation for arg in named)]):
        raise Refused("an annotation is more than names")


def names_of(node):
    """What a line at the top binds; refused where importing it would do more than that."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        if getattr(node, "level", 0) or any(a.name == "*" for a in node.names):
            raise Refused("an import with a star or a dot")
        return [a.asname or a.name.split(".")[0] for a in node.names]
    if isinstance(node, ast.FunctionDef):
        look_at_function(node)
        return [node.name]
    if isinstance(node, ast.Assign) and literal(node.value) and \
            all(isinstance(t, ast.Name) for t in node.targets):
        return [t.id for t in node.targets]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and \
            calm(node.annotation) and (node.value is None or literal(node.value)):
        return [node.target.id]
    raise Refused(f"line {node.lineno} is neither an import nor a constant nor a function")


def look_at(source, name):
    """The function's node, if the file is what it may be."""
    body = ast.parse(source.encode()).body  # bytes, as imported: a line may name a coding
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and \
            isinstance(body[0].value.value, str):
        body = body[1:]
    bound = [one for node in body for one in names_of(node)]
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    public = [node for node in functions if not node.name.startswith("_")]
    if [node.name for node in public] != [name]:
        raise Refused(f"its one public function must be {name}; others begin with _")
    for node in functions:
        if bound.count(node.name) != 1:
            raise Refused(f"{node.name} is bound twice")
    if any(one.startswith("__") for one in bound):
        raise Refused("a name that begins with two underscores")
    return public[0]


def signature_of(node):
    back = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    signature = f"{node.name}({ast.unparse(node.args)}){back}"
    if len(signature) > SIGNATURE_MAX:
        raise Refused(f"its signature is longer than {SIGNATURE_MAX} characters")
    return signature


def calls(source, name):
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
               for n in ast.walk(ast.parse(source)))


def examples_of(doc, name):
    if not doc:
        raise Refused("it has no docstring")
    examples = doctest.DocTestParser().get_examples(doc)
    if any(one.options for one in examples):
        raise Refused("an example has a directive (# doctest: ...): what it leaves out is not tested")
    if not any(one.want and one.exc_msg is None and calls(one.source, name) for one in examples):
        raise Refused(f"no example (>>>) in its docstring calls {name} and says what comes of it")
    return examples


def evaluate(source, names):
    out, sys.stdout = sys.stdout, io.StringIO()
    sys.displayhook = sys.__displayhook__
    problem = None
    try:
        exec(compile(source, "<example>", "single"), names)
    except BaseException as raised:
        problem = traceback.format_exception_only(type(raised), raised)[-1]
    finally:
        got, sys.stdout = sys.stdout, out
    return {"got": got.getvalue(), "raised": problem}


def serve(questions, answers, task):
    """The child: load the file, answer for ever."""
    sys.path.append("/work")  # where functions that were kept before are
    module = types.ModuleType(f"skills.{task['name']}")
    names = module.__dict__
    exec(compile(task["source"].encode(), f"{task['name']}.py", "exec", dont_inherit=True), names)
    function = names[task["name"]]
    for line in os.fdopen(questions, "rb"):
        names[task["name"]] = function  # whatever the example before made of it
        write_line(answers, evaluate(json.loads(line), names))


def ask(questions, answers, source):
    try:
        write_line(questions, source)
        line = answers.readline(LINE_MAX)
    except BrokenPipeError:
        line = b""
    if not line.endswith(b"\n"):
        raise Refused("its process ended before its answer, or answers too much")
    got = json.loads(line)
    if not isinstance(got, dict) or not isinstance(got.get("got"), str):
        raise Refused("what its process answers makes no sense")
    return got["got"], got["raised"] if isinstance(got.get("raised"), str) else None


def check(example, got, raised):
    same = doctest.OutputChecker().check_output
    if raised is None and example.exc_msg is None:
        good = same(example.want, got, 0)
    else:
        good = raised is not None and example.exc_msg is not None and \
            same(example.exc_msg, raised, 0)
    if not good:
        raise Refused(f"its example {example.source.strip()[:80]!r} came to "
                      f"{(raised or got).strip()[:80]!r}")


def main():
    task, verdict = begin()
    node = look_at(task["source"], task["name"])
    doc = ast.get_docstring(node)
    examples = examples_of(doc, task["name"])
    facts = {"signature": signature_of(node), "doc": doc.strip().splitlines()[0][:DOC_MAX],
             "examples": len(examples)}
    child, questions, answers = start_child(serve, task)
    try:
        for one in examples:
            check(one, *ask(questions, answers, one.source))
    finally:
        os.kill(child, signal.SIGKILL)  # the last word is the judge's
        os.waitpid(child, 0)
    facts["secret"] = read_line(0).decode().strip()
    line = json.dumps(facts, ensure_ascii=False) + "\n"
    os.write(verdict, line.encode(errors="backslashreplace"))
    os._exit(0)


try:
    main()
except (Refused, SyntaxError, ValueError) as problem:
    sys.exit(f"{type(problem).__name__}: {problem}".removeprefix("Refused: "))
