# SPDX-License-Identifier: MIT
"""container.py - an OCI bundle as Docker would make it, with what a test changes in it

The defaults are those of a plain "docker run": fourteen capabilities, masked and read-only
places in /proc, a read-only /sys, a cgroup namespace, and a filter that has the effect of
Docker's on what a jail needs: no namespaces, no mounts, no keyrings, no bpf, and ENOSYS for
clone3, so that a libc falls back to clone.
"""
import json
import os
import sys

CAPABILITIES = ["CAP_" + name for name in (
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID",
    "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE")]
MASKED = ["/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
          "/proc/latency_stats", "/proc/scsi", "/proc/timer_list", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
REFUSED = ["mount", "umount2", "pivot_root", "setns", "unshare", "fsopen", "fsconfig", "fsmount",
           "move_mount", "open_tree", "mount_setattr", "keyctl", "add_key", "request_key", "bpf",
           "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv", "kexec_load",
           "init_module", "finit_module", "delete_module", "open_by_handle_at", "swapon",
           "reboot", "sethostname", "setdomainname", "acct", "quotactl"]
NAMESPACE_FLAGS = 0x7e020000
SECCOMP = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    "syscalls": [
        {"names": REFUSED, "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        # any namespace flag in clone's first argument; each bit is a rule of its own
        *({"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1,
           "args": [{"index": 0, "value": 1 << bit, "valueTwo": 1 << bit,
                     "op": "SCMP_CMP_MASKED_EQ"}]}
          for bit in range(32) if NAMESPACE_FLAGS >> bit & 1),
    ],
}


def mount(where, kind, *options, source=None):
    return {"destination": where, "type": kind, "source": source or kind, "options": [*options]}


def shared(path, *options):
    return mount(path, "bind", "rbind", "ro", *options, source=path)


def make_tree(folder):
    """A root tree that borrows the host's /usr."""
    for name in ("proc", "dev", "sys", "tmp", "run", "usr", "etc", "work"):
        os.makedirs(os.path.join(folder, name))
    for name in ("bin", "sbin", "lib", "lib64"):
        os.symlink("usr/" + name, os.path.join(folder, name))
    return folder


class Container:
    """One bundle; change .config before .write()."""

    def __init__(self, folder, shares, uid=0, gid=0):
        self.folder = folder
        tree = make_tree(os.path.join(folder, "tree"))
        capabilities = CAPABILITIES if uid == 0 else []
        self.config = {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": uid, "gid": gid}, "cwd": "/", "noNewPrivileges": False,
                "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/"],
                "capabilities": {"bounding": CAPABILITIES, "effective": capabilities,
                                 "permitted": capabilities, "inheritable": []},
            },
            "root": {"path": tree, "readonly": False},
            "hostname": "container",
            "mounts": [
                mount("/proc", "proc", "nosuid", "noexec", "nodev"),
                mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
                mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance",
                      "ptmxmode=0666", "mode=0620"),
                mount("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
                mount("/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"),
                mount("/dev/shm", "tmpfs", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"),
                mount("/run", "tmpfs", "nosuid", "nodev", "mode=755"),
                mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),
                shared("/usr"), *(shared(path) for path in shares),
            ],
            "linux": {
                "namespaces": [{"type": kind} for kind in
                               ("pid", "network", "ipc", "uts", "mount", "cgroup")],
                "maskedPaths": list(MASKED), "readonlyPaths": list(READ_ONLY),
                "seccomp": SECCOMP,
            },
        }

    def rootless(self, uid, gid):
        """In a user namespace with this one id in it, as a user's own engine makes it."""
        linux = self.config["linux"]
        linux["namespaces"].append({"type": "user"})
        linux["uidMappings"] = [{"containerID": 0, "hostID": uid, "size": 1}]
        linux["gidMappings"] = [{"containerID": 0, "hostID": gid, "size": 1}]
        return self

    def on_overlay(self, path):
        """Share a folder by an overlay of it; the shell's words that mount that."""
        over, empty = (os.path.join(self.folder, name) for name in ("over", "empty"))
        os.mkdir(over)
        os.mkdir(empty)
        for entry in self.config["mounts"]:
            if entry["source"] == path:
                entry["source"] = over
        return f"mount -t overlay -o lowerdir={path}:{empty} none {over}"

    def unconfined(self):
        """--security-opt seccomp=unconfined"""
        del self.config["linux"]["seccomp"]
        return self

    def unmasked(self):
        """--security-opt systempaths=unconfined"""
        self.config["linux"]["maskedPaths"] = self.config["linux"]["readonlyPaths"] = []
        return self

    def words(self, runtime):
        """The words that run a command in it, which follows them."""
        return ["/usr/bin/python3", os.path.abspath(__file__), self.write(), runtime]

    def write(self):
        path = os.path.join(self.folder, "config.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self.config, out)
        return self.folder


def main(folder, runtime, *words):
    """Complete the bundle with its command, and become the runtime."""
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as text:
        config = json.load(text)
    config["process"]["args"] = list(words)
    with open(path, "w", encoding="utf-8") as out:
        json.dump(config, out)
    state, name = os.path.join(folder, "state"), f"stepjail-test-{os.getpid()}"
    how = ["--cgroup-manager", "disabled"] if runtime == "crun" else ["--rootless", "true"]
    os.execvp(runtime, [runtime, "--root", state, *how, "run", "--bundle", folder, name])


if __name__ == "__main__":
    main(*sys.argv[1:])
