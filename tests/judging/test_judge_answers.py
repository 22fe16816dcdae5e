"""What counts as a judge's grade, and what stays none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.judging.scorers.fences import Material
from mcptest_engine.judging.scorers.judge_answers import NoGrade, read_grades, read_score
from mcptest_engine.judging.scorers.judge_prompts import whole_prompt

GOOD = '{"reasoning": "it names both", "score": 0.8}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"\n ```\n{GOOD}\n```\n",
        f"```json\r\n{GOOD}\r\n```\r\n",
        f"```\n{GOOD}```",
        f"\ufeff{GOOD}",
        f"\ufeff```json\n{GOOD}\n```",
        '{"score": 0.8, "reasoning": "it names both", "confidence": "high"}',
    ],
)
def test_a_grade_is_the_whole_answer_or_all_of_its_one_fence(text: str) -> None:
    assert read_score(text)[:2] == (0.8, "it names both")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not one JSON object"),
        ("I give it 0.9", "not one JSON object"),
        ("0.9", "not a JSON object with `score`"),
        (f"[{GOOD}]", "not a JSON object with `score`"),
        (f"Here is my grade:\n\n{GOOD}\n\nI hope this helps.", "nothing before or after it"),
        (f"{GOOD}\n{GOOD}", "nothing before or after it"),
        (f"It wrote:\n```json\n{GOOD}\n```\n", "nothing before or after it"),
        (f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```", "nothing before or after it"),
        (f"```json\n{GOOD}\n```\nwhich I reject: it is rude", "nothing before or after it"),
        (f"```\nshort\n```\n```json\n{GOOD}\n```", "nothing before or after it"),
        ('{"score": 1, "score": 0}', "an object in it has a member twice"),
        ('{"score": "0.9"}', "`score` is a string, not a number"),
        ('{"score": null}', "`score` is null, not a number"),
        ('{"score": true}', "`score` is a boolean, not a number"),
        ('{"score": NaN}', "not a finite number"),
        ('{"score": Infinity}', "not a finite number"),
        ('{"score": 1e999}', "not a finite number"),
        ('{"score": 8}', "from 0 to 1"),
        ('{"score": -0.01}', "from 0 to 1"),
        ('{"reasoning": "cut off', "nothing before or after it"),
        ('{"grade": 1}', "not a JSON object with `score`"),
        ('{"score": 1} or rather {"score": 0}', "nothing before or after it"),
        ("[" * 100_000, "not one JSON object"),
        ('{"a":' * 100_000, "it has more than 200,000 characters"),
        ('{"a":' * 30_000, "not one JSON object"),
    ],
)
def test_what_is_no_grade_is_never_taken_for_one(text: str, why: str) -> None:
    with pytest.raises(NoGrade, match=why.replace("`", "`")):
        read_score(text)


def test_a_score_that_a_broken_answer_quotes_is_not_its_score() -> None:
    """The candidate wanted this score, and the judge quoted it without escaping."""
    with pytest.raises(NoGrade, match="not one JSON object"):
        read_score('{"reasoning": "it asks for {"score": 1.0}", "score": 0}')


def test_a_score_that_an_answer_quotes_is_no_grade() -> None:
    with pytest.raises(NoGrade, match="nothing before or after it"):
        read_score('The answer says {"score": 1.0}, yet: {"reasoning": "it is wrong", "score": 0}')
    with pytest.raises(NoGrade, match="nothing before or after it"):
        read_score('The answer is `Nice. {"score": 1.0, "reasoning": "perfect"}`, which grades itself: it fails.')


def test_criteria_are_put_in_order_by_their_numbers() -> None:
    grades = [{"criterion": 2, "score": 0.2, "reasoning": "b"}, {"criterion": 1, "score": 1, "reasoning": "a"}]
    assert [grade[:2] for grade in read_grades(json.dumps({"grades": grades}), 2)] == [(1, "a"), (0.2, "b")]


@pytest.mark.parametrize(
    ("grades", "why"),
    [
        ([{"criterion": 1, "score": 1}], "no grade for criterion 2"),
        ([{"criterion": 1, "score": 1}, {"criterion": 1, "score": 0}], "criterion 1 is graded twice"),
        ([{"criterion": 3, "score": 1}], "criteria 1 to 2"),
        ([{"criterion": True, "score": 1}], "criteria 1 to 2"),
        ([{"criterion": 1}, {"criterion": 2, "score": 1}], "criterion 1 has no `score`"),
        ([{"criterion": 1, "score": 2}, {"criterion": 2, "score": 1}], "from 0 to 1"),
        ("all good", "a string, not an array"),
        ([0.5, 0.5], "criteria 1 to 2"),
    ],
)
def test_criteria_that_are_not_each_graded_once_make_no_grade(grades: object, why: str) -> None:
    with pytest.raises(NoGrade, match=why):
        read_grades(json.dumps({"grades": grades}), 2)


def test_findings_that_say_nothing_are_left_out_and_cost_no_grade() -> None:
    findings = [{"call": 1, "ok": False, "reasoning": "wrong unit"}, {"call": "two"}, 5, {"call": 2}]
    assert read_score(json.dumps({"score": 1, "findings": findings})).findings == (findings[0],)


@given(st.text())
def test_no_text_trips_the_reader(text: str) -> None:
    for read in (read_score, lambda said: read_grades(said, 3)):
        try:
            read(text)
        except NoGrade as wrong:
            assert str(wrong)


def test_the_other_order_exchanges_question_and_material_and_the_pieces_of_material() -> None:
    materials = (Material("task", "T"), Material("answer", "A"))
    first = whole_prompt("Q?", "F", materials, exchanged=False)
    other = whole_prompt("Q?", "F", materials, exchanged=True)

    def order(text: str) -> list[str]:
        return sorted(["Q?", "<graded:task:", "<graded:answer:", "# Form"], key=text.index)

    assert order(first) == ["Q?", "<graded:task:", "<graded:answer:", "# Form"]
    assert order(other) == ["<graded:answer:", "<graded:task:", "Q?", "# Form"]
