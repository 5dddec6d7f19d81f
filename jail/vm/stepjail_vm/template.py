# SPDX-License-Identifier: MIT
"""template.py - a guest that has booted, has run Python, and waits for its request, kept to be copied

    ram     its memory, as a file: each clone maps it privately, and writes to no page of it
    state   its devices, as QEMU migrates them, without that memory

Both lie beside the image, and hold nothing of anybody's: what makes a guest one of its own
comes with the request (see init.c), random bytes first. QEMU documents this as VM templating
(docs/vm-templating.txt). A template is as large as the guests that are cloned from it; a guest
of another --vm-memory, or with images of its own, is booted.
"""
import array
import contextlib
import hashlib
import json
import os
import socket
import struct
import time

from . import Failed, image, memory_file

FILES = ("ram", "state")
# what a guest says that waits for a request, and that has one: see mux.h
READY, TAKEN = (struct.pack("<BBHIs", 0, 1, 0, 1, letter) for letter in (b"R", b"T"))
MAKE_S = 600
LAST_WORDS_S, CONSOLE_KEPT = 2, 4096
IGNORE_SHARED = {"capabilities": [{"capability": "x-ignore-shared", "state": True}]}


def order(name, **arguments):
    """One of QMP, QEMU's own protocol."""
    return json.dumps({"execute": name, "arguments": arguments}).encode()


def give(monitor, fd):
    """An fd, which orders name "state" from now on."""
    monitor.sendmsg([order("getfd", fdname="state")],
                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])


def marks(place):
    """What tells that a file is the one that was made, or read."""
    found = image.marks(f"{place}/{name}" for name in FILES)
    return {os.path.basename(path): mark for path, mark in found.items()}


def changed(place):
    return Failed(f"the template in {place} was changed: run stepjail vm build")


def find(place):
    """What is known of the template, or None where there is none. One that somebody has changed
    is refused: a guest would run what it says. One whose folder was copied is read once."""
    try:
        with open(f"{place}/template.json", encoding="utf-8") as file:
            known = json.load(file)
        if known["marks"] != (now := marks(place)):
            if any(image.digest(f"{place}/{name}") != known["sha256"][name] for name in FILES):
                raise changed(place)
            known["marks"] = now
            image.rewrite_json(f"{place}/template.json", known)
        return known
    except (OSError, ValueError, KeyError) as error:
        if not os.path.exists(f"{place}/template.json"):
            return None
        raise Failed(f"the template in {place} cannot be read ({error}): run stepjail vm build") from None


def wake(monitor, place, known):
    """Have QEMU, which was started for it, go on where the template waits. It gets a copy of the
    devices, as an fd of the file itself would let it change that file's mode and times. Its answers
    are not read: if it does not go on, it ends, and says why on its console."""
    with open(f"{place}/state", "rb") as file:
        state = file.read()
    if hashlib.sha256(state).hexdigest() != known["sha256"]["state"]:
        raise changed(place)
    fd = memory_file("state", state)
    with contextlib.suppress(ConnectionError):  # it has ended by now
        monitor.sendall(order("qmp_capabilities") + order("migrate-set-capabilities", **IGNORE_SHARED))
        give(monitor, fd)
        monitor.sendall(order("migrate-incoming", uri="fd:state"))
    os.close(fd)


class Monitor:
    """Of a guest that is being made, and has heard nobody yet."""

    def __init__(self, connection):
        self.socket = connection
        self.file = connection.makefile("rb")
        self.file.readline()  # its greeting

    def ask(self, send):
        send()
        while line := self.file.readline():
            said = json.loads(line)
            if "error" in said:
                raise Failed(f"QEMU: {said['error'].get('desc')}")
            if "return" in said:
                return said["return"]
        raise Failed("it has ended")

    def order(self, name, **arguments):
        return self.ask(lambda: self.socket.sendall(order(name, **arguments)))

    def keep(self, fd):
        """Its devices go there. Memory is in its file already."""
        self.order("migrate-set-capabilities", **IGNORE_SHARED)
        self.ask(lambda: give(self.socket, fd))
        self.order("migrate", uri="fd:state")
        until = time.monotonic() + MAKE_S
        while (said := self.order("query-migrate")).get("status") != "completed":
            if said.get("status") == "failed" or time.monotonic() > until:
                raise Failed(f"QEMU could not write its state: {said.get('error-desc', 'it takes too long')}")
            time.sleep(0.01)


def hear(port, expected):
    heard = b""
    while heard != expected:
        piece = port.recv(len(expected) - len(heard))
        if not piece:
            raise Failed("it has ended at its start")
        heard += piece


def last_line(console):
    """What QEMU, its jail or the guest's kernel printed last, once all have ended."""
    said = b""
    console.settimeout(LAST_WORDS_S)
    with contextlib.suppress(OSError):
        while piece := console.recv(1 << 16):
            said = (said + piece)[-CONSOLE_KEPT:]
    lines = said.decode("ascii", "replace").split("\n")
    return next(("".join(c if c.isprintable() else "?" for c in line.strip()) for line in lines[::-1] if line.strip()), "")


def make(place, memory, start, warm):
    """Boot a guest, give it the requests @warm, and keep it where it waits for one more.
    start(): (its process, port, console, monitor)"""
    for name in FILES:
        with open(f"{place}/{name}", "wb") as file:
            if name == "ram":
                file.truncate(memory)
    os.chmod(f"{place}/ram", 0o666)  # QEMU has an id of its own, and nobody else gets into the folder
    process, port, console, monitor = start()
    why = None
    try:
        for each in (port, console, monitor):
            each.settimeout(MAKE_S)
        asked = Monitor(monitor)
        asked.order("qmp_capabilities")
        for request in (*warm, None):
            hear(port, READY)
            if request:
                port.sendall(struct.pack("<I", len(request)) + request)
                hear(port, TAKEN)
        with open(f"{place}/state", "wb") as file:
            asked.keep(file.fileno())
        asked.order("quit")
    except ConnectionError:
        why = "it has ended"
    except TimeoutError:
        why = f"it has not answered for {MAKE_S} seconds"
    except (Failed, OSError, ValueError) as error:
        why = error
    finally:
        process.terminate()
        process.wait()
    if why:
        said = last_line(console)
        raise Failed(f"the guest that was to be the template: {why}{said and '; its last line: '}{said}")
    for name in FILES:
        os.chmod(f"{place}/{name}", 0o444)
