"""Suites that are named when the workbench starts."""

from __future__ import annotations

import pytest

from tests.tui.pictures import text_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
TOO_LONG = "x" * 300
"""A name that the system refuses to look at, as it does with folders that are somebody else's."""


async def test_a_path_that_cannot_be_looked_at_is_told_and_the_others_are_opened(workbench, demo):
    async with workbench(paths=[TOO_LONG, str(demo)]) as pilot:
        await until(pilot, lambda: "cannot read" in text_of(pilot.app))
        assert list(pilot.app.store.documents) == [str(demo)]


async def test_a_suite_that_cannot_be_looked_at_says_why(workbench, place):
    path = str(place / TOO_LONG)
    async with workbench() as pilot:
        (document,) = await pilot.app.suites.read([path])
        assert not document.sound
        assert "name too long" in document.diagnostics[0].message.lower()
