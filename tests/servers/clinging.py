"""A server that does not exit, and reports its progress: `clinging.py FIFO [silent]`.

It starts a child that holds its pipes. Both ignore the end of stdin and every signal that can be ignored. On FIFO it writes
"started" when both are there, "called" at each `tools/call`, which it does not answer, and "eof" when stdin ends. With `silent`
it answers nothing at all.
"""

import os
import signal
import sys
import threading

import minimcp

FIFO = os.open(sys.argv[1], os.O_WRONLY)


def tell(word):
    os.write(FIFO, word.encode() + b"\n")


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    while True:
        signal.pause()
tell("started")
if "silent" in sys.argv:
    for _ in minimcp.messages():
        pass


def handler(method, params, message):
    if method == "tools/list":
        return {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
    tell("called")
    return minimcp.NO_ANSWER


minimcp.serve(handler, lists=True)
tell("eof")
threading.Event().wait()
