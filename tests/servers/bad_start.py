"""Servers that never get going.

bad_start.py exit CODE [STDERR]     write STDERR and exit with CODE at once
bad_start.py silent                 read everything, answer nothing
bad_start.py signal NAME            die by that signal
bad_start.py garbage                answer `initialize` with an array as result
bad_start.py needs VARIABLE         exit 1 unless the variable is set, naming it on stderr
bad_start.py close-stdout           close stdout and live on
bad_start.py half                   write half an answer, without a newline, and exit 0
bad_start.py no-version             answer `initialize` with an empty result, then answer calls
"""

import os
import signal
import sys

import minimcp


def main():
    mode, *rest = sys.argv[1:]
    if mode == "exit":
        if len(rest) > 1:
            print(rest[1], file=sys.stderr, flush=True)
        os._exit(int(rest[0]))
    if mode == "signal":
        os.kill(os.getpid(), getattr(signal, rest[0]))
    if mode == "needs":
        if rest[0] not in os.environ:
            print(f"KeyError: '{rest[0]}'", file=sys.stderr, flush=True)
            os._exit(1)
        minimcp.serve(lambda *_: minimcp.text("ok"))
    if mode == "close-stdout":
        os.close(1)
    for message in minimcp.messages():
        if mode == "garbage":
            minimcp.answer(message["id"], [])
        elif mode == "half":
            minimcp.write(b'{"jsonrpc":"2.0","id":1,"resu')
            os._exit(0)
        elif mode == "no-version" and "id" in message:
            minimcp.answer(message["id"], {})


main()
