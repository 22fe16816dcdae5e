"""A suite from text to `LoadedSuite`: read, resolved, checked and merged, with every problem of it at once.

In order: the file and its `imports`, the `.env` beside it, variables, templates, the structural check of each file, the
merge, and the checks of the whole. Every step goes on where the one before found something, and what could not be resolved
is not complained about twice.

The surprising thing is what is missing: nothing here imports pydantic or starts anything, because `run` and `validate` wait
for it.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.environment import is_ci
from mcptest_engine.core.errors import Problem, Severity, Span, Suggestion, SuiteError, did_you_mean
from mcptest_engine.core.text import counted, pointer, quoted
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.checks import check_merged
from mcptest_engine.suite.items import ASSERT_SET, with_defaults
from mcptest_engine.suite.merge import Merged, PlacedTest, merge, merge_variables, whole_document
from mcptest_engine.suite.places import MOST_PROBLEMS, Places, SourceLines, TooManyProblems
from mcptest_engine.suite.problems import structural_problems
from mcptest_engine.suite.secrets import environment_secrets, secret_values, without_secrets
from mcptest_engine.suite.server_checks import Surroundings
from mcptest_engine.suite.sources import Reader, Source
from mcptest_engine.suite.templates import LATE_BLOCKS, Declared, Fault, Templates, as_text
from mcptest_engine.workspace.files import leads_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.suite.yaml import Pointer

_LARGEST_DOTENV = 1_000_000
_NO_LINES: Mapping[Pointer, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """What loading needs to know of the world.

    `variables` are those of `--var`, as text. `environ` is the environment of this process. Imports stay inside
    `workspace_root` unless `allow_outside` (the suite was given by an absolute path). `start_dir` is where relative paths of
    servers start. With `strict`, `load_suite` raises for warnings too. With `only_own_files` an `.env` that is a link out of
    `workspace_root` is not read.
    """

    environ: Mapping[str, str]
    workspace_root: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    allow_outside: bool = False
    strict: bool = False
    only_own_files: bool = False
    start_dir: Path = field(default_factory=Path.cwd)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestEntry:
    """One test as the suite declares it.

    `data` is the entry with its templates replaced, what `defaultTest` says put in, and `expect` as a mapping:
    {"assertions": […], "max_duration_ms"?, "max_response_tokens"?}. Each step under its `verify` has `expect` as such a
    mapping too, and a `server` only where it is not the test's. `file` is absolute; `line` is that of the entry's first
    key; `path` leads to it in that file, such as ("tools", 3); `server` names the server also where the entry leaves it out.
    `lines` are those of the nodes, the cases and their `golden`, by their paths in it; those of cases are lines of `data_file`
    where that holds them. `source` are the lines of all files of the suite, and the number of this one.
    """

    kind: TestKind
    data: Mapping[str, Any]
    file: Path
    line: int
    path: Pointer
    server: str
    source: tuple[SourceLines, int] = field(compare=False, repr=False)
    lines: Mapping[Pointer, int] = field(default_factory=dict)
    data_file: Path | None = None

    def assertion_line(self, index: int, inner: int | None = None, *, below: Pointer = ()) -> int | None:
        """The line of an assertion, or of one inside an `assert-set`; None for one that is not written in the entry.

        `below` leads to what in the entry has the `expect`, such as ("verify", 0). Counts are from 0.
        """
        lines, file = self.source
        at = (index,) if inner is None else (index, ASSERT_SET, "assertions", inner)
        listed = lines.line_at(file, self.path, (*below, "expect", *at))
        return lines.line_at(file, self.path, (*below, "expect", "assertions", *at)) if listed is None else listed


@dataclass(frozen=True, kw_only=True)  # no slots: the hash is kept once it is computed
class LoadedSuite:
    """A suite that can be run.

    `servers`, `tests` and `hooks` (phase -> as written) have their templates replaced. `coverage` is None without that block.
    `scorers`, `judge`, `budget` and `prices` are as written, a scorer's `env` as texts; `scorer_places` says in which file and
    line each scorer stands. `env` is the suite's own, `lookups` the environment with `.env` behind it, in which
    `bearer_token_env` and the like are looked up. `files` are all files that were read, the suite first; `secrets` the values
    to redact. `declared` are the variables as the files write them. `document` is the merged suite as one document, `data` the
    bytes of the file asked for. Paths are absolute.
    """

    name: str
    path: Path
    data: bytes
    servers: Mapping[str, Mapping[str, Any]]
    tests: tuple[TestEntry, ...]
    env: Mapping[str, str]
    variables: Mapping[str, Any]
    run_options: Mapping[str, Any]
    performance: Mapping[str, Any]
    warnings: tuple[Problem, ...]
    files: tuple[Path, ...]
    secrets: frozenset[str]
    lookups: Mapping[str, str]
    document: Mapping[str, Any]
    declared: Mapping[str, Any] = field(default_factory=dict)
    hooks: Mapping[str, Any] = field(default_factory=dict)
    coverage: Mapping[str, float] | None = None
    effects: Mapping[str, int] = field(default_factory=dict)
    scorers: tuple[Mapping[str, Any], ...] = ()
    scorer_places: Mapping[str, tuple[Path, int]] = field(default_factory=dict)
    judge: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Suite of {self.name!r}: {counted(len(self.tests), 'test')}>"

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the suite file's bytes as hex."""
        import hashlib  # `validate` does not need it

        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSuite:
    """What came of a suite: `problems` holds errors and warnings in file order; `suite` is None when there is an error.

    `files` are all that were read or could not be, so that whoever watches sees one of them mended. `merged` is what all files
    come to, sound or not, with templates replaced as far as they can be; `places` and `secrets` belong to it.
    """

    suite: LoadedSuite | None
    problems: tuple[Problem, ...]
    files: tuple[Path, ...] = ()
    merged: Merged | None = field(default=None, repr=False)
    places: Places | None = field(default=None, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)


def load_suite(path: Path, options: LoadOptions) -> LoadedSuite:
    """The suite at `path`. Raises: SuiteError with all its problems in file order; warnings alone raise only if strict."""
    checked = check_suite(path, options)
    if checked.suite is None or (options.strict and checked.problems):
        raise SuiteError(checked.problems)
    return checked.suite


def check_suite(path: Path, options: LoadOptions) -> CheckedSuite:
    """The suite at `path` and everything wrong with it. Bad input never raises."""
    return _Load(options, path.parent).run(lambda reader: reader.read(path, file=str(path)), file=str(path))


def check_text(text: str, options: LoadOptions, *, name: str = "<inline>", base_dir: Path) -> CheckedSuite:
    """The same for text that is not a file. Messages call it `name`; imports, `.env` and `${CONFIG_DIR}` are of `base_dir`."""
    data = text.encode("utf-8", "surrogatepass")
    path = Path(os.path.abspath(base_dir / name))  # noqa: PTH100  (resolve() would follow links)
    return _Load(options, base_dir).run(lambda reader: reader.read_text(data, file=name, path=path), file=name)


class _Load:
    """One load: its steps in order, and the problems they find."""

    def __init__(self, options: LoadOptions, directory: Path) -> None:
        self._options = options
        self._problems: list[Problem] = []
        self._files: list[Path] = []
        self._lookups = self._with_dotenv(directory)
        self._silent: set[tuple[str, str]] = set()

    def run(self, read: Callable[[Reader], None], *, file: str) -> CheckedSuite:
        collecting = gc.isenabled()
        gc.disable()  # a large suite is many small containers and no cycle: collecting takes longer than loading
        try:
            return self._run(read)
        except RecursionError:
            # Trees and variables are bounded in depth; this is for what still slips through, at no known place.
            problem = Problem(message="the suite is nested too deeply", file=file)
            return CheckedSuite(suite=None, problems=(problem,))
        finally:
            if collecting:
                gc.enable()

    def _run(self, read: Callable[[Reader], None]) -> CheckedSuite:
        early = Templates(environ=self._lookups, declared={})
        self._reader = Reader(
            expand=lambda text, directory, path: early.expand_text(text, config_dir=directory, path=path),
            root=None if self._options.allow_outside else self._options.workspace_root,
        )
        read(self._reader)
        sources, order = self._reader.sources, self._reader.order
        self._problems += self._reader.problems
        self._files = [source.path for source in sources] + self._files
        templates = self._resolve(sources, order)
        documents = {
            number: self._document(number, sources, templates)
            for number, source in enumerate(sources)
            if not source.is_data
        }
        structural = {
            (problem.file, problem.pointer) for problem in self._problems if problem.severity is Severity.ERROR
        }
        merged = merge((number, documents[number]) for number in order)
        places = Places(sources)
        merged.complete = self._reader.complete
        texts, read_secrets = templates.read | early.read, templates.secrets | early.secrets
        named_secrets = secret_values(
            {name: placed.value for name, placed in merged.servers.items()},
            {name: placed.value for name, placed in merged.env.items()},
            templates.variables,
            self._lookups,
            scorers=[placed.value for placed in merged.scorers],
            tests=(test.entry for test in merged.tests),
        )
        secrets = environment_secrets(texts) | read_secrets | named_secrets
        self._check(merged, places, structural, secrets)
        self._warn_of_unused(templates, sources[0].file)
        problems = without_secrets(
            self._in_order(sources),
            read=texts,
            named=named_secrets,
            secret=read_secrets,
            is_templated=lambda problem: _is_templated(problem, sources),
        )
        if any(problem.severity is Severity.ERROR for problem in problems):
            suite, files = None, tuple(dict.fromkeys(self._files))
        else:
            suite = self._loaded(sources[0], documents[0], merged, places, templates, problems, secrets)
            files = suite.files
        return CheckedSuite(
            suite=suite, problems=problems, files=files, merged=merged, places=places, secrets=frozenset(secrets)
        )

    def _with_dotenv(self, directory: Path) -> Mapping[str, str]:
        """The environment with `.env` of the directory behind it."""
        path = directory / ".env"
        environ = self._options.environ
        if not os.path.isfile(path):  # many keep a virtual environment in a directory of that name  # noqa: PTH113 - never raises
            return environ
        if self._options.only_own_files and not leads_inside(path, self._options.workspace_root):
            self._warn(str(path), "the file is a link to a place outside of this workspace, so it is not read")
            return environ
        from mcptest_engine.suite.dotenv import parse_dotenv

        try:
            with path.open("rb") as stream:
                data = stream.read(_LARGEST_DOTENV + 1)
            if len(data) > _LARGEST_DOTENV:
                self._warn(str(path), f"the file is over {_LARGEST_DOTENV // 1000} kB and is not read")
                return environ
            values, problems = parse_dotenv(data.decode("utf-8"), file=str(path), environ=environ)
        except UnicodeDecodeError:
            self._warn(str(path), "the file is not valid UTF-8 and is not read")
            return environ
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._warn(str(path), f"the file cannot be read: {reason[:1].lower()}{reason[1:]}")
            return environ
        self._problems += problems
        self._files.append(Path(os.path.abspath(path)))  # noqa: PTH100
        return {**values, **environ}

    def _warn(self, file: str, message: str) -> None:
        self._problems.append(Problem(message=message, file=file, severity=Severity.WARNING))

    def _resolve(self, sources: Sequence[Source], order: Sequence[int]) -> Templates:
        raw = [(number, source.tree.value) for number in order if (source := sources[number]).tree is not None]
        declared = {
            name: Declared(value=placed.value, file=placed.file, config_dir=sources[placed.file].config_dir)
            for name, placed in merge_variables(raw).items()
        }
        templates = Templates(
            environ=self._lookups, declared=declared, given=self._options.variables, complete=self._reader.complete
        )
        templates.resolve_variables()
        places = Places(sources)
        with suppress(TooManyProblems):
            for file, fault in templates.variable_faults:
                if file is not None:
                    self._fault(places, file, fault)
                elif fault.message:
                    self._problems.append(Problem(message=fault.message, file=sources[0].file, hint=fault.hint))
        self._problems += places.problems
        return templates

    def _document(self, number: int, sources: Sequence[Source], templates: Templates) -> Any:
        """A file's data with its templates replaced; what is wrong with it or with them is noted."""
        source, places = sources[number], Places(sources)
        tree = source.tree
        if tree is None:
            return None
        templates.put_float = False
        written = tree.value
        if _declares_env(written):
            from mcptest_engine.suite.expanded import with_env_as_text

            written = with_env_as_text(tree)
        value, faults = written, list[Fault]()
        if source.rows or "$" in tree.text or "\\" in tree.text:  # which a `$` may be spelled with
            value, faults = templates.expand_document(written, config_dir=source.config_dir)
        if isinstance(value, dict) and any(_is_late(name, value.get(name)) for name in LATE_BLOCKS):
            from mcptest_engine.suite.late_templates import expand_late  # few suites have any

            value = expand_late(value, templates, source.config_dir, faults)
        self._silent |= {(places.file_name(number, fault.path), pointer(fault.path)) for fault in faults}
        if value is not tree.value or source.rows:
            from mcptest_engine.suite.expanded import expanded_tree

            tree = expanded_tree(tree, self._without_rows(source, value), has_floats=templates.put_float)
        found = [problem for problem in structural_problems(tree) if (source.file, problem.pointer) not in self._silent]
        with suppress(TooManyProblems):
            if found or source.rows:
                found = self._with_rows(number, sources, value, found, places)
            misplaced = {problem.span for problem in found}
            lacks_variables = any(
                problem.pointer == "/variables" or getattr(problem.hint, "meant", None) == "variables"
                for problem in found
            )
            for fault in faults:
                above = (fault.path[: depth + 1] for depth in range(len(fault.path)))
                is_told = any(tree.span(path, key=True, nearest=True) in misplaced for path in above)
                is_due = fault.is_unknown and (lacks_variables or _lacks_rows(value, fault.path))
                if not is_told and not is_due:
                    self._fault(places, number, fault)
        self._problems += places.problems
        self._problems += found
        return value

    def _without_rows(self, source: Source, value: Any) -> Any:
        """The data as the suite itself has it: what its `cases` name stands in other files, and is judged there."""
        for block, index, key in source.rows:
            entries = [{**one, key: "rows"} if at == index else one for at, one in enumerate(value[block])]
            value = {**value, block: entries}
        return value

    def _with_rows(
        self, number: int, sources: Sequence[Source], value: Any, found: list[Problem], places: Places
    ) -> list[Problem]:
        """The problems of a file with those of its rows of data, which also have their say on what is a number."""
        from mcptest_engine.suite.case_checks import check_typed, problems_in_rows, typed_by_cases

        found, typed = typed_by_cases(value, found)
        for place, at in sources[number].rows.items():
            block, index, key = place
            if (data := sources[at].tree) is not None:
                found += problems_in_rows(place, value[block][index][key], data)
        check_typed(value, typed, number, places)
        return found

    def _fault(self, places: Places, file: int, fault: Fault) -> None:
        raw = places.raw(file, fault.path)
        inside = (raw, fault.offset) if isinstance(raw, str) and fault.offset else None
        self._silent.add((places.file_name(file, fault.path), pointer(fault.path)))
        if fault.message is not None:
            places.report(file, fault.path, fault.message, fault.hint, inside=inside)

    def _check(
        self, merged: Merged, places: Places, structural: set[tuple[str | None, str]], secrets: frozenset[str]
    ) -> None:
        surroundings = Surroundings(
            environ=self._lookups,
            start_dir=str(self._options.start_dir),
            in_ci=is_ci(self._options.environ),
            secrets=secrets,
            misspelt=frozenset(hint.meant for one in self._problems if isinstance(hint := one.hint, Suggestion)),
        )
        with suppress(TooManyProblems):
            check_merged(merged, places, surroundings)
        for problem in places.problems:
            place = (problem.file or "", problem.pointer)
            # What has an unknown key lacks another for that reason: nothing is said twice of one place.
            if place not in self._silent and place not in structural:
                self._problems.append(problem)

    def _warn_of_unused(self, templates: Templates, file: str) -> None:
        for name in self._options.variables:
            if name not in templates.declared and name not in templates.used and self._reader.complete:
                message = f"`--var`: the suite neither declares nor uses a variable {quoted(name)}"
                hint = did_you_mean(name, templates.declared)
                self._problems.append(Problem(message=message, file=file, hint=hint, severity=Severity.WARNING))

    def _in_order(self, sources: Iterable[Source]) -> tuple[Problem, ...]:
        """The problems in file order: of each file at most `MOST_PROBLEMS`, its errors first, and a last one for the rest."""
        numbers = {source.file: number for number, source in reversed(list(enumerate(sources)))}
        nowhere = Span(0, 0)
        by_file: dict[str, list[Problem]] = {}
        told: dict[tuple[object, ...], Problem] = {}
        for problem in self._problems:  # several tests may use one row of data
            told.setdefault((problem.file, problem.span or problem.pointer, problem.message), problem)
        for problem in told.values():
            by_file.setdefault(problem.file or "", []).append(problem)
        found: list[Problem] = []
        for file in sorted(by_file, key=lambda file: numbers.get(file, len(numbers))):
            problems = sorted(by_file[file], key=lambda problem: problem.span or nowhere)
            if len(problems) > MOST_PROBLEMS:
                worst = sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR)[:MOST_PROBLEMS]
                shown = set(worst)
                message = f"the file has more than {MOST_PROBLEMS} problems; the others are not listed"
                hint = "correct these and check again; similar problems often have one cause"
                more = Problem(message=message, file=file or None, hint=hint, severity=worst[0].severity)
                problems = [*(problem for problem in problems if problem in shown), more]
            found += problems
        return tuple(found)

    def _loaded(
        self,
        source: Source,
        head: Any,
        merged: Merged,
        places: Places,
        templates: Templates,
        problems: tuple[Problem, ...],
        secrets: frozenset[str],
    ) -> LoadedSuite:
        servers = {name: _with_text_env(placed.value) for name, placed in merged.servers.items()}
        env = {name: as_text(placed.value) for name, placed in merged.env.items()}
        name, sources = head.get("name"), self._reader.sources
        return LoadedSuite(
            name=name if name is not None else source.path.stem,
            path=source.path,
            data=source.data,
            servers=servers,
            tests=self._tests(merged, places),
            env=env,
            variables=templates.variables,
            run_options=merged.run_options,
            performance=merged.performance,
            effects=merged.effects,
            warnings=problems,
            files=tuple(dict.fromkeys(self._files)),
            secrets=secrets,
            lookups=self._lookups,
            document=whole_document(merged, head, templates.variables),
            declared={name: one.value for name, one in templates.declared.items()},
            hooks={name: placed.value for name, placed in merged.hooks.items()},
            coverage=None if merged.coverage is None else {name: one.value for name, one in merged.coverage.items()},
            scorers=tuple(_with_text_env(placed.value) for placed in merged.scorers),
            scorer_places={
                placed.value["name"]: (sources[placed.file].path, places.line(placed.file, placed.path))
                for placed in merged.scorers
            },
            judge={name: placed.value for name, placed in merged.judge.items()},
            budget=merged.budget,
            prices=merged.prices,
        )

    def _tests(self, merged: Merged, places: Places) -> tuple[TestEntry, ...]:
        only_server = next(iter(merged.servers)) if len(merged.servers) == 1 else ""
        sources = self._reader.sources
        defaults = {name: placed.value for name, placed in merged.default_test.items()}
        lines = SourceLines(sources)
        origins = [(lines, number) for number in range(len(sources))]
        return tuple(
            _entry(test, defaults, sources[test.file].path, places, only_server, origins[test.file])
            for test in merged.tests
        )


def _is_templated(problem: Problem, sources: Iterable[Source]) -> bool:
    """Whether a template is written where a problem is reported, or just around it."""
    tree = next((source.tree for source in sources if source.file == problem.file), None)
    if tree is None:
        return False
    value = tree.value
    for part in (part.replace("~1", "/").replace("~0", "~") for part in problem.pointer.split("/")[1:]):
        inner = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            inner = value[int(part)]
        if inner is None:
            break
        value = inner
    return isinstance(value, str) and "${" in value


def _entry(
    test: PlacedTest,
    defaults: Mapping[str, object],
    file: Path,
    places: Places,
    only_server: str,
    source: tuple[SourceLines, int],
) -> TestEntry:
    entry = with_defaults(test.entry, defaults if test.kind.is_request else {})
    if "verify" in entry:
        entry = {**entry, "verify": [with_defaults(step, {}) for step in entry["verify"]]}
    if "cases" in entry:
        shared = {"expect": defaults["expect"]} if "expect" in defaults and test.kind.is_request else {}
        rows = [
            {**row, "expect": with_defaults({"expect": row["expect"]}, shared)["expect"]} if "expect" in row else row
            for row in entry["cases"]
        ]
        entry = {**entry, "cases": rows}
    call = entry.get("call")
    called = call.get("server") if isinstance(call, dict) else None
    path = test.path
    return TestEntry(
        kind=test.kind,
        data=entry,
        file=file,
        line=places.line(test.file, path),
        path=path,
        server=called or entry.get("server") or entry.get("servers", (only_server,))[0],
        source=source,
        lines=_lines_within(test, places) if test.kind is TestKind.COMPOSITION or "cases" in entry else _NO_LINES,
        data_file=places.data_file(test.file, path),
    )


def _lines_within(test: PlacedTest, places: Places) -> dict[Pointer, int]:
    """The lines of what a report on a composition points at, by the path in it."""
    cases = list(enumerate(test.entry.get("cases") or ()))
    paths: list[Pointer] = [("nodes", number) for number in range(len(test.entry.get("nodes", ())))]
    paths += [("cases", number) for number, _ in cases]
    paths += [("cases", number, "golden") for number, case in cases if "golden" in case]
    return {path: places.line(test.file, (*test.path, *path)) for path in paths}


def _lacks_rows(document: Any, path: Pointer) -> bool:
    """Whether `path` lies in a test whose `cases` cannot be read, which is a problem of its own."""
    if len(path) < 3 or path[0] not in LATE_BLOCKS:
        return False
    entry = document[path[0]][path[1]]
    return isinstance(entry, dict) and "cases" in entry and not isinstance(entry["cases"], list)


def _is_late(block: str, entries: object) -> bool:
    """Whether a block has templates that wait for a case or a node."""
    if not isinstance(entries, list):
        return False
    return block == "compositions" or any(isinstance(entry, dict) and "cases" in entry for entry in entries)


def _declares_env(document: object) -> bool:
    if not isinstance(document, dict):
        return False
    servers = document.get("servers")
    members = servers.values() if isinstance(servers, dict) else ()
    scorers = document.get("scorers")
    holders = (*members, *(scorers if isinstance(scorers, list) else ()))
    return "env" in document or any(isinstance(holder, dict) and "env" in holder for holder in holders)


def _with_text_env(holder: Mapping[str, object]) -> Mapping[str, Any]:
    """A server or a scorer with the values of its `env` as texts; the scorer of another build may have any `env`."""
    env = holder.get("env")
    if not env or not isinstance(env, dict):
        return holder
    return {**holder, "env": {name: as_text(value) for name, value in env.items()}}
