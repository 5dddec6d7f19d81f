#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_warm_lacking.py - a template without one of its walls: build/stepjail-warm-unwalled"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serve_client import Serve  # noqa: E402
from serve_scene import wait_until  # noqa: E402
from test_run import BUILD, PLAIN_ENV, TIMEOUT, each_user, missing_words  # noqa: E402
from test_warm import HOST, Warm  # noqa: E402

# a wall that the template alone lacks, or its clones as well; what is said of it
LACKING = [
    ("caps_keep_template", "posture: cap_permitted reads", False),
    ("caps_drop_bounding", "posture: cap_bounding reads", False),
    ("setsid", "posture: session reads", False),
    ("umount2", "the mount /", False),
    ("mount_set_flags", "posture: the mount /dev is writable", False),
    ("mount_setattr", "is writable", False),
    ("subset", "posture: the mount /proc is of a file system with other options", False),
    ("close_range", "would stay open", False),
    ("net", "posture: the net namespace is the launcher's own", False),
    ("ipc", "posture: the ipc namespace is the launcher's own", False),
    ("no other address", "posture: addresses reads '10.1.2.3/8'", False),
    ("ids_become", "posture: host_uids reads", True),
    ("setgroups deny", "posture: setgroups reads 'allow'", True),
    ("uid_map", "posture: uid_map reads", True),
]


class Lacking(Warm):
    """A template without one of its walls is never used."""

    def without(self, wall, *command, **more):
        return subprocess.run([*self.drop, *command], stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                              text=True, env=PLAIN_ENV | {"STEPJAIL_LACKS": wall}, **more)

    def warm(self, wall):
        command = self.command("warm", 1)[len(self.drop):]
        with open(os.devnull, encoding="ascii") as leaked:
            return self.without(wall, f"{HOST}-unwalled", *command[1:],
                                pass_fds=[leaked.fileno()])

    def test_nothing_lacks(self):
        done = self.warm("nothing")
        self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (0, "whole"), done.stderr)

    def test_each_wall(self):
        for wall, says, as_root in LACKING:
            # the kernel itself refuses an ordinary user's map then
            if as_root and (self.as_user or os.geteuid() != 0):
                continue
            with self.subTest(wall):
                done = self.warm(wall)
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertTrue(done.stderr.startswith("template: posture: "), done.stderr)
                self.assertIn(says, done.stderr)

    def test_serve_goes_on_without(self):
        """Its sessions are executed, each behind its own walls, and the answer says why."""
        env = PLAIN_ENV | {"STEPJAIL_LACKS": "caps_keep_template"}
        command = [*self.drop, os.path.join(BUILD, "stepjail-unwalled"), "serve"]
        with Serve(missing_words(tuple(self.drop)), command=command,
                   env=env) as serve:
            def why():
                session = serve.open()
                self.assertEqual((session.run("6 * 7").result, session.opened["warm"]),
                                 ("42", False))
                session.close()
                return "posture: cap_" in session.opened["why_cold"]
            self.assertTrue(wait_until(why))
            self.assertTrue(why())


globals().update(each_user(Lacking))

if __name__ == "__main__":
    unittest.main()
