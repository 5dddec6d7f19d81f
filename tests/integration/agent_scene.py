# SPDX-License-Identifier: MIT
"""agent_scene.py - what the tests of stepjail-agent share: where things are, and AgentCase

STEPJAIL_BUILD is the folder of the binaries (default build), STEPJAIL_AGENT the agent itself.
"""
import ctypes
import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from mock_model import MockModel

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("STEPJAIL_BUILD", "build"))
AGENT = os.path.join(TOP, os.environ.get("STEPJAIL_AGENT", os.path.join(BUILD, "stepjail-agent")))
DATA = os.path.join(TOP, "tests/data")
SCRIPT = os.path.join(DATA, "penguins.turns")
CSV = os.path.join(DATA, "penguins.csv")
HUMANEVAL = os.path.join(DATA, "HumanEval.jsonl.gz")
QUESTION = "Which penguin species is heaviest on average?"
KEY = "sk-very-secret-0123456789abcdef"

def fence(code):
    return f"```python\n{code}\n```\n"


def unseal(line):
    """Of a transcript's line: the bytes that its digest is of, and the digest."""
    head, found, seal = line.rstrip(b"\n").rpartition(b',"sha256":"')
    assert found and seal.endswith(b'"}'), line
    return head, seal[:-2].decode()


def sealed(head):
    return head + b',"sha256":"%s"}\n' % hashlib.sha256(head).hexdigest().encode()


def chained(events):
    """A transcript's lines made anew, of its events."""
    lines, before = [], "0" * 64
    for number, event in enumerate(events, 1):
        event = {**event, "line": number, "prev": before}
        event.pop("sha256", None)
        order = {"line": number, "prev": before, **event}
        lines.append(sealed(json.dumps(order, separators=(",", ":")).encode()[:-1]))
        before = unseal(lines[-1])[1]
    return lines


def errors(err, those=True):
    """Of stderr: the lines that say what failed, or the progress before them."""
    return "".join(line for line in unwarned(err).splitlines(keepends=True)
                   if line.startswith("stepjail-agent: ") == those)


def unwaited(text):
    """Without the agent's own line, which is written over."""
    return re.sub(r"\r\x1b\[K(    (preparing|waiting)[^\r\n]*)?", "", text)


class Watch:
    """Whether anybody opens a file, by inotify(7): what has O_PATH is not open."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert libc.inotify_add_watch(self.fd, os.fsencode(path), 0x20) >= 0, ctypes.get_errno()

    def opened(self):
        try:
            return bool(os.read(self.fd, 4096))
        except BlockingIOError:
            return False
        finally:
            os.close(self.fd)


def wait_for(what, seconds=60):
    """What it returns once that is true, or at last; the seconds bound a hang alone."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.02)
    return what()


def family(pid):
    """A process and all that descends from it: children behind parents, and behind those that
    were born before them, which ids do not tell where they have begun anew."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            children.setdefault(int(fields[1]), []).append((int(fields[19]), int(entry)))
    found = [pid]
    for one in found:
        found += [child for _, child in sorted(children.get(one, []))]
    return found


def read_terminal(ours, seen=None):
    """All that comes until nobody writes any more; @seen is called with it at each piece."""
    out = b""
    try:
        while piece := os.read(ours, 65536):
            out += piece
            if seen:
                seen(out)
    except OSError:
        pass
    return out


def unwarned(err):
    """What is on stderr, but for the warning on a host that does not enforce all limits."""
    return re.sub("(?m)^stepjail-agent: warning: not enforced on this host: .*\n", "", err)


def takes_signals(pid):
    """Has the agent blocked SIGINT, to take it when it can? Before that, it just dies."""
    with open(f"/proc/{pid}/status") as f:
        blocked = next(line for line in f if line.startswith("SigBlk:"))
    return int(blocked.split()[1], 16) >> (signal.SIGINT - 1) & 1


def alive(pids):
    """Those of them that are still running (a zombie is not)."""
    left = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] not in "ZX":
                    left.append(pid)
        except (OSError, IndexError):
            pass
    return left


class AgentCase(unittest.TestCase):
    """A folder of its own with a fake stepjail in it, and ways to run the agent."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.fake = os.path.join(self.folder, "stepjail")
        shutil.copy(os.path.join(HERE, "fake_stepjail.py"), self.fake)
        for name in ("fake_serve.py", "fake_state.py", "fake_lies.py"):
            shutil.copy(os.path.join(HERE, name), self.folder)

    def path(self, name, text=None, mode=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def log(self):
        """What the fake stepjail saw of argv, environment and fds, a dict per start."""
        with open(self.path("fake_stepjail.log")) as f:
            return [json.loads(line) for line in f]

    def env(self, **more):
        keep = {k: v for k, v in os.environ.items()
                if not k.lower().endswith("_proxy") and k not in ("NO_COLOR", "TERM")}
        # transcripts go there, and not to whoever runs this
        return {**keep, "XDG_STATE_HOME": self.path("state"), **more}

    def popen(self, *args, env=None, **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL,
               **how}
        return subprocess.Popen([AGENT, *args], env=env or self.env(), **how)

    def run_agent(self, *args, env=None, timeout=300, **how):
        """Exit status, stdout, stderr; of a solve the progress on stderr is before the answer on
        stdout, and stderr is what errors it has."""
        with self.popen(*args, env=env, **how) as p:
            out, err = p.communicate(timeout=timeout)
        out, err = (out or b"").decode(), (err or b"").decode()
        apart = ("--json", "--quiet")
        if args[:1] == ("solve",) and not any(arg.startswith(apart) for arg in args):
            out, err = errors(err, False) + out, errors(err)
        return p.returncode, out, err

    def on_terminal(self, *args, columns=80, **how):
        """What a terminal gets of a run that ends well."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with self.popen(*args, stdout=theirs, stderr=theirs, **how) as p:
            os.close(theirs)
            out = read_terminal(ours)
        os.close(ours)
        self.assertEqual(p.returncode, 0, out)
        return out

    def solve(self, *args, stepjail=None, **how):
        return self.run_agent("solve", "The task.", "--stepjail", stepjail or self.fake, *args,
                              **how)

    def script(self, *turns):
        return "scripted:" + self.path("script.turns", "".join("--- turn\n" + t + "\n"
                                                               for t in turns))

    def steps(self, *codes, more=(), **how):
        """Run each code as a step, then answer; the --json object."""
        turns = [fence(c) for c in codes] + ["Done."]
        status, out, err = self.solve("--json", "--model", self.script(*turns), *more, **how)
        self.assertEqual((status, err.count("Traceback")), (0, err.count("Traceback")), err)
        return json.loads(out)

    def ask(self, answers, *args, status=0, model="openai", env=None, **how):
        """Ask a mock server; returns (mock, stdout, stderr)."""
        with MockModel(answers) as mock:
            got, out, err = self.solve("--model", model, "--model-name", "m", "--base-url",
                                       mock.url, *args, env=env or self.env(STEPJAIL_API_KEY=KEY),
                                       **how)
        self.assertEqual(got, status, out + err)
        return mock, out, err

    def one_line(self, err, *words):
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("stepjail-agent: "), err)
        for word in words:
            self.assertIn(word, err)
