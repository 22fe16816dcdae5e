"""The floor over HTTP: httpx2, one client, JSON-RPC posted and parsed, nothing else.

python bare_http_client.py CALLS IN_FLIGHT URL
"""

import asyncio
import sys

import httpx2

HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
PARAMS = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}


async def main(calls: int, in_flight: int, url: str) -> None:
    limits = httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx2.AsyncClient(verify=False, limits=limits, headers=HEADERS) as client:

        async def post(message: dict) -> httpx2.Response:
            return await client.post(url, json={"jsonrpc": "2.0", **message})

        (await post({"id": 0, "method": "initialize", "params": PARAMS})).json()
        await post({"method": "notifications/initialized"})
        numbers = iter(range(1, calls + 1))

        async def worker() -> None:
            for number in numbers:
                params = {"name": "echo", "arguments": {"text": f"hello {number}"}}
                answer = (await post({"id": number, "method": "tools/call", "params": params})).json()
                assert "hello" in answer["result"]["content"][0]["text"]

        await asyncio.gather(*(worker() for _ in range(in_flight)))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
