# SPDX-License-Identifier: MIT
"""data.py - the parts of `rootfs/trees/build data` that need Python

	data.py packages MANIFEST VERSION          print the packages' names
	data.py modules MANIFEST STAGE DEST        what Python reads, out of unpacked packages
	data.py rest MANIFEST STAGE LIB VERSION MULTIARCH DEST
	                                           fill in what DEST, with its bin/python3,
	                                           lacks: shared objects, loader, copyrights
"""
import fnmatch
import glob
import os
import re
import subprocess
import sys
import traceback

import tree
from tree import Bad, appended, copy_file, join, only, put_file

PACKAGES = "usr/lib/python3/dist-packages"


class Globs:
    """The rows of a kind; each must be of use."""

    def __init__(self, rows, kind):
        self.kind = kind
        self.unused = {words[0] for words in only(rows, kind)}
        self.globs = [(glob, glob[1:] if glob[0] == "/" else f"{PACKAGES}/{glob}")
                      for glob in sorted(self.unused)]

    def match(self, path):
        hits = {glob for glob, whole in self.globs if fnmatch.fnmatchcase(path, whole)}
        self.unused -= hits
        return bool(hits)

    def check(self):
        if self.unused:
            raise Bad(f"the manifest's {self.kind} of {sorted(self.unused)} is of no use: "
                      "mend it")


def packages(manifest_path, version):
    names = sorted(name.replace("@VERSION@", version) for words in
                   only(tree.manifest(manifest_path), "package") for name in words)
    print(*names, sep="\n")


# --- modules ------------------------------------------------------------------------

def files_of(stage, cut):
    """Paths in the stage of all files that are not cut."""
    for folder, folders, files in os.walk(stage):
        inside = os.path.relpath(folder, stage)
        inside = "" if inside == "." else inside + "/"
        folders[:] = sorted(n for n in folders if not cut.match(inside + n))
        for name in sorted(files):
            if not cut.match(inside + name):
                yield inside + name


def compile_all(jobs):
    """Each in a process of its own, forked from this one: what marshal writes depends on
    which strings were interned before, and the order of other files must not show."""
    running = 0
    for path, target, shown in jobs:
        if running == (os.cpu_count() or 1):
            reap()
            running -= 1
        running += 1
        if os.fork() == 0:
            status = 1
            try:
                tree.compile_file(path, target, shown)
                status = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(status)
    for _ in range(running):
        reap()


def reap():
    if os.wait()[1] != 0:
        raise Bad("a module cannot be compiled: see above, and cut it")


def modules(manifest_path, stage, dest):
    rows = tree.manifest(manifest_path)
    cut, keep = Globs(rows, "cut"), Globs(rows, "keep")
    longer = {f"{PACKAGES}/{path}": own for path, own in only(rows, "append")}
    sources = []
    for path in files_of(stage, cut):
        source, target = os.path.join(stage, path), os.path.join(dest, path)
        if path.startswith(PACKAGES + "/") and path.endswith(".py"):
            own = longer.pop(path, None)
            if own:
                source = join([source, appended(manifest_path, own)], target + "c.source")
            sources.append((source, target + "c", "/" + path))
        elif keep.match(path) or (path.startswith(PACKAGES + "/") and
                                  path.endswith(".so")):
            copy_file(source, target)
    cut.check()
    keep.check()
    if longer:
        raise Bad(f"the manifest appends to {sorted(longer)}, which is not there: mend it")
    compile_all(sources)
    for source, target, _ in sources:
        if source == target + ".source":
            os.remove(source)


# --- the rest -----------------------------------------------------------------------

def dynamic(path):
    """The shared objects that an ELF is linked with."""
    said = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said.stdout)


def interpreter(path):
    said = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True)
    return re.search(r"program interpreter: (.*)\]", said.stdout).group(1)


def objects(stage):
    """Every name of a shared object in the stage, and its file."""
    found = {}
    for folder, _, files in os.walk(stage):
        if "/" + PACKAGES in folder:
            continue
        for name in files:
            if ".so" in name:
                found.setdefault(name, os.path.join(folder, name))
    return found


def link_closure(stage, dest, libraries):
    """Copy what the tree's ELFs are linked with, and what that is linked with."""
    loader = interpreter(os.path.join(dest, "bin/python3"))
    have, found = {os.path.basename(loader)}, objects(stage)
    copy_file(os.path.realpath(found[os.path.basename(loader)]), dest + loader)
    os.chmod(dest + loader, 0o555)
    todo = [os.path.join(dest, "bin/python3")]
    for folder, _, files in os.walk(dest):
        todo += [os.path.join(folder, name) for name in files if name.endswith(".so")]
    while todo:
        for name in dynamic(todo.pop()):
            if name in have:
                continue
            have.add(name)
            if name not in found:
                raise Bad(f"no package has {name}: add a package row for the one that "
                          "has, or cut what is linked with it")
            todo.append(os.path.join(libraries, name))
            copy_file(os.path.realpath(found[name]), todo[-1])


def copyrights(stage, dest):
    docs = os.path.join(stage, "usr/share/doc")
    for name in sorted(os.listdir(docs)):
        path = os.path.join("usr/share/doc", name, "copyright")
        if not os.path.exists(os.path.join(stage, path)):
            raise Bad(f"{path} is missing: add a package row for the one that has it")
        if not os.path.exists(os.path.join(dest, path)):
            copy_file(os.path.join(stage, path), os.path.join(dest, path))


def rest(manifest_path, stage, lib, version, multiarch, dest):
    rows = tree.manifest(manifest_path)
    library = f"lib/python{version}"
    for words in only(rows, "restore"):
        if words[0].endswith(".py"):
            tree.compile_file(os.path.join(lib, words[0]), os.path.join(dest, library, words[0] + "c"),
                              tree.jail_name(lib, os.path.join(lib, words[0]), version))
        for folder, folders, files in os.walk(os.path.join(lib, words[0])):
            folders[:] = [n for n in folders if n not in ("test", "tests", "command", "macholib")]
            for name in files:
                if not name.endswith(".py"):
                    continue
                path = os.path.join(folder, name)
                target = os.path.join(dest, library, os.path.relpath(path, lib) + "c")
                tree.compile_file(path, target, tree.jail_name(lib, path, version))
    for name, own in only(rows, "instead"):
        path = os.path.join(library, *name.split(".")) + ".pyc"
        tree.compile_file(os.path.join(os.path.dirname(manifest_path), "../python", own),
                          os.path.join(dest, path), f"/{path[:-1]}")
    # built in is what core.manifest has rows for
    dynload = os.path.join(stage, f"usr/lib/python{version}/lib-dynload")
    for name in os.listdir(dynload):
        if name.split(".")[0] in {"_" + words[0] for words in only(rows, "restore")}:
            copy_file(os.path.join(dynload, name), os.path.join(dest, library, name))
    for pattern, path in only(rows, "join"):
        parts = sorted(glob.glob(stage + pattern))
        if not parts:
            raise Bad(f"the manifest joins {pattern}, which is not there: mend it")
        join(parts, os.path.join(dest, path))
    link_closure(stage, dest, os.path.join(dest, "lib", multiarch))
    copyrights(stage, dest)
    for folder, _, _ in os.walk(dest):
        os.chmod(folder, 0o755)


COMMANDS = {"packages": (packages, 2), "modules": (modules, 3), "rest": (rest, 6)}

if __name__ == "__main__":
    tree.main(sys.argv[1:], COMMANDS, __doc__)
