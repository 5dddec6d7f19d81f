#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_steps.py - what a step may do and what comes back; its interpreter lives on"""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from steps_scene import (COMPLETED, DONE, EXCEPTION, EXIT, INTERRUPT, KILL, OUT,  # noqa: E402
                         RESULT, SOURCE_MAX, TEXT_MAX, Session)


class OneStep(unittest.TestCase):
    """One session for all: no test of this class ends its interpreter."""

    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.session.expect_started()

    @classmethod
    def tearDownClass(cls):
        cls.session.__exit__(None, None, None)

    def run_step(self, source, how=COMPLETED, code=0):
        done = self.session.run(source)
        self.assertEqual((done.how, done.code), (how, code), done.trace)
        return done

    def test_state_is_kept(self):
        self.run_step("kept = 5\ndef twice(x):\n    return 2 * x\n")
        self.assertEqual(self.run_step("twice(kept)").result, "10")
        self.run_step("kept = 6\nraise ValueError", EXCEPTION)
        self.assertEqual(self.run_step("kept").result, "6")
        self.assertEqual(self.run_step("_").result, "6")

    def test_empty(self):
        for source in ("", "\n", "# nothing\n", "pass"):
            done = self.run_step(source)
            self.assertEqual((done.out, done.err, done.result, done.trace),
                             (b"", b"", None, None))

    def test_result_only_of_a_last_expression(self):
        self.assertIsNone(self.run_step("x = 1").result)
        self.assertIsNone(self.run_step("None").result)
        self.assertIsNone(self.run_step("5\nx = 1").result)
        self.assertEqual(self.run_step("5\n'text'").result, "'text'")
        self.assertEqual(self.run_step("1; 2").result, "2")

    def test_main(self):
        self.assertEqual(self.run_step("__name__").result, "'__main__'")
        self.assertEqual(self.run_step("import sys; sys.path[0]").result, "''")
        self.run_step("open('mine.py', 'w').write('value = 3')\nimport mine")
        self.assertEqual(self.run_step("mine.value").result, "3")
        self.assertEqual(self.run_step("import os; sorted(os.listdir())").result,
                         "['mine.py']")

    def test_output_however_written(self):
        done = self.run_step("""
import os, subprocess, sys
print("print")
os.write(1, b"write\\n")
subprocess.run([sys.executable, "-c", "print('child')"])
print("error", file=sys.stderr)
print("no newline", end="")
""")
        self.assertEqual(done.out, b"print\nwrite\nchild\nno newline")
        self.assertEqual(done.err, b"error\n")

    def test_output_comes_before_the_result(self):
        self.session.begin("import os; os.write(1, b'a' * 70000); os.write(2, b'b'); 5")
        kinds = []
        while not kinds or kinds[-1] != DONE:
            kinds.append(self.session.receive()[0])
        self.assertEqual(sorted(set(kinds), key=kinds.index)[-2:], [RESULT, DONE])
        self.assertIn(OUT, kinds)

    def test_output_comes_as_it_is_written(self):
        self.session.begin("import time\nprint('first')\ntime.sleep(0.5)\nprint('last')")
        began = time.monotonic()
        self.session.until(b"first")
        self.assertLess(time.monotonic() - began, 0.4)
        self.assertEqual(self.session.end().out, b"last\n")

    def test_much_output(self):
        done = self.run_step("for i in range(200000): print(i)")
        self.assertEqual(done.out, b"".join(b"%d\n" % i for i in range(200000)))

    def test_text_that_is_not_utf8(self):
        done = self.run_step("print('\\ud800 \\u00e9'); '\\ud800'")
        self.assertEqual(done.out, "\\ud800 \u00e9\n".encode())
        self.assertEqual(done.result, "'\\ud800'")

    def test_stdin_is_empty(self):
        self.assertIn("EOFError", self.run_step("input()", EXCEPTION).trace)
        self.assertEqual(self.run_step("import sys; sys.stdin.read()").result, "''")

    def test_traceback(self):
        self.run_step("def inner(x):\n    return 1 / x\n")
        step = self.session.step
        done = self.run_step("try:\n    inner(0)\nexcept Exception as e:\n"
                             "    raise ValueError('outer') from e\n", EXCEPTION)
        self.assertEqual(done.trace, f"""\
Traceback (most recent call last):
  File "<step {step + 1}>", line 2, in <module>
    inner(0)
  File "<step {step}>", line 2, in inner
    return 1 / x
           ~~^~~
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<step {step + 1}>", line 4, in <module>
    raise ValueError('outer') from e
ValueError: outer
""")
        self.assertEqual(done.err, b"")

    def test_traceback_of_a_syntax_error(self):
        done = self.run_step("x = (1,\ny =\n", EXCEPTION)
        self.assertRegex(done.trace,
                         r'(?s)^  File "<step \d+>", line 1\n.*\^.*SyntaxError')
        done = self.run_step("x = 1\nreturn x\n", EXCEPTION)
        self.assertIn("    return x\n", done.trace)
        self.assertIn("SyntaxError: 'return' outside function", done.trace)

    def test_source_that_is_no_text(self):
        self.assertIn("UnicodeDecodeError", self.run_step(b"x = '\xff'", EXCEPTION).trace)
        self.assertIn("null bytes", self.run_step(b"x = 1\0", EXCEPTION).trace)

    def test_exception_group(self):
        done = self.run_step("raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
                             EXCEPTION)
        self.assertIn("2 sub-exceptions", done.trace)

    def test_exception_that_cannot_be_shown(self):
        done = self.run_step("class E(Exception):\n    def __str__(self):\n"
                             "        1 / 0\nraise E", EXCEPTION)
        self.assertIn("E: <exception str() failed>", done.trace)

    def test_bounds(self):
        done = self.run_step("'x' * 10 ** 6")
        self.assertLessEqual(len(done.result.encode()), TEXT_MAX)
        self.assertRegex(done.result, r"(?s)^'xxx.*\[\.\.\. \d+ bytes \.\.\.\].*xxx'$")
        done = self.run_step("'\\u00e9' * 10 ** 6")
        self.assertLessEqual(len(done.result.encode()), TEXT_MAX)
        done = self.run_step("raise ValueError('y' * 10 ** 6)", EXCEPTION)
        self.assertLessEqual(len(done.trace), TEXT_MAX)
        self.assertTrue(done.trace.startswith("Traceback"))

    def test_recursion(self):
        done = self.run_step("def down(n):\n    return down(n + 1)\ndown(0)", EXCEPTION)
        self.assertIn("RecursionError", done.trace)
        self.assertIn("repeated", done.trace)

    def test_repr_that_raises(self):
        done = self.run_step("class R:\n    def __repr__(self):\n"
                             "        raise KeyError(7)\nR()", EXCEPTION)
        self.assertIsNone(done.result)
        self.assertTrue(done.trace.endswith("KeyError: 7\n"))

    def test_exit(self):
        self.run_step("exit_kept = 1")
        self.run_step("import sys; sys.exit(3)", EXIT, 3)
        self.run_step("exit()", EXIT, 0)
        self.assertIn("EOFError", self.run_step("input()", EXCEPTION).trace)
        self.assertEqual(self.run_step("sys.exit('why')", EXIT, 1).err, b"why\n")
        self.assertEqual(self.run_step("exit_kept").result, "1")

    def test_interrupt(self):
        self.session.begin("import time\nlast = 1\nprint('now')\ntime.sleep(60)")
        self.session.until(b"now")
        self.session.send(INTERRUPT)
        done = self.session.end()
        self.assertEqual(done.how, EXCEPTION)
        self.assertTrue(done.trace.endswith("KeyboardInterrupt\n"))
        self.assertEqual(self.run_step("last").result, "1")

    def test_interrupt_too_late(self):
        for _ in range(20):
            self.run_step("pass")
            self.session.send(INTERRUPT)
            self.session.send(KILL)
        self.assertEqual(self.run_step("5").result, "5")

    def test_interrupt_never_hits_the_next_step(self):
        for pause in range(20):
            self.session.begin("import time\ntime.sleep(0.002)")
            time.sleep(0.0003 * pause)
            self.session.send(INTERRUPT)
            self.assertIn(self.session.end().how, (COMPLETED, EXCEPTION))
            self.run_step("sum(range(1000))")

    def test_strays(self):
        done = self.run_step("""
import subprocess, sys, threading, time
stop = threading.Event()
threading.Thread(target=stop.wait).start()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
""")
        self.assertEqual(done.strays, 2)
        self.assertLess(done.wall_us, 10_000_000)
        self.assertEqual(self.run_step("stop.set(); child.wait(10)").result, "-9")
        time.sleep(0.1)
        self.assertEqual(self.run_step("pass").strays, 0)

    def test_orphans_are_found(self):
        done = self.run_step("""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
""")
        self.assertEqual((done.how, done.strays), (COMPLETED, 1))

    def test_child_that_runs_to_the_steps_end(self):
        done = self.run_step("import os\nif (pid := os.fork()) == 0:\n"
                             "    print('child')\nelse:\n"
                             "    print(os.waitpid(pid, 0)[1])\n")
        self.assertEqual((done.out, done.strays), (b"child\n0\n", 0))

    def test_slow_death_is_counted_once(self):
        """A killed process with much memory is not gone at once: the next step may see it."""
        for _ in range(5):
            done = self.run_step("""
import os, time
ready, tell = os.pipe()
if os.fork() == 0:
    much = bytearray(b"x") * (250 << 20)
    os.write(tell, b"x")
    time.sleep(60)
os.read(ready, 1)
""")
            self.assertEqual((done.how, done.strays), (COMPLETED, 1))
            done = self.run_step("1")
            self.assertEqual((done.how, done.strays), (COMPLETED, 0))

    def test_background_output_hangs_nobody(self):
        done = self.run_step("""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "while True: print('x' * 1000)"])
""")
        self.assertLess(done.wall_us, 10_000_000)
        self.assertEqual(done.strays, 1)

    def test_numbers(self):
        done = self.run_step("import time\nend = time.process_time() + 0.2\n"
                             "while time.process_time() < end: pass")
        self.assertGreater(done.cpu_us, 190_000)
        self.assertGreaterEqual(done.wall_us, 190_000)
        self.assertGreater(done.rss, 1 << 20)
        self.assertLess(self.run_step("pass").cpu_us, 100_000)

    def test_source_in_pieces(self):
        self.assertEqual(self.run_step("#" * 300000 + "\n'end'").result, "'end'")

    def test_source_too_long(self):
        done = self.run_step("#" * (SOURCE_MAX + 1) + "\n1 / 0", EXCEPTION)
        self.assertIn(str(SOURCE_MAX), done.trace)
        self.assertEqual(self.run_step("5").result, "5")
        self.run_step("#" * SOURCE_MAX)

    def test_no_way_to_the_client(self):
        done = self.run_step("""
import os, stat
held = []
for name in sorted(os.listdir('/proc/self/fd'), key=int):
    try:
        held.append((name, stat.S_IFMT(os.stat(f'/proc/self/fd/{name}').st_mode)))
    except OSError:
        pass
[kind == stat.S_IFSOCK for name, kind in held].count(True)
""")
        self.assertEqual(done.result, "1")  # its channel to the supervisor, no more

    def test_supervisor_cannot_be_read(self):
        done = self.run_step("""
import os
found = []
for path in ('mem', 'environ', 'fd/3', 'maps'):
    try:
        name = f'/proc/{os.getppid()}/{path}'
        os.readlink(name) if path == 'fd/3' else open(name, 'rb').read(1)
        found.append(path)
    except (PermissionError, FileNotFoundError):  # hidepid hides it altogether
        pass
found
""")
        self.assertEqual(done.result, "[]")

    def test_streams_that_are_gone(self):
        # a process of its own, so that the session keeps its streams
        done = self.run_step("""
import os, sys
if (pid := os.fork()) == 0:
    sys.stdout = sys.stderr = None
else:
    print(os.waitpid(pid, 0)[1])
""")
        self.assertEqual(done.out, b"0\n")


if __name__ == "__main__":
    unittest.main()
