"""A server whose first start dies. `dies_once.py FLAG shake` ends right after the handshake, `dies_once.py FLAG call` in its
first call, with exit code 3; once the file FLAG is there, every later start is well.
"""

import os
import pathlib
import sys

import minimcp

FLAG, WHEN = pathlib.Path(sys.argv[1]), sys.argv[2]


def die():
    print("giving up", file=sys.stderr, flush=True)
    os._exit(3)


first = not FLAG.exists()
FLAG.touch()
if first and WHEN == "shake":
    minimcp.handshake()
    die()
minimcp.serve(lambda *_: die() if first else minimcp.text("ok"))
