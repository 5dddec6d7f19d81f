# SPDX-License-Identifier: MIT
"""report_scene.py - what tests of stepjail-report share: a strict reader of its pages, and hostile transcripts"""
import base64
import hashlib
import html.parser
import json
import re
import struct
import zlib

import python_scene  # noqa: F401  the path to agent/python
from agent_scene import sealed, unseal
from stepjail_report.words import HIDDEN

VOID = {"meta", "img"}
TEXTS = {"id", "class", "aria-labelledby", "aria-label", "aria-hidden", "role", "lang", "tabindex", "scope"}
DRAWN = {"x", "y", "x1", "x2", "y1", "y2", "width", "height", "text-anchor", "viewbox"}
# every element a page may have, with the attributes that it may have beside TEXTS
ALLOWED = {**{tag: set() for tag in (
    "html head title style body header main footer section article h1 h2 h3 h4 p pre b bdi i ul li dl dt dd span strong div "
    "details summary figure figcaption table caption thead tbody tr th td desc").split()},
    "meta": {"charset", "http-equiv", "content", "name"}, "a": {"href"}, "img": {"src", "alt", "width", "height"},
    **{tag: DRAWN for tag in ("svg", "line", "rect", "text")}}
NUMBER = re.compile(r"-?[0-9]{1,6}(\.[0-9])?")


class Page(html.parser.HTMLParser):
    """A page that is as strict as this, or an AssertionError that says what it is not."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.wanted, self.links, self.levels = [], [], [], [], []
        self.texts, self.images, self.seen, self.policy, self.sheet = [], [], set(), None, ""
        assert text.startswith("<!DOCTYPE html>") and text.isascii()
        self.feed(text)
        self.close()
        self.check()

    def handle_decl(self, decl):
        assert decl == "DOCTYPE html", decl

    def handle_comment(self, data):
        assert data == " stepjail-report ", data

    def handle_pi(self, data):
        raise AssertionError(f"<?{data}")

    def unknown_decl(self, data):
        raise AssertionError(f"<![{data}")

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED, f"<{tag}>"
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), attrs
        here = dict(attrs)
        for name, value in attrs:
            assert name in TEXTS | ALLOWED[tag], f"<{tag} {name}={value}>"
            assert value is not None and not HIDDEN.search(value), (tag, name, value)
        for name in DRAWN & set(names) - {"text-anchor", "viewbox"}:
            assert NUMBER.fullmatch(here[name]), here
        if tag == "meta" and here.get("http-equiv") == "Content-Security-Policy":
            assert self.policy is None and not self.seen & {"style", "body"}
            self.policy = here["content"]
        if tag == "a":
            assert here["href"].startswith("#"), here
            self.wanted.append(here["href"][1:])
        if tag == "img":
            assert re.fullmatch("data:image/png;base64,[A-Za-z0-9+/]+=*", here["src"]) and here["alt"], here["src"][:80]
            self.images.append(base64.b64decode(here["src"].partition(",")[2]))
        if tag == "th":
            assert here.get("scope") in ("row", "col"), here
        if tag in ("h1", "h2", "h3", "h4"):
            self.levels.append(int(tag[1]))
        self.ids += [here["id"]] if "id" in here else []
        self.wanted += here.get("aria-labelledby", "").split()
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        raise AssertionError(f"<{tag}/>")

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another"

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            self.sheet += data
        else:
            found = HIDDEN.search(data)
            assert not found, f"{found[0]!r} is in the page"
            self.texts.append(data)

    def check(self):
        assert not self.open, self.open
        assert len(set(self.ids)) == len(self.ids), "an id is there twice"
        assert set(self.wanted) <= set(self.ids), set(self.wanted) - set(self.ids)
        assert self.levels[0] == 1 and self.levels.count(1) == 1, self.levels
        assert all(after - before <= 1 for before, after in zip(self.levels, self.levels[1:])), self.levels
        digest = base64.b64encode(hashlib.sha256(self.sheet.encode()).digest()).decode()
        assert self.policy == (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
                               "form-action 'none'"), self.policy
        assert "url(" not in self.sheet and "@import" not in self.sheet and "</" not in self.sheet
        assert {"header", "main", "footer", "title"} <= self.seen

    @property
    def text(self):
        return "".join(self.texts)


def png(width=2, height=2):
    """A picture, whole."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + b"\x20\x40\x80" * min(width, 4) for _ in range(min(height, 4)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


# what somebody would write to get more onto the page than words
WORDS = ("<script>alert(1)</script>", "</pre><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='alert(1)",
         "</title></style><style>*{display:none}</style>", "<svg onload=alert(1)>", "javascript:alert(1)", "]]><!--", "-->",
         "<a href=http://example.com>x</a>", "<iframe src=//example.com>", "<meta http-equiv=refresh content=0>",
         "&lt;script&gt;", "&#60;script&#62;", "\x1b[2J\x1b]0;title\x07", "\u202eright to left", "\u2066\u2069",
         "\0", "\ud800", "a" + "\u0301" * 40, "\U000e0041\U000e0042", "\u200b" * 20, "x" * 5000, "\r\n" * 50, "\t" * 50, "",
         "url(http://example.com/)", "data:text/html,<script>alert(1)</script>", "../../../etc/passwd", "/dev/zero",
         "step-1-1.png", "/etc/step-1-1.png", "completed", "kept", "\u05d0\u05d1\u05d2 \u0627\u0628", "<base href=//x>",
         "<plaintext>", "<template>", "<!DOCTYPE x>", "<?xml?>", "\ufeff<", "\uff1cscript\uff1e", "constructor", "-1", "1e999")
NUMBERS = (0, -1, 1, 2, 1.5, 1e308, -1e308, 2 ** 53, 2 ** 63, 10 ** 40, -0.0, 1e-300, True, False, None, 999999999, 10 ** 15)


def hostile_value(rnd, depth=0):
    kind = rnd.random()
    if kind < 0.4 or depth > 3:
        return "".join(rnd.choice(WORDS) for _ in range(rnd.randint(0, 3)))
    if kind < 0.7:
        return rnd.choice(NUMBERS)
    if kind < 0.85:
        return [hostile_value(rnd, depth + 1) for _ in range(rnd.randint(0, 4))]
    return {rnd.choice(WORDS + ("head", "bytes", "list", "total")): hostile_value(rnd, depth + 1)
            for _ in range(rnd.randint(0, 4))}


def twisted(rnd, value, most):
    """A value of a real run in which some parts are somebody's."""
    if rnd.random() < most:
        return hostile_value(rnd)
    if isinstance(value, dict):
        return {name: twisted(rnd, one, most) for name, one in value.items() if rnd.random() > most / 3}
    if isinstance(value, list):
        return [twisted(rnd, one, most) for one in value for _ in range(rnd.choice((0, 1, 1, 1, 1, 3)))]
    return value


def hostile_transcript(rnd, events):
    """Bytes: a chain that is whole, around events that are not, and sometimes broken after all."""
    some, most = [], rnd.choice((0.05, 0.2, 0.5))
    for event in events:
        if event["event"] != "start" and rnd.random() < 0.1:
            continue
        bent = twisted(rnd, event, most)
        some += [{**(bent if isinstance(bent, dict) else event), "event": event["event"]}] * rnd.choice((1, 1, 1, 1, 2))
    some[0] = {**some[0], "event": "start"}
    some = [one for i, one in enumerate(some) if one["event"] != "start" or i == 0]
    lines, before = [], "0" * 64
    for number, event in enumerate(some, 1):
        event = {"line": number, "prev": before, **{n: v for n, v in event.items() if n not in ("line", "prev", "sha256")}}
        if number == 1:
            event["format"] = 2
        lines.append(sealed(json.dumps(event, separators=(",", ":")).encode()[:-1]))
        before = unseal(lines[-1])[1]
    data = bytearray(b"".join(lines))
    if rnd.random() < 0.2:
        at = rnd.randrange(len(data))
        data[at] = rnd.randrange(256)
    return bytes(data[:rnd.randrange(len(data))] if rnd.random() < 0.1 else data)
