#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_mcp_transcripts.py - what stepjail-mcp's sessions leave, as stepjail-agent reads it"""
import asyncio
import glob
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_scene import BUILD, MCP  # noqa: E402
from record_schema import wrong_line  # noqa: E402
from test_mcp import META, MODERN, Case  # noqa: E402

import stepjail  # noqa: E402
from stepjail_mcp.record import Clip, Recorder, Transcript  # noqa: E402

AGENT = os.path.join(BUILD, "stepjail-agent")
LOOP = "print('running', flush=True)\nwhile True: pass"
STUBBORN = "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass"


class Transcripts(Case):
    meta = {**MODERN, META + "clientInfo": {"name": "a\x1b[31m\u202eclient", "version": "7"}}

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="stepjail-test-")
        self.addCleanup(shutil.rmtree, self.top)
        self.folder = os.path.join(self.top, "made/transcripts")
        self.client = self.start("--transcripts", self.folder)

    def stop(self):
        self.client.process.stdin.close()
        self.assertEqual(self.client.process.wait(), 0, self.client.process.stderr.read())

    def files(self):
        return sorted(glob.glob(f"{self.folder}/*"), key=lambda path: int(path.split("-")[-1][:-6]))

    def lines(self, path):
        with open(path, "rb") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([wrong_line(line) for line in lines if wrong_line(line)], [])
        return lines

    def agent(self, *words, status=0):
        done = subprocess.run([AGENT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_a_session_is_in_the_record(self):
        client = self.client
        session = client.good("python", code="x = 1\nprint('ä\\0')\nx")["session"]
        client.bad("python", session=session, code="1 / 0")
        client.bad("python", session=session, code="import os; os.kill(os.getpid(), 9)")
        client.call("python", session=session, code="import os; os.system('id')")
        client.bad("python", session=session, code="while True: pass", timeout=0.2)
        branch = client.good("branch", session=session, state=1)["session"]
        client.good("python", session=branch, code="x = 2")
        client.good("python", session=session, code="x")
        client.good("rollback", session=session, state=1)
        client.good("put_file", session=session, path="a.txt", text="seven")
        client.good("close_session", session=branch)
        client.good("close_session", session=session)
        (path,) = self.files()
        self.assertRegex(os.path.basename(path), r"\Amcp-[0-9]{8}T[0-9]{6}-[0-9]+-1\.jsonl\Z")
        self.assertEqual([os.stat(made).st_mode & 0o777 for made in (path, self.folder, os.path.dirname(self.folder))],
                         [0o600, 0o700, 0o700])
        lines = self.lines(path)
        self.assertEqual([line["event"] for line in lines], [
            "start", "session", *["code", "step"] * 5, "command", "code", "step", "command", "code", "step",
            "command", "command", "command", "end"])
        self.assertEqual([(line["command"], line["branch"]) for line in lines[12:] if line["event"] == "command"],
                         [("branch", 1), ("switch", 0), ("rollback", 0), ("put", 0), ("drop", 1)])
        steps = [line for line in lines if line["event"] == "step"]
        self.assertEqual([step["verdict"] for step in steps], ["completed", "exception", "signaled", "completed",
                                                               "wall-timeout", "completed", "completed"])
        self.assertEqual(steps[0]["stdout"], {"head": "ä\ufffd\n", "bytes": 4, "left_out": 0,
                                              "sha256": hashlib.sha256("ä\0\n".encode()).hexdigest()})
        self.assertEqual((steps[0]["result"]["head"], steps[6]["result"]["head"]), ("1", "1"))
        self.assertIn("ZeroDivisionError", steps[1]["traceback"]["head"])
        self.assertEqual((steps[2]["signal"], steps[2]["state"]), (9, "rolled-back"))
        self.assertEqual(steps[3]["violations"]["list"][0]["syscall"], "execve")
        self.assertEqual(steps[4]["limit"], "--wall-time")
        self.assertEqual(lines[-4 + 1]["file"]["sha256"], hashlib.sha256(b"seven").hexdigest())
        self.assertIn("whole: 22 lines, 7 steps", self.agent("verify", path))
        said = self.agent("transcripts", "show", path)
        self.assertIn("ZeroDivisionError", said)
        self.assertNotIn("\x1b[31m", said)
        self.assertRegex(self.agent("transcripts", "list", self.folder), "mcp  ended  7 steps .*client 7")
        self.assertRegex(self.agent("transcripts", "violations", self.folder), "step 4  refused: execve x1")
        with open(path, "r+b") as file:
            file.write(b" ")
        self.assertIn("line 1 is wrong", self.agent("verify", path, status=1))

    def test_what_is_in_the_record_can_be_run_again(self):
        client = self.start("--transcripts", self.folder, "--", "--memory", "300M", "--deterministic")
        session = client.good("python", code="x = [1]\nprint(x)")["session"]
        branch = client.good("branch", session=session)["session"]
        client.good("python", session=branch, code="x.append(2)\nx")
        client.good("python", session=session, code="x")
        client.good("rollback", session=session, state=0)
        client.bad("python", session=session, code="x")
        client.process.stdin.close()
        client.process.wait()
        missing = ["--allow-missing=cgroup"] if "--allow-missing=cgroup" in os.environ.get("STEPJAIL_RUN", "") else []
        said = self.agent("replay", self.files()[0], *missing)
        self.assertIn("4 steps", said)

    def test_sessions_have_files_of_their_own_and_an_end(self):
        for n in range(3):
            self.client.good("python", code=f"{n}")
        self.stop()
        for n, path in enumerate(self.files()):
            lines = self.lines(path)
            self.assertEqual([line["event"] for line in lines], ["start", "session", "code", "step", "end"])
            self.assertEqual(lines[3]["result"]["head"], str(n))
        self.assertEqual(len(self.files()), 3)
        self.agent("transcripts", "verify", self.folder)

    def test_long_output_is_clipped_as_the_agent_does(self):
        self.client.good("python", code="print('aä' * 500000)")
        self.client.good("python", code="print('b' * 10000, end='')")
        self.stop()
        one, two = (self.lines(path)[3]["stdout"] for path in self.files())
        self.assertEqual(one["bytes"], 1500001)
        self.assertEqual(one["bytes"], one["left_out"] + len((one["head"] + one["tail"]).encode()))
        self.assertTrue(one["tail"].endswith("aä\n"))
        self.assertEqual(two, {"head": "b" * 10000, "bytes": 10000, "left_out": 0,
                               "sha256": hashlib.sha256(b"b" * 10000).hexdigest()})
        for text in "ä" * 10000, "a" + "€" * 10000, "ab" + "😀" * 10000, "aa€" * 10000:
            told = Clip(text.encode()).told()
            self.assertNotIn("\ufffd", told["head"] + told["tail"])
            self.assertEqual(told["left_out"] + len((told["head"] + told["tail"]).encode()), told["bytes"])

    def test_what_was_refused_leaves_no_code(self):
        """Neither in the record, nor for the next step."""
        session = self.client.good("open_session")["session"]
        for timeout in 1e300, 0.0005, 10 ** 30:
            self.client.bad("python", session=session, code="print('refused')", timeout=timeout)
        self.client.bad("python", session=session, code="print('more than --wall-time')", timeout=10 ** 6)
        self.assertEqual(self.client.good("python", session=session, code="print('next')")["stdout"], "next\n")
        self.client.good("close_session", session=session)
        (path,) = self.files()
        lines = self.lines(path)
        self.assertEqual([line["event"] for line in lines],
                         ["start", "session", "code", "step", "code", "step", "end"])
        self.assertEqual([line["state"] for line in lines if line["event"] == "step"], ["kept", "kept"])
        self.agent("verify", path)

    def test_whatever_a_step_raises_is_its_end(self):
        class Branch:
            number = 0

            async def run(self, code, **options):
                raise self.problem

            async def interrupt(self):
                pass

        async def main():
            opened = {"host_uid": 0, "warm": True, "why_cold": None, "not_enforced": [], "shut": [], "vm": None,
                      "posture": {"plan_sha256": None, "root_sha256": None, "root_verified": None}}
            described = Recorder(self.folder, {}).described
            transcript = Transcript(self.folder, described, types.SimpleNamespace(opened=opened), "a test")
            await transcript.begin()
            branch = Branch()
            for branch.problem in ValueError("no number"), stepjail.Error("an argument"), asyncio.CancelledError(), \
                    stepjail.Closed("gone"):
                with self.assertRaises(type(branch.problem)):
                    await transcript.run(branch, "1", None, lambda *_: None)
            await transcript.end()
        asyncio.run(main())
        (path,) = self.files()
        with open(path, "rb") as file:
            steps = [json.loads(line) for line in file if b'"event":"step"' in line]
        self.assertEqual([(step["step"], step["state"]) for step in steps],
                         [(1, "lost"), (2, "kept"), (3, "lost"), (4, "lost")])
        self.assertIn("no number", steps[0]["words"])

    def test_a_step_that_is_cancelled_has_its_end(self):
        session = self.client.good("open_session")["session"]
        step = self.client.ask("tools/call", name="python", _meta={"progressToken": 1},
                               arguments={"session": session, "code": LOOP})
        while not self.client.told:
            self.client.told.append(self.client.next())
        self.client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": step}})
        self.client.good("python", session=session, code="1")
        self.stop()
        lines = self.lines(self.files()[0])
        self.assertEqual([line["event"] for line in lines], ["start", "session", *["code", "step"] * 2, "end"])
        self.assertEqual((lines[3]["ended_by"], lines[3]["stdout"]["head"]), ("user", "running\n"))
        self.assertIn("1 of them cut off", re.sub(r"\s+", " ", self.agent("verify", self.files()[0])))

    def test_cancelled_before_it_began(self):
        session = self.client.good("open_session")["session"]
        for n in range(20):
            step = self.client.ask("tools/call", name="python",
                                   arguments={"session": session, "code": "while True: pass"})
            self.client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": step}})
            if n % 4 == 0:
                self.client.request("tools/list")
        self.client.good("python", session=session, code="1")
        self.stop()
        lines = self.lines(self.files()[0])
        steps = [line for line in lines if line["event"] == "step"]
        self.assertEqual([line["event"] for line in lines], ["start", "session", *["code", "step"] * len(steps), "end"])
        self.assertLessEqual({step["ended_by"] for step in steps[:-1]}, {"user"})

    def test_a_step_that_the_end_of_its_session_ended(self):
        self.client.ask("tools/call", name="python", _meta={"progressToken": 1}, arguments={"code": STUBBORN})
        self.client.next()
        self.client.process.terminate()
        self.assertEqual(self.client.process.wait(), 0)
        lines = self.lines(self.files()[0])
        self.assertEqual([line["event"] for line in lines], ["start", "session", "code", "step", "end"])
        self.assertEqual((lines[3]["ended_by"], lines[3]["verdict"]), ("user", "cancelled"))

    def test_killed_with_a_step_running(self):
        self.client.ask("tools/call", name="python", _meta={"progressToken": 1}, arguments={"code": LOOP})
        self.client.next()
        self.client.process.kill()
        self.client.process.wait()
        said = self.agent("verify", self.files()[0], status=2)
        self.assertIn("whole up to line 3", said)
        self.assertIn("without an end", said)

    def test_no_step_runs_that_cannot_be_written(self):
        session = self.client.good("python", code="x = 1")["session"]
        (path,) = self.files()
        size = os.stat(path).st_size
        resource.prlimit(self.client.process.pid, resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
        said = self.client.bad("python", session=session, code="open('ran', 'w')" + " " * 100)
        self.assertIn(f"the transcript {path} cannot be written: File too large", said)
        self.assertIn("no such session", self.client.bad("python", session=session, code="1"))
        self.assertEqual(os.stat(path).st_size, size)
        resource.prlimit(self.client.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        self.assertEqual(self.client.good("python", code="1")["result"], "1")
        self.assertIn("whole up to line 4", self.agent("verify", path, status=2))

    def test_a_folder_that_cannot_be_made(self):
        for folder in "/proc/nothing", "/dev/null/x":
            client = self.start("--transcripts", folder)
            self.assertIn("--transcripts DIR", client.bad("open_session"))
            self.assertEqual(client.good("list_sessions")["sessions"], [])

    def test_none(self):
        client = self.start("--transcripts", "no")
        client.good("python", code="1")
        client.process.stdin.close()
        self.assertEqual(client.process.wait(), 0)
        self.assertEqual(os.listdir(self.top), [])

    def test_where_the_agent_has_its_own(self):
        client = self.start()
        client.good("python", code="'here'")
        client.process.stdin.close()
        client.process.wait()
        self.assertRegex(self.agent("transcripts", "list"), "mcp-.*ended  1 step")
        environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_STATE_HOME")}
        done = subprocess.run([MCP], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"\Astepjail-mcp: there is no HOME.*--transcripts DIR.*\n\Z")


if __name__ == "__main__":
    unittest.main()
