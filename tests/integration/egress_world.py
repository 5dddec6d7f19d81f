# SPDX-License-Identifier: MIT
"""egress_world.py - a network of its own for test_egress_names.py: names, addresses, certificates

Run by itself in new user (for a user), mount and network namespaces, whose loopback has addresses
of the internet and private ones. It answers DNS, then does what the test's file says: exec(code)
with World as `world`, and prints `world.told` as JSON.
"""
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from egress_scene import Origin, Server  # noqa: E402

PUBLIC, OTHER, SIX = "93.184.216.34", "93.184.216.35", "2606:2800:220:1::34"
INSIDE = "10.0.0.5"
A, AAAA = 1, 28


class Dns(threading.Thread):
    """One answer after another of a name's list, the last one again and again."""

    def __init__(self, names):
        super().__init__(daemon=True)
        self.names, self.asked = names, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))

    def run(self):
        while True:
            query, sender = self.socket.recvfrom(512)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode())
                at += 1 + query[at]
            name, (kind, _) = ".".join(labels), struct.unpack("!HH", query[at + 1:at + 5])
            self.asked.append((name, kind))
            answers = self.names.get(name, [[]])
            now = answers[0]
            if kind == A and len(answers) > 1:
                answers.pop(0)
            family = socket.AF_INET if kind == A else socket.AF_INET6
            found = [socket.inet_pton(family, one) for one in now if (":" in one) == (kind == AAAA)]
            head = query[:2] + struct.pack("!HHHHH", 0x8180 if now else 0x8183, 1, len(found), 0, 0)
            self.socket.sendto(head + query[12:at + 5] + b"".join(
                struct.pack("!HHHIH", 0xc00c, kind, 1, 0, len(one)) + one for one in found), sender)


class World:
    def __init__(self, folder, stepjail):
        self.folder, self.stepjail, self.told, self.options = folder, stepjail, {}, []
        ip = ["ip", "addr", "add", "dev", "lo"]
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for address in (PUBLIC + "/32", OTHER + "/32", INSIDE + "/32", SIX + "/128"):
            subprocess.run([*ip, address, *(["nodad"] if ":" in address else [])], check=True)
        for path, text in (("resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n"),
                           ("hosts", "127.0.0.1 localhost\n"), ("nsswitch.conf", "hosts: files dns\n")):
            subprocess.run(["mount", "--bind", self.file(path, text), "/etc/" + path], check=True)
        self.dns = Dns({})
        self.dns.start()

    def file(self, name, text, mode=0o644):
        path = f"{self.folder}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def certificate(self, *names):
        """A context for a server of these names; SSL_CERT_FILE has the authority of all."""
        ca, at = f"{self.folder}/ca", f"{self.folder}/{names[0]}"
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
               "-days", "2"]
        quiet = {"check": True, "stderr": subprocess.DEVNULL}
        if not os.path.exists(ca + ".pem"):
            subprocess.run([*new, "-subj", "/CN=Tests", "-keyout", ca + ".key", "-out", ca + ".pem"], **quiet)
        alt = ",".join(("IP:" if name[0].isdigit() else "DNS:") + name for name in names)
        subprocess.run([*new, "-subj", "/CN=server", "-addext", "subjectAltName=" + alt, "-CA", ca + ".pem",
                        "-CAkey", ca + ".key", "-addext", "basicConstraints=CA:FALSE", "-keyout", at + ".key",
                        "-out", at + ".pem"], **quiet)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(at + ".pem", at + ".key")
        return context

    @staticmethod
    def server(address, port, context=None):
        return Server((address, port), context)

    @staticmethod
    def origin(address, port, context=None, answer=None):
        return Origin((address, port), context, answer)

    def run(self, code, *options):
        """A run in a jail; its output, stderr, status, and rows of the report."""
        report = f"{self.folder}/report"
        done = subprocess.run([self.stepjail, "run", "--allow-missing=cgroup", "--report", report, *self.options,
                               *options, "--", "/bin/python3", "-c", code], text=True, check=False, timeout=150,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={"PATH": "/usr/bin:/bin", "SSL_CERT_FILE": f"{self.folder}/ca.pem"})
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        rows = [[row["host"], row["port"], row["why"], row["times"], row["failed"]] for row in
                (told["egress"] or {"hosts": []})["hosts"]]
        return {"out": done.stdout, "err": done.stderr, "status": done.returncode, "rows": rows}

    def hello(self, name):
        """A TLS client's first bytes, for Latin-1."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(into, out, server_hostname=name)
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return out.read().decode("latin-1")


if __name__ == "__main__":
    world = World(*sys.argv[1:3])
    with open(sys.argv[3], encoding="utf-8") as file:
        exec(compile(file.read(), "test", "exec"))  # the test's own code
    print(json.dumps(world.told))
