"""A message of the status bar goes when what it says is over, and takes no other with it."""

from __future__ import annotations

import pytest

from tests.tui.pictures import rows_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio


def status(pilot):
    """The row above the footer."""
    return rows_of(pilot.app)[-2]


async def test_what_is_run_of_a_filter_is_told_until_the_run_ends(workbench, demo):
    async with workbench() as pilot:
        app = pilot.app
        await until(pilot, lambda: app.store.rows)
        await pilot.press("slash", *"verbose", "enter", "a")
        await until(pilot, lambda: app.store.counts["pass"] == 1 and not app.store.progress.busy, what="the run")
        await until(pilot, lambda: "that the filter shows" not in status(pilot), what="the message to go")
        assert status(pilot).split()[:2] == ["16", "tests"]


async def test_what_is_over_takes_no_other_message_with_it(workbench, demo):
    async with workbench() as pilot:
        app = pilot.app
        over: list[bool] = []
        app.messages.show("the first", is_over=lambda: bool(over))
        app.refresh_status()
        assert "the first" in status(pilot)
        app.messages.show("the second")
        over.append(True)
        app.refresh_status()
        assert "the second" in status(pilot)
        app.messages.show("the third", is_over=lambda: bool(over))
        assert "the third" not in status(pilot)
