"""From a loaded suite to the cases of a run.

Pure: what the command line, the environment and earlier runs say comes in as values. The suite's tree has been checked
against the schema of the models, so it is read here as plain mappings; building the models first would cost every run 0.1 s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from zlib import crc32

from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.kinds import TestKind
from mcptest_engine.core.targets import parse_target
from mcptest_engine.running.cases import Case, Plan, VerifyStep
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

    from mcptest_engine.running.settings import RunSettings, Selection
    from mcptest_engine.suite.load import LoadedSuite, TestEntry

DEFAULT_WORKERS = 8
RUN_MARK = " #run"
NESTING = frozenset({"not", "all-of", "any-of", "each", "some", "length"})
DEFAULT_TIMEOUT_MS = 30_000
CHANGES_STATE = frozenset({ToolClass.MUTATING, ToolClass.DESTRUCTIVE})
WATCHED = frozenset({"notifications", "server_requests"})
"""What of the envelope may hold another test's doings too, unless the test runs alone."""
NO_AGENTS = "deferred: this version of mcptest runs no agents yet"
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

    Raises UsageError for a filter that is not a regular expression, or a server that the suite does not have.
    """
    options = suite.run_options
    default_retries = retries if retries is not None else int(options.get("retries", 0))
    drafting = _Drafting(suite, default_retries, relative)
    declared = [drafting.case(entry) for entry in suite.tests]
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
        self._path = relative(suite.path)
        self._relative = relative
        self._retries = retries
        self._serial_servers = {name for name, settings in suite.servers.items() if settings.get("serial")}
        options, performance = suite.run_options, suite.performance
        self._default_ms = performance.get("default_timeout_ms", options.get("timeout_ms", DEFAULT_TIMEOUT_MS))
        self._server_ms = {n: settings.get("timeout_ms", self._default_ms) for n, settings in suite.servers.items()}
        self._seen: dict[str, int] = {}
        self._taken: set[str] = set()
        self._files: dict[Path, str] = {}
        self._mutating: dict[str, bool] = {}

    def case(self, entry: TestEntry) -> Case:
        """The case of one test."""
        data = entry.data
        name, expect, server = data["name"], data["expect"], entry.server
        own_id, count = self._own_id(f"{self._path}::{entry.kind.value}::{name}")
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
        )
        if entry.kind in _OTHER_KINDS:
            return _other(case, data)
        return case._replace(verify=tuple(_steps(case, steps))) if steps else case

    def _own_id(self, case_id: str) -> tuple[str, int]:
        """The id, numbered where another test has it, and that number."""
        count = self._seen[case_id] = self._seen.get(case_id, 0) + 1
        while count > 1 and f"{case_id} #{count}" in self._taken:  # a test may be called "a #2"
            count = self._seen[case_id] = count + 1
        own_id = case_id if count == 1 else f"{case_id} #{count}"
        self._taken.add(own_id)
        return own_id, count

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
        if tool is None:
            return False
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
    wanted = _name_test(selection.filter, {case.name for case in cases})
    return [
        case
        for case in cases
        if wanted(case.name)
        and (not selection.tags or not selection.tags.isdisjoint(case.tags))
        and selection.skip_tags.isdisjoint(case.tags)
        and (not selection.servers or case.server in selection.servers)
        and (selection.ids is None or case.id in selection.ids)
    ]


def _name_test(text: str | None, names: set[str]) -> Callable[[str], bool]:
    """A filter equal to a whole name takes just that test; else it is a part of the name, or `re:` and an expression."""
    if text is None:
        return lambda _: True
    if text in names:
        return lambda name: name == text
    if text.startswith("re:"):
        try:
            pattern = re.compile(text[3:])
        except re.error as wrong:
            raise UsageError(
                f"the filter `{text}` is not a regular expression: {wrong}",
                hint="without `re:` a filter is plain text",
            ) from None
        return lambda name: pattern.search(name) is not None
    base, hash_mark, number = text.rpartition(" #")
    if hash_mark and number.isdigit() and base in names:
        return lambda name: name == base
    return lambda name: text in name


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
