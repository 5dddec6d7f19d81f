# SPDX-License-Identifier: MIT
"""pictures.py - PNG files of one folder, as data: URIs

A name is one that the agent gives (step-3-1.png), and never a path. A file is taken if it is a PNG by
its signature and chunks, within bounds, and has the digest that the transcript tells: what a jail
has put into it is for the browser's decoder, as it would be in any other page.
"""
import base64
import hashlib
import os
import re
import stat
import struct
import zlib

PNG = b"\x89PNG\r\n\x1a\n"
NAME = re.compile(r"step-[0-9]{1,9}-[0-9]{1,9}\.png", re.A)
BYTES_MAX = 4 << 20  # of one
TOTAL_MAX = 16 << 20  # of all of a page
SIDE_MAX, AREA_MAX = 16384, 40_000_000  # pixels: what a browser makes of it in memory
CHUNKS_MAX = 10000


class Unfit(Exception):
    """Why a picture is not on the page."""


def measure(data):
    """Width and height of a PNG that is whole."""
    if not data.startswith(PNG):
        raise Unfit("the file is no PNG")
    at, chunks, sides = len(PNG), [], (0, 0)
    while at < len(data) and len(chunks) < CHUNKS_MAX and chunks[-1:] != [b"IEND"]:
        length, kind = struct.unpack_from(">I4s", data.ljust(at + 8, b"\0"), at)
        body, end = data[at + 4:at + 8 + length], at + 12 + length
        if length > 1 << 31 or end > len(data) or zlib.crc32(body) != int.from_bytes(data[end - 4:end], "big"):
            raise Unfit("the file is no whole PNG")
        if not chunks:
            if kind != b"IHDR" or length != 13:
                raise Unfit("the file is no PNG with a header")
            sides = struct.unpack_from(">II", body, 4)
        chunks.append(kind)
        at = end
    if chunks[-1:] != [b"IEND"] or at != len(data) or b"IDAT" not in chunks or b"acTL" in chunks:
        raise Unfit("the file is no plain, whole PNG")
    if not 0 < min(sides) <= max(sides) <= SIDE_MAX or sides[0] * sides[1] > AREA_MAX:
        raise Unfit(f"the picture has {sides[0]} x {sides[1]} pixels, more than a page may have")
    return sides


class Pictures:
    def __init__(self, folder):
        """@folder: a path, or None"""
        self.left, self.folder, self.fd = TOTAL_MAX, folder, -1
        if folder:
            try:
                self.fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError as e:
                self.why = f"the folder of pictures cannot be read: {e.strerror}"

    def read(self, name):
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.fd)
        except OSError as e:
            raise Unfit(f"the file cannot be read: {e.strerror}") from None
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Unfit("this is no regular file")
            data = file.read(BYTES_MAX + 1)
        if len(data) > BYTES_MAX:
            raise Unfit(f"it has more than the {BYTES_MAX >> 20} MiB that a picture of a page may have")
        return data

    def take(self, path, sha256):
        """Width, height and data: URI of the file that a transcript names; Unfit if it is not to be had."""
        name = path.rpartition("/")[2]
        if not NAME.fullmatch(name):
            raise Unfit("it has no name that the agent gives")
        if self.fd < 0:
            raise Unfit(self.why if self.folder else "no folder of pictures was given")
        data = self.read(name)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise Unfit("the file is not the one that was shown: its digest is another")
        width, height = measure(data)
        if len(data) > self.left:
            raise Unfit(f"the page has its {TOTAL_MAX >> 20} MiB of pictures already")
        self.left -= len(data)
        return width, height, "data:image/png;base64," + base64.b64encode(data).decode()
