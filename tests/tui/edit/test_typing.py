"""What typing does: indentation, pairs, comments, undo, pasting, and characters that a terminal would obey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual import events
from textual.app import App, ComposeResult

from mcptest_tui.widgets.yaml_area import YamlArea
from tests.tui.pictures import rows_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio


class Bare(App[None]):
    """Nothing but the editor."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        from mcptest_tui.themes import token_defaults

        return token_defaults(self.current_theme)

    def compose(self) -> ComposeResult:
        yield YamlArea()


@pytest.fixture
async def area() -> AsyncIterator[Any]:
    """A pilot whose app is one editor, and the editor."""
    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        found = app.query_one(YamlArea)
        found.focus()
        await pilot.pause()
        yield pilot, found


def _put(area: YamlArea, marked: str) -> None:
    """This text, with the cursor at `¦`."""
    before, _, after = marked.partition("¦")
    area.load_text(before + after)
    area.move_cursor((before.count("\n"), len(before) - (before.rfind("\n") + 1)))


def _marked(area: YamlArea) -> str:
    row, column = area.cursor_location
    lines = list(area.lines)
    lines[row] = lines[row][:column] + "¦" + lines[row][column:]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("tools:¦", ["enter"], "tools:\n  ¦"),
        ("  - name: x¦", ["enter"], "  - name: x\n    ¦"),
        ("  - name:¦", ["enter"], "  - name:\n      ¦"),
        ("    expect: # why¦", ["enter"], "    expect: # why\n      ¦"),
        ("a: |¦", ["enter"], "a: |\n  ¦"),
        ("a: |\n    text¦", ["enter"], "a: |\n    text\n    ¦"),
        ("a: {¦}", ["enter"], "a: {\n  ¦\n}"),
        ("a: [1, ¦ 2]", ["enter"], "a: [1, \n¦2]"),
        ("    - { a: 1 }¦", ["enter"], "    - { a: 1 }\n    ¦"),
        ("    - one¦", ["enter"], "    - one\n    ¦"),
        ("    ¦", ["enter"], "\n    ¦"),
        ("a: 'x¦", ["enter"], "a: 'x\n¦"),
        ("a¦", ["tab"], "a ¦"),
        ("¦a", ["tab"], "  ¦a"),
        ("    a¦", ["shift+tab"], "  a¦"),
        ("    ¦", ["backspace"], "  ¦"),
        ("   ¦", ["backspace"], "  ¦"),
        ("a: ¦", ["left_curly_bracket"], "a: {¦}"),
        ("a: {¦}", ["space"], "a: { ¦ }"),
        ("a: { ¦ }", ["backspace"], "a: {¦}"),
        ("a: {¦}", ["right_curly_bracket"], "a: {}¦"),
        ("a: { b: 1¦ }", ["right_curly_bracket"], "a: { b: 1 }¦"),
        ("a: { b: [1]¦ }", ["space", "right_curly_bracket"], "a: { b: [1] }¦"),
        ("a: { b: { c: 1 ¦ } }", ["right_curly_bracket"], "a: { b: { c: 1 }¦ }"),
        ("a: {¦}", ["backspace"], "a: ¦"),
        ("a: ¦", ["quotation_mark"], 'a: "¦"'),
        ('a: "¦"', ["quotation_mark"], 'a: ""¦'),
        ("a: it¦", ["apostrophe"], "a: it'¦"),
        ("a: ¦x", ["left_square_bracket"], "a: [¦x"),
        ("# no ¦", ["left_curly_bracket"], "# no {¦"),
        ("  a: 1¦", ["ctrl+underscore"], "  # a: 1¦"),
        ("  # a: 1¦", ["ctrl+underscore"], "  a: 1¦"),
        ("a¦b", ["ctrl+end"], "ab¦"),
        ("ab\ncd¦", ["ctrl+home"], "¦ab\ncd"),
        ("one two¦", ["ctrl+w"], "one ¦"),
    ],
)
async def test_a_key_does_what_one_expects_of_an_editor(area: Any, before: str, keys: list[str], after: str) -> None:
    pilot, editor = area
    _put(editor, before)
    await pilot.press(*keys)
    assert _marked(editor) == after


async def test_several_lines_move_and_become_comments_together(area: Any) -> None:
    pilot, editor = area
    editor.load_text("a:\n  b: 1\n\n  c: 2\nd: 3")
    await pilot.press("down", "shift+down", "shift+down", "shift+end", "tab")
    assert editor.text == "a:\n    b: 1\n\n    c: 2\nd: 3"
    await pilot.press("shift+tab", "ctrl+underscore")
    assert editor.text == "a:\n  # b: 1\n\n  # c: 2\nd: 3"
    await pilot.press("ctrl+underscore")
    assert editor.text == "a:\n  b: 1\n\n  c: 2\nd: 3"
    await pilot.press("ctrl+z", "ctrl+z", "ctrl+z", "ctrl+z")
    assert editor.text == "a:\n  b: 1\n\n  c: 2\nd: 3"
    await pilot.press("ctrl+y")
    assert editor.text == "a:\n    b: 1\n\n    c: 2\nd: 3"


async def test_a_bracket_takes_the_selection_between_its_pair(area: Any) -> None:
    pilot, editor = area
    _put(editor, "a: ¦bc")
    await pilot.press("shift+end", "left_square_bracket")
    assert editor.text == "a: [bc]"
    assert editor.selected_text == "bc"


async def test_what_was_typed_can_be_taken_back_and_done_again(area: Any) -> None:
    pilot, editor = area
    await pilot.press(*"name:", "space", "x", "enter", *"tools:")
    await pilot.press(*["ctrl+z"] * 20)
    assert editor.text == ""
    await pilot.press(*["ctrl+y"] * 20)
    assert editor.text == "name: x\ntools:"


async def test_what_is_pasted_gets_the_line_ends_of_the_file(area: Any) -> None:
    pilot, editor = area
    editor.load_text("a: 1\r\n")
    editor.post_message(events.Paste("x\ny\rz\0"))
    await pilot.pause()
    assert editor.text == "x\r\ny\r\nza: 1\r\n"


async def test_controls_in_a_file_are_shown_as_stand_ins_and_stay_in_the_text(area: Any) -> None:
    pilot, editor = area
    text = "a: \x1b]2;title\x07 \x9b2J \u202e \x7f\n"
    editor.load_text(text)
    await pilot.pause()
    shown = "\n".join(rows_of(pilot.app))
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\x7f"}
    assert "␛]2;title␇" in shown
    assert editor.text == text


async def test_another_text_comes_as_one_edit_and_the_cursor_stays(area: Any) -> None:
    pilot, editor = area
    _put(editor, "a: 1\nb: 2\nc: ¦3\n")
    editor.become("new: 0\na: 1\nb: 2\nc: 3\n")
    assert _marked(editor) == "new: 0\na: 1\nb: 2\nc: ¦3\n"
    await pilot.press("ctrl+z")
    assert editor.text == "a: 1\nb: 2\nc: 3\n"


async def test_marks_go_with_their_lines(area: Any) -> None:
    pilot, editor = area
    from mcptest_tui.state.verdict_notes import Note

    _put(editor, "¦a: 1\nb: 2\nc: 3")
    editor.mark(squiggles={2: [(0, 1, "error")]}, notes={1: Note("fail", "expected 3")})
    await pilot.press("enter", "enter")
    assert (list(editor.squiggles), list(editor.notes)) == ([4], [3])
    rows = rows_of(pilot.app)
    assert rows[3].startswith("✗") and rows[3].endswith("b: 2   expected 3")
    assert rows[4].startswith(" ▌")


async def test_a_bracket_that_is_never_closed_is_not_looked_for_through_the_whole_file(area: Any) -> None:
    _, editor = area
    editor.load_text("[\n" + "x\n" * 4_000 + "]\n")
    assert editor.find_matching_bracket("[", (0, 0)) is None
    editor.load_text("[\n" + "x\n" * 40 + "]\n")
    assert editor.find_matching_bracket("[", (0, 0)) == (41, 0)
