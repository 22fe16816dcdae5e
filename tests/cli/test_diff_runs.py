"""`mcptest diff-runs`: which runs are meant, formats, exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mcptest_engine.cli.main import main
from mcptest_engine.core.run_record import SuiteInfo
from mcptest_engine.workspace.workspace import Workspace
from tests.reporting.conftest import make_record, make_test

ID = "01JCQQYV4S3H6KX7M8RN2T5X{}"


def run(letter, *tests, path="mcptest.yml"):
    return replace(
        make_record(*tests, suite=SuiteInfo(name="demo", path=path, sha256="a" * 64)), run_id=ID.format(letter)
    )


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    """Three runs of one suite, the newest with a new failure, and one of another suite between them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcptest").mkdir()
    runs = (
        run("ZA", make_test("a", "fail")),
        run("ZB", make_test("a")),
        run("ZC", make_test("z"), path="other.yml"),
        run("ZD", make_test("a", "fail")),
    )
    for record in runs:
        Workspace(tmp_path).save_run(record.to_json())


def test_the_newest_run_is_compared_with_the_one_before_of_its_suite(capsys):
    """Without arguments; a new failure exits with 1."""
    assert main(["diff-runs"]) == 1
    text = capsys.readouterr().out
    assert text.startswith(f"before {ID.format('ZB')}  pass: 1 passed")
    assert "\nnewly failing\n  a: assertion 1" in text


@pytest.mark.parametrize(
    ("names", "code"),
    [(["latest~2", "latest~1"], 0), (["latest~2", "latest"], 0), ([ID.format("ZB"), ID.format("ZD").lower()], 1)],
)
def test_runs_are_named_by_age_or_id(names, code, capsys):
    """A failure that was there before fails nothing."""
    assert main(["diff-runs", *names]) == code


def test_runs_are_named_by_file_and_told_as_json(capsys):
    """What CI keeps as an artifact."""
    Path("old.json").write_text(json.dumps(run("ZX", make_test("a"), make_test("b")).to_json()), encoding="utf-8")
    assert main(["diff-runs", "old.json", "latest", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["newly_failing"]] == ["a"]
    assert told["newly_failing"][0]["after"]["verdict"] == "fail"
    assert [one["name"] for one in told["gone"]] == ["b"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["latest~9"], "there is no `latest~9`"),
        (["nowhere.json"], 'there is no run "nowhere.json" here'),
        (["bad.json"], "`bad.json`: not a run record of mcptest.run/v1 (found 'list')"),
        (["deep.json"], "`deep.json` is not a run record: it is nested too deeply to be read"),
    ],
)
def test_what_is_no_run_exits_with_2(names, told, capsys):
    """And says which."""
    Path("bad.json").write_text("[]", encoding="utf-8")
    Path("deep.json").write_text("[" * 100_000, encoding="utf-8")
    assert main(["diff-runs", *names]) == 2
    assert told in capsys.readouterr().err
