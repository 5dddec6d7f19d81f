#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_root_files.py - what is closed to others, handed in by root: to be read, and no more

As root alone: an ordinary user's jail has that user's rights.
"""
import ctypes
import os
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_client import Serve  # noqa: E402
from serve_scene import OPTIONS  # noqa: E402
from test_run import BUILD, Host  # noqa: E402

READ = r"""
import os
def read(path):
    try:
        return open(path).read()
    except OSError as e:
        return e.strerror
print([(path, read(path)) for folder, _, names in sorted(os.walk(%r))
       for path in [os.path.join(folder, name) for name in sorted(names)]])
"""
# what the owner of a file may do to it, and what a program may do with an fd of it
CHANGE = r"""
import fcntl, os, subprocess
path = %r
def tried(act):
    try:
        return act()
    except OSError as e:
        return e.strerror
for act in (lambda: open(path, "r+"), lambda: os.chmod(path, 0o666), lambda: os.chown(path, 0, 0),
            lambda: os.utime(path), lambda: os.truncate(path, 0), lambda: os.unlink(path),
            lambda: os.rename(path, path + "x"), lambda: os.setxattr(path, "user.a", b"b"),
            lambda: open("/proc/self/fd/%%d" %% os.open(path, os.O_RDONLY), "r+"),
            lambda: os.open(path, os.O_RDONLY | os.O_TRUNC), lambda: os.link(path, path + "y")):
    print(tried(act))
"""


class RootFiles(Host, unittest.TestCase):
    def secret(self, name="secret", mode=0o600, owner=0, group=0):
        path = self.file(name, "root's own\n", mode)
        os.chown(path, owner, group)
        return path

    def closed_folder(self):
        """A folder of root's, and in it what is root's, of another group, and another's."""
        folder = self.make_folder("closed", 0o700)
        self.make_folder("closed/sub", 0o700)
        self.secret("closed/a")
        self.secret("closed/group", 0o640, group=4)
        self.secret("closed/others", 0o600, owner=4242, group=4242)
        self.secret("closed/sub/b")
        return folder

    def seen(self, at):
        own = "root's own\n"
        shown = {"a": own, "group": own, "others": "Permission denied", "sub/b": own}
        return f"{[(f'{at}/{name}', text) for name, text in shown.items()]}\n"

    def test_a_file(self):
        path = self.secret()
        done = self.python("import os; print(open('/data').read(), os.stat('/data').st_uid)",
                           "--bind", path + ":/data")
        self.assertEqual((done.returncode, done.stdout), (0, b"root's own\n 1000\n"), done.stderr)
        mount = next(m for m in done.report["posture"]["mounts"] if m["at"] == "/data")
        self.assertEqual((mount["root"], mount["type"], mount["idmapped"]), ("/secret", "overlay", True))
        self.assertEqual({"ro", "nosuid", "nodev"} - set(mount["flags"].split(",")), set())
        at = os.stat(path)
        self.assertEqual((stat.S_IMODE(at.st_mode), at.st_uid), (0o600, 0))

    def test_a_file_in_closed_folders(self):
        """Also of another owner than the folder's; and one that is open itself."""
        folder = self.make_folder("in", 0o700)
        self.secret("in/beside")
        for above, owner, mode in ((0, 0, 0o600), (4242, 0, 0o600), (0, 4242, 0o600),
                                   (0, 0, 0o644), (4242, 4343, 0o640)):
            with self.subTest(above=above, owner=owner, mode=mode):
                os.chown(folder, above, above)
                path = self.secret("in/f", mode, owner)
                done = self.python("import os; print(open('/work/d/f').read(), os.listdir('/work/d'))",
                                   "--bind", path + ":/work/d/f")
                self.assertEqual(done.stdout, b"root's own\n ['f']\n", done.stderr)

    def test_a_folder(self):
        done = self.python(READ % "/data", "--bind", self.closed_folder() + ":/data")
        self.assertEqual(done.stdout.decode(), self.seen("/data"), done.stderr)

    def test_nothing_can_be_changed(self):
        path = self.secret()
        before = os.stat(path)
        done = self.python(CHANGE % "/work/data", "--bind", path + ":/work/data")
        refusals = done.stdout.decode().splitlines()
        self.assertEqual(len(refusals), 11, done.stderr)
        self.assertLessEqual(set(refusals), {"Read-only file system", "Permission denied",
                                             "Operation not permitted", "Device or resource busy",
                                             "Invalid cross-device link"})
        after = os.stat(path)
        for field in ("st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns", "st_ctime_ns"):
            self.assertEqual(getattr(after, field), getattr(before, field))

    def test_what_else_lies_in_a_folder(self):
        """No device opens, no set-user-ID file gives ids, no FIFO or link leads out."""
        folder = self.closed_folder()
        os.mknod(folder + "/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.symlink(self.secret(), folder + "/link")
        with open(os.path.join(BUILD, "rootfs/core/bin/python3"), "rb") as program:
            path = self.file("closed/suid")
            with open(path, "wb") as copy:
                copy.write(program.read())
        os.chmod(path, 0o4700)
        done = self.python("import os, subprocess\n"
                           "for path in ('null', 'link'):\n"
                           "    try: print(open('/data/' + path))\n"
                           "    except OSError as e: print(e.strerror)\n"
                           "print(subprocess.run(['/data/suid', '-c', 'import os; print(os.getresuid())'],"
                           " capture_output=True, text=True).stdout)",
                           "--bind", folder + ":/data", "--lock-code=no")
        self.assertEqual(done.stdout.decode(), "Permission denied\nNo such file or directory\n"
                                               "(1000, 1000, 1000)\n\n", done.stderr)

    def test_what_is_open_stays_as_it_is(self):
        """A folder that is open to others is shown as others see it: its closed files are closed."""
        folder = self.make_folder("open", 0o755)
        self.secret("open/shadow", 0o640)
        done = self.python(READ % "/data", "--bind", folder + ":/data")
        self.assertEqual(done.stdout, b"[('/data/shadow', 'Permission denied')]\n")
        self.assertNotIn("idmapped", str(done.report["posture"]["mounts"]))

    def test_not_through_a_symlink(self):
        """Who may write in one folder on the way could name any file of root's."""
        target, folder = self.secret(), self.make_folder("users", 0o777)
        os.symlink(target, folder + "/data.csv")
        os.symlink(self.folder, folder + "/way")
        for path in (folder + "/data.csv", folder + "/way/secret"):
            done = self.python("print(1)", "--bind", path + ":/data", status=125)
            self.assertIn(f"leads through a symlink to {target}, which is closed to others: name that",
                          done.stderr.decode())

    def test_swapped_for_a_symlink(self):
        """Another user's file changes places with a link to root's, all the time."""
        target, folder = self.secret(), self.make_folder("users", 0o777)
        with open(folder + "/a", "w", encoding="ascii") as own:
            own.write("the user's own\n")
        os.chmod(folder + "/a", 0o600)
        os.chown(folder + "/a", 4242, 4242)
        os.symlink(target, folder + "/b")
        libc, over = ctypes.CDLL(None), threading.Event()

        def exchange():
            while not over.is_set():
                libc.renameat2(-100, f"{folder}/a".encode(), -100, f"{folder}/b".encode(), 2)

        mover = threading.Thread(target=exchange)
        mover.start()
        try:
            for _ in range(40):
                done = self.run_jail("--bind", folder + "/a:/data", "--", "/bin/python3", "-c",
                                     "print(open('/data').read(), end='')", report=False)
                self.assertIn((done.returncode, done.stdout),
                              [(0, b"the user's own\n"), (125, b"")], done.stderr)
        finally:
            over.set()
            mover.join()

    def test_writable_is_refused(self):
        for path in (self.secret(), self.closed_folder()):
            done = self.python("print(1)", "--bind-rw", path + ":/work/data", status=125)
            self.assertIn("is closed to the jail", done.stderr.decode())

    def test_file_system_without_idmapped_mounts(self):
        """The error names the cause and a remedy. An overlay can have none."""
        script = (f"set -e; mount -t tmpfs none {self.folder}; cd {self.folder}; mkdir l u w m\n"
                  "mount -t overlay -o lowerdir=l,upperdir=u,workdir=w none m\n"
                  "umask 077; echo hidden > m/f; exec \"$@\"")
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", os.path.join(BUILD, "stepjail"), "run", "--quiet",
             *OPTIONS, "--bind", self.folder + "/m/f:/data", "--", "/bin/python3", "-c", "print(1)"],
            capture_output=True, text=True, check=False)
        if "overlay" in done.stderr and "mount:" in done.stderr and "stepjail" not in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("/m/f is closed to others: its file system, or this container, gives no idmapped "
                      "mount", done.stderr)

    def test_sessions(self):
        """Each session's ids are its own, and what comes from a template is shown to them too."""
        binds = ["--bind", self.closed_folder() + ":/data", "--bind", self.secret() + ":/work/f"]
        for cold in ([], ["--cold"]):
            with self.subTest(cold=cold), Serve([*OPTIONS, *binds, *cold]) as serve:
                sessions = [serve.open() for _ in range(3)]
                for session in sessions + [serve.open()]:
                    step = session.run(READ % "/data" + "print(open('/work/f').read())")
                    self.assertEqual(step.out.decode(), self.seen("/data") + "root's own\n\n")
                    self.assertEqual(session.run("open('/work/f', 'a')").done["verdict"], "exception")

    def agent(self, *words, text="", folder=None):
        done = subprocess.run([os.path.join(BUILD, "stepjail-agent"), *words, *OPTIONS], input=text,
                              cwd=folder, capture_output=True, text=True, check=False,
                              env=os.environ | {"XDG_STATE_HOME": self.folder})
        return done.returncode, done.stdout, done.stderr

    def test_agent(self):
        """--file, --put and --get of what is root's; what is another's is not root's any more."""
        others = self.make_folder("others", 0o755)
        os.chown(others, 4242, 4242)
        lines = ("print(open('/work/in/secret').read(), end='')\n"
                 f"open('x', 'w').write('x')\n:get x\n:get x {others}/x\n:get x none/x\n"
                 f":put {self.secret('theirs', owner=4242)}\n:put {self.secret()}\n"
                 "print(open('secret').read(), end='')\n")
        _, out, err = self.agent("repl", "--keep-going", "--file", self.secret(), text=lines, folder=others)
        self.assertEqual(out.count("root's own\n"), 2, err)
        denied = ("permission denied: the agent makes files below the folder that it was started in, "
                  "and with no rights of root's")
        given_up = "(the agent gives up root's rights to what is not root's): Permission denied"
        for words in (f"x: {denied}", f"{others}/x: {denied}", f"{self.folder}/theirs {given_up}",
                      "none/x: its folder: No such file or directory"):
            self.assertIn(words, err)
        self.assertEqual(os.listdir(others), [])

    def test_out(self):
        """It is refused before the first step, where nothing could be written at the end."""
        model = self.file("model", "--- turn\n```python\nopen('/work/out/x', 'w').write('x')\n```\n"
                                   "--- turn\nDone.\n")
        words = ("solve", "task", "--model", f"scripted:{model}", "--out")
        others = self.make_folder("others", 0o755)
        os.chown(others, 4242, 4242)
        self.assertEqual(self.agent(*words, others)[::2], (
            125, f"stepjail-agent: --out: {others} belongs to uid 4242 (the agent gives up root's rights "
                 "to what is not root's): Permission denied\n"))
        status, _, err = self.agent(*words, others + "/new")
        self.assertEqual((status, os.listdir(others + "/new")), (0, ["x"]), err)
        status, _, err = self.agent(*words, others + "/none/new")
        self.assertEqual(status, 125)
        self.assertIn("make the folder", err)
        self.assertIn("in a folder that is not there", err)


if __name__ == "__main__":
    unittest.main()
