"""A suite as a screen shows it: its tests, its servers, and what is wrong with it, also while it is being edited.

`document_of` reads a text that need not be on disk and starts nothing; neither pydantic nor anything that talks to a server
is imported. The surprising thing: a document that is not sound still has tests, found in whatever of its YAML can be read.
The types themselves import nothing, so that a user interface may know them before it loads a suite.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.enums import Strength, TestKind
from mcptest_engine.running.diagnostics import LINE_END, Diagnostic, Fix, diagnostics_of
from mcptest_engine.workspace.files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.running.broken_suites import FoundTest
    from mcptest_engine.suite.load import CheckedSuite, LoadedSuite, LoadOptions, TestEntry

__all__ = ["Diagnostic", "Document", "Fix", "ServerItem", "TestItem", "document_of", "watched_by"]

_JUDGE = "'llm-judge'"


class TestItem(NamedTuple):
    """One test as declared.

    `id` is the one that runs and records use. `block` is the key that it stands under ("tools", "compliance", …), `kind` the
    kind of its results. `server` is named also where the suite leaves it out, "" where that cannot be known; `tool` is what is
    called: the tool, the URI, the prompt or the check. `file` is absolute; the test goes from `line` to `end_line`, both
    included. `row` is the file, absolute, and the line of the row of data, for one of several `cases`.
    `digest` changes with all that may change its verdict: its own content with templates replaced, its server's
    settings and local files; "" in a document that is not sound. `calls` are the (server, tool) of every call that it makes,
    also of its nodes and of what it verifies; `spends` says that it asks a model or a scorer that has a price. `strength` is
    what it demands, "" in a document that is not sound; `mutation_score` as in a result of a run.
    """

    id: str
    name: str
    block: str
    kind: str
    server: str
    tool: str
    file: str
    line: int
    end_line: int
    tags: tuple[str, ...] = ()
    row: tuple[str, int] | None = None
    digest: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    spends: bool = False
    strength: str = ""
    mutation_score: float | None = None


class ServerItem(NamedTuple):
    """One server. `target` is its command or URL on one line, without secrets.

    `files` are the local files that its command stands for (`server_sources`), absolute; `env_names` the variables that the
    suite gives it.
    """

    name: str
    transport: str
    target: str
    files: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()


class Document(NamedTuple):
    """A suite file with everything that it imports.

    `path` is absolute, `name` what the suite calls itself. `sound` says that it could be run. `files` are all files that it is
    read from, absolute, those that are missing included, `scorer_files` the programs of its scorers. `digest` changes with all
    of that.
    """

    path: str
    name: str
    sound: bool
    tests: tuple[TestItem, ...]
    servers: tuple[ServerItem, ...]
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    digest: str
    scorer_files: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "tests": [item._asdict() for item in self.tests],
            "servers": [item._asdict() for item in self.servers],
            "diagnostics": [item.to_json() for item in self.diagnostics],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Document:
        return cls(
            path=data["path"],
            name=data["name"],
            sound=data["sound"],
            tests=tuple(
                TestItem(
                    **{
                        **item,
                        "tags": tuple(item["tags"]),
                        "row": None if item["row"] is None else tuple(item["row"]),
                        "calls": tuple(map(tuple, item["calls"])),
                    }
                )
                for item in data["tests"]
            ),
            servers=tuple(
                ServerItem(**{**item, "files": tuple(item["files"]), "env_names": tuple(item["env_names"])})
                for item in data["servers"]
            ),
            diagnostics=tuple(Diagnostic.from_json(item) for item in data["diagnostics"]),
            files=tuple(data["files"]),
            digest=data["digest"],
            scorer_files=tuple(data.get("scorer_files", ())),
        )


def watched_by(document: Document) -> tuple[str, ...]:
    """Every file whose change concerns the document: its own, and those of its servers and scorers."""
    of_servers = (file for server in document.servers for file in server.files)
    return tuple(dict.fromkeys([*document.files, *of_servers, *document.scorer_files]))


def document_of(
    path: str | Path,
    text: str | None = None,
    *,
    start_dir: str | Path,
    environ: Mapping[str, str],
    catalogs: Mapping[str, Mapping[str, object]] | None = None,
) -> Document:
    """The document of the suite at `path`, with `text` in place of what is on disk.

    `catalogs` is what is known of its servers' lists, by server: what they have against its calls stands among the diagnostics,
    and leaves the suite sound.

    `start_dir` is where mcptest was started: its workspace gives the ids, and commands are relative to it. Bad input never
    raises: whatever is wrong, a missing file included, is a diagnostic.
    """
    from mcptest_engine.suite.load import check_suite, check_text

    path = Path(os.path.abspath(Path(start_dir, path)))  # noqa: PTH100  (resolve() would follow links)
    options = suite_options(path, start_dir=start_dir, environ=environ)
    if text is None:
        return _Making(path, None, check_suite(path, options), options).document(catalogs)
    checked = check_text(text, options, name=str(path), base_dir=path.parent)
    return _Making(path, text, checked, options).document(catalogs)


def problems_shown(checked: CheckedSuite, path: Path) -> tuple[Diagnostic, ...]:
    """What is wrong with the suite at `path`, as it was read from disk."""
    files = _Files()
    return diagnostics_of(checked.problems, files.lines_of, file=str(path))


def suite_options(
    path: Path,
    *,
    start_dir: str | Path,
    environ: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
) -> LoadOptions:
    """How the workbench reads the suite at `path` (absolute).

    Imports stay inside the workspace, unless the suite itself was opened from outside of it.
    """
    from mcptest_engine.suite.load import LoadOptions
    from mcptest_engine.workspace.workspace import find_workspace

    workspace = find_workspace(Path(start_dir))
    return LoadOptions(
        environ=environ,
        workspace_root=workspace.root,
        variables=variables or {},
        allow_outside=workspace.relative(path).startswith("../"),
        start_dir=Path(start_dir),
    )


def read_composition_graph(path: str, test: str, start_dir: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the nodes of the composition with the id `test` in the suite at `path`: [{"id", "needs", "server", "tool"}].

    Empty where there is none, or the suite does not load.
    """
    from mcptest_engine.running.declared_tests import DeclaredIds, Shared, all_declared_tests
    from mcptest_engine.suite.graph import parents_of
    from mcptest_engine.suite.load import check_suite
    from mcptest_engine.workspace.workspace import Workspace

    options = suite_options(Path(path), start_dir=start_dir, environ=environ)
    suite = check_suite(Path(path), options).suite
    if suite is None:
        return []
    ids = DeclaredIds(Workspace(options.workspace_root).relative(suite.path))
    shared = Shared.of(suite)
    for entry in suite.tests:
        for declared in all_declared_tests(entry.kind, entry.data, entry.data["name"], shared):
            if ids.take(declared.kind.value, declared.name)[0] == test and entry.kind is TestKind.COMPOSITION:
                return [
                    {
                        "id": node["id"],
                        "needs": [parent.id for _, parent in parents_of(node)],
                        "server": node.get("server", entry.server),
                        "tool": node["tool"],
                    }
                    for node in entry.data["nodes"]
                ]
    return []


def _rows_of(entry: TestEntry) -> Iterator[tuple[TestEntry, tuple[str, int] | None]]:
    """A test of one request for each row of its data, with the file and the line of the row; any other as it is."""
    from dataclasses import replace

    from mcptest_engine.suite.case_rows import requests_of

    if "cases" not in entry.data or entry.kind is TestKind.COMPOSITION:
        yield entry, None
        return
    for number, (_, data) in enumerate(requests_of(entry.data)):
        line = entry.lines.get(("cases", number))
        yield replace(entry, data=data), None if line is None else (str(entry.data_file or entry.file), line)


class _Files:
    """The lines of files, read once each."""

    def __init__(self) -> None:
        self._lines: dict[str, Sequence[str]] = {}

    def put(self, file: str, text: str) -> None:
        self._lines[file] = _split(text)

    def lines_of(self, file: str) -> Sequence[str]:
        if file not in self._lines:
            try:
                self._lines[file] = _split(read_file(file, largest=_LARGEST_SUITE).decode("utf-8-sig", "replace"))
            except (OSError, ValueError):
                self._lines[file] = []
        return self._lines[file]


class _Making:
    """One document being made."""

    def __init__(self, path: Path, text: str | None, checked: CheckedSuite, options: LoadOptions) -> None:
        self._path = path
        self._checked = checked
        self._options = options
        files = _Files()
        self._lines_of = files.lines_of
        if text is not None:
            files.put(str(path), text)

    def document(self, catalogs: Mapping[str, Mapping[str, object]] | None = None) -> Document:
        suite = self._checked.suite
        if suite is None:
            from mcptest_engine.running.broken_suites import read_broken_suite

            broken = read_broken_suite(self._path, "\n".join(self._lines_of(str(self._path))), self._options)
            name, tests = broken.name, tuple(self._with_end(_item_of(test)) for test in broken.tests)
            servers = tuple(
                server_item(server, settings, start_dir=Path(self._options.start_dir), secrets=broken.secrets)
                for server, settings in broken.settings.items()
            )
        else:
            name, servers = suite.name, _servers(suite, Path(self._options.start_dir))
            tests = tuple(self._with_end(test) for test in self._tests(suite, servers))
        files = dict.fromkeys([str(self._path), *map(str, self._checked.files), str(self._path.parent / ".env")])
        diagnostics = diagnostics_of(self._checked.problems, self._lines_of, file=str(self._path))
        if catalogs:
            from mcptest_engine.running.catalog_checks import find_catalog_problems

            found = find_catalog_problems(self._checked, catalogs, self._lines_of, file=str(self._path))
            order = {file: number for number, file in enumerate(dict.fromkeys(one.file for one in diagnostics + found))}
            diagnostics = tuple(sorted(diagnostics + found, key=lambda one: (order[one.file], one.line, one.column)))
        return Document(
            path=str(self._path),
            name=name,
            sound=suite is not None,
            tests=tests,
            servers=servers,
            diagnostics=diagnostics,
            files=tuple(files),
            digest=_digest([*map(_digest_of, tests), servers, diagnostics, self._text_digest()]),
            scorer_files=tuple(
                dict.fromkeys(
                    file for scorer in (() if suite is None else suite.scorers) for file in self._scorer_files(scorer)
                )
            ),
        )

    def _tests(self, suite: LoadedSuite, servers: Sequence[ServerItem]) -> Iterator[TestItem]:
        from mcptest_engine.running.declared_tests import DeclaredIds, Shared, all_declared_tests, graders_of
        from mcptest_engine.running.mutation_scores import read_mutation_scores
        from mcptest_engine.running.strength import strength_in_suite
        from mcptest_engine.workspace.workspace import Workspace

        workspace = Workspace(self._options.workspace_root)
        ids, scores = DeclaredIds(workspace.relative(suite.path)), read_mutation_scores(suite, workspace)
        told = [suite.env, suite.run_options, suite.performance, sorted(suite.secrets)]
        states = {item.name: _digest([told, suite.servers[item.name], _states(item.files)]) for item in servers}
        shared, scorers = Shared.of(suite), {scorer["name"]: scorer for scorer in suite.scorers}
        may_judge = _JUDGE in repr(suite.document)
        for entry, row in (one for written in suite.tests for one in _rows_of(written)):
            data = entry.data
            used = [
                entry.server,
                *(step.get("server", "") for key in ("verify", "nodes") for step in data.get(key, ())),
                *data.get("servers", ()),
            ]
            digest = _digest((data, [states.get(name) for name in used]))
            named = graders_of(data, shared.scorers) if entry.kind is TestKind.EVAL else ()
            spends = (may_judge and _JUDGE in repr(data)) or _spends(entry.kind, data, [scorers[one] for one in named])
            if entry.kind is TestKind.COMPOSITION or entry.kind.may_ask_models:
                graders = [(scorers[name], _states(self._scorer_files(scorers[name]))) for name in named]
                digest = _digest((digest, told, suite.judge, graders))
            strength = strength_in_suite(entry, suite)
            for declared in all_declared_tests(entry.kind, data, data["name"], shared):
                kind = declared.kind
                test_id = ids.take(kind.value, declared.name)[0]
                yield TestItem(
                    id=test_id,
                    name=declared.name,
                    block=str(entry.path[0]),
                    kind=kind.value,
                    server=entry.server or next(filter(None, used), ""),
                    tool=_called_by(data, kind),
                    file=str(entry.file),
                    line=entry.line,
                    end_line=entry.line,
                    tags=tuple(data.get("tags", ())),
                    row=row,
                    digest=digest,
                    calls=_calls_of(data, entry.server),
                    spends=spends,
                    strength=Strength.VALUE if kind is TestKind.EVAL else strength,
                    mutation_score=scores.get(test_id),
                )

    def _scorer_files(self, scorer: Mapping[str, Any]) -> tuple[str, ...]:
        """The local files that a scorer's command stands for, absolute."""
        from mcptest_engine.running.server_sources import server_sources

        command, cwd = scorer.get("command"), scorer.get("cwd", "")
        if scorer["type"] != "exec" or not isinstance(command, list):
            return ()
        return server_sources(command, Path(self._options.start_dir, cwd))

    def _with_end(self, test: TestItem) -> TestItem:
        return test._replace(end_line=end_of_entry(self._lines_of(test.file), test.line))

    def _text_digest(self) -> str:
        return _short_hash("\n".join(self._lines_of(str(self._path))))


def _digest_of(test: TestItem) -> tuple[object, ...]:
    return (test.digest, test.mutation_score) if test.digest else test[:-3]


def _item_of(test: FoundTest) -> TestItem:
    """Return a test of a suite that does not load as an item; its `end_line` is not known yet, and it has no digest."""
    return TestItem(
        id=test.id,
        name=test.name,
        block=test.block,
        kind=test.kind.value,
        server=test.server,
        tool=_called_by(test.entry, test.kind),
        file=test.file,
        line=test.line,
        end_line=test.line,
        tags=test.tags,
    )


def _called_by(data: Mapping[str, Any], kind: TestKind) -> str:
    """What a test's entry calls: its tool, URI, prompt or check; "" when it says none."""
    if kind.may_ask_models:  # its `prompt` is what a model is asked
        call = data.get("call")
        tool = call.get("tool") if isinstance(call, dict) else None
        return tool if isinstance(tool, str) else ""
    return next((data[key] for key in ("tool", "uri", "prompt", "check") if isinstance(data.get(key), str)), "")


def _calls_of(data: Mapping[str, Any], server: str) -> tuple[tuple[str, str], ...]:
    steps = [data, data.get("call"), *data.get("verify", ()), *data.get("nodes", ())]
    return tuple(
        (str(step.get("server") or server), step["tool"])
        for step in steps
        if isinstance(step, dict) and isinstance(step.get("tool"), str)
    )


def _spends(kind: TestKind, data: Mapping[str, object], scorers: Sequence[Mapping[str, object]]) -> bool:
    """Whether models are asked for an answer or a grade, or a scorer is that has a price."""
    if kind is not TestKind.EVAL:
        return kind.may_ask_models
    is_asked = any(name in data for name in ("agent", "model", "models", "prompt"))
    is_paid = any(scorer["type"] != "exec" or scorer.get("max_cost_usd") for scorer in scorers)
    return is_asked or is_paid or not scorers


def end_of_entry(lines: Sequence[str], line: int) -> int:
    """The last line of the list item whose first key stands on `line`: up to what is indented no deeper than its dash."""
    if not 0 < line <= len(lines):
        return line
    first = lines[line - 1]
    inside = len(first) - len(first.lstrip(" -"))
    dash = first.find("-")
    if not 0 <= dash < inside:  # the dash stands on a line of its own above
        dash = max(inside - 1, 0)
    last = line
    for number in range(line, len(lines)):
        text = lines[number]
        content = text.lstrip()
        if not content or content.startswith("#"):
            continue
        if len(text) - len(content) <= dash:
            break
        last = number + 1
    return last


def server_item(name: str, settings: Mapping[str, object], *, start_dir: Path, secrets: frozenset[str]) -> ServerItem:
    """A server as its settings, which may be anything in a suite that is not sound, describe it."""
    from mcptest_engine.running.server_sources import server_sources
    from mcptest_engine.servers.transport import transport_of

    command, env, cwd = settings.get("command"), settings.get("env"), settings.get("cwd")
    words = [str(word) for word in command] if isinstance(command, list) else []
    return ServerItem(
        name=name,
        transport=transport_of(settings.get("url")) if words else "http",
        target=_target_text(words, settings.get("url"), secrets),
        files=server_sources(words, start_dir / cwd if isinstance(cwd, str) and "\0" not in cwd else start_dir),
        env_names=tuple(map(str, env)) if isinstance(env, dict) else (),
    )


def _target_text(words: Sequence[str], url: object, secrets: frozenset[str]) -> str:
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.suite.secrets import without_userinfo

    if words:
        import shlex

        shown = shlex.join(words)
        if isinstance(url, str):
            shown += f" at {without_userinfo(url)}"
    else:
        shown = without_userinfo(url) if isinstance(url, str) else ""
    return one_line(Redactor(secrets).redact_text(shown), 2_000)


def _servers(suite: LoadedSuite, start_dir: Path) -> tuple[ServerItem, ...]:
    return tuple(
        server_item(name, settings, start_dir=start_dir, secrets=suite.secrets)
        for name, settings in suite.servers.items()
    )


_LARGEST_SOURCE = 8 * 1024 * 1024
_LARGEST_SUITE = 32 * 1024 * 1024
"""What the loader reads at most."""
_known_states: dict[tuple[str, int, int, int], str] = {}


def _states(files: Sequence[str]) -> list[str]:
    return [_content_hash(file) for file in files]


def _content_hash(file: str) -> str:
    """A hash of the file's content, read again only when the file was touched; of a huge one its time and size count."""
    try:
        seen = Path(file).stat()
        key = (file, seen.st_mtime_ns, seen.st_size, seen.st_ino)
        if key not in _known_states:
            if len(_known_states) > 1_000:
                _known_states.clear()
            small = seen.st_size <= _LARGEST_SOURCE
            _known_states[key] = _short_hash(Path(file).read_bytes()) if small else str(key)
        return _known_states[key]
    except OSError:
        return ""


def _split(text: str) -> Sequence[str]:
    text = text.removeprefix("\ufeff")
    return LINE_END.split(text) if "\r" in text else text.split("\n")


def _digest(value: object) -> str:
    return _short_hash(repr(value))  # four times as fast as JSON, and as certain for plain data


def _short_hash(text: str | bytes) -> str:
    from hashlib import blake2b

    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return blake2b(data, digest_size=12).hexdigest()
