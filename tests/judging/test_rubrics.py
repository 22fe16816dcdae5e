"""Rubrics: reading them, and the laws of their arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.judging.rubrics import (
    Criterion,
    Leaf,
    Question,
    Rubric,
    calls_needed,
    combined,
    criteria_text,
    following,
    is_met,
    is_yes,
    outline,
    reaches,
    read_rubric,
    score_text,
    weighted_mean,
)

shares = st.floats(0, 1)
weights = st.floats(0.01, 100)
weighed = st.lists(st.tuples(shares, weights), min_size=1, max_size=12)
trees = st.recursive(
    st.builds(lambda score: {"score": score}, shares),
    lambda inner: st.builds(lambda ask, yes, no: {"ask": ask, "yes": yes, "no": no}, st.text(min_size=1), inner, inner),
    max_leaves=20,
)


def of(pairs: list[tuple[float, float]], *, threshold: float = 0.7, strict: bool = False) -> tuple[Rubric, list[float]]:
    criteria = tuple(Criterion(f"c{number}", "", weight) for number, (_, weight) in enumerate(pairs))
    return Rubric(threshold, criteria=criteria, strict=strict), [score for score, _ in pairs]


@given(weighed)
def test_a_combined_score_stays_between_the_worst_and_the_best(pairs: list[tuple[float, float]]) -> None:
    rubric, scores = of(pairs)
    assert (
        0 <= min(map(Fraction, map(repr, scores))) <= combined(rubric, scores) <= max(map(Fraction, map(repr, scores)))
    )


@given(weighed, st.data())
def test_a_better_criterion_never_makes_a_worse_score(pairs: list[tuple[float, float]], data: st.DataObject) -> None:
    rubric, scores = of(pairs)
    at = data.draw(st.integers(0, len(pairs) - 1))
    better = [*scores]
    better[at] = data.draw(st.floats(scores[at], 1))
    assert combined(rubric, better) >= combined(rubric, scores)
    for strict in (False, True):
        held = rubric._replace(strict=strict)
        assert is_met(held, better) or not is_met(held, scores)


@given(weighed, st.integers(1, 1000))
def test_weights_count_only_beside_each_other(pairs: list[tuple[float, float]], times: int) -> None:
    whole = [(score, int(weight * 100) + 1) for score, weight in pairs]
    assert weighted_mean(whole) == weighted_mean([(score, weight * times) for score, weight in whole])


@given(weighed, st.randoms())
def test_the_order_of_criteria_does_not_matter(pairs: list[tuple[float, float]], random: object) -> None:
    shuffled = [*pairs]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for strict in (False, True):
        assert is_met(*of(pairs, strict=strict)) is is_met(*of(shuffled, strict=strict))
    assert combined(*of(pairs)) == combined(*of(shuffled))


@given(st.lists(st.tuples(st.just(0.7), st.sampled_from([0.1, 0.3, 1, 3, 7])), min_size=1))
def test_a_score_of_exactly_the_threshold_passes(pairs: list[tuple[float, float]]) -> None:
    for strict in (False, True):
        assert is_met(*of(pairs, threshold=0.7, strict=strict))


def test_the_threshold_is_reached_by_decimals_and_not_by_their_binary_neighbours() -> None:
    assert is_met(*of([(0.1, 1), (0.2, 1), (0.6, 1)], threshold=0.3))
    assert not reaches(0.7 - 1e-12, 0.7)
    assert score_text(0.6999, 0.7) == "0.7, needs 0.7" or score_text(0.6999, 0.7).startswith("0.6999")


@given(weighed)
def test_strict_passes_nothing_that_the_mean_would_not(pairs: list[tuple[float, float]]) -> None:
    rubric, scores = of(pairs, strict=True)
    met = is_met(rubric, scores)
    assert met is all(reaches(score, rubric.threshold) for score in scores)
    assert not met or is_met(rubric._replace(strict=False), scores)


def test_criteria_that_weigh_nothing_score_nothing() -> None:
    assert combined(*of([(1.0, 0), (1.0, 0)])) == 0


@given(trees, st.lists(shares, min_size=20, max_size=20))
def test_a_walk_through_a_tree_ends_at_a_leaf_within_the_calls_that_were_told(tree: dict, scores: list[float]) -> None:
    rubric = read_rubric({"tree": tree})
    least, most = calls_needed(rubric)
    place, asked = rubric.tree, 0
    while isinstance(place, Question):
        place = following(place, scores[asked])
        asked += 1
    assert isinstance(place, Leaf)
    assert 0 <= place.score <= 1
    assert least <= asked <= most


@pytest.mark.parametrize(("score", "yes"), [(0, False), (0.49999, False), (0.5, True), (1, True)])
def test_a_yes_begins_at_one_half(score: float, yes: bool) -> None:
    """A yes is a judge score of at least 0.5."""
    assert is_yes(score) is yes


def test_a_tree_of_a_thousand_levels_is_read_and_outlined() -> None:
    tree: dict[str, object] = {"score": 1}
    for number in range(1000):
        tree = {"ask": f"q{number}", "yes": tree, "no": {"score": 0}}
    rubric = read_rubric({"tree": tree})
    assert calls_needed(rubric, jury=3, guarded=True) == (6, 6000)
    assert len(outline(rubric)) == 2001


def test_the_threshold_of_whoever_uses_a_rubric_comes_before_its_own() -> None:
    assert read_rubric("be kind").threshold == 0.7
    assert read_rubric("be kind", threshold=0.4).threshold == 0.4
    written = {"criteria": [{"name": "kind"}], "threshold": 0.9}
    assert read_rubric(written).threshold == 0.9
    assert read_rubric({**written, "threshold": 0}).threshold == 0
    assert read_rubric(written, threshold=0.4).threshold == 0.4


def test_a_criterion_without_a_description_is_told_by_its_name() -> None:
    rubric = read_rubric(
        {"criteria": [{"name": "kind"}, {"name": "short", "description": "under 50 words", "weight": 2}]}
    )
    assert rubric.criteria == (Criterion("kind", "kind", 1.0), Criterion("short", "under 50 words", 2))
    assert outline(rubric) == ["kind (weight 1)", "short (weight 2): under 50 words"]


def test_a_structured_rubric_reaches_scorers_as_its_json_text() -> None:
    assert criteria_text("says «hello»") == "says «hello»"
    assert criteria_text({"criteria": [{"name": "größe"}]}) == '{"criteria": [{"name": "größe"}]}'


@pytest.mark.parametrize("written", [None, 5, [], {}, {"threshold": 0.5}, {"criteria": []}])
def test_what_is_no_rubric_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="rubric"):
        read_rubric(written)


def test_how_often_a_model_is_asked_is_known_before() -> None:
    assert calls_needed(read_rubric("x"), jury=3) == (3, 3)
    assert calls_needed(read_rubric({"criteria": [{"name": "a"}, {"name": "b"}]}), guarded=True) == (2, 2)
    tree = {"ask": "a?", "yes": {"score": 1}, "no": {"ask": "b?", "yes": {"score": 0.5}, "no": {"score": 0}}}
    assert calls_needed(read_rubric({"tree": tree}), jury=2) == (2, 4)
    assert outline(read_rubric({"tree": tree})) == [
        "a?",
        "  yes: score 1",
        "  no: b?",
        "    yes: score 0.5",
        "    no: score 0",
    ]
