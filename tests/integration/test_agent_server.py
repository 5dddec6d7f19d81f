#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_server.py - --server PATH: sessions of a stepjail-mcp, and clients that attach to it as they should not"""
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_scene import CSV, QUESTION, SCRIPT, AgentCase, family, wait_for  # noqa: E402
from python_scene import MCP, config  # noqa: E402, F401
from serve_client import HEADER, Gone, Refused, Serve  # noqa: E402


class Attached(Serve):
    """A client of the test's own: the line, its answer, and then frames."""

    def __init__(self, path, options=()):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.socket.sendall(json.dumps({"stepjail/attach": options}).encode() + b"\n")
        with self.socket.makefile("rb", 0) as answer:
            self.answer = answer.readline()
        self.buffer, self.waiting, self.next = b"", [], 1

    def end(self):
        self.socket.close()


class Case(AgentCase):
    options = ()

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.socket = self.path("socket")
        self.server = self.started()
        self.addCleanup(self.stop)
        self.assertIn(b"listening", self.server.stderr.readline())

    def stop(self):
        self.server.terminate()
        self.server.wait()
        self.server.stderr.close()

    def started(self):
        return subprocess.Popen([MCP, "--listen", self.socket, *self.options], env=self.env(),
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def attach(self, *options):
        client = Attached(self.socket, options)
        self.addCleanup(client.end)
        self.assertEqual(client.answer, b"\n")
        return client

    def asked(self, *words):
        return self.run_agent("solve", "--model", f"scripted:{SCRIPT}", "--server", self.socket, *words, QUESTION)


class Agent(Case):
    def test_an_answer_and_what_it_leaves(self):
        path = self.path("record")
        for _ in range(2):
            status, out, err = self.asked("--file", CSV, "--transcript", path)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("Gentoo penguins are the heaviest: 5076 g", out)
            with open(path) as lines:
                session = next(event for event in map(json.loads, lines) if event["event"] == "session")
            status, out, _ = self.run_agent("replay", path)  # by a stepjail of its own
            self.assertEqual(status, 0, out)
            os.unlink(path)
        self.assertTrue(session["warm"], session["why_cold"])

    def test_one_process_serves_all_that_ask_for_the_same(self):
        for _ in range(3):
            self.assertEqual(self.asked("--file", CSV)[0], 0)
        self.assertEqual([self.name(pid) for pid in family(self.server.pid)].count("stepjail-superv"), 1)

    @staticmethod
    def name(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as comm:
            return comm.read().strip()
        return ""

    def test_a_jail_that_does_not_start(self):
        status, _, err = self.asked("--rootfs", "nowhere")
        self.assertEqual(status, 125)
        self.assertIn("there is no tree named 'nowhere'", err)

    def test_a_script_at_a_prompt(self):
        status, out, err = self.run_agent("repl", "--server", self.socket, "--transcript", "none",
                                          stdin=self.script("x = 6\nprint(x * 7)\n"))
        self.assertEqual((status, out), (0, "42\n"), err)

    def script(self, text):
        file = open(self.path("script", text))
        self.addCleanup(file.close)
        return file

    def test_a_server_that_ends(self):
        """What a session had is lost, and the agent says so and why it cannot go on."""
        agent = self.popen("repl", "--server", self.socket, "--transcript", "none", stdin=subprocess.PIPE)
        agent.stdin.write(b"print('there', flush=True)\n\nimport time\n\ntime.sleep(600)\n")
        agent.stdin.close()
        self.assertEqual(agent.stdout.readline(), b"there\n")
        self.server.send_signal(signal.SIGKILL)
        err = agent.stderr.read().decode()
        agent.stdout.close()
        agent.stderr.close()
        self.assertEqual(agent.wait(), 125, err)
        self.assertIn("stepjail-agent: --server", err)

    def test_nobody_there(self):
        for path, words in ((self.path("none"), "No such file or directory"), ("x" * 200, "too long"),
                            (self.path("file", "text"), "Connection refused")):
            status, _, err = self.run_agent("solve", "--model", f"scripted:{SCRIPT}", "--server", path, QUESTION)
            self.assertEqual(status, 125)
            self.assertIn(words, err)
            self.assertEqual(err.count("\n"), 1, err)


class Guest(Case):
    """Its jails are in a guest, of --wall vm."""

    def env(self, **more):
        return super().env(STEPJAIL=self.path("stepjail"), **more)

    def setUp(self):
        super().setUp()
        self.path("fake_guest", "")

    def test_what_the_host_says(self):
        """It comes to each client, and first; what a guest says is dropped."""
        for _ in range(2):
            record = self.path("record")
            status, out, err = self.run_agent("repl", "--server", self.socket, "--transcript", record,
                                              self.path("script", "print(42)\n"))
            self.assertEqual((status, out), (0, "42\n"), err)
            with open(record) as lines:
                (session,) = (event for event in map(json.loads, lines) if event["event"] == "session")
            self.assertRegex(session["vm"]["qemu"], "^of [0-9]+$")
            os.unlink(record)


class Liar(AgentCase):
    def test_what_answers_as_no_server_does(self):
        for said in b"", b"hello\n", b"no \x1b[2J\n", b"x" * 100000, b"\n\n":
            path = self.path("liar")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen(1)

            def answer(said=said, listener=listener):
                connection = listener.accept()[0]
                connection.recv(1 << 16)
                try:
                    connection.sendall(said)
                except OSError:
                    pass
                connection.close()

            thread = threading.Thread(target=answer)
            thread.start()
            status, _, err = self.run_agent("solve", "--model", f"scripted:{SCRIPT}", "--server", path, QUESTION)
            thread.join()
            listener.close()
            os.unlink(path)
            self.assertEqual(status, 125, err)
            self.assertIn("--server", err)
            self.assertNotIn("\x1b", err)


class Client(Case):
    options = "--sessions", "2"

    def test_sessions_of_two_clients(self):
        one, two = self.attach("--rootfs=core"), self.attach("--rootfs=core")
        a, b = one.open(), two.open()  # both call it 1
        self.assertEqual(a.run("x = 1").done["verdict"], "completed")
        self.assertEqual(b.run("x").done["verdict"], "exception")
        self.assertEqual(a.run("x").result, "1")
        self.assertEqual(one.once("print(5)").out, b"5\n")

    def test_more_than_a_client_may_have(self):
        client = self.attach()
        client.open()
        client.open()
        with self.assertRaisesRegex(Refused, "2 sessions are open"):
            client.open()
        with self.assertRaisesRegex(Refused, "no such session"):
            client.expect(9, 0, client.send("RUN", 9, struct.pack("<IQQ", 0, 0, 0)))

    def test_what_a_client_leaves_ends_with_it(self):
        other = self.attach()
        self.assertEqual(other.open().run("1").result, "1")
        before = len(family(self.server.pid))
        client = self.attach()
        client.open().start("while True: pass")
        wait_for(lambda: len(family(self.server.pid)) > before)
        client.end()
        self.assertTrue(wait_for(lambda: len(family(self.server.pid)) <= before))

    def test_bytes_that_are_no_frame(self):
        good = self.attach()
        session = good.open()
        for data in (b"\xff" * 64, HEADER.pack(1 << 20, 16, 0, 1), HEADER.pack(4, 99, 0, 1) + bytes(4),
                     HEADER.pack(2, 16, 0, 1) + bytes(2), HEADER.pack(4, 16, 7, 1) + bytes(4),
                     HEADER.pack(4, 54321, 0, 0) + bytes(4), HEADER.pack(4, 25, 0, 1) + bytes(4)):
            bad = self.attach()
            bad.send_raw(data)
            with self.assertRaises(Gone):
                bad.receive()
        self.assertEqual(session.run("1").result, "1")

    def test_options_that_are_none(self):
        for options in ("x", ["x"], ["--"], ["--Memory=1"], [1], {"a": 1}, ["--rootfs=./here"], ["--bind=a/b:/work/b"],
                        ["--policy=a/b"]):
            client = Attached(self.socket, options)
            self.addCleanup(client.end)
            self.assertGreater(len(client.answer), 1, options)
            self.assertEqual(client.socket.recv(1), b"")
        client = Attached(self.socket, ["--memory=nothing"])
        self.addCleanup(client.end)
        with self.assertRaisesRegex((Refused, Gone), "is not a size"):
            client.open()

    def test_a_client_that_does_not_read_delays_nobody(self):
        slow, other = self.attach(), self.attach()
        slow.open().start("while True: print('x' * 60000)")
        session = other.open()
        for n in range(20):
            self.assertEqual(session.run(str(n)).result, str(n))


@unittest.skipUnless(os.geteuid() == 0, "root alone can be another user")
class Others(Case):
    """A socket of systemd's, whose mode lets others connect: they may use it, but not name the files of its user."""

    def started(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.socket)
            listener.listen(8)
            os.chmod(self.socket, 0o666)
            return subprocess.Popen(
                ["/bin/sh", "-c", f'exec 3<&{listener.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "sh", MCP,
                 "--listen", "systemd"], env=self.env(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                pass_fds=[listener.fileno()])

    def test_another_user_may_not_attach(self):
        code = ("import json, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                "s.sendall(json.dumps({'stepjail/attach': []}).encode() + b'\\n'); print(s.recv(4096).decode())")
        done = subprocess.run(["/usr/bin/python3", "-c", code, self.socket], user="games", group="games",
                              extra_groups=[], cwd="/", capture_output=True, text=True, check=False)
        self.assertIn("only user 0 and root may attach", done.stdout, done.stderr)
        self.attach()


if __name__ == "__main__":
    unittest.main()
