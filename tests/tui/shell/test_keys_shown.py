"""Keys that are shown work, and keys that work are shown: on every screen and in every pane."""

from __future__ import annotations

import pytest
from textual.app import App

from mcptest_tui.actions import by_id
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.help_panel import about, rows_of
from mcptest_tui.widgets.footer import hints_of, is_typed
from tests.tui.servers.driving import connected, form_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio

LEAVES = {"app.quit", "app.suspend", "open.external", "edit.external"}
"""Actions that give the terminal to something else."""
OF_THE_PANE = {"app.back", "app.help"}
"""Actions of the app that do another thing in another pane."""
LASTING = {"default"}


async def panes_of(pilot, mode):
    """Every widget of a mode's screen that can have the focus."""
    pilot.app.go(mode)
    await until(pilot, lambda: pilot.app.current_mode == mode and pilot.app.screen.focused is not None)
    return [widget for widget in pilot.app.screen.focus_chain if widget.display]


async def rested(pilot):
    """What a key began has ended, but for what the app does all its life."""
    await until(pilot, lambda: not pilot.app.key_queue.is_typing)
    await until(pilot, lambda: all(one.is_finished or one.group in LASTING for one in pilot.app.workers))
    await pilot.pause()


async def settled(pilot, mode, pane):
    """Back in the pane, whatever a key has opened."""
    app = pilot.app
    if app.current_mode == mode and len(app.screen_stack) == 1 and pane.has_focus:
        return True
    while len(app.screen_stack) > 1:
        app.pop_screen()
        await pilot.pause()
    app.go(mode)
    await pilot.pause()
    if pane.focusable:
        pane.focus()
        await pilot.pause()
    return pane.has_focus


async def not_carried_out(*_):
    """In the place of what an action does."""
    return True


def is_of_the_app(row):
    """Whether it does the same wherever the focus is, and so is carried out in one pane."""
    return isinstance(row.node, App) and row.binding.id not in OF_THE_PANE and "screen." not in row.binding.action


def check_what_is_listed(app):
    """What works is in the help of the pane, and the footer names no key that would be typed."""
    listed = {row.binding.id for row in rows_of(app.screen).values()}
    assert isinstance(app.screen, WorkScreen)
    works = {
        found.binding.id
        for key, found in app.screen.active_bindings.items()
        if found.enabled and not is_typed(app.screen, key)
    }
    assert {name for name in works if name in by_id()} <= listed
    assert not [key for hint in hints_of(app.screen) for key in hint.keys if is_typed(app.screen, key)]


async def test_every_key_that_is_shown_does_its_action_and_every_one_that_works_is_shown(workbench, demo, monkeypatch):
    """Pressed, each in each pane of each mode: what it names is done, or says that there is nothing to do."""
    async with workbench(size=(120, 40)) as pilot:
        app = pilot.app
        await app.engine_ready.wait()
        done_before = set()
        for mode in ("tests", "edit", "servers", "review", "traffic", "agents"):
            for pane in await panes_of(pilot, mode):
                if not await settled(pilot, mode, pane):
                    continue
                check_what_is_listed(app)
                names = {row.binding.id: row.keys[0] for row in rows_of(app.screen).values() if row.enabled}
                for name, key in names.items():
                    if name not in by_id() or name in LEAVES or not await settled(pilot, mode, pane):
                        continue
                    now = {row.binding.id: row for row in rows_of(app.screen).values() if row.enabled}
                    if name not in now:
                        continue
                    app.problems.actions.clear()
                    with monkeypatch.context() as patch:
                        if name in done_before and is_of_the_app(now[name]):
                            patch.setattr(app, "_dispatch_action", not_carried_out)
                        await pilot.press(key)
                        await rested(pilot)
                    done_before.add(name)
                    done = {by_id()[one][1].action for one in app.problems.actions if one in by_id()}
                    assert by_id()[name][1].action in done, f"{key} of {pane} in {mode} did not do {name}"
        assert app.problems.last is None


async def test_the_help_of_a_text_names_no_key_that_is_typed_there(workbench, demo):
    async with workbench() as pilot:
        app = pilot.app
        app.go("edit", path=str(demo))
        await until(pilot, lambda: app.current_mode == "edit" and app.screen.current is not None)
        app.screen.current.area.focus()
        await pilot.pause()
        assert "^g explains" in about(app.screen)
        screen = await connected(pilot, "demo")
        await form_of(pilot, screen, "get_weather")
        assert "alt+a adds an item" in about(screen)
        assert "^r sends" in about(screen)
        await pilot.press("down")  # on a choice nothing is typed
        assert "r sends" in about(screen)
        assert "^r sends" not in about(screen)
