# SPDX-License-Identifier: MIT
"""warm_launcher.py - stands in for stepjail under `stepjail-escape --launcher`: what it is to run
in a jail runs as a step of a session of `stepjail serve`, and what DONE says is the report.

The session is one that was cloned from the template. Its step executes the probe in its own
place, as `stepjail run` does, so that the probe's parent is the jail's init. serve has the
caller's environment, terminal, folder and fds. Its fd 0 is its client: what the caller's
stdin was is fd 9, and the probe gets the bytes of it, where it has any.
"""
import json
import os
import signal
import stat
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from serve_client import Gone, Refused, Serve  # noqa: E402

BUILD = os.environ.get("STEPJAIL_BUILD", os.path.join(HERE, "../../build"))
STEPJAIL = os.path.realpath(os.path.join(BUILD, "stepjail"))
STEP = """\
import os, sys
try:
    os.execv({words[0]!r}, {words!r})
except OSError as e:
    print({words[0]!r} + ":", e.strerror, file=sys.stderr)
"""
STDIN = 9
# what is left of the arguments is for serve; these are for run alone
OF_RUN = ("--report",)


class Report:
    """Written as soon as something is known, and again at the end."""

    def __init__(self, fd):
        self.fd = fd
        self.told = {"verdict": "cancelled", "status": 125}

    def tell(self, **more):
        self.told.update(more)
        text = json.dumps(self.told, separators=(",", ":")).encode()
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, text, 0)


def split(words):
    """Options of serve, the report's fd, the program"""
    at = words.index("--")
    options, program, report = [], words[at + 1:], None
    rest = iter(words[:at])
    for word in rest:
        if word in OF_RUN:
            report = int(next(rest))
        else:
            options.append(word)
    return options, report, program


def open_warm(serve):
    """The first session is made while the template starts, and is a cold one."""
    for _ in range(500):
        session = serve.open()
        if session.opened["warm"]:
            return session
        why = session.opened["why_cold"]
        session.close()
        time.sleep(0.02)
    raise Refused({"error": f"no session was a warm one: {why}"})


def give_stdin(session):
    if stat.S_ISREG(os.fstat(STDIN).st_mode):
        while data := os.read(STDIN, 60000):
            session.stdin(data)
    session.stdin(b"")


def relay(session):
    """The step's output, as it comes, and DONE"""
    while True:
        frame = session.serve.expect(session.number, 0, "OUT", "ERR", "DONE", "TRACE",
                                     "RESULT", timeout=80)
        if frame.kind == "DONE":
            return frame.json
        if frame.kind == "OUT":
            os.write(1, frame.bytes)
        else:
            os.write(2, frame.bytes)


def probes_below(pid):
    """Processes below serve that run the probe's program: the sweep has left them"""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        found = [int(child) for child in children.read().split()]
    for child in list(found):
        try:
            found += probes_below(child)
        except OSError:
            pass
    return [child for child in found if is_probe(child)]


def is_probe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as cmdline:
            return "--probe-self" in cmdline.read()
    except OSError:
        return False


def run(words):
    options, fd, program = split(words)
    report = Report(fd)
    serve = Serve(options, command=[STEPJAIL, "serve"], close_fds=False)
    try:
        session = open_warm(serve)
    except (Gone, Refused, BrokenPipeError) as why:
        error = serve.end()[1] or f"stepjail: {why}\n"
        report.tell(verdict="launcher-error")
        sys.stderr.write(error)
        return 125
    report.tell(host_uid=session.opened["host_uid"],
                not_enforced=session.opened["not_enforced"])

    def end(*_):
        serve.end()
        os._exit(143)
    signal.signal(signal.SIGTERM, end)
    session.start(STEP.format(words=program))
    give_stdin(session)
    while True:
        try:
            done = relay(session)
            break
        except Refused:  # of STDIN, when it has ended before that came
            pass
    for stream, number in (("stdout", 1), ("stderr", 2)):
        if done["output"][f"{stream}_cut"]:
            os.write(number, done["output"][f"{stream}_tail"].encode("utf-8", "replace")[:4096])
    if done["state"] == "kept":
        # only a step that failed to execute the probe is alive at its end
        report.tell(verdict="launcher-error")
        serve.end()
        return 125
    code = done["exit_code"] if done["exit_code"] is not None else 128 + done["signal"]
    report.tell(verdict=done["verdict"], status=code, violations=done["violations"])
    if probes_below(serve.process.pid):
        # judged as a run's would be: somebody holds the output
        subprocess.Popen(["/bin/sleep", "2"], start_new_session=True)
    if session.run("6 * 7").result != "42":
        sys.stderr.write("the session does not go on\n")
        report.tell(verdict="session-lost")
    serve.end()
    return code


def main():
    if sys.argv[1] == "run":
        return run(sys.argv[2:])
    if sys.argv[1] == "explain":  # a session's output always has its limit
        captured = ["--capture=both"] if os.environ.get("STEPJAIL_CAPTURED") else []
        os.execv(STEPJAIL, [STEPJAIL, "explain", *captured, *sys.argv[2:]])
    return 125


if __name__ == "__main__":
    sys.exit(main())
