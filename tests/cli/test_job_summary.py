"""The `github` report and the summary of a job that GitHub names a file for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcptest_engine.cli.main import main
from mcptest_engine.cli.sinks import MOST_SUMMARY_BYTES
from tests.reporting.conftest import make_rich_record


@pytest.fixture
def record(tmp_path, monkeypatch):
    """The path of a saved record, in a workspace of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcptest").mkdir()
    path = tmp_path / "run.json"
    path.write_text(json.dumps(make_rich_record().to_json()), encoding="utf-8")
    return path


def test_the_report_of_a_job_is_summarised_where_github_asks_for_it(record, tmp_path, monkeypatch, capsys):
    """What was in the file stays; what is on stdout is the same as without a summary."""
    assert main(["report", str(record), "--format", "github"]) == 0
    alone = capsys.readouterr().out
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["report", str(record), "--format", "github"]) == 0
    assert capsys.readouterr().out == alone
    assert main(["report", str(record), "--format", "md"]) == 0
    assert summary.read_text(encoding="utf-8") == f"before\n{capsys.readouterr().out}\n"


def test_no_other_report_writes_a_summary(record, tmp_path, monkeypatch, capsys):
    """`md` is for whoever wants to place it themselves."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert main(["report", str(record), "--format", "md"]) == 0
    assert not (tmp_path / "summary.md").exists()


def test_a_summary_that_github_would_drop_is_not_written(record, tmp_path, monkeypatch, capsys):
    """More than 1 MiB of one step is dropped as a whole, with what stood there before."""
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"x" * (MOST_SUMMARY_BYTES - 100))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["report", str(record), "--format", "github"]) == 0
    assert summary.stat().st_size == MOST_SUMMARY_BYTES - 100
    assert "warning: the job summary was not written: it would be larger than the 1 MiB" in capsys.readouterr().err


def test_a_summary_that_cannot_be_written_costs_a_warning(record, tmp_path, monkeypatch, capsys):
    """The verdict is what counts."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere" / "summary.md"))
    assert main(["report", str(record), "--format", "github"]) == 0
    assert "warning: the job summary was not written: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["sarif", "gitlab", "openinference"])
def test_a_saved_record_is_told_in_the_formats_of_other_systems(form, record, capsys):
    """`mcptest report run.json --format X`, and `--output`."""
    assert main(["report", str(record), "--format", form, "--output", "out"]) == 0
    capsys.readouterr()
    assert main(["report", str(record), "--format", form]) == 0
    assert Path("out").read_text(encoding="utf-8") == capsys.readouterr().out
