#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_interpreter.py - the states of a session: steps, rollback, and what steps do to them"""
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from step_client import (COMPLETED, DONE, EXCEPTION, EXIT, RUN, SOURCE_MAX, STARTED, TEXT_MAX,  # noqa: E402
                         Channel, FILE, Gone, Jail, LOCKED, OneJail, sealed)


def wait_gone(pid):
    for _ in range(6000):
        if not os.path.exists(f"/proc/{pid}"):
            return True
        time.sleep(0.01)
    return False


class Case(unittest.TestCase):
    def check(self, step, how=COMPLETED, code=0, **rest):
        """It became a state; and, for instance, result="5"."""
        self.assertIsNotNone(step.state, (step.out, step.err))
        self.assertEqual((step.how, step.code), (how, code), (step.trace, step.err))
        for name, value in rest.items():
            self.assertEqual(getattr(step, name), value, step.trace or step.err)
        return step


class Steps(OneJail, Case):
    """One jail for all of them."""

    def run_step(self, source, how=COMPLETED, code=0, stdin=b"", keep=False, **rest):
        return self.check(self.jail.run(source, stdin, keep), how, code, **rest)

    def test_variables(self):
        self.run_step("kept = 5\ndef twice(x):\n    return 2 * x\n", result=None)
        self.run_step("twice(kept)", result="10")
        self.run_step("kept = 6\nraise ValueError", EXCEPTION)
        self.run_step("kept", result="6")
        self.run_step("_", result="6")
        self.run_step("5\nx = 1", result=None)
        self.run_step("x = 1; x + 1; None", result=None)

    def test_processes(self):
        one = self.run_step("import os; os.getpid(), os.getppid(), os.getsid(0)")
        self.assertEqual(one.result, f"({one.pid}, 1, {one.pid})")
        snapshot = self.jail.head
        two = self.run_step("os.getpid()", keep=True)
        self.assertEqual((two.pid, two.result), (one.pid, str(one.pid)))
        # the state before is another process by now
        three = snapshot.run("os.getpid(), os.getppid(), os.getsid(0)")
        self.assertNotEqual(three.pid, one.pid)
        self.assertEqual(three.result, f"({three.pid}, 1, {three.pid})")
        three.state.close()
        snapshot.close()

    def test_output_in_order(self):
        self.run_step("import os, sys\nprint('a', end='')\nsys.stdout.flush()\n"
                      "os.write(1, b'b')\nprint('c')\nos.write(1, b'd')\nprint('e', end='')",
                      out=b"abc\nde")
        self.run_step("sys.stderr.write('x'); os.write(2, b'y'); sys.stderr.write('z')",
                      result="1", err=b"yxz")
        self.run_step("print('\\ud800 \\u00e9'); '\\ud800'", result="'\\ud800'",
                      out="\\ud800 \u00e9\n".encode())

    def test_output_comes_as_it_is_written(self):
        step = self.jail.begin("print('first')\ninput()", None).until(b"first\n")
        step.feed(b"\n")
        self.jail.head = self.check(step.end()).state

    def test_stdin(self):
        self.run_step("input()", result="'line'", stdin=b"line\nrest\n")
        # what the last step did not read is gone, and so is its end of file
        self.run_step("import sys; sys.stdin.read()", result="'all\\nof it'",
                      stdin=b"all\nof it")
        self.run_step("sys.stdin.close(); sys.stdin.closed", result="True")
        self.run_step("input(), next(sys.stdin)", result="('one', 'two\\n')",
                      stdin=b"one\ntwo\nthree\n")
        self.run_step("sys.stdin.buffer.raw.read(2)", result="b'ab'", stdin=b"abcd")
        self.run_step("sys.stdin.buffer.raw.readall()", result="b'cd'", stdin=b"cd")
        self.run_step("import os; os.read(0, 9)", result="b'raw'", stdin=b"raw")
        self.assertIn("EOFError", self.run_step("input()", EXCEPTION).trace)
        self.run_step("sys.stdin is sys.__stdin__", result="True")

    def test_traceback(self):
        self.run_step("def inner(x):\n    return 1 / x\n")
        number = self.jail.count
        step = self.run_step("try:\n    inner(0)\nexcept Exception as e:\n"
                             "    raise ValueError('outer') from e\n", EXCEPTION)
        self.assertEqual(step.trace, f"""\
Traceback (most recent call last):
  File "<step {number + 1}>", line 2, in <module>
    inner(0)
  File "<step {number}>", line 2, in inner
    return 1 / x
           ~~^~~
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<step {number + 1}>", line 4, in <module>
    raise ValueError('outer') from e
ValueError: outer
""")
        self.assertIn("    return x\n", self.run_step("x = 1\nreturn x\n", EXCEPTION).trace)

    def test_exit(self):
        self.run_step("import sys; kept = 1; sys.exit(3)", EXIT, 3)
        self.run_step("exit()", EXIT)
        self.run_step("sys.exit('why')", EXIT, 1, err=b"why\n")
        self.run_step("kept", result="1")

    def test_bounds(self):
        self.assertRegex(self.run_step("'x' * 10 ** 6").result,
                         r"(?s)^'xxx.*\[\.\.\. \d+ bytes \.\.\.\].*xxx'$")
        step = self.run_step("raise ValueError('\\u00e9' * 10 ** 6)", EXCEPTION)
        self.assertLessEqual(len(step.trace.encode()), TEXT_MAX)

    def test_source(self):
        self.assertIn("UnicodeDecodeError", self.run_step(b"x = '\xff'", EXCEPTION).trace)
        self.run_step("#" * (SOURCE_MAX - 2) + "\n5", result="5")
        self.assertIn(str(SOURCE_MAX),
                      self.run_step("#" * SOURCE_MAX + "\n5", EXCEPTION).trace)
        self.run_step("", result=None, trace=None, out=b"", err=b"")

    def test_source_that_could_change(self):
        number, channel, open_source = 9, Channel(), os.memfd_create("source", 2)
        null = os.open("/dev/null", os.O_RDWR)
        self.jail.head.channel.send(RUN, number, b"", [channel.theirs.fileno(), null, null,
                                                       null, open_source])
        channel.theirs.close()
        for fd in (null, open_source):
            os.close(fd)
        head = self.jail.head
        head.channel.expect(STARTED, number)
        head.channel, snapshot = channel, head.channel
        texts = []
        while not texts or texts[-1][0] != DONE:
            texts.append(channel.receive())
        self.assertIn(b"must be sealed", texts[0][2])
        snapshot.close()

    def test_rollback_and_branches(self):
        base = self.run_step("value = [1]").state
        ends = [self.check(base.run(f"value.append({i}); value", number=50 + i),
                           result=f"[1, {i}]") for i in range(5)]
        self.check(base.run("value"), result="[1]")
        for i, end in enumerate(ends):
            self.check(end.state.run("value"), result=f"[1, {i}]").state.close()
            end.state.close()
        # at once, too
        steps = [base.step(60 + i, "import time; time.sleep(0.05); value", b"")
                 for i in range(5)]
        for step in steps:
            self.check(step.end(), result="[1]").state.close()
        self.check(self.jail.zero.run("value", number=1), EXCEPTION)

    def test_death_leaves_the_state(self):
        self.run_step("alive = 1\nimport os, signal")
        for source in ("os._exit(7)", "os.abort()", "os.kill(os.getpid(), 9)",
                       "import faulthandler\nfaulthandler._sigsegv()",
                       "signal.raise_signal(signal.SIGTERM)"):
            step = self.jail.run("alive = 2\nprint('said')\n" + source)
            self.assertIsNone(step.state)
            self.assertEqual(step.out, b"said\n")
            if "sigsegv" in source:
                self.assertIn(b'line 4 in <module>', step.err)
        self.run_step("alive", result="1")

    def test_interrupt(self):
        step = self.jail.begin("import time\nlast = 1\nprint('now')\ntime.sleep(60)")
        step.started().until(b"now")
        os.kill(step.host_pid, signal.SIGINT)
        self.check(step.end(), EXCEPTION)
        self.assertTrue(step.trace.endswith("KeyboardInterrupt\n"), step.trace)
        self.jail.head = step.state
        self.run_step("last", result="1")

    def test_interrupt_never_hits_the_next_step(self):
        for pause in range(20):
            step = self.jail.begin("import time\ntime.sleep(0.002)").started()
            time.sleep(0.0003 * pause)
            os.kill(step.host_pid, signal.SIGINT)
            self.assertIn(step.end().how, (COMPLETED, EXCEPTION))
            self.jail.head = step.state
            self.run_step("sum(range(1000))")

    def test_signals_between_steps(self):
        """They wait for the next step, but for an interrupt, which was meant for the one before."""
        # an alarm may hit the step that sets it, if that takes so long to its end
        head = self.run_step("import signal, os, time\nhits = []\n"
                             "signal.signal(signal.SIGALRM, lambda *a: hits.append(os.getpid()))\n"
                             "signal.setitimer(signal.ITIMER_REAL, 0.01)").state
        os.kill(head.host_pid, signal.SIGINT)
        os.kill(self.jail.zero.host_pid, signal.SIGINT)
        time.sleep(0.05)
        self.run_step("hits == [os.getpid()]", result="True")
        self.check(self.jail.zero.run("5"), result="5")
        os.kill(self.jail.head.host_pid, signal.SIGTERM)
        self.assertIsNone(self.jail.run("5").state)

    def test_signal_mask_and_handlers_are_kept(self):
        self.run_step("import signal\nhits = []\n"
                      "signal.signal(signal.SIGUSR1, lambda *a: hits.append(1))\n"
                      "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])\n"
                      "signal.raise_signal(signal.SIGUSR2)")
        self.run_step("signal.raise_signal(signal.SIGUSR1); hits", result="[1]")
        self.run_step("[int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])]",
                      result=f"[{int(signal.SIGUSR2)}]")
        # and so is one that waits for its turn
        self.run_step("signal.signal(signal.SIGUSR2, lambda *a: hits.append(2))\n"
                      "signal.pthread_sigmask(signal.SIG_SETMASK, []); hits", result="[1, 2]")

    def test_threads_go_on(self):
        for kind in ("True", "False"):
            step = self.run_step(f"import threading, time\nlock = threading.RLock()\n"
                                 f"for i in range(3):\n    threading.Thread(target="
                                 f"time.sleep, args=(60,), daemon={kind}).start()\n"
                                 "after = 5\n'end'", strays=3, result="'end'")
            count = "import os\nafter, threading.active_count(), os.getpid() == threading.main_thread().native_id"
            snapshot = self.jail.head
            self.run_step(count, result="(5, 4, True)", keep=True, strays=3)
            self.assertEqual(self.jail.head.pid, step.pid)
            # not where a branch comes back to the state
            self.jail.head.end()
            self.jail.head = snapshot
            self.run_step(count, result="(5, 1, True)", strays=0)
        self.run_step("t = threading.Thread(target=time.sleep, args=(0.01,))\n"
                      "t.start(); t.join()", strays=0)

    def test_children_do_not_answer(self):
        self.run_step("import os\nif (pid := os.fork()) == 0:\n    print('child')\n"
                      "else:\n    print(os.waitpid(pid, 0)[1])\n'end'",
                      out=b"child\n0\n", result="'end'")
        self.run_step("if (pid := os.fork()) == 0:\n    1 / 0\n"
                      "print(os.waitpid(pid, 0)[1])", out=b"256\n")
        self.run_step("import sys\nif (pid := os.fork()) == 0:\n    sys.exit(3)\n"
                      "print(os.waitpid(pid, 0)[1])", out=b"768\n")

    def test_numbers(self):
        step = self.run_step("import time\nend = time.process_time() + 0.1\n"
                             "while time.process_time() < end: pass")
        self.assertGreater(step.cpu_us, 90_000)
        self.assertGreaterEqual(step.wall_us, 90_000)
        self.assertGreater(step.rss, 1 << 20)
        self.assertLess(self.run_step("pass").cpu_us, 90_000)

    def test_random_numbers(self):
        base = self.run_step("import random\nrandom.seed(1)\nown = random.Random(1)").state
        self.run_step("random.random(), own.random()", result="(0.13436424411240122, 0.13436424411240122)", keep=True)
        draw = "random.random(), own.random()"
        drawn = [base.run(draw).result for _ in range(3)]
        self.assertEqual(drawn, ["(0.13436424411240122, 0.13436424411240122)"] * 3)
        base.run("random.seed()").state.close()
        for unsaid in "random.seed()", "random.seed(None)", "random.seed(a=None)":
            unseeded = base.run(unsaid).state
            drawn = [unseeded.run("random.random()").result for _ in range(3)]
            self.assertEqual(len(set(drawn)), 3)
            unseeded.close()
        base.close()
        # numpy is not in core: what stands in its place is asked for the same
        self.run_step("import sys, types\nrandom.seed = None\ncalls = []\n"
                      "stand = types.SimpleNamespace(seed=lambda: calls.append(1))\n"
                      "del sys.modules['random']\nsys.modules['numpy.random'] = stand")
        stand = self.jail.head
        self.run_step("calls", result="[]", keep=True)
        self.check(stand.run("calls"), result="[1]").state.close()
        self.check(stand.run("stand._seed_is_chosen = True; calls"), result="[1]").state.close()
        stand.close()

    def test_malformed_requests(self):
        for payload, fds in ((b"x", 5), (b"", 4), (b"", 3), (b"", 1), (b"x", 4)):
            head = self.check(self.jail.zero.run("bad = 1")).state
            fd = sealed("")
            head.channel.send(RUN, 1, payload, [fd] * fds)
            os.close(fd)
            with self.assertRaises(Gone):
                head.channel.receive()


class Apart(Case):
    """Each in a jail of its own."""

    def test_many_generations(self):
        with Jail() as jail:
            for _ in range(1000):
                self.check(jail.run("n = globals().get('n', 0) + 1"))
            self.check(jail.run("n"), result="1000")
            self.check(jail.run("""
import threading, signal, multiprocessing
lock, rlock, seen = threading.Lock(), threading.RLock(), []
def work(i):
    with lock, rlock, rlock:
        seen.append(threading.get_native_id())
threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
with rlock:
    for t in threads: t.start()
for t in threads: t.join()
signal.signal(signal.SIGUSR1, lambda *a: seen.append(0))
signal.raise_signal(signal.SIGUSR1)
context = multiprocessing.get_context("fork")
ours, theirs = context.Pipe()
child = context.Process(target=lambda: theirs.send(threading.get_native_id()))
child.start(); child.join()
seen.pop(), len(seen), ours.recv() == child.pid, child.exitcode"""),
                       result="(0, 20, True, 0)")
            # the C library knows the main thread's id, too: it signals by that
            self.check(jail.run("import time\nmain, hit = threading.get_ident(), []\n"
                                "signal.signal(signal.SIGUSR1, lambda *a: hit.append(1))\n"
                                "threading.Thread(target=signal.pthread_kill, args="
                                "(main, signal.SIGUSR1)).start()\n"
                                "while not hit: time.sleep(0.01)\n"
                                "hit"), result="[1]")
            self.check(jail.run("threading.main_thread().native_id"),
                       result=str(jail.head.pid))
            for death in ("import os; os.abort()",
                          "signal.signal(signal.SIGABRT, signal.SIG_DFL)\n"
                          "signal.raise_signal(signal.SIGABRT)",
                          "import faulthandler\nfaulthandler._sigabrt()",
                          "import faulthandler\nfaulthandler._fatal_error_c_thread()"):
                step = jail.run(death)
                self.assertIsNone(step.state)
                self.assertTrue(step.err == b"" or b"<step 10" in step.err
                                or b"Fatal" in step.err, step.err)
            self.check(jail.run("n"), result="1000")

    def test_deterministic(self):
        command = [*LOCKED[:-1], "--env", "STEPJAIL_DETERMINISTIC=1", "--"]
        with Jail(command=command) as jail:
            base = self.check(jail.run("import random\nrandom.seed(5)")).state
            drawn = {base.run("random.random()").result for _ in range(3)}
            import random
            random.seed(5)
            self.assertEqual(drawn, {repr(random.random())})

    def test_preload(self):
        with Jail("--preload", "decimal,json.tool") as jail:
            self.check(jail.run("import sys; 'decimal' in sys.modules, "
                                "'json.tool' in sys.modules, 'ast' in sys.modules"),
                       result="(True, True, False)")
        for arguments, word in ((["--preload", "json,nothing_of_it"], "nothing_of_it"),
                                (["--preload"], "usage"), (["x"], "usage")):
            with self.assertRaisesRegex(AssertionError, word), Jail(*arguments):
                pass

    def test_no_fork_to_be_had(self):
        with Jail() as jail:
            self.check(jail.run("import resource as r\n"
                                "r.setrlimit(r.RLIMIT_NPROC, (0, 0))"))
            with self.assertRaisesRegex(Gone, "cannot fork"):
                jail.run("5")
            with self.assertRaisesRegex(Gone, "cannot fork"):
                jail.run("5")  # it waits on
            jail.head = jail.zero
            self.check(jail.run("import resource as r\n"
                                "r.setrlimit(r.RLIMIT_NOFILE, (3, 3))"))
            with self.assertRaisesRegex(Gone, "no descriptors"):
                jail.run("5")

    def test_without_proc(self):
        command = [*LOCKED[:-1], "--proc", "none", "--"]
        with Jail(command=command) as jail:
            self.check(jail.run("import threading, time\nthreading.Thread(target="
                                "time.sleep, args=(60,)).start()\nx = 1"), strays=1)
            self.check(jail.run("x"), result="1")


if __name__ == "__main__":
    unittest.main()
