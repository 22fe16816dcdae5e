"""The floor of the figures: a client that starts a server on stdio, shakes hands, makes the same calls, and nothing else.

    python bare_client.py CALLS IN_FLIGHT PROGRAM [ARGUMENT…]

It parses every answer with the standard library's `json` and looks whether the text came back; no suite, no record.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE

LONGEST_LINE = 1 << 30
PARAMS = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}


class Client:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.writer, self.reader = process, process.stdin, process.stdout
        self.waiting: dict[int, asyncio.Future] = {}
        self.next_id = 0

    def send(self, message: dict) -> None:
        self.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def request(self, method: str, params: dict) -> dict:
        self.next_id += 1
        future = self.waiting[self.next_id] = asyncio.get_running_loop().create_future()
        self.send({"id": self.next_id, "method": method, "params": params})
        return await future

    async def read(self) -> None:
        while line := await self.reader.readline():
            message = json.loads(line)
            self.waiting.pop(message["id"]).set_result(message["result"])


async def main(calls: int, in_flight: int, argv: list[str]) -> None:
    client = Client(await asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE))
    reading = asyncio.create_task(client.read())
    await client.request("initialize", PARAMS)
    client.send({"method": "notifications/initialized"})
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            arguments = {"text": f"hello {number}"}
            result = await client.request("tools/call", {"name": "echo", "arguments": arguments})
            assert "o" in result["content"][0]["text"]

    await asyncio.gather(*(worker() for _ in range(min(in_flight, calls))))
    client.writer.close()
    await client.process.wait()
    await reading


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
