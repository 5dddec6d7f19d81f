#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_config.py - defaults of options: variables, and the file agent.conf"""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import AgentCase, fence  # noqa: E402


class Config(AgentCase):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("config/stepjail"))
        self.conf = self.path("config/stepjail/agent.conf")

    def env(self, **more):
        return super().env(XDG_CONFIG_HOME=self.path("config"), **more)

    def write(self, text, mode=0o644):
        with open(self.conf, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.conf, mode)

    def inputs(self, *args, **variables):
        """What a run's jails were made with."""
        record = self.path("t.jsonl")
        status, out, err = self.solve("--model", self.script(fence("print(1)"), "Done."), "--transcript", record, *args,
                                      env=self.env(**variables))
        self.assertEqual(status, 0, out + err)
        with open(record, encoding="utf-8") as f:
            inputs = json.loads(f.readline())["inputs"]
        os.unlink(record)
        return inputs

    def refused(self, *words, args=(), **variables):
        status, out, err = self.solve("--model", self.script("Done."), *args, env=self.env(**variables))
        self.assertEqual((status, out), (125, ""), err)
        self.one_line(err, *words)

    def test_order(self):
        """The table, the file, variables, the command line: what comes later wins."""
        self.assertEqual(self.inputs()["step_ms"], 60000)
        self.write("# of mine\n\n  step-time   5s  \nmemory 64M\n")
        got = self.inputs()
        self.assertEqual((got["step_ms"], got["options"]["memory"]), (5000, "64M"))
        got = self.inputs(STEPJAIL_STEP_TIME="6s", STEPJAIL_MEMORY="")
        self.assertEqual((got["step_ms"], got["options"]["memory"]), (6000, "64M"))
        got = self.inputs("--step-time", "7s", STEPJAIL_STEP_TIME="6s", STEPJAIL_MEMORY="96M")
        self.assertEqual((got["step_ms"], got["options"]["memory"]), (7000, "96M"))

    def test_lists_and_names_alone(self):
        for name in "abc":
            self.path(name, name)
        self.write("file %s\nfile %s\ndeterministic\n" % (self.path("a"), self.path("b")))
        got = self.inputs()
        self.assertEqual([f["name"] for f in got["files"]], ["a", "b"])
        self.assertEqual(got["options"]["deterministic"], "yes")
        for args, variables in ((("--file", self.path("c")), {}), ((), {"STEPJAIL_FILE": self.path("c")})):
            self.assertEqual([f["name"] for f in self.inputs(*args, **variables)["files"]], ["c"])

    def test_what_would_have_no_effect(self):
        """An option that needs another one is left out without it, but on the command line."""
        self.write("seed 7\nout-limit 1M\n")
        self.assertNotIn("seed", self.inputs()["options"])
        self.assertEqual(self.inputs("--deterministic")["options"]["seed"], "7")
        self.write("seed 7\ndeterministic yes\n")
        self.assertEqual(self.inputs()["options"]["seed"], "7")
        self.write("deterministic\n")
        self.assertEqual(self.inputs("--seed", "8")["options"]["seed"], "8")

    def test_another_file_or_none(self):
        self.write("step-time 5s\n")
        other = self.path("other.conf", "step-time 8s\n")
        self.assertEqual(self.inputs("--config", other)["step_ms"], 8000)
        self.assertEqual(self.inputs(STEPJAIL_CONFIG=other)["step_ms"], 8000)
        self.assertEqual(self.inputs("--config", self.conf, STEPJAIL_CONFIG=other)["step_ms"], 5000)
        self.assertEqual(self.inputs("--config=none", STEPJAIL_CONFIG=other)["step_ms"], 60000)
        self.assertEqual(self.inputs("--config=none", STEPJAIL_STEP_TIME="9s")["step_ms"], 9000)
        self.refused("--config: ", "no.conf", "No such file", args=("--config", self.path("no.conf")))

    def test_where_it_is(self):
        """Without XDG_CONFIG_HOME it is below HOME; a relative one is ignored."""
        os.makedirs(self.path("home/.config/stepjail"))
        self.path("home/.config/stepjail/agent.conf", "step-time 11s\n")
        home = self.path("home")
        for config in ("", "config"):
            env = {**self.env(HOME=home), "XDG_CONFIG_HOME": config}
            got, out, err = self.solve("--json", "--model", self.script("Done."), "--step-time=0s", env=env)
            self.assertEqual(got, 125, out + err)  # given: it wins
            record = self.path(f"home{config}.jsonl")
            got, out, err = self.solve("--model", self.script("Done."), "--transcript", record, env=env)
            self.assertEqual(got, 0, out + err)
            with open(record, encoding="utf-8") as f:
                self.assertEqual(json.loads(f.readline())["inputs"]["step_ms"], 11000)
        self.assertIn("agent.conf", self.run_agent("solve", "--help")[1])
        if os.geteuid() != 0:  # a home that is somebody else's
            os.chmod(home, 0)
            env = {**self.env(HOME=home), "XDG_CONFIG_HOME": ""}
            self.assertEqual(self.solve("--model", self.script("Done."), env=env)[0], 0)
            os.chmod(home, 0o700)

    def test_mistakes_name_file_and_line(self):
        for text, words in (("no-such 1\n", ":1: 'no-such' is not an option"),
                            ("\n# x\nstep-time soon\n", ":3: --step-time: 'soon' is not a time"),
                            ("steps 0\n", ":1: --steps: '0' is not between 1 and 1000"),
                            ("color blue\n", ":1: --color: 'blue' is not one of"),
                            ("json maybe\n", ":1: --json: 'maybe' is not one of"), ("steps\n", ":1: --steps: needs a value"),
                            ("steps 1\nsteps 2\n", ":2: --steps: given twice"),
                            ("steps 1\r\n", "carriage return"), ("steps 1\0\n", "NUL")):
            with self.subTest(text=text):
                self.write(text)
                self.refused(self.conf, words)
        self.write("")
        self.refused("STEPJAIL_STEPS: --steps: 'many' is not a whole number", STEPJAIL_STEPS="many")

    def test_whose_file(self):
        for mode in (0o664, 0o646):
            self.write("step-time 5s\n", mode)
            self.refused("--config: ", self.conf, f"mode {mode:04o}", "only you and root may be able to write to it")
        self.write("step-time 5s\n", 0o600)
        self.assertEqual(self.inputs()["step_ms"], 5000)
        if os.geteuid() == 0:
            os.chmod(self.conf, 0o644)
            os.chown(self.conf, 12345, 12345)
            self.refused("--config: ", self.conf, "belongs to uid 12345")
        os.unlink(self.conf)
        os.mkfifo(self.conf)
        self.refused("--config: ", self.conf, "not a regular file")

    def test_another_users_folder(self):
        """Who owns a folder on the way, or a link, chooses the file: root's own is not read, nor quoted."""
        if os.geteuid() != 0:
            self.skipTest("lacks root, who can give a folder away")
        os.mkdir(self.path("roots"))
        secret = self.path("roots/agent.conf", "of-root:secret 1\n")
        for name, target in (("config/stepjail/agent.conf", secret), ("config/stepjail", self.path("roots"))):
            place = self.path(name)
            shutil.rmtree(place) if os.path.isdir(place) else os.path.exists(place) and os.unlink(place)
            os.symlink(target, place)
            self.refused(":1: 'of-root:secret' is not an option")  # one's own link
            os.lchown(place, 12345, 12345)
            for variables in ({}, {"STEPJAIL_CONFIG": self.conf}) if target == secret else ({},):
                self.refused(f"--config: {self.conf} is not read: {place} belongs to uid 12345", **variables)
        os.unlink(place)
        os.mkdir(place)
        self.write("of-root:secret 1\n")
        os.chown(self.path("config"), 12345, 12345)
        self.refused(f"--config: {self.conf} is not read: {self.path('config')} belongs to uid 12345")
        os.unlink(self.conf)
        self.assertEqual(self.inputs()["step_ms"], 60000)

    def test_variables_that_are_no_options(self):
        """The key and what tests use; and nobody gets the key by that."""
        self.assertEqual(self.inputs(STEPJAIL_API_KEY="x", STEPJAIL_RUN="x", STEPJAIL_BUILD="x", STEPJAIL_NO_SUCH="x"),
                         self.inputs())

    def test_options_of_other_commands(self):
        """One file is for all commands; what stands in for a transcript's own is for none."""
        record = self.path("t.jsonl")
        self.write("file /no/such/file\nrootfs no-such-tree\nskills /no/such\nsteps 3\nkeep-going\nstepjail %s\n" % self.fake)
        got, out, err = self.run_agent("solve", "The task.", "--file", self.path("a", "a"), "--rootfs", "core", "--skills",
                                       self.folder, "--model", self.script(fence("print(1)"), "Done."), "--transcript", record)
        self.assertEqual(got, 0, out + err)
        with open(record, encoding="utf-8") as f:
            skills = json.loads(f.readline())["inputs"]["skills"]["dir"]
        self.one_line(self.run_agent("replay", record)[2], skills, "give it by --skills")
        got, out, err = self.run_agent("replay", record, "--skills", skills)
        self.assertIn("1 step run again", out + err)
        self.assertEqual(self.run_agent("check")[0], 0)
        self.assertEqual(self.run_agent("verify", record)[0], 0)


if __name__ == "__main__":
    unittest.main()
