"""A server whose answers to `tools/call` are raw lines, chosen by the tool's name; `$ID` stands for the request's id.

Arguments: {"line": "…"} sends that line as it is. Tool "lines" takes {"lines": […]}; "hex" takes {"digits": "…"}, the bytes;
"dribble" sends a good answer byte by byte; "deep" {"depth": n} nests arrays; "megabytes" {"count": n, "unit": "x"}.
"""

import json

import minimcp


def handler(method, params, message):
    if method is None:
        return minimcp.NO_ANSWER  # an answer to what was asked of the client
    if method != "tools/call":
        raise minimcp.RpcError(-32601, "Method not found")
    arguments = params.get("arguments") or {}
    lines = globals()[f"_{params['name']}"](message["id"], **arguments)
    for line in lines:
        minimcp.write(line)
    return minimcp.NO_ANSWER


def _line(request_id, line):
    return _lines(request_id, [line])


def _lines(request_id, lines):
    return [line.replace("$ID", str(request_id)).encode() + b"\n" for line in lines]


def _hex(request_id, digits):
    return [bytes.fromhex(digits).replace(b"$ID", str(request_id).encode()) + b"\n"]


def _good(request_id, text):
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": minimcp.text(text)}).encode() + b"\n"


def _dribble(request_id, text="drop by drop"):
    return [bytes([byte]) for byte in _good(request_id, text)]


def _deep(request_id, depth):
    nested = b"[" * depth + b"]" * depth
    return [b'{"jsonrpc":"2.0","id":%d,"result":{"deep":%s}}\n' % (request_id, nested)]


def _megabytes(request_id, count, unit="x"):
    yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request_id
    megabyte = (unit * (1024 * 1024 // len(unit.encode()))).encode()
    for _ in range(count):
        yield megabyte
    yield b'"}]}}\n'


minimcp.serve(handler)
