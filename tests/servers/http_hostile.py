"""An HTTP server that does byte for byte what the URL says. Prints its port, then serves on 127.0.0.1 until stdin ends.

python http_hostile.py [CERTIFICATE_AND_KEY.pem]

The query of the URL holds a script for each kind of request, as JSON: `?tools/call=[[STEP, …], …]`. A POST is looked up by
its JSON-RPC method, a GET that goes on after an event as "GET " and the event's id, anything else by its HTTP method; the
first request of a kind gets the first list of steps, and so on. Where the script says nothing (any more) the request is
answered as it should be; a GET with 405. The path keeps scripts apart.

STEP: {"send": text}   those bytes (latin-1); <id> is the id of the path's last request, <json> a proper answer to it
      {"fill": n}      n times the letter a
      {"flood": text}  the same for ever, as fast as it is read
      {"again": text}  the same for ever, with a short pause between
      {"bomb": n}      n bytes of zeros, packed by gzip, in chunks of HTTP
      {"close": true}  end the connection; {"reset": true} with a RST
      {"hang": true}   do nothing until the client goes
GET /seen: every request so far to each path, as JSON [{method, path, headers, body, at}], `at` in monotonic seconds
GET /open: how many connections are open besides this one; /open?most=N answers when there are no more than N
"""

import asyncio
import json
import socket
import ssl
import struct
import sys
import time
import urllib.parse
import zlib

SEEN = []
OPEN = set()
CLOSED = asyncio.Event()
DONE = {}
LAST = {}


class Gone(Exception):
    """The connection is at its end."""


async def serve_connection(reader, writer):
    OPEN.add(writer)
    try:
        while True:
            await serve_one(reader, writer)
    except (Gone, ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
        pass
    finally:
        OPEN.discard(writer)
        CLOSED.set()
        writer.close()


async def serve_one(reader, writer):
    start = await reader.readexactly(1)
    if not start.isalpha():  # TLS
        await answer(writer, "400 Bad Request", "{}")
        raise Gone
    head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    path, _, query = target.partition("?")
    if path in ("/seen", "/open"):
        while query.startswith("most=") and len(OPEN) - 1 > int(query.removeprefix("most=")):
            CLOSED.clear()
            await CLOSED.wait()
        await answer(writer, "200 OK", json.dumps(SEEN if path == "/seen" else len(OPEN) - 1))
        return
    SEEN.append({"method": method, "path": path, "headers": headers, "body": body.decode(), "at": time.monotonic()})
    message = json.loads(body) if body else {}
    if "id" in message and "method" in message:
        LAST[path] = message
    kind = message.get("method", "reply") if method == "POST" else method
    if "last-event-id" in headers:
        kind += " " + headers["last-event-id"]
    steps = next_steps(path, query, kind)
    if steps is None:
        await behave(writer, method, message)
    for step in steps or ():
        await take(step, LAST.get(path, {}), reader, writer)


def next_steps(path, query, kind):
    scripts = json.loads(dict(urllib.parse.parse_qsl(query)).get(kind, "[]"))
    at = DONE.get((path, kind), 0)
    DONE[path, kind] = at + 1
    return scripts[at] if at < len(scripts) else None


def proper(message):
    params = message.get("params") or {}
    result = {"content": [{"type": "text", "text": json.dumps(params)}]}
    if message.get("method") == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }
    elif message.get("method") == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
    return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result})


async def behave(writer, method, message):
    if method == "POST" and "id" in message and "method" in message:
        await answer(writer, "200 OK", proper(message))
    elif method == "POST":
        await answer(writer, "202 Accepted", "")
    elif method == "DELETE":
        await answer(writer, "200 OK", "")
    else:
        await answer(writer, "405 Method Not Allowed", "")


async def answer(writer, status, text):
    writer.write(
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
    )
    await writer.drain()


async def take(step, message, reader, writer):
    ((what, value),) = step.items()
    if what == "fill":
        writer.write(b"a" * value)
        await writer.drain()
    elif what in ("send", "again"):
        text = value.replace("<id>", json.dumps(message.get("id"))).replace("<json>", proper(message)).encode("latin-1")
        writer.write(text)
        await writer.drain()
        while what == "again":
            writer.write(text)
            await writer.drain()
            await asyncio.sleep(0.001)
    elif what == "flood":
        while True:
            writer.write(value.encode("latin-1") * 10_000)
            await writer.drain()
    elif what == "bomb":
        await bomb(value, writer)
    elif what == "hang":
        while await reader.read(65536):
            pass
        raise Gone
    else:
        if what == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        raise Gone


async def bomb(size, writer):
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    start = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    piece_size = 64 * 1024 * 1024
    piece = packer.compress(bytes(piece_size)) + packer.flush(zlib.Z_FULL_FLUSH)  # may be repeated as it is
    for part in [start, *[piece] * (size // piece_size)]:
        writer.write(b"%x\r\n%s\r\n" % (len(part), part))
        await writer.drain()


async def main():
    context = None
    if len(sys.argv) > 1:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
    server = await asyncio.start_server(serve_connection, "127.0.0.1", 0, ssl=context, backlog=128)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
