# SPDX-License-Identifier: MIT
"""scenes.py - the cases that need something around them; see scene.py

A class is found by its case's number; those about files are in scenes_files.py.
"""
import fcntl
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import termios

import scenes_files
from scene import HELD, PLAIN_ENV, TIMEOUT, Missing, Result, Scene
from scenes_files import Namespaced


class OnInit(Scene):
    """Outside the target is a child of the case, inside it is the jail's init."""

    def arguments(self, inside):
        return ["1" if inside else "child"]


class Victim(Scene):
    """A process of the host, of the same user."""

    victim = None

    def set_up(self, inside):
        self.victim = subprocess.Popen([*self.phase.drop(), "sleep", "60"], env=PLAIN_ENV,
                                       preexec_fn=os.setpgrp)

    def tear_down(self):
        self.victim.kill()
        self.victim.wait(TIMEOUT)

    def arguments(self, inside):
        return [str(self.victim.pid)]


class Case13(Victim):
    def arguments(self, inside):
        return []

    def process(self, inside):
        # the victim leads the group that the launcher, or the bare case, is put into
        return {"preexec_fn": lambda: os.setpgid(0, self.victim.pid)}

    def effect(self):
        try:
            return self.victim.wait(0.2) == -signal.SIGUSR1
        except subprocess.TimeoutExpired:
            return False


class Case15(Scene):
    """Root makes the set-user-ID file; an ordinary user starts it, outside and inside."""

    def set_up(self, inside):
        if os.geteuid() != 0:
            raise Missing("root, to make a set-user-ID file of root's")
        if os.statvfs(self.phase.tree).f_flag & os.ST_NOSUID:
            raise Missing("a temporary folder that is not mounted nosuid")
        self.path = os.path.join(self.phase.tree, "bin/setuid")
        shutil.copy(self.file, self.path)
        os.chown(self.path, 0, 0)
        os.chmod(self.path, 0o4755)

    def tear_down(self):
        if hasattr(self, "path"):
            os.unlink(self.path)

    def wrap(self):
        return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] \
            if self.phase.uid == 0 else []

    def program(self, inside):
        return ["/bin/setuid" if inside else self.path]


class Terminal(Scene):
    """stdin is a terminal that controls the session of the launcher, or of the bare case."""

    def set_up(self, inside):
        self.master, self.slave = pty.openpty()
        if os.geteuid() == 0:
            os.fchown(self.slave, self.phase.uid, self.phase.gid)

    def tear_down(self):
        os.close(self.master)
        os.close(self.slave)

    def process(self, inside):
        def control():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        return {"stdin": self.slave, "preexec_fn": control}


class Case19(Terminal):
    def effect(self):
        """What was typed is echoed; a tty that nobody typed into stays silent."""
        return bool(select.select([self.master], [], [], 0.1)[0])


class Case21(Scene):
    """The caller leaves a secret file and the host's root folder open."""

    FIRST = 60

    def set_up(self, inside):
        self.fds = []
        for path in (self.phase.secret, "/"):
            fd = os.open(path, os.O_RDONLY)
            self.fds.append(fcntl.fcntl(fd, fcntl.F_DUPFD, self.FIRST))
            os.close(fd)

    def tear_down(self):
        for fd in self.fds:
            os.close(fd)

    def arguments(self, inside):
        return [str(fd) for fd in self.fds]

    def process(self, inside):
        return {"pass_fds": self.fds}


class Case22(Scene):
    def set_up(self, inside):
        self.fd = os.open(self.phase.file("given", "data\n"), os.O_RDONLY)

    def tear_down(self):
        os.close(self.fd)

    def process(self, inside):
        return {"stdin": self.fd}


class Case23(Scene):
    def set_up(self, inside):
        self.socket = socket.socket(socket.AF_UNIX)
        self.word = "stepjail-escape-" + str(os.getpid())
        self.socket.bind("\0" + self.word)
        self.socket.listen()

    def tear_down(self):
        self.socket.close()

    def arguments(self, inside):
        return [self.word]


class Case24(Scene):
    options = ("--net", "loopback")

    def set_up(self, inside):
        self.socket = socket.create_server(("127.0.0.1", 0))

    def tear_down(self):
        self.socket.close()

    def arguments(self, inside):
        return [str(self.socket.getsockname()[1])]


class AtHome(Scene):
    """Bare as root; an ordinary user needs namespaces to have any of it outside."""

    def wrap(self):
        self.namespaces = self.phase.uid != 0
        return super().wrap()


class Case33(Scene):
    def arguments(self, inside):
        with open("/proc/sys/kernel/domainname", encoding="ascii") as name:
            return [socket.gethostname(), name.read().strip()]


class Case35(Scene):
    def process(self, inside):
        return {"env": {**PLAIN_ENV, "STEPJAIL_ESCAPE_KEY": "secret"}}


class Case38(Scene):
    options = ("--pids", "16")

    def arguments(self, inside):
        return ["64"]


class Case39(Scene):
    options = ("--files", "64")

    def arguments(self, inside):
        return ["200"]


class Case40(Scene):
    """Each process stays below the limit of one: only their sum is too much."""

    options = ("--memory", "64M")

    def arguments(self, inside):
        return ["4", "40", "3000" if inside else "10"]


class Case46(Scene):
    """Outside, both are in one PID namespace; inside, each is in a jail of its own."""

    def wrap(self):
        # unshare's child has PID 1, which SIGKILL from within its namespace does not reach
        script = '"$0" wait "$3" >pipe & while [ ! -s pipe ]; do sleep .05; done; "$@"'
        return ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
                "--mount-proc", "--net", "sh", "-c", script, self.file]

    def arguments(self, inside):
        return ["hunt", self.phase.folder]

    def run(self, inside):
        if not inside:
            return super().run(inside)
        with tempfile.TemporaryFile("w+") as report:
            return self.run_two(report)

    def run_two(self, report):
        words = self.command(True)
        words[words.index("hunt")] = "wait"
        words[words.index("--report") + 1] = str(report.fileno())
        with subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=PLAIN_ENV,
                              pass_fds=[report.fileno()]) as other:
            try:
                if other.stdout.readline() != b"ready\n":
                    raise Missing("a second jail")
                result = super().run(True)
                ended = other.poll() is not None
            finally:
                other.terminate()
                other.wait(TIMEOUT)
        return self.compare(result, report, ended)

    def compare(self, result, report, ended):
        """Both reports name the kernel's uid: as root, never the same twice."""
        report.seek(0)
        theirs, ours = report.read(), self.last_report
        same = theirs.split('"host_uid":')[1] == ours.split('"host_uid":')[1]
        if ended:
            return Result(0, "the other jail ended", result.text)
        if self.phase.uid == 0 and same:
            return Result(HELD, "one-uid-for-both", result.text)
        return result

    def verdict(self):
        with open(self.report, encoding="utf-8") as report:
            self.last_report = report.read()
        return super().verdict()


SHARED = {
    "05": Namespaced, "06": Namespaced, "07": Namespaced, "14": Namespaced,
    "16": Namespaced, "09": OnInit, "10": OnInit, "11": OnInit, "47": OnInit,
    "12": Victim, "20": Terminal, "30": AtHome, "31": AtHome,
}
SCENES = SHARED | {name[4:]: thing
                   for name, thing in [*vars(scenes_files).items(), *globals().items()]
                   if name.startswith("Case")}


def scene_for(phase, name):
    return SCENES.get(name[:2], Scene)(phase, name)
