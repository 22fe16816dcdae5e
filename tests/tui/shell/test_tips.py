"""Tips: each told once, when it helps; never where none is wanted."""

from __future__ import annotations

import json

import pytest

from mcptest_tui.actions import by_id
from mcptest_tui.config import config_file
from mcptest_tui.places import state_file
from mcptest_tui.tips import TIPS, TipLine
from mcptest_tui.widgets.status_bar import StatusBar
from tests.tui.pictures import rows_of
from tests.tui.waiting import until, until_mode

pytestmark = pytest.mark.anyio


@pytest.fixture
def none_told(place):
    """A person who has never seen the workbench."""
    state_file().unlink()


def told(app):
    """The tips that were told, in order."""
    assert not [notice for notice in app._notifications if notice.message.startswith("tip: ")]
    return [str(line.content) for screen in app.work_screens() for line in screen.query(TipLine)]


def test_there_are_five_and_their_keys_are_the_registrys():
    assert len(TIPS) == 5
    assert {name for _, *actions in TIPS.values() for name in actions} <= set(by_id())


async def test_the_first_failure_tells_which_key_shows_the_difference_and_the_second_tells_nothing(
    workbench, demo, none_told
):
    demo.write_text(demo.read_text(encoding="utf-8").replace("operational }", "broken }"), encoding="utf-8")
    async with workbench() as pilot:
        for _ in range(2):
            await pilot.press("a")
            await until(pilot, lambda: pilot.app.store.counts["fail"] == 1 and not pilot.app.store.progress.busy)
        assert told(pilot.app) == ["tip: n goes to the failing test, ⏎ opens its result; there ] shows the difference"]
    assert json.loads(state_file().read_text(encoding="utf-8"))["tips"] == ["failure"]
    async with workbench() as pilot:
        await pilot.press("a")
        await until(pilot, lambda: pilot.app.store.counts["pass"] == 14 and not pilot.app.store.progress.busy)
        assert not told(pilot.app)


async def test_without_a_server_nothing_is_told_of_its_tools(workbench, place, none_told):
    async with workbench() as pilot:
        pilot.app.go("servers")
        await until_mode(pilot, "servers")
        await until(pilot, lambda: "no server yet" in "\n".join(rows_of(pilot.app)))
        assert not told(pilot.app)


async def test_a_mode_has_its_tip_at_the_first_look(workbench, demo, none_told):
    async with workbench() as pilot:
        pilot.app.go("edit")
        await until(pilot, lambda: told(pilot.app))
        assert len(told(pilot.app)) == 1
        pilot.app.go("tests")
        await until(pilot, lambda: not told(pilot.app))  # its keys are those of the editor
        pilot.app.go("edit")
        await pilot.pause()
        assert not told(pilot.app)


async def test_no_tip_is_told_of_what_is_not_there_yet(workbench, place, none_told):
    """Each is told once: here neither a file is open nor anything proposed."""
    async with workbench(ready=False) as pilot:
        for mode in ("edit", "review"):
            pilot.app.go(mode)
            await until_mode(pilot, mode)
            await pilot.pause()
            assert not told(pilot.app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (50, 14)], ids=str)
async def test_a_tip_has_rows_of_its_own_and_goes_with_escape(workbench, demo, none_told, size):
    """It points to what is shown, so it lies over nothing: what stands above it has fewer rows for as long as it is there."""
    async with workbench(size=size) as pilot:
        app = pilot.app
        app.go("edit")
        await until(pilot, lambda: told(app))
        line, body = app.screen.query_one(TipLine), app.screen.query_one("#body")
        await until(pilot, lambda: line.region.height and body.region.bottom == line.region.y, what="a row of its own")
        assert line.region.bottom == app.screen.query_one(StatusBar).region.y
        assert told(app)[0] == " ".join("".join(rows_of(app)[line.region.y : line.region.bottom]).split())
        await pilot.press("escape")
        await until(pilot, lambda: not told(app) and body.region.bottom == app.screen.query_one(StatusBar).region.y)
        assert app.current_mode == "edit"


async def test_a_tip_goes_with_the_first_key_after_its_time(workbench, demo, none_told, monkeypatch):
    """Nothing is drawn while nobody is there, and who comes back later has not missed it."""
    async with workbench() as pilot:
        app = pilot.app
        app.go("edit")
        await until(pilot, lambda: told(app), what="the tip")
        await pilot.press("right")
        assert told(app)
        app.go("tests")
        monkeypatch.setattr("mcptest_tui.tips.SECONDS", 0.01)
        app.go("servers")
        await until(pilot, lambda: told(app) and app.tips._is_due, what="the tip's time")
        assert told(app)
        await pilot.press("down")
        await until(pilot, lambda: not told(app), what="the tip to go")


async def test_none_is_told_where_none_is_wanted(workbench, demo, none_told):
    config_file().parent.mkdir(parents=True)
    config_file().write_text("tips: false\n", encoding="utf-8")
    async with workbench() as pilot:
        await pilot.press("a")
        await until(pilot, lambda: pilot.app.store.counts["pass"] == 15 and not pilot.app.store.progress.busy)
        pilot.app.go("edit")
        await pilot.pause()
        assert not told(pilot.app)
    assert not state_file().exists()
