"""Adds mcptest to an agent's configuration: one entry, every other byte unchanged.

In an existing entry, the command and its arguments are replaced; its `env` and other members stay. The first change makes a
copy of the file beside it. A file that is not JSON in any dialect is not touched; nor is a TOML file (Codex) whose edited text
would not parse as intended. See docs/how-to/mcp-server.md.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import McptestError, UsageError
from mcptest_engine.core.lenient_json import LenientError, loads
from mcptest_engine.front_door.json_edit import NotEditable, with_member
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import leads_inside
from mcptest_engine.workspace.suite_file import write_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.core.json_types import JsonDict

DEFAULT_PATH = Path(".claude") / "mcp.json"
NAME = "mcptest"


class Installed(NamedTuple):
    """What was done. `backup` is the copy of a file that was changed for the first time; `changed` is false when nothing had to
    be.
    """

    path: Path
    entry: JsonDict
    changed: bool
    backup: Path | None = None


def install(root: Path, path: Path | None, *, writes_enabled: bool, allowed_env: Sequence[str] = ()) -> Installed:
    """Write the entry into `path`, or into `.claude/mcp.json` under `root`.

    `allowed_env` are the variables whose values a caller may have sent as tokens. Raises: UsageError for a file that is no
    configuration or cannot be edited, McptestError when it cannot be written.
    """
    file = path if path is not None else root / DEFAULT_PATH
    if path is None and not leads_inside(file, root):
        raise UsageError(
            f"{DEFAULT_PATH} is a link to a place outside of this workspace, so nothing is written there",
            hint="replace it with a file or folder, or name the file: --install-path FILE",
        )
    text = _file_text(file)
    is_toml = file.suffix.lower() == ".toml"
    member = "mcp_servers" if is_toml else _servers_key(file, text)
    words = ["mcp-server", *(["--enable-writes"] if writes_enabled else [])]
    words += [word for name in allowed_env for word in ("--allow-env", name)]
    entry = _own_entry(root, file, words, typed=member == "servers")
    try:
        if is_toml:
            from mcptest_engine.front_door.toml_edit import with_table

            after = with_table(text, (member, NAME), entry)
        else:
            before = loads(text) if text.strip() else {}
            entry = {**_entry_in_file(before, member), **entry}
            after = with_member(text, (member, NAME), entry)
            after = text if before and loads(after) == before else after
    except (LenientError, NotEditable) as wrong:
        by_hand = f"[{member}.{NAME}]" if is_toml else f'"{NAME}": {json.dumps(entry, ensure_ascii=False)}'
        raise UsageError(
            f"{file} is not changed: {wrong}", hint=f"correct it, or add the entry by hand: {by_hand}"
        ) from None
    if after == text:
        return Installed(file, entry, changed=False)
    backup = _back_up(file, text)
    try:
        write_suite(file, after.encode())
    except OSError as wrong:
        raise McptestError(f"cannot write {file}: {wrong.strerror or wrong}") from wrong
    return Installed(file, entry, changed=True, backup=backup)


def _file_text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not changed: it is not UTF-8 text") from None
    except OSError as wrong:
        raise UsageError(f"{file} cannot be read: {wrong.strerror or wrong}") from None


def _servers_key(file: Path, text: str) -> str:
    """The name of the member for servers: `mcpServers`; in VS Code `servers`."""
    try:
        settings = loads(text) if text.strip() else {}
    except LenientError:
        return "mcpServers"
    if isinstance(settings, dict) and ("mcpServers" in settings or "servers" in settings):
        return "mcpServers" if "mcpServers" in settings else "servers"
    return "servers" if file.parent.name == ".vscode" else "mcpServers"


def _entry_in_file(settings: object, member: str) -> JsonDict:
    """The existing entry of the file."""
    servers = settings.get(member) if isinstance(settings, dict) else None
    found = servers.get(NAME) if isinstance(servers, dict) else None
    return dict(found) if isinstance(found, dict) else {}


def _own_entry(root: Path, file: Path, words: list[str], *, typed: bool) -> JsonDict:
    if not file.absolute().is_relative_to(root.absolute()):
        words += ["--workspace", str(root)]  # programs that read that file may start anywhere
    kind = {"type": "stdio"} if typed else {}
    return {**kind, "command": _own_command(), "args": words}


def _own_command() -> str:
    """`mcptest` where PATH finds this one, else its path."""
    found, own = shutil.which(NAME), os.path.realpath(sys.argv[0])
    if found is not None and os.path.realpath(found) == own:
        return NAME
    return own if Path(own).name == NAME else NAME


def _back_up(file: Path, text: str) -> Path | None:
    """Copy the file beside it, once, without overwriting and without following a link.

    A repository could contain a link of that name, and the file's content would be written to its target.
    """
    backup = file.with_name(f"{file.name}.before-mcptest")
    if not text:
        return None
    if backup.is_symlink():
        raise UsageError(f"{file} is not changed: {backup.name}, its copy, is a link", hint="delete the link")
    if backup.exists():
        return None
    try:
        write_atomic(backup, text.encode(), mode=file.stat().st_mode & 0o777)
    except OSError as wrong:
        raise McptestError(f"{file} is not changed: no copy of it could be made: {wrong.strerror or wrong}") from wrong
    return backup
