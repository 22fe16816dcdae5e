"""From a loaded suite to the cases of a run.

Pure: what the command line, the environment and earlier runs say comes in as values. The suite's tree has been checked
against the schema of the models, so it is read here as plain mappings; building the models first would cost every run 0.1 s.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.kinds import TestKind
from mcptest_engine.core.patterns import PatternTimeout, search
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import parse_target
from mcptest_engine.running.cases import Case, Plan, VerifyStep
from mcptest_engine.running.ids import DeclaredIds, name_of_metric
from mcptest_engine.safety.policy import ToolClass, classify_name
from mcptest_engine.servers.calls import Fault
from mcptest_engine.suite.checks import LIST_METHODS
from mcptest_engine.suite.compliance import revision_of
from mcptest_engine.suite.defaults import WITHOUT_DEFAULTS as _OTHER_KINDS
from mcptest_engine.suite.hook_checks import PER_TEST
from mcptest_engine.suite.items import assertions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcptest_engine.running.compositions.program import Row
    from mcptest_engine.running.settings import RunSettings, Selection
    from mcptest_engine.suite.load import LoadedSuite, TestEntry

DEFAULT_WORKERS = 8
ROWS_NAMED = 8
RUN_MARK = " #run"
NESTING = frozenset({"not", "all-of", "any-of", "each", "some", "length"})
DEFAULT_TIMEOUT_MS = 30_000
CHANGES_STATE = frozenset({ToolClass.MUTATING, ToolClass.DESTRUCTIVE})
WATCHED = frozenset({"notifications", "server_requests"})
"""What of the envelope may hold another test's doings too, unless the test runs alone."""
NO_AGENTS = "deferred: this version of mcptest runs no agents yet"
NO_MODEL = "deferred: this version of mcptest asks no model yet"
PROGRESS_TOKEN = "mcptest-1"
"""The `progressToken` of a call whose notifications are looked at. One is enough: such calls are made one at a time."""


def make_plan(
    suite: LoadedSuite,
    selection: Selection,
    *,
    relative: Callable[[Path], str],
    workers: int | None = None,
    retries: int | None = None,
    repeat: int = 1,
    bail: int | None = None,
) -> Plan:
    """The plan of a run. `relative` gives a file's path as the record tells it.

    Raises UsageError for a filter that is not a regular expression, or a server or a case that the suite does not have.
    """
    options = suite.run_options
    default_retries = retries if retries is not None else int(options.get("retries", 0))
    drafting = _Drafting(suite, default_retries, relative)
    declared = [case for entry in suite.tests for case in drafting.cases(entry)]
    focused = [case for case in declared if case.only]
    selected = _select(focused or declared, selection, servers=suite.servers)
    cases = [case for case in selected if _in_shard(case.id, selection.shard)]
    if repeat > 1:
        cases = [_repeated(case, number) for number in range(1, repeat + 1) for case in cases]
    return Plan(
        cases=tuple(cases),
        declared=len(declared),
        selected=len(selected),
        workers=_workers(suite, workers),
        bail=bail if bail is not None else _bail(options.get("bail")),
        restart=bool(options.get("restart", True)),
        warnings=(f"only the {len(focused)} focused of {len(declared)} tests run (`only: true`)",) if focused else (),
    )


def plan_of(suite: LoadedSuite, settings: RunSettings, *, relative: Callable[[Path], str]) -> Plan:
    """The plan of the run that `settings` ask for. Raises UsageError as `make_plan` does."""
    return make_plan(
        suite,
        settings.selection,
        relative=relative,
        workers=settings.workers,
        retries=settings.retries,
        repeat=settings.repeat,
        bail=settings.bail,
    )


def _workers(suite: LoadedSuite, asked: int | None) -> int:
    """How many tests at once; one where something is done around each (suite-composition: the bracket holds)."""
    if any(suite.hooks.get(phase) for phase in PER_TEST):
        return 1
    return asked if asked is not None else int(suite.run_options.get("concurrency", DEFAULT_WORKERS))


def _bail(value: object) -> int | None:
    if value is True:
        return 1
    return value if isinstance(value, int) and value is not False else None


class _Drafting:
    """Makes the cases of one suite in declared order, and remembers what many of its tests share."""

    def __init__(self, suite: LoadedSuite, retries: int, relative: Callable[[Path], str]) -> None:
        self._relative = relative
        self._retries = retries
        self._serial_servers = {name for name, settings in suite.servers.items() if settings.get("serial")}
        options, performance = suite.run_options, suite.performance
        self._default_ms = performance.get("default_timeout_ms", options.get("timeout_ms", DEFAULT_TIMEOUT_MS))
        self._server_ms = {n: settings.get("timeout_ms", self._default_ms) for n, settings in suite.servers.items()}
        self._ids = DeclaredIds(relative(suite.path))
        self._files: dict[Path, str] = {}
        self._mutating: dict[str, bool] = {}

    def cases(self, entry: TestEntry) -> Iterable[Case]:
        """The cases of one test: one, but for a composition with `cases`."""
        if entry.kind is not TestKind.COMPOSITION:
            return (self.case(entry),)
        from mcptest_engine.running.compositions.planning import composed  # few suites have one

        rows = composed(entry.data, only_server=entry.server, timeouts=self._server_ms, timeout_ms=self._default_ms)
        return (case for data, row in rows for case in self._of_row(entry, data, row))

    def _of_row(self, entry: TestEntry, data: Mapping[str, Any], row: Row) -> Iterator[Case]:
        """The run of a composition with one row of its data, and what a model is to judge of it."""
        case = self._with_row(self.case(replace(entry, data=data)), data, row)
        yield case
        for metric in data.get("eval", ()):
            judged = {**data, "name": name_of_metric(data["name"], metric), "expect": {"assertions": ()}}
            graded = self.case(replace(entry, kind=TestKind.EVAL, data=judged))
            yield graded._replace(deferred=NO_MODEL, server=case.server, tool=None, row_name=row.case)

    def _with_row(self, case: Case, data: Mapping[str, Any], row: Row) -> Case:
        servers = set(row.program.servers())
        called = {node.tool for node in row.program.nodes if not node.stood_in}
        changes = "serial" not in data and any(map(self._changes_state, called))
        return case._replace(
            composition=row,
            row_name=row.case,
            server=next(row.program.servers(), case.server),
            serial=case.serial or changes or not servers.isdisjoint(self._serial_servers),
            tool=None,
        )

    def case(self, entry: TestEntry) -> Case:
        """The case of one test."""
        data = entry.data
        name, expect, server = data["name"], data["expect"], entry.server
        own_id, count = self._ids.take(entry.kind.value, name)
        base_name = None if count == 1 else f"{name} #{count}"
        roots = _roots(expect)
        timeout_seconds = data.get("timeout_ms", self._server_ms.get(server, self._default_ms)) / 1000
        method, params = _request(entry.kind, data, roots)
        steps = data.get("verify") or ()
        watches = not WATCHED.isdisjoint(roots)
        alone = watches or any(not WATCHED.isdisjoint(_roots(step["expect"])) for step in steps)
        case = Case(
            id=own_id,
            name=name,
            kind=entry.kind,
            server=server,
            method=method,
            params=params,
            expect=expect,
            timeout_seconds=timeout_seconds,
            file=self._file(entry.file),
            line=entry.line,
            tool=data.get("tool"),
            retries=data.get("retries", self._retries),
            serial=alone or server in self._serial_servers or self._wants_to_be_alone(data),
            slow_to_judge=_slow_to_judge(expect),
            only=data.get("only", False),
            skip=_skip_reason(data.get("skip")),
            tags=tuple(data.get("tags", ())),
            description=data.get("description"),
            base_name=base_name,
            watches=watches,
            asks_http="http" in roots,
            client=data.get("client"),
            fault=_fault(data.get("fault")),
            threshold=data.get("threshold") if expect["assertions"] else None,
            metrics=tuple(data.get("derivedMetrics", ())),
            cache=data.get("cache"),
            effects=tuple(data.get("effects", ())),
        )
        if entry.kind in _OTHER_KINDS:
            return case if entry.kind in (TestKind.COMPOSITION, TestKind.EVAL) else _other(case, data)
        return case._replace(verify=tuple(_steps(case, steps))) if steps else case

    def _file(self, path: Path) -> str:
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = self._relative(path)
        return file

    def _wants_to_be_alone(self, data: Mapping[str, Any]) -> bool:
        """As the test says; else when it changes the server's state, or looks at what its call has done to it."""
        serial = data.get("serial")
        if serial is not None:
            return bool(serial)
        if "fault" in data or "verify" in data:
            return True
        tool = data.get("tool")
        return tool is not None and self._changes_state(tool)

    def _changes_state(self, tool: str) -> bool:
        """Whether a tool changes something, to judge by its name."""
        mutating = self._mutating.get(tool)
        if mutating is None:
            mutating = self._mutating[tool] = classify_name(tool) in CHANGES_STATE
        return mutating


def _other(case: Case, data: Mapping[str, Any]) -> Case:
    """The case of a test that is no call of a tool, resource or prompt."""
    if case.kind is TestKind.AGENT:
        return case._replace(deferred=NO_AGENTS, tool=None)
    pin = data.get("spec_version")
    return case._replace(check=data["check"], pin=None if pin is None else revision_of(pin), tool=None, asks_http=False)


def _steps(case: Case, steps: Sequence[Mapping[str, Any]]) -> Iterator[VerifyStep]:
    """The steps of a test's `verify`; what one leaves out is as for the test."""
    for number, data in enumerate(steps):
        expect = data["expect"]
        roots = _roots(expect)
        kind = TestKind.TOOL if "tool" in data else TestKind.RESOURCE if "uri" in data else TestKind.PROMPT
        method, params = _request(kind, data, roots)
        yield VerifyStep(
            number=number,
            server=data.get("server", case.server),
            kind=kind,
            method=method,
            params=params,
            expect=expect,
            timeout_seconds=data["timeout_ms"] / 1000 if "timeout_ms" in data else case.timeout_seconds,
            snapshot_name=f"{case.snapshot_name}, verify #{number}",
            name=data.get("name"),
            tool=data.get("tool"),
            serial=case.serial,
            watches=not WATCHED.isdisjoint(roots),
            asks_http="http" in roots,
            slow_to_judge=_slow_to_judge(expect),
        )


def _request(kind: TestKind, data: Mapping[str, Any], roots: frozenset[object]) -> tuple[str, Mapping[str, Any] | None]:
    """What goes on the wire. Source: MCP 2025-11-25, server/tools, server/resources, server/prompts.

    A call of a tool whose notifications are looked at asks for progress, which a server reports only when it is asked to
    (basic/utilities/progress); a token of the test's own stands.
    """
    meta = data.get("meta")
    method, params = _bare_request(kind, data)
    if method == "tools/call" and "notifications" in roots:
        meta = {"progressToken": PROGRESS_TOKEN, **(meta or {})}
    return (method, params) if meta is None else (method, {**(params or {}), "_meta": meta})


def _bare_request(kind: TestKind, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    if kind in _OTHER_KINDS:
        return _method_of(data), None
    if kind is TestKind.TOOL:
        tool = data["tool"]
        arguments = data.get("args")
        if tool in LIST_METHODS:
            return tool, arguments or None
        return "tools/call", {"name": tool, "arguments": arguments if arguments is not None else {}}
    if kind is TestKind.RESOURCE:
        return "resources/read", {"uri": data["uri"]}
    params: dict[str, Any] = {"name": data["prompt"]}
    if data.get("args"):
        params["arguments"] = data["args"]
    return "prompts/get", params


def _method_of(data: Mapping[str, Any]) -> str:
    """The request of a check; "" for a test that is not run."""
    if "check" not in data:
        return ""
    from mcptest_engine.judging.conformance import method_of  # few suites have a check

    return method_of(data["check"])


def _fault(written: object) -> Fault | None:
    if written is None:
        return None
    if isinstance(written, str):
        return Fault(written)
    assert isinstance(written, dict)
    return Fault("delay", written["delay_ms"] / 1000)


def _skip_reason(skip: object) -> str | None:
    if skip is True:
        return "skipped by the suite"
    return skip if isinstance(skip, str) else None


def _roots(expect: Mapping[str, Any]) -> frozenset[object]:
    """The members of the envelope that the assertions look at."""
    return frozenset([parse_target(row["target"]).segments[0] for row in assertions_of(expect["assertions"])])


def _slow_to_judge(expect: Mapping[str, Any]) -> bool:
    return uses_matcher(expect, "jq") or any("transform" in row for row in assertions_of(expect["assertions"]))


def uses_matcher(expect: Mapping[str, Any], name: str) -> bool:
    """Whether an assertion uses the matcher `name`, at whatever depth of `not`, `all-of`, `each` and the like."""
    return any(_uses(row["matcher"], name) for row in assertions_of(expect["assertions"]))


def _uses(matcher: object, name: str) -> bool:
    if isinstance(matcher, list):
        return any(_uses(inner, name) for inner in matcher)
    if not isinstance(matcher, dict):
        return False
    return name in matcher or any(_uses(matcher[key], name) for key in NESTING & matcher.keys())


def _select(cases: Sequence[Case], selection: Selection, *, servers: Iterable[str]) -> list[Case]:
    known = tuple(servers)
    for server in sorted(selection.servers):
        if server not in known:
            raise UsageError(
                f"the suite has no server `{server}`",
                hint=did_you_mean(server, known) or f"it has {', '.join(f'`{name}`' for name in known) or 'none'}",
            )
    if selection.takes_all:
        return list(cases)
    _check_rows(selection.rows, cases)
    wanted = _name_test(selection.filter, {case.name for case in cases})
    return [
        case
        for case in cases
        if wanted(case.name)
        and (not selection.tags or not selection.tags.isdisjoint(case.tags))
        and selection.skip_tags.isdisjoint(case.tags)
        and (not selection.rows or case.row_name in selection.rows)
        and (not selection.servers or not selection.servers.isdisjoint(case.servers))
        and (selection.ids is None or case.id in selection.ids)
    ]


def _check_rows(wanted: Iterable[str], cases: Sequence[Case]) -> None:
    """Raises: UsageError for a case that no composition has."""
    known = tuple(dict.fromkeys(case.row_name for case in cases if case.row_name is not None))
    for row in sorted(wanted):
        if row not in known:
            more = ", …" if len(known) > ROWS_NAMED else ""
            has = (
                f"there are {', '.join(f'`{one}`' for one in known[:ROWS_NAMED])}{more}"
                if known
                else "none has `cases:`"
            )
            raise UsageError(f"no composition of the suite has a case `{row}`", hint=did_you_mean(row, known) or has)


def _name_test(text: str | None, names: set[str]) -> Callable[[str], bool]:
    """A filter equal to a whole name takes just that test; else it is a part of the name, or `re:` and an expression."""
    if text is None:
        return lambda _: True
    if text in names:
        return lambda name: name == text
    if text.startswith("re:"):
        try:
            re.compile(text[3:])
        except re.error as wrong:
            raise UsageError(
                f"the filter `{text}` is not a regular expression: {wrong}",
                hint="without `re:` a filter is plain text",
            ) from None
        return lambda name: _found(text[3:], name)
    base, hash_mark, number = text.rpartition(" #")
    if hash_mark and number.isdigit() and base in names:
        return lambda name: name == base
    return lambda name: text in name


def _found(pattern: str, name: str) -> bool:
    try:
        return search(pattern, name)
    except PatternTimeout as wrong:
        raise UsageError(
            f"the filter `re:{pattern[:80]}` is no filter for `{one_line(name, 80)}`: {wrong}",
            hint="without repeats inside of repeats it is quick; without `re:` a filter is plain text",
        ) from None


def _in_shard(case_id: str, shard: tuple[int, int] | None) -> bool:
    """By a stable hash of the id, so that adding a test moves no other one."""
    if shard is None:
        return True
    index, count = shard
    return crc32(case_id.encode()) % count == index - 1


def _repeated(case: Case, number: int) -> Case:
    return case._replace(
        id=f"{case.id}{RUN_MARK}{number}", name=f"{case.name} #{number}", base_name=case.base_name or case.name
    )
