"""Paths of a person's own files: the configuration folder, the session of a workspace, copies and drafts."""

from __future__ import annotations

import os
from pathlib import Path


def config_dir() -> Path:
    """`$XDG_CONFIG_HOME/mcptest`, else `~/.config/mcptest`. Not made here."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".config"
    return root / "mcptest"


def user_themes_dir() -> Path:
    return config_dir() / "themes"


def state_file() -> Path:
    """The file of what is remembered for all workspaces: which tips were shown."""
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    return root / "mcptest" / "workbench.json"


def cache_dir(root: Path) -> Path:
    """The workspace's cache: the session, drafts, texts too large for a clipboard."""
    return root / ".mcptest" / "cache"


def absolute(path: str) -> str:
    """A path as it was typed, with `~` for the home, made absolute; links are kept. Never raises."""
    return str(Path(os.path.expanduser(path)).absolute())  # noqa: PTH111 - a home that is not known stays "~name"


def path_here(path: str) -> str:
    """A path as it would be typed here; whole where it lies elsewhere, or the current folder is gone."""
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return path if near.startswith("..") else near


def longer_path(typed: str) -> str | None:
    """A path as it was typed with the rest of the first suite or folder that begins so; None where there is none."""
    folder, _, begin = typed.rpartition("/")
    shown = f"{folder}/" if "/" in typed else ""
    try:
        with os.scandir(Path(shown or ".").expanduser()) as entries:
            names = sorted(
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in entries
                if entry.name.startswith(begin)
                and (begin or not entry.name.startswith("."))
                and (entry.is_dir() or entry.name.endswith((".yml", ".yaml")))
            )
    except (OSError, ValueError, RuntimeError):
        return None
    longer = next((name for name in names if name != begin), None) if typed else None
    return None if longer is None else shown + longer
