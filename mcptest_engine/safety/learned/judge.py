"""Weigh the windows of a text with the learned weights, and report which rules fire where."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.learned.cues import has_cue, only_describes
from mcptest_engine.safety.learned.features import features
from mcptest_engine.safety.learned.lexicon import lexicon, runs
from mcptest_engine.safety.learned.windows import Prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.safety.learned.windows import Window

RULES = ("SEC-001", "SEC-002", "SEC-003", "SEC-006")
SHARED = 0.25  # the sum of the weights is divided by the number of features to this power
FEWEST_WEIGHED = 12  # of more candidates, only so many and one for each `TEXT_FOR_ONE_MORE` characters
TEXT_FOR_ONE_MORE = 500
SURE_WITHOUT_AN_ORDER = 100  # hundredths: a sentence that only describes a tool has to score more than an order
# Scores for `is_clear` in hundredths, with a cue and without; no public tool left out of the training reached them.
CLEARLY_ABOVE, SURE_WITHOUT_A_CUE = 130, 200
_SEEN = re.compile(r"[^\W\d][\w']{0,23}|[~<\[{#/$*@:|]+")
_LONGEST_REMEMBERED, _MOST_REMEMBERED = 24, 30_000


class Steering(NamedTuple):
    """A rule that fires between two places of a text.

    `is_clear` says that the score is far above the threshold, less far where the sentence has a cue of the rule (`cues`);
    `above` is the score, in hundredths above the threshold.
    """

    rule: str
    start: int
    end: int
    is_clear: bool = False
    above: int = 0


@dataclass(frozen=True)
class Weights:
    """The learned weights: of each feature for an alarm, and, in unparsed lines, for each of `RULES`.

    `glance` has the weights of single words for an alarm.
    """

    bias: tuple[int, ...]
    threshold: int
    least_glance: int
    glance: Mapping[str, int]
    alarm: Mapping[str, int]
    lines: tuple[str, ...]

    @cached_property
    def by_rule(self) -> tuple[Mapping[str, int], ...]:
        """Parsed only when something raises an alarm, which most texts do not."""
        return tuple(dict(zip(self.alarm, map(int, line.split(" ")), strict=True)) for line in self.lines)


class _Glance(dict[str, int]):
    """The weight of a word by itself and by its concepts; cached."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        super().__init__()
        self._weights = weights

    def __missing__(self, word: str) -> int:
        total = sum(self._weights.get(name, 0) for name in glance_names(word))
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = total
        return total


def steering(
    text: str, place: str, names: frozenset[str] = frozenset(), own: str = "", about: frozenset[str] = frozenset()
) -> Iterator[Steering]:
    """The rules that fire in a text in its plain form, in its order; for the parameters see `windows`."""
    weights = learned_weights()
    prose = Prose(text, names, own, about)
    glances = [glance(text[start:end], weights.glance) for start, end in prose.spans]
    least = weights.least_glance
    chosen = [(one, at, False) for at, one in enumerate(glances) if one >= least]
    chosen += [(one + other, at, True) for at, (one, other) in enumerate(pairwise(glances)) if one + other >= least]
    if len(chosen) > FEWEST_WEIGHED:
        chosen = sorted(chosen, reverse=True)[: FEWEST_WEIGHED + len(text) // TEXT_FOR_ONE_MORE]
    for _, at, both in sorted(chosen, key=lambda one: one[1:]):
        for window in prose.two(at) if both else prose.sentence(at):
            yield from _fired_rules(window, place, weights)


def support(
    text: str,
    span: tuple[int, int],
    place: str,
    names: frozenset[str] = frozenset(),
    own: str = "",
    about: frozenset[str] = frozenset(),
) -> int:
    """The best score of the sentences that `span` touches, alone or with a neighbour: hundredths above the threshold."""
    weights = learned_weights()
    prose = Prose(text, names, own, about)
    touched = [at for at, (start, end) in enumerate(prose.spans) if start < span[1] and span[0] < end]
    windows = [window for at in touched for window in prose.sentence(at)]
    beside = {at + step for at in touched for step in (-1, 0)}
    windows += [window for at in sorted(beside) if 0 <= at < len(prose.spans) - 1 for window in prose.two(at)]
    return max((_above(features(window, place), weights) for window in windows), default=0)


def first_look(text: str) -> int:
    """The weight of the single words of any text for an alarm."""
    return glance(text, learned_weights().glance)


def glance_words(text: str) -> list[str]:
    """The words and marks of a text that a first look weighs."""
    return _SEEN.findall(text.lower())


def glance_names(word: str) -> tuple[str, ...]:
    """The names under which a first look knows a word: itself, and `*` before each of its concepts."""
    known = lexicon().words
    if "_" in word.strip("_"):
        meaning: Iterable[str] = ("REF",)
    elif word.isascii():
        meaning = known.get(word, ())
    else:
        meaning = dict.fromkeys(concept for part in runs().findall(word) for concept in known[part])
    return (word, *(f"*{concept}" for concept in meaning))


def glance(text: str, known: Mapping[str, int]) -> int:
    """The sum of the weights of single words: a cheap look before all features are weighed."""
    return sum(map(known.__getitem__, glance_words(text)))


def _fired_rules(window: Window, place: str, weights: Weights) -> Iterator[Steering]:
    found = features(window, place) & weights.alarm.keys()
    above = _above(found, weights)
    if above < 0 or (above < SURE_WITHOUT_AN_ORDER and place == "d" and only_describes(window)):
        return
    share = len(found) ** -SHARED if found else 0.0
    by_rule = [
        bias + share * sum(map(by_feature.__getitem__, found))
        for bias, by_feature in zip(weights.bias[1:], weights.by_rule, strict=True)
    ]
    most = max(by_rule)
    for rule, score in zip(RULES, by_rule, strict=True):
        if score == most or score > 0:
            yield Steering(
                rule,
                window.start,
                window.end,
                above >= (CLEARLY_ABOVE if has_cue(window, rule, place) else SURE_WITHOUT_A_CUE),
                above,
            )


def _above(found: set[str], weights: Weights) -> int:
    known = found & weights.alarm.keys()
    share = len(known) ** -SHARED if known else 0.0
    return round(weights.bias[0] + share * sum(map(weights.alarm.__getitem__, known)) - weights.threshold)


@lru_cache(maxsize=1)
def learned_weights() -> Weights:
    """The content of `weights.txt`, all numbers in hundredths.

    Its lines: thresholds and biases; words with their weights; the features; the weights for an alarm, then for each rule.
    """
    text = resources.files(__package__).joinpath("weights.txt").read_text(encoding="utf-8")
    head, glances, names, alarm, *lines = text.removesuffix("\n").split("\n")
    threshold, least_glance, *bias = map(int, head.split(" "))
    words = glances.split(" ")
    known = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    by_feature = dict(zip(names.split("\t"), map(int, alarm.split(" ")), strict=True))
    return Weights(tuple(bias), threshold, least_glance, _Glance(known), by_feature, tuple(lines))
