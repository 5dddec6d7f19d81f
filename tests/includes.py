#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""includes.py - who may include whom: arrows between rooms, and no circle of many files

A module is a .c file and its .h file. Prints what is wrong; exits with 1 if anything is.
"""
import re
import subprocess
import sys

# what a top room may include beside itself; the interpreter makes its clones' walls itself
OUTWARD = {"init": {"init"}, "jail": {"jail", "init"}, "agent": {"agent", "init"},
           "rootfs": {"rootfs", "init", "jail"}}
# within jail/: a room includes itself and those before it
ROOMS = ["base", "plan", "walls", "launch", "watch", "serve", "check"]
CIRCLE_MAX = 3


def graph():
    """{module: the modules that it includes}, of the product's own files."""
    listed = subprocess.run(["git", "ls-files", *OUTWARD], text=True, check=True,
                            stdout=subprocess.PIPE).stdout.split()
    modules = {}
    for path in listed:
        if path.endswith((".c", ".h")):
            with open(path, encoding="utf-8") as source:
                found = re.findall(r'^#include "(\w+/[\w/]+)\.h"', source.read(), re.M)
            modules.setdefault(path[:-2], set()).update(set(found) - {path[:-2]})
    return modules


def room(module):
    """The place of a module of jail/ in ROOMS; files of jail/ itself come last."""
    parts = module.split("/")
    return ROOMS.index(parts[1]) if len(parts) > 2 else len(ROOMS)


def arrows(modules):
    """Each include that points the wrong way."""
    for module, includes in modules.items():
        top = module.split("/")[0]
        for other in includes:
            if other.split("/")[0] not in OUTWARD[top]:
                yield f"{module} includes {other}: arrows point inward only"
            elif top == "jail" and other.startswith("jail/") and \
                    other.count("/") > 1 and room(other) > room(module):
                yield f"{module} includes {other}: {' '.join(ROOMS)}, and no arrow back"


def circles(modules):
    """The sets of modules that reach each other: by reach, as there are few."""
    reach = {}
    for start in modules:
        seen, todo = set(), [start]
        while todo:
            for other in modules.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reach[start] = seen
    return {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in modules
            if a in reach[a]}


def main():
    modules = graph()
    wrong = sorted(arrows(modules))
    # agent/ has its rooms to come
    wrong += [f"{len(c)} files include each other in a circle: {' '.join(sorted(c))}"
              for c in circles(modules)
              if len(c) > CIRCLE_MAX and not min(c).startswith("agent/")]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
