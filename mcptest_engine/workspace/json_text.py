"""JSON as the workspace writes it: compact UTF-8, shortest floats, keys in their given order.

Values that JSON or UTF-8 cannot hold do not prevent saving a run: lone surrogates are written as escapes; NaN and the
infinities, which some servers send, as strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from json.encoder import encode_basestring, encode_basestring_ascii

_PIECE = 1 << 20
_BATCH = 512
_FEW = 32
_SEPARATORS = (",", ":")


def to_json_bytes(value: object) -> bytes:
    """`value` as one JSON text. Raises: RecursionError when it is nested deeper than the interpreter can follow."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=_SEPARATORS, check_circular=False)
    except ValueError:
        from mcptest_engine.core.safe_json import finite

        return to_json_bytes(finite(value))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=_SEPARATORS).encode()


def json_pieces(value: object) -> Iterator[bytes]:
    """The bytes of `to_json_bytes` in pieces, for values too large to copy: long strings are cut, arrays and objects batched.

    In a string with a lone surrogate other characters may be escaped as well; the string reads back the same.
    """
    if isinstance(value, str) and len(value) > _PIECE:
        yield b'"'
        for start in range(0, len(value), _PIECE):
            yield _inside_of_string(value[start : start + _PIECE])
        yield b'"'
    elif isinstance(value, dict) and value:
        for number, batch in enumerate(_batches(value)):
            yield b"," if number else b"{"
            yield from _batch_pieces(dict(batch))
        yield b"}"
    elif isinstance(value, list) and value:
        for start in range(0, len(value), _BATCH):
            yield b"," if start else b"["
            yield from _batch_pieces(value[start : start + _BATCH])
        yield b"]"
    else:
        yield to_json_bytes(value)


def member_pieces(members: dict[str, object]) -> Iterator[bytes]:
    """The bytes of `to_json_bytes` in pieces, for a mapping whose values may be iterators; each becomes an array."""
    opening, plain = b"{", dict[str, object]()
    for key, value in members.items():
        if not isinstance(value, Iterator):
            plain[key] = value
            continue
        if plain:
            yield opening + to_json_bytes(plain)[1:-1]
            opening, plain = b",", {}
        start = opening + to_json_bytes(key) + b":["
        while batch := list(islice(value, _FEW)):
            yield start + to_json_bytes(batch)[1:-1]
            start = b","
        yield b"]" if start == b"," else start + b"]"
        opening = b","
    yield opening + to_json_bytes(plain)[1:] if plain else b"}" if members else b"{}"


def _batches(members: dict[str, object]) -> Iterator[list[tuple[str, object]]]:
    items = iter(members.items())
    while batch := list(islice(items, _BATCH)):
        yield batch


def is_small(value: object, limit: int) -> bool:
    """Whether the JSON of `value` has at most `limit` bytes, by a cheap upper bound: sometimes False for what just fits."""
    left = limit
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            left -= 6 * len(item) + 3  # `\\u0000` is the longest way to write one character
        elif isinstance(item, dict):
            left -= 2
            for key, member in item.items():
                left -= 6 * len(key) + 4
                stack.append(member)
        elif isinstance(item, list):
            left -= len(item) + 2
            stack += item
        elif isinstance(item, int):
            left -= item.bit_length() // 3 + 7
        else:
            left -= 26
        if left < 0:
            return False
    return True


def _batch_pieces(batch: dict[str, object] | list[object]) -> Iterator[bytes]:
    """The members of a batch without brackets; small ones in one call, as a million numbers one by one take seconds."""
    if is_small(batch, _PIECE):
        yield to_json_bytes(batch)[1:-1]
    elif isinstance(batch, dict):
        for number, (key, item) in enumerate(batch.items()):
            yield (b"," if number else b"") + to_json_bytes(key) + b":"
            yield from json_pieces(item)
    else:
        for number, item in enumerate(batch):
            if number:
                yield b","
            yield from json_pieces(item)


def _inside_of_string(text: str) -> bytes:
    try:
        return encode_basestring(text)[1:-1].encode()
    except UnicodeEncodeError:
        return encode_basestring_ascii(text)[1:-1].encode()
