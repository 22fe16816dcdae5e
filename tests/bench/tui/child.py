"""A fake engine process that finishes ten thousand tests at a given rate: `child.py TESTS PER_SECOND grow|known
[MEGABYTES]`, where one result in the middle is that large.

Nothing else of an engine: what is measured is the program that reads this.
"""

import json
import sys
import time

TESTS, PER_SECOND, GROWS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "grow"
MEGABYTES = int(sys.argv[4]) if len(sys.argv) > 4 else 0
BATCH = 20


def say(value):
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")


def named(number):
    name = f"row {number:05d} of a list of tests"
    return {
        "id": f"mcptest.yml::tool::{name}",
        "name": name,
        "kind": "tool",
        "server": "s",
        "file": "mcptest.yml",
        "line": 1,
    }


def run(key, path):
    listed = [] if GROWS else [{**named(number), "file": path} for number in range(TESTS)]
    say({"event": "run.started", "run": key, "path": path, "run_id": "R", "tests": listed, "workers": 8})
    sys.stdout.flush()
    time.sleep(1.0)
    started = time.perf_counter()
    for number in range(TESTS):
        test = named(number)
        verdict = "fail" if number % 97 == 0 else "pass"
        took = {"verdict": verdict, "duration_ms": number % 300, "cached": False, "assertions": [], "tags": []}
        if MEGABYTES and number == TESTS // 2:
            took["output"] = "x" * (MEGABYTES * 1_000_000)
        if not GROWS:
            say({"event": "case.started", "run": key, "id": test["id"]})
        say({"event": "case.finished", "run": key, "id": test["id"], "result": {**test, **took}})
        if number % BATCH == BATCH - 1:
            sys.stdout.flush()
            time.sleep(max(0.0, started + (number + 1) / PER_SECOND - time.perf_counter()))
    say({"event": "run.finished", "run": key, "path": path, "record": {"duration_ms": 1.0, "verdict": "fail"}})
    sys.stdout.flush()


for line in sys.stdin:
    command = json.loads(line)
    number = command.get("ask", command.get("id"))
    if number is not None:
        say({"reply": number, "ok": [] if command["do"] in ("find", "history") else {}})
        sys.stdout.flush()
    if command["do"] == "run":
        run(command["run"], command["path"])
