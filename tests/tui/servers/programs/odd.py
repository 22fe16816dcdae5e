"""An MCP server over stdio that is odd in the way its argument says.

hang, dies, wide, big, odd, slow, destroys, talks, shop, or invalid: its answers break the protocol.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

MODE = sys.argv[1]
HOSTILE = "Clears\x1b[2J, renames \x1b]2;owned\x07, marks [bold red]up[/] and [link=x]links[/link] \u202e \x9b31m"
ODD = {
    "type": "object",
    "properties": {
        "shape": {"oneOf": [{"$ref": "#/$defs/Circle"}, {"type": "string"}]},
        "self": {"$ref": "#"},
        "nothing": False,
        "any": True,
        "[bold]": {"type": "string", "description": HOSTILE},
        "many": {"enum": [f"value {at}" for at in range(60)]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": "shape",
    "$defs": {"Circle": {"type": "object", "properties": {"r": {"type": "number"}}, "required": ["r"]}},
}


ORDER = {
    "type": "object",
    "properties": {
        "customer": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/Address"}},
            "required": ["name"],
        },
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "payment": {"oneOf": [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Cash"}, {"type": "string"}]},
    },
    "required": ["customer", "lines"],
    "$defs": {
        "Address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "Line": {
            "type": "object",
            "properties": {"sku": {"type": "string", "pattern": "^[A-Z]+$"}, "size": {"enum": ["S", "L"]}},
            "required": ["sku"],
        },
        "Card": {
            "type": "object",
            "properties": {"kind": {"const": "card"}, "number": {"type": "string"}},
            "required": ["kind", "number"],
        },
        "Cash": {"type": "object", "properties": {"kind": {"const": "cash"}}, "required": ["kind"]},
    },
}
TALKS = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True},
    "logging": {},
    "completions": {},
}
LANGUAGES = ["python", "perl", "prolog", "python", "[red]php[/]\x1b[2J"]
added: list[str] = []


def talk(method: str, params: dict[str, Any]) -> Any:
    """A server with everything: it says when its lists and resources change, and completes arguments."""
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("add", "touch", *added)]}
    if method == "resources/list":
        return {"resources": [{"uri": "memo:/a", "name": "a memo"}]}
    if method == "prompts/list":
        return {
            "prompts": [{"name": "review", "arguments": [{"name": "language", "required": True}, {"name": "style"}]}]
        }
    if method == "completion/complete":
        typed = params["argument"]["value"]
        return {"completion": {"values": [one for one in LANGUAGES if typed in one], "hasMore": True}}
    if method == "tools/call" and params["name"] == "add":
        added.append(f"added_{len(added)}")
        tell("tools/list_changed", {})
    if method == "tools/call" and params["name"] == "touch":
        tell("resources/updated", {"uri": "memo:/a"})
    return {"content": []} if method == "tools/call" else {"contents": []} if method == "resources/read" else {}


def tell(what: str, params: dict[str, Any]) -> None:
    """A notification."""
    print(json.dumps({"jsonrpc": "2.0", "method": f"notifications/{what}", "params": params}), flush=True)


def tools() -> list[dict[str, Any]]:
    """What is offered in this mode."""
    if MODE == "wide":
        return [
            {
                "name": f"tool_{at:03}",
                "description": f"Number {at}.\n" * 20,
                "inputSchema": {"type": "object", "properties": {f"a{n}": {"type": "string"} for n in range(8)}},
            }
            for at in range(500)
        ]
    if MODE == "odd":
        return [
            {"name": "odd", "description": HOSTILE, "inputSchema": ODD},
            {"name": "list", "inputSchema": []},
            {"name": "text", "inputSchema": {"type": "string"}},
            {"name": "union", "inputSchema": {"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}},
            {"name": "none", "inputSchema": None},
            {"title": "no name"},
            {"name": HOSTILE, "title": "[red]x[/]", "annotations": HOSTILE, "inputSchema": {"type": "object"}},
        ]
    if MODE == "shop":
        return [{"name": "place_order", "inputSchema": ORDER}]
    return [
        {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
        {"name": "delete_all", "inputSchema": {"type": "object"}},
    ]


OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
INVALID: dict[str, Any] = {
    "tools/list": {
        "tools": [
            {"name": "bad_block", "inputSchema": {"type": "object"}},
            {"name": "bad_output", "inputSchema": {"type": "object"}, "outputSchema": OUTPUT},
        ]
    },
    "resources/list": {"resources": [{"uri": "memo:/a", "name": "a memo"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "memo:/{id}"}]},
    "resources/read": {"contents": [{"uri": "memo:/a"}]},
    "prompts/list": {"prompts": [{"name": "ask", "arguments": [{"name": "topic"}]}]},
    "prompts/get": {"messages": "none"},
    "completion/complete": {"completion": {"values": "none"}},
    "bad_block": {"content": [{"type": "text", "text": 5}]},
    "bad_output": {"content": [], "structuredContent": {"n": "five"}},
}


def answer(message: dict[str, Any]) -> Any:
    """The result of a request; None for none."""
    method = message["method"]
    if method == "initialize":
        if MODE == "hang":
            return None
        version = message["params"]["protocolVersion"]
        able = TALKS if MODE in ("talks", "invalid") else {"tools": {}}
        return {"protocolVersion": version, "capabilities": able, "serverInfo": {"name": MODE, "version": "1"}}
    if MODE == "talks":
        return talk(method, message.get("params") or {})
    if MODE == "invalid":
        return INVALID.get(message.get("params", {}).get("name") if method == "tools/call" else method, {})
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        return call(message["params"])
    return {}


def call(params: dict[str, Any]) -> Any:
    """What a tool does in this mode."""
    if MODE == "dies":
        print("out of luck\nlast words", file=sys.stderr, flush=True)
        os._exit(7)
    if MODE == "slow":
        return None
    if MODE == "diary":
        with open(sys.argv[2], "a", encoding="utf-8") as diary:
            print(params["name"], file=diary)
    if MODE == "big":
        rows = [{"id": at, "text": "x" * 200} for at in range(20_000)]
        return {"content": [{"type": "text", "text": "y" * 3_000_000}], "structuredContent": {"rows": rows}}
    return {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]}


def serve() -> None:
    """One message a line."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message)
        if result is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


serve()
