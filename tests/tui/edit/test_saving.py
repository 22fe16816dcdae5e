"""Saving, and what others do to the file meanwhile: nothing that was typed is lost, and nothing that they wrote."""

# ruff: noqa: ASYNC240 - files of a few lines, and nobody else on the loop
from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.workspace.suite_file import write_suite
from mcptest_tui.screens import edit_drafts
from mcptest_tui.state.drafts import Draft, Drafts
from tests.tui.edit.test_editor import SUITE
from tests.tui.edit.typing import checked, opened, opened_anew, text_of_file, typed
from tests.tui.pictures import assert_picture, text_of
from tests.tui.waiting import hold_threads, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def suite(place: Path) -> Path:
    """A suite, not watched by any run."""
    path = place / "mcptest.yml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def _kept(place: Path, what: str) -> list[str]:
    folder = place / ".mcptest" / "cache" / "drafts"
    return [path.read_text() for path in sorted(folder.glob(f"*.{what}.*"))] if folder.exists() else []


def _drafts(place: Path) -> list[str]:
    folder = place / ".mcptest" / "cache" / "drafts"
    return [path.name for path in folder.glob("*.draft.json")] if folder.exists() else []


class Gate:
    """A slow disk: holds the first write back until it is opened; `order` is what the writes did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        hold_threads(monkeypatch)
        self.order: list[str] = []
        self.opened = threading.Event()
        monkeypatch.setattr("mcptest_tui.state.editor_model.write_suite", self._write)

    def _write(self, path: str, data: bytes) -> None:
        self.order.append("begun")
        assert self.opened.wait(60)
        write_suite(path, data)
        self.order.append("done")

    async def begun(self, pilot: Any) -> None:
        """Wait for the first write."""
        await until(pilot, lambda: self.order, what="the write")


def _busy(pilot: Any) -> bool:
    return any(worker.group == "edit.save" for worker in pilot.app.workers if not worker.is_finished)


async def _question(pilot: Any, part: str) -> None:
    await until(pilot, lambda: part in text_of(pilot.app), what=part)


async def a_save_writes_the_text_and_runs_what_it_affects(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=14)
    screen.current.area.become(SUITE.replace("broken", "down"))
    await until(pilot, lambda: "unsaved" in text_of(pilot.app))
    await pilot.press("ctrl+s")
    await until(pilot, lambda: pilot.app.store.counts["fail"] == 1, what="the run of the changed test")
    assert suite.read_text() == SUITE.replace("broken", "down")
    assert "unsaved" not in text_of(pilot.app)
    assert pilot.app.store.counts["pass"] == 0  # the other test is unchanged


async def test_line_ends_and_the_byte_order_mark_stay(place: Path, workbench: Callable[..., Any]) -> None:
    path = place / "mcptest.yml"
    path.write_bytes(b"\xef\xbb\xbf" + SUITE.replace("\n", "\r\n").encode())
    async with workbench() as pilot:
        screen = await opened(pilot, path, line=7)
        assert screen.current.problems == []
        await pilot.press("end")
        await typed(pilot, "\ntags: [a]")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: not screen.current.is_dirty)
        after = SUITE.replace("    tool: status\n", "    tool: status\n    tags: [a]\n", 1)
        assert path.read_bytes() == b"\xef\xbb\xbf" + after.replace("\n", "\r\n").encode()


async def what_others_wrote_is_read_when_nothing_is_lost_by_it(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    screen = await opened_anew(pilot, suite, SUITE, line=14)
    suite.write_text("# by others\n" + SUITE)
    await until(pilot, lambda: text_of_file(screen) == "# by others\n" + SUITE)
    assert screen.current.area.cursor_location[0] == 14  # the same text as before
    await pilot.press("ctrl+z")
    assert text_of_file(screen) == SUITE


async def when_both_have_changed_a_person_decides(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    for size in [(80, 24), (120, 40)]:
        await pilot.resize_terminal(*size)
        await opened_anew(pilot, suite, SUITE)
        await typed(pilot, "# mine\n")
        await checked(pilot)
        await until(pilot, lambda: "name (string)" in text_of(pilot.app), what="the line of help")
        suite.write_text("# theirs\n" + SUITE)
        await _question(pilot, "has changed on the disk, and here")
        assert_picture(pilot.app, "both-changed", folder="edit")


async def keeping_mine_puts_theirs_aside(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# mine\n")
    suite.write_text("# theirs\n" + SUITE)
    await _question(pilot, "keep mine")
    await pilot.press("m")
    await until(pilot, lambda: suite.read_text() == "# mine\n" + SUITE)
    assert _kept(suite.parent, "theirs") == ["# theirs\n" + SUITE]
    await until(pilot, lambda: not screen.current.is_dirty)


async def what_was_decided_is_not_asked_again_while_it_is_done(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    """The watcher may tell of theirs once more before mine is written; the next letter would answer."""
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# mine\n")
    suite.write_text("# theirs\n" + SUITE)
    await _question(pilot, "keep mine")
    await pilot.press("escape")
    await until(pilot, lambda: screen.is_active)
    doc = screen.current
    doc.postponed = ""
    screen.saving._keep_mine(doc)
    screen.saving.look_at_all()
    assert screen.is_active
    await until(pilot, lambda: suite.read_text() == "# mine\n" + SUITE and not doc.is_dirty)
    assert screen.is_active


async def taking_theirs_puts_mine_aside_and_undo_gives_it_back(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# mine\n")
    suite.write_text("# theirs\n" + SUITE)
    await _question(pilot, "take theirs")
    await pilot.press("d")
    await _question(pilot, "+ # mine")
    await pilot.press("escape")
    await _question(pilot, "take theirs")
    await pilot.press("t")
    await until(pilot, lambda: text_of_file(screen) == "# theirs\n" + SUITE)
    assert suite.read_text() == "# theirs\n" + SUITE
    assert _kept(suite.parent, "mine") == ["# mine\n" + SUITE]
    await pilot.press("ctrl+z")
    assert text_of_file(screen) == "# mine\n" + SUITE


async def nobody_is_asked_while_typing_and_the_save_asks(pilot: Any, suite: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("mcptest_tui.screens.edit_saving.TYPING_SECONDS", 3600)  # however long it takes here
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# mine")
    suite.write_text("# theirs\n" + SUITE)
    screen.saving.look_at_all()
    await typed(pilot, " m t")
    await until(pilot, lambda: "changed on the disk as well" in text_of(pilot.app))
    assert text_of_file(screen).startswith("# mine m t")
    await pilot.press("ctrl+s")
    await _question(pilot, "has changed on the disk, and here")
    await pilot.press("escape")
    assert suite.read_text() == "# theirs\n" + SUITE
    assert text_of_file(screen).startswith("# mine m t")


async def a_file_that_is_deleted_is_told_and_made_anew_by_a_save(
    pilot: Any, suite: Path, _: pytest.MonkeyPatch
) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    suite.unlink()
    await until(pilot, lambda: "was deleted on the disk" in text_of(pilot.app))
    assert text_of_file(screen) == SUITE
    assert screen.saving.unsaved_names() == ["mcptest.yml"]
    await pilot.press("ctrl+s")
    await until(pilot, suite.exists)
    assert suite.read_text() == SUITE


async def test_a_save_that_fails_says_where_and_why_and_the_text_is_safe(
    place: Path, workbench: Callable[..., Any]
) -> None:
    folder = place / "deep"
    folder.mkdir()
    path = folder / "mcptest.yml"
    path.write_text(SUITE)
    async with workbench(paths=[str(path)]) as pilot:
        screen = await opened(pilot, path)
        await typed(pilot, "# mine\n")
        shutil.rmtree(folder)
        folder.write_text("a file stands where the folder was")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "not saved" in text_of(pilot.app))
        notices = [notice.message.lower() for notice in pilot.app._notifications]  # which are drawn in several rows
        (told,) = [notice for notice in notices if "not saved" in notice]  # that the suite is gone may be told as well
        assert "file exists" in told or "not a dir" in told
        assert text_of_file(screen) == "# mine\n" + SUITE
        assert len(_drafts(place)) == 1


async def test_unsaved_text_is_put_aside_and_offered_the_next_time_until_it_is_saved_or_thrown_away(
    suite: Path, place: Path, workbench: Callable[..., Any]
) -> None:
    async with workbench() as pilot:
        await opened(pilot, suite)
        await typed(pilot, "# mine\n")
        await until(pilot, lambda: _drafts(place), what="the draft")
    async with workbench() as pilot:
        screen = await opened(pilot, suite)
        await _question(pilot, "There is unsaved text of mcptest.yml")
        assert text_of_file(screen) == SUITE
        await pilot.press("r")
        await until(pilot, lambda: text_of_file(screen) == "# mine\n" + SUITE)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: suite.read_text() == "# mine\n" + SUITE)
        await until(pilot, lambda: not _drafts(place))
        await typed(pilot, "# more\n")
        await until(pilot, lambda: _drafts(place), what="the draft")
    async with workbench() as pilot:
        await opened(pilot, suite)
        await _question(pilot, "There is unsaved text")
        await pilot.press("x")
        await until(pilot, lambda: not _drafts(place))


async def test_what_is_typed_is_put_aside_also_while_one_goes_on_typing(
    suite: Path, place: Path, workbench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every two seconds; a pause, at which it is put aside at once, never comes."""
    assert edit_drafts.DRAFT_SECONDS <= 2
    monkeypatch.setattr(edit_drafts, "PAUSE_SECONDS", 3600)
    monkeypatch.setattr(edit_drafts, "DRAFT_SECONDS", 0.05)

    def put(text: str) -> bool:
        left = Drafts(place).find(str(suite))
        return left is not None and left.text == text + SUITE

    async with workbench() as pilot:
        await opened(pilot, suite)
        await typed(pilot, "#")
        await until(pilot, lambda: put("#"), what="the first draft")
        await typed(pilot, " mine\n")
        await until(pilot, lambda: put("# mine\n"), what="the second")


async def a_saved_file_leaves_no_draft(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# mine\n")
    await until(pilot, lambda: _drafts(suite.parent))
    await pilot.press("ctrl+s")
    await until(pilot, lambda: not _drafts(suite.parent))


async def quitting_asks_about_unsaved_text(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "x")
    await pilot.press("ctrl+q")
    await _question(pilot, "Quit without saving 1 file?")
    await pilot.press("n")


async def closing_asks_about_unsaved_text_and_keeps_it(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# mine\n")
    await pilot.app.screen.run_action("saving.close")
    await _question(pilot, "without saving?")
    await pilot.press("c")
    await until(pilot, lambda: screen.current is None)
    assert "No file is open" in text_of(pilot.app)
    assert len(_drafts(suite.parent)) == 1
    screen.files.open(str(suite))
    await _question(pilot, "There is unsaved text")


async def test_an_unreadable_file_is_told(place: Path, workbench: Callable[..., Any]) -> None:
    (place / "mcptest.yml").symlink_to("mcptest.yml")
    async with workbench(paths=["."]) as pilot:
        pilot.app.go("edit", path=str(place / "mcptest.yml"))
        await until(pilot, lambda: "cannot open" in text_of(pilot.app))


async def test_a_binary_file_can_be_looked_at_and_is_never_written(place: Path, workbench: Callable[..., Any]) -> None:
    path = place / "mcptest.yml"
    path.write_bytes(b"a: \xff\xfe\n")
    async with workbench() as pilot:
        screen = await opened(pilot, path)
        await typed(pilot, "x")
        await pilot.press("ctrl+s")
        await checked(pilot)
        assert "not UTF-8" in text_of(pilot.app)
        assert path.read_bytes() == b"a: \xff\xfe\n"
        assert not screen.saving.unsaved_names()


async def test_text_of_a_file_that_was_never_saved_is_told_at_the_start_and_offered(
    place: Path, workbench: Callable[..., Any]
) -> None:
    left = place / "never.yml"
    Drafts(place).put(Draft(str(left), "name: never saved\n", "", 1.0))
    async with workbench() as pilot:
        await until(pilot, lambda: "unsaved text of never.yml is saved as a draft" in text_of(pilot.app))
        assert "the editor (f2) offers it" in text_of(pilot.app)
        pilot.app.go("edit")
        await _question(pilot, "There is unsaved text of never.yml")
        await pilot.press("r")
        screen = pilot.app.screen_stack[0]
        await until(pilot, lambda: screen.current and screen.current.text == "name: never saved\n")
        assert screen.saving.unsaved_names() == ["never.yml"]
        assert not left.exists()


async def test_the_difference_to_unsaved_text_lies_alone_and_leads_back_to_the_question(
    suite: Path, place: Path, workbench: Callable[..., Any]
) -> None:
    Drafts(place).put(Draft(str(suite), "# unsaved\n" + SUITE, "", 1.0))
    async with workbench() as pilot:
        pilot.app.go("edit")
        await _question(pilot, "There is unsaved text")
        await pilot.press("d")
        await _question(pilot, "+ # unsaved")
        await pilot.pause()
        assert "There is unsaved text" not in text_of(pilot.app)
        await pilot.press("escape")
        await _question(pilot, "There is unsaved text")
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("r")
        screen = pilot.app.screen_stack[0]
        await until(pilot, lambda: screen.current.text == "# unsaved\n" + SUITE)


async def a_file_that_is_no_suite_yet_is_looked_after_as_well(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    new = suite.parent / "new.yml"
    screen = await opened(pilot, new)
    new.write_text(SUITE)
    await until(pilot, lambda: text_of_file(screen) == SUITE)


async def a_save_right_after_a_file_was_opened_is_not_missed(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    new = suite.parent / "new.yml"
    screen = await opened_anew(pilot, suite, SUITE)
    await until(pilot, pilot.app.engine_ready.is_set)
    with _asleep(pilot.app.engine.pid):
        screen.files.open(str(new))
        new.write_text(SUITE)
    await until(pilot, lambda: text_of_file(screen) == SUITE)


async def test_a_save_after_a_suite_was_read_and_before_it_is_watched_is_not_missed(
    suite: Path, place: Path, tmp_path: Path, workbench: Callable[..., Any]
) -> None:
    other = tmp_path / "elsewhere.yml"
    other.write_text(SUITE)
    async with workbench() as pilot:
        app = pilot.app
        await opened(pilot, suite)
        await until(pilot, lambda: app.suites.searched)
        with _asleep(app.engine.pid):
            await app.open_document(str(other))
            before = app.store.documents[str(other)].digest
            other.write_text(SUITE + "# more\n")
        await until(pilot, lambda: app.store.documents[str(other)].digest != before)


@contextlib.contextmanager
def _asleep(process: int) -> Iterator[None]:
    """Nothing that the process is told meanwhile is heard before the end."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


async def of_two_saves_the_text_that_was_typed_last_is_on_the_disk(
    pilot: Any, suite: Path, patch: pytest.MonkeyPatch
) -> None:
    gate = Gate(patch)
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# one\n")
    screen.saving.action_save()
    await gate.begun(pilot)
    await typed(pilot, "# two\n")
    screen.saving.action_save()
    for _ in range(20):  # a save that does not wait begins to write meanwhile
        await asyncio.to_thread(bool)
        await pilot.pause()
    assert gate.order == ["begun"]
    gate.opened.set()
    await until(pilot, lambda: not screen.current.is_dirty)
    assert suite.read_text() == "# one\n# two\n" + SUITE
    assert gate.order == ["begun", "done"] * 2


async def what_is_typed_while_a_file_is_saved_and_closed_is_put_aside(
    pilot: Any, suite: Path, patch: pytest.MonkeyPatch
) -> None:
    gate = Gate(patch)
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# one\n")
    screen.saving.save_and_close(screen.current)
    await gate.begun(pilot)
    screen.current.area.insert("# two\n")
    gate.opened.set()
    await until(pilot, lambda: screen.current is None)
    assert suite.read_text() == "# one\n" + SUITE
    left = Drafts(suite.parent).find(str(suite))
    assert left is not None
    assert left.text == "# one\n# two\n" + SUITE


async def a_file_that_was_closed_while_it_was_saved_is_closed_once(
    pilot: Any, suite: Path, patch: pytest.MonkeyPatch
) -> None:
    gate = Gate(patch)
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# one\n")
    screen.saving.save_and_close(screen.current)
    await gate.begun(pilot)
    screen.saving.close(screen.current, keep=True)
    again = await opened(pilot, suite)
    gate.opened.set()
    await until(pilot, lambda: "done" in gate.order and not _busy(pilot))
    assert list(again.files.docs) == [str(suite)]


async def text_that_no_folder_takes_is_not_closed(pilot: Any, suite: Path, patch: pytest.MonkeyPatch) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    patch.setattr(screen.drafting.drafts, "put", lambda _: None)
    await typed(pilot, "# mine\n")
    screen.saving.close(screen.current, keep=True)
    await until(pilot, lambda: "stays open" in text_of(pilot.app))
    assert text_of_file(screen) == "# mine\n" + SUITE


async def theirs_is_put_aside_byte_for_byte(pilot: Any, suite: Path, _: pytest.MonkeyPatch) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    await typed(pilot, "# mine\n")
    suite.write_bytes(b"# caf\xe9\n")
    await _question(pilot, "keep mine")
    await pilot.press("m")
    await until(pilot, lambda: not screen.current.is_dirty)
    kept = list((suite.parent / ".mcptest" / "cache" / "drafts").glob("*.theirs.*"))
    assert [path.read_bytes() for path in kept] == [b"# caf\xe9\n"]


async def theirs_that_cannot_be_put_aside_is_not_written_over(
    pilot: Any, suite: Path, patch: pytest.MonkeyPatch
) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    patch.setattr(screen.drafting.drafts, "keep", lambda *_: None)
    await typed(pilot, "# mine\n")
    suite.write_text("# theirs\n" + SUITE)
    await _question(pilot, "keep mine")
    await pilot.press("m")
    await until(pilot, lambda: "their text cannot be saved as a draft" in text_of(pilot.app))
    assert suite.read_text() == "# theirs\n" + SUITE
    assert text_of_file(screen) == "# mine\n" + SUITE


async def what_others_write_behind_the_answer_is_asked_about_once_more(
    pilot: Any, suite: Path, patch: pytest.MonkeyPatch
) -> None:
    screen = await opened_anew(pilot, suite, SUITE)
    keep = screen.drafting.drafts.keep

    def kept(*told: Any) -> Any:
        path = keep(*told)
        suite.write_text("# newer\n" + SUITE)
        return path

    await typed(pilot, "# mine\n")
    suite.write_text("# theirs\n" + SUITE)
    await _question(pilot, "keep mine")
    patch.setattr(screen.drafting.drafts, "keep", kept)
    asked = screen.questions.open
    await pilot.press("m")
    await until(pilot, lambda: screen.questions.open not in (None, asked))
    assert suite.read_text() == "# newer\n" + SUITE


WHILE_NOBODY_TYPES = (
    when_both_have_changed_a_person_decides,
    keeping_mine_puts_theirs_aside,
    what_was_decided_is_not_asked_again_while_it_is_done,
    taking_theirs_puts_mine_aside_and_undo_gives_it_back,
    theirs_is_put_aside_byte_for_byte,
    theirs_that_cannot_be_put_aside_is_not_written_over,
    what_others_write_behind_the_answer_is_asked_about_once_more,
)
"""Questions come up at once."""
SAVES = (
    a_save_writes_the_text_and_runs_what_it_affects,
    what_others_wrote_is_read_when_nothing_is_lost_by_it,
    nobody_is_asked_while_typing_and_the_save_asks,
    a_file_that_is_deleted_is_told_and_made_anew_by_a_save,
    a_saved_file_leaves_no_draft,
    quitting_asks_about_unsaved_text,
    closing_asks_about_unsaved_text_and_keeps_it,
    a_file_that_is_no_suite_yet_is_looked_after_as_well,
    text_that_no_folder_takes_is_not_closed,
)
SLOW_SAVES = (
    of_two_saves_the_text_that_was_typed_last_is_on_the_disk,
    what_is_typed_while_a_file_is_saved_and_closed_is_put_aside,
    a_file_that_was_closed_while_it_was_saved_is_closed_once,
    a_save_right_after_a_file_was_opened_is_not_missed,
)


@pytest.mark.parametrize("checks", [WHILE_NOBODY_TYPES, SAVES, SLOW_SAVES], ids=["both change", "saves", "slow saves"])
async def test_nothing_is_lost(
    suite: Path, workbench: Callable[..., Any], checks: Sequence[Callable[..., Any]]
) -> None:
    """Each check begins with the suite as it was, and without a draft."""
    async with workbench() as pilot:
        for check in checks:
            shutil.rmtree(suite.parent / ".mcptest" / "cache" / "drafts", ignore_errors=True)
            with pytest.MonkeyPatch.context() as patch:
                if checks is WHILE_NOBODY_TYPES:
                    patch.setattr("mcptest_tui.screens.edit_saving.TYPING_SECONDS", -1.0)
                await check(pilot, suite, patch)
