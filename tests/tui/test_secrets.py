"""The workbench shows no value of the environment, whatever a server does with what it was given."""

from __future__ import annotations

import pytest

from tests.leaks.canaries import ALL, files_with, found_in
from tests.leaks.conftest import listener, listening  # noqa: F401  (fixtures)
from tests.leaks.test_commands import write_suite
from tests.tui.pictures import text_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio


async def test_no_screen_of_a_run_or_of_its_servers_shows_a_value_of_the_environment(
    workbench,
    place,
    listener,  # noqa: F811
    monkeypatch,
):
    url, _ = listener
    write_suite(place, url)
    for name, value in ALL.items():
        monkeypatch.setenv(name, value)
    seen = []
    async with workbench(size=(200, 60)) as pilot:
        app = pilot.app

        async def look(*keys):
            await pilot.press(*keys)
            await pilot.pause()
            seen.append(text_of(app))

        app.watch_mode = "off"
        app.runs.start(None)
        await until(pilot, lambda: app.store.counts["fail"] == 6 and not app.store.progress.busy, what="six failures")
        for _ in range(8):
            await look("down")
            await look("enter")
            await look("G")
            await look("escape")
        await look("3")
        await until(pilot, lambda: "local" in text_of(app), what="the servers")
        for _ in range(2):
            await look("r")
            await until(pilot, lambda: "t-[REDACTED]" in text_of(app) or "echo" in text_of(app), what="its tools")
            await look("down")
        for mode in "45126":
            await look(mode)
            await look("down")
    shown = "\n".join(seen)
    assert "it echoes" in shown
    assert "[REDACTED]" in shown
    assert found_in(shown) == []
    assert files_with(place.parent) == []
