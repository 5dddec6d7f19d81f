# SPDX-License-Identifier: MIT
"""stepjail_e2b - Python in jails for programs that were written for E2B's sandboxes

Theory of operation
    `stepjail-mcp --e2b` serves what E2B's SDKs ask for, on loopback. server.py takes requests and says who may
    make them. Who has an API key makes sandboxes (api.py, sandboxes.py): each is a session, a jail of its own.
    Who has a sandbox's token runs code in it (execute.py) and reads and writes its files (files.py,
    filesystem.py). A context is a branch of the session that begins at state 0: variables of its own, and the
    same files. What the frames of `stepjail serve` have no word for is a step of Python on another branch, so
    that no variable of a context changes: sandboxes.py, Sandbox.aside().

    What a sandbox's code says is data: it is passed on as JSON, bounded by the jail's own limits.
"""
