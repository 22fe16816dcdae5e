"""A file in the person's own editor, with the workbench out of the way meanwhile."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

from textual.app import App, SuspendNotSupported

if TYPE_CHECKING:
    from pathlib import Path


def edit_outside(app: App[Any], path: Path, line: int | None = None) -> bool:
    """Open `path` in the editor of the settings, `$VISUAL` or `$EDITOR`, at a line, and wait.

    False when there is none, or it could not be started.
    """
    own = getattr(app, "config", None)
    editor = (own.editor if own else "") or os.environ.get("VISUAL") or os.environ.get("EDITOR")
    try:
        command = editor_command(editor or "", path, line)
    except ValueError:  # a quote that is not closed
        return False
    if not command:
        return False
    try:
        with app.suspend():
            subprocess.run(command, check=False)
    except (OSError, SuspendNotSupported):
        return False
    app.refresh(layout=True)
    return True


def editor_command(editor: str, path: Path, line: int | None) -> list[str]:
    """The command that opens a file at a line in this editor; [] without an editor."""
    words = shlex.split(editor)
    if not words:
        return []
    program = words[0].rpartition("/")[2].removesuffix(".exe")
    if not line:
        return [*words, str(path)]
    if program in ("code", "code-insiders", "codium", "cursor", "windsurf"):
        return [*words, "--goto", f"{path}:{line}"]
    if program in ("subl", "zed", "hx", "helix"):
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", str(path)]
