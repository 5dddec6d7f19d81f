#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_report.py - stepjail-report: pages of real runs, of changed ones, and of hostile ones"""
import hashlib
import io
import os
import random
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from report_scene import Page, hostile_transcript, png  # noqa: E402
from agent_scene import AGENT, BUILD, CSV, QUESTION, SCRIPT, AgentCase, chained, fence  # noqa: E402
from python_scene import config  # noqa: E402
from stepjail_report import page  # noqa: E402
from stepjail_report.pictures import AREA_MAX, Pictures, Unfit, measure  # noqa: E402
from stepjail_report.transcript import CHANGED, LINE_MAX, UNFINISHED, WHOLE, Transcript  # noqa: E402

REPORT = os.path.join(BUILD, "stepjail-report")
PAGES = 1000

STREAM = {"head": "", "bytes": 0, "left_out": 0, "sha256": "0" * 64}
START = {"event": "start", "time": "2026-01-02T03:04:05.000Z", "command": "solve", "format": 2, "stepjail_agent": "0.1.0",
         "host": "h", "uid": 0, "argv": ["stepjail-agent", "solve"], "started": "2026-01-02T03:04:05.000Z",
         "model": {"provider": "openai", "name": "m", "base_url": "http://x/", "script": None}, "user": "Task: Count.\n",
         "system": "Rules.", "confinement": {"not_enforced": ["ports"]},
         "inputs": {"rootfs": "core", "step_ms": 1000, "options": {"memory": "64M"},
                    "files": [{"name": "a.csv", "bytes": 3, "sha256": "1" * 64}]}}
POSTURE = {"namespaces": {"user": {"jail": 1, "host": 2}, "net": {"jail": 3, "host": 3}},
           "process": {"cap_effective": "0000000000000001", "no_new_privs": "1", "seccomp_mode": "2", "seccomp_filters": "1"},
           "landlock": {"abi": 4}, "mounts": [{"at": "/", "flags": "ro,nosuid"}], "network": {"links": ["lo loopback"]}}
SESSION = {"event": "session", "time": "2026-01-02T03:04:05.100Z", "session": 1, "not_enforced": ["memory.max: by nothing"],
           "shut": ["mmap"], "plan_sha256": "2" * 64, "root_sha256": "3" * 64, "root_verified": True,
           "posture_sha256": "4" * 64, "posture": POSTURE}
REFUSED = {"total": 3, "unlisted": 1, "list": [
    {"syscall": "socket", "arch": "x86_64", "asks": "AF_INET", "args": ["0x2", "0x1"], "pid": 7, "first_ms": 12, "last_ms": 13,
     "count": 2, "violation": True}]}
RAN = {"verdict": "exception", "state": "rolled-back", "state_number": 4, "exit_code": 1, "signal": None, "violation": None,
       "violations": REFUSED, "ended_by": None, "limit": "--memory 64M", "words": "it raised.", "wall_ms": 1500, "cpu_ms": 40,
       "memory_peak_bytes": 3 << 20, "strays": 2, "stdout": {**STREAM, "head": "first\n", "tail": "last\n", "bytes": 9999,
                                                             "left_out": 9000},
       "stderr": STREAM, "traceback": {**STREAM, "head": "Traceback", "bytes": 9}, "result": STREAM, "media": []}
EVENTS = [
    START, SESSION,
    {"event": "reply", "time": "x", "text": "t", "reasoning": "I think.", "reasoning_bytes": 900,
     "usage": {"requests": 2, "prompt_tokens": 1234, "completion_tokens": 56}},
    {"event": "code", "time": "2026-01-02T03:04:06.000Z", "step": 1, "code": "print('<b>')"},
    {"event": "step", "time": "x", "step": 1, "observation": "You see.", "prose": "I print.", **RAN},
    {"event": "step", "time": "x", "step": 2, "code": None, "prose": "", "observation": "There was no code."},
    {"event": "compact", "time": "x", "observations": 2, "bytes": 3, "tokens": 4},
    {"event": "command", "time": "x", "command": "rollback", "branch": 1, "state": 3},
    {"event": "checked", "time": "x", "check": "answer", "passed": False, "printed": "No.", "run": {"step": 0, **RAN}},
    {"event": "tests", "time": "x", "tests": [], "files": [], "count": 2, "stands": True, "why": "", "run": {"step": 0, **RAN}},
    {"event": "end", "time": "2026-01-02T03:04:09.000Z", "outcome": "answered", "answer": "It is <b>two</b>."}]


def data_of(events):
    return b"".join(chained(events))


def read(data):
    return Transcript(io.BytesIO(data))


def made(data, pictures=None, given=None):
    return page.page(read(data), "t.jsonl", pictures or Pictures(None), given).encode("ascii", "xmlcharrefreplace").decode()


def with_media(**more):
    media = {"object": 0, "kind": "png", "from": "figure", "state": "whole", "bytes": 70, "sha256": "0" * 64,
             "saved": "/x/step-1-1.png", **more}
    return [*EVENTS[:4], {**EVENTS[4], "media": [media]}, EVENTS[-1]]


class Whole(unittest.TestCase):
    """What stands on a page of a transcript that has everything."""

    def setUp(self):
        self.page = Page(made(data_of(EVENTS)))

    def test_all_of_it(self):
        for words in ("It is <b>two</b>.", "Count.", "openai m http://x/", "2 requests, 1,234 tokens in, 56 tokens out",
                      "a.csv", "--memory 64M", "exit status 0", "4 s", "chain whole",
                      "it raised.", "1.5 s · 40 ms of CPU · 3 MiB of memory · exit status 1 · state 4 · 2 processes left running",
                      "limit: --memory 64M", "began at 1 s", "rolled back", "3 refused calls", "print('<b>')", "I print.",
                      "I think.", "892 bytes were left out", "first\n", "9,000 bytes were left out of the transcript", "last\n",
                      "AF_INET", "0x2 0x1", "1 more refused call not listed", "You see.", "nothing was run",
                      "There was no code.", "left out 2 old observations", "went back to state 3 on branch 1",
                      "Check of the answer", "not passed", "Tests", "✓ passed", "memory.max: by nothing", "mmap",
                      "own: user; not own: mnt, pid, net", "not empty: inheritable", "Landlock, ABI 4", "verified before the run",
                      "What the agent itself lacks", "whole: 11 lines, 2 steps"):
            self.assertIn(words, self.page.text)

    def test_landmarks(self):
        self.assertEqual([name for name in self.page.ids if "-" not in name],
                         ["answer", "task", "run", "numbers", "steps", "posture", "integrity"])

    def test_charts(self):
        self.assertIn("A bar for each of 1 steps. The most is 1.5 s, at step 1.", self.page.text)
        many = [*EVENTS[:2], *[{**EVENTS[4], "step": n, "wall_ms": n} for n in range(1, 351)], EVENTS[-1]]
        self.assertIn("88 bars, each the largest of up to 4 of 350 steps. The most is 350 ms, at step 350.",
                      Page(made(data_of(many))).text)

    def test_digest(self):
        data = data_of(EVENTS)
        digest = read(data).digest
        self.assertIn("the same", Page(made(data, given=digest)).text)
        self.assertIn("another: this is another run", Page(made(data, given="0" * 64)).text)


class Chat(unittest.TestCase):
    def test_what_was_said(self):
        """Each turn in order: what the user says, the steps, the answer; and none where the step had the reply."""
        reply = {"event": "reply", "text": "It is <b>41</b>.", "reasoning": ""}
        events = [{**START, "command": "chat", "user": ""}, SESSION, {"event": "user", "text": "Task: Set <x>.\n"},
                  {"event": "reply", "text": "I set it."}, {"event": "code", "code": "x = 41"}, EVENTS[4], reply,
                  {"event": "command", "command": "rollback", "branch": 0, "state": 0},
                  {"event": "confirm", "step": 2, "choice": "skip", "reason": "not <now>"},
                  {"event": "confirm", "step": 3, "choice": "run"}, {"event": "user", "text": "And?"},
                  {**EVENTS[-1], "outcome": "ended", "answer": ""}]
        got = Page(made(data_of(events))).text
        said = [got.index(words) for words in ("The user", "Set <x>.", "x = 41", "Answer", "It is <b>41</b>.", "went back to state 0",
                                               "had this code not run", "not <now>", "And?")]
        self.assertEqual(said, sorted(said))
        self.assertNotIn("Task: Set", got)
        self.assertEqual(got.count("Answer"), 1)


class Chain(AgentCase):
    """The same words as of stepjail-agent verify."""

    def verified(self, data):
        path = self.path("t.jsonl")
        with open(path, "wb") as f:
            f.write(data)
        status, out, err = self.run_agent("verify", path)
        self.assertEqual(err, "")
        transcript = read(data)
        said = out.removeprefix(path + ": ").rstrip("\n").partition(", sha256 ")[0]
        self.assertEqual((transcript.state, transcript.words), (status, said))
        Page(made(data))
        return transcript

    def test_changes(self):
        data = data_of(EVENTS)
        lines = data.splitlines(keepends=True)
        self.assertEqual(self.verified(data).state, WHOLE)
        crowd = {**EVENTS[3], "code": "x", "more": [0] * 100001}
        strings = {**EVENTS[3], "code": "\\\"" + ",[{" * 50000}
        for state, changed in (
                (CHANGED, data.replace(b"It is", b"It be")), (CHANGED, b"".join(lines[:3] + lines[4:])),
                (CHANGED, b"".join([*lines[:2], lines[3], lines[2], *lines[4:]])), (CHANGED, b"".join([*lines, lines[-1]])),
                (CHANGED, data + b"x"), (CHANGED, b"\n" + data), (CHANGED, b"no transcript\n"), (CHANGED, data[:-200] + b"\0"),
                (UNFINISHED, b"".join(lines[:-1])), (UNFINISHED, b"".join(lines[:4])), (UNFINISHED, b""),
                (UNFINISHED, b"".join(lines[:-1]) + lines[-1][:100]), (UNFINISHED, b"".join(lines[:-1]) + b'{"li'),
                (UNFINISHED, b"".join(lines[:-1]) + lines[-1][:-1]), (CHANGED, data_of([*EVENTS[:3], EVENTS[0], *EVENTS[3:]])),
                (CHANGED, data_of(EVENTS[1:])), (CHANGED, data_of([*EVENTS, EVENTS[-1]])),
                (CHANGED, data_of([*EVENTS[:3], crowd, EVENTS[-1]])), (WHOLE, data_of([*EVENTS[:3], strings, EVENTS[-1]])),
                (CHANGED, data_of([*EVENTS[:3], {"event": 7}]))):
            with self.subTest(state=state, tail=changed[-60:]):
                self.assertEqual(self.verified(changed).state, state)

    def test_another_format(self):
        self.assertIn("it has format 3, of another release", read(data_of([{**START, "format": 3}])).words)

    def test_lines_before_it_are_shown(self):
        """And none behind it."""
        data = data_of(EVENTS).replace(b"There was no code.", b"There was some code")
        shown = Page(made(data)).text
        self.assertIn("This transcript was changed", shown)
        self.assertIn("line 6 is wrong: it was altered: SHA-256 mismatch", shown)
        self.assertIn("print('<b>')", shown)
        for words in ("some code", "went back to state 3", "It is <b>two</b>"):
            self.assertNotIn(words, shown)

    def test_a_steps_end_that_was_changed(self):
        """It had one: no run ended there."""
        code = {"event": "code", "step": 1, "code": "pass"}
        for data, words, other in ((data_of([START, code, EVENTS[4]]).replace(b"it raised", b"it rises."),
                                    "Its end is not shown: a line", "The run ended"),
                                   (data_of([START, code]), "The run ended while this step ran", "Its end")):
            shown = Page(made(data)).text
            self.assertIn(words, shown)
            self.assertNotIn(other, shown)

    def test_a_line_without_an_end(self):
        self.assertIn("longer than the 32 MiB", read(b"x" * (LINE_MAX + 1)).words)


class Picture(AgentCase):
    def shown(self, data, **more):
        os.makedirs(self.path("shown"), exist_ok=True)
        with open(self.path("shown/step-1-1.png"), "wb") as f:
            f.write(data)
        more = {"sha256": hashlib.sha256(data).hexdigest(), **more}
        return Page(made(data_of(with_media(**more)), Pictures(self.path("shown"))))

    def test_png(self):
        got = self.shown(png(), name="fig.png")
        self.assertEqual(got.images, [png()])
        self.assertIn("fig.png, 2 by 2 pixels, 70 bytes", got.text)

    def test_unfit(self):
        whole = png()
        for data, why in ((b"<svg onload=alert(1)>", "no PNG"), (whole[:-1], "no whole PNG"), (whole + b"x", "no plain, whole"),
                          (whole[:20] + b"\xff" + whole[21:], "no whole PNG"), (whole[:8], "no plain, whole"),
                          (png(20000, 1), "20000 x 1 pixels"), (png(8000, 8000), "8000 x 8000 pixels"), (png(0, 1), "0 x 1"),
                          (b"\x89PNG\r\n\x1a\n" + b"\xff" * 40, "no whole PNG"), (b"", "no PNG")):
            got = self.shown(data)
            self.assertEqual(got.images, [])
            self.assertIn(why, got.text)
        self.assertIn("its digest is another", self.shown(whole, sha256="0" * 64).text)
        self.assertLess(AREA_MAX, 8000 * 8000)

    def test_paths(self):
        """Nothing is opened but a file of the folder by a name of the agent's."""
        for saved in ("/etc/passwd", "step-1-1.png/../x.png", "../step-1-1.svg", "/x/step-1-2.png", ""):
            self.assertEqual(self.shown(png(), saved=saved).images, [], saved)
        os.rename(self.path("shown/step-1-1.png"), self.path("other.png"))
        os.symlink("../other.png", self.path("shown/step-1-1.png"))
        pictures = Pictures(self.path("shown"))
        with self.assertRaisesRegex(Unfit, "cannot be read"):
            pictures.take("step-1-1.png", hashlib.sha256(png()).hexdigest())
        os.unlink(self.path("shown/step-1-1.png"))
        os.mkfifo(self.path("shown/step-1-1.png"))
        with self.assertRaisesRegex(Unfit, "no regular file"):
            pictures.take("step-1-1.png", "")

    def test_every_cut(self):
        """A PNG that ends anywhere, or has another byte anywhere, is refused or measured."""
        whole = png()
        for at in range(len(whole)):
            with self.assertRaises(Unfit):
                measure(whole[:at])
            with self.assertRaises(Unfit):
                measure(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])

    def test_other_forms(self):
        got = Page(made(data_of(with_media(kind="html", saved="/x/step-1-1.html"))))
        self.assertIn("A table or page as HTML, 70 bytes, in the file step-1-1.html. It is not on this page.", got.text)


class Bounds(unittest.TestCase):
    def test_page(self):
        """Of what is too much the rest is counted."""
        code = "<" * 70000
        many = [*EVENTS[:2], *[{**EVENTS[4], "step": n, "code": code} for n in range(1, 151)], EVENTS[-1]]
        text = made(data_of(many))
        self.assertLess(len(text), page.PAGE_MAX + (1 << 20))
        got = Page(text)
        self.assertRegex(got.text, "[0-9]+ more entries not shown")
        self.assertIn("4,464 characters of it are not shown on this page", got.text)

    def test_steps(self):
        step = {"event": "step", "step": 1, "verdict": "completed", "state": "kept"}
        got = Page(made(data_of([START, *[step] * 6000, EVENTS[-1]])))
        self.assertIn("1,000 more entries not shown", got.text)
        self.assertIn("3,000 more steps not listed here", got.text)

    def test_values(self):
        """Memory is bounded, not bytes alone."""
        many = [START, *[{**EVENTS[4], "more": [{}] * 45000}] * 30, EVENTS[-1]]
        self.assertIn("8 more entries not shown", Page(made(data_of(many))).text)

    def test_depth(self):
        deep = []
        for _ in range(900):
            deep = [deep]
        self.assertIn("whole: 3 lines", Page(made(data_of([START, {**SESSION, "posture": deep}, EVENTS[-1]]))).text)


class Hostile(unittest.TestCase):
    def test_pages(self):
        """Page is an error for each element, attribute and address that is not this program's."""
        shown = 0
        for seed in range(PAGES):
            rnd = random.Random(seed)
            data = hostile_transcript(rnd, EVENTS[:4] + with_media()[3:5] + EVENTS[4:] if seed % 2 else EVENTS)
            try:
                text = made(data)
                got = Page(text)
            except Exception as e:
                raise AssertionError(f"seed {seed}: {e!r}") from e
            self.assertLess(len(text), 1 << 20)
            self.assertNotIn("<script", text.lower())
            shown += "alert(1)" in got.text
        self.assertGreater(shown, PAGES // 3)

    def test_the_reader_sees(self):
        """Each of these is no page."""
        good = made(data_of(EVENTS))
        for bad in ("<script></script>", "<p onclick=x></p>", "<p style=x></p>", "<a href=//x></a>", "<img src=x alt=x>",
                    "<p><b></p></b>", "<p>", "\u202e", "<p id=answer></p>", "<h1></h1>", "<h4></h4>", "<th></th>",
                    "<!-- x -->", "<svg/>", "<link rel=x>"):
            with self.assertRaises(AssertionError, msg=bad):
                Page(good.replace("<footer>", bad.encode("ascii", "xmlcharrefreplace").decode() + "<footer>", 1))


class Program(AgentCase):
    def report(self, *words, status=0, **how):
        done = subprocess.run([REPORT, *words], check=False, capture_output=True, text=True, timeout=120,
                              env=self.env(), **how)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def wrong(self, *words):
        done = self.report(*words, status=125)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
        return done.stderr

    def transcript(self, data=None):
        path = self.path("t.jsonl")
        with open(path, "wb") as f:
            f.write(data_of(EVENTS) if data is None else data)
        return path

    def test_statuses(self):
        path = self.transcript()
        digest = read(data_of(EVENTS)).digest
        Page(self.report(path).stdout)
        self.assertEqual(self.report(path, "--digest", digest.upper()).stderr, "")
        Page(self.report(path, "--digest=" + "0" * 64, status=1).stdout)
        self.assertIn("line 1 is wrong", self.report(self.transcript(b"x\n"), status=1).stderr)
        self.assertIn("the end line is missing", self.report(self.transcript(b""), status=2).stderr)

    def test_out(self):
        path, out = self.transcript(), self.path("page.html")
        self.report(path, "--out", out)
        first = os.stat(out)
        self.assertEqual(first.st_mode & 0o777, 0o600)
        self.report(path, "--out", out)  # an earlier page
        with open(out, encoding="ascii") as f:
            Page(f.read())
        with open(path, "rb") as f:
            before = f.read()
        self.assertIn("is no page of stepjail-report", self.wrong(path, "--out", path))
        os.symlink(out, self.path("link.html"))
        self.assertIn("is no page of stepjail-report", self.wrong(path, "--out", self.path("link.html")))
        self.assertIn("No such file", self.wrong(path, "--out", self.path("none/page.html")))
        with open(path, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".part")], [])

    def test_wrong_words(self):
        path = self.transcript()
        for words, said in (([], "give one TRANSCRIPT"), ([path, path], "give one TRANSCRIPT"), ([path, "--no"], "no such option"),
                            ([path, "--out"], "--out needs a value"), ([path, "--digest", "7"], "64 hexadecimal digits"),
                            (["/nowhere/\x1b"], "/nowhere/\\x1b: No such file"), (["/dev/zero"], "no regular file"),
                            ([self.folder], "no regular file")):
            self.assertIn(said, self.wrong(*words))

    def test_words(self):
        self.assertIn("Exit status:", self.report("--help").stdout)
        self.assertIn(".TH STEPJAIL-REPORT 1", self.report("--man").stdout)
        self.assertRegex(self.report("--version").stdout, r"^stepjail-report \d+\.\d+\.\d+\ncommit: .*\npython: .*\n$")

    def test_by_name(self):
        """As transcripts show finds it."""
        folder = self.path("state/stepjail/transcripts")
        os.makedirs(folder)
        os.rename(self.transcript(), os.path.join(folder, "solve-1.jsonl"))
        self.assertIn("solve-1.jsonl", Page(self.report("solve-1.jsonl").stdout).text)


class Real(AgentCase):
    """Runs with real jails."""

    def agent(self, *words, **how):
        return subprocess.run([AGENT, *words], check=False, capture_output=True, text=True, timeout=300,
                              env=self.env(XDG_CONFIG_HOME=config.name), **how)

    def page(self, *words, status=0):
        done = subprocess.run([REPORT, self.path("t.jsonl"), *words], check=False, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return Page(done.stdout)

    def test_solve(self):
        done = self.agent("solve", QUESTION, "--file", CSV, "--model", "scripted:" + SCRIPT, "--transcript", self.path("t.jsonl"))
        self.assertEqual(done.returncode, 0, done.stderr)
        got = self.page()
        for words in (QUESTION, "Gentoo penguins are the heaviest", "could not convert string to float", "penguins.csv",
                      "Capabilities", "own: user, mnt, pid, net, ipc, uts, cgroup", "none in any set"):
            self.assertIn(words, got.text)
        self.assertNotIn("not own", got.text)

    def test_refusals(self):
        done = self.agent("solve", "Try.", "--lock-code=yes", "--step-time", "1s", "--transcript", self.path("t.jsonl"), "--model",
                          self.script(fence("import os; os.system('ls')"), fence("while True: pass"),
                                      fence("import os; os._exit(3)"), "<script>alert(1)</script>"))
        self.assertEqual(done.returncode, 0, done.stderr)
        got = self.page()
        for words in ("execve", "1 refused call", "wall-timeout", "limit: --step-time 1s", "exited", "rolled back",
                      "exit status 3", "<script>alert(1)</script>"):
            self.assertIn(words, got.text)

    def test_repl_with_a_picture(self):
        script = self.path("s.py", "import matplotlib.pyplot as plt\nplt.subplots(figsize=(2, 1))[1].plot([1, 2])\n:branch other\n1/0\n")
        done = self.agent("repl", script, "--rootfs", "data", "--transcript", self.path("t.jsonl"))
        self.assertEqual(done.returncode, 1, done.stderr)
        got = self.page()
        self.assertEqual([one[:4] for one in got.images], [b"\x89PNG"], got.text)
        for words in ("A session at a prompt", "step-2-1.png, 200 by 100 pixels", "ZeroDivisionError", "began branch 1 at state 2"):
            self.assertIn(words, got.text)
        os.rename(self.path("t.jsonl.shown"), self.path("elsewhere"))
        self.assertIn("no folder of pictures was given", self.page().text)
        self.assertEqual(len(self.page("--shown", self.path("elsewhere")).images), 1)


if __name__ == "__main__":
    unittest.main()
