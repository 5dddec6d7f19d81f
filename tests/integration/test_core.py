#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_core.py - rootfs/core: what its python3 does in a jail

STEPJAIL_RUN is the command that runs a program in a jail with the tree as its root, the
program's words behind it; bubblewrap's by default. STEPJAIL_BUILD is the build folder.
"""
import os
import shlex
import subprocess
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("STEPJAIL_BUILD", os.path.join(TOP, "build")))
CORE = os.path.join(BUILD, "rootfs/core")
RUN = shlex.split(os.environ.get("STEPJAIL_RUN", "")) or [
    "bwrap", "--ro-bind", CORE, "/", "--proc", "/proc", "--dev", "/dev",
    "--tmpfs", "/tmp", "--tmpfs", "/work", "--chdir", "/work", "--unshare-all",
    "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--clearenv"]
HOST_PYTHON = "/usr/bin/python3"


def output(*words, stdin=None, status=0):
    """What a command prints on stdout and stderr; its exit status is checked."""
    done = subprocess.run(words, input=stdin, stdin=None if stdin else subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=1800)
    if done.returncode != status:
        raise AssertionError(f"{words[-3:]}: exit {done.returncode}\n{done.stdout}")
    return "".join(line for line in done.stdout.splitlines(True)
                   if not line.startswith("stepjail: warning: "))


def python(*words, stdin=None, status=0):
    return output(*RUN, "/bin/python3", *words, stdin=stdin, status=status)


def python_locked(*words, stdin=None, status=0):
    """The same with the code locked, where it is stepjail that makes the jail."""
    unlocked = "--lock-code=no"
    if unlocked not in RUN:
        raise unittest.SkipTest(f"STEPJAIL_RUN has no {unlocked} to turn round")
    run = ["--lock-code=yes" if word == unlocked else word for word in RUN]
    return output(*run, "/bin/python3", *words, stdin=stdin, status=status)


class Python(unittest.TestCase):
    """bin/python3 in a jail is python3 as everybody knows it."""

    def modules(self):
        """All that the tree has; the names of what every Python has are the check."""
        names = set(output(HOST_PYTHON, "-c",
                           "import sys; print(*sorted(sys.stdlib_module_names))").split())
        present = python("-c", "import sys; print(*sys.builtin_module_names)").split()
        lib = os.path.join(CORE, "lib", os.listdir(os.path.join(CORE, "lib"))[0])
        for folder, _, found in os.walk(lib):
            for name in found:
                parts = os.path.relpath(os.path.join(folder, name[:-4]), lib).split("/")
                if parts[-1] == "__init__":
                    parts.pop()
                if parts[-1] != "__main__":  # running, not importing, is what it is for
                    present.append(".".join(parts))
        self.assertGreater(len(names & set(present)), 200)
        return sorted(set(present))

    def test_imports(self):
        with open(f"{TOP}/tests/integration/core_imports.py", encoding="utf-8") as script:
            text = script.read()
        for run in (python, python_locked):
            with self.subTest(run.__name__):
                said = run("-", *self.modules(), stdin=text)
                print(said, end="", file=sys.stderr)

    def test_locked(self):
        self.assertIn("PermissionError: [Errno 1]", python_locked("-c", """
import os
os.execv("/bin/python3", ["python3", "-V"])
""", status=1))

    def test_ways_to_start(self):
        self.assertEqual(python("-c", "print(6*7)"), "42\n")
        self.assertEqual(python("-I", "-S", "-c", "print(6*7)"), "42\n")
        self.assertEqual(python("-", "a b", stdin="import sys; print(sys.argv)"),
                         "['-', 'a b']\n")
        self.assertEqual(python("-m", "json.tool", "--compact", stdin='{"a": 1}'),
                         '{"a":1}\n')
        self.assertRegex(python("-V"), r"^Python \d+\.\d+")
        python("-c", "raise SystemExit(7)", status=7)
        self.assertIn("NameError", python("-c", "x", status=1))
        self.assertIn("unknown option", python("--no-such-option", status=2).lower())
        self.assertIn("No such file", python("/nowhere.py", status=2))

    def test_script_and_its_neighbour(self):
        self.assertEqual(python("-c", """
import subprocess, sys
open('/tmp/neighbour.py', 'w').write('value = 5')
open('/tmp/script.py', 'w').write(
    'import neighbour, sys; print(neighbour.value, sys.path)')
sys.stdout.write(subprocess.run([sys.executable, '/tmp/script.py'], text=True,
                                capture_output=True).stdout)
"""), f"5 ['/tmp', '{self.library()}']\n")

    def library(self):
        return "/lib/" + os.listdir(os.path.join(CORE, "lib"))[0]

    def test_places(self):
        self.assertEqual(python("-c", "import sys; print(sys.executable, sys.prefix, "
                                "sys.path)"),
                         f"/bin/python3 / ['', '{self.library()}']\n")
        self.assertEqual(python("-I", "-c", "import sys; print(sys.path)"),
                         f"['{self.library()}']\n")

    def test_pythonpath(self):
        script = ("import os, sys; os.environ['PYTHONPATH'] = '/a:/b'; "
                  "os.execv(sys.executable, ['python3', *sys.argv[1:], '-c', "
                  "'import sys; print(sys.path)'])")
        self.assertEqual(python("-c", script), f"['', '/a', '/b', '{self.library()}']\n")
        self.assertEqual(python("-c", script, "-E"), f"['', '{self.library()}']\n")

    def test_traceback_names_the_jails_files(self):
        said = python("-c", "import json; json.loads('{')", status=1)
        self.assertIn(f'"{self.library()}/json/decoder.py", line ', said)

    def test_text_is_utf8(self):
        self.assertEqual(python("-c", "import sys, locale; print('\\u00e9', "
                                "sys.stdout.encoding, locale.getpreferredencoding(), "
                                "locale.setlocale(locale.LC_ALL, 'C.UTF-8'))"),
                         "\u00e9 utf-8 utf-8 C.UTF-8\n")
        self.assertEqual(python("-c", "import sys, time; print(time.strftime('\u00e9'), "
                                "sys.argv[1] == '\u00fc')",
                                "\u00fc"), "\u00e9 True\n")

    def test_names_and_zones(self):
        self.assertEqual(python("-c", """
import grp, pwd, socket, zoneinfo, datetime
print(pwd.getpwuid(0).pw_name, pwd.getpwnam('user').pw_uid, grp.getgrgid(1000).gr_name)
print(sorted({a[4][0] for a in socket.getaddrinfo('localhost', 80)})[0])
try:
    socket.getaddrinfo('example.org', 80)
except socket.gaierror:
    print('no such host')
zone = zoneinfo.ZoneInfo('Europe/Berlin')
print(datetime.datetime(2024, 7, 1, tzinfo=zone).isoformat())
"""), "root 1000 user\n127.0.0.1\nno such host\n2024-07-01T00:00:00+02:00\n")

    def test_its_own_host_name(self):
        """It leads to the loopback interface, whatever --hostname says, and other names lead nowhere."""
        script = """
import socket, sys
name = socket.gethostname()
found = socket.gethostbyname(name), socket.gethostbyname(name.upper()), socket.gethostbyname_ex(name)[2]
print(name, *found, socket.gethostbyaddr(name)[2][0] in ("127.0.0.1", "::1"), socket.getfqdn())
for other in name + ".example.org", name + "x", name[:-1], "x" + name:
    try:
        print(socket.getaddrinfo(other, 80))
    except socket.gaierror:
        pass
if sys.argv[1:]:
    with socket.create_server((name, 0)) as server, \\
            socket.create_connection((name, server.getsockname()[1]), 5), server.accept()[0] as c:
        print(c.getpeername()[0])
"""
        self.assertEqual(python("-c", script), "stepjail 127.0.0.1 127.0.0.1 ['127.0.0.1'] True localhost\n")
        if RUN[0] == "bwrap":
            raise unittest.SkipTest("bwrap's options are others")
        at = RUN.index("--")
        for name in "box", "a.b-c.example", "n" * 31 + "." + "n" * 32:
            said = output(*RUN[:at], "--hostname", name, "--net=loopback", *RUN[at:], "/bin/python3", "-c", script, "net")
            self.assertEqual(said, f"{name} 127.0.0.1 127.0.0.1 ['127.0.0.1'] True localhost\n127.0.0.1\n")

    def test_hashes(self):
        self.assertEqual(python("-c", """
import hashlib, hmac
for name in sorted(hashlib.algorithms_guaranteed):
    hashlib.new(name, b'x')
print(hashlib.sha256(b'x').hexdigest()[:8])
print(hmac.new(b'k', b'm', 'sha256').hexdigest()[:8])
"""), "2d711642\nb60090e3\n")

    def test_c_modules_work(self):
        self.assertEqual(python("-c", """
import asyncio, bz2, decimal, lzma, mmap, sqlite3, uuid, zlib, queue, json, ctypes
""", status=1).splitlines()[-1], "ModuleNotFoundError: No module named 'ctypes': it is in the tree data (--rootfs data), "
                                                      "and this is core")
        self.assertEqual(python("-c", """
import asyncio, bz2, decimal, lzma, mmap, sqlite3, uuid, zlib, multiprocessing
print(decimal.Decimal(1) / 7, decimal.__file__ and decimal.HAVE_THREADS)
print(sqlite3.connect(':memory:').execute('select sqrt(2) > 1, json(1)').fetchone())
for codec in bz2, lzma, zlib:
    assert codec.decompress(codec.compress(b'x' * 99)) == b'x' * 99
print('\\u6f22'.encode('big5'), asyncio.run(asyncio.sleep(0, 5)), uuid.uuid1().version)
with multiprocessing.Pool(2) as pool:
    print(pool.map(abs, [-1, -2]))
"""), "0.1428571428571428571428571429 True\n(1, '1')\nb'\\xba~' 5 1\n[1, 2]\n")

    def test_nothing_is_loaded_at_run_time(self):
        self.assertIn("no dynamic loader", python("-c", """
import importlib.machinery, importlib.util
assert importlib.machinery.EXTENSION_SUFFIXES == []
open('/tmp/x.so', 'wb').close()
loader = importlib.machinery.ExtensionFileLoader('x', '/tmp/x.so')
importlib.util.module_from_spec(importlib.util.spec_from_loader('x', loader))
""", status=1))
        self.assertIn("not authorized", python("-c", """
import sqlite3
sqlite3.connect(':memory:').execute("select load_extension('/tmp/x')")
""", status=1))

    def test_addresses_are_random(self):
        """Of what is allocated and mapped; the ELF itself is at a fixed one (rootfs/trees/build)."""
        ask = "print(id([]), *[l.split('-')[0] for l in open('/proc/self/maps') if '[heap]' in l or '[stack]' in l])"
        seen = [python("-I", "-S", "-c", ask).split() for _ in range(8)]
        for places in zip(*seen, strict=True):
            self.assertGreater(len(set(places)), 6)
        self.assertEqual(len(seen[0]), 3)

    def test_what_is_left_open_is_written_at_exit(self):
        self.assertEqual(python("-c", """
import subprocess, sys
subprocess.run([sys.executable, '-c', '''
def f(): pass
class C:
    def __del__(self): print('gone')
out, c = open('/work/x', 'w'), C()
out.write('text')
'''], check=True)
print(open('/work/x').read())
"""), "gone\ntext\n")

    def test_threads_and_subprocesses(self):
        self.assertEqual(python("-c", """
import subprocess, sys, threading, concurrent.futures
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(abs, range(-9, 0))))
print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout)
"""), "45\nb'1\\n'\n")


if __name__ == "__main__":
    unittest.main()
