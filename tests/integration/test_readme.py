#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_readme.py - what the READMEs say is there: links, options, and the picture; and what make makes again"""
import glob
import os
import re
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.environ.get("STEPJAIL_BUILD", os.path.join(TOP, "build"))
READMES = sorted(path for path in glob.glob("**/README.md", root_dir=TOP, recursive=True)
                 if not path.startswith("build/"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as text:
        return text.read()


def anchors(text):
    """What the headings of a text can be linked to by, as GitHub makes it."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def broken(path, text):
    """The links of a README that lead to nothing."""
    for link in LINK.findall(text):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(os.path.join(TOP, target)) or \
                (anchor and anchor not in anchors(read(target))):
            yield link


def helped(program, *words):
    return subprocess.run([os.path.join(BUILD, program), *words], check=False, text=True,
                          capture_output=True).stdout


def unknown(text):
    """Options that a command line of a README gives to a program that has none of that name."""
    for program, words in re.findall(r"build/(stepjail(?:-agent)?) ((?:.|(?<=\\)\n)*)", text):
        command = words.split()[0]
        told = helped(program, command, "--help") + helped(program, command, "--help", "all") + \
            helped("stepjail", "run", "--help")
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", words.split(" -- ")[0]):
            if not re.search(rf"{option}\b(?!-)", told):
                yield f"{program} {command} {option}"


class Readme(unittest.TestCase):
    def test_links(self):
        for path in READMES:
            self.assertEqual(list(broken(path, read(path))), [], path)
        self.assertEqual(list(broken("README.md", "[a](jail/README.md#no-such-heading) [b](none)")),
                         ["jail/README.md#no-such-heading", "none"])

    def test_installed(self):
        """Each link of an installed README leads to another, and programs are not those of a build."""
        docs = re.search(r"^DOCS := (.*)$", read("Makefile"), re.M)[1].split()
        for path in docs:
            text = subprocess.run([os.path.join(TOP, "jail/mkreadme"), path, *docs], cwd=TOP, check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            targets = [os.path.normpath(os.path.join(os.path.dirname(path), link.split("#")[0]))
                       for link in LINK.findall(text) if not re.match(r"\w+:|#", link)]
            self.assertEqual([target for target in targets if target not in docs], [], path)
            self.assertEqual(list(broken(path, text)), [], path)
            self.assertEqual(re.findall(r"build/stepjail.*", text), [], path)

    def test_options(self):
        self.assertEqual(list(unknown(read("README.md"))), [])
        self.assertEqual(list(unknown("build/stepjail run --no-such --rootfs core")),
                         ["stepjail run --no-such"])

    def test_length(self):
        """The front door is read in a few minutes."""
        self.assertLessEqual(read("README.md").count("\n"), 250)

    def test_picture(self):
        """The picture shows what the demo shows today."""
        if os.path.realpath(BUILD) != os.path.join(TOP, "build"):
            self.skipTest("the build is not this checkout's")
        done = subprocess.run(["make", "-s", "picture-check"], cwd=TOP, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)


class Make(unittest.TestCase):
    """The libraries that are linked into all of it are made again where a version is another, and nothing else tells so."""

    def listed(self, *words, **more):
        """What make would do."""
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run(["make", "-n", "-C", TOP, *words, "all"], check=True, text=True, stdout=subprocess.PIPE,
                              env=environment | more).stdout

    def test_packages(self):
        now = self.listed()
        self.assertNotIn("jail/libs", now)
        # as after an apt-get of other packages
        self.assertEqual(self.listed("-W", "/var/lib/dpkg/status", "-W", "jail/libs"), now)
        with tempfile.TemporaryDirectory() as folder:
            for name, line in ("dpkg-query", "libnl-3-dev 1:9"), ("gcc", "gcc 99"):
                with self.subTest(name):
                    path = f"{folder}/{name}"
                    with open(path, "w", encoding="ascii") as file:
                        file.write(f'#!/bin/sh\n/usr/bin/{name} "$@" && echo "{line}"\n')
                    os.chmod(path, 0o755)
                    listed = self.listed(PATH=f"{folder}:{os.environ['PATH']}")
                    for line in "jail/libs build\n", "jail/built build\n", "CC   jail/main.c", "LINK build/stepjail\"":
                        self.assertIn(line, listed)
                    os.unlink(path)


if __name__ == "__main__":
    unittest.main()
