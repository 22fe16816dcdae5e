"""A server of the stateless revision 2026-07-28, over stdio: every request must say who asks.

stateless.py [--versions A,B] [--no-listening] [--shuts-out-initialize]
             [--silent-discover | --exits-on-discover | --discover-after-initialize]

Tools: `seen` gives back the `_meta` of the request; `ask` asks for input (`kind`: elicitation, sampling, roots or vendor),
`rounds` times, and then tells what it was given; `wait_for_state` asks for nothing but to come again; `slow` never answers;
`hear` makes list-changed and resource-updated notifications for whoever listens, then answers; `log` logs when the request
asked for it.
"""

import argparse
import json
import os

import minimcp

META = "io.modelcontextprotocol/"
options = argparse.ArgumentParser()
options.add_argument("--versions", default="2026-07-28")
options.add_argument("--silent-discover", action="store_true")
options.add_argument("--exits-on-discover", action="store_true")
options.add_argument("--discover-after-initialize", action="store_true")
options.add_argument("--shuts-out-initialize", action="store_true")
options.add_argument("--no-listening", action="store_true")
given = options.parse_args()
VERSIONS = given.versions.split(",")
listeners = {}
held = []

ASKS = {
    "elicitation": {
        "method": "elicitation/create",
        "params": {
            "message": "how many?",
            "requestedSchema": {"type": "object", "properties": {"count": {"type": "integer", "default": 3}}},
        },
    },
    "sampling": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
    "roots": {"method": "roots/list"},
    "vendor": {"method": "vendor/ask", "params": {}},
}


def complete(**members):
    return {"resultType": "complete", **members}


def text(value):
    return complete(content=[{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}])


def discover(request_id):
    meta = {META + "serverInfo": {"name": "stateless", "version": "1.0"}}
    capabilities = {"tools": {"listChanged": True}, "resources": {}}
    found = complete(supportedVersions=VERSIONS, capabilities=capabilities, ttlMs=0, cacheScope="private", _meta=meta)
    minimcp.answer(request_id, found)


def ask(params):
    arguments = params.get("arguments") or {}
    done = int(params.get("requestState") or 0)
    if done >= arguments.get("rounds", 1):
        return text(params.get("inputResponses"))
    return {
        "resultType": "input_required",
        "requestState": str(done + 1),
        "inputRequests": {"a": ASKS[arguments["kind"]]},
    }


def notify(method, params=None):
    for listener, wanted in listeners.items():
        if wanted(method, params or {}):
            meta = {META + "subscriptionId": listener}
            minimcp.send({"jsonrpc": "2.0", "method": method, "params": {**(params or {}), "_meta": meta}})


def listen(request_id, wished):
    uris = wished.get("resourceSubscriptions", [])
    listeners[request_id] = lambda method, params: (
        (method == "notifications/tools/list_changed" and wished.get("toolsListChanged"))
        or (method == "notifications/resources/updated" and params["uri"] in uris)
    )
    acknowledged = {"notifications": wished, "_meta": {META + "subscriptionId": request_id}}
    minimcp.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": acknowledged})


def called(request_id, params):
    name = params["name"]
    if name == "seen":
        return text(params["_meta"])
    if name == "ask":
        return ask(params)
    if name == "wait_for_state":
        state = int(params.get("requestState") or 0)
        return text(f"came {state + 1} times") if state else {"resultType": "input_required", "requestState": "1"}
    if name == "hear":
        notify("notifications/tools/list_changed")
        notify("notifications/resources/updated", {"uri": "memo://today"})
        return text("told")
    if name == "log":
        level = params["_meta"].get(META + "logLevel")
        if level is not None:
            logged = {"level": level, "data": "as you wished"}
            minimcp.send({"jsonrpc": "2.0", "method": "notifications/message", "params": logged})
        return text("logged")
    return None if name == "slow" else text("?")


def error(request_id, code, message, data=None):
    told = {"code": code, "message": message, **({} if data is None else {"data": data})}
    minimcp.send({"jsonrpc": "2.0", "id": request_id, "error": told})


for message in minimcp.messages():
    method, params, request_id = message.get("method"), message.get("params") or {}, message.get("id")
    if request_id is None:
        continue
    if method == "initialize":
        if given.shuts_out_initialize or not any(version < "2026" for version in VERSIONS):
            error(request_id, -32022, "Unsupported protocol version", {"supported": VERSIONS, "requested": "?"})
        else:
            minimcp.answer(request_id, minimcp.initialized(params, "stateless", {"tools": {}}))
        for late in held:
            discover(late)
        held.clear()
        continue
    if method == "server/discover":
        if given.exits_on_discover:
            os._exit(7)
        if given.discover_after_initialize:
            held.append(request_id)
        elif not given.silent_discover:
            discover(request_id)
        continue
    if META + "protocolVersion" not in params.get("_meta", {}) and not any(version < "2026" for version in VERSIONS):
        error(request_id, -32602, "the envelope is missing")
        continue
    if method == "tools/list":
        minimcp.answer(request_id, complete(tools=[], ttlMs=0, cacheScope="private"))
    elif method == "subscriptions/listen" and not given.no_listening:
        listen(request_id, params["notifications"])
    elif method == "tools/call":
        result = called(request_id, params)
        if result is not None:
            minimcp.answer(request_id, result)
    else:
        error(request_id, -32601, f"no {method}")
