"""From what a scorer printed to its verdict, or to what is wrong with it. Pure.

Strict on purpose: a verdict that could be read in two ways, such as one with `verdict` twice, is none.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NoReturn, TypeGuard

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.scorers.values import ScorerFault, ScorerVerdict
from mcptest_engine.servers.wire import Unreadable, json_type, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

VERDICTS = (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)
FIELDS = ("verdict", "score", "reasoning", "cost_usd")
MOST_COST = 1e15
MOST_DIGITS = 4_000
"""Digits of an integer, somewhat fewer than Python reads."""
ONLY_THE_VERDICT = "only the verdict goes to stdout: write everything else to stderr"
_KNOWN = "`pass`, `fail` or `inconclusive`"
_IMPLIED = {Verdict.PASS: 1.0, Verdict.FAIL: 0.0, Verdict.INCONCLUSIVE: None}


class BadVerdict(Exception):
    """What was printed is no verdict. `str()` is a clause without its subject: "printed no JSON: …"."""

    def __init__(self, fault: ScorerFault, clause: str, hint: str | None = None) -> None:
        super().__init__(clause)
        self.fault = fault
        self.hint = hint


def read_verdict(answer: bytes) -> ScorerVerdict:
    """The verdict that a scorer printed. Raises: BadVerdict, which names the field that is at fault."""
    if not answer.strip():
        hint = 'the verdict goes to stdout, as one JSON object: {"verdict": "pass"}'
        raise BadVerdict(ScorerFault.NO_OUTPUT, "exited with 0 and printed nothing on stdout", hint)
    members = _verdict_members(answer)
    verdict = _verdict(members)
    score = _score(members["score"]) if "score" in members else _IMPLIED[verdict]
    reasoning = members.get("reasoning", "")
    if not isinstance(reasoning, str):
        _wrong(f"`reasoning` is {json_type(reasoning)}, not a text")
    cost = _read_cost(members["cost_usd"]) if "cost_usd" in members else 0.0
    extra = {key: value for key, value in members.items() if key not in FIELDS}
    return ScorerVerdict(verdict, score, reasoning, cost, extra)


def _verdict_members(answer: bytes) -> dict[str, object]:
    """The one object that was printed."""
    try:
        value = parse(answer)
    except Unreadable as wrong:
        _check_numbers(answer)
        told = f"printed no JSON: {wrong.detail}"
        raise BadVerdict(ScorerFault.INVALID_JSON, told, _how_to_print(answer)) from None
    if not isinstance(value, dict):
        raise BadVerdict(ScorerFault.INVALID_VERDICT, f"printed {json_type(value)} where one JSON object is expected")
    _check_repeated_fields(answer)
    return value


def _how_to_print(answer: bytes) -> str:
    """What to do about output that is not JSON."""
    try:
        begins_with_mark = answer.decode().startswith("\ufeff")
    except UnicodeDecodeError:
        return "write UTF-8: for a Python program `env: { PYTHONIOENCODING: utf-8 }` on the scorer does that"
    return "write UTF-8 without a byte order mark" if begins_with_mark else ONLY_THE_VERDICT


def _check_numbers(answer: bytes) -> None:
    """What is no JSON only for a number that no score can be (Python writes NaN as it is) is told by its field."""
    try:
        value = json.loads(answer, parse_int=lambda digits: digits if len(digits) > MOST_DIGITS else int(digits))
    except (ValueError, RecursionError):
        return
    for field in ("score", "cost_usd") if isinstance(value, dict) else ():
        number = value.get(field)
        if isinstance(number, str) and len(number) > MOST_DIGITS and number.lstrip("-").isdecimal():
            _wrong(f"`{field}` is an integer of {len(number.lstrip('-')):,} digits")
        if isinstance(number, float) and not math.isfinite(number):
            _wrong(f"`{field}` is {json.dumps(number)}, which is not a JSON number")


def _check_repeated_fields(answer: bytes) -> None:
    """Raises: BadVerdict where a field that decides comes twice, since readers of JSON differ in which they take."""
    outermost: list[tuple[str, object]] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        outermost[:] = pairs  # the outermost object is read to its end last

    json.loads(answer, object_pairs_hook=note)  # it was read before
    names = [name for name, _ in outermost]
    twice = next((name for name in FIELDS if names.count(name) > 1), None)
    if twice is not None:
        _wrong(f"`{twice}` comes twice")


def _verdict(members: Mapping[str, object]) -> Verdict:
    if "verdict" not in members:
        near = next((did_you_mean(key, ["verdict"]) for key in members if did_you_mean(key, ["verdict"])), None)
        _wrong("`verdict` is missing", near or f"it must be {_KNOWN}")
    value = members["verdict"]
    if not isinstance(value, str) or value not in VERDICTS:
        _wrong_word(value)
    return Verdict(value)


def _wrong_word(value: object) -> NoReturn:
    told = f"`{one_line(value, 80)}`" if isinstance(value, str) else json_type(value)
    hint = did_you_mean(value.lower(), VERDICTS) if isinstance(value, str) else None
    _wrong(f"`verdict` is {told}, not {_KNOWN}", hint)


def _score(value: object) -> float:
    if not is_score(value):
        _wrong(f"`score` is {_value_text(value)}, not a number from 0 to 1", _LEAVE_OUT if value is None else None)
    return float(value)


def _read_cost(value: object) -> float:
    if not is_cost(value):
        _wrong(
            f"`cost_usd` is {_value_text(value)}, not a number from 0 to {MOST_COST:g}",
            _LEAVE_OUT if value is None else None,
        )
    return float(value)


_LEAVE_OUT = "leave it out where there is none"


def is_score(value: object) -> TypeGuard[float]:
    """Whether a value is a number from 0 to 1."""
    return _is_number(value) and 0 <= value <= 1


def is_cost(value: object) -> TypeGuard[float]:
    """Whether a value can be what a grading cost, in US dollars."""
    return _is_number(value) and 0 <= value <= MOST_COST


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value_text(value: object) -> str:
    return one_line(compact(value, 60), 60) if _is_number(value) else json_type(value)


def _wrong(clause: str, hint: str | None = None) -> NoReturn:
    raise BadVerdict(ScorerFault.INVALID_VERDICT, f"printed an invalid verdict: {clause}", hint)
