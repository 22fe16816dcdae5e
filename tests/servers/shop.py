"""A shop whose answers have every form that mutation testing changes.

Tools: price {item} (structured content, repeated as text), orders (JSON in a text), stock {item} (a sentence with a number),
opened (its `serial` is another in each process), order {item} and get_order {id} (one feeds the other), refused (always an
error). Resource: shop://hours. Prompt: greet {name}.
"""

import json
import os

import minimcp

PRICES = {"tea": 30, "milk": 12}


def tool(name, *required, output=None):
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in required}, "required": list(required)}
    declared = {} if output is None else {"outputSchema": output}
    return {"name": name, "description": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}, **declared}


PRICE = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "price": {"type": "number"}},
    "required": ["item", "price"],
}
TOOLS = [
    tool("price", "item", output=PRICE),
    tool("orders"),
    tool("stock", "item"),
    tool("opened"),
    tool("order", "item"),
    tool("get_order", "id"),
    tool("refused"),
]


def called(name, given):
    if name == "price":
        value = {"item": given["item"], "price": PRICES[given["item"]]}
        return {**minimcp.text(json.dumps(value)), "structuredContent": value}
    if name == "orders":
        return minimcp.text(json.dumps([{"id": 1, "paid": True}, {"id": 2, "paid": False}], indent=2))
    if name == "stock":
        return minimcp.text(f"There are 7 of {given['item']} left.")
    if name == "opened":
        return minimcp.text(json.dumps({"serial": os.getpid(), "shop": "corner"}))
    if name == "order":
        return minimcp.text(json.dumps({"id": f"o-{given['item']}"}))
    if name == "get_order":
        if given["id"].startswith("o-"):
            return minimcp.text(json.dumps({"id": given["id"], "total": 30}))
        return {**minimcp.text("no such order"), "isError": True}
    return {**minimcp.text("the shop is closed"), "isError": True}


def handle(method, params, _message):
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "from 8 to 18"}]}
    if method == "prompts/get":
        message = {"role": "user", "content": {"type": "text", "text": f"Greet {params['arguments']['name']}."}}
        return {"description": "a greeting", "messages": [message]}
    raise minimcp.RpcError(-32601, f"unknown method {method}")


minimcp.serve(handle, name="shop", lists=True)
