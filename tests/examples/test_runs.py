"""The examples do what they say, run by the installed command against the real servers that they name."""

from __future__ import annotations

import json
import os
import shutil
import sys
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
    and path.parent.name not in {"agent-reporter", "snapshots", "public-server-time", "shared"}
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
    """Issue 2: one runnable, tested suite per concept."""
    done = mcptest("run", name, "--reporter", "json", cwd=examples)
    record = json.loads(done.stdout or "null")
    assert done.returncode == 0, done.stderr + str(record and [test.get("message") for test in record["tests"]])
    assert record["totals"]["passed"] >= 1


def test_the_agent_example_fails_as_the_document_shows(mcptest: Command, examples: Path) -> None:
    """Agent interface, the agent reporter: the shape, word for word but for the time."""
    done = mcptest("run", "--config", "agent-reporter/suite.yml", "--reporter", "agent", cwd=examples)
    assert done.returncode == 1
    first, *rest = done.stdout.splitlines()
    assert first.startswith("VERDICT fail 1/2 passed (1 failed, 0 inconclusive, 0 cached, ")
    assert rest[0] == "FAIL status reports operational"
    assert rest[1].lstrip().startswith("assert: assertion #0 (`result.content[0].text`) failed: ")
    assert "substring `operational` not found" in rest[1]
    assert rest[-1].lstrip() == (
        'repro: mcptest run --filter "status reports operational" --config agent-reporter/suite.yml'
    )


def test_snapshots_are_accepted_once_and_compared_ever_after(mcptest: Command, examples: Path) -> None:
    """Decisions 9: a missing one is a failure where nobody is asked; `--update-snapshots` accepts."""
    folder = examples / "snapshots"
    assert mcptest("run", cwd=folder).returncode == 1
    assert mcptest("run", "--update-snapshots", cwd=folder).returncode == 0
    assert mcptest("run", cwd=folder, CI="true").returncode == 0
    (accepted,) = (path for path in (folder / ".mcptest" / "snapshots").glob("*.yml") if "pending" not in path.name)
    text = accepted.read_text(encoding="utf-8")
    assert "\n" in text
    accepted.write_text(text[: len(text) // 2].rsplit("\n", 1)[0] + "\n", encoding="utf-8")
    assert mcptest("run", cwd=folder, CI="true").returncode != 0


def test_a_public_server_that_is_not_ours_passes_its_suite(mcptest: Command, examples: Path) -> None:
    """Issue 2: a suite against a real public server, which CI installs and runs."""
    beside = Path(sys.executable).parent
    if not (beside / "mcp-server-time").exists() and shutil.which("mcp-server-time") is None:
        assert not os.environ.get("CI"), "mcp-server-time is not installed"
        pytest.skip("mcp-server-time is not installed")
    path = f"{beside}{os.pathsep}{os.environ['PATH']}"
    done = mcptest("run", cwd=examples / "public-server-time", PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
