"""An agent at work: a real front door in the workspace that the workbench is open on, asked beside the app's loop."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.workspace.ulid import new_ulid
from tests.forked import NURSERY
from tests.front_door.conftest import Door, put_away

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = str(Path(sys.executable).with_name("mcptest"))


@contextmanager
def agent(place: Path, *flags: str, name: str = "claude-code", version: str = "2.1.0") -> Iterator[Door]:
    """A front door in `place`, opened by a client of this name."""
    argv = [COMMAND, "mcp-server", *flags]
    with (place.parent / "door.stderr").open("a", encoding="utf-8") as stderr:
        process = NURSERY.start(argv, cwd=place, env=os.environ, stdin=True, stderr=stderr)
        try:
            yield Door(process, name=name, version=version)
        finally:
            put_away(process)


async def asked(door: Door, verb: str, **arguments: Any) -> dict[str, Any]:
    """A tool's answer, while the workbench continues."""
    return await asyncio.to_thread(door.call, verb, **arguments)


async def watching(pilot: Any) -> Any:
    """The workbench, once it looks out for what agents do."""
    from tests.tui.waiting import until

    app = pilot.app
    await until(pilot, lambda: app.agents.is_read, what="the first look")
    return app


def kept(place: Path, *, failed: int = 0, **more: Any) -> str:
    """Save a run's record as the MCP server does; returns its id."""
    from mcptest_engine.core.results import Verdict
    from mcptest_engine.core.run_record import RunRecord, SuiteInfo, Totals
    from mcptest_engine.workspace.workspace import Workspace

    verdict = Verdict.FAIL if failed else Verdict.PASS
    record = RunRecord(
        run_id=new_ulid(),
        mcptest_version="1",
        started_at="2026-01-01T00:00:00.000Z",
        duration_ms=12.0,
        verdict=verdict,
        suite=SuiteInfo(name="s", path="s.yml", sha256="0" * 64),
        source={},
        environment={},
        servers=(),
        tests=(),
        totals=Totals(total=2, failed=failed, passed=2 - failed),
        exit_code=int(bool(failed)),
        **{"requested_by": {"via": "mcp-server", "client": {"name": "agent", "version": "1"}}, **more},
    )
    Workspace(place).save_run(record.to_json())
    return record.run_id
