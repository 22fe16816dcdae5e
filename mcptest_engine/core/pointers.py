"""JSON Pointers, which name a place inside a JSON value. Source: RFC 6901."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def pointer(path: Iterable[str | int]) -> str:
    """The JSON Pointer of a path of keys and indexes; "" is the whole value."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
