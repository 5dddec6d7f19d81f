# SPDX-License-Identifier: MIT
"""analysis.py - a data analysis over three real files, with two pictures, and what it must come to

The script of tests/data/analysis.turns is said by the scripted model (test_agent_analysis.py)
and by servers that imitate real ones (tests/interop/test_analysis.py).
"""
import os
import struct
import zlib

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
SCRIPT = os.path.join(DATA, "analysis.turns")
FILES = [os.path.join(DATA, name) for name in ("seattle-weather.csv", "co2-concentration.csv",
                                               "gapminder-health-income.csv")]
QUESTION = "Which month is the wettest in Seattle, how much faster does CO2 grow in the air now " \
           "than sixty years ago, and do people in richer countries live longer? Draw the first " \
           "and the last."
PICTURES = {"seattle-rain.png": (640, 400), "income-health.png": (640, 440)}


def png(data):
    """((width, height), rows' bytes) of a PNG whose every part is whole."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    at, size, packed, kind = 8, None, b"", None
    while kind != b"IEND":
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        crc, = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
        assert crc == zlib.crc32(kind + body), kind
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    assert at == len(data)
    return size, zlib.decompress(packed)


def look(case, got, folder):
    """The run of --json's object `got`, with its files in `folder`, came to what it should."""
    case.assertEqual(got["outcome"], "answered")
    case.assertEqual([step["verdict"] for step in got["steps"]],
                     ["completed", "exception"] + ["completed"] * 3)
    case.assertIn("KeyError: 'Column not found: co2'", got["steps"][1]["observation"])
    case.assertEqual({step["state"] for step in got["steps"]}, {"kept"})
    for words in ("161 mm", "2.7 times", "r is 0.81"):
        case.assertIn(words, " ".join(got["answer"].split()))
    case.assertLessEqual(set(PICTURES), set(os.listdir(folder)))
    for name, size in PICTURES.items():
        with open(os.path.join(folder, name), "rb") as f:
            found, rows = png(f.read())
        case.assertEqual(found, size)
        # it is drawn on: paper is one colour
        case.assertGreater(len(set(zip(*[iter(rows)] * 4))), 100)
