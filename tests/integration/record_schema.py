#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record_schema.py - the records of stepjail and stepjail-agent: every field, and its type

A name of a JSON type, several with | between; a dict is an object with these fields and no
others, of which those that end in ? may be missing; [TYPE] is a list; ANY is not looked into.
"""
ANY = object()
TYPES = {"str": str, "int": int, "num": (int, float), "bool": bool, "null": type(None)}

DIGEST, TIME = "sha256", "time"

EGRESS = {"hosts": [{"host": "str", "port": "int", "allowed": "bool", "times": "int", "failed": "int", "sent": "int",
                     "received": "int", "why": "str|null"}],
          "more": "int", "bypass": "int", "whole": "bool", "proxy": {"landlock_abi": "int"}}
EGRESS_STEP = {name: kind for name, kind in EGRESS.items() if name != "whole"}
STREAM = {"head": "str", "tail?": "str", "bytes": "int", "left_out": "int", "sha256": DIGEST}
USED = {"used": "num", "limit": "num|null"}
REFUSED = {"total": "int", "unlisted": "int", "list": [
    {"syscall": "str|null", "arch": "str|null", "asks": "str|null", "args": ["str"], "pid": "int",
     "first_ms": "int", "last_ms": "int", "count": "int", "violation": "bool"}]}
ORIGIN = {"format": "int", "stepjail_agent": "str", "host": "str", "uid": "int", "argv": ["str"],
          "started": TIME}
MODEL = {"provider": "str", "name": "str|null", "base_url": "str|null", "script": "str|null", "vision": "bool"}
USAGE = {"requests": "int", "retries": "int", "prompt_tokens": "int", "completion_tokens": "int",
         "cached_tokens": "int", "cache_write_tokens": "int", "judged": "int"}
MEDIA = {"object": "int", "kind": "str", "from": "str", "state": "str", "bytes": "int",
         "sha256?": DIGEST, "name?": "str", "saved?": "str", "unsaved?": "str"}
ENDED = {"exit_code": "int|null", "signal": "int|null", "violation": "str|null"}
RAN = {"verdict": "str", "state": "str", "state_number": "int|null", **ENDED,
       "violations": (REFUSED, "null"), "egress": (EGRESS_STEP, "null"), "ended_by": "str|null", "limit": "str|null",
       "words": "str", "wall_ms": "int", "cpu_ms": "int", "memory_peak_bytes": "int",
       "strays": "int", "stdout": STREAM, "stderr": STREAM, "traceback": STREAM,
       "result": STREAM, "media": [MEDIA]}
# of --wall vm: what the host says of the guest
VM = {"qemu": "str", "machine": "str", "acceleration": "str", "kernel": "str", "image": ANY, "memory_bytes": "int",
      "cloned": "bool", "template": ANY}
JAIL = {"session": "int", "host_uid": "int", "warm": "bool", "why_cold": "str|null",
        "not_enforced": ["str"], "shut": ["str"], "plan_sha256": DIGEST, "root_sha256": DIGEST,
        "root_verified": "bool|null", "posture_sha256": DIGEST, "vm?": VM}
OUT = {"out?": "str", "files_lost?": "str", "files?": ANY, "files_left_out?": ANY,
       "files_left_out_count?": "int", "files_unwritten?": "int"}

# of solve --json: a step is a step that ran, or a reply that could not be
STEP = {"step": "int", "code": "str|null", "prose": "str", "observation?": "str", "thought?": "str",
        **{name + "?": kind for name, kind in RAN.items()}}
SOLVE = {**ORIGIN, "outcome": "str", "answer": "str|null", "error": "str|null", "status": "int",
         "model": MODEL, "steps": [STEP], "usage": USAGE,
         "budget": {"steps": USED, "wall_ms": USED, "cpu_ms": USED, "output_bytes": USED,
                    "tokens": USED, "cost_dollars?": USED},
         "jails": "int", "jail": (JAIL, "null"), "checks?": ANY,
         "confinement": ANY, "wall_ms": "int", "transcript?": "str",
         "transcript_sha256?": DIGEST, **OUT}
# the same of a run that came to nothing before its first step
FAILURE = {**ORIGIN, "outcome": "str", "answer": "null", "error": "str", "status": "int"}

LINE = {"line": "int", "prev": DIGEST, "event": "str", "time": TIME, "sha256": DIGEST}
EVENTS = {
    "start": {"command": "str", **ORIGIN, "model?": MODEL,
              "confinement": ANY, "system?": "str", "user?": "str", "inputs": ANY,
              "continues?": {"transcript": "str", "lines": "int", "sha256": DIGEST}},
    "session": {**JAIL, "posture": ANY},
    "user": {"text": "str"},
    "reply": {"text": "str", "reasoning?": "str", "reasoning_bytes?": "int", "calls?": ANY,
              "usage": USAGE},
    "confirm": {"step": "int", "choice": "str", "reason?": "str"},
    "code": {"step": "int", "code": "str", "cpu_limit_ms?": "int"},
    "step": {"step": "int", "code?": "str|null", "prose?": "str", "observation?": "str",
             "thought?": "str",
             **{name + "?": kind for name, kind in RAN.items()}},
    "checked": {"check": "str", "passed": "bool", "input_bytes": "int", "input_sha256": DIGEST,
                "printed": "str", "run": {"step": "int", **RAN}},
    "tests": {"tests": ANY, "files": ANY, "count": "int", "stands": "bool", "why": "str",
              "jail": {**JAIL, "posture": ANY}, "run": {"step": "int", **RAN},
              "compared?": {"step": "int", **RAN}},
    "compact": {"observations": "int", "bytes": "int", "tokens": "int"},
    "thought": ANY,
    "command": {"command": "str", "branch": "int", "state": "int", "file?": ANY, "messages?": "int"},
    "end": {"outcome": "str", "answer?": "str", "error?": "str", "status?": "int",
            "usage?": USAGE, **OUT},
}

# of `stepjail run --report`
COPIED = {"files": "int", "folders": "int", "bytes": "int", "error": "str|null",
          "left_out": {"link": "int", "special": "int", "hidden": "int", "name": "int", "deep": "int",
                       "limit": "int", "closed": "int", "unwritten": "int"}}
REPORT = {"stepjail": "str", "verdict": "str", "started": "str|null", "argv": ["str"], **ENDED, "status": "int", "error": "str|null",
          "limits": [{"option": "str", "value": "str", "sure": "bool"}],
          "violations": (REFUSED, "null"), "wall_ms": "int|null", "cpu_ms": "int|null",
          "cpu_user_ms": "int|null", "cpu_system_ms": "int|null", "cpu_throttled_ms": "int|null",
          "memory_peak_bytes": "int|null", "oom_kills": "int|null", "pids_peak": "int|null",
          "pids_refused": "int|null", "strays": "int|null", "full": (["str"], "null"),
          "output": ANY, "out": (COPIED, "null"), "egress": (EGRESS, "null"), "not_enforced": ["str"],
          "shut": ["str"], "cgroup_limits": ANY,
          "posture": ANY, "watcher": ANY, "host_uid": "int|null",
          "vm?": {**VM, "started": "bool",
                  "out": ({"files": "int", "folders": "int", "bytes": "int", "error": "str|null"}, "null"),
                  "jail": {"verdict?": "str", "violations?": (REFUSED, "null"), "memory_peak_bytes?": "int|null",
                           "egress?": (EGRESS, "null"), "not_enforced?": ["str"], "cgroup_limits?": ANY,
                           "posture?": ANY}}}


def plain(value, kind):
    if kind == DIGEST:
        return isinstance(value, str) and len(value) == 64 and not set(value) - set(
            "0123456789abcdef")
    if kind == TIME:
        return isinstance(value, str) and len(value) == 24 and value[10] + value[-1] == "TZ"
    return any(isinstance(value, TYPES[word]) and (word == "bool" or not isinstance(value, bool))
               for word in kind.split("|"))


def wrong(value, kind, where="it"):
    """What is wrong with a value, a line each; nothing where it is of this kind."""
    if kind is ANY:
        return []
    if isinstance(kind, tuple):
        found = [wrong(value, one, where) for one in kind]
        return min(found, key=len)
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [line for i, one in enumerate(value) for line in wrong(one, kind[0],
                                                                      f"{where}[{i}]")]
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            return [f"{where} is no object"]
        known = {name.rstrip("?"): one for name, one in kind.items()}
        lines = [f"{where}.{name} is missing" for name in kind
                 if not name.endswith("?") and name not in value]
        lines += [f"{where}.{name} is not known" for name in value if name not in known]
        return lines + [line for name, one in known.items() if name in value
                        for line in wrong(value[name], one, f"{where}.{name}")]
    return [] if plain(value, kind) else [f"{where} is {value!r}, no {kind}"]


def wrong_line(event):
    """The same of a transcript's line."""
    kind = EVENTS.get(event.get("event"))
    if kind is None:
        return [f"event {event.get('event')!r} is not known"]
    return [] if kind is ANY else wrong(event, {**LINE, **kind}, event["event"])
