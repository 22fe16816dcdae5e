"""Writes its start and its end into FILE, as `start NAME` and `end NAME`: `counted.py FILE [NAME]`.

Its tools: count (how many calls of it this process has had), die, hang (no answer; writes `hang NAME`), babble (a line on
stdout that is no message, and one on stderr), meet {name} (an error unless a server NAME starts within 10 s), drop (count is
not listed any more).
"""

import os
import pathlib
import sys
import time

import minimcp

FILE, NAME = pathlib.Path(sys.argv[1]), (sys.argv[2:] or ["counted"])[0]
TOOLS = ["count", "die", "hang", "babble", "meet", "drop"]
calls = []


def enter(line):
    with FILE.open("a", encoding="utf-8") as file:
        file.write(f"{line} {NAME}\n")


def answer(method, params, _message):
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if params["name"] == "die":
        os._exit(3)
    if params["name"] == "hang":
        enter("hang")
        return minimcp.NO_ANSWER
    if params["name"] == "babble":
        minimcp.write(b"babble\n")
        print("babbled", file=sys.stderr, flush=True)
    if params["name"] == "meet":
        wanted, end = f"start {params['arguments']['name']}\n", time.monotonic() + 10
        while wanted not in FILE.read_text(encoding="utf-8"):
            if time.monotonic() > end:
                return minimcp.text("nobody came") | {"isError": True}
            time.sleep(0.01)
    if params["name"] == "drop":
        TOOLS.remove("count")
    if params["name"] == "count":
        calls.append(1)
    return minimcp.text(f"{len(calls)} calls")


enter("start")
minimcp.serve(answer, NAME, lists=True)
enter("end")
