"""Where a person's own files stand: the configuration folder, the session of a workspace, files put aside."""

from __future__ import annotations

import os
from pathlib import Path


def config_dir() -> Path:
    """`$XDG_CONFIG_HOME/mcptest`, else `~/.config/mcptest`. Not made here."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".config"
    return root / "mcptest"


def user_themes_dir() -> Path:
    """A person's own themes."""
    return config_dir() / "themes"


def state_file() -> Path:
    """What is remembered for all workspaces: the theme, and which tips were told."""
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    return root / "mcptest" / "workbench.json"


def cache_dir(root: Path) -> Path:
    """The workspace's cache: the session, drafts, texts too large for a clipboard."""
    return root / ".mcptest" / "cache"


def absolute(path: str) -> str:
    """A path as it was typed, with `~` for the home, made absolute; links are kept."""
    return str(Path(path).expanduser().absolute())
