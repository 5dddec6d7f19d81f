#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""includes.py - who may include whom: arrows between rooms, no circle of rooms or many files

A module is a .c file and its .h file. A room is a folder; one within it is a room of its
own. Prints what is wrong; exits with 1 if anything is.
"""
import re
import subprocess
import sys

# what a top room may include beside itself; the interpreter makes its clones' walls itself
OUTWARD = {"init": {"init"}, "jail": {"jail", "init"}, "agent": {"agent", "init"},
           "rootfs": {"rootfs", "init", "jail"}}
CIRCLE_MAX = 3
# whose rooms are in an order, that of a table
ROOMS = ("jail", "agent")


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
    """The folder of a module."""
    return module.rsplit("/", 1)[0]


def places(top):
    """{room: its place} in the table of a top room's README; the top room itself comes last."""
    with open(f"{top}/README.md", encoding="utf-8") as text:
        table = text.read().split("\n## ")[0]
    listed = re.findall(r"^\| `([\w/]+)/` \|", table, re.M)
    return {name: i for i, name in enumerate([f"{top}/{name}" for name in listed] + [top])}


def arrows(modules):
    """Each include that points the wrong way."""
    place = {name: at for top in ROOMS for name, at in places(top).items()}
    for module, includes in modules.items():
        top, here = module.split("/")[0], room(module)
        if top in ROOMS and here not in place:
            yield f"{module}: {top}/README.md lists no room {here}"
            continue
        for other in includes:
            if other.split("/")[0] not in OUTWARD[top]:
                yield f"{module} includes {other}: arrows point inward only"
            elif here in place and place.get(room(other), -1) > place[here]:
                yield f"{module} includes {other}: a room that {top}/README.md lists later"


def rooms(modules):
    """{room: the other rooms that its modules include}."""
    graph_of = {}
    for module, includes in modules.items():
        graph_of.setdefault(room(module), set()).update(set(map(room, includes)) - {room(module)})
    return graph_of


def circles(nodes):
    """The sets of modules, or rooms, that reach each other: by reach, as there are few."""
    reach = {}
    for start in nodes:
        seen, todo = set(), [start]
        while todo:
            for other in nodes.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reach[start] = seen
    return {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in nodes
            if a in reach[a]}


def main():
    modules = graph()
    wrong = sorted(arrows(modules))
    wrong += [f"rooms include each other in a circle: {' '.join(sorted(c))}"
              for c in circles(rooms(modules))]
    wrong += [f"{len(c)} files include each other in a circle: {' '.join(sorted(c))}"
              for c in circles(modules) if len(c) > CIRCLE_MAX]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
