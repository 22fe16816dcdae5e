"""What a key draws anew: the rows that look different, no layout, and nothing that looks the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.app import App
from textual.content import Content
from textual.geometry import Region
from textual.screen import Screen

from mcptest_tui.state.test_row import STATUSES
from mcptest_tui.state.verdict_notes import Note
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.widgets.matrix_view import MatrixView
from mcptest_tui.widgets.row_list import RowList
from mcptest_tui.widgets.yaml_area import YamlArea
from tests.tui.edit.test_typing import Bare
from tests.tui.edit.typing import opened
from tests.tui.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.widget import Widget

pytestmark = pytest.mark.anyio

KEYS = (
    *("end", "backspace", "|", "backspace", "home", "x", "y", '"', "backspace", "ctrl+z", "ctrl+z", "enter", "{"),
    *("left", "right", "a", "end", "backspace", "down", "down", "home", "shift+down", "shift+down", "shift+end"),
    *("delete", "ctrl+z", "left", "pagedown", "x", "ctrl+home", "x"),
)
"""The `|` makes text of a block of what stands below it."""


class Rows(Lines):
    """A hundred rows."""

    def count(self) -> int:
        return 100

    def pieces(self, at: int, width: int) -> list[tuple[str, str]]:
        return [(f"row {at}"[:width], "")]


class Listed(App[None]):
    """A list, and nothing else."""

    CSS = "* { scrollbar-size: 1 1; }"

    def __init__(self, rows: type[Rows] = Rows) -> None:
        super().__init__()
        self.rows = rows

    def compose(self) -> Any:
        yield self.rows()


def test_a_test_in_any_state_can_be_drawn_wherever_its_state_is_shown() -> None:
    """The editor had no colour for a stopped test, and could not be drawn after a stopped run."""
    for widget, name in ((YamlArea, "yaml-area"), (RowList, "row-list"), (MatrixView, "matrix-view")):
        assert {f"{name}--{status}" for status in STATUSES} <= widget.COMPONENT_CLASSES, widget


class Columns(Rows):
    """Two columns, which are wider than the list says that they may be."""

    def pieces(self, at: int, width: int) -> list[tuple[str, str]]:
        return [(f"row {at}".ljust(width + 1), ""), ("12 ms", "")]


async def test_nothing_follows_a_column_that_was_cut() -> None:
    """The next one stood in its blanks, at the end of the name."""
    app = Listed(Columns)
    async with app.run_test(size=(20, 5)):
        assert "".join(segment.text for segment in drawn(app.query_one(Rows))[1]).split() == ["row", "1"]


def drawn(area: Widget) -> list[Any]:
    """Its rows as they would be drawn now: what was drawn before and is not to be drawn anew is taken from there."""
    return [list(strip) for strip in area.render_lines(Region(0, 0, *area.size))]


async def edited(pilot: Any) -> YamlArea:
    """The editor's text, looked at, with the focus."""
    area: YamlArea = (await opened(pilot)).current.area
    area.focus()
    await pilot.pause()
    return area


async def test_what_a_key_leaves_undrawn_looks_as_before() -> None:
    """Each time what would be drawn is what everything drawn anew gives."""
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        area = app.query_one(YamlArea)
        area.load_text("a: b\n  c: 1\n  d: {x: [1, 2]}\n" + "e: 3\n" * 20)
        area.focus()
        await pilot.pause()
        drawn(area)
        for key in KEYS:
            await pilot.press(key)
            await pilot.pause()
            kept = drawn(area)
            area._line_cache.clear()
            area._styles_cache.clear()
            assert kept == drawn(area), key
        looks: tuple[dict[str, Any], ...]
        looks = ({"squiggles": {1: [(2, 3, "error")]}}, {"hits": {0: [(0, 1)]}}, {"squiggles": {}, "hits": {}})
        for marks in looks:
            area.mark(**marks)
            kept = drawn(area)
            area._line_cache.clear()
            area._styles_cache.clear()
            assert kept == drawn(area), marks


async def test_a_long_line_that_failed_ends_with_the_sign_that_it_goes_on() -> None:
    """There is no room for what its test came to."""
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        area = app.query_one(YamlArea)
        area.load_text("a: b\n" + "c: " + "long " * 30)
        area.mark(notes={1: Note("fail", "expected 1, got 2")})
        await pilot.pause()
        assert "".join(segment.text for segment in drawn(area)[1]).rstrip().endswith("…")


async def test_the_cells_of_a_scroll_bar_that_are_left_undrawn_look_as_before() -> None:
    """A key of a long list moves the bar by less than a cell; where it moves it, no more is drawn than that."""
    app = Listed()
    async with app.run_test(size=(30, 12)) as pilot:
        rows = app.query_one(Rows)
        rows.focus()
        rows.changed()
        await pilot.pause()
        bar, lines = rows.vertical_scrollbar, []
        drawn(bar)
        for key in ("pagedown", *("down",) * 15, "end", *("up",) * 15, "home", "pagedown"):
            await pilot.press(key)
            lines.append(len(bar._styles_cache._dirty_lines))
            kept = drawn(bar)
            bar._styles_cache.clear()
            bar.refresh()
            assert kept == drawn(bar), key
        assert min(lines) == 0
        assert max(lines[2:10]) <= 4


async def test_a_letter_draws_its_row_and_lays_nothing_out(
    workbench: Callable[..., Any], demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it makes a problem, whose list is not shown while it is typed."""
    async with workbench(size=(100, 30)) as pilot:
        app, area = pilot.app, await edited(pilot)
        await pilot.press("x")  # the first one marks the file as unsaved
        await until(pilot, lambda: app.screen.current.checked == area.text)
        layouts: list[Any] = []
        rows: list[int] = []
        lay_out, draw = Screen._refresh_layout, area._render_line

        def count_layout(*args: Any, **rest: Any) -> None:
            layouts.append(args)
            lay_out(*args, **rest)

        def count_row(y: int) -> Any:
            rows.append(y)
            return draw(y)

        monkeypatch.setattr(Screen, "_refresh_layout", count_layout)
        monkeypatch.setattr(area, "_render_line", count_row)
        for key in ("x", "backspace", "backspace", "x"):
            drawn(area)
            rows.clear()
            await pilot.press(key)
            drawn(area)
            assert set(rows) <= {area.cursor_location[0] - area.scroll_offset.y}
            await until(pilot, lambda: app.screen.current.checked == area.text)
        assert not layouts


async def test_a_title_that_is_the_same_draws_nothing(workbench: Callable[..., Any], demo: Path) -> None:
    """And another one draws the edge that it stands in, not all of the pane."""
    async with workbench(size=(120, 40)) as pilot:
        await edited(pilot)
        pane = pilot.app.screen.query_one("#edit-pane")
        show_titles(pane, Content("one"))
        pane._exchange_repaint_regions()
        show_titles(pane, Content("one"))
        assert not pane._exchange_repaint_regions()
        show_titles(pane, Content("two"), Content("below"))
        width, height = pane.outer_size
        assert set(pane._exchange_repaint_regions()) == {Region(0, 0, width, 1), Region(0, height - 1, width, 1)}
