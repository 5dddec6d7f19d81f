# SPDX-License-Identifier: MIT
"""corpus.py - run stepjail-escape as one of the users of the tests, and read its JSON

The scratch folder holds a root tree that is open to all, so that a file's mode never stands
in for a wall, and a policy whose limits are small, so that bombs are.
"""
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("STEPJAIL_BUILD", os.path.join(TOP, "build")))
ESCAPE = os.path.join(BUILD, "stepjail-escape")
RECORD = os.path.join(HERE, "walls.json")
TIMEOUT = 300
POLICY = """\
allow-missing cgroup
memory 16M
pids 16
files 64
inodes 64
tmp-size 1M
work-size 1M
file-size 8M
wall-time {wall}
cpu-time {cpu}
net-namespace {net}
{more}"""


LOCK, CAPTURE = "lock-code yes\n", "capture both\noutput-limit 64K\n"

# probes of a wall that would change the others: a limit of time, which for them is far
# away, code that is locked, output that is captured
ALONE = {"cpu-bomb": {"cpu": "500ms"},
         "cpu-unwaited": {"cpu": "500ms"},
         "time-bomb": {"wall": "1500ms"},
         "lock-exec": {"more": LOCK},
         "lock-map": {"more": LOCK},
         "lock-memfd": {"more": LOCK},
         "output-bomb": {"more": CAPTURE},
         "terminal-output": {"more": CAPTURE},
         # what the others would find in a namespace of the host's own is refused there twice
         **{f"lease-{name}": {"net": "leased"}
            for name in ("name", "list", "label", "counter", "cookie")}}


def policy(wall="20s", cpu="unlimited", net="fresh", more=""):
    return POLICY.format(wall=wall, cpu=cpu, net=net, more=more)


class User:
    """Who runs the corpus."""

    def __init__(self, uid):
        self.uid = uid
        self.drops = os.geteuid() == 0 and uid != 0
        self.name = "root" if uid == 0 else "user"

    def words(self):
        if not self.drops:
            return []
        gid = pwd.getpwuid(self.uid).pw_gid
        return ["setpriv", f"--reuid={self.uid}", f"--regid={gid}", "--clear-groups"]

    def can_reach(self, path):
        words = [*self.words(), "/usr/bin/test", "-x", path]
        return subprocess.run(words, check=False).returncode == 0


def users():
    """Root and an ordinary user, or whoever we are."""
    if os.geteuid() != 0:
        return [User(os.geteuid())]
    name = os.environ.get("STEPJAIL_TEST_USER", "games")
    return [User(0), User(pwd.getpwnam(name).pw_uid)]


class Corpus:
    """The corpus in a scratch folder."""

    launcher = os.path.join(BUILD, "stepjail")

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-walls-")
        self.policy = self.write("policy", policy())
        self.leased = self.write("leased", policy(net="leased"))
        for name, rows in ALONE.items():
            self.write(name, policy(**rows))
        self.tree = os.path.join(self.folder, "tree")
        for name in ("bin", "etc", "work", "tmp", "proc", "dev", "stepjail-scene"):
            os.makedirs(os.path.join(self.tree, name))
        for name in ("tree/etc/motd", "tree/stepjail-probe"):
            self.write(name, "text\n")
        for folder, folders, files in os.walk(self.tree):
            for name in folders + files:
                os.chmod(os.path.join(folder, name), 0o777)
        for path in (self.folder, self.tree):
            os.chmod(path, 0o755 if path == self.folder else 0o777)

    def end(self):
        shutil.rmtree(self.folder)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        os.chmod(path, 0o644)
        return path

    def run(self, user, *options, probes=(), without=None, leased=False):
        """Return: rows, by name; a probe of ALONE runs alone"""
        launcher = self.launcher
        if without is not None:
            launcher = os.path.join(BUILD, "unwalled/stepjail")
        words = [*user.words(), ESCAPE, "--launcher", launcher, "--json"]
        for name in probes:
            words += ["--probe", name]
        alone = probes and probes[0] in ALONE
        policy_file = os.path.join(self.folder, probes[0]) if alone else \
            self.leased if leased else self.policy
        words += [*options, "--policy", policy_file, "--rootfs", self.tree]
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
        env.update(self.more_env(probes))
        if without is not None:
            env["STEPJAIL_WITHOUT"] = ",".join(without)
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, errors="replace",
                              timeout=TIMEOUT, check=False, env=env, cwd="/")
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(words)}: status {done.returncode}: {done.stderr}")
        rows = {row["name"]: row for row in json.loads(done.stdout)}
        self.status = done.returncode
        return rows

    def more_env(self, _probes):
        return {}

    def run_all(self, user, *options):
        rows = self.run(user, *options)
        for name in ALONE:
            rows.update(self.run(user, *options, probes=[name]))
        return rows


def walls_of_rows():
    """What the rows declare: {probe: {word or "": text}} and the texts of all words"""
    rows, texts = {}, {}
    listed = subprocess.run([ESCAPE, "--walls"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    for line in listed.splitlines():
        name, word, text = line.split("\t")
        if name:
            rows.setdefault(name, []).append((word, text))
        if word:
            texts[word] = text
    return rows, texts


def read_record():
    with open(RECORD, encoding="ascii") as record:
        return json.load(record)
