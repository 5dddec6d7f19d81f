# SPDX-License-Identifier: MIT
"""own.py - the parts of stepjail-tree that need Python

	own.py wheel FILE STAGE VERSION TREE       unpack a wheel as Debian unpacks a package;
	                                           print its name, version, tag and digest
	own.py fill STAGE VERSION MULTIARCH TREE DEST
	                                           put what was unpacked into DEST, a copy of TREE

Of Python's code only what is compiled comes into the tree; of everything else, what lies
beside it. Two packages with one file, or a file that TREE has, are errors.
"""
import base64
import csv
import hashlib
import io
import os
import re
import sys
import zipfile

import tree
from data import PACKAGES, compile_all, copyrights, dynamic, objects
from tree import Bad, copy_file, put_file

ELF = b"\x7fELF"


# --- wheel --------------------------------------------------------------------------

def fits(tag, version, machine):
    """Whether a tag, as in cp311-cp311-manylinux_2_28_x86_64, is for this Python and C library."""
    python, abi, platform = tag.split("-")
    minor = int(version.split(".")[1])
    old = re.fullmatch(r"(?:py|cp)3(\d*)", python)
    if not old or int(old[1] or 0) > minor or abi not in ("none", "abi3", f"cp3{minor}"):
        return False
    if python.startswith("cp") and int(old[1] or 0) != minor and abi != "abi3":
        return False
    libc = re.fullmatch(rf"manylinux_2_(\d+)_{machine}", platform)
    if libc:
        return int(libc[1]) <= int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])
    return platform == "any" or platform in [
        f"{name}_{machine}" for name in ("linux", "manylinux1", "manylinux2010", "manylinux2014")]


def check_record(path, files, record):
    """Every file is there with the digest that the wheel itself has of it."""
    want = {row[0]: row[1] for row in csv.reader(io.StringIO(files[record].decode())) if row}
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        if name != record and want.pop(name, None) != f"sha256={digest}":
            raise Bad(f"{path}: {name} is not what the wheel's RECORD says: get it anew")
    want.pop(record, None)
    if want:
        raise Bad(f"{path}: {sorted(want)[0]} is missing: get it anew")


def place_of(name):
    """Where a file of a wheel goes, below the folder of modules; None for what stays out."""
    parts = name.split("/")
    if parts[0].endswith(".data"):
        return "/".join(parts[2:]) if parts[1] in ("purelib", "platlib") else None
    return name


def wheel(path, stage, version, base):
    machine = os.uname().machine
    with open(path, "rb") as data:
        digest = hashlib.sha256(data.read()).hexdigest()
    try:
        with zipfile.ZipFile(path) as whole:
            files = {n: whole.read(n) for n in sorted(whole.namelist()) if not n.endswith("/")}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
        raise Bad(f"{path} is not a wheel: {problem}") from None
    heads = [name for name in files if re.fullmatch(r"[^/]+\.dist-info/WHEEL", name)]
    if len(heads) != 1 or heads[0][:-5] + "RECORD" not in files:
        raise Bad(f"{path} is not a wheel: it has no .dist-info with WHEEL and RECORD")
    check_record(path, files, heads[0][:-5] + "RECORD")
    tags = re.findall(r"^Tag: *(\S+-\S+-\S+)\s*$", files[heads[0]].decode(), re.M)
    tag = next((tag for tag in tags if fits(tag, version, machine)), None)
    if not tag:
        raise Bad(f"{path} is for {' and '.join(tags) or 'nothing'}, and the tree has Python "
                  f"{version} on {machine}: take a wheel for that")
    for name, data in files.items():
        if name.startswith("/") or {"..", ".", ""} & set(name.split("/")):
            raise Bad(f"{path}: '{name}' is no path of a wheel's file")
        place = place_of(name)
        if data.startswith(ELF) and base == "core":
            raise Bad(f"{path} has machine code, which the tree core cannot load: use --from data")
        if place:
            put_new(os.path.join(stage, PACKAGES, place), place, data)
    print("wheel", *heads[0].split(".dist-info/")[0].split("-")[:2], tag, digest)


def put_new(target, name, data):
    if os.path.lexists(target):
        raise Bad(f"{name} is in two of the packages: leave one of them out")
    put_file(target, data)


# --- fill ---------------------------------------------------------------------------

def new_files(stage):
    """What Python finds of the packages, by paths in the folder of modules."""
    root = os.path.join(stage, PACKAGES)
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            inside = os.path.relpath(os.path.join(folder, name), root)
            if not name.endswith(".pyc") and not inside.endswith(".dist-info/RECORD"):
                yield inside


def check_new(base, target, inside):
    if os.path.lexists(target):
        raise Bad(f"{inside} is in the tree {base}: leave its package out")


def link(elfs, stage, dest, multiarch):
    """Copy what the new ELFs are linked with, unless the tree has it."""
    have = {name for _, _, files in os.walk(dest) for name in files}
    found = objects(stage)
    todo = list(elfs)
    while todo:
        user = todo.pop()
        for name in sorted(set(dynamic(user)) - have):
            if name not in found:
                raise Bad(f"{os.path.relpath(user, dest)} is linked with {name}, which is neither "
                          "in the tree nor in a package that was given: give that, too")
            have.add(name)
            todo.append(os.path.join(dest, "lib", multiarch, name))
            copy_file(os.path.realpath(found[name]), todo[-1])


def fill(stage, version, multiarch, base, dest):
    folder = PACKAGES if base == "data" else f"lib/python{version}"
    sources, elfs = [], []
    for inside in new_files(stage):
        source = os.path.join(stage, PACKAGES, inside)
        place = os.path.join(folder, inside)
        target = os.path.join(dest, place) + ("c" if inside.endswith(".py") else "")
        check_new(base, target, inside)
        if inside.endswith(".py"):
            sources.append((source, target, "/" + place))
            continue
        copy_file(os.path.realpath(source), target)
        with open(target, "rb") as data:
            if data.read(4) == ELF:
                elfs.append(target)
    if not sources and not elfs:
        raise Bad("the packages have no module: give wheels, or packages such as python3-yaml")
    if elfs and base == "core":
        raise Bad(f"{os.path.relpath(elfs[0], dest)} is machine code, which the tree core cannot "
                  "load: use --from data")
    compile_all(sources)
    link(elfs, stage, dest, multiarch)
    if os.path.isdir(os.path.join(stage, "usr/share/doc")):
        copyrights(stage, dest)
    for folder, _, _ in os.walk(dest):
        os.chmod(folder, 0o755)


COMMANDS = {"wheel": (wheel, 4), "fill": (fill, 5)}

if __name__ == "__main__":
    tree.main(sys.argv[1:], COMMANDS, __doc__)
