"""Running a suite's agent tests in this process, against the local model endpoint and real servers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from tests.servers.model_endpoint import ModelEndpoint

SERVERS = Path(__file__).parent.parent / "servers"
CLAUDE, GPT = "claude-sonnet-5-5", "gpt-5.4"


def shed(*arguments: object) -> str:
    """The command of `tests/servers/toolshed.py`, as a suite writes it."""
    return json.dumps([sys.executable, "-S", str(SERVERS / "toolshed.py"), *map(str, arguments)])


@pytest.fixture
def suite_of(tmp_path: Path) -> Callable[..., Any]:
    """A loaded suite from what it says, written to `mcptest.yml` in `tmp_path` as JSON, which is YAML."""

    def load(suite: Any) -> Any:
        path = tmp_path / "mcptest.yml"
        path.write_text(json.dumps(suite), encoding="utf-8")
        return load_suite(
            path, LoadOptions(variables={}, environ={"PATH": os.environ["PATH"]}, workspace_root=tmp_path)
        )

    return load


@pytest.fixture
def run_of(suite_of: Callable[..., Any], models: ModelEndpoint, tmp_path: Path) -> Callable[..., Any]:
    """A run of a suite in this process, to be awaited; with the endpoint's environment unless another is given."""

    async def run(
        suite: Any, *, emit: Any = lambda _event: None, environ: dict[str, str] | None = None, **settings: Any
    ) -> RunRecord:
        own = models.environ if environ is None else environ
        asked = RunSettings(environ={"PATH": os.environ["PATH"], **own}, **settings)
        async with asyncio.timeout(180):
            return await launch(suite_of(suite), asked, workspace=Workspace(tmp_path), emit=emit)

    return run


@pytest.fixture
def record_of(run_of: Callable[..., Any]) -> Callable[..., RunRecord]:
    """The record of a run."""
    return lambda suite, **settings: asyncio.run(run_of(suite, **settings))


@pytest.fixture
def agent(record_of: Callable[..., RunRecord]) -> Callable[..., TestResult]:
    """Run one agent test with these members, on one `toolshed` or on `servers`."""

    def result(
        *, servers: Any = None, settings: dict[str, Any] | None = None, suite: Any = None, **members: Any
    ) -> Any:
        declared = {name: {"command": json.loads(command)} for name, command in (servers or {"shed": shed()}).items()}
        own = {"servers": list(declared)} if servers else {}
        test = {"name": "asks", "model": CLAUDE, "prompt": "go", **own, **members}
        record = record_of({"servers": declared, "agents": [test], **(suite or {})}, **(settings or {}))
        return record.tests[0] if len(record.tests) == 1 else record

    return result


def holds(target: str, matcher: Any) -> dict[str, Any]:
    """An assertion."""
    return {"target": target, "matcher": matcher}
