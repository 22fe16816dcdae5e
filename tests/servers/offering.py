"""A server that offers a little of everything, and counts the requests for its tools.

offering.py [FILE] [MODE]   writes a line into FILE for each `tools/list`
MODE is `closed` (refuses to list tools), `halved` (refuses to list resources), `silent` (never lists tools), `bare` (has no
tools), `plain` (knows no templates), or left out
"""

import pathlib
import sys

import minimcp

LOG = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
MODE = sys.argv[2] if len(sys.argv) > 2 else ""
UNITS = {"unit": {"enum": ["C", "F"]}, "city": {"type": "string"}}
TOOLS = [
    {"name": "weather", "inputSchema": {"type": "object", "properties": UNITS}},
    {
        "name": "pick",
        "inputSchema": {"type": "object", "properties": {"days": {"type": "array", "items": {"enum": [1]}}}},
    },
    {"name": "rest", "inputSchema": {"type": "object"}},
]
LISTS = {
    "tools/list": {"tools": TOOLS},
    "resources/list": {"resources": [{"uri": "memo://one", "name": "one"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "memo://{name}/text", "name": "text"}]},
    "prompts/list": {"prompts": [{"name": "greet"}]},
}


def handle(method, params, message):
    if method == "tools/list":
        if LOG is not None:
            with LOG.open("a") as log:
                log.write("listed\n")
        if MODE == "silent":
            return minimcp.NO_ANSWER
        if MODE == "bare":
            return {"tools": []}
    if (method, MODE) in {("tools/list", "closed"), ("resources/list", "halved")}:
        raise minimcp.RpcError(-32000, "not today")
    if method in LISTS and (method, MODE) != ("resources/templates/list", "plain"):
        return LISTS[method]
    if method == "resources/templates/list":
        raise minimcp.RpcError(-32601, "Method not found")
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "first"}]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}]}
    if (params.get("arguments") or {}).get("city") == "nowhere":
        return minimcp.text("no such city") | {"isError": True}
    return minimcp.text("done")


minimcp.serve(handle, "offering", {"tools": {}, "resources": {}, "prompts": {}}, lists=True)
