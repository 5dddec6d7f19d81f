#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_script.py - `run FILE.py` of the host, and programs that are on the host alone"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import BUILD, Host, each_user  # noqa: E402

HINT = "it is on this host, but not in the jail"


class Script(Host):
    def script(self, *words, **settings):
        return self.run_jail("--quiet", *words, cwd=self.folder, **settings)

    def test_it_runs(self):
        self.make_folder("sub")
        self.file("sub/ok.py", "import sys\nprint(__file__, *sys.argv[1:])\n")
        os.symlink("sub/ok.py", f"{self.folder}/link.py")
        for path, shown in (("sub/ok.py", "ok.py"), ("./sub/ok.py", "ok.py"),
                            ("link.py", "link.py"), ("python3 sub/ok.py", "ok.py"),
                            ("/bin/python3 link.py", "link.py")):
            done = self.script("--", *path.split(), "a", "--b")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(done.stdout.decode(), f"/work/{shown} a --b\n")
            self.assertEqual(done.report["verdict"], "completed")

    def test_absolute(self):
        """The host's file, unless the jail has one of that path: in its tree, or by a bind."""
        path = self.file("ok.py", "import sys\nprint('host', *sys.argv)\n")
        own = self.file("own.py", "#!/bin/python3\nprint('own')\n", 0o755)
        for words in ([path], ["python3", path], ["--chdir", "/", "--", "python3", path]):
            done = self.script(*words, "a")
            self.assertEqual((done.stdout, done.stderr), (b"host /work/ok.py a\n", b""))
        for options in (["--bind", f"{own}:{path}"], ["--bind", f"{self.folder}:{self.folder}"]):
            for program in ([path], ["python3", path]):
                done = self.script(*options, "--lock-code=no", "--", *program)
                self.assertNotIn(b"/work", done.stdout + done.stderr)
        for program in ([path], ["python3", path]):
            done = self.script("--bind", f"{own}:{path}", "--lock-code=no", "--", *program)
            self.assertEqual(done.stdout, b"own\n", done.stderr)

    def test_absolute_in_a_tree(self):
        """Not below /tmp, which is the jail's own; a link of the tree leads to the tree's file."""
        tree = f"{self.folder}/tree"
        subprocess.run(["cp", "-a", f"{BUILD}/rootfs/core", tree], check=True)
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            self.own(folder, 0o755)
            path = f"{folder}/ok.py"
            with open(path, "w", encoding="ascii") as script:
                script.write("print('host')\n")
            os.makedirs(tree + folder)
            os.symlink("/x.py", tree + path)
            self.assertEqual(self.script("--rootfs", tree, "--", path).stdout, b"host\n")
            self.file("tree/x.py", "#!/bin/python3\nprint('tree')\n", 0o755)
            done = self.script("--rootfs", tree, "--", path)
            self.assertEqual(done.stdout, b"tree\n", done.stderr)

    def test_it_is_read_only(self):
        path = self.file("ok.py", "try: open(__file__, 'w')\nexcept OSError as e: print(e.strerror)\n"
                                  "import os; print(os.listdir('.'))\n")
        done = self.script("ok.py")
        self.assertIn(done.stdout, (b"Read-only file system\n['ok.py']\n",
                                    b"Permission denied\n['ok.py']\n"))
        with open(path, encoding="ascii") as text:
            self.assertIn("__file__", text.read())

    def test_what_is_on_the_host_alone(self):
        self.file("a:b.py", "print(1)\n")
        self.file("s.sh", "echo\n", 0o755)
        for program in ("ls", "s.sh", "./s.sh", f"{self.folder}/s.sh", "a:b.py"):
            with self.subTest(program=program):
                done = self.script("--", program)
                self.assertEqual(done.returncode, 127)
                self.assertIn(HINT, done.stderr.decode())

    def test_what_is_nowhere(self):
        self.make_folder("folder.py")
        for program in ("nothing", "nothing.py", "./nothing", "folder.py", "/nothing"):
            with self.subTest(program=program):
                done = self.script("--", program)
                self.assertEqual(done.returncode, 127)
                self.assertNotIn(HINT, done.stderr.decode())

    def test_what_the_jail_has_itself(self):
        """A bind's file of that name is what python3 is given, and not the host's."""
        self.make_folder("work")
        self.file("work/ok.py", "print('bound')\n")
        self.file("ok.py", "print('here')\n")
        self.assertEqual(self.script("--bind", "work:/work", "--", "python3", "ok.py").stdout,
                         b"bound\n")
        self.assertEqual(self.script("--", "python3", "ok.py").stdout, b"here\n")
        done = self.script("--", "python3", "-c", "raise SystemExit(127)")
        self.assertEqual((done.returncode, done.stderr), (127, b""))


globals().update(each_user(Script))

if __name__ == "__main__":
    unittest.main()
