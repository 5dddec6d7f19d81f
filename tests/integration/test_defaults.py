#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_defaults.py - where options come from: files of defaults, a policy, the command line"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import PLAIN_ENV, STEPJAIL, TIMEOUT, Host, each_user  # noqa: E402


class Layers(Host):
    def tool(self, *words, env=PLAIN_ENV):
        return subprocess.run([*self.drop, STEPJAIL, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT, check=False, env=env)

    def explained(self, *words, **more):
        done = self.tool("explain", *words, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def defaults(self, home, text, mode=0o644):
        """A file of defaults below @home, and its path."""
        self.make_folder(home)
        self.make_folder(home + "/stepjail")
        return self.file(home + "/stepjail/defaults", text, mode)

    def test_what_replaces_what(self):
        """Defaults of the user, policy, command line, wherever --policy stands in it."""
        self.make_folder("home")
        self.defaults("home/.config", "pids 11\nfiles 12\nhostname one\nenv A=1\nenv B=1\n"
                                      "allow-missing cgroup\nsessions 1\n")
        environment = {**PLAIN_ENV, "HOME": self.folder + "/home"}
        policy = self.file("policy", "files 22\nhostname two\nenv B=2\nbind /etc:/tmp/e\n"
                                     "allow-missing cgroup\n")
        told = self.explained("--hostname", "three", "--policy", policy, "--bind", "/usr:/tmp/e",
                              "--allow-missing=audit", env=environment)
        for line in ("pids 11", "files 22", "hostname three", "env A=1", "env B=2",
                     "bind /usr:/tmp/e", "allow-missing cgroup", "allow-missing audit", "sessions 1"):
            self.assertEqual(told.count(line), 1, line)
        self.assertNotIn("bind /etc:/tmp/e", told)
        # the plan that explain prints is a policy that nothing is added to
        policy = self.file("plan", "\n".join(told) + "\n")
        self.assertEqual(self.explained("--policy", policy, env=environment), told)
        environment["XDG_CONFIG_HOME"] = self.folder
        self.assertIn("pids 64", self.explained(env=environment))
        environment["XDG_CONFIG_HOME"] += "/home/.config"
        self.assertIn("pids 11", self.explained(env={**environment, "HOME": "/nowhere"}))

    def test_what_a_file_of_defaults_allows(self):
        """Is no news at each run; check says that it is in force, and gives one cause once."""
        if "--allow-missing" not in self.words(report=False):
            self.skipTest("cgroup v2 is here")
        self.make_folder("home")
        self.defaults("home/.config", "allow-missing cgroup\n")
        environment = {**PLAIN_ENV, "HOME": self.folder + "/home"}
        ran = self.tool("run", "/bin/python3", "-c", "print(1)", env=environment)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "1\n", ""))
        asked = self.tool("run", "--allow-missing=cgroup", "/bin/python3", "-c", "print(1)")
        self.assertIn("no cgroup limits are enforced", asked.stderr)
        checked = self.tool("check", env=environment)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        row, = (line for line in checked.stdout.splitlines() if " cgroup v2 " in line)
        self.assertRegex(row, r"^absent +cgroup v2 +allowed by allow-missing cgroup, .*not_enforced")
        self.assertNotIn("--allow-missing", row)
        checked = self.tool("check")
        self.assertEqual(checked.stdout.count("--allow-missing=cgroup"), 1)
        self.assertRegex(checked.stdout, r"missing  a whole jail +for the same cause as: cgroup v2\n")

    def test_a_home_that_is_closed(self):
        """That of another user, whose name was taken over with the environment."""
        if not self.drop:
            self.skipTest("lacks root, who can give a folder away")
        self.defaults("home", "nonsense\n")
        os.chown(f"{self.folder}/home", 0, 0)
        os.chmod(f"{self.folder}/home", 0o700)
        self.assertIn("pids 64", self.explained(
            env={**PLAIN_ENV, "XDG_CONFIG_HOME": self.folder + "/home"}))

    def test_wrong_defaults(self):
        for number, (text, mode, said) in enumerate((
                ("pids 5\n", 0o666, "chmod"), ("pids 5\n", 0o620, "chmod"),
                ("pids x\n", 0o644, "line 1: pids"), ("nonsense\n", 0o644, "nonsense"))):
            path = self.defaults(f"c{number}", text, mode)
            done = self.tool("explain", env={**PLAIN_ENV,
                                             "XDG_CONFIG_HOME": f"{self.folder}/c{number}"})
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn(path, done.stderr)
            self.assertIn(said, done.stderr)
        os.remove(path)
        os.mkfifo(path)
        done = self.tool("explain", env={**PLAIN_ENV, "XDG_CONFIG_HOME": f"{self.folder}/c3"})
        self.assertIn("is no file", done.stderr)

    def test_defaults_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("lacks root, who can give a file away")
        os.chown(self.defaults("home", "pids 5\n"), 12345, 12345)
        done = self.tool("explain", env={**PLAIN_ENV, "XDG_CONFIG_HOME": self.folder + "/home"})
        self.assertEqual(done.returncode, 125)
        self.assertIn("uid 12345", done.stderr)

    def test_the_hosts_in_a_user_namespace(self):
        """Its owner has no number there, so nobody there can write it. A user's own is another's."""
        self.make_folder("etc")
        self.make_folder("etc/stepjail")
        place = self.file("etc/stepjail/defaults", "", 0o644)
        mine = self.defaults("home", "")
        another = "line 1" if os.geteuid() == 0 and not self.drop else "belongs to uid"  # root's own is root's there, too
        for ids in ("--map-root-user", "--map-user=1000"):
            for over, at, said in ((place, "", "line 1"), (mine, f"{self.folder}/home", another)):
                # a file of the host's root, and its line is no option
                done = subprocess.run(
                    [*self.drop, "unshare", "--user", "--map-root-user", "--mount", "sh", "-ec",
                     f"mount --bind /etc/debian_version {over}; mount --rbind {self.folder}/etc /etc;"
                     f" exec unshare --user {ids} {STEPJAIL} explain"],
                    env={**PLAIN_ENV, "XDG_CONFIG_HOME": at}, capture_output=True, text=True,
                    timeout=TIMEOUT, check=False)
                self.assertEqual((done.returncode, done.stdout), (125, ""))
                self.assertIn(said, done.stderr)

    def test_another_users_folder(self):
        """Who owns a folder on the way, or a link, chooses the file: root's own is not read, nor quoted."""
        if os.geteuid() != 0:
            self.skipTest("lacks root, who can give a folder away")
        self.make_folder("roots")
        secret = self.file("roots/defaults", "of-root:secret 1\n", 0o644)
        self.make_folder("home")
        self.make_folder("home/stepjail")
        for name, target in (("defaults", secret), ("", self.folder + "/roots")):
            place = f"{self.folder}/home/stepjail/{name}".rstrip("/")
            if not name:
                os.unlink(place + "/defaults")
                os.rmdir(place)
            os.symlink(target, place)
            os.lchown(place, 12345, 12345)
            done = self.tool("explain", env={**PLAIN_ENV, "XDG_CONFIG_HOME": self.folder + "/home"})
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn(f"/home/stepjail/defaults is not read: {place} belongs to uid 12345", done.stderr)
            self.assertNotIn("secret", done.stderr)
            os.lchown(place, 0, 0)
            self.assertIn("of-root:secret", self.tool("explain", env={
                **PLAIN_ENV, "XDG_CONFIG_HOME": self.folder + "/home"}).stderr)
        os.chown(f"{self.folder}/home", 12345, 12345)
        done = self.tool("explain", env={**PLAIN_ENV, "XDG_CONFIG_HOME": self.folder + "/home"})
        self.assertIn("/home belongs to uid 12345", done.stderr)

    def test_sizes_as_people_write_them(self):
        for text in ("256M", "256m", "256MB", "256mb", "256MiB", "262144k", "0.25G", "268435456",
                     "268435456B"):
            self.assertIn("memory 256M", self.explained("--memory", text))
        for text in ("256i", "256iB", "256MBB", "256 M", "256Mi"):
            done = self.tool("explain", "--memory", text)
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn("--memory: ", done.stderr)


globals().update(each_user(Layers))

if __name__ == "__main__":
    unittest.main()
