"""A server that sends requests to its client: sampling, elicitation, roots, and unknown ones.

Tool `ask` {"method", "params"?} sends that request during the call and gives back what it was answered; `ask_and_wait` does so
and never answers; `declared` gives back what the client declared; `later` {"list"?} answers, then says that a list has changed;
`count` counts its calls. `resources/subscribe` and `logging/setLevel` are kept for `asked_for`.
"""

import json
import sys

import minimcp

capabilities = {"tools": {}, "resources": {"subscribe": True}}
if "--logging" in sys.argv:
    capabilities["logging"] = {}
state = {"declared": None, "calls": 0, "asked_for": []}
waiting = {}


def text(value):
    return minimcp.text(json.dumps(value))


def called(message):
    name, arguments = message["params"]["name"], message["params"].get("arguments") or {}
    if name in ("ask", "ask_and_wait"):
        ask_id = f"ask-{message['id']}"
        waiting[ask_id] = message["id"] if name == "ask" else None
        request = {"jsonrpc": "2.0", "id": ask_id, "method": arguments["method"]}
        minimcp.send(request | ({"params": arguments["params"]} if "params" in arguments else {}))
    elif name == "later":
        minimcp.answer(message["id"], text("done"))
        minimcp.send({"jsonrpc": "2.0", "method": f"notifications/{arguments.get('list', 'tools')}/list_changed"})
    elif name == "count":
        state["calls"] += 1
        minimcp.answer(message["id"], text(state["calls"]))
    else:
        minimcp.answer(message["id"], text(state[name]))


for message in minimcp.messages():
    method = message.get("method")
    if method is None:
        request_id = waiting.pop(message["id"])
        if request_id is not None:
            minimcp.answer(request_id, text({key: message[key] for key in ("result", "error") if key in message}))
    elif method == "initialize":
        state["declared"] = message["params"]["capabilities"]
        minimcp.answer(message["id"], minimcp.initialized(message["params"], "asking", capabilities))
    elif method in ("logging/setLevel", "resources/subscribe"):
        state["asked_for"].append([method, message["params"]])
        minimcp.answer(message["id"], {})
    elif method == "tools/call":
        called(message)
