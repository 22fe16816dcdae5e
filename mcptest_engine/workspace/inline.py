"""Suites that came as text: `.mcptest/inline/<run_id>.yml`, kept verbatim so that the `repro` line of a failure can run them.

They may hold what an agent should not have written down, so only their owner can read them, and nobody is served them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import McptestError
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import list_files, make_directory, remove_file

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.workspace.workspace import Workspace

KEEP_INLINE = 1_000


def inline_dir(workspace: Workspace) -> Path:
    return workspace.data_dir / "inline"


def save_inline(workspace: Workspace, run_id: str, text: str) -> Path:
    """Keep the text, and delete what is beyond the newest 1,000. Raises: McptestError when the disk refuses it."""
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
    """Delete a text that was refused, which would else pass for a run that has not finished."""
    with contextlib.suppress(OSError):
        remove_file(path)
