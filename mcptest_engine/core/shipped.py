"""Where the files that come with mcptest lie: `examples/` and `themes/`, in a wheel as in a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent.parent


def shipped(name: str) -> Path:
    """The folder `name` ("examples" or "themes"). Raises FileNotFoundError when this installation lacks it."""
    for place in (PACKAGE / "shipped" / name, PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"this installation of mcptest has no `{name}` folder; reinstall it")
