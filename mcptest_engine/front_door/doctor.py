"""The document of `mcptest doctor --format json` on this machine and workspace; no server is started for it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.servers.diagnosis.checks import Check


async def report(request: Request) -> dict[str, Any]:
    """{mcptest_version, ok, target: null, failed_layer, summary, checks}."""
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.servers.diagnosis.checks import Report
    from mcptest_engine.servers.diagnosis.machine import check_machine, check_programs
    from mcptest_engine.servers.diagnosis.project import check_agents, check_suite_here, check_tokens
    from mcptest_engine.suite.load import LoadOptions, check_suite

    door, root = request.door, request.workspace.root
    path = next((root / name for name in SUITE_FILES if (root / name).is_file()), None)
    options = LoadOptions(environ=door.environ, workspace_root=root, start_dir=root)
    checked = None if path is None else await asyncio.to_thread(check_suite, path, options)
    suite = None if checked is None else checked.suite
    checks: list[Check] = []
    data_dir = request.workspace.data_dir
    check_machine(checks.append, environ=door.environ, own=_own(), data_dir=data_dir, encoding="utf-8")
    await check_programs(checks.append, door.environ)
    check_suite_here(checks.append, checked, path, door.environ)
    check_tokens(checks.append)
    check_agents(checks.append, root, door.environ)
    redactor = Redactor(() if suite is None else suite.secrets)
    told: dict[str, Any] = redactor.redact(Report(checks=tuple(checks)).as_json())
    return told


def _own() -> str:
    """The program that this is, by the link that was used."""
    return os.path.abspath(sys.argv[0])  # noqa: PTH100 - `resolve` would follow it
