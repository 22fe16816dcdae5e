"""The checks that are about no one server: this machine, the suite that stands here, stored logins, coding agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.servers.diagnosis.machine import check_machine, check_programs
from mcptest_engine.servers.diagnosis.project import check_agents, check_suite_here, check_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcptest_engine.servers.diagnosis.checks import Tell
    from mcptest_engine.suite.load import CheckedSuite


async def check_here(
    tell: Tell,
    *,
    environ: Mapping[str, str],
    own: str,
    data_dir: Path,
    root: Path,
    path: Path | None,
    checked: CheckedSuite | None,
    encoding: str | None,
) -> None:
    """Tell each in its turn. `own` is the program that runs; `path` and `checked` are the suite, None without one."""
    check_machine(tell, environ=environ, own=own, data_dir=data_dir, encoding=encoding)
    await check_programs(tell, environ)
    check_suite_here(tell, checked, path, environ)
    check_tokens(tell)
    check_agents(tell, root, environ)
