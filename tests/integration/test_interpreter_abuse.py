#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_interpreter_abuse.py - what a step does to its own interpreter; the next one runs"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from step_client import COMPLETED, EXCEPTION, OneJail  # noqa: E402

# a source that leaves something behind, and what the next step shows of it
LEFT = {
    "stdout replaced": ("import io, sys\nsys.stdout = sys.stderr = io.StringIO()", "1"),
    "stdout closed": ("import sys\nsys.stdout.close(); sys.stderr.close()", "1"),
    "stdout detached": ("import sys\nsys.stdout.detach(); sys.stdin.detach()", "1"),
    "stdout deleted": ("import sys\ndel sys.stdout, sys.stderr, sys.stdin, sys.__stdout__", "1"),
    "streams odd": ("import sys\nclass Odd:\n    def __getattr__(self, name): raise KeyError\n"
                    "sys.stdout = sys.__stdout__ = Odd()", "1"),
    "fds closed": ("import os\nfor fd in (0, 1, 2): os.close(fd)", "1"),
    "fds replaced": ("import os\nfd = os.open('/tmp/x', os.O_CREAT | os.O_RDWR)\n"
                     "for to in (0, 1, 2): os.dup2(fd, to)", "1"),
    "builtin deleted": ("import builtins\ndel builtins.print, builtins.len", "len([1])"),
    "builtins emptied": ("import builtins\nbuiltins.__dict__.clear()", "len([1])"),
    "builtins replaced": ("import builtins\nfor name in ('isinstance', 'getattr', 'compile',"
                          "'exec', 'eval', 'repr', 'enumerate', 'len'):\n"
                          "    setattr(builtins, name, None)", "1"),
    "globals emptied": ("globals().clear()", "1"),
    "__builtins__ odd": ("__builtins__ = 5", "1"),
    "modules emptied": ("import sys\nsys.modules.clear()", "1"),
    "modules replaced": ("import sys\nfor n in list(sys.modules): sys.modules[n] = None", "1"),
    "modules odd": ("import sys\nsys.modules = None", "1"),
    "modules torn": ("import linecache, traceback, sys\nlinecache.cache = None\n"
                     "traceback.TracebackException = None\nsys.getrecursionlimit = None", "1"),
    "sys emptied": ("import sys\nfor n in dir(sys):\n    if n[:2] != '__':\n"
                    "        try: delattr(sys, n)\n        except BaseException: pass", "1"),
    "no collector": ("import gc\ngc.disable(); gc.set_threshold(0)", "1"),
    "little recursion": ("import sys\nsys.setrecursionlimit(5)", "1"),
    "traced": ("import sys\ndef trace(*a):\n    print('traced')\n"
               "sys.settrace(trace); sys.setprofile(trace)", "1"),
    "signals ignored": ("import signal\nfor n in range(1, 65):\n    try:\n"
                        "        signal.signal(n, signal.SIG_IGN)\n"
                        "    except (OSError, ValueError): pass", "1"),
    "signals blocked": ("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, "
                        "range(1, 65))", "1"),
    "signal pending": ("import signal, os\ndef late(*a):\n    raise ValueError('late')\n"
                       "signal.signal(signal.SIGUSR1, late)\n"
                       "signal.set_wakeup_fd(-1)\n"
                       "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
                       "os.kill(os.getpid(), signal.SIGUSR1)", "1"),
    "environment cleared": ("import os\nos.environ.clear()", "1"),
    "folder removed": ("import os\nos.mkdir('/tmp/gone'); os.chdir('/tmp/gone')\n"
                       "os.rmdir('/tmp/gone')", "1"),
    "at fork": ("import os\ndef bad(): os._exit(1)\n"
                "os.register_at_fork(before=bad, after_in_child=bad)", "1"),
    "hooks": ("import sys\ndef bad(*a): raise ValueError\n"
              "sys.excepthook = sys.displayhook = sys.unraisablehook = bad", "1"),
    "finalizer": ("class F:\n    def __del__(self): raise KeyboardInterrupt\nF()", "1"),
    "umask": ("import os\nos.umask(0o777)", "1"),
    "random odd": ("import sys, random\nrandom.seed = None\nsys.modules['threading'] = 5", "1"),
    "subreaper": ("import os\nif os.fork() == 0:\n    import time\n    time.sleep(1000)", "1"),
    "atexit": ("import atexit, os\natexit.register(os._exit, 3)", "1"),
}


class Abuse(OneJail, unittest.TestCase):
    def test_next_step(self):
        for name, (source, shown) in LEFT.items():
            with self.subTest(name):
                left = self.jail.zero.run(source)
                self.assertIsNotNone(left.state, left.err)
                step = left.state.run(shown)
                self.assertIsNotNone(step.state, step.err)
                self.assertEqual((step.how, step.result), (COMPLETED, "1"),
                                 (step.trace, step.err))
                # and what it writes, reads and raises comes and goes
                step = step.state.run("print('said ' + input())\nraise ValueError(6)", b"in\n")
                # what traces calls goes on, and sees input()'s, too
                out = step.out.replace(b"traced\n", b"")
                self.assertEqual((step.how, out), (EXCEPTION, b"said in\n"), (step.trace, step.err))
                self.assertIn("ValueError", step.trace)

    def test_files_stay_open(self):
        one = self.jail.zero.run("file = open('/tmp/kept', 'w+')\nfile.write('first ')\n"
                                 "import os\nlow = os.dup(1)\nfd = file.fileno()")
        two = one.state.run("file.write('second'); file.seek(0); file.read()")
        self.assertEqual(two.result, "'first second'")
        # nothing of the machinery's lies among them
        three = two.state.run("[fd for fd in map(int, os.listdir('/proc/self/fd')) "
                              "if fd < 200]")
        self.assertEqual(three.result, "[0, 1, 2, 3, 4, 5]")  # the listing's own is 5

    def test_all_descriptors_taken(self):
        step = self.jail.zero.run("import os\nheld = []\ntry:\n"
                                  "    while True: held.append(os.dup(0))\n"
                                  "except OSError: pass\nlen(held) > 200")
        self.assertEqual(step.result, "True")
        for _ in range(3):
            step = step.state.run("print(len(held) > 200, input())", b"in\n")
            self.assertEqual(step.out, b"True in\n", (step.trace, step.err))

    def test_channel_that_is_closed(self):
        for source in ("os.closerange(3, 300)",
                       "null = os.open('/dev/null', os.O_RDWR)\n"
                       "for fd in range(10, 255): os.dup2(null, fd)"):
            step = self.jail.zero.run("import os\n" + source)
            self.assertIsNone(step.state)

    def test_words_of_a_child(self):
        """What a step's child sends comes from the child, by the kernel's word."""
        step = self.jail.zero.step(5, """
import os, struct
if os.fork() == 0:
    for fd in range(3, 256):
        try: os.write(fd, struct.pack('<IHHI', 8, 26, 0, 5) + bytes(8))
        except OSError: pass
    os._exit(0)
os.wait()""", b"").started()
        step.channel.receive()
        self.assertNotEqual(step.channel.sender, step.host_pid)


if __name__ == "__main__":
    unittest.main()
