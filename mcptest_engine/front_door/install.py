"""Putting mcptest into an agent's configuration: one entry, every other byte as it was.

The first change leaves a copy of the file beside it. A file that cannot be read as JSON, in whatever spelling, is not touched.
Source: agent-interface, "Install (one line)".
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from mcptest_engine.core.errors import McptestError, UsageError
from mcptest_engine.core.lenient_json import LenientError, loads
from mcptest_engine.front_door.json_edit import NotEditable, with_member
from mcptest_engine.workspace.suite_file import write_suite

DEFAULT_PATH = Path(".claude") / "mcp.json"
NAME = "mcptest"


class Installed(NamedTuple):
    """What was done: `backup` is the copy of a file that was changed for the first time; `changed` is false when all was so."""

    path: Path
    entry: dict[str, Any]
    changed: bool
    backup: Path | None = None


def install(root: Path, path: Path | None, *, writes_enabled: bool) -> Installed:
    """Write the entry into `path`, or into `.claude/mcp.json` under `root`.

    Raises: UsageError for a file that is no configuration or cannot be edited, McptestError when the disk refuses.
    """
    file = path if path is not None else root / DEFAULT_PATH
    text = _read(file)
    member = _member(file, text)
    entry = _entry(root, file, writes_enabled=writes_enabled, typed=member == "servers")
    try:
        before = loads(text) if text.strip() else {}
        after = with_member(text, (member, NAME), entry)
    except (LenientError, NotEditable) as wrong:
        raise UsageError(
            f"{file} is not changed: {wrong}", hint=f'mend it, or add the entry by hand: "{NAME}": {_json(entry)}'
        ) from None
    if isinstance(before, dict) and loads(after) == before:
        return Installed(file, entry, changed=False)
    backup = _back_up(file, text)
    try:
        write_suite(file, after.encode())
    except OSError as wrong:
        raise McptestError(f"cannot write {file}: {wrong.strerror or wrong}") from wrong
    return Installed(file, entry, changed=True, backup=backup)


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not changed: it is no UTF-8 text") from None
    except OSError as wrong:
        raise UsageError(f"{file} cannot be read: {wrong.strerror or wrong}") from None


def _member(file: Path, text: str) -> str:
    """`mcpServers`; VS Code says `servers`."""
    try:
        told = loads(text) if text.strip() else {}
    except LenientError:
        return "mcpServers"
    if isinstance(told, dict) and ("mcpServers" in told or "servers" in told):
        return "mcpServers" if "mcpServers" in told else "servers"
    return "servers" if file.parent.name == ".vscode" else "mcpServers"


def _entry(root: Path, file: Path, *, writes_enabled: bool, typed: bool) -> dict[str, Any]:
    words = ["mcp-server", *(["--enable-writes"] if writes_enabled else [])]
    if not _is_inside(file, root):
        words += ["--workspace", str(root)]  # whoever reads that file starts anywhere
    kind = {"type": "stdio"} if typed else {}
    return {**kind, "command": _own_command(), "args": words}


def _own_command() -> str:
    """`mcptest` where that is the one on PATH, else this very one by its path."""
    found, own = shutil.which(NAME), os.path.realpath(sys.argv[0])
    if found is not None and os.path.realpath(found) == own:
        return NAME
    return own if Path(own).name == NAME else NAME


def _back_up(file: Path, text: str) -> Path | None:
    """A copy beside the file, made once and never overwritten."""
    backup = file.with_name(f"{file.name}.before-mcptest")
    if not text or backup.exists():
        return None
    try:
        write_suite(backup, text.encode())
        backup.chmod(file.stat().st_mode & 0o777)
    except OSError as wrong:
        raise McptestError(f"{file} is not changed: no copy of it could be made: {wrong.strerror or wrong}") from wrong
    return backup


def _is_inside(file: Path, root: Path) -> bool:
    return file.absolute().is_relative_to(root.absolute())


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
