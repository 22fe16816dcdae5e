"""When events are applied: 20 times a second, 10 times in a stream, and after what a key has changed is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcptest_tui.bridge import MANY, MOST_SKIPPED, Bridge

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent


class Turns:
    """A bridge; `keys` holds what is yet to be drawn of a key."""

    def __init__(self):
        self.keys: list[str] = []
        self.applied: list[list[WorkbenchEvent]] = []
        self.bridge = Bridge(self.applied.append, lambda: bool(self.keys))

    def turn(self, events=0):
        """How many events are applied in a turn of the timer, after so many have come."""
        for number in range(events):
            self.bridge.take({"event": "case.started", "run": "r", "id": str(number)})
        self.applied.clear()
        self.bridge.flush_in_turn()
        return sum(len(events) for events in self.applied)


@pytest.fixture
def turns():
    return Turns()


def test_each_turn_applies_what_has_come(turns):
    assert [turns.turn(3), turns.turn(), turns.turn(1)] == [3, 0, 1]


def test_a_stream_is_applied_at_every_other_turn(turns):
    assert [turns.turn(MANY + 1), turns.turn(5), turns.turn(), turns.turn(5), turns.turn(1)] == [MANY + 1, 0, 5, 5, 1]


def test_what_a_key_has_changed_comes_first_but_not_for_ever(turns):
    """A key that is held down comes anew before each turn."""
    turns.keys.append("down")
    assert [turns.turn(1) for _ in range(2 * MOST_SKIPPED + 2)] == [0, 0, MOST_SKIPPED + 1] * 2
    turns.keys.clear()
    assert turns.turn(1) == 1


def test_a_flush_waits_for_nothing(turns):
    turns.keys.append("down")
    assert turns.turn(2) == 0
    turns.bridge.flush()
    assert [len(events) for events in turns.applied] == [2]
