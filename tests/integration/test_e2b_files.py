#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_e2b_files.py - stepjail-mcp --e2b: files, folders and programs of a sandbox"""
import base64
import hashlib
import os
import sys
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2b_scene import Answer, Scene  # noqa: E402

BOUNDARY = "----formdata-undici-012345678901"
MISSING = "No such file or directory"


def form(*files, boundary=BOUNDARY):
    """Files by name as multipart/form-data."""
    parts = b"".join(f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                     "Content-Type: application/octet-stream\r\n\r\n".encode() + data + b"\r\n" for name, data in files)
    return parts + f"--{boundary}--\r\n".encode()


def quoted(path):
    return urllib.parse.quote(path, safe="")


class Files(Scene):
    def setUp(self):
        super().setUp()
        self.sandbox = self.create()

    def write(self, *files, path=None, **headers):
        query = f"?path={quoted(path)}" if path is not None else ""
        return self.ask(self.sandbox, "POST", "/files" + query, form(*files),
                        **{"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", **headers})

    def read(self, path):
        return self.ask(self.sandbox, "GET", f"/files?path={quoted(path)}")

    def names(self, path, **more):
        return [one["path"] for one in self.call(self.sandbox, "ListDir", {"path": path, **more})["entries"]]

    def test_whole_files(self):
        odd = b"\0\r\n--\r\n\r\n" + bytes(range(256)) * 300
        done = self.write(("a/b.bin", odd), path="a/b.bin")
        self.assertEqual((done.status, done.json()), (200, [{"path": "/home/user/a/b.bin", "name": "b.bin",
                                                             "type": "file"}]))
        for path in ("a/b.bin", "/home/user/a/b.bin", "~/a/b.bin", "/work/a/b.bin", "./a/../a//b.bin"):
            self.assertEqual((self.read(path).status, self.read(path).data), (200, odd), path)
        self.assertEqual(self.value(self.sandbox, "len(open('a/b.bin', 'rb').read())"), str(len(odd)))
        done = self.write(("c 'ü.txt", b"c"), ("/home/user/d", b""))
        self.assertEqual([one["path"] for one in done.json()], ["/home/user/c 'ü.txt", "/home/user/d"])
        self.assertEqual((self.read("c 'ü.txt").data, self.read("d").data), (b"c", b""))
        done = self.ask(self.sandbox, "POST", "/files?path=e", b"raw", **{"Content-Type": "application/octet-stream"})
        self.assertEqual((done.status, self.read("e").data), (200, b"raw"))

    def test_one_place(self):
        """What a client names and what code opens: the same file by the same path, in both directions."""
        for number, path in enumerate(("/home/user/a.csv", "/home/user/d/b.csv", "/work/c.csv", "e.csv", "./f.csv")):
            self.assertEqual(self.write(("x", b"by client"), path=path).status, 200, path)
            self.assertEqual(self.value(self.sandbox, f"open({path!r}).read()"), "'by client'", path)
            self.execute(self.sandbox, f"with open({path!r}, 'w') as f: f.write('by code')")
            self.assertEqual(self.read(path).data, b"by code", path)
        self.assertEqual(self.value(self.sandbox, "import os; os.chdir('/home/user/d'); sorted(os.listdir())"),
                         "['b.csv']")
        self.assertEqual(self.value(self.sandbox, "os.path.expanduser('~'), os.path.realpath('/home/user')"),
                         "('/work', '/work')")
        self.assertEqual(self.names("/home/user"), self.names("/work"))

    def test_names_that_are_no_utf8(self):
        """Each is got, told of, moved and removed by the name that a list has."""
        self.execute(self.sandbox, r"import os; os.mkdir(b'\xff'); open(b'\xff/\xc3.txt', 'w').write('x'); "
                                   r"open('\\xc3 real', 'w').write('y'); open(b'\xc3 real', 'w').write('z')")
        self.assertEqual(self.names("."), ["/home/user/\\xc3 real", "/home/user/\\xc3 real", "/home/user/\\xff"])
        self.assertEqual(self.names("\\xff"), ["/home/user/\\xff/\\xc3.txt"])
        self.assertEqual(self.read("\\xff/\\xc3.txt").data, b"x")
        self.assertEqual(self.read("\\xc3 real").data, b"y")
        self.assertEqual(self.call(self.sandbox, "Stat", {"path": "\\xff/\\xc3.txt"})["entry"]["size"], "1")
        self.call(self.sandbox, "Move", {"source": "\\xff/\\xc3.txt", "destination": "plain"})
        self.assertEqual(self.read("plain").data, b"x")
        self.call(self.sandbox, "Remove", {"path": "\\xff"})
        self.assertEqual(self.value(self.sandbox, "os.path.exists(b'\\xff')"), "False")

    def test_words_of_the_kernel(self):
        """A failure is told by its number, whatever the paths in its words look like."""
        odd = "[Errno 17] File exists] No such file or directory"
        self.write(("x", b""), path=odd)
        done = self.call(self.sandbox, "MakeDir", {"path": f"{odd}/below"}, 400)
        self.assertEqual(done["message"], f"/home/user/{odd}/below: Not a directory")
        self.assertEqual(self.call(self.sandbox, "MakeDir", {"path": odd}, 409)["message"],
                         f"/home/user/{odd}: File exists")

    def test_paths_that_are_closed(self):
        for path in ("/etc/passwd", "../x", "/home/user/../../etc/passwd", "/home/other/x", "/", "/home", "/workx",
                     "a\0b", "x" * 5000):
            for done in (self.read(path), self.write(("x", b""), path=path),
                         self.ask(self.sandbox, "POST", "/filesystem.Filesystem/Stat", {"path": path}),
                         self.ask(self.sandbox, "POST", "/filesystem.Filesystem/Remove", {"path": path}),
                         self.ask(self.sandbox, "POST", "/filesystem.Filesystem/Move",
                                  {"source": "x", "destination": path})):
                self.assertEqual(done.status, 400, (path[:50], done.data))
        self.execute(self.sandbox, "import os; os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'folder')")
        for path in ("link", "folder/passwd"):
            self.assertIn(self.read(path).status, (400, 404))
        self.assertEqual(self.write(("x", b""), path="folder/x").status, 400)
        self.assertEqual(self.call(self.sandbox, "Stat", {"path": "link"})["entry"]["type"], "FILE_TYPE_SYMLINK")

    def test_files_that_are_not_there(self):
        done = self.read("nothing")
        self.assertEqual((done.status, done.json()), (404, {"code": 404, "message": f"/home/user/nothing: {MISSING}"}))
        self.assertEqual(self.read(".").status, 400)
        self.assertEqual(self.write(("x", b""), path=".").status, 400)
        for name, body in (("Stat", {"path": "a/b"}), ("ListDir", {"path": "a"}),
                           ("Move", {"source": "a", "destination": "b"})):
            self.assertEqual(self.call(self.sandbox, name, body, 404)["code"], "not_found")

    def test_folders(self):
        self.execute(self.sandbox, "x = 1")
        made = self.call(self.sandbox, "MakeDir", {"path": "/home/user/new/dir"})["entry"]
        self.assertEqual((made["name"], made["type"], made["path"]),
                         ("dir", "FILE_TYPE_DIRECTORY", "/home/user/new/dir"))
        self.assertEqual(self.call(self.sandbox, "MakeDir", {"path": "new/dir"}, 409)["code"], "already_exists")
        self.write(("a'\\b", b"12345"), path="a'\\b")
        moved = self.call(self.sandbox, "Move", {"source": "a'\\b", "destination": "other/'b'"})["entry"]
        self.assertEqual((moved["path"], moved["size"], moved["type"]), ("/home/user/other/'b'", "5", "FILE_TYPE_FILE"))
        self.assertRegex(moved["modifiedTime"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(self.names("."), ["/home/user/new", "/home/user/other"])
        self.assertEqual(self.names("/home/user", depth=2), ["/home/user/new", "/home/user/new/dir", "/home/user/other",
                                                             "/home/user/other/'b'"])
        for path in ("new", "other/'b'", "nothing"):
            self.assertEqual(self.call(self.sandbox, "Remove", {"path": path}), {})
        self.assertEqual(self.names("", depth=2), ["/home/user/other"])
        self.call(self.sandbox, "Remove", {"path": "."}, 400)
        # no context has changed, and none was asked
        self.assertEqual(self.value(self.sandbox, "x, sorted(set(dir()) & {'sys', 'os', 'shutil'})"), "(1, [])")
        self.assertEqual(self.execute(self.sandbox, "1")["number_of_executions"], [{"execution_count": 3}])

    def test_steps_aside_take_no_module_of_works(self):
        self.write(("os.py", b"1 / 0"), ("shutil.py", b"1 / 0"), ("sys.py", b"1 / 0"))
        self.call(self.sandbox, "MakeDir", {"path": "new"})

    def test_links_that_are_signed(self):
        self.write(("a b", b"signed"))
        token, soon, late = self.sandbox["envdAccessToken"], str(int(time.time()) + 600), str(int(time.time()) - 1)

        def link(path, operation, until="", key=token):
            raw = ":".join((path, operation, "", key, *([until] if until else [])))
            sum_ = base64.b64encode(hashlib.sha256(raw.encode()).digest()).decode().rstrip("=")
            return f"/files?path={quoted(path)}&signature=v1_{quoted(sum_)}" + \
                (f"&signature_expiration={until}" if until else "")

        for path, status in ((link("a b", "read"), 200), (link("a b", "read", soon), 200),
                             (link("a b", "read", late), 401), (link("a b", "write"), 401),
                             (link("a b", "read", key="x" * 64), 401),
                             (link("a b", "read").replace("a%20b", "b"), 401)):
            done = Answer(self.send("GET", path))
            self.assertEqual((done.status, done.data == b"signed"), (status, status == 200), path)
        done = Answer(self.send("POST", link("new", "write"), form(("x", b"1")),
                                {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}))
        self.assertEqual((done.status, self.read("new").data), (200, b"1"))

    def test_no_two_links_have_one_signature(self):
        """What is signed is joined by colons: a link to write one file must not be one to read another."""
        token, until = self.sandbox["envdAccessToken"], str(int(time.time()) + 600)
        self.write(("x", b"of g"), path="g")
        self.write(("x", b"of odd"), path="g:read:z")
        for signed, query in ((f"g:read:z:write::{token}", "path=g&username=z:write:"),
                              (f"g:read:z:read:user:{token}", "path=g&username=z:read:user"),
                              (f"g:read::{token}:{until}", f"path=g&username=:{token}&signature_expiration={until}"),
                              (f"g:read::{token}:x:{until}", f"path=g&signature_expiration=x:{until}"),
                              (f"g:read:u:{token}", "path=g")):
            sum_ = base64.b64encode(hashlib.sha256(signed.encode()).digest()).decode().rstrip("=")
            done = Answer(self.send("GET", f"/files?{query}&signature=v1_{quoted(sum_)}"))
            self.assertEqual(done.status, 401, (query, done.data))
        sum_ = base64.b64encode(hashlib.sha256(f"g:read:z:read:u:{token}:{until}".encode()).digest()).decode()
        done = Answer(self.send("GET", f"/files?path={quoted('g:read:z')}&username=u&signature_expiration={until}"
                                f"&signature=v1_{quoted(sum_.rstrip('='))}"))
        self.assertEqual((done.status, done.data), (200, b"of odd"))

    def test_forms_that_are_broken(self):
        good, kind = form(("x", b"1")), f"multipart/form-data; boundary={BOUNDARY}"
        for body, content in ((good[:-6], kind), (b"", kind), (good, "multipart/form-data"), (b"--", kind),
                              (good, "multipart/form-data; boundary=other"), (form(), kind),
                              (good.replace(b"form-data", b"attachment"), kind),
                              (good.replace(b"\r\n\r\n", b"\r\n"), kind), (good.replace(b"file", b""), kind),
                              (good.replace(b"\r\n\r\n", b"\r\n" + b"A: b\r\n" * 9000 + b"\r\n"), kind),
                              (form(*[("x", b"")] * 300), kind)):
            done = self.ask(self.sandbox, "POST", "/files?path=x", body, **{"Content-Type": content})
            self.assertEqual(done.status, 400, (body[:200], content))
        self.assertEqual(self.write(("a", b""), ("b", b""), path="c").status, 400)
        self.assertEqual(self.write(("a", b""), **{"Content-Encoding": "gzip"}).status, 415)
        self.assertEqual(self.ask(self.sandbox, "POST", "/files?path=x", {}).status, 415)
        self.assertEqual(self.names("."), [])

    def test_a_full_disk(self):
        self.execute(self.sandbox, "f = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20))")
        self.assertEqual(self.write(("x", bytes(1 << 20))).status, 507)

    def test_folders_cannot_be_watched(self):
        last, = self.stream(self.sandbox, "/filesystem.Filesystem/WatchDir", {"path": "."})
        self.assertEqual(last["error"], {"code": "unimplemented", "message": "a jail's folders cannot be watched: list "
                                         "them"})
        self.call(self.sandbox, "CreateWatcher", {"path": "."}, 501)


class Programs(Scene):
    """As the SDKs start them: /bin/bash -l -c COMMAND."""

    @staticmethod
    def command(text, **more):
        return {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", text], **more}, "stdin": False}

    def start_one(self, sandbox, text, **more):
        return self.stream(sandbox, "/process.Process/Start", self.command(text, **more))

    def rpc(self, sandbox, name, body):
        return self.ask(sandbox, "POST", f"/process.Process/{name}", body)


class NoPrograms(Programs):
    def test_a_jail_that_lets_none_be_executed(self):
        sandbox = self.create()
        last, = self.start_one(sandbox, "echo hi")
        self.assertEqual(last["error"]["code"], "failed_precondition")
        self.assertIn("--lock-code", last["error"]["message"])
        self.assertEqual(self.rpc(sandbox, "List", {}).json(), {"processes": []})
        for name in ("SendSignal", "SendInput", "CloseStdin"):
            done = self.rpc(sandbox, name, {"process": {"pid": 1}, "signal": "SIGNAL_SIGKILL"})
            self.assertEqual((done.status, done.json()["code"]), (404, "not_found"))
        last, = self.stream(sandbox, "/process.Process/Start", {**self.command("x"), "pty": {"size": {"cols": 80}}})
        self.assertEqual(last["error"]["code"], "unimplemented")


class NoShell(Programs):
    jail = ("--lock-code=no",)

    def test_a_tree_without_a_shell(self):
        last, = self.start_one(self.create(), "echo hi")
        self.assertIn("no /bin/bash", last["error"]["message"])


@unittest.skipUnless(os.path.isdir("/lib/x86_64-linux-gnu"), "the host's shell is elsewhere")
class SomePrograms(Programs):
    jail = ("--lock-code=no", "--bind", "/bin/bash:/bin/bash",
            "--bind", "/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu",
            "--bind", "/lib64/ld-linux-x86-64.so.2:/lib64/ld-linux-x86-64.so.2")

    def said(self, messages):
        """Of a program's stream: stdout, stderr and its end."""
        events = [message["event"] for message in messages[:-1]]
        self.assertEqual((list(events[0]), list(events[-1]), messages[-1]), (["start"], ["end"], {}))
        texts = {"stdout": b"", "stderr": b""}
        for event in events[1:-1]:
            for name, data in event["data"].items():
                texts[name] += base64.b64decode(data)
        return texts["stdout"].decode(), texts["stderr"].decode(), events[-1]["end"]

    def test_programs(self):
        sandbox = self.create(envVars={"ONE": "1"})
        out, err, end = self.said(self.start_one(sandbox, "echo $ONE$TWO; echo err >&2; pwd; read x; exit 3",
                                                 envs={"TWO": "2"}))
        self.assertEqual((out, err, end["exitCode"], end["exited"]), ("12\n/work\n", "err\n", 3, True))
        self.assertEqual(self.said(self.start_one(sandbox, ":"))[2], {"exitCode": 0, "exited": True,
                                                                      "status": "exit status 0"})
        self.assertEqual(self.said(self.start_one(sandbox, "kill -9 $$"))[2]["exitCode"], -9)
        last = self.start_one(sandbox, ":", cwd="/etc")[-1]
        self.assertEqual(last["error"]["code"], "invalid_argument")

    def test_one_that_runs_is_listed_and_ended(self):
        sandbox = self.create()
        running = self.send("POST", "/process.Process/Start", self.framed(self.command("echo hi; while :; do :; done")),
                            self.of(sandbox, **{"Content-Type": "application/connect+json"}))
        self.assertIn(b"start", running.read(5 + int.from_bytes(running.peek(5)[1:5], "big")))
        running.read(5 + int.from_bytes(running.peek(5)[1:5], "big"))  # hi
        found, = self.rpc(sandbox, "List", {}).json()["processes"]
        self.assertEqual(found["config"]["cmd"], "/bin/bash")
        self.assertEqual(self.rpc(sandbox, "SendInput", {"process": {"pid": found["pid"]}}).status, 501)
        done = self.rpc(sandbox, "SendSignal", {"process": {"pid": found["pid"]}, "signal": "SIGNAL_SIGKILL"})
        self.assertEqual((done.status, done.json()), (200, {}))
        self.assertIn(b'"exitCode": -1', running.read())
        self.assertEqual(self.rpc(sandbox, "List", {}).json()["processes"], [])

    def test_its_time(self):
        sandbox = self.create()
        messages = self.stream(sandbox, "/process.Process/Start", self.command("while :; do :; done"),
                               **{"Connect-Timeout-Ms": "300"})
        self.assertEqual(messages[-1]["error"]["code"], "deadline_exceeded")


if __name__ == "__main__":
    unittest.main()
