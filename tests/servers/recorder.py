"""Writes every method that it was sent into FILE, a line each, a call with its tool: `recorder.py FILE`.

It has a tool of each class, a resource, a prompt; its tool calls are answered, so that whoever makes one is found out.
"""

import pathlib
import sys

import minimcp

RECORD = pathlib.Path(sys.argv[1])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "get_page", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "write_page", "inputSchema": TEXT},
    {"name": "delete_page", "inputSchema": TEXT},
    {"name": "format_disk", "inputSchema": TEXT, "annotations": {"destructiveHint": True}},
]
LISTS = {
    "tools/list": {"tools": TOOLS},
    "resources/list": {"resources": [{"uri": "page://one", "name": "one"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": [{"name": "greet"}]},
}


def enter(line):
    with RECORD.open("a", encoding="utf-8") as record:
        record.write(f"{line}\n")


def answer(method, params, _message):
    enter(f"{method} {params['name']}" if method == "tools/call" else method)
    if method in LISTS:
        return LISTS[method]
    if method == "tools/call":
        is_good = isinstance(params.get("arguments", {}).get("text"), str)
        return minimcp.text("done") if is_good else minimcp.text("no text") | {"isError": True}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "one"}]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello."}}]}
    raise minimcp.RpcError(-32601, "unknown method")


for message in minimcp.messages():
    method, params = message["method"], message.get("params") or {}
    if "id" not in message:
        continue
    if method == "initialize":
        minimcp.answer(
            message["id"], minimcp.initialized(params, "recorder", {"tools": {}, "resources": {}, "prompts": {}})
        )
        continue
    try:
        minimcp.answer(message["id"], answer(method, params, message))
    except minimcp.RpcError as wrong:
        minimcp.send({"jsonrpc": "2.0", "id": message["id"], "error": wrong.error})
