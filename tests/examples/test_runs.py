"""The examples do what they say, run by the installed command against the real servers that they name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Command = Callable[..., subprocess.CompletedProcess[str]]

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
GREEN = sorted(
    path.relative_to(EXAMPLES).as_posix()
    for path in EXAMPLES.rglob("*.yml")
    if path.name != "manifest.yml"
    and path.parent.name not in {"agent-reporter", "auditor-view", "lost-answers", "snapshots", "shared"}
    and path.relative_to(EXAMPLES).parts[0]
    not in {"public", "pytest"}  # tests/e2e and tests/python run those, with the packages that they need
    and path.name != "servers.yml"
)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples, so that nothing is written beside the real ones."""
    copy = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns(".mcptest"))
    return copy


@pytest.mark.parametrize("name", GREEN)
def test_an_example_is_green(mcptest: Command, examples: Path, name: str) -> None:
    """One runnable, tested suite per concept. One that is about models alone says that it is deferred."""
    done = mcptest("run", name, "--reporter", "json", cwd=examples)
    record = json.loads(done.stdout or "null")
    assert done.returncode == 0, done.stderr + str(record and [test.get("message") for test in record["tests"]])
    deferred = [test for test in record["tests"] if test.get("message", "").startswith("deferred: no model provider")]
    assert record["totals"]["passed"] >= 1 or record["totals"]["inconclusive"] == len(deferred) == len(record["tests"])


def test_the_agent_example_fails_as_the_document_shows(mcptest: Command, examples: Path) -> None:
    """Agent interface, the agent reporter: the shape, word for word but for the time."""
    done = mcptest("run", "--config", "agent-reporter/suite.yml", "--reporter", "agent", cwd=examples)
    assert done.returncode == 1
    first, *rest = done.stdout.splitlines()
    assert first.startswith("VERDICT fail 1/2 passed (1 failed, 0 inconclusive, 0 cached, ")
    assert rest[0] == "FAIL status reports operational"
    assert rest[1].lstrip().startswith("assert: assertion 1, line 10 (`result.content[0].text`) failed: ")
    assert "substring `operational` not found" in rest[1]
    assert rest[-1].lstrip() == (
        'repro: mcptest run --filter "status reports operational" --config agent-reporter/suite.yml'
    )


def test_snapshots_are_accepted_once_and_compared_ever_after(mcptest: Command, examples: Path) -> None:
    """A missing one is a failure where nobody is asked; `--update-snapshots` accepts."""
    folder = examples / "snapshots"
    assert mcptest("run", cwd=folder).returncode == 1
    assert mcptest("run", "--update-snapshots", cwd=folder).returncode == 0
    assert mcptest("run", cwd=folder, CI="true").returncode == 0
    (accepted,) = (path for path in (folder / ".mcptest" / "snapshots").glob("*.yml") if "pending" not in path.name)
    text = accepted.read_text(encoding="utf-8")
    assert "\n" in text
    accepted.write_text(text[: len(text) // 2].rsplit("\n", 1)[0] + "\n", encoding="utf-8")
    assert mcptest("run", cwd=folder, CI="true").returncode != 0


def test_the_tool_that_pays_twice_is_found_and_nothing_else(mcptest: Command, examples: Path) -> None:
    """One tool of the example applies its effect twice, and one does not."""
    done = mcptest("run", "lost-answers/suite.yml", "--reporter", "json", cwd=examples)
    assert done.returncode == 1
    tests = json.loads(done.stdout)["tests"]
    failed = {test["name"]: test["failure"]["message"] for test in tests if test["verdict"] != "pass"}
    assert failed == {
        "a lost answer does not pay twice": "verify step 1 (bob paid once): assertion 1, line 22 "
        "(`result.structuredContent.balance`) failed: expected `90`, got `80`"
    }
    assert not any("flaky" in test for test in tests)


def test_the_auditors_example_has_something_of_everything(mcptest: Command, examples: Path) -> None:
    """Agent interface, Auditing an agent run: the fixture beside it is such a run, and the report of both is one page."""
    folder = examples / "auditor-view"
    done = mcptest("run", "--reporter", "json=fresh.json", "--reporter", "html=fresh.html", cwd=folder)
    assert done.returncode == 1
    assert mcptest("report", "fresh.json", "--format", "html", "--output", "again.html", cwd=folder).returncode == 0
    assert (folder / "again.html").read_bytes() == (folder / "fresh.html").read_bytes()
    assert mcptest("report", "run.json", "--format", "html", "--output", "kept.html", cwd=folder).returncode == 0
    fresh, kept = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("fresh.json", "run.json"))
    verdicts = [[(test["name"], test["verdict"]) for test in record["tests"]] for record in (fresh, kept)]
    assert verdicts[0] == verdicts[1]
    assert {verdict for _, verdict in verdicts[0]} == {"pass", "fail", "inconclusive", "skip"}
    page = (folder / "kept.html").read_text(encoding="utf-8")
    assert "Audit this run" in page
    assert kept["source"]["commit"] in page
