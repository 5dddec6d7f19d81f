#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_slurm.py - a batch as an array of jobs of Slurm, with a part that is killed and a node that is lost

Slurm's own daemons, of Debian: a controller and two nodes on this machine, with folders of their own in
build/interop/slurm. A node is slurmd in a PID namespace, so it is lost with all that runs on it, at once. The
jails are real; the model is an imitation, which keeps those waiting who are to be lost.
"""
import collections
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from agent_scene import AGENT, BUILD, wait_for  # noqa: E402
from mock_model import MockModel  # noqa: E402
from test_agent_real import Installed  # noqa: E402

WORK = os.path.join(BUILD, "interop/slurm")
BATCH = os.path.join(BUILD, "stepjail-batch")
TIMEOUT = 300
TASKS, PARTS, FREE = 12, 4, 5  # so many answers are given at once
NODES = ("n1", "n2")
CONF = """ClusterName=stepjail
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={work}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool.%n
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
JobRequeue=1
SlurmdTimeout=600
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""
JOB = """#!/bin/bash
#SBATCH --array=0-{last} --ntasks=1 --requeue --output={work}/job.%a.log --open-mode=append
exec {batch} {work}/tasks.jsonl {work}/part.$SLURM_ARRAY_TASK_ID.jsonl \\
	--part $SLURM_ARRAY_TASK_ID/{parts} --agent {agent} -- --stepjail {stepjail} {missing} --rootfs core \\
	--transcript none --model openai --model-name m --base-url {url}
"""


class Gate(threading.Event):
    """For as long as the test wants."""

    def wait(self, timeout=None):
        return super().wait(TIMEOUT)


class Answers(list):
    """Some at once, and the others when the gate is opened."""

    def __init__(self, gate):
        super().__init__([None])
        self.gate, self.given = gate, 0

    def __getitem__(self, _):
        self.given += 1
        return {"say": "Yes."} if self.given <= FREE else {"say": "Yes.", "gate": (0, self.gate)}


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def batches():
    """The pid of each part's batch that runs."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/stat", errors="replace") as stat:
                part = re.search(rf"{WORK}/part\.(\d)\.jsonl\0--part".encode(), words.read())
                if part and stat.read().rsplit(")")[-1][1] != "Z":
                    found[int(part[1])] = int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class Slurm(Installed, unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("lacks root")
        for program in ("munged", "slurmctld", "slurmd", "sbatch", "unshare"):
            if not shutil.which(program):
                self.skipTest(f"lacks {program}: make interop-slurm installs it")
        shutil.rmtree(WORK, ignore_errors=True)
        for name in ("munge", "state", *(f"spool.{node}" for node in NODES)):
            os.makedirs(f"{WORK}/{name}")
        self.env = os.environ | {"SLURM_CONF": f"{WORK}/slurm.conf"}
        with open(f"{WORK}/slurm.conf", "w") as conf:
            conf.write(CONF.format(host=socket.gethostname().split(".")[0], work=WORK, ports=free_ports(3)))
        with open(f"{WORK}/munge/key", "wb", opener=lambda path, how: os.open(path, how, 0o400)) as key:
            key.write(os.urandom(1024))
        self.daemon("munged", "--foreground", *(f"--{name}={WORK}/munge/{at}" for name, at in (
            ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))))
        self.assertTrue(wait_for(lambda: os.path.exists(f"{WORK}/munge/socket")))
        self.daemon("slurmctld", "-D")
        self.nodes = {node: self.daemon("unshare", "--fork", "--pid", "--mount-proc", "--kill-child", "slurmd", "-D", "-N",
                                        node) for node in NODES}
        self.until(lambda: self.call("sinfo", "-h", "-o", "%T %D").stdout.strip() == "idle 2", "the nodes are not up")

    def daemon(self, *words):
        with open(f"{WORK}/{words[0]}.log", "ab") as log:
            process = subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def call(self, *words):
        return subprocess.run(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)

    def done(self, *words):
        done = self.call(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def until(self, condition, what):
        end = time.monotonic() + TIMEOUT
        while not condition():
            self.assertLess(time.monotonic(), end, f"{what}: see {WORK}; {self.call('squeue', '-a').stdout}")
            time.sleep(0.1)

    def jobs(self):
        """Of each part that Slurm has: its state, and its node."""
        lines = (line.split("|") for line in self.done("squeue", "-h", "-r", "-o", "%K|%T|%N").split("\n") if line)
        return {int(part): (state, node) for part, state, node in lines}

    def lines(self):
        found = []
        for part in range(PARTS):
            if os.path.exists(f"{WORK}/part.{part}.jsonl"):
                with open(f"{WORK}/part.{part}.jsonl") as f:
                    found += [json.loads(line) for line in f if line.endswith("\n")]
        return found

    def merge(self, name):
        done = self.call(BATCH, "merge", f"{WORK}/tasks.jsonl", f"{WORK}/{name}",
                         *(f"{WORK}/part.{part}.jsonl" for part in range(PARTS)))
        return done.returncode, done.stderr

    def asked(self, mock):
        """How often the model got each task."""
        return collections.Counter(re.search(r"Task number (\d+)", body.decode())[1] for _, _, _, body in mock.requests)

    def submit(self, *options):
        self.done("sbatch", *options, f"{WORK}/job")

    def test_array(self):
        with open(f"{WORK}/tasks.jsonl", "w") as f:
            f.writelines(json.dumps({"task": f"Task number {i}."}) + "\n" for i in range(1, TASKS + 1))
        gate = Gate()
        with MockModel(Answers(gate)) as mock:
            self.addCleanup(gate.set)
            with open(f"{WORK}/job", "w") as job:
                job.write(JOB.format(last=PARTS - 1, parts=PARTS, work=WORK, batch=BATCH, agent=AGENT, url=mock.url,
                                     stepjail=self.stepjail, missing=" ".join(self.missing)))
            self.submit()
            # each part waits for the model, and some have had results before
            self.until(lambda: len(mock.requests) == FREE + PARTS and len(self.lines()) == FREE, "no part waits")
            status, said = self.merge("early.jsonl")
            self.assertEqual(status, 2, said)
            self.assertIn(f"{FREE} with exit status 0, 0 with another, {TASKS - FREE} not done", said)
            self.assertEqual(len(self.asked(mock)), FREE + PARTS)

            # a part is killed on the first node, and then the second one is lost
            at = {node: [part for part, where in self.jobs().items() if where == ("RUNNING", node)] for node in NODES}
            self.assertEqual([len(parts) for parts in at.values()], [2, 2])
            killed = at["n1"][0]
            os.kill(batches()[killed], signal.SIGKILL)
            self.until(lambda: killed not in self.jobs(), "the job of a batch that was killed goes on")
            self.nodes["n2"].kill()
            self.until(lambda: set(batches()) == {at["n1"][1]}, "batches outlive their node")
            self.assertEqual(len(self.lines()), FREE)
            self.done("scontrol", "update", "nodename=n2", "state=down", "reason=lost")
            self.until(lambda: all(self.jobs().get(part, [""])[0] == "PENDING" for part in at["n2"]), "no job is requeued")

            # Slurm asks for the lost node's parts again by itself; the killed part is ours to submit
            gate.set()
            for part in at["n2"]:  # else two minutes later
                self.call("scontrol", "update", f"jobid={self.job_id(part)}", "starttime=now")
            self.submit(f"--array={killed}")
            self.until(lambda: not self.jobs(), "the jobs do not end")
            self.check(self.asked(mock))

    def job_id(self, part):
        rows = (line.split() for line in self.done("squeue", "-h", "-r", "-o", "%K %A").split("\n"))
        return next(row[1] for row in rows if row[:1] == [str(part)])

    def check(self, asked):
        """Each task has one result; what was lost with its asker was asked twice, and nothing else."""
        status, said = self.merge("results.jsonl")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, rf"^{TASKS} tasks: {TASKS} with exit status 0, 0 with another, 0 not done; [^;]*; results: \S+\n$")
        with open(f"{WORK}/results.jsonl") as f:
            self.assertEqual([json.loads(line)["id"] for line in f], [str(i) for i in range(1, TASKS + 1)])
        self.assertEqual(len(self.lines()), TASKS)
        self.assertEqual(sorted(asked.values()), [1] * (TASKS - 3) + [2] * 3, asked)
        self.assertEqual(batches(), {})


if __name__ == "__main__":
    unittest.main()
