#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent_transcript.py - what a run leaves behind: what is in it, where it is, what was changed

What is done to single bytes is in tests/unit/test_agent_chain.c; here it is done to files. Runs
that are killed, or find no room, are in test_agent_unwritten.py.
"""
import hashlib
import json
import os
import random
import re
import stat
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_scene import (CSV, KEY, QUESTION, SCRIPT, AgentCase, fence, sealed,  # noqa: E402
                         unseal)

WHOLE, CHANGED, CUT = 0, 1, 2


class TranscriptCase(AgentCase):
    def demo(self, *args, **how):
        """The lines of a small run."""
        path = self.path("demo.jsonl")
        status, out, err = self.run_agent("solve", QUESTION, "--file", CSV, "--model",
                                          f"scripted:{SCRIPT}", "--stepjail", self.fake,
                                          "--transcript", path, *args, **how)
        self.assertEqual(status, 0, out + err)
        return self.lines(path)

    def lines(self, path):
        with open(path, "rb") as f:
            return f.read().splitlines(keepends=True)

    def verify(self, lines, *args):
        """(status, the one line) of a file of these lines."""
        path = self.path("verified.jsonl")
        with open(path, "wb") as f:
            f.write(b"".join(lines))
        status, out, err = self.run_agent("verify", path, *args)
        self.assertEqual((err, out.count("\n")), ("", 1), out)
        return status, out

    def changed_at(self, lines, number, *words):
        status, out = self.verify(lines)
        self.assertEqual(status, CHANGED, out)
        self.assertIn(f": line {number} is wrong: ", out)
        for word in words:
            self.assertIn(word, out)


class Written(TranscriptCase):
    def test_chain(self):
        """As an outsider would compute it."""
        before = "0" * 64
        for number, line in enumerate(self.demo(), 1):
            head, digest = unseal(line)
            self.assertEqual(hashlib.sha256(head).hexdigest(), digest)
            got = json.loads(line)
            self.assertEqual((got["line"], got["prev"]), (number, before))
            before = digest

    def test_what_is_in_it(self):
        events = [json.loads(line) for line in self.demo()]
        by = {}
        for event in events:
            by.setdefault(event["event"], []).append(event)
        start, end = by["start"][0], by["end"][0]
        self.assertIn(QUESTION, start["user"])
        with open(CSV, "rb") as f:
            self.assertEqual(start["inputs"]["files"][0]["sha256"],
                             hashlib.sha256(f.read()).hexdigest())
        self.assertEqual([c["step"] for c in by["code"]], [1, 2, 3])
        self.assertIn("rows = list(csv.DictReader(f))", by["code"][0]["code"])
        self.assertIn(by["code"][0]["code"], by["reply"][0]["text"])
        output = by["step"][0]["stdout"]
        self.assertEqual(output["sha256"], hashlib.sha256(output["head"].encode()).hexdigest())
        self.assertEqual([s["verdict"] for s in by["step"]],
                         ["completed", "exception", "completed"])
        self.assertEqual([s["state_number"] for s in by["step"]], [1, 2, 3])
        self.assertEqual(end["outcome"], "answered")
        self.assertIn("Gentoo", end["answer"])
        self.assertEqual(end["usage"]["requests"], 4)

    def test_digest_of_all_that_came(self):
        """Also of what is not kept."""
        got = self.steps("import os; os.write(1, b'x' * 30000 + bytes(range(256)))",
                         more=("--transcript", "none"))
        output = got["steps"][0]["stdout"]
        self.assertEqual(output["sha256"],
                         hashlib.sha256(b"x" * 30000 + bytes(range(256))).hexdigest())
        self.assertEqual(output["bytes"], 30256)
        self.assertGreater(output["left_out"], 0)

    def test_where_it_is(self):
        state = self.path("state")
        for env, home in ((self.env(XDG_STATE_HOME=state), state),
                          ({**self.env(XDG_STATE_HOME="not/absolute"), "HOME": self.folder},
                           self.path(".local/state"))):
            status, out, err = self.solve("--model", self.script("Done."), env=env, umask=0)
            self.assertEqual(status, 0, err)
            path, digest = re.search(r"^transcript: (\S+), 4 lines, sha256 ([0-9a-f]{64})$", out,
                                     re.M).groups()
            self.assertEqual(os.path.dirname(path), home + "/stepjail/transcripts")
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
            self.assertEqual(self.verify(self.lines(path), "--digest", digest)[0], WHOLE)

    def test_none(self):
        status, out, _ = self.solve("--model", self.script("Done."), "--transcript", "none")
        self.assertEqual(status, 0)
        self.assertNotIn("transcript", out)
        self.assertFalse(os.path.exists(self.path("state")))
        self.assertFalse(os.path.exists("none"))

    def test_json_tells_it(self):
        got = self.steps("print(1)")
        self.assertEqual(unseal(self.lines(got["transcript"])[-1])[1],
                         got["transcript_sha256"])

    def test_no_home(self):
        env = {k: v for k, v in self.env().items() if k not in ("HOME", "XDG_STATE_HOME")}
        status, _, err = self.solve("--model", self.script("Done."), env=env)
        self.assertEqual(status, 125)
        self.one_line(err, "HOME is not set", "--transcript FILE", "--transcript none")
        status, _, err = self.solve("--model", self.script("Done."),
                                    env={**env, "HOME": "/proc/nowhere"})
        self.assertEqual(status, 125)
        self.one_line(err, "/proc/nowhere", "none to go without")

    def test_never_over_anything(self):
        os.symlink(self.path("target"), self.path("link"))
        for name in (self.path("there", "text"), self.path("link"), "/dev/full"):
            status, _, err = self.solve("--model", self.script("Done."), "--transcript", name)
            self.assertEqual(status, 125)
            self.one_line(err, "exists", "give a new name")
        self.assertFalse(os.path.exists(self.path("target")))
        with open(self.path("there")) as f:
            self.assertEqual(f.read(), "text")

    def test_a_jail_that_does_not_start(self):
        """A confined agent can remove no file: the transcript says what happened."""
        path = self.path("t.jsonl")
        status, _, err = self.solve("--model", self.script("Done."), "--rootfs", "broken",
                                    "--transcript", path)
        self.assertEqual(status, 125)
        start, end = [json.loads(line) for line in self.lines(path)]
        self.assertEqual((start["event"], end["event"], end["outcome"]),
                         ("start", "end", "failed"))
        self.assertIn(end["error"], err)
        self.assertTrue(start["confinement"])

    def test_nothing_in_it_moves_a_cursor(self):
        path = self.path("t.jsonl")
        self.steps(r"print('\x1b[2J\x7f\u009b31m\u202e\u2066\u200b\U000e0041')",
                   more=("--transcript", path), env=self.env(PYTHONUTF8="1"))
        data = b"".join(self.lines(path))
        text = data.decode()
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066\u200b\U000e0041]")
        got = [json.loads(line) for line in text.splitlines()]
        self.assertIn("\x1b[2J\x7f\x9b31m\u202e\u2066\u200b\U000e0041",
                      [e for e in got if e["event"] == "step"][0]["stdout"]["head"])
        self.assertNotIn(KEY, text)

    def test_stateless(self):
        path = self.path("t.jsonl")
        self.steps("print(1)", "print(2)", more=("--stateless", "--transcript", path))
        events = [json.loads(line)["event"] for line in self.lines(path)]
        self.assertEqual(events, ["start"] + ["reply", "code", "session", "step"] * 2 +
                         ["reply", "end"])

    def test_repl(self):
        path = self.path("t.jsonl")
        with open(self.path("s", "x = 1\nx = 2\n:rollback 1\nprint(x)\n1/0\n")) as stdin:
            status, out, err = self.run_agent("repl", "--stepjail", self.fake, "--transcript", path,
                                              stdin=stdin)
        self.assertEqual((status, out), (1, "1\n"), err)
        events = [json.loads(line) for line in self.lines(path)]
        self.assertEqual([e["event"] for e in events],
                         ["start", "session"] + ["code", "step"] * 2 + ["command"] +
                         ["code", "step"] * 2 + ["end"])
        self.assertEqual((events[6]["command"], events[6]["state"]), ("rollback", 1))
        self.assertEqual((events[-1]["outcome"], events[-1]["status"]), ("ended", 1))
        self.assertEqual(self.verify(self.lines(path))[0], WHOLE)


class Changed(TranscriptCase):
    def test_every_line(self):
        lines = self.demo()
        count = len(lines)
        self.assertEqual(self.verify(lines)[0], WHOLE)
        for i in range(count):
            edited = lines[i].replace(b'"time":"2', b'"time":"3')
            self.assertNotEqual(edited, lines[i])
            self.changed_at(lines[:i] + [edited] + lines[i + 1:], i + 1, "it was altered: SHA-256 mismatch")
            self.changed_at(lines[:i + 1] + lines[i:], i + 2)
            if i < count - 1:
                self.changed_at(lines[:i] + lines[i + 1:], i + 1, f"says that it is line {i + 2}")
            for k in range(i + 1, count):
                swapped = list(lines)
                swapped[i], swapped[k] = lines[k], lines[i]
                self.changed_at(swapped, i + 1, f"says that it is line {k + 1}")
            status, out = self.verify(lines[:i])
            self.assertEqual(status, CUT, out)
            self.assertIn(f"whole up to line {i} ", out)
            self.assertIn("the end line is missing", out)
            status, out = self.verify(lines[:i] + [lines[i][:len(lines[i]) // 2]])
            self.assertEqual(status, CUT, out)
            self.assertIn("the next one is not finished", out)

    def test_edited_and_sealed_again(self):
        """Whoever mends one line's own digest has to mend all that follow."""
        lines = self.demo()
        for i in range(len(lines) - 1):
            head = unseal(lines[i])[0].replace(b'"time":"2', b'"time":"3')
            self.changed_at(lines[:i] + [sealed(head)] + lines[i + 1:], i + 2,
                            "not the one behind which it was written")

    def test_all_made_anew(self):
        """Reads as whole, and is found by a digest that was kept elsewhere."""
        lines = self.demo()
        digest = unseal(lines[-1])[1]
        anew, before = [], b"0" * 64
        for line in lines:
            head = unseal(line)[0].replace(b'"time":"2', b'"time":"3')
            head = re.sub(rb'"prev":"[0-9a-f]{64}"', b'"prev":"%s"' % before, head, count=1)
            anew.append(sealed(head))
            before = unseal(anew[-1])[1].encode()
        self.assertEqual(self.verify(anew)[0], WHOLE)
        self.assertEqual(self.verify(lines, "--digest", digest)[0], WHOLE)
        status, out = self.verify(anew, "--digest", digest)
        self.assertEqual(status, CHANGED)
        self.assertIn("not the digest that was given", out)
        self.assertEqual(self.verify(lines, "--digest", digest.upper())[0], WHOLE)
        self.assertEqual(self.verify(lines, "--digest", digest[:-1])[0], CHANGED)

    def test_at_random(self):
        path = self.path("long.jsonl")
        with open(self.path("s", "".join(f"x = {i}\nprint('line', x)\n" for i in range(60)))) as s:
            self.run_agent("repl", "--stepjail", self.fake, "--transcript", path, stdin=s)
        lines = self.lines(path)
        self.assertGreater(len(lines), 240)
        self.assertEqual(self.verify(lines)[0], WHOLE)
        random.seed(20)
        data = b"".join(lines)
        for n in range(150):
            with self.subTest(n=n):
                at = random.randrange(len(data))
                byte = bytes([data[at] ^ random.randrange(1, 256)])
                self.changed_at([data[:at], byte, data[at + 1:]],
                                data[:at].count(b"\n") + 1)

    def test_what_is_no_transcript(self):
        for data, words in ((b"text\n", "does not end with its SHA-256"),
                            (b"\n", "does not end with its SHA-256"),
                            (b'{"line":1}', "not the beginning of a line"),
                            (b"\0" * 100, "control bytes")):
            self.changed_at([data], 1, words)
        self.assertEqual(self.verify([])[0], CUT)
        for path, words in ((self.path("nowhere"), "No such file"),
                            (self.folder, "not a regular file"),
                            ("/dev/null", "not a regular file")):
            status, _, err = self.run_agent("verify", path)
            self.assertEqual(status, 125)
            self.one_line(err, words)


class Large(TranscriptCase):
    """What a stranger sends is bounded before it is taken apart."""
    LINE_MAX = 32 << 20  # without its newline
    HELD_MAX = 120 << 20

    def second(self, event, filling, size, newline=b"\n"):
        """Write a start, and a next line of that size: @filling is repeated. This process stays
        small, for what a child held before its exec counts as the child's, too."""
        first = sealed(b'{"line":1,"prev":"%s","event":"start","format":2' % (b"0" * 64))
        begin, end = filling[0], filling[-1]
        head = b'{"line":2,"prev":"%s","event":"%s","x":' % (unseal(first)[1].encode(), event) + begin
        left = size - len(head) - len(end) - len(sealed(b"")) + 1
        digest = hashlib.sha256()
        with open(self.path("large.jsonl"), "wb") as f:
            f.write(first)
            for piece in (head, *([filling[1] * 1000] * (left // (len(filling[1]) * 1000))),
                          filling[1] * (left % (len(filling[1]) * 1000) // len(filling[1])),
                          b" " * (left % len(filling[1])), end):
                digest.update(piece)
                f.write(piece)
            f.write(b',"sha256":"%s"}' % digest.hexdigest().encode() + newline)
        self.assertEqual(os.path.getsize(self.path("large.jsonl")), len(first) + size + len(newline))

    def reads(self, command, *args):
        """(status, what it said), where it held no more than it may."""
        with open(self.path("said"), "w+b") as said:
            agent = self.popen(command, self.path("large.jsonl"), *args, stdout=said, stderr=said)
            _, status, usage = os.wait4(agent.pid, 0)
            agent.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            self.assertLess(usage.ru_maxrss << 10, self.HELD_MAX)
            return agent.returncode, said.read().decode()

    def refused(self, words):
        for status, said in (self.reads("verify"), self.reads("replay", "--stepjail", self.fake)):
            self.assertIn(status, (CHANGED, 125))
            self.assertEqual(said.count("\n"), 1, said)
            self.assertIn(f": line 2 is wrong: {words}", said)

    VALUES = b"[0", b",[0,0,0,0,0,0]", b"]"
    STRING = b'"', b"x", b'"'

    def test_longer_than_a_line_may_be(self):
        for size, newline in ((60 << 20, b"\n"), (60 << 20, b""), (self.LINE_MAX + 1, b"\n")):
            self.second(b"reply", self.VALUES, size, newline)
            self.refused("it is longer than the 32 MiB that a line may have")

    def test_more_values_than_a_line_may_have(self):
        for size in (self.LINE_MAX, 300000):
            self.second(b"reply", self.VALUES, size)
            self.refused("it has more than 100000 values")

    def test_as_long_as_a_line_may_be(self):
        for filling, size in ((self.STRING, self.LINE_MAX), (self.VALUES, 180000)):
            self.second(b"end", filling, size)
            status, said = self.reads("verify")
            self.assertEqual(status, WHOLE, said)


if __name__ == "__main__":
    unittest.main()
