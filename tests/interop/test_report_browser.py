#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_report_browser.py - pages of stepjail-report in Chromium: what is loaded, run and laid out, and how that looks

Screenshots and a PDF are left in build/interop/report, to be looked at.
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(TOP, "tests/integration")]
from browser import Browser  # noqa: E402
from agent_scene import AGENT, BUILD, DATA, AgentCase  # noqa: E402
from python_scene import config  # noqa: E402
from report_scene import hostile_transcript, png  # noqa: E402
from test_report import EVENTS, REPORT, data_of, made, with_media  # noqa: E402
from stepjail_report.pictures import Pictures  # noqa: E402

SHOTS = os.path.join(BUILD, "interop", "report")
HOSTILE = 60
QUESTION = "Which month is the wettest in Seattle, and do people in richer countries live longer? Draw both."
# the contrast of each text with what is behind it (WCAG 2), where that is plain; the worst one
CONTRAST = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number), light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ?
    v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  let worst = [99, ""];
  for (const e of document.querySelectorAll("body *:not(title):not(desc)")) {
    if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
    let back = e, c = [0, 0, 0, 0];
    while (back && (c = parse(getComputedStyle(back).backgroundColor), c.length > 3 && c[3] == 0)) back = back.parentElement;
    const svg = e instanceof SVGElement, front = parse(getComputedStyle(e)[svg ? "fill" : "color"]);
    const [a, b] = [light(front.slice(0, 3)), light(c.slice(0, 3))].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.tagName + "." + (e.getAttribute("class") || "") + " " + e.textContent.slice(0, 40)];
  }
  return worst })()"""


class Looked(AgentCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(SHOTS, exist_ok=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def agent(self, *words, **how):
        return subprocess.run([AGENT, *words, "--transcript", self.path("t.jsonl")], check=False, capture_output=True, text=True,
                              timeout=300, env=self.env(XDG_CONFIG_HOME=config.name), **how)

    def quiet(self, path, **how):
        """Open it; nothing is asked for, nothing runs, and nothing is wider than the page."""
        b = self.browser
        b.open(path, **how)
        self.assertEqual([one for one in b.requests() if not one.startswith("data:image/png;base64,")], [])
        self.assertEqual(b.complaints(), [])
        self.assertLessEqual(b.value("document.documentElement.scrollWidth"), how.get("width", 1280))
        self.assertEqual(b.value("document.scripts.length + document.styleSheets.length"), 1)
        self.assertEqual(b.value("[...document.images].filter(i => !i.naturalWidth).length"), 0)

    def everywhere(self, path, name):
        for width in (360, 1280):
            for scheme in ("light", "dark"):
                self.quiet(path, width=width, scheme=scheme)
                self.browser.screenshot(os.path.join(SHOTS, f"{name}-{width}-{scheme}.png"))
                ratio, where = self.browser.value(CONTRAST)
                self.assertGreaterEqual(ratio, 4.5, f"{scheme}: {where}")
        self.quiet(path, scheme="dark", media="print")
        self.assertEqual(self.browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.browser.pdf(os.path.join(SHOTS, name + ".pdf"))
        with open(os.path.join(SHOTS, name + ".pdf"), "rb") as file:
            self.assertEqual(file.read(5), b"%PDF-")

    def test_analysis(self):
        """A run with pictures, out of a real jail."""
        files = [f"--file={DATA}/{name}.csv" for name in ("seattle-weather", "co2-concentration", "gapminder-health-income")]
        done = self.agent("solve", QUESTION, "--rootfs", "data", "--memory", "1G", "--out", self.path("out"), "--model",
                          f"scripted:{DATA}/analysis.turns", *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run([REPORT, self.path("t.jsonl"), "--shown", self.path("out/shown"), "--out", self.path("p.html")],
                       check=True, timeout=120)
        self.everywhere(self.path("p.html"), "analysis")
        self.assertEqual(self.browser.value("document.images.length"), 2)

    def test_everything(self):
        """A page with each kind of part, and a banner."""
        os.mkdir(self.path("shown"))
        with open(self.path("shown/step-1-1.png"), "wb") as file:
            file.write(png())
        events = EVENTS[:4] + with_media(sha256=hashlib.sha256(png()).hexdigest())[4:5] + EVENTS[5:]
        for name, data in (("everything", data_of(events)), ("changed", data_of(events).replace(b"It is", b"It be")),
                           ("unfinished", data_of(events[:-1]))):
            self.path(name + ".html", made(data, Pictures(self.path("shown"))))
            self.everywhere(self.path(name + ".html"), name)

    def test_hostile(self):
        for seed in range(HOSTILE):
            text = made(hostile_transcript(random.Random(seed), EVENTS))
            path = self.path("h.html", text)
            with self.subTest(seed=seed):
                self.quiet(path, width=360 if seed % 2 else 1280)
                # an element of somebody's would be one of these
                self.assertEqual(self.browser.value("document.querySelectorAll('script,iframe,object,embed,form,base,link,a[href*=\"/\"]"
                                                    ",[onload],[onclick],[onerror],[style]').length"), 0)

    def test_policy(self):
        """Were there a script, a style or a picture of a server's all the same, the page would not have it."""
        page = made(data_of(EVENTS)).replace("<footer>", "<script>document.title = 'run'</script><p style='color:red'>x</p>"
                                             "<style>body{display:none}</style><img src=http://127.0.0.1:9/x.png alt=x>"
                                             "<p onclick=x id=bad>y</p><footer>", 1)
        self.browser.open(self.path("bad.html", page))
        self.assertNotEqual(self.browser.value("document.title"), "run")
        self.assertEqual(self.browser.value("getComputedStyle(document.body).display"), "block")
        self.assertGreaterEqual(len(self.browser.complaints()), 4)

    def test_keyboard(self):
        """Tab reaches the link to the steps first, then parts in their order; each that has the focus shows it."""
        self.quiet(self.path("k.html", made(data_of(EVENTS))))
        tops, named = [], []
        for _ in range(12):
            self.browser.key("Tab")
            top, tag, outline = self.browser.value(
                "(e => [e.getBoundingClientRect().top + scrollY, e.tagName, getComputedStyle(e).outlineStyle])"
                "(document.activeElement)")
            tops.append(top)
            named.append(tag)
            self.assertEqual(outline, "solid", tag)
        self.assertEqual(named[0], "A")
        self.assertEqual(tops, sorted(tops))
        self.assertIn("SUMMARY", named)

    def test_screen_reader(self):
        """The tree that it reads: landmarks, one heading of level 1 which is first, names of drawings and tables."""
        self.quiet(self.path("s.html", made(data_of(EVENTS))))
        nodes = [(one["role"]["value"], one.get("name", {}).get("value", ""), {p["name"]: p["value"].get("value") for p in
                 one.get("properties", [])}) for one in self.browser.call("Accessibility.getFullAXTree")["nodes"]
                 if not one["ignored"]]
        roles = [role for role, _, _ in nodes]
        for role in ("banner", "main", "contentinfo"):
            self.assertEqual(roles.count(role), 1, role)
        headings = [more["level"] for role, _, more in nodes if role == "heading"]
        self.assertEqual((headings[0], headings.count(1)), (1, 1))
        for role in ("image", "region", "article"):
            names = [name for kind, name, _ in nodes if kind == role]
            self.assertTrue(names and all(names), (role, json.dumps(names)))
        self.assertTrue(any(role == "image" and name.startswith("Time of each step") for role, name, _ in nodes))


if __name__ == "__main__":
    unittest.main()
