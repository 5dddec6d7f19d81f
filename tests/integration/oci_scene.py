# SPDX-License-Identifier: MIT
"""oci_scene.py - containers of stepjail-oci for the tests of it, without an engine

This process is what an engine's shim is: the subreaper that adopts a container's watcher, and
gets the program's exit status from it.
"""
import array
import copy
import ctypes
import json
import os
import socket
import subprocess
import tempfile
import time

from test_run import BUILD, PLAIN_ENV, TIMEOUT, Host, missing_words

OCI = os.path.join(BUILD, "stepjail-oci")
PR_SET_CHILD_SUBREAPER = 36
CONFIG = {
    "ociVersion": "1.0.2",
    "process": {"args": [], "cwd": "/", "env": ["PATH=/bin"], "user": {"uid": 0, "gid": 0}},
    "root": {"path": f"{BUILD}/rootfs/core", "readonly": True},
    "linux": {"namespaces": [{"type": kind} for kind in
                             ("pid", "ipc", "uts", "mount", "network")]},
}
UP = "print('up', flush=True); import time; time.sleep(1000)"


def merge(config, changes):
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(name), dict):
            merge(config[name], value)
        else:
            config[name] = value
    return config


class OciScene(Host):
    def setUp(self):
        super().setUp()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.make_folder("conf")
        self.make_folder("conf/stepjail")
        self.make_folder("state")
        words = missing_words(tuple(self.drop))
        self.file("conf/stepjail/defaults", "allow-missing cgroup\n" if words else "")
        self.env = PLAIN_ENV | {"XDG_CONFIG_HOME": f"{self.folder}/conf"}
        self.out = self.file("out")
        self.log = self.file("log")

    def command(self, *words, root="state"):
        return [*self.drop, OCI, "--root", f"{self.folder}/{root}", "--log", self.log,
                "--log-format", "json", *words]

    def oci(self, *words, **settings):
        """A command's end. A container holds stdout and stderr of its create: these are files."""
        with open(self.out, "ab") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run(self.command(*words, **settings), stdin=subprocess.DEVNULL,
                                  stdout=out if words[0] == "create" or "--detach" in words else subprocess.PIPE,
                                  stderr=err, timeout=TIMEOUT, check=False, env=self.env, text=True)
            err.seek(0)
            done.stderr = err.read()
            return done

    def done(self, *words):
        done = self.oci(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def refused(self, *words):
        """One line, on stderr and in the log; returns it."""
        done = self.oci(*words)
        self.assertEqual(done.returncode, 125, words)
        line = done.stderr.strip().split("\n")
        self.assertEqual(len(line), 1, line)
        with open(self.log, encoding="utf-8") as log:
            told = json.loads(log.read().strip().split("\n")[-1])
        self.assertEqual(told["level"], "error")
        self.assertIn(line[0], (f"stepjail-oci: {told['msg']}", f"stepjail: {told['msg']}"))
        return line[0]

    def bundle(self, name, program, changes=None):
        config = copy.deepcopy(CONFIG)
        config["process"]["args"] = ["/bin/python3", "-c", program, self.marker]
        merge(config, changes or {})
        self.make_folder(name)
        self.file(f"{name}/config.json", json.dumps(config))
        return f"{self.folder}/{name}"

    def create(self, name, program, changes=None):
        """Returns the watcher's pid, which this process has adopted."""
        bundle = self.bundle(f"bundle-{name}", program, changes)
        self.done("create", "--bundle", bundle, "--pid-file", f"{bundle}/pid", name)
        with open(f"{bundle}/pid", encoding="ascii") as pid:
            return int(pid.read())

    def state(self, name):
        return json.loads(self.done("state", name))

    def status(self, name):
        state = self.state(name)
        self.assertEqual(bool(state["pid"]), state["status"] != "stopped")
        return state["status"]

    def end(self, pid):
        """The exit status of a container, 128+N for signals, as engines tell it."""
        ended, last = (0, 0), time.monotonic() + TIMEOUT
        while ended[0] == 0:
            self.assertLess(time.monotonic(), last, "it does not end")
            ended = os.waitpid(pid, os.WNOHANG)
            time.sleep(0.001)
        status = os.waitstatus_to_exitcode(ended[1])
        return status if status >= 0 else 128 - status

    def output(self):
        with open(self.out, encoding="utf-8") as out:
            return out.read()

    def until(self, condition):
        end = time.monotonic() + TIMEOUT
        while not condition():
            self.assertLess(time.monotonic(), end, self.output())
            time.sleep(0.01)

    def wait_output(self, words):
        self.until(lambda: words in self.output())

    def listen(self):
        """What an engine listens at for terminals: a socket, and its path."""
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        path = f"{self.folder}/console"
        listener.bind(path)
        listener.listen()
        os.chmod(path, 0o666)
        return listener, path

    def type_into(self, listener):
        """The one terminal that has come gets a line; what its program printed is checked."""
        fds = array.array("i")
        with listener.accept()[0] as peer:
            fds.frombytes(peer.recvmsg(64, socket.CMSG_SPACE(4))[1][0][2])
        self.addCleanup(os.close, fds[0])
        os.write(fds[0], b"typed\n")
        got = b""
        while b"True True typed" not in got:
            got += os.read(fds[0], 1000)
