"""Whose wait a call's wait was, where a server answers one call after the other."""

from __future__ import annotations

from mcptest_engine.core.waits import Waits


def test_all_wait_for_the_slow_one_and_none_is_said_to_wait_for_a_quick_one() -> None:
    waits = Waits()
    quick, slow = {"tool": "quick"}, {"tool": "slow"}
    calls = [(1, quick, 0.002), (2, slow, 0.062), *((number, quick, 0.060 + number / 1000) for number in (3, 4, 5))]
    behind = [waits.note_answered(number, 0.0, called, at) for number, called, at in calls]
    assert behind == [None, {"ms": 2.0, **quick}, *({"ms": ms, **slow} for ms in (62.0, 63.0, 64.0))]
    assert waits.note_answered(6, 0.1, quick, 0.102) is None, "it was sent when all had been answered"


def test_a_call_is_not_behind_one_that_was_sent_later() -> None:
    waits = Waits()
    assert waits.note_answered(2, 0.0, {"tool": "quick"}, 0.002) is None
    assert waits.note_answered(1, 0.0, {"tool": "slow"}, 0.062) is None
