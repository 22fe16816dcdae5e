"""Which files a tool may open: regular files of the workspace, no links that lead out of it, no pipes and no devices."""

from __future__ import annotations

import json
import os
import stat
from pathlib import PurePath
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import PolicyDenied, UsageError
from mcptest_engine.engine_process.files import alternatives, find_suites, match_suites
from mcptest_engine.workspace.files import DATA_DIR, leads_inside
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.workspace.workspace import Workspace

_WRITTEN_INTO = ("", "runs", "inline", "reports", "cassettes", "snapshots", "cache")


def named_file(root: Path, named: str) -> Path:
    """The file with the path `named`. Raises: UsageError unless it is a file of the workspace, links followed."""
    shown = json.dumps(named, ensure_ascii=False)[:200]
    try:
        path = root / named
        if not leads_inside(path, root):
            raise UsageError(f"{shown} is outside of this workspace", hint="only files of the workspace are read")
        mode = path.stat().st_mode
    except (OSError, ValueError, RuntimeError):
        raise UsageError(f"there is no file {shown} in this workspace") from None
    if not stat.S_ISREG(mode):
        raise UsageError(f"{shown} is not a file", hint="name a suite of this workspace")
    return path


def suites_below(root: Path, named: str) -> list[Path]:
    """The suites of a folder of the workspace, or of a pattern such as `packages/**/*.yml`; none for a file.

    Includes folders that cannot be read. Targets of links out of the workspace are left out.
    """
    if "\0" in named or os.path.lexists(root / named):
        return _suites_below(root, named)
    found: dict[Path, None] = {}
    for name in (names := alternatives(named)):
        below = _suites_below(root, name, is_word=len(names) > 1)
        if not below and not _is_glob(name):
            return []
        found |= dict.fromkeys(below)
    return list(found)


def _suites_below(root: Path, named: str, *, is_word: bool = False) -> list[Path]:
    """The suites of a name without braces; `is_word`: it was one of several in braces, and may be a suite's file."""
    if "\0" in named or ".." in PurePath(named).parts or PurePath(named).is_absolute():
        return []
    if os.path.isdir(root / named):  # noqa: PTH112 - false also for what is no name of a file
        below = find_suites([named], root, all_of_them=True) if leads_inside(root / named, root) else []
        found = [root / one["path"] for one in below]
    elif is_word or _is_glob(named):
        found = [root / one for one in match_suites(named, root)]
    else:
        return []
    return [path for path in found if is_own_file(root, path) or (path.is_dir() and leads_inside(path, root))]


def _is_glob(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def is_own_file(root: Path, path: Path) -> bool:
    """Whether this is a regular file, and one of the workspace when links are followed."""
    try:
        return path.is_file() and leads_inside(path, root)
    except (OSError, ValueError, RuntimeError):
        return False


def own_suites(root: Path) -> tuple[Path, ...]:
    """The existing ones of the workspace's `mcptest.yaml` and `mcptest.yml`. Raises: PolicyDenied for a link out of it."""
    found = tuple(root / name for name in SUITE_FILES if (root / name).is_file())
    for path in found:
        if not is_own_file(root, path):
            raise PolicyDenied(
                f"{path.name} is a link that leads out of this workspace, so it is not read",
                hint="copy the file here, or start the MCP server in its directory",
            )
    return found


def own_suite(root: Path) -> Path | None:
    """The workspace's suite, None where there is none. Raises: PolicyDenied as `own_suites` does."""
    return next(iter(own_suites(root)), None)


def check_places(workspace: Workspace) -> None:
    """Check the places for stored data. Raises: PolicyDenied for a link under `.mcptest`: nothing is stored through one."""
    for name in _WRITTEN_INTO:
        path = workspace.data_dir / name
        if path.is_symlink():
            raise PolicyDenied(
                f"{DATA_DIR}/{name}".rstrip("/") + " is a link, so nothing is saved there",
                hint="put a directory in its place",
            )
