"""What words mean: `lexicon.txt` as a table from a word, in small letters, to its concepts.

The forms of verbs are made here. The form is a concept too: only a verb in its plain form can be an order, while "deletes" and
"deleted" describe. Words of scripts without blanks between words are found as parts of a text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

_SCRIPT_WITHOUT_BLANKS = "[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"  # slow to compile, and seldom needed


class Lexicon(NamedTuple):
    """Concepts by word, and by pairs of words in a row."""

    words: dict[str, tuple[str, ...]]
    pairs: dict[tuple[str, str], tuple[str, ...]]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The words and pairs of words of `lexicon.txt`, with the concepts that they stand for."""
    text = resources.files(__package__).joinpath("lexicon.txt").read_text(encoding="utf-8")
    words: dict[str, list[str]] = {}
    for line in text.splitlines():
        head, _, listed = line.partition(": ")
        if not listed or head.startswith("#"):
            continue
        concept, _, kind = head.partition(" ")
        for word in listed.split():
            for form, mark in _forms(word) if kind else ((word, ""),):
                known = words.setdefault(form, [])
                known += [name for name in (concept, mark) if name and name not in known]
    pairs = {tuple(word.split("_", 1)): tuple(known) for word, known in words.items() if word.count("_") == 1}
    return Lexicon(
        {word: tuple(known) for word, known in words.items()},
        pairs,  # type: ignore[arg-type]
    )


@lru_cache(maxsize=1)
def runs() -> re.Pattern[str]:
    """A pattern of the words in scripts without blanks, to find them in a run of letters; made when first needed."""
    found = (word for word in lexicon().words if not word.isascii() and re.search(_SCRIPT_WITHOUT_BLANKS, word))
    return re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True))))


def _forms(verb: str) -> tuple[tuple[str, str], ...]:
    """The plain form, the third person, the past and the gerund of a regular verb."""
    base, end = verb, verb[-1]
    if end == "e":
        return (base, "BASE"), (base + "s", "THIRD"), (base + "d", "PAST"), (base[:-1] + "ing", "ING")
    if end == "y" and verb[-2] not in "aeiou":
        return (base, "BASE"), (base[:-1] + "ies", "THIRD"), (base[:-1] + "ied", "PAST"), (base + "ing", "ING")
    third = base + ("es" if end in "sxzo" or verb.endswith(("ch", "sh")) else "s")
    made = [(base, "BASE"), (third, "THIRD"), (base + "ed", "PAST"), (base + "ing", "ING")]
    if end in "bdgklmnprt" and verb[-2] in "aeiou" and verb[-3:-2] not in "aeiou":
        made += [(base + end + "ed", "PAST"), (base + end + "ing", "ING")]
    return tuple(made)
