"""`mcptest evidence`: its mapping, what makes it reproducible, and what it refuses."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from mcptest_engine.cli.main import main
from mcptest_engine.core.results import TestKind
from mcptest_engine.reporting.evidence import evidence_of
from mcptest_engine.workspace.workspace import Workspace
from tests.reporting.conftest import make_record, make_test

SOURCE = {"repo": "https://example.com/a.git", "branch": "main", "commit": "0" * 40, "dirty": False}
RUN = replace(make_record(make_test("a"), make_test("b", "fail"), make_test("c", "skip")), source=SOURCE)
FINDINGS = {"findings": [{"severity": "high"}, {"severity": "low"}, {"severity": "high"}]}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """`run.json`, `findings.json`, and the run in a workspace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    (tmp_path / ".mcptest").mkdir()
    Path("run.json").write_text(json.dumps(RUN.to_json()), encoding="utf-8")
    Path("findings.json").write_text(json.dumps(FINDINGS), encoding="utf-8")


def evidence(capsys, *argv):
    assert main(["evidence", *argv]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_says_who_was_tested_by_what_and_with_which_result(capsys):
    told = evidence(capsys, "run.json", "--security", "findings.json")
    assert told["schema_version"] == "mcptest.dev/evidence/v1"
    assert {key: told["server_identity"][0][key] for key in ("name", "transport", "auth")} == {
        "name": "demo",
        "transport": "stdio",
        "auth": "none",
    }
    assert told["spec_version"] == "2025-11-25"
    assert told["corpus_version"] == "sha256:" + "a" * 64
    assert told["source"]["commit_sha"] == "0" * 40
    assert told["grades"] == {
        "tests_total": 3,
        "tests_passed": 1,
        "tests_failed": 1,
        "tests_inconclusive": 0,
        "tests_skipped": 1,
        "security_severity_counts": {"critical": 0, "high": 2, "medium": 0, "low": 1, "info": 0},
    }
    assert told["digests"]["record"] == f"sha256:{hashlib.sha256(Path('run.json').read_bytes()).hexdigest()}"
    assert told["reproducible"] is told["unverifiable_origin"] is False


def test_it_is_the_same_bytes_for_the_same_inputs(capsys, monkeypatch):
    """With the run's own time, or the one that builds agree on."""
    texts = []
    for name in ("one.json", "two.json"):
        assert main(["evidence", "run.json", "--reproducible", "--output", name]) == 0
        texts.append(Path(name).read_bytes())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["generated_at"] == RUN.started_at
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert evidence(capsys, "run.json", "--reproducible")["generated_at"] == "2023-11-14T22:13:20Z"
    assert evidence(capsys, "run.json")["generated_at"] > RUN.started_at


@pytest.mark.parametrize(
    "changes",
    [{"source": {**SOURCE, key: value}} for key, value in (("commit", None), ("repo", None), ("dirty", True))]
    + [{"mode": "replayed"}],
)
def test_an_origin_that_nobody_can_go_back_to_is_said(changes, capsys):
    """A digest of what cannot be found again proves little."""
    Path("run.json").write_text(json.dumps(replace(RUN, **changes).to_json()), encoding="utf-8")
    assert evidence(capsys, "run.json")["unverifiable_origin"] is True


def test_a_run_of_the_workspace_is_named_by_its_id(tmp_path, capsys):
    """In any case."""
    path = Workspace(tmp_path).save_run(RUN.to_json())
    told = evidence(capsys, RUN.run_id.lower())
    assert told["digests"]["record"] == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["nowhere.json"], 'there is no run "nowhere.json" here'),
        (["findings.json"], "not a run record of mcptest.run/v1"),
        (["run.json", "--security", "run.json"], "`run.json` has no findings of `mcptest security`"),
        (["run.json", "--security", "nowhere.json"], "`nowhere.json` cannot be read"),
        (["run.json", "--sign"], "mcptest does not sign"),
    ],
)
def test_what_is_no_record_is_refused(argv, told, capsys):
    """Nothing is written."""
    assert main(["evidence", *argv]) == 2
    assert told in capsys.readouterr().err


def test_it_names_the_models_the_judges_and_the_scorers(capsys):
    """Who answered and who graded is as much a part of the proof as the server is."""
    conversation = {"conversation": {}, "model": "one", "models": [], "tool_calls": []}
    said = {"models": [{"model": "a-judge", "calls": 1, "tokens": 5, "cost_usd": None}], "by": "judge"}
    tests = (
        make_test("a", kind=TestKind.AGENT, model="one", trace=conversation),
        make_test("a: rubric", kind=TestKind.EVAL, model="a-judge", scorer="judge", judgement=said),
        make_test("e (words)", kind=TestKind.EVAL, scorer="words", judgement={"by": "exec", "cost_usd": 0.0}),
    )
    told = evidence_of(make_record(*tests), record_bytes=b"", generated_at="", reproducible=False)
    assert told["models"] == {"tested": ["one"], "judges": ["a-judge"], "scorers": ["words"]}
    assert evidence(capsys, "run.json")["models"] == {"tested": [], "judges": [], "scorers": []}


def test_latest_is_the_newest_run_here_for_reports_too(capsys, tmp_path):
    """As it is for `diff-runs`; a file of that name is meant before it."""
    assert main(["evidence", "latest"]) == 2
    assert "no run is saved here yet" in capsys.readouterr().err
    Workspace(tmp_path).save_run(RUN.to_json())
    assert evidence(capsys, "latest")["run"]["run_id"] == RUN.run_id
    assert main(["report", "latest", "--format", "minimal"]) == 0
    assert capsys.readouterr().out.startswith("ran 3 tests")
    assert main(["report", "latest~3"]) == 2
    assert "there is no `latest~3`" in capsys.readouterr().err


def test_it_tells_live_answers_from_those_that_no_server_gave():
    nodes = {
        name: {"id": name, "status": "ok", "output": None, "duration_ms": 0.0, "server": "demo", "tool": "x", **more}
        for name, more in {
            "asked": {"started_ms": 1.0},
            "stands_in": {"started_ms": 1.0, "mocked": True},
            "kept": {"started_ms": 1.0, "frozen": True},
            "not_begun": {},
        }.items()
    }
    composed = make_test("c", kind=TestKind.COMPOSITION, output=None, trace={"composition": {}, "nodes": nodes})
    tests = (make_test("a"), make_test("b", cached=True), composed, make_test("d", "skip"))

    def told(*tests, mode="live"):
        run = replace(make_record(*tests), source=SOURCE, mode=mode)
        return evidence_of(run, record_bytes=b"", generated_at="", reproducible=False)

    mixed = told(*tests)
    assert mixed["answers"] == {"live": 2, "cached": 1, "replayed": 0, "mocked": 1, "frozen": 1}
    assert (mixed["run"]["mode"], mixed["unverifiable_origin"]) == ("live", True)
    assert told(make_test("a"))["unverifiable_origin"] is False
    assert told(make_test("a", cached=True))["unverifiable_origin"] is True
    assert told(make_test("a"), mode="replayed")["answers"]["replayed"] == 1
