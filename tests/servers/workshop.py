"""A server for compositions: its tools return given values, wait for each other, fail, die, and report costs.

    workshop.py [--name NAME] [--log FILE]

give {value, ms?}        the value as `structuredContent`, after `ms` milliseconds
meet {party, value?}     answered when `party` calls of it are in hand; `structuredContent` is {value, at_once}
hang {}                  never answered
refuse {text?}           `isError: true`
reject {}                a JSON-RPC error
die {}                   the process ends without an answer
flaky {key, fails}       refused as often as said, then given
count {key}              how many times it was called with this key
spend {cost_usd?, tokens?, model?, value?}   says in `_meta` what it cost

With `--log` each call is a line when it comes and one when it is answered: {"at": "start" | "end", "name", "tool", "args"}.
Cancelled calls are logged as {"at": "cancelled"}.
"""

import argparse
import json
import os
import threading

import minimcp

LOCK = threading.Lock()


class Workshop:
    def __init__(self, name, log):
        self.name, self.log = name, log
        self.counts = {}
        self.meeting = []
        self.in_hand = {}

    def note(self, at, tool, args):
        if self.log:
            with open(self.log, "a", encoding="utf-8") as log:
                log.write(json.dumps({"at": at, "name": self.name, "tool": tool, "args": args}) + "\n")

    def answer(self, request_id, tool, args, result):
        with LOCK:
            self.in_hand.pop(request_id, None)
            self.note("end", tool, args)
            minimcp.answer(request_id, result)

    def call(self, request_id, tool, args):
        self.note("start", tool, args)
        self.in_hand[request_id] = (tool, args)
        if tool == "give":
            result = given(args.get("value"))
            if args.get("ms"):
                timer = threading.Timer(args["ms"] / 1000, self.answer, (request_id, tool, args, result))
                timer.daemon = True
                timer.start()
            else:
                self.answer(request_id, tool, args, result)
        elif tool == "meet":
            self.meeting.append((request_id, args))
            if len(self.meeting) >= args["party"]:
                met, self.meeting = self.meeting, []
                for met_id, its in reversed(met):
                    self.answer(met_id, tool, its, given({"value": its.get("value"), "at_once": len(met)}))
        elif tool == "refuse":
            self.answer(request_id, tool, args, minimcp.text(args.get("text", "no")) | {"isError": True})
        elif tool == "die":
            os._exit(3)
        elif tool in ("flaky", "count"):
            self.counts[args["key"]] = count = self.counts.get(args["key"], 0) + 1
            refused = tool == "flaky" and count <= args["fails"]
            result = minimcp.text("not yet") | {"isError": True} if refused else given({"count": count})
            self.answer(request_id, tool, args, result)
        elif tool == "spend":
            usage = {key: value for key, value in args.items() if key != "value"}
            self.answer(request_id, tool, args, given(args.get("value")) | {"_meta": {"mcptest/usage": usage}})
        elif tool != "hang":
            self.in_hand.pop(request_id)
            code = -32000 if tool == "reject" else -32602
            error = {"code": code, "message": "rejected" if tool == "reject" else f"Unknown tool: {tool}"}
            minimcp.send({"jsonrpc": "2.0", "id": request_id, "error": error})


def given(value):
    return {"content": [], "structuredContent": value if isinstance(value, dict) else {"value": value}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="workshop")
    parser.add_argument("--log")
    options = parser.parse_args()
    workshop = Workshop(options.name, options.log)
    for message in minimcp.messages():
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            minimcp.answer(message["id"], minimcp.initialized(params, options.name))
        elif method == "notifications/cancelled":
            tool, args = workshop.in_hand.pop(params.get("requestId"), ("?", {}))
            workshop.note("cancelled", tool, args)
        elif method == "tools/call":
            workshop.call(message["id"], params["name"], params.get("arguments") or {})
        elif "id" in message:
            minimcp.answer(message["id"], {})


if __name__ == "__main__":
    main()
