"""The order of the modules: what imports what, over the engine and the workbench."""

from __future__ import annotations

import ast
import gc
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def nodes() -> dict[Path, list[ast.AST]]:
    """The imports, classes, calls and comparisons of every module; to read them all takes seconds.

    A million objects stay: to look among them for garbage takes longer than to make them.
    """
    wanted = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Call, ast.Compare)
    gc.disable()
    try:
        return {
            path: [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, wanted)]
            for path in modules(ROOT).values()
        }
    finally:
        gc.freeze()
        gc.enable()


def imports_of(path: Path, known: set[str]) -> set[str]:
    """Every module of ours that a file imports: at its top, in a function, or for types alone."""
    found: set[str] = set()
    for node in nodes()[path]:
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


MOST_LINES = 450
"""The goal is 400; a class near it may grow by a few lines before it has to be taken apart."""
LARGE = {
    "mcptest_tui.app.Workbench",
    "mcptest_tui.screens.edit.EditScreen",
    "mcptest_tui.widgets.conversation_view.ConversationView",
    "mcptest_tui.widgets.json_tree.JsonTree",
    "mcptest_tui.widgets.row_list.RowList",
}
"""Classes that are larger: no further ones, and one that has shrunk is taken out."""


def class_sizes() -> dict[str, int]:
    """The lines of each class together with its bases that are ours, by its module and name."""
    classes: dict[str, ast.ClassDef] = {}
    imported: dict[str, dict[str, str]] = {}
    for module, path in modules(ROOT).items():
        names = imported[module] = {}
        for node in nodes()[path]:
            if isinstance(node, ast.ClassDef):
                classes[f"{module}.{node.name}"] = node
                names[node.name] = f"{module}.{node.name}"
            elif isinstance(node, ast.ImportFrom):
                names.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})

    def bases_of(name: str) -> set[str]:
        known = imported[name.rpartition(".")[0]]
        plain = (base.value if isinstance(base, ast.Subscript) else base for base in classes[name].bases)
        found = {known.get(base.id, "") for base in plain if isinstance(base, ast.Name)} & classes.keys() - {name}
        return {name}.union(*(bases_of(base) for base in found))

    lines = {name: (node.end_lineno or 0) - node.lineno + 1 for name, node in classes.items()}
    return {name: sum(lines[one] for one in bases_of(name)) for name in classes}


def test_no_further_class_is_large_with_its_bases() -> None:
    """A class is as large as its bases together: what is more than one thing is composed of objects, and not mixed in."""
    sizes = class_sizes()
    assert len(sizes) > 500
    assert {name for name, size in sizes.items() if size > MOST_LINES} == LARGE


TAKING_APART = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "find",
}
SEARCHING = {"search", "match", "fullmatch", "sub", "findall", "finditer"}
OWN_TEXTS = {"message", "messages", "hint", "reason", "clause", "remark", "warning", "warnings"}
OTHERS_TEXTS = {
    "mcptest_engine/servers/http_failures.py": "httpx says in words alone why a connection failed",
    "mcptest_engine/suite/assertion_checks.py": "jsonschema_rs says in words alone what is wrong with a schema",
}


def text_read(node: ast.expr) -> str:
    """The name of the text that an expression reads: of `str(result.get("message") or "").strip()` it is `message`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=ast.Name(id="str" | "one_line"), args=[inner, *_]) | ast.BoolOp(values=[inner, *_]):
            return text_read(inner)
        case ast.Call(func=ast.Attribute(attr="lower" | "strip" | "rstrip" | "lstrip" | "casefold", value=inner)):
            return text_read(inner)
    return ""


def takes_text_apart(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="split" | "partition" | "find"), args=[ast.Constant(value="\n"), *_]):
            return False  # a text of several lines is laid out, and not understood
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=given):
            is_apart = method in TAKING_APART and text_read(text) in OWN_TEXTS
            return is_apart or (method in SEARCHING and any(text_read(one) in OWN_TEXTS for one in given))
        case ast.Compare(
            left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[ast.Attribute(attr=name)]
        ):
            return name in OWN_TEXTS
    return False


def test_nobody_takes_our_own_messages_apart() -> None:
    """What a program needs later is data until a person reads it: a field, a member of an enumeration, a typed value."""
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path, found_in in nodes().items()
        if str(path.relative_to(ROOT)) not in OTHERS_TEXTS
        for node in found_in
        if isinstance(node, ast.expr) and takes_text_apart(node)
    }
    assert not found
    assert takes_text_apart(ast.parse('str(test.message or "").startswith("not run: ")', mode="eval").body)
    assert takes_text_apart(ast.parse('re.search("deferred", row["message"])', mode="eval").body)
    assert takes_text_apart(ast.parse('"did not answer" in error.clause', mode="eval").body)
