"""Loading a suite from its text, and running it in this process, as the tests of this folder need it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import LoadedSuite

SERVERS = Path(__file__).parent.parent / "servers"


@pytest.fixture
def suite_of(tmp_path: Path) -> Callable[..., LoadedSuite]:
    """A loaded suite from its text, written to `mcptest.yml` in `tmp_path`."""

    def load(text: str, **variables: str) -> LoadedSuite:
        path = tmp_path / "mcptest.yml"
        path.write_text(text, encoding="utf-8")
        environ = {key: value for key, value in os.environ.items() if key != "CI"}
        return load_suite(path, LoadOptions(variables=variables, environ=environ, workspace_root=tmp_path))

    return load


@pytest.fixture
def ledger() -> Callable[..., str]:
    """The command of `tests/servers/ledger.py`, as a suite writes it; with a file for its data if one is given."""

    def command(*arguments: object) -> str:
        return json.dumps([sys.executable, "-S", str(SERVERS / "ledger.py"), *map(str, arguments)])

    return command


@pytest.fixture
def run_of(suite_of: Callable[..., LoadedSuite], tmp_path: Path) -> Callable[..., Coroutine[None, None, RunRecord]]:
    """A run of a suite's text in this process, to be awaited; bounded."""

    async def run(text: str, *, emit: Emit = lambda _event: None, **settings: object) -> RunRecord:
        asked = RunSettings(environ={"PATH": os.environ["PATH"]}, **settings)  # type: ignore[arg-type]
        async with asyncio.timeout(180):
            return await launch(suite_of(text), asked, workspace=Workspace(tmp_path), emit=emit)

    return run


@pytest.fixture
def record_of(run_of: Callable[..., Coroutine[None, None, RunRecord]]) -> Callable[..., RunRecord]:
    """The record of a run of a suite's text, made in this process."""
    return lambda text, **settings: asyncio.run(run_of(text, **settings))
