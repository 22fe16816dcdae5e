"""What can be seen of a suite that does not load: the tests and servers in whatever of its YAML can be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.running.declared_tests import DeclaredIds, Shared, all_declared_tests
from mcptest_engine.running.diagnostics import LINE_END
from mcptest_engine.suite.merge import merge, merge_variables
from mcptest_engine.suite.secrets import secret_values
from mcptest_engine.suite.sources import Reader, Source
from mcptest_engine.suite.templates import Declared, Templates
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mcptest_engine.core.enums import TestKind
    from mcptest_engine.suite.load import LoadOptions
    from mcptest_engine.suite.merge import Merged
    from mcptest_engine.suite.yaml import Tree

_MOST_ATTEMPTS = 6
_ITEM = re.compile(
    r"""\s*-(?:\s*$|\s+(?:\{\s*)?["']?(?:name|tool|uri|prompt|description|check|server|skip|only|tags)\b)"""
)


class FoundTest(NamedTuple):
    """One test as far as it can be read. `entry` is what is written, of any shape; `file` is absolute, `line` its first."""

    id: str
    name: str
    block: str
    kind: TestKind
    server: str
    entry: Mapping[str, Any]
    file: str
    line: int
    tags: tuple[str, ...]


class FoundSuite(NamedTuple):
    """What can be read of a suite. `secrets` are the secret values in the `settings` of its servers."""

    name: str
    tests: tuple[FoundTest, ...]
    settings: Mapping[str, Mapping[str, Any]]
    secrets: frozenset[str]


def read_broken_suite(path: Path, text: str, options: LoadOptions) -> FoundSuite:
    """Read what can be read of `text`, the suite at `path`, and of what it imports. A test without a name is passed over."""
    early = Templates(environ=options.environ, declared={})
    reader = Reader(
        expand=lambda name, directory, place: early.expand_text(name, config_dir=directory, path=place),
        root=None if options.allow_outside else options.workspace_root,
    )
    try:
        reader.read_text(text.encode("utf-8", "surrogatepass"), file=str(path), path=path)
        trees = {number: _read_tree(source) for number, source in enumerate(reader.sources)}
        return _find_suite(path, reader, trees, options)
    except RecursionError:
        return FoundSuite(path.stem, (), {}, frozenset())


def _find_suite(path: Path, reader: Reader, trees: dict[int, Tree | None], options: LoadOptions) -> FoundSuite:
    values = [(number, tree.value) for number in reader.order if (tree := trees[number]) is not None]
    merged = merge(values)
    variables = merge_variables(values)
    templates = Templates(
        environ=options.environ,
        declared={
            name: Declared(value=placed.value, file=placed.file, config_dir=reader.sources[placed.file].config_dir)
            for name, placed in variables.items()
        },
        complete=False,
    )
    templates.resolve_variables()
    settings = {name: placed.value for name, placed in merged.servers.items() if isinstance(placed.value, dict)}
    env = {name: placed.value for name, placed in merged.env.items()}
    return FoundSuite(
        name=merged.name if isinstance(merged.name, str) else path.stem,
        tests=tuple(_find_tests(path, merged, reader, trees, templates, options)),
        settings=settings,
        secrets=frozenset(secret_values(settings, env, {}, options.environ)),
    )


def _find_tests(
    path: Path,
    merged: Merged,
    reader: Reader,
    trees: dict[int, Tree | None],
    templates: Templates,
    options: LoadOptions,
) -> Iterator[FoundTest]:
    ids = DeclaredIds(Workspace(options.workspace_root).relative(path))
    only_server = next(iter(merged.servers)) if len(merged.servers) == 1 else ""
    shared = _read_shared(merged)
    for test in merged.tests:
        entry = test.entry if isinstance(test.entry, dict) else {}
        name = _resolve_name(entry.get("name"), templates, reader.sources[test.file].config_dir)
        tree = trees[test.file]
        if name is None or tree is None:
            continue
        span = tree.span(test.path, nearest=True)
        line = 1 if span is None else span.line
        server, tags = entry.get("server", only_server), entry.get("tags")
        for declared in all_declared_tests(test.kind, entry, name, shared):
            yield FoundTest(
                id=ids.take(declared.kind.value, declared.name)[0],
                name=declared.name,
                block=test.block,
                kind=declared.kind,
                server=server if isinstance(server, str) else "",
                entry=entry,
                file=str(reader.sources[test.file].path),
                line=line,
                tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
            )


def _read_shared(merged: Merged) -> Shared:
    """What decides into how many tests entries fall, as far as it has its shape."""
    inconclusive = merged.run_options.get("inconclusive")
    named = (one.value.get("name") for one in merged.scorers if isinstance(one.value, dict))
    return Shared(
        tuple(name for name in named if isinstance(name, str)),
        isinstance(inconclusive, dict) and inconclusive.get("on") is True,
    )


def _resolve_name(name: object, templates: Templates, config_dir: str) -> str | None:
    """The name as a sound suite would have it; as written where that cannot be known or would give a secret away."""
    if not isinstance(name, str) or not name:
        return None
    if "${" not in name:
        return name
    expanded, fault = templates.expand_text(name, config_dir=config_dir, path=())
    told = fault is None and not any(text in expanded for text in templates.read)
    return expanded if told else name


def _read_tree(source: Source) -> Tree | None:
    """The file's tree; of one that is no YAML, that of what is left without the tests that hold the faults."""
    if source.tree is not None or not source.data:
        return source.tree
    lines = LINE_END.split(source.data.decode("utf-8", "replace").removeprefix("\ufeff"))
    for _ in range(_MOST_ATTEMPTS):
        try:
            return read_tree("\n".join(lines), file=source.file, keep_going=True)
        except SuiteError as broken:
            span = broken.problems[-1].span
        if span is None or not any(lines):
            return None
        _empty_lines_of_test(lines, min(span.line, len(lines)) - 1)
    return None


def _empty_lines_of_test(lines: list[str], at: int) -> None:
    """Empty the lines of the test that line `at` belongs to, or that line alone; what was emptied already, to the end."""
    if not lines[at].strip():
        lines[at:] = [""]
        return
    start = next((number for number in range(at, -1, -1) if _ITEM.match(lines[number])), None)
    if start is None:
        lines[at] = ""
        return
    dash = lines[start].index("-")
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > dash):
        end += 1
    if end <= at:  # the test above ended before: it is not to blame
        start, end = at, at + 1
    lines[start:end] = [""] * (end - start)
