# SPDX-License-Identifier: MIT
"""tree.py - the parts of rootfs/trees/build that need Python

	tree.py tables MANIFEST LIB VERSION OBJ    write OBJ/tables.c, frozen code beside it
	tree.py places MANIFEST VERSION FILE       write a C file of what differs between trees
	tree.py tree MANIFEST SOURCE VERSION DEST  fill a tree, all but bin/python3
	tree.py list DEST                          print a tree's list
	tree.py verify DEST LIST                   compare a tree with its list

A list has one line for each thing in the tree, sorted by path:

	dir MODE - PATH
	file MODE SHA256 PATH
	link - TARGET PATH

A blank, tab, newline or backslash in PATH or TARGET is written as \\ooo.
"""
import hashlib
import marshal
import os
import py_compile
import shutil
import stat
import sys


class Bad(Exception):
    """One line that says what is wrong and how to mend it."""


def manifest(path):
    """The manifest's rows as (kind, words, text)."""
    rows = []
    with open(path, encoding="utf-8") as data:
        joined = data.read().replace("\\\n", "")
        for line in joined.splitlines(True):
            if line.startswith("\t"):
                if not rows or rows[-1][0] != "text":
                    raise Bad(f"{path}: '{line.strip()}' has no file above it")
                rows[-1][2].append(line[1:])
            elif line.strip() and not line.startswith("#"):
                kind, *words = line.split()
                if not words:
                    raise Bad(f"{path}: '{kind}' needs a name")
                rows.append((kind, words, []))
    return rows


def only(rows, kind):
    return [words for row_kind, words, text in rows if row_kind == kind]


def write_if_new(path, data):
    """Leave a file alone that holds these bytes already, so that its age stays."""
    try:
        with open(path, "rb") as old:
            if old.read() == data:
                return
    except FileNotFoundError:
        pass
    with open(path, "wb") as new:
        new.write(data)


# --- tables -------------------------------------------------------------------------

def find_source(lib, name):
    """The file of a module, and whether it is a package."""
    base = os.path.join(lib, *name.split("."))
    package = os.path.join(base, "__init__.py")
    return (package, True) if os.path.exists(package) else (base + ".py", False)


def tables(manifest_path, lib, version, obj):
    """tables.c: the C modules for PyImport_AppendInittab and the frozen modules."""
    rows = manifest(manifest_path)
    modules = sorted(words[0] for words in only(rows, "module"))
    frozen = sorted(name for words in only(rows, "frozen") for name in words)
    blob = bytearray()
    out = ["/* made by rootfs/trees/tree.py from core.manifest */",
           '#include "rootfs/interpreter/tables.h"', ""]
    out += [f"PyObject *PyInit_{name}(void);" for name in modules]
    out += ["", "const struct module_row module_rows[] = {"]
    out += [f'\t{{ "{name}", PyInit_{name} }},' for name in modules]
    out += ["\t{ NULL, NULL },", "};", ""]
    entries = []
    code_of = [(name, *find_source(lib, name)) for name in frozen]
    code_of += [(words[0], os.path.join(os.path.dirname(manifest_path), "../python", words[1]), False)
                for words in only(rows, "own")]
    longer = {os.path.join(lib, name): appended(manifest_path, own)
              for name, own in only(rows, "append")}
    for name, path, package in code_of:
        shown = jail_name(lib, path, version) if name in frozen else f"<{name}>"
        text = b"".join(open(one, "rb").read() for one in (path, longer.get(path)) if one)
        code = compile(text, shown, "exec", dont_inherit=True, optimize=0)
        data = marshal.dumps(code)
        entries.append(f'\t{{ "{name}", frozen_code + {len(blob)}, {len(data)}, '
                       f"{int(package)}, NULL }},")
        blob += data
    out += ['__asm__(".section .rodata\\n.hidden frozen_code\\n.globl frozen_code\\n"',
            '\t"frozen_code:\\n\\t.incbin \\"" FROZEN_CODE "\\"\\n\\t.byte 0\\n"',
            '\t".previous");', "extern const unsigned char frozen_code[];", "",
            "const struct _frozen frozen_rows[] = {", *entries,
            "\t{ NULL, NULL, 0, 0, NULL },", "};", ""]
    write_if_new(os.path.join(obj, "frozen.bin"), bytes(blob))
    digest = hashlib.sha256(blob).hexdigest()
    out.append(f"/* frozen.bin is {digest} */\n")
    write_if_new(os.path.join(obj, "tables.c"), "\n".join(out).encode())


def places(manifest_path, version, out_path):
    """sys.path, the environment and the preload list, as rootfs/interpreter/tables.h has them."""
    rows = manifest(manifest_path)
    paths = [f"/lib/python{version}"] + [words[0] for words in only(rows, "path")]
    preload = ",".join(name for words in only(rows, "preload") for name in words)
    out = [f"/* made by rootfs/trees/tree.py from {os.path.basename(manifest_path)} */",
           '#include "rootfs/interpreter/tables.h"', "", "const wchar_t *const tree_paths[] = {"]
    out += [f'\tL"{path}",' for path in paths]
    out += ["\tNULL", "};", "", "const struct env_row tree_env[] = {"]
    out += [f'\t{{ "{name}", "{value}" }},' for name, value in only(rows, "env")]
    out += ["\t{ NULL, NULL },", "};", "", f'const char tree_preload[] = "{preload}";', ""]
    write_if_new(out_path, "\n".join(out).encode())


# --- tree ---------------------------------------------------------------------------

def jail_name(lib, path, version):
    """What a traceback calls the file: its name inside the jail."""
    return f"/lib/python{version}/" + os.path.relpath(path, lib)


def compile_file(path, target, shown):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    py_compile.compile(path, target, shown, doraise=True, optimize=0,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    os.chmod(target, 0o444)


def join(paths, target):
    """Files, one behind the other."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as out:
        for path in paths:
            with open(path, "rb") as data:
                out.write(data.read())
    os.chmod(target, 0o444)
    return target


def appended(manifest_path, name):
    """The file of an append row."""
    return os.path.join(os.path.dirname(manifest_path), "../appended", name)


def compile_changed(manifest_path, rows, lib, version, dest):
    """Modules of the standard library that something of ours comes behind, or takes the place of."""
    for name, own in only(rows, "append"):
        target = os.path.join(dest, name + "c")
        source = join([os.path.join(lib, name), appended(manifest_path, own)], target + ".source")
        compile_file(source, target, jail_name(lib, os.path.join(lib, name), version))
        os.remove(source)
    for name, own in only(rows, "instead"):
        path = name.replace(".", "/") + ".py"
        compile_file(os.path.join(os.path.dirname(manifest_path), "../python", own),
                     os.path.join(dest, path + "c"), jail_name(lib, os.path.join(lib, path), version))


def stdlib(rows, lib, host_lib, version, dest):
    """Every module as NAME.pyc beside nothing: nothing to compare it with, or rewrite."""
    dropped = {words[0] for words in only(rows, "drop")}
    unused = set(dropped)
    for folder, folders, files in os.walk(lib):
        inside = os.path.relpath(folder, lib)
        top = inside == "."
        if top:
            unused -= set(folders) | set(files)
        folders[:] = sorted(name for name in folders
                            if name not in ("__pycache__", "test", "tests")
                            and not (top and name in dropped))
        for name in sorted(files):
            if top and name in dropped:
                continue
            path = os.path.join(folder, name)
            target = os.path.normpath(os.path.join(dest, inside, name))
            if name.endswith(".py"):
                compile_file(path, target + "c", jail_name(lib, path, version))
    if unused:
        raise Bad(f"the manifest drops {sorted(unused)}, which is not there: mend it")
    # made when Debian built Python, so it is not in the source
    made = [name for name in sorted(os.listdir(host_lib)) if
            name.startswith("_sysconfigdata_") and name.endswith(".py") and
            not os.path.islink(os.path.join(host_lib, name))]
    if not made:
        raise Bad(f"{host_lib} has no _sysconfigdata: reinstall "
                  f"libpython{version}-minimal")
    for name in made:
        compile_file(os.path.join(host_lib, name), os.path.join(dest, name + "c"),
                     f"/lib/python{version}/{name}")


def check_modules(rows, dynload):
    """Nothing that Debian ships as a shared object is forgotten."""
    known = {words[0] for kind in ("module", "absent") for words in only(rows, kind)}
    found = {name.split(".")[0] for name in os.listdir(dynload)}
    if found - known:
        raise Bad(f"core.manifest has no row for {sorted(found - known)}: add a module "
                  "or an absent row")


def put_file(target, data):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as out:
        out.write(data)
    os.chmod(target, 0o444)


def copy_file(source, target):
    if not os.path.exists(source):
        raise Bad(f"{source} is missing: reinstall the package that owns it")
    with open(source, "rb") as data:
        put_file(target, data.read())


def copy_tree(source, target, without):
    if not os.path.isdir(source):
        raise Bad(f"{source} is missing: install the package that owns it")
    for folder, folders, files in os.walk(source):
        top = folder == source
        folders[:] = sorted(n for n in folders if not (top and n in without))
        for name in sorted(files):
            if top and name in without:
                continue
            path = os.path.join(folder, name)
            new = os.path.join(target, os.path.relpath(path, source))
            if os.path.islink(path):
                aim = os.readlink(path)
                inside = os.path.normpath(os.path.join(folder, aim))
                if aim.startswith("/") or not inside.startswith(source + "/"):
                    raise Bad(f"{path} points out of {source}: leave it out")
                os.makedirs(os.path.dirname(new), exist_ok=True)
                os.symlink(aim, new)
            else:
                copy_file(path, new)


def tree(manifest_path, source, version, dest):
    rows = manifest(manifest_path)
    lib = os.path.join(source, "Lib")
    host_lib = f"/usr/lib/python{version}"
    check_modules(rows, os.path.join(host_lib, "lib-dynload"))
    stdlib(rows, lib, host_lib, version, os.path.join(dest, f"lib/python{version}"))
    compile_changed(manifest_path, rows, lib, version, os.path.join(dest, f"lib/python{version}"))
    for kind, words, text in rows:
        target = os.path.join(dest, words[0])
        if kind == "dir":
            os.makedirs(target)
        elif kind == "link":
            os.symlink(words[1], target)
        elif kind == "text":
            put_file(target, "".join(text).encode())
        elif kind == "copy":
            copy_tree(words[0], os.path.join(dest, words[1]), set(words[2:]))
        elif kind == "doc":
            doc = f"usr/share/doc/{words[0]}/copyright"
            copy_file(os.path.join("/", doc), os.path.join(dest, doc))
        elif kind not in ("module", "absent", "drop", "frozen", "own", "append", "instead"):
            raise Bad(f"{manifest_path}: no such kind of row: '{kind}'")
    copy_file(os.path.join(source, "debian/copyright"),
              os.path.join(dest, f"usr/share/doc/python{version}/copyright"))
    for folder, _, _ in os.walk(dest):
        # The owner may write folders, so that an ordinary user can remove the tree; in a
        # jail it is mounted read-only.
        os.chmod(folder, 0o755)


# --- list ---------------------------------------------------------------------------

def escape(name):
    """As jail/base/tree.c has it: no name can look like another field or line."""
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in name)


def tree_list(dest):
    lines = []
    for folder, folders, files in os.walk(dest):
        for name in folders + files:
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, dest)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                line = f"link - {escape(os.readlink(path))}"
            elif stat.S_ISDIR(mode):
                line = f"dir {stat.S_IMODE(mode):04o} -"
            elif stat.S_ISREG(mode):
                with open(path, "rb") as data:
                    line = (f"file {stat.S_IMODE(mode):04o} "
                            f"{hashlib.sha256(data.read()).hexdigest()}")
            else:
                raise Bad(f"'{inside}' is neither file, folder nor link: leave it out")
            lines.append((inside, f"{line} {escape(inside)}\n"))
    return [line for inside, line in sorted(lines)]


def verify(dest, list_path):
    with open(list_path, encoding="utf-8", newline="\n") as lines:
        want = set(lines)
    have = set(tree_list(dest))
    for line in sorted(want ^ have, key=lambda line: line.split()[-1]):
        print(("missing: " if line in want else "not in the list: ") + line.rstrip())
    if want != have:
        raise Bad(f"{dest} is not what {list_path} says: build it again")


COMMANDS = {
    "tables": (tables, 4),
    "places": (places, 3),
    "tree": (tree, 4),
    "list": (lambda dest: sys.stdout.writelines(tree_list(dest)), 1),
    "verify": (verify, 2),
}


def main(arguments, commands, usage):
    command, count = commands.get(arguments[0] if arguments else "", (None, 0))
    if not command or len(arguments) != count + 1:
        sys.exit("usage: " + usage)
    try:
        command(*arguments[1:])
    except (Bad, OSError, SyntaxError) as problem:
        sys.exit(f"rootfs: {problem}")


if __name__ == "__main__":
    main(sys.argv[1:], COMMANDS, __doc__)
