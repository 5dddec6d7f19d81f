#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_files.py - files in by --file, with the real stepjail"""
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase, fence, takes_signals, wait_for  # noqa: E402
from test_agent_real import Installed  # noqa: E402


class Events(AgentCase):
    """A run and its transcript."""

    def run_task(self, *codes, more=(), status=0, **how):
        """(events, stdout, stderr)"""
        record = self.path("t.jsonl")
        if os.path.exists(record):
            os.unlink(record)
        got, out, err = self.solve("--model", self.script(*map(fence, codes), "Done."), "--transcript", record,
                                   *more, **how)
        self.assertEqual(got, status, out + err)
        with open(record) as f:
            return [json.loads(line) for line in f], out, err

    def tree(self, folder):
        """Of all files below it, their bytes; links as what they are."""
        found = {}
        for at, folders, names in os.walk(folder):
            for name in folders + names:
                path = os.path.join(at, name)
                if os.path.islink(path):
                    found[os.path.relpath(path, folder)] = "link"
                elif os.path.isfile(path):
                    with open(path, "rb") as f:
                        found[os.path.relpath(path, folder)] = f.read()
        return found


class RealCase(Installed, Events):
    def setUp(self):
        super().setUp()
        self.fake = self.stepjail
        os.chmod(self.folder, 0o755)
        self.more = tuple(self.missing)

    def given(self, name, text):
        path = self.path(name, text)
        os.chmod(path, 0o644)
        return path


class Real(RealCase):
    def test_an_endless_file(self):
        """Its digest takes hours; Ctrl-C ends it at once, as that of a folder it is in."""
        os.mkdir(self.path("d"))
        with open(self.path("d/endless"), "wb") as f:
            f.truncate(1 << 40)
        for path in ("d/endless", "d"):
            p = self.popen("solve", "x", "--stepjail", self.stepjail, "--model", self.script("Done."), "--file",
                           self.path(path), "--transcript", self.path("t.jsonl"))
            try:
                self.assertTrue(wait_for(lambda: takes_signals(p.pid)))
                p.send_signal(signal.SIGINT)
                out, err = p.communicate(timeout=60)
            finally:
                p.kill()
            self.assertEqual((p.returncode, out, err), (130, b"", b"stepjail-agent: ended by SIGINT\n"))

    def test_many_files(self):
        names = [self.given(f"f{n}", str(n)) for n in range(256)]
        files = [x for n in names for x in ("--file", n)]
        code = "import os\nprint(len(os.listdir('/work/in')), open('/work/in/f255').read())"
        _, out, _ = self.run_task(code, more=(*self.more, *files))
        self.assertIn("| 256 255\n", out)
        status, out, err = self.solve("--model", "scripted:x", *files, "--file", self.given("one", "x"))
        self.assertEqual(status, 125)
        self.one_line(err, "--file: given more than 256 times")
        os.mkdir(self.path("d"))
        self.given("d/f1", "x")
        status, out, err = self.solve("--model", self.script("x"), "--file", names[1], "--file", self.path("d/f1"))
        self.assertEqual(status, 125)
        self.one_line(err, "--file: two files are called f1")

    def test_folder(self):
        os.makedirs(self.path("data/sub"))
        self.given("data/a.csv", "a,b\n")
        self.given("data/sub/b.csv", "c\n")
        os.symlink("/etc/passwd", self.path("data/link"))
        code = """
import os
print(sorted(os.listdir('/work/in/data')), open('/work/in/data/sub/b.csv').read())
try: open('/work/in/data/new', 'w')
except OSError as e: print(e.strerror)
"""
        events, out, _ = self.run_task(code, more=(*self.more, "--file", self.path("data/")))
        self.assertIn("| ['a.csv', 'link', 'sub'] c\n", out)
        self.assertIn("Read-only file system", out)
        self.assertIn("Folder /work/in/data, with 3 entries, of which the first are:\n| a.csv\n| link\n| sub\n",
                      events[0]["user"])
        (file,) = events[0]["inputs"]["files"]
        self.assertEqual((file["path"], file["bytes"]), (self.path("data"), 6))
        again = ("replay", self.path("t.jsonl"), "--stepjail", self.stepjail, *self.more)
        status, out, err = self.run_agent(*again)
        self.assertEqual(status, 125)
        self.one_line(err, "a folder, and a transcript may not choose one; give it by --file")
        again = (*again, "--file", self.path("data"))
        self.assertEqual(self.run_agent(*again)[0], 0)
        for change in (lambda: self.given("data/sub/b.csv", "d\n"), lambda: os.unlink(self.path("data/link"))):
            change()
            status, out, err = self.run_agent(*again)
            self.assertEqual(status, 1)
            self.assertIn("data: it has changed: its sha256 was ", out)
            self.given("data/sub/b.csv", "c\n")
        os.symlink("/etc/passwd", self.path("data/link"))
        self.assertEqual(self.run_agent(*again)[0], 0)

    def test_a_database_with_a_log(self):
        """SQLite's WAL mode needs a file beside the database, which only a user's own jail can make."""
        for name, mode in (("wal.db", "wal"), ("plain.db", "delete")):
            base = sqlite3.connect(self.path(name))
            base.execute(f"pragma journal_mode={mode}")
            base.executescript("create table t (n); insert into t values (7);")
            base.close()
            os.chmod(self.path(name), 0o644)
        code = """
import sqlite3
for url in ("file:wal.db", "file:wal.db?immutable=1", "file:plain.db"):
    try: print(sqlite3.connect(url.replace(":", ":/work/in/"), uri=True).execute("select n from t").fetchall())
    except sqlite3.OperationalError as e: print(e)
"""
        events, out, _ = self.run_task(code, more=(*self.more, "--file", self.path("wal.db"), "--file",
                                                   self.path("plain.db")))
        self.assertRegex(out, r"\| ([a-z ]* database[a-z ]*|\[\(7,\)\])(\n  \| \[\(7,\)\]){2}\n")
        told = {line.split(",")[0]: line for line in events[0]["user"].splitlines() if "/work/in/" in line}
        self.assertIn('in WAL mode: sqlite3.connect("file:PATH?immutable=1", uri=True) opens it.',
                      told["File /work/in/wal.db"])
        self.assertIn("not a text file.", told["File /work/in/plain.db"])

    def test_pipes(self):
        """stdin, a pipe by its number, one by its name: each new session has them."""
        os.mkfifo(self.path("fifo"))
        with subprocess.Popen(["sh", "-c", f"sleep 0.2; echo named > {self.path('fifo')}"]):
            ours, theirs = os.pipe()
            os.write(theirs, b"n" * 50000)
            os.close(theirs)
            code = "print([open('/work/' + n).read()[-7:] for n in ('stdin', 'fd%d', 'fifo')])" % ours
            events, out, _ = self.run_task(
                code, "import os\nfor n in ('stdin', 'fifo'): os.unlink('/work/' + n)", code, more=(
                    *self.more, "--file", "-", "--file", f"/dev/fd/{ours}", "--file", self.path("fifo"), "--file",
                    self.given("plain", "x")), stdin=open(self.given("in.txt", "from a file"), "rb"),
                pass_fds=[ours])
            os.close(ours)
        self.assertIn("| ['" + "m a file"[1:] + "', 'nnnnnnn', 'named\\n']\n".replace("named", "named"), out)
        self.assertIn("FileNotFoundError", out)
        user, files = events[0]["user"], events[0]["inputs"]["files"]
        self.assertIn("File /work/stdin, 11 bytes. It begins:\n| from a file\n", user)
        self.assertIn("File /work/fifo, 6 bytes", user)
        self.assertIn("File /work/in/plain, 1 bytes", user)
        self.assertEqual([(f["name"], f.get("stream"), f["sha256"]) for f in files[:1]],
                         [("stdin", True, hashlib.sha256(b"from a file").hexdigest())])
        for name, text in (("stdin", "from a file"), (f"fd{ours}", "n" * 50000), ("fifo2", "")):
            self.given(name, text)
        again = ("replay", self.path("t.jsonl"), "--stepjail", self.stepjail, *self.more)
        status, out, err = self.run_agent(*again)
        self.assertEqual(status, 125)
        self.one_line(err, "give it by --file")
        os.unlink(self.path("fifo"))
        self.given("fifo", "named\n")
        named = [x for n in ("stdin", f"fd{ours}", "fifo") for x in ("--file", self.path(n))]
        status, out, err = self.run_agent(*again, *named)
        self.assertEqual((status, err), (0, ""), out)

    def test_pipe_of_a_new_session(self):
        """A session that is lost, and the one that follows it."""
        code = "print(open('/work/stdin').read())"
        with open(self.given("in.txt", "hello"), "rb") as f:
            status, out, err = self.run_agent(
                "repl", "--stepjail", self.stepjail, *self.more, "--no-history", "--transcript", "none", "--file",
                "-", stdin=f)
            self.assertEqual(status, 125)
            self.one_line(err, "--file: stdin is what repl reads its lines from")
        ours, theirs = os.pipe()
        os.write(theirs, b"hello")
        os.close(theirs)
        with open(self.given("script", f"{code.replace('stdin', f'fd{ours}')}\n:reset\n"
                                       f"{code.replace('stdin', f'fd{ours}')}\nopen('/work/out/y', 'w').write('1')\n")) as f:
            status, out, err = self.run_agent(
                "repl", "--stepjail", self.stepjail, *self.more, "--no-history", "--transcript",
                self.path("r.jsonl"), "--file", f"/dev/fd/{ours}", "--out", self.path("o"), stdin=f, pass_fds=[ours])
        os.close(ours)
        self.assertEqual((status, out), (0, "hello\nhello\n1\n"), err)
        self.assertEqual(self.tree(self.path("o")), {"y": b"1"})
        self.assertIn("files: 1 from /work/out, 1 bytes, in ", err)
        with open(self.path("r.jsonl")) as f:
            self.assertEqual(json.loads(f.readlines()[-1])["files"][0]["name"], "y")

    def test_pipes_that_are_refused(self):
        turns = self.script("x")
        rows = [(("--file", "/dev/zero", "--file-limit", "1M"), "has more than 1 MiB (--file-limit)"),
                (("--file", "/dev/fd/77"), "/dev/fd/77"), (("--file", "/dev/null", "--stateless"), "--stateless"),
                (("--file", "-", "--file", "/dev/stdin"), "two files are called stdin")]
        os.mkfifo(self.path("out"))
        for args, words in rows:
            with self.subTest(args=args):
                status, out, err = self.solve("--model", turns, *args)
                self.assertEqual((status, out), (125, ""))
                self.one_line(err, "--file: ", words)
        # nobody writes: it can be ended
        p = self.popen("solve", "x", "--model", turns, "--file", self.path("out"), "--stepjail", self.fake)
        self.assertTrue(wait_for(lambda: takes_signals(p.pid)))
        p.send_signal(signal.SIGINT)
        self.assertEqual((p.wait(60), p.communicate()[1]), (130, b"stepjail-agent: ended by SIGINT\n"))


if __name__ == "__main__":
    unittest.main()
