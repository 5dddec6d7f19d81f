# SPDX-License-Identifier: MIT
"""files.py - whole files of a sandbox: /files; and paths as its clients write them"""
import base64
import hashlib
import hmac
import posixpath
import re
import time

import stepjail
from stepjail_e2b.sandboxes import HOME
from stepjail_mcp import names
from stepjail_mcp.http_connection import HEAD_MAX, Refused

FILES_MAX = 256  # of one request
READ_MAX = 64 << 20  # bytes of a file that is read
MISSING = "No such file or directory"
DISPOSITION = re.compile(rb"(?im)^content-disposition:[ \t]*form-data[ \t]*(?:;|\r|\Z)")


def inside(path):
    """A path as the wire has it, relative to /work: "." or "a/b". /home/user is /work, for code, too, by a link in the
    root tree; all else is closed."""
    if len(path) > 4000 or "\0" in path:
        raise Refused(400, "a path has at most 4000 characters, and no NUL")
    path = path.removeprefix("~/") if path != "~" else ""
    whole = posixpath.normpath(posixpath.join(HOME, path))
    for top in (HOME, "/work"):
        if whole == top or whole.startswith(top + "/"):
            return whole[len(top) + 1:] or "."
    raise Refused(400, f"{path[:200]!r} is not below {HOME}, which is the jail's /work: no other file can be "
                  "read or written from outside")


def outside(path):
    return HOME if path == "." else f"{HOME}/{names.told(path)}"


def refused_file(path, problem):
    """Of GET, PUT or LIST, as a status."""
    if problem.kind != "file":
        return problem
    return Refused(404 if MISSING in str(problem) else 400, f"{outside(path)}: {str(problem).partition(': ')[2]}")


async def listed(sandbox, path):
    try:
        return await sandbox.session.list(path)
    except stepjail.Refused as problem:
        raise refused_file(path, problem) from None


async def entry(sandbox, path):
    """What a folder's list says of a name."""
    if path == ".":
        return stepjail.Entry("d", 0, int(sandbox.begin), "user")
    try:
        found = await listed(sandbox, posixpath.dirname(path) or ".")
    except Refused as problem:
        if problem.status != 404 and "Not a directory" not in str(problem):
            raise
        found = []
    for one in found:
        if one.name == posixpath.basename(path):
            return one
    raise Refused(404, f"{outside(path)}: {MISSING}")


async def get(request, sandbox):
    path = await names.found(sandbox.session, inside(request.query.get("path", "")))
    found = await entry(sandbox, path)
    if found.kind == "-" and found.size > READ_MAX:
        raise Refused(413, f"{outside(path)} has {found.size} bytes, and {READ_MAX} can be handed out: read a part of "
                      "it with code")
    async with sandbox.reading:  # one such file at a time is in memory, and as long as its client takes
        try:
            data = await sandbox.session.get(path, limit=READ_MAX)
        except stepjail.Refused as problem:
            raise refused_file(path, problem) from None
        await request.answer(200, data, "application/octet-stream")


def parts_of(request):
    """Names and bytes of a form's files."""
    kind = request.head.header("Content-Type")
    if request.head.headers.get_content_type() == "application/octet-stream":
        return [(None, request.data)]
    if request.head.headers.get_content_type() != "multipart/form-data":
        raise Refused(415, "Content-Type must be multipart/form-data or application/octet-stream")
    boundary = re.search(r'boundary=(?:"([^"\r\n]{1,200})"|([^\s;"]{1,200}))', kind)
    if not boundary:
        raise Refused(400, "multipart/form-data has no boundary")
    mark = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1", "replace")
    pieces = (b"\r\n" + request.data).split(mark, FILES_MAX + 2)
    if len(pieces) < 2 or len(pieces) > FILES_MAX + 2 or not pieces[-1].startswith(b"--"):
        raise Refused(400, f"the form does not end, or has more than {FILES_MAX} parts")
    found = []
    for piece in pieces[1:-1]:
        head, gap, data = piece.partition(b"\r\n\r\n")
        if not gap or len(head) > HEAD_MAX or not DISPOSITION.search(head):
            raise Refused(400, f"a part of the form has no head, or one of more than {HEAD_MAX} bytes")
        words = re.search(r'filename="([^"]*)"', head.decode("utf-8", "replace"))
        if words:  # what browsers write for three characters
            name = words[1].replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
            found.append((name, data))
    if not found:
        raise Refused(400, "the form has no file")
    return found


async def post(request, sandbox):
    if request.head.header("Content-Encoding") not in ("", "identity"):
        raise Refused(415, "files are not compressed")
    given, found = request.query.get("path"), parts_of(request)
    if given and len(found) > 1:
        raise Refused(400, "path is for one file; the form has several")
    paths = [inside(given or name or "") for name, _ in found]
    if "." in paths:
        raise Refused(400, f"{HOME} is a folder")
    for path, (_, data) in zip(paths, found):
        try:
            await sandbox.session.put(path, data)
        except stepjail.Refused as problem:
            if "No space left" in str(problem):
                raise Refused(507, f"{outside(path)}: {problem}") from None
            raise refused_file(path, problem) from None
        await sandbox.session.record.put(path, data)
    await request.answer(200, [{"path": outside(path), "name": posixpath.basename(path), "type": "file"}
                               for path in paths])


def signature(sandbox, path, operation, user, until):
    """As the SDKs make it: of words that are joined by colons, of which only the path may have some. What is read
    from the right is then the time, the token, the user and the operation, and the rest is the path."""
    words = [path, operation, user, sandbox.token, *([until] if until else [])]
    return "v1_" + base64.b64encode(hashlib.sha256(":".join(words).encode()).digest()).decode().rstrip("=")


def signed(request, sandboxes):
    """The sandbox of a link that is used without a token: its token has signed the link."""
    query = request.query
    until, user = query.get("signature_expiration", ""), query.get("username", "")
    if ":" in user:
        raise Refused(401, "this link's username has a colon, which could make another link's signature its own")
    operation = "read" if request.method == "GET" else "write"
    for sandbox in sandboxes:
        known = signature(sandbox, query.get("path", ""), operation, user, until)
        if hmac.compare_digest(known.encode(), query["signature"].encode()):
            if until and (not re.fullmatch("[0-9]{1,15}", until) or int(until) < time.time()):
                raise Refused(401, "this link is too old")
            return sandbox
    raise Refused(401, "this link's signature is wrong, or its sandbox has ended")


ROUTES = (("GET", "/files", get), ("POST", "/files", post))
