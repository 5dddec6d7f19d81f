#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci.py - stepjail-oci by its command line alone, without an engine

This process is what an engine's shim is: the subreaper that adopts a container's watcher, and
gets the program's exit status from it.
"""
import array
import concurrent.futures
import copy
import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import BUILD, PLAIN_ENV, TIMEOUT, Host, each_user, missing_words  # noqa: E402
from test_run import processes_with  # noqa: E402

OCI = os.path.join(BUILD, "stepjail-oci")
SEED = int(os.environ.get("STEPJAIL_SEED", "20240229"))
PR_SET_CHILD_SUBREAPER = 36
KILLED_CREATES = 25
CONFIG = {
    "ociVersion": "1.0.2",
    "process": {"args": [], "cwd": "/", "env": ["PATH=/bin"], "user": {"uid": 0, "gid": 0}},
    "root": {"path": f"{BUILD}/rootfs/core", "readonly": True},
    "linux": {"namespaces": [{"type": kind} for kind in
                             ("pid", "ipc", "uts", "mount", "network")]},
}
UP = "print('up', flush=True); import time; time.sleep(1000)"

# what is set in a config, and what the refusal names
REFUSED = (
    ({"process": {"capabilities": {"bounding": ["CAP_CHOWN", "CAP_SYS_ADMIN"]}}}, "CAP_SYS_ADMIN"),
    ({"process": {"capabilities": {"ambient": ["CAP_SYS_PTRACE"]}}}, "CAP_SYS_PTRACE"),
    ({"process": {"rlimits": [{"type": "RLIMIT_STACK", "soft": 1, "hard": 1}]}}, "RLIMIT_STACK"),
    ({"process": {"rlimits": [{"type": "RLIMIT_NOFILE", "soft": "x"}]}}, "soft"),
    ({"process": {"terminal": True}}, "process.terminal"),
    ({"process": {"env": ["A=1\nallow-syscall keyctl"]}}, "--env"),
    ({"process": {"env": [1]}}, "process.env"),
    ({"process": {"args": []}}, "process.args"),
    ({"process": {"args": [None]}}, "process.args"),
    ({"process": {"cwd": "x"}}, "chdir"),
    ({"process": {"cwd": 1}}, "process.cwd"),
    ({"process": {"commandLine": "x"}}, "process.commandLine"),
    ({"root": {"path": "nowhere"}}, "root.path"),
    ({"root": {"path": 1}}, "root.path"),
    ({"root": 1}, "root"),
    ({"ociVersion": "2.0.0"}, "ociVersion"),
    ({"hostname": "a b"}, "hostname"),
    ({"domainname": "x"}, "domainname"),
    ({"hooks": {"prestart": [{"path": "/bin/true"}]}}, "hooks.prestart"),
    ({"hooks": {"createRuntime": [{"path": "/bin/true"}]}}, "hooks.createRuntime"),
    ({"linux": {"namespaces": []}}, "linux.namespaces"),
    ({"linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"},
                               {"type": "mount"}]}}, "network"),
    ({"linux": {"namespaces": [{"type": "network", "path": "/proc/1/ns/net"}]}}, "network"),
    ({"linux": {"namespaces": [{"type": "moon"}]}}, "moon"),
    ({"linux": {"devices": [{"path": "/dev/sda", "type": "b"}]}}, "/dev/sda"),
    ({"linux": {"sysctl": {"kernel.shm_rmid_forced": "1"}}}, "kernel.shm_rmid_forced"),
    ({"linux": {"seccomp": {"defaultAction": "SCMP_ACT_ALLOW"}}}, "linux.seccomp"),
    ({"linux": {"seccomp": {"listenerPath": "/x", "defaultAction": "SCMP_ACT_ERRNO"}}},
     "linux.seccomp"),
    ({"linux": {"resources": {"memory": {"limit": "1G"}}}}, "linux.resources.memory.limit"),
    ({"linux": {"resources": {"memory": {"disableOOMKiller": True}}}}, "disableOOMKiller"),
    ({"linux": {"resources": {"unified": {"memory.max": "1"}}}}, "unified"),
    ({"mounts": [{"destination": "/a", "type": "ext4", "source": "/dev/sda"}]}, "ext4"),
    ({"mounts": [{"destination": "/a", "type": "tmpfs"}]}, "tmpfs"),
    ({"mounts": [{"destination": "/dev/kvm", "type": "bind", "source": "/etc/hostname",
                  "options": ["ro"]}]}, "/dev"),
    ({"mounts": [{"destination": "/proc/1", "type": "bind", "source": "/etc/hostname",
                  "options": ["ro"]}]}, "/proc"),
    ({"mounts": [{"destination": "/a/../b", "type": "bind", "source": "/etc/hostname"}]}, "/a/../b"),
    ({"mounts": [{"destination": "/a:/b", "type": "bind", "source": "/etc/hostname"}]}, "/a:/b"),
    ({"mounts": [{"destination": "/a", "type": "bind", "source": "/etc/hostname",
                  "options": ["bind", "shared"]}]}, "shared"),
    ({"mounts": [{"destination": "/a", "type": "bind", "source": "/nowhere"}]}, "/nowhere"),
)


def merge(config, changes):
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(name), dict):
            merge(config[name], value)
        else:
            config[name] = value
    return config


class Oci(Host):
    def setUp(self):
        super().setUp()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.make_folder("conf")
        self.make_folder("conf/stepjail")
        self.make_folder("state")
        words = missing_words(tuple(self.drop))
        self.file("conf/stepjail/defaults", "allow-missing cgroup\n" if words else "")
        self.env = PLAIN_ENV | {"XDG_CONFIG_HOME": f"{self.folder}/conf"}
        self.out = self.file("out")
        self.log = self.file("log")

    def command(self, *words, root="state"):
        return [*self.drop, OCI, "--root", f"{self.folder}/{root}", "--log", self.log,
                "--log-format", "json", *words]

    def oci(self, *words, **settings):
        """A command's end. A container holds stdout and stderr of its create: these are files."""
        with open(self.out, "ab") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run(self.command(*words, **settings), stdin=subprocess.DEVNULL,
                                  stdout=out if words[0] == "create" else subprocess.PIPE,
                                  stderr=err, timeout=TIMEOUT, check=False, env=self.env, text=True)
            err.seek(0)
            done.stderr = err.read()
            return done

    def done(self, *words):
        done = self.oci(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def refused(self, *words):
        """One line, on stderr and in the log; returns it."""
        done = self.oci(*words)
        self.assertEqual(done.returncode, 125, words)
        line = done.stderr.strip().split("\n")
        self.assertEqual(len(line), 1, line)
        with open(self.log, encoding="utf-8") as log:
            told = json.loads(log.read().strip().split("\n")[-1])
        self.assertEqual(told["level"], "error")
        self.assertIn(line[0], (f"stepjail-oci: {told['msg']}", f"stepjail: {told['msg']}"))
        return line[0]

    def bundle(self, name, program, changes=None):
        config = copy.deepcopy(CONFIG)
        config["process"]["args"] = ["/bin/python3", "-c", program, self.marker]
        merge(config, changes or {})
        self.make_folder(name)
        self.file(f"{name}/config.json", json.dumps(config))
        return f"{self.folder}/{name}"

    def create(self, name, program, changes=None):
        """Returns the watcher's pid, which this process has adopted."""
        bundle = self.bundle(f"bundle-{name}", program, changes)
        self.done("create", "--bundle", bundle, "--pid-file", f"{bundle}/pid", name)
        with open(f"{bundle}/pid", encoding="ascii") as pid:
            return int(pid.read())

    def state(self, name):
        return json.loads(self.done("state", name))

    def status(self, name):
        state = self.state(name)
        self.assertEqual(bool(state["pid"]), state["status"] != "stopped")
        return state["status"]

    def end(self, pid):
        """The exit status of a container, 128+N for signals, as engines tell it."""
        ended, last = (0, 0), time.monotonic() + TIMEOUT
        while ended[0] == 0:
            self.assertLess(time.monotonic(), last, "it does not end")
            ended = os.waitpid(pid, os.WNOHANG)
            time.sleep(0.001)
        status = os.waitstatus_to_exitcode(ended[1])
        return status if status >= 0 else 128 - status

    def output(self):
        with open(self.out, encoding="utf-8") as out:
            return out.read()

    def wait_output(self, words):
        end = time.monotonic() + TIMEOUT
        while words not in self.output():
            self.assertLess(time.monotonic(), end, self.output())
            time.sleep(0.01)

    def test_a_life(self):
        pid = self.create("a", "import os; print(os.getcwd(), os.environ['X'], os.getuid());"
                               "raise SystemExit(7)",
                          {"process": {"cwd": "/tmp", "env": ["PATH=/bin", "X=y"]},
                           "annotations": {"k": "v"}})
        state = self.state("a")
        self.assertEqual((state["id"], state["status"], state["pid"], state["ociVersion"]),
                         ("a", "created", pid, "1.0.2"))
        self.assertEqual((state["bundle"], state["annotations"]),
                         (f"{self.folder}/bundle-a", {"k": "v"}))
        self.assertIn("is created", self.refused("delete", "a"))
        self.assertEqual(self.output(), "")
        self.done("start", "a")
        self.assertEqual(self.end(pid), 7)
        self.assertEqual(self.output(), "/tmp y 1000\n")
        self.assertEqual(self.status("a"), "stopped")
        self.assertIn("is stopped", self.refused("start", "a"))
        self.assertIn("container not running", self.refused("kill", "a", "KILL"))
        self.assertIn("container not running", self.refused("ps", "a"))
        self.done("delete", "a")
        for words in (("delete", "a"), ("state", "a"), ("start", "a"), ("kill", "a")):
            self.assertIn("container 'a' does not exist", self.refused(*words))
        self.done("delete", "--force", "a")
        self.assertEqual(os.listdir(f"{self.folder}/state"), [])

    def test_signals(self):
        caught = ("import signal, time; signal.signal(signal.SIGTERM, lambda *a: exit(3));"
                  "print('up', flush=True); time.sleep(1000)")
        for name, program, words, status in (
                ("term", UP, (), 143), ("name", UP, ("SIGUSR1",), 138), ("number", UP, ("9",), 137),
                ("short", UP, ("int",), 130), ("all", UP, ("--all", "KILL"), 137),
                ("caught", caught, ("15",), 3), ("group", caught, ("--all", "TERM"), 3)):
            with self.subTest(name=name):
                pid = self.create(name, program)
                self.done("start", name)
                self.assertEqual(self.status(name), "running")
                self.wait_output("up\n")
                options = [word for word in words if word[0] == "-"]
                self.done("kill", *options, name, *[word for word in words if word[0] != "-"])
                self.assertEqual(self.end(pid), status)
                self.done("delete", name)
                with open(self.out, "w", encoding="ascii"):
                    pass
        pid = self.create("bad", UP)
        for word in ("0", "65", "SIGNONE", "-"):
            self.assertIn("is no signal", self.refused("kill", "bad", word))
        self.done("kill", "bad", "TERM")  # waits for its start
        self.assertEqual(self.status("bad"), "created")
        self.done("start", "bad")
        self.assertEqual(self.end(pid), 143)
        self.done("delete", "bad")
        pid = self.create("held", UP)
        self.done("kill", "held", "KILL")
        self.assertEqual(self.end(pid), 137)
        self.done("delete", "held")
        self.assertEqual(self.output(), "")

    def test_refused_members(self):
        for changes, name in REFUSED:
            with self.subTest(changes=changes):
                bundle = self.bundle("bundle", "1", changes)
                self.assertIn(name, self.refused("create", "--bundle", bundle, "a"))
                self.assertEqual(os.listdir(f"{self.folder}/state"), [])
                os.unlink(f"{bundle}/config.json")
                os.rmdir(bundle)

    def test_bad_input(self):
        bundle = self.bundle("bundle", "1")
        for text in ("", "[]", "{", "{}", "{} {}", '{"ociVersion": "1.0.2"}',
                     '{"process": {"args": ["a\\u0000b"]}}', "{\0}", "[" * 5000):
            self.file("bundle/config.json", text)
            self.assertIn("config.json", self.refused("create", "--bundle", bundle, "a"))
        os.unlink(f"{bundle}/config.json")
        self.assertIn("config.json", self.refused("create", "--bundle", bundle, "a"))
        self.assertIn("nowhere", self.refused("create", "--bundle", "nowhere", "a"))
        whole = self.bundle("whole", "1")
        for name in ("", "a/b", "..", ".a", "a b", "ä", "a" * 201):
            self.assertIn("no container's name", self.refused("create", "--bundle", whole, name))
            self.assertIn("no container's name", self.refused("state", name))
        for words in (("create",), ("create", "a", "b"), ("kill", "a", "9", "9"), ("state",),
                      ("nonsense",), ("create", "--bundle"), ("create", "--nonsense", "a"),
                      ("features", "a")):
            self.refused(*words)
        for name in ("exec", "update", "events"):
            self.assertIn(f"{name}: ", self.refused(name, "a"))
        self.assertEqual(os.listdir(f"{self.folder}/state"), [])

    def test_what_cannot_be_made(self):
        """A jail that fails on its way: its own words are told, and nothing is left."""
        bundle = self.bundle("bundle", "1", {"process": {"cwd": "/nowhere"}})
        done = self.oci("create", "--bundle", bundle, "a")
        self.assertEqual(done.returncode, 125)
        with open(self.log, encoding="utf-8") as log:
            self.assertIn("/nowhere", json.loads(log.read())["msg"])
        self.assertEqual(os.listdir(f"{self.folder}/state"), [])
        pid = self.create("b", "1", {"process": {"args": ["/bin/nowhere", self.marker]}})
        self.done("start", "b")
        self.assertEqual(self.end(pid), 127)
        self.done("delete", "b")
        self.assertIn("--preserve-fds", self.refused("create", "--preserve-fds", "1", "--bundle",
                                                     self.bundle("c", "1"), "c"))

    def test_what_it_shows(self):
        """Binds, limits, the host's name, devices, and what engines list by default."""
        self.make_folder("shown", 0o777)
        self.file("shown/file", "shown\n")
        program = ("import os, resource, socket; print(open('/a/file').read(), end='');"
                   "open('/b/new', 'w').write('x'); print(socket.gethostname(), "
                   "resource.getrlimit(resource.RLIMIT_NOFILE)[0], sorted(os.listdir('/dev')))\n"
                   "try: open('/a/new', 'w')\nexcept OSError as e: print(e.errno in (13, 30))")
        mounts = [{"destination": at, "type": kind, "source": kind, "options": ["nosuid"]}
                  for at, kind in (("/proc", "proc"), ("/dev", "tmpfs"), ("/dev/pts", "devpts"),
                                   ("/dev/shm", "tmpfs"), ("/dev/mqueue", "mqueue"),
                                   ("/sys", "sysfs"), ("/run", "tmpfs"),
                                   ("/sys/fs/cgroup", "cgroup"))]
        mounts += [{"destination": "/a", "type": "bind", "source": f"{self.folder}/shown",
                    "options": ["rbind", "ro"]},
                   {"destination": "/b", "type": "bind", "source": f"{self.folder}/shown",
                    "options": ["bind", "rprivate"]}]
        pid = self.create("a", program, {
            "hostname": "host-a", "mounts": mounts, "hooks": {"prestart": []},
            "process": {"rlimits": [{"type": "RLIMIT_NOFILE", "soft": 99, "hard": 99}],
                        "capabilities": {"bounding": ["CAP_CHOWN"]}, "noNewPrivileges": True},
            "linux": {"resources": {"memory": {"limit": 1 << 27}, "pids": {"limit": 20},
                                    "cpu": {"shares": 1024}, "devices": [{"allow": False}]},
                      "maskedPaths": ["/proc/kcore"], "seccomp": {
                          "defaultAction": "SCMP_ACT_ERRNO"}}, "com.example": {"x": 1}})
        self.done("start", "a")
        self.assertEqual(self.end(pid), 0)
        self.assertEqual(self.output(), "shown\nhost-a 99 ['fd', 'full', 'null', 'random', 'shm', "
                                        "'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']\n"
                                        "True\n")
        with open(f"{self.folder}/state/a/plan", encoding="utf-8") as plan:
            lines = plan.read().split("\n")
        for line in ("memory 128M", "pids 20", "files 99", "wall-time unlimited", "cpu-weight 39"):
            self.assertIn(line, lines)
        with open(f"{self.folder}/state/a/report.json", encoding="utf-8") as report:
            self.assertEqual(json.load(report)["verdict"], "completed")
        self.done("delete", "a")

    def test_the_pid_is_in_the_jail(self):
        """Who joins the namespaces of a container's pid, as `podman cp` does, joins the jail."""
        pid = self.create("a", UP)
        for kind in ("net", "mnt", "ipc", "uts"):
            own, its = (os.readlink(f"/proc/{who}/ns/{kind}") if os.geteuid() == 0 else who
                        for who in ("self", pid))
            self.assertNotEqual(own, its, kind)
        self.done("start", "a")
        inside = json.loads(self.done("ps", "--format", "json", "a"))
        self.assertNotIn(pid, inside)
        self.assertEqual(len(inside), 2, inside)  # init and the program
        self.assertEqual(self.done("ps", "a").split(), ["PID", *map(str, inside)])
        self.done("delete", "--force", "a")
        self.assertEqual(self.end(pid), 137)

    def test_pause(self):
        pid = self.create("a", UP)
        if missing_words(tuple(self.drop)):
            self.assertIn("no cgroup of its own", self.refused("pause", "a"))
        else:
            self.done("pause", "a")
            self.done("resume", "a")
        self.done("delete", "--force", "a")
        self.end(pid)

    def test_terminal(self):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        path = f"{self.folder}/console"
        listener.bind(path)
        listener.listen()
        os.chmod(path, 0o666)
        bundle = self.bundle("bundle", "import os; print(os.isatty(0), os.isatty(1), input())",
                             {"process": {"terminal": True}})
        self.done("create", "--bundle", bundle, "--pid-file", f"{bundle}/pid",
                  "--console-socket", path, "a")
        fds = array.array("i")
        with listener.accept()[0] as peer:
            fds.frombytes(peer.recvmsg(64, socket.CMSG_SPACE(4))[1][0][2])
        self.done("start", "a")
        os.write(fds[0], b"typed\n")
        with open(f"{bundle}/pid", encoding="ascii") as text:
            pid = int(text.read())
        got = b""
        while b"True True typed" not in got:
            got += os.read(fds[0], 1000)
        self.assertEqual(self.end(pid), 0)
        os.close(fds[0])
        self.done("delete", "a")
        self.assertIn("--console-socket", self.refused("create", "--bundle", bundle,
                                                       "--console-socket", "/nowhere", "a"))

    def test_many_at_once(self):
        """Ten of other names, ten of one name, ten starts of one container."""
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            pids = list(pool.map(lambda i: self.create(f"c{i}", UP), range(10)))
            list(pool.map(lambda i: self.done("start", f"c{i}"), range(10)))
            list(pool.map(lambda i: self.done("kill", f"c{i}", "KILL"), range(10)))
            self.assertEqual([self.end(pid) for pid in pids], [137] * 10)
            list(pool.map(lambda i: self.done("delete", f"c{i}"), range(10)))
            bundle = self.bundle("one", UP)
            made = list(pool.map(lambda i: self.oci(
                "create", "--bundle", bundle, "--pid-file", f"{bundle}/pid{i}", "one"), range(10)))
            self.assertEqual(sorted(done.returncode for done in made), [0] + [125] * 9)
            started = list(pool.map(lambda i: self.oci("start", "one"), range(10)))
            self.assertEqual(sorted(done.returncode for done in started), [0] + [125] * 9)
            ended = list(pool.map(lambda i: self.oci("delete", "--force", "one"), range(10)))
            self.assertEqual([done.returncode for done in ended], [0] * 10)
        pid = [name for name in os.listdir(bundle) if name.startswith("pid")]
        self.assertEqual(len(pid), 1)
        with open(f"{bundle}/{pid[0]}", encoding="ascii") as text:
            self.assertEqual(self.end(int(text.read())), 137)
        self.assertEqual(os.listdir(f"{self.folder}/state"), [])

    def reap(self):
        """What was orphaned to us, until there is none."""
        try:
            while os.waitpid(-1, 0):
                pass
        except ChildProcessError:
            pass

    def test_create_is_killed(self):
        """At any moment: delete --force then removes all, and the name is free."""
        seed = random.Random(SEED)
        bundle = self.bundle("bundle", UP)
        before = time.monotonic()
        self.done("create", "--bundle", bundle, "a")
        whole = time.monotonic() - before
        self.done("delete", "--force", "a")
        self.reap()
        for i in range(KILLED_CREATES):
            with subprocess.Popen(self.command("create", "--bundle", bundle, "a"), env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as create:
                time.sleep(seed.uniform(0, 1.5 * whole))
                create.kill()
            self.done("delete", "--force", "a")
            self.reap()
            self.assertEqual(processes_with(self.marker), [], f"round {i} of seed {SEED}")
            self.assertEqual(os.listdir(f"{self.folder}/state"), [])

    def test_watcher_is_killed(self):
        for started in (False, True):
            pid = self.create(f"c{started}", UP)
            if started:
                self.done("start", f"c{started}")
            os.kill(pid, signal.SIGKILL)
            self.assertEqual(self.end(pid), 137)
            self.assertEqual(self.status(f"c{started}"), "stopped")
            self.done("delete", f"c{started}")

    def test_hold(self):
        """The option of run that create uses."""
        def run(hold, fds=()):
            return subprocess.Popen(self.words("--hold", hold, "--", "python3", "-c", "print('on')"),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN_ENV,
                                    pass_fds=fds)
        for hold in ("3", "3,", "3,4x", "1,2", "500,501", "-1,-1", ""):
            with run(hold) as held:
                self.assertIn("hold", held.communicate()[1].decode())
                self.assertEqual(held.returncode, 125, hold)
        for answer in (b"x", b"", signal.SIGTERM):
            into, outof = os.pipe(), os.pipe()
            with run(f"{into[0]},{outof[1]}", (into[0], outof[1])) as held:
                os.close(into[0])
                os.close(outof[1])
                self.assertGreater(int(os.read(outof[0], 100)), 0)
                if isinstance(answer, bytes):
                    os.write(into[1], answer)
                else:
                    held.send_signal(answer)
                    held.wait()
                os.close(into[1])
                out, err = held.communicate()
            os.close(outof[0])
            self.assertEqual(out, b"on\n" if answer == b"x" else b"")
            self.assertEqual(held.returncode, 0 if answer == b"x" else 125 if answer == b"" else 143)
            self.assertEqual(b"nobody is left" in err, answer == b"")

    def test_what_it_says_of_itself(self):
        done = subprocess.run([OCI, "--version"], stdout=subprocess.PIPE, check=True, text=True)
        self.assertRegex(done.stdout, r"\Astepjail-oci version \S+\nspec: 1\.0\.2\n\Z")
        self.assertIn("linux", json.loads(self.done("features")))
        bundle = self.bundle("bundle", "1", {"process": {"oomScoreAdj": 5}, "other": 1})
        told = self.done("explain", "--bundle", bundle)
        for line in ("process.oomScoreAdj: ", "other: not of the specification", "--net=loopback"):
            self.assertIn(line, told)
        self.assertIn("create", self.done("help"))


globals().update(each_user(Oci))

if __name__ == "__main__":
    unittest.main()
