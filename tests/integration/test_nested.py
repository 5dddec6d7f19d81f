#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_nested.py - inside of other people's jails: walls whole, or refused in words

Docker's kind of container by crun and runc, as its root and as its user, rootless too;
bubblewrap; a bare user namespace. hosts_scene.py says what is demanded in each.
"""
import os
import pwd
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from container import Container  # noqa: E402
from hosts_scene import Surrounded, mounts  # noqa: E402
from test_run import BUILD, USER, each_user  # noqa: E402

# No runtime may make cgroups on this host, and crun refuses a v1 hierarchy beside a v2 one.
NO_CGROUPS = """umount /sys/fs/cgroup/unified 2>/dev/null
sed -n 's,.* \\(/sys/fs/cgroup[^ ]*\\) .*,\\1,p' /proc/self/mountinfo | while read -r at; do
    mount -o remount,bind,ro "$at" 2>/dev/null; done; true"""
HOST_ROOT = "root of this container may be the host's root"
NO_FILTER = "seccomp filter refuses it"
MASKED = "--proc none"


class Containers(Surrounded):
    """What a container engine makes; an ordinary user's are rootless."""

    def container(self, uid=0):
        self.made = getattr(self, "made", 0) + 1
        made = Container(self.make_folder(f"bundle{self.made}"), [BUILD], uid, uid)
        if self.drop:
            entry = pwd.getpwnam(USER)
            made.rootless(entry.pw_uid, entry.pw_gid)
        elif not self.is_root():
            made.rootless(1000, 1000)
        return made

    def each(self):
        """Both runtimes; as root both users, as an ordinary user the one id there is."""
        # who is not root cannot take the v2 hierarchy out of crun's sight
        mixed = os.geteuid() != 0 and os.path.ismount("/sys/fs/cgroup/unified")
        return [(runtime, uid) for runtime in (("runc",) if mixed else ("crun", "runc"))
                for uid in ((0, 1000) if self.is_root() else (0,))]

    def words(self, made, runtime, script="true"):
        words = made.words(runtime)
        if self.drop:
            entry = pwd.getpwnam(USER)
            subprocess.run(["chown", "-Rh", f"{entry.pw_uid}:{entry.pw_gid}", made.folder],
                           check=True)
        elif not self.is_root():
            # mounts() has made a user namespace in which this is id 0; that, seen from a
            # container, could be the host's, and would be refused
            words = ["unshare", "--user", "--map-user=1000", "--map-group=1000", *words]
        return [*mounts(f"{NO_CGROUPS}; {script}"), *words]

    def test_default(self):
        """The engine's filter refuses; without it, and without /proc, the walls are whole."""
        for runtime, uid in self.each():
            self.mends(self.words(self.container(uid), runtime), NO_FILTER,
                       self.words(self.container(uid).unconfined(), runtime),
                       ("--proc", "none", "--file-locks", "0"))

    def test_masked(self):
        """Without the filter, the masked /proc is what is left to refuse."""
        for runtime, uid in self.each():
            words = self.words(self.container(uid).unconfined(), runtime)
            self.mends(words, MASKED, words, ("--proc", "none", "--file-locks", "0"))

    def test_unmasked(self):
        for runtime, uid in self.each():
            self.works(self.words(self.container(uid).unconfined().unmasked(), runtime))

    def test_on_overlay(self):
        """A container's files lie on an overlay, and so do the jail's root and binds then."""
        for runtime, uid in self.each():
            made = self.container(uid).unconfined().unmasked()
            script = made.on_overlay(BUILD)
            self.works(self.words(made, runtime, script))


class Others(Surrounded):
    def bubblewrap(self, *options, root=("--dev-bind", "/", "/")):
        return ["bwrap", *root, "--proc", "/proc", "--dev", "/dev", *options]

    def test_user_namespace(self):
        if self.is_root():
            # uid 0 in there is the host's own root: no jail may run under it
            self.mends(["unshare", "-Ur"], HOST_ROOT, ["unshare", "-U", "--map-user=1000", "--map-group=1000"])
        else:
            self.works(["unshare", "-Ur"])
            self.works(["unshare", "-U", "--map-user=1000", "--map-group=1000"])

    def works_masked(self, words):
        """Where bubblewrap is started by root, it covers parts of /proc."""
        if self.is_root():
            self.mends(words, MASKED, words, ("--proc", "none", "--file-locks", "0"))
        else:
            self.works(words)

    def test_bubblewrap(self):
        """Each with a /proc and a /dev of its own; --unshare-all has a user namespace."""
        whole = self.bubblewrap("--unshare-all", "--unshare-user")
        if self.is_root():
            self.refuses(whole, HOST_ROOT)
        else:
            self.works(whole)
        self.works_masked([*whole, "--uid", "1000", "--gid", "1000"])
        # and root does without a user namespace
        self.works_masked(self.bubblewrap("--unshare-pid", "--unshare-net", "--unshare-ipc"))

    def test_bubblewrap_read_only(self):
        plain = self.bubblewrap("--unshare-pid", root=("--ro-bind", "/", "/"))
        if self.is_root():
            self.mends(plain, "/run must be writable", [*plain, "--tmpfs", "/run"],
                       ("--proc", "none", "--file-locks", "0"))
        else:
            self.works(plain)

    def test_bubblewrap_without_namespaces(self):
        """It can forbid user namespaces inside: by the sysctl of its own."""
        words = self.bubblewrap("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000")
        self.mends([*words, "--disable-userns"], "the limit of namespaces", words,
                   ("--proc", "none", "--file-locks", "0"))

    def test_bubblewrap_without_proc(self):
        words = ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--dev", "/dev"]
        for outer, reason in ((words, "another PID namespace"),
                              ([*words, "--tmpfs", "/proc"], "there is no /proc")):
            self.mends(outer, reason, [*words, "--proc", "/proc"], ("--proc", "none", "--file-locks", "0"))


globals().update(each_user(Containers, Others))

if __name__ == "__main__":
    unittest.main()
