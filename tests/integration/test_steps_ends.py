#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_steps_ends.py - what ends the interpreter of a session, or the session"""
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from steps_scene import (CODE, COMPLETED, DIED, DONE, HEADER, KILL, PATIENCE,  # noqa: E402
                         PAYLOAD_MAX, RUN_STEP, Session)


class Deaths(unittest.TestCase):
    """What ends the interpreter, or the session."""

    def test_death_in_a_step(self):
        with Session() as session:
            for source, code in (("import os; x = 1; os._exit(7)", 7 << 8),
                                 ("import os; os.kill(os.getpid(), 9)", signal.SIGKILL),
                                 ("import os; os.abort()", signal.SIGABRT)):
                done = session.run("print('said')\n" + source)
                self.assertEqual((done.how, done.code & 0xff7f), (DIED, code))
                self.assertEqual(done.out, b"said\n")
                self.assertIn("NameError", session.run("x").trace)

    def test_crash_says_where(self):
        with Session() as session:
            done = session.run("import faulthandler\n\nfaulthandler._sigsegv()")
            self.assertEqual((done.how, done.code & 0x7f), (DIED, signal.SIGSEGV))
            self.assertIn(b'File "<step 1>", line 3', done.err)

    def test_files_outlive_the_interpreter(self):
        with Session() as session:
            session.run("open('kept', 'w').write('5'); import os; os._exit(0)")
            self.assertEqual(session.run("open('kept').read()").result, "'5'")

    def test_kill(self):
        with Session() as session:
            session.begin("print('now')\nwhile True: pass")
            session.until(b"now")
            session.send(KILL, step=session.step + 1)  # not this one
            session.send(KILL)
            done = session.end()
            self.assertEqual((done.how, done.code), (DIED, signal.SIGKILL))
            session.expect_started()
            self.assertEqual(session.run("5").result, "5")

    def test_kill_while_it_floods(self):
        with Session() as session:
            session.begin("while True: print('x' * 1000)")
            session.until(b"xxx")
            session.send(KILL)
            self.assertEqual(session.end().how, DIED)
            session.expect_started()

    def test_death_between_steps(self):
        with Session() as session:
            session.run("import os, threading\n"
                        "threading.Timer(0.2, os._exit, (0,)).start()\nx = 1")
            session.expect_started()
            self.assertIn("NameError", session.run("x").trace)

    def test_no_waiting_for_started(self):
        session = Session()
        session.begin("6 * 7")
        session.expect_started()
        self.assertEqual(session.end().result, "42")
        session.__exit__(None, None, None)

    def test_children_of_the_dead_are_swept(self):
        with Session() as session:
            done = session.run("import os, time\nif os.fork() == 0:\n    time.sleep(60)\n"
                               "os._exit(0)")
            self.assertEqual((done.how, done.strays), (DIED, 1))

    def test_channel_that_is_closed_or_abused(self):
        with Session() as session:
            for source in ("import os, time\nos.closerange(3, 100)\ntime.sleep(60)",
                           "import os, time\nfor fd in range(3, 100):\n"
                           "    try: os.write(fd, b'x' * 200)\n"
                           "    except OSError: pass\ntime.sleep(60)",
                           "import os, struct, time\nfor fd in range(3, 100):\n"
                           "    try: os.write(fd, struct.pack('<IHHI', 0, 20, 0, 0))\n"
                           "    except OSError: pass\ntime.sleep(60)"):
                done = session.run(source)
                self.assertEqual((done.how, done.code), (DIED, signal.SIGKILL))

    def test_streams_that_are_closed(self):
        with Session() as session:
            session.begin("import os, time\nos.close(1)\nos.close(2)\ntime.sleep(0.5)")
            done = session.end()
            self.assertEqual(done.how, COMPLETED)
            self.assertEqual(session.run("5").result, "5")

    def test_end_of_the_client(self):
        for source in (None, "import time; print('now'); time.sleep(60)"):
            session = Session()
            session.expect_started()
            if source:
                session.begin(source)
                session.until(b"now")
            session.__exit__(None, None, None)

    def refused(self, data):
        """A frame at the wrong time, or no frame: one line, and status 1."""
        session = Session(stderr=subprocess.PIPE)
        session.expect_started()
        session.socket.sendall(data)
        said = [line for line in session.process.stderr
                if not line.startswith(b"stepjail: warning: ")]  # the launcher's
        session.process.stderr.close()
        session.socket.close()
        self.assertEqual(session.process.wait(PATIENCE), 1)
        self.assertEqual(len(said), 1, said)
        self.assertTrue(said[0].startswith(b"stepjail-python: session: "), said)

    def test_frames_that_are_refused(self):
        for data in (HEADER.pack(0, DONE, 0, 1), HEADER.pack(0, 999, 0, 1),
                     HEADER.pack(PAYLOAD_MAX + 1, CODE, 0, 1), HEADER.pack(0, CODE, 1, 1),
                     HEADER.pack(1, RUN_STEP, 0, 1) + b"x",
                     HEADER.pack(10, CODE, 0, 1) + b"time.sleep" +
                     HEADER.pack(0, RUN_STEP, 0, 1) + HEADER.pack(0, RUN_STEP, 0, 2)):
            with self.subTest(data):
                self.refused(data)


if __name__ == "__main__":
    unittest.main()
