"""Running suites of compositions against `tests/servers/workshop.py`, in this process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace
from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord


def workshop(log: Path, name: str = "shop") -> list[str]:
    """The command of a server that writes down its calls."""
    return [sys.executable, "-S", str(SERVERS / "workshop.py"), "--name", name, "--log", str(log)]


def calls_in(log: Path) -> list[tuple[str, str, str]]:
    """What a log holds: (at, server, tool)."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [(line["at"], line["name"], line["tool"]) for line in map(json.loads, lines)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


@pytest.fixture
def run(tmp_path: Path, log: Path) -> Callable[..., RunRecord]:
    """The record of a run of compositions, given as data; `servers` names those that there are, all of them workshops."""

    def running(
        *compositions: dict[str, Any],
        servers: tuple[str, ...] = ("shop",),
        broken: tuple[str, ...] = (),
        environ: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> RunRecord:
        path = tmp_path / "mcptest.yml"
        environment = {"PATH": os.environ["PATH"], **(environ or {})}
        patient = {"shutdown_grace_ms": 30_000}  # it writes down what it was told last, however busy the machine is
        declared: dict[str, Any] = {name: {"command": workshop(log, name), **patient} for name in servers}
        declared |= {
            name: {"command": [sys.executable, "-S", "-c", "raise SystemExit('giving up')"]} for name in broken
        }
        entries = [{"name": f"c{number}", **one} for number, one in enumerate(compositions)]
        path.write_text(json.dumps({"servers": declared, "compositions": entries}), encoding="utf-8")
        options = LoadOptions(environ=environment, workspace_root=tmp_path)
        suite = load_suite(path, options)
        asked = RunSettings(environ=environment, **settings)

        async def launched() -> RunRecord:
            async with asyncio.timeout(180):
                return await launch(suite, asked, workspace=Workspace(tmp_path), emit=lambda _event: None)

        return asyncio.run(launched())

    return running


def nodes_of(record: RunRecord, test: int = 0) -> dict[str, Any]:
    """The nodes in the trace of a test."""
    trace = record.tests[test].trace
    assert trace is not None
    nodes: dict[str, Any] = trace["nodes"]
    return nodes
