"""A server for agents: its tools answer in every way that a model can encounter.

    toolshed.py [--many N] [--extra NAME]... [--without-tools]

say {text}       the text
meet {party}     answered when `party` calls of it are in hand, with how many there were
picture {}       an image and a link, no text
record {}        `structuredContent` alone
both {}          a text and `structuredContent`
nothing {}       no content at all
long {}          a text of 300,000 characters
refuse {}        `isError: true`
reject {}        a JSON-RPC error
hang {}          never answered
die {}           the process ends without an answer, once it has said so on stderr
odd/name.here    a name that no provider takes

With `--many N` there are N further tools, `tool-0` and so on, in pages of a hundred. `--extra` adds tools by name that `say`.
"""

import argparse
import os
import sys

import minimcp

TOOLS = (
    "say",
    "meet",
    "picture",
    "record",
    "both",
    "nothing",
    "long",
    "refuse",
    "reject",
    "hang",
    "die",
    "odd/name.here",
)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
PAGE = 100
MEETING = []


def called(name, args, request_id):
    match name:
        case "picture":
            link = {"type": "resource_link", "uri": "file:///a.txt", "name": "a"}
            return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, link]}
        case "record":
            return {"content": [], "structuredContent": {"city": "Oslo", "degrees": 19}}
        case "both":
            return {**minimcp.text("in words"), "structuredContent": {"in": "numbers"}}
        case "nothing":
            return {"content": []}
        case "long":
            return minimcp.text("x" * 300_000)
        case "refuse":
            return {**minimcp.text("I would rather not"), "isError": True}
        case "reject":
            raise minimcp.RpcError(-32602, "these arguments are wrong")
        case "hang":
            return minimcp.NO_ANSWER
        case "die":
            print("something broke", file=sys.stderr, flush=True)
            os._exit(3)
        case "meet":
            MEETING.append(request_id)
            if len(MEETING) >= args["party"]:
                for waiting in MEETING:
                    minimcp.answer(waiting, minimcp.text(f"{len(MEETING)} at once"))
                MEETING.clear()
            return minimcp.NO_ANSWER
        case _:
            return minimcp.text(args.get("text", f"this is {name}"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("--without-tools", action="store_true")
    told = parser.parse_args()
    names = [*TOOLS, *told.extra, *(f"tool-{number}" for number in range(told.many))]

    def handler(method, params, message):
        if method == "tools/list" and not told.without_tools:
            at = int(params.get("cursor", "0"))
            page = {"tools": [{"name": name, "inputSchema": SCHEMA} for name in names[at : at + PAGE]]}
            return page if at + PAGE >= len(names) else {**page, "nextCursor": str(at + PAGE)}
        if method == "tools/call":
            return called(params["name"], params.get("arguments") or {}, message["id"])
        raise minimcp.RpcError(-32601, "Method not found")

    minimcp.serve(handler, "toolshed", {} if told.without_tools else None, lists=True)


main()
