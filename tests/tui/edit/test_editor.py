"""The editor's screen: problems, fixes, completion, verdicts, finding, files."""

# ruff: noqa: ASYNC240 - files of a few lines, and nobody else on the loop
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.workspace.snapshots import read_snapshots, write_snapshots
from mcptest_tui.config import TEMPLATE as CONFIG_TEMPLATE
from mcptest_tui.config import config_file
from mcptest_tui.keymap import diagnose_keymap, keymap_file, keymap_template
from tests.tui.edit.typing import checked, messages, opened, opened_anew, text_of_file, typed
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.waiting import until, until_mode, until_shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio

SUITE = """\
name: weather
servers:
  demo: { command: ["mcptest", "mock", "--preset", "demo"] }

tools:
  - name: the service is up
    tool: status
    expect:
      - { target: "result.content[0].text", matcher: { contains: operational } }

  - name: the service is down
    tool: status
    expect:
      - { target: "result.content[0].text", matcher: { contains: broken } }
"""
TYPOS = SUITE.replace("contains: broken", "contians: broken").replace("    tool: status\n    expect:\n      - { target: \"result.content[0].text\", matcher: { contains: op", "    tol: status\n    expect:\n      - { target: \"result.content[0].text\", matcher: { contains: op")  # fmt: skip  # noqa: E501


@pytest.fixture
def suite(place: Path) -> Path:
    """A suite of two tests, of which the second fails."""
    path = place / "mcptest.yml"
    path.write_text(SUITE, encoding="utf-8")
    return path


async def test_the_first_suite_is_open_when_one_comes_here(
    suite: Path, workbench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the key that leads here types nothing into it when it comes twice at once, only later."""
    monkeypatch.setattr("mcptest_tui.base_app.REPEAT_SECONDS", 3600)
    async with workbench() as pilot:
        await pilot.press("2", "2")
        screen = await opened(pilot)
        assert screen.current.file.path == str(suite)
        assert screen.focused is screen.current.area
        await until(pilot, lambda: "not typed: 2 had just opened Edit" in text_of(pilot.app))
        await pilot.press("2")
        assert screen.current.text == SUITE
        monkeypatch.setattr("mcptest_tui.base_app.REPEAT_SECONDS", 0)
        await pilot.press("2")
        assert screen.current.text != SUITE


@pytest.mark.parametrize("memory", [{"files": [], "current": None}, {"files": [{"path": "/nowhere/gone.yml"}]}, []])
async def test_the_first_suite_is_open_where_no_file_of_the_last_session_exists(
    suite: Path, workbench: Callable[..., Any], memory: Any
) -> None:
    """They were all closed, or are gone, or the session is of another shape."""
    session = suite.parent / ".mcptest" / "cache" / "session.json"
    session.parent.mkdir(parents=True)
    session.write_text(json.dumps({"version": 1, "screens": {"edit": memory}}), encoding="utf-8")
    async with workbench() as pilot:
        await pilot.press("2")
        screen = await opened(pilot)
        assert screen.current.file.path == str(suite)


# Problems


async def a_suite_with_problems_looks_like_this(pilot: Any, suite: Path) -> None:
    for size in [(80, 24), (180, 45), (120, 40)]:
        await pilot.resize_terminal(*size)
        await opened_anew(pilot, suite, TYPOS, line=7)
        await until(pilot, lambda: "applies" in text_of(pilot.app))
        assert_picture(pilot.app, "problems", folder="edit")


async def every_problem_is_underlined_listed_and_marked(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, TYPOS)
    assert len(messages(screen)) >= 2
    shown = text_of(pilot.app)
    assert "2 Edit ✗" in shown
    assert any(row.startswith("│ ▌   7") for row in rows_of(pilot.app))
    line = screen.current.area.get_line(6)
    assert any(span.style.underline for span in line.spans)


async def f8_goes_from_problem_to_problem_and_round_the_end(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, TYPOS)
    seen = []
    for _ in range(len(screen.current.problems)):
        await pilot.press("f8")
        seen.append(screen.current.area.cursor_location[0] + 1)
    assert sorted(seen) == sorted(problem.line for problem in screen.current.problems)
    await pilot.press("f8")
    assert screen.current.area.cursor_location[0] + 1 == seen[0]
    await pilot.press("shift+f8")
    assert screen.current.area.cursor_location[0] + 1 == seen[-1]


async def one_key_applies_the_fix_that_the_line_above_the_status_bar_names(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, TYPOS, line=7)
    await until(pilot, lambda: "tol → tool   f9 or alt+⏎ applies" in text_of(pilot.app))
    await pilot.press("alt+enter")
    await checked(pilot)
    assert "    tool: status" in screen.current.area.lines[6]
    await pilot.press("f9")  # nothing to fix on this line: it goes to the next
    await pilot.press("f9")
    await checked(pilot)
    assert text_of_file(screen) == SUITE
    assert messages(screen) == []
    await pilot.press("ctrl+z", "ctrl+z")
    assert text_of_file(screen) == TYPOS


async def what_a_fix_left_there_is_explained_at_once(pilot: Any, suite: Path) -> None:
    await opened_anew(pilot, suite, TYPOS, line=7)
    await until(pilot, lambda: "applies" in text_of(pilot.app))
    await pilot.press("alt+enter")
    await until(pilot, lambda: "tool (string): The tool to call" in text_of(pilot.app))


async def a_tiny_terminal_keeps_its_rows_for_the_text(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, TYPOS)
    listed = screen.query_one("#problem-list")
    assert listed.display
    await pilot.resize_terminal(50, 14)
    await until(pilot, lambda: not listed.display)
    await pilot.resize_terminal(120, 40)
    await until(pilot, lambda: listed.display)


async def a_new_file_opens_without_a_list_of_what_it_lacks(pilot: Any, suite: Path) -> None:
    await opened_anew(pilot, suite, SUITE)
    screen = await opened(pilot, suite.with_name("new.yml"))
    assert screen.current.problems
    await typed(pilot, "name: new")
    await checked(pilot)
    assert not screen.query_one("#problem-list").display


async def all_fixes_at_once_are_one_step(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, TYPOS)
    await screen.run_action("diagnostics.fix_all")
    await checked(pilot)
    assert text_of_file(screen) == SUITE
    await pilot.press("ctrl+z")
    assert text_of_file(screen) == TYPOS


async def problems_are_found_while_one_types_without_a_save(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=7)
    await pilot.press("end")
    await typed(pilot, "\ntgas: [a]")
    await checked(pilot)
    assert any("tgas" in message for message in messages(screen))
    assert not screen.query_one("#problem-list").display  # nothing jumps while one types
    assert "tgas → tags" in text_of(pilot.app)


async def the_list_of_problems_jumps(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, TYPOS)
    listed = screen.query_one("#problem-list")
    assert listed.display
    listed.focus()
    await pilot.press("G", "enter")
    last = listed.problems[-1]
    await until(pilot, lambda: screen.current.area.cursor_location == (last.line - 1, last.column - 1))
    assert screen.focused is screen.current.area


async def test_problems(suite: Path, workbench: Callable[..., Any]) -> None:
    async with workbench() as pilot:
        for check in (
            a_suite_with_problems_looks_like_this,
            every_problem_is_underlined_listed_and_marked,
            f8_goes_from_problem_to_problem_and_round_the_end,
            one_key_applies_the_fix_that_the_line_above_the_status_bar_names,
            what_a_fix_left_there_is_explained_at_once,
            a_tiny_terminal_keeps_its_rows_for_the_text,
            all_fixes_at_once_are_one_step,
            problems_are_found_while_one_types_without_a_save,
            the_list_of_problems_jumps,
        ):
            await check(pilot, suite)


# Completion


async def a_key_is_completed_as_it_is_typed(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=7)
    await pilot.press("end")
    await typed(pilot, "\nta")
    assert screen.assistance.completing.is_open
    assert "tags" in text_of(pilot.app)
    await pilot.press("enter")
    assert screen.current.area.lines[7] == "    tags: []"
    assert screen.current.area.cursor_location == (7, 11)


async def escape_closes_only_the_popup(pilot: Any, suite: Path) -> None:
    await opened_anew(pilot, suite, SUITE)
    pilot.app.go("tests")
    await until_mode(pilot, "tests")
    screen = await opened(pilot, suite, line=7)
    await pilot.press("end")
    await typed(pilot, "\nta")
    await pilot.press("escape")
    assert not screen.assistance.completing.is_open
    assert pilot.app.current_mode == "edit"
    assert screen.current.area.lines[7] == "    ta"
    await pilot.press("escape")
    assert pilot.app.current_mode == "tests"  # where one came from


async def enter_on_what_was_not_chosen_is_a_new_line(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=7)
    await pilot.press("end")
    await typed(pilot, "\nserver: ")
    assert screen.assistance.completing.is_open
    await pilot.press("enter")
    assert screen.current.area.lines[7:9] == ["    server: ", "      "]
    assert not screen.assistance.completing.is_open


async def a_name_that_was_typed_stays_what_it_is_when_enter_ends_its_line(pilot: Any, suite: Path) -> None:
    """`list` is no beginning of `prompts/list`, and Enter takes a value only when somebody has moved to it."""
    screen = await opened_anew(pilot, suite, SUITE, line=7)
    await pilot.press("end", *["backspace"] * len("status"))
    await typed(pilot, "list")
    assert screen.assistance.completing.is_open
    assert "prompts/list" in text_of(pilot.app)
    await typed(pilot, "\nt")
    assert screen.current.area.lines[6:8] == ["    tool: list", "    t"]
    await pilot.press("escape", "up", "end", *["backspace"] * len("list"))
    await typed(pilot, "too")
    await pilot.press("enter")  # `tools/list` is marked, and still not chosen
    assert screen.current.area.lines[6:8] == ["    tool: too", "    "]
    await pilot.press("up", "end")
    await typed(pilot, "l")
    await pilot.press("down", "enter")
    assert screen.current.area.lines[6] == "    tool: tools/list"


async def tab_goes_through_the_places_of_a_snippet_and_completes_on_the_way(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=9)
    await pilot.press("end")
    await typed(pilot, "\n")
    await typed(pilot, "- ")
    await pilot.press("tab")
    assert screen.current.area.lines[9] == '      - { target: "", matcher: {  } }'
    await typed(pilot, "result")
    await pilot.press("escape", "tab")
    await typed(pilot, "typ")
    await pilot.press("tab")
    await typed(pilot, "object")
    await pilot.press("tab")
    assert screen.current.area.lines[9] == '      - { target: "result", matcher: { type: object } }'
    assert screen.current.area.cursor_location == (9, len(screen.current.area.lines[9]))
    await pilot.press("tab")  # nothing is left to fill in
    assert screen.current.area.lines[9].rstrip() != screen.current.area.lines[9]


async def a_fast_typist_outruns_nothing(pilot: Any, suite: Path) -> None:
    """The keys of one burst, as a terminal sends them: the Tab is for the popup that the letters before it open."""
    screen = await opened_anew(pilot, suite, SUITE, line=7)
    await pilot.press("end", "enter", "s", "e", "r", "v", "tab", "d", "tab")
    assert screen.current.area.lines[7] == "    server: demo"


async def tools_and_arguments_come_from_the_server_that_is_asked(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=7)
    await pilot.press("end", *["backspace"] * len("status"))
    await pilot.press("ctrl+@")
    await until(pilot, lambda: "get_weather" in text_of(pilot.app), what="the server's tools")
    assert screen.assistance.completing.is_open
    await typed(pilot, "get_w")
    await pilot.press("tab")
    assert screen.current.area.lines[6] == "    tool: get_weather"
    await typed(pilot, "\nar")
    await pilot.press("tab")
    await typed(pilot, "un")
    await pilot.press("tab")
    await typed(pilot, "f")
    await pilot.press("tab")
    assert screen.current.area.lines[7] == "    args: { unit: fahrenheit }"


async def the_popup_looks_like_this(pilot: Any, suite: Path) -> None:
    for size in [(80, 24), (120, 40)]:
        await pilot.resize_terminal(*size)
        screen = await opened_anew(pilot, suite, SUITE, line=14)
        await pilot.press("end")
        await typed(pilot, "\n- { ")
        await pilot.press("ctrl+@")
        assert screen.assistance.completing.is_open
        await checked(pilot)
        assert_picture(pilot.app, "popup", folder="edit")


async def a_word_is_explained_in_a_card_that_any_key_closes(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=8)
    await pilot.press("ctrl+g")
    await until(pilot, lambda: "The expectations on the answer" in text_of(pilot.app))
    await pilot.press("escape")
    assert not screen.assistance.completing.is_open
    assert pilot.app.current_mode == "edit"
    await pilot.press("ctrl+f", "ctrl+g")
    await until(pilot, lambda: screen.assistance.completing.is_open)
    await pilot.press("escape")
    assert not screen.assistance.completing.is_open
    assert screen.query_one("#find-bar").display  # below the card, and closed after it
    await pilot.press("escape")
    assert not screen.query_one("#find-bar").display
    assert screen.current.area.has_focus


async def on_a_wide_terminal_outline_and_help_stand_beside_the_text(pilot: Any, suite: Path) -> None:
    await pilot.resize_terminal(180, 40)
    screen = await opened_anew(pilot, suite, SUITE, line=9)
    await pilot.press("end", "left", "left", "left", "left")
    await until(pilot, lambda: "A substring of a text" in text_of(pilot.app))
    assert "○ the service is down" in text_of(pilot.app)
    outline = screen.query_one("#outline")
    outline.focus()
    await pilot.press("G", "enter")
    await until(pilot, lambda: screen.current.area.cursor_location[0] == 10)
    await pilot.resize_terminal(120, 40)


async def test_the_cursor_stays_in_view_and_its_test_in_the_outline_whatever_the_size(suite, workbench) -> None:
    """A file that fits into the larger window is seen from its top there."""
    text = SUITE + "".join(f"  - name: more {number}\n    tool: status\n" for number in range(12))
    suite.write_text(text)
    async with workbench(size=(80, 24)) as pilot:
        screen = await opened(pilot, suite, line=text.count("\n") - 4)
        for size in ((200, 50), (80, 24), (120, 40), (80, 16)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: shows_cursor(screen.current.area), what=f"the cursor at {size}")
        await pilot.resize_terminal(200, 50)
        await until(pilot, lambda: screen.query_one("#outline").cursor == len(screen.query_one("#outline").entries) - 3)


def shows_cursor(area: Any) -> bool:
    top: int = area.scroll_offset.y
    return top <= area.cursor_location[0] < top + area.size.height


async def test_completion(suite: Path, workbench: Callable[..., Any]) -> None:
    async with workbench() as pilot:
        for check in (
            the_popup_looks_like_this,
            a_key_is_completed_as_it_is_typed,
            escape_closes_only_the_popup,
            enter_on_what_was_not_chosen_is_a_new_line,
            a_name_that_was_typed_stays_what_it_is_when_enter_ends_its_line,
            tab_goes_through_the_places_of_a_snippet_and_completes_on_the_way,
            a_fast_typist_outruns_nothing,
            tools_and_arguments_come_from_the_server_that_is_asked,
            a_word_is_explained_in_a_card_that_any_key_closes,
            on_a_wide_terminal_outline_and_help_stand_beside_the_text,
        ):
            await check(pilot, suite)


# Verdicts


async def the_test_under_the_cursor_is_run_and_its_result_stands_beside_it(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=13)
    await pilot.press("ctrl+r")
    await until(pilot, lambda: pilot.app.store.counts["fail"] == 1, what="the verdict")
    await until(pilot, lambda: any("✗   11   - name: the service is down   " in row for row in rows_of(pilot.app)))
    assert pilot.app.store.counts["pass"] == 0
    assert text_of_file(screen) == SUITE
    note = screen.current.area.notes[10]
    assert "broken" in note.text
    assert not note.stale
    await pilot.press("down", "end")
    await typed(pilot, "  # another")
    await checked(pilot)
    assert not screen.current.area.notes[10].stale  # a comment is no other test
    await pilot.press("ctrl+z", "up", "up", "end")
    await typed(pilot, "\ntags: [a]")
    await checked(pilot)
    assert screen.current.area.notes[10].stale  # its text is another than the one that ran


async def running_saves_first(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=14)
    screen.current.area.become(SUITE.replace("broken", "operational"))
    await pilot.press("ctrl+r")
    await until(pilot, lambda: pilot.app.store.counts["pass"] >= 1, what="the verdict")
    assert suite.read_text() == SUITE.replace("broken", "operational")
    await until(pilot, lambda: "passed in" in text_of(pilot.app))


# Finding


async def find_goes_from_hit_to_hit_and_replace_takes_them_one_by_one(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    await pilot.press("ctrl+f")
    await typed(pilot, "service")
    await until(pilot, lambda: "1 of 2" in text_of(pilot.app))
    await pilot.press("enter")
    await until(pilot, lambda: "2 of 2" in text_of(pilot.app))
    await pilot.press("enter", "f7")
    await typed(pilot, "machine")
    await pilot.press("enter")
    await until(pilot, lambda: "the machine is up" in text_of_file(screen))
    assert "the service is down" in text_of_file(screen)
    await pilot.press("f7")
    await until(pilot, lambda: "service" not in text_of_file(screen))
    await pilot.press("escape")
    assert screen.focused is screen.current.area
    await pilot.press("ctrl+z", "ctrl+z")
    assert text_of_file(screen) == SUITE


async def test_what_is_found_is_counted_in_the_file_that_is_shown_and_not_without_one(
    suite: Path, place: Path, workbench: Callable[..., Any]
) -> None:
    other = place / "other.yml"
    other.write_text("name: other\n")
    async with workbench() as pilot:
        screen = await opened(pilot, suite)
        await pilot.press("ctrl+f")
        await typed(pilot, "service")
        await until_shown(pilot, "1 of 2")
        await opened(pilot, other)
        await until_shown(pilot, "0 places")
        for doc in [*screen.files.docs.values()]:
            screen.saving.close(doc)
        await until(pilot, lambda: "No file is open" in text_of(pilot.app) and "find service" not in text_of(pilot.app))


# Files


async def test_several_files_are_open_at_once_and_come_back_in_the_next_session(
    suite: Path, place: Path, workbench: Callable[..., Any]
) -> None:
    other = place / "other.yml"
    other.write_text(SUITE.replace("weather", "other"))
    async with workbench() as pilot:
        screen = await opened(pilot, suite)
        await opened(pilot, other, line=12)
        assert " mcptest.yml  other.yml " in text_of(pilot.app)
        await pilot.press("ctrl+pageup")
        assert screen.current.file.path == str(suite)
        await pilot.press("ctrl+pagedown")
        pilot.app.session.save()
    async with workbench() as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: len(screen.files.docs) == 2 and screen.current.file.path == str(other))
        await until(pilot, lambda: screen.current.area.cursor_location[0] == 11)


async def files_are_chosen_from_a_list(pilot: Any, suite: Path) -> None:
    other = suite.with_name("other.yml")
    other.write_text(SUITE)
    await pilot.app.suites.read([str(other)])
    screen = await opened_anew(pilot, suite, SUITE)
    await pilot.press("ctrl+o")
    await typed(pilot, "other")
    await pilot.press("enter")
    await until(pilot, lambda: screen.current.file.path == str(other))


async def a_file_that_is_in_no_list_is_opened_by_its_name(pilot: Any, suite: Path) -> None:
    suite.with_name("notes.txt").write_text("a: 1\r\n\tb: 2\r\n")
    screen = await opened_anew(pilot, suite, SUITE)
    await pilot.press("ctrl+o")
    await typed(pilot, "notes.txt")
    await pilot.press("enter")
    await until(pilot, lambda: screen.current.file.name == "notes.txt")


async def what_can_be_no_path_is_no_file(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    for text in ("~nobody/x.yml", "x" * 300):
        await pilot.press("ctrl+o")
        await typed(pilot, text)
        await pilot.press("escape")
    assert list(screen.files.docs) == [str(suite)]


async def a_file_of_more_than_five_thousand_lines_is_read_only_and_says_so(pilot: Any, suite: Path) -> None:
    screen = await opened_anew(pilot, suite, SUITE + "# x\n" * 5_000)
    assert "read-only" in text_of(pilot.app)
    assert "opens it in $EDITOR" in text_of(pilot.app)
    await typed(pilot, "x")
    assert text_of_file(screen) == suite.read_text()


async def a_part_of_a_suite_has_the_problems_that_its_suite_has_there(pilot: Any, suite: Path) -> None:
    part = suite.with_name("part.yml")
    part.write_text("tools:\n  - name: x\n    tol: status\n")
    await opened_anew(pilot, suite, "servers:\n  demo: { command: [mcptest] }\nimports: [part.yml]\n")
    screen = await opened(pilot, part)
    assert any("tol" in message for message in messages(screen))
    assert not any("servers" in message for message in messages(screen))


async def a_test_is_renamed_with_its_snapshots_and_one_undo_takes_it_back(pilot: Any, suite: Path) -> None:
    kept = suite.parent / ".mcptest" / "snapshots" / "mcptest.yml"
    text = "servers: { demo: { command: [mcptest, mock] } }\ntools:\n  - name: one\n    tool:   status\n"
    write_snapshots(kept, {"one / result": 1})
    screen = await opened_anew(pilot, suite, text, line=4)
    await screen.run_action("refactoring.rename")
    await until(pilot, lambda: "renames 1 place" in text_of(pilot.app), what="the question")
    await pilot.press("ctrl+u", "u", "n", "o", "enter")
    await until(pilot, lambda: screen.current.area.lines[2] == "  - name: uno", what="the name")
    await pilot.press("ctrl+s")
    await until(pilot, lambda: list(read_snapshots(kept)) == ["uno / result"], what="the snapshots")
    await pilot.press("ctrl+z")
    assert screen.current.text == text
    await pilot.press("ctrl+s")
    await until(pilot, lambda: list(read_snapshots(kept)) == ["one / result"], what="the snapshots")
    await screen.run_action("refactoring.format")
    assert screen.current.text == text.replace("   status", " status")
    await pilot.press("ctrl+z")
    assert screen.current.text == text


async def a_server_that_another_file_of_the_suite_names_is_not_renamed_in_one_of_them(pilot: Any, suite: Path) -> None:
    """Renaming it here would have left a suite that does not load."""
    part = suite.with_name("part.yml")
    part.write_text("tools:\n  - { name: x, tool: status, server: demo }\n")
    text = "imports: [part.yml]\nservers: { demo: { command: [mcptest, mock] }, own: { command: [mcptest, mock] } }\n"
    await opened_anew(pilot, suite, text)
    for file, line, other in ((suite, 2, "part.yml names demo too"), (part, 2, "mcptest.yml names demo too")):
        screen = await opened(pilot, file, line=line)
        screen.current.area.move_cursor((line - 1, screen.current.area.lines[line - 1].index("demo") + 1))
        await screen.run_action("refactoring.rename")
        await until_shown(pilot, f"not renamed: {other}")
    screen = await opened(pilot, suite, line=2)
    screen.current.area.move_cursor((1, screen.current.area.lines[1].index("own") + 1))
    await screen.run_action("refactoring.rename")
    await until(pilot, lambda: "renames 1 place" in text_of(pilot.app), what="the question")
    await pilot.press("escape")


async def a_path_is_completed_and_a_folder_is_called_a_folder(pilot: Any, suite: Path) -> None:
    path = suite.parent / "folder" / "deep" / "weather.yml"
    path.parent.mkdir(parents=True)
    path.write_text(SUITE)
    app = pilot.app
    await app.run_action("windows.open_file")
    await until(pilot, lambda: "Open a suite" in text_of(app), what="the question")
    await pilot.press("f", "tab", "enter")
    await until(pilot, lambda: "that is a folder" in text_of(app), what="the answer")
    await pilot.press("tab", "w", "tab", "enter")
    await until(pilot, lambda: app.current_mode == "edit" and app.screen_stack[0].current, what="the editor")
    assert app.screen_stack[0].current.file.path == str(path)


async def a_place_that_is_gone_to_has_its_lines_below_it_in_view(pilot: Any, suite: Path) -> None:
    await pilot.resize_terminal(100, 30)
    area = (await opened_anew(pilot, suite, SUITE + "# a line\n" * 200, line=100)).current.area
    await until(pilot, lambda: area.cursor_location[0] == 99, what="the place")
    assert area.scroll_offset.y == 99 - area.size.height // 3
    in_view, at_the_edge = 101, area.scroll_offset.y + area.size.height - 2
    area.place(in_view, 0)
    assert area.scroll_offset.y == 99 - area.size.height // 3
    area.place(at_the_edge, 0)
    assert area.scroll_offset.y == at_the_edge - area.size.height // 3
    await pilot.resize_terminal(120, 40)


async def the_settings_are_edited_here_with_their_own_problems(pilot: Any, suite: Path) -> None:
    await pilot.app.preferences._set("config")
    screen = await opened(pilot, config_file())
    assert screen.current.text == CONFIG_TEMPLATE
    screen.current.area.load_text("wacth: off\ntitle: 3\n")
    await checked(pilot)
    assert messages(screen) == ['unknown key "wacth"', "`title` is true or false"]


async def the_keymap_is_edited_here_with_its_own_problems_and_a_key_is_given_by_pressing_it(
    pilot: Any, suite: Path
) -> None:
    keymap = keymap_file()
    app = pilot.app
    await app.run_action("preferences.edit_keymap")
    screen = await opened(pilot, keymap)
    assert messages(screen) == []
    await typed(pilot, "run.thsi: r\n")
    await checked(pilot)
    assert messages(screen) == ['no action "run.thsi"']
    await pilot.press("up", "f9")
    await checked(pilot)
    assert screen.current.area.lines[0] == "run.this: r"
    await pilot.press("ctrl+s")
    await until(pilot, keymap.exists, what="the save")
    before = keymap.read_text()
    await app.run_action("preferences.press_key")
    await until(pilot, lambda: "A key for which action?" in text_of(app), what="the actions")
    await typed(pilot, "edit.format")
    await pilot.press("enter")
    await until(pilot, lambda: "Press the key for edit.format" in text_of(app), what="the window")
    await pilot.press("shift+f5")
    await until(pilot, lambda: keymap.read_text() != before, what="the key")
    assert keymap.read_text() == before + 'edit.format: "shift+f5"\n'


async def test_verdicts_finding_and_files(suite: Path, workbench: Callable[..., Any]) -> None:
    async with workbench() as pilot:
        for check in (
            the_test_under_the_cursor_is_run_and_its_result_stands_beside_it,
            running_saves_first,
            a_test_is_renamed_with_its_snapshots_and_one_undo_takes_it_back,
            find_goes_from_hit_to_hit_and_replace_takes_them_one_by_one,
            files_are_chosen_from_a_list,
            a_file_that_is_in_no_list_is_opened_by_its_name,
            what_can_be_no_path_is_no_file,
            a_new_file_opens_without_a_list_of_what_it_lacks,
            a_place_that_is_gone_to_has_its_lines_below_it_in_view,
            a_file_of_more_than_five_thousand_lines_is_read_only_and_says_so,
            a_path_is_completed_and_a_folder_is_called_a_folder,
            a_part_of_a_suite_has_the_problems_that_its_suite_has_there,
            a_server_that_another_file_of_the_suite_names_is_not_renamed_in_one_of_them,
            the_settings_are_edited_here_with_their_own_problems,
            the_keymap_is_edited_here_with_its_own_problems_and_a_key_is_given_by_pressing_it,
        ):
            await check(pilot, suite)


async def test_what_is_unsaved_is_saved_by_quitting_where_that_is_wanted(
    suite: Path, workbench: Callable[..., Any]
) -> None:
    async with workbench() as pilot:
        await opened(pilot, suite)
        await typed(pilot, "# ours\n")
        await pilot.app.run_action("app.quit")
        await until(pilot, lambda: "save and quit" in text_of(pilot.app), what="the question")
        await pilot.press("s")
        await until(pilot, lambda: not pilot.app.is_running or pilot.app._exit, what="the end")
    assert suite.read_text() == "# ours\n" + SUITE


def test_the_examples_of_a_new_keymap_are_taken_as_they_stand() -> None:
    examples = [
        line.removeprefix("# ") for line in keymap_template().splitlines() if line.startswith("# ") and ": [" in line
    ]
    assert len(examples) == 2
    assert diagnose_keymap("\n".join(examples), "keymap.yml") == []


async def test_long_lines_are_marked_where_they_go_on_and_wrap_at_a_key_that_is_remembered(
    suite: Path, workbench: Callable[..., Any]
) -> None:
    """alt+w types nothing; the next session wraps as well."""
    suite.write_text(SUITE + "# " + "long " * 40 + "end\n")
    before = suite.read_text()
    async with workbench(size=(80, 24)) as pilot:
        screen = await opened(pilot, suite)
        await until(pilot, lambda: any(row.rstrip().endswith("…") and "# long" in row for row in rows_of(pilot.app)))
        await pilot.press("alt+w")
        await until(pilot, lambda: "long end" in text_of(pilot.app))
        assert screen.current.text == before
    async with workbench(size=(80, 24)) as pilot:
        await opened(pilot, suite)
        await until(pilot, lambda: "long end" in text_of(pilot.app))
