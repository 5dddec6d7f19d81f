#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_skills.py - functions that a model saves, and later tasks import, in real jails"""
import hashlib
import json
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import fence  # noqa: E402
from skills_scene import DOUBLE, SkillsCase, function, save  # noqa: E402


class Saved(SkillsCase):
    def test_saved_and_imported(self):
        """Two tasks in a row: the second imports what the first saved, warm and cold."""
        self.assertEqual(self.save(("double.py", DOUBLE)), {"double": True})
        digest = hashlib.sha256(DOUBLE.encode()).hexdigest()
        (line,) = map(json.loads, self.index())
        self.assertEqual([line[n] for n in ("name", "file_sha256", "signature", "doc", "examples")],
                         ["double", digest, "double(x: float) -> float", "Twice x.", 1])
        self.assertEqual((line["origin"]["task"], line["origin"]["transcript"]),
                         ("The task.", self.record))
        with open(self.record, "rb") as f:
            self.assertIn(line["origin"]["transcript_sha256"].encode(), f.read())
        self.assertEqual([os.stat(self.file(n)).st_mode & 0o777
                          for n in (".", "index.jsonl", "double.py")], [0o711, 0o600, 0o644])
        use = fence("from skills.double import double\nimport skills.double as m\n"
                    "print(double(21), m.__file__)\n"
                    "for mode in 'wa':\n    try: open(m.__file__, mode)\n"
                    "    except OSError as e: print(e.errno)")
        want = "expect: | 42.0 /work/skills/double.py\n| 30\n| 30"
        for more in ((), ("--stateless",), ("--lock-code", "yes")):
            with self.subTest(more=more):
                _, events = self.task(use, want.split("\n")[0] + "\nDone.", more=more)
                output = [e for e in events if e["event"] == "step"][0]["output"]["head"]
                self.assertEqual(output, "42.0 /work/skills/double.py\n30\n30\n")
        start = events[0]
        self.assertEqual(start["jail"]["skills"],
                         {"dir": self.dir, "offered": [{"name": "double", "sha256": digest}]})
        self.assertIn("| double(x: float) -> float\n|     Twice x.\n|     saved 20", start["system"])
        self.assertIn(f'in the task "The task.", sha256 {digest[:16]}\n', start["system"])
        self.assertEqual(self.there(), ["double.py"])

    def test_one_uses_another(self):
        self.save(("double.py", DOUBLE))
        four = 'from skills.double import double\n\n\ndef four(x):\n    """Four times x.\n\n' \
               '    >>> four(2)\n    8.0\n    """\n    return double(double(x))\n'
        self.assertEqual(self.save(("four.py", four)), {"four": True})

    def test_replay(self):
        self.save(("double.py", DOUBLE))
        self.task(fence("from skills.double import double\nprint(double(2))"), "Done.")

        def replay(status, words):
            got, out, err = self.run_agent("replay", self.record, "--stepjail", self.stepjail,
                                           *self.missing)
            self.assertEqual(got, status, out + err)
            self.assertIn(words, out)
        replay(0, "nothing differs")
        with open(self.file("double.py"), "a") as f:
            f.write("#")
        replay(1, "saved function double: not what it was, and left out: its sha256 was")
        os.unlink(self.file("double.py"))
        replay(1, "No such file")

    def test_only_of_an_answered_task(self):
        for turns, more, status in (([save(("double.py", DOUBLE))], (), 4),
                                    ([save(("double.py", DOUBLE)), fence("1")], ("--steps", "1"), 3),
                                    ([save(("double.py", DOUBLE)), "Done."], ("--stateless",), 0)):
            with self.subTest(more=more):
                self.task(*turns, more=more, status=status)
                self.assertEqual(self.there(), [])
        _, events = self.task("Done.", more=("--stateless",))
        self.assertNotIn("skills_new", events[0]["system"])

    def test_the_same_again(self):
        self.save(("double.py", DOUBLE))
        got = self.save(("double.py", DOUBLE))
        self.assertEqual(got, {"double": "the same is saved already"})
        got = self.save(("double.py", DOUBLE + "\n"))
        self.assertEqual(got, {"double": "another of that name is saved already"})
        self.assertEqual(len(self.index()), 1)

    def test_two_at_once(self):
        """Neither spoils the index; of one name one is kept."""
        folder, kept = self.dir, []

        def run(number):
            record = self.path(f"t{number}.jsonl")
            script = self.path(f"s{number}.turns", "--- turn\n" + save(
                ("same.py", function("same") + f"    # {number}\n"),
                (f"own{number}.py", function(f"own{number}"))) + "\n--- turn\nDone.\n")
            got = self.run_agent("solve", "T.", "--stepjail", self.stepjail, "--skills", folder,
                                 "--transcript", record, "--model", f"scripted:{script}", "--quiet",
                                 *self.missing)
            with open(record) as f:
                kept.append((got[0], [e["name"] for e in map(json.loads, f)
                                      if e["event"] == "skill" and e["kept"]]))
        threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([status for status, _ in kept], [0] * 4)
        names = sorted(n for _, names in kept for n in names)
        self.assertEqual(names, ["own0", "own1", "own2", "own3", "same"])
        self.assertEqual(len(self.index()), 5)
        self.assertEqual(json.loads(self.list(0, "--json"))["misfits"], 0)

    def test_folder_that_cannot_be_written(self):
        self.save(("double.py", DOUBLE))
        os.chmod(self.file("index.jsonl"), 0o444)
        os.chmod(self.dir, 0o555)
        self.addCleanup(os.chmod, self.dir, 0o755)
        if os.getuid() == 0:
            return  # who writes what nobody may: test_the_same_again is all there is to see
        names, start, err = self.offered()
        self.assertEqual(names, ["double"])
        self.assertNotIn("skills_new", start["system"])
        self.assertIn("skills: no function will be saved: index.jsonl in ", err)


class Cheats(SkillsCase):
    """What would pass without proving anything. Beside each batch one that does pass."""

    def refused(self, cheats):
        files = [(f"f{i}.py", text.replace("NAME", f"f{i}")) for i, (text, _) in enumerate(cheats)]
        for at in range(0, len(files), 14):
            got = self.save(*files[at:at + 14], (f"good{at}.py", function(f"good{at}")))
            self.assertEqual(got.pop(f"good{at}"), True)
            for i, (text, words) in list(enumerate(cheats))[at:at + 14]:
                with self.subTest(text=text):
                    self.assertIn(words, str(got[f"f{i}"]))
        self.assertFalse([n for n in self.there() if n.startswith("f")])

    def test_examples(self):
        wrong = "its example"
        no_proof = "no example (>>>) in its docstring calls"
        directive = "directive"
        F = "NAME"
        self.refused([
            (function(F, "return 41"), wrong),
            (function(F, doc=""), "it has no docstring"),
            (function(F, doc="Words."), no_proof),
            (function(F, doc="Words.\n\n    >>> NAME()\n    "), no_proof),
            (function(F, doc="Words.\n\n    >>> x = NAME()\n    "), no_proof),
            (function(F, doc="Words.\n\n    >>> 6 * 7\n    42\n    "), no_proof),
            (function(F, "raise ValueError(1)", doc="Words.\n\n    >>> NAME()\n    Traceback (most "
                      "recent call last):\n    ValueError: 1\n    "), no_proof),
            (function(F, "return 41", example="NAME()  # doctest: +SKIP"), directive),
            (function(F, "return 421", doc="W.\n\n    >>> NAME()  # doctest: +ELLIPSIS\n    4...\n    "),
             directive),
            (function(F, doc="W.\n\n    >>> NAME()  # doctest: +IGNORE_EXCEPTION_DETAIL\n    42\n    "),
             directive),
            (function(F, doc="W.\n\n    >>> NAME()  # doctest: +NONSENSE\n    42\n    "), "ValueError"),
            (function(F, "return 423", doc="W.\n\n    >>> NAME()\n    4...\n    "), wrong),
            (function(F, "return 41", doc="W.\n\n    >>> NAME = lambda: 42\n    >>> NAME()\n    42\n    "),
             wrong),
            (function(F, "import os; os._exit(0)"), "ended before its answer"),
            (function(F, "raise SystemExit(0)"), wrong),
            (function(F, "import sys; sys.exit(0)"), wrong),
            (function(F, "print('x' * 5000000)"), "answers too much"),
            (function(F, "while True: pass"), "wall-timeout"),
            (function(F, "return bytearray(1 << 34)"), wrong),
        ])

    def test_the_judge(self):
        """It shares neither memory nor output with what it judges."""
        F = "NAME"
        patch = ("import doctest, ast, json\n"
                 "    doctest.OutputChecker.check_output = lambda *a: True\n"
                 "    json.loads = lambda *a: {}\n    ast.literal_eval = lambda *a: 1\n"
                 "    return 41")
        forge = ("import os\n    for fd in range(64):\n        try:\n"
                 "            os.write(fd, b'{\"secret\": \"\", \"signature\": \"x\", \"doc\": \"x\", "
                 "\"examples\": 1}\\n')\n        except OSError:\n            pass\n"
                 "    os._exit(0)")
        self.refused([
            (function(F, patch), "its example"),
            (function(F, forge), "its process"),
            (function(F, "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"), "signaled"),
            (function(F, "import os; os.kill(os.getppid(), 15); return 41"), "signaled"),
            (function(F, "print(open('/proc/self/status').read())"), "its example"),
        ])

    def test_files(self):
        """What runs when it is imported, or is no function alone."""
        F, good = "NAME", function("NAME")
        self.refused([
            ("print(1)\n" + good, "neither an import nor a constant nor a function"),
            ("import os\nos._exit(0)\n" + good, "neither"),
            ("if True:\n    x = 1\n" + good, "neither"),
            ("class A:\n    pass\n\n\n" + good, "neither"),
            ("x = print(1)\n" + good, "neither"),
            ("x = [y for y in (1,)]\n" + good, "neither"),
            ("import os\nx = os.name\n" + good, "neither"),
            ("x: print(1) = 2\n" + good, "neither"),
            ("import functools\n\n\n@functools.cache\n" + good, "decorator"),
            (good.replace("()", "(x=print(1))", 1), "no literal"),
            (good.replace("()", "(x: print(1) = 1)", 1), "annotation"),
            (good.replace("():", "() -> (lambda: 1)():", 1), "annotation"),
            ("async " + good, "neither"),
            (good + "\n\n" + function("other"), "public function"),
            (function("other"), "public function"),
            (good + "\n\nfrom os import getcwd as NAME\n", "bound twice"),
            (good + "\n\nNAME = 3\n", "bound twice"),
            ("from os import *\n" + good, "star"),
            ("from . import x\n" + good, "star or a dot"),
            ("__builtins__ = {}\n" + good, "underscores"),
            ("import no_such_module\n" + good, "ended before its answer"),
            # a comment of a file in UTF-8, and a line of code as Python imports it
            ("# coding: utf-7\n# +AAo-print(1)\n" + good, "neither"),
            ("# coding: unicode_escape\n# \\nprint(1)\n" + good, "neither"),
            ("# coding: no_such\n" + good, "SyntaxError"),
            ("def NAME(:\n", "SyntaxError"),
            ("(" * 5000, "Error"),
            ("", "no text"),
            ("# \ud7ff\0\n" + good, "no text"),
            (good + "#" * 70000, "larger than 64 KiB"),
            (good.replace("()", "(%s=1)" % ("x" * 300), 1), "signature"),
            (F, "neither"),
        ])

    def test_names(self):
        """Of files in the session: links, folders, names that are none or would shadow."""
        code = ("import os, json\nos.mkdir('skills_new')\nos.chdir('skills_new')\n"
                f"good = {function('NAME')!r}\n"
                "for n in ['__init__', 'class', 'Upper', 'a.b', 'a-b', '.hid', 'e\\x1b[2Jvil', '_x',"
                " 'n' * 49, '1a']:\n    _ = open(n + '.py', 'w').write(good.replace('NAME', n))\n"
                "_ = open('text.txt', 'w').write('x')\nos.symlink('/etc/passwd', 'link.py')\n"
                "os.mkdir('folder.py')\nos.mkfifo('fifo.py')\nos.chdir('..')")
        err, events = self.task(fence(code), "Done.")
        told = {e["name"]: (e["kept"], e["words"]) for e in events if e["event"] == "skill"}
        self.assertEqual(len(told), 14)
        self.assertFalse(any(kept for kept, _ in told.values()))
        self.assertEqual(self.there(), [])
        for name in ("link.py", "folder.py", "fifo.py"):
            self.assertIn("no plain file", told[name][1])
        self.assertNotIn("\x1b", err)
        err, events = self.task(fence("import os; os.symlink('/etc', 'skills_new')"), "Done.")
        self.assertFalse([e for e in events if e["event"] == "skill"])
        self.assertIn("saved functions: they cannot be fetched: ", err)
        self.assertNotIn("fetched", self.task("Done.")[0])

    def test_too_many(self):
        got = self.save(*((f"f{n:03}.py", "x") for n in range(40)))
        self.assertEqual(len(got), 17)
        self.assertEqual(sum("may save 16" in str(w) for w in got.values()), 1)

    def test_what_shadows(self):
        """A function named as a module of the library is one of the package skills alone."""
        self.assertEqual(self.save(("json.py", function("json"))), {"json": True})
        self.task(fence("import json\nfrom skills.json import json as j\n"
                        "print(json.dumps([1]), j())"), "expect: | [1] 42\nDone.")


if __name__ == "__main__":
    unittest.main()
