"""What makes a verdict: laws over whatever a wrapper may print."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.enums import Verdict
from mcptest_engine.judging.scorers.values import ScorerFault
from mcptest_engine.judging.scorers.verdicts import FIELDS, BadVerdict, read_verdict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
VERDICTS = st.fixed_dictionaries(
    {"verdict": st.sampled_from(["pass", "fail", "inconclusive"])},
    optional={
        "score": st.floats(0, 1) | st.sampled_from([0, 1]),
        "reasoning": st.text(),
        "cost_usd": st.floats(0, 1e6) | st.integers(0, 1000),
    },
)


def fault_of(printed: str | bytes) -> BadVerdict:
    with pytest.raises(BadVerdict) as wrong:
        read_verdict(printed.encode() if isinstance(printed, str) else printed)
    return wrong.value


@given(VERDICTS, st.dictionaries(st.text().filter(lambda name: name not in FIELDS), JSON, max_size=3))
def test_every_good_verdict_is_taken_as_it_is(written: dict[str, Any], extra: dict[str, Any]) -> None:
    said = read_verdict(json.dumps({**extra, **written}).encode())
    assert said.verdict == written["verdict"]
    implied = {"pass": 1.0, "fail": 0.0, "inconclusive": None}[written["verdict"]]
    assert said.score == written.get("score", implied)
    assert (said.reasoning, said.cost_usd) == (written.get("reasoning", ""), written.get("cost_usd", 0.0))
    assert said.extra == extra


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_anything_printed_is_a_verdict_or_one_told_fault(printed: bytes) -> None:
    """Never another exception, and never a pass of what does not say so."""
    try:
        said = read_verdict(printed)
    except BadVerdict as wrong:
        assert wrong.fault in {ScorerFault.NO_OUTPUT, ScorerFault.INVALID_JSON, ScorerFault.INVALID_VERDICT}
        assert "\n" not in str(wrong)
    else:
        assert json.loads(printed)["verdict"] == said.verdict
        assert said.score is None or 0 <= said.score <= 1


@given(VERDICTS, st.sampled_from(FIELDS), JSON)
def test_a_wrong_field_is_named(written: dict[str, Any], field: str, value: Any) -> None:
    sound = {
        "verdict": isinstance(value, str) and value in set(Verdict) - {Verdict.SKIP},
        "score": type(value) in (int, float) and 0 <= value <= 1,
        "reasoning": isinstance(value, str),
        "cost_usd": type(value) in (int, float) and 0 <= value <= 1e15,
    }[field]
    printed = json.dumps({**written, field: value})
    if sound:
        read_verdict(printed.encode())
        return
    wrong = fault_of(printed)
    assert wrong.fault is ScorerFault.INVALID_VERDICT
    assert f"`{field}`" in str(wrong)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["score", "cost_usd"])
def test_what_no_score_can_be_is_refused_by_name(number: float, field: str) -> None:
    """Python's own `json` writes NaN, so that a wrapper may."""
    wrong = fault_of(json.dumps({"verdict": "pass", field: number}))
    assert wrong.fault is ScorerFault.INVALID_VERDICT
    assert str(wrong).startswith(f"printed an invalid verdict: `{field}` is ")


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ('{"verdict": "fail", "verdict": "pass"}', "`verdict` comes twice"),
        ('{"verdict": "pass", "score": true}', "`score` is a boolean, not a number from 0 to 1"),
        ('{"verdict": "pass", "score": 1.5}', "`score` is 1.5, not a number from 0 to 1"),
        ('{"verdict": "pass", "score": "0.5"}', "`score` is a string, not a number from 0 to 1"),
        ('{"verdict": "PASS"}', "`verdict` is `PASS`, not `pass`, `fail` or `inconclusive`"),
        ('{"verdict": "skip"}', "`verdict` is `skip`, not `pass`, `fail` or `inconclusive`"),
        ('{"verdict": null}', "`verdict` is null, not `pass`, `fail` or `inconclusive`"),
        ("{}", "`verdict` is missing"),
        ('{"verdict": "pass", "cost_usd": -1}', "`cost_usd` is -1, not a number from 0 to 1e+15"),
        ('{"verdict": "pass", "reasoning": ["a"]}', "`reasoning` is an array, not a text"),
    ],
)
def test_the_words_name_the_field_and_what_it_is(printed: str, told: str) -> None:
    assert str(fault_of(printed)) == f"printed an invalid verdict: {told}"


def test_a_misspelt_verdict_hints_at_the_word() -> None:
    assert fault_of('{"verdict": "passed"}').hint == "did you mean `pass`?"
    assert fault_of('{"verdct": "pass"}').hint == "did you mean `verdict`?"


def test_a_document_that_is_no_object_is_no_verdict() -> None:
    assert str(fault_of('["pass"]')) == "printed an array where one JSON object is expected"


def test_a_field_of_the_platforms_own_may_come_twice() -> None:
    """Only what decides must be plain."""
    assert read_verdict(b'{"verdict": "pass", "x": {"verdict": 1, "verdict": 2}, "y": 1, "y": 2}').extra["y"] == 2


@pytest.mark.parametrize("field", ["score", "cost_usd"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_of_five_thousand_digits_is_told_by_its_field(field: str, sign: str) -> None:
    wrong = fault_of(f'{{"verdict": "pass", "{field}": {sign}{"9" * 5_000}}}')
    assert wrong.fault is ScorerFault.INVALID_VERDICT
    assert str(wrong) == f"printed an invalid verdict: `{field}` is an integer of 5,000 digits"
