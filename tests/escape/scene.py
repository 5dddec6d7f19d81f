# SPDX-License-Identifier: MIT
"""scene.py - how one case of the escape corpus is run, outside the jail and inside

A Phase is one user that runs the corpus: root, or an ordinary one. It has a scratch folder
with a root tree and a secret, all owned by that user and open to all, so that file
permissions never stand in for the wall that a case is about.
A Scene is what one case needs around it; scenes.py has a subclass where that is more than
nothing. Outside, a case runs bare, or with the one wall under test removed where running
it bare would be dangerous or would mean nothing: mostly as "root" of new user, mount, PID,
network, IPC and UTS namespaces, where no seccomp filter and no dropped capability is in
the way, and where all that it can harm is its own.
"""
import json
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile

TIMEOUT = 30
OPENED, HELD, LACKS = 0, 1, 77
NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork",
              "--kill-child", "--mount-proc", "--net", "--ipc", "--uts"]
MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"]
# root's bare runs can never change the machine's mounts, whatever a case does
OWN_MOUNTS = (["unshare", "--mount", "--propagation", "private"] if os.geteuid() == 0
              else [])
PLAIN_ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


class Missing(Exception):
    """What a case needs is not there; the text says what."""


class Phase:
    """One user's run of the corpus."""

    def __init__(self, stepjail, binaries, uid):
        self.stepjail, self.binaries, self.uid = stepjail, binaries, uid
        self.drops = os.geteuid() == 0 and uid != 0
        self.name = "root" if uid == 0 else "user"
        self.gid = pwd.getpwuid(uid).pw_gid if self.drops else os.getegid()
        self.folder = tempfile.mkdtemp(prefix="stepjail-escape-")
        os.chmod(self.folder, 0o755)
        self.secret = self.file("secret", secrets.token_hex(16), 0o600)
        self.tree = self.make_tree()

    def own(self, path, mode):
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        os.chmod(path, mode)
        return path

    def file(self, name, text="", mode=0o666):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return self.own(path, mode)

    def make_folder(self, name, mode=0o777):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return self.own(path, mode)

    def make_tree(self):
        """The root tree of the C cases, which need nothing in it."""
        tree = self.make_folder("tree")
        for name in ("bin", "etc", "work", "tmp", "proc", "dev", "mnt"):
            self.make_folder("tree/" + name)
        for name in ("tree/etc/motd", "tree/etc/hostname"):
            self.file(name, "text\n")
        return tree

    def drop(self):
        """The words in front of a command that make it this phase's user's."""
        if not self.drops:
            return []
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"]

    def can_reach(self, path):
        """Whether this phase's user can execute a file."""
        words = [*self.drop(), "/usr/bin/test", "-x", path]
        return subprocess.run(words, check=False, timeout=TIMEOUT).returncode == 0

    def end(self):
        shutil.rmtree(self.folder)


class Result:
    """What one run of a case came to."""

    def __init__(self, status, outcome, text):
        self.status, self.outcome, self.text = status, outcome, text
        self.opened = status == OPENED


class Scene:
    """How a case is run when it needs nothing special."""

    namespaces = False    # outside: in namespaces of its own, with all capabilities there
    options = ()          # of stepjail run
    stdin_path = None     # a file or folder to be given as stdin

    def __init__(self, phase, name):
        self.phase, self.name = phase, name
        self.python = name.endswith(".py")
        self.file = os.path.join(phase.binaries, name)
        self.report = os.path.join(phase.folder, "report.json")
        self.scratch = None
        self.missing = None

    # what a subclass may change

    def set_up(self, inside):
        """Before each of the two runs."""

    def tear_down(self):
        """After each of the two runs."""

    def arguments(self, inside):
        return []

    def wrap(self):
        """Outside: the words before the case."""
        return NAMESPACES if self.namespaces else []

    def jail_options(self):
        return [word.replace("@", self.phase.folder) for word in self.options]

    def program(self, inside):
        where = "/attack/" + self.name if inside else self.file
        if self.python:
            return ["/bin/python3" if inside else "/usr/bin/python3", where]
        return [where]

    def process(self, inside):
        """More arguments of subprocess.run()."""
        return {}

    def effect(self):
        """For attacks whose success only the runner can see: True or False."""
        return None

    # how it is done

    def command(self, inside):
        words = self.program(inside) + self.arguments(inside)
        if not inside:
            return OWN_MOUNTS + self.phase.drop() + self.wrap() + words
        root = [] if self.python else ["--rootfs", self.phase.tree]
        return [*self.phase.drop(), self.phase.stepjail, "run", "--allow-missing", "cgroup",
                "--wall-time", "20s", *root, "--bind", self.phase.binaries + ":/attack",
                "--report", self.report, *self.jail_options(), "--", *words]

    def run(self, inside):
        self.scratch = self.phase.make_folder("inside" if inside else "outside")
        self.phase.file("report.json")
        stdin = os.open(self.stdin_path or "/dev/null", os.O_RDONLY)
        try:
            self.set_up(inside)
            settings = {"stdin": stdin, "cwd": self.scratch, "env": PLAIN_ENV}
            settings.update(self.process(inside))
            done = subprocess.run(self.command(inside), stdout=subprocess.PIPE, check=False,
                                  stderr=subprocess.PIPE, text=True, errors="replace",
                                  timeout=TIMEOUT, **settings)
            return self.judge(inside, done)
        finally:
            os.close(stdin)
            self.tear_down()
            shutil.rmtree(self.scratch)

    def judge(self, inside, done):
        """The case's own last word; where it has none, the launcher's."""
        lines = done.stdout.splitlines()
        status, effect = done.returncode, self.effect()
        if effect is not None and status in (OPENED, HELD):
            status = OPENED if effect else HELD
        outcome = lines[-1] if lines else ""
        verdict = self.verdict() if inside else None
        if verdict == "launcher-error" or (inside and verdict is None and status == 125):
            outcome = "launcher " + done.stderr.strip().splitlines()[-1]
        elif verdict not in (None, "completed", "exited"):
            outcome = "verdict " + verdict
        elif effect:
            outcome = "seen"
        return Result(status, outcome, done.stdout + done.stderr)

    def verdict(self):
        with open(self.report, encoding="utf-8") as report:
            text = report.read()
        return json.loads(text)["verdict"] if text else None


def as_expected(outcome, expected):
    """Every word of the outcome is among the expected ones; or the phrase is in it."""
    kind = expected.split(" ", 1)[0]
    if kind in ("launcher", "verdict"):
        return outcome.startswith(kind + " ") and expected[len(kind) + 1:] in outcome
    words = outcome.split()
    return bool(words) and set(words) <= set(expected.split())
