"""What one test came to in earlier runs, and how much is read to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.workspace import history as module
from mcptest_engine.workspace.history import History
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ID = "mcptest.yml::tool::a"


def save(workspace: Workspace, *, suite: str = "mcptest.yml", tests: list[dict[str, Any]] | None = None) -> str:
    run_id = new_ulid()
    row = {"id": ID, "verdict": "pass", "duration_ms": 1.5, "message": None}
    record = {
        "run_id": run_id,
        "started_at": "2026-01-01T00:00:00Z",
        "suite": {"name": "n", "path": suite, "sha256": ""},
        "tests": [row] if tests is None else tests,
    }
    workspace.save_run(record)
    return run_id


def test_the_newest_come_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    saved = [save(workspace) for _ in range(5)]
    history = History(workspace)
    assert [past.run_id for past in history.of(ID, 3)] == saved[:1:-1]
    assert history.of(ID)[0].to_json() == {
        "run_id": saved[-1],
        "started_at": "2026-01-01T00:00:00Z",
        "verdict": "pass",
        "duration_ms": 1.5,
    }


def test_a_result_that_waited_for_a_model_says_so(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    save(workspace, tests=[{"id": ID, "verdict": "inconclusive", "duration_ms": 1, "deferred": "no model provider"}])
    assert History(workspace).of(ID)[0].to_json()["deferred"] == "no model provider"


def test_runs_of_other_suites_and_without_the_test_are_passed_over(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    mine = save(workspace)
    save(workspace, suite="other.yml")
    save(workspace, tests=[{"id": "mcptest.yml::tool::b", "verdict": "fail", "duration_ms": 1}])
    assert [past.run_id for past in History(workspace).of(ID)] == [mine]


def test_a_run_saved_meanwhile_is_seen_and_an_old_one_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(tmp_path)
    first = save(workspace)
    history = History(workspace)
    assert len(history.of(ID)) == 1
    (workspace.runs_dir / f"{first}.json").write_text("{}", encoding="utf-8")
    second = save(workspace)
    assert [past.run_id for past in history.of(ID)] == [second, first]


def test_damaged_records_are_passed_by(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    good = save(workspace)
    head = '{"suite":{"path":"mcptest.yml"},"tests":'
    for text in ("", "{", head, f"{head}3}}", f"{head}[1,{{}}]}}", "[]", '{"suite":3}'):
        (workspace.runs_dir / f"{new_ulid()}.json").write_text(text, encoding="utf-8")
    assert [past.run_id for past in History(workspace).of(ID)] == [good]


def test_one_question_reads_no_more_than_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that never ran is asked for: what was not reached this time is, the next time."""
    workspace = Workspace(tmp_path)
    save(workspace)
    other = [{"id": "mcptest.yml::tool::b", "verdict": "pass", "duration_ms": 1, "message": "x" * 1_000}]
    for _ in range(4):
        save(workspace, tests=other)
    monkeypatch.setattr(module, "MOST_BYTES", 2_000)
    history = History(workspace)
    assert history.of(ID) == []
    assert history.of(ID) == []
    assert len(history.of(ID)) == 1


def test_no_runs_no_history(tmp_path: Path) -> None:
    assert History(Workspace(tmp_path)).of(ID) == []


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    saved = [save(workspace) for _ in range(10)]
    monkeypatch.setattr(module, "MOST_REMEMBERED", 3)
    history = History(workspace)
    for _ in range(2):
        assert [past.run_id for past in history.of(ID)] == saved[::-1]
    for run_id in saved:  # what is not remembered is read again, and found to be damaged by now
        (workspace.runs_dir / f"{run_id}.json").write_text("{}", encoding="utf-8")
    assert [past.run_id for past in history.of(ID)] == saved[2::-1]
