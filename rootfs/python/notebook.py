# SPDX-License-Identifier: MIT
"""notebook.py - what notebooks take and Python does not; frozen, as stepjail_notebook

source.c calls compiled() with a step that is a SyntaxError, so a step that is none waits for
nothing of this. Taken are: a block that is indented as a whole, or has the prompts of a console
or the fence of Markdown; `await` and its kin at top level; lines that begin with %, !, ? or end
with ?, and cells that begin with %%. What they do is in magics.py. No line is added or taken
away, and columns are those of the step's text, so tracebacks show what was written.
"""
import ast
import re

from stepjail_commands import say

AROUND = "capture", "time", "prun"  # what magics.py does around a cell's lines
TURNS = 200  # lines that are mended in one step
AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
PROMPT = re.compile(r"(\s*)(>>>|\.\.\.|In \[\d*\]:|\.{3,}:)( |$)")
FIRST = re.compile(r"\s*(>>>( |$)|In \[\d*\]:)")
FENCE = re.compile(r"\s*(```+|~~~+)\s*\w*\s*$")
CELL = re.compile(r"%%(!|\w+)(.*)")
LINE = re.compile(r"(\s*)(?:([\w.,\[\]'\" ]+?)\s*=\s*)?(%|!!?)\s*(\S.*)$")
HELP = re.compile(r"(\s*)(?:(\?\??)\s*(%{0,2}[\w.*]+)|(%{0,2}[\w.*]+)(\?\??))\s*;?\s*$")
BARE = re.compile(r"(\s*)((?:python3? -m )?(?:pip3?|conda|mamba|apt|apt-get|sudo|npm|git|wget|curl|cd|ls|cat|mkdir|rm"
                  r"|unzip)\s+[^\s=(].*)$")

__builtins__ = dict(vars(__import__("builtins")))  # what the functions below look names up in


class Text:
    """A step's lines as they are compiled, and how many columns each has lost at its begin."""

    def __init__(self, text):
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.written = list(self.lines)
        self.lost = [0] * len(self.lines)
        self.inside = 0  # 1 where the whole is the body of an `if`, in a line before the first
        self.changed = False

    def first(self):
        """Of the lines that say something, or None."""
        for number, line in enumerate(self.lines):
            if line.strip() and not line.lstrip().startswith("#"):
                return number
        return None

    def put(self, number, line, lost=0):
        self.lines[number] = line
        self.lost[number] += lost
        self.changed = True

    def parse(self, name):
        source = "if 1:\n" * self.inside + "\n".join(self.lines)
        try:
            tree = compile(source, name, "exec", ast.PyCF_ONLY_AST | AWAIT, dont_inherit=True)
        except SyntaxError as problem:
            self.shift_error(problem)
            raise
        if self.inside:
            tree.body = tree.body[0].body
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno -= self.inside
                node.end_lineno -= self.inside
                node.col_offset += self.lost[node.lineno - 1]
                node.end_col_offset += self.lost[node.end_lineno - 1]
        return tree

    def shift_error(self, problem):
        """Its place is one of the step's text."""
        line = (problem.lineno or 0) - self.inside
        if not 1 <= line <= len(self.lines):
            return
        lost = self.lost[line - 1]
        end = problem.end_lineno and problem.end_lineno - self.inside
        ends = problem.end_offset and problem.end_offset + (lost if problem.end_offset > 0 else 0)
        problem.args = (problem.msg, (problem.filename, line, problem.offset and problem.offset + lost,
                                      self.written[line - 1] + "\n", end, ends))
        problem.lineno, problem.end_lineno = line, end
        problem.offset, problem.end_offset = problem.args[1][2], ends
        problem.text = problem.args[1][3]


def strip_fence(text):
    first = text.first()
    if first is None or not FENCE.match(text.lines[first]):
        return
    last = max(number for number, line in enumerate(text.lines) if line.strip())
    if last > first and re.match(r"\s*(```+|~~~+)\s*$", text.lines[last]):
        text.put(last, "")
    text.put(first, "")


def strip_prompts(text):
    first = text.first()
    if first is None or not FIRST.match(text.lines[first]):
        return
    output = []
    for number, line in enumerate(text.lines):
        prompt = PROMPT.match(line)
        if prompt:
            text.put(number, line[prompt.end():], prompt.end())
        elif line.strip():
            output.append(line.strip())
            text.put(number, "")
    if output:
        say(f"{len(output)} lines without a prompt are taken for output, and not run: {output[0][:60]}"
                   if len(output) > 1 else f"a line without a prompt is taken for output, and not run: {output[0][:60]}")


def strip_indent(text, name):
    """A block that is indented as a whole, as far as it is."""
    first = text.first()
    if first is None or not text.lines[first][:1].isspace():
        return
    line = text.lines[first]
    indent = line[:len(line) - len(line.lstrip())]
    if all(line.startswith(indent) or not line.strip() or is_in_string(text, number)
           for number, line in enumerate(text.lines)):
        text.inside, text.changed = 1, True
        return
    for number, line in enumerate(text.lines):
        if line.startswith(indent):
            text.put(number, line[len(indent):], len(indent))


def is_in_string(text, number):
    """Whether a line that is not indented may be within a string: then the parser shall say."""
    before = "\n".join(text.lines[:number])
    return before.count('"""') % 2 == 1 or before.count("'''") % 2 == 1


def quoted(value):
    return repr(value.strip())


def instead(line):
    """What is to be run in place of a line of a notebook's, or None."""
    help_ = HELP.match(line)
    if help_:
        mark, name = help_[2] or help_[5], help_[3] or help_[4]
        return f"{help_[1]}get_ipython().run_line_magic({'pinfo2' if mark == '??' else 'pinfo'!r}, {name!r})"
    magic = LINE.match(line)
    if magic and magic[3] == "%":
        name, _, rest = magic[4].partition(" ")
        call = f"get_ipython().run_line_magic({name!r}, {quoted(rest)})"
    elif magic:
        want = "getoutput" if magic[2] else "system"
        call = f"get_ipython().{want}({quoted(magic[4])})"
    else:
        bare = BARE.match(line)
        return bare and f"{bare[1]}get_ipython().bare({quoted(bare[2])})"
    return f"{magic[1]}{magic[2]} = {call}" if magic[2] else magic[1] + call


def mend_line(text, number):
    """Return: whether there was something to mend; what goes on behind a backslash is of it."""
    if not 0 <= number < len(text.lines) or text.lines[number] != text.written[number][text.lost[number]:]:
        return False
    last = number
    whole = text.lines[number]
    while whole.endswith("\\") and last + 1 < len(text.lines):
        last += 1
        whole = whole[:-1] + text.lines[last].strip()
    call = instead(whole)
    if not call:
        return False
    text.put(number, call)
    for other in range(number + 1, last + 1):
        text.put(other, "")
    return True


def parsed(text, name):
    """The tree, as soon as no line is in its way that a notebook would take."""
    turns = 0
    while True:
        try:
            return text.parse(name)
        except SyntaxError as problem:
            turns += 1
            at = (problem.lineno or 0) - 1
            if turns > TURNS or not (mend_line(text, at) or mend_line(text, at - 1)):
                raise


def cell_magic(text, name):
    """A cell that begins with %%, as a tree; None where it does not."""
    first = text.first()
    cell = first is not None and CELL.match(text.lines[first])
    if not cell:
        return None
    kind, line = cell[1], cell[2].strip()
    text.put(first, "")
    if kind not in AROUND:
        body = "\n".join(text.written[first + 1:])
        call = f"get_ipython().run_cell_magic({kind!r}, {line!r}, {body!r})"
        text.lines = [""] * first + [call] + [""] * (len(text.lines) - first - 1)
        return text.parse(name)
    tree = parsed(text, name)
    around = ast.parse(f"with get_ipython().around({kind!r}, {line!r}): pass\nget_ipython().cell.value")
    keep = ast.parse("get_ipython().cell.value = 0")
    for node in [*ast.walk(around), *ast.walk(keep)]:
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = first + 1
            node.col_offset, node.end_col_offset = 0, len(text.written[first])
    if tree.body:
        end = tree.body[-1]
        around.body[0].body = tree.body
        if isinstance(end, ast.Expr):
            keep.body[0].value = end.value
            tree.body[-1] = ast.copy_location(keep.body[0], end)
    return around


def is_quiet(text, node):
    """Is there a ; behind it, so that its value is not to be shown?"""
    rest = text.written[node.end_lineno - 1].encode()[node.end_col_offset:]
    return rest.lstrip().startswith(b";")


def coded(text, tree, name):
    """Code for all statements but the last where that is an expression, and for that one."""
    body, last = tree.body, None
    if body and isinstance(body[-1], ast.Expr) and not is_quiet(text, body[-1]):
        last = compile(ast.Expression(body.pop().value), name, "eval", AWAIT, dont_inherit=True)
    return compile(tree, name, "exec", AWAIT, dont_inherit=True) if body else None, last


def compiled(source, name):
    """For source.c: (code, code of the last expression, what waits for a coroutine) of a step;
    None where it is as wrong in a notebook."""
    text = Text(source)
    try:
        strip_fence(text)
        strip_prompts(text)
        strip_indent(text, name)
        tree = cell_magic(text, name) or parsed(text, name)
        return *coded(text, tree, name), wait
    except SyntaxError as problem:
        if not text.changed:
            return None
        raise problem.with_traceback(None) from None


# --- await ---------------------------------------------------------------------------

_loop = None
_owner = None


def wait(coroutine):
    """Run it to its end, in a loop that the session keeps."""
    global _loop, _owner
    import asyncio
    import os
    if _loop is None or _loop.is_closed() or _owner != os.getpid():
        _loop, _owner = asyncio.new_event_loop(), os.getpid()
    asyncio.set_event_loop(_loop)
    name = coroutine.cr_code.co_filename
    try:
        return _loop.run_until_complete(coroutine)
    except BaseException as problem:
        # the frames of asyncio are nobody's affair
        trace = problem.__traceback__
        while trace and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        raise problem.with_traceback(trace or problem.__traceback__)
