# SPDX-License-Identifier: MIT
"""stepjail_mcp - Python in jails for programs that speak the Model Context Protocol

Theory of operation
    A client is a connection: stdin and stdout, or one of a unix socket (server.py). Its messages are
    JSON-RPC 2.0, a line each. Or it is a token of HTTP's (http_server.py, tokens.py), a message a request.
    client.py's METHODS has what it may ask for, tools.py's TOOLS what a model may call. Each request is a
    task of one event loop; a request that is cancelled interrupts its step. A session (sessions.py) is a
    jail with variables and files; a model knows it by a handle that nobody can guess. Sessions end with the
    connection that opened them, and when nobody has used them for --idle.
    stepjail_e2b serves clients of another kind with the same sessions.

    Both eras of the protocol are spoken on the same connection. A request whose _meta names a protocol
    version is of 2026-07-28, where each request stands alone; one without is of 2025-11-25 or before.

    What a step says is data: it is passed on as JSON, and bounded by the jail's own limits.
"""

VERSION = "0.1.0"
