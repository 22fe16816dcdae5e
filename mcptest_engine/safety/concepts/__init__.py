"""What a text asks of a model, by concepts: the second layer of SEC-001, SEC-002, SEC-003 and SEC-006.

Where `phrases` knows wordings, this knows what a word means: an order, a call, another tool, something private, a place to
send it to. A rule fires on concepts that stand together in a sentence or in two, in whatever words. The surprising thing is
how much is done to stay silent: a verb only orders in its plain form and where an order would stand, the first sentence of a
description says what the tool does, and "to get the id" makes a call of another tool an honest one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.safety.concepts import exfiltration, injection, mixtures, other_tools, preference
from mcptest_engine.safety.concepts.clauses import clauses
from mcptest_engine.safety.concepts.words import BIT, bits_of, name_words

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Steering", "is_family", "steering"]

_WORD = re.compile(r"[^\W\d_][\w'-]*")
_FAMILY_LEAST = 3
_COMMON = frozenset(
    [
        "get",
        "list",
        "set",
        "create",
        "update",
        "delete",
        "read",
        "write",
        "send",
        "search",
        "find",
        "the",
        "all",
        "add",
        "remove",
        "file",
        "data",
        "tool",
        "run",
        "call",
    ]
)


class Steering(NamedTuple):
    """A rule that fires between two places of a text; `tool` is the other tool that it is about, if it is named."""

    rule: str
    start: int
    end: int
    tool: str | None = None


def steering(text: str, in_argument: bool, names: frozenset[str] = frozenset(), own: str = "") -> Iterator[Steering]:
    """What fires in a text in its plain form, in its order; `names` are other tools of the catalog, `own` this one."""
    if len(text) < 12 or not _may_steer(text):
        return
    before = None
    for clause in clauses(text, in_argument, names, own):
        if clause.any & injection.NEEDS:
            for one, other in injection.find(clause):
                yield Steering("SEC-001", *clause.span(one, other))
        if clause.any & other_tools.NEEDS:
            for one, other, tool in other_tools.find(clause):
                yield Steering("SEC-002", *clause.span(one, other), tool)
        if clause.any & exfiltration.NEEDS:
            for one, other in exfiltration.find(clause, before):
                yield Steering("SEC-003", *clause.span(one, other))
        if clause.any & preference.NEEDS:
            for one, other in preference.find(clause):
                yield Steering("SEC-006", *clause.span(one, other))
        for rule, one, other in mixtures.find(clause):
            yield Steering(rule, *clause.span(one, other))
        before = clause


def is_family(name: str, other: str) -> bool:
    """Whether two names of tools share a word that tells what both are about."""
    return bool((name_words(name) & name_words(other)) - _COMMON)


@lru_cache(maxsize=16_384)
def _bits(word: str) -> int:
    return bits_of(word)


_ORDER = (
    BIT["MODAL"]
    | BIT["ALWAYS"]
    | BIT["PLEASE"]
    | BIT["NEG"]
    | BIT["BASE"]
    | BIT["VOID"]
    | BIT["RANK"]
    | BIT["BAD"]
    | BIT["BEST"]
    | BIT["THIRD"]
    | BIT["ALL"]
    | BIT["SECRET"]
    | BIT["TALK"]
)
_ANY = injection.NEEDS | exfiltration.NEEDS | preference.NEEDS


def _may_steer(text: str) -> bool:
    """Whether the words of a text could be an order at all."""
    seen = 0
    words, beginnings = mixtures.telling()
    for word in _WORD.findall(text):
        low = word.lower()
        bits = bits_of(low)
        if bits:
            seen |= bits
        elif low in words or low[:4] in beginnings:
            return True
    return bool(seen & _ORDER and seen & _ANY)
