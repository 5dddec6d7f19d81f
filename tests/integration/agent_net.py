#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""agent_net.py - a network of its own for test_agent_confine.py, run under unshare -mn

usage: agent_net.py FOLDER udp|tcp|module|mute|mute-time AGENT [argument...]

Brings up lo, serves DNS on 127.0.0.1:53 (with tcp, answers by UDP are cut off, so that TCP
must be asked; with module, nss_stepjail.c knows the name, and DNS is not asked; with mute,
DNS never answers, and the agent gets SIGINT once it was asked; with mute-time, it has a second
for the whole task) and a model at https://model.test/, with a certificate of an authority that
is mounted over the host's, and runs the agent. Prints one JSON object.
"""
import fcntl
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from mock_model import MockModel  # noqa: E402

NAME = "model.test"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
A, CUT_OFF = 1, 0x0200


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(s, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))


def mount_over(folder, name, text, over):
    path = os.path.join(folder, name)
    if text is not None:
        with open(path, "w") as f:
            f.write(text)
    subprocess.run(["mount", "--bind", path, over], check=True)


def dns_answer(query, cut_off):
    """RFC 1035: 127.0.0.1 for whatever name, no other record."""
    end = query.index(b"\0", 12) + 5
    (kind,) = struct.unpack("!H", query[end - 4:end - 2])
    record = b"\xc0\x0c" + struct.pack("!HHIH4s", A, 1, 60, 4, bytes([127, 0, 0, 1]))
    has = kind == A and not cut_off
    flags = 0x8180 | (CUT_OFF if cut_off else 0)
    return query[:2] + struct.pack("!5H", flags, 1, has, 0, 0) + query[12:end] + (record if has else b"")


def serve_dns(cut_off, asked, mute, heard):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 53))
    tcp = socket.create_server(("127.0.0.1", 53))

    def by_udp():
        while True:
            query, client = udp.recvfrom(4096)
            asked.append("udp")
            heard.set()
            if not mute:
                udp.sendto(dns_answer(query, cut_off), client)

    def by_tcp():
        while True:
            client, _ = tcp.accept()
            with client, client.makefile("rb") as stream:
                while length := stream.read(2):
                    query = stream.read(struct.unpack("!H", length)[0])
                    asked.append("tcp")
                    answer = dns_answer(query, False)
                    client.sendall(struct.pack("!H", len(answer)) + answer)

    for serve in (by_udp, by_tcp):
        threading.Thread(target=serve, daemon=True).start()


def main():
    folder, way, *agent = sys.argv[1:]
    key, certificate = os.path.join(folder, "tls.key"), os.path.join(folder, "tls.crt")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-keyout", key, "-out", certificate, "-subj", f"/CN={NAME}", "-addext",
                    f"subjectAltName=DNS:{NAME}"], check=True, capture_output=True)
    mount_over(folder, "tls.crt", None, BUNDLE)
    mount_over(folder, "resolv.conf", "nameserver 127.0.0.1\n"
               "options timeout:30 attempts:5\n", "/etc/resolv.conf")
    environ = dict(os.environ)
    if way == "module":
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"{folder}/libnss_stepjail.so.2",
                        os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                     "nss_stepjail.c")], check=True)
        mount_over(folder, "nsswitch.conf", "hosts: stepjail\n",
                   "/etc/nsswitch.conf")
        environ["LD_LIBRARY_PATH"] = folder
    loopback_up()
    asked, heard = [], threading.Event()
    serve_dns(way == "tcp", asked, way.startswith("mute"), heard)
    if way == "mute-time":
        agent += ["--wall-time", "1s"]
    with MockModel([{"say": "It is 42."}], 443) as mock:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        mock.server.socket = context.wrap_socket(mock.server.socket, server_side=True)
        with subprocess.Popen(agent, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environ) as run:
            if way == "mute":
                heard.wait(60)
                run.send_signal(signal.SIGINT)
            begun = time.monotonic()
            out, err = run.communicate(timeout=200)
        print(json.dumps({"status": run.returncode, "out": out.decode(), "err": err.decode(),
                          "asked": asked, "requests": len(mock.requests),
                          "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    main()
