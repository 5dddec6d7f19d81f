# SPDX-License-Identifier: MIT
"""accounting.py - CPU time of all that a benchmark starts, whoever waits for it

Counted by the controller cpuacct of cgroup v1, as root, so other work on the machine does not matter. Where
there is none, it is the whole machine's CPU time, and the machine must do nothing else.
"""
import os
import sys
import time

ACCOUNT = f"/sys/fs/cgroup/cpuacct/stepjail-bench-{os.getpid()}"


def join_cgroup():
    """From now on all of ours is counted there."""
    try:
        os.makedirs(ACCOUNT, exist_ok=True)
        with open(f"{ACCOUNT}/cgroup.procs", "w", encoding="ascii") as text:
            text.write("0")
    except OSError:
        print("no controller cpuacct: CPU times are the whole machine's", file=sys.stderr)


def leave_cgroup():
    if os.path.isdir(ACCOUNT):
        with open(f"{os.path.dirname(ACCOUNT)}/cgroup.procs", "w", encoding="ascii") as text:
            text.write("0")
        os.rmdir(ACCOUNT)


def ended():
    """Seconds of CPU, without this process."""
    try:
        with open(f"{ACCOUNT}/cpuacct.usage", encoding="ascii") as text:
            return int(text.read()) / 1e9 - time.process_time()
    except OSError:
        with open("/proc/stat", encoding="ascii") as text:
            user, nice, system = map(int, text.readline().split()[1:4])
        return (user + nice + system) / os.sysconf("SC_CLK_TCK") - time.process_time()
