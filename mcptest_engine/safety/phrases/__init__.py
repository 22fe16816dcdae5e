"""Phrases that steer a model: those of SEC-001, SEC-002, SEC-003 and SEC-006.

Honest tools often say "you must", "ignore", "always" and "use list_x first", so a phrase always needs two things: an order, and
something that no honest tool needs to order.
"""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.safety.phrases.phrase import Phrase, is_left_to_user

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Phrase", "is_left_to_user", "phrases", "places_to_try"]

_TOKEN = re.compile(r"[^\W\d_]+")
_LONGEST_REMEMBERED = 24
_MOST_REMEMBERED = 30_000
_BLOCK = 320  # no phrase that was found so far is longer
_MARGIN = 40


@lru_cache(maxsize=1)
def phrases() -> tuple[Phrase, ...]:
    # Imported by the first scan, because the tables are large.
    from mcptest_engine.safety.phrases import exfiltration, foreign, injection, orders, other_tools, preference

    modules = (injection, other_tools, exfiltration, preference, foreign, orders)
    return tuple(phrase for module in modules for phrase in module.PHRASES)


def places_to_try(text: str) -> Iterator[tuple[Phrase, int, int]]:
    """The phrases that `text` may hold, in their order, each with the parts of `text` to look for it in.

    The words of a phrase must be in two neighbouring blocks: a long text has nearly every word somewhere.
    """
    if len(text) <= 2 * _BLOCK:
        for at in _with_words(_present(text)):
            yield phrases()[at], 0, len(text)
        return
    starts = range(0, len(text), _BLOCK)
    blocks = [_present(text[max(0, start - _MARGIN) : start + _BLOCK + _MARGIN]) for start in starts]
    parts: dict[int, list[tuple[int, int]]] = {}
    for start, one, other in zip(starts, blocks, blocks[1:], strict=False):
        low, high = max(0, start - _MARGIN), min(len(text), start + 2 * _BLOCK + _MARGIN)
        for at in _with_words(one | other):
            known = parts.setdefault(at, [])
            if known and known[-1][1] >= low:
                known[-1] = (known[-1][0], high)
            else:
                known.append((low, high))
    for at in sorted(parts):
        for low, high in parts[at]:
            yield phrases()[at], low, high


def _present(text: str) -> int:
    """The groups of words, over all phrases, of which `text` has a word, as a bit set."""
    index = _index()
    present = reduce(or_, map(index.tokens.__getitem__, set(_TOKEN.findall(text))), index.without)
    for mark, bits in index.marks:
        if mark in text:
            present |= bits
    return present


def _with_words(present: int) -> Iterator[int]:
    """The numbers of the phrases with a word of each of their groups in `present`, in order."""
    count = len(phrases())
    left = present & present >> count & present >> 2 * count & (1 << count) - 1
    while left:
        lowest = left & -left
        yield lowest.bit_length() - 1
        left ^= lowest


class _Tokens(dict[str, int]):
    """The bits of the words that a token contains, cached; `_starts` are the words by their first letters."""

    def __init__(self, bits: dict[str, int]) -> None:
        super().__init__()
        self._starts: dict[str, list[tuple[str, int]]] = {}
        for word, bit in bits.items():
            self._starts.setdefault(word[:2], []).append((word, bit))

    def __missing__(self, token: str) -> int:
        found = 0
        for at in range(len(token)):
            for size in (1, 2):
                for word, bit in self._starts.get(token[at : at + size], ()) if at + size <= len(token) else ():
                    if token.startswith(word, at):
                        found |= bit
        if len(token) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[token] = found
        return found


class _Index(NamedTuple):
    """`marks` are needed texts that are no plain words, with the bits of their groups; `tokens` has the plain words.

    `without` has the bits of groups that a phrase lacks. Group 0, 1 or 2 of phrase `at` has bit `at + group * len(phrases())`.
    """

    marks: tuple[tuple[str, int], ...]
    tokens: _Tokens
    without: int


@lru_cache(maxsize=1)
def _index() -> _Index:
    bits: dict[str, int] = {}
    without = 0
    for at, phrase in enumerate(phrases()):
        for group in range(3):
            bit = 1 << at + group * len(phrases())
            if group >= len(phrase.needs):
                without |= bit
            for word in phrase.needs[group] if group < len(phrase.needs) else ():
                bits[word] = bits.get(word, 0) | bit
    plain = {word: bit for word, bit in bits.items() if _TOKEN.fullmatch(word)}
    return _Index(tuple((word, bit) for word, bit in bits.items() if word not in plain), _Tokens(plain), without)
