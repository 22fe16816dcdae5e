"""What counts as demanding less."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.authoring.loosening import loosening_of

TEXT = "result.content[0].text"
NO_LEAK = {"target": TEXT, "matcher": {"not": {"contains": "secret"}}}
FINE = {"target": TEXT, "matcher": {"exact": "fine"}}
DEGRADED = {"target": TEXT, "matcher": {"exact": "degraded"}}
ONE = {"target": "result.content", "matcher": {"length": 1}}
SHAPE = {"target": "result.content", "matcher": {"schema": {"type": "array"}}}


def assert_set(*rows: Any, **more: Any) -> dict[str, Any]:
    return {"assert-set": {"assertions": list(rows), **more}}


@pytest.mark.parametrize(
    ("was", "wanted", "told"),
    [
        ([NO_LEAK], [ONE], f"drops `{TEXT}` not contains `secret`"),
        ([SHAPE, ONE], [ONE], "drops `result.content` schema"),
        ([{"target": "n", "matcher": {"lt": 5}}], [{"target": "n", "matcher": {"lt": 6}}], "drops `n` lt `5`"),
        ([{**ONE, "weight": 2}], [ONE], "drops `result.content` length `1`"),
        ([{**FINE, "transform": {"jq": "."}}], [DEGRADED], f"drops `{TEXT}` exact `fine`"),
        ([NO_LEAK], [{"target": TEXT, "matcher": {"exact": "a secret"}}], f"drops `{TEXT}` not contains `secret`"),
        ([FINE, ONE, SHAPE, NO_LEAK, NO_LEAK], [], None),
        ({"assertions": [], "max_duration_ms": 5}, {"max_duration_ms": 100}, "raises max_duration_ms from 5 to 100"),
        ({"max_duration_ms": 5, "max_response_tokens": 9}, {"max_duration_ms": 4}, "drops max_response_tokens"),
        ({"max_duration_ms": 5}, {"max_duration_ms": {"budget": 5, "mode": "warn"}}, "only warns of max_duration_ms"),
        ([assert_set(ONE, SHAPE, name="both")], [ONE], "drops `result.content` schema"),
        ([assert_set(SHAPE, name="both")], [DEGRADED], "drops the set `both`"),
        ([assert_set(ONE, threshold=0.9)], [assert_set(ONE, threshold=0.5)], "drops a set of assertions"),
        ([ONE], [assert_set(ONE, FINE, threshold=0.5)], "drops `result.content` length `1`"),
        (
            [{"target": "result.isError", "matcher": {"exact": False}}],
            [{"target": "result.isError", "matcher": {"exact": True}}],
            "accepts an error result",
        ),
    ],
)
def test_what_is_demanded_no_longer_is_told_in_one_line(was: Any, wanted: Any, told: str | None) -> None:
    lost = loosening_of(was, wanted)
    if told is None:
        assert lost is not None
        assert lost.endswith("drops 2 more")
        assert lost.count("drops") == 4
    else:
        assert lost == told


@pytest.mark.parametrize(
    ("was", "wanted"),
    [
        ([FINE], [DEGRADED]),
        ([ONE, FINE], [FINE, ONE]),
        ([{**ONE, "message": "one", "name": "n"}], {"assertions": [{**ONE, "message": "another"}]}),
        ([NO_LEAK, {"target": TEXT, "matcher": {"contains": "fin"}}], [FINE]),
        ([assert_set(ONE, SHAPE, threshold=0.5)], [SHAPE, ONE]),
        ([assert_set({**ONE, "message": "m"}, threshold=0.5)], [assert_set(ONE, threshold=0.8)]),
        ({"max_duration_ms": 100}, {"max_duration_ms": 50, "max_response_tokens": 5}),
        (None, [FINE]),
        ([], {"assertions": []}),
        ("no list", [FINE]),
    ],
)
def test_what_is_kept_moved_changed_or_pinned_down_is_no_loss(was: Any, wanted: Any) -> None:
    assert loosening_of(was, wanted) is None


def test_more_assertions_are_less_where_a_part_of_them_is_enough() -> None:
    assert loosening_of([FINE], [FINE, ONE], threshold=0.5) == (
        "adds assertions to a test that needs only 0.5 of them to hold"
    )
    assert loosening_of([FINE], [FINE, ONE], threshold=1) is None


@pytest.mark.parametrize("odd", [[None], [3], [{"target": 1, "matcher": 2}], [{"assert-set": 5}], {"assertions": 4}])
def test_what_is_no_expect_is_no_reason_to_fail(odd: Any) -> None:
    loosening_of(odd, [FINE])
    loosening_of([FINE], odd)
    loosening_of(odd, odd)
