"""Reports that an agent asked for and that were too large for an answer: `.mcptest/reports/<run_id>.<format>`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import McptestError
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import list_names, make_directory, remove_file
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.workspace.workspace import Workspace

MOST_REPORTS = 100


def save_report(workspace: Workspace, run_id: str, form: str, text: str) -> Path:
    """Write a report, and delete those beyond the newest runs' 100. Raises: McptestError when the disk refuses it."""
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
