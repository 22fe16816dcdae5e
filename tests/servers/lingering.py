"""A server that tells where it is, and will not go. `lingering.py FOLDER` makes `FOLDER/called` at the first call, which it
never answers, and `FOLDER/eof` when stdin ends; it ignores SIGTERM. With a second argument it answers nothing at all, and has
been called when it has started.
"""

import pathlib
import signal
import sys
import threading

import minimcp

FOLDER = pathlib.Path(sys.argv[1])


def called(*_):
    (FOLDER / "called").touch()
    return minimcp.NO_ANSWER


signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) > 2:
    called()
    sys.stdin.buffer.read()
else:
    minimcp.serve(called)
(FOLDER / "eof").touch()
threading.Event().wait()
