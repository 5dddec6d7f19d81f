#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_validation.py - the validation suite of the Open Container Initiative, for three runtimes

The suite is opencontainers/runtime-tools at COMMIT, built with Debian's Go outside of the repository. It
comes from STEPJAIL_RUNTIME_TOOLS, a folder with a clone of it, or else from its home by git. Each case
runs under stepjail-oci, runc and crun, one after the other, on this machine.

Every check that stepjail-oci does not pass needs a row of REASONS: one without is a failure, and so is a
case whose counts differ from oci_validation.md. --write makes that file anew.
"""
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("STEPJAIL_BUILD", f"{TOP}/build"))
WORK = f"{BUILD}/interop/validation"
SUITE = f"{WORK}/suite"
TABLE = f"{TOP}/tests/interop/oci_validation.md"
HOME = "https://github.com/opencontainers/runtime-tools"
COMMIT = "0105384f68e16803891d0a17d9067b1def6a2778"  # of Debian 12's package, and of its runc's time
RUNTIMES = ("stepjail-oci", "runc", "crun")
TIMEOUT = 120
GO = {"GOFLAGS": "-mod=vendor", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0",
      "GOCACHE": f"{WORK}/cache", "GOPATH": f"{WORK}/go"}
# a mount that it does not find at first makes the program that runs inside index a list with -1
MEND = "\t\t_ = c.harness.YAML(map[string]interface{}{\n" \
       "\t\t\t\"level\":       rfcError.Level.String(),\n" \
       "\t\t\t\"reference\":   rfcError.Reference,\n\t\t\t\"config\":      configMount,\n" \
       "\t\t\t\"indexConfig\": i,"
# The suite makes folders for root alone, and a jail's program is not root: 0755 for all three runtimes. crun
# refuses a host that has both kinds of cgroups, and is shown the first kind alone.
WRAPPER = """#!/bin/sh
command=$1
for word; do
	[ "$before" = --bundle ] && find "$word" -type d -exec chmod 0755 {{}} +
	before=$word
done
{run} "$@"
status=$?
[ $status = 0 ] || echo "$command: exit status $status" >> "$STEPJAIL_CASE_LOG"
exit $status
"""
# runc leaves mounts on the host where a config asks for shared ones, /proc and /sys below the suite's folder:
# whoever removes that folder then is in the host's. They stay in a mount namespace of each command.
PRIVATE = "unshare -m --propagation private "
HYBRID = PRIVATE + "sh -c 'mount -t tmpfs none /sys/fs/cgroup/unified; exec \"$@\"' sh "
RUN = {
    "stepjail-oci": f"XDG_CONFIG_HOME={WORK}/conf {BUILD}/stepjail-oci --root {WORK}/state/stepjail-oci "
                    "--log $STEPJAIL_CASE_LOG",
    "runc": f"{PRIVATE}runc --root {WORK}/state/runc",
    "crun": (HYBRID if os.path.exists("/sys/fs/cgroup/unified") else PRIVATE) + f"crun --root {WORK}/state/crun",
}

# What stepjail-oci says or does in place of what a check expects: words of it, a key, and why.
REASONS = (
    (r"expected .* capability|process\.capabilities", "capabilities",
     "A jail's program has no capability, and a config that adds some to an engine's default is refused."),
    (r"has expected (additional )?(user|group) ID", "ids", "The program is uid and gid 1000 of the jail, and in no "
     "other group, whatever user is asked for."),
    (r"/proc/self/[ug]id_map", "id maps", "A jail gets host ids of its own from a locked range; mappings that "
     "are asked for are ignored."),
    (r"mounts\[\d+\] \(/(proc|dev|dev/pts|dev/shm|dev/mqueue|sys)\) found", "mounts",
     "A jail has its own /proc, /dev and /dev/shm, made otherwise, and neither /sys nor /dev/pts nor /dev/mqueue."),
    (r"mounts: \S+: the type 'tmpfs' is refused", "tmpfs", "A jail writes to /tmp, /dev/shm, /work and binds: a tmpfs "
     "elsewhere is refused."),
    (r"/dev/ptmx", "ptmx", "A jail makes no terminals."),
    (r"/dev/zero \(default device\) has the expected minor", "zero", "Without cgroup v2, /dev/zero is /dev/full, which "
     "reads the same and cannot be mapped as shared memory that nobody counts."),
    (r"linux\.devices", "devices", "A jail has six harmless devices; a config with another one is refused."),
    (r"has expected noNewPrivileges", "no new privileges", "Always on; the check expects it off."),
    (r"OOM score", "OOM score", "Always 1000: when the host lacks memory, jails go first."),
    (r"process\.rlimits", "rlimits", "A limit that a jail cannot keep is refused, with its name."),
    (r"config\.json: hooks|hook over stdin|hooks? fails", "hooks", "A hook would run on the host while the jail is made: "
     "refused."),
    (r"linux\.sysctl", "sysctl", "A jail has the kernel's own values: others are refused."),
    (r"linux\.seccomp|seccomp action", "seccomp", "A profile that allows by default is weaker than a jail's filter: "
     "refused."),
    (r"(masked|[Rr]eadonly)Paths: \S+ is refused", "masks", "What is masked outside of /proc and /sys cannot be "
     "hidden, so it is refused; of these two a jail shows nothing that needs a mask."),
    (r"linux\.namespaces|namespace by path|create namespace \w+ without path", "namespaces",
     "A jail makes its own namespaces: none is entered by a path, and none of the host's is kept. Its PID, user "
     "and cgroup namespaces are the program's; the pid that the suite looks at is the watcher's, on the host."),
    (r"linux\.resources\.(blockIO|cpu\.mems|hugepageLimits|network)", "limits", "A limit that a jail does not have is "
     "refused, with what to say in its place."),
    (r"disableOOMKiller", "OOM killer", "A jail that is out of memory ends, so turning that off is refused."),
    (r"get (pids cgroup|devices) data|[Cc]group", "cgroups", "The suite reads cgroup v1 at the path that the config "
     "names. A jail's limits are in cgroup v2, in a leaf of its own, and the path is ignored."),
    (r"MUST send the specified signal|MUST run the user-specified program|MUST have no effect on the container",
     "read-only root", "The suite's program proves itself by a file in the root folder. A jail's root tree is "
     "read-only; test_oci.py shows the same by what the program prints."),
    (r"process\.args is missing", "no program", "A config without a program is refused by create, not by start."),
    (r"'--pid-file' option works", "race", "The suite kills a program that has ended by itself, or not yet: it passes "
     "or fails by chance, with any runtime."),
)
# what a refused config makes of later checks, and words of errors that the suite asks for
ECHOES = r"(cannot run validation tests: )?exit status \d+|check .*|Deleting a container MUST delete.*|" \
    r"container '\S+' (does not exist|exists already|is \w+: .*)|container not running|\w+: a word is missing.*"
BY_CHANCE = {"pidfile"}
# these look for cgroups by one name, which another runtime's case would have made
ONE_AT_A_TIME = re.compile("linux_cgroups|delete_resources")
CGROUPS = threading.Lock()


def have_suite():
    """The suite, built; raises SkipTest with what is missing."""
    for program in ("go", "git", "runc", "crun"):
        if not shutil.which(program):
            raise unittest.SkipTest(f"lacks {program}: make interop-oci installs it")
    if os.path.exists(f"{WORK}/built"):
        return
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(SUITE)
    source = os.environ.get("STEPJAIL_RUNTIME_TOOLS", HOME)

    def call(*words):
        return subprocess.run(words, cwd=SUITE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              text=True, timeout=900, env=os.environ | GO)
    call("git", "init", "-q")
    done = call("git", "fetch", "-q", source, COMMIT)
    if done.returncode:
        raise unittest.SkipTest(f"cannot fetch {source}: give a clone of it by STEPJAIL_RUNTIME_TOOLS: {done.stdout}")
    call("git", "checkout", "-q", "FETCH_HEAD")
    name = f"{SUITE}/cmd/runtimetest/main.go"
    with open(name, encoding="utf-8") as text:
        code = text.read()
    if code.count(MEND) != 1:
        raise AssertionError(f"{name} is another one than {COMMIT}")
    with open(name, "w", encoding="utf-8") as text:
        text.write(code.replace(MEND, f"\t\tif highestMatchedConfig < 0 {{\n\t\t\tcontinue\n\t\t}}\n{MEND}"))
    for source, out in [("./cmd/runtimetest", "runtimetest")] + [
            (path, path[:-3] + ".t") for path in glob.glob("validation/*/*.go", root_dir=SUITE) if "/util/" not in path]:
        done = call("go", "build", "-o", out, source)
        if done.returncode:
            raise AssertionError(f"go build {source}: {done.stdout}")
    with open(f"{WORK}/built", "w", encoding="ascii"):
        pass


def refuse_mounts():
    """Before anything is removed there: a mount could be the host's /proc."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        if f" {WORK}/" in mounts.read():
            raise AssertionError(f"mounts are left below {WORK}: unmount them, and remove nothing before")


def prepare():
    refuse_mounts()
    check = subprocess.run([f"{BUILD}/stepjail", "check", "--json"], stdout=subprocess.PIPE, check=False)
    states = {row["name"]: row["state"] for row in json.loads(check.stdout)["checks"]}
    for name in ("state", "tmp", "logs"):
        shutil.rmtree(f"{WORK}/{name}", ignore_errors=True)
    for name in ("conf/stepjail", "tmp", *(f"{kind}/{runtime}" for kind in ("state", "logs") for runtime in RUNTIMES)):
        os.makedirs(f"{WORK}/{name}", exist_ok=True)
    with open(f"{WORK}/conf/stepjail/defaults", "w", encoding="ascii") as text:
        text.write("allow-missing cgroup\n" if states["cgroup v2"] == "missing" else "")
    for name in RUNTIMES:
        with open(f"{WORK}/{name}", "w", encoding="utf-8") as text:
            text.write(WRAPPER.format(run=RUN[name]))
        os.chmod(f"{WORK}/{name}", 0o755)


class Result:
    """What one case said of one runtime: checks passed and failed, and the words of what failed."""

    def __init__(self, case, runtime):
        log = f"{WORK}/logs/{runtime}/{case}"
        env = os.environ | {"RUNTIME": f"{WORK}/{runtime}", "TMPDIR": f"{WORK}/tmp", "STEPJAIL_CASE_LOG": f"{log}.errors"}
        with open(f"{log}.errors", "w", encoding="ascii"):
            pass
        with open(f"{log}.out", "w", encoding="utf-8") as out:
            done = subprocess.run([f"{SUITE}/validation/{case}/{case}.t"], cwd=SUITE, env=env, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=out, timeout=TIMEOUT, check=False)
        with open(f"{log}.out", encoding="utf-8", errors="replace") as out, \
                open(f"{log}.errors", encoding="utf-8", errors="replace") as errors:
            self.lines, said = out.read().split("\n"), errors.read().split("\n")
        self.passed = sum(line.startswith("ok ") and "# SKIP" not in line for line in self.lines)
        failed = [line for line in self.lines if line.startswith("not ok ")]
        self.failed = len(failed)
        # "-": the case ended without a check
        self.text = f"{self.passed}/{self.passed + self.failed}" if self.passed + self.failed else "-"
        self.words = [re.sub(r"^not ok \d+ ?(- )?", "", line) for line in [*failed, *self.inside()]]
        if self.failed or done.returncode or self.text == "-":
            self.words += [json.loads(line)["msg"] for line in said if line.startswith("{")]

    def inside(self):
        """The program in the container wrote checks as well, which are a member of the case's own."""
        for line in self.lines:
            found = re.match(r'\s+"stdout": (".*"),?$', line)
            if found:
                yield from (one for one in json.loads(found[1]).split("\n") if one.startswith("not ok "))

    def reasons(self):
        """Keys of REASONS, and the words that have none."""
        found, left = [], []
        for word in self.words:
            keys = [key for looks, key, _ in REASONS if re.search(looks, word)]
            if keys and keys[0] not in found:
                found.append(keys[0])
            elif not keys and not re.fullmatch(ECHOES, word):
                left.append(word)
        if self.failed and not found:
            left += self.words
        return found, left


def run_one(case, name):
    with CGROUPS if ONE_AT_A_TIME.match(case) else contextlib.nullcontext():
        return Result(case, name)


def run_all():
    """Of each case and runtime: stepjail-oci beside the two others."""
    cases = sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(f"{SUITE}/validation/*/*.t"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        parts = [pool.submit(lambda names: {(case, name): run_one(case, name) for name in names for case in cases}, names)
                 for names in (RUNTIMES[:1], RUNTIMES[1:])]
        return cases, {key: result for part in parts for key, result in part.result().items()}


def clean():
    """What the suite has left, which its cases of failures do; returns what of stepjail-oci stays."""
    for name in RUNTIMES:
        env = os.environ | {"STEPJAIL_CASE_LOG": "/dev/null"}
        for container in os.listdir(f"{WORK}/state/{name}"):
            subprocess.run([f"{WORK}/{name}", "delete", "--force", container], env=env, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False, timeout=TIMEOUT)
    for name in ("cgrouptest", "testdir"):
        for folder in sorted(glob.glob(f"/sys/fs/cgroup/**/{name}/**/", recursive=True), reverse=True):
            try:
                os.rmdir(folder)
            except OSError:
                pass
    shutil.rmtree(f"{WORK}/tmp", ignore_errors=True)
    return os.listdir(f"{WORK}/state/stepjail-oci")


def rows_of(cases, results):
    for case in cases:
        yield [case, *(results[case, name].text for name in RUNTIMES), ", ".join(results[case, RUNTIMES[0]].reasons()[0])]


def write_table(cases, results):
    used = {key for case in cases for key in results[case, RUNTIMES[0]].reasons()[0]}
    with open(TABLE, "w", encoding="utf-8") as out:
        out.write(HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows_of(cases, results)))
        out.write("\n| reason | |\n|---|---|\n")
        out.write("".join(f"| {key} | {why} |\n" for _, key, why in REASONS if key in used or key == "race"))


def read_table():
    with open(TABLE, encoding="utf-8") as text:
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text if line.startswith("| ")]
    return {row[0]: row for row in rows if len(row) == 2 + len(RUNTIMES) and row[0] != "case"}


HEAD = f"""# The OCI validation suite

Checks passed, of those made: `stepjail-oci` beside runc and crun, in one run on one machine, which had
cgroup v1 with a cgroup v2 beside it. The suite is opencontainers/runtime-tools, {COMMIT[:12]}, with one line mended:
its program no longer ends at a first mount that it does not find. `-`: no check was made, since the config
was refused, or since the case prints none, as those of hooks. The last column says which walls or rules of
a jail keep `stepjail-oci` from passing; what the others do not pass is theirs, or the machine's, and their
`killsig` and `pidfile` pass by chance on a busy one.

`test_oci_validation.py --write` makes this page; `make interop-oci` fails where a check fails that has no reason
here, or a count of `stepjail-oci` is another one.

| case | stepjail-oci | runc | crun | why not all |
|---|---|---|---|---|
"""


class Validation(unittest.TestCase):
    def test_suite(self):
        if os.geteuid() != 0:
            self.skipTest("lacks root")
        have_suite()
        prepare()
        cases, results = run_all()
        refuse_mounts()
        self.assertEqual(clean(), [], "containers are left")
        if "--write" in sys.argv:
            write_table(cases, results)
        told = read_table()
        self.assertEqual(cases, sorted(told) if told else cases)
        for row in rows_of(cases, results):
            print(f"{row[0]:32} {row[1]:>8} {row[2]:>8} {row[3]:>8}  {row[4]}")
            with self.subTest(case=row[0]):
                self.assertEqual(results[row[0], RUNTIMES[0]].reasons()[1], [], "no reason for these")
                if row[0] not in BY_CHANCE:
                    self.assertEqual(row[1], told[row[0]][1], "stepjail-oci's count is another one: --write?")


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--write"])
