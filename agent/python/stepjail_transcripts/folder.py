# SPDX-License-Identifier: MIT
"""folder.py - the folder of transcripts, what is opened in it and removed, and this process's walls

No link is followed, and nothing outside the folder is touched. Names, sizes and times are the file
system's.
"""
import ctypes
import errno
import fcntl
import os
import stat
import struct

from . import Problem, failed

ENDING = ".jsonl"
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # of Landlock, on each architecture
READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = 1 << 2, 1 << 3, 1 << 4, 1 << 5


def state_path():
    """The agent's own folder, made where it is missing."""
    state, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
    if not state.startswith("/"):  # the XDG specification: a relative one is to be ignored
        if not home.startswith("/"):
            raise Problem("transcripts: HOME is not set")
        state = home + "/.local/state"
    at = ""
    for part in (state + "/stepjail/transcripts").strip("/").split("/"):
        at += "/" + part
        try:
            os.mkdir(at, 0o700)
        except FileExistsError:
            pass
        except OSError as e:
            if not os.path.isdir(at):
                raise failed(f"transcripts: make the folder {at}", e) from None
    return at


class File:
    def __init__(self, name, size, written_ns):
        self.name, self.bytes, self.written_ns = name, size, written_ns


class Folder:
    """What is in it, the last written first."""

    def __init__(self, path=None):
        self.path = os.path.join(os.getcwd(), path or state_path()).rstrip("/") or "/"
        try:
            self.fd = os.open(self.path, FOLDER)
            names = os.listdir(self.fd)
        except OSError as e:
            raise failed(f"transcripts: the folder {self.path}", e) from None
        found = [self.look(name) for name in names if name.endswith(ENDING) and name != ENDING]
        self.files = sorted(filter(None, found), key=lambda f: (f.written_ns, f.name), reverse=True)

    def look(self, name):
        try:
            st = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(st.st_mode):
            return None
        return File(name, st.st_size + sum(size for _, size in self.shown(name)), st.st_mtime_ns)

    def shown(self, name, remove=False):
        """(name, bytes) of the files in NAME.shown, where it is a folder; or remove it."""
        try:
            fd = os.open(name + ".shown", FOLDER, dir_fd=self.fd)
        except OSError:
            return []
        found = []
        try:
            for entry in os.listdir(fd):
                st = os.stat(entry, dir_fd=fd, follow_symlinks=False)
                if stat.S_ISDIR(st.st_mode):
                    continue
                found.append((entry, st.st_size))
                if remove:
                    os.unlink(entry, dir_fd=fd)
        except OSError:
            pass  # it is gone, or is another's
        finally:
            os.close(fd)
        if remove:
            os.rmdir(name + ".shown", dir_fd=self.fd)
        return found

    def open(self, name):
        """A file object to read; an OSError where it is no regular file."""
        return open(open_regular(name, os.O_NOFOLLOW, self.fd), "rb")

    def remove(self, name):
        """False where a run is writing it, which holds a lock on it."""
        try:
            with self.open(name) as f:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                try:
                    self.shown(name, remove=True)
                except OSError as e:
                    raise failed(f"transcripts: remove {name}.shown", e) from None
                os.unlink(name, dir_fd=self.fd)
        except BlockingIOError:
            return False
        except OSError as e:
            raise failed(f"transcripts: remove {name}", e) from None
        return True


def open_regular(path, flags, dir_fd=None):
    """An fd; no device or pipe is opened to see what it is."""
    there = os.open(path, os.O_PATH | os.O_CLOEXEC | flags, dir_fd=dir_fd)
    try:
        if not stat.S_ISREG(os.fstat(there).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return os.open(f"/proc/self/fd/{there}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(there)


def open_named(operand):
    """A path; else a name of the list, with or without its ending."""
    if "/" not in operand and not os.path.exists(operand):
        try:
            folder = Folder()
        except Problem:
            folder = None
        for name in (operand, operand + ENDING) if folder else ():
            try:
                return folder.open(name)
            except OSError:
                pass
    try:
        return open(open_regular(operand, 0), "rb")
    except OSError as e:
        if e.errno == errno.EINVAL:
            raise Problem(f"{operand} is not a regular file") from None
        raise failed(operand, e) from None


def landlock(number, *args):
    got = LIBC.syscall(ctypes.c_long(number), *args)
    return got, OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def confine(folder_fd=None, rights=READ_FILE | READ_DIR):
    """Before a byte of a transcript is read: no capability, no new privileges, and of all files
    those below one folder alone, by Landlock where the kernel has it. No program, port or other
    file can be opened from here on."""
    head, none = struct.pack("Ii", 0x20080522, 0), bytes(24)
    for good, what in ((LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE"),
                       (LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs"),
                       (LIBC.capset(ctypes.create_string_buffer(head), ctypes.create_string_buffer(none)), "capset")):
        if good < 0:
            raise Problem(f"confinement: {what}: {os.strerror(ctypes.get_errno())}")
    abi, why = landlock(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if abi < 0 and why.errno in (errno.ENOSYS, errno.EOPNOTSUPP):
        return  # not built in, or not enabled at boot
    if abi < 0:
        raise failed("confinement: ask for Landlock's ABI", why)
    files = (1 << 13) - 1 | (abi >= 2) << 13 | (abi >= 3) << 14 | (abi >= 5) << 15
    attr = struct.pack("QQQ", files, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    ruleset, why = landlock(CREATE_RULESET, attr, ctypes.c_size_t(len(attr)), 0)
    if ruleset < 0:
        raise failed("confinement: a Landlock ruleset", why)
    if folder_fd is not None:
        rule = struct.pack("=Qi", rights, folder_fd)
        got, why = landlock(ADD_RULE, ruleset, 1, rule, 0)
        if got < 0:
            raise failed("confinement: allow the folder", why)
    got, why = landlock(RESTRICT_SELF, ruleset, 0)
    if got < 0:
        raise failed("confinement: Landlock", why)
    os.close(ruleset)
    try:
        os.close(os.open(os.devnull, os.O_WRONLY))
    except PermissionError:
        return
    raise Problem("confinement: Landlock did not refuse to open a file")
