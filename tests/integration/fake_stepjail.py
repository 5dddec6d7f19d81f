#!/usr/bin/python3 -I
"""A stand-in for stepjail, for tests of the agent alone. It has no walls whatsoever.

`serve [options]` is played by fake_serve.py beside it. What a test wants to see of argv,
environment and fds is written to the file that FAKE_LOG below names, if it exists.
"""

import io
import json
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from fake_serve import Serve, prctl  # noqa: E402

FAKE_LOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_stepjail.log")


def log_what_was_inherited(argv):
    if not os.path.exists(FAKE_LOG):
        return
    fds = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
           if os.path.exists(f"/proc/self/fd/{fd}")}
    with io.open(FAKE_LOG, "a") as log:
        log.write(json.dumps({"argv": argv, "environ": dict(os.environ), "fds": fds}) + "\n")


def parse(argv):
    options, binds = {}, {}
    for word in argv[2:]:
        name, _, value = word.removeprefix("--").partition("=")
        options[name] = value
        if name == "bind":
            source, _, target = value.rpartition(":")
            binds[target] = os.path.abspath(source)
    return options, binds


def main(argv):
    log_what_was_inherited(argv)
    options, binds = parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    if options.get("rootfs") == "broken":
        print("stepjail: rootfs 'broken': No such file or directory", file=sys.stderr)
        return 125
    if options.get("allow-missing"):
        print("stepjail: the cgroup wall is missing, as --allow-missing says", file=sys.stderr)
    prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    # in the test's folder: an agent that kills this leaves nobody to remove it
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(__file__))) as folder:
        os.chdir(folder)
        Serve(options, binds).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
