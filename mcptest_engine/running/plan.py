"""From a loaded suite to the cases of a run.

Pure: what the command line, the environment and earlier runs say comes in as values. The suite's tree has been checked
against the schema of the models, so it is read here as plain mappings; building the models first would cost every run 0.1 s.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, assert_never

from mcptest_engine.core.enums import ExpectedOutcome, TestKind
from mcptest_engine.core.targets import parse_target
from mcptest_engine.running.cases import DEFAULT_MODEL_TIMEOUT_MS, ORDINARY, Case, Check, Plan, Request, VerifyStep
from mcptest_engine.running.declared_tests import DeclaredIds, DeclaredTest, Shared, declared_tests
from mcptest_engine.running.fresh import fresh_groups, fresh_of, has_fixed_port
from mcptest_engine.running.selecting import repeated, select, shard_of, why_none, with_groups
from mcptest_engine.running.strength import is_validated, required_outcome, strength_of_test
from mcptest_engine.safety.tool_classes import classify_name
from mcptest_engine.servers.calls import Fault
from mcptest_engine.suite.case_rows import requests_of
from mcptest_engine.suite.checks import METHODS_AS_TOOLS
from mcptest_engine.suite.compliance import revision_of
from mcptest_engine.suite.items import assertions_of, uses_matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcptest_engine.judging.assertions import LineOf
    from mcptest_engine.running.cases import Body
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.kinds.eval.plan import JudgedTests
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite, TestEntry
    from mcptest_engine.suite.yaml import Pointer

DEFAULT_WORKERS = 8
DEFAULT_TIMEOUT_MS = 30_000
WATCHED = frozenset({"notifications", "server_requests"})
"""What of the envelope may hold another test's doings too, unless the test runs alone."""
PROGRESS_TOKEN = "mcptest-1"
"""The `progressToken` of a call whose notifications are looked at. One is enough: such calls are made one at a time."""


def make_plan(suite: LoadedSuite, settings: RunSettings, *, relative: Callable[[Path], str]) -> Plan:
    """The plan of the run that `settings` ask for. `relative` gives a file's path as the record tells it.

    Raises UsageError for a filter that is not a regular expression, or a server or a case that the suite does not have.
    """
    options, selection, repeat, models = suite.run_options, settings.selection, settings.repeat, settings.models
    default_retries = settings.retries if settings.retries is not None else int(options.get("retries", 0))
    case_maker = _CaseMaker(suite, default_retries, relative, models)
    declared = [case for entry in suite.tests for case in case_maker.cases(entry)]
    focused = with_groups([case for case in declared if case.only], declared)
    selected = select(focused or declared, selection, servers=suite.servers)
    cases = selected if selection.shard is None else shard_of(selected, selection.shard, dealt=selection.dealt)
    places = [] if selection.shard is None else _places(cases, selected, repeat)
    if repeat > 1:
        cases = [repeated(case, number) for number in range(1, repeat + 1) for case in cases]
    return Plan(
        cases=tuple(cases),
        declared=len(declared),
        selected=len(selected),
        workers=_workers(suite, settings.workers),
        bail=settings.bail if settings.bail is not None else _bail(options.get("bail")),
        restart=bool(options.get("restart", True)),
        missed=why_none(focused or declared, selection) if declared and not selected else None,
        warnings=tuple(_selection_warnings(focused, declared, selected, models)),
        places=tuple(places),
        selection=None if selection.shard is None else _digest(selected, repeat),
    )


def _digest(selected: Sequence[Case], repeat: int) -> str:
    """What the shards of one run have in common."""
    from hashlib import sha256  # few runs are a shard

    return sha256("\0".join([str(repeat), *(case.id for case in selected)]).encode("utf-8", "replace")).hexdigest()[:16]


def _places(cases: Sequence[Case], selected: Sequence[Case], repeat: int) -> list[int]:
    """Where the cases of a shard, and their repeats, stand in the run of all that were selected."""
    place = {case.id: at for at, case in enumerate(selected)}
    return [number * len(selected) + place[case.id] for number in range(repeat) for case in cases]


def _selection_warnings(
    focused: Sequence[Case], declared: Sequence[Case], selected: Sequence[Case], models: Sequence[str]
) -> Iterator[str]:
    """What a run leaves out of the suite, or of what it was asked for."""
    if focused:
        yield f"only the {len(focused)} focused of {len(declared)} tests run (`only: true`)"
    if models and selected and not any(map(_needs_model, selected)):
        yield "`--models` has no effect: no model answers in these tests (`judge:` sets the model that grades)"


def _needs_model(case: Case) -> bool:
    """Whether what the case judges is the answer of a model."""
    from mcptest_engine.running.kinds.eval.plan import EvalRow  # few runs are told which models to ask

    is_graded = isinstance(case.body, EvalRow) and case.body.candidate.agent is not None
    return case.kind is TestKind.AGENT or is_graded


def _workers(suite: LoadedSuite, asked: int | None) -> int:
    """How many tests at once; one where hooks run around each, so that nothing runs between them."""
    if suite.hooks:
        from mcptest_engine.suite.hook_checks import PER_TEST  # few suites have any

        if any(suite.hooks.get(phase) for phase in PER_TEST):
            return 1
    return asked if asked is not None else int(suite.run_options.get("concurrency", DEFAULT_WORKERS))


def _bail(value: object) -> int | None:
    if value is True:
        return 1
    return value if isinstance(value, int) and value is not False else None


class _CaseMaker:
    """Makes the cases of one suite in declared order, and remembers what many of its tests share."""

    def __init__(
        self, suite: LoadedSuite, retries: int, relative: Callable[[Path], str], models: Sequence[str]
    ) -> None:
        self._suite = suite
        self._relative = relative
        self._shared = Shared.of(suite, models)
        self._retries = retries
        self._serial_servers = {name for name, settings in suite.servers.items() if settings.get("serial")}
        options, performance = suite.run_options, suite.performance
        self._default_ms = performance.get("default_timeout_ms", options.get("timeout_ms", DEFAULT_TIMEOUT_MS))
        self._outcome = options.get("outcome", ExpectedOutcome.SUCCESS)
        self._model_ms = options.get("model_timeout_ms", DEFAULT_MODEL_TIMEOUT_MS)
        self._server_ms = {n: settings.get("timeout_ms", self._default_ms) for n, settings in suite.servers.items()}
        self._ids = DeclaredIds(relative(suite.path))
        self._files: dict[Path, str] = {}
        self._servers = {name: (name,) for name in suite.servers}
        self._validated = {name: is_validated(server, options) for name, server in suite.servers.items()}
        self._mutating: dict[str, bool] = {}
        self._fresh_servers = any(settings.get("fresh") for settings in suite.servers.values())
        self._fresh_groups = fresh_groups(suite)

    def cases(self, entry: TestEntry) -> Iterable[Case]:
        """The cases of one test: one, but for what has rows, models, runs, graders or judged metrics."""
        made = self._made(entry)
        if "fresh" not in entry.data and not self._fresh_servers and not self._fresh_groups:
            return made
        return (self._freshened(case, entry.data) for case in made)

    def _freshened(self, case: Case, data: Mapping[str, object]) -> Case:
        """The case with the servers of which it gets a process of its own; alone where that needs the port of the others."""
        fresh: dict[str, str] = {}
        for name in case.servers:
            settings = self._suite.servers.get(name, {})
            asked = fresh_of(data, settings, self._fresh_groups)
            if asked:
                fresh[name] = f"group {case.group}" if asked == "group" and case.group is not None else ""
        alone = any(has_fixed_port(self._suite.servers[name]) for name in fresh)
        return case._replace(fresh=fresh, serial=case.serial or alone) if fresh else case

    def _made(self, entry: TestEntry) -> Iterable[Case]:
        match entry.kind:
            case TestKind.TOOL | TestKind.RESOURCE | TestKind.PROMPT:
                return self._rows(entry) if "cases" in entry.data else (self.case(entry),)
            case TestKind.COMPLIANCE:
                pin = entry.data.get("spec_version")
                return (self.case(entry, Check(entry.data["check"], None if pin is None else revision_of(pin))),)
            case TestKind.COMPOSITION:
                return self._composed(entry)
            case TestKind.AGENT:
                return self._conversations(entry)
            case TestKind.EVAL:
                return self._graded(entry)
            case _:
                assert_never(entry.kind)

    def _declared_tests(self, entry: TestEntry) -> Iterator[DeclaredTest]:
        return declared_tests(entry.kind, entry.data, entry.data["name"], self._shared)

    def _rows(self, entry: TestEntry) -> Iterator[Case]:
        """A test of one request, once for each row of its data."""
        for number, (written, data) in enumerate(requests_of(entry.data)):
            line, row = self._row_place(entry, number)
            line_of: LineOf = partial(_same_line, line)
            if "expect" in written:
                line_of = partial(entry.assertion_line, below=("cases", number))
            case = self.case(replace(entry, data=data))
            yield case._replace(row_name=written["name"], row=row, row_line=line, line_of=line_of)

    def _row_place(self, entry: TestEntry, number: int) -> tuple[int | None, tuple[str, int] | None]:
        """The line of a case in the suite, or else its file and line."""
        line = entry.lines.get(("cases", number))
        if entry.data_file is None or line is None:
            return line, None
        return None, (self._file(entry.data_file), line)

    def _composed(self, entry: TestEntry) -> Iterator[Case]:
        from mcptest_engine.running.kinds.composition.plan import composed  # few suites have one

        rows = composed(
            entry.data,
            only_server=entry.server,
            timeouts=self._server_ms,
            timeout_ms=self._default_ms,
            lines=entry.lines if entry.data_file is None else _lines_of_nodes(entry.lines),
        )
        for number, (test, (data, row)) in enumerate(zip(self._declared_tests(entry), rows, strict=True)):
            case = self._row(entry, data, row)
            if entry.data_file is not None:
                case = case._replace(row=self._row_place(entry, number)[1])
            yield case
            yield from self._metrics(entry, test, data, case)

    def _conversations(self, entry: TestEntry) -> Iterator[Case]:
        """An agent test, once for each of its models and runs."""
        from mcptest_engine.running.kinds.agent.plan import AgentProgram  # few suites have one

        for test in self._declared_tests(entry):
            program = self._judged.body(entry, test)
            assert isinstance(program, AgentProgram)
            data = {**entry.data, "name": test.name}
            case = self.case(replace(entry, data=data), program)
            serial = case.serial or not self._serial_servers.isdisjoint(program.servers)
            case = case._replace(servers=program.servers, model=program.model, serial=serial)
            yield case
            yield from self._metrics(entry, test, data, case)

    def _graded(self, entry: TestEntry) -> Iterator[Case]:
        """An eval, once for each of its answers and graders. The answer goes by the id of the first row that grades it."""
        from mcptest_engine.running.kinds.eval.plan import EvalRow

        keys: dict[str, str] = {}
        for test in self._declared_tests(entry):
            row = self._judged.body(entry, test)
            assert isinstance(row, EvalRow)
            case = self.case(replace(entry, data={**entry.data, "name": test.name}), row)
            key = keys.setdefault(row.candidate.key, case.id)
            call, servers = row.candidate.call, row.servers
            changes = call is not None and "serial" not in entry.data and self._changes_state(call["tool"])
            yield case._replace(
                body=row._replace(candidate=row.candidate._replace(key=key)),
                servers=servers,
                scorer=row.graded_by,
                serial=entry.data.get("serial", "group" in entry.data)
                or changes
                or not self._serial_servers.isdisjoint(servers),
            )

    @cached_property
    def _judged(self) -> JudgedTests:
        from mcptest_engine.running.kinds.eval.plan import JudgedTests

        return JudgedTests(self._suite)

    def _metrics(self, entry: TestEntry, test: DeclaredTest, data: Mapping[str, Any], subject: Case) -> Iterator[Case]:
        """What a model is to judge of a composition or of an agent test."""
        if not test.metrics:
            return
        from mcptest_engine.running.kinds.eval.plan import metric_row

        for declared in test.metrics:
            judged = {**data, "name": declared.name, "expect": {"assertions": ()}, "derivedMetrics": ()}
            judged.pop("timeout_ms", None)  # it is about the calls of the test that is judged
            row = metric_row(declared, data["eval"], self._suite.judge)
            yield self.case(replace(entry, kind=declared.kind, data=judged), row)._replace(
                subject=subject.id,
                server=subject.server,
                servers=(),
                serial=False,
                tool=None,
                row_name=subject.row_name,
                row=subject.row,
            )

    def _row(self, entry: TestEntry, data: Mapping[str, object], row: Row) -> Case:
        """The case of one row of a composition."""
        case = self.case(replace(entry, data=data), row)
        servers = tuple(row.program.servers())
        called = {node.tool for node in row.program.nodes if not node.stood_in}
        alone = "serial" not in data and any(map(self._changes_state, called))
        alone = alone or row.program.spending.of_all  # so that the same case crosses the budget, whatever the workers
        return case._replace(
            row_name=row.case,
            server=servers[0] if servers else case.server,
            servers=servers,
            serial=case.serial or alone or not self._serial_servers.isdisjoint(servers),
            tool=None,
        )

    def case(self, entry: TestEntry, body: Body | None = None) -> Case:
        """The case of one test; `body` is given for kinds that are not one request."""
        data, kind = entry.data, entry.kind
        name, expect, server = data["name"], data["expect"], entry.server
        own_id, count = self._ids.take(kind.value, name)
        base_name = None if count == 1 else f"{name} #{count}"
        roots = _members_looked_at(expect)
        timeout_seconds = data.get("timeout_ms", self._server_ms.get(server, self._default_ms)) / 1000
        graded = kind is TestKind.EVAL
        method, params = _request(kind, data, roots)
        steps = data.get("verify") or ()
        watches = not WATCHED.isdisjoint(roots)
        alone = watches or any(not WATCHED.isdisjoint(_members_looked_at(step["expect"])) for step in steps)
        serial = alone or server in self._serial_servers or self._runs_alone(data)
        servers: tuple[str, ...] = self._servers.get(server, (server,))
        outcome = ExpectedOutcome.ANY
        if body is None:
            outcome = required_outcome(data, self._outcome, steps)
            verify: tuple[VerifyStep, ...] = ()
            if steps:
                named = base_name or name
                made = _steps(entry, server, timeout_seconds, named, self._outcome, serial=serial)
                verify = tuple(made)
                servers = (*servers, *(step.server for step in verify))
            body = _request_body(data, outcome, verify)
        return Case(
            id=own_id,
            name=name,
            kind=kind,
            body=body,
            server=server,
            servers=servers,
            method=method,
            params=params,
            expect=expect,
            timeout_seconds=timeout_seconds,
            model_timeout_seconds=(data.get("timeout_ms", self._model_ms) if graded else self._model_ms) / 1000,
            file=self._file(entry.file),
            line=entry.line,
            tool=data.get("tool"),
            retries=data.get("retries", self._retries),
            serial=serial,
            slow_to_judge=_slow_to_judge(expect),
            outcome=outcome,
            guess=_guess(data.get("guess")),
            only=data.get("only", False),
            skip=_skip_reason(data.get("skip")),
            tags=tuple(data.get("tags", ())),
            group=data.get("group"),
            description=data.get("description"),
            base_name=base_name,
            watches=watches,
            uses_http=kind.is_request and "http" in roots,
            threshold=data.get("threshold") if expect["assertions"] else None,
            metrics=tuple(data.get("derivedMetrics", ())),
            cache=data.get("cache"),
            line_of=None if kind is TestKind.COMPOSITION else entry.assertion_line,
            strength=strength_of_test(kind, data, outcome=outcome, validated=self._validated.get(server, True)),
        )

    def _file(self, path: Path) -> str:
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = self._relative(path)
        return file

    def _runs_alone(self, data: Mapping[str, Any]) -> bool:
        """As the test says; else when it changes the server's state, or looks at what its call has done to it."""
        serial = data.get("serial")
        if serial is not None:
            return bool(serial)
        if "fault" in data or "verify" in data or "group" in data:
            return True
        tool = data.get("tool")
        return tool is not None and self._changes_state(tool)

    def _changes_state(self, tool: str) -> bool:
        """Whether a tool changes something, to judge by its name."""
        mutating = self._mutating.get(tool)
        if mutating is None:
            mutating = self._mutating[tool] = not classify_name(tool).only_reads
        return mutating


def _request_body(data: Mapping[str, Any], outcome: ExpectedOutcome, verify: tuple[VerifyStep, ...]) -> Request:
    """What only a request has."""
    client, fault, effects = data.get("client"), data.get("fault"), data.get("effects")
    if client is None and fault is None and not effects and not verify:
        return ORDINARY
    return Request(client, _fault(fault, outcome), verify, tuple(effects or ()))


def _lines_of_nodes(lines: Mapping[Pointer, int]) -> dict[Pointer, int]:
    """Without those of cases, which stand in another file."""
    return {path: line for path, line in lines.items() if path[0] == "nodes"}


def _same_line(line: int | None, _index: int, _inner: int | None) -> int | None:
    return line


def _steps(
    entry: TestEntry, server: str, timeout_seconds: float, snapshot_name: str, default: str, *, serial: bool
) -> Iterator[VerifyStep]:
    """The steps of a test's `verify`; what one leaves out is as for the test."""
    for number, data in enumerate(entry.data["verify"]):
        expect = data["expect"]
        roots = _members_looked_at(expect)
        kind = TestKind.TOOL if "tool" in data else TestKind.RESOURCE if "uri" in data else TestKind.PROMPT
        method, params = _request(kind, data, roots)
        yield VerifyStep(
            number=number,
            server=data.get("server", server),
            kind=kind,
            method=method,
            params=params,
            expect=expect,
            timeout_seconds=data["timeout_ms"] / 1000 if "timeout_ms" in data else timeout_seconds,
            snapshot_name=f"{snapshot_name}, verify #{number}",
            name=data.get("name"),
            tool=data.get("tool"),
            serial=serial,
            watches=not WATCHED.isdisjoint(roots),
            uses_http="http" in roots,
            slow_to_judge=_slow_to_judge(expect),
            outcome=required_outcome(data, default),
            line_of=partial(entry.assertion_line, below=("verify", number)),
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
    if not kind.is_request:
        return _method_of(data), None
    if kind is TestKind.TOOL:
        tool = data["tool"]
        arguments = data.get("args")
        if tool in METHODS_AS_TOOLS:
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


def _fault(written: object, wanted: ExpectedOutcome) -> Fault | None:
    if written is None:
        return None
    if isinstance(written, str):
        return Fault(written, wanted=wanted)
    assert isinstance(written, dict)
    return Fault("delay", written["delay_ms"] / 1000, wanted)


def _guess(written: object) -> tuple[str, ...] | None:
    """The arguments that are made up, () for all of them."""
    if isinstance(written, (list, tuple)):
        return tuple(written) or None
    return () if written is True else None


def _skip_reason(skip: object) -> str | None:
    if skip is True:
        return "skipped by the suite"
    return skip if isinstance(skip, str) else None


def _members_looked_at(expect: Mapping[str, Any]) -> frozenset[object]:
    """The members of the envelope that the assertions look at."""
    return frozenset([parse_target(row["target"]).segments[0] for row in assertions_of(expect["assertions"])])


def _slow_to_judge(expect: Mapping[str, Any]) -> bool:
    return uses_matcher(expect, "jq") or any("transform" in row for row in assertions_of(expect["assertions"]))
