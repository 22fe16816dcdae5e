"""Rubrics: what an answer is graded by, and the arithmetic from a judge's numbers to one score. Pure.

A rubric is a text; or criteria, each with a weight; or a tree of questions whose leaves are scores. Numbers are taken as the
decimals that they were written as (`judging/scoring.py`), so that a score of exactly the threshold passes.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.judging.scoring import apart, exact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping

DEFAULT_THRESHOLD = 0.7
YES = 0.5
"""From which score on a judge's answer to a question of a tree is a yes."""
_ZERO = Fraction(0)


class Criterion(NamedTuple):
    """One thing that is asked of an answer; `description` is what the judge is told of it."""

    name: str
    description: str
    weight: float = 1.0


class Leaf(NamedTuple):
    """Where a way through a tree ends."""

    score: float


class Question(NamedTuple):
    """A place of a tree: a question with the answer yes or no, and where each leads."""

    ask: str
    yes: Question | Leaf
    no: Question | Leaf


class Rubric(NamedTuple):
    """What an answer is graded by: exactly one of `text`, `criteria` and `tree`. `strict`: every criterion must be met."""

    threshold: float = DEFAULT_THRESHOLD
    text: str | None = None
    criteria: tuple[Criterion, ...] = ()
    tree: Question | Leaf | None = None
    strict: bool = False


def read_rubric(written: object, *, threshold: float | None = None) -> Rubric:
    """The rubric of a suite: a text, or a mapping. `threshold` comes before the one that the mapping may have.

    Raises: ValueError for what is no rubric; the loader has ruled that out.
    """
    if isinstance(written, str):
        return Rubric(threshold=DEFAULT_THRESHOLD if threshold is None else threshold, text=written)
    if not isinstance(written, dict):
        raise ValueError("a rubric is a text, or a mapping with `criteria` or `tree`")
    needed = written.get("threshold", DEFAULT_THRESHOLD) if threshold is None else threshold
    if written.get("criteria"):
        criteria = tuple(
            Criterion(one["name"], one.get("description") or one["name"], one.get("weight", 1.0))
            for one in written["criteria"]
        )
        return Rubric(threshold=needed, criteria=criteria, strict=bool(written.get("strict")))
    if "tree" in written:
        return Rubric(threshold=needed, tree=_branch(written["tree"]))
    raise ValueError("a structured rubric has `criteria` or `tree`")


def criteria_text(written: object) -> str:
    """A rubric as a scorer is told it: a text as it is, anything else as its JSON text."""
    return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)


def weighted_mean(weighed: Sequence[tuple[float, float]]) -> Fraction:
    """The mean of scores by their weights, each pair (score, weight); 0 where nothing weighs."""
    total = sum((exact(weight) for _, weight in weighed), _ZERO)
    if not total:
        return _ZERO
    return sum((exact(score) * exact(weight) for score, weight in weighed), _ZERO) / total


def reaches(score: Fraction | float, threshold: float) -> bool:
    """Whether a score is good enough; the threshold itself is."""
    return (score if isinstance(score, Fraction) else exact(score)) >= exact(threshold)


def is_met(rubric: Rubric, scores: Sequence[float]) -> bool:
    """Whether criteria with these scores, in the rubric's order, make a pass."""
    if rubric.strict and not all(reaches(score, rubric.threshold) for score in scores):
        return False
    return reaches(combined(rubric, scores), rubric.threshold)


def combined(rubric: Rubric, scores: Sequence[float]) -> Fraction:
    """The score of criteria with these scores, in the rubric's order."""
    weights = [criterion.weight for criterion in rubric.criteria]
    return weighted_mean(list(zip(scores, weights, strict=True)))


def is_yes(score: float) -> bool:
    """Whether a judge's score of a question is a yes."""
    return reaches(score, YES)


def following(question: Question, score: float) -> Question | Leaf:
    """Where a judge's score leads from a question."""
    return question.yes if is_yes(score) else question.no


def calls_needed(rubric: Rubric, *, jury: int = 1, guarded: bool = False) -> tuple[int, int]:
    """The least and the greatest number of times that a model is asked, when every answer is a grade."""
    times = max(jury, 1) * (2 if guarded else 1)
    if rubric.tree is None:
        return times, times
    least, most = _depths(rubric.tree)
    return least * times, most * times


def score_text(score: Fraction | float, threshold: float) -> str:
    """`0.65, needs 0.7`: as many digits as tell the two apart."""
    value = score if isinstance(score, Fraction) else exact(score)
    limit = exact(threshold)
    if value == limit:
        return f"{float(value):.3g}, needs {float(limit):.3g}"
    shown, needed = apart(value, limit)
    return f"{shown}, needs {needed}"


def outline(rubric: Rubric) -> list[str]:
    """The rubric in lines, for a plan that is shown before anything is asked."""
    if rubric.text is not None:
        return [rubric.text]
    if rubric.tree is not None:
        return list(_tree_lines(rubric.tree, ""))
    rows = [
        f"{one.name} (weight {one.weight:g})" + (f": {one.description}" if one.description != one.name else "")
        for one in rubric.criteria
    ]
    return [*rows, "every criterion must be met"] if rubric.strict else rows


def _branch(written: Mapping[str, object]) -> Question | Leaf:
    """Read from the leaves up, without recursion: a tree may be as deep as YAML lets it be."""
    done: dict[int, Question | Leaf] = {}
    waiting: list[JsonMapping] = [written]
    while waiting:
        branch = waiting[-1]
        if "ask" not in branch:
            done[id(branch)] = Leaf(branch["score"])
        elif id(branch["yes"]) in done and id(branch["no"]) in done:
            done[id(branch)] = Question(branch["ask"], done[id(branch["yes"])], done[id(branch["no"])])
        else:
            waiting += [branch["no"], branch["yes"]]
            continue
        waiting.pop()
    return done[id(written)]


def _depths(tree: Question | Leaf) -> tuple[int, int]:
    found: list[int] = []
    waiting: list[tuple[Question | Leaf, int]] = [(tree, 0)]
    while waiting:
        place, depth = waiting.pop()
        if isinstance(place, Leaf):
            found.append(depth)
        else:
            waiting += [(place.yes, depth + 1), (place.no, depth + 1)]
    return min(found), max(found)


def _tree_lines(tree: Question | Leaf, lead: str) -> list[str]:
    lines: list[str] = []
    waiting: list[tuple[Question | Leaf, str, int]] = [(tree, lead, 0)]
    while waiting:
        place, word, depth = waiting.pop()
        margin = "  " * depth + word
        if isinstance(place, Leaf):
            lines.append(f"{margin}score {place.score:g}")
            continue
        lines.append(f"{margin}{place.ask}")
        waiting += [(place.no, "no: ", depth + 1), (place.yes, "yes: ", depth + 1)]
    return lines
