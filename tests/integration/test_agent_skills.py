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
from skills_scene import DOUBLE, SkillsCase, digest, function, save  # noqa: E402


class Saved(SkillsCase):
    def test_saved_and_imported(self):
        """Two tasks in a row: the second imports what the first saved, warm and cold."""
        self.assertEqual(self.save(("double.py", DOUBLE)), {"double": True})
        self.assertEqual(self.there(), ["double.py"])
        self.assertEqual([os.stat(self.file(n)).st_mode & 0o777 for n in (".", "double.py")],
                         [0o755, 0o644])
        use = fence("from skills.double import double\nimport skills.double as m\n"
                    "print(double(21), m.__file__)\n"
                    "for path in m.__file__, '/work/skills/new.py':\n    try: open(path, 'w')\n"
                    "    except OSError as e: print(e.errno)")
        want = "expect: | 42.0 /work/skills/double.py\n| 30\n| 30"
        for more in ((), ("--stateless",), ("--lock-code", "yes")):
            with self.subTest(more=more):
                _, events = self.task(use, want.split("\n")[0] + "\nDone.", more=more)
                output = [e for e in events if e["event"] == "step"][0]["stdout"]["head"]
                self.assertEqual(output, "42.0 /work/skills/double.py\n30\n30\n")
        lines, start, _ = self.offered()
        self.assertEqual(lines, ["| double(x: float) -> float", "|     Twice x."])
        # as sha256sum has it of a line for each module: see inputs_tree.c
        entry = f"- {len(DOUBLE)} {digest(self.file('double.py'))} ./double.py\0"
        self.assertEqual(start["inputs"]["skills"],
                         {"dir": self.dir, "sha256": hashlib.sha256(entry.encode()).hexdigest()})
        self.assertEqual(self.there(), ["double.py"])

    def test_one_uses_another(self):
        self.save(("double.py", DOUBLE))
        four = 'from skills.double import double\n\n\ndef four(x):\n    """Four times x.\n\n' \
               '    >>> four(2)\n    8.0\n    """\n    return double(double(x))\n'
        self.assertEqual(self.save(("four.py", four)), {"four": True})

    def test_replay(self):
        self.save(("double.py", DOUBLE))
        self.task(fence("from skills.double import double\nprint(double(2))"), "Done.")

        def replay(status, words, *more):
            got, out, err = self.run_agent("replay", self.record, "--stepjail", self.stepjail,
                                           *self.missing, *more)
            self.assertEqual(got, status, out + err)
            self.assertIn(words, out + err)
        # a transcript may be a stranger's, and name any folder
        replay(125, f"the task had the functions in the folder {self.dir}, and a transcript may "
                    "not choose one; give it by --skills")
        replay(0, "nothing differs", "--skills", self.dir)
        self.put("index.jsonl", "an earlier edition's, and no module\n")
        replay(0, "nothing differs", "--skills", self.dir)
        self.put("other.py", "")
        replay(1, "the functions have changed: their sha256 was", "--skills", self.dir)
        os.unlink(self.file("other.py"))
        self.put("double.py", DOUBLE.replace("[x, x]", "[x, x, x]"))
        replay(1, "1 step run again: 2 differences", "--skills", self.dir)
        replay(125, "No such file", "--skills", self.path("none"))

    def test_only_of_an_answered_task(self):
        for turns, more, status in (([save(("double.py", DOUBLE))], (), 4),
                                    ([save(("double.py", DOUBLE)), fence("1")], ("--steps", "1"), 3),
                                    ([save(("double.py", DOUBLE)), "Done."], ("--stateless",), 0)):
            with self.subTest(more=more):
                self.task(*turns, more=more, status=status)
                self.assertEqual(self.there(), [])
        _, events = self.task("Done.", more=("--stateless",))
        self.assertNotIn("skills_new", events[0]["system"])

    def test_nothing_is_written_over(self):
        """Neither a file, nor through a link, wherever that points to."""
        self.save(("double.py", DOUBLE))
        os.symlink(self.path("elsewhere"), self.file("one.py"))
        os.mkdir(self.file("two.py"))
        taken = "a file of that name is there already"
        got = self.save(("double.py", function("double")), ("one.py", function("one")),
                        ("two.py", function("two")), ("three.py", function("three")))
        self.assertEqual(got, {"double": taken, "one": taken, "two": taken, "three": True})
        self.assertEqual(self.there(), ["double.py", "one.py", "three.py", "two.py"])
        self.assertFalse(os.path.exists(self.path("elsewhere")))
        with open(self.file("double.py")) as f:
            self.assertEqual(f.read(), DOUBLE)

    def test_two_at_once(self):
        """Of one name one is kept."""
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
        self.assertEqual(names, ["own0.py", "own1.py", "own2.py", "own3.py", "same.py"])
        self.assertEqual(self.there(), names)

    def test_folder_that_cannot_be_written(self):
        self.save(("double.py", DOUBLE))
        os.chmod(self.dir, 0o555)
        self.addCleanup(os.chmod, self.dir, 0o755)
        if os.getuid() == 0:
            return  # root writes what nobody may
        lines, start, err = self.offered()
        self.assertEqual(lines[0], "| double(x: float) -> float")
        self.assertNotIn("skills_new", start["system"])
        said = [line for line in err.splitlines() if "no function will be saved" in line]
        self.assertEqual(len(said), 1, err)
        self.assertIn(f"{self.dir} cannot be written: Permission denied", said[0])
        self.assertEqual(self.save(("one.py", function("one"))), {})
        self.assertEqual(self.there(), ["double.py"])


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
            (function(F, doc=""), no_proof),
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
            (function(F, "import os; os._exit(0)"), "ended before it answered"),
            (function(F, "raise SystemExit(0)"), wrong),
            (function(F, "import sys; sys.exit(0)"), wrong),
            (function(F, "print('x' * 5000000)"), "answered too much"),
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
        F, good, line = "NAME", function("NAME"), "is neither an import, nor NAME = literal, nor a function"
        self.refused([
            ("print(1)\n" + good, line),
            ("import os\nos._exit(0)\n" + good, line),
            ("if True:\n    x = 1\n" + good, line),
            ("class A:\n    pass\n\n\n" + good, line),
            ("x = print(1)\n" + good, line),
            ("x = [y for y in (1,)]\n" + good, line),
            ("import os\nx = os.name\n" + good, line),
            ("import os\nx = os.environ = {}\n" + good, line),
            ("def __getattr__(name):\n    return print(name)\n\n\n" + good, "underscores"),
            ("x: print(1) = 2\n" + good, line),
            ("import functools\n\n\n@functools.cache\n" + good, line),
            (good.replace("()", "(x=print(1))", 1), line),
            (good.replace("()", "(x: print(1) = 1)", 1), line),
            (good.replace("():", "() -> (lambda: 1)():", 1), line),
            ("async " + good, line),
            (good + "\n\n" + function("other"), "one function whose name begins without _"),
            (function("other"), "one function whose name begins without _"),
            (good + "\n\nfrom os import getcwd as NAME\n", "must be bound once"),
            (good + "\n\nNAME = 3\n", "must be bound once"),
            ("from os import *\n" + good, line),
            ("from . import x\n" + good, line),
            ("__builtins__ = {}\n" + good, "underscores"),
            ("import no_such_module\n" + good, "ended before it answered"),
            # a comment of a file in UTF-8, and a line of code as Python imports it
            ("# coding: utf-7\n# +AAo-print(1)\n" + good, line),
            ("# coding: unicode_escape\n# \\nprint(1)\n" + good, line),
            ("# coding: no_such\n" + good, "SyntaxError"),
            ("def NAME(:\n", "SyntaxError"),
            ("(" * 5000, "Error"),
            ("", "not UTF-8 text"),
            ("# \ud7ff\0\n" + good, "not UTF-8 text"),
            (good + "#" * 70000, "larger than 64 KiB"),
            (F, line),
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
        self.assertIn("skills: link.py: not saved: it is no plain file\n", err)
        err, events = self.task(fence("import os; os.symlink('/etc', 'skills_new')"), "Done.")
        self.assertFalse([e for e in events if e["event"] == "skill"])
        self.assertIn("skills: new functions cannot be fetched: ", err)
        err, events = self.task(fence("open('skills_new', 'w').close()"), "Done.")
        self.assertIn("skills: new functions cannot be fetched: ", err)
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
