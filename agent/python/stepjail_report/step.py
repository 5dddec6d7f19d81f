# SPDX-License-Identifier: MIT
"""step.py - a step, a check, a command of a run as a part of the page"""
from .pictures import Unfit
from .transcript import get, items, number, text
from .words import CODE_MAX, block, count, duration, line, plain, size

TASK = "Task: "  # the agent's prompt begins with it
# how a verdict, an outcome and a state look; what is not here looks as WARN does
GOOD, WARN, BAD, NOTE = ("good", "✓"), ("warn", "!"), ("bad", "✕"), ("note", "–")
LOOKS = {"completed": GOOD, "answered": GOOD, "ended": NOTE, "kept": NOTE, "not-kept": NOTE, "exception": WARN,
         "exited": WARN, "cancelled": NOTE, "stopped": NOTE, "rolled-back": WARN, "lost": BAD, "signaled": BAD,
         "wall-timeout": BAD, "cpu-timeout": BAD, "memory": BAD, "pids": BAD, "disk": BAD, "file-locks": BAD,
         "violation": BAD, "launcher-error": BAD, "failed": BAD, "model-failed": BAD, "refused": BAD, "budget-ended": WARN,
         "steps-ended": WARN, "passed": GOOD, "not passed": BAD}
STATES = {"kept": "variables kept", "rolled-back": "rolled back", "lost": "session lost", "not-kept": "a jail of its own"}
STREAMS = (("stdout", "Output", "out"), ("stderr", "Standard error", "err"), ("traceback", "Traceback", "err"),
           ("result", "Value of the last expression", "out"))
MEDIA_MAX, REFUSED_MAX = 64, 100
KINDS = {"html": "A table or page as HTML", "svg": "A picture as SVG", "json": "JSON", "png": "A picture",
         "text": "A text"}


def badge(word, said=None):
    kind, sign = LOOKS.get(word, WARN)
    return f'<span class="badge {kind}"><span aria-hidden=true>{sign} </span>{line(said or word, 60)}</span>'


def facts(run):
    """What it used, and how its process ended."""
    said = [duration(number(run, "wall_ms")), duration(number(run, "cpu_ms")) + " of CPU",
            size(number(run, "memory_peak_bytes")) + " of memory"]
    said += [f"exit status {number(run, 'exit_code'):.0f}"] if number(run, "exit_code") else []
    said += [f"signal {number(run, 'signal'):.0f}"] if number(run, "signal") else []
    said += [f"state {number(run, 'state_number'):.0f}"] if get(run, "state_number") is not None else []
    said += [count(number(run, "strays"), "process").replace("processs", "processes") + " left running"] \
        if number(run, "strays") else []
    said += [f"limit: <span{' class=nw' * (len(text(run, 'limit')) < 30)}>{line(text(run, 'limit'), 80)}</span>"] if text(run, "limit") else []
    said += ["cut off by: " + line(text(run, "ended_by"), 40)] if text(run, "ended_by") else []
    return f"<p class=facts>{' · '.join(said)}</p>"


def streams(run):
    parts = []
    for name, title, kind in STREAMS:
        said = get(run, name)
        if text(said, "head") or number(said, "bytes"):
            parts.append(f"<h4>{title}</h4>" + block(text(said, "head"), kind, number(said, "left_out"), text(said, "tail")))
    return "".join(parts)


def table(title, *columns, rows):
    """Of numbers is a column whose name begins with #."""
    heads = "".join(f"<th scope=col{' class=n' if name[0] == '#' else ''}>{name.lstrip('#')}</th>" for name in columns)
    return (f"<h4>{title}</h4><div class=wide tabindex=0 role=region aria-label='{title}'><table>"
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>")


def refused(run):
    calls = items(run, "violations", "list")
    total = number(run, "violations", "total")
    if not calls and not total:
        return ""
    rows = "".join(
        f"<tr><th scope=row class='mono nw'>{line(text(call, 'syscall') or '?', 40)}</th>"
        f"<td class='mono nw'>{line(text(call, 'asks') or '–', 60)}</td><td class=n>{number(call, 'count'):,.0f}</td>"
        f"<td class=n>{number(call, 'pid'):.0f}</td><td class=n>{duration(number(call, 'first_ms'))}</td>"
        f"<td class=mono>{line(' '.join(a for a in items(call, 'args')[:6] if isinstance(a, str)), 160)}</td></tr>"
        for call in calls[:REFUSED_MAX])
    left = len(calls) - REFUSED_MAX + number(run, "violations", "unlisted") if len(calls) > REFUSED_MAX else \
        number(run, "violations", "unlisted")
    more = f"<p class=gap>{count(left, 'more refused call')} not listed</p>" if left > 0 else ""
    return table("Refused system calls", "Call", "Asks for", "#Times", "#Process", "#First at", "Arguments",
                 rows=rows) + more


def hosts(run):
    """What the step asked for of hosts."""
    rows = "".join(
        f"<tr><th scope=row class=mono>{line(text(one, 'host') or '?', 120)}:{number(one, 'port'):.0f}</th>"
        f"<td class=n>{number(one, 'times'):,.0f}</td><td class=n>{number(one, 'failed'):,.0f}</td>"
        f"<td class=n>{number(one, 'sent'):,.0f}</td><td class=n>{number(one, 'received'):,.0f}</td>"
        f"<td>{line(text(one, 'why') or '–', 160)}</td></tr>"
        for one in items(run, "egress", "hosts")[:REFUSED_MAX])
    past = number(run, "egress", "bypass")
    return (table("Hosts", "Host", "#Times", "#Failed", "#Bytes sent", "#Bytes received", "Why", rows=rows) if rows else "") \
        + (f"<p class=gap>Past the proxy, refused: {past:,.0f} (UDP, DNS, connections)</p>" if past else "")


def picture(media, where, pictures):
    """One PNG; in words where it cannot be shown."""
    name = plain(text(media, "name") or text(media, "saved").rpartition("/")[2], 80)
    try:
        width, height, uri = pictures.take(text(media, "saved"), text(media, "sha256"))
    except Unfit as why:
        return f"<p class=gap>A picture{', ' + name if name else ''}, is not on this page: {plain(str(why), 200)}.</p>"
    alt = f"Picture shown by {where}" + (f", {name}" if name else "")
    return (f'<figure class=shown><img src="{uri}" width="{width}" height="{height}" alt="{alt}">'
            f"<figcaption>{name or 'picture'}, {width} by {height} pixels, {size(number(media, 'bytes'))}</figcaption></figure>")


def shown(run, where, pictures):
    """What a step shows; of an object with a PNG, its other forms are not told."""
    media = [one for one in items(run, "media") if isinstance(one, dict)]
    drawn = {number(one, "object") for one in media if text(one, "kind") == "png" and text(one, "state") == "whole"}
    parts = []
    for one in media[:MEDIA_MAX]:
        kind, state = text(one, "kind"), text(one, "state")
        if kind == "png" and state == "whole" and text(one, "saved"):
            parts.append(picture(one, where, pictures))
        elif kind == "png" or number(one, "object") not in drawn:
            why = {"whole": text(one, "unsaved"), "broken": "it broke off"}.get(state, "it is too large")
            file = f", in the file {line(text(one, 'saved').rpartition('/')[2], 80)}" if text(one, "saved") else ""
            parts.append(f"<p class=gap>{KINDS.get(kind, 'Something')}, {size(number(one, 'bytes'))}{file}"
                         f"{': ' + line(why, 200) if why and not file else ''}. It is not on this page.</p>")
    if len(media) > MEDIA_MAX:
        parts.append(f"<p class=gap>{count(len(media) - MEDIA_MAX, 'more object')} not told here.</p>")
    return f"<h4>Shown</h4>{''.join(parts)}" if parts else ""


def details(title, body, kind=""):
    return f"<details{kind}><summary>{title}</summary>{body}</details>" if body else ""


def words_around(step):
    """What the model wrote beside its code, and what it thought."""
    prose, thought = text(step, "prose").strip("\n"), text(step, "reply", "reasoning")
    left = max(0, number(step, "reply", "reasoning_bytes") - len(thought.encode("utf-8", "replace")))
    return ((block(prose, "prose") if prose else "")
            + details("What the model thought", block(thought, "out", left) if thought else ""))


def step(event, place, began, pictures):
    """@place: the number that no other step of the page has; @began: ms since the start, or None"""
    told, ran = number(event, "step") or place, bool(text(event, "verdict"))
    at = f" · began at {duration(began)}" if began is not None else ""
    code = text(event, "code")
    if not ran:
        words = "Its end is not shown: a line of this transcript is wrong" if get(event, "unread") else \
            "The run ended while this step ran"
        head = badge("launcher-error", "end not read" if get(event, "unread") else "no end recorded") \
            if "began" in event else badge("other", "nothing was run")
        ended = f"<p class=facts>{words}{at}.</p>" if "began" in event else ""
    else:
        state = text(event, "state")
        head = badge(text(event, "verdict")) + badge(state, STATES.get(state))
        calls = number(event, "violations", "total")
        head += badge("violation", count(calls, "refused call")) if calls else ""
        quiet = text(event, "verdict") == "completed" and state in ("kept", "not-kept")
        ended = ("" if quiet else f"<p class=words>{line(text(event, 'words'))}</p>") + facts(event)[:-4] + at + "</p>"
    return (f'<article class=step id="step-{place}" aria-labelledby="h-{place}"><h3 id="h-{place}">Step {told:.0f} {head}</h3>'
            + ended + words_around(event) + (f"<h4>Code</h4>{block(code, 'code', most=CODE_MAX)}" if code else "")
            + streams(event) + refused(event) + hosts(event) + shown(event, f"step {told:.0f}", pictures)
            + details("What the model was told", block(text(event, "observation"), "out")
                      if text(event, "observation") else "") + "</article>")


def check(event, name, place):
    """A program or tests that were asked about an answer."""
    good = get(event, "passed") is True or get(event, "stands") is True
    of = {"answer": "the answer", "reply": "a reply", "prompt": "the prompt"}.get(text(event, "check"), "")
    title = "Tests" if name == "tests" else "Check of " + (of or line(text(event, "check"), 80))
    why = text(event, "why") or text(event, "printed")
    runs = "".join(f"<p class=words>{line(text(event, part, 'words'))}</p>{facts(get(event, part))}{streams(get(event, part))}"
                   f"{refused(get(event, part))}" for part in ("run", "compared") if text(event, part, "verdict"))
    tests = f"<p class=words>{count(number(event, 'count'), 'test')}</p>" if name == "tests" else ""
    return (f'<article class=step aria-labelledby="c-{place}"><h3 id="c-{place}">{title} '
            f"{badge('passed' if good else 'not passed')}</h3>{tests}{block(why, 'out') if why else ''}"
            f"{details('The jail that ran it', runs)}</article>")


def spoken(event, name, place):
    """What a person of a chat said, or was answered."""
    title, kind = ("The user", "prose") if name == "user" else ("Answer", "answer")
    return (f'<article class=step aria-labelledby="s-{place}"><h3 id="s-{place}">{title}</h3>'
            f"{block(text(event, 'text').removeprefix(TASK).strip(), kind)}</article>")


def command(event):
    """What a person did at the prompt, or the agent, between steps."""
    word, branch, state = text(event, "command"), number(event, "branch"), number(event, "state")
    said = {"rollback": f"went back to state {state:.0f} on branch {branch:.0f}",
            "branch": f"began branch {branch:.0f} at state {state:.0f}",
            "switch": f"went on with branch {branch:.0f}, at state {state:.0f}",
            "drop": f"dropped branch {branch:.0f}", "reset": "began a new session",
            "complete": "asked for names by Tab, which used up a number of a state"}.get(word)
    if text(event, "event") == "confirm":
        did = "ended the run before this code was run" if text(event, "choice") == "stop" else "had this code not run"
        why = text(event, "reason")
        return f"<p class=entry>The user {did}{': ' + line(why) if why else '.'}</p>"
    if text(event, "event") == "compact":
        said = f"left out {count(number(event, 'observations'), 'old observation')} of what is sent to the model"
        return f"<p class=entry>The agent {said}.</p>"
    file = text(event, "file", "name") or text(event, "file", "path")
    if word == "put":
        said = f"put the file {line(file, 200)} into /work"
    return f"<p class=entry>The user {said or 'gave the command ' + line(word, 60)}.</p>"
