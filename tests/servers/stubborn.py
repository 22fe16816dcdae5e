"""Servers that do not exit when they should. Each writes its pid, and its child's, to FILE before it serves.

stubborn.py eof FILE          ignore the end of stdin, go on SIGTERM
stubborn.py term FILE         ignore the end of stdin and SIGTERM
stubborn.py grandchild FILE   start a child that holds the pipes and ignores SIGTERM; go on the end of stdin
stubborn.py crash FILE        the same child; exit with code 9 in the first call
stubborn.py polite FILE       go on the end of stdin, writing a last line on stderr
"""

import os
import pathlib
import signal
import sys
import threading

import minimcp


def main():
    mode, file = sys.argv[1:]
    pids = [os.getpid()]
    if mode in ("eof", "term"):
        _ignore_end(mode)
    if mode in ("grandchild", "crash"):
        pids.append(_fork())
    with open(file + ".new", "w", encoding="ascii") as out:
        out.write(" ".join(map(str, pids)))
    pathlib.Path(file + ".new").rename(file)
    minimcp.serve(_crash if mode == "crash" else lambda *_: minimcp.text("ok"))
    if mode in ("eof", "term"):
        threading.Event().wait()
    if mode == "polite":
        print("goodbye", file=sys.stderr, flush=True)


def _crash(*_):
    os._exit(9)


def _ignore_end(mode):
    if mode == "term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _fork():
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pause()
        os._exit(0)
    return child


main()
