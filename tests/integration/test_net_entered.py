#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_net_entered.py - --net=PATH: a network namespace that somebody else has made

Neighbour makes one, with lo up, and answers in it. An ordinary user is refused.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_posture import landlock_abi  # noqa: E402
from test_run import PLAIN_ENV, STEPJAIL, TIMEOUT, missing_words  # noqa: E402

ASK = """
import socket
with socket.create_connection(("127.0.0.1", {port}), timeout=60) as s:
    print(s.recv(10))
"""
ATTACKS = """
import fcntl, os, socket, struct
def attack(name, act):
    try:
        act()
        print(name + ": done")
    except OSError as e:
        print(name + ": " + os.strerror(e.errno))
def netlink():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        # RTM_NEWLINK with an answer: lo down
        s.sendto(struct.pack("=IHHIIBBHiII", 32, 16, 5, 1, 0, 0, 0, 0, 1, 0, 1), (0, 0))
        errnum = struct.unpack_from("=IHHIIi", s.recv(1000))[5]
        if errnum:
            raise OSError(-errnum, "netlink")
def flags():
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", b"lo", 0))
def abstract():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\\0neighbour")
attack("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attack("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))
attack("low port", lambda: socket.socket().bind(("127.0.0.1", 80)))
attack("flags", flags)
attack("netlink", netlink)
attack("abstract", abstract)
"""
NEIGHBOUR = """
import fcntl, socket, struct
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", b"lo", 1))
name = socket.socket(socket.AF_UNIX)
name.bind("\\0neighbour")
name.listen()
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        client, _ = server.accept()
        client.sendall(b"neighbour")
        client.close()
"""


AS_ROOT = unittest.skipIf(os.geteuid(), "lacks root")


class Entered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ids = ["--user", "--map-root-user"] if os.geteuid() else []
        cls.neighbour = subprocess.Popen(["unshare", *ids, "--net", "/usr/bin/python3", "-c", NEIGHBOUR],
                                         text=True, stdout=subprocess.PIPE)
        cls.addClassCleanup(cls.neighbour.wait)
        cls.addClassCleanup(cls.neighbour.kill)
        cls.addClassCleanup(cls.neighbour.stdout.close)
        cls.port = int(cls.neighbour.stdout.readline())
        cls.path = f"/proc/{cls.neighbour.pid}/ns/net"

    def run_in(self, code, *options, path=None, before=()):
        """(what it did, its report)"""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as report:
            done = subprocess.run(
                [*before, STEPJAIL, "run", "--rootfs", "core", *missing_words(()), "--quiet",
                 f"--net={path or self.path}", "--report", report.name, *options, "--", "/bin/python3", "-c", code],
                env=PLAIN_ENV, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                timeout=TIMEOUT)
            return done, json.loads(report.read() or "null")

    def refused(self, said, *options, **how):
        done, report = self.run_in("print(1)", *options, **how)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertEqual((report or {}).get("verdict", "launcher-error"), "launcher-error")
        self.assertRegex(done.stderr, said)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    @AS_ROOT
    def test_what_is_there_is_reached_and_reported(self):
        done, report = self.run_in(ASK.format(port=self.port))
        self.assertEqual((done.returncode, done.stdout), (0, "b'neighbour'\n"), done.stderr)
        network = report["posture"]["network"]
        self.assertEqual((network["leased"], network["entered"]), (False, self.path))
        self.assertEqual([link.split(",")[:2] for link in network["links"]], [["lo loopback", "up"]])
        self.assertIn("127.0.0.1/8", network["addresses"])
        self.assertIn("local 127.0.0.1", network["routes"])
        self.assertEqual(report["posture"]["namespaces"]["net"]["jail"], os.stat(self.path).st_ino)

    def test_not_without(self):
        for path in "loopback", "none":
            done, report = self.run_in(ASK.format(port=self.port), path=path)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIsNone(report["posture"]["network"]["entered"])

    @AS_ROOT
    def test_nothing_of_it_is_changed(self):
        done, _ = self.run_in(ATTACKS)
        answers = dict(line.split(": ") for line in done.stdout.splitlines())
        denied = "Operation not permitted"
        self.assertEqual({name: answers.pop(name, None) for name in ("flags", "raw", "packet", "netlink", "low port")},
                         {"flags": denied, "raw": denied, "packet": denied, "netlink": denied,
                          "low port": "Permission denied"})
        # what has no file is the namespace's, too, and Landlock alone is between
        self.assertEqual(answers, {"abstract": denied if landlock_abi() >= 6 else "done"})

    def test_refused(self):
        self.refused("/nowhere: enter this network namespace, as root: No such file", path="/nowhere")
        self.refused("'own' must be one of none|loopback|PATH", path="own")
        self.refused("--net: not with --allow-host", "--allow-host", "a.example:443")

    @AS_ROOT
    def test_what_is_no_network_is_refused(self):
        self.refused("launcher's own network, which no jail has", path="/proc/self/ns/net")
        self.refused("/etc/passwd: enter this network namespace, as root: Invalid", path="/etc/passwd")
        self.refused("/proc/self/ns/mnt: enter .*: Invalid", path="/proc/self/ns/mnt")

    @unittest.skipUnless(os.geteuid(), "lacks an ordinary user")
    def test_not_for_an_ordinary_user(self):
        self.refused("as root: Operation not permitted")
        # root of that network alone could not return to the launcher's own
        self.refused("as root: Operation not permitted",
                     before=["nsenter", f"--user=/proc/{self.neighbour.pid}/ns/user", "--preserve-credentials", "--"])

    def explain(self, *options):
        return subprocess.run([STEPJAIL, "explain", *options], env=PLAIN_ENV, text=True, stdout=subprocess.PIPE,
                              check=True, timeout=TIMEOUT).stdout

    def test_a_policy_carries_it(self):
        text = self.explain(f"--net={self.path}")
        self.assertIn(f"\nnet {self.path}\n", text)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as policy:
            policy.write(text)
            policy.flush()
            self.assertEqual(self.explain("--policy", policy.name), text)
            self.assertIn("\nnet none\n", self.explain("--policy", policy.name, "--net=none"))

    def test_for_run_alone(self):
        for words, said in ((["serve"], "serve: --net=PATH is for run: sessions would share it"),
                            (["run", "--wall", "vm", "true"], "not with --net=PATH")):
            done = subprocess.run([STEPJAIL, words[0], f"--net={self.path}", *words[1:]], env=PLAIN_ENV, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TIMEOUT)
            self.assertEqual(done.returncode, 125)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
