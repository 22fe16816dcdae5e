"""A library whose tools need real ids: what is made up, it refuses.

Tools: list_books, get_book {book_id}, get_chapter {book_id, chapter}, find_books {shelf}, lend_book {book_id} (changes
something). Prompt: review {book_id}.

    library.py [--broken all|TOOL,TOOL] [--as-error CODE] [--says TEXT] [--diary FILE]

A broken tool says "database is down" to everything, also to what it would refuse: as `isError: true`, or as a JSON-RPC
error with `--as-error`. With `--says` it says that text, in which `{n}` is the number of the call. Each call is written to the
diary.
"""

import argparse
import itertools
import json
import pathlib

import minimcp

BOOKS = {"b-7741": "The Waves", "b-9020": "Orlando"}
ID = {"type": "string", "description": "The id of the book."}
READS = {"readOnlyHint": True}
DOWN = "database is down"


def tool(name, hints, required, **properties):
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": f"{name} of the library.", "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("list_books", READS, []),
    tool("get_book", READS, ["book_id"], book_id=ID),
    tool(
        "get_chapter",
        READS,
        ["book_id", "chapter"],
        book_id=ID,
        chapter={"type": "integer", "minimum": 1, "maximum": 3},
    ),
    tool("find_books", READS, ["shelf"], shelf={"type": "string", "enum": ["novels", "letters"]}),
    tool("lend_book", {"readOnlyHint": False, "destructiveHint": False}, ["book_id"], book_id=ID),
]


def refusal(text):
    return {**minimcp.text(text), "isError": True}


def called(name, given):
    if name == "list_books":
        return minimcp.text(json.dumps({"books": [{"id": key, "title": title} for key, title in BOOKS.items()]}))
    schema = next(one["inputSchema"] for one in TOOLS if one["name"] == name)
    missing = [one for one in schema["required"] if one not in given]
    if missing:
        return refusal(f"the argument `{missing[0]}` is required")
    if "book_id" in given and not isinstance(given["book_id"], str):
        return refusal("the argument `book_id` must be a string")
    if name == "find_books":
        return (
            minimcp.text("none")
            if given["shelf"] in ("novels", "letters")
            else refusal("`shelf` must be novels or letters")
        )
    if given["book_id"] not in BOOKS:
        return refusal(f"no book has the id {given['book_id']}")
    if name == "get_chapter" and given["chapter"] not in (1, 2, 3):
        return refusal("`chapter` must be between 1 and 3")
    return minimcp.text(BOOKS[given["book_id"]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken", default="")
    parser.add_argument("--as-error", type=int)
    parser.add_argument("--says", default=DOWN)
    parser.add_argument("--diary", type=pathlib.Path)
    options = parser.parse_args()
    broken = {one["name"] for one in TOOLS} if options.broken == "all" else set(options.broken.split(","))

    numbers = itertools.count(1)

    def handler(method, params, _message):
        if method == "tools/list":
            return {"tools": TOOLS}
        if method == "prompts/list":
            return {"prompts": [{"name": "review", "arguments": [{"name": "book_id", "required": True}]}]}
        if method == "prompts/get":
            if options.broken == "all":
                raise minimcp.RpcError(-32603, DOWN)
            if params.get("arguments", {}).get("book_id") not in BOOKS:
                raise minimcp.RpcError(-32602, "there is no such book")
            return {"messages": [{"role": "user", "content": {"type": "text", "text": "Review it."}}]}
        if method != "tools/call":
            raise minimcp.RpcError(-32601, f"Method not found: {method}")
        name, given = params["name"], params.get("arguments", {})
        if options.diary:
            with options.diary.open("a", encoding="utf-8") as diary:
                diary.write(json.dumps([name, given]) + "\n")
        if name not in {one["name"] for one in TOOLS}:
            raise minimcp.RpcError(-32602, f"Unknown tool: {name}")
        if name not in broken:
            return called(name, given)
        said = options.says.replace("{n}", str(next(numbers)))
        if options.as_error is not None:
            raise minimcp.RpcError(options.as_error, said)
        return refusal(said)

    minimcp.serve(handler, name="library", capabilities={"tools": {}, "prompts": {}}, lists=True)


main()
