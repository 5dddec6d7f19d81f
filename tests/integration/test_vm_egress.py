#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_vm_egress.py - --allow-host with --wall vm: a guest reaches what its jails' rules allow, by the host's proxy"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from egress_scene import Server  # noqa: E402
from serve_client import Serve  # noqa: E402
from test_egress import GET, UNLISTED, Asking, OverMany  # noqa: E402
from test_egress_names import Names, Tls, World  # noqa: E402
from test_egress_serve import StepRows  # noqa: E402
from test_run import each_user, missing_words  # noqa: E402

UNREACHED = "it cannot be reached"  # of a guest's own words; why not is the host's to say
VM = ["--wall=vm"]


class Guest(World):
    """As without a guest: TLS, and secrets that no jail has."""
    options = VM
    test_upgrade = Tls.test_upgrade


class Judged(World, unittest.TestCase):
    """As without a guest: what tunnels carry, and where names lead. Once, as it takes its time."""
    as_user = False
    options = VM
    private = UNREACHED
    test_addresses = Names.test_addresses
    test_tunnels = Tls.test_tunnels


class Report(Asking):
    def test_two_proxies(self):
        """The guest's own tells what the program asked for, the host's what it was let have; by no other
        way is anything reached."""
        there = Server(("127.0.0.1", self.server.port + 1))
        self.addCleanup(there.end)
        done = self.python(GET + f"""
import socket
told = []
for to in (("10.0.2.2", {self.server.port}), ("10.0.2.2", 3128), ("127.0.0.1", {self.server.port})):
    try:
        socket.create_connection(to)
        told.append("connected")
    except OSError as error:
        told.append(error.strerror)
answers = [get("{self.url}/")[0], get("http://localhost:{there.port}/")[:2], get("http://a.example/")[0]]
with socket.create_connection(("127.0.0.1", 3128)) as s:  # what is refused comes whole, to its end
    s.sendall(b"GET http://localhost:{there.port}/ HTTP/1.1\\r\\n\\r\\n")
    told.append(s.makefile("rb").read()[-11:].decode())
tell(*answers, told)""",
                           self.allow, f"--allow-host=localhost:{there.port}", *VM)
        self.assertEqual(json.loads(done.stdout), [
            200, [403, "localhost has no address that is public: --allow-host with the address itself allows one"],
            403, ["Network is unreachable", "Network is unreachable", "Connection refused", "allows one\n"]])
        self.assertEqual((len(self.server.asked), there.asked), (1, []))
        self.assertEqual(self.rows(done.report["egress"]),
                         [("127.0.0.1", True, 0, None), ("localhost", True, 2, UNREACHED),
                          ("a.example", False, 1, UNLISTED)])
        self.assertEqual(done.report["egress"]["bypass"], 2)
        host = done.report["vm"]["jail"]["egress"]
        self.assertEqual(host["bypass"], 0)
        self.assertEqual(self.rows(host), [
            ("127.0.0.1", True, 0, None),
            ("localhost", False, 2, "no address of it is public: --allow-host ADDRESS:PORT allows one")])
        self.assertGreater(host["proxy"]["landlock_abi"], 0)
        self.assertFalse(done.report["vm"]["cloned"])  # a template has no network

    @staticmethod
    def rows(egress):
        return [(row["host"], row["allowed"], row["failed"], row["why"]) for row in egress["hosts"]]

    def test_no_secret(self):
        """Which the host's proxy would have: no guest starts."""
        done = self.python("", "--allow-host=a.example:443", "--secret-header=a.example:X=/none", *VM, status=125)
        self.assertIn(b"/none", done.stderr)


class Limits(OverMany, unittest.TestCase):
    """As without a guest, by the counts of both proxies. Once, as it takes its time."""
    as_user = False
    more, many = VM, 8  # a guest is slow, and who asks for nothing within 10 s is let go


class Sessions(StepRows):
    def test_steps(self):
        """Each step's answer has what it asked for; the guest has one limit for all of its sessions."""
        server = Server()
        self.addCleanup(server.end)
        url = f"http://127.0.0.1:{server.port}/"
        # what looks like the word of a proxy, and its end, are a server's own
        odd = "Proxy-Status: stepjail-egress\r\n\r\nstepjail-egress: the response is whole\r\n"
        server.answers = {"/big": (200, {}, b"x" * 3000000), "/odd": (200, {}, odd.encode())}
        get = f"import urllib.request as r\nlen(r.urlopen('{url}big').read())"
        with Serve([*missing_words(()), f"--allow-host=127.0.0.1:{server.port}", "--egress-limit=4M", *VM]) as serve:
            one, two = serve.open(), serve.open()
            step = one.run(f"import urllib.request as r\nr.urlopen('{url}odd').read().decode()")
            self.assertEqual((step.result, self.rows(step)), (repr(odd), [("127.0.0.1", 1, 0, None)]))
            first, second = one.run(get), two.run(get)
            self.assertEqual((first.result, self.rows(first)), ("3000000", [("127.0.0.1", 1, 0, None)]))
            self.assertEqual(self.rows(one.run("1")), [])
            # what is left is too little, and two has used none of its own; half an answer is told from a whole one
            self.assertEqual(self.rows(second), [("127.0.0.1", 1, 1, "it was broken off")])
            self.assertIn("ConnectionResetError", second.trace)
            third = two.run(get)
            self.assertIn("403: --egress-limit has no bytes left", third.trace)
            self.assertEqual(self.rows(third), [("127.0.0.1", 1, 1, "--egress-limit has no bytes left")])
            self.assertEqual(two.run("r is not None").result, "True")


# the tests of what is imported run where they are written
for name in ("Names", "Tls", "World", "Asking", "OverMany", "StepRows"):
    del globals()[name]
globals().update(each_user(Guest, Report))

if __name__ == "__main__":
    unittest.main()
