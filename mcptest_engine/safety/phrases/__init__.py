"""What is said to a model in order to steer it: the phrases of SEC-001, SEC-002, SEC-003 and SEC-006.

The surprising thing is what is *not* a phrase: "you must", "ignore", "always" and "use list_x first" stand in the
descriptions of honest tools all the time, so a phrase always asks for two things: an order, and something that no honest tool
needs to order.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mcptest_engine.safety.phrases import exfiltration, foreign, injection, other_tools, preference
from mcptest_engine.safety.phrases.phrase import Phrase

__all__ = ["Phrase", "phrases", "phrases_to_try"]

_TOKEN = re.compile(r"[^\W\d_]+")
_LONGEST_REMEMBERED = 24


@lru_cache(maxsize=1)
def phrases() -> tuple[Phrase, ...]:
    """All of them."""
    modules = (injection, other_tools, exfiltration, preference, foreign)
    return tuple(phrase for module in modules for phrase in module.phrases())


def phrases_to_try(text: str) -> tuple[Phrase, ...]:
    """The phrases that `text`, which is in small letters, may hold, by its words alone."""
    marks, _ = _index()
    present = 0
    for token in set(_TOKEN.findall(text)):
        present |= _bits_in(token)
    for mark, bit in marks:
        if mark in text:
            present |= bit
    return _with_words(present)


@lru_cache(maxsize=4096)
def _with_words(present: int) -> tuple[Phrase, ...]:
    _, masks = _index()
    return tuple(phrase for phrase, one, two, three in masks if present & one and present & two and present & three)


@lru_cache(maxsize=1)
def _bits() -> dict[str, int]:
    """Each word of any phrase, with a bit of its own."""
    words = sorted({word for phrase in phrases() for group in phrase.needs for word in group})
    return {word: 1 << at for at, word in enumerate(words)}


@lru_cache(maxsize=1)
def _index() -> tuple[tuple[tuple[str, int], ...], tuple[tuple[Phrase, int, int, int], ...]]:
    """What is no plain word, with its bit; and each phrase with its groups of words, as sums of bits."""
    bits = _bits()
    marks = tuple((word, bit) for word, bit in bits.items() if not _TOKEN.fullmatch(word))
    masks = []
    for phrase in phrases():
        one, two, three = (*(sum(bits[word] for word in group) for group in phrase.needs), -1, -1)[:3]
        masks.append((phrase, one, two, three))
    return marks, tuple(masks)


def _bits_in(token: str) -> int:
    return _remembered(token) if len(token) <= _LONGEST_REMEMBERED else _sum_of_bits(token)


@lru_cache(maxsize=16_384)
def _remembered(token: str) -> int:
    return _sum_of_bits(token)


def _sum_of_bits(token: str) -> int:
    return sum(bit for word, bit in _bits().items() if word in token)
