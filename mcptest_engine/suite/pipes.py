"""A suite that comes through a pipe, such as a shell makes of `<(…)`; imported only for one.

The surprising thing: opening a pipe waits for a writer, and for ever when there is none, so it is opened without waiting
and the first byte is waited for instead. What follows that may take as long as the writer takes.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WAIT_SECONDS = 5.0


def read_pipe(path: Path, most_bytes: int) -> bytes | None:
    """Up to `most_bytes` of what is written into the pipe; None when nothing is within 5 seconds. Raises: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:  # noqa: PTH123  (it is open already)
        readable, _, _ = select.select([descriptor], [], [], WAIT_SECONDS)
        if not readable:
            return None
        os.set_blocking(descriptor, True)
        return stream.read(most_bytes)
