"""A stdio server that does what its caller asks for: answer well, answer badly, say nothing, or die. Standard library only.

The tool `do` takes {token, fault}; a proper answer is the token as text. `tally` tells how many calls of `do` this process and
those before it have read, a byte each in the file that `SOAK_TALLY` names. A slow answer is a timer's, so that other calls are
answered meanwhile.
"""

import json
import os
import signal
import sys
import threading
import time

OUT = sys.stdout.buffer
LOCK = threading.Lock()
CALLS = os.open(os.environ["SOAK_TALLY"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for name in ("do", "tally")
]
SEEN = set()
LATE = {}  # request id -> the answer that is held back until the caller has given up
ASKED = {}  # id of a request of ours -> the answer that waits for its answer


def write(data):
    with LOCK:
        OUT.write(data)
        OUT.flush()


def line(message):
    return json.dumps(message).encode() + b"\n"


def result_of(request_id, result):
    return line({"jsonrpc": "2.0", "id": request_id, "result": result})


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def do(request_id, arguments):
    fault, token = arguments["fault"], arguments["token"]
    good = result_of(request_id, text(token))
    if fault == "slow":
        threading.Timer(arguments["seconds"], write, (good,)).start()
    elif fault == "late":
        LATE[request_id] = good
    elif fault in ("ask", "ping", "sample"):
        method = {"ask": "roots/list", "ping": "ping", "sample": "sampling/createMessage"}[fault]
        ASKED[f"ask-{token}"] = (request_id, token, fault)
        write(
            line({"jsonrpc": "2.0", "id": f"ask-{token}", "method": method, "params": {"messages": [], "maxTokens": 1}})
        )
    elif fault == "flaky":
        first = token not in SEEN
        SEEN.add(token)
        write(result_of(request_id, text("not yet", isError=True)) if first else good)
    elif fault == "stderr":
        sys.stderr.write("complaint\n" * 20_000)
        sys.stderr.flush()
        write(good)
    elif fault == "freeze":
        time.sleep(600)
    elif fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "exit":
        os._exit(0)
    elif fault == "crash":
        sys.stderr.write("Traceback: something is wrong\n")
        sys.stderr.flush()
        os._exit(3)
    elif fault == "half":
        write(good[: len(good) // 2])
        os._exit(1)
    elif fault != "stall":
        write(BYTES[fault](request_id, token, good))


BYTES = {
    "none": lambda _id, _token, good: good,
    "tool-error": lambda request_id, token, _good: result_of(request_id, text(token, isError=True)),
    "rpc-error": lambda request_id, token, _good: line(
        {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32050, "message": token}}
    ),
    "garbage": lambda _id, _token, good: b"DEBUG this is no message {\n\n" + good,
    "bad-utf8": lambda _id, _token, good: b"\xff\xfe\x80 {\n" + good,
    "nul": lambda _id, _token, good: b"\x00\x00\x1b[31m\n" + good,
    "torn": lambda _id, _token, good: good[: len(good) // 2] + b"\n" + good,
    "duplicate": lambda _id, _token, good: good + good,
    "stranger": lambda _id, _token, good: result_of(987654321, text("not for you")) + good,
    "two-in-one": lambda _id, _token, good: line({"jsonrpc": "2.0", "method": "notifications/x"}) + good,
    "big": lambda request_id, token, _good: result_of(request_id, text(token, pad="x" * 300_000)),
    "notify": lambda _id, _token, good: (
        line({"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": 1}}) * 50 + good
    ),
    "array": lambda request_id, _token, _good: result_of(request_id, []),
    "both": lambda request_id, token, _good: line(
        {"jsonrpc": "2.0", "id": request_id, "result": text(token), "error": {"code": 1, "message": "both"}}
    ),
}


def answered(message):
    """An answer to what we asked: now the call that made us ask gets its own."""
    request_id, token, fault = ASKED.pop(message["id"])
    well = ("result" in message) if fault in ("ping", "sample") else ("error" in message)
    write(result_of(request_id, text(token if well else f"asked for {fault}, was answered {message}")))


def main():
    for raw in sys.stdin.buffer:
        message = json.loads(raw)
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            answered(message)
        elif method == "initialize":
            told = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
            write(result_of(message["id"], {**told, "serverInfo": {"name": "soak", "version": "1"}}))
        elif method == "tools/list":
            write(result_of(message["id"], {"tools": TOOLS}))
        elif method == "ping":
            write(result_of(message["id"], {}))
        elif method == "notifications/cancelled":
            late = LATE.pop(params.get("requestId"), None)
            if late is not None:
                write(late)
        elif method == "tools/call" and params["name"] == "tally":
            write(result_of(message["id"], text(str(os.fstat(CALLS).st_size))))
        elif method == "tools/call":
            os.write(CALLS, b".")
            do(message["id"], params["arguments"])


if __name__ == "__main__":
    main()
    os._exit(0)  # timers of slow answers must not hold it up
