"""The tools of our own mock server, read from its manifest, so that a misspelt name is known before anything runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import SuiteError

if TYPE_CHECKING:
    from mcptest_engine.suite.checks import Surroundings

_LARGEST_MANIFEST = 4_000_000


def manifest_tools(server: Any, surroundings: Surroundings) -> frozenset[str] | None:
    """The names of the tools of a server that is our mock with a readable manifest; None for any other."""
    path = _manifest_path(server)
    if path is None:
        return None
    base = server.get("cwd")
    start = Path(surroundings.start_dir, base if isinstance(base, str) else "")
    from mcptest_engine.suite.yaml import read_file

    try:
        file = start / path
        if not file.is_file() or file.stat().st_size > _LARGEST_MANIFEST:
            return None
        manifest = read_file(file, file=path).value
    except (SuiteError, OSError, ValueError, RecursionError):
        return None  # the mock itself tells what is wrong with its manifest
    return _tool_names(manifest)


def _manifest_path(server: Any) -> str | None:
    """FILE of `mcptest mock --tools-from FILE`, whichever way mcptest is started."""
    command = server.get("command") if isinstance(server, dict) else None
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command) or "mock" not in command:
        return None
    before, after = command[: command.index("mock")], command[command.index("mock") + 1 :]
    if not any(os.path.basename(part).startswith("mcptest") for part in before):  # noqa: PTH119
        return None
    for index, part in enumerate(after):
        if part.startswith("--tools-from="):
            return str(part.partition("=")[2])
        if part == "--tools-from" and index + 1 < len(after):
            return str(after[index + 1])
    return None


def _tool_names(manifest: Any) -> frozenset[str] | None:
    if isinstance(manifest, dict):
        manifest = manifest.get("mock_server", manifest)
    tools = manifest.get("tools", []) if isinstance(manifest, dict) else None
    if not isinstance(tools, list):
        return None
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
    return frozenset(name for name in names if isinstance(name, str))
