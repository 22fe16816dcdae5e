"""A file's tree after its templates were replaced, which still knows where everything was written.

The surprising thing: a template may put a whole list where a text stood, so the places of the file and the shape of the
data no longer run parallel. Places are therefore always asked of the tree as it was read.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.yaml import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence


def expanded_tree(tree: Tree, value: Any, *, has_floats: bool) -> Tree:
    """`tree` with `value` in place of its own; `has_floats` says that templates may have put numbers with a fraction."""
    parts = {part.name: getattr(tree, part.name) for part in fields(Tree)}
    parts["value"] = value
    parts["has_non_finite"] = tree.has_non_finite or has_floats
    parts["has_whole_floats"] = tree.has_whole_floats or has_floats
    return _Expanded(**parts, written=tree)


@dataclass(frozen=True, slots=True)
class _Expanded(Tree):
    written: Tree | None = None

    def index(self, pointer: Sequence[str | int], *, key: bool = False, nearest: bool = False) -> int | None:
        """The place in the file; without `nearest`, None for what a template put there, which the file does not spell."""
        assert self.written is not None
        if not nearest and _at(self.value, pointer) != _at(self.written.value, pointer):
            return None
        return self.written.index(pointer, key=key, nearest=nearest)


def _at(value: Any, pointer: Sequence[str | int]) -> Any:
    for part in pointer:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return None
    return value
