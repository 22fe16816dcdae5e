"""Reading what a judge answered: one JSON object and nothing around it. Pure.

A grade is a number from 0 to 1, written as a number. Whatever else comes is `NoGrade` with the reason: it is never taken for
something near it, since a judge that did not grade has passed nothing.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.clipping import kind_of, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.json_types import JsonDict

READ_LIMIT = 200_000
REASONING_LIMIT = 2_000
_NOT_A_NUMBER = float("nan")
_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)```", re.DOTALL | re.IGNORECASE)
_BYTE_ORDER_MARK = "\ufeff"


class NoGrade(ValueError):
    """Why an answer is no grade, in the words that the judge is told too."""


class Grade(NamedTuple):
    """One number of a judge, and why. `findings` are {"call", "ok", "reasoning"} of single calls, where they were asked for."""

    score: float
    reasoning: str
    findings: tuple[JsonDict, ...] = ()


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
            raise NoGrade(f"`criterion` of a grade is {show(number, 40)}, but there are criteria 1 to {count}")
        if number in grades:
            raise NoGrade(f"criterion {number} is graded twice")
        if "score" not in one:
            raise NoGrade(f"criterion {number} has no `score`")
        grades[number] = Grade(_score(one["score"]), _reasoning(one.get("reasoning")))
    missing = [str(number) for number in range(1, count + 1) if number not in grades]
    if missing:
        raise NoGrade(f"no grade for criterion {', '.join(missing[:10])}")
    return [grades[number] for number in range(1, count + 1)]


def _only(text: str, key: str) -> dict[str, object]:
    """The object that the answer is, which must have `key`.

    The whole answer has to be that object, alone or in one code fence: an object among other words may be quoted from the
    material, whose author may want to have that score.
    """
    if len(text) > READ_LIMIT:
        raise NoGrade(f"it has more than {READ_LIMIT:,} characters")
    text = text.strip().removeprefix(_BYTE_ORDER_MARK).strip()
    fence = _FENCE.fullmatch(text)
    try:
        value = _DECODER.decode(fence[1].strip() if fence else text)
    except NoGrade:
        raise
    except (ValueError, RecursionError):
        raise NoGrade("it is not one JSON object with nothing before or after it") from None
    if not isinstance(value, dict) or key not in value:
        raise NoGrade(f"it is not a JSON object with `{key}`")
    return value


def _unique_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object; what it says twice it does not say, since nobody knows which of the two counts."""
    told = dict(pairs)
    if len(told) < len(pairs):
        raise NoGrade("an object in it has a member twice")
    return told


_DECODER = json.JSONDecoder(parse_constant=lambda _: _NOT_A_NUMBER, object_pairs_hook=_unique_members)


def _score(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoGrade(f"`score` is {kind_of(value)}, not a number")
    if isinstance(value, float) and not isfinite(value):
        raise NoGrade("`score` is not a finite number")
    if not 0 <= value <= 1:
        raise NoGrade(f"`score` is {show(value, 40)}, but must be from 0 to 1")
    return value


def _reasoning(value: object) -> str:
    """Why, as text; a judge that gives no reason has graded all the same."""
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text) <= REASONING_LIMIT else f"{text[:REASONING_LIMIT]}…"


def _findings(written: object) -> Iterator[dict[str, object]]:
    """What is said of single calls; an entry that says nothing is left out, since only the score decides."""
    for one in written if isinstance(written, list) else ():
        if not isinstance(one, dict):
            continue
        number, ok = one.get("call"), one.get("ok")
        if isinstance(number, int) and not isinstance(number, bool) and isinstance(ok, bool):
            yield {"call": number, "ok": ok, "reasoning": _reasoning(one.get("reasoning"))}
