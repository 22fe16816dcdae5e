"""Manifests that come with mcptest, named by `--preset`: each is a YAML file in `presets/`.

`evil` gets one more tool than its file has, whose answer is too large for a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.mock.manifest import Manifest, Outcome, Tool
from mcptest_engine.mock.reading import load_manifest
from mcptest_engine.mock.templates import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

HUGE_LINES = 20_000
_FOLDER = Path(__file__).parent / "presets"


def preset_names() -> Sequence[str]:
    """The names that `load_preset` knows, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.yml"))


def load_preset(name: str) -> Manifest:
    """Load the manifest `name`. Raises: UsageError for an unknown name."""
    names = preset_names()
    if name not in names:
        hint = did_you_mean(name, names) or f"known presets: {', '.join(names)}"
        raise UsageError(f'unknown preset "{name}"', hint=hint)
    manifest = load_manifest(_FOLDER / f"{name}.yml")
    return manifest._replace(tools=(*(manifest.tools or ()), _huge_tool())) if name == "evil" else manifest


def _huge_tool() -> Tool:
    text = "".join(f"{number:05d} {'x' * 90}\n" for number in range(HUGE_LINES))
    schema = {"type": "object", "properties": {}}
    descriptor = {"name": "huge", "description": "About 2 MB of text in one block", "inputSchema": schema}
    result = {"content": [{"type": "text", "text": text}]}
    return Tool(name="huge", descriptor=descriptor, outcome=Outcome(results=(constant(result),)))
