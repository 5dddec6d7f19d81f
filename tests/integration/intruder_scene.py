# SPDX-License-Identifier: MIT
"""What test_watcher.py and test_supervisor.py share: attacks by an intruder in a confined process.

The attacks are tried with all walls of the confinement, with none, and with each wall alone and
left out, so that a table says which wall stops what.
"""
import errno
import os
import socket

from test_posture import landlock_abi

ABI = landlock_abi()
LAND = {'landlock'}
TCP = LAND if ABI >= 4 else set()
SIGNAL = LAND if ABI >= 6 else set()
PROGRAM = '#!/bin/sh\necho executed\n'


class Intruder:
    """Mixin of a case that has walls, stops and obey(); the attacks are those of obey.c."""
    walls = ()
    stops = {}  # by attack: the walls, beside the filter, that stop it where they stand alone
    unfiltered = ()  # attacks that the filter lets by
    refused = (errno.EPERM, errno.EACCES)

    def obey(self, lacks, attacks):
        """Without these walls. Return: the errno of each attack, or 0."""
        raise NotImplementedError

    def open_targets(self):
        """What is attacked: paths in self.folder, which are returned, and a TCP port."""
        paths = []
        for name, text, mode in ('secret', 'secret', 0o600), ('program', PROGRAM, 0o700):
            paths.append(f'{self.folder}/{name}')
            with open(paths[-1], 'w', encoding='utf-8') as file:
                file.write(text)
            os.chmod(paths[-1], mode)
        paths.append(f'{self.folder}/mount')
        os.mkdir(paths[-1])
        self.tcp = socket.create_server(('127.0.0.1', 0), backlog=100)
        self.addCleanup(self.tcp.close)
        self.unix = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.unix.close)
        paths.append(f'{self.folder}/socket')
        self.unix.bind(paths[-1])
        os.chmod(paths[-1], 0o700)
        self.unix.listen(100)
        return paths

    def order(self, attack, pid, address):
        """A line for the process that obeys; at the address is memory of the process pid."""
        place = {'open': 'secret', 'write': 'secret', 'exec': 'program', 'unix': 'socket',
                 'mount': 'mount', 'chroot': 'mount', 'openat': 'secret'}.get(attack)
        number = {'tcp': self.tcp.getsockname()[1], 'readv': address}.get(attack, 0)
        argument = f'{self.folder}/{place}' if place else str(pid)
        return f'\\1OBEY {attack} {argument} {number}\\n'

    def expect(self, stands):
        """With these walls alone."""
        lacks = [wall for wall in self.walls if wall not in stands]
        for attack, stops in self.stops.items():
            if attack not in self.unfiltered:
                stops = stops | {'filter'}
            stops = stops & set(stands)
            with self.subTest(attack=attack, stands=stands):
                got = self.obey(lacks, [attack])[attack]
                if stops:
                    self.assertIn(got, self.refused, sorted(stops))
                else:
                    self.assertEqual(got, 0, os.strerror(got))

    def test_all_are_refused(self):
        for attack, got in self.obey((), self.stops).items():
            self.assertIn(got, self.refused if attack in self.unfiltered else [errno.EPERM], attack)

    def test_without_confinement_all_succeed(self):
        self.expect(())

    def test_each_wall_alone(self):
        for wall in self.walls:
            if wall != 'landlock' or ABI:
                self.expect((wall,))

    def test_each_wall_left_out(self):
        for left_out in self.walls:
            if left_out != 'landlock' or ABI:
                self.expect(tuple(wall for wall in self.walls if wall != left_out))
