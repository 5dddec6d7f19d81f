#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""privileged.py - which files' code runs with privilege: `tests/privileged.py OBJECT...`

The objects are stepjail's, compiled with each function and each variable in a section of its
own, so that relocations are a graph of functions. What ENTRIES reach without CUT runs with
privilege. Prints a line for each file that has any of it: its name, for a .c file how many of
its functions they are, and the shortest way to the first. Its headers come along.
"""
import collections
import re
import subprocess
import sys

# file.function: why it is in the table
ENTRIES = {
    "main.main": "the launcher, until run_confine()",
    "stage.stage_run": "its child, until exec",
    "keeper.keep": "the keeper",
    "spawner.spawner_serve": "the spawner of serve",
}
OTHER = "another command, which starts no program for anybody"
GUEST = "another program, which it becomes, or nothing: it parses the options that run parses"
WATCHER = "the launcher once it is a watcher: run_confine() comes before, in run.c"
# a launch that fails is reported with rights: no program has run in its jail
LATE = "behind the watcher's loop, so confined if a program has run"
# from here on it reads what jails and the client say, confined
COPIER = "the process that copies for --out, which has given up its rights"
SUPERVISOR = "the supervisor, which has given up its rights"
CUT = {
    "check.command_check": OTHER, "explain.command_explain": OTHER,
    "main.command_help": OTHER, "main.command_version": OTHER,
    "escape.command_escape": OTHER, "help.option_help": OTHER,
    "take.vm_take": GUEST, "take.command_vm": GUEST,
    "supervisor.supervisor_serve": SUPERVISOR,
    "run_loop.run_loop_run": WATCHER,
    "capture.capture_deliver": LATE, "outcome.outcome_judge": LATE,
    "report.report_write": LATE, "violation.violation_tell": WATCHER,
    "tell.run_tell": LATE,
    "copy.copy_try": COPIER, "copy.copy_run": COPIER,
    "copier.copier_collect": WATCHER,
}
SECTION = r"\.(text|rodata|bss|data(?:\.rel)?(?:\.ro)?(?:\.local)?)\.(.+)"


def label(node):
    """file.function of an (object, section)."""
    return f"{node[0].split('/')[-1][:-2]}.{re.fullmatch(SECTION, node[1])[2]}"


def read(objects):
    """{(object, section): names that it refers to}, {shared name: its (object, section)}."""
    refers, homes = {}, {}
    lines = subprocess.run(["objdump", "-t", "-r", *objects], text=True, check=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    for line in lines:
        if found := re.match(r"(\S+): +file format", line):
            file = found[1]
        elif found := re.match(r"RELOCATION RECORDS FOR \[(.*)\]", line):
            names = refers.setdefault((file, found[1]), [])
        elif found := re.match(rf"[0-9a-f]+ (.).{{6}} ({SECTION})\t\S+ (?:\.hidden )?(\S+)", line):
            refers.setdefault((file, found[2]), [])
            if found[1] != "l":
                homes[found[5]] = (file, found[2])
        elif found := re.match(r"[0-9a-f]+ R_\S+ +(\S+?)([-+]0x[0-9a-f]+)?$", line):
            names.append(found[1])
    return refers, homes


def reach(refers, homes):
    """{(object, section): from where it was reached first}."""
    todo = collections.deque((node, None) for node in refers
                             if re.fullmatch(SECTION, node[1]) and label(node) in ENTRIES)
    reached, left = {}, set(CUT) | set(ENTRIES)
    while todo:
        node, before = todo.popleft()
        left.discard(label(node))
        if node in reached or label(node) in CUT:
            continue
        reached[node] = before
        for name in refers[node]:
            # a shared name, or one of this object's, by its section
            other = homes.get(name, (node[0], name))
            if other in refers and re.fullmatch(SECTION, other[1]):
                todo.append((other, node))
    if left:
        sys.exit(f"privileged.py: take out what nothing reaches: {' '.join(left)}")
    return reached


def main():
    refers, homes = read(sys.argv[1:])
    reached, headers = reach(refers, homes), set()
    for file in sorted({node[0] for node in reached}):
        of, ways = [sum(node[0] == file and node[1].startswith(".text.") for node in nodes)
                    for nodes in (reached, refers)], []
        node = next(node for node in reached if node[0] == file)
        while node:
            ways.insert(0, label(node))
            node = reached[node]
        with open(file[:-2] + ".d", encoding="utf-8") as made_of:
            files = re.findall(r"(?:^|\s)((?:init|jail)/\S+\.[ch])\b", made_of.read())
        headers |= set(files[1:])
        print(f"{files[0]} {of[0]}/{of[1]} {' '.join(ways)}")
    print("\n".join(sorted(headers)))


if __name__ == "__main__":
    main()
