#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_egress_takeover.py - who takes over the process of a connection, in the proxy of --allow-host

egress_obey.c stands in for the proxy, and tries what an intruder would. Each attack is seen to
succeed where the proxy is not confined, but for those of UNSEEN.
"""
import errno
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_run import BUILD, PLAIN_ENV, Host, each_user  # noqa: E402

OBEY = os.path.join(BUILD, "tests", "stepjail-egress")
ASK = """
import socket
s = socket.create_connection(("127.0.0.1", 3128))
while piece := s.recv(4096):
    print(piece.decode(), end="")"""
# what no process of a connection can do anywhere: its own limit, and memory that it gave back
UNSEEN = {"fork", "more processes", "the log", "trace", "execute"}


class Takeover(Host):
    def attack(self, **environment):
        done = self.python(ASK, "--rootfs", os.path.join(BUILD, "rootfs", "core"), "--lock-code=yes",
                           "--allow-host=a.example:80", env=PLAIN_ENV | environment)
        return {name: int(number) for name, number in
                (line.split("=") for line in done.stdout.decode().splitlines())}

    def words(self, *words, report=True):
        """With a build of its own, whose proxy obeys."""
        place = os.path.join(self.folder, "bin")
        if not os.path.isdir(place):
            os.mkdir(place)
            for name in ("stepjail", "stepjail-init"):
                shutil.copy(os.path.join(BUILD, name), place)
            shutil.copy(OBEY, place)
            for name in ("", *os.listdir(place)):
                self.own(os.path.join(place, name), 0o755)
        words = super().words(*words, report=report)
        words[words.index(os.path.join(BUILD, "stepjail"))] = os.path.join(place, "stepjail")
        return words

    def test_takeover(self):
        came = self.attack()
        self.assertEqual({name for name, number in came.items() if number == 0},
                         {"needs:names", "needs:network"})
        self.assertEqual(set(came.values()) - {0}, {errno.EPERM, errno.EACCES, errno.EAGAIN})
        self.assertEqual(came["fork"], errno.EAGAIN)
        open_ = self.attack(SSL_CERT_LACKS="1")
        self.assertEqual(set(open_) | UNSEEN, set(came) | UNSEEN)
        for name, number in open_.items():
            if name not in UNSEEN and number != errno.ENOSYS:
                self.assertEqual(number, 0, f"{name}: did not succeed without the walls")


globals().update(each_user(Takeover))

if __name__ == "__main__":
    unittest.main()
