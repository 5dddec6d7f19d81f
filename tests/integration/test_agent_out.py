#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_out.py - files out by --out

With the real stepjail, and where a jail's lists are to lie, with an imitation of it.
"""
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AGENT, fence, takes_signals, unwarned, wait_for  # noqa: E402
from test_agent_files import Events, RealCase  # noqa: E402
from test_agent_hostile import bad  # noqa: E402


class Out(RealCase):
    def test_out(self):
        code = """
import os
os.makedirs('/work/out/a/b/c'); os.makedirs('/work/out/empty')
open('/work/out/x.txt', 'w').write('x')
open('/work/out/a/b/c/big', 'wb').write(os.urandom(300000))
open('/work/out/none', 'w')
os.symlink('/etc/passwd', '/work/out/link')
os.symlink('/etc', '/work/out/a/etc')
os.mkfifo('/work/out/pipe')
for name in ('a\\x1b[2Jb', 'a\\nb', 'a\\u202eb', b'\\xff\\xfe', 'tab\\there', ' ', '\\u3000', 'a ', '\\xa0a', '-rf', '~ ~', 'n' * 255):
    open(os.path.join(os.fsencode('/work/out'), os.fsencode(name)), 'w').write('z')
print(open('/work/out/.stepjail').read() == '')
"""
        events, out, err = self.run_task(code, more=(*self.more, "--out", self.path("o")))
        got = self.tree(self.path("o"))
        self.assertEqual(set(got), {"x.txt", "a/b/c/big", "none", "~ ~", "n" * 255})
        self.assertEqual((got["x.txt"], got["none"], len(got["a/b/c/big"])), (b"x", b"", 300000))
        end = events[-1]
        self.assertEqual({f["name"]: (f["bytes"], f["sha256"]) for f in end["files"]},
                         {n: (len(b), hashlib.sha256(b).hexdigest()) for n, b in got.items()})
        self.assertEqual({f["name"]: f["why"] for f in end["files_left_out"]}, {
            "link": "it is a link", "a/etc": "it is a link", "pipe": "it is neither a file nor a folder",
            "a\\x1b[2Jb": "its name holds control or invisible characters",
            "a\\nb": "its name holds control or invisible characters",
            "a\\u202eb": "its name holds control or invisible characters",
            "tab\there": "its name holds control or invisible characters",
            **dict.fromkeys((" ", "\u3000", "a ", "\xa0a"), "its name begins or ends with a blank"),
            "-rf": "its name begins with a dash: programs take that for an option",
            "\\xff\\xfe": "its name is not UTF-8"})
        self.assertIsNone(bad(out))
        self.assertIn("left out of /work/out: 'link': it is a link\n", out)
        self.assertIn(f"files: 5 from /work/out, 292.9 KiB, in {self.path('o')}\n", out)
        self.assertIn("Files for the user go to /work/out", events[0]["system"])
        # what was given is the same again, for replay, too
        status, out, err = self.run_agent("replay", self.path("t.jsonl"), "--stepjail", self.stepjail, *self.more)
        self.assertEqual((status, err), (0, ""), out)

    def test_out_of_a_script(self):
        """A script's files, as steps of a session without a model."""
        script = self.path("s.py", "import os\nfor n in range(2):\n    with open(f'/work/out/{n}', 'w') as f:\n"
                                   "        f.write('x')\nos.symlink('0', '/work/out/link')\n")
        with open(script, encoding="ascii") as lines:
            status, _, err = self.run_agent("repl", "--transcript", "none", "--out", self.path("o"),
                                            "--stepjail", self.stepjail, *self.more, stdin=lines)
        self.assertEqual((status, self.tree(self.path("o"))), (0, {"0": b"x", "1": b"x"}), err)
        self.assertIn("'link': it is a link", err)

    def test_out_json_and_no_out(self):
        status, out, err = self.solve("--json", "--model", self.script(
            fence("open('/work/out/x', 'w').write('1')"), "Done."), "--out", self.path("o"), "--transcript",
            "none", *self.more)
        self.assertEqual(status, 0, err)
        got = json.loads(out)
        self.assertEqual([f["name"] for f in got["files"]], ["x"])
        self.assertEqual(got["out"], self.path("o"))
        events, out, _ = self.run_task("import os; print(os.path.exists('/work/out'))", more=self.more)
        self.assertNotIn("/work/out", events[0]["system"])
        self.assertNotIn("files", events[-1])
        self.assertIn("| False\n", out)

    def test_out_limit(self):
        code = """
for name, size in (('a', 60000), ('b', 60000), ('c', 1)):
    open('/work/out/' + name, 'w').write('x' * size)
"""
        events, out, _ = self.run_task(code, more=(*self.more, "--out", self.path("o"), "--out-limit", "100000"))
        self.assertEqual(sum(f["bytes"] for f in events[-1]["files"]), 60001)
        (left,) = events[-1]["files_left_out"]
        self.assertRegex(left["why"], r"^--out-limit: it has 60000 bytes, and \d+ are left$")

    def test_out_that_breaks_off(self):
        """A file is there whole or not at all, and the exit status tells of it."""
        limit = 50000
        code = ("import resource\nlimit = resource.RLIMIT_FSIZE\n"
                "resource.setrlimit(limit, (resource.getrlimit(limit)[1],) * 2)\n"
                "for name, size in (('a', 1), ('big', 99000), ('c', 2)):\n"
                "    open('/work/out/' + name, 'wb').write(b'x' * size)")
        for quiet in ((), ("--quiet",)):
            folder = self.path("o" + "".join(quiet))
            events, out, err = self.run_task(
                code, more=(*self.more, "--out", folder, *quiet), status=6,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, 1 << 40)))
            self.assertEqual(self.tree(folder), {"a": b"x", "c": b"xx"})
            self.one_line(unwarned(err), f"--out: 'big' could not be written to {folder}: File too large")
            self.assertEqual((events[-1]["outcome"], events[-1]["files_unwritten"]), ("answered", 1))
            if not quiet:
                self.assertIn("left out of /work/out: 'big': it could not be written: File too large\n", out)

    def test_full_disk(self):
        """A tmpfs of a few pages, in a mount namespace of its own; repl has the status, too."""
        disk = self.path("disk")
        os.mkdir(disk)
        code = "for n in range(3): open(f'/work/out/f{n}', 'wb').write(b'x' * (100 if n != 1 else 1 << 20))"
        as_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
        script = 'mount -t tmpfs -o size=65536 none "$1" && shift && { "$@"; s=$?; ls -A "$0/o"; exit $s; }'
        for args in (["solve", "x", "--quiet", "--model", self.script(fence(code), "Done.")], ["repl"]):
            with open(self.path("lines", code + "\n")) as stdin:
                p = subprocess.run(
                    ["unshare", *as_user, "--mount", "--propagation", "private", "sh", "-c", script, disk, disk, AGENT,
                     *args, "--stepjail", self.stepjail, *self.more, "--out", disk + "/o", "--transcript", "none"],
                    stdin=stdin, capture_output=True, env=self.env(), timeout=120)
            self.assertEqual((p.returncode, p.stdout.decode().splitlines()[-1]), (6, "f0"), p.stderr)
            self.assertIn(f"stepjail-agent: --out: 'f1' could not be written to {disk}/o: No space left on device\n",
                          p.stderr.decode())

    def test_out_hidden(self):
        """A file that git obeys is not handed out, at any depth; nor does a name look like the agent's words."""
        code = """
import os
os.makedirs('/work/out/.git'); os.makedirs('/work/out/a/.git')
for name in ('.git/config', 'a/.git/config', 'a/.env', 'a/x', '.stepjail', "q': it is a link"):
    open('/work/out/' + name, 'w').write(name)
"""
        events, out, _ = self.run_task(code, more=(*self.more, "--out", self.path("o")))
        self.assertEqual(set(self.tree(self.path("o"))), {"a/x", "q': it is a link"})
        why = "its name begins with a dot (--out-hidden copies those, too)"
        self.assertEqual({f["name"]: f["why"] for f in events[-1]["files_left_out"]},
                         dict.fromkeys((".git", "a/.git", "a/.env", ".stepjail"), why))
        self.assertIn(f"left out of /work/out: '.git': {why}\n", out)
        events, out, _ = self.run_task(code, more=(*self.more, "--out", self.path("p"), "--out-hidden"))
        self.assertEqual(set(self.tree(self.path("p"))), {
            "a/x", "q': it is a link", ".git/config", "a/.git/config", "a/.env", ".stepjail"})
        self.assertEqual(events[-1]["files_left_out"], [])
        status, out, err = self.solve("--model", self.script("x"), "--out-hidden")
        self.assertEqual(status, 125)
        self.one_line(err, "--out-hidden")

    def test_out_after_a_budget(self):
        """Of steps; and of time, which ends a step that is still running."""
        code = "open('/work/out/x', 'w').write('1')\nimport time\ntime.sleep(%d)"
        events, out, _ = self.run_task(code % 0, more=(*self.more, "--out", self.path("o"), "--steps", "1"),
                                       status=0)
        self.assertEqual(self.tree(self.path("o")), {"x": b"1"})
        for seconds in (1, 10, 50):
            events, out, _ = self.run_task(code % 600, more=(*self.more, "--out", self.path("p"), "--wall-time",
                                                             f"{seconds}s"), status=124)
            if self.tree(self.path("p")):
                break  # on a busy host the time may be over before the step has begun
        self.assertEqual(self.tree(self.path("p")), {"x": b"1"})
        self.assertEqual([f["name"] for f in events[-1]["files"]], ["x"])
        # the limit of a step, which has 60 s, is not what ended it
        self.assertRegex(out, r"wall-timeout in (\S+ m?s): the step was \w+ after \1 ")

    def test_out_after_a_loss(self):
        """What a lost session had is gone; a step that died keeps files."""
        code = "open('/work/out/x', 'w').write('1')\nimport os\nos._exit(3)"
        events, _, _ = self.run_task(code, more=(*self.more, "--out", self.path("o")))
        self.assertEqual(self.tree(self.path("o")), {"x": b"1"})

    def test_out_folder(self):
        turns = self.script("Done.")
        self.path("file", "x")
        os.mkdir(self.path("full"))
        self.path("full/x", "x")
        os.mkdir(self.path("empty"))
        os.symlink(self.path("empty"), self.path("link"))
        for folder, words in (("full", "is not empty"), ("file", "not a folder"), ("link", "not a folder"),
                              ("link/", "not a folder"), ("no/such", "No such file"), ("full/..", "not empty")):
            with self.subTest(folder=folder):
                status, out, err = self.solve("--model", turns, "--out", os.path.join(self.folder, folder), *self.more)
                self.assertEqual((status, out), (125, ""))
                self.one_line(err, "--out: ", words)
        for folder in ("empty", "new", "slash/"):
            status, out, err = self.solve("--model", turns, "--out", os.path.join(self.folder, folder), *self.more)
            self.assertEqual((status, unwarned(err)), (0, ""))
        status, out, err = self.solve("--model", turns, "--out", self.path("n"), "--stateless", *self.more)
        self.assertEqual(status, 125)
        self.one_line(err, "--out: with --stateless")

    def test_signal_collects_nothing(self):
        p = self.popen("solve", "x", "--stepjail", self.fake, *self.more, "--out", self.path("o"), "--transcript",
                       self.path("t.jsonl"), "--model", self.script(fence(
                           "open('/work/out/x', 'w').write('1')\nimport time\ntime.sleep(600)"), "Done."))
        self.assertTrue(wait_for(lambda: os.path.exists(self.path("t.jsonl")) and
                                 b'"code"' in open(self.path("t.jsonl"), "rb").read()))
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 143)
        self.assertIn(b"/work/out was not copied: a signal ended the run\n", err)
        self.assertEqual(self.tree(self.path("o")), {})


class Lying(Events):
    """Lists that no honest stepjail sends."""

    def collect(self, tree, *more, status=0):
        self.path("fake_tree.json", json.dumps(tree))
        return self.run_task("pass", more=("--out", self.path("o"), *more), status=status)

    def test_names(self):
        names = ["..", ".", "", "../up", "a/b", "/etc/x", "x" * 256, "\x7f", "\x1b[2J", "C:\\x", "\xff",
                 "..\\x", "...", "e\u0301".encode().decode("latin-1")]
        events, out, _ = self.collect({"out": [["-", 2, n] for n in names]}, "--out-hidden")
        self.assertEqual(set(self.tree(self.path("o"))), {"C:\\x", "..\\x", "...", "e\u0301"})
        self.assertEqual(os.listdir(os.path.dirname(self.path("o"))).count("up"), 0)
        self.assertEqual(len(events[-1]["files_left_out"]), 10, events[-1])
        self.assertIsNone(bad(out))

    def test_folders_up(self):
        events, _, _ = self.collect({"out": [["d", 0, ".."], ["d", 0, "."], ["d", 0, "a"]], "out/a": [["d", 0, "b/c"]],
                                     "out/..": [["-", 1, "x"]]})
        self.assertEqual(self.tree(self.path("o")), {})
        self.assertEqual(len(events[-1]["files_left_out"]), 3)

    def test_twice(self):
        """A name that is there twice, a file that is a folder, too: nothing is written over."""
        events, _, _ = self.collect({"out": [["-", 2, "a"], ["-", 5, "a"], ["d", 0, "a"], ["-", 1, "shown"]],
                                     "out/a": [["-", 1, "x"]]})
        self.assertEqual(self.tree(self.path("o")), {"a": b"xx", "shown": b"x"})
        self.assertEqual([f["why"] for f in events[-1]["files_left_out"]],
                         ["a file of that name is there already", "Not a directory"])

    def test_kinds(self):
        kinds = "lpscb?D \x1b"
        events, out, _ = self.collect({"out": [[k, 1, f"f{n}"] for n, k in enumerate(kinds)]})
        self.assertEqual(self.tree(self.path("o")), {})
        self.assertEqual(events[-1]["files_left_out_count"], len(kinds))

    def test_more_than_it_said(self):
        """A file that grew: its bytes are counted as they come."""
        self.path("fake_tree.json", "")
        events, out, _ = self.collect({"out": [["-", 70000, "a"], ["-", 200000, "b"], ["-", 10, "c"]]},
                                      "--out-limit", "100000")
        self.assertEqual({n: len(b) for n, b in self.tree(self.path("o")).items()}, {"a": 70000, "c": 10})
        self.assertIn("--out-limit", events[-1]["files_left_out"][0]["why"])

    def test_depth_and_count(self):
        tree, path = {}, "out"
        for n in range(40):
            tree[path] = [["d", 0, "d"], ["-", 1, "f"]]
            path += "/d"
        events, _, _ = self.collect(tree)
        self.assertEqual(len(self.tree(self.path("o"))), 17)
        self.assertEqual(events[-1]["files_left_out"][0]["why"], "folders are nested too deep")
        os.rename(self.path("o"), self.path("before"))
        events, out, _ = self.collect({"out": [["l", 1, f"f{n}"] for n in range(20000)]})
        self.assertIn("more than 10000 files", events[-1]["files_lost"])
        self.assertEqual(len(events[-1]["files_left_out"]), 100)
        self.assertIn("left out of /work/out: 9900 more\n", out)
        self.assertIn("not all of /work/out was copied", out)
        os.rename(self.path("o"), self.path("before2"))
        events, _, _ = self.collect({"out": [["-", 1, "n" * 200 + str(n)] for n in range(50000)]})
        self.assertIn("8 MiB of names", events[-1]["files_left_out"][0]["why"])
        os.rename(self.path("o"), self.path("before3"))
        tree, path = {}, "out"
        for _ in range(12):
            tree[path] = [["d", 0, "d" * 250]]
            path += "/" + "d" * 250
        events, _, _ = self.collect({**tree, path: [["-", 1, f"f{n}"] for n in range(1500)]})
        self.assertIn("names are longer than 4 MiB", events[-1]["files_lost"])
        self.assertTrue(1300 < len(events[-1]["files"]) < 1500)

    def test_no_sense(self):
        for entry in (["-", 1, "x"], ["", 0, ""]):
            with self.subTest(entry=entry):
                self.path("fake_tree.json", json.dumps({"out": [["-", "x", entry[2]], entry]}))
                events, out, _ = self.run_task("pass", more=("--out", self.path("o" + entry[0])))
                self.assertEqual(events[-1]["outcome"], "answered")

    def test_links_of_the_users(self):
        """A link that someone puts into the folder meanwhile is not followed."""
        os.mkdir(self.path("outside"))
        os.mkdir(self.path("o"))
        tree = {"out": [["d", 0, "a"], ["-", 1, "b"]], "out/a": [["-", 1, "x"]]}
        self.path("fake_tree.json", json.dumps(tree))
        code = (f"import os\nos.symlink({self.path('outside')!r}, {self.path('o/a')!r})\n"
                f"os.symlink({self.path('outside/b')!r}, {self.path('o/b')!r})")
        events, _, _ = self.run_task(code, more=("--out", self.path("o")))
        self.assertEqual(os.listdir(self.path("outside")), [])
        self.assertEqual(events[-1]["files_left_out_count"], 2)


if __name__ == "__main__":
    unittest.main()
