# change the standard library for the next run | read-only overlay | EROFS
# SPDX-License-Identifier: MIT
"""argv: a folder of modules that this Python imports from, with a module mod.py in it or,
in the jail, none: there it is the standard library's own."""
import errno
import os
import sys

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.__file__)
module = next(os.path.join(folder, name) for name in sorted(os.listdir(folder))
              if name.endswith((".py", ".pyc", ".zip")))
doors = {
    "a new module": lambda: open(os.path.join(folder, "sitecustomize.py"), "w"),
    "a compiled one": lambda: open(os.path.join(folder, "poison.pyc"), "wb"),
    "a cache folder": lambda: os.mkdir(os.path.join(folder, "__pycache__x")),
    "an old module": lambda: open(module, "r+b"),
    "in its place": lambda: os.rename(module, module + "x"),
}
opened, held = 0, []
for what, act in doors.items():
    try:
        act()
        opened += 1
        print(what, "OPEN", file=sys.stderr)
    except OSError as error:
        held.append(errno.errorcode[error.errno])
        print(what, held[-1], file=sys.stderr)
print(f"{opened} of {len(doors)}" if opened else " ".join(sorted(set(held))))
sys.exit(0 if opened else 1)
