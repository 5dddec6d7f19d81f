# SPDX-License-Identifier: MIT
"""fake_lies.py - what fake_serve.py says that no step or folder is behind

Program text can ask for more than its output:
    FAKE_MEDIA=json     show this before DONE: object, kind, from, flags, name, hex or file, and
                        pieces, how many bytes each has; bytes, where it lies about them
    FAKE_FRAME=type:hex the same, of any frame of the branch
A file fake_tree.json beside this says what LIST and GET answer: {"out": [["-", 3, "name"]]}, names
in Latin-1, and a file has as many bytes x as its entry says. What a file fake_marks beside this
holds is what a session of ONCE prints, in place of what it should; where that is "wait", it makes
fake_waits and waits for CLOSE.
"""
import io
import json
import os
import re
import struct

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_tree.json")
MARKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_marks")
GET, LIST, CLOSE, DATA, END = 47, 48, 50, 53, 54
OUT, MEDIA, PIECE = 21, 28, 29
MAX = 65536


class Lies:
    """Of a session that can say() and refuse()."""

    def marks(self, branch):
        if not os.path.exists(MARKS):
            return False
        with io.open(MARKS, "rb") as f:
            data = f.read()
        if data == b"wait":
            io.open(MARKS.replace("marks", "waits"), "w").close()
            while self.serve.receive()[0] != CLOSE:
                pass
            return True
        for at in range(0, len(data), MAX - 4):
            self.say(OUT, branch, data[at:at + MAX - 4])
        self.done(branch, "completed", "kept")
        return True

    def tree(self, kind, branch, path):
        with io.open(TREE) as f:
            tree = json.load(f)
        folder, _, name = path.rpartition("/")
        if kind == LIST and path in tree:
            data = b"".join(b"%s %d 0 %s\0" % (k.encode(), size, n.encode("latin-1"))
                            for k, size, n in tree[path])
        elif found := [size for k, size, n in tree.get(folder, [])
                       if n.encode("latin-1") == os.fsencode(name) and kind == GET]:
            data = b"x" * found[0]
        else:
            name = "GET" if kind == GET else "LIST"
            return self.refuse(branch, f"{name}: No such file or directory", "file", name)
        for at in range(0, len(data), MAX - 4):
            self.say(DATA, branch, data[at:at + MAX - 4])
        self.say(END, branch, {"bytes": len(data)})

    def show(self, branch, source):
        for what, rest in re.findall(rb"FAKE_(MEDIA|FRAME)=(.*)", source):
            if what == b"FRAME":
                kind, _, data = rest.partition(b":")
                self.say(int(kind), branch, bytes.fromhex(data.decode()))
                continue
            m = json.loads(rest)
            data = bytes.fromhex(m.get("hex", ""))
            if "file" in m:
                with io.open(m["file"], "rb") as f:
                    data = f.read()
            self.say(MEDIA, branch, struct.pack(
                "<IHHIIQ", m.get("object", 0), m.get("kind", 1), m.get("from", 1), m.get("flags", 0),
                0, m.get("bytes", len(data))) + m.get("name", "").encode("latin-1"))
            size = m.get("pieces", 32768)
            for at in range(0, len(data) if not m.get("flags") else 0, size):
                self.say(PIECE, branch, data[at:at + size])
