"""The order of the modules: what imports what, over the engine and the workbench."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imports_of(path: Path, known: set[str]) -> set[str]:
    """Every module of ours that a file imports: at its top, in a function, or for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            found.update(f"{node.module}.{name.name}" for name in node.names)
            found.add(node.module or "")
    return found & known


def modules(root: Path) -> dict[str, Path]:
    paths = [
        path for package in ("mcptest", "mcptest_engine", "mcptest_tui") for path in (root / package).rglob("*.py")
    ]
    names = {path: ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    return {name: path for path, name in names.items()}


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = modules(ROOT)
    graph = {name: imports_of(path, found.keys() - {name}) for name, path in found.items()}
    assert sum(map(len, graph.values())) > 1000
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        raise AssertionError(" -> ".join(reversed(circle.args[1]))) from None
