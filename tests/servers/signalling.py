"""A server that, in a call, sends whoever started it every signal that ends a process unless it is handled; then it answers."""

import os
import signal

import minimcp

SENT = ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGTRAP")


def handle(method, *_):
    if method == "tools/call":
        for name in SENT:
            if hasattr(signal, name):
                os.kill(os.getppid(), getattr(signal, name))
        inherited = [name for name in SENT if signal.getsignal(getattr(signal, name, 0)) != signal.SIG_DFL]
        return minimcp.text(f"sent; not as they always are: {inherited}")
    return {"tools": [{"name": "signal", "inputSchema": {"type": "object"}}]}


minimcp.serve(handle)
