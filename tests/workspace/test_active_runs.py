"""What a run says of itself while it goes on."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from mcptest_engine.workspace.active_runs import (
    ABANDONED_SECONDS,
    ActiveRun,
    ActiveRunFile,
    active_runs_dir,
    list_active_runs,
)
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_noted_is_read_and_taken_away(tmp_path: Path) -> None:
    """By whoever looks at the workspace."""
    workspace, run_id = Workspace(tmp_path), new_ulid()
    note, far = ActiveRunFile(workspace.data_dir, run_id), ActiveRun(run_id, "library", total=5, finished=3, failed=1)
    assert list_active_runs(workspace.data_dir, time.time()) == ()
    note.write(far)
    assert list_active_runs(workspace.data_dir, time.time()) == (far,)
    note.remove(time.time())
    assert list_active_runs(workspace.data_dir, time.time()) == ()


def test_parts_of_one_run_are_added_up(tmp_path: Path) -> None:
    """Several processes may run one."""
    workspace, run_id = Workspace(tmp_path), new_ulid()
    ActiveRunFile(workspace.data_dir, run_id).write(ActiveRun(run_id, "library", total=5, finished=3, failed=1))
    mine = next(active_runs_dir(workspace.data_dir).iterdir())
    mine.rename(mine.with_name(f"{run_id}.1.json"))
    ActiveRunFile(workspace.data_dir, run_id).write(ActiveRun(run_id, "library", total=4, finished=2, inconclusive=1))
    assert list_active_runs(workspace.data_dir, time.time()) == (
        ActiveRun(run_id, "library", total=9, finished=5, failed=1, inconclusive=1),
    )


def test_a_run_that_was_killed_tells_of_nothing(tmp_path: Path) -> None:
    """Nobody touches its note any more; a later run takes it away."""
    workspace, killed, later = Workspace(tmp_path), new_ulid(), new_ulid()
    ActiveRunFile(workspace.data_dir, killed).write(ActiveRun(killed, "library", total=5))
    left = next(active_runs_dir(workspace.data_dir).iterdir())
    past = time.time() - ABANDONED_SECONDS - 60
    os.utime(left, (past, past))
    assert list_active_runs(workspace.data_dir, time.time()) == ()
    ActiveRunFile(workspace.data_dir, later).remove(time.time())
    assert not left.exists()


def test_what_is_no_note_is_left_out(tmp_path: Path) -> None:
    """Anybody may put a file there."""
    workspace = Workspace(tmp_path)
    folder = active_runs_dir(workspace.data_dir)
    folder.mkdir(parents=True)
    for number, text in enumerate(
        ["", "[]", "{}", '{"suite": 1, "total": "x"}', "[" * 5000, '{"suite": "a", "total": 1e999}']
    ):
        (folder / f"{new_ulid()}.{number}.json").write_text(text, encoding="utf-8")
    (folder / "notes.json").write_text("{}", encoding="utf-8")
    (folder / f"{new_ulid()}.7.json").mkdir()
    assert list_active_runs(workspace.data_dir, time.time()) == ()


def test_a_disk_that_refuses_costs_only_the_note(tmp_path: Path) -> None:
    """A run is worth more than what is said of it."""
    (tmp_path / ".mcptest").write_text("a file", encoding="utf-8")
    workspace, run_id = Workspace(tmp_path), new_ulid()
    note = ActiveRunFile(workspace.data_dir, run_id)
    note.write(ActiveRun(run_id, "library"))
    note.touch()
    note.remove(time.time())
    assert list_active_runs(workspace.data_dir, time.time()) == ()
