# SPDX-License-Identifier: MIT
"""suite.py - where the test suite, the tree and the commands of a run come from

The suite is Debian's libpythonX.Y-testsuite in the version whose source the tree core was
built from, fetched and unpacked, never installed. It lacks what Debian packages with the
library (test.support and regrtest) and three folders of tests (test_sqlite3, test_tomllib,
test_capi): these come from that same source package, which is there since core was built.
"""
import glob
import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")
CORE = os.path.join(BUILD, "rootfs/core")
OURS = os.path.join(BUILD, "cpython")
SUITE = os.path.join(OURS, "suite")
TREE = os.path.join(OURS, "tree")
results_folder = OURS
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


def package():
    """Debian's package of the suite, and the version that fits core."""
    with open(os.path.join(BUILD, "rootfs/source/version"), encoding="ascii") as lines:
        return f"lib{library()}-testsuite", lines.read().split()[-1]


def fetch():
    """SUITE/test and SUITE/unittest."""
    if os.path.exists(SUITE):
        return
    work, (name, version) = SUITE + ".new", package()
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    # apt's own user for downloads could not write here
    words = ["apt-get", "-qq", "-o", f"APT::Sandbox::User={pwd.getpwuid(os.getuid())[0]}",
             "download", f"{name}={version}"]
    if subprocess.run(words, cwd=work).returncode != 0:
        print(f"cpython: {name} {version} cannot be fetched; taking the same tests from the "
              "source package")
    for deb in glob.glob(work + "/*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, work], check=True)
    for folder, new in (("test", "test"), ("unittest/test", "unittest")):
        unpacked = os.path.join(work, "usr/lib", library(), folder)
        os.makedirs(unpacked, exist_ok=True)
        complete(os.path.join(BUILD, "rootfs/source/tree/Lib", folder), unpacked)
        os.rename(unpacked, os.path.join(work, new))
    os.rename(work, SUITE)


def key():
    """What results are of: they mean nothing for another interpreter or another jail."""
    digest = hashlib.sha256()
    for name in ("rootfs/core.key", "stepjail", "stepjail-init"):
        with open(os.path.join(BUILD, name), "rb") as data:
            digest.update(data.read())
    return digest.hexdigest()


def copy_tree():
    """TREE, a copy of core that has the mount points of outside runs; old results go."""
    seen = os.path.join(OURS, "key")
    if os.path.exists(seen):
        with open(seen, encoding="ascii") as text:
            if text.read() == key():
                return
    subprocess.run(["rm", "-rf", TREE, *glob.glob(OURS + "/*.jsonl")], check=True)
    subprocess.run(["cp", "-a", CORE, TREE], check=True)
    for bind in binds():
        os.makedirs(TREE + bind.split(":")[1], exist_ok=True)
    with open(seen, "w", encoding="ascii") as out:
        out.write(key())


def command(configuration, *words):
    """The command that runs driver.py with these words in a configuration."""
    program = ["/bin/python3", "/driver/driver.py", *words]
    if configuration == "outside":
        user = [] if os.geteuid() == 0 else ["--user", "--map-user=1000",
                                             "--map-group=1000", "--keep-caps"]
        return ["unshare", *user, "--mount", "/usr/bin/python3", "-I",
                os.path.join(TOP, "tests/cpython/outside"), TREE, *binds(), "--", *program]
    options = [word for bind in binds() for word in ("--bind", bind)]
    options.append("--lock-code=" + ("yes" if configuration == "locked" else "no"))
    check = subprocess.run([STEPJAIL, "check"], text=True, stdout=subprocess.PIPE)
    if "\nmissing  cgroup v2" in check.stdout:
        options += ["--allow-missing", "cgroup"]
    return [STEPJAIL, "run", "--rootfs", "core", *JAIL, *options, "--", *program]


def results(configuration):
    return os.path.join(results_folder, configuration + ".jsonl")


def quick(forget=()):
    """From here on, results are those of the modules named in `subset`: their names."""
    global results_folder
    results_folder = os.path.join(OURS, "quick")
    os.makedirs(results_folder, exist_ok=True)
    for configuration in forget:
        with open(results(configuration), "w", encoding="ascii"):
            pass
    with open(os.path.join(TOP, "tests/cpython/subset"), encoding="ascii") as lines:
        return lines.read().split()


def load(configuration):
    """All runs of a configuration, as a list of dicts."""
    try:
        with open(results(configuration), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []


def names():
    """Every module of the suite."""
    done = subprocess.run(command("outside", "--list"), text=True, check=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.stdout.split()
