# SPDX-License-Identifier: MIT
"""table.py - what compare found, as the Markdown page tests/cpython/README.md"""
import collections

import suite

HEAD = """\
# CPython's own tests, outside a jail and inside

`make cpython` makes this page. It runs CPython's own test suite, Debian's
{package} {version}, under the interpreter of the tree core as
`python3 -m test -u none` would, each of {modules} modules in a process of its own, in three
configurations:

- **outside**: the same tree by chroot, an ordinary user, no wall: `outside`
- **off**: in a jail of `stepjail run`, with `--lock-code=no`
- **locked**: in a jail with `--lock-code=yes`, which is what core has by default

In the jails loopback is up and limits are generous:
`{options}`.

Every test whose outcome is another inside (what else it raises counts too) is matched by a
row of `reasons`: the test, the evidence in what it said, the wall. A difference without a
row fails `make cpython`, and so does a row that no difference needs. What differs, or
changes, is run twice. `run` keeps its results in build/cpython and goes on where it was
stopped; `compare` makes the tables. `make test` does the same with a few quick modules:
`subset`.
"""
OUTCOMES = ("ok", "skipped", "expected failure", "failed", "error", "died or hung")


def last(outcomes):
    """Outcome → how many tests, each by its last run."""
    count = collections.Counter()
    for test, text in outcomes.text.items():
        outcome = text.split("\n", 1)[0]
        if test == outcomes.module[test]:
            continue
        count["died or hung" if outcome.startswith(("died", "hung")) else outcome] += 1
    return count


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def rows(heads, lines):
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for line in lines:
        yield "| " + " | ".join(cell(str(word)) for word in line) + " |"
    yield ""


def counts(columns):
    yield "## Tests by their outcome\n"
    found = {name: last(outcomes) for name, outcomes in columns.items()}
    yield from rows(["outcome", *found], (
        [outcome, *(count[outcome] for count in found.values())] for outcome in OUTCOMES))
    yield "A failing subtest is counted beside its test.\n"


def by_wall(reasons, jails):
    yield "## Differences by the wall that is why\n"
    walls = collections.defaultdict(collections.Counter)
    for reason in reasons:
        for jail in jails:
            walls[reason.wall][jail] += len(reason.found[jail])
    lines = [[wall, *(count[jail] for jail in jails)] for wall, count in
             sorted(walls.items(), key=lambda item: -sum(item[1].values()))]
    lines.append(["**all**", *(sum(count[jail] for count in walls.values())
                               for jail in jails)])
    yield from rows(["wall", *jails], lines)
    yield "## Every reason\n"
    lines = []
    for reason in reasons:
        tests = reason.found["off"] or reason.found["locked"]
        lines.append([reason.wall, f"`{reason.test}`", reason.why,
                      *(len(reason.found[jail]) for jail in jails),
                      f"`{tests[0]}`" if tests else ""])
    yield from rows(["wall", "tests", "why", *jails, "one of them"], lines)


def not_applied(outside):
    yield "## What does not apply\n"
    yield ("Modules that run no test outside either, for what core leaves out "
           "(rootfs/trees/core.manifest says why) or for `-u none`:\n")
    with_tests = {outside.module[test] for test in outside.seen if
                  test != outside.module[test]}
    why = collections.defaultdict(list)
    for module in sorted(outside.runs.keys() - with_tests):
        outcome, *words = outside.text[module].split("\n")
        why[words[0] if words else outcome].append(module)
    yield from rows(["module", "why"], ([", ".join(modules), text]
                                        for text, modules in sorted(why.items())))
    failing = collections.Counter(
        outside.module[test] for test, text in outside.text.items()
        if text.startswith(("failed", "error")) and test != outside.module[test])
    yield ("Tests that fail outside too, for modules and files that core leaves out (sources, "
           "_testcapi, /bin/sh), or for its UTF-8 mode: " + ", ".join(
               f"{module} {count}" for module, count in failing.most_common()) + ".\n")


def write(path, outside, jails, reasons, changing):
    deb, version = suite.package()
    lines = [HEAD.format(package=deb, version=version, modules=len(outside.runs),
                         options=" ".join(suite.JAIL))]
    lines += counts({"outside": outside, **jails})
    lines += by_wall(reasons, list(jails))
    if changing:
        lines.append("## Tests that change from run to run\n")
        lines.append("Some outcome outside is among those inside: no difference.\n")
        lines += rows(["test", "configuration", "outside", "inside"], (
            [f"`{test}`", name, ", ".join(sorted(here)), ", ".join(sorted(there))]
            for test, name, here, there in changing))
    lines += not_applied(outside)
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines).rstrip() + "\n")
