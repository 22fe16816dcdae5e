"""`llm-judge` among other matchers: what is undecided stays so only where nothing else decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.judging.assertions import SECRET_DIFFERS, judge_assertions
from mcptest_engine.judging.matchers import Context, Undecided, compile_matcher
from mcptest_engine.judging.opinions import Answer, Opinions

ASK = {"llm-judge": {"rubric": "is kind"}}
YES, NO = {"exact": "x"}, {"exact": "y"}


def same(value: Any) -> Any:
    return value


def test_what_hangs_on_a_model_is_open_until_it_has_spoken() -> None:
    opinions = Opinions(same)
    (row,) = judge_assertions([{"target": "a", "matcher": ASK}], {"a": "x"}, opinions=opinions)
    assert (row.passed, row.message) == (None, "assertion 1 (`a`) is not judged yet")
    (question,) = opinions.waiting.values()
    assert (question.argument, question.text) == (ASK["llm-judge"], "x")
    opinions.answer(question, Answer(False, "too rude", {"by": "judge", "models": []}))
    (row,) = judge_assertions([{"target": "a", "matcher": ASK}], {"a": "x"}, opinions=opinions)
    assert (row.passed, row.message) == (False, "assertion 1 (`a`) failed: too rude")
    assert row.judgement == {"by": "judge", "models": []}
    assert not opinions.waiting


def test_without_anybody_to_ask_an_assertion_is_deferred_and_nothing_holds() -> None:
    (row,) = judge_assertions([{"target": "a", "matcher": {"not": ASK}}], {"a": "x"})
    assert (row.passed, row.message) == (None, "assertion 1 (`a`) is deferred: no model is asked here")


@pytest.mark.parametrize(
    ("matcher", "passed"),
    [
        ({"all-of": [ASK, NO]}, False),
        ({"all-of": [ASK, YES]}, None),
        ({"any-of": [ASK, YES]}, True),
        ({"any-of": [ASK, NO]}, None),
        ({"not": {"all-of": [ASK, NO]}}, True),
        ({"not": {"any-of": [ASK, YES]}}, False),
        ({"not": {"any-of": [ASK, NO]}}, None),
    ],
)
def test_what_is_decided_without_a_model_asks_none(matcher: dict[str, Any], passed: bool | None) -> None:
    """Kleene's logic: unknown and false is false, unknown or true is true, not unknown is unknown."""
    (row,) = judge_assertions([{"target": "a", "matcher": matcher}], {"a": "x"}, opinions=Opinions(same))
    assert row.passed is passed


def test_each_and_some_ask_about_every_element_at_once() -> None:
    for name in ("each", "some"):
        opinions = Opinions(same)
        judge_assertions([{"target": "a", "matcher": {name: ASK}}], {"a": ["x", {"k": 1}, "x"]}, opinions=opinions)
        assert [question.text for question in opinions.waiting.values()] == ["x", '{"k": 1}']


def test_of_what_is_absent_nobody_is_asked() -> None:
    opinions = Opinions(same)
    rows = judge_assertions(
        [{"target": "b.c", "matcher": ASK}, {"target": "a[*].x", "matcher": ASK}], {"a": [{}]}, opinions=opinions
    )
    assert [row.passed for row in rows] == [False, False]
    assert not opinions.waiting


def test_a_model_is_told_no_secret() -> None:
    def masked(value: Any) -> Any:
        return value.replace("hunter2", "***") if isinstance(value, str) else value

    opinions = Opinions(masked)
    assertions = [{"target": "a", "matcher": {"all-of": [ASK, {"exact": "no"}]}}, {"target": "a", "matcher": ASK}]
    rows = judge_assertions(assertions, {"a": "it is hunter2"}, redact=masked, opinions=opinions)
    assert [question.text for question in opinions.waiting.values()] == ["it is ***"]
    assert "hunter2" not in str(rows[0].message)
    opinions.answer(next(iter(opinions.waiting.values())), Answer(False, "it is short"))
    rows = judge_assertions(assertions, {"a": "it is hunter2"}, redact=masked, opinions=opinions)
    assert rows[1].message in ("assertion 2 (`a`) failed: it is short", f"assertion 2 (`a`) failed: {SECRET_DIFFERS}")


def test_what_several_opinions_of_one_assertion_cost_is_added_up() -> None:
    opinions = Opinions(same)
    assertion = {"target": "a", "matcher": {"each": ASK}}
    judge_assertions([assertion], {"a": ["x", "y"]}, opinions=opinions)
    for number, question in enumerate(list(opinions.waiting.values())):
        models = [{"model": "m", "calls": 1, "tokens": 10, "cost_usd": 0.1}]
        opinions.answer(question, Answer(number == 0, "words", {"verdict": f"v{number}", "models": models}))
    (row,) = judge_assertions([assertion], {"a": ["x", "y"]}, opinions=opinions)
    assert row.judgement == {"verdict": "v1", "models": [{"model": "m", "calls": 2, "tokens": 20, "cost_usd": 0.2}]}


matchers = st.recursive(
    st.sampled_from([ASK, YES, NO]),
    lambda inner: st.one_of(
        st.builds(lambda one: {"not": one}, inner),
        st.builds(lambda many: {"all-of": many}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda many: {"any-of": many}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=8,
)


@given(matchers)
def test_a_decision_without_a_model_is_the_one_that_any_model_would_have_led_to(matcher: dict[str, Any]) -> None:
    """Never a pass that an opinion could have turned into a failure."""

    def holds(said: Answer | None) -> bool | None:
        opinions = Opinions(same)
        check = compile_matcher(matcher, Context(opinions=opinions))
        for _ in range(2):
            try:
                return check("x") is None
            except Undecided:
                if said is None:
                    return None
                for question in list(opinions.waiting.values()):
                    opinions.answer(question, said)
        raise AssertionError("still open")

    liked, disliked = holds(Answer(True, "")), holds(Answer(False, ""))
    assert holds(None) is None or holds(None) is liked is disliked
