"""Servers that shake hands and then fail in a call.

bad_calls.py exit CODE      exit with CODE in the first call, with a line on stderr
bad_calls.py log TEXT       log TEXT in the first call and exit with 1
bad_calls.py signal NAME    die by that signal in the first call
bad_calls.py never          answer no call
bad_calls.py close-stdout   close stdout in the first call and live on
bad_calls.py close-stdin    close stdin after the handshake and live on
bad_calls.py close-stdin-in-call  the same in the first call, which it does not answer
bad_calls.py unfinished     answer the first call without the newline, and live on
bad_calls.py late           answer each call only when it is cancelled, then answer the next ones at once
bad_calls.py deaf           stop reading stdin after the handshake
bad_calls.py half           write half of the answer, without a newline, and exit 0
bad_calls.py twice          answer each call twice
bad_calls.py asking N       ask `ping` N times without reading, then answer
"""

import contextlib
import os
import signal
import sys
import threading

import minimcp


def main():
    mode, *rest = sys.argv[1:]
    minimcp.handshake()
    if mode == "deaf":
        threading.Event().wait()
    if mode == "close-stdin":
        os.close(0)
        print("stdin is closed", file=sys.stderr, flush=True)
        threading.Event().wait()
    late = None
    for message in minimcp.messages():
        if mode == "late":
            late = _late(message, late)
        elif "id" not in message or "method" not in message:
            continue
        elif mode == "exit":
            print("giving up", file=sys.stderr, flush=True)
            os._exit(int(rest[0]))
        elif mode == "signal":
            os.kill(os.getpid(), getattr(signal, rest[0]))
        elif mode == "close-stdout":
            with contextlib.suppress(OSError):  # a second call finds it closed
                os.close(1)
        elif mode == "half":
            minimcp.write(b'{"jsonrpc":"2.0","id":2,"resu')
            os._exit(0)
        else:
            _other(mode, rest, message)


def _other(mode, rest, message):
    if mode == "asking":
        for number in range(int(rest[0])):
            minimcp.send({"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"})
        minimcp.answer(message["id"], minimcp.text("asked"))
    elif mode == "log":
        minimcp.send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": rest[0]}})
        os._exit(1)
    elif mode == "close-stdin-in-call":
        os.close(0)
        threading.Event().wait()
    elif mode == "twice":
        for text in ("first", "second"):
            minimcp.answer(message["id"], minimcp.text(text))
    elif mode == "unfinished":
        minimcp.write(b'{"jsonrpc":"2.0","id":2,"result":{}}')


def _late(message, late):
    if message.get("method") == "notifications/cancelled":
        minimcp.answer(message["params"]["requestId"], minimcp.text("late"))
        return "cancelled"
    if late == "cancelled":
        minimcp.answer(message["id"], minimcp.text("in time"))
    return late


main()
