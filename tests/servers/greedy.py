"""A server that sends more than a client should hold, in one way: `greedy.py KIND`.

`objects`: 30 MB of empty objects as the result of each call but "small"; `noise`: the same as a line that is no answer
`pages`: 1,000 pages of 2,000 tools
`pings`: at the first call 250 pings with ids of 12 MB, whose answers are never read
`notifications`: 8 MB of tiny notifications at each call, then the answer
"""

import itertools
import json
import sys
import threading

import minimcp

KIND = sys.argv[1]
MB = 1_000_000
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


def many(start, piece, count, end):
    """A line of `count` times `piece`, a megabyte at a time."""
    minimcp.OUT.write(start)
    at_once = max(1, MB // len(piece))
    for written in range(0, count, at_once):
        minimcp.OUT.write(piece * min(at_once, count - written))
    minimcp.write(end)


PAGE = json.dumps(
    {
        "tools": [
            {"name": f"tool_PAGE_{n}", "description": f"does thing {n} of PAGE", "inputSchema": SCHEMA}
            for n in range(2000)
        ],
        "nextCursor": "NEXT",
    }
)


def handler(method, params, message):
    if method == "tools/list":
        page = int(params.get("cursor", "0"))
        result = PAGE.replace("PAGE", str(page)).replace("NEXT", str(page + 1))
        if page == 999:
            result = result.replace(', "nextCursor": "1000"', "")
        minimcp.write(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (message["id"], result.encode()))
        return minimcp.NO_ANSWER
    if (params or {}).get("name") == "small":
        return minimcp.text("small")
    if KIND == "objects":
        many(b'{"jsonrpc":"2.0","id":%d,"result":{"a":[' % message["id"], b"{},", 10 * MB, b"{}]}}\n")
        return minimcp.NO_ANSWER
    if KIND == "noise":
        many(b"[", b"{},", 10 * MB, b"{}]\n")
        return minimcp.text("large")
    if KIND == "pings":
        for number in itertools.count(1):
            if number > 250:
                threading.Event().wait()
            many(b'{"jsonrpc":"2.0","id":"%d' % number, b"x", 12 * MB, b'","method":"ping"}\n')
    if KIND == "notifications":
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/x"}).encode() + b"\n"
        many(b"", line, 8 * MB // len(line), b"")
    return minimcp.text("done")


minimcp.serve(handler, lists=True)
