"""Breaks the protocol in one way a tool, in both lifecycles: `breaking.py` over stdio, `breaking.py http` over HTTP.

With `opening` as the last argument the answer that opens a session is invalid as well. Over HTTP it prints its port and ends
with its stdin. Its tools, what they answer: `RESULTS`; `hidden` is answered and not listed; the prompt `greet` needs `who`.
"""

import http.server
import json
import sys
import threading

import minimcp

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
DEGREES = {"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]}
RESULTS = {
    "fine": minimcp.text("fine"),
    "forecast": {"content": [], "structuredContent": {"degrees": 7}},
    "wrong_output": {"content": [], "structuredContent": {"degrees": "seven"}},
    "no_output": minimcp.text("seven"),
    "failing_output": {**minimcp.text("no such city"), "isError": True},
    "number_as_text": {"content": [{"type": "text", "text": 5}]},
    "unknown_block": {"content": [{"type": "textt", "text": "5"}]},
    "bad_blob": {"content": [{"type": "resource", "resource": {"uri": "x:1", "blob": 5}}]},
    "bad_uri": {"content": [{"type": "resource_link", "name": "r", "uri": "no uri"}]},
    "bad_image": {"content": [{"type": "image", "mimeType": "image/png", "data": "not base64"}]},
    "empty": {},
    "bananas": {"content": [], "resultType": "banana"},
    "task": {"resultType": "task", "task": {"taskId": "t-1", "status": "working"}},
}
OUTPUT = ("forecast", "wrong_output", "no_output", "failing_output")
ERRORS = {
    "no_link": {"code": -32042, "message": "a login is needed", "data": {"elicitations": [{"mode": "url"}]}},
    "no_capability": {"code": -32021, "message": "no sampling", "data": {"requiredCapabilities": 5}},
}
TOOLS = [
    {"name": name, "inputSchema": CITY, **({"outputSchema": DEGREES} if name in OUTPUT else {})}
    for name in (*RESULTS, *ERRORS)
]
ANSWERS = {**RESULTS, "hidden": minimcp.text("not listed")}
STAMP = {"ttlMs": 0, "cacheScope": "private"}
OTHERS = {
    "tools/list": {"tools": TOOLS, **STAMP},
    "prompts/list": {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}], **STAMP},
    "prompts/get": {"messages": [{"role": "nobody", "content": {"type": "text", "text": "hello"}}]},
    "resources/read": {"contents": [{"uri": "x:1"}], **STAMP},
    "resources/list": {"resourcess": [], **STAMP},
}
CAPABILITIES = {"tools": {}, "prompts": {}, "resources": {}}


def respond(message):
    """The response to a request, None for a notification."""
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        return None
    stateless = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
    if method == "initialize":
        result = minimcp.initialized(params, "breaking", CAPABILITIES)
    elif method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, **STAMP}
    elif method == "tools/call" and params["name"] in ERRORS:
        return {"jsonrpc": "2.0", "id": message["id"], "error": ERRORS[params["name"]]}
    elif method == "tools/call" and params["name"] not in ANSWERS:
        error = {"code": -32602, "message": f"Unknown tool: {params['name']}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    else:
        result = ANSWERS[params["name"]] if method == "tools/call" else OTHERS[method]
    if sys.argv[-1] == "opening" and method in ("initialize", "server/discover"):
        result = {**result, "capabilities": {"tools": True}}
    if stateless:
        result = {"resultType": "complete", **result}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        response = respond(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(202 if response is None else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"" if response is None else json.dumps(response).encode())

    def log_message(self, *_):
        pass


if sys.argv[1:2] == ["http"]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
else:
    for message in minimcp.messages():
        if (response := respond(message)) is not None:
            minimcp.send(response)
