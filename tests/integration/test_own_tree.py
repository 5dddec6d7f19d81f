#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_own_tree.py - trees of the user's own: wheels and Debian's packages beside core and data

The packages are made here, and nothing is fetched.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest
import unittest.mock
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_client import PATIENCE, Serve  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("STEPJAIL_BUILD", "build"))
MACHINE = os.uname().machine
PYTHON = f"cp3{sys.version_info[1]}"
MODULE = """
#include <Python.h>
int hello(void);
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "spoken" };
PyMODINIT_FUNC PyInit_spoken(void)
{
	PyObject *m = PyModule_Create(&module);
	PyModule_AddIntConstant(m, "word", hello());
	return m;
}
"""


def run(*words, **how):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600, check=False, **how)


def digest(data):
    whole = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + whole.decode().rstrip("=")


def need(*names):
    for name in names:
        if not os.path.exists(f"{BUILD}/rootfs/{name}.key"):
            raise unittest.SkipTest(f"the tree {name} is missing: make rootfs data")


class OwnTree(unittest.TestCase):
    """A folder of builds that has this build's trees, by hard links."""

    @classmethod
    def setUpClass(cls):
        need("core")
        if not os.access(BUILD, os.W_OK):
            raise unittest.SkipTest("trees are made by the owner of the build")
        cls.folder = tempfile.mkdtemp(dir=BUILD, prefix="own.")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.mkdir(f"{cls.folder}/rootfs")
        for name in ("core", "data"):
            if os.path.exists(f"{BUILD}/rootfs/{name}.key"):
                # the files are shared: nothing may change one of them
                run("cp", "-al", f"{BUILD}/rootfs/{name}", f"{cls.folder}/rootfs/").check_returncode()
                for end in ("key", "sha256", "sha256.sum"):
                    shutil.copy2(f"{BUILD}/rootfs/{name}.{end}", f"{cls.folder}/rootfs/")
        if os.path.exists(f"{BUILD}/rootfs/debs/list"):
            # with what was unpacked: a tree that is older than its sources is made anew of it
            run("cp", "-al", f"{BUILD}/rootfs/debs", f"{cls.folder}/rootfs/").check_returncode()
        for name in ("stepjail", "stepjail-init"):
            shutil.copy2(f"{BUILD}/{name}", cls.folder)

    def path(self, name, data=b""):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)
        return path

    def wheel(self, name, files, tag="py3-none-any", change=None):
        """A wheel with these files, as pip would take it, but for what `change` does."""
        head = f"{name}-1.0.dist-info"
        files = {**files, f"{head}/METADATA": f"Name: {name}\nVersion: 1.0\n".encode(),
                 f"{head}/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n".encode()}
        record = "".join(f"{n},{digest(d)},{len(d)}\n" for n, d in files.items())
        files[f"{head}/RECORD"] = (record + f"{head}/RECORD,,\n").encode()
        files.update(change or {})
        path = self.path(f"wheels/{name}-1.0-{tag}.whl")
        with zipfile.ZipFile(path, "w") as out:
            for file, data in files.items():
                out.writestr(file, data)
        return path

    def deb(self, name, files):
        """A Debian package with these files and a copyright file."""
        root = os.path.join(self.folder, "deb", name)
        files = {**files, f"usr/share/doc/{name}/copyright": b"MIT\n",
                 "DEBIAN/control": f"Package: {name}\nVersion: 1.0\nArchitecture: all\n"
                                   "Maintainer: A B <a@b.org>\nDescription: of a test\n".encode()}
        for file, data in files.items():
            self.path(os.path.join(root, file), data)
        path = os.path.join(self.folder, f"{name}.deb")
        done = run("dpkg-deb", "--build", "--root-owner-group", root, path)
        self.assertEqual(done.returncode, 0, done.stdout)
        return path

    def build(self, *words, status=0):
        done = run(f"{TOP}/rootfs/trees/stepjail-tree", *words, f"{self.folder}/rootfs")
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def refused(self, says, *words):
        said = self.build("--from", "core", "--name", "wrong", *words, status=1)
        self.assertIn(says, said)
        self.assertEqual(said.count("\n"), 1 + said.count("up to date\n"), said)
        self.assertFalse(os.path.exists(f"{self.folder}/rootfs/wrong"))

    def digest_of(self, name):
        with open(f"{self.folder}/rootfs/{name}.sha256.sum", encoding="utf-8") as line:
            return line.read().split()[0]

    def say(self, tree, code, *options):
        done = run(f"{self.folder}/stepjail", "run", "--quiet", "--allow-missing", "cgroup", "--rootfs",
                   tree, "--verify-rootfs", *options, "--", "/bin/python3", "-c", code)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.strip()

    def test_wheels_and_packages(self):
        """The same packages in another order make the same tree, to the byte."""
        wheel = self.wheel("greet", {"greet/__init__.py": b"from greet.words import word\n",
                                     "greet/words.py": b"word = 'good day'\n",
                                     "greet/words.txt": b"good night\n",
                                     "greet-1.0.data/purelib/more.py": b"more = 1\n",
                                     "greet-1.0.data/scripts/greet": b"#!/bin/sh\n"})
        deb = self.deb("python3-reply", {
            "usr/lib/python3/dist-packages/reply.py": b"reply = 'and to you'\n"})
        base = self.digest_of("core")
        for name, words in (("one", ["--wheel", wheel, "--deb", deb]),
                            ("two", ["--deb", deb, "--wheel", wheel])):
            self.build("--from", "core", "--name", name, *words)
            self.assertEqual(self.say(name, "import greet, reply, more, importlib.metadata as m, os\n"
                                            "print(greet.word, reply.reply, m.version('greet'))\n"
                                            "print(open(greet.__path__[0] + '/words.txt').read())"),
                             "good day and to you 1.0\ngood night")
            with open(f"{self.folder}/rootfs/{name}.packages", encoding="utf-8") as lines:
                rows = [line.split()[:-1] for line in lines]
            self.assertEqual(rows, [["python3-reply", "1.0", "all"],
                                    ["wheel", "greet", "1.0", "py3-none-any"]])
            self.assertTrue(os.path.exists(
                f"{self.folder}/rootfs/{name}/usr/share/doc/python3-reply/copyright"))
        self.assertEqual(self.digest_of("one"), self.digest_of("two"))
        self.assertNotEqual(self.digest_of("one"), base)
        self.assertEqual(self.digest_of("core"), base)
        self.assertIn("one is up to date", self.build("--from", "core", "--name", "one", "--wheel",
                                                      wheel, "--deb", deb))

    def test_what_does_not_fit(self):
        good = {"right.py": b"right = 1\n"}
        for tag in ("cp27-cp27m-any", f"cp3{sys.version_info[1] + 1}-none-any", "py3-none-win_amd64",
                    f"{PYTHON}-{PYTHON}-manylinux_2_99_{MACHINE}", "py3-none-macosx_11_0_arm64"):
            self.refused("take a wheel for that", "--wheel", self.wheel("far", good, tag))
        self.refused("right.py is not what the wheel's RECORD says", "--wheel",
                     self.wheel("right", good, change={"right.py": b"right = 2\n"}))
        self.refused("more.py is not what", "--wheel", self.wheel("right", good, change={"more.py": b""}))
        self.refused("is no path of a wheel", "--wheel", self.wheel("out", {"../../../x.py": b""}))
        self.refused("is no path of a wheel", "--wheel", self.wheel("out", {"/x.py": b""}))
        self.refused("is not a wheel", "--wheel", self.path("text.whl", b"text\n"))
        self.refused("json/__init__.py is in the tree core", "--wheel",
                     self.wheel("json", {"json/__init__.py": b""}))
        self.refused("machine code, which the tree core cannot load", "--wheel",
                     self.wheel("fast", {"fast.so": b"\x7fELF"}))
        self.refused("is in two of the packages", "--wheel", self.wheel("one", good), "--wheel",
                     self.wheel("two", good))
        self.refused("no module", "--deb", self.deb("empty", {}))
        self.refused("nothing to add")
        for words, says in ((["build", "core"], "the folder of the build is missing"),
                            (["build"], "'' is not a tree"),
                            (["stepjail-tree"], "--from '': core or data"),
                            (["stepjail-tree", "--from", "core", "--name"], "--name needs a value"),
                            (["stepjail-tree", "--from", "all", "--name", "x", "x"], "--from 'all': core or data"),
                            (["stepjail-tree", "--from", "core", "--name", "x"], "one is wanted, the folder for"),
                            (["stepjail-tree", "--what", "x"], "--what is not an option"),
                            (["stepjail-tree", "-x"], "-x needs a value")):
            done = run(f"{TOP}/rootfs/trees/{words[0]}", *words[1:])
            self.assertEqual((done.returncode, done.stdout.count("\n")), (1, 1), done.stdout)
            self.assertIn(says, done.stdout)
            self.assertIn("--help", done.stdout)
        self.assertIn("take another name", self.build("--from", "core", "--name", "../x", "--wheel",
                                                      "x", status=1))

    def test_help(self):
        for word in ("--help", "-h"):
            done = run(f"{TOP}/rootfs/trees/build", word)
            self.assertEqual((done.returncode, done.stdout[:28]), (0, "usage: rootfs/trees/build co"))
            done = run(f"{TOP}/rootfs/trees/stepjail-tree", word)
            self.assertEqual((done.returncode, done.stdout[:26]), (0, "usage: stepjail-tree --fro"))
            for option in ("--from", "--name", "--wheel", "--deb", "--package"):
                self.assertIn(option, done.stdout)

    def test_installed(self):
        """From where make install puts it: by a link, with the trees beside it, to any folder."""
        home = f"{self.folder}/usr/lib/stepjail/trees"
        os.makedirs(home)
        os.makedirs(f"{self.folder}/usr/bin")
        with open(f"{TOP}/Makefile", encoding="utf-8") as rules:
            installed = re.search(r"cp .*(rootfs/trees/{\S+)", rules.read())[1]
        run("bash", "-c", f"cp {installed} {home}", cwd=TOP).check_returncode()
        program = f"{self.folder}/usr/bin/stepjail-tree"
        os.symlink("../lib/stepjail/trees/stepjail-tree", program)
        words = ["--from", "core", "--name", "mine", "--wheel",
                 self.wheel("greet", {"greet.py": b"word = 'good day'\n"}), f"{self.folder}/out"]
        done = run(program, *words)
        self.assertEqual((done.returncode, done.stdout.count("\n")), (1, 1), done.stdout)
        self.assertIn("the tree core is neither in", done.stdout)
        self.assertIn("install stepjail-rootfs-core", done.stdout)
        os.symlink(f"{self.folder}/rootfs", f"{self.folder}/usr/lib/stepjail/rootfs")
        done = run(program, *words)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.say(f"{self.folder}/out/mine", "import greet; print(greet.word)"), "good day")
        with open(f"{home}/../rootfs/core.sha256.sum", encoding="utf-8") as line:
            self.assertEqual(self.digest_of("core"), line.read().split()[0])

    def test_what_apt_says(self):
        """Each failure of a fetch is told with what can be done about it; apt is played."""
        os.chmod(self.path("played/apt-get", b'#!/bin/sh\ncase "$*" in *download*) echo "E: $SAYS" >&2; exit 100;; esac\n'),
                 0o755)
        for says, told in (("Unable to locate package no-such", "apt sources have no package of that name"),
                           ("Failed to fetch http://m/x.deb 404  Not Found [IP: ::1 80]", "another version by now: try again"),
                           ("Failed to fetch http://m/x.deb Could not connect", "is the mirror reachable?")):
            path = f"{self.folder}/played:{os.environ['PATH']}"
            with unittest.mock.patch.dict(os.environ, PATH=path, SAYS=says):
                said = self.build("--from", "core", "--name", "wrong", "--package", "no-such", status=1)
            self.assertIn(says, said)
            self.assertIn(told, said.splitlines()[-1])

    def test_machine_code(self):
        """An extension module and the library that its wheel brings, beside numpy and in a session."""
        need("data")
        self.path("c/hello.c", b"int hello(void) { return 42; }\n")
        self.path("c/spoken.c", MODULE.encode())
        done = run("/bin/sh", "-ec", "gcc -shared -fPIC -o libhello.so.1 hello.c -Wl,-soname,libhello.so.1\n"
                   f"gcc -shared -fPIC -I{sysconfig.get_path('include')} -o spoken.so spoken.c libhello.so.1 "
                   "'-Wl,-rpath,$ORIGIN/../talk.libs'", cwd=f"{self.folder}/c")
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(f"{self.folder}/c/spoken.so", "rb") as module, \
                open(f"{self.folder}/c/libhello.so.1", "rb") as library:
            files = {"talk/__init__.py": b"", "talk/early.py": b"from ssl import RAND_bytes as draw\ndraw(1)\n",
                     "talk/spoken.so": module.read()}
            bundled = {"talk.libs/libhello.so.1": library.read()}
        tag = f"{PYTHON}-{PYTHON}-manylinux_2_17_{MACHINE}"
        said = self.build("--from", "data", "--name", "lame", "--wheel", self.wheel("talk", files, tag),
                          status=1)
        self.assertIn("is linked with libhello.so.1, which is neither in the tree", said)
        stub = self.wheel("pyarrow", {"pyarrow/__init__.py": b"there = True\n"})
        self.build("--from", "data", "--name", "mine", "--wheel", stub, "--wheel",
                   self.wheel("talk", {**files, **bundled}, tag))
        code = "import numpy, pyarrow, talk.spoken; print(talk.spoken.word + numpy.int64(1), pyarrow.there)"
        self.assertEqual(self.say("mine", code, "--memory", "1G"), "43 True")
        turns = self.path("turns", f"--- turn\n```python\n{code}\n```\n--- turn\nDone.\n".encode())
        done = run(f"{BUILD}/stepjail-agent", "solve", "x", "--rootfs", "mine", "--memory", "1G", "--stepjail",
                   f"{self.folder}/stepjail", "--model", f"scripted:{turns}", "--transcript", "none",
                   "--allow-missing", "cgroup")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("| 43 True\n", done.stdout)
        self.check_random_numbers()

    def check_random_numbers(self):
        """early has drawn some of OpenSSL's in the template, and its clones have pids that are the same."""
        seen, end = [], time.monotonic() + PATIENCE
        with Serve(["--allow-missing=cgroup", "--memory=1G", "--rootfs=mine", "--preload=talk.early"],
                   command=[f"{self.folder}/stepjail", "serve"]) as serve:
            while len(seen) < 8 and time.monotonic() < end:
                session = serve.open()
                if session.opened["warm"]:
                    session.run("from talk.early import draw")
                    state = session.status()["branches"]["0"]["state"]
                    for _ in range(3):
                        seen.append(session.run("draw(16)").result)
                        session.rollback(state)
                    seen.append(serve.once("from talk.early import draw; draw(16)").result)
                session.close()
        self.assertEqual((len(set(seen)), None in seen), (8, False), seen)


if __name__ == "__main__":
    unittest.main()
