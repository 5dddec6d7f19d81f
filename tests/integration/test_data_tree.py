#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_data_tree.py - rootfs/data as it lies on the host, and its modules made a second time"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_data import BUILD, DIST, TOP, output  # noqa: E402

DATA = f"{BUILD}/rootfs/data"


def helper(script, *words):
    return output("env", "PYTHONHASHSEED=0", "LC_ALL=C.UTF-8", "/usr/bin/python3", "-S", "-s",
                  "-B", f"{TOP}/rootfs/trees/{script}.py", *words)


class Tree(unittest.TestCase):
    """The folder on the host."""

    def test_list(self):
        helper("tree", "verify", DATA, f"{DATA}.sha256")

    def test_modules_twice_are_the_same(self):
        with tempfile.TemporaryDirectory() as other:
            helper("data", "modules", f"{TOP}/rootfs/trees/data.manifest",
                   f"{BUILD}/rootfs/debs/root", other)
            made = {line for line in helper("tree", "list", other).splitlines()
                    if line.startswith("file")}
        with open(f"{DATA}.sha256", encoding="utf-8") as lines:
            there = {line.rstrip() for line in lines if line.startswith("file")}
        self.assertGreater(len(made), 2000)
        self.assertEqual(made - there, set())
        self.assertEqual({line for line in there if f" {DIST}/" in line} - made, set())

    def test_each_package_has_its_copyright(self):
        with open(f"{BUILD}/rootfs/data.packages", encoding="utf-8") as lines:
            names = [line.split()[0] for line in lines]
        self.assertIn("python3-numpy", names)
        docs = f"{DATA}/usr/share/doc"
        # gcc's libraries and Python's parts have one for all
        several = {"libgcc-s1", "libgfortran5", "libgomp1", "libquadmath0", "libstdc++6"}
        for name in names:
            if name not in several and not name.endswith("-stdlib"):
                self.assertGreater(os.path.getsize(f"{docs}/{name}/copyright"), 100, name)
        self.assertGreater(os.path.getsize(f"{docs}/gcc-12-base/copyright"), 100)

    def test_no_sources_and_no_tests(self):
        for folder, folders, files in os.walk(DATA):
            self.assertNotIn("tests", folders, folder)
            for name in files:
                self.assertFalse(name.endswith((".py", ".pyx", ".a", ".h")), name)

    def test_nothing_is_linked_with_what_is_not_there(self):
        have = {name for folder, _, files in os.walk(DATA) for name in files}
        for folder, _, files in os.walk(DATA):
            for name in files:
                if ".so" not in name and name != "python3":
                    continue
                for line in output("readelf", "-dW", os.path.join(folder, name)).splitlines():
                    if "(NEEDED)" in line:
                        self.assertIn(line.split("[")[1].rstrip("]"), have, name)
                    self.assertNotIn("TEXTREL", line, name)


if __name__ == "__main__":
    unittest.main()
