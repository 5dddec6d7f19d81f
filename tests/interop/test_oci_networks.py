#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_oci_networks.py - networks that engines have made are entered: see test_oci_engines.py"""
import os
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_oci_engines import TIMEOUT, TREE, WORK, Containerds, Podmans, Scene, wait_for  # noqa: E402


class OfContainerd(Containerds, Scene, unittest.TestCase):
    def test_a_network_with_a_path(self):
        with subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE) as other:
            path = f"/proc/{other.pid}/ns/net"
            wait_for(self, lambda: os.stat(path).st_ino != os.stat("/proc/self/ns/net").st_ino)
            said = self.run_once("import os; print(os.readlink('/proc/self/ns/net'))", "net", "--with-ns",
                                 f"network:{path}")
            self.assertEqual(said.stdout.strip(), os.readlink(path), said.stderr)
            other.stdin.close()


class OfPodman(Podmans, Scene, unittest.TestCase):
    def test_a_network_of_podman_s(self):
        """Out, and in by a port of the host's."""
        heard = []

        def answer():
            client, _ = server.accept()
            with client:
                heard.append(client.recv(10))
        with socket.create_server(("0.0.0.0", 0)) as server, socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
            free.close()
            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            done = self.run_once(
                "import socket, struct\n"
                "rows = [row.split() for row in open('/proc/self/net/route')][1:]\n"
                "gate = next(socket.inet_ntoa(struct.pack('<I', int(row[2], 16))) for row in rows if row[7] == '00000000')\n"
                f"with socket.create_connection((gate, {server.getsockname()[1]}), timeout=60) as s:\n"
                "    s.sendall(b'out')\n", "out", "--network", "bridge")
            if done.returncode and "CNI" in done.stderr + done.stdout:
                self.skipTest(f"podman makes no network here: {done.stderr}")
            self.assertEqual(done.returncode, 0, done.stderr)
            thread.join(TIMEOUT)
        self.assertEqual(heard, [b"out"])
        self.up("in", "import socket; s = socket.create_server(('0.0.0.0', 8080)); print('up', flush=True)\n"
                      "while True: s.accept()[0].sendall(b'in')", "--network", "bridge", "-p", f"127.0.0.1:{port}:8080")
        self.logged("in")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
            self.assertEqual(s.recv(10), b"in")
        self.end("in")

    def test_a_pod_s_network(self):
        os.makedirs(f"{WORK}/podman/pause", exist_ok=True)
        with open(f"{WORK}/podman/pause/pause", "w", encoding="ascii") as text:
            text.write("#!/bin/python3\nimport time\nprint('up', flush=True)\ntime.sleep(1000)\n")
        os.chmod(f"{WORK}/podman/pause/pause", 0o755)
        subprocess.run(["tar", "-cf", f"{WORK}/podman/pause.tar", "-C", TREE, ".", "-C", f"{WORK}/podman/pause",
                        "pause"], check=True)
        self.done("import", f"{WORK}/podman/pause.tar", "pause")
        self.done("pod", "create", "--name", "pod", "--infra-image", "pause", "--infra-command", "/pause")
        try:
            listen = ("import socket; s = socket.create_server(('127.0.0.1', 8081)); print('up', flush=True)\n"
                      "while True: s.accept()[0].sendall(b'pod')")
            self.done("run", "-d", "--pod", "pod", "--name", "one", "core", "/bin/python3", "-c", listen)
            self.logged("one")
            ask = ("import socket; print(socket.gethostname(), "
                   "socket.create_connection(('127.0.0.1', 8081), timeout=60).recv(10))")
            self.assertEqual(self.done("run", "--rm", "--pod", "pod", "core", "/bin/python3", "-c", ask),
                             "pod b'pod'\n")
        finally:
            wait_for(self, lambda: self.call("pod", "rm", "-f", "-t", "0", "pod").returncode == 0)


if __name__ == "__main__":
    unittest.main()
