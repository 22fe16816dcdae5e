"""Estimates how much memory a server's message takes once it is parsed, before or after parsing it.

A message of 60 MB takes 60 MB as one text and 1.8 GB as an array of empty objects, so a limit of bytes on the wire is no limit
of memory. The estimate is for CPython and within a factor of two of measurements. It counts what stands for an object in the
text, and costs nothing for short messages.
"""

from __future__ import annotations

import re
import sys

_MIB = 1024 * 1024
MAX_VALUE_BYTES = 512 * _MIB
"""The most memory that one parsed message may take."""
MAX_LIST_BYTES = 256 * _MIB
"""The most memory that all pages of one list may take."""

MOST_PER_BYTE = 40
"""The most memory for each byte of any JSON."""

_PIECE = 64 * 1024
_BEYOND_LATIN_1 = re.compile(rb"[\xc4-\xff]")
_BEYOND_UTF_16 = re.compile(rb"[\xf0-\xff]")


def is_too_much(line: bytes) -> bool:
    """Whether the value of `line` would exceed the limit of a message."""
    if len(line) * MOST_PER_BYTE <= MAX_VALUE_BYTES:
        return False
    wide = _width_bytes(line)
    return wide + value_bytes(line) > MAX_VALUE_BYTES and wide + value_bytes(_structure(line)) > MAX_VALUE_BYTES


def value_bytes(line: bytes) -> int:
    """Estimate the memory of a JSON text's objects. Too much where its texts contain JSON, but never too little for that."""
    objects, commas, colons = line.count(b"{"), line.count(b","), line.count(b":")
    texts = max(0, line.count(b'"') // 2 - colons)
    containers = 66 * (objects + line.count(b"[")) + 100 * (objects - line.count(b"{}"))
    return containers + 30 * colons + 10 * commas + 52 * texts + 14 * max(0, commas - texts) + len(line)


def parsed_bytes(value: object) -> int:
    """Estimate the memory of a parsed value, without the names of members, which are shared."""
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
    """The memory of a text beyond its length. One wide letter makes all of them wide, twice while it is read."""
    if line.isascii() or _BEYOND_LATIN_1.search(line) is None:
        return 0
    return len(line) * (6 if _BEYOND_UTF_16.search(line) else 2)


def _structure(line: bytes) -> bytes:
    """Return `line` without the contents of its texts. Works in pieces, since this is for large lines."""
    structure, inside, carried = bytearray(), False, b""
    for start in range(0, len(line), _PIECE):
        piece = carried + line[start : start + _PIECE]
        whole = piece.rstrip(b"\\")
        carried = b"\\" * ((len(piece) - len(whole)) % 2)  # it may escape the first character of the next piece
        parts = whole.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        texts = slice(0 if inside else 1, None, 2)
        inside ^= len(parts) % 2 == 0
        parts[texts] = [b""] * len(parts[texts])
        structure += b'"'.join(parts)
    return bytes(structure)
