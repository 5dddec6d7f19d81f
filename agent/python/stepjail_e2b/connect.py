# SPDX-License-Identifier: MIT
"""connect.py - the Connect protocol, whose messages are JSON: a call with one answer, or with a stream of them"""
import struct
import traceback

from stepjail_e2b.request import Stream, packed, parsed
from stepjail_mcp.http_connection import Refused
from stepjail_mcp.strict_json import apart

CODES = {400: "invalid_argument", 401: "unauthenticated", 403: "permission_denied", 404: "not_found",
         408: "deadline_exceeded", 409: "already_exists", 412: "failed_precondition", 413: "resource_exhausted",
         429: "resource_exhausted", 501: "unimplemented", 502: "unavailable", 503: "unavailable"}
ENVELOPE = struct.Struct(">BI")
END = 2  # the flag of a stream's last message


class Failed(Exception):
    """A stream that ends with an error, as a status of HTTP."""

    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


def error(status, why):
    return {"code": CODES.get(status, "internal"), "message": why}


def envelope(message, flags=0):
    data = packed(message)
    return ENVELOPE.pack(flags, len(data)) + data


def kind_of(request, wanted):
    kind = request.head.headers.get_content_type()
    if kind != wanted:
        raise Refused(415, f"Content-Type is {kind[:60]!r}, and must be {wanted}: messages are JSON, not protobuf")
    if request.head.header("Connect-Content-Encoding") not in ("", "identity") or \
            request.head.header("Content-Encoding") not in ("", "identity"):
        raise Refused(415, "messages are not compressed")


def one(call):
    """A call with one answer: it gives a message, or raises Refused."""
    async def handler(request, sandbox):
        kind_of(request, "application/json")
        await request.answer(200, await call(request, sandbox, await request.json()))
    return handler


def many(call):
    """A call with a stream of answers, which it tells; it raises Failed for one that ends badly."""
    async def handler(request, sandbox):
        kind_of(request, "application/connect+json")
        if len(request.data) < ENVELOPE.size:
            raise Refused(400, "the body is no enveloped message")
        flags, size = ENVELOPE.unpack_from(request.data)
        if flags or size != len(request.data) - ENVELOPE.size:
            raise Refused(400, "the body is no enveloped message, or not one, or compressed")
        message = await apart(parsed, request.data[ENVELOPE.size:], "the message")
        stream = Stream(request, "application/connect+json", envelope({"event": {"keepalive": {}}}))

        async def work():
            last = {}
            try:
                await call(request, sandbox, message, lambda answer: stream.tell(envelope(answer)))
            except (Failed, Refused) as problem:
                last = {"error": error(problem.status, str(problem))}
            except Exception as problem:  # a mistake of ours
                traceback.print_exc()
                last = {"error": error(500, f"{type(problem).__name__}: {problem}"[:300])}
            stream.tell(envelope(last, END))

        await stream.serve(work())
    return handler


def routes(service, calls):
    """@calls: names, and what one() or many() has made of a function"""
    return tuple(("POST", f"/{service.replace('.', '[.]')}/{name}", handler) for name, handler in calls.items())
