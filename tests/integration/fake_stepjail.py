#!/usr/bin/python3 -I
"""A stand-in for stepjail, for tests of the agent alone. It has no walls whatsoever.

`run [options] -- program [args]` sends a report to the fd that --report names and ends as
stepjail does. `serve [options]` is played by fake_serve.py beside it. What a test wants to
see of argv, environment and fds is written to the file
that FAKE_LOG below names, if it exists.
"""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from fake_serve import Serve, die_with_parent, milliseconds, prctl, send  # noqa: E402

FAKE_LOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_stepjail.log")


def log_what_was_inherited(argv):
    if not os.path.exists(FAKE_LOG):
        return
    fds = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
           if os.path.exists(f"/proc/self/fd/{fd}")}
    with io.open(FAKE_LOG, "a") as log:
        log.write(json.dumps({"argv": argv, "environ": dict(os.environ), "fds": fds}) + "\n")


def parse(argv):
    options, binds, at = {}, {}, 2
    while at < len(argv) and argv[at] != "--":
        if "=" in argv[at]:
            name, _, value = argv[at][2:].partition("=")
            options[name] = value
            at += 1
            continue
        if argv[at] == "--bind":
            source, _, target = argv[at + 1].rpartition(":")
            binds[target] = os.path.abspath(source)
        options[argv[at][2:]] = argv[at + 1]
        at += 2
    return options, binds, argv[at + 1:]


def report(options, verdict, code=0, number=0):
    line = {"verdict": verdict, "exit_code": code, "signal": number, "violation": None}
    if verdict == "violation":
        line["violation"] = "ptrace"
    send(int(options["report"]), json.dumps(line).encode() + b"\n")


def run_program(options, program):
    program = ["/usr/bin/python3"] + program[1:] if program[0] == "/bin/python3" else program
    limit = milliseconds(options["wall-time"])

    def prepare():
        os.setsid()
        die_with_parent()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

    def end_all(*_):
        # what a real jail's PID namespace does: nobody of the program is left
        os.killpg(child.pid, signal.SIGKILL)
        os._exit(143)

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    child = subprocess.Popen(program, env={}, preexec_fn=prepare)
    signal.signal(signal.SIGTERM, end_all)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    try:
        code = child.wait(limit)
    except subprocess.TimeoutExpired:
        report(options, "wall-timeout", 0, 9)
        end_all()
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    report(options, "completed" if code == 0 else "exited" if code > 0 else "signaled",
           max(code, 0), max(-code, 0))
    return code if code >= 0 else 128 - code


def main(argv):
    log_what_was_inherited(argv)
    options, binds, program = parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    if options.get("rootfs") == "broken":
        print("stepjail: rootfs 'broken': No such file or directory", file=sys.stderr)
        if argv[1] == "run":
            report(options, "launcher-error")
        return 125
    if options.get("allow-missing"):
        print("stepjail: the cgroup wall is missing, as --allow-missing says", file=sys.stderr)
    if argv[1] == "run":
        return run_program(options, program)
    prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    # in the test's folder: an agent that kills this leaves nobody to remove it
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(__file__))) as folder:
        os.chdir(folder)
        Serve(options, binds).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
