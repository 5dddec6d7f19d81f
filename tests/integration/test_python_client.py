#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_python_client.py - agent/python/stepjail.py: its documentation's examples, and what they leave out"""
import asyncio
import concurrent.futures
import contextlib
import doctest
import gc
import os
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_scene import AgentCase  # noqa: E402
from fake_serve import VM  # noqa: E402
from python_scene import BUILD, TOP  # noqa: E402
import stepjail  # noqa: E402
from stepjail import AsyncStepjail, Closed, Error, Refused, Stepjail  # noqa: E402


class Examples(unittest.TestCase):
    def test_of_the_module(self):
        failed, tried = doctest.testmod(stepjail)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 12)

    def test_of_the_readme(self):
        with open(f"{TOP}/agent/README.md") as readme:
            section = readme.read().split("\n## From Python\n")[1].split("\n## ")[0]
        examples = doctest.DocTestParser().get_doctest(section, {}, "agent/README.md", None, 0)
        self.assertGreater(len(examples.examples), 5)
        self.assertEqual(doctest.DocTestRunner().run(examples).failed, 0)


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jails = Stepjail()
        cls.addClassCleanup(cls.jails.close)

    def setUp(self):
        self.session = self.jails.session()
        self.addCleanup(self.session.close)

    def test_long_texts_go_both_ways(self):
        words = "ä" * 100000
        step = self.session.run(f"import sys\nx = {words!r}\nlen(x), len(sys.stdin.read())", stdin="ö" * 70000)
        self.assertEqual(step.text, "(100000, 70000)")
        data = bytes(range(256)) * 1000
        self.session.put("sub folder/ü.bin", data)
        self.assertEqual(self.session.get("sub folder/ü.bin"), data)
        step = self.session.run("print('b' * 200000)")
        self.assertIn("\n[134465 bytes left out]\n", step.stdout)
        self.assertTrue(step.stdout.startswith("bbb") and step.stdout.endswith("bbb\n"))

    def test_a_path_as_code_has_it(self):
        for path in "a/b", "./a/b", "/work/a/b", "/home/user/a/b":
            self.session.put(path, path)
            self.assertEqual((self.session.get("a/b").decode(), self.session.run(f"open({path!r}).read()").text),
                             (path, repr(path)))
            self.assertEqual([entry.name for entry in self.session.list(path[:-2])], ["b"])

    def test_input_ends(self):
        self.assertIn("EOFError", self.session.run("input()").error)

    def test_output_comes_while_a_step_runs(self):
        said = []
        self.session.run("import sys; print('one'); print('two', file=sys.stderr)",
                         on_output=lambda *one: said.append(one))
        self.assertEqual(b"".join(data for name, data in said if name == "stdout"), b"one\n")
        self.assertEqual(b"".join(data for name, data in said if name == "stderr"), b"two\n")

    def test_limits(self):
        step = self.session.run("x = 1\nwhile True: pass", wall_time=0.3)
        self.assertEqual((step.verdict, step.ok), ("wall-timeout", False))
        with self.assertRaises(Refused) as caught:
            self.session.run("1", wall_time=10 ** 6)
        self.assertEqual((caught.exception.kind, caught.exception.limit), ("limit", "wall-time"))
        self.assertEqual(self.session.run("1").text, "1")

    def test_what_is_shown(self):
        step = self.session.run("class T:\n    def _repr_html_(self): return '<b>t</b>'\ndisplay(5)\nT()")
        self.assertEqual(step.html, b"<b>t</b>")
        self.assertEqual([(s.kind, s.source) for s in step.shown], [("text", "display"), ("html", "result")])
        self.assertEqual((step.shown[0].data, step.png), (b"5", None))

    def test_states_and_branches(self):
        first = self.session.run("x = 1").state_number
        self.session.run("x = 2")
        branch = self.session.branch(first)
        self.assertEqual((branch.run("x").text, self.session.run("x").text), ("1", "2"))
        self.session.rollback(first)
        self.assertEqual((self.session.state(), self.session.run("x").text), (first, "1"))
        branch.drop()
        with self.assertRaises(Refused):
            branch.run("1")
        with self.assertRaises(Refused) as caught:
            self.session.rollback(999)
        self.assertEqual(caught.exception.kind, "no-state")

    def test_interrupt(self):
        """Ctrl-C in the caller interrupts the step; its variables are kept."""
        def press(*_):
            os.kill(os.getpid(), signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            self.session.run("x = 7\nprint('now', flush=True)\nwhile True: pass", on_output=press)
        self.assertEqual(self.session.run("x").text, "7")

    def test_kill_from_another_branch(self):
        async def main():
            async with AsyncStepjail() as jails, await jails.session() as s:
                running = asyncio.Event()
                step = asyncio.create_task(s.run("print(1, flush=True)\nwhile True: pass",
                                                 on_output=lambda *_: running.set()))
                await running.wait()
                with self.assertRaises(Error):
                    await s.run("2")
                await s.kill()
                return (await step).verdict, (await s.run("3")).text
        self.assertEqual(asyncio.run(main()), ("cancelled", "3"))

    def test_many_sessions_are_opened_at_once(self):
        async def one(jails, n):
            async with await jails.session() as s:
                return len((await s.run(f"print({n} * 'x' * 2000)")).stdout)

        async def main():
            async with AsyncStepjail() as jails:
                return await asyncio.gather(*(one(jails, n) for n in range(20)))
        self.assertEqual(asyncio.run(main()), [2000 * n + 1 for n in range(20)])

    def test_cancelled_requests_answers_reach_nobody_else(self):
        async def main():
            async with AsyncStepjail() as jails, await jails.session() as s:
                await s.put("a", b"a" * 1000)
                for _ in range(20):
                    task = asyncio.create_task(s.get("a"))
                    await asyncio.sleep(0)
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                    self.assertEqual([e.name for e in await s.list()], ["a"])
        asyncio.run(main())

    def test_closed(self):
        self.session.close()
        self.session.close()
        with self.assertRaises(Closed):
            self.session.run("1")


class Ends(unittest.TestCase):
    def test_without_a_program(self):
        with self.assertRaisesRegex(Error, "No such file or directory; install it, or give command="):
            Stepjail(command="/nowhere/stepjail").session()

    def test_an_option_that_is_none(self):
        with self.assertRaisesRegex(Error, "status 125: stepjail: .*--no-such-thing") as caught:
            Stepjail(no_such_thing=5).session()
        self.assertNotIsInstance(caught.exception, Closed)

    def test_serve_is_killed(self):
        jails = Stepjail()
        session = jails.session()
        (serve,) = jails._async._serves.values()
        serve.process.kill()
        with self.assertRaises(Closed):
            while True:
                with contextlib.suppress(Refused):  # its jails may end before the rest of it
                    session.run("1")
        self.assertEqual(jails.session().run("2").text, "2")
        jails.close()

    def test_options_are_a_process_each(self):
        with Stepjail() as jails:
            one, two, three = jails.session(), jails.session(hostname="two"), jails.session(hostname="two")
            code = "open('/proc/sys/kernel/hostname').read() if 0 else __import__('socket').gethostname()"
            self.assertEqual([s.run(code).text for s in (one, two, three)], ["'stepjail'", "'two'", "'two'"])
            self.assertEqual(len(jails._async._serves), 2)

    def test_nothing_is_left_when_it_is_forgotten(self):
        jails = Stepjail()
        session = jails.session()
        (serve,) = jails._async._serves.values()
        process = serve.process
        del jails, session, serve
        gc.collect()
        process.wait()

    def test_where_a_loop_runs(self):
        """As in a notebook."""
        async def main():
            return session.run("1").text
        jails = Stepjail()
        session = jails.session()
        self.assertEqual(asyncio.run(main()), "1")
        jails.close()
        jails.close()
        for ask in jails.session, session.status, lambda: session.run("1"):
            with self.assertRaisesRegex(Error, "this Stepjail is closed"):
                ask()

    def test_forgotten_in_a_loop(self):
        async def main():
            jails = AsyncStepjail()
            session = await jails.session()
            self.assertEqual((await session.run("1")).text, "1")
            (serve,) = jails._serves.values()
            process = serve.process
            del jails, session, serve
            gc.collect()
            self.assertEqual(await asyncio.to_thread(process.wait), 0)
        asyncio.run(main())

    def test_left_open(self):
        """Whoever does not close it has no word of that, whatever ended the program, and serve ends with it."""
        begin = ("import os, sys; sys.path.insert(0, sys.argv[1])\nfrom stepjail import Stepjail\nj = Stepjail()\n"
                 "s = j.session()\nprint(s.run('7').text, flush=True)\n")
        thread = ("import threading\nbegun = threading.Event()\ndef step():\n with Stepjail() as own, own.session() as s:\n"
                  "  s.run('print(1)\\nwhile True: pass', on_output=lambda *_: begun.set())\n"
                  "threading.Thread(target=step, daemon=True).start()\nbegun.wait()")
        killed = "(serve,) = j._async._serves.values(); serve.process.kill()"
        for end, status, last in (("", 0, ""), ("1 / 0", 1, "ZeroDivisionError: division by zero"),
                                  ("sys.exit(5)", 5, ""), ("if os.fork() == 0: sys.exit()\nos.wait()", 0, ""),
                                  (thread, 0, ""), (killed, 0, "stepjail: serve: the process that was started has been killed")):
            with self.subTest(end):
                done = subprocess.run([sys.executable, "-c", begin + end, os.path.dirname(stepjail.__file__)],
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stdout), (status, "7\n"), done.stderr)
                # of a serve that was killed the rest may hear first that its client has gone
                self.assertIn(done.stderr.strip().split("\n")[-1], (last, "") if end == killed else (last,))
                self.assertNotIn("ignored", done.stderr)

    def test_no_session(self):
        """Nor has one whose first session was refused, where Python itself once waited for ever."""
        code = ("import sys; sys.path.insert(0, sys.argv[1])\nfrom stepjail import Stepjail\n"
                "j = Stepjail(memory='1')\nj.session()")
        done = subprocess.run([sys.executable, "-c", code, os.path.dirname(stepjail.__file__)],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"stepjail\.Error: .*--memory.*\n\Z")

    def test_the_caller_is_killed(self):
        """Its end of the socket closes, and that ends serve with its jails."""
        code = ("import sys; sys.path.insert(0, sys.argv[1])\nfrom stepjail import Stepjail\nj = Stepjail()\n"
                "s = j.session()\n(serve,) = j._async._serves.values()\nprint(serve.process.pid, flush=True)\n"
                "s.run('while True: pass')\n")
        caller = subprocess.Popen([sys.executable, "-c", code, os.path.dirname(stepjail.__file__)],
                                  stdout=subprocess.PIPE)
        with caller.stdout:
            pid = int(caller.stdout.readline())
            watched = os.pidfd_open(pid)
            caller.kill()
            caller.wait()
        import select
        self.assertTrue(select.select([watched], [], [], 60)[0])
        os.close(watched)

    def test_from_threads(self):
        """All may use one Stepjail at once: a step of one is ended by another."""
        def work(n):
            with jails.session() as s:
                return s.run(f"{n} * {n}").text
        with Stepjail() as jails, jails.session() as s, concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(work, range(8))), [str(n * n) for n in range(8)])
            begun = threading.Event()
            step = pool.submit(s.run, "print(1, flush=True)\nwhile True: pass", on_output=lambda *_: begun.set())
            begun.wait()
            with self.assertRaisesRegex(Error, "a step runs on this branch"):
                s.run("2")
            s.kill()
            self.assertEqual((step.result().verdict, s.run("3").text), ("cancelled", "3"))
            waits = [pool.submit(s.run, "while True: pass"), pool.submit(s.branch)]
            waits[1].result().run("1")
            jails.close()
            with self.assertRaisesRegex(Closed, "this Stepjail is closed"):
                waits[0].result()

    def test_in_a_fork(self):
        """It has no part in its parent's, which goes on; it may have its own."""
        with Stepjail() as jails, jails.session() as session:
            child = os.fork()
            if child == 0:
                try:
                    with self.assertRaisesRegex(Error, "nor may a fork use its parent's"):
                        session.run("1")
                    with Stepjail() as own, own.session() as s:
                        self.assertEqual(s.run("2").text, "2")
                    del jails, session
                    gc.collect()
                    os._exit(7)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
            self.assertEqual(session.run("3").text, "3")


class Guest(AgentCase):
    def test_what_the_host_says(self):
        """Of --wall vm, in the first frame. No guest comes before it."""
        self.path("fake_guest", "")
        with Stepjail(command=self.fake, wall_time="60s") as jails, jails.session() as session:
            (serve,) = jails._async._serves.values()
            self.assertEqual(session.opened["vm"], {**VM, "qemu": f"of {serve.process.pid}"})

    def test_none(self):
        with Stepjail() as jails, jails.session() as session:
            self.assertIsNone(session.opened["vm"])


@unittest.skipUnless(os.path.exists(f"{BUILD}/rootfs/data.key"), "no tree data: make data")
class Data(unittest.TestCase):
    def test_tables_and_figures(self):
        with Stepjail().session(rootfs="data") as s:
            step = s.run("import pandas as pd\npd.DataFrame({'a': [1]})")
            self.assertIn(b"<table", step.html)
            step = s.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
            self.assertEqual(step.png[:4], b"\x89PNG")
            self.assertIn(b"<svg", step.svg)


if __name__ == "__main__":
    unittest.main()
