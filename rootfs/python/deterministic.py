# SPDX-License-Identifier: MIT
"""deterministic.py - the same run again; in the ELF the frozen module stepjail_deterministic

For --deterministic, which tells a seed in $STEPJAIL_DETERMINISTIC. What would ask the
kernel for a seed is given one here that follows from that one: random.Random() without a
seed, numpy's global generator and default_rng(). Random numbers then go on from step to
step, as in a program that was never cut up: a seed that a step chooses holds in the next.
os.listdir() and os.scandir() give names in their order, and with them glob, pathlib,
os.walk and shutil.

What asks for secrets gets them: os.urandom(), secrets, uuid.uuid4() and SystemRandom are
as ever. Nothing here is a wall: a step can look at it, and change it.
"""
import os
import random
import sys

_Random, _System = random.Random, random.SystemRandom
_plain_seed = _Random.seed
_plain_listdir, _plain_scandir = os.listdir, os.scandir
_seed = 0
_stream = _Random()  # where seeds come from
_forks = 0


def fresh(bits):
    """A seed, where one would have come from the kernel."""
    return _Random.getrandbits(_stream, bits)


def seed(self, a=None, version=2):
    if a is None and not isinstance(self, _System):
        a = fresh(256)
    _plain_seed(self, a, version)


seed.__doc__ = _plain_seed.__doc__
seed.__qualname__ = _plain_seed.__qualname__
seed.__module__ = _plain_seed.__module__


def listdir(path=None):
    names = _plain_listdir(path)
    names.sort()
    return names


class ScandirIterator:
    """What os.scandir() gives: all at once, by name."""

    def __init__(self, entries):
        self._entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.close()

    def close(self):
        self._entries = iter(())


def scandir(path=None):
    with _plain_scandir(path) as entries:
        return ScandirIterator(sorted(entries, key=lambda entry: entry.name))


listdir.__doc__, scandir.__doc__ = _plain_listdir.__doc__, _plain_scandir.__doc__
listdir.__module__ = scandir.__module__ = ScandirIterator.__module__ = "posix"


class Watch:
    """Sees numpy.random come, which seeds its generators when it is imported."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "numpy.random":
            return None
        for finder in sys.meta_path:
            spec = None if finder is cls else finder.find_spec(name, path, target)
            if spec is not None:
                run = spec.loader.exec_module

                def exec_module(module):
                    run(module)
                    fix_numpy(module)
                spec.loader.exec_module = exec_module
                return spec
        return None


def fix_numpy(module):
    module.bit_generator.randbits = fresh  # a SeedSequence that is given nothing
    module.seed(_seed)


def before_fork():
    global _forks
    _forks += 1


def after_fork():
    """A child of os.fork(): random's own hook has just seeded it from the kernel."""
    _plain_seed(_stream, f"stepjail {_seed} {_forks}")
    _plain_seed(random._inst, fresh(256))


def begin():
    """The first of all steps, or the program, is about to run: all starts from here."""
    global _seed, _forks
    _seed, _forks = int(os.environ["STEPJAIL_DETERMINISTIC"]) & 0xFFFFFFFF, 0
    _plain_seed(_stream, f"stepjail {_seed}")
    _plain_seed(random._inst, _seed)
    numpy = sys.modules.get("numpy.random")
    if numpy:
        fix_numpy(numpy)


def start():
    """Once, when Python has started."""
    _Random.seed = seed
    random.seed = random._inst.seed
    os.listdir, os.scandir = listdir, scandir
    os.supports_fd.update((listdir, scandir))
    sys.meta_path.insert(0, Watch)
    os.register_at_fork(before=before_fork, after_in_child=after_fork)
    begin()


start()
