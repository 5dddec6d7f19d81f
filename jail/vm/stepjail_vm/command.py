# SPDX-License-Identifier: MIT
"""command.py - what stepjail-vm is asked for

stepjail becomes this program: its plan is checked, and comes as text by an fd.

    stepjail-vm build [SIZE]         stepjail vm build
    stepjail-vm run FD WORD...       the program's words
    stepjail-vm serve FD             the client's socket is fd 0
    stepjail-vm check FD [WORD...]   --json may be one
"""
import contextlib
import json
import lzma
import os
import re
import signal
import sys

from . import Failed, image, report, template
from .guest import STATUS_FAILED, Guest, heard, jail_of_qemu, make_template
from .plan import Plan, size

MEMORY = "768M"  # as --vm-memory has it
HELP = """usage: stepjail vm build [SIZE]
Make the image that guests of --wall vm are booted with: Debian's cloud kernel,
fetched by apt and unpacked, stepjail, the root trees, and QEMU with its libraries.
It lies in /var/lib/stepjail/vm, or, of an ordinary user, in ~/.local/share/stepjail/vm;
in a build folder, in guest there. A guest is booted in it, and kept as a template: guests
of --vm-memory SIZE (768M) with a shipped tree and no --bind are its clones, all others are
booted.

Exit status:
  0 the image is there; 125 something is missing, and said
"""


def read_plan(number, command):
    with open(int(number), encoding="utf-8", errors="surrogateescape") as file:
        return Plan(file.read(), command)


def build(home, words):
    if words in (["--help"], ["-h"]):
        print(HELP, end="")
        return 0
    if words[:1] != ["build"] or len(words) > 2 or not re.fullmatch("[0-9]+[MG]", words[1] if words[1:] else MEMORY):
        raise Failed("usage: stepjail vm build [SIZE], as in stepjail vm build 1G")
    image.build(home, size(words[1] if words[1:] else MEMORY), make_template, say)
    return 0


def say(line):
    """How far it is, which nobody has to read."""
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


def inside(home, command, plan, words):
    place, info = image.find(home)
    out = report.open_report(plan.one.get("report"))
    guest = Guest(home, place, info, plan)
    status = guest.run(words)
    if out is not None:
        report.write(out, guest, status)
    return status


def check(home, plan, as_json):
    """A row for each thing, as `stepjail check` has them; 0 only where a guest would start."""
    lacking = image.missing()
    words = " ".join(lacking)
    rows = [("packages", "missing" if lacking else "ok",
             f"{words}: as root: apt-get install --no-install-recommends {words}" if lacking else "")]
    try:
        place, info = image.find(home)
        rows += [("image", "ok", place), ("QEMU", "ok", f"{info['qemu']}, microvm"),
                 ("kernel of the guest", "ok", info["kernel"]),
                 ("acceleration", "ok", "tcg: software emulation, the only one yet")]
        rows.append(("a jail for QEMU", *jail_of_qemu(home, place, plan)))
        known = template.find(place)
        rows.append(("template", "ok", f"guests of {known['memory'] >> 20}M are its clones") if known else
                    ("template", "missing", f"there is none in {place}: run stepjail vm build"))
    except Failed as error:
        rows.append(("image", "missing", str(error)))
    ok = all(state == "ok" for _, state, _ in rows)
    if as_json:
        print(json.dumps({"checks": [dict(zip(("name", "state", "detail"), row)) for row in rows], "ok": ok}))
    else:
        for name, state, detail in rows:
            print(f"{state:8} {name:21} {detail}".rstrip())
    return int(not ok)


def leave(number, _frame):
    """What was begun on disk is removed on the way out."""
    raise SystemExit(128 + number)


def words_of(error):
    """An error of the system's as one of ours: what failed, and why."""
    if isinstance(error, OSError) and error.strerror:
        return ": ".join([*(str(name) for name in (error.filename, error.filename2) if name is not None), error.strerror])
    return str(error)


def act(home, words):
    command = words[0] if words else ""
    try:
        if command in ("run", "serve", "check"):
            plan = read_plan(words[1], command)
            return check(home, plan, "--json" in words) if command == "check" else inside(home, command, plan, words[2:])
        return build(home, words)
    except (Failed, OSError, lzma.LZMAError) as error:
        what = "--wall vm" if command in ("run", "serve", "check") else "vm"
        with contextlib.suppress(OSError):
            print(f"stepjail: {what}: {words_of(error)}", file=sys.stderr)
        return STATUS_FAILED
    except SystemExit as error:
        return error.code


def main(home, words):
    for number in heard():
        signal.signal(number, leave)
    status = act(home, words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever reads it has read enough
    except OSError as error:
        print(f"stepjail: vm: write to stdout: {error.strerror}", file=sys.stderr)
        status = STATUS_FAILED
    os._exit(status)
