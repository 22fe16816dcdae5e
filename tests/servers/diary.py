"""Writes what happens to it into FILE, a line each for its start, each call and its end: `diary.py FILE`.

Its tools are `write {text}` and `fail`.
"""

import pathlib
import sys

import minimcp

DIARY = pathlib.Path(sys.argv[1])


def enter(line):
    with DIARY.open("a", encoding="utf-8") as diary:
        diary.write(f"{line}\n")


def answer(_method, params, _message):
    enter(params["arguments"].get("text", params["name"]))
    return minimcp.text("written") | ({"isError": True} if params["name"] == "fail" else {})


enter("server starts")
minimcp.serve(answer)
enter("server ends")
