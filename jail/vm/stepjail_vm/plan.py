# SPDX-License-Identifier: MIT
"""plan.py - the plan, as `stepjail explain` prints it, divided between host and guest

Stepjail has checked it before. Trees and folders of the host become images, and the guest's
plan names the places where it mounts them: no path of the host gets into the guest.
"""
import os
import re

from . import Failed

# of the jail that QEMU is in: limits of the host's, as the guest's CPU and disks are none
OF_QEMU = {"allow-missing", "total-memory", "total-pids", "total-cpus", "cpuset", "io-max"}
# what a guest has no part in, or has of its own
HOST_ONLY = {"wall", "vm-memory", "report", "secret-header", *OF_QEMU}
REFUSED = {
    "bind-rw": "the host's files are given to a guest to be read: use --bind, and --out",
    "hold": "the program waits for nobody",
}
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# a jail's processes are not all that a guest has in its memory
GUEST_OWN = 96 << 20
DISKS_MAX = 20
# a folder of the guest, below its root: stepjail there says where its files are, in words that fit here
OUT = "the folder of --out"
# a file alone is in an image of its own, by this name
FILE = "file"


def size(text):
    """Bytes of 512M; as `explain` writes them."""
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def milliseconds(text):
    """Of 1m, 2s, 500ms; 0 for unlimited."""
    found = re.fullmatch(r"([0-9]+)(ms|s|m|h)?", text)
    return int(found[1]) * {"ms": 1, "s": 1000, None: 1000, "m": 60000, "h": 3600000}[found[2]] if found else 0


def from_root(name, value):
    """An option for a process with another folder."""
    if name == "secret-header":  # HOST:NAME=FILE
        host, _, path = value.partition("=")
        return f"{host}={os.path.abspath(path)}"
    if name == "io-max":  # a device, or a path on it, and limits
        path, limits = re.fullmatch("(.*?)((?: +[a-z]+=[^ ]*)*)", value).groups()
        return value if re.fullmatch("[0-9]+:[0-9]+", path) else os.path.abspath(path) + limits
    return value


class Plan:
    def __init__(self, text, command):
        self.command = command
        self.lines = [line.split(" ", 1) for line in text.splitlines()]
        self.one = dict(self.lines)
        for name, why in REFUSED.items():
            if name in self.one:
                raise Failed(f"not with --{name}: {why}")
        if self.one["net"].startswith("/"):
            raise Failed("not with --net=PATH: a guest has no part in the host's networks; --allow-host lets it out")
        self.memory = size(self.one["vm-memory"])
        if size(self.one["memory"]) + GUEST_OWN > self.memory:
            raise Failed(f"--memory {self.one['memory']} does not fit into a guest of --vm-memory "
                         f"{self.one['vm-memory']}, of which it needs {GUEST_OWN >> 20}M itself: raise --vm-memory")

    @property
    def tree(self):
        """The name of a shipped tree, or None for a folder."""
        return None if "/" in self.one["rootfs"] else self.one["rootfs"]

    @property
    def has_out(self):
        return "out" in self.one

    @property
    def out_bytes(self):
        """What of the guest's memory is left for the files of --out: beside them are those of /work."""
        return max(1 << 20, self.memory - size(self.one["memory"]) - GUEST_OWN)

    def run_ms(self):
        """How long a run may take in all, 0 for any time. The guest's own watch ends it before."""
        limit = milliseconds(self.one["wall-time"])
        return 2 * limit + 60000 if self.command == "run" and limit else 0

    def for_guest(self):
        """(text of the guest's policy, [what images are made of])."""
        lines, given = [], []
        for name, value in self.lines:
            if name == "bind" or name == "rootfs" and not self.tree:
                source, _, to = value.rpartition(":") if name == "bind" else (value, "", "")
                given.append(os.path.abspath(source))
                place = f"/given/{len(given) - 1}" + (f"/{FILE}" if os.path.isfile(source) else "")
                value = f"{place}:{to}" if to else place
            if name == "out":
                value = OUT
            if name not in HOST_ONLY:
                lines.append(f"{name} {value}\n")
        if len(given) + 1 > DISKS_MAX:
            raise Failed(f"{len(given)} files and folders of --bind are more than a guest has disks for, "
                         f"{DISKS_MAX - 1}: put them into one folder")
        return "".join(lines), given

    @property
    def has_network(self):
        return "allow-host" in self.one

    def for_qemu(self):
        """Options of the jail that QEMU is in, which are the host's to keep. Its proxy is the only one
        that reaches a host: that of a jail in the guest asks it."""
        network = {"allow-host", "secret-header", "egress-limit"} if self.has_network else set()
        return [f"--{name}={from_root(name, value)}" for name, value in self.lines if name in OF_QEMU | network]
