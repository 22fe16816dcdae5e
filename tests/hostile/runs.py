"""Running a suite of good and bad servers in this process, and looking at what is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from mcptest_engine.core.results import Failure
    from mcptest_engine.core.run_record import RunRecord
    from tests.hostile.behaviours import Behaviour

SERVERS = Path(__file__).resolve().parents[1] / "servers"
PYTHON = [sys.executable, "-S"]
ECHO = {"command": [*PYTHON, str(SERVERS / "echo.py")]}
LARGE_AND_SNAPSHOT: dict[str, Any] = {
    "servers": {"echo": ECHO},
    "tools": [
        {"name": "large", "tool": "big", "args": {"bytes": 1_500_000}},
        {
            "name": "small",
            "tool": "echo",
            "args": {"text": "hi"},
            "expect": [{"target": "result.content", "matcher": {"snapshot": True}}],
        },
    ],
}
"""A test whose output is kept in a file of its own, and one whose output is a snapshot."""
LIMIT_SECONDS = 90


def hostile(mode: str, fifo: Path) -> dict[str, Any]:
    """`hostile.py` in this mode, as a suite declares it."""
    return {"command": [*PYTHON, str(SERVERS / "hostile.py"), mode, str(fifo)], "shutdown_grace_ms": 50}


def server_of(row: Behaviour, folder: Path) -> dict[str, Any]:
    """The server that behaves like that, as a suite declares it."""
    if not row.mode:
        program = folder / "server.py"
        program.touch(mode=0o644)
        return {"command": [str(program)]}
    limits = {"connect_timeout_ms" if row.at_start else "timeout_ms": row.waits_ms} if row.waits_ms else {}
    return hostile(row.mode, folder / "fifo") | limits


def write_suite(folder: Path, servers: dict[str, Any], tests: list[dict[str, Any]]) -> Path:
    """A suite whose stdio servers work in `folder`, by which they are known."""
    (folder / ".mcptest").mkdir(exist_ok=True)
    path = folder / "mcptest.yml"
    inside = {
        name: {**server, **({"cwd": str(folder)} if "command" in server else {}), "catalog": "off"}
        for name, server in servers.items()
    }
    path.write_text(json.dumps({"servers": inside, "tools": tests}), encoding="utf-8")
    return path


def call(name: str, server: str, **more: Any) -> dict[str, Any]:
    """A test that calls a tool."""
    return {"name": name, "server": server, "tool": "echo", "args": {"text": "hi"}, **more}


def run(path: Path) -> RunRecord:
    """One run, under a limit that only a hang reaches."""
    folder = path.parent
    suite = load_suite(path, LoadOptions(variables={}, environ=dict(os.environ), workspace_root=folder))

    async def limited() -> RunRecord:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await launch(suite, RunSettings(), workspace=Workspace(folder), emit=lambda _event: None)

    return asyncio.run(limited())


def processes_in(folder: Path) -> list[int]:
    """The processes, other than this one, that work in `folder`; zombies do not."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and (entry / "cwd").resolve(strict=True) == folder.resolve():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def assert_told(failure: Failure | None, kind: str, says: str, hint: str | None) -> None:
    """Check that the failure has the message of its table row."""
    assert failure is not None
    assert failure.kind.value == kind
    assert_text(failure.message, says)
    assert_text(failure.hint or "", hint or "")


def assert_text(actual: str, wanted: str) -> None:
    assert told_as(actual, wanted), actual


def told_as(actual: str, wanted: str) -> bool:
    """Whether it is the same text, or the same start of it where "…" says that more follows."""
    start, cut, _ = wanted.partition("…")
    return actual.startswith(start) if cut else actual == wanted
