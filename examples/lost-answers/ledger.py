#!/usr/bin/env python3
"""A bank as an MCP server over stdio, small enough to read: standard library only, its book in memory.

`transfer` moves money each time that it is called. `transfer_once` does so once for each `key`, which a client that never got
its answer sends again.
"""

import json
import sys

START = 100
TRANSFERS = []  # (account, amount, key or None)


def state(account):
    amounts = [amount for owner, amount, _ in TRANSFERS if owner == account]
    content = {"account": account, "balance": START - sum(amounts), "transfers": len(amounts)}
    return {"content": [{"type": "text", "text": json.dumps(content)}], "structuredContent": content}


def transfer(account, amount):
    TRANSFERS.append((account, amount, None))
    return state(account)


def transfer_once(account, amount, key):
    if not any(known == key for _, _, known in TRANSFERS):
        TRANSFERS.append((account, amount, key))
    return state(account)


TOOLS = {"transfer": transfer, "transfer_once": transfer_once, "balance": state}
ARGUMENTS = {"transfer": ("account", "amount"), "transfer_once": ("account", "amount", "key"), "balance": ("account",)}
TYPES = {"account": "string", "amount": "number", "key": "string"}


def descriptor(name):
    properties = {argument: {"type": TYPES[argument]} for argument in ARGUMENTS[name]}
    schema = {"type": "object", "properties": properties, "required": list(ARGUMENTS[name])}
    return {"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": name == "balance"}}


def answer(method, params):
    if method == "initialize":
        version = params["protocolVersion"]
        server = {"name": "ledger", "version": "1.0"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [descriptor(name) for name in TOOLS]}
    if method == "tools/call":
        return TOOLS[params["name"]](**params["arguments"])
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
