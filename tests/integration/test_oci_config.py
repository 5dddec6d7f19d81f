#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_config.py - what stepjail-oci makes of a config.json, and what it refuses by name"""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from oci_scene import OCI, OciScene  # noqa: E402
from test_run import each_user  # noqa: E402

# of a container in a pod
POD = {"pid": None, "ipc": "/proc/1/ns/ipc", "uts": "/proc/1/ns/uts", "mount": None, "network": "/run/netns/pod"}


def listed(namespaces):
    return [{"type": kind} | ({"path": path} if path else {}) for kind, path in namespaces.items()]


# what is set in a config, and what the refusal names
REFUSED = (
    ({"process": {"capabilities": {"bounding": ["CAP_CHOWN", "CAP_SYS_ADMIN"]}}}, "CAP_SYS_ADMIN"),
    ({"process": {"capabilities": {"ambient": ["CAP_SYS_PTRACE"]}}}, "CAP_SYS_PTRACE"),
    ({"process": {"rlimits": [{"type": "RLIMIT_STACK", "soft": 1, "hard": 1}]}}, "RLIMIT_STACK"),
    ({"process": {"rlimits": [{"type": "RLIMIT_NOFILE", "soft": "x"}]}}, "soft"),
    ({"process": {"terminal": True}}, "process.terminal"),
    ({"process": {"env": ["A=1\nallow-syscall keyctl"]}}, "--env"),
    ({"process": {"env": [1]}}, "process.env"),
    ({"process": {"args": []}}, "process.args"),
    ({"process": {"args": [None]}}, "process.args"),
    ({"process": {"cwd": "x"}}, "chdir"),
    ({"process": {"cwd": 1}}, "process.cwd"),
    ({"process": {"commandLine": "x"}}, "process.commandLine"),
    ({"root": {"path": "nowhere"}}, "root.path"),
    ({"root": {"path": 1}}, "root.path"),
    ({"root": 1}, "root"),
    ({"ociVersion": "2.0.0"}, "ociVersion"),
    ({"hostname": "a b"}, "hostname"),
    ({"domainname": "x"}, "domainname"),
    ({"hooks": {"prestart": [{"path": "/bin/true"}]}}, "hooks.prestart"),
    ({"hooks": {"createRuntime": [{"path": "/bin/true"}]}}, "hooks.createRuntime"),
    ({"linux": {"namespaces": []}}, "linux.namespaces"),
    ({"linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"},
                               {"type": "mount"}]}}, "network"),
    ({"linux": {"namespaces": [{"type": "network", "path": "/proc/1/ns/net"}]}}, "pid is missing"),
    ({"linux": {"namespaces": [{"type": "pid", "path": "/proc/1/ns/pid"}]}}, "pid with a path"),
    ({"linux": {"namespaces": listed(POD | {"network": "/proc/self/ns/net"})}}, "--net=/proc/self/ns/net"),
    ({"linux": {"namespaces": listed(POD | {"network": "net"})}}, "--net"),
    ({"linux": {"namespaces": listed(POD | {"mount": "/proc/1/ns/mnt"})}}, "mount with a path"),
    ({"linux": {"namespaces": [{"type": "moon"}]}}, "moon"),
    ({"linux": {"devices": [{"path": "/dev/sda", "type": "b"}]}}, "/dev/sda"),
    ({"linux": {"sysctl": {"kernel.shm_rmid_forced": "1"}}}, "kernel.shm_rmid_forced"),
    ({"linux": {"maskedPaths": ["/proc/kcore", "/etc/shadow"]}}, "/etc/shadow"),
    ({"linux": {"maskedPaths": ["/process"]}}, "/process"),
    ({"linux": {"readonlyPaths": ["/work/a"]}}, "/work/a"),
    ({"linux": {"seccomp": {"defaultAction": "SCMP_ACT_ALLOW"}}}, "linux.seccomp"),
    ({"linux": {"seccomp": {"listenerPath": "/x", "defaultAction": "SCMP_ACT_ERRNO"}}},
     "linux.seccomp"),
    ({"linux": {"resources": {"memory": {"limit": "1G"}}}}, "linux.resources.memory.limit"),
    ({"linux": {"resources": {"memory": {"disableOOMKiller": True}}}}, "disableOOMKiller"),
    ({"linux": {"resources": {"unified": {"memory.max": "1"}}}}, "unified"),
    ({"linux": {"resources": {"unified": {"memory.oom.group": 1}}}}, "memory.oom.group"),
    ({"linux": {"resources": {"hugepageLimits": [{"pageSize": "2MB", "limit": 0}, {"pageSize": "1GB", "limit": 5}]}}},
     "linux.resources.hugepageLimits: it is refused: a jail can map no huge page"),
    ({"linux": {"resources": {"hugepageLimits": [{"pageSize": "2MB"}]}}}, "hugepageLimits"),
    ({"linux": {"resources": {"rdma": {"mlx5": {"hcaHandles": 1}}}}}, "linux.resources.rdma"),
    ({"mounts": [{"destination": "/a", "type": "ext4", "source": "/dev/sda"}]}, "ext4"),
    ({"mounts": [{"destination": "/a", "type": "tmpfs"}]}, "tmpfs"),
    ({"mounts": [{"destination": "/dev/kvm", "type": "bind", "source": "/etc/hostname",
                  "options": ["ro"]}]}, "/dev"),
    ({"mounts": [{"destination": "/proc/1", "type": "bind", "source": "/etc/hostname",
                  "options": ["ro"]}]}, "/proc"),
    ({"mounts": [{"destination": "/a/../b", "type": "bind", "source": "/etc/hostname"}]}, "/a/../b"),
    ({"mounts": [{"destination": "/a:/b", "type": "bind", "source": "/etc/hostname"}]}, "/a:/b"),
    ({"mounts": [{"destination": "/a", "type": "bind", "source": "/etc/hostname",
                  "options": ["bind", "shared"]}]}, "shared"),
    ({"mounts": [{"destination": "/a", "type": "bind", "source": "/nowhere"}]}, "/nowhere"),
)


class OciConfig(OciScene):
    def test_refused_members(self):
        for changes, name in REFUSED:
            with self.subTest(changes=changes):
                bundle = self.bundle("bundle", "1", changes)
                self.assertIn(name, self.refused("create", "--bundle", bundle, "a"))
                self.assertEqual(os.listdir(f"{self.folder}/state"), [])
                os.unlink(f"{bundle}/config.json")
                os.rmdir(bundle)

    def test_bad_input(self):
        bundle = self.bundle("bundle", "1")
        for text in ("", "[]", "{", "{}", "{} {}", '{"ociVersion": "1.0.2"}',
                     '{"process": {"args": ["a\\u0000b"]}}', "{\0}", "[" * 5000):
            self.file("bundle/config.json", text)
            self.assertIn("config.json", self.refused("create", "--bundle", bundle, "a"))
        os.unlink(f"{bundle}/config.json")
        self.assertIn("config.json", self.refused("create", "--bundle", bundle, "a"))
        self.assertIn("nowhere", self.refused("create", "--bundle", "nowhere", "a"))
        whole = self.bundle("whole", "1")
        for name in ("", "a/b", "..", ".a", "a b", "ä", "a" * 201):
            self.assertIn("no container's name", self.refused("create", "--bundle", whole, name))
            self.assertIn("no container's name", self.refused("state", name))
        for words in (("create",), ("create", "a", "b"), ("kill", "a", "9", "9"), ("state",),
                      ("nonsense",), ("create", "--bundle"), ("create", "--nonsense", "a"),
                      ("features", "a")):
            self.refused(*words)
        self.assertIn("update: ", self.refused("update", "a"))
        self.assertEqual(os.listdir(f"{self.folder}/state"), [])

    def test_what_cannot_be_made(self):
        """A jail that fails on its way: its own words are told, and nothing is left."""
        bundle = self.bundle("bundle", "1", {"process": {"cwd": "/nowhere"}})
        done = self.oci("create", "--bundle", bundle, "a")
        self.assertEqual(done.returncode, 125)
        with open(self.log, encoding="utf-8") as log:
            self.assertIn("/nowhere", json.loads(log.read())["msg"])
        self.assertEqual(os.listdir(f"{self.folder}/state"), [])
        pid = self.create("b", "1", {"process": {"args": ["/bin/nowhere", self.marker]}})
        self.assertIn("/bin/nowhere: No such file", self.refused("start", "b"))
        self.assertEqual(self.end(pid), 127)
        self.done("delete", "b")
        self.assertIn("--preserve-fds", self.refused("create", "--preserve-fds", "1", "--bundle",
                                                     self.bundle("c", "1"), "c"))

    def test_what_it_shows(self):
        """Binds, limits, the host's name, devices, and what engines list by default."""
        self.make_folder("shown", 0o777)
        self.file("shown/file", "shown\n")
        program = ("import os, resource, socket; print(open('/a/file').read(), end='');"
                   "open('/b/new', 'w').write('x'); print(socket.gethostname(), "
                   "resource.getrlimit(resource.RLIMIT_NOFILE)[0], sorted(os.listdir('/dev')))\n"
                   "try: open('/a/new', 'w')\nexcept OSError as e: print(e.errno in (13, 30))")
        mounts = [{"destination": at, "type": kind, "source": kind, "options": ["nosuid"]}
                  for at, kind in (("/proc", "proc"), ("/dev", "tmpfs"), ("/dev/pts", "devpts"),
                                   ("/dev/shm", "tmpfs"), ("/dev/mqueue", "mqueue"),
                                   ("/sys", "sysfs"), ("/run", "tmpfs"),
                                   ("/sys/fs/cgroup", "cgroup"))]
        mounts += [{"destination": "/a", "type": "bind", "source": f"{self.folder}/shown",
                    "options": ["rbind", "ro"]},
                   {"destination": "/b", "type": "bind", "source": f"{self.folder}/shown",
                    "options": ["bind", "rprivate"]}]
        pid = self.create("a", program, {
            "hostname": "host-a", "mounts": mounts, "hooks": {"prestart": []},
            "process": {"rlimits": [{"type": "RLIMIT_NOFILE", "soft": 99, "hard": 99}],
                        "capabilities": {"bounding": ["CAP_CHOWN"]}, "noNewPrivileges": True},
            "linux": {"resources": {"memory": {"limit": 1 << 27}, "pids": {"limit": 20},
                                    "cpu": {"shares": 1024}, "devices": [{"allow": False}]},
                      "maskedPaths": ["/proc/kcore", "/sys/firmware"],
                      "readonlyPaths": ["/proc/sys", "/proc/bus"], "seccomp": {
                          "defaultAction": "SCMP_ACT_ERRNO"}}, "com.example": {"x": 1}})
        self.done("start", "a")
        self.assertEqual(self.end(pid), 0)
        self.assertEqual(self.output(), "shown\nhost-a 99 ['fd', 'full', 'null', 'random', 'shm', "
                                        "'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']\n"
                                        "True\n")
        with open(f"{self.folder}/state/a/plan", encoding="utf-8") as plan:
            lines = plan.read().split("\n")
        for line in ("memory 128M", "pids 20", "files 99", "wall-time unlimited", "cpu-weight 39"):
            self.assertIn(line, lines)
        with open(f"{self.folder}/state/a/report.json", encoding="utf-8") as report:
            self.assertEqual(json.load(report)["verdict"], "completed")
        self.done("delete", "a")

    def test_what_it_says_of_itself(self):
        done = subprocess.run([OCI, "--version"], stdout=subprocess.PIPE, check=True, text=True)
        self.assertRegex(done.stdout, r"\Astepjail-oci version \S+\nspec: 1\.0\.2\ncommit: ")
        self.assertIn("linux", json.loads(self.done("features")))
        bundle = self.bundle("bundle", "1", {"process": {"oomScoreAdj": 5}, "other": 1})
        told = self.done("explain", "--bundle", bundle)
        for line in ("process.oomScoreAdj: ", "other: not of the specification", "--net=loopback"):
            self.assertIn(line, told)
        bundle = self.bundle("pod", "1", {
            "process": {"env": ["A=b", "HOSTNAME=pod-1"]}, "linux": {"namespaces": listed(POD), "sysctl": {
                "net.ipv4.ip_unprivileged_port_start": "0"}, "resources": {
                "unified": {"memory.oom.group": "1"}, "hugepageLimits": [{"pageSize": "2MB", "limit": 0}]}}})
        told = self.done("explain", "--bundle", bundle).split("\n")
        for line in "--net=/run/netns/pod", "--hostname=pod-1", "--env=HOSTNAME=pod-1", "--oom-group=yes":
            self.assertIn(line, told)
        self.assertNotIn("--net=loopback", told)
        bundle = self.bundle("named", "1", {"hostname": "own", "process": {"env": ["HOSTNAME=other"]}})
        self.assertIn("--hostname=own\n", self.done("explain", "--bundle", bundle))
        for text in "", "a b", "http://x", "a" * 65:
            bundle = self.bundle(f"text{len(text)}", "1", {"process": {"env": [f"HOSTNAME={text}"]}})
            told = self.done("explain", "--bundle", bundle)
            self.assertIn(f"--env=HOSTNAME={text}\n", told)
            self.assertNotIn("--hostname=", told)
        self.assertIn("create", self.done("help"))


globals().update(each_user(OciConfig))

if __name__ == "__main__":
    unittest.main()
