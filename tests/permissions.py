"""Folders that cannot be read, also where the tests run as root."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VERSION = 0x20080522
_READ_EVERYTHING = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH. Source: capabilities(7)


@contextmanager
def unreadable(folder: Path) -> Iterator[None]:
    """Make a folder one that this thread cannot read, nor those that it starts."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0)
    before = None if os.geteuid() else _drop_capabilities()
    try:
        yield
    finally:
        if before is not None:
            _call("capset", before)
        folder.chmod(0o755)


def _drop_capabilities() -> ctypes.Array[ctypes.c_uint32]:
    """Give up reading everything for now; the returned sets bring it back."""
    before = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then their upper halves
    _call("capget", before)
    now = (ctypes.c_uint32 * 6)(*before)
    now[0] &= ~_READ_EVERYTHING
    _call("capset", now)
    return before


def _call(name: str, sets: ctypes.Array[ctypes.c_uint32]) -> None:
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    if getattr(ctypes.CDLL(None, use_errno=True), name)(header, sets):
        raise OSError(ctypes.get_errno(), name)
