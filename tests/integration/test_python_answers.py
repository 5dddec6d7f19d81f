#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_python_answers.py - agent/python/stepjail.py: who gets an answer, what is asked, and what a guest may send"""
import asyncio
import json
import os
import signal
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_scene import AgentCase  # noqa: E402
import python_scene  # noqa: E402, F401
from stepjail import AsyncStepjail, Closed, Error, Refused, Stepjail  # noqa: E402


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jails = Stepjail()
        cls.addClassCleanup(cls.jails.close)

    def setUp(self):
        self.session = self.jails.session()
        self.addCleanup(self.session.close)

    # a step that goes on when it was interrupted, until it may end
    GOES_ON = ("import os, time\ntry:\n    print('begun', flush=True)\n    while True: time.sleep(0.01)\n"
               "except KeyboardInterrupt:\n    print('caught', flush=True)\n"
               "    while not os.path.exists('go'): time.sleep(0.01)\n'old'")

    def test_a_second_cancellation(self):
        """It leaves the step, whose answer is nobody else's."""
        async def main():
            async with AsyncStepjail(grace="60s") as jails, await jails.session() as s:
                begun, caught = asyncio.Event(), asyncio.Event()
                step = asyncio.create_task(s.run(self.GOES_ON, on_output=lambda _, data: (
                    begun.set(), b"caught" in data and caught.set())))
                for event in begun, caught:
                    await event.wait()
                    step.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await step
                following = [asyncio.create_task(s.run(code)) for code in ("print('new'); 'new'", "1")]
                await s.put("go", b"")
                step, busy = await asyncio.gather(*following, return_exceptions=True)
                self.assertIn("a step runs on this branch", str(busy))
                return [step, await s.run("print('last'); 'last'")]
        steps = asyncio.run(main())
        self.assertEqual([(step.stdout, step.text) for step in steps], [("new\n", "'new'"), ("last\n", "'last'")])

    def test_two_interrupts(self):
        """Ctrl-C, and again before the step has ended."""
        with Stepjail(grace="60s") as jails, jails.session() as s:
            with self.assertRaises(KeyboardInterrupt):
                s.run(self.GOES_ON, on_output=lambda *_: os.kill(os.getpid(), signal.SIGINT))
            s.put("go", b"")
            self.assertEqual([s.run(f"print({n}); {n}").stdout for n in range(3)], ["0\n", "1\n", "2\n"])

    def test_what_on_output_raises(self):
        """Interrupts the step, and comes when that has ended."""
        with self.assertRaises(ZeroDivisionError):
            self.session.run("x = 1\nprint(2, flush=True)\nwhile True: pass", on_output=lambda *_: 1 / 0)
        self.assertEqual(self.session.run("x").text, "1")

        def asks(*_):
            self.session.status()
        with self.assertRaisesRegex(Error, "on_output may not wait"):
            self.session.run("print(3)", on_output=asks)

    def test_arguments_are_looked_at_first(self):
        """What is refused has sent nothing: the next step runs its own code alone."""
        for options in ({"wall_time": 1e300}, {"wall_time": float("nan")}, {"cpu_time": float("inf")}, {"wall_time": -1},
                        {"wall_time": 0}, {"cpu_time": 0.0005}, {"wall_time": "1"}, {"stdin": b"x" * (1 << 20) + b"x"}):
            with self.subTest(options), self.assertRaisesRegex(Error, "must be a number from"):
                self.session.run("print('refused')", **options)
        for code, stdin in ((5, b""), ("1", 5), (None, b"")):
            with self.assertRaisesRegex(TypeError, "is str or bytes, and not"):
                self.session.run(code, stdin=stdin)
        self.assertEqual(self.session.run("print('next')").stdout, "next\n")
        for ask in (lambda: self.session.rollback(2 ** 40), lambda: self.session.branch(-1),
                    lambda: self.session.put("a", b"", mode=2 ** 40), lambda: self.session.get("a", limit=-1),
                    lambda: self.session.rollback("1"), lambda: self.session.get("a" * 70000),
                    lambda: self.session.put("a" * 70000, b"")):
            with self.assertRaisesRegex(Error, "must be a number from"):
                ask()
        with self.assertRaisesRegex(TypeError, "data is str or bytes, and not int"):
            self.session.put("a", 5)
        self.assertEqual(self.session.run("1", stdin=b"x" * (1 << 20), wall_time=0.5).text, "1")

    def test_a_file_that_is_too_large(self):
        """It is refused by what it has, and bounded while it is read."""
        with Stepjail(work_size="4G") as jails, jails.session() as session:
            session.run("open('sparse', 'wb').truncate(3 << 30); open('most', 'wb').write(b'x' * 1000)")
            for name, options in (("sparse", {}), ("most", {"limit": 999})):
                with self.assertRaisesRegex(Refused, "GET: File too large: above --work-size, or the bound"):
                    session.get(name, **options)
            self.assertEqual(session.get("most", limit=1000), b"x" * 1000)


class Lies(AgentCase):
    """Of a guest, which may send anything."""

    def test_frames_that_are_none(self):
        """End the connection, with one error for all that waits; a new session has a new one."""
        at = struct.pack("<I", 0)

        def frame(kind, payload, zero=0, size=None):
            return "RAW=" + (struct.pack("<IHHI", len(payload) if size is None else size, kind, zero, 1) + payload).hex()
        done = {"verdict": "completed", "state": "kept", "state_number": 1, "exit_code": None, "signal": None, "reason": None,
                "violation": None, "violations": {"list": []}, "wall_ms": 1, "cpu_ms": 1, "memory_peak_bytes": 1,
                "strays": 0, "threads": 0, "output": {"stdout_cut": 0, "stdout_tail": "", "stderr_cut": 0, "stderr_tail": ""}}
        end = frame(25, at + json.dumps(done).encode())[4:]
        lies = [f"DONE={json.dumps({**done, **more})}" for more in (
            {"output": None}, {"verdict": 5}, {"violations": {"list": [1]}}, {"state_number": 1e999}, {"strays": None})]
        for name, *given in (
                ("DONE", *lies, "DONE={}", "DONE=", "DONE=" + "[" * 60000, frame(28, at) + end, frame(29, at + b"x") + end,
                 frame(28, at + struct.pack("<IHHIIQ", 1, 9, 1, 0, 0, 0)) + end),
                ("CLOSED", "CLOSED=x", "CLOSED={}", frame(56, at + b"\xff")),
                ("REFUSED", "REFUSED={}", 'REFUSED={"kind": "failed", "limit": null, "error": "x"}', "REFUSED=[]"),
                ("OUT", frame(21, b""), frame(21, at, zero=1), frame(21, at, size=70000) + "00" * 70000),
                ("unknown", frame(99, at))):
            for lie in given:
                with self.subTest(lie[:80]):
                    errors = asyncio.run(self.all_that_waits(lie))
                    self.assertEqual({type(error) for error in errors}, {Closed}, errors)
                    self.assertEqual(len(set(map(str, errors))), 1, errors)
                    self.assertIn(f"its {name} frame is invalid: ", str(errors[0]))

    async def all_that_waits(self, lie):
        async with AsyncStepjail(command=self.fake, wall_time="60s") as jails:
            one, two = await jails.session(), await jails.session()
            errors = await asyncio.gather(one.run(f"# FAKE_{lie}"), two.run("1"), two.status(), return_exceptions=True)
            if lie == "DONE={}":
                await jails.session()
            return errors


if __name__ == "__main__":
    unittest.main()
