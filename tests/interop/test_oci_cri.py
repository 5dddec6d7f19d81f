#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_cri.py - pods as Kubernetes asks containerd for them, by stepjail-oci

A client of the Container Runtime Interface says what a kubelet says: the members of a pod and of its
containers with their usual values. Its messages are written field by field (api.proto of Kubernetes,
runtime.v1). containerd has a network and mounts of its own, in which CNI's plugins make the pods' bridge.
"""
import concurrent.futures
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import test_oci_engines as engines  # noqa: E402

try:
    import grpc
except ImportError:
    grpc = None

PLACE = f"{engines.WORK}/cri"
IMAGE = "docker.io/library/core:1"
PAUSE = "import signal; signal.signal(15, lambda *a: exit(0)); signal.pause()"
PLUGINS = "/usr/lib/cni"
POD, CONTAINER = 0, 1  # NamespaceMode
RUNNING, EXITED = 1, 2  # ContainerState
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
CONFIG = f"""version = 2
root = "{PLACE}/root"
state = "{PLACE}/state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{PLACE}/socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{PLACE}/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    default_runtime_name = "stepjail"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stepjail]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stepjail.options]
        BinaryName = "{engines.RUNTIME}"
"""
NETWORK = {"cniVersion": "0.4.0", "name": "pods", "plugins": [
    {"type": "bridge", "bridge": "pods", "isGateway": True,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.99.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
START = """ip link set lo up; mkdir -p /run/netns /var/lib/cni
mount -t tmpfs none /run/netns; mount -t tmpfs none /var/lib/cni; exec containerd -c "$1" """


def number(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def message(fields):
    """Of pairs (number of the field, int, text or pairs)."""
    out = b""
    for field, value in fields:
        if isinstance(value, int):
            out += number(field << 3) + number(value)
        else:
            value = value.encode() if isinstance(value, str) else message(value)
            out += number(field << 3 | 2) + number(len(value)) + value
    return out


def fields_of(data):
    """{number of a field: what came for it, the last one}"""
    found, at = {}, 0

    def take():
        nonlocal at
        n = shift = 0
        while True:
            byte, at = data[at], at + 1
            n, shift = n | (byte & 127) << shift, shift + 7
            if byte < 128:
                return n
    while at < len(data):
        key = take()
        length = take()
        found[key >> 3] = length
        if key & 7 == 2:
            found[key >> 3], at = data[at:at + length], at + length
    return found


def make_image():
    layer = f"{PLACE}/layer.tar"
    subprocess.run(["tar", "-cf", layer, "-C", engines.TREE, "."], check=True)
    with open(layer, "rb") as data:
        digest = hashlib.file_digest(data, "sha256").hexdigest()
    config = json.dumps({"architecture": {"x86_64": "amd64"}.get(os.uname().machine, "arm64"), "os": "linux",
                         "config": {"Entrypoint": ["/bin/python3", "-c", PAUSE]},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]}}).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    listed = json.dumps([{"Config": name, "RepoTags": [IMAGE.split("/")[-1]], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(f"{PLACE}/image.tar", "w") as out:
        for path, data in ((name, config), ("manifest.json", listed)):
            row = tarfile.TarInfo(path)
            row.size = len(data)
            out.addfile(row, io.BytesIO(data))
        out.add(layer, "layer.tar")
    os.unlink(layer)


class Pods(engines.Scene, unittest.TestCase):
    name, programs, daemon = "cri", ("containerd", "ctr", "containerd-shim-runc-v2", "ip"), None
    engine = ["ctr", "-a", f"{PLACE}/socket", "-n", "k8s.io"]

    @classmethod
    def begin(cls):
        if grpc is None or not os.path.exists(f"{PLUGINS}/bridge"):
            raise unittest.SkipTest("lacks python3-grpcio or containernetworking-plugins: make interop-oci installs them")
        for name, text in (("config.toml", CONFIG), ("net.d/10-pods.conflist", json.dumps(NETWORK))):
            os.makedirs(os.path.dirname(f"{PLACE}/{name}"), exist_ok=True)
            with open(f"{PLACE}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        make_image()
        with open(f"{PLACE}/log", "ab") as log:
            cls.daemon = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-ec", START, "sh", f"{PLACE}/config.toml"],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + engines.TIMEOUT
        while cls.call("version").returncode:
            if cls.daemon.poll() is not None or time.monotonic() > end:
                raise unittest.SkipTest(f"containerd does not start: see {PLACE}/log")
            time.sleep(0.05)
        if cls.call("images", "import", f"{PLACE}/image.tar").returncode:
            raise AssertionError("the image is not taken")
        cls.channel = grpc.insecure_channel(f"unix://{PLACE}/socket")

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.daemon.terminate()
        cls.daemon.wait(engines.TIMEOUT)

    def listed(self):
        return self.done("containers", "ls", "-q")

    def ask(self, name, *fields):
        method = self.channel.unary_unary(f"/runtime.v1.RuntimeService/{name}", request_serializer=bytes,
                                          response_deserializer=bytes)
        with open(f"{engines.WORK}/cri.transcript", "a", encoding="utf-8") as transcript:
            transcript.write(f"{name} {fields}\n")
            try:
                found = fields_of(method(message(fields), timeout=engines.TIMEOUT))
            except grpc.RpcError as error:
                transcript.write(f"{error.details()}\n\n")
                raise
            transcript.write(f"{found}\n\n")
        return found

    def file(self, name, text, mode=0o644):
        path = f"{PLACE}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def setUp(self):
        self.pod = self._testMethodName.replace("_", "-")
        self.config = [(1, [(1, self.pod), (2, f"uid-{self.pod}"), (3, "default")]), (2, self.pod),
                       (3, f"{PLACE}/logs/{self.pod}"), (4, [(1, "10.96.0.10"), (2, "cluster.local"), (3, "ndots:5")]),
                       (8, [(1, f"/kubepods/besteffort/pod{self.pod}"),
                            (2, [(1, [(1, POD), (2, CONTAINER), (3, POD)]), (9, [(1, 0)])])])]
        os.makedirs(f"{PLACE}/logs/{self.pod}", exist_ok=True)
        self.sandbox = self.ask("RunPodSandbox", (1, self.config), (2, "stepjail"))[1].decode()
        self.addCleanup(self.end)

    def end(self):
        self.ask("StopPodSandbox", (1, self.sandbox))
        self.ask("RemovePodSandbox", (1, self.sandbox))
        super().tearDown()

    def tearDown(self):
        pass  # end() comes behind it

    def create(self, name, code, pid=CONTAINER, security=()):
        mounts = [(self.file(f"{name}/hosts", "127.0.0.1 localhost # of the kubelet\n"), "/etc/hosts", 0),
                  (self.file(f"{name}/end", "", 0o666), "/dev/termination-log", 0),
                  (os.path.dirname(self.file(f"{name}/account/token", "secret")),
                   "/var/run/secrets/kubernetes.io/serviceaccount", 1)]
        resources = [(1, 100000), (2, 50000), (3, 512), (4, 128 << 20), (5, 1000),
                     *((8, [(1, size), (2, 0)]) for size in ("2MB", "1GB")), (9, [(1, "memory.oom.group"), (2, "1")])]
        security = [(3, [(1, POD), (2, pid), (3, POD)]), (11, 0), *((13, path) for path in MASKED),
                    *((14, path) for path in READ_ONLY), (16, [(1, 1)]), *security]
        config = [(1, [(1, name), (2, 0)]), (2, [(1, IMAGE)]), (3, "/bin/python3"), (3, "-c"), (3, code),
                  (6, [(1, "KUBERNETES_SERVICE_HOST"), (2, "10.96.0.1")]),
                  *((7, [(1, at), (2, source), (3, read_only)]) for source, at, read_only in mounts),
                  (10, [(1, "io.kubernetes.container.restartCount"), (2, "0")]), (11, f"{name}.log"),
                  (15, [(1, resources), (2, security)])]
        return self.ask("CreateContainer", (1, self.sandbox), (2, config), (3, self.config))[1].decode()

    def up(self, name, code):
        container = self.create(name, code)
        self.ask("StartContainer", (1, container))
        return container

    def said(self, name):
        """Behind time, stream and F of each line."""
        with open(f"{PLACE}/logs/{self.pod}/{name}.log", encoding="utf-8") as log:
            return [line.rstrip("\n").split(" ", 3)[3] for line in log]

    def state(self, container):
        """(state, exit status)"""
        status = fields_of(self.ask("ContainerStatus", (1, container))[1])
        return status[3], status.get(7, 0)

    def ended(self, container):
        engines.wait_for(self, lambda: self.state(container)[0] == EXITED)
        return self.state(container)[1]

    def test_a_container(self):
        one = self.up("one", "import os, socket, sys\n"
                      "print(os.getuid(), socket.gethostname(), os.environ['KUBERNETES_SERVICE_HOST'])\n"
                      "print(open('/etc/hosts').read().strip()); print('ndots:5' in open('/etc/resolv.conf').read())\n"
                      "print(open('/var/run/secrets/kubernetes.io/serviceaccount/token').read())\n"
                      "open('/dev/shm/x', 'w').write('x'); sys.exit(3)")
        self.assertEqual(self.ended(one), 3)
        self.assertEqual(self.said("one"), [f"1000 {self.pod} 10.96.0.1", "127.0.0.1 localhost # of the kubelet",
                                            "True", "secret"])
        self.ask("RemoveContainer", (1, one))

    def test_a_pods_network(self):
        """Its containers meet on loopback, and have the address that CNI gave the pod."""
        address = fields_of(fields_of(self.ask("PodSandboxStatus", (1, self.sandbox))[1])[5])[1].decode()
        self.assertTrue(address.startswith("10.99.0."))
        self.up("server", "import socket; s = socket.create_server(('', 8080)); print('up', flush=True)\n"
                          "while True: s.accept()[0].sendall(b'pod')")
        engines.wait_for(self, lambda: self.said("server"))
        ask = "import socket; print(*(socket.create_connection((a, 8080), timeout=60).recv(9) for a in {!r}))"
        self.assertEqual(self.ended(self.up("client", ask.format(["127.0.0.1", address]))), 0)
        self.assertEqual(self.said("client"), ["b'pod' b'pod'"])

    def test_stop(self):
        for name, code, status in ("polite", engines.UP, 143), ("deaf", engines.DEAF, 137):
            container = self.up(name, code)
            engines.wait_for(self, lambda name=name: self.said(name))
            self.assertEqual(self.state(container)[0], RUNNING)
            self.ask("StopContainer", (1, container), (2, 1))
            self.assertEqual(self.state(container), (EXITED, status))

    def execute(self, container, code, wait_s=engines.TIMEOUT, program="/bin/python3"):
        """As a probe by a command: (status, stdout, stderr)"""
        found = self.ask("ExecSync", (1, container), *((2, word) for word in (program, "-c", code)), (3, wait_s))
        return found.get(3, 0), found.get(1, b"").decode(), found.get(2, b"").decode()

    def test_probes(self):
        """Commands of a kubelet's, one after another and at once; one that takes too long is ended."""
        up = self.up("up", engines.UP)
        self.assertEqual(self.execute(up, "import os; print(os.getuid()); open('/tmp/ready', 'w')"), (0, "1000\n", ""))
        self.assertEqual(self.execute(up, "import os, sys; print('no', file=sys.stderr); sys.exit(len(os.listdir('/tmp')))"),
                         (1, "", "no\n"))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda i: self.execute(up, f"import sys; sys.exit({i})")[0], range(20)))
        self.assertEqual(got, list(range(20)))
        with self.assertRaises(grpc.RpcError) as error:
            self.execute(up, "import time; time.sleep(1000)", 1)
        self.assertEqual(error.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.execute(up, "import os; print(sum(name.isdigit() for name in os.listdir('/proc')))"),
                         (0, "2\n", ""))
        self.assertEqual(self.state(up)[0], RUNNING)

    def test_what_cannot_be_done(self):
        up = self.up("up", engines.UP)
        with self.assertRaises(grpc.RpcError) as error:
            self.execute(up, "", program="/bin/none")
        self.assertIn("/bin/none: No such file", error.exception.details())
        capability = (1, [(1, "SYS_ADMIN")])
        for name, says, pid, more in (("capability", "CAP_SYS_ADMIN is refused", CONTAINER, [capability]),
                                      ("processes", "pid with a path is refused", POD, [])):
            container = self.create(name, engines.UP, pid, more)
            with self.subTest(name), self.assertRaises(grpc.RpcError) as error:
                self.ask("StartContainer", (1, container))
            self.assertIn(says, error.exception.details())


if __name__ == "__main__":
    unittest.main()
