"""How many tokens a text is, about: models count differently, and mcptest asks none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(texts: Iterable[str]) -> int:
    """A quarter of the characters of the texts together, rounded up."""
    return -(-sum(map(len, texts)) // CHARACTERS_PER_TOKEN)
