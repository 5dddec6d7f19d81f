"""Say what the modules of /work/skills are: the signature of the function of a module's own name,
and the first line of its docstring. Runs as a step, in a jail of its own. What it prints ends with
a NUL, so that the agent knows that all of it came.

Models may have written these files. They are read as syntax trees, and nothing of them runs.
"""
import ast
import keyword
import os
import sys

FOLDER = "/work/skills"
MODULES_MAX = 32
FILE_MAX = 64 << 10
LIST_MAX = 4000  # bytes, for all of them


def signature_of(node):
    back = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){back}"


def describe(name):
    try:
        with open(f"{FOLDER}/{name}.py", "rb") as file:
            tree = ast.parse(file.read(FILE_MAX + 1))
        node = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}.get(name)
        head = signature_of(node) if node else f"{name}: it has no function of this name"
        doc = (ast.get_docstring(node or tree) or "").strip() or "(no docstring)"
        return f"{' '.join(head.split())}\n    {doc.splitlines()[0]}"
    except Exception as problem:
        return f"{name}: it cannot be read: {type(problem).__name__}"


def clip(words, room):
    data = words.encode(errors="backslashreplace")
    return data if len(data) <= room else data[:room - 3] + b"..."


def modules():
    """Those that can be imported, the last changed one last."""
    found = []
    for entry in os.scandir(FOLDER):
        name = entry.name.removesuffix(".py")
        if name != entry.name and name.isidentifier() and not keyword.iskeyword(name) and \
                name[0] != "_" and entry.is_file(follow_symlinks=False):
            found.append((entry.stat(follow_symlinks=False).st_mtime_ns, name))
    return [name for _, name in sorted(found)]


def listing():
    names = modules()
    last = names[-MODULES_MAX:]
    lines = [clip(describe(name), LIST_MAX // len(last) - 1) for name in last]
    if len(names) > len(last):
        lines.append(b"and %d older ones, in %s" % (len(names) - len(last), FOLDER.encode()))
    return b"".join(line + b"\n" for line in lines)


sys.stdout.buffer.write(listing() + b"\0")
