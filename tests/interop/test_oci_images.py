#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_images.py - images as users have them, under containerd and Podman by stepjail-oci

debootstrap makes a root tree as that of debian:slim with Debian's python3, once; it stays in the build folder.
"""
import os
import shutil
import subprocess
import unittest

import test_oci_engines as engines

IMAGE = f"{engines.BUILD}/interop/image"
PYTHON = "import json, os, sqlite3, ssl, subprocess, sys; " \
    "print(sqlite3.connect(':memory:').execute('select 6 * 7').fetchone()[0], " \
    "subprocess.run(['dpkg', '-s', 'python3'], capture_output=True).returncode, os.getuid())"
SHELL = "set -e; . /etc/os-release; echo $ID; id -u; ls / | wc -l >/tmp/x; ! touch /etc/x 2>/dev/null"


def have_image():
    if os.path.exists(f"{IMAGE}/made"):
        return
    if not shutil.which("debootstrap"):
        raise unittest.SkipTest("lacks debootstrap: make interop-oci installs it")
    shutil.rmtree(IMAGE, ignore_errors=True)
    os.makedirs(IMAGE)
    with open(f"{IMAGE}/log", "wb") as log:
        done = subprocess.run(["debootstrap", "--variant=minbase", "--include=python3", "bookworm", f"{IMAGE}/tree"],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    if done.returncode:
        raise unittest.SkipTest(f"debootstrap cannot fetch Debian: see {IMAGE}/log")
    shutil.rmtree(f"{IMAGE}/tree/var/cache/apt", ignore_errors=True)
    with open(f"{IMAGE}/made", "w", encoding="ascii"):
        pass


class Images:
    """Mixin: of one engine, with the image made by it."""

    def run_image(self, *program):
        done = self.call(*self.words(*program))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_python(self):
        self.assertEqual(self.run_image("python3", "-c", PYTHON), "42 0 1000\n")

    def test_shell(self):
        self.assertEqual(self.run_image("sh", "-c", SHELL), "debian\n1000\n")

    def tearDown(self):
        self.assertEqual(engines.containers(), [])
        self.assertEqual(list(engines.folders()), [])


class Containerd(Images, engines.Containerd):
    @classmethod
    def begin(cls):
        have_image()
        super().begin()

    def words(self, *program):
        return ["run", "--rm", "--runc-binary", engines.RUNTIME, "--rootfs", f"{IMAGE}/tree", "image", *program]


class Podman(Images, engines.Podman):
    @classmethod
    def begin(cls):
        have_image()
        super().begin()
        subprocess.run(["tar", "-C", f"{IMAGE}/tree", "-cf", f"{engines.WORK}/podman/image.tar", "."], check=True)
        done = cls.call("import", f"{engines.WORK}/podman/image.tar", "image")
        if done.returncode:
            raise AssertionError(done.stderr)

    def words(self, *program):
        return ["run", "--rm", "--network", "none", "image", *program]


def load_tests(loader, _, __):
    """Not those of the engines once more."""
    return unittest.TestSuite(kind(name) for kind in (Containerd, Podman) for name in ("test_python", "test_shell"))


if __name__ == "__main__":
    unittest.main()
