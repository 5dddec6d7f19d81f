# SPDX-License-Identifier: MIT
"""api.py - sandboxes: made, found, listed, kept alive and ended, by an API key"""
import datetime
import time
import urllib.parse

from stepjail_e2b.request import member, texts
from stepjail_e2b.sandboxes import TIMEOUT, TIMEOUT_MAX
from stepjail_mcp.http_connection import Refused

ENVD_VERSION = "0.5.6"  # what the SDKs ask of a sandbox is by this: files come as multipart/form-data
TEMPLATES = "base", "code-interpreter-v1"
LIMIT = 100             # sandboxes of a list's page
REFUSED = {             # members of a sandbox that is asked for, and why there is none
    "mcp": "there is no MCP gateway in a jail", "volumeMounts": "there are no volumes",
    "autoPause": "a sandbox cannot be paused", "autoResume": "a sandbox cannot be paused",
    "network": "a jail has no network, and so no rules for it", "iam": "a jail has no identity tokens"}


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(
        timespec="milliseconds").replace("+00:00", "Z")


def timeout_of(body, default):
    found = member(body, "timeout", (int, float), default)
    if not 0 <= found <= TIMEOUT_MAX:
        raise Refused(400, f"timeout is no number of seconds from 0 to {TIMEOUT_MAX}")
    return found


def told(mine, sandbox):
    """To who may use it."""
    return {"sandboxID": sandbox.number, "templateID": sandbox.template, "clientID": "stepjail",
            "envdVersion": ENVD_VERSION, "envdAccessToken": sandbox.token, "trafficAccessToken": sandbox.traffic,
            "domain": mine.domain}


def facts(mine, sandbox):
    return {"sandboxID": sandbox.number, "templateID": sandbox.template, "clientID": "stepjail",
            "startedAt": utc(sandbox.begin), "endAt": utc(sandbox.end), "state": "running",
            "envdVersion": ENVD_VERSION, "metadata": sandbox.metadata, "allowInternetAccess": False, **mine.limits}


async def create(request, mine):
    body = await request.json()
    template = member(body, "templateID", str, "base")
    if template not in TEMPLATES:
        raise Refused(404, f"there is no template {template[:80]!r}: jails are as the server was started, and "
                      f"called {' or '.join(TEMPLATES)}")
    for name, why in REFUSED.items():
        value = body.get(name)
        if value and value != {"enabled": False}:
            raise Refused(400, f"{name}: {why}")
    envs = texts(body, "envVars")
    if any(not name or "=" in name or "\0" in name + value for name, value in envs.items()):
        raise Refused(400, "envVars has a name or a value that no environment can have")
    sandbox = await mine.create(request.owner, request.head.header("User-Agent"), template, texts(body, "metadata"),
                                envs, timeout_of(body, TIMEOUT))
    await request.answer(201, told(mine, sandbox))


def found(mine, number):
    sandbox = mine.handles.get(number)
    if not sandbox:
        raise Refused(404, f"there is no sandbox {number[:80]!r}: it has ended, or is another key's")
    return sandbox


async def connect(request, mine, number):
    sandbox = found(mine, number)
    timeout = timeout_of(await request.json(), TIMEOUT)
    if time.time() + timeout > sandbox.end:
        mine.live(sandbox, timeout)
    await request.answer(200, told(mine, sandbox))


async def info(request, mine, number):
    await request.answer(200, {**facts(mine, found(mine, number)), "envdAccessToken": mine.handles[number].token,
                               "domain": mine.domain})


async def timeout(request, mine, number):
    sandbox = found(mine, number)
    mine.live(sandbox, timeout_of(await request.json(), TIMEOUT))
    await request.answer(204)


async def kill(request, mine, number):
    await mine.kill(found(mine, number))
    await request.answer(204)


async def listing(request, mine):
    query = request.query
    try:
        wanted = {urllib.parse.unquote(name): urllib.parse.unquote(value) for name, value in
                  urllib.parse.parse_qsl(query.get("metadata", ""), keep_blank_values=True, max_num_fields=256)}
        limit, begin = int(query.get("limit", LIMIT)), int(query.get("nextToken", 0))
    except ValueError:
        raise Refused(400, "limit or nextToken is no number, or metadata has more than 256 parts") from None
    chosen = [one for one in mine.handles.values() if wanted.items() <= one.metadata.items() and
              "running" in query.get("state", "running").split(",") and
              query.get("template", one.template) == one.template]
    chosen.sort(key=lambda one: one.begin, reverse=query.get("order") != "asc")
    if not 1 <= limit <= LIMIT or not 0 <= begin <= len(chosen):
        raise Refused(400, f"limit is no number from 1 to {LIMIT}, or nextToken none that was given")
    more = {"X-Next-Token": begin + limit} if begin + limit < len(chosen) else {}
    await request.answer(200, [facts(mine, one) for one in chosen[begin:begin + limit]], headers=more)


async def none_such(request, mine, *names):
    raise Refused(501, f"{request.method} {request.path[:80]}: Stepjail has no such operation; agent/README.md has "
                  "those that work")


ROUTES = (
    ("POST", r"(?:/v2)?/sandboxes", create),
    ("GET", r"(?:/v2)?/sandboxes", listing),
    ("GET", r"/sandboxes/([^/]+)", info),
    ("DELETE", r"/sandboxes/([^/]+)", kill),
    ("POST", r"/sandboxes/([^/]+)/timeout", timeout),
    ("POST", r"(?:/v2)?/sandboxes/([^/]+)/connect", connect),
    ("(?:GET|POST|PUT|PATCH|DELETE)", r"(?:/v[0-9])?/(?:sandboxes|templates|snapshots|secrets|volumes|volumecontent|"
     r"teams|nodes|api-keys|access-tokens|events)(?:/.*)?", none_such),
)
