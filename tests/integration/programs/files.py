# Programs for test_documentation.py, after what the library reference shows of files, of the internet and of markup.
# %% paths once
import fnmatch
import glob
import os
import pathlib
import shutil
import stat
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath

base = Path(tempfile.mkdtemp())
(base / "hold" / "deep").mkdir(parents=True)
(base / "hold" / "list.txt").write_text("salt\ntea\n", encoding="utf-8")
(base / "hold" / "deep" / "b.bin").write_bytes(bytes(range(5)))
print(sorted(p.relative_to(base).as_posix() for p in base.rglob("*")), (base / "hold/list.txt").stat().st_size)
with open(base / "log", "w") as log:
    log.write("one\n")
    print(log.tell(), log.name == str(base / "log"), log.mode)
log = open(base / "log", "a+", encoding="utf-8")
log.write("twö\n")
log.flush()
log.seek(0)
print(log.read(), log.closed)
print("three", file=log)
log.close()
print((base / "log").read_text().splitlines(), sum(1 for line in open(base / "log")))
path = PurePosixPath("/srv/data/report.tar.gz")
print(path.name, path.stem, path.suffixes, path.parent, path.with_suffix(".zip"), path.parts, path.match("*.gz"), path.is_absolute())
print(PureWindowsPath("c:/a/b").as_posix(), os.path.splitext("a/b.c"), os.path.join("a", "/b", "c"), os.path.normpath("a/../b//c"))
print(os.path.commonpath(["/a/b", "/a/c"]), os.path.relpath("/a/b", "/a/c/d"), fnmatch.filter(["a.py", "b.txt"], "*.py"))
os.symlink("log", base / "link")
print((base / "link").is_symlink(), os.readlink(base / "link"), (base / "link").resolve() == (base / "log").resolve())
os.chmod(base / "log", 0o640)
print(stat.filemode((base / "log").stat().st_mode), os.access(base / "log", os.R_OK), sorted(os.listdir(base)))
shutil.copytree(base / "hold", base / "copy")
shutil.move(base / "copy" / "list.txt", base / "copy" / "moved.txt")
print([(Path(where).name, sorted(folders), sorted(files)) for where, folders, files in sorted(os.walk(base / "copy"))])
print(sorted(glob.glob("**/*.t*", root_dir=base, recursive=True)), [e.name for e in os.scandir(base / "hold") if e.is_dir()])
shutil.rmtree(base / "copy")
for wrong in (lambda: open(base / "none"), lambda: os.rmdir(base / "hold"), lambda: os.mkdir(base), lambda: os.listdir(base / "log")):
    try:
        wrong()
    except OSError as problem:
        print(type(problem).__name__, problem.errno, problem.strerror, str(problem.filename).removeprefix(str(base)))
with tempfile.TemporaryDirectory(prefix="t-") as folder, tempfile.NamedTemporaryFile("w+", dir=folder, suffix=".x") as file:
    print(file.write("temp"), Path(folder).exists(), file.name.endswith(".x"), len(os.listdir(folder)))
print(Path(folder).exists(), Path("a") / "b", Path.cwd() == Path(os.getcwd()), pathlib.Path("~x/y").name)
old = os.getcwd()
os.chdir(base)
print(Path("log").exists(), os.stat("log").st_size, os.path.getsize("log"))
os.chdir(old)
with open(base / "log", "r+b") as raw:
    raw.seek(-4, os.SEEK_END)
    raw.truncate()
    fd = raw.fileno()
    print(os.pread(fd, 3, 0), os.fstat(fd).st_size)
os.environ["SHIP"] = "Anna"
print(os.path.expandvars("$SHIP/x"), os.getenv("NONE", "-"), os.environ.get("SHIP"), os.sep, os.linesep == "\n", os.cpu_count() > 0)
shutil.rmtree(base)
print(base.exists(), shutil.which("no-such-program"), shutil.disk_usage("/")._fields)
# %% archives once
import bz2
import gzip
import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile

where = tempfile.mkdtemp()
os.chdir(where)
with gzip.open("a.gz", "wt") as out:
    out.write("line\n" * 100)
with gzip.open("a.gz") as file:
    print(file.readline(), len(file.read()), os.path.getsize("a.gz") < 100)
print(len(bz2.decompress(bz2.compress(b"x" * 500))), lzma.decompress(lzma.compress(b"words")), gzip.decompress(gzip.compress(b"y")))
with zipfile.ZipFile("b.zip", "w", zipfile.ZIP_DEFLATED) as box:
    box.writestr("folder/one.txt", "one " * 50)
    box.write("a.gz", "two.gz")
box = zipfile.ZipFile("b.zip")
print(box.namelist(), box.testzip(), [(i.filename, i.file_size, i.compress_size < 60) for i in box.infolist()][0])
with box.open("folder/one.txt") as part:
    print(part.read(7))
box.extractall("out")
box.close()
print(sorted(os.listdir("out")), zipfile.is_zipfile("b.zip"), zipfile.is_zipfile("a.gz"))
print((zipfile.Path("b.zip") / "folder" / "one.txt").read_text()[:3])
with tarfile.open("c.tar.xz", "w:xz") as tar:
    tar.add("out")
    data = b"made in memory"
    info = tarfile.TarInfo("made.txt")
    info.size, info.mtime, info.mode = len(data), 86400, 0o600
    tar.addfile(info, io.BytesIO(data))
with tarfile.open("c.tar.xz") as tar:
    print(sorted(tar.getnames()), tar.extractfile("made.txt").read(), tar.getmember("made.txt").mtime, tarfile.is_tarfile("b.zip"))
    tar.extract("made.txt", "x")
print(os.listdir("x"), oct(os.stat("x/made.txt").st_mode))
print(os.path.basename(shutil.make_archive("made", "zip", "out")), sorted(name for name, *_ in shutil.get_archive_formats()))
shutil.unpack_archive("made.zip", "y")
print(sorted(os.listdir("y")))
try:
    zipfile.ZipFile(io.BytesIO(b"no zip"))
except zipfile.BadZipFile as problem:
    print(problem)
try:
    gzip.decompress(b"not gz")
except gzip.BadGzipFile as problem:
    print(problem)
packer = lzma.LZMACompressor()
first = packer.compress(b"part ")
rest = packer.compress(b"two") + packer.flush()
print(lzma.decompress(first + rest))
os.chdir("/")
shutil.rmtree(where)
# %% kept once
import configparser
import dbm.dumb
import fileinput
import filecmp
import io
import mmap
import os
import pickle
import plistlib
import shelve
import tempfile
import tomllib

os.chdir(tempfile.mkdtemp())
config = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
config.read_string("""
[DEFAULT]
base = /srv
[ship]
; a comment
name = Anna
Crew: 12
path = ${base}/${name}
fast = yes
empty
""".replace("empty", "empty ="))
print(config.sections(), config["ship"]["path"], config.getint("ship", "crew"), config["ship"].getboolean("fast"), config.has_option("ship", "x"))
config["new"] = {"a": "1"}
config.set("new", "b", "two")
with open("ship.ini", "w") as file:
    config.write(file)
print(open("ship.ini").read())
try:
    configparser.ConfigParser().read_string("no section = 1")
except configparser.MissingSectionHeaderError as problem:
    print(problem)
with open("table", "wb") as file:
    pickle.dump({"kept": [1, 2]}, file)
print(pickle.load(open("table", "rb")))
with dbm.dumb.open("words") as words:
    words["key"] = "value"
    print(words.keys(), words[b"key"])
shelf = shelve.Shelf(dbm.dumb.open("shelf"), writeback=True)
shelf["list"] = [1]
shelf["list"].append(2)
shelf.sync()
print(dict(shelf), sorted(shelf))
shelf.close()
print(tomllib.loads('title = "x"\n[a]\nwhen = 2024-05-01\nn = [1, 2.5, true]\n'), plistlib.loads(plistlib.dumps({"a": 1})))
with open("map", "w+b") as file:
    file.write(b"rope and tar\n")
    file.flush()
    with mmap.mmap(file.fileno(), 0) as view:
        print(view[:4], view.find(b"tar"), view.readline(), len(view))
        view[0:4] = b"ROPE"
print(open("map").read(), filecmp.cmp("map", "map"), os.path.getsize("map"))
with fileinput.input(["map", "ship.ini"]) as lines:
    for line in lines:
        if lines.isfirstline():
            print(lines.filename(), lines.lineno(), line.rstrip())
left = open("left", "w")
left.write("written")
left.flush()
print(open("left").read())
left.write(" later")
left.close()
print(open("left").read(), io.open("left", "rb").read(3), io.FileIO("left").readall())
reader = io.BufferedReader(io.FileIO("left"), 4)
print(reader.peek(2)[:2], reader.read1(3), reader.readinto(buffer := bytearray(5)), buffer)
reader.close()
# %% markup
import email
import email.policy
import html
import html.parser
import io
import xml.dom.minidom
import xml.etree.ElementTree as ET
import xml.sax
from email.message import EmailMessage
from email.utils import formataddr, parseaddr, parsedate_to_datetime

root = ET.fromstring("""<fleet xmlns:n="urn:n"><ship name="Anna"><tons>12</tons></ship>
<ship name="B&amp;C"><tons n:kind="old">3</tons>tail</ship></fleet>""")
print([(s.get("name"), s.findtext("tons")) for s in root.iter("ship")], root.find("ship[2]/tons").attrib, root[1][0].tail)
new = ET.SubElement(root, "ship", name="Dora")
new.text = "<new>"
root.remove(root[0])
ET.indent(root)
print(ET.tostring(root, encoding="unicode"), len(root.findall(".//tons")))
for event, element in ET.iterparse(io.BytesIO(b"<a><b>1</b><b>2</b></a>"), ["start", "end"]):
    print(event, element.tag, end=" ")
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as problem:
    print(problem, problem.position)
print(xml.dom.minidom.parseString("<a><b c='1'/>t</a>").toprettyxml(indent=" "))


class Names(xml.sax.ContentHandler):
    def startElement(self, name, attributes):
        print("sax", name, dict(attributes))


xml.sax.parseString("<a x='1'><b/></a>", Names())


class Links(html.parser.HTMLParser):
    links = []

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.links.append(dict(attributes).get("href"))

    def handle_data(self, data):
        self.links.append(data.strip())


page = Links()
page.feed("<p>See <a href='/x?a=1&amp;b=2'>this</a> &eacute;<br><a>no")
page.close()
print(page.links, html.escape("<a href='x'>"), html.unescape("&lt;&#8364;&amp;&nosuch;"))
mail = EmailMessage()
mail["Subject"], mail["From"], mail["To"] = "Größe", "Ann <ann@example.org>", "bob@example.org, c@example.org"
mail.set_content("Some text.\n")
mail.add_attachment(b"\0\1", maintype="application", subtype="octet-stream", filename="a.bin")
text = mail.as_bytes().replace(mail.get_boundary().encode(), b"BOUNDARY")
print(text.decode())
read = email.message_from_bytes(text, policy=email.policy.default)
print(read["subject"], [a.addr_spec for a in read["to"].addresses], read.get_body().get_content(), [p.get_filename() for p in read.walk()])
print(parseaddr("Zoe <z@x.org>"), formataddr(("É", "e@x.org")), parsedate_to_datetime("Wed, 01 May 2024 10:00:00 +0200"))
# %% addresses
import gettext
import ipaddress
import locale
import mimetypes
import shlex
import urllib.parse
from http import HTTPStatus, cookies
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode, urljoin, urlparse, urlsplit, urlunsplit

url = urlsplit("https://ann:pw@example.org:8443/a%20b/c;d?x=1&y=#top")
print(url.hostname, url.port, url.username, url.query, url.fragment, url.geturl(), urlparse("/x;p").params)
print(urljoin("http://a/b/c/d", "../e"), urljoin("http://a/b", "//c/d"), quote("a b/é?", safe=""), unquote("%C3%A9+"))
print(urlencode({"a": [1, 2], "b": "x y"}, doseq=True), parse_qs("a=1&a=2&b="), parse_qsl("a=1;b=2"), urlunsplit(url._replace(netloc="h")))
net = ipaddress.ip_network("192.168.4.0/22")
print(net.num_addresses, ipaddress.ip_address("192.168.5.9") in net, list(net.subnets())[1], ipaddress.ip_address("::1").is_loopback)
try:
    ipaddress.ip_address("300.1.1.1")
except ValueError as problem:
    print(problem)
print(shlex.split("cp 'a b' c\\ d # x", comments=True), shlex.quote("it's"), shlex.join(["a b", "c"]), mimetypes.guess_type("a.tar.gz"))
jar = cookies.SimpleCookie("a=1; b=two")
jar["a"]["path"] = "/"
print(jar["a"].OutputString(), sorted(jar), HTTPStatus(404).phrase, HTTPStatus.OK == 200, urllib.parse.quote_plus("a b&"))
_ = gettext.gettext
print(_("hello"), gettext.ngettext("boat", "boats", 2), gettext.translation("none", fallback=True).gettext("x"), gettext.find("none"))
print(locale.setlocale(locale.LC_NUMERIC), locale.localeconv()["decimal_point"], locale.format_string("%.2f", 3.5), locale.strcoll("a", "b") < 0)
try:
    locale.setlocale(locale.LC_ALL, "xx_XX")
except locale.Error as problem:
    print(problem)
print(locale.getpreferredencoding().lower(), locale.str(1.5), locale.atof("1.5"))
# %% shell
import cmd
import code
import codeop
import io
import sys


class Ferry(cmd.Cmd):
    prompt = "ferry> "
    intro = "Welcome."
    use_rawinput = False

    def __init__(self, text):
        super().__init__(stdin=io.StringIO(text), stdout=sys.stdout)
        self.load = []

    def do_take(self, line):
        """take THING: bring it on board"""
        self.load.append(line)

    def do_list(self, line):
        print(*self.load, sep=", ", file=self.stdout)

    def complete_take(self, text, *where):
        return [t for t in ("tar", "tea") if t.startswith(text)]

    def do_EOF(self, line):
        return True

    def emptyline(self):
        print("(empty)")

    def postloop(self):
        print("bye")


Ferry("take tea\ntake salt\n\nlist\nfly away\nhelp take\nhelp\n").cmdloop()
print(Ferry("").complete_take("te"), Ferry("").onecmd("list"))
console = code.InteractiveInterpreter({"x": 5})
print(console.runsource("y = x * 2"), console.runsource("if y:"), console.locals["y"])
console.runsource("x + y")
console.runsource("1 +")
console.runsource("nothing_here")
print(codeop.compile_command("for x in y:"), codeop.compile_command("a = 1") is not None)


def trace(frame, event, arg):
    if frame.f_code.co_name == "traced":
        events.append((event, frame.f_lineno))
    return trace


def traced(n):
    n += 1
    return n


events = []
sys.settrace(trace)
traced(1)
sys.settrace(None)
print(events[-3:])
sys.setprofile(lambda frame, event, arg: events.append(event) if frame.f_code.co_name == "traced" else None)
traced(1)
sys.setprofile(None)
print(events[-2:])
sys.excepthook = lambda kind, problem, trace: print("hook", kind.__name__, problem)
sys.unraisablehook = lambda args: print("unraisable", args.exc_type.__name__)


class Bad:
    def __del__(self):
        raise ValueError("in del")


bad = Bad()
del bad
print(sys.getsizeof([]) > 0, sys.intern("a") is sys.intern("a"), sys.float_info.dig, sys.hash_info.width, sys.getrecursionlimit())


def endless():
    return endless()


try:
    endless()
except RecursionError as problem:
    print(problem)
sys.setrecursionlimit(200)
try:
    endless()
except RecursionError as problem:
    print("again", problem)
sys.exit("that is all")
