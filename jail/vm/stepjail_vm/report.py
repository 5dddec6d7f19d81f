# SPDX-License-Identifier: MIT
"""report.py - the guest's report, with a member "vm" that tells of the wall around it

The guest's text is a guest's word: it is read by a process of its own, which has given up its
ids and can start nothing. What it says of the jail in it is as true as the guest's kernel is
sound; "vm" is the host's word, and a guest cannot write it.
"""
import errno
import json
import os
import resource
import stat

from . import Failed

REPORT_MAX = 64 << 20
NOBODY = 65534


def open_report(where):
    """An fd for --report, opened by the caller's rights before anything is started; or None."""
    if where is None:
        return None
    where = {"-": "1", "/dev/stdout": "1", "/dev/stderr": "2"}.get(where, where).removeprefix("/dev/fd/")
    if where.isdigit():
        try:
            if int(where) > 2:
                os.set_inheritable(int(where), False)  # the relay has no part in it
            return int(where)
        except OSError as error:
            raise Failed(f"--report: fd {where}: {error.strerror}") from None
    try:
        # an earlier jail may have been able to write there: no link, and no FIFO that waits
        if os.path.realpath(os.path.dirname(where) or ".") != os.path.abspath(os.path.dirname(where) or "."):
            raise Failed(f"--report {where} is behind a symlink: give its real path")
        fd = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC,
                     0o600)
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode):
            os.ftruncate(fd, 0)
        elif not stat.S_ISCHR(found.st_mode) or found.st_rdev != os.makedev(1, 3):  # /dev/null
            raise Failed(f"--report {where} is no file: for a pipe, give an fd")
        return fd
    except OSError as error:
        raise Failed(f"--report {where}: {error.strerror}") from None


def confine():
    if os.geteuid() == 0:
        try:
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setgroups([])
            os.setresuid(NOBODY, NOBODY, NOBODY)
        except OSError as error:
            if error.errno != errno.EINVAL:  # root of a namespace without that id is an ordinary user
                raise
    for limit in (resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def load(fd):
    """What is in a memfd, or None where that is no JSON object."""
    try:
        found = json.loads(os.pread(fd, REPORT_MAX, 0))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def wall(guest, qemu):
    """What the host says of the guest."""
    qemu = qemu or {}
    return {**guest.facts(), "started": guest.began, "out": guest.receiver and guest.receiver.told,
            "jail": {name: qemu.get(name) for name in ("verdict", "violations", "memory_peak_bytes", "egress",
                                                       "not_enforced", "cgroup_limits", "posture") if name in qemu}}


def write(fd, guest, status):
    """In a child, which alone reads what the guest has written. That of serve has no jail's: its client
    was told of each."""
    child = os.fork()
    if child == 0:
        failed = True
        try:
            confine()
            told = {"status": status} if guest.plan.command == "serve" else load(guest.report) if guest.ended else None
            if told is None:
                told = {"verdict": "launcher-error", "error": "the guest has ended without a report"}
            told["vm"] = wall(guest, load(guest.qemu_report))
            text = json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode(errors="replace") + b"\n"
            while text:
                text = text[os.write(fd, text):]
            failed = False
        finally:
            os._exit(failed)
    if os.waitpid(child, 0)[1]:
        raise Failed("the report could not be written")
