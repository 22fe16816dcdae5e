"""An MCP server on stdio whose calls take 50 ms each, all at once.

With a file name as its argument it writes its process id there first, and starts a child that waits as long as it does.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

DELAY_SECONDS = 0.05
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "slow", "version": "1"},
}


def answer(request: dict, result: dict) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")
    sys.stdout.buffer.flush()


async def serve() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        request = json.loads(line)
        if request.get("method") == "tools/call":
            text = request["params"]["arguments"].get("text", "")
            loop.call_later(DELAY_SECONDS, answer, request, {"content": [{"type": "text", "text": text}]})
        elif "id" in request:
            answer(request, INITIALIZED)


def start_a_child(report: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
    own = os.getpid()
    Path(report).write_text(f"{own} {child.pid}\n", encoding="ascii")


if len(sys.argv) > 1:
    start_a_child(sys.argv[1])
asyncio.run(serve())
