# SPDX-License-Identifier: MIT
"""pieces.py - where the statements of a script begin, and whether the last one is whole

pieces.c runs this in a jail of its own and adds a call of say(). Nothing of the text is run.
A line that begins with a colon where a statement could begin is a command of the agent's; one that
begins with %% is a cell, as in a notebook, which goes on up to an empty line.
"""
import binascii
import codeop
import io
import tokenize

QUIET = tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER
DEEPER = {tokenize.INDENT: 1, tokenize.DEDENT: -1}
CARRIERS = "else", "elif", "except", "finally"
AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def scan(lines, begun):
    """Note in which lines statements begin, up to a command; how many lines that were."""
    fresh, depth, decorated = True, 0, False  # fresh: a logical line begins
    try:
        for kind, word, (row, column), *_ in tokenize.generate_tokens(iter(lines).__next__):
            depth += DEEPER.get(kind, 0)
            if kind == tokenize.NEWLINE:
                fresh = True
            elif fresh and kind not in QUIET and kind not in DEEPER:
                fresh = False
                if word.startswith(":") and column == 0:
                    begun.append(row)
                    return row
                if lines[row - 1].startswith("%%"):
                    begun.append(row)
                    return next((end for end in range(row, len(lines)) if not lines[end].strip()), len(lines))
                if depth == 0 or not begun:
                    if not begun or not decorated and word not in CARRIERS:
                        begun.append(row)
                    decorated = word == "@"
    except tokenize.TokenError as e:
        if fresh:  # a string without an end
            begun.append(min(e.args[1][0], len(lines)))
    except SyntaxError:
        pass  # the rest is one statement, and Python will say what is wrong
    return len(lines)


def whole(source):
    if source.startswith("%%"):
        return source.endswith("\n")
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= AWAIT
    try:
        return compiler(source) is not None
    except Exception:
        return True  # wrong, and run to be told why


def marks(text, script):
    """For each line and for the end: "b" where something begins, else "."."""
    lines = list(io.StringIO(text))
    found, at = ["."] * len(lines) + ["b"], 0
    while at < len(lines):
        begun = []
        rows = scan(lines[at:], begun)
        for row in begun:
            found[at + row - 1] = "b"
        at += rows
    if "b" in found[:-1]:
        last = "".join(lines[len(lines) - 1 - found[-2::-1].index("b"):])
        # an empty line ends a block at a prompt, and in a script only the next statement does
        last = last.rstrip() if script else last[:-1].rstrip(" \t\r\f")
        if not last.startswith(":") and not whole(last) and not (script and last.startswith("%%")):
            found[-1] = "."
    return "".join(found)


def say(base64, script):
    print(end=marks(binascii.a2b_base64(base64).decode(errors="replace"), script))
