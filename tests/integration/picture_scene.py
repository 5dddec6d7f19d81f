# SPDX-License-Identifier: MIT
"""picture_scene.py - pictures made and read by hand: PNG (third edition)"""
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


def interlaced(width, height, pixel):
    """The same in the seven passes of Adam7."""
    rows = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                           (1, 0, 2, 2), (0, 1, 1, 2)):
        for y in range(y0, height, dy):
            row = b"".join(bytes(pixel(x, y)) for x in range(x0, width, dx))
            rows += b"\0" + row if row else b""
    return SIGNATURE + header(width, height, interlace=1) + chunk(b"IDAT", zlib.compress(rows)) + \
        chunk(b"IEND", b"")


def read_png(data):
    """(width, height, RGBA of all pixels) of one that this agent's libpng has made."""
    assert data.startswith(SIGNATURE), data[:20]
    at, idat, names = 8, b"", []
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(name + body) == struct.unpack_from(">I", data, at + 8 + size)[0]
        names.append(name)
        if name == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert (depth, color, interlace) == (8, 6, 0)
        idat += body if name == b"IDAT" else b""
        at += 12 + size
    rows, line, out = zlib.decompress(idat), bytes(4 * width), b""
    for y in range(height):
        how, *raw = rows[y * (4 * width + 1):(y + 1) * (4 * width + 1)]
        now = bytearray()
        for i, byte in enumerate(raw):
            a = now[i - 4] if i >= 4 else 0
            b, c = line[i], line[i - 4] if i >= 4 else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            now.append((byte + (0, a, b, (a + b) // 2, nearest)[how]) & 255)
        line = bytes(now)
        out += line
    return width, height, out, set(names)
