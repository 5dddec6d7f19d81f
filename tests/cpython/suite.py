# SPDX-License-Identifier: MIT
"""suite.py - where the test suite, the tree and the commands of a run come from

The suite is Debian's libpythonX.Y-testsuite in the version whose source the tree core was
built from, fetched and unpacked, never installed. It lacks what Debian packages with the
library (test.support and regrtest) and three folders of tests (test_sqlite3, test_tomllib,
test_capi): these come from that same source package, which is there since core was built.
"""
import glob
import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")
CORE = os.path.join(BUILD, "rootfs/core")
OURS = os.path.join(BUILD, "cpython")
SUITE = os.path.join(OURS, "suite")
TREE = os.path.join(OURS, "tree")
STEPJAIL = os.path.join(BUILD, "stepjail")

# generous, but finite: what is compared is walls, not how tight a limit can be set
JAIL = ["--net", "loopback", "--wall-time", "30m", "--memory", "3G", "--pids", "512",
        "--files", "1024", "--tmp-size", "1G", "--work-size", "1G", "--inodes", "200000"]


def library():
    """The name of core's library folder, which has Python's version in it."""
    name, = os.listdir(os.path.join(CORE, "lib"))
    return name


def binds():
    lib = "/lib/" + library()
    return [f"{SUITE}/test:{lib}/test", f"{SUITE}/unittest:{lib}/unittest/test",
            f"{TOP}/tests/cpython:/driver"]


def complete(source, target):
    """Copy what is not there yet."""
    for name in os.listdir(source):
        here, there = os.path.join(source, name), os.path.join(target, name)
        if not os.path.exists(there):
            (shutil.copytree if os.path.isdir(here) else shutil.copy)(here, there)


def fetch():
    """SUITE/test and SUITE/unittest."""
    if os.path.exists(SUITE):
        return
    os.makedirs(OURS, exist_ok=True)
    with open(os.path.join(BUILD, "rootfs/source/version"), encoding="ascii") as lines:
        version = lines.read().split()[-1]
    work = SUITE + ".new"
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)
    package = f"lib{library()}-testsuite"
    for wanted in (f"{package}={version}", package):
        if subprocess.run(["apt-get", "-q", "download", wanted], cwd=work).returncode == 0:
            break
        print(f"{wanted} is not to be had", file=sys.stderr)
    debs = glob.glob(work + "/*.deb")
    if not debs:
        sys.exit(f"cpython: cannot fetch {package}: as root, apt-get update")
    subprocess.run(["dpkg-deb", "-x", debs[0], work], check=True)
    unpacked = os.path.join(work, "usr/lib", library())
    complete(os.path.join(BUILD, "rootfs/source/tree/Lib/test"), unpacked + "/test")
    os.rename(unpacked + "/test", work + "/test")
    os.rename(unpacked + "/unittest/test", work + "/unittest")
    os.rename(work, SUITE)


def copy_tree():
    """TREE, a copy of core that has the mount points of outside runs."""
    key, seen = os.path.join(BUILD, "rootfs/core.key"), os.path.join(OURS, "tree.key")
    with open(key, encoding="utf-8") as text:
        want = text.read()
    if os.path.exists(seen):
        with open(seen, encoding="utf-8") as text:
            if text.read() == want:
                return
    subprocess.run(["rm", "-rf", TREE], check=True)
    subprocess.run(["cp", "-a", CORE, TREE], check=True)
    for bind in binds():
        os.makedirs(TREE + bind.split(":")[1], exist_ok=True)
    with open(seen, "w", encoding="utf-8") as out:
        out.write(want)


def command(configuration, *words):
    """The command that runs driver.py with these words in a configuration."""
    program = ["/bin/python3", "/driver/driver.py", *words]
    if configuration == "outside":
        return ["unshare", "--mount", "--propagation", "private", "/usr/bin/python3",
                os.path.join(TOP, "tests/cpython/outside"), TREE, *binds(), "--", *program]
    options = [word for bind in binds() for word in ("--bind", bind)]
    if configuration == "locked":
        options.append("--lock-code")
    check = subprocess.run([STEPJAIL, "check"], text=True, stdout=subprocess.PIPE)
    if "\nmissing  cgroup v2" in check.stdout:
        options += ["--allow-missing", "cgroup"]
    return [STEPJAIL, "run", "--rootfs", "core", *JAIL, *options, "--", *program]


def names():
    """Every module of the suite."""
    done = subprocess.run(command("outside", "--list"), text=True, check=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.stdout.split()
