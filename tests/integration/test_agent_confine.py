#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_confine.py - stepjail-agent in its own jail

What code that took a process of the agent over could try is in tests/unit/test_agent_confine.c
and test_agent_client.c. Here: what others can learn of a running agent, each time beside a
process that is not confined; that only the model client has the key, and what becomes of it;
that models, proxies, names and certificates still work. Kernels that lack a part are in
test_agent_lacking.py.
"""
import ctypes
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import (AGENT, HERE, KEY, AgentCase, alive, family, fence,  # noqa: E402
                         errors, wait_for)
from mock_model import MockModel  # noqa: E402

NO_LANDLOCK = "this kernel has no Landlock"
SYS_LANDLOCK_CREATE_RULESET = 444
LIBC = ctypes.CDLL(None, use_errno=True)


def without_call(number, errnum):
    """For preexec_fn: a kernel that has not this call (seccomp(2), a filter of 4 lines)."""
    def install():
        rows = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errnum),
                (0x06, 0, 0, 0x7fff0000)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
        program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code))
        if LIBC.prctl(38, 1, 0, 0, 0) or LIBC.prctl(22, 2, program, 0, 0):
            os._exit(99)
    return install


def landlock_abi():
    return LIBC.syscall(SYS_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1)


# what steps show is kept beside a transcript where Landlock holds the agent to that folder
SHOWN = ["collect"] if landlock_abi() > 0 else []
CHILDREN = ["children"]


def read_memory(pid):
    """All that can be read of a process's memory."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            span, rights = line.split()[:2]
            start, end = (int(n, 16) for n in span.split("-"))
            if rights.startswith("r") and "[v" not in line:
                mem.seek(start)
                try:
                    yield mem.read(end - start)
                except OSError:
                    pass


def holds(pid, text):
    return any(text in piece for piece in read_memory(pid))


class Running(AgentCase):
    """An agent with a key, that waits for its model, and sleep, which is not confined."""

    def setUp(self):
        super().setUp()
        self.mock = self.enterContext(MockModel([{"hang": 600}]))

    def start(self, *args, environ=None, **how):
        p = self.popen("solve", "x", "--stepjail", self.fake, "--model", "openai", "--model-name",
                       "m", "--base-url", self.mock.url, *args, **how,
                       env=self.env(**(environ or {"OPENAI_API_KEY": KEY})))
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        self.assertTrue(wait_for(lambda: self.mock.requests))
        return p

    def sleeper(self, **how):
        p = subprocess.Popen(["sleep", "600"], env={"OPENAI_API_KEY": KEY}, **how)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        with open(f"/proc/{p.pid}/environ", "rb") as f:
            self.assertTrue(wait_for(lambda: f.seek(0) == 0 and f.read()))
        return p

    def test_environment(self):
        agent, sleep = self.start(), self.sleeper()
        with open(f"/proc/{sleep.pid}/environ", "rb") as f:
            self.assertIn(KEY.encode(), f.read())
        for pid in family(agent.pid):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    self.assertNotIn(KEY.encode(), f.read())
            except PermissionError:
                self.assertNotEqual(os.getuid(), 0)

    def test_memory(self):
        """The model client alone holds the key, while it asks, and the same with a file."""
        key = ("--key-file", self.path("key", KEY, 0o600))
        self.check_memory(())
        self.mock.requests.clear()
        self.check_memory(key, STEPJAIL_API_KEY="another-key")

    def check_memory(self, args, **env):
        agent, sleep = self.start(*args, environ=env), self.sleeper()
        broker, client, *jail = family(agent.pid)[1:]
        self.assertTrue(holds(sleep.pid, KEY.encode()))
        if os.getuid():  # root reads everything
            for pid in (agent.pid, broker, client):
                with self.assertRaises(PermissionError):
                    holds(pid, KEY.encode())
        else:
            self.assertTrue(holds(client, KEY.encode()))
            for pid in (agent.pid, broker):
                for secret in (KEY, *env.values()):
                    self.assertFalse(holds(pid, secret.encode()))
                self.assertTrue(holds(pid, b"stepjail"))
        self.assertTrue(jail)
        for pid in jail:
            self.assertFalse(holds(pid, KEY.encode()))

    def test_no_core(self):
        with open("/proc/sys/kernel/core_pattern") as f:
            if "/" in (pattern := f.read().strip()) or pattern.startswith("|"):
                self.skipTest(f"core_pattern is {pattern}: cores do not fall into the folder")

        def large():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)

        def cores():
            return [name for name in os.listdir(self.folder) if name.startswith("core")]

        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.skipTest("RLIMIT_CORE is 0 for good")
        agent = self.start(cwd=self.folder, preexec_fn=large)
        agent.send_signal(signal.SIGABRT)
        agent.communicate(timeout=60)
        self.assertEqual((agent.returncode, cores()), (-signal.SIGABRT, []))
        sleep = self.sleeper(cwd=self.folder, preexec_fn=large)
        sleep.send_signal(signal.SIGABRT)
        self.assertEqual(sleep.wait(60), -signal.SIGABRT)
        self.assertEqual(len(cores()), 1)

    def test_who_is_confined(self):
        """The agent and its client are, and neither its broker nor what becomes a jail."""
        agent = self.start()
        seen = []
        for pid in family(agent.pid):
            with open(f"/proc/{pid}/status") as f:
                status = dict(line.split(":\t", 1) for line in f.read().splitlines())
            seen.append((status["NoNewPrivs"], status["Seccomp"],
                         int(status["CapPrm"], 16) == 0 or os.getuid() != 0))
        own = ("0", "0", os.getuid() != 0)
        self.assertEqual((seen[0], seen[2]), (("1", "2", True),) * 2)
        self.assertEqual(seen[1:2] + seen[3:], [own] * (len(seen) - 2))
        self.assertGreaterEqual(len(seen), 4)

    def test_no_files_stay_open_in_broker_and_client(self):
        """And neither has the other's socket."""
        agent = self.start("--transcript", self.path("t.jsonl"))
        seen = {}
        for pid in (pids := family(agent.pid)[:3]):
            try:
                seen[pid] = [os.readlink(f"/proc/{pid}/fd/{fd}")
                             for fd in sorted(map(int, os.listdir(f"/proc/{pid}/fd")))]
            except PermissionError:
                self.assertNotEqual(os.getuid(), 0)
                return
        main, broker, client = (seen[pid] for pid in pids)
        self.assertEqual({fd.split(":")[0] for fd in broker}, {"/dev/null", "socket"})
        self.assertLessEqual({fd.split(":")[0] for fd in client},
                             {"/dev/null", "socket", "pipe", "anon_inode"})
        self.assertFalse({fd for fd in broker if "socket" in fd} & set(client))
        self.assertIn(self.path("t.jsonl"), main)

    def test_client_that_dies(self):
        """One clear error, and no try more: nobody is left who could ask."""
        agent = self.start("--retries", "3")
        os.kill(family(agent.pid)[2], signal.SIGKILL)
        _, err = agent.communicate(timeout=60)
        self.assertEqual((agent.returncode, len(self.mock.requests)), (4, 1))
        self.one_line(errors(err.decode()), "the model client", "is gone")

    def test_client_ends_with_the_agent(self):
        agent = self.start()
        client = family(agent.pid)[2]
        agent.kill()
        agent.communicate()
        self.assertTrue(wait_for(lambda: not alive([client])))


class Network(AgentCase):
    def in_network(self, way, ends=(0, 1)):
        unshare = ["unshare", "-mn", "--propagation", "private"]
        if os.getuid():
            unshare.insert(1, "-r")
        p = subprocess.run([*unshare, "/usr/bin/python3", os.path.join(HERE, "agent_net.py"),
                            self.folder, way, AGENT, "solve", "x", "--json", "--stepjail", self.fake,
                            "--model", "openai", "--model-name", "m", "--base-url",
                            "https://model.test/v1", "--retries", "0"],
                           env=self.env(STEPJAIL_API_KEY=KEY), capture_output=True, timeout=240)
        self.assertEqual(p.returncode, 0, p.stderr.decode())
        got = json.loads(p.stdout)
        self.assertEqual((got["status"], got["requests"]), ends, got)
        return got, json.loads(got["out"])["confinement"] if got["out"] else None

    @unittest.skipUnless(shutil.which("openssl"), "openssl is missing: apt-get install openssl")
    def test_name_and_certificate(self):
        got, confined = self.in_network("udp")
        self.assertEqual(set(got["asked"]), {"udp"})
        client = confined["client"]
        self.assertEqual((client["ports"], client["needs"], client["create"]),
                         ([443, 53], ["connect", "names", "read"], []))
        self.assertIn("/etc/resolv.conf", client["read"])
        self.assertEqual(client["key"], {"dumped": False, "forked": False,
                                         "locked": client["key"]["locked"]})
        self.assertEqual((confined["ports"], confined["needs"], confined["key"],
                          confined["read"]), ([], SHOWN + CHILDREN, None, []))
        got, _ = self.in_network("tcp")
        self.assertEqual(set(got["asked"]), {"udp", "tcp"})

    @unittest.skipUnless(shutil.which("openssl"), "openssl is missing: apt-get install openssl")
    def test_name_service_module(self):
        """What libc loads for a name is loaded before no code can be."""
        got, _ = self.in_network("module")
        self.assertEqual(got["asked"], [])

    @unittest.skipUnless(shutil.which("openssl"), "openssl is missing: apt-get install openssl")
    def test_signal_while_a_name_is_looked_up(self):
        """Nobody answers for minutes, and nobody waits for that."""
        for way in ("mute", "mute-time"):
            got, _ = self.in_network(way, (130, 0) if way == "mute" else (124, 0))
            self.assertEqual(set(got["asked"]), {"udp"})
            self.assertLess(got["seconds"], 40)

    def test_localhost(self):
        with MockModel([{"say": "Hi."}]) as mock:
            url = mock.url.replace("127.0.0.1", "localhost")
            status, out, err = self.solve("--json", "--model", "openai", "--model-name", "m",
                                          "--base-url", url)
            self.assertEqual((status, len(mock.requests)), (0, 1), err)

    def test_proxy(self):
        """Its port may be reached, too, and no name needs to be known here."""
        for variable in ("http_proxy", "all_proxy"):
            with MockModel([{"say": "Hi."}]) as mock:
                status, out, err = self.solve(
                    "--json", "--model", "openai", "--model-name", "m", "--base-url",
                    "http://model.invalid:81/v1",
                    env=self.env(**{variable: mock.url.removesuffix("/v1")}))
                self.assertEqual((status, len(mock.requests)), (0, 1), err)
                self.assertEqual(mock.requests[0][1],
                                 "http://model.invalid:81/v1/chat/completions")
                self.assertEqual(json.loads(out)["confinement"]["client"]["ports"],
                                 [81, mock.server.server_port, 53])


class Report(AgentCase):
    def check_facts(self, facts, **more):
        want = {"not_enforced": [], "no_new_privs": True, "seccomp": 2,
                "capabilities": "0" * 16, "dumpable": False, "key": None, "needs": [],
                "ports": [], "read": [], "create": [], "client": None}
        more["needs"] = more.get("needs", []) + CHILDREN
        for name, value in {**want, **more}.items():
            self.assertEqual(facts[name], value, name)
        self.assertEqual(facts["landlock_abi"], max(landlock_abi(), 0))

    def test_check(self):
        status, out, err = self.run_agent("check")
        self.assertEqual((status, err), (0, ""))
        self.check_facts(json.loads(out))
        status, out, err = self.run_agent("check", "--base-url", "http://127.0.0.1:1234/v1")
        self.assertEqual((status, err), (0, ""))
        facts = json.loads(out)
        client = facts.pop("client")
        self.check_facts({**facts, "client": None})
        self.assertEqual((client["seccomp"], client["no_new_privs"], client["dumpable"],
                          client["capabilities"], client["not_enforced"]),
                         (2, True, False, "0" * 16, []))
        self.assertEqual((client["needs"], client["ports"], client["create"]),
                         (["connect", "read"], [1234], []))

    def test_runs(self):
        """The record and the report of a run say what held."""
        transcript = self.path("t.jsonl")
        got = self.steps("print(1)", more=("--transcript", transcript))
        shown = {"needs": SHOWN, "create": [transcript + ".shown"] if SHOWN else []}
        self.check_facts(got["confinement"], **shown)
        with open(transcript) as f:
            self.check_facts(json.loads(f.readline())["confinement"], **shown)
        got = self.steps("print(1)", more=("--transcript", "none"))
        self.check_facts(got["confinement"])
        got = self.steps("print(1)", more=("--transcript", "none", "--out", self.path("o")))
        self.check_facts(got["confinement"], needs=["keep", "collect"], create=[self.path("o")],
                         not_enforced=[] if SHOWN else ["files"])

    def test_what_the_broker_starts(self):
        """A session, and the checks' jails: by the command line of before, with one fd of the agent's."""
        self.path("fake_stepjail.log", "")
        secret = self.env(OPENAI_API_KEY=KEY, HOME=self.path("home"))
        self.steps("print(1)", env=secret, more=("--check-answer", "/bin/python3 -c 'pass'"))
        session, check = self.log()
        self.assertEqual(session["argv"][1], "serve")
        self.assertEqual(session["argv"], check["argv"])
        for one, fds in ((session, "012"), (check, "012")):
            # Python's own, and what says where a user's file of defaults is
            self.assertLessEqual(set(one["environ"]), {"LC_CTYPE", "HOME", "XDG_CONFIG_HOME"})
            self.assertIn("HOME", one["environ"])
            self.assertTrue(set(fds) <= set(one["fds"]), one["fds"])
            kinds = {one["fds"][fd].split(":")[0] for fd in fds}
            self.assertTrue(kinds <= {"pipe", "socket"}, kinds)

    def test_relative_transcript_and_files(self):
        """What was opened before stays open, in whatever folder."""
        data = self.path("data.csv", "a,b\n")
        status, out, err = self.run_agent(
            "solve", "x", "--stepjail", "./stepjail", "--file", "data.csv", "--transcript", "t",
            "--model", self.script(fence("print(open('/work/in/data.csv').read())"), "Done."),
            cwd=self.folder)
        self.assertEqual(status, 0, err)
        self.assertIn("| a,b", out)
        self.assertTrue(os.path.getsize(self.path("t")) and os.path.exists(data))


if __name__ == "__main__":
    unittest.main()
