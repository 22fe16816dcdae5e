"""How much memory what a server sends takes once it is read, told before it is read or from what was read.

A message of 60 MB takes 60 MB as one text and 1.8 GB as an array of empty objects, so a limit of bytes on the wire is no limit
of memory. The estimate is that of CPython and within a factor of two of what was measured; it counts what stands for an object
in the text, and costs nothing for a message that is too short to matter.
"""

from __future__ import annotations

import re
import sys

_MIB = 1024 * 1024
MAX_VALUE_BYTES = 512 * _MIB
"""So much one message may take once it is read."""
MAX_LIST_BYTES = 256 * _MIB
"""So much all pages of one list may take."""

MOST_PER_BYTE = 40
"""No JSON takes more memory than so many times its length."""

_PIECE = 64 * 1024
_BEYOND_LATIN_1 = re.compile(rb"[\xc4-\xff]")
_BEYOND_UTF_16 = re.compile(rb"[\xf0-\xff]")


def is_too_much(line: bytes) -> bool:
    """Whether the value of `line` would take more than a message may."""
    if len(line) * MOST_PER_BYTE <= MAX_VALUE_BYTES:
        return False
    wide = _width_bytes(line)
    return wide + value_bytes(line) > MAX_VALUE_BYTES and wide + value_bytes(_structure(line)) > MAX_VALUE_BYTES


def value_bytes(line: bytes) -> int:
    """About what the objects of a JSON text take; too much where its texts hold JSON themselves, never too little for that."""
    objects, commas, colons = line.count(b"{"), line.count(b","), line.count(b":")
    texts = max(0, line.count(b'"') // 2 - colons)
    containers = 66 * (objects + line.count(b"[")) + 100 * (objects - line.count(b"{}"))
    return containers + 30 * colons + 10 * commas + 52 * texts + 14 * max(0, commas - texts) + len(line)


def parsed_bytes(value: object) -> int:
    """What a value that was read takes, the names of members left out, which are shared."""
    size, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        size += sys.getsizeof(item)
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return size


def _width_bytes(line: bytes) -> int:
    """What a text takes beyond its length: one letter decides how wide all of them are kept, twice while it is read."""
    if line.isascii() or _BEYOND_LATIN_1.search(line) is None:
        return 0
    return len(line) * (6 if _BEYOND_UTF_16.search(line) else 2)


def _structure(line: bytes) -> bytes:
    """`line` without what its texts hold, their quotes kept: a piece at a time, since this is for what is large."""
    kept, inside, carried = bytearray(), False, b""
    for start in range(0, len(line), _PIECE):
        piece = carried + line[start : start + _PIECE]
        whole = piece.rstrip(b"\\")
        carried = b"\\" * ((len(piece) - len(whole)) % 2)  # it may escape what the next piece begins with
        parts = whole.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        texts = slice(0 if inside else 1, None, 2)
        inside ^= len(parts) % 2 == 0
        parts[texts] = [b""] * len(parts[texts])
        kept += b'"'.join(parts)
    return bytes(kept)
