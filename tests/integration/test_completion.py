#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_completion.py - Tab in bash and zsh: options, values, files, and what the programs have"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_scene import BUILD, TOP  # noqa: E402
from serve_client import PATIENCE  # noqa: E402

FOLDER = os.path.join(BUILD, "completion")
PROGRAMS = ("stepjail", "stepjail-agent", "stepjail-batch", "stepjail-mcp", "stepjail-oci", "stepjail-report",
            "stepjail-transcripts")
# what bash does at a Tab, as it parts the words; COMP_WORDS is from $2 on
DRIVER = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_${1//-/_}" "$1" "${@: -1}"; '
          'printf "%s\\n" "${COMPREPLY[@]}"')


def parted(line):
    """Words of a line as COMP_WORDBREAKS parts them."""
    words = [piece for word in line.split(" ")[:-1] if word for piece in re.findall(r"[=:]|[^=:]+", word)]
    return words + (re.findall(r"[=:]|[^=:]+", line.split(" ")[-1]) or [""])


class Scene(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("data.csv", "state/stepjail/transcripts/solve-1.jsonl", "dir/x"):
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            with open(os.path.join(self.folder, name), "w", encoding="utf-8"):
                pass
        self.env = {"PATH": f"{BUILD}:/usr/bin:/bin", "HOME": self.folder, "XDG_STATE_HOME": self.folder + "/state",
                    "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def bash(self, line, words=None):
        """What a Tab at the end of the line offers."""
        words = words or parted(line)
        done = subprocess.run(["bash", "--norc", "-c", DRIVER, "bash", os.path.join(FOLDER, "bash", words[0]), *words],
                              check=False, capture_output=True, text=True, cwd=self.folder, env=self.env, timeout=PATIENCE)
        self.assertEqual(done.stderr, "", line)
        return done.stdout.split()


class Bash(Scene):
    def test_commands(self):
        self.assertEqual(self.bash("stepjail "), ["run", "serve", "check", "explain", "escape", "vm", "help", "version"])
        self.assertEqual(self.bash("stepjail-agent s"), ["solve"])
        self.assertEqual(self.bash("stepjail-agent transcripts "), ["list", "show", "verify", "violations", "prune"])
        self.assertEqual(self.bash("stepjail-transcripts v"), ["verify", "violations"])
        self.assertIn("create", self.bash("stepjail-oci --root /x "))
        self.assertNotIn("update", self.bash("stepjail-oci "))
        self.assertEqual(self.bash("stepjail help ex"), ["explain"])

    def test_every_option(self):
        """Of each command what its help shows."""
        for program, commands in (("stepjail", ("run", "serve", "check", "explain")),
                                  ("stepjail-agent", ("solve", "chat", "repl", "verify", "replay", "transcripts list", "transcripts show",
                                                      "transcripts prune", "check")), *((name, ("",)) for name in
                                                                                        ("stepjail-batch", "stepjail-mcp", "stepjail-report"))):
            for command in commands:
                words = command.split()
                text = subprocess.run([os.path.join(BUILD, program), *words, "--help", *["all"] * (program == "stepjail-agent")],
                                      check=True, capture_output=True, text=True).stdout
                told = set(re.findall(r"^  (--[a-z][a-z0-9-]*)", text, re.M))
                offered = {one.rstrip("=") for one in self.bash(f"{program} {command} --".replace("  ", " "))}
                self.assertLessEqual(told, offered, f"{program} {command}")
                self.assertLessEqual(offered - told, {"--help", "--man", "--json", "--version"}, f"{program} {command}")
        self.assertIn("--list", self.bash("stepjail escape --"))
        self.assertIn("--bundle", self.bash("stepjail-oci create --"))

    def test_values(self):
        for line, offered in (("stepjail run --rootfs ", ["core", "data", "dir", "state"]),
                              ("stepjail run --rootfs d", ["data", "dir"]), ("stepjail run --rootfs=da", ["data"]),
                              ("stepjail run --rootfs=", ["core", "data", "dir", "state"]), ("stepjail run --aslr=", ["yes", "no"]),
                              ("stepjail run --aslr=n", ["no"]), ("stepjail run --capture=", ["no", "both", "stderr"]),
                              ("stepjail run --net ", ["none", "loopback"]), ("stepjail run --bind da", ["data.csv"]),
                              ("stepjail run --bind data.csv:di", ["dir"]), ("stepjail run --memory ", []),
                              ("stepjail run --require ", ["landlock"]), ("stepjail run --allow-missing ", ["cgroup", "audit"]),
                              ("stepjail run --allow-syscall sock", ["socket", "socketpair"]),
                              ("stepjail escape --probe host-r", ["host-read"]),
                              ("stepjail-agent solve x --model ", ["openai", "anthropic", "ollama", "llamacpp", "vllm", "scripted:"]),
                              ("stepjail-agent solve x --model scripted:da", ["data.csv"]),
                              ("stepjail-agent solve --json=", ["no", "yes"]), ("stepjail-agent repl --color a", ["auto", "always"]),
                              ("stepjail-agent solve --file ./da", ["./data.csv"]), ("stepjail-agent verify sol", ["solve-1.jsonl"]),
                              ("stepjail-agent transcripts show ", ["solve-1.jsonl", "data.csv", "dir", "state"]),
                              ("stepjail-report solve-1.jsonl --shown ", ["dir", "state"]), ("stepjail-report s", ["solve-1.jsonl", "state"]),
                              ("stepjail-batch data.csv --jobs 3 d", ["data.csv", "dir"]), ("stepjail-oci --log d", ["data.csv", "dir"])):
            with self.subTest(line=line):
                self.assertEqual(sorted(self.bash(line)), sorted(offered))

    def test_where_words_are_not_parted(self):
        """With a COMP_WORDBREAKS without =."""
        self.assertEqual(self.bash("", ["stepjail", "run", "--aslr="]), ["--aslr=yes", "--aslr=no"])

    def test_a_value_that_may_lack(self):
        """A word behind such an option is no value of it."""
        self.assertEqual(sorted(self.bash("stepjail run --learn d")), ["data.csv", "dir"])
        self.assertEqual(self.bash("stepjail-agent solve --le"), [])
        self.assertEqual(self.bash("stepjail run --lear"), ["--learn", "--learn="])

    def test_behind(self):
        """Options of another program stand behind --, and words of a jail's program behind that."""
        self.assertIn("--total-cost", self.bash("stepjail-batch a b --jobs 2 -- --total-"))
        self.assertEqual(self.bash("stepjail-batch a b -- --jo"), [])
        self.assertEqual(self.bash("stepjail-mcp -- --rootfs co"), ["core"])
        for line in ("stepjail run -- d", "stepjail run --memory 1G prog --rootfs d", "stepjail run prog d"):
            self.assertEqual(sorted(self.bash(line)), ["data.csv", "dir"], line)

    def test_hostile_words(self):
        """What stands in a line is never run."""
        for word in ("$(touch bad)", "`touch bad`", "x[$(touch bad)]", "';touch bad;'", "*", "[", "a b"):
            for words in (["stepjail", word, "--r"], ["stepjail", "run", "--rootfs", word], ["stepjail", "run", "--" + word, "="],
                          ["stepjail", "run", "--rootfs", "=", word], ["stepjail", "run", word, "x"]):
                self.bash("", words)
        self.assertEqual(sorted(os.listdir(self.folder)), ["data.csv", "dir", "state"])

    def test_shellcheck(self):
        for name in PROGRAMS:
            done = subprocess.run(["shellcheck", os.path.join(FOLDER, "bash", name)], check=False, capture_output=True, text=True)
            self.assertEqual(done.stdout + done.stderr, "")


class Typed(Scene):
    """Shells on a terminal."""

    def begin(self, *shell):
        self.shell, self.seen = shell[0], ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe(shell[0], shell, {**self.env, "PS1": "first> "})
        self.addCleanup(os.close, self.fd)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.wait_for("first> $")

    def wait_for(self, want):
        """Until this is on the terminal; what was there is over then."""
        end = time.monotonic() + PATIENCE
        while not re.search(want, self.seen):
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                self.fail(f"{self.shell} does not show {want!r}: {self.seen!r}")
            self.seen = re.sub("\x1b\\[[?0-9;]*[a-zA-Z]|\x07", "", self.seen + os.read(self.fd, 65536).decode(errors="replace"))
        self.seen = ""

    def type(self, keys, want):
        os.write(self.fd, keys.encode())
        self.wait_for(want)

    def completed(self, lines):
        """Each line becomes the other by Tab; Ctrl-U takes it away."""
        for line, want in lines:
            with self.subTest(line=line):
                self.type(line, re.escape(want))
                self.type("\x15\r", "then> $")

    def test_bash(self):
        self.begin("bash", "--norc", "--noprofile", "-i")
        self.type(f"for f in {FOLDER}/bash/*; do source $f; done; PS1='then''> '\r", "then> $")
        self.completed((("stepjail run --root\t", "--rootfs "), ("stepjail run --rootfs c\t", "--rootfs core "),
                        ("stepjail run --aslr=n\t", "--aslr=no "), ("stepjail-agent tr\tpr\t--dry\t", "prune --dry-run"),
                        ("stepjail-report so\t", "solve-1.jsonl ")))

    def test_zsh(self):
        """zsh asks for its own functions by name, as it does when they are installed."""
        self.begin("zsh", "-f", "-i", "+o", "promptsp")
        self.type(f"fpath=({FOLDER}/zsh $fpath); autoload -Uz compinit; compinit -D -u; PS1='then''> '\r", "then> $")
        self.completed((("stepjail run --rootf\t", "--rootfs"), ("stepjail run --rootfs cor\t", "--rootfs core "),
                        ("stepjail run --aslr=n\t", "--aslr=no "), ("stepjail-agent transcripts pr\t", "prune "),
                        ("stepjail-agent transcripts prune --dry\t", "--dry-run"), ("stepjail-report sol\t", "solve-1.jsonl "),
                        ("stepjail-batch a b -- --total-cp\t", "--total-cpu-time"), ("stepjail-mcp --sess\t", "--sessions"),
                        ("stepjail-mcp -- --rootf\t", "--rootfs"), ("stepjail-oci crea\t", "create ")))

    def test_zsh_syntax(self):
        for name in PROGRAMS:
            done = subprocess.run(["zsh", "-f", "-n", os.path.join(FOLDER, "zsh", "_" + name)], check=False, capture_output=True,
                                  text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class Made(unittest.TestCase):
    def test_installed(self):
        """make install has what is made, and uninstall leaves none of it."""
        if os.path.realpath(BUILD) != os.path.join(TOP, "build"):
            self.skipTest("the build is not this checkout's")
        made = [f"--old-file=build/{name}" for name in ("stepjail-policy.5", "stepjail-protocol.7", "completion/key")]
        names = [*("bash-completion/completions/" + name for name in PROGRAMS),
                 *("zsh/site-functions/_" + name for name in PROGRAMS), "man/man5/stepjail-policy.5", "man/man7/stepjail-protocol.7"]
        with tempfile.TemporaryDirectory(prefix="stepjail-test-") as folder:
            for target, there in (("install.words", True), ("uninstall.words", False)):
                subprocess.run(["make", "-s", "-C", TOP, *made, target, f"DESTDIR={folder}", "PREFIX=/usr"], check=True,
                               stdout=subprocess.DEVNULL)
                for name in names:
                    self.assertEqual(os.path.exists(f"{folder}/usr/share/{name}"), there, name)


if __name__ == "__main__":
    unittest.main()
