"""The document of `mcptest doctor --format json` on this machine and workspace; no server is started for it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

from mcptest_engine.front_door.inside import own_suite
from mcptest_engine.front_door.paging import LARGEST_PAGE, page

if TYPE_CHECKING:
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.servers.diagnosis.checks import Check


async def report(request: Request) -> dict[str, Any]:
    """{mcptest_version, ok, target: null, failed_layer, summary, checks}."""
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.judging.providers.checking import check_models
    from mcptest_engine.servers.diagnosis.checks import Report
    from mcptest_engine.servers.diagnosis.project import check_here
    from mcptest_engine.suite.load import LoadOptions, check_suite

    environ, root = request.door.environ, request.workspace.root
    path = own_suite(root)
    options = LoadOptions(environ=environ, workspace_root=root, start_dir=root, only_own_files=True)
    checked = None if path is None else await asyncio.to_thread(check_suite, path, options)
    checks: list[Check] = []
    await check_here(
        checks.append,
        environ=environ,
        own=_own(),
        data_dir=request.workspace.data_dir,
        root=root,
        path=path,
        checked=checked,
        encoding="utf-8",
    )
    suite = None if checked is None else checked.suite
    check_models(checks.append, environ if suite is None else {**suite.lookups, **suite.env})
    redactor = Redactor(() if suite is None else suite.secrets)
    told: dict[str, Any] = redactor.redact(Report(checks=tuple(checks)).as_json())
    shown, more = page(told["checks"], 0, room=LARGEST_PAGE)
    left = {} if more is None else {"omitted": f"{len(checks) - more:,} more checks: see mcptest doctor"}
    return {**told, "checks": shown, **left}


def _own() -> str:
    """The program that this is, by the link that was used."""
    return os.path.abspath(sys.argv[0])  # noqa: PTH100 - `resolve` would follow it
