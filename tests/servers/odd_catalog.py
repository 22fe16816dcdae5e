"""A server whose catalog is not what one expects.

odd_catalog.py list          `required` of a tool holds a list
odd_catalog.py controls      a description that a terminal would obey
odd_catalog.py deep LEVELS   an input schema of that depth
"""

import json
import sys

import minimcp


def tool(**members):
    return {"name": "odd", "inputSchema": {"type": "object"}, **members}


def handler(method, _params, message):
    if method != "tools/list":
        raise minimcp.RpcError(-32601, "Method not found")
    mode = sys.argv[1]
    if mode == "deep":
        levels = int(sys.argv[2])
        line = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [tool(description="DEEP")]}})
        minimcp.write(line.replace('"DEEP"', "[" * levels + "]" * levels).encode() + b"\n")
        return minimcp.NO_ANSWER
    if mode == "list":
        schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": [["x"], {}, 1]}
        return {"tools": [tool(inputSchema=schema)]}
    return {"tools": [tool(description="\x9b31mred\u202e")]}


minimcp.serve(handler, lists=True)
