"""How dangerous a tool is to call, by its annotations and, failing those, by its name. What may be done then: `execution`.

The surprising thing is that annotations may say less than yes or no: `readOnlyHint: false` means at least mutating, so that a
destructive name still counts, and `destructiveHint: false` only keeps the name from saying destructive.
Source: execution-safety.md; decisions.md 14, Safety; MCP 2025-11-25, schema, ToolAnnotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from types import NoneType
from typing import Any

from mcptest_engine.core.lazy_patterns import lazy_pattern

MUTATING_WORDS = frozenset(
    ("create", "update", "set", "send", "write", "post", "put", "insert", "patch", "add", "upload")
)
DESTRUCTIVE_WORDS = frozenset(("delete", "remove", "drop", "destroy", "purge", "erase", "wipe", "kill", "revoke"))

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# `HTTPServer2Put` gives http, server, 2, put: a run of capitals is a word of its own up to the last one.
_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class ToolClass(StrEnum):
    """From harmless to dangerous; `READ_ONLY` was declared by the server, `READ_ONLY_PRESUMED` is our guess."""

    READ_ONLY = "read_only"
    READ_ONLY_PRESUMED = "read_only_presumed"
    MUTATING = "mutating"
    DESTRUCTIVE = "destructive"

    @property
    def severity(self) -> int:
        """Greater for a more dangerous one."""
        return tuple(ToolClass).index(self)


def classify(tool: Mapping[str, Any]) -> ToolClass:
    """The class of a tool descriptor as `tools/list` sent it.

    An `annotations` that is not an object, or holds a hint that is no boolean, is ignored as a whole.
    """
    name = tool.get("name")
    by_name = classify_name(name) if isinstance(name, str) else ToolClass.READ_ONLY_PRESUMED
    hints = _valid_hints(tool.get("annotations"))
    if hints.get("readOnlyHint"):
        return ToolClass.READ_ONLY
    if hints.get("destructiveHint"):
        return ToolClass.DESTRUCTIVE
    if "destructiveHint" in hints:
        return ToolClass.MUTATING
    if "readOnlyHint" in hints:
        return max(by_name, ToolClass.MUTATING, key=lambda one: one.severity)
    return ToolClass.MUTATING if hints.get("idempotentHint") is False else by_name


@lru_cache(maxsize=4096)
def classify_name(name: str) -> ToolClass:
    """The class that a name suggests; a destructive word outranks a mutating one."""
    words = {word.lower() for word in _WORD.findall(name)}
    if words & DESTRUCTIVE_WORDS:
        return ToolClass.DESTRUCTIVE
    return ToolClass.MUTATING if words & MUTATING_WORDS else ToolClass.READ_ONLY_PRESUMED


def malformed_annotations(annotations: object) -> list[str]:
    """Why annotations are ignored, a clause each: they are no object, or hold a hint that is no boolean."""
    if annotations is None:
        return []
    if not isinstance(annotations, Mapping):
        return ["`annotations` is no object"]
    return [
        f"`annotations.{hint}` is no boolean"
        for hint in _HINTS
        if not isinstance(annotations.get(hint), (bool, NoneType))
    ]


def _valid_hints(annotations: object) -> dict[str, bool]:
    if not isinstance(annotations, Mapping):
        return {}
    hints = {hint: annotations[hint] for hint in _HINTS if annotations.get(hint) is not None}
    return hints if all(isinstance(value, bool) for value in hints.values()) else {}
