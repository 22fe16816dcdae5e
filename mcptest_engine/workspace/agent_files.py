"""Files that the MCP server writes for agents: suites sent as text, and reports too large for an answer.

A suite is `.mcptest/inline/<run_id>.yml`, verbatim so that the `repro` line of a failure can run it. It may hold secrets, so
only its owner can read it, and the MCP server does not serve it. A report is `.mcptest/reports/<run_id>.<format>`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import McptestError
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import list_files, list_names, make_directory, remove_file
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.workspace.workspace import Workspace

KEEP_INLINE = 1_000
MOST_REPORTS = 100


def inline_dir(workspace: Workspace) -> Path:
    return workspace.data_dir / "inline"


def save_inline(workspace: Workspace, run_id: str, text: str) -> Path:
    """Write a suite, and delete all but the newest 1,000. Raises: McptestError when the disk refuses it."""
    folder = inline_dir(workspace)
    path = folder / f"{run_id}.yml"
    try:
        workspace.make_runs_dir()
        make_directory(folder, mode=0o700)
        write_atomic(path, text.encode("utf-8", "surrogatepass"), mode=0o600)
    except OSError as wrong:
        raise McptestError(f"cannot save the suite as {path}: {wrong.strerror or wrong}") from wrong
    for old in sorted(list_files(folder, ".yml"), reverse=True)[KEEP_INLINE:]:
        with contextlib.suppress(OSError):
            remove_file(folder / old)
    return path


def remove_inline(path: Path) -> None:
    """Delete a suite that was refused; otherwise it would look like a run that has not finished."""
    with contextlib.suppress(OSError):
        remove_file(path)


def save_report(workspace: Workspace, run_id: str, form: str, text: str) -> Path:
    """Write a report, and delete all but the newest 100. Raises: McptestError when the disk refuses it."""
    folder = workspace.data_dir / "reports"
    path = folder / f"{run_id}.{form}"
    try:
        workspace.make_runs_dir()
        make_directory(folder)
        write_atomic(path, text.encode())
    except OSError as wrong:
        raise McptestError(f"cannot write the report {path}: {wrong.strerror or wrong}") from wrong
    ours = sorted((name for name in list_names(folder) if is_ulid(name.partition(".")[0])), reverse=True)
    for old in ours[MOST_REPORTS:]:
        with contextlib.suppress(OSError):
            remove_file(folder / old)
    return path
