#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_pages.py - stepjail-policy(5) and stepjail-protocol(7): all that is there is in them, and true"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_scene import BUILD, TOP, config  # noqa: E402
from serve_client import TYPES, Refused, Serve  # noqa: E402
from serve_scene import OPTIONS  # noqa: E402

STEPJAIL = os.path.join(BUILD, "stepjail")
ENV = {**os.environ, "XDG_CONFIG_HOME": config.name, "PATH": f"{BUILD}:{os.environ['PATH']}"}


def page(name):
    with open(os.path.join(BUILD, "stepjail-" + name), encoding="utf-8") as file:
        return file.read()


def said(*words, **how):
    return subprocess.run(words, check=False, capture_output=True, text=True, env=ENV, timeout=300, **how)


def explain(*words):
    return said(STEPJAIL, "explain", *words)


def literals(text):
    """The examples of a page, as a reader has them."""
    return [one.replace("\\e", "\\") for one in re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", text, re.M)]


def items(text):
    """Of each option of the policy's page: its words."""
    parts = re.split(r"^\.It Ic (\S+)(.*)\n", text.split(".Sh OPTIONS\n")[1].split(".Sh FILES\n")[0], flags=re.M)
    return {name: (value, words) for name, value, words in zip(parts[1::3], parts[2::3], parts[3::3])}


class Policy(unittest.TestCase):
    def setUp(self):
        self.items = items(page("policy.5"))

    def test_every_option(self):
        helped = re.findall(r"^  --([a-z-]+)[ \[]", said(STEPJAIL, "serve", "--help").stdout, re.M)
        self.assertEqual(list(self.items), [name for name in helped if name not in ("policy", "help")])
        self.assertGreater(len(self.items), 50)

    def test_ranges(self):
        """The ends of each range are taken, and what is beyond them is not."""
        found = 0
        for name, (_, words) in self.items.items():
            told = re.search(r"^Between (\S+) and (\S+?)(, or unlimited)?\.$", words, re.M)
            if told:
                found += 1
                for value in told[1], told[2]:
                    got = explain(f"--{name}={value}")
                    self.assertNotIn("is not between", got.stderr, name)
                self.assertEqual("unlimited" in explain(f"--{name}=unlimited").stderr, not told[3], name)
                self.assertIn("is not between", explain(f"--{name}={int(9e9)}{'h' if told[2][-1] == 'h' else ''}"
                                                        if told[2][-1] not in "TM" else f"--{name}=9000T").stderr, name)
        self.assertGreater(found, 25)

    def test_defaults(self):
        given = dict(line.split(" ", 1) for line in explain().stdout.splitlines())
        hosts = {"quiet", "allow-missing"}  # the tests' own defaults
        for name, (_, words) in self.items.items():
            told = re.search(r"^Default: (.*)\.$", words, re.M)
            if name in given and name not in hosts | {"lock-code", "env"}:
                self.assertEqual(told and told[1], given[name], name)
        self.assertIn("Default: auto.", self.items["lock-code"][1])

    def test_repeated_and_bare(self):
        for name, (value, words) in self.items.items():
            if "Op " in value:
                bare = re.search(r"^Without a value: (\S+)\.$", words, re.M)[1]
                self.assertIn(f"\n{name} {bare}\n", explain("--" + name).stdout)
        for name, value in (("env", "A=1"), ("bind", "/etc:/work/e"), ("allow-syscall", "uname")):
            self.assertIn("May be given more than once.", self.items[name][1], name)
        self.assertNotIn("more than once", self.items["memory"][1])

    def examples(self, *lines):
        with tempfile.NamedTemporaryFile("w", suffix=".policy") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            return explain("--policy", file.name)

    def test_examples(self):
        found = literals(page("policy.5"))
        self.assertEqual(len(found), 2)
        for text in found:
            got = self.examples(text)
            self.assertEqual(got.returncode, 0, got.stderr)
            again = self.examples(got.stdout)
            self.assertEqual(again.stdout, got.stdout)

    def test_syntax(self):
        """What SYNTAX says."""
        for lines, good in ((["  memory\t1G"], True), (["env A= b  c # d"], True), (["# x", "", " # x"], True), (["aslr"], True),
                            (["memory 256MiB"], True), (["memory 256mb"], True), (["wall-time 1500ms"], True), (["cpus 0.125"], True),
                            (["memory 1G", "memory 2G"], False), (["env A=1", "env B=2"], True), (["memory"], False),
                            (["--memory 1G"], False), (["memory 1G\r"], False), (["none such"], False), (["memory 1G "], False),
                            (["env A=\\"], True), (["sessions 3"], True)):
            with self.subTest(lines=lines):
                got = self.examples(*lines)
                self.assertEqual((got.returncode, got.stderr.count("\n")), (0, 0) if good else (125, 1), got.stderr)
        self.assertIn("env A= b  c # d\n", self.examples("env A= b  c # d").stdout)
        self.assertEqual(self.examples("#" + "x" * 65537).returncode, 125)


class Protocol(unittest.TestCase):
    def setUp(self):
        self.page = page("protocol.7")

    def test_every_frame(self):
        """With the number that a client of the tests' own has."""
        told = dict(re.findall(r"Cm ([A-Z]+) No \((\d+)\)", self.page))
        self.assertEqual(told, {name: str(number) for name, number in TYPES.items()})

    def test_every_kind(self):
        with open(os.path.join(TOP, "jail/serve/wire/refusal.c"), encoding="utf-8") as file:
            kinds = re.findall(r'\[REFUSAL_\w+\] = "([a-z-]+)"', file.read())
        self.assertGreater(len(kinds), 10)
        told = re.findall(r"^\.It Cm ([a-z-]+)$", self.page.split(".Sh REFUSALS")[1], re.M)
        self.assertEqual(sorted(told), sorted(kinds))

    def test_structs(self):
        """Offsets and sizes are the compiler's."""
        structs = re.findall(r"^\.Ss struct (\w+)\n((?:.*\n)*?)\.El$", self.page, re.M)
        self.assertEqual(len(structs), 7)
        lines, told = [], []
        for name, body in structs:
            for at, size, field in re.findall(r"^\.It (\d+) Ta (\d+) Ta (\w+)", body, re.M):
                told.append(f"{name}.{field} {at} {size}")
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {field}), '
                             f"sizeof(((struct {name} *)0)->{field}));")
        with tempfile.TemporaryDirectory(prefix="stepjail-test-") as folder:
            with open(folder + "/t.c", "w", encoding="utf-8") as file:
                file.write('#include <stdio.h>\n#include <stddef.h>\n#include "init/serve_wire.h"\n#include "init/media.h"\n'
                           f"int main(void) {{ {''.join(lines)} }}\n")
            subprocess.run(["gcc", "-I", TOP, "-o", folder + "/t", folder + "/t.c"], check=True)
            self.assertEqual(subprocess.check_output([folder + "/t"], text=True).splitlines(), told)

    def test_members(self):
        """Each member of each JSON object that serve sends is named."""
        parts = re.split(r"^\.It ([A-Z]+)\n", self.page.split(".Sh JSON\n")[1].split(".Sh REFUSALS")[0], flags=re.M)
        named = {name: set(re.findall(r"^\.Va (\w+)", words, re.M)) for name, words in zip(parts[1::2], parts[2::2])}
        seen = {name: set() for name in named}
        with Serve(OPTIONS) as serve:
            session = serve.open()
            seen["OPENED"] |= set(session.opened)
            seen["DONE"] |= set(session.run("x = 1").done)
            seen["STATE"] |= set(session.status())
            seen["STATE"] |= set(session.rollback(0))
            with self.assertRaises(Refused) as refused:
                session.rollback(99)
            seen["REFUSED"] |= set(refused.exception.json)
        for name, members in seen.items():
            self.assertLessEqual(members, named[name], name)
        for name in ("OPENED", "DONE", "STATE", "REFUSED"):
            self.assertGreater(len(seen[name]), 4, name)

    def test_example(self):
        """It runs, as it stands there."""
        (example,) = literals(self.page)
        got = said("/usr/bin/python3", "-c", example)
        self.assertEqual(got.returncode, 0, got.stderr)
        # output comes by a pipe, and a result by a socket
        self.assertRegex(got.stdout, r'\A(hello\n\n42\n|42\nhello\n\n)completed\n\{"reason":"the client has closed it"\}\n\Z')


class Form(unittest.TestCase):
    def test_lint(self):
        """No warning of either of the programs that show such pages; and both would warn."""
        tree = os.path.join(TOP, "rootfs/trees/stepjail-tree.1")
        for path in [os.path.join(BUILD, "stepjail-" + name) for name in ("policy.5", "protocol.7")] + [tree]:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for words in (["groff", "-mandoc", "-ww", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]):
                got = said(*words, path)
                self.assertEqual(got.stdout + got.stderr, "")
                bad = said(*words, input=text.replace(".El\n", "", 1).replace(".Sh S", ".Shh S", 1))
                self.assertNotEqual(bad.stdout + bad.stderr, "")


if __name__ == "__main__":
    unittest.main()
