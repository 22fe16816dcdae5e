"""A server that follows the protocol, except for the rules that it is started to break.

nonconforming.py [--offers tools,resources,prompts] [--declares tools,resources,prompts] [--speaks REVISION]
                 [--set PATH=JSON | --drop PATH]… [--unknown error|result|CODE]

`PATH` begins with the request whose result is spoilt: `tools/list:tools.0.name=7`, `initialize:protocolVersion=[]`; without
anything after the colon it is the whole result. An unknown method is answered with the error -32601, unless `--unknown` says
otherwise.
"""

import argparse
import json

import minimcp

options = argparse.ArgumentParser()
options.add_argument("--offers", default="tools,resources,prompts")
options.add_argument("--declares")
options.add_argument("--speaks")
options.add_argument("--set", action="append", default=[], dest="spoilt")
options.add_argument("--drop", action="append", default=[])
options.add_argument("--unknown", default="error")
given = options.parse_args()
OFFERS = [what for what in given.offers.split(",") if what]
DECLARES = OFFERS if given.declares is None else [what for what in given.declares.split(",") if what]

TOOL = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}
RESULTS = {
    "ping": {},
    "tools/list": {"tools": [TOOL, {**TOOL, "name": "listen"}]},
    "resources/list": {
        "resources": [{"uri": "memo://a", "name": "a"}, {"uri": "memo://b", "name": "b", "mimeType": "text/plain"}]
    },
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "memo://{day}", "name": "a day"}]},
    "prompts/list": {
        "prompts": [{"name": "greet", "arguments": [{"name": "whom", "required": True}]}, {"name": "part"}]
    },
}


def changed(value, path, new):
    """`value` with the place at `path` changed; `new` is a list of the value to put, or empty to take it out."""
    if not path:
        return new[0]
    key = int(path[0]) if isinstance(value, list) else path[0]
    if len(path) > 1:
        value[key] = changed(value[key] if isinstance(value, list) else value.setdefault(key, {}), path[1:], new)
    elif new:
        value[key] = new[0]
    else:
        del value[key]
    return value


def spoilt(method, result):
    for change in given.spoilt:
        where, _, new = change.partition("=")
        of, _, path = where.partition(":")
        if of == method:
            result = changed(result, path.split(".") if path else [], [json.loads(new)])
    for where in given.drop:
        of, _, path = where.partition(":")
        if of == method:
            result = changed(result, path.split("."), [])
    return result


for message in minimcp.messages():
    method, request_id = message.get("method"), message.get("id")
    if request_id is None:
        continue
    offered = method == "ping" or (method in RESULTS and method.partition("/")[0] in OFFERS)
    if method == "initialize":
        shaken = minimcp.initialized(message["params"], "nonconforming", {what: {} for what in DECLARES})
        if given.speaks:
            shaken["protocolVersion"] = given.speaks
        minimcp.answer(request_id, spoilt(method, shaken))
    elif offered:
        minimcp.answer(request_id, spoilt(method, RESULTS[method]))
    elif given.unknown == "result":
        minimcp.answer(request_id, {})
    else:
        code = -32601 if given.unknown == "error" else int(given.unknown)
        minimcp.send({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": f"no {method}"}})
