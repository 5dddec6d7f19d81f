# SPDX-License-Identifier: MIT
"""hosts_scene.py - what test_nested.py, test_hosts.py and test_reviews.py share: other hosts, around a run

A surrounding is the words in front of stepjail. In it, run must either do its work with
all walls standing, as tests/integration/walls.c sees them from inside, or refuse in one
line; and check, told the same options, must say the same, in the same words.
"""
import json
import os
import subprocess

from test_run import BUILD, PLAIN_ENV, STEPJAIL, TIMEOUT, TOP, Host

TOOLS = os.path.join(BUILD, "tests")
# static, so that they run in any root tree; make integration builds them
WALLS, WITHIN, REVIEWS = (os.path.join(TOOLS, name) for name in ("walls", "within", "reviews"))
# in a container there is no cgroup to be had, and what is missing is another matter here
ALLOW = ("--allow-missing", "cgroup")
DROP = object()  # where an ordinary user takes over; at the front, where it is not said
KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")


def mounts(script, *kinds):
    """Mounts made by root before it drops its rights, or by "root" of a user's namespace."""
    whose = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    return ["unshare", *whose, "--propagation", "private", *kinds, "sh", "-c",
            script + ' && exec "$@"', "sh", DROP]


class Surrounded(Host):
    """Runs and checks in a surrounding."""

    def is_root(self):
        return os.geteuid() == 0 and not self.as_user

    def outside(self, *words):
        """Any command, in a surrounding or not."""
        words = words if DROP in words else (DROP, *words)
        at = words.index(DROP)
        words = [*words[:at], *self.drop, *words[at + 1:]]
        return subprocess.run(words, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                              check=False, env=PLAIN_ENV | {"HOME": "/"})

    def within(self, outer, *options):
        """A run in it; the warning that an option asked for is no refusal."""
        theirs = [os.readlink("/proc/self/ns/" + kind) for kind in KINDS]
        done = self.outside(*outer, STEPJAIL, "run", *ALLOW, "--quiet", "--bind", WALLS + ":/walls",
                            *options, "--", "/walls", *theirs)
        done.lines = [line for line in done.stderr.splitlines() if ": warning: " not in line]
        return done

    def check_within(self, outer, *options):
        done = self.outside(*outer, STEPJAIL, "check", "--json", *ALLOW, *options)
        self.assertTrue(done.stdout, (outer, done.stderr))
        rows = json.loads(done.stdout)["checks"]
        lacks = [row for row in rows if row["state"] == "missing"]
        self.assertEqual(done.returncode, 1 if lacks else 0)
        return {row["name"]: row["detail"] for row in lacks}

    def works(self, outer, *options):
        done = self.within(outer, *options)
        self.assertEqual((done.returncode, done.stdout, done.lines), (0, "whole\n", []),
                         (outer, done.stderr))
        self.assertEqual(self.check_within(outer, *options), {}, outer)

    def refuses(self, outer, reason, *options):
        """In one line with its reason, which is check's line too."""
        done = self.within(outer, *options)
        self.assertEqual((done.returncode, done.stdout), (125, ""), (outer, done.stderr))
        self.assertEqual(len(done.lines), 1, (outer, done.stderr))
        self.assertIn(reason, done.lines[0])
        lacks = self.check_within(outer, *options)
        told = lacks["a whole jail"]
        said = lacks.get(told.removeprefix("for the same cause as: "), told)
        self.assertEqual("stepjail: " + said, done.lines[0])
        return lacks

    def mends(self, outer, reason, remedy, options=(), row=True):
        """What is refused is named by a row of its own, if there is one for such a thing;
        and what its line says, mends it."""
        lacks = self.refuses(outer, reason)
        named = [name for name, detail in lacks.items()
                 if reason in detail and name != "a whole jail"]
        self.assertEqual(bool(named), row, lacks)
        self.works(remedy, *options)
