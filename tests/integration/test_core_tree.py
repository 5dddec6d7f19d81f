#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_core_tree.py - rootfs/core as it lies on the host, and made a second time

STEPJAIL_BUILD is the build folder. Run by another user than made the tree, this shows as
well that the tree does not depend on who makes it.
"""
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_core import BUILD, CORE, HOST_PYTHON, TOP, output  # noqa: E402

LIST = os.path.join(BUILD, "rootfs/core.sha256")


def walk():
    """(path in the tree, lstat) of everything in it."""
    for folder, folders, files in os.walk(CORE):
        for name in folders + files:
            path = os.path.join(folder, name)
            yield os.path.relpath(path, CORE), os.lstat(path)


def read(path):
    with open(os.path.join(CORE, path), "rb") as data:
        return data.read()


def files():
    return [path for path, info in walk() if stat.S_ISREG(info.st_mode)]


class Tree(unittest.TestCase):
    """The folder on the host."""

    def test_list(self):
        output(HOST_PYTHON, f"{TOP}/rootfs/trees/tree.py", "verify", CORE, LIST)

    def test_list_notices(self):
        with open(LIST, encoding="utf-8") as lines:
            changed = lines.readlines()
        changed[-1] = changed[-1].replace("0", "1")
        with tempfile.NamedTemporaryFile("w", suffix=".sha256") as other:
            other.writelines(changed)
            other.flush()
            said = output(HOST_PYTHON, f"{TOP}/rootfs/trees/tree.py", "verify", CORE,
                          other.name, status=1)
        self.assertIn("missing:", said)
        self.assertIn("not in the list:", said)

    def test_one_elf(self):
        elves = [path for path in files() if read(path)[:4] == b"\x7fELF"]
        self.assertEqual(elves, ["bin/python3"])

    def test_no_loader(self):
        elf = os.path.join(CORE, "bin/python3")
        segments = output("readelf", "-lW", elf)
        self.assertNotIn("INTERP", segments)
        self.assertNotIn("RWE", segments)
        self.assertIn("GNU_RELRO", segments)
        self.assertRegex(segments, r"GNU_STACK .* RW ")
        self.assertNotIn("DYNAMIC", segments)
        self.assertIn("EXEC", output("readelf", "-hW", elf))

    def test_modes(self):
        for path, info in walk():
            mode = stat.S_IMODE(info.st_mode)
            with self.subTest(path):
                if stat.S_ISDIR(info.st_mode):
                    self.assertEqual(mode, 0o755)
                elif stat.S_ISREG(info.st_mode):
                    self.assertEqual(mode, 0o555 if path == "bin/python3" else 0o444)
                else:
                    self.assertTrue(stat.S_ISLNK(info.st_mode))

    def test_links_stay_inside(self):
        for path, info in walk():
            if stat.S_ISLNK(info.st_mode):
                aim = os.readlink(os.path.join(CORE, path))
                self.assertFalse(aim.startswith("/"), path)
                self.assertTrue(os.path.exists(os.path.join(CORE, path)), path)
                self.assertFalse(
                    os.path.normpath(os.path.join(os.path.dirname(path), aim))
                    .startswith(".."), path)

    def test_no_scripts_no_sources_no_host_paths(self):
        for path in files():
            data = read(path)
            with self.subTest(path):
                self.assertNotEqual(data[:2], b"#!")
                self.assertFalse(path.endswith((".py", ".so", ".a")))
                self.assertNotIn(BUILD.encode(), data)
                self.assertNotIn(f"{TOP}/rootfs/".encode(), data)
                self.assertNotIn(f"{TOP}/init/".encode(), data)

    def test_mount_points_are_empty(self):
        for name in ("dev", "proc", "tmp", "work"):
            self.assertEqual(os.listdir(os.path.join(CORE, name)), [])

    def test_built_twice_it_is_the_same(self):
        with tempfile.TemporaryDirectory() as other:
            os.mkdir(f"{other}/rootfs")
            # the fetched source, so that no network is needed
            output("cp", "-r", f"{BUILD}/rootfs/source", f"{other}/rootfs/source")
            output(f"{TOP}/rootfs/trees/build", "core", other)
            with open(LIST, encoding="utf-8") as one, \
                    open(f"{other}/rootfs/core.sha256", encoding="utf-8") as two:
                self.assertEqual(one.read(), two.read())


if __name__ == "__main__":
    unittest.main()
