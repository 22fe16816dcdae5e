"""The features of a window that the learned judge weighs: its words, their meanings, and their order.

Each is a short text whose first letter is its kind: `w` one or two words in a row, `p` the beginning of a word, `g` parts of
words in other scripts, `c` a concept and the form of its word, `o` two concepts in this order, `a` the shape of two or three
neighbours, `s` the beginning of the window, `@` its position.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from mcptest_engine.safety.learned.windows import FORMS

if TYPE_CHECKING:
    from mcptest_engine.safety.learned.windows import Window

_FARTHEST = 9
_STOP_WORDS = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "and",
        "that",
        "with",
        "for",
        "on",
        "at",
        "by",
        "from",
        "be",
        "been",
        "this",
        "these",
        "those",
        "such",
        "than",
        "as",
        "or",
    ]
)


def features(window: Window, place: str) -> set[str]:
    """All features of a window; `place` is the letter that `poisoning.place_of` gives."""
    found = {f"@{place}", f"@{place}{min(window.index, 2)}", f"@n{min(len(window.words) // 6, 6)}", *window.belongs}
    if window.pair:
        found.add("@pair")
    if window.capitals >= 3:
        found.add("@capitals")
    before = "^"
    shape: list[str] = []
    meant: list[tuple[str, ...]] = []
    for word, meaning in zip(window.words, window.concepts, strict=True):
        found.update(_word_features(word))
        found.add(f"w{before} {word}")
        before = word
        if meaning:
            names, main, kind = _meaning_features(meaning)
            found.update(names)
            shape.append(kind)
            if main:
                meant.append(main)
        elif word not in _STOP_WORDS:
            shape.append("x")
    for at, one in enumerate(meant):
        for other in meant[at + 1 : at + _FARTHEST]:
            found.update(_order_features(one, other))
    row = ["^", *shape, "$"]
    found.update(map(_pair_feature, row, row[1:]))
    found.update(map(_triple_feature, row, row[1:], row[2:]))
    found.add(f"s{min(window.index, 1)}{place}{row[1]}")
    return found


@lru_cache(maxsize=8192)
def _word_features(word: str) -> tuple[str, ...]:
    if not word.isascii():
        parts = {f"g{word[at : at + size]}" for at in range(min(len(word), 40) - 1) for size in (2, 3)}
        return (f"w{word}", *parts)
    return (f"w{word}", f"p{word[:5]}") if len(word) > 5 and word[0] != "<" else (f"w{word}",)


@lru_cache(maxsize=4096)
def _meaning_features(meaning: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The features of a meaning, its concepts without the form, and its part in the shape."""
    main = tuple(name for name in meaning if name not in FORMS)
    form = next((name for name in meaning if name in FORMS), "")
    ends = ("", f".{form}") if form else ("",)
    kind = f"{main[0] if main else ''}{'.' + form if form else ''}"
    return tuple(f"c{name}{end}" for name in main for end in ends), main, kind


@lru_cache(maxsize=32_768)
def _order_features(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"o{first}>{second}" for first in one for second in other)


@lru_cache(maxsize=16_384)
def _pair_feature(one: str, two: str) -> str:
    return f"a{one}_{two}"


@lru_cache(maxsize=32_768)
def _triple_feature(one: str, two: str, three: str) -> str:
    return f"a{one}_{two}_{three}"
