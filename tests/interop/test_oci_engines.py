#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_engines.py - stepjail-oci under containerd and Podman, for real

Each engine has folders of its own in build/interop/oci, so that nothing of the host's engines is
touched. Where an engine is not installed, or does not start, its tests are skipped and say why.
Every command and what it said is in build/interop/oci/ENGINE.transcript.
"""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("STEPJAIL_BUILD", f"{TOP}/build"))
WORK = f"{BUILD}/interop/oci"
TREE = f"{BUILD}/rootfs/core"
RUNTIME = f"{WORK}/runtime"
TIMEOUT = 300
MANY = int(os.environ.get("STEPJAIL_MANY", "100"))
UP = "print('up', flush=True); import time; time.sleep(1000)"
DEAF = f"import signal; signal.signal(15, signal.SIG_IGN); {UP}"


def make_runtime():
    """stepjail-oci; where the host has no cgroup v2, with defaults that say so."""
    done = subprocess.run([f"{BUILD}/stepjail", "check", "--json"], stdout=subprocess.PIPE,
                          check=False)
    states = {row["name"]: row["state"] for row in json.loads(done.stdout)["checks"]}
    os.makedirs(f"{WORK}/conf/stepjail", exist_ok=True)
    with open(f"{WORK}/conf/stepjail/defaults", "w", encoding="ascii") as text:
        text.write("allow-missing cgroup\n" if states["cgroup v2"] == "missing" else "")
    with open(RUNTIME, "w", encoding="utf-8") as text:
        text.write(f"#!/bin/sh\nXDG_CONFIG_HOME={WORK}/conf exec {BUILD}/stepjail-oci \"$@\"\n")
    os.chmod(RUNTIME, 0o755)
    return states["cgroup v2"] != "missing"


def containers():
    """Watchers, keepers and programs of containers of these tests, by where their reports go."""
    found, marks = [], (b"--report=/run/stepjail-oci/", b"--report=/run/containerd/runc/stepjail-test/",
                        f"--rootfs={WORK}/cri/".encode())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, \
                    open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as state:
                text = words.read()
                if any(mark in text for mark in marks) and state.read().rsplit(")")[-1][1] != "Z":
                    found.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def folders():
    """Of containers of these tests, which the engine had to have deleted."""
    for root in ("/run/stepjail-oci", "/run/containerd/runc/stepjail-test", "/run/containerd/runc/k8s.io"):
        for path in glob.glob(f"{root}/*/state.json"):
            try:
                with open(path, encoding="utf-8", errors="replace") as state:
                    if WORK in state.read():
                        yield os.path.dirname(path)
            except FileNotFoundError:
                pass


class Scene:
    """Mixin: folders and commands of an engine; nothing is left after a test."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("lacks root")
        for program in cls.programs:
            if not shutil.which(program):
                raise unittest.SkipTest(f"lacks {program}: make interop-oci installs it")
        shutil.rmtree(f"{WORK}/{cls.name}", ignore_errors=True)
        os.makedirs(f"{WORK}/{cls.name}")
        cls.limited = make_runtime()
        with open(f"{WORK}/{cls.name}.transcript", "w", encoding="ascii"):
            pass
        cls.begin()

    def tearDown(self):
        end = time.monotonic() + TIMEOUT
        while (containers() or list(folders())) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(containers(), [], "jails are left")
        self.assertEqual(list(folders()), [], "folders of jails are left")
        self.assertEqual(self.listed(), "", "containers are left")

    @classmethod
    def call(cls, *words, **settings):
        if "input" not in settings:
            settings["stdin"] = subprocess.DEVNULL
        done = subprocess.run([*cls.engine, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT,
                              check=False, text=True, **settings)
        said = f"{' '.join(map(quote, words))}\n{done.stdout}{done.stderr}"
        with open(f"{WORK}/{cls.name}.transcript", "a", encoding="utf-8") as transcript:
            transcript.write(f"$ {cls.engine[0]} {said}[exit status {done.returncode}]\n\n")
        return done

    def done(self, *words):
        done = self.call(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def run_once(self, code, name="once", *options):
        words = self.run_words(code, name, *options)
        return self.call(*words[len(self.engine):])


class Engine(Scene):
    """Mixin: what both engines must do."""

    def test_run(self):
        done = self.run_once("import os, sys; print('out', os.getuid()); print('err', file=sys.stderr);"
                             "raise SystemExit(7)")
        self.assertEqual((done.stdout, done.returncode), ("out 1000\n", 7))
        self.assertIn("err\n", done.stderr)

    def test_many_starts_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            done = list(pool.map(lambda i: self.run_once(f"print({i})", f"many{i}"), range(20)))
        self.assertEqual([(one.stdout, one.returncode) for one in done],
                         [(f"{i}\n", 0) for i in range(20)])

    def test_many_run_at_once(self):
        names = [f"many{i}" for i in range(MANY)]
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            list(pool.map(self.up, names))
            self.assertEqual(self.running(), set(names))
            self.assertGreaterEqual(len(containers()), MANY)
            list(pool.map(self.end, names))

    def test_nobody_gets_more_than_a_jail(self):
        done = self.run_once("1", "more", self.privileged)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"config\.json: \S+: .* is refused: ")

    def test_a_terminal(self):
        words = self.run_words("import os; print(os.isatty(0), os.isatty(1))", "terminal", "-t")
        done = subprocess.run(["script", "-qec", " ".join(map(quote, words)), "/dev/null"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=TIMEOUT,
                              check=False, text=True)
        self.assertIn("True True", done.stdout)


def quote(word):
    return word if re.fullmatch(r"[\w./:=,@%+-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def wait_for(case, condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        case.assertLess(time.monotonic(), end)
        time.sleep(0.02)


class Containerds:
    """Mixin: what containerd is asked for, as Podmans."""

    name, programs = "containerd", ("containerd", "ctr", "containerd-shim-runc-v2")
    privileged = "--privileged"
    daemon = None

    @classmethod
    def begin(cls):
        cls.engine = ["ctr", "-a", f"{WORK}/containerd/socket", "-n", "stepjail-test"]
        with open(f"{WORK}/containerd/config.toml", "w", encoding="ascii") as text:
            text.write(f'version = 2\nroot = "{WORK}/containerd/root"\n'
                       f'state = "{WORK}/containerd/state"\n'
                       'disabled_plugins = ["io.containerd.grpc.v1.cri", '
                       '"io.containerd.internal.v1.opt"]\n'
                       f'[grpc]\n  address = "{WORK}/containerd/socket"\n')
        cls.start()

    @classmethod
    def start(cls):
        with open(f"{WORK}/containerd/log", "ab") as log:
            cls.daemon = subprocess.Popen(["containerd", "-c", f"{WORK}/containerd/config.toml"],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          start_new_session=True)
        end = time.monotonic() + TIMEOUT
        while cls.call("version").returncode:
            if cls.daemon.poll() is not None or time.monotonic() > end:
                raise unittest.SkipTest(f"containerd does not start: see {WORK}/containerd/log")
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.wait(TIMEOUT)

    def listed(self):
        return self.done("containers", "ls", "-q")

    def run_words(self, code, name, *options):
        how = [] if "-d" in options else ["--rm"]
        return [*self.engine, "run", *how, *options, "--runc-binary", RUNTIME, "--rootfs", TREE,
                name, "/bin/python3", "-c", code]

    def task(self, name):
        for line in self.done("tasks", "ls").split("\n")[1:]:
            if line.split()[:1] == [name]:
                return line.split()
        return None

    def up(self, name, code=UP, *options):
        self.done(*self.run_words(code, name, "-d", *options)[len(self.engine):])
        return int(self.task(name)[1])

    def stopped(self, name):
        wait_for(self, lambda: (self.task(name) or [0, 0, "STOPPED"])[2] == "STOPPED")

    def running(self):
        rows = [line.split() for line in self.done("tasks", "ls").split("\n")[1:]]
        return {row[0] for row in rows if row and row[2] == "RUNNING"}

    def end(self, name):
        self.done("tasks", "kill", "-s", "SIGKILL", name)
        self.stopped(name)
        done = self.call("tasks", "rm", name)
        self.done("containers", "rm", name)
        return done


class Containerd(Containerds, Engine, unittest.TestCase):
    def test_logs_and_kill(self):
        """ctr has no stop with a time: it is SIGTERM, and SIGKILL for whoever is deaf to it."""
        log = f"{WORK}/containerd/log.kill"

        def logged():
            with open(log, encoding="utf-8") as text:
                return "up" in text.read()
        for code, deaf in ((UP, False), (DEAF, True)):
            self.up("kill", code, "--log-uri", f"file://{log}")
            wait_for(self, logged)
            self.done("tasks", "kill", "-s", "SIGTERM", "kill")
            if deaf:
                self.assertEqual(self.task("kill")[2], "RUNNING")
            else:
                self.stopped("kill")
            done = self.end("kill") if deaf else self.call("tasks", "rm", "kill")
            self.assertIn("137" if deaf else "143", done.stderr)
            self.call("containers", "rm", "kill")
            os.unlink(log)

    def test_what_cannot_be_done(self):
        self.up("no")
        done = self.call("tasks", "pause", "no")
        if self.limited:
            self.assertEqual(done.returncode, 0, done.stderr)
            self.done("tasks", "resume", "no")
        else:
            self.assertIn("no cgroup of its own", done.stderr)
        self.assertEqual(len(self.done("tasks", "ps", "no").strip().split("\n")), 4)
        self.done("tasks", "rm", "-f", "no")
        self.done("containers", "rm", "no")

    def test_shim_is_killed(self):
        """containerd then has the runtime delete what is left."""
        pid = self.up("orphan")
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            shim = int(stat.read().rsplit(")")[-1].split()[1])
        os.kill(shim, signal.SIGKILL)
        self.stopped("orphan")
        self.call("tasks", "rm", "-f", "orphan")
        self.done("containers", "rm", "orphan")

    def test_containerd_is_killed(self):
        """What runs goes on, and its end is known to the next one."""
        self.up("on")
        self.daemon.kill()
        self.daemon.wait()
        self.start()
        self.assertEqual(self.task("on")[2], "RUNNING")
        self.done("tasks", "kill", "-s", "SIGKILL", "on")
        self.stopped("on")
        self.call("tasks", "rm", "on")
        self.done("containers", "rm", "on")


class Podmans:
    """Mixin: what Podman is asked for; it comes before what tests."""

    name, programs = "podman", ("podman", "conmon")
    privileged = "--privileged"

    @classmethod
    def begin(cls):
        folder = f"{WORK}/podman"
        cls.engine = ["podman", "--root", f"{folder}/root", "--runroot", f"{folder}/run", "--tmpdir",
                      f"{folder}/tmp", "--cgroup-manager=cgroupfs", "--storage-driver=vfs",
                      "--events-backend=file", "--runtime", RUNTIME]
        subprocess.run(["tar", "-C", TREE, "-cf", f"{folder}/tree.tar", "."], check=True)
        done = cls.call("import", f"{folder}/tree.tar", "core")
        if done.returncode:
            raise unittest.SkipTest(f"podman does not work here: {done.stderr}")

    @classmethod
    def tearDownClass(cls):
        pass

    def listed(self):
        return self.done("ps", "-aq")

    def run_words(self, code, name, *options):
        how = [] if "-d" in options else ["--rm"]
        network = [] if any(word.startswith("--network") for word in options) else ["--network",
                                                                                    "none"]
        return [*self.engine, "run", *how, *network, "--name", name, *options, "core",
                "/bin/python3", "-c", code]

    def up(self, name, code=UP, *options):
        self.done(*self.run_words(code, name, "-d", *options)[len(self.engine):])

    def inspect(self, name, field):
        return self.done("inspect", name, "--format", "{{.State." + field + "}}").strip()

    def running(self):
        return set(self.done("ps", "--format", "{{.Names}}").split())

    def end(self, name):
        """Podman gives up on a busy machine, with `given PIDs did not die within timeout`."""
        wait_for(self, lambda: self.call("rm", "-f", "-t", "0", name).returncode == 0)

    def logged(self, name):
        wait_for(self, lambda: "up" in self.call("logs", name).stdout)


class Podman(Podmans, Engine, unittest.TestCase):
    def test_podman_is_killed(self):
        """There is no daemon: what runs goes on, and the next podman knows it."""
        with subprocess.Popen(self.run_words(UP, "on"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as podman:
            self.logged("on")
            podman.kill()
        self.assertEqual(self.inspect("on", "Status"), "running")
        self.done("stop", "-t", "10", "on")
        wait_for(self, lambda: self.listed() == "")  # conmon removes what was run with --rm

    def test_conmon_is_killed(self):
        """Its exit status is nobody's then, but it can be ended. What Podman forgets, with runc as well,
        is to have the runtime delete it: a folder with a plan and a report is left."""
        self.up("orphan")
        self.logged("orphan")
        os.kill(int(self.inspect("orphan", "ConmonPid")), signal.SIGKILL)
        self.assertEqual(self.inspect("orphan", "Status"), "running")
        self.end("orphan")
        for folder in folders():
            subprocess.run([RUNTIME, "delete", "--force", os.path.basename(folder)], check=True)

    def test_logs_and_stop(self):
        for code, status in ((UP, "143"), (DEAF, "137")):
            self.up("stop", code)
            self.logged("stop")
            self.assertEqual(self.inspect("stop", "Status"), "running")
            self.done("stop", "-t", "1", "stop")
            self.assertEqual(self.inspect("stop", "ExitCode"), status)
            self.done("rm", "stop")

    def test_kill(self):
        self.up("kill")
        self.done("kill", "-s", "USR1", "kill")
        self.assertEqual(self.done("wait", "kill").strip(), "138")
        self.done("rm", "kill")

    def test_what_cannot_be_done(self):
        self.up("no")
        self.done("rm", "-f", "-t", "0", "no")
        done = self.run_once("1", "net", "--network", "host")
        self.assertRegex(done.stderr, r"linux\.namespaces: network is missing")
        self.call("rm", "-f", "net")

    def test_copies_are_the_jail_s(self):
        """podman cp enters the mount namespace of the container's pid: that is no host's."""
        self.up("copy", f"open('/tmp/made', 'w').write('in the jail'); {UP}")
        self.logged("copy")
        self.done("cp", "copy:/tmp/made", f"{WORK}/podman/copied")
        with open(f"{WORK}/podman/copied", encoding="ascii") as text:
            self.assertEqual(text.read(), "in the jail")
        with open(f"{WORK}/podman/sent", "w", encoding="ascii") as text:
            text.write("from the host")
        name = f"/etc/stepjail-test-{os.getpid()}"
        self.assertNotEqual(self.call("cp", f"{WORK}/podman/sent", f"copy:{name}").returncode, 0)
        self.assertFalse(os.path.exists(name))
        self.done("rm", "-f", "-t", "0", "copy")

    def test_binds_and_limits(self):
        os.makedirs(f"{WORK}/podman/given", exist_ok=True)
        os.chmod(f"{WORK}/podman/given", 0o777)
        done = self.run_once("open('/given/x', 'w').write('y'); b = bytearray(300 << 20)", "limit",
                             "--memory", "64m", "-v", f"{WORK}/podman/given:/given")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(os.listdir(f"{WORK}/podman/given"), ["x"])
        done = self.run_once("open('/given/z', 'w')", "ro", "-v", f"{WORK}/podman/given:/given:ro")
        self.assertTrue(re.search("PermissionError|Read-only", done.stderr), done.stderr)


if __name__ == "__main__":
    unittest.main()
