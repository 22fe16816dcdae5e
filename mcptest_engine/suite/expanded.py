"""A file's tree with other values than YAML reads there: its templates replaced, and the values of `env:` as it spells them.

The surprising thing: a template may put a whole list where a text stood, so the places of the file and the shape of the
data no longer run parallel. Places are therefore always asked of the tree as it was read.

An environment holds nothing but text: `1.50` is the text "1.50" to a server, not the number 1.5. That happens before templates
are replaced, because only then is a value still where it was written.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.yaml import Tree
from mcptest_engine.suite.yaml_scalars import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.suite.yaml import Pointer

_SCALAR = re.compile(r"(?:[&!]\S*\s+)*([^\s,\[\]{}]+)")


def expanded_tree(tree: Tree, value: object, *, has_floats: bool) -> Tree:
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


def with_env_as_text(tree: Tree) -> Any:
    """The document of `tree`, the numbers and booleans of its `env:` maps as text; itself when there are none."""
    document = tree.value
    if not isinstance(document, dict):
        return document
    changed = _respelt(tree, document, ())
    servers = document.get("servers")
    if isinstance(servers, dict):
        new = {
            name: _respelt(tree, server, ("servers", name)) if isinstance(server, dict) else server
            for name, server in servers.items()
        }
        if any(new[name] is not servers[name] for name in new):
            changed = {**changed, "servers": new}
    scorers = document.get("scorers")
    if isinstance(scorers, list):
        spelt = [
            _respelt(tree, scorer, ("scorers", index)) if isinstance(scorer, dict) else scorer
            for index, scorer in enumerate(scorers)
        ]
        if any(one is not other for one, other in zip(spelt, scorers, strict=True)):
            changed = {**changed, "scorers": spelt}
    return changed


def _respelt(tree: Tree, holder: dict[str, Any], path: Pointer) -> dict[str, Any]:
    env = holder.get("env")
    if not isinstance(env, dict) or not any(isinstance(value, int | float) for value in env.values()):
        return holder
    return {**holder, "env": {name: _text(tree, value, (*path, "env", name)) for name, value in env.items()}}


def _text(tree: Tree, value: object, path: Pointer) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float) or value - value:  # NaN and infinity are refused, with their place
        return value
    index = tree.index(path)
    found = None if index is None else _SCALAR.match(tree.text, index)
    return found[1] if found is not None and resolve(found[1]) == value else value
