"""The part that every server script here shares: lines in, lines out, a handshake. Standard library only.

Run the scripts with `python -S` where start-up counts. A handler gets (method, params, message) and returns a result, or
raises `RpcError`; returning `NO_ANSWER` sends nothing.
"""

import json
import sys

NO_ANSWER = object()
OUT = sys.stdout.buffer


class RpcError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


def write(data):
    OUT.write(data)
    OUT.flush()


def send(message):
    write(json.dumps(message).encode() + b"\n")


def answer(request_id, result):
    send({"jsonrpc": "2.0", "id": request_id, "result": result})


def messages():
    """Every message that comes, until stdin ends."""
    for line in sys.stdin.buffer:
        if line.strip():
            yield json.loads(line)


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def initialized(params, name="fixture", capabilities=None):
    return {
        "protocolVersion": (params or {}).get("protocolVersion", "2025-11-25"),
        "capabilities": capabilities or {},
        "serverInfo": {"name": name, "version": "1.0"},
    }


def handshake(name="fixture"):
    """Take `initialize` and `notifications/initialized`; the rest is the caller's."""
    for message in messages():
        if message.get("method") == "initialize":
            answer(message["id"], initialized(message.get("params"), name))
        elif message.get("method") == "notifications/initialized":
            return


def serve(handler, name="fixture", capabilities=None, *, lists=False):
    """Answer every request by `handler`; `initialize` and `ping` are answered here.

    A server that `lists` its tools has the capability for it; any other has no `tools/list`.
    """
    if capabilities is None:
        capabilities = {"tools": {}} if lists else {}
    for message in messages():
        method, params = message.get("method"), message.get("params")
        if method is None or "id" not in message:
            handler(method, params, message) if method is None else None
            continue
        if method == "initialize":
            answer(message["id"], initialized(params, name, capabilities))
            continue
        if method == "tools/list" and not lists:
            error = {"code": -32601, "message": f"unknown method {method}"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            continue
        try:
            result = {} if method == "ping" else handler(method, params or {}, message)
        except RpcError as wrong:
            send({"jsonrpc": "2.0", "id": message["id"], "error": wrong.error})
        else:
            if result is not NO_ANSWER:
                answer(message["id"], result)
