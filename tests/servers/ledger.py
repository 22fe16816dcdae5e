"""A small bank. `ledger.py [FILE]` stores its accounts in memory, or in FILE, so that they outlive the process.

transfer {amount, account?}            moves money each time that it is called, and says what is left of 100
transfer_once {amount, key, account?}  moves money once for each key
transfer_later {amount, account?}      neither moves money nor answers when it is first called; then as `transfer`
balance {account?}                     what is left, and how many transfers there were
crash                                  moves 10, then ends with exit code 4 without an answer
notify {count?}                        sends so many log messages, and progress where a `progressToken` came, then answers
late                                   answers, and sends a log message a little later
ask {method}                           asks the client for that, without waiting for what it says
hold {tell?, until?}                   writes a word to the FIFO `tell`, waits for one from `until`, then answers
hang                                   never answers
"""

import json
import os
import pathlib
import sys
import time

import minimcp

BOOK = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
IN_MEMORY = []


def entries():
    if BOOK is None:
        return IN_MEMORY
    return json.loads(BOOK.read_text()) if BOOK.exists() else []


def enter(entry):
    kept = [*entries(), entry]
    IN_MEMORY[:] = kept
    if BOOK is not None:
        BOOK.write_text(json.dumps(kept))


def state(arguments):
    account = arguments.get("account")
    amounts = [entry["amount"] for entry in entries() if entry.get("account") == account]
    content = {"balance": 100 - sum(amounts), "transfers": len(amounts)}
    return minimcp.text(json.dumps(content)) | {"structuredContent": content}


def log(data):
    said = {"level": "info", "data": data}
    minimcp.send({"jsonrpc": "2.0", "method": "notifications/message", "params": said})


def transfer(arguments, message):
    enter(arguments)
    return state(arguments)


def transfer_once(arguments, message):
    if arguments["key"] not in [entry.get("key") for entry in entries()]:
        enter(arguments)
    return state(arguments)


def balance(arguments, message):
    return state(arguments)


def crash(arguments, message):
    enter({"amount": 10})
    print("the vault is on fire", file=sys.stderr, flush=True)
    os._exit(4)


def notify(arguments, message):
    for number in range(arguments.get("count", 0)):
        log(f"entry {number}")
    token = message["params"].get("_meta", {}).get("progressToken")
    if token is not None:
        progress = {"progressToken": token, "progress": 1, "total": 1}
        minimcp.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
    return minimcp.text("told")


def late(arguments, message):
    minimcp.answer(message["id"], minimcp.text("told"))
    time.sleep(0.05)
    log("late")
    return minimcp.NO_ANSWER


def ask(arguments, message):
    minimcp.send({"jsonrpc": "2.0", "id": f"q{message['id']}", "method": arguments["method"]})
    return minimcp.text("asked")


def hold(arguments, message):
    if "tell" in arguments:
        pathlib.Path(arguments["tell"]).write_text("here")
    if "until" in arguments:
        pathlib.Path(arguments["until"]).read_text()
    return minimcp.text("held")


def hang(arguments, message):
    return minimcp.NO_ANSWER


def transfer_later(arguments, message):
    SKIPPED.append(message)
    return minimcp.NO_ANSWER if len(SKIPPED) == 1 else transfer(arguments, message)


SKIPPED = []
TOOLS = {
    tool.__name__: tool
    for tool in (transfer, transfer_once, transfer_later, balance, crash, notify, late, ask, hold, hang)
}


def handle(method, params, message):
    if method is None:  # what the client says to `ask`
        return minimcp.NO_ANSWER
    if method != "tools/call":
        raise minimcp.RpcError(-32601, f"unknown method {method}")
    tool = TOOLS.get(params["name"])
    if tool is None:
        raise minimcp.RpcError(-32602, f"Unknown tool: {params['name']}")
    return tool(params.get("arguments") or {}, message)


minimcp.serve(handle, "ledger")
