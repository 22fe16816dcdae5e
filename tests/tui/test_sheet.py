"""Our style sheet decides as Textual's own does, and does less for it."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from textual._compositor import Compositor
from textual.css import stylesheet
from textual.css.parse import parse
from textual.css.stylesheet import Stylesheet

from mcptest_tui import mode_screen
from mcptest_tui.mode_screen import SparingCompositor
from mcptest_tui.widgets.modals import Question
from tests.tui.waiting import draw_every_frame, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.segment import Segment

pytestmark = pytest.mark.anyio


def looks(node: Any) -> dict[str, Any]:
    """What the style sheet gave a node and its component classes."""
    parts = {name: styles.base.get_rules() for name, styles in node._component_styles.items()}
    return {"": node.styles.base.get_rules(), **parts}


def plain_sheet(app: Any) -> Stylesheet:
    """Textual's own with the same sources; parsed once."""
    variables, source = app.get_css_variables(), app.stylesheet.source
    key = (*variables.items(), *source.items())
    if key not in _plain:
        plain = _plain[key] = Stylesheet(variables=variables)
        plain.source = dict(source)
        plain.parse()
    return _plain[key]


_plain: dict[tuple[object, ...], Stylesheet] = {}


def compare(app: Any) -> None:
    """Each node of the screen looks as the plain sheet has it."""
    plain = plain_sheet(app)
    nodes = [app, *app.screen.walk_children(with_self=True)]
    ours = [looks(node) for node in nodes]
    for node, look in zip(nodes, ours, strict=True):
        node._component_styles.clear()
        plain.apply(node)
        assert looks(node) == look, node


async def drawn(pilot: Any) -> None:
    """Wait until a change of mode is drawn."""
    await until(pilot, lambda: not pilot.app._batch_count and pilot.app.screen.is_mounted)
    await pilot.pause()


async def test_every_node_looks_as_textuals_own_sheet_has_it(workbench: Callable[..., Any], demo: Path) -> None:
    """Whenever the focus, the classes, what is disabled or the theme have changed."""
    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app
        for key in ("f3", "f1", "tab", "slash", "x", "escape", "tab", "z", "z"):
            await pilot.press(key)
            compare(app)
        screen = app.screen
        for disabled in (True, False):
            screen.test_list.disabled = disabled
            await pilot.pause()
            compare(app)
        screen.set_class(not screen.has_class("-narrow"), "-narrow")
        compare(app)
        app.theme = "textual-light"
        await until(pilot, lambda: app.stylesheet._variables == app.get_css_variables())
        compare(app)
        for mode, focused, theme in (
            ("servers", True, "paper"),
            ("tests", False, "textual-light"),
            ("servers", True, "textual-light"),
        ):
            app.go(mode)
            await drawn(pilot)
            compare(app)
            app.app_focus, app.theme = focused, theme
            await until(pilot, lambda: app.stylesheet._variables == app.get_css_variables())
            compare(app)


async def test_a_change_of_mode_waits_for_no_clock_and_styles_nothing_anew(
    workbench: Callable[..., Any], demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual draws nothing for 50 ms then, and styles every widget of the screen again."""
    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app
        styled: list[int] = []
        update_nodes = app.stylesheet.update_nodes

        def count_update(*args: Any, **rest: Any) -> None:
            styled.append(1)
            update_nodes(*args, **rest)

        monkeypatch.setattr(app.stylesheet, "update_nodes", count_update)
        modes = ("edit", "servers", "review", "traffic", "agents", "tests")
        for mode in (*modes, *modes):
            styled.clear()
            app.go(mode)
            assert "delay_update" not in {timer.name for timer in app._timers}
            await drawn(pilot)
            assert mode == app.screen.MODE
            compare(app)  # style sheets of other screens mean nothing here
        assert not styled


async def test_no_picture_is_made_of_a_mode_before_it_may_be_shown(
    workbench: Callable[..., Any], demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual makes one of the whole screen when its panes have no sizes yet, and throws it away."""
    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app
        held_back: list[int] = []
        render = Compositor.render_update

        def note_render(self: Compositor, *args: Any, **rest: Any) -> Any:
            held_back.append(app._batch_count)
            return render(self, *args, **rest)

        monkeypatch.setattr(Compositor, "render_update", note_render)
        for mode in ("edit", "servers", "tests"):
            app.go(mode)
            await drawn(pilot)
        assert held_back
        assert not any(held_back)


async def test_a_mode_is_drawn_also_when_a_dialog_came_and_went_over_it_meanwhile(
    workbench: Callable[..., Any], demo: Path
) -> None:
    """What was to draw it went with the dialog, and nothing was drawn any more."""

    class Brief(Question):
        async def on_mount(self) -> None:  # type: ignore[override]
            await rounds_of_the_loop()
            self.dismiss(None)
            await rounds_of_the_loop()

    async def rounds_of_the_loop() -> None:
        for _ in range(200):
            await asyncio.sleep(0)

    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app
        for mode in ("review", "traffic"):
            app.go(mode)
            await asyncio.sleep(0)
            app.push_screen(Brief("Go on?", [], [("y", "yes")]))
            await until(pilot, lambda: not app.delayed and not app._batch_count, what="what may be drawn")


async def test_a_textual_that_calls_its_parts_by_other_names_draws_the_same(
    workbench: Callable[..., Any], demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we go by to draw less is not found: then everything is styled and drawn."""
    looked_for: set[str] = set()

    def find_nothing(_: object, name: str, default: object) -> object:
        looked_for.add(name)
        return default

    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app

        async def pictures() -> list[list[list[Segment]]]:
            found = []
            for mode in ("edit", "servers", "tests"):
                app.go(mode)
                await drawn(pilot)
                compare(app)
                shown = app.screen._compositor
                shown._dirty_regions.add(app.screen.region.shrink((5, 10, 5, 10)))
                assert shown.render_partial_update() is not None
                found.append([list(strip) for strip in shown.render_strips()])
            return found

        await pictures()  # what is read on the first visit is there on the second
        before = await pictures()
        monkeypatch.setattr(mode_screen, "getattr", find_nothing, raising=False)
        assert await pictures() == before
        app.theme = "textual-light"
        app.go("servers")
        await drawn(pilot)
        compare(app)
    assert looked_for == {"cuts", "_dirty_regions", "refresh_styles", "_css_update_count", "delayed"}


async def test_no_source_is_parsed_twice(
    workbench: Callable[..., Any], demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when another class of widgets comes, nor for the next app with the same theme."""
    parsed: list[tuple[Any, ...]] = []
    real = parse

    def counted(scope: str, css: str, read_from: Any, **rest: Any) -> Any:
        parsed.append((css, read_from, scope, rest["tie_breaker"], tuple(sorted(rest["variable_tokens"]))))
        return real(scope, css, read_from, **rest)

    monkeypatch.setattr(stylesheet, "parse", counted)
    for _ in range(2):
        async with workbench(paths=[str(demo)]) as pilot:
            for key in ("5", "4", "1"):
                await pilot.press(key)
        assert len(parsed) == len(set(parsed))


async def test_the_theme_that_is_chosen_is_seen(workbench: Callable[..., Any], demo: Path) -> None:
    """Other variables are other colours, and the first ones come back."""
    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app
        before, backgrounds = app.theme, []
        for theme in ("textual-light", before):
            app.theme = theme
            await until(pilot, lambda: app.stylesheet._variables == app.get_css_variables())
            await pilot.pause()
            backgrounds.append(app.screen.styles.background)
        assert backgrounds[0] != backgrounds[1]


async def test_what_has_changed_is_drawn_as_textuals_own_compositor_draws_it(
    workbench: Callable[..., Any], demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the byte, for a row, a pane, a filter, a tab, another mode, and a run; but for moves that nothing is written after."""
    updates, fewer, ours = 0, 0, SparingCompositor.render_partial_update
    console = Console(force_terminal=True, color_system="truecolor")

    def both(self: SparingCompositor) -> Any:
        nonlocal updates, fewer
        dirty = self._dirty_regions.copy()
        theirs = Compositor.render_partial_update(self)
        self._dirty_regions = dirty
        every, self._changed = len(self.visible_widgets), tuple(dirty)
        fewer, self._changed = fewer + (len(self.visible_widgets) < every), ()
        found = ours(self)
        assert (found is None) == (theirs is None)
        if found is not None and theirs is not None:
            moves = re.compile(r"\x1b\[\d+;\d+H(?=\x1b\[\d+;\d+H|\n|$)")
            written, expected = (moves.sub("", one.render_segments(console)) for one in (found, theirs))
            assert written == expected
        updates += 1
        return found

    draw_every_frame(monkeypatch)
    monkeypatch.setattr(SparingCompositor, "render_partial_update", both)
    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app
        for key in (
            "j",
            "j",
            "enter",
            "tab",
            "j",
            "escape",
            "slash",
            "c",
            "h",
            "escape",
            "r",
            "f3",
            "j",
            "tab",
            "f5",
            "j",
            "f1",
            "a",
            "k",
        ):
            await pilot.press(key)
        await until(pilot, lambda: app.store.rows and not app.store.progress.busy)
        await pilot.pause()
    assert updates > 10
    assert fewer > 10, "else Textual has changed what the compositor goes by, and each key draws all"
