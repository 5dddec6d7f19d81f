# SPDX-License-Identifier: MIT
"""scenes_files.py - scenes of cases about files, folders and mounts; see scene.py"""
import os
import resource
import shutil

from scene import MOUNTS, Missing, Scene


class Case01(Scene):
    def arguments(self, inside):
        return ["/" if inside else self.tree]

    def set_up(self, inside):
        """Outside, it is let loose on a copy of the tree."""
        self.tree = shutil.copytree(self.phase.tree, os.path.join(self.scratch, "tree"))
        for folder, _, files in os.walk(self.tree):
            self.phase.own(folder, 0o777)
            for name in files:
                self.phase.own(os.path.join(folder, name), 0o666)


class InTree(Scene):
    """Outside: behind a chroot alone, with the case in the tree."""

    def set_up(self, inside):
        shutil.copy(self.file, os.path.join(self.phase.tree, "bin"))

    def tear_down(self):
        os.unlink(os.path.join(self.phase.tree, "bin", self.name))
        shutil.rmtree(os.path.join(self.phase.tree, "work/breakout"), ignore_errors=True)

    def wrap(self):
        return [*MOUNTS, "chroot", self.phase.tree]

    def program(self, inside):
        return ["/bin/" + self.name]


class Case02(InTree):
    stdin_path = "/"

    def arguments(self, inside):
        return [self.phase.secret[1:]]


class Case03(InTree):
    def arguments(self, inside):
        return [self.phase.secret]


class Case04(Scene):
    def arguments(self, inside):
        return [self.phase.secret, self.phase.folder, self.phase.stepjail, "/etc/shadow",
                "/etc/passwd", "/usr/bin/env"]


class Namespaced(Scene):
    namespaces = True


class Case32(Scene):
    def set_up(self, inside):
        self.node = os.path.join(self.phase.tree, "node")
        if os.geteuid() != 0:
            raise Missing("root, to make a device node")
        if os.statvfs(self.phase.tree).f_flag & os.ST_NODEV:
            raise Missing("a temporary folder that is not mounted nodev")
        os.mknod(self.node, 0o020666, os.makedev(1, 3))
        os.chmod(self.node, 0o666)

    def tear_down(self):
        if os.path.lexists(self.node):
            os.unlink(self.node)

    def arguments(self, inside):
        return ["/node", "/work"] if inside else [self.node, self.scratch]


class Case34(Scene):
    """Outside: a plain bind mount, as other jails make them."""

    options = ("--bind", "@/shown:/shown")

    def set_up(self, inside):
        self.shown = self.phase.make_folder("shown")

    def tear_down(self):
        os.rmdir(self.shown)

    def wrap(self):
        return [*MOUNTS, "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"',
                self.shown, self.scratch]

    def arguments(self, inside):
        return [os.path.basename(self.phase.folder)]


class Folders(Scene):
    """Fills folders: outside the scratch one, inside all that can be written to."""

    amount = ""

    def arguments(self, inside):
        return [self.amount, *(["/tmp", "/work", "/dev/shm"] if inside else [self.scratch])]


class Case36(Folders):
    amount = str(4 << 20)
    options = ("--tmp-size", "1M", "--work-size", "1M")


class Case37(Folders):
    amount = "300"
    options = ("--inodes", "64")


class Case41(Scene):
    def set_up(self, inside):
        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            raise Missing("a hard limit of core dumps above 0")


class Case42(Scene):
    options = ("--bind-rw", "@/open:/open")

    def set_up(self, inside):
        self.open = self.phase.make_folder("open")

    def tear_down(self):
        shutil.rmtree(self.open)

    def arguments(self, inside):
        return ["/work", "/tmp", "/dev/shm", "/open"] if inside else [self.scratch]


class BentBind(Scene):
    """A destination that leads out of the tree; outside, mount(8) follows it."""

    destination = ""

    def set_up(self, inside):
        beyond = self.phase.make_folder("beyond")
        self.phase.make_folder("beyond/in")
        self.phase.make_folder("source")
        self.phase.file("source/token")
        os.symlink(beyond, os.path.join(self.phase.tree, "bent"))

    def tear_down(self):
        os.unlink(os.path.join(self.phase.tree, "bent"))
        for name in ("beyond", "source"):
            shutil.rmtree(os.path.join(self.phase.folder, name))

    def wrap(self):
        return [*MOUNTS, "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"',
                os.path.join(self.phase.folder, "source"),
                self.phase.tree + self.destination]

    def jail_options(self):
        return ["--bind", f"{self.phase.folder}/source:{self.destination}"]

    def arguments(self, inside):
        return [os.path.join(self.phase.folder, "beyond/in/token")]


class Case43(BentBind):
    destination = "/bent/in"


class Case45(BentBind):
    destination = "/work/../../beyond/in"


class Case44(Scene):
    options = ("--bind-rw", "@/open:/open")

    def set_up(self, inside):
        self.open = self.phase.make_folder("open")
        self.fd = os.open(self.phase.file("given", "data\n"), os.O_RDONLY)

    def tear_down(self):
        shutil.rmtree(self.open)
        os.close(self.fd)

    def process(self, inside):
        return {"stdin": self.fd}

    def arguments(self, inside):
        return ["/open" if inside else self.open]


class Case50(Scene):
    def set_up(self, inside):
        self.lib = self.phase.make_folder("lib")
        self.phase.file("lib/mod.py")

    def tear_down(self):
        shutil.rmtree(self.lib)

    def arguments(self, inside):
        return [] if inside else [self.lib]
