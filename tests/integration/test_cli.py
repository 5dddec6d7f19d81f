#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cli.py - stepjail's options, policies and commands, and what the binaries are

Every option is shown to have its effect inside a jail; every wrong one is refused by name.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import (BUILD, PLAIN_ENV, STEPJAIL, TIMEOUT, Host,  # noqa: E402
                      each_user, missing_words)

FILL = """
import os
def fill(path, limit):
    n = 0
    try:
        with open(path, 'wb', 0) as out:
            while n < limit: n += out.write(bytes(4096))
    except OSError as error:
        return n, error.errno
    return n, 0
"""


class Options(Host):
    """Each option's effect, seen from inside."""

    def test_identity(self):
        status = dict(line.split(":\t") for line in self.say(
            "print(open('/proc/self/status').read())").splitlines() if ":\t" in line)
        for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[key], 16), 0, key)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        self.assertEqual((status["Uid"], status["Gid"]), ("\t".join(["1000"] * 4),) * 2)
        self.assertEqual(status["NSpid"].split()[-1], "2")

    def test_host_uid(self):
        uids = {self.python("pass").report["host_uid"] for _ in range(3)}
        if self.as_user:
            mine = int(subprocess.run([*self.drop, "id", "-u"], stdout=subprocess.PIPE,
                                      check=True).stdout)
            self.assertEqual(uids, {mine})
        else:
            self.assertTrue(all(uid >= 1 << 20 for uid in uids), uids)

    def test_hostname(self):
        code = "import socket; print(socket.gethostname())"
        self.assertEqual(self.say(code), "stepjail")
        self.assertEqual(self.say(code, "--hostname", "other.name"), "other.name")

    def test_chdir(self):
        code = "import os; print(os.getcwd())"
        self.assertEqual(self.say(code), "/work")
        self.assertEqual(self.say(code, "--chdir", "/tmp"), "/tmp")
        done = self.python(code, "--chdir", "/nothing", status=125)
        self.assertIn(b"/nothing", done.stderr)

    def test_env(self):
        code = "import os; print(sorted(os.environ.items()))"
        plain = [("HOME", "/work"), ("LANG", "C.UTF-8"), ("PATH", "/bin:/usr/bin")]
        self.assertEqual(self.say(code), str(plain))
        plain = [("A", "1=2"), ("HOME", "/tmp"), *plain[1:]]
        self.assertEqual(self.say(code, "--env", "A=1=2", "--env", "HOME=/tmp"), str(plain))

    def test_net(self):
        code = ("import socket\ntry:\n s = socket.create_server(('127.0.0.1', 0))\n"
                " socket.create_connection(s.getsockname(), 30); print('joined')\n"
                "except OSError as error: print('apart', error)")
        self.assertIn("apart", self.say(code))
        self.assertIn("apart", self.say(code, "--net", "none"))
        self.assertEqual(self.say(code, "--net", "loopback"), "joined")
        names = "import socket; print([name for _, name in socket.if_nameindex()])"
        with socket.create_server(("127.0.0.1", 0)) as server:
            reach = ("import socket; print(socket.socket().connect_ex(('127.0.0.1',"
                     f"{server.getsockname()[1]})))")
            self.assertNotEqual(self.say(reach, "--net", "loopback"), "0")
        self.assertNotIn("eth", self.say(f"try:\n {names}\nexcept OSError: pass"))

    def test_proc(self):
        code = "import os; print(sorted(os.listdir('/proc')))"
        self.assertEqual(self.say(code), "['2', 'self', 'thread-self']")
        self.assertEqual(self.say(code, "--proc", "none"), "[]")

    def test_limits(self):
        code = "import resource; print(resource.getrlimit(resource.RLIMIT_{}))"
        for name, options, wanted in (
                ("NOFILE", [], "(256, 256)"), ("NOFILE", ["--files", "33"], "(33, 33)"),
                ("FSIZE", ["--file-size", "1M"], "(1048576, 1048576)"),
                ("FSIZE", [], "(-1, -1)"), ("CORE", [], "(1, 1)"),
                ("CPU", ["--cpu-time", "7s"], "(8, 8)")):
            self.assertEqual(self.say(code.format(name), *options), wanted)

    def test_files(self):
        code = ("import os\nn = 0\ntry:\n while n < 500: os.dup(0); n += 1\n"
                "except OSError as error: print(error.errno, n)")
        self.assertEqual(self.say(code, "--files", "40"), "24 37")

    def test_sizes(self):
        code = FILL + "print(fill('{}/a', 8 << 20))"
        for folder, option in (("/tmp", "tmp-size"), ("/dev/shm", "tmp-size"),
                               ("/work", "work-size")):
            got = self.say(code.format(folder), "--" + option, "1M")
            written, errno = eval(got, {})
            self.assertEqual(errno, 28)
            self.assertLessEqual(written, 1 << 20)
            self.assertGreater(written, 1 << 19)
            self.assertEqual(self.say(code.format(folder)), str((8 << 20, 0)))
        both = FILL + "print(fill('/tmp/a', 700000)[1], fill('/dev/shm/a', 700000)[1])"
        self.assertEqual(self.say(both, "--tmp-size", "1M"), "0 28")

    def test_inodes(self):
        code = ("import os\nn = 0\ntry:\n while n < 99: os.mkdir(f'{}/{{n}}'); n += 1\n"
                "except OSError as error: print(error.errno, 40 < n < 64)\nelse: print(n)")
        for folder in ("/tmp", "/work", "/dev/shm"):
            self.assertEqual(self.say(code.format(folder), "--inodes", "64"), "28 True")
            self.assertEqual(self.say(code.format(folder)), "99")

    def test_pids(self):
        code = ("import os, time\nn = 0\ntry:\n while n < 40:\n"
                "  if os.fork() == 0: time.sleep(50)\n  n += 1\n"
                "except OSError as error: print(error.errno, n)\nelse: print('all')")
        self.assertEqual(self.say(code, "--pids", "10"), "11 9")
        self.assertEqual(self.say(code), "all")

    def test_bind(self):
        path = self.file("one", "text")
        self.make_folder("two", 0o777)
        self.file("two/three", "text")
        code = ("import os\nprint(open('{}').read())\n"
                "try: open('{}', 'a'); print('written')\n"
                "except OSError as error: print(error.errno in (13, 30))")
        for dst in ("/work/x", "/work/a/b/x", "/tmp/x", "/new/x", "/etc/x"):
            self.assertEqual(self.say(code.format(dst, dst), "--bind", f"{path}:{dst}"),
                             "text\nTrue", dst)
            inner = dst + "/three"
            self.assertEqual(self.say(code.format(inner, inner), "--bind",
                                      f"{self.folder}/two:{dst}"), "text\nTrue", dst)

    def test_bind_rw(self):
        self.make_folder("two", 0o777)
        self.file("two/three", "text", 0o666)
        alone = self.file("one", "text", 0o666)
        for dst in ("/work/x", "/tmp/x", "/new"):
            self.python(f"open('{dst}/three', 'a').write('+'); open('{dst}/new', 'w')",
                        "--bind-rw", f"{self.folder}/two:{dst}")
            self.python(f"open('{dst}', 'a').write('+')", "--bind-rw", f"{alone}:{dst}")
            os.unlink(self.folder + "/two/new")
        for path in (alone, self.folder + "/two/three"):
            with open(path, encoding="ascii") as text:
                self.assertEqual(text.read(), "text+++")

    def test_rootfs(self):
        tree = os.path.join(self.folder, "tree")
        shutil.copytree(os.path.join(BUILD, "rootfs/core"), tree, symlinks=True)
        os.chmod(tree, 0o755)
        with open(tree + "/etc/mine", "w", encoding="ascii") as out:
            out.write("mine")
        self.assertEqual(self.say("print(open('/etc/mine').read())", "--rootfs", tree), "mine")

    def test_not_enforced(self):
        done = self.python("pass")
        missing = bool(missing_words(tuple(self.drop)))
        self.assertEqual(bool(done.report["not_enforced"]), missing)
        self.assertEqual(b"no cgroup limits are enforced" in done.stderr, missing)
        if missing:
            done = subprocess.run([*self.drop, STEPJAIL, "run", "/bin/python3", "-c", "1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  check=False, timeout=TIMEOUT, env=PLAIN_ENV)
            self.assertEqual((done.returncode, done.stdout), (125, b""))
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertIn(b"cgroup", done.stderr)


# words of an option, and what its one line on stderr must say
WRONG = [
    (["--wall-time", value], "wall-time") for value in
    ("junk", "-1", "0", "1x", "1s1", "1.0001s", "99999999999999999999s", "5h5", " 1s", "")
] + [
    (["--memory", value], "memory") for value in
    ("1K", "-5M", "1Q", "0x10M", "18446744073709551616", "17000000T", "unlimited", "nan")
] + [
    (["--io-max", value], "io-max") for value in
    ("/", "/ rbps", "/ rbps=0", "/ rbps=x", "/ bps=1", "/ rbps=1 rbps=2", " / rbps=1", "")
] + [
    (["--cpuset", value], "cpuset") for value in ("x", "1-", "1-0", "0,0", "-1", "4096", "")
] + [   # more than the host has
    (["--cpuset", value], f"--cpuset {value}: this host has CPUs ") for value in ("1023", "0,1000-1001")
] + [
    (["--cpu-weight", "0"], "cpu-weight"), (["--cpu-weight", "10001"], "cpu-weight"),
    (["--memory-high", "-1"], "memory-high"), (["--swap", "unlimited"], "swap"),
    (["--oom-group=maybe"], "oom-group"),
    (["--cpu-time", "1"] * 2, "cpu-time"), (["--memory", "64M", "--memory", "64M"], "memory"),
    (["--policy", "/dev/null", "--policy", "/dev/null"], "policy"),
    (["--cpu-time", "10h", "--wall-time", "1s"], "cpu-time"),
    (["--pids", "0"], "pids"), (["--pids", "1.5"], "pids"), (["--files", "7"], "files"),
    (["--file-size", "-1"], "file-size"), (["--tmp-size", "1"], "tmp-size"),
    (["--work-size", "x"], "work-size"), (["--inodes", "1"], "inodes"),
    (["--cpus", "0"], "cpus"), (["--cpus", "1e3"], "cpus"),
    (["--nonsense", "x"], "--nonsense"), (["--nonsense=x"], "--nonsense"), (["-x"], "-x"),
    (["--rootfs="], "rootfs"), (["--env", "A"], "env"),
    (["--env", "=1"], "env"),
    (["--bind", "/etc"], "bind"), (["--bind", "/etc:etc"], "bind"),
    (["--bind", "/etc:/a/../b"], "bind"), (["--bind", "/etc:/a//b"], "bind"),
    (["--bind", "/etc:/"], "bind"), (["--bind", "/etc:/proc/x"], "bind"),
    (["--bind", "/etc:/dev"], "bind"),
    (["--bind", "/dev/null:/a"], "bind"), (["--bind", "/nothing:/a"], "bind"),
    (["--chdir", "relative"], "chdir"), (["--chdir", "/a/.."], "chdir"),
    (["--hostname", "a b"], "hostname"), (["--hostname", "x" * 65], "hostname"),
    (["--net", "host"], "net"), (["--proc", "all"], "proc"), (["--report", "999"], "report"),
    (["--allow-missing", "seccomp"], "allow-missing"), (["--policy", "/nothing"], "policy"),
    (["--policy", "/"], "policy"), (["--memory", "9M\n--pids 1"], "memory"),
]


class Commands(Host):
    """The command line itself."""

    def tool(self, *words, **settings):
        return subprocess.run([*self.drop, STEPJAIL, *words], stdin=subprocess.DEVNULL,
                              stdout=settings.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                              check=False, env=PLAIN_ENV)

    def refused(self, words, said):
        done = self.tool(*words)
        self.assertEqual((done.returncode, done.stdout), (125, ""), words)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(said, done.stderr, words)

    def test_wrong_options(self):
        missing = missing_words(tuple(self.drop))
        for words, said in WRONG:
            with self.subTest(words=words):
                self.refused(["run", *missing, *words, "--", "/bin/python3", "-c", "1"], said)

    def test_wrong_commands(self):
        for words, said in (([], "command"), (["ran"], "ran"), (["run"], "program"),
                            (["run", "--"], "program"),
                            (["run", "--rootfs"], "--rootfs"), (["run", "--policy"], "--policy"), (["check", "--jsn"], "--jsn"),
                            (["check", "--json", "x"], "x")):
            self.refused(words, said)

    def test_wrong_policies(self):
        for text, line, said in (
                ("memory 64M\nnonsense 1\n", 2, "nonsense"), ("--memory 64M\n", 1, "memory"),
                ("# note\n\nmemory\n", 3, "memory"), ("pids 5\npids 5\n", 2, "pids"),
                ("wall-time junk\n", 1, "wall-time"), ("policy x\n", 1, "policy"),
                ("net host", 1, "net"), ("memory 64M\r\n", 1, "CR LF")):
            path = self.file("policy", text)
            for command in ("run", "explain"):
                self.refused([command, "--policy", path, "/bin/python3"], said)
                self.refused([command, "--policy", path, "/bin/python3"], f"line {line}")
        path = self.file("policy", "pids 5\0\n")
        self.refused(["run", "--policy", path, "/bin/python3"], "NUL")
        path = self.file("policy", "#" * 70000)
        self.refused(["run", "--policy", path, "/bin/python3"], "longer")
        self.refused(["run", "--pids", "5", "--pids", "5", "/bin/python3"], "twice")
        self.refused(["run", "--policy", "/dev/null", "--policy", "/dev/null"], "twice")
        self.refused(["run", "--sessions", "1", "/bin/python3"], "stepjail serve")
        self.refused(["serve", "--ready=2"], "--ready=2 is not an option")
        path = self.file("policy", "pids 5\nready 2\n")
        self.refused(["serve", "--policy", path], "line 2: 'ready' is not an option")

    def test_explain(self):
        options = ["--env", "A=b c", "--bind", "/etc:/tmp/e", "--bind-rw", "/tmp:/work/t",
                   "--net", "loopback", "--memory", "1.5G", "--wall-time", "90s", "--cpus",
                   "0.25", "--hostname", "x", "--allow-missing", "cgroup", "--pids", "9",
                   "--cpu-time", "unlimited", "--file-size", "0", "--proc", "none"]
        first = self.tool("explain", *options)
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        for line in ("env A=b c", "memory 1536M", "cpus 0.250", "bind /etc:/tmp/e",
                     "bind-rw /tmp:/work/t", "net loopback", "file-size 0"):
            self.assertIn(line + "\n", first.stdout)
        second = self.tool("explain", "--policy", self.file("policy", first.stdout))
        self.assertEqual((second.stdout, second.stderr), (first.stdout, ""))
        plain = self.tool("explain")
        self.assertNotEqual(plain.stdout, first.stdout)

    def test_policy_runs(self):
        text = "hostname of-policy\nenv B=2\n# note\n\n  chdir\t/tmp\n"
        self.assertEqual(self.say("import os, socket; print(socket.gethostname(), os.getcwd(),"
                                  "os.environ['B'])", "--policy", self.file("policy", text)),
                         "of-policy /tmp 2")

    def test_help(self):
        plain = self.tool("help")
        self.assertEqual((plain.returncode, plain.stderr), (0, ""))
        for alias in ("--help", "-h"):
            self.assertEqual(self.tool(alias).stdout, plain.stdout)
        names = [line.split()[0] for line in self.tool("explain").stdout.splitlines()]
        served = self.tool("serve", "--help")
        for name in {*names, "bind", "bind-rw", "report", "policy", "allow-missing"}:
            self.assertIn("--" + name, served.stdout)
        for command in ("run", "serve", "check", "explain"):
            with self.subTest(command=command):
                told = self.tool(command, "--help")
                self.assertEqual((told.returncode, told.stderr), (0, ""))
                self.assertIn(f"usage: stepjail {command} ", told.stdout)
                self.assertIn("\nExit status:\n", told.stdout)
                self.assertEqual(self.tool("help", command).stdout, told.stdout)
                self.assertEqual([line for line in told.stdout.splitlines() if len(line) > 80],
                                 [])
        self.assertNotIn("--keep-states", self.tool("run", "--help").stdout)

    def test_manual_lint(self):
        lint = (["mandoc", "-Tlint", "-Wwarning"] if shutil.which("mandoc")
                else ["groff", "-mdoc", "-Tutf8", "-ww", "-z"])
        if not shutil.which(lint[0]):
            self.skipTest("lacks mandoc or groff")
        done = subprocess.run([*lint, os.path.join(BUILD, "stepjail.1")], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_versions(self):
        """Of each program: the version in the first line, then what it was built from, and no time."""
        self.assertEqual(self.tool("version").stdout, self.tool("--version").stdout)
        compiled = ["commit", "compiler", "libc", "libraries"]
        versions, commits = set(), set()
        for name, keys in (("stepjail", compiled), ("stepjail-agent", compiled), ("stepjail-oci", compiled),
                           ("stepjail-batch", ["commit"]), ("stepjail-mcp", ["commit"]),
                           ("stepjail-report", ["commit"]), ("stepjail-transcripts", ["commit"])):
            first, *rest = subprocess.run([os.path.join(BUILD, name), "--version"], text=True, check=True,
                                          capture_output=True).stdout.splitlines()
            with self.subTest(program=name):
                self.assertRegex(first, rf"^{name} (version )?\d+\.\d+\.\d+$")
                told = dict(row.split(": ", 1) for row in rest)
                self.assertLessEqual(set(keys), set(told))
                self.assertRegex(told["commit"], r"^([0-9a-f]{40}(-dirty)?|unknown)$")
                for part in told.get("libraries", "a 1").split(", "):
                    self.assertRegex(part, r"^[a-z0-9]+ \d[^ ]*$")
            versions.add(first.split()[-1])
            commits.add(told["commit"])
        self.assertEqual((len(versions), len(commits)), (1, 1))

    def test_full_stdout(self):
        for command in ("help", "version", "explain", "check"):
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                done = self.tool(command, stdout=full)
                self.assertEqual(done.returncode, 125)
                self.assertIn("stdout", done.stderr)

    def test_check(self):
        plain, rows = self.tool("check"), self.tool("check", "--json")
        behind = self.tool("check", "--hostname", "box", "--json")  # options in any order
        self.assertEqual(json.loads(behind.stdout).keys(), json.loads(rows.stdout).keys())
        told = json.loads(rows.stdout)
        lacks = [row["name"] for row in told["checks"] if row["state"] == "missing"]
        self.assertEqual(plain.returncode, 1 if lacks else 0)
        self.assertEqual(rows.returncode, plain.returncode)
        self.assertEqual(told["ok"], not lacks)
        self.assertEqual(len(plain.stdout.splitlines()), len(told["checks"]))
        for row in told["checks"]:
            self.assertEqual(set(row), {"name", "state", "detail"})
            self.assertIn(row["state"], ("ok", "missing", "absent"))
            self.assertIn(row["name"], plain.stdout)
        ran = self.tool("run", "/bin/python3", "-c", "pass")
        self.assertEqual(ran.returncode, 125 if lacks else 0, "check and run disagree")


class NoLoader(unittest.TestCase):
    """No dynamic loader in anything trusted."""

    def test_elf_files(self):
        files, core = [STEPJAIL, STEPJAIL + "-init"], os.path.join(BUILD, "rootfs/core")
        for folder, _, names in os.walk(core):
            files += [os.path.join(folder, name) for name in names]
        seen = 0
        for path in files:
            if os.path.islink(path):
                continue
            with open(path, "rb") as data:
                if data.read(4) != b"\x7fELF":
                    continue
            seen += 1
            text = subprocess.run(["readelf", "-Wld", path], stdout=subprocess.PIPE,
                                  check=True, text=True, env=PLAIN_ENV).stdout
            self.assertIn("Program Headers", text)
            for word in ("INTERP", "NEEDED", "Requesting program interpreter"):
                self.assertNotIn(word, text, path)
            # the trees' Python is at a fixed address: rootfs/trees/build says why
            if not path.startswith(core):
                self.assertIn("DYN (", text, path + " is not a PIE")
        self.assertGreaterEqual(seen, 3)


globals().update(each_user(Options, Commands))

if __name__ == "__main__":
    unittest.main()
