"""A trivial MCP server on stdio: one blocking loop, the standard library, nothing between a request and its answer.

It has no list of its tools, except as `echo.py listed`.
"""

import json
import sys

RESULTS: dict[str, dict[str, object]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "echo", "version": "1"},
    },
    "ping": {},
}

if sys.argv[1:] == ["listed"]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    RESULTS["tools/list"] = {"tools": [{"name": "echo", "inputSchema": schema}]}

for line in sys.stdin.buffer:
    request = json.loads(line)
    if "id" not in request:
        continue
    if request["method"] == "tools/call":
        text = request["params"]["arguments"].get("text", "")
        result: dict[str, object] = {"content": [{"type": "text", "text": text}], "isError": False}
    else:
        result = RESULTS.get(request["method"], {})
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")
    sys.stdout.buffer.flush()
