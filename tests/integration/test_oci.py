#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci.py - a container's life by the command line of stepjail-oci, without an engine"""
import concurrent.futures
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from oci_scene import UP, OciScene  # noqa: E402
from test_run import PLAIN_ENV, each_user, missing_words, processes_with  # noqa: E402

SEED = int(os.environ.get("STEPJAIL_SEED", "20240229"))
KILLED_CREATES = 25


class Oci(OciScene):
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

    def test_programs_that_cannot_be_started(self):
        """start says so, with the program's name; the same of what ends at once is no failure."""
        for name, text in (("lost", "#!/no/such/interpreter\n"), ("empty", ""), ("plain", "print(1)\n")):
            os.chmod(self.file(name, text), 0o644 if name == "plain" else 0o755)
        binds = [{"destination": f"/work/{name}", "type": "bind", "source": f"{self.folder}/{name}",
                  "options": ["bind", "ro"]} for name in ("lost", "empty", "plain")]
        for number, (args, words) in enumerate((
                (["nosuch"], "nosuch: No such file"), (["/bin/nosuch"], "/bin/nosuch: No such file"),
                (["/bin/python3/x"], "/bin/python3/x: Not a directory"), (["/etc"], "/etc: Permission denied"),
                (["/etc/passwd"], "/etc/passwd: Permission denied"), (["/work/lost"], "/work/lost: No such file"),
                (["/work/empty"], "/work/empty: Exec format error"),
                (["/work/plain"], "/work/plain: Permission denied"))):
            with self.subTest(args=args):
                name = f"n{number}"
                pid = self.create(name, "", {"process": {"args": args}, "mounts": binds})
                self.assertIn(words, self.refused("start", name))
                self.assertIn(self.end(pid), (126, 127))
                self.assertEqual(self.status(name), "stopped")
                self.done("delete", name)
        for number in range(20):
            pid = self.create(f"q{number}", f"raise SystemExit({number})")
            self.done("start", f"q{number}")
            self.assertEqual(self.end(pid), number)
        self.assertIn("/nowhere", self.refused("create", "--bundle", self.bundle(
            "lost-folder", "", {"process": {"cwd": "/nowhere"}}), "c"))

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
        self.assertEqual(len(inside), 3, inside)  # init, the program, and the helper
        self.assertEqual(self.done("ps", "a").split(), ["PID", *map(str, inside)])
        self.done("delete", "--force", "a")
        self.assertEqual(self.end(pid), 137)

    def test_pause_and_events(self):
        pid = self.create("a", UP, {"linux": {"resources": {"memory": {"limit": 64 << 20}, "pids": {"limit": 33}}}})
        if missing_words(tuple(self.drop)):
            self.assertIn("no cgroup of its own", self.refused("pause", "a"))
            self.assertIn("no cgroup of its own", self.refused("events", "--stats", "a"))
        else:
            self.done("pause", "a")
            self.done("resume", "a")
            self.done("start", "a")
            self.wait_output("up\n")
            told = json.loads(self.done("events", "--stats", "a"))
            self.assertEqual((told["type"], told["id"]), ("stats", "a"))
            used = told["data"]
            self.assertEqual((used["memory"]["usage"]["limit"], used["pids"]["limit"]), (64 << 20, 34))
            self.assertEqual(used["pids"]["current"], 3)  # init, the program, and the helper
            self.assertGreater(used["cpu"]["usage"]["total"], 1000000)
            self.assertGreater(used["memory"]["usage"]["usage"], 1000000)
            with subprocess.Popen(self.command("events", "a"), env=self.env, stdout=subprocess.PIPE) as events:
                self.assertEqual(json.loads(events.stdout.readline())["id"], "a")
                self.done("kill", "a", "KILL")
                self.assertEqual(events.wait(), 0)  # with the container
        self.done("delete", "--force", "a")
        self.end(pid)

    def test_terminal(self):
        listener, path = self.listen()
        bundle = self.bundle("bundle", "import os; print(os.isatty(0), os.isatty(1), input())",
                             {"process": {"terminal": True}})
        self.done("create", "--bundle", bundle, "--pid-file", f"{bundle}/pid",
                  "--console-socket", path, "a")
        self.done("start", "a")
        self.type_into(listener)
        with open(f"{bundle}/pid", encoding="ascii") as text:
            self.assertEqual(self.end(int(text.read())), 0)
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
        for hold in ("3", "3,", "3,4x", "1,2", "500,501", "-1,-1", "", "3,4,5", "3,4,5,", "3,4,5,2", "3,4,5,6,7",
                     "3,4,5,6 "):
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


globals().update(each_user(Oci))

if __name__ == "__main__":
    unittest.main()
