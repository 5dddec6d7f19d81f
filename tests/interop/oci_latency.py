#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""oci_latency.py - how long a container takes from the engine's command to its end, by three runtimes

usage: tests/interop/oci_latency.py [ROUNDS]	20 without

Under containerd and Podman, in one run: stepjail-oci, runc and crun take turns, so what else the machine
does meets all three; CPU time is counted apart from it. The program is `python3 -c pass` of the tree
core. Read the ratios, not the times. As root; the engines are those of test_oci_engines.py, with folders
of their own.
"""
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "bench")]

from accounting import ended, join_cgroup, leave_cgroup  # noqa: E402
import test_oci_engines as engines  # noqa: E402
from test_oci_validation import HYBRID  # noqa: E402

RUNTIMES = ("stepjail-oci", "runc", "crun")


def wrapper(name):
    """A path that starts the runtime; each is a script, so that each pays for one."""
    if name == RUNTIMES[0]:
        return engines.RUNTIME
    path = f"{engines.WORK}/{name}"
    before = HYBRID if name == "crun" and os.path.exists("/sys/fs/cgroup/unified") else "exec "
    with open(path, "w", encoding="utf-8") as text:
        text.write(f'#!/bin/sh\n{before}{shutil.which(name)} "$@"\n')
    os.chmod(path, 0o755)
    return path


def run_words(engine, runtime):
    # Podman's own default for these is more than a runtime without CAP_SYS_RESOURCE may set
    limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"] if engine is engines.Podman else []
    words = engine.run_words(engine, "pass", "latency", *limits)
    return [runtime if word == engines.RUNTIME else word for word in words]


def race(engine, rounds):
    """Of each runtime, milliseconds by the clock and of CPU, the engine's daemon and shims among them."""
    found = {name: [] for name in RUNTIMES}
    words = {name: run_words(engine, wrapper(name)) for name in RUNTIMES}
    for number in range(rounds + 1):
        for name in RUNTIMES:
            before, used = time.monotonic(), ended()
            done = subprocess.run(words[name], stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True)
            took = time.monotonic() - before
            if done.returncode:
                sys.exit(f"oci_latency: {name} under {engine.name}: {done.stderr}")
            if number:  # the first one warms what is read
                found[name].append((took * 1000, (ended() - used) * 1000))
    return found


def main(rounds=20):
    for engine in (engines.Containerd, engines.Podman):
        engine.setUpClass()
        try:
            found = race(engine, int(rounds))
        finally:
            engine.tearDownClass()
        print(f"== {engine.name}, {rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        print(f"{'':14} {'median ms':>10} {'min':>8} {'/ runc':>8} {'ms of CPU':>10} {'/ runc':>8}")
        base = [statistics.median(one) for one in zip(*found["runc"])]
        for name, times in found.items():
            clock, used = (statistics.median(one) for one in zip(*times))
            print(f"{name:14} {clock:10.1f} {min(times)[0]:8.1f} {clock / base[0]:8.2f} {used:10.1f} {used / base[1]:8.2f}")


if __name__ == "__main__":
    join_cgroup()
    try:
        main(*sys.argv[1:])
    finally:
        leave_cgroup()
