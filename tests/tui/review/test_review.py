"""The review: deciding, changing one's mind, editing, writing, taking it back; with the real engine and the demo server."""

from __future__ import annotations

import json
import re
import sys

import pytest

from mcptest_tui.screens.difference import Difference
from mcptest_tui.widgets.modals import Question
from mcptest_tui.widgets.text_view import TextView
from tests.conftest import SERVERS
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.review.reviewing import (
    failed,
    forget_all,
    long_lines_in,
    new_test,
    reviewing,
    reviewing_now,
    stored,
    suite_in,
)
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]
MASKS = ((r"the run of \d\d:\d\d", "the run of HH:MM"), (r"/\S+/work", "FOLDER"))


async def asked(pilot):
    """A question lies over the screen; what it says."""
    await until(pilot, lambda: isinstance(pilot.app.screen, Question), what="a question")
    await pilot.pause()
    return text_of(pilot.app)


async def test_a_failed_test_leads_to_its_proposal(workbench, place):
    """u; the mode bar counts; comments and all else of the suite stay when it is written, and only that test runs again."""
    path = suite_in(place)
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await failed(pilot)
        assert "Review •2" in rows_of(app)[0]
        app.screen.listing.show_test(next(row for row in app.store.rows.values() if row.name == "record"))
        await pilot.press("v")
        await until(pilot, lambda: app.current_mode == "review" and "Review 2/2" in text_of(app))
        await pilot.press("k")
        await until(pilot, lambda: "good-bye" in text_of(app))
        for size in SIZES:
            await pilot.resize_terminal(*size)
            assert_picture(app, "proposal", folder="review", masks=MASKS)
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "tests" and "run it again" in text_of(app), what="the result")
        await pilot.press("4")
        await until(pilot, lambda: app.current_mode == "review")
        before = path.read_text()
        await pilot.press("a")
        assert "1 accepted" in text_of(app)
        assert path.read_text() == before
        app.watch_mode = "affected"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.reviews.state.items) == 1 and app.store.counts["pass"] == 2)
        assert path.read_text() == before.replace("exact: good-bye", "exact: hello")
        assert app.store.counts["fail"] == 1
        await pilot.press("U")
        await until(pilot, lambda: path.read_text() == before, what="the old text")
        await until(pilot, lambda: not app.store.progress.busy)


async def when_all_are_decided_it_asks_once_and_no_keeps_them(pilot, place):
    """Nothing is written until then, nor after no; leaving and coming back keeps every decision; quitting asks."""
    path = await forget_all(pilot, place)
    for number in range(3):
        new_test(place, number)
    app = pilot.app
    await reviewing_now(pilot, 3)
    before = path.read_text()
    await pilot.press("a", "r", "s")
    text = await asked(pilot)
    assert "1 accepted, 1 rejected, 1 skipped." in text
    assert "This writes mcptest.yml." in text
    await pilot.press("n")
    await pilot.press("f1", "f4")
    await until(pilot, lambda: app.current_mode == "review")
    assert "1 accepted  1 rejected  1 skipped  0 left" in text_of(app)
    assert path.read_text() == before
    await pilot.press("q")
    assert "Review: 1 accepted, 1 rejected, not written" in await asked(pilot)
    await pilot.press("n", "ctrl+s")
    await until(pilot, lambda: len(app.reviews.state.items) == 1)
    assert [item.title for item in app.reviews.state.items] == ["added 2"]
    assert "added 0" in path.read_text()
    assert "added 1" not in path.read_text()


async def what_is_unsaved_in_edit_is_saved_before_a_proposal_is_written(pilot, place):
    """Asked first, and nothing is written without a yes; then the file has both, and so has Edit."""
    path = await forget_all(pilot, place)
    new_test(place, 0)
    new_test(place, 1)
    app = pilot.app
    app.go("edit")
    await until(pilot, lambda: getattr(app.screen, "current", None) is not None)
    doc = app.screen.current
    doc.area.insert("# mine\n", (0, 0))
    await reviewing_now(pilot, 2)
    before = path.read_text()
    await pilot.press("a", "ctrl+s")
    assert "Save mcptest.yml first?" in await asked(pilot)
    await pilot.press("n")
    assert path.read_text() == before
    await pilot.press("ctrl+s")
    await asked(pilot)
    await pilot.press("s")
    await until(pilot, lambda: "added 0" in path.read_text())
    assert path.read_text().startswith("# mine\n")
    await until(pilot, lambda: doc.text == path.read_text(), what="the same text in Edit")
    assert not doc.is_dirty


async def the_key_that_writes_says_yes_to_the_question_whether_to_write(pilot, place):
    """The line below the question goes on saying that this key writes."""
    path = await forget_all(pilot, place)
    new_test(place, 0)
    before = path.read_text()
    await pilot.resize_terminal(80, 24)
    await reviewing_now(pilot, 1)
    await pilot.press("a")
    assert "All are decided" in await asked(pilot)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: path.read_text() != before, what="the suite to be written")
    await until(pilot, lambda: not pilot.app.reviews.is_writing and not isinstance(pilot.app.screen, Question))


async def decisions_are_taken_back_and_changed(pilot, place):
    """u takes the last one back; looking does not decide."""
    await forget_all(pilot, place)
    for number in range(3):
        new_test(place, number)
    screen = await reviewing_now(pilot, 3)
    state = screen.state
    screen.listed.action_move(1)
    screen.show_all()  # as when proposals are read before the message of the move comes
    assert (state.at, screen.listed.cursor) == (1, 1)
    await pilot.press("j", "k")
    assert (state.at, state.decisions) == (1, {})
    await pilot.press("a")
    assert state.at == 2
    await pilot.press("r", "u")
    assert state.at == 2
    assert [one.choice for one in state.decisions.values()] == ["accept"]
    await pilot.press("u", "u")
    assert state.decisions == {}
    assert state.at == 1


async def the_rest_is_accepted_after_one_question_without_what_loosens(pilot, place):
    """A names the files, and says what it leaves out."""
    path = await forget_all(pilot, place)
    new_test(place, 1)
    new_test(place, 2)
    stored(place, "record", expect=[{"target": "result.content", "matcher": {"type": "array"}}])
    app = pilot.app
    state = (await reviewing_now(pilot, 3)).state
    assert [item.loosens is not None for item in state.items].count(True) == 1
    await pilot.press("A")
    text = await asked(pilot)
    assert "Accept 2 proposals?" in text
    assert "They change mcptest.yml" in text
    assert "Left out: 1 proposal that would make a test demand less" in text
    await pilot.press("y")
    await until(pilot, lambda: state.counts["accept"] == 2)
    assert "loosens" in text_of(app)
    await pilot.press("A")
    await until(pilot, lambda: "nothing is left to accept at once" in text_of(app))
    await pilot.press("R")
    assert "Reject 1 proposal?" in await asked(pilot)
    await pilot.press("y")
    await asked(pilot)
    await pilot.press("y")
    await until(pilot, lambda: not app.reviews.state.items)
    assert "exact: 8" in path.read_text()


async def a_fragment_is_edited_and_an_invalid_one_is_refused(pilot, place):
    """It is looked at as it is typed; esc leaves it and keeps what was typed."""
    path = await forget_all(pilot, place)
    new_test(place, 1)
    await pilot.resize_terminal(100, 30)
    app = pilot.app
    app.watch_mode = "off"  # the edited test fails, and a run would propose something again
    screen = await reviewing_now(pilot, 1)
    await pilot.press("e")
    await until(pilot, lambda: "it can be accepted" in text_of(app))
    area = screen.editing.editor.area
    good = area.text.replace("array", "string")
    area.load_text(area.text.replace("matcher", "mathcer"))
    await until(pilot, lambda: "✗ " in text_of(app) and "mathcer" in text_of(app))
    await pilot.press("ctrl+s")
    await pilot.pause()
    assert app.reviews.state.decisions == {}
    assert screen.has_class("-editing")
    await pilot.press("escape")
    assert not screen.has_class("-editing")
    await pilot.press("e")
    assert "mathcer" in screen.editing.editor.text
    screen.editing.editor.area.load_text(good)
    await until(pilot, lambda: "it can be accepted" in text_of(app))
    await pilot.press("ctrl+s")
    await asked(pilot)
    await pilot.press("y")
    await until(pilot, lambda: not app.reviews.state.items)
    assert "type: string" in path.read_text()


async def the_whole_file_and_all_that_is_known(pilot, place):
    """d and i; Enter opens the test in the editor."""
    await forget_all(pilot, place)
    new_test(place, 1, why="because", left_out=tuple(f"result.a[{number}]" for number in range(20)))
    app = pilot.app
    await reviewing_now(pilot, 1)
    await pilot.press("d")
    await until(pilot, lambda: isinstance(app.screen, Difference))
    assert "added 1" in text_of(app)
    await pilot.press("escape", "i")
    await until(pilot, lambda: "a new test" in text_of(app) and "result.a[19]" in text_of(app))
    await pilot.press("escape", "enter")
    await until(pilot, lambda: app.current_mode == "edit")


async def test_the_whole_file_is_every_line_of_it_and_begins_where_it_changes(workbench, place):
    path = suite_in(place)
    path.write_text(path.read_text() + "".join(f"# line {number}\n" for number in range(40)), encoding="utf-8")
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await failed(pilot)
        await reviewing(pilot, 2)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Difference) and "exact: good-bye" in text_of(app))
        lines = app.screen.query_one(TextView).lines
        rows = ["".join(text for text, _ in told.pieces) for told in lines]
        assert [row[2:] for row in rows if row[0] in " -"] == path.read_text().splitlines()
        assert [row for row in rows if row[0] == "+"] == [
            '+       - { target: "result.content[0].text", matcher: { exact: hello } }  # kept'
        ]
        await pilot.press("G")
        await until(pilot, lambda: "# line 39" in text_of(app))


async def a_change_at_the_end_of_a_long_line_is_seen_and_marked(pilot):
    """The lines of a whole file wrap; W cuts them, and wraps them again."""
    app = pilot.app
    for size in [(100, 30), (80, 24)]:
        await pilot.resize_terminal(*size)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Difference) and '"good-bye"}}]}' in text_of(app))
        assert '"hello"}}]}' in text_of(app)
        view = app.screen.query_one(TextView)
        pieces = [piece for at in range(view.count()) for piece in view.pieces(at, 0)]
        assert ("good-bye", "text-view--expected-part") in pieces
        assert ("hello", "text-view--actual-part") in pieces
        await pilot.press("W")
        await until(pilot, lambda: '"hello"}}]}' not in text_of(app))
        await pilot.press("W")
        await until(pilot, lambda: '"hello"}}]}' in text_of(app))
        await pilot.press("escape")


async def test_a_change_of_a_long_line_is_seen_and_what_was_written_is_shown_until_the_next_decision(workbench, place):
    """A decision shows the next proposal first, so that none is decided unseen; where none is left, until Escape or U."""
    path = long_lines_in(place)
    before = path.read_text()
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await failed(pilot)
        await reviewing(pilot, 2)
        await a_change_at_the_end_of_a_long_line_is_seen_and_marked(pilot)
        await pilot.press("a", "ctrl+s")
        await until(pilot, lambda: "written to mcptest.yml" in text_of(app) and len(app.reviews.state.items) == 1)
        for size in [(100, 30), (80, 24)]:
            await pilot.resize_terminal(*size)
            assert all(
                told in text_of(app) for told in ("… line 5", '"good-bye"}}]}', '"hello"}}]}', "U takes it back")
            )
            keys = rows_of(app)[-1]
            assert "esc next proposal  U undo write" in keys
            assert not re.search("accept|reject|skip|edit", keys)
        await pilot.press("a")
        await until(pilot, lambda: "Review 1/1" in text_of(app) and "written to" not in text_of(app))
        assert not app.reviews.state.decisions
        await pilot.press("a", "y")
        await until(pilot, lambda: "written to mcptest.yml" in text_of(app) and not app.reviews.state.items)
        await pilot.press("escape")
        await until(pilot, lambda: "Nothing to review" in text_of(app))
        await pilot.press("U")
        await until(pilot, lambda: len(app.reviews.state.items) == 1)
        assert path.read_text() == before.replace("good-bye", "hello")


async def test_the_list_names_the_tests_before_all_else_and_says_what_its_sign_means(workbench, place):
    """All columns are used: the name, then the end of a path, then the line; what ! means stands below the list."""
    path = suite_in(place)
    path.write_text(path.read_text().replace("name: echo", "name: an echo of hello"), encoding="utf-8")
    stored(place, "passes", expect=[{"target": "result.content", "matcher": {"type": "array"}}])
    async with workbench(size=(100, 30)) as pilot:
        app = pilot.app
        await failed(pilot)
        await reviewing(pilot, 3)
        rows = [row[2:36].rstrip(" │") for row in rows_of(app)]
        assert rows[2:4] == ["○   an echo of hello  …[0].text", "○   record  …id                :11"]
        assert rows[4] == "○ ! passes  expect             :16"
        assert any("! loosens" in row[:38] for row in rows_of(app))


async def escape_out_of_the_editor_says_that_the_text_is_kept(pilot, place):
    path = await forget_all(pilot, place)
    new_test(place, 1)
    app, before = pilot.app, path.read_bytes()
    screen = await reviewing_now(pilot, 1)
    await pilot.press("e")
    await until(pilot, lambda: "it can be accepted" in text_of(app))
    edited = screen.editing.editor.area.text.replace("array", "string")
    screen.editing.editor.area.load_text(edited)
    await until(pilot, lambda: app.reviews.state.drafts)
    await pilot.press("escape")
    await until(pilot, lambda: "the edited text is saved, but not accepted: e goes on with it" in text_of(app))
    assert "edited, not accepted" in text_of(app)
    assert (app.reviews.state.decisions, path.read_bytes()) == ({}, before)
    await pilot.press("e")
    assert screen.editing.editor.text == edited


async def a_suite_that_changed_meanwhile_is_not_overwritten(pilot, place):
    """What can still be placed is; what cannot is refused, said, and waits on."""
    path = await forget_all(pilot, place)
    stored(place, "record", expect=[{"target": "result.isError", "matcher": {"not": {"exact": True}}}])
    app = pilot.app
    await reviewing_now(pilot, 1)
    app.watch_mode = "off"
    app.reviews.saved = lambda _: None  # the person is faster than the news
    await pilot.press("a")
    await asked(pilot)
    path.write_text(path.read_text().replace("name: record", "name: other"))
    changed = path.read_text()
    await pilot.press("y")
    await until(pilot, lambda: "record: " in text_of(app) or "refused" in text_of(app))
    assert path.read_text() == changed
    assert app.reviews.state.unwritten == 0


async def a_proposal_that_is_made_meanwhile_appears(pilot, place):
    """The folder is watched; so is what becomes of it."""
    await forget_all(pilot, place)
    new_test(place, 1)
    await reviewing_now(pilot, 1)
    new_test(place, 2)
    await until(pilot, lambda: "Review •2" in rows_of(pilot.app)[0])
    for path in (place / ".mcptest" / "proposals").iterdir():
        path.unlink()
    await until(pilot, lambda: "Nothing to review" in text_of(pilot.app))


async def test_a_proposal_that_the_list_does_not_have_yet_is_gone_to_all_the_same(workbench, place):
    """Somebody is faster than the news of it; what there is none of is said then."""
    path = suite_in(place)
    async with workbench() as pilot:
        app = pilot.app
        await reviewing(pilot, 0)
        app.reviews.saved = lambda _: None
        for number in range(3):
            new_test(place, number)
        app.go("review", suite=str(path), test="added 1")
        await until(pilot, lambda: "Review 2/3" in text_of(app))
        app.go("review", suite=str(path), test="nowhere")
        await until(pilot, lambda: "nothing is proposed for nowhere" in text_of(app))


async def text_from_elsewhere_is_shown_as_text(pilot, place):
    """Escapes, markup, directions: in names, values and reasons."""
    await forget_all(pilot, place)
    evil = "[red]\x1b]0;pwned\x07\u202e[/red]"
    test = {
        "name": f"x {evil}",
        "tool": "echo",
        "args": {"text": evil},
        "expect": [{"target": "result.isError", "matcher": {"exact": False}}],
    }
    stored(place, f"x {evil}", test=test, why=evil, stability=evil, left_out=(evil,), notes=(evil,))
    app = pilot.app
    await reviewing_now(pilot, 1)
    await pilot.pause()
    if app.reviews.state.items:
        await pilot.press("i")
        await until(pilot, lambda: "[red]␛]0;pwned" in text_of(app))
        await pilot.press("e")
        await pilot.pause()
    text = text_of(app)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


async def five_hundred_proposals_move_and_decide_at_once(pilot, place):
    """The list is drawn by the line."""
    await forget_all(pilot, place)
    for number in range(500):
        new_test(place, number)
    app = pilot.app
    screen = await reviewing_now(pilot, 500)
    await pilot.press("G")
    await until(pilot, lambda: "Review 500/500" in text_of(app))
    await pilot.press("a")
    assert screen.state.at == 0
    await pilot.press("S")
    assert "Skip 499 proposals?" in await asked(pilot)
    await pilot.press("y")
    assert "Write them?" in await asked(pilot)
    await pilot.press("n")


async def it_fits_every_terminal(pilot, place):
    """From 40x10 on: the proposal, the counts, the keys."""
    app = pilot.app
    for size in [(40, 10), (58, 14), (180, 45)]:
        await pilot.resize_terminal(*size)
        await forget_all(pilot, place)
        app.watch_mode = "affected"
        new_test(place, 1)
        await reviewing_now(pilot, 1)
        await pilot.pause()
        assert "0 accepted" in text_of(app)
        await until(pilot, lambda: "mcptest.yml  added 1" in text_of(app), what="a title as wide as its pane allows")
        assert_picture(app, "fits", folder="review", masks=MASKS)
        await pilot.press("e")
        await until(pilot, lambda: app.screen.editing.editor.area.has_focus)
        await pilot.press("escape", "a")
        await asked(pilot)
        await pilot.press("escape")


async def test_without_colours_signs_tell_what_goes_and_comes(workbench, place, monkeypatch):
    """NO_COLOR: - and +, and a mark for every decision."""
    monkeypatch.setenv("NO_COLOR", "1")
    suite_in(place)
    async with workbench() as pilot:
        app = pilot.app
        await failed(pilot)
        await reviewing(pilot, 2)
        await pilot.press("r", "k")
        await until(pilot, lambda: "✗ rejected" in text_of(app))
        text = text_of(app)
        assert '- { target: "result' in text
        assert "- - {" not in text
        assert '+ { target: "result' in text


async def nothing_to_review_says_how_there_can_be_something(pilot, place):
    """In true words."""
    for size in SIZES:
        await pilot.resize_terminal(*size)
        await forget_all(pilot, place)
        await reviewing_now(pilot, 0)
        await pilot.pause()
        assert "P on a tool proposes a test of it" in text_of(pilot.app)
        await pilot.press("a", "r", "e", "d", "i", "u", "enter", "ctrl+s", "A", "asterisk", "j", "U")
        assert pilot.app.current_mode == "review"


async def alike_ones_are_accepted_together(pilot, place):
    """L: the same change in other tests."""
    await forget_all(pilot, place)
    for number in range(4):
        new_test(place, number)
    state = (await reviewing_now(pilot, 4)).state
    await pilot.press("asterisk")
    assert "Accept 4 proposals that are alike?" in await asked(pilot)
    await pilot.press("y")
    await until(pilot, lambda: state.counts["accept"] == 4)


async def test_decisions_outlast_a_suite_that_is_gone_for_a_while(workbench, place):
    """Its proposals go, and come back as they were decided; their place is told whole again."""
    path = suite_in(place)
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await failed(pilot)
        await reviewing(pilot, 2)
        await pilot.press("a")
        text = path.read_bytes()
        path.unlink()
        await until(pilot, lambda: "Nothing to review" in text_of(app), what="an empty list")
        path.write_bytes(text)
        await until(pilot, lambda: len(app.reviews.state.items) == 2, what="the list")
        await until(pilot, lambda: "1 accepted  0 rejected  1 left" in text_of(app), what="the decision")
        await until(pilot, lambda: "mcptest.yml:6  echo" in text_of(app) or "mcptest.yml:11  record" in text_of(app))
        await pilot.press("u")
        assert app.reviews.state.decisions == {}


async def what_s_writes_is_never_cut(pilot, place):
    """The key first; that nothing is written yet where there is room."""
    for size in [(80, 24), (40, 10)]:
        await pilot.resize_terminal(*size)
        await forget_all(pilot, place)
        for number in range(3):
            new_test(place, number)
        await reviewing_now(pilot, 3)
        await pilot.press("a", "r")
        await pilot.pause()
        row = next(row for row in rows_of(pilot.app) if "1 accepted" in row)
        assert "\u2026" not in row
        assert "^s writes 1 file" in row or size[0] == 40


async def test_an_accepted_snapshot_is_named_and_its_test_runs_again(workbench, place):
    """No suite changes with it: the question says what does."""
    path = suite_in(place)
    before = path.read_text().replace("matcher: { exact: 8 }", "matcher: { snapshot: true }")
    path.write_text(before)
    snapshots = place / ".mcptest" / "snapshots"
    snapshots.mkdir()
    (snapshots / "mcptest.yml").write_text("record / result.structuredContent.id: 8\n")
    async with workbench() as pilot:
        app = pilot.app
        await failed(pilot)
        app.watch_mode = "affected"
        await reviewing(pilot, 2)
        snapshot = next(at for at, item in enumerate(app.reviews.state.items) if item.kind == "snapshot")
        await pilot.press("s" if snapshot else "a", "a" if snapshot else "s")
        assert "This writes the snapshots of mcptest.yml." in await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: app.store.counts["pass"] == 2 and not app.store.progress.busy, what="the run")
        assert path.read_text() == before


async def test_made_up_arguments_are_given_with_what_the_tool_takes_beside_them(workbench, place):
    """Ruling A7: first in the list; what stands above the fragment is not written."""
    command = json.dumps([sys.executable, "-S", str(SERVERS / "library.py")])
    path = place / "mcptest.yml"
    path.write_text(
        f"servers: {{ library: {{ command: {command} }} }}\ntools:\n"
        '  - name: a book\n    tool: get_book\n    args: { book_id: "1" }\n    guess: [book_id]\n'
    )
    async with workbench(size=(120, 30)) as pilot:
        app = pilot.app
        app.watch_mode = "off"
        app.runs.start(None)
        await until(pilot, lambda: app.store.counts["inconclusive"] == 1 and not app.store.progress.busy)
        screen = await reviewing(pilot, 1)
        await until(pilot, lambda: "needs arguments" in text_of(app))
        assert "`book_id` (string, required)" in text_of(app)
        assert "no book has the id 1" in text_of(app)
        await pilot.press("a")
        await until(pilot, lambda: "it needs arguments that the server accepts: e gives them" in text_of(app))
        assert not app.reviews.state.decisions
        await pilot.press("e")
        area = screen.editing.editor.area
        assert area.text.startswith("# `book_id` (string, required): The id of the book.\n- name: a book")
        await until(pilot, lambda: "it still needs arguments that the server accepts" in text_of(app))
        area.load_text(area.text.replace('"1"', "b-7741"))
        await until(pilot, lambda: "it can be accepted" in text_of(app))
        await pilot.press("ctrl+s")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: not app.reviews.state.items)
        assert path.read_text().endswith("  - name: a book\n    tool: get_book\n    args: { book_id: b-7741 }\n")


async def test_it_fits_every_terminal(workbench, place):
    suite_in(place)
    async with workbench(size=(40, 10)) as pilot:
        await it_fits_every_terminal(pilot, place)


async def test_proposals_of_new_tests(workbench, place):
    suite_in(place)
    async with workbench() as pilot:
        for check in (
            when_all_are_decided_it_asks_once_and_no_keeps_them,
            the_key_that_writes_says_yes_to_the_question_whether_to_write,
            decisions_are_taken_back_and_changed,
            the_rest_is_accepted_after_one_question_without_what_loosens,
            a_fragment_is_edited_and_an_invalid_one_is_refused,
            the_whole_file_and_all_that_is_known,
            escape_out_of_the_editor_says_that_the_text_is_kept,
            a_proposal_that_is_made_meanwhile_appears,
            text_from_elsewhere_is_shown_as_text,
            alike_ones_are_accepted_together,
            what_s_writes_is_never_cut,
            nothing_to_review_says_how_there_can_be_something,
            five_hundred_proposals_move_and_decide_at_once,
            what_is_unsaved_in_edit_is_saved_before_a_proposal_is_written,
            a_suite_that_changed_meanwhile_is_not_overwritten,
        ):
            await check(pilot, place)
            await pilot.resize_terminal(120, 40)


LONG = "the record of a customer in the north of Europe in the winter of this year is {}"
PARTS = """\
name: parts
servers:
  demo: {{ command: [mcptest, mock, --preset, demo] }}
tools:
  - name: {}
    tool: get_weather
    args: {{ city: Oslo }}
    expect:
      - target: result.structuredContent
        matcher:
          exact: {{ city: 'Bergen', unit: "kelvin", temperature: 19.0, conditions: [cloudy] }}
  - name: {}
    tool: get_weather
    args: {{ city: Oslo }}
    expect: [{{ target: result.structuredContent.city, matcher: {{ exact: Bergen }} }}]
"""


async def test_differences_of_one_value_are_rows_that_name_their_place_and_are_decided_each(workbench, place):
    """Improvement 8; and two proposals whose names differ at their end looked the same."""
    path = place / "mcptest.yml"
    path.write_text(PARTS.format(LONG.format("cold"), LONG.format("dark")), encoding="utf-8")
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await pilot.press("a")
        await until(pilot, lambda: app.store.counts["fail"] == 2 and len(app.reviews.state.items) == 3)
        await pilot.press("4")
        await until(pilot, lambda: app.current_mode == "review" and "Review 1/3" in text_of(app))
        about = [item.about for item in app.reviews.state.items]
        assert about == [f"result.structuredContent.{name}" for name in ("city", "unit", "city")]
        for size in SIZES:
            await pilot.resize_terminal(*size)
            text = " ".join(text_of(app).split())
            assert "- city: 'Bergen'" in text and "+ city: 'Oslo'" in text
            assert "…cold" in text
        rows = [" ".join(row.split(" │ ")[0].split()) for row in rows_of(app)[2:5]]
        assert rows[0].endswith(("city", "city :5", "city mcptest.yml:5")) and "unit" in rows[1]
        assert "…cold" in rows[0] and "…dark" in rows[2]
        assert app.screen.proposal.view.lines[0].pieces[0][0] == LONG.format("cold")  # whole, above the change
        await pilot.press("r", "a")
        await until(pilot, lambda: "1 accepted  1 rejected  1 left" in text_of(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: 'unit: "celsius"' in path.read_text(), what="the one that was accepted")
        assert (
            "exact: { city: 'Bergen', unit: \"celsius\", temperature: 19.0, conditions: [cloudy] }" in path.read_text()
        )
        await until(pilot, lambda: not app.store.progress.busy)
