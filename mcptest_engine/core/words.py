"""Words that several parts say alike."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """`1 test`, `2 tests`, `0 tests`; `word` is the singular of a noun that takes an s."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
