"""A trivial MCP server over Streamable HTTP on loopback: a bare asyncio protocol, JSON answers, with keep-alive.

It prints its port and serves until its standard input ends.
"""

import asyncio
import json
import sys

INITIALIZED: dict[str, object] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "http-echo", "version": "1"},
}


class Http(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if not end:
                return
            length = 0
            for field in head.split(b"\r\n")[1:]:
                name, _, value = field.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            self.transport.write(answer(head, rest[:length]))


def answer(head: bytes, body: bytes) -> bytes:
    if not head.startswith(b"POST"):
        return b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"
    request = json.loads(body)
    if "id" not in request:
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
    result = INITIALIZED
    if request["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": request["params"]["arguments"].get("text", "")}]}
    content = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        len(content),
        content,
    )


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Http, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(serve())
