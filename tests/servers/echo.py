"""A server that behaves.

Tools: echo, fail, slow {ms}, big {bytes}, environment, cwd, notify {count}, ask {method}, stderr {text}, seen.

    echo.py [--name NAME] [--version-answered V] [--refuse-initialize] [--log-messages FILE]
            [--one-at-a-time]

Calls of `slow` run concurrently, but with --one-at-a-time; an unknown method is -32601, an unknown tool -32602.
"""

import argparse
import json
import os
import pathlib
import sys
import threading
import time

import minimcp

TOOLS = ("echo", "fail", "slow", "big", "environment", "cwd", "notify", "ask", "stderr", "seen")


def main():
    options = _options()
    asked = {}
    seen = []
    lock = threading.Lock()

    def send(message):
        with lock:
            minimcp.send(message)

    for message in minimcp.messages():
        seen.append(message)
        if options.log_messages:
            with open(options.log_messages, "a", encoding="utf-8") as log:
                log.write(json.dumps(message) + "\n")
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            original = asked.pop(message["id"], None)
            if original is not None:
                send({"jsonrpc": "2.0", "id": original, "result": minimcp.text(json.dumps(message))})
            continue
        if "id" not in message:
            continue
        request_id = message["id"]
        if method == "initialize":
            send(_initialize(request_id, params, options))
        elif method == "ping":
            send({"jsonrpc": "2.0", "id": request_id, "result": {}})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            send({"jsonrpc": "2.0", "id": request_id, "result": {"tools": tools}})
        elif method != "tools/call":
            error = {"code": -32601, "message": f"Method not found: {method}"}
            send({"jsonrpc": "2.0", "id": request_id, "error": error})
        elif params["name"] == "slow":
            later = {"jsonrpc": "2.0", "id": request_id, "result": minimcp.text("slept")}
            if options.one_at_a_time:
                time.sleep(params["arguments"]["ms"] / 1000)
                send(later)
                continue
            timer = threading.Timer(params["arguments"]["ms"] / 1000, send, [later])
            timer.daemon = True
            timer.start()
        elif params["name"] == "ask":
            asked["ask-1"] = request_id
            send({"jsonrpc": "2.0", "id": "ask-1", "method": params["arguments"]["method"]})
        else:
            send({"jsonrpc": "2.0", "id": request_id, **_call(params, send, seen)})


def _options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="echo")
    parser.add_argument("--version-answered")
    parser.add_argument("--refuse-initialize", action="store_true")
    parser.add_argument("--log-messages")
    parser.add_argument("--one-at-a-time", action="store_true")
    return parser.parse_args()


def _initialize(request_id, params, options):
    if options.refuse_initialize:
        data = {"supported": ["2026-07-28"], "requested": params.get("protocolVersion")}
        error = {"code": -32602, "message": "Unsupported protocol version", "data": data}
        return {"jsonrpc": "2.0", "id": request_id, "error": error}
    result = minimcp.initialized(params, options.name, {"tools": {}}) | {"instructions": "call echo", "vendor/extra": 1}
    if options.version_answered:
        result["protocolVersion"] = options.version_answered
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _call(params, send, seen):
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "echo":
        return {"result": minimcp.text(arguments.get("text", "")) | {"structuredContent": {"arguments": arguments}}}
    if name == "fail":
        return {"result": minimcp.text("it failed") | {"isError": True}}
    if name == "big":
        return {"result": minimcp.text("x" * arguments["bytes"])}
    if name == "environment":
        return {"result": {"structuredContent": dict(os.environ), "content": []}}
    if name == "cwd":
        return {"result": minimcp.text(str(pathlib.Path.cwd()))}
    if name == "seen":
        return {"result": {"structuredContent": {"messages": seen}, "content": []}}
    if name == "notify":
        for number in range(arguments["count"]):
            send({"jsonrpc": "2.0", "method": "notifications/vendor/tick", "params": {"number": number}})
        return {"result": minimcp.text("notified")}
    if name == "stderr":
        print(arguments["text"], file=sys.stderr, flush=True, end=arguments.get("end", "\n"))
        return {"result": minimcp.text("written")}
    return {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}


if __name__ == "__main__":
    main()
