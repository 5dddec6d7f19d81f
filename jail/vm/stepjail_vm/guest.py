# SPDX-License-Identifier: MIT
"""guest.py - one guest: QEMU in a jail of its own, the relay, and their ends

    main     this process: makes the images of the request, starts the others, waits; it
             may have rights, and reads nothing of a guest's
    QEMU     `stepjail run` of the tree qemu/: three sockets and read-only files. Where the caller's files were
             copied for the guest, that copy is in the place of one of the sockets: see disks.py
    relay    stepjail-vm-relay, without rights: the guest's streams to the caller's
    receiver stepjail-vm-receive, for --out: without rights, but to that folder
    keeper   waits for the end of main, whoever kills it, and ends QEMU
"""
import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

from . import Failed, image, memory_file, template
from .disks import TREES, Disks
from .image import program_path
from .plan import size

# what QEMU may have beside the guest: translated code, its heap, and 8 MiB of stack for each of its
# threads, which RLIMIT_DATA counts where no cgroup does
QEMU_OWN = 576 << 20
MACHINE = "microvm"
BOOT_MS = 60000
ENDING_S = 15
RECEIVED_S = 60
STATUS_NOT_OUT, STATUS_FAILED = 123, 125  # as stepjail run has them
KERNEL_WORDS = ("console=ttyS0 quiet loglevel=4 reboot=t panic=-1 mitigations=off cryptomgr.notests "
                "no_timer_check tsc=reliable transparent_hugepage=never rdinit=/init tsc_early_khz=")
# by QEMU's own code the guest has the loopback of QEMU's jail, on which there is the proxy's port
NETWORK = ["-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-device,netdev=net"]
WARM = '''
import ast, codeop, contextlib, io, json, os, random, re, signal, struct, sys, traceback, types
with open("/bin/stepjail-interpreter", "rb") as file:
    while file.read(1 << 20):
        pass
for name in "numpy", "pandas":
    with contextlib.suppress(ImportError):
        __import__(name)
'''
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # of the proxy, which stepjail run passes on
# as init/wire.h has them: its header, and the branch that begins a payload
FRAME, WALL = struct.Struct("<IHHII"), 57
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def pack(pairs):
    """A request, for the guest's PID 1: see init.c."""
    return b"".join(os.fsencode(f"{key}\0{value}\0") for key, value in pairs)


def request(plan, policy, disks, words):
    """Random bytes first, so that all else has them."""
    pairs = [("random", os.urandom(64).hex()), ("clock", time.time_ns()), ("machine", os.urandom(16).hex()),
             ("uid", os.getuid()), ("gid", os.getgid()), *(("disk", disk) for disk in disks),
             *([("network", "")] if plan.has_network else []), *([("out", plan.out_bytes)] if plan.has_out else []),
             ("policy", policy), ("command", plan.command), *(("word", word) for word in words)]
    return pack(pairs)


def warm_requests(trees):
    """For a template: it mounts all trees, and has read what a program and a session of each begin with."""
    for number, tree in enumerate(trees):
        yield pack([("warm", ""), ("disk", f"vd{chr(ord('a') + number)} {TREES}/{tree}"), ("command", "run"),
                    ("policy", f"rootfs {tree}\nwall-time unlimited\n"), ("word", "/bin/python3"), ("word", "-c"), ("word", WARM)])


def tsc_khz(home):
    return image.run(f"{home}/stepjail-vm-relay", "tsc").strip()


# the guest's memory: QEMU's own; or a file, which becomes a template's; or a private copy of that
OWN, SHARED, PRIVATE = None, "on", "off"


def qemu_words(home, place, memory, trees, files, ram, kernel_words, options, monitor=True):
    """The command line: stepjail run, and QEMU in it. @trees: images that it is shown; @files: of its drives, as Disks
    has them; @ram: one of the three; @monitor: is it fd 0?"""
    binds = [(f"{place}/kernel", "/vm/kernel"), (f"{place}/initrd", "/vm/initrd"),
             *((file, f"/disk/{number}") for number, file in enumerate(trees))]
    machine, more = f"{MACHINE},isa-serial=off", []
    if ram != OWN:
        machine += ",memory-backend=ram"
        more = ["-object", f"memory-backend-file,id=ram,size={memory},mem-path=/vm/ram,share={ram}"]
    if ram == PRIVATE:
        options = [*options, f"--bind={place}/ram:/vm/ram", "--env=LD_PRELOAD=/lib/stepjail-vm-ram.so"]
        more += ["-incoming", "defer"]
    jail = [program_path(home, "stepjail"), "run", f"--rootfs={place}/qemu", "--wall=kernel", "--lock-code=no",
            "--quiet", "--wall-time=unlimited", f"--memory={memory + QEMU_OWN}", "--pids=32", "--tmp-size=1M",
            "--work-size=1M", *options, *(f"--bind={source}:{to}" for source, to in binds)]
    drives = [word for number, file in enumerate(files) for word in (
        "-drive", f"if=none,id=d{number},format=raw,readonly=on,file.locking=off,file.drop-cache=off,{file}",
        "-device", f"virtio-blk-device,drive=d{number}")]
    return [*jail, "--", "/usr/bin/qemu", "-M", machine, *more, "-accel", "tcg,tb-size=128",
            # QEMU 7.2 gets flags wrong after cmpxchg16b, by which later kernels fail. The kernel clears and
            # copies by rep stosb with erms, which emulation does byte by byte, and walks five levels with la57
            "-cpu", "max,cx16=off,erms=off,la57=off", "-smp", "1", "-m", f"{memory >> 20}M", "-L", "/usr/share/qemu",
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", "/vm/kernel", "-initrd", "/vm/initrd", "-append", kernel_words,
            *(["-chardev", "socket,id=monitor,fd=0", "-mon", "chardev=monitor,mode=control"] if monitor else []),
            "-chardev", "socket,id=console,fd=2", "-device", "isa-serial,index=0,chardev=console",
            "-chardev", "socket,id=port,fd=1", "-device", "virtio-serial-device",
            "-device", "virtserialport,chardev=port,nr=1", *drives]


def jail_of_qemu(home, place, plan):
    """(state, detail), as `stepjail check` has them: can the jail that QEMU runs in be made here?"""
    done = subprocess.run([program_path(home, "stepjail"), "check", "--json", f"--rootfs={place}/qemu", *plan.for_qemu()],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, env={}, cwd="/")
    try:
        rows = json.loads(done.stdout)["checks"]
    except (ValueError, KeyError):
        return "missing", done.stderr.decode(errors="replace").strip()
    lacking = [f"{row['name']}: {row['detail']}" for row in rows if row["state"] == "missing"]
    return ("missing", lacking[0]) if lacking else ("ok", "")


def start_qemu(words, stdin=None, **options):
    """(its process, and the other ends: of the port, the console, the monitor). @stdin: in the monitor's
    place; it is closed."""
    pairs = [socket.socketpair() for _ in range(3)]
    port, console, monitor = (pair[1] for pair in pairs)
    env = {name: os.environ[name] for name in CERTIFICATES if name in os.environ}
    qemu = subprocess.Popen(words, stdin=monitor if stdin is None else stdin, stdout=port, stderr=console, env=env,
                            start_new_session=True, cwd="/", **options)
    for each in (port, console, monitor):
        each.close()
    if stdin is not None:
        os.close(stdin)
    return qemu, *(pair[0] for pair in pairs)


def make_template(home, place, memory):
    """Of the guests of this image, with all of its trees. No program runs in it, so its QEMU may be
    in a jail without a cgroup."""
    trees = image.trees(place)
    disks = Disks(None, [], place, {"trees": trees})
    kernel_words = KERNEL_WORDS + tsc_khz(home)
    words = qemu_words(home, place, memory, disks.trees, disks.files(), SHARED, kernel_words,
                       [f"--bind-rw={place}/ram:/vm/ram", "--allow-missing=cgroup"])
    kept = []

    def start():
        qemu, *ends = start_qemu(words)
        kept.append(keep(os.pidfd_open(qemu.pid)))
        return qemu, *ends

    template.make(place, memory, start, warm_requests(trees))
    os.close(kept[0])
    return {"memory": memory, "trees": trees, "kernel_words": kernel_words, "marks": template.marks(place),
            "sha256": {name: image.digest(f"{place}/{name}") for name in template.FILES}}


class Receiver:
    """The process that takes the files of --out. What it says is numbers, in structs of one size: copy.h."""
    SAYS = struct.Struct("=iII8I4xQ")
    WHY = {errno.EPROTO: "it sent what breaks the rules of --out", errno.EPIPE: "it sent no end",
           errno.EOWNERDEAD: "the process that takes them was killed"}

    def __init__(self, home, one):
        reader, self.writer = os.pipe()
        self.process = subprocess.Popen(
            [f"{home}/stepjail-vm-receive", one["out"], str(size(one["out-limit"])), one["out-hidden"]],
            stdin=reader, stdout=subprocess.PIPE, env={}, start_new_session=True)
        os.close(reader)
        self.told = None
        if self.hear() is None:  # it has said why
            self.process.kill()
            raise SystemExit(STATUS_FAILED)

    def hear(self):
        said = b""
        while len(said) < self.SAYS.size:
            if not select.select([self.process.stdout], [], [], RECEIVED_S)[0]:
                break
            more = os.read(self.process.stdout.fileno(), self.SAYS.size - len(said))
            if not more:
                break
            said += more
        return self.SAYS.unpack(said) if len(said) == self.SAYS.size else None

    def take(self, status):
        """All has come out of the guest; Return: the run's status, which was that of its command."""
        number, files, folders, *_, written = self.hear() or (errno.EOWNERDEAD, *[0] * 11)
        why = self.WHY.get(number, os.strerror(number)) if number else None
        self.told = {"files": files, "folders": folders, "bytes": written, "error": why}
        if why:
            print(f"stepjail: --out: not all came out of the guest: {why}", file=sys.stderr)
        return status or (STATUS_NOT_OUT if why else 0)


def end(pidfd, gently):
    """Tell `stepjail run` to end its jail; it takes no more than a moment."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGTERM if gently else signal.SIGKILL)
    return bool(select.select([pidfd], [], [], ENDING_S)[0])


def heard():
    """Those of the signals that end a command which the caller has not ignored."""
    return (number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN)


def gather_signals():
    """An fd of which each signal from now on is a byte."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    for number in heard():
        signal.signal(number, lambda number, frame: os.write(writer, bytes([number])))
    return reader


def keep(pidfd):
    """Fork the keeper; Return: the fd whose end it waits for."""
    inside, outside = os.pipe()
    if os.fork() == 0:
        os.setsid()
        for number in (*FORWARDED, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        # whoever waits for the end of these waits for main alone
        os.closerange(0, min(inside, pidfd))
        os.closerange(min(inside, pidfd) + 1, max(inside, pidfd))
        os.closerange(max(inside, pidfd) + 1, 1024)
        os.read(inside, 1)
        if not end(pidfd, True):
            end(pidfd, False)
        os._exit(0)
    os.close(inside)
    return outside


class Guest:
    def __init__(self, home, place, info, plan):
        """@place, @info: of the image, as image.find() has them."""
        self.home, self.place, self.info, self.plan = home, place, info, plan
        self.qemu_report = os.memfd_create("report")
        self.report = os.memfd_create("report")
        self.template = None  # whose clone it is
        self.receiver = None
        self.began = self.ended = False  # the guest was ready; its command has ended, and all of it was passed on

    def choose(self, given):
        """The template, if this guest can be its clone."""
        known = template.find(self.place)
        fits = known and known["memory"] == self.plan.memory and self.plan.tree in known["trees"] and not (
            given or self.plan.has_network)  # a template has none: who needs no network has no device for one
        return known if fits else None

    def facts(self):
        """What the host says of the guest from its start on."""
        return {"qemu": self.info["qemu"], "machine": MACHINE, "acceleration": "tcg", "kernel": self.info["kernel"],
                "image": self.info["sha256"], "memory_bytes": self.plan.memory, "cloned": self.template is not None,
                "template": self.template and self.template["sha256"]}

    def tell_client(self):
        """WALL, on the socket of serve's client, before the relay has it: no guest can be first."""
        text = json.dumps({"vm": self.facts()}).encode()
        frame = FRAME.pack(4 + len(text), WALL, 0, 0, 0) + text
        try:
            if os.write(0, frame) < len(frame):
                raise BlockingIOError
        except BlockingIOError:
            raise Failed("the client's socket has no room for the first frame") from None
        except BrokenPipeError:
            pass  # it has gone, as the relay will see

    def start(self, disks):
        """What start_qemu() returns; a clone is on its way then."""
        ram = PRIVATE if self.template else OWN
        kernel_words = self.template["kernel_words"] if self.template else KERNEL_WORDS + tsc_khz(self.home)
        options = [f"--report={self.qemu_report}", *self.plan.for_qemu()]
        words = qemu_words(self.home, self.place, self.plan.memory, disks.trees, disks.files(), ram, kernel_words, options,
                           disks.copies is None)
        return start_qemu([*words, *(NETWORK if self.plan.has_network else [])], disks.take_stdin(),
                          pass_fds=[self.qemu_report])

    def relay(self, text, port, console):
        """The process that reads what the guest says: (it, the socket between it and main)."""
        mine, its = socket.socketpair()
        wanted = memory_file("request", text)
        fds = [port.fileno(), console.fileno(), wanted, self.report, its.fileno(),
               *([self.receiver.writer] if self.receiver else [])]
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 16) for fd in fds]  # clear of 3 to 7

        def place_fds():
            for number, fd in enumerate(high):
                os.dup2(fd, 3 + number, inheritable=True)

        relay = subprocess.Popen([f"{self.home}/stepjail-vm-relay", self.plan.command + ("-out" if self.receiver else ""),
                                  "cloned" if self.template else "booted", str(BOOT_MS), str(self.plan.run_ms())],
                                 preexec_fn=place_fds, close_fds=False, start_new_session=True, cwd="/")
        for fd in (*high, wanted):
            os.close(fd)
        for each in (its, port, console):
            each.close()
        return relay, mine

    def wait(self, relay, told, asked):
        """The relay's exit status. Signals go to the command in the guest."""
        pidfd, deadline = os.pidfd_open(relay.pid), None
        open_fds = [pidfd, asked, told]
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            readable = select.select(open_fds, [], [], left)[0]
            if told in readable:
                said = told.recv(16)
                self.began, self.ended = self.began or b"r" in said, self.ended or b"e" in said
                if not said:
                    open_fds.remove(told)
            if asked in readable:
                number = os.read(asked, 1)
                deadline = time.monotonic() + ENDING_S
                if self.began:
                    with contextlib.suppress(OSError):
                        told.send(number)
                else:
                    relay.kill()
                    relay.wait()
                    return 128 + number[0]
            if pidfd in readable and told not in readable:  # its last word comes before its end
                return relay.wait()
            if left == 0.0:
                relay.kill()

    def run(self, words):
        """The exit status; 125 where the guest failed, or a signal ended it before it ran."""
        policy, given = self.plan.for_guest()
        self.template = self.choose(given)
        disks = Disks(self.plan, given, self.place, self.template)
        if self.plan.command == "serve":
            self.tell_client()
        if self.plan.has_out:
            self.receiver = Receiver(self.home, self.plan.one)
        asked = gather_signals()  # from here on there is more to end than this process
        kept = pidfd = None
        try:
            qemu, port, console, monitor = self.start(disks)
            pidfd = os.pidfd_open(qemu.pid)
            kept = keep(pidfd)
            if self.template:
                template.wake(monitor, self.place, self.template)
            relay, told = self.relay(request(self.plan, policy, disks.words, words), port, console)
            if self.receiver:
                os.close(self.receiver.writer)
            status = self.wait(relay, told, asked)
            if self.receiver and self.ended:
                if status == STATUS_NOT_OUT:
                    print(f"stepjail: --out: the guest has room for {self.plan.out_bytes >> 20}M of files beside --memory: "
                          "raise --vm-memory, or lower --memory", file=sys.stderr)
                status = self.receiver.take(status)
        finally:
            if self.receiver:
                self.receiver.process.kill()
            if pidfd and not end(pidfd, True):
                end(pidfd, False)
            if kept:
                os.close(kept)
        qemu.wait()
        return status if status >= 0 else 128 - status
