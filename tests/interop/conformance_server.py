#!/usr/bin/python3 -I
# SPDX-License-Identifier: MIT
"""conformance_server.py - stepjail-mcp with the tools that @modelcontextprotocol/conformance calls

Run as stepjail-mcp is: $STEPJAIL_MCP OPTIONS. The tools are the fixtures that the suite describes; how
they are listed, called and answered is stepjail-mcp's own.
"""
import base64
import json
import os
import runpy
import sys

MCP = os.environ["STEPJAIL_MCP"]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../agent/python"))
sys.dont_write_bytecode = True
from stepjail_mcp.client import META, Problem  # noqa: E402
from stepjail_mcp.sessions import ToolProblem  # noqa: E402
from stepjail_mcp.tools import TOOLS, schema  # noqa: E402

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0").decode()


def text(words):
    return {"type": "text", "text": words}


def image():
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def resource(uri, kind, words):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


def fixture(function):
    name = "test_" + function.__name__

    async def tool(call):
        return {"content": await function(call), "structuredContent": {}, "isError": False}
    TOOLS[name] = (tool, "A fixture of the conformance suite.", schema([]), {"type": "object"})


@fixture
async def simple_text(call):
    return [text("This is a simple text response for testing.")]


@fixture
async def image_content(call):
    return [image()]


@fixture
async def audio_content(call):
    return [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]


@fixture
async def embedded_resource(call):
    return [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


@fixture
async def multiple_content_types(call):
    return [text("Multiple content types test:"), image(),
            resource("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123}))]


@fixture
async def error_handling(call):
    raise ToolProblem("This tool intentionally returns an error for testing")


@fixture
async def tool_with_progress(call):
    for done in 0, 50, 100:
        await call.progress(done, total=100, message=f"Completed step {done} of 100")
    return [text(str(call.token))]


@fixture
async def missing_capability(call):
    if "sampling" not in call.meta.get(META + "clientCapabilities", {}):
        raise Problem(-32021, "the client has not declared sampling", {"requiredCapabilities": {"sampling": {}}}, 400)
    return [text("Success")]


@fixture
async def streaming_elicitation(call):
    await call.progress(50, total=100)
    return [text("Streaming complete")]


@fixture
async def logging_tool(call):
    return [text("Logging evaluated")]


runpy.run_path(MCP, run_name="__main__")
