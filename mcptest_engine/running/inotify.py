"""Changes in folders as Linux tells them: by a descriptor to wait for, so that nothing wakes while nothing changes."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_CHANGES = 0xFCE
"""Written, closed after it, made, moved, removed, other attributes: all of inotify(7) but that something was opened or read."""


def open_folders(folders: Iterable[Path]) -> int:
    """Open a descriptor that can be read whenever something in these folders has changed. Raises: OSError, AttributeError."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    for folder in folders:
        if library.inotify_add_watch(descriptor, os.fsencode(folder), _CHANGES) < 0:
            error = ctypes.get_errno()
            os.close(descriptor)
            raise OSError(error, "inotify_add_watch")
    return descriptor
