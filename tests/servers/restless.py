"""Tools that only read, and whose answers change with every call, every process or every day; what holds still is beside it.

Tools: status (JSON in a text), edition (a sentence), tags (structured content in another order each time), feed (a list of
another length each time), calendar (today).
"""

import datetime as dt
import itertools
import json
import os
import random
import uuid

import minimcp

CALLS = itertools.count(1)
TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    for name in ("calendar", "edition", "feed", "status", "tags")
]


def structured(value):
    return minimcp.text(json.dumps(value)) | {"structuredContent": value}


def call(name):
    number, now = next(CALLS), dt.datetime.now(dt.UTC)
    if name == "status":
        status = {
            "service": "restless",
            "state": "up",
            "pid": os.getpid(),
            "answered": number,
            "ticket": str(uuid.uuid4()),
        }
        return minimcp.text(json.dumps({**status, "since": now.isoformat()}))
    if name == "edition":
        return minimcp.text(f"Edition {number}, printed at {now:%H:%M:%S} on 3 presses")
    if name == "tags":
        return structured({"tags": random.sample(["tea", "milk", "ink", "salt", "rye"], 5), "complete": True})
    if name == "feed":
        entries = [{"entry": random.randrange(10**6)} for _ in range(random.randrange(3, 9))]
        return structured({"source": "wire", "entries": entries})
    return structured({"zone": "UTC", "day": f"{now:%Y-%m-%d}", "weekday": f"{now:%A}"})


def handle(method, params, _message):
    if method == "tools/list":
        return {"tools": TOOLS}
    return call(params["name"])


if __name__ == "__main__":
    minimcp.serve(handle, name="restless", capabilities={"tools": {}}, lists=True)
