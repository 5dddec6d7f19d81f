# SPDX-License-Identifier: MIT
"""page.py - a transcript as one page of HTML"""
import datetime

from . import posture
from .chart import charts
from .step import TASK, badge, check, command, details, spoken, step
from .style import POLICY, SHEET
from .transcript import CHANGED, UNFINISHED, get, items, number, text
from .words import Budget, block, count, duration, line, plain, size

FIRST = "<!DOCTYPE html><!-- stepjail-report -->\n"  # by which a page is known that may be replaced
PAGE_MAX = 16 << 20  # characters of steps; pictures come on top
# where a line of the end has none: agent/loop/loop.c
STATUS = {"answered": 0, "steps-ended": 3, "budget-ended": 3, "wall-timeout": 124, "model-failed": 4, "refused": 5}
ROWS_MAX, FILES_MAX, OPTIONS_MAX = 2000, 100, 100
TITLE_MAX = 160


def clock(words):
    try:
        return datetime.datetime.strptime(words, "%Y-%m-%dT%H:%M:%S.%fZ")
    except ValueError:
        return None


def between(first, last):
    """Milliseconds, or None where one is no time."""
    first, last = clock(first), clock(last)
    ms = (last - first).total_seconds() * 1000 if first and last else -1
    return ms if ms >= 0 else None


def task_of(start):
    return text(start, "user").removeprefix(TASK).strip()


def title_of(transcript, name):
    words = task_of(transcript.start).splitlines()
    if words:
        return words[0]
    return {"repl": "A session at a prompt", "chat": "A conversation"}.get(text(transcript.start, "command"), "A transcript") + f" ({name})"


def banner(transcript):
    if transcript.state == CHANGED:
        return ('<div class="banner bad" role=note><strong>✕ This transcript was changed</strong>'
                f"<p>{line(transcript.words)}. Lines before it fit, and are shown; what is in it and behind it is "
                "not.</p></div>")
    if transcript.state == UNFINISHED:
        return ('<div class="banner warn" role=note><strong>! This transcript has no end</strong>'
                f"<p>It is {line(transcript.words)}.</p></div>")
    return ""


def head(transcript, name):
    start, end = transcript.start, transcript.end
    outcome = text(end, "outcome") or {CHANGED: "changed"}.get(transcript.state, "unfinished")
    badges = [badge(outcome, "outcome: " + outcome)]
    status = get(end, "status") if get(end, "status") is not None else STATUS.get(outcome)
    if status is not None:
        status = number({"": status}, "")
        badges.append(f'<span class="badge {"bad" if status else "note"}">exit status {status:.0f}</span>')
    badges.append(f'<span class="badge note">{count(transcript.steps, "step")}</span>')
    took = between(text(start, "started"), text(end, "time"))
    badges.append(f'<span class="badge note">{duration(took)}</span>' if took is not None else "")
    badges.append({CHANGED: '<span class="badge bad">✕ chain broken</span>'}.get(
        transcript.state, '<span class="badge good">✓ chain whole</span>'))
    return (f"<header><p class=kind>stepjail-agent {line(text(start, 'command'), 20)}</p>"
            f"<h1>{line(title_of(transcript, name), TITLE_MAX)}</h1>"
            f"<ul class=badges role=list>{''.join(f'<li>{one}</li>' for one in badges if one)}</ul>"
            f"{banner(transcript)}</header>")


def answer(transcript):
    parts = []
    if text(transcript.end, "answer"):
        parts.append(block(text(transcript.end, "answer").strip("\n"), "answer"))
    if text(transcript.end, "error"):
        parts.append(f'<div class="banner bad" role=note><strong>How it ended</strong><p>{line(text(transcript.end, "error"))}'
                     "</p></div>")
    if not parts and text(transcript.start, "command") == "solve":
        parts.append("<p>There is no answer.</p>")
    return section("answer", "Answer", "".join(parts))


def section(name, title, body):
    return f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{title}</h2>{body}</section>' if body else ""


def task(transcript):
    words = task_of(transcript.start)
    if not words:
        return ""
    lines = words.splitlines()
    same = len(lines) == 1 and len(words) <= TITLE_MAX
    return section("task", "Task", ("" if same else block(words, "prose")) + details(
        "The rules that the model was given", block(text(transcript.start, "system"), "out")
        if text(transcript.start, "system") else "")) if not same or text(transcript.start, "system") else ""


def rows_of(transcript):
    """Of each step that ran: (place, line of the transcript)."""
    return [(place, entry) for place, (event, entry) in enumerate(transcript.entries, 1)
            if event == "step" and text(entry, "verdict")]


def table(rows, linked):
    """@linked: places of steps that are on the page"""
    def name(place, one):
        said = f"{number(one, 'step'):.0f}"
        return f'<a href="#step-{place}">{said}</a>' if place in linked else said

    body = "".join(
        f'<tr><th scope=row>{name(place, one)}</th><td>{badge(text(one, "verdict"))}</td>'
        f"<td>{line(text(one, 'state'), 20)}</td><td class=n>{duration(number(one, 'wall_ms'))}</td>"
        f"<td class=n>{duration(number(one, 'cpu_ms'))}</td><td class=n>{size(number(one, 'memory_peak_bytes'))}</td>"
        f"<td class=n>{number(one, 'violations', 'total'):,.0f}</td></tr>" for place, one in rows[:ROWS_MAX])
    more = f"<p class=gap>{count(len(rows) - ROWS_MAX, 'more step')} not listed here.</p>" if len(rows) > ROWS_MAX else ""
    return ("<div class=wide tabindex=0 role=region aria-label='Steps in numbers'><table><caption>Each step in numbers"
            "</caption><thead><tr><th scope=col>Step</th><th scope=col>Verdict</th><th scope=col>State</th>"
            "<th scope=col class=n>Wall time</th><th scope=col class=n>CPU time</th><th scope=col class=n>Memory</th>"
            f"<th scope=col class=n>Refused</th></tr></thead><tbody>{body}</tbody></table></div>{more}")


def pairs(rows):
    return "<dl class=grid2>" + "".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in rows if said) + "</dl>"


def files(title, listed):
    listed = [one for one in listed if isinstance(one, dict)]
    if not listed:
        return ""
    rows = "".join(f"<tr><th scope=row>{line(text(one, 'name') or text(one, 'path'), 200)}</th>"
                   f"<td class=n>{size(number(one, 'bytes'))}</td><td class=mono>{line(text(one, 'sha256'), 64)}</td></tr>"
                   for one in listed[:FILES_MAX])
    more = f"<p class=gap>{count(len(listed) - FILES_MAX, 'more file')} not listed here.</p>" \
        if len(listed) > FILES_MAX else ""
    return (f"<div class=wide tabindex=0 role=region aria-label='{title}'><table><caption>{title}</caption><thead><tr>"
            f"<th scope=col>Name</th><th scope=col class=n>Size</th><th scope=col>SHA-256</th></tr></thead><tbody>{rows}"
            f"</tbody></table></div>{more}")


def options(inputs):
    given = get(inputs, "options")
    given = list(given.items())[:OPTIONS_MAX] if isinstance(given, dict) else []
    return " ".join(f"<span class='mono{' nw' if len(name + value) < 30 else ''}'>--{line(name, 40)} {line(value, 120)}</span>" + "," * (i < len(given))
                    for i, (name, value) in enumerate(given, 1) if isinstance(value, str))


def run(transcript):
    start, end = transcript.start, transcript.end
    usage = get(end, "usage") or transcript.usage
    tokens = [f"{number(usage, name):,.0f} {one if number(usage, name) == 1 else more}" for name, one, more in (
        ("requests", "request", "requests"), ("prompt_tokens", "token in", "tokens in"),
        ("completion_tokens", "token out", "tokens out")) if number(usage, name)]
    model = [text(start, "model", name) for name in ("provider", "name", "base_url", "script")]
    inputs = get(start, "inputs")
    rows = (("Model", line(" ".join(filter(None, model)), 400) if any(model) else ""), ("Used", ", ".join(tokens)),
            ("Started", line(text(start, "started"), 40)),
            ("Host", f"{line(text(start, 'host'), 80)}, user {number(start, 'uid'):.0f}" if text(start, "host") else ""),
            ("Agent", "stepjail-agent " + line(text(start, "stepjail_agent"), 20) if text(start, "stepjail_agent") else ""),
            ("Root tree", line(text(inputs, "rootfs"), 200)), ("Jail", options(inputs)),
            ("Time of a step", "at most " + duration(number(inputs, "step_ms")) if number(inputs, "step_ms") else ""),
            ("Jails", str(transcript.sessions) if transcript.sessions else ""))
    argv = " ".join(word for word in items(start, "argv") if isinstance(word, str))
    return section("run", "Run", pairs(rows) + files("Files that it was given", items(inputs, "files"))
                   + files("Files that it left", items(end, "files"))
                   + details("The command line", block(argv, "out", most=2000) if argv else ""))


def steps(transcript, pictures):
    """Each entry while the page has room, and the places of those that are there."""
    budget, parts, left = Budget(PAGE_MAX), [], transcript.left_out
    started = text(transcript.start, "started")
    for place, (event, entry) in enumerate(transcript.entries, 1):
        if event == "step":
            part = step(entry, place, between(started, text(entry, "began")), pictures)
        elif event in ("checked", "tests"):
            part = check(entry, event, place)
        elif event in ("user", "said"):
            part = spoken(entry, event, place)
        else:
            part = command(entry)
        if left == transcript.left_out and budget.take(part) is not None:
            parts.append(part)
        else:
            left += 1
    if left:
        parts.append(f'<div class="banner note" role=note><strong>{count(left, "more entry").replace("entrys", "entries")} '
                     "not shown</strong><p>The page has its most. stepjail-agent transcripts show FILE has all.</p></div>")
    there = range(1, 1 + len(transcript.entries) - (left - transcript.left_out))
    return section("steps", "Steps", "".join(parts) or "<p>No step has run.</p>"), there


def integrity(transcript, name, given):
    said = {CHANGED: '<span class="badge bad">✕ broken</span>', UNFINISHED: '<span class="badge warn">! no end line</span>'
            }.get(transcript.state, '<span class="badge good">✓ whole</span>')
    rows = [("Chain", f"{said} {line(transcript.words)}"),
            ("Last digest", f"<span class=mono>{transcript.digest}</span>" if transcript.lines else "")]
    if given:
        same = given == transcript.digest
        rows.append(("Digest that was given", '<span class="badge good">✓ the same</span>' if same else
                     '<span class="badge bad">✕ another: this is another run, or all lines were made anew</span>'))
    return section("integrity", "Is this what was recorded?", pairs(rows) + (
        "<p class=small>Each line has a digest of itself and of the line before; all were computed again when this page "
        f"was made from {line(name, 200)}. Somebody who can write the file can make all lines anew: compare the last digest "
        "with the one that the run printed at its end.</p>"))


def page(transcript, name, pictures, given=None):
    """@name: of the file; @given: a digest to compare with"""
    ran = rows_of(transcript)
    numbers = [(round(number(one, "step")), number(one, "wall_ms"), number(one, "cpu_ms"),
                number(one, "memory_peak_bytes")) for _, one in ran]
    stepwise, there = steps(transcript, pictures)
    body = (answer(transcript) + task(transcript) + run(transcript)
            + (section("numbers", "Time and memory", charts(numbers) + table(ran, there)) if ran else "")
            + stepwise
            + section("posture", "Walls", posture.section(transcript.session, transcript.start, transcript.sessions))
            + integrity(transcript, name, given))
    return (FIRST + '<html lang=en><head><meta charset=utf-8><meta http-equiv="Content-Security-Policy" content="'
            + POLICY + '"><meta name=viewport content="width=device-width,initial-scale=1"><meta name=referrer '
            "content=no-referrer><meta name=color-scheme content='light dark'>"
            f"<title>{plain(title_of(transcript, name), 100)}</title><style>{SHEET}</style></head><body>"
            f'<a class=skip href="#steps">To the steps</a>{head(transcript, name)}<main>{body}</main>'
            f"<footer><p>Made by stepjail-report of {plain(name, 200)}. What a model wrote and a jail printed is shown as it "
            "was, with <b class=u>marks</b> for what cannot be seen.</p></footer></body></html>\n")
