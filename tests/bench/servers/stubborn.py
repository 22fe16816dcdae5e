"""An MCP server on stdio that answers, and that neither the end of its input nor SIGTERM ends.

It writes its process id to the file that is its argument.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
Path(sys.argv[1]).write_text(f"{os.getpid()}\n", encoding="ascii")
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}

for line in sys.stdin.buffer:
    request = json.loads(line)
    if "id" in request:
        called = request["method"] == "tools/call"
        text = request["params"].get("arguments", {}).get("text", "") if called else ""
        result = {"content": [{"type": "text", "text": text}]} if called else INITIALIZED
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()
while True:
    time.sleep(60)
