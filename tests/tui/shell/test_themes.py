"""Theme files: ours read fast and right, a person's own told when they are broken."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from rich.color import ColorSystem
from textual.color import Color

import mcptest_tui
from mcptest_engine.core.environment import shipped
from mcptest_tui.session import theme_at_start
from mcptest_tui.themes import (
    VARIABLES,
    ThemeError,
    _carefully,
    _plain,
    in_256_colours,
    read_theme,
    theme_files,
    token_defaults,
)
from tests.tui.edit.typing import opened
from tests.tui.pictures import text_of
from tests.tui.tests_screen.conftest import MIXED
from tests.tui.waiting import until, until_mode

OURS = sorted(shipped("themes").glob("*.yml"))


@pytest.fixture
def mixed(place):
    """A suite of six tests, two of which fail."""
    (place / "mcptest.yml").write_text(MIXED, encoding="utf-8")


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_the_short_way_reads_what_the_long_way_reads(path):
    """A theme of ours never costs the import of the YAML library."""
    assert _plain(path.read_text(encoding="utf-8")) == _carefully(path)
    assert read_theme(path).name == path.stem


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("primary: '#12345'\n", ":1:10: ", '"#12345" is not a colour'),
        ("primary: red\nacent: blue\n", ":2:1: ", 'unknown key "acent"'),
        ("primary: [\n", ":1:10: ", "is not closed"),
        ("dark: true\n", ":1:1: ", "a theme needs `primary`"),
        ("primary: red\ndark: perhaps\n", ":2:7: ", "`dark` is true or false"),
        ("primary: red\nvariables:\n  value-actual: '#zzz'\n", ":3:17: ", '"#zzz" is not a colour'),
        ("just words\n", ":1:1: ", "a theme is a mapping"),
    ],
)
def test_a_broken_theme_is_told_with_its_place(tmp_path, text, place, words):
    """File, line and column."""
    path = tmp_path / "mine.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ThemeError) as refused:
        read_theme(path)
    assert str(path) + place in refused.value.message
    assert words in refused.value.message


def test_a_persons_own_theme_stands_before_ours(place):
    """Of the same name."""
    from mcptest_tui.places import user_themes_dir

    user_themes_dir().mkdir(parents=True)
    own = user_themes_dir() / "paper.yaml"
    own.write_text("primary: red\n", encoding="utf-8")
    assert theme_files()["paper"] == own


def test_a_theme_without_our_tokens_gets_them_from_its_colours(tmp_path):
    """Textual's own themes have none of them."""
    from textual.theme import BUILTIN_THEMES

    nord = token_defaults(BUILTIN_THEMES["nord"])
    assert nord["verdict-fail"] == BUILTIN_THEMES["nord"].error
    tokens = read_theme(OURS[0]).variables
    assert set(nord) <= {*tokens, "muted", "ansi-background", "ansi-foreground"}


def test_sixteen_colours_get_the_theme_that_has_them(place, monkeypatch):
    """Whatever was picked for a better terminal; MCPTEST_THEME stands over it."""
    assert theme_at_start("nightshift", colours="standard") == "terminal"
    assert theme_at_start("nightshift", colours="256") == "nightshift"
    monkeypatch.setenv("MCPTEST_THEME", "meadow")
    assert theme_at_start("nightshift", colours="standard") == "meadow"


def lines_of(app):
    """What is drawn, as lines of segments."""
    return [list(strip) for strip in app.screen._compositor.render_strips()]


@pytest.mark.anyio
async def test_a_terminal_with_sixteen_colours_is_drawn_with_its_own(workbench, mixed, monkeypatch):
    """TERM=xterm without COLORTERM: every colour is one of the sixteen, or the terminal's default; another day's pick stays."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM")
    async with workbench() as pilot:
        app = pilot.app
        assert app.theme == "terminal"
        await pilot.press("a")
        await until(pilot, lambda: app.store.counts["fail"] == 2 and not app.store.progress.busy)
        for mode in ("tests", "edit", "servers", "review", "traffic"):
            app.go(mode)
            await until_mode(pilot, mode)
            await pilot.pause()
            wrong = {
                (segment.text.strip(), str(color))
                for segments in lines_of(app)
                for segment in segments
                if segment.text.strip() and segment.style is not None
                for color in (segment.style.color, segment.style.bgcolor)
                if color is not None and color.type.name not in ("DEFAULT", "STANDARD")
            }
            assert {text for text, _ in wrong if not set(text) <= set("▁▂▃▄▅▆▇█ ")} == set(), mode
        await pilot.press("apostrophe")
        await until(pilot, lambda: app.screen is not app.work_screen)
        assert "Traffic" in text_of(app)  # what the letters of the jump lead to is seen below them


@pytest.mark.anyio
async def test_with_sixteen_colours_a_bar_tells_an_explanation_from_the_text_below(
    workbench, mixed, place, monkeypatch
):
    """It has the ground of the text there."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM")
    async with workbench(size=(80, 24)) as pilot:
        await opened(pilot, place / "mcptest.yml", 8)
        await pilot.press("right", "right", "right", "right", "ctrl+g")
        await until(pilot, lambda: any("▌tags" in row for row in text_of(pilot.app).split("\n")))


@pytest.mark.anyio
async def test_with_sixteen_colours_no_text_is_bold_and_black(workbench, place, monkeypatch):
    """It is grey in many of these terminals, and hard to read on a colour: the chosen tab and row, the letters of the jump.

    The name of a key stays bold.
    """
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM")

    def bold_and_black(app):
        styles = [(segment.text, segment.style) for row in lines_of(app) for segment in row if segment.style]
        black = [text for text, style in styles if style.bold and style.color is not None and style.color.number == 0]
        return [text for text in black if len(text.strip()) > len("^o, e")]

    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await until(pilot, lambda: "Try the demo" in text_of(app))
        assert bold_and_black(app) == []
        assert next(segment.style for segment in lines_of(app)[0] if "1 Tests" in segment.text).reverse
        for keys, shown in ((["apostrophe"], "a1 Tests"), (["escape", "ctrl+p"], "Palette")):
            await pilot.press(*keys)
            await until(pilot, partial(lambda shown: shown in text_of(app), shown))
            assert bold_and_black(app) == []


@pytest.mark.anyio
async def test_without_colours_text_is_seen_in_every_theme(workbench, mixed, monkeypatch):
    """Also when the theme changes between one with the terminal's colours and one with its own; and behind a dialog."""

    def unseen(app):
        return [
            segment.text
            for segments in lines_of(app)
            for segment in segments
            if segment.text.strip()
            and segment.style is not None
            and segment.style.color == segment.style.bgcolor
            and segment.style.color is not None
            and not segment.style.color.is_default
        ]

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("MCPTEST_THEME", "terminal")
    async with workbench() as pilot:
        app = pilot.app
        for theme in ("terminal", "nightshift", "terminal"):
            app.theme = theme
            await pilot.pause()
            assert unseen(app) == [], theme
        await pilot.press("colon")
        await until(pilot, lambda: app.screen is not app.work_screen)
        assert "Tests" in text_of(app).split("\n")[0]
        assert unseen(app) == []


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_a_colour_of_a_verdict_is_none_of_a_value(path):
    """Expected was green in one tab, as what passed, and red in the next, as what failed."""
    tokens = read_theme(path).variables
    colours = [tokens[f"verdict-{name}"] for name in ("pass", "fail", "inconclusive", "skip")]
    colours += [tokens["value-expected"], tokens["value-actual"]]
    assert len(set(colours)) == len(colours)


@pytest.mark.parametrize("path", [path for path in OURS if path.stem != "terminal"], ids=lambda path: path.stem)
def test_in_256_colours_a_ground_stays_as_light_and_is_grey(path):
    """And what was told apart is: the driver's own choice for a bluish dark grey is dark blue."""
    theme = read_theme(path)
    few = in_256_colours(theme)
    for name in ("background", "surface", "panel", "boost"):
        own = Color.parse(getattr(theme, name))
        shown = Color.parse(getattr(few, name)).rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        assert abs(own.brightness - Color(*shown).brightness) < 0.08
        assert len(set(shown)) == 1
    verdicts = [
        Color.parse(few.variables[f"verdict-{verdict}"]).rich_color for verdict in ("pass", "fail", "inconclusive")
    ]
    assert len({color.downgrade(ColorSystem.EIGHT_BIT).number for color in verdicts}) == 3


@pytest.mark.anyio
@pytest.mark.parametrize("theme", ["paper", "nightshift"])
async def test_no_text_is_left_to_the_terminals_own_colours(workbench, mixed, monkeypatch, theme):
    """It would be a patch of another ground: verdicts behind the text of the editor were.

    And what was expected, and what came, have the same colours in Result and in Diff.
    """
    monkeypatch.setenv("MCPTEST_THEME", theme)
    async with workbench() as pilot:
        app = pilot.app
        await pilot.press("a")
        await until(pilot, lambda: app.store.counts["fail"] == 2 and not app.store.progress.busy)
        views = (app.screen.detail.text("result"), "text-view"), (app.screen.detail.diff, "diff-view")
        for name in ("expected", "actual"):
            wanted = Color.parse(app.theme_variables[f"value-{name}"])
            styles = [
                view.get_component_styles(f"{kind}--{name}{part}") for view, kind in views for part in ("", "-part")
            ]
            assert {style.color for style in styles} == {wanted}
        for mode in ("tests", "edit", "servers", "review", "traffic"):
            app.go(mode)
            await until_mode(pilot, mode)
            await pilot.pause()
            left = [
                (segment.text, segment.style)
                for segments in lines_of(app)
                for segment in segments
                if segment.text
                and (
                    segment.style is None
                    or segment.style.bgcolor is None
                    or segment.style.bgcolor.is_default
                    or (segment.text.strip() and (segment.style.color is None or segment.style.color.is_default))
                )
            ]
            assert left == [], mode


def test_every_variable_of_a_theme_has_a_meaning_and_a_place():
    """The table of the docs names those that there are, and style sheets use no other."""
    root = Path(mcptest_tui.__file__).parent
    used = {
        found
        for path in [*root.rglob("*.tcss"), *root.rglob("*.py")]
        for found in re.findall(r"\$((?:verdict|value|json)-[a-z]+|muted)\b", path.read_text(encoding="utf-8"))
    }
    defaults = {name for name in token_defaults(read_theme(OURS[0])) if not name.startswith("ansi-")}
    assert used == set(VARIABLES) == defaults


def test_colours_come_from_themes_alone():
    """No hex in style sheets or code."""
    root = Path(mcptest_tui.__file__).parent
    found = [
        f"{path.name}:{number}"
        for path in [*root.rglob("*.tcss"), *root.rglob("*.py")]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b(?=[;\"'])", line) and "such as" not in line
    ]
    assert found == []
