"""Reading what a judge answered: lenient about what stands around the JSON, strict about what counts as a grade. Pure.

A grade is a number from 0 to 1, written as a number. Whatever else comes is `NoGrade` with the reason: it is never taken for
something near it, since a judge that did not grade has passed nothing.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import kind_of, show

if TYPE_CHECKING:
    from collections.abc import Iterator

READ_LIMIT = 200_000
REASONING_LIMIT = 2_000
_NOT_A_NUMBER = float("nan")


class NoGrade(ValueError):
    """Why an answer is no grade, in the words that the judge is told too."""


class Grade(NamedTuple):
    """One number of a judge, and why. `findings` are {"call", "ok", "reasoning"} of single calls, where they were asked for."""

    score: float
    reasoning: str
    findings: tuple[dict[str, Any], ...] = ()


def read_score(text: str) -> Grade:
    """The grade of an answer of the form {"score", "reasoning"}. Raises: NoGrade."""
    found = _only(text, "score")
    return Grade(_score(found["score"]), _reasoning(found.get("reasoning")), tuple(_findings(found.get("findings"))))


def read_grades(text: str, count: int) -> list[Grade]:
    """The grades of `count` criteria, in the order of their numbers. Raises: NoGrade."""
    written = _only(text, "grades")["grades"]
    if not isinstance(written, list):
        raise NoGrade(f"`grades` is {kind_of(written)}, not an array")
    grades: dict[int, Grade] = {}
    for one in written:
        number = one.get("criterion") if isinstance(one, dict) else None
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
            raise NoGrade(f"`criterion` of a grade is {show(number, 40)}, and there are criteria 1 to {count}")
        if number in grades:
            raise NoGrade(f"criterion {number} is graded twice")
        if "score" not in one:
            raise NoGrade(f"criterion {number} has no `score`")
        grades[number] = Grade(_score(one["score"]), _reasoning(one.get("reasoning")))
    missing = [str(number) for number in range(1, count + 1) if number not in grades]
    if missing:
        raise NoGrade(f"no grade for criterion {', '.join(missing[:10])}")
    return [grades[number] for number in range(1, count + 1)]


def _only(text: str, key: str) -> dict[str, Any]:
    """The one object of the answer that has `key`; two that say the same are one."""
    found: list[dict[str, Any]] = []
    for one in _objects(text[:READ_LIMIT]):
        if key in one and not any(_same(one, other) for other in found):
            found.append(one)
    if not found:
        raise NoGrade(f"it holds no JSON object with `{key}`")
    if len(found) > 1:
        raise NoGrade(f"it holds {len(found)} different grades")
    return found[0]


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand in a text, outermost only; fences and prose around them do not matter.

    Nothing is looked for inside an object that is broken: it may quote a score that somebody wants to have.
    """
    decoder = json.JSONDecoder(parse_constant=lambda _: _NOT_A_NUMBER, object_pairs_hook=_members)
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except NoGrade:
            raise
        except (ValueError, RecursionError):
            raise NoGrade("its JSON is broken") from None
        yield value
        at = text.find("{", end)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; what it says twice it does not say, since nobody knows which of the two counts."""
    told = dict(pairs)
    if len(told) < len(pairs):
        raise NoGrade("an object in it has a member twice")
    return told


def _score(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoGrade(f"`score` is {kind_of(value)}, not a number")
    if isinstance(value, float) and not isfinite(value):
        raise NoGrade("`score` is not a finite number")
    if not 0 <= value <= 1:
        raise NoGrade(f"`score` is {show(value, 40)}, and has to be from 0 to 1")
    return value


def _reasoning(value: object) -> str:
    """Why, as text; a judge that gives no reason has graded all the same."""
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text) <= REASONING_LIMIT else f"{text[:REASONING_LIMIT]}…"


def _findings(written: object) -> Iterator[dict[str, Any]]:
    """What is said of single calls; an entry that says nothing is left out, since only the score decides."""
    for one in written if isinstance(written, list) else ():
        if not isinstance(one, dict):
            continue
        number, ok = one.get("call"), one.get("ok")
        if isinstance(number, int) and not isinstance(number, bool) and isinstance(ok, bool):
            yield {"call": number, "ok": ok, "reasoning": _reasoning(one.get("reasoning"))}
