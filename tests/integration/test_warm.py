#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_warm.py - jails that are cloned from a template: the same walls, and nothing of it

build/stepjail-warm launches jails one after the other, out of one template or executed
(warm_host.c); in build/warm/tree a template of C stands in for the interpreter, whose clones
look at their walls from inside (warm_program.c). In core it is the interpreter itself.
"""
import collections
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_client import Serve  # noqa: E402
from serve_scene import PATIENCE, below, memory_of, wait_until  # noqa: E402
from test_run import (BUILD, PLAIN_ENV, TIMEOUT, Host, each_user,  # noqa: E402
                      jail_mounts, missing_words, processes_with)

HOST = os.path.join(BUILD, "stepjail-warm")
TREE = os.path.join(BUILD, "warm/tree")
INTERPRETER = "/bin/stepjail-interpreter"


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)


class Warm(Host):
    """What is common: a launcher of warm or cold jails, and what it says of each."""

    def command(self, kind, count, *options, tree=TREE, program=()):
        mode = ["--template"] if kind.startswith("warm") else []
        return [*self.drop, HOST, str(count), kind, *missing_words(tuple(self.drop)),
                "--report", "2", "--rootfs", tree, "--env", f"MARKER={self.marker}", *options,
                "--", INTERPRETER, *mode, *program]

    def start(self, kind, count, *options, env=(), **more):
        return subprocess.Popen(
            self.command(kind, count, *options, **more), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN_ENV | dict(env))

    def launch(self, kind, count, *options, **more):
        """Output lines, and the objects of all jails."""
        with self.start(kind, count, *options, **more) as run:
            out, err = run.communicate(timeout=TIMEOUT)
        self.assertEqual(run.returncode, 0, err.decode())
        lines = out.decode().splitlines()
        jails = [json.loads(line) for line in lines if line.startswith("{")]
        self.assertEqual(len(jails), count)
        for jail in jails:
            self.assertEqual((jail["status"], jail["error"]), (0, ""), lines)
            self.assertEqual(jail["warm"], kind.startswith("warm"))
        return [line for line in lines if not line.startswith("{")], jails

    def refused(self, *options, **more):
        with self.start("warm", 1, *options, **more) as run:
            out, err = run.communicate(timeout=TIMEOUT)
        self.assertEqual((run.returncode, out), (125, b""))
        return err.decode()


class Walls(Warm):
    """As seen from within, and as read back."""

    def bind(self):
        os.chmod(self.folder, 0o755)
        return ["--bind", f"{self.file('a file', 'x')}:/etc/a", "--bind",
                f"{self.make_folder('folder')}:/data", "--bind-rw",
                f"{self.make_folder('out', 0o777)}:/work/out"]

    def test_from_within(self):
        theirs = [os.readlink(f"/proc/self/ns/{name}")
                  for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")]
        for options in ([], ["--lock-code=yes"], self.bind(), ["--net", "loopback"]):
            with self.subTest(options=options):
                said, _ = self.launch("warm", 2, *options, program=theirs)
                self.assertEqual(said, ["whole"] * 2)

    def test_lock(self):
        """Without it, execve makes another program of the clone, which says less."""
        for lock, says in (("yes", ["locked", "whole"]), ("no", ["whole"])):
            said, _ = self.launch("warm", 1, f"--lock-code={lock}", "--env", "MODE=locked")
            self.assertEqual(said, says)

    def test_posture_is_a_cold_one(self):
        """Word for word, but for numbers that are each jail's own."""
        options = self.bind()

        def shape(jail):
            p = json.loads(json.dumps(jail["posture"]))
            self.assertTrue(all(n["jail"] != n["host"] for n in p["namespaces"].values()))
            p["namespaces"] = {name: n["host"] for name, n in p["namespaces"].items()}
            for name in ("uid_map", "gid_map"):
                p[name] = [line.split()[::2] for line in p[name].splitlines()]
            own = p["process"]
            self.assertEqual(own["pid"], own["session"])
            self.assertEqual(own["pid"].split()[1:], ["2"])
            for name in ("pid", "session", "host_uids", "host_gids"):
                del own[name]
            # only a cold jail's network namespace may be leased
            del p["argv_sha256"], p["cgroup_path"], p["network"]["leased"]
            return p

        _, warm = self.launch("warm", 2, *options)
        _, cold = self.launch("cold", 1, *options)
        self.assertFalse(warm[0]["posture"]["network"]["leased"])
        self.assertEqual(shape(warm[0]), shape(cold[0]))
        self.assertEqual(shape(warm[1]), shape(cold[0]))

    def test_ids(self):
        _, jails = self.launch("warm", 4)
        uids = {jail["posture"]["process"]["host_uids"].split()[0] for jail in jails}
        if self.as_user:
            self.assertEqual(len(uids), 1)
            self.assertNotEqual(uids, {"0"})
        else:
            self.assertEqual(len(uids), 4)
            self.assertTrue(all(int(uid) >= 1879048192 for uid in uids))

    def test_no_fd_is_left(self):
        """Neither in the launcher nor in the template: both have room for 72.

        The kernel counts fds in flight against that, too, of all processes of a user: so root
        takes one of whom no other test knows.
        """
        drop = self.drop and ["setpriv", "--reuid=64738", "--regid=64738", "--clear-groups"]
        command = self.command("warm", 90)[len(self.drop):]
        done = subprocess.run([*drop, "prlimit", "--nofile=72:72", "--", *command],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=TIMEOUT,
                              stderr=subprocess.PIPE, env=PLAIN_ENV, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        said = collections.Counter(line for line in done.stdout.decode().splitlines()
                                   if line[0] != "{")
        self.assertEqual(said, {"whole": 90})

    def test_threads_are_refused(self):
        said = self.refused("--env", "MODE=threads")
        self.assertIn("2 threads (", said)
        self.assertIn("busybody", said)
        self.assertIn("OPENBLAS_NUM_THREADS=1", said)


class Ends(Warm):
    """What is killed takes what hangs on it along, and leaves nothing."""

    def family(self, run):
        """(launcher, template, clone), when the clone stands."""
        lines = [run.stdout.readline().decode() for _ in range(2)]
        self.assertEqual(lines, ["whole\n", "stands\n"], lines)
        mine = {}
        for pid in processes_with("--template"):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    if not words.read().startswith(INTERPRETER.encode()):
                        continue
                spaces = status(pid)["NSpid"].split()
                if self.is_below(pid, run.pid):
                    mine[len(spaces)] = pid
            except (OSError, KeyError):
                continue  # somebody else's, that has ended
        return mine[2], mine[3]

    @staticmethod
    def is_below(pid, top):
        while pid > 1 and pid != top:
            pid = int(status(pid)["PPid"])
        return pid == top

    def end_one(self, which):
        with self.start("warm", 1, "--env", "MODE=stay") as run:
            template, clone = self.family(run)
            names = [f"/proc/{pid}" for pid in (template, clone)]
            os.kill({"launcher": run.pid, "template": template, "clone": clone}[which],
                    signal.SIGKILL)
            self.assertTrue(wait_until(lambda: not any(map(os.path.exists, names))), names)
            out, _ = run.communicate(timeout=TIMEOUT)
        self.assertEqual(jail_mounts(self.folder), [])
        return run.returncode, out.decode()

    def test_launcher_is_killed(self):
        self.assertEqual(self.end_one("launcher")[0], -signal.SIGKILL)

    def test_template_is_killed(self):
        """Its clones are in its PID namespace."""
        code, out = self.end_one("template")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out.splitlines()[-1])["warm"], True)

    def test_clone_is_killed(self):
        code, out = self.end_one("clone")
        self.assertEqual((code, json.loads(out.splitlines()[-1])["status"]), (0, 137))

    def test_template_does_not_start(self):
        said = self.refused(tree=os.path.join(BUILD, "rootfs/core"), program=["--nonsense"])
        self.assertIn("template: ", said)


class Interpreter(Warm):
    """The interpreter of core as a template."""

    def steps(self, kind, count, code, *options, preload="json"):
        said, jails = self.launch(
            f"{kind}-step", count, *options, tree="core", env={"STEP": code},
            program=["--preload", preload] if preload else [])
        return said, jails

    def test_a_step(self):
        code = ("import os, sys\n"
                "print('json' in sys.modules, os.getpid() == 2, os.environ['MARKER'], "
                "os.getcwd(), sorted(os.listdir('/proc/self/fd'))[:3], flush=True)")
        warm, _ = self.steps("warm", 1, code)
        cold, _ = self.steps("cold", 1, code)
        self.assertEqual(warm, cold)
        self.assertTrue(warm[0].startswith(f"True True {self.marker} /work"), warm)

    def test_chance_is_not_shared(self):
        said, _ = self.steps("warm", 4, "import random; print(random.random(), flush=True)",
                             preload="random")
        self.assertEqual(len(set(said)), 4, said)

    def test_no_path_of_the_host(self):
        """Neither the words nor the memory of a warm interpreter hold what the policy said."""
        source = self.file("secretly-named", "x")
        code = ("import re\n"
                "found = [open('/proc/self/cmdline').read()]\n"
                "try:\n"
                "    found.append(open('/proc/self/environ').read())\n"
                "    memory = open('/proc/self/mem', 'rb')\n"
                "except PermissionError:  # of root's jails nobody in them reads it\n"
                "    memory = None\n"
                "for line in list(open('/proc/self/maps')) if memory else ():\n"
                "    a, b = (int(x, 16) for x in line.split()[0].split('-'))\n"
                "    if 'rw' in line and b - a < 1 << 26:\n"
                "        memory.seek(a)\n"
                "        found.append(memory.read(b - a).decode('latin-1'))\n"
                "print(sum(len(re.findall('bin[d] /', f)) for f in found), flush=True)")
        said, _ = self.steps("warm", 1, code, "--bind", f"{source}:/data/x")
        self.assertEqual(said, ["0"])

    def test_module_that_is_missing(self):
        said = self.refused(tree="core", program=["--preload", "nothing_of_this_name"])
        self.assertIn("nothing_of_this_name", said)


class Stock(Warm):
    """The templates of a serve."""

    def serve(self, *options):
        return Serve([*missing_words(tuple(self.drop)), *options],
                     command=[*self.drop, os.path.join(BUILD, "stepjail"), "serve"])

    @staticmethod
    def templates(serve):
        """PIDs of interpreters that are templates, below a serve."""
        found = []
        for pid in processes_with("--template"):
            try:
                # the program of its jail waits for it
                inside = status(pid)["NSpid"].split()
                if (len(inside) == 3 and inside[-1] != "2"
                        and Ends.is_below(pid, serve.process.pid)):
                    found.append(pid)
            except (OSError, KeyError):
                continue  # somebody else's, that has ended
        return found

    def open_warm(self, serve):
        """A session out of a template; the first ones may come before it is ready."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            session = serve.open()
            if session.opened["warm"]:
                self.assertIsNone(session.opened["why_cold"])
                return session
            self.assertIn("template", session.opened["why_cold"])
            session.close()
            time.sleep(0.02)
        return self.fail("no session was warm")

    def test_signals_of_a_warm_session(self):
        """As a cold one has them, though a clone's were reset on its way."""
        look = ("[line for line in open('/proc/self/status') if line[:3] == 'Sig'], "
                "__import__('signal').getsignal(2).__name__, "
                "__import__('faulthandler').is_enabled()")
        said = []
        with self.serve("--cold") as serve:
            said.append(serve.open().run(look).result)
        with self.serve() as serve:
            session = self.open_warm(serve)
            said.append(session.run(look).result)
            self.assertEqual(said[0], said[1])
            self.assertTrue(said[0].endswith("'default_int_handler', True)"), said[0])
            step = session.run("import faulthandler\nfaulthandler._stack_overflow()")
            self.assertEqual((step.done["verdict"], step.done["state"]),
                             ("signaled", "rolled-back"))
            # on a stack of its own
            self.assertIn(b"Segmentation fault", step.err)
            self.assertIn(b'"<step 2>", line 2 in <module>', step.err)
            session.start("import time\nprint('now')\ntime.sleep(60)")
            serve.expect(session.number, 0, "OUT")
            session.interrupt()
            self.assertIn("KeyboardInterrupt", session.finish().trace)

    def test_pages_of_a_warm_session(self):
        """One that nobody has run a step in shares nearly all of them with its template."""
        with self.serve() as serve:
            self.open_warm(serve)
            before = memory_of(below(serve.process.pid))
            for _ in range(10):
                self.assertTrue(serve.open().opened["warm"])
            self.assertLess(memory_of(below(serve.process.pid)) - before, 10 * (300 << 10))

    def test_states_of_a_warm_session(self):
        with self.serve("--preload", "decimal") as serve:
            session = self.open_warm(serve)
            step = session.run("import sys\nx = 'decimal' in sys.modules\nx")
            self.assertEqual((step.result, step.done["verdict"]), ("True", "completed"))
            step = session.run("x = 5\nimport os\nos._exit(3)")
            self.assertEqual((step.done["verdict"], step.done["state"]),
                             ("exited", "rolled-back"))
            self.assertEqual(session.run("x").result, "True")
            other = self.open_warm(serve)
            self.assertIsNotNone(other.run("x").trace)
            self.assertEqual(session.opened["posture"]["open_fds"], "0-2")

    def test_template_is_replaced(self):
        """After two clones; the old one goes with its last session."""
        with self.serve("--template-clones", "2") as serve:
            opened = [self.open_warm(serve)]
            (old,) = self.templates(serve)
            opened += [self.open_warm(serve), self.open_warm(serve)]
            self.assertTrue(wait_until(lambda: len(self.templates(serve)) == 2))
            self.assertIn(old, self.templates(serve))
            self.assertEqual(opened[0].run("1 + 1").result, "2")
            for session in opened:
                session.close()
            self.assertTrue(wait_until(lambda: old not in self.templates(serve)))
            self.assertEqual(self.open_warm(serve).run("1 + 1").result, "2")

    def test_template_is_too_old(self):
        with self.serve("--template-age", "1s") as serve:
            session = self.open_warm(serve)
            old = self.templates(serve)
            session.close()
            # a session that is opened later is the old one's, or already the next one's
            self.assertTrue(wait_until(lambda: self.open_warm(serve).close() and
                                       not set(old) & set(self.templates(serve))))

    def test_template_is_killed(self):
        """Its sessions are lost and told so; the next one is another template's."""
        with self.serve() as serve:
            session = self.open_warm(serve)
            (old,) = self.templates(serve)
            os.kill(old, signal.SIGKILL)
            closed = serve.expect(session.number, None, "CLOSED")
            self.assertTrue(closed.json["reason"])
            self.assertEqual(self.open_warm(serve).run("2 + 2").result, "4")
            self.assertNotIn(old, self.templates(serve))

    def test_cold(self):
        for options, why in ((["--cold"], "--cold"),
                             (["--rootfs", os.path.join(BUILD, "rootfs/core")], "folder")):
            with self.serve(*options) as serve:
                session = serve.open()
                self.assertFalse(session.opened["warm"])
                self.assertIn(why, session.opened["why_cold"])
                self.assertEqual(self.templates(serve), [])


globals().update(each_user(Walls, Ends, Interpreter, Stock))

if __name__ == "__main__":
    unittest.main()
