#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_hosts.py - hosts that lack, mask, limit or filter something

Each row is a surrounding, and what becomes of a run in it: it works with all walls, or is
refused in one line, which check prints too, and what that line says makes it work.
hosts_scene.py says how that is seen.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from hosts_scene import WITHIN, Surrounded, mounts  # noqa: E402
from test_run import BUILD, PLAIN_ENV, TIMEOUT, each_user  # noqa: E402

NO_PROC = ("--proc", "none", "--file-locks", "0")
PREFIX = os.environ.get("PREFIX", "/usr/local")
# a PID namespace of its own, and its /proc, so that it may be mounted anew
OWN_PROC = ("--pid", "--fork", "--mount-proc")


def with_words(*words):
    return [WITHIN, *words, "--"]


class Proc(Surrounded):
    """/proc masked, restricted, read-only, another's, or none; hosts without /sys."""

    def masked(self, script):
        words = mounts(script)
        self.mends(words, "--proc none", words, NO_PROC)

    def test_masked(self):
        """As container engines do it, by a tmpfs or a file over what shall not be seen."""
        self.masked("mount -t tmpfs none /proc/sys")
        self.masked("mount --bind /dev/null /proc/interrupts")
        self.masked("mount --bind /proc/sys /proc/sys && "
                    "mount -o remount,bind,ro /proc/sys")

    def test_hidepid(self):
        script = "mount -t proc -o hidepid=%s proc /proc"
        for level in (1, 2):
            self.works(mounts(script % level, *OWN_PROC))

    def test_none(self):
        words = mounts("mount -t tmpfs none /proc", *OWN_PROC)
        self.mends(words, "mount -t proc proc /proc",
                   mounts("mount -t tmpfs none /proc && mount -t proc proc /proc", *OWN_PROC))
        self.refuses(words, "there is no /proc", *NO_PROC)

    def test_fake(self):
        """A folder that looks like one: nothing is written to it."""
        fake = self.make_folder("fake", 0o777)
        script = (f"mount --bind {fake} /proc && mkdir -p /proc/1 && ln -sfn $$ /proc/self")
        self.refuses(mounts(script), "there is no /proc")
        self.assertEqual(os.listdir(os.path.join(fake, "1")), [])

    def test_read_only(self):
        script = "mount --bind /proc /proc && mount -o remount,bind,ro /proc"
        self.mends(mounts(script), "remount,rw /proc",
                   mounts(script + " && mount -o remount,bind,rw /proc"))

    def test_of_another_pid_namespace(self):
        """Its numbers are other processes': none of them may be written to."""
        words = mounts("true", "--pid", "--fork")
        self.mends(words, "another PID namespace", mounts("true", *OWN_PROC))

    def test_no_sys(self):
        self.works(mounts("mount -t tmpfs none /sys"))


class Around(Surrounded):
    """What the caller is, and what it has open."""

    def test_no_new_privileges(self):
        self.works(with_words("nnp"))

    def test_no_bounding_set(self):
        words = with_words("bounding")
        if self.is_root():
            # root by number alone
            self.mends(words, "CAP_SETGID", ["setpriv", "--bounding-set=-all,+setgid,+setuid,"
                                             "+dac_override,+sys_admin,+setpcap"])
        else:
            self.works(words)

    def test_no_streams(self):
        for options in (), NO_PROC:
            done = self.within(with_words("closed"), *options)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_folder_is_gone(self):
        self.works(with_words("gone"))

    def test_file_size(self):
        self.works(with_words("fsize=0"))

    def test_open_files(self):
        for few in (4, 8, 16, 32, 63):
            self.mends(with_words(f"nofile={few}"), "64 open files", with_words("nofile=64"))

    def test_too_few_files_to_begin(self):
        done = self.within(with_words("nofile=3"))
        self.assertEqual((done.returncode, done.stdout, len(done.lines)), (125, "", 1))

    def test_processes(self):
        self.mends(with_words("nproc=1"), "RLIMIT_NPROC", with_words("nproc=4096"),
                   row=not self.is_root())

    def test_dev(self):
        """All six nodes, or none; there are hosts whose /dev a tool made."""
        script = "mkdir /mnt/d && mount -t tmpfs none /mnt/d && " \
                 "for n in null zero random urandom tty; do touch /mnt/d/$n; " \
                 "mount --bind /dev/$n /mnt/d/$n; done; %s mount --rbind /mnt/d /dev"
        script = "mount -t tmpfs none /mnt && " + script
        full = "touch /mnt/d/full && mount --bind /dev/full /mnt/d/full &&"
        self.mends(mounts(script % ""), "/dev/full", mounts(script % full), row=False)

    def test_read_only_root(self):
        script = "mount --rbind / /mnt && mount -o remount,bind,ro /mnt && %s " \
                 "cd /mnt && pivot_root . mnt && umount -l /mnt"
        if self.is_root():
            self.mends(mounts(script % ""), "/run must be writable",
                       mounts(script % "mount -t tmpfs none /mnt/run &&"))
        else:
            self.works(mounts(script % ""))


class Filters(Surrounded):
    """A seccomp filter that is on already; also how a kernel without a call answers."""

    def test_missing_calls(self):
        """Each is named, with the Linux that brought it, before anything is started."""
        for call, since in (("seccomp", "3.17"), ("pidfd_send_signal", "5.1"), ("fsopen", "5.2"),
                            ("open_tree", "5.2"), ("move_mount", "5.2"), ("clone3", "5.3"),
                            ("openat2", "5.6"), ("close_range", "5.9"), ("mount_setattr", "5.12")):
            lacks = self.refuses(with_words(call + "=enosys"), f"{call} (Linux {since})")
            self.assertIn(call, lacks["system calls, /proc"])

    def test_refused_calls(self):
        for call in ("seccomp", "pidfd_send_signal", "open_tree", "clone3", "openat2",
                     "close_range", "mount_setattr"):
            self.mends(with_words(call + "=eperm"), call, with_words("nnp"))

    def test_refused_mounts(self):
        """Calls that a kernel answers with EPERM too, so that nobody can tell at once."""
        for call in ("fsopen", "move_mount", "fsmount", "mount", "pivot_root"):
            self.refuses(with_words(call + "=eperm"), "a seccomp filter is on here")

    def test_without_landlock(self):
        """The one wall that a kernel may lack; the report says so. Refused is not lacking."""
        report = self.file("report.json", mode=0o666)
        self.works(with_words("landlock_create_ruleset=enosys"), "--report", report)
        with open(report, encoding="utf-8") as text:
            self.assertIn('"landlock":null', text.read())
        self.mends(with_words("landlock_create_ruleset=eperm"), "landlock: ask for the ABI",
                   with_words("nnp"))

    def test_listener(self):
        """A process has but one user-notification listener: the one it was born under."""
        words = with_words("listener")
        self.mends(words, "--allow-missing=audit", words, ("--allow-missing", "audit"), row=False)


class Counts(Surrounded):
    """Limits of namespaces, in a user namespace that a test can set them in."""

    def test_limits(self):
        for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
            words = ["unshare", "-Ur", "sh", "-c",
                     f'echo %s >/proc/sys/user/max_{kind}_namespaces && exec "$@"', "sh"]
            none, some = ([part.replace("%s", count) for part in words] for count in ("0", "99"))
            self.mends(none, f"user.max_{kind}_namespaces", some)


class Profile(unittest.TestCase):
    """AppArmor's, as make writes it for the parser of this host; a guest is confined by it."""

    def setUp(self):
        with open(os.path.join(BUILD, "stepjail.apparmor"), encoding="utf-8") as text:
            self.text = text.read()

    def parse(self, text):
        return subprocess.run(["apparmor_parser", "-Q", "-K"], input=text, text=True, check=False,
                              stderr=subprocess.PIPE, env=PLAIN_ENV, timeout=TIMEOUT)

    def test_accepted(self):
        self.assertEqual(self.parse(self.text).returncode, 0, self.parse(self.text).stderr)
        # and it reads what it is given
        for word, other in (("setpcap", "setpcapo"), ("pivot_root,", "pivot_rooty,")):
            self.assertIn(word, self.text)
            self.assertNotEqual(self.parse(self.text.replace(word, other)).returncode, 0)

    def test_user_namespaces(self):
        """The rule that it is for, wherever the parser knows it."""
        known = self.parse("profile x /x { userns, }").returncode == 0
        self.assertEqual("  userns,\n" in self.text, known)
        self.assertIn(f"profile stepjail {PREFIX}/bin/stepjail ", self.text)


cases = each_user(Proc, Around, Filters, Counts)
# root in there would be the host's own root; tests/vm/cases/check.sh sets the host's limits
del cases["CountsAsRoot"]
globals().update(cases)

if __name__ == "__main__":
    unittest.main()
