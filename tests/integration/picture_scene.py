# SPDX-License-Identifier: MIT
"""picture_scene.py - pictures made by hand: PNG (third edition)"""
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(name, data, crc=None):
    crc = zlib.crc32(name + data) if crc is None else crc
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def header(width, height, depth=8, color=6, interlace=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace))


def png(width, height, pixel, extra=b""):
    """Of a function of x and y that gives four bytes."""
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    return SIGNATURE + header(width, height) + extra + chunk(b"IDAT", zlib.compress(rows)) + \
        chunk(b"IEND", b"")
