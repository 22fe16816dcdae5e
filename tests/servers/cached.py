"""A server that writes down that it starts and what it is called with, into the file named by the variable LOG.

Its tools: `look {…}` and `add_item {name}`, which change nothing and something; `list_items`; `number`, another one each time;
`refuse`, a JSON-RPC error; `fail`, an `isError`; `die`; `stay_fresh`, whose answer is not to be stored; `ask`, which ends in a
question; `say`, what the variable SAYS holds; `once`, wrong the first time.
"""

import os
import pathlib

import minimcp

LOG = pathlib.Path(os.environ["LOG"])
ITEMS = []
CALLS = []
TOOLS = ["look", "add_item", "list_items", "number", "refuse", "fail", "die", "stay_fresh", "ask", "say", "once"]


def enter(line):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


def answer(method, params, _message):
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    name, arguments = params["name"], params.get("arguments") or {}
    enter(name)
    CALLS.append(name)
    if name == "add_item":
        ITEMS.append(arguments["name"])
    if name == "refuse":
        raise minimcp.RpcError(-32602, "no")
    if name == "die":
        os._exit(3)
    more = {"cacheScope": "no-store"} if name == "stay_fresh" else {}
    more |= {"isError": True} if name == "fail" or (name == "once" and CALLS.count("once") == 1) else {}
    said = {
        "list_items": ",".join(ITEMS),
        "number": str(len(LOG.read_text(encoding="utf-8"))),
        "say": os.environ.get("SAYS", ""),
    }
    return minimcp.text(said.get(name, "looked")) | more


enter("start")
minimcp.serve(answer, lists=True)
