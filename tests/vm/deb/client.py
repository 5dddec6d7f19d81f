# SPDX-License-Identifier: MIT
"""client.py - an assistant at the socket of stepjail-mcp.socket; run in the guest by case.sh"""
import json
import socket

connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/stepjail-mcp.socket")
lines = connection.makefile("rw")


def request(number, method, **params):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), file=lines, flush=True)
    while (answer := json.loads(lines.readline())).get("id") != number:
        pass
    return answer["result"]


def step(number, code):
    result = request(number, "tools/call", name="python", arguments={"code": code})
    if "structuredContent" not in result:
        raise SystemExit(result["content"][0]["text"])
    return result["structuredContent"]


request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "guest", "version": "1"})
first = step(2, "6 * 7")
print(first["result"], first["verdict"], step(3, "b'x' * (1 << 29)")["verdict"], sep="\n")
