# SPDX-License-Identifier: MIT
"""stepjail_vm - a kernel between the host and jails: a guest of QEMU's for --wall vm

command.py  the commands, and who may fail how
plan.py     the plan's text: what the guest gets of it, and what stays here
image.py    stepjail vm build: kernel, init, trees, QEMU's own tree
disks.py    what a guest mounts: trees, and copies of the caller's files
guest.py    QEMU in a jail of its own, the relay, the keeper, and their ends
template.py a booted guest that is kept, and how a clone goes on from it
report.py   the guest's report and QEMU's into one, by a process without rights

Nothing here reads a byte of a guest that has run anything but report.py, and that has given up its
rights.
"""
import os


class Failed(Exception):
    """A line for people: what failed, with which value, and what to do."""


def memory_file(name, content):
    """An fd of a file without a place, to be read from its start."""
    fd = os.memfd_create(name)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
