"""A server with scripted answers that logs its calls: `scripted.py SCRIPT.json [DIARY]`.

The script is {"tools": [descriptor, …], "answers": {tool: [answer, …]}}; of a tool's answers the last repeats. An answer is
{"result": …}, {"error": {…}}, {"silent": true} for none at all, or {"die": 3} for an exit with that code. With
{"list": [descriptor, …]} beside that, the server has these tools from now on, and says first that its list has changed.
"""

import json
import pathlib
import sys

import minimcp

SCRIPT = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
DIARY = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
CALLED = {}


def answer(method, params, message):
    if method == "tools/list":
        return {"tools": SCRIPT["tools"]}
    name = params.get("name", method)
    if DIARY is not None:
        with DIARY.open("a", encoding="utf-8") as diary:
            diary.write(f"{name}\n")
    answers = SCRIPT["answers"].get(name, [{"result": minimcp.text("ok")}])
    told = answers[min(CALLED.get(name, 0), len(answers) - 1)]
    CALLED[name] = CALLED.get(name, 0) + 1
    if "list" in told:
        SCRIPT["tools"] = told["list"]
        minimcp.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if "die" in told:
        sys.exit(told["die"])
    if "silent" in told:
        return minimcp.NO_ANSWER
    if "error" in told:
        minimcp.send({"jsonrpc": "2.0", "id": message["id"], "error": told["error"]})
        return minimcp.NO_ANSWER
    return told["result"]


minimcp.serve(answer, capabilities={"tools": {"listChanged": True}}, lists=True)
