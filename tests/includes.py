#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""includes.py - who may include whom: arrows between rooms, no circle of rooms or many files,
what one room alone does, and no include twice

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
# what one room of the agent alone does: (words of it, that room, what others use)
ALONE = (
    (re.compile(r'^#include "init/\w*wire\.h"|\bWIRE_[A-Z]|'
                r"\bstruct serve_(?:at|end|file|limits|state|step)\b", re.M),
     "agent/session", "the functions of agent/session/session.h"),
    (re.compile(r"\bcJSON_(?:Parse\w*|GetObjectItem\w*)\("),
     "agent/base", "json_parse() and json_get()"),
)


def sources():
    """[(module, text)] of the product's own files."""
    listed = subprocess.run(["git", "ls-files", *OUTWARD], text=True, check=True,
                            stdout=subprocess.PIPE).stdout.split()
    found = []
    for path in listed:
        if path.endswith((".c", ".h")):
            with open(path, encoding="utf-8") as source:
                found.append((path[:-2], source.read()))
    return found


def graph(texts):
    """{module: the modules that it includes}."""
    modules = {}
    for module, text in texts:
        found = re.findall(r'^#include "(\w+/[\w/]+)\.h"', text, re.M)
        modules.setdefault(module, set()).update(set(found) - {module})
    return modules


def alone(texts):
    """Each module of the agent that does what another room's business is."""
    for words, place, instead in ALONE:
        for module, text in texts:
            found = words.search(text)
            if found and module.startswith("agent/") and room(module) != place:
                yield f"{module} has {found[0]}, which is for {place}/ alone: use {instead}"


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


def twice():
    """Each include of a header that another included one has."""
    headers, system = {}, {}
    for path in subprocess.run(["git", "ls-files", "agent", "init", "jail"], text=True, check=True,
                               stdout=subprocess.PIPE).stdout.split():
        with open(path, encoding="utf-8") as source:
            if path.endswith((".c", ".h")):
                text = source.read()
                headers[path] = re.findall(r'^#include "(\w+/[\w/]+\.h)"', text, re.M)
                system[path] = re.findall(r"^#include (<[^>]+>)", text, re.M)

    def all_of(path):
        return {one for name in headers.get(path, ()) for one in {name} | all_of(name)}
    for path, names in headers.items():
        for name in names:
            by = [other for other in names if other != name and name in all_of(other)]
            if by and name != path[:-1] + "h":
                yield f"{path} includes {name}, which {by[0]} does"
        for name in system[path]:
            by = [other for other in sorted(all_of(path)) if name in system.get(other, ())]
            if by:
                yield f"{path} includes {name}, which {by[0]} does"


def main():
    texts = sources()
    modules = graph(texts)
    wrong = sorted(arrows(modules)) + list(alone(texts)) + list(twice())
    wrong += [f"rooms include each other in a circle: {' '.join(sorted(c))}"
              for c in circles(rooms(modules))]
    wrong += [f"{len(c)} files include each other in a circle: {' '.join(sorted(c))}"
              for c in circles(modules) if len(c) > CIRCLE_MAX]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
