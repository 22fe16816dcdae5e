"""What can be seen of a suite that does not load: the tests and servers in whatever of its YAML can be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.running.diagnostics import LINE_END
from mcptest_engine.running.documents import ServerItem, TestItem, called_by, server_item
from mcptest_engine.running.ids import DeclaredIds, Shared, names_of
from mcptest_engine.suite.merge import merge, merge_variables
from mcptest_engine.suite.secrets import secret_values
from mcptest_engine.suite.sources import Reader, Source
from mcptest_engine.suite.templates import Declared, Templates
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.suite.load import LoadOptions
    from mcptest_engine.suite.merge import Merged
    from mcptest_engine.suite.yaml import Tree

_MOST_ATTEMPTS = 6
_ITEM = re.compile(
    r"""\s*-(?:\s*$|\s+(?:\{\s*)?["']?(?:name|tool|uri|prompt|description|check|server|skip|only|tags)\b)"""
)


class Seen(NamedTuple):
    """The name of the suite, its tests (`end_line` not yet known, no digest) and its servers."""

    name: str
    tests: tuple[TestItem, ...]
    servers: tuple[ServerItem, ...]


def seen_in(path: Path, text: str, options: LoadOptions) -> Seen:
    """What stands in `text`, the suite at `path`, and in what it imports. A test without a name is passed over."""
    early = Templates(environ=options.environ, declared={})
    reader = Reader(
        expand=lambda name, directory, place: early.expand_text(name, config_dir=directory, path=place),
        root=None if options.allow_outside else options.workspace_root,
    )
    try:
        reader.read_text(text.encode("utf-8", "surrogatepass"), file=str(path), path=path)
        trees = {number: _tree(source) for number, source in enumerate(reader.sources)}
        return _seen(path, reader, trees, options)
    except RecursionError:
        return Seen(path.stem, (), ())


def _seen(path: Path, reader: Reader, trees: dict[int, Tree | None], options: LoadOptions) -> Seen:
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
    secrets = frozenset(secret_values(settings, env, {}, options.environ))
    return Seen(
        name=merged.name if isinstance(merged.name, str) else path.stem,
        tests=tuple(_tests(path, merged, reader, trees, templates, options)),
        servers=tuple(
            server_item(name, value, start_dir=Path(options.start_dir), secrets=secrets)
            for name, value in settings.items()
        ),
    )


def _tests(
    path: Path,
    merged: Merged,
    reader: Reader,
    trees: dict[int, Tree | None],
    templates: Templates,
    options: LoadOptions,
) -> Iterator[TestItem]:
    ids = DeclaredIds(Workspace(options.workspace_root).relative(path))
    only_server = next(iter(merged.servers)) if len(merged.servers) == 1 else ""
    shared = _shared(merged)
    for test in merged.tests:
        entry = test.entry if isinstance(test.entry, dict) else {}
        name = _resolved(entry.get("name"), templates, reader.sources[test.file].config_dir)
        tree = trees[test.file]
        if name is None or tree is None:
            continue
        span = tree.span(test.path, nearest=True)
        line = 1 if span is None else span.line
        server, tags = entry.get("server", only_server), entry.get("tags")
        for kind, full_name in names_of(test.kind, entry, name, shared):
            yield TestItem(
                id=ids.take(kind.value, full_name)[0],
                name=full_name,
                block=test.block,
                kind=kind.value,
                server=server if isinstance(server, str) else "",
                tool=called_by(entry, kind.value),
                file=str(reader.sources[test.file].path),
                line=line,
                end_line=line,
                tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
            )


def _shared(merged: Merged) -> Shared:
    """What decides into how many tests entries fall, as far as it has its shape."""
    inconclusive = merged.run_options.get("inconclusive")
    named = (one.value.get("name") for one in merged.scorers if isinstance(one.value, dict))
    return Shared(
        tuple(name for name in named if isinstance(name, str)),
        isinstance(inconclusive, dict) and inconclusive.get("on") is True,
    )


def _resolved(name: Any, templates: Templates, config_dir: str) -> str | None:
    """The name as a sound suite would have it; as written where that cannot be known or would give a secret away."""
    if not isinstance(name, str) or not name:
        return None
    if "${" not in name:
        return name
    expanded, fault = templates.expand_text(name, config_dir=config_dir, path=())
    told = fault is None and not any(text in expanded for text in templates.read)
    return expanded if told else name


def _tree(source: Source) -> Tree | None:
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
        _blank(lines, min(span.line, len(lines)) - 1)
    return None


def _blank(lines: list[str], at: int) -> None:
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
