#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_egress_serve.py - --allow-host of sessions and of the agent"""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import record_schema  # noqa: E402
from egress_scene import BYPASS, Server  # noqa: E402
from serve_client import Refused, Serve  # noqa: E402
from serve_scene import below  # noqa: E402
from test_run import BUILD, PLAIN_ENV, TIMEOUT, TOP, Host, missing_words  # noqa: E402

UNLISTED = "no --allow-host names it"
GET = "import urllib.request as r\nlen(r.urlopen('{}').read())"


def proxies(serve):
    """Main processes of proxies below serve: those whose parent is none."""
    found = {}
    for pid in below(serve.process.pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == "stepjail-egress" and rest.split()[0] != "Z":
            found[pid] = int(rest.split()[1])
    return [pid for pid, parent in found.items() if parent not in found]


def wait_for(check):
    end = time.monotonic() + 30
    while not (found := check()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


class StepRows(unittest.TestCase):
    def rows(self, step):
        """What a step asked for, of hosts that it asked for."""
        egress = step.done["egress"]
        self.assertEqual(record_schema.wrong(egress, record_schema.EGRESS_STEP), [])
        return [(row["host"], row["times"], row["failed"], row["why"]) for row in egress["hosts"] if row["times"]]


class Sessions(StepRows):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.end)
        self.url = f"http://127.0.0.1:{self.server.port}/"
        self.options = [*missing_words(()), f"--allow-host=127.0.0.1:{self.server.port}"]

    def test_steps(self):
        """Each answer tells what its step asked for, refused or not, before it is sent."""
        with Serve(self.options) as serve:
            for warm in (False, True):
                while not (session := serve.open()).opened["warm"] and warm:
                    session.close()
                ask = GET.format(self.url)
                self.assertEqual(session.run(ask).result, "6")
                step = session.run(ask + "\nr.urlopen('http://a.example/')")
                self.assertIn(f"403: a.example:80 is not allowed: {UNLISTED}", step.trace)
                self.assertEqual(self.rows(step), [("127.0.0.1", 1, 0, None), ("a.example", 1, 1, UNLISTED)])
                self.assertEqual(self.rows(session.run("1")), [])
                # a state that comes back has the network that it had
                session.rollback(1)
                self.assertEqual(self.rows(session.run(ask)), [("127.0.0.1", 1, 0, None)])
                session.close()

    def test_failed_after_its_connection(self):
        """What failed when the host was asked is told as well, though the client holds on to the answer."""
        closed = socket.create_server(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        closed.close()
        with Serve([*self.options, f"--allow-host=127.0.0.1:{port}"]) as serve:
            session = serve.open()
            step = session.run(f"""
import os, socket
at = os.environ["http_proxy"].rpartition(":")[2]
s = socket.create_connection(("127.0.0.1", int(at.strip("/"))))
s.sendall(b"GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\n\\r\\n")
s.recv(12)""")
            self.assertEqual((step.result, self.rows(step)),
                             ("b'HTTP/1.1 502'", [("127.0.0.1", 1, 1, "it cannot be reached")]))
            self.assertEqual(self.rows(session.run("1")), [])

    def test_apart(self):
        """Sessions have a proxy each, with a log and a limit each, and it ends with them."""
        with Serve([*self.options, "--egress-limit=4K"]) as serve:
            one, two = serve.open(), serve.open()
            self.assertEqual(len(proxies(serve)), 2)
            step = one.run(f"""
import urllib.request as r
for _ in range(99):
    try:
        r.urlopen('{self.url}').read()
    except OSError as e:  # the last ones, before anything is sent
        print(e)""")
            self.assertEqual(self.rows(step)[0][3], "--egress-limit has no bytes left")
            self.assertEqual(two.run(GET.format(self.url)).result, "6")
            one.close()
            self.assertTrue(wait_for(lambda: len(proxies(serve)) == 1))
            two.close()
            self.assertTrue(wait_for(lambda: not proxies(serve)))

    def test_bypass(self):
        """What tried to go past the proxy is counted in the step that tried it."""
        with Serve(self.options) as serve:
            session = serve.open()
            for code, count in ((BYPASS, 0), ("bypass()", 6), (GET.format(self.url), 0), ("[bypass() for _ in range(3)]", 18)):
                self.assertEqual(session.run(code).done["egress"]["bypass"], count)

    def test_killed(self):
        """Without its proxy a session has no network, and all else."""
        if os.geteuid() != 0:
            self.skipTest("lacks root, to kill another id's process")
        with Serve(self.options) as serve:
            session = serve.open()
            session.run("x = 1")
            pid, = proxies(serve)
            os.kill(pid, signal.SIGKILL)
            self.assertTrue(wait_for(lambda: not proxies(serve)))
            step = session.run(GET.format(self.url))
            self.assertIn("Connection refused", step.trace)
            self.assertEqual(session.run("x").result, "1")
            self.assertEqual(self.server.asked, [])

    def test_refused(self):
        """A session whose proxy cannot be confined, or has no secret, does not open."""
        with Serve([*missing_words(()), "--allow-host=a.example:443",
                    "--secret-header=a.example:X=/none"]) as serve:
            with self.assertRaises(Refused) as refused:
                serve.open()
            self.assertIn("--secret-header: open /none", str(refused.exception))

    def test_once(self):
        with Serve(self.options) as serve:
            step = serve.once(GET.format(self.url))
            self.assertEqual((step.result, self.rows(step)), ("6", [("127.0.0.1", 1, 0, None)]))


class Agent(Host, unittest.TestCase):
    as_user = True

    def setUp(self):
        super().setUp()
        self.transcript = self.folder + "/t.jsonl"

    def run_agent(self, *words, code=0):
        done = subprocess.run([*self.drop, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE, timeout=TIMEOUT, check=False,
                              env=PLAIN_ENV | {"HOME": self.folder})
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_demo(self):
        """A model asks a host that is not allowed, is told so, and mends it; the record has both."""
        agent = os.path.join(BUILD, "stepjail-agent")
        allowed = missing_words(tuple(self.drop))
        done = self.run_agent(os.path.join(TOP, "tests/egress_demo.py"), agent, "--transcript", self.transcript,
                              *allowed)
        self.assertEqual(done.stdout, "In 2012: 191 days of rain.\n")
        with open(self.transcript, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        place = lines[0]["inputs"]["options"]["allow-host"]
        self.assertIn(f"There is no network but HTTP to {place} through a proxy", lines[0]["system"])
        seen = [[(row["host"], row["times"], row["why"]) for row in line["egress"]["hosts"] if row["times"]]
                for line in lines if line.get("egress")]
        self.assertEqual(seen, [[("api.weather.example", 1, UNLISTED)], [("127.0.0.1", 4, None)]])
        page = self.run_agent(os.path.join(BUILD, "stepjail-report"), self.transcript).stdout
        self.assertRegex(page, r"<h4>Hosts</h4>.*>api\.weather\.example</bdi>:80</th>.*no --allow-host names it")
        # who runs a stranger's transcript again gives nothing away by that
        done = self.run_agent(agent, "replay", self.transcript, *allowed, code=1)
        self.assertNotIn("allow-host", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
