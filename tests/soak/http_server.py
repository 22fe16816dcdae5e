"""A Streamable HTTP server that does what its caller asks for, for as many runs as there are. Standard library only.

Prints its port, then serves on 127.0.0.1 until stdin ends. The tool `do` takes {round, token, fault}; `tally` {round} tells how
many calls of `do` came in that round, a repeated one counted again, and forgets the round.
"""

import asyncio
import contextlib
import json
import os
import sys

CALLS = {}
SEEN = {}  # round -> tokens that came before
TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for name in ("do", "tally")
]
KINDS = {"json": b"application/json", "sse": b"text/event-stream", "html": b"text/html"}


def answer(request_id, result):
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def response(body, status="200 OK", kind="json", length=None, more=b""):
    size = len(body) if length is None else length
    head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n" % (status.encode(), KINDS[kind], size)
    return head + b"Mcp-Session-Id: soak\r\n" + more + b"\r\n" + body


def event(body):
    return b"event: message\ndata: " + body + b"\n\n"


async def do(request_id, arguments, writer):
    """Answer one call. Returns whether the connection may be used again."""
    fault, token, seen = arguments["fault"], arguments["token"], SEEN.setdefault(arguments["round"], [])
    before = seen.count(token)
    seen.append(token)
    good = answer(request_id, text(token))
    whole = {
        "none": lambda: response(good),
        "slow": lambda: response(good),
        "flaky": lambda: response(good if before else answer(request_id, text("not yet", isError=True))),
        "tool-error": lambda: response(answer(request_id, text(token, isError=True))),
        "rpc-error": lambda: response(
            json.dumps({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32050, "message": token}}).encode()
        ),
        "big": lambda: response(answer(request_id, text(token, pad="x" * 300_000))),
        "sse": lambda: response(event(good), kind="sse"),
        "notify": lambda: response(
            event(b'{"jsonrpc":"2.0","method":"notifications/x"}') * 20 + event(good), kind="sse"
        ),
        "status-500": lambda: response(b"<h1>oh no</h1>", "500 Internal Server Error", "html"),
        "throttle": lambda: (
            response(good)
            if before >= 2
            else response(b"slow down", "429 Too Many Requests", "html", more=b"Retry-After: 0\r\n")
        ),
        "html": lambda: response(b"<h1>hello</h1>", kind="html"),
        "empty": lambda: response(b""),
        "array": lambda: response(answer(request_id, [])),
        "elsewhere": lambda: response(b"", "307 Temporary Redirect", more=b"Location: http://localhost:9/mcp\r\n"),
    }
    if fault == "slow":
        await asyncio.sleep(arguments["seconds"])
    if fault in whole:
        writer.write(whole[fault]())
        await writer.drain()
        return True
    if fault == "truncated":
        writer.write(response(good[:-5], length=len(good)))
    elif fault == "cut-event":
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: " + good[:-5]
        )
    elif fault == "stall-body":
        writer.write(response(good[:-5], length=len(good)))
        await asyncio.Event().wait()
    elif fault == "stall":
        await asyncio.Event().wait()
    return False  # "drop" as well: the connection is closed without a word


async def call(message, writer):
    params = message["params"]
    arguments = params["arguments"]
    if params["name"] == "tally":
        SEEN.pop(arguments["round"], None)
        writer.write(response(answer(message["id"], text(str(CALLS.pop(arguments["round"], 0))))))
        return True
    CALLS[arguments["round"]] = CALLS.get(arguments["round"], 0) + 1
    return await do(message["id"], arguments, writer)


async def one(method, message, writer):
    if method != b"POST":
        writer.write(response(b"", "405 Method Not Allowed" if method == b"GET" else "200 OK"))
    elif message.get("method") == "initialize":
        told = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        writer.write(response(answer(message["id"], {**told, "serverInfo": {"name": "soak", "version": "1"}})))
    elif message.get("method") == "tools/list":
        writer.write(response(answer(message["id"], {"tools": TOOLS})))
    elif message.get("method") == "ping":
        writer.write(response(answer(message["id"], {})))
    elif "id" not in message or "method" not in message:
        writer.write(response(b"", "202 Accepted"))
    else:
        return await call(message, writer)
    return True


async def serve(reader, writer):
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        again = True
        while again:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.split(b"\r\n")
            sizes = [line.split(b":")[1] for line in lines if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(int(sizes[0])) if sizes else b""
            handling = asyncio.ensure_future(one(lines[0].split(b" ")[0], json.loads(body or b"{}"), writer))
            gone = asyncio.ensure_future(reader.read(1)) if b'"stall' in body else None
            await asyncio.wait([handling, *([gone] if gone else [])], return_when=asyncio.FIRST_COMPLETED)
            if gone:  # a caller that gave up closes its connection; nothing of the call may stay behind
                handling.cancel()
                gone.cancel()
                break
            again = handling.result()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # the calls that are stalled would complain of their end


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
