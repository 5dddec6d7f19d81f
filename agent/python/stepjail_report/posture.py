# SPDX-License-Identifier: MIT
"""posture.py - what the kernel said of the walls, and what this host did not enforce"""
import json

from .transcript import get, items, number, text
from .words import block, count, line
from .step import details

LIST_MAX = 40
NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
NO_CAPS = "0000000000000000"


def namespaces(posture):
    own = [name for name in NAMESPACES if number(posture, "namespaces", name, "jail")
           and number(posture, "namespaces", name, "jail") != number(posture, "namespaces", name, "host")]
    missing = [name for name in NAMESPACES if name not in own]
    return not missing, "own: " + (", ".join(own) or "none") + ("; not own: " + ", ".join(missing) if missing else "")


def capabilities(posture):
    sets = ("inheritable", "permitted", "effective", "bounding", "ambient")
    full = [name for name in sets if text(posture, "process", "cap_" + name) != NO_CAPS]
    return not full, "none in any set" if not full else "not empty: " + ", ".join(full)


def privileges(posture):
    good = text(posture, "process", "no_new_privs") == "1"
    return good, "no_new_privs is set" if good else "no_new_privs is not set"


def calls(posture):
    good = text(posture, "process", "seccomp_mode") == "2"
    return good, (f"an allow list, {text(posture, 'process', 'seccomp_filters')} filter" if good else "no filter")


def files(posture):
    abi = number(posture, "landlock", "abi")
    return abi > 0, f"Landlock, ABI {abi:.0f}" if abi else "no Landlock"


def root(posture):
    mounts = [one for one in items(posture, "mounts") if text(one, "at") == "/"]
    good = any("ro" in text(one, "flags").split(",") for one in mounts)
    return good, f"{'read-only' if good else 'not told to be read-only'}; {count(len(items(posture, 'mounts')), 'mount')}"


def network(posture):
    links = [one for one in items(posture, "network", "links") if isinstance(one, str)]
    good = all(one.startswith("lo ") for one in links) and not items(posture, "network", "routes")
    return good, "links: " + (", ".join(links) or "none") + ("" if good else "; more than lo, or a route")


WALLS = (("Namespaces", namespaces), ("Capabilities", capabilities), ("Privileges", privileges),
         ("System calls", calls), ("Files", files), ("Root tree", root), ("Network", network))


def lacking(title, words, short=False):
    """A list of words; @short: in one line"""
    words = [word for word in words if isinstance(word, str)]
    if not words:
        return ""
    if short:
        return f"<h3>{title}</h3><p class=mono>{line(', '.join(words))}</p>"
    more = f"<li>and {len(words) - LIST_MAX} more</li>" if len(words) > LIST_MAX else ""
    return f"<h3>{title}</h3><ul>{''.join(f'<li>{line(word, 300)}</li>' for word in words[:LIST_MAX])}{more}</ul>"


def raw(title, value):
    try:
        said = json.dumps(value, indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        said = ""
    return details(title, block(said, "out") if said else "", " class=raw")


def section(session, start, sessions):
    """All of it; @session is the last one's line, or None"""
    parts = []
    if session is None:
        parts.append("<p>No jail was started, or the transcript ends before one was.</p>")
    else:
        posture = get(session, "posture")
        rows = []
        for name, look in WALLS:
            good, said = look(posture)
            rows.append(f"<tr><th scope=row>{name}</th><td>{line(said, 300)}</td><td><span class='badge "
                        f"{'good' if good else 'bad'}'><span aria-hidden=true>{'✓' if good else '✕'} </span>{'up' if good else 'look here'}</span></td></tr>")
        which = "the jail" if sessions < 2 else f"the last of {sessions} jails"
        parts.append("<div class=wide tabindex=0 role=region aria-label='Walls of the jail'><table class=walls><caption>"
                     f"Read back from the kernel, of {which}, before its first step</caption>"
                     "<thead><tr><th scope=col>Wall</th><th scope=col>As the kernel has it</th><th scope=col>State</th></tr>"
                     f"</thead><tbody>{''.join(rows)}</tbody></table></div>")
        parts.append(lacking("Not enforced on this host", items(session, "not_enforced"))
                     or "<p class=small>Every limit that was asked for was enforced.</p>")
        parts.append(lacking("Calls that are refused because a wall is missing", items(session, "shut"), True))
        verified = "verified before the run" if get(session, "root_verified") is True else "not verified"
        parts.append("<h3>Digests</h3><dl class=grid2>" + "".join(
            f"<dt>{title}</dt><dd><span class=mono>{line(text(session, name) or 'none', 64)}</span>{more}</dd>"
            for title, name, more in (("Plan", "plan_sha256", ""), ("Root tree", "root_sha256", f" ({verified})"),
                                      ("Posture", "posture_sha256", ""))) + "</dl>")
        parts.append(raw("The whole posture", posture))
    missing = items(start, "confinement", "not_enforced")
    parts.append(lacking("What the agent itself lacks", missing))
    parts.append(raw("The agent's own walls", get(start, "confinement")) if get(start, "confinement") else "")
    return "".join(parts)
