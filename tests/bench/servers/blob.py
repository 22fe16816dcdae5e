"""An MCP server on stdio whose every call answers with a text of as many megabytes as its argument says."""

import json
import sys

SENTENCE = "All work and no play makes the status operational.\n"
TEXT = (SENTENCE * (int(sys.argv[1]) * 1_000_000 // len(SENTENCE) + 1))[: int(sys.argv[1]) * 1_000_000]
BLOB = json.dumps({"content": [{"type": "text", "text": TEXT}]}).encode()
INITIALIZED = b'{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"blob","version":"1"}}'

for line in sys.stdin.buffer:
    request = json.loads(line)
    if "id" in request:
        result = BLOB if request["method"] == "tools/call" else INITIALIZED
        sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (request["id"], result))
        sys.stdout.buffer.flush()
