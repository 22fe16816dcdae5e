"""From an empty folder to a judged suite, as a person does it: typing, with typos, completion and fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tui.edit.typing import checked, typed
from tests.tui.pictures import text_of
from tests.tui.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio

WANTED = """\
name: weather
servers:
  demo: { command: [mcptest, mock, --preset, demo] }
tools:
  - name: the weather in Oslo
    tool: get_weather
    args: { city: Oslo, unit: celsius }
    expect:
      - { target: "result.structuredContent.city", matcher: { exact: Oslo } }
      - { target: "result.isError", matcher: { not: { exact: true } } }
"""


async def test_a_suite_is_written_from_nothing_and_judged(place: Path, workbench: Callable[..., Any]) -> None:
    async with workbench(size=(100, 30)) as pilot:
        app = pilot.app
        await until(pilot, lambda: app.current_mode == "home", what="the first screen")
        await pilot.press("f2", "ctrl+n")
        await until(pilot, lambda: "A new suite" in text_of(app))
        await pilot.press("enter")
        screen = await _editor(pilot)
        assert not (place / "mcptest.yml").exists()  # nothing is written before a save
        await typed(pilot, "nmae: weather\nser")
        await pilot.press("tab")
        assert screen.current.area.lines[:3] == ["nmae: weather", "servers:", "  "]
        await typed(pilot, "demo: { com")
        await pilot.press("tab")
        await typed(pilot, "mcptest, mock, --preset, demo")
        await pilot.press("end", "enter", "backspace")
        await typed(pilot, "too")
        await pilot.press("tab")
        await typed(pilot, "name: the weather in Oslo\ntol: ")
        await checked(pilot)
        await pilot.press("f9")  # tol -> tool
        await checked(pilot)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: (place / "mcptest.yml").exists() and app.store.documents, what="the save")
        assert app.current_mode == "edit"
        await pilot.press("end", "ctrl+@")
        await until(pilot, lambda: "get_weather" in text_of(app), what="the tools of the server")
        await typed(pilot, "get_w")
        await pilot.press("tab", "enter")
        await typed(pilot, "arg")
        await pilot.press("tab")
        await typed(pilot, "city: Oslo, uni")
        await pilot.press("tab", "tab", "end", "enter")
        await typed(pilot, "exp")
        await pilot.press("tab")
        assert screen.assistance.completing.is_open  # what a list of assertions begins with
        await pilot.press("tab")
        await typed(pilot, "result.str")
        await pilot.press("down", "down", "tab", "end", *["left"] * 4)
        await typed(pilot, "exa")
        await pilot.press("tab")
        await typed(pilot, "Oslo")
        await pilot.press("end", "enter")
        await typed(pilot, "- ")
        await pilot.press("tab")
        await typed(pilot, "result.isE")
        await pilot.press("tab", "end", *["left"] * 4, "ctrl+@")
        await pilot.press("tab")  # what is first for this target, as servers may leave `isError` out
        await checked(pilot)
        for _ in range(2):  # what is left to fix: nmae
            await pilot.press("f9")
            await checked(pilot)
        assert screen.current.text == WANTED.rstrip("\n")
        assert screen.current.problems == []
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.store.counts["pass"] == 1 and not app.store.progress.busy, what="the verdict")
        await until(pilot, lambda: "✓    5   - name: the weather in Oslo" in text_of(app))
        assert (place / "mcptest.yml").read_text() == WANTED.rstrip("\n")


async def _editor(pilot: Any) -> Any:
    screen = pilot.app.screen_stack[0]
    await until(pilot, lambda: screen.MODE == "edit" and screen.current is not None and screen.is_current)
    return screen
