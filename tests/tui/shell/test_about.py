"""`f12`: what this runs on, and what a key is called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mcptest_tui.screens.about import About, colours, facts, key_text
from tests.tui.pictures import text_of
from tests.tui.waiting import until


@pytest.mark.anyio
async def test_about_names_versions_files_and_keys(workbench, demo):
    """Any key but y and Escape is told, not done."""
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        pilot.app.windows.action_about()
        await until(pilot, lambda: isinstance(app.screen, About))
        text = text_of(app)
        assert "Textual" in text
        assert "keymap.yml (none yet)" in text
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "ctrl+q (^q)  app.quit" in text_of(app))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: "it is a line break in most terminals" in text_of(app))
        await pilot.press("y")
        await until(pilot, lambda: "Copied this for an issue (OSC 52" in text_of(app))


@pytest.mark.anyio
async def test_what_is_longer_than_a_row_goes_on_below_its_beginning(workbench, demo):
    """And not below the name."""
    async with workbench(size=(80, 24)) as pilot:
        pilot.app.windows.action_about()
        await until(pilot, lambda: isinstance(pilot.app.screen, About))
        names = [row[2:11].strip() for row in text_of(pilot.app).split("\n")[1:-3]]
        told = dict(facts(pilot.app))
        assert "" in names  # of a path that is longer
        assert {name for name in names if name} <= set(told)


@pytest.mark.parametrize(
    ("key", "character", "said"),
    [
        ("question_mark", "?", "question_mark (?) types '?'  app.help, dialog.help"),
        ("f11", None, "f11  free everywhere"),
        ("ctrl+h", "\x08", "ctrl+h (^h)  it is Backspace in most terminals"),
    ],
)
def test_a_key_is_named_as_the_keymap_wants_it(key, character, said):
    """And who has it."""
    assert key_text(key, character).plain == said


@pytest.mark.parametrize(
    ("value", "said"), [("truecolor", "256 (COLORTERM=truecolor)"), ("", "256 (COLORTERM is not set)")]
)
def test_the_reason_for_the_number_of_colours_is_a_sentence(monkeypatch, value, said):
    monkeypatch.setenv("COLORTERM", value)
    app: Any = SimpleNamespace(no_color=False, console=SimpleNamespace(color_system="256"))
    assert colours(app) == said
