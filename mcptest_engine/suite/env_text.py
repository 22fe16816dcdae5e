"""The values of `env:` maps as the file spells them: `1.50` is the text "1.50" to a server, not the number 1.5.

An environment holds nothing but text, so what YAML would make of a version or a mode such as `012` must not show. The
surprising thing: this happens before templates are replaced, because only then is a value still where it was written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.suite.yaml_scalars import resolve

if TYPE_CHECKING:
    from mcptest_engine.suite.yaml import Pointer, Tree

_SCALAR = re.compile(r"(?:[&!]\S*\s+)*([^\s,\[\]{}]+)")


def with_env_as_written(tree: Tree) -> Any:
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


def _text(tree: Tree, value: Any, path: Pointer) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float) or value - value:  # NaN and infinity are refused, with their place
        return value
    index = tree.index(path)
    found = None if index is None else _SCALAR.match(tree.text, index)
    return found[1] if found is not None and resolve(found[1]) == value else value
