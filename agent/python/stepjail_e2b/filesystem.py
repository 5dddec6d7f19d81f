# SPDX-License-Identifier: MIT
"""filesystem.py - folders of a sandbox: listed by the wire, changed by a step aside"""
import ast
import datetime
import errno

from stepjail_e2b.connect import Failed, many, one
from stepjail_e2b.files import entry, inside, listed, outside
from stepjail_e2b.request import member
from stepjail_mcp import names
from stepjail_mcp.http_connection import Refused

ENTRIES_MAX = 4096  # of a list
TYPES = {"-": "FILE_TYPE_FILE", "d": "FILE_TYPE_DIRECTORY", "l": "FILE_TYPE_SYMLINK"}
# Python that runs in the jail. No module of /work's is imported: the first of sys.path is that
CHANGE = """import sys; sys.path[:] = [one for one in sys.path if one]; import os, shutil; os.chdir('/work')
problem = None
try:
    {}
except OSError as caught:
    problem = caught.errno, caught.strerror
problem"""
MOVE = CHANGE.format("os.lstat({0!r}); os.makedirs(os.path.dirname({1!r}) or '.', exist_ok=True); "
                     "os.rename({0!r}, {1!r})")
MAKE = CHANGE.format("os.makedirs({0!r})")
REMOVE = CHANGE.format("shutil.rmtree({0!r}) if os.path.isdir({0!r}) and not os.path.islink({0!r}) else "
                       "os.unlink({0!r}) if os.path.lexists({0!r}) else None")
STATUSES = {errno.ENOENT: 404, errno.EEXIST: 409}


def told(path, found):
    when = datetime.datetime.fromtimestamp(min(max(found.mtime, 0), 253402300799), datetime.timezone.utc)
    return {"name": names.told(found.name), "type": TYPES.get(found.kind, TYPES["-"]),
            "path": outside(path), "size": str(found.size),
            "modifiedTime": when.strftime("%Y-%m-%dT%H:%M:%SZ")}


async def path_of(sandbox, body, name="path"):
    found = member(body, name, str)
    if found is None:
        raise Refused(400, f"{name} is missing")
    return await names.found(sandbox.session, inside(found))


def changeable(path):
    if path == ".":
        raise Refused(400, f"{outside(path)} itself stays as it is")
    return path


async def change(sandbox, path, code):
    """A step aside; its value is what the kernel says against it."""
    result = await sandbox.aside(code)
    if not result.ok:
        raise Refused(400, f"{outside(path)}: the step that was to change it ended with {result.verdict}")
    if result.text and result.text != "None":
        number, words = ast.literal_eval(result.text)
        raise Refused(STATUSES.get(number, 400), f"{outside(path)}: {words}")


async def stat(request, sandbox, body):
    path = await path_of(sandbox, body)
    return {"entry": told(path, await entry(sandbox, path))}


async def list_folder(request, sandbox, body):
    top, depth = await path_of(sandbox, body), member(body, "depth", int, 1)
    found, folders = [], [(top, 1)]
    while folders:
        path, level = folders.pop()
        for one_more in await listed(sandbox, path):
            below = one_more.name if path == "." else f"{path}/{one_more.name}"
            found.append((below, one_more))
            if one_more.kind == "d" and level < depth:
                folders.append((below, level + 1))
        if len(found) > ENTRIES_MAX:
            raise Refused(413, f"a list has at most {ENTRIES_MAX} entries: ask for less depth")
    return {"entries": [told(path, one_more) for path, one_more in sorted(found, key=lambda pair: pair[0])]}


async def make(request, sandbox, body):
    path = await path_of(sandbox, body)
    if path == ".":
        raise Refused(409, f"{outside(path)}: it is there")
    await change(sandbox, path, MAKE.format(path))
    return {"entry": told(path, await entry(sandbox, path))}


async def move(request, sandbox, body):
    old, new = [changeable(await path_of(sandbox, body, name)) for name in ("source", "destination")]
    await change(sandbox, old, MOVE.format(old, new))
    return {"entry": told(new, await entry(sandbox, new))}


async def remove(request, sandbox, body):
    path = changeable(await path_of(sandbox, body))
    await change(sandbox, path, REMOVE.format(path))
    return {}


async def no_watch(request, sandbox, body, tell=None):
    raise Failed(501, "a jail's folders cannot be watched: list them") if tell else \
        Refused(501, "a jail's folders cannot be watched: list them")


CALLS = {"Stat": one(stat), "ListDir": one(list_folder), "MakeDir": one(make), "Move": one(move),
         "Remove": one(remove), "WatchDir": many(no_watch), "CreateWatcher": one(no_watch),
         "GetWatcherEvents": one(no_watch), "RemoveWatcher": one(no_watch)}
