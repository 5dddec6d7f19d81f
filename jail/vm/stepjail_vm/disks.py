# SPDX-License-Identifier: MIT
"""disks.py - what a guest mounts: the image's trees, and copies of what --bind and --rootfs=DIR name

The copies may be of files that are closed to others. They are in one file without a name, each
in a part of it, and QEMU gets that file as its stdin: nobody else can open it, and it is gone
with the last process that has it, by kill -9 too.
"""
import os
import shutil
import stat
import struct
import tempfile

from . import Failed
from .image import make_erofs
from .plan import FILE

TREES = "/stepjail/rootfs"
PIECE = 1 << 20

# An image of one file, as mkfs.erofs makes one of a folder alone: a copy in a folder would have a name.
# Superblock, inodes and entries as the kernel's fs/erofs/erofs_fs.h has them, without compression and extended
# attributes: https://docs.kernel.org/filesystems/erofs.html
BLOCK, SLOT = 4096, 32
SUPERBLOCK, INODE, ENTRY = struct.Struct("<IIIBBHQQIIII32xI44x"), struct.Struct("<HHHHQIIIIQII16x"), struct.Struct("<QHBB")
SUPERBLOCK_AT, MAGIC, EXTENDED = 1024, 0xe0f5e1e2, 1
FOLDER_AT = SUPERBLOCK_AT + SUPERBLOCK.size
FILE_AT = FOLDER_AT + INODE.size
NAMES = ((".", FOLDER_AT, 2), ("..", FOLDER_AT, 2), (FILE, FILE_AT, 1))  # 2: a folder, 1: a file
DATA_AT = 2 * BLOCK


def erofs_of_file(state, size):
    """All of the image that is before the file's content."""
    def inode(number, mode, bytes_, block, links):
        return INODE.pack(EXTENDED, 0, mode, 0, bytes_, block, number, state.st_uid, state.st_gid, int(state.st_mtime), 0, links)

    at, entries, names = ENTRY.size * len(NAMES), b"", b"".join(name.encode() for name, *_ in NAMES)
    for name, inode_at, kind in NAMES:
        entries += ENTRY.pack(inode_at // SLOT, at, kind, 0)
        at += len(name)
    head = bytearray(DATA_AT)
    head[SUPERBLOCK_AT:BLOCK] = (SUPERBLOCK.pack(MAGIC, 0, 0, BLOCK.bit_length() - 1, 0, FOLDER_AT // SLOT, 2, 0, 0,
                                                 (DATA_AT + size + BLOCK - 1) // BLOCK, 0, 0, 0) +
                                 inode(1, stat.S_IFDIR | 0o755, at, 1, 2) +
                                 inode(2, state.st_mode, size, DATA_AT // BLOCK, 1)).ljust(BLOCK - SUPERBLOCK_AT, b"\0")
    head[BLOCK:BLOCK + at] = entries + names
    return bytes(head)


def add_file(source, to):
    at = to.tell()
    with open(source, "rb") as file:
        state = os.fstat(file.fileno())
        to.seek(at + DATA_AT)
        shutil.copyfileobj(file, to, PIECE)
    size = to.tell() - at - DATA_AT
    os.pwrite(to.fileno(), erofs_of_file(state, size), at)
    to.truncate(at + DATA_AT + (size + BLOCK - 1) // BLOCK * BLOCK)
    to.seek(0, os.SEEK_END)


def add_folder(source, to):
    if to.tell() == 0:  # there mkfs.erofs begins
        make_erofs(source, to)
    else:
        with tempfile.TemporaryFile(buffering=0) as image:
            make_erofs(source, image)
            image.seek(0)
            shutil.copyfileobj(image, to, PIECE)
    to.seek(0, os.SEEK_END)


class Disks:
    """In the order of the guest's disks."""

    def __init__(self, plan, given, place, known):
        """@known: of its template, which has all trees, and has mounted them."""
        self.words = []  # for init.c: what to mount where
        self.trees = [self.tree(place, name) for name in (known["trees"] if known else filter(None, [plan.tree]))]
        self.parts = []  # of the copies: (where each begins, its bytes)
        self.copies = None
        if not known:
            self.words += [self.word(number, f"{TREES}/{plan.tree}") for number in range(len(self.trees))]
        if given:
            self.copies = tempfile.TemporaryFile(buffering=0)
        for number, source in enumerate(given):
            self.add(source)
            self.words.append(self.word(len(self.trees) + number, f"/given/{number}"))
        if given:  # as root QEMU has another id
            os.fchmod(self.copies.fileno(), 0o444)

    @staticmethod
    def word(number, to):
        return f"vd{chr(ord('a') + number)} {to}"

    @staticmethod
    def tree(place, name):
        file = f"{place}/{name}.erofs"
        if not os.path.exists(file):
            raise Failed(f"the image has no tree named '{name}': make it, and run stepjail vm build")
        return file

    def add(self, source):
        add = add_folder if os.path.isdir(source) else add_file if os.path.isfile(source) else None
        if not add:
            raise Failed(f"{source} is no file and no folder, and a guest can be given nothing else")
        at = self.copies.tell()
        try:
            add(source, self.copies)
        except OSError as error:
            raise Failed(f"copy {source} into {tempfile.gettempdir()}, or where TMPDIR says: {error.strerror}") from None
        self.parts.append((at, self.copies.tell() - at))

    def files(self):
        """What QEMU's drives are of, in the words of -drive; the trees are shown to it at /disk."""
        return [*(f"file=/disk/{number}" for number in range(len(self.trees))),
                *(f"file=/dev/stdin,offset={at},size={size}" for at, size in self.parts)]

    def take_stdin(self):
        """An fd of the copies to be read, which is the caller's to close; or None. Nothing else has them then."""
        if not self.copies:
            return None
        fd = os.open(f"/proc/self/fd/{self.copies.fileno()}", os.O_RDONLY)
        self.copies.close()
        return fd
