#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_exec.py - a program more in a container: stepjail-oci exec, and the helper that starts it"""
import array
import concurrent.futures
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from oci_scene import UP, OciScene  # noqa: E402
from test_run import BUILD, PLAIN_ENV, TIMEOUT, each_user  # noqa: E402

# what a process has of walls, and what it gets who tries
LOOK = """
import json, os, socket
def tried(act, *words):
    try:
        act(*words)
        return "done"
    except OSError as error:
        return error.strerror
kept = ("Uid", "Gid", "Groups", "Umask", "Cap", "NoNew", "Seccomp", "Sig", "Cpus")
told = {line.split(":")[0]: line for line in open("/proc/self/status") if line.startswith(kept)}
for name in ("SigQ", "SigCgt"):
    told.pop(name)
for name in os.listdir("/proc/self/ns"):
    told[name] = os.readlink("/proc/self/ns/" + name)
for name in ("limits", "mountinfo", "oom_score_adj"):
    told[name] = open("/proc/self/" + name).read()
told["folder"], told["files"] = os.getcwd(), os.listdir("/")
told["tried"] = [tried(*row) for row in (
    (open, "/made", "w"), (open, "/proc/1/mem"), (open, "/proc/1/environ"), (os.setuid, 0), (os.mkdir, "/etc/x"),
    (socket.socket, socket.AF_NETLINK, socket.SOCK_RAW), (socket.socket, socket.AF_PACKET), (os.nice, -1),
    (os.mknod, "/tmp/null", 0o20666, 259), (os.chroot, "/tmp"), (os.kill, 1, 9), (os.listdir, "/proc/1/fd"))]
print(json.dumps(told), flush=True)
"""
# an attack on the helper, which is PID 3
REACH = """
import json, os, signal
told = {}
for name in ("mem", "environ", "maps", "exe", "auxv", "syscall", "fd/0", "map_files", "root"):
    for mode in (os.O_RDONLY, os.O_RDWR):
        try:
            os.close(os.open("/proc/3/" + name, mode))
            told[name] = "opened"
        except OSError as error:
            told.setdefault(name, error.strerror)
print(json.dumps(told), flush=True)
"""
SLEEP = "import time; time.sleep(1000)"
MORE_PIDS = {"linux": {"resources": {"pids": {"limit": 500}}}}


def confined(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as text:
        return "Seccomp:\t2" in text.read()


def waits(pid):
    """In a poll: the helper does not answer."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as text:
        return text.read().split()[0] == "7"


def block_signals():
    """As an engine may leave them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


class Exec(OciScene):
    def up(self, name, program=UP, changes=None):
        pid = self.create(name, program, changes)
        self.done("start", name)
        if program.endswith(UP):
            self.wait_output("up\n")
        return pid

    def over(self, name, pid, status=137):
        self.oci("kill", name, "KILL")
        self.assertEqual(self.end(pid), status)
        with open(f"{self.folder}/state/{name}/report.json", encoding="utf-8") as text:
            report = json.load(text)
        self.done("delete", name)
        with open(self.out, "w", encoding="ascii"):
            pass
        return report

    def exec(self, name, code, *words, **settings):
        return self.oci("exec", name, "/bin/python3", "-c", code, self.marker, *words, **settings)

    def process(self, code, **members):
        return self.file("process.json", json.dumps(
            {"args": ["/bin/python3", "-c", code, self.marker], "cwd": "/", "env": ["PATH=/bin"]} | members))

    def detached(self, name, code, **members):
        """The pid of the program's stand-in."""
        self.done("exec", "--detach", "--pid-file", f"{self.folder}/pid", "--process",
                  self.process(code, **members), name)
        with open(f"{self.folder}/pid", encoding="ascii") as pid:
            return int(pid.read())

    def test_walls(self):
        """It has each wall that the container's program has, and what it tries ends as there."""
        pid = self.up("a", LOOK + UP, {"linux": {"resources": {"pids": {"limit": 50}}}})
        first = json.loads(self.output().split("\n")[0])
        done = self.exec("a", LOOK)
        self.assertEqual(done.returncode, 0, done.stderr)
        more = json.loads(done.stdout)
        self.maxDiff = None
        self.assertEqual(more, first)
        self.assertNotIn("done", more["tried"])
        self.assertIn("Max processes", more["limits"])
        if os.geteuid() == 0:
            leafs = []
            for one in json.loads(self.done("ps", "--format", "json", "a")):
                with open(f"/proc/{one}/cgroup", encoding="ascii") as text:
                    leafs.append(text.read())
            self.assertEqual(len(set(leafs)), 1, leafs)
        self.assertEqual(self.over("a", pid)["strays"], 0)

    def test_program(self):
        """Its words, its input and output, its end."""
        pid = self.up("a", UP, {"process": {"cwd": "/tmp", "env": ["PATH=/bin", "X=y"]}})
        done = self.exec("a", "import os, sys; print(os.getcwd(), os.environ, sys.argv[2:])", "a b", "", "-x")
        self.assertEqual(done.stdout, "/tmp environ({'PATH': '/bin', 'X': 'y'}) ['a b', '', '-x']\n")
        code = "import os, sys; print(os.getcwd(), os.environ, sys.stdin.read()); sys.exit(7)"
        done = subprocess.run(self.command("exec", "--process", self.process(code, cwd="/work", env=["A=b", "C="]),
                                           "a"),
                              input="typed", stdout=subprocess.PIPE, text=True, check=False, env=self.env,
                              timeout=TIMEOUT)
        self.assertEqual((done.returncode, done.stdout), (7, "/work environ({'A': 'b', 'C': ''}) typed\n"))
        done = self.exec("a", "import os; os.kill(os.getpid(), 9)")
        self.assertEqual(done.returncode, 137)
        done = self.oci("exec", "a", "python3", "-c", "import sys; sys.stderr.write('e')", self.marker)
        self.assertEqual((done.returncode, done.stderr), (0, "e"))  # by the PATH
        # no fd of the helper's or of this process's
        done = self.exec("a", "import os\nfor i in range(3, 256):\n try: os.fstat(i); print(i)\n except OSError: pass")
        self.assertEqual(done.stdout, "")
        # what one has made is there for another
        self.assertEqual(self.exec("a", "open('/tmp/made', 'w').write('x')").returncode, 0)
        self.assertEqual(self.exec("a", "print(open('/tmp/made').read())").stdout, "x\n")
        self.over("a", pid)

    def test_stand_in(self):
        """What an engine has of it: a process that takes signals, and ends as the program does."""
        pid = self.up("a")
        code = "import signal, sys, time; signal.signal(signal.{}, lambda *a: sys.exit(3)); print('on', flush=True)\n"
        for name in "SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGWINCH":
            stand_in = self.detached("a", code.format(name) + SLEEP)
            self.wait_output("on\n")
            os.kill(stand_in, getattr(signal, name))
            self.assertEqual(self.end(stand_in), 3)
            with open(self.out, "w", encoding="ascii"):
                pass
        stand_in = self.detached("a", SLEEP)
        os.kill(stand_in, signal.SIGTERM)
        self.assertEqual(self.end(stand_in), 143)
        # whoever kills it kills the program
        stand_in = self.detached("a", SLEEP)
        self.assertEqual(len(json.loads(self.done("ps", "--format", "json", "a"))), 4)
        os.kill(stand_in, signal.SIGKILL)
        self.assertEqual(self.end(stand_in), 137)
        self.until(lambda: len(json.loads(self.done("ps", "--format", "json", "a"))) == 3)
        # with the container all end; what was running is told
        ends = [self.detached("a", SLEEP) for _ in range(3)]
        # it holds nothing: neither the output, nor the container's lock
        files = sorted(os.listdir(f"/proc/{ends[0]}/fd")) if os.geteuid() == 0 else []
        self.assertIn(files, ([], ["0", "1", "2", "3"]))
        report = self.over("a", pid)
        self.assertEqual([self.end(one) for one in ends], [137] * 3)
        self.assertEqual(report["strays"], 3)

    def test_terminal(self):
        pid = self.up("a")
        listener, path = self.listen()
        process = self.process("import os; print(os.isatty(0), os.isatty(2), input())", terminal=True)
        self.done("exec", "--detach", "--pid-file", f"{self.folder}/pid", "--process", process, "--console-socket",
                  path, "a")
        self.type_into(listener)
        with open(f"{self.folder}/pid", encoding="ascii") as text:
            self.assertEqual(self.end(int(text.read())), 0)
        self.assertIn("go together", self.refused("exec", "--process", process, "a"))
        self.over("a", pid)

    def test_refused(self):
        self.assertIn("does not exist", self.refused("exec", "a", "x"))
        pid = self.create("a", UP)
        self.assertIn("is created: start it first", self.refused("exec", "a", "/bin/python3"))
        self.done("start", "a")
        self.assertIn("/bin/none: No such file", self.refused("exec", "a", "/bin/none"))
        self.assertIn("none: No such file", self.refused("exec", "a", "none"))
        self.assertIn("/etc: Permission denied", self.refused("exec", "a", "/etc"))
        self.assertIn("say --process FILE, or PROGRAM", self.refused("exec", "a"))
        self.assertIn("No such file", self.refused("exec", "--process", self.process("", cwd="/none"), "a"))
        more = self.process("", capabilities={"effective": ["CAP_SYS_ADMIN"]})
        self.assertIn("CAP_SYS_ADMIN is refused", self.refused("exec", "--process", more, "a"))
        self.assertIn("args is missing", self.refused("exec", "--process", self.process("", args=[]), "a"))
        self.assertIn("is no JSON", self.refused("exec", "--process", self.file("bad", "x"), "a"))
        self.assertIn("bytes in all", self.refused("exec", "a", "x", *["y" * 120000] * 9))
        self.assertIn("8192 words", self.refused("exec", "a", *["x"] * 8200))
        for words in (), ("--detach",):
            self.assertIn("write /none/pid", self.refused("exec", *words, "--pid-file", "/none/pid", "a", "/bin/python3",
                                                          "-c", SLEEP, self.marker))
        self.until(lambda: len(json.loads(self.done("ps", "--format", "json", "a"))) == 3)
        self.assertIn("--preserve-fds", self.refused("exec", "--preserve-fds", "1", "a", "x"))
        self.over("a", pid)
        self.assertIn("does not exist", self.refused("exec", "a", "x"))
        pid = self.up("b", "")
        self.assertEqual(self.end(pid), 0)
        self.assertIn("container not running", self.refused("exec", "b", "x"))
        self.done("delete", "b")

    def test_given_fds(self):
        """What leads further than to its own bytes is no program's stdin, stdout or stderr, as in run."""
        pid = self.up("a")
        memory = os.memfd_create("given")
        os.write(memory, b"the caller's")
        fds = {"a folder": os.open(self.folder, os.O_RDONLY), "an O_PATH fd": os.open(self.file("f"), os.O_PATH),
               "such as a memfd": os.open(f"/proc/self/fd/{memory}", os.O_RDONLY), "neither a file": os.pidfd_open(os.getpid()),
               "on no mounted file system": os.open("/proc/self/ns/net", os.O_RDONLY)}
        # it opens stdin again for writing, and goes through it
        code = ("import os\nfor path, flags in ('/proc/self/fd/0', os.O_RDWR), ('/proc/self/fd/0/.', os.O_RDONLY):\n"
                "    try: print(os.open(path, flags))\n    except OSError: pass")
        for kind, fd in fds.items():
            for stream in "stdin", "stdout", "stderr":
                with self.subTest(kind=kind, stream=stream):
                    plain = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                    done = subprocess.run(self.command("exec", "a", "/bin/python3", "-c", code, self.marker), env=self.env,
                                          check=False, timeout=TIMEOUT, text=True, **(plain | {stream: fd}))
                    self.assertEqual((done.returncode, done.stdout or ""), (125, ""))
                    with open(self.log, encoding="utf-8") as log:
                        told = json.loads(log.read().strip().split("\n")[-1])["msg"]
                    self.assertRegex(told, rf"^{stream} \(fd .\) is .*{kind}.*: redirect it")
            os.close(fd)
        os.close(memory)
        self.assertEqual(self.exec("a", code).returncode, 0)
        self.over("a", pid)

    def test_many_at_once(self):
        """More than the helper starts at once; others wait for their turn."""
        pid = self.up("a", UP, MORE_PIDS)
        code = "import sys; sys.exit(len(sys.stdin.read()))"
        with concurrent.futures.ThreadPoolExecutor(80) as pool:
            def ask(i):
                done = subprocess.run(self.command("exec", "a", "/bin/python3", "-c", code, self.marker), input="x" * i,
                                      text=True, env=self.env, check=False, timeout=TIMEOUT)
                return done.returncode
            self.assertEqual(list(pool.map(ask, range(80))), list(range(80)))
        self.assertEqual(self.over("a", pid)["strays"], 0)

    def test_no_process_left(self):
        """The container's limit holds for what is started later."""
        pid = self.up("a", UP, {"linux": {"resources": {"pids": {"limit": 8}}}})
        ends = []
        line = ""
        for _ in range(20):
            done = self.oci("exec", "--detach", "--pid-file", f"{self.folder}/pid", "--process", self.process(SLEEP),
                            "a")
            if done.returncode:
                line = done.stderr
                break
            with open(f"{self.folder}/pid", encoding="ascii") as text:
                ends.append(int(text.read()))
        self.assertIn("Resource temporarily unavailable", line)
        self.over("a", pid)
        self.assertEqual([self.end(one) for one in ends], [137] * len(ends))

    def test_too_few_files(self):
        """The helper has the container's limits, too."""
        pid = self.up("a", UP, {"process": {"rlimits": [{"type": "RLIMIT_NOFILE", "soft": 60, "hard": 60}]}})
        self.assertIn("fewer than 80 --files", self.refused("exec", "a", "/bin/python3"))
        self.over("a", pid)
        pid = self.up("b", UP, {"process": {"rlimits": [{"type": "RLIMIT_NOFILE", "soft": 80, "hard": 80}]}} | MORE_PIDS)
        ends = [self.detached("b", SLEEP) for _ in range(64)]
        self.over("b", pid)
        self.assertEqual([self.end(one) for one in ends], [137] * 64)

    def test_locked_code(self):
        """Nothing more is executed, and the helper that is not there is no violation of the program's."""
        with open(f"{self.folder}/conf/stepjail/defaults", "a", encoding="ascii") as text:
            text.write("lock-code yes\non-violation kill\n")
        pid = self.up("a")
        self.assertIn("runs with lock-code", self.refused("exec", "a", "/bin/python3"))
        self.assertEqual(len(json.loads(self.done("ps", "--format", "json", "a"))), 2)
        report = self.over("a", pid)
        self.assertEqual((report["strays"], report["violations"]["total"]), (0, 0))

    def test_helper_is_attacked(self):
        """The container's program does not get at the helper's memory or fds, but may end it."""
        pid = self.up("a", REACH + UP)
        told = json.loads(self.output().split("\n")[0])
        self.assertEqual(set(told.values()), {"No such file or directory"}, told)  # it is not even seen
        told = []
        self.assertEqual(self.exec("a", "import os; os.kill(3, 9)").returncode, 137)
        self.assertIn("has ended the helper", self.refused("exec", "a", "x"))
        self.assertEqual(self.over("a", pid)["strays"], 0)
        # one that is stopped keeps nobody from the container, or from ending
        pid = self.up("c", f"import os; os.kill(3, 19); {UP}")
        for ends in (lambda caller: caller.terminate(), lambda caller: None, lambda caller: self.done("delete", "--force", "c")):
            with subprocess.Popen(self.command("exec", "c", "/bin/python3"), env=self.env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, preexec_fn=block_signals) as caller:
                self.until(lambda caller=caller: waits(caller.pid))
                ends(caller)
                told.append((caller.communicate()[1], caller.wait()))
        self.assertEqual(told[0], ("", -signal.SIGTERM))
        self.assertRegex(told[1][0], r"has not answered within 30 s.*\(SIGSTOP\)")
        self.assertIn("the jail's helper", told[2][0])
        self.assertEqual([status for _, status in told[1:]], [125, 125])
        self.assertEqual(self.end(pid), 137)
        pid = self.up("b", "import os; os.kill(3, 19); raise SystemExit(4)")
        self.assertEqual(self.end(pid), 4)
        self.done("delete", "b")

    def test_readable_helper(self):
        """Were its file readable, the program would trace it: seen here. It is not."""
        for mode, opened in (0o755, True), (0o111, False):
            with self.subTest(mode=oct(mode)):
                told = self.hold(mode)
                self.assertEqual(told["environ"] == "opened", opened, told)
                self.assertEqual(told["maps"] == "opened", opened, told)

    def hold(self, mode):
        into, outof = os.pipe(), os.pipe()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{self.folder}/{mode}")
        listener.listen()
        helper = os.memfd_create("helper")
        with open(f"{BUILD}/stepjail-helper", "rb") as file:
            os.write(helper, file.read())
        os.fchmod(helper, mode)
        if self.as_user and os.geteuid() == 0:
            os.fchown(helper, 0, 0)
        fds = (into[0], outof[1], helper, listener.fileno())
        with subprocess.Popen(self.words("--hold", ",".join(map(str, fds)), "--rootfs", f"{BUILD}/rootfs/core", "--",
                                         "python3", "-c", REACH),
                              stdout=subprocess.PIPE, env=PLAIN_ENV, pass_fds=fds) as held:
            os.write(into[1], b"x")
            out = held.communicate(timeout=TIMEOUT)[0]
        listener.close()
        for fd in (*into, *outof, helper):
            os.close(fd)
        return json.loads(out)

    def test_helper_lies(self):
        """The stand-in takes four bytes of whatever it is told, and can do nothing else by then."""
        pid = self.up("a")
        os.unlink(f"{self.folder}/state/a/exec")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(f"{self.folder}/state/a/exec")
        os.chmod(f"{self.folder}/state/a/exec", 0o777)
        listener.listen()
        for answer, status in ((b"", 137), (b"\xff", 137), (b"\x00\x07\x00\x00", 7), (b"\xff" * 4, 255),
                               (b"\x00\x2a\x00\x00" + b"x" * 100000, 42), (b"\x7f\xff\xff\xff", 255)):
            with subprocess.Popen(self.command("exec", "a", "x"), env=self.env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE) as caller:
                peer = listener.accept()[0]
                peer.sendall(b"\0")
                fds = peer.recvmsg(12, socket.CMSG_SPACE(4 * 4))[1][0][2]
                peer.sendall(b"\0")
                for fd in array.array("i", fds):
                    os.close(fd)  # it has started, then
                self.until(lambda caller=caller: confined(caller.pid))
                peer.sendall(answer)
                peer.close()
                caller.communicate()
                self.assertEqual(caller.returncode, status, answer)
        self.over("a", pid)


globals().update(each_user(Exec))

if __name__ == "__main__":
    unittest.main()
