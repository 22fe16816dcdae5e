"""What servers list, held against the text of a suite that calls them, while it is being written.

The same checks as a run makes of names and arguments (`catalogs.py`), in the same words and with the same weight, each at the
place in the text that is wrong, and with the edit that corrects it where there is one. Nothing is said of what only a run can
know: a value that a template gives later, or a call that is expected to fail. A list that is remembered is named by its time.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.enums import ExpectedOutcome, TestKind
from mcptest_engine.core.errors import Severity, did_you_mean
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.targets import AGENT_GATES
from mcptest_engine.core.text import quoted
from mcptest_engine.running.catalogs import ArgumentFault, Entry, Listing
from mcptest_engine.running.diagnostics import Fix, Insert, diagnostics_of
from mcptest_engine.running.strength import required_outcome
from mcptest_engine.suite import schema_walk as walk
from mcptest_engine.suite.checks import METHODS_AS_TOOLS
from mcptest_engine.suite.completion_sources import is_tool_of_measure
from mcptest_engine.suite.items import with_defaults
from mcptest_engine.suite.places import TooManyProblems
from mcptest_engine.suite.yaml_text import Unwritable, in_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcptest_engine.running.diagnostics import Diagnostic
    from mcptest_engine.suite.load import CheckedSuite
    from mcptest_engine.suite.merge import Merged, PlacedTest
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

    Catalogs = Mapping[str, Mapping[str, Any]]

_CALLED = {"tool": "tools", "prompt": "prompts", "uri": "resources"}
_CALLED_KEY = re.compile(r"""["']?(?:tool|prompt)["']?\s*:\s*$""")
_MOST_FIXES = 200


class _Call(NamedTuple):
    """One call in a suite: the mapping that makes it, where that stands, and the server. `certain`: it is to succeed."""

    data: Mapping[str, Any]
    path: Pointer
    server: str
    certain: bool = True


class _Correction(NamedTuple):
    """How a problem is corrected: the value at `path` becomes `value`, which is inserted if nothing is there."""

    path: Pointer
    value: Any
    is_new: bool


def find_catalog_problems(
    checked: CheckedSuite, catalogs: Catalogs, lines_of: Callable[[str], Sequence[str]], *, file: str
) -> tuple[Diagnostic, ...]:
    """What the catalogs have against the calls of a suite.

    `catalogs` is by server, as `worker/browsing.py` reads them; one with `read_at` is remembered from that time. `lines_of`
    and `file` are those of `diagnostics_of`.
    """
    if checked.merged is None or checked.places is None or not catalogs:
        return ()
    places = checked.places.emptied()
    search = _Search(checked.merged, places, catalogs, checked.secrets)
    with suppress(TooManyProblems):
        search.look_at_all()
    found = diagnostics_of(places.problems, lines_of, file=file)
    return tuple(
        problem if one is None or problem.fix is not None else _with_fix(problem, one, lines_of(problem.file))
        for problem, one in zip(found, search.corrections, strict=False)
    )


class _Search:
    """One look at one suite; `corrections` has what corrects each problem of `places`, in the same order."""

    def __init__(self, merged: Merged, places: Places, catalogs: Catalogs, secrets: frozenset[str]) -> None:
        self._merged, self._places = merged, places
        self._redactor = Redactor(secrets)
        self._lists = {name: _lists_of(catalog) for name, catalog in catalogs.items() if self._is_read(name)}
        self._by = {name: f" (by the list of {at})" for name, one in catalogs.items() if (at := one.get("read_at"))}
        self._defaults = {name: placed.value for name, placed in merged.default_test.items()}
        self._only_server = next(iter(merged.servers)) if len(merged.servers) == 1 else ""
        self.corrections: list[_Correction | None] = []

    def _is_read(self, server: str) -> bool:
        """Whether a run reads this server's lists."""
        placed = self._merged.servers.get(server)
        settings = placed.value if placed is not None and isinstance(placed.value, dict) else {}
        said = settings.get("catalog", self._merged.run_options.get("catalog"))
        return placed is not None and said not in ("off", False)

    def look_at_all(self) -> None:
        for test in self._merged.tests:
            if isinstance(test.entry, dict):
                for call in self._calls_of(test, test.entry):
                    try:
                        self._look_at(call, test.file)
                    except TooManyProblems:
                        raise
                    except Exception:  # noqa: BLE001, S112  # a server may list anything, and a run says what of it is wrong
                        continue
                if test.kind.may_ask_models:
                    self._look_at_tools(test, test.entry)

    def _calls_of(self, test: PlacedTest, entry: dict[str, Any]) -> Iterator[_Call]:
        own = self._server_of(entry, self._only_server)
        if test.kind is TestKind.COMPOSITION:
            for path, node in _steps(entry, "nodes"):
                if not {"mock", "freeze"} & node.keys():
                    yield _Call(node, (*test.path, *path), self._server_of(node, own))
        elif test.kind is TestKind.EVAL and isinstance(entry.get("call"), dict):
            yield _Call(entry["call"], (*test.path, "call"), self._server_of(entry["call"], own))
        elif test.kind.is_request:
            if "server" not in entry:
                own = self._server_of(self._defaults, own)
            yield _Call(entry, test.path, own, self._is_to_succeed(test, entry))
            for path, step in _steps(entry, "verify"):
                yield _Call(step, (*test.path, *path), self._server_of(step, own), self._is_to_succeed(test, step))

    def _server_of(self, data: Mapping[str, object], otherwise: str) -> str:
        named = data.get("server", otherwise)
        return named if isinstance(named, str) else ""

    def _is_to_succeed(self, test: PlacedTest, data: Mapping[str, object]) -> bool:
        """Whether a call is to be answered without an error; of any other call a run may say nothing."""
        default = self._merged.run_options.get("outcome", ExpectedOutcome.SUCCESS)
        try:
            whole = with_defaults(data, self._defaults if test.kind.is_request else {})
            steps = [with_defaults(step, {}) for _, step in _steps(data, "verify")]
            return required_outcome(whole, default, steps) is ExpectedOutcome.SUCCESS
        except (ValueError, LookupError, TypeError, AttributeError):
            return False  # half an `expect`, as long as it is being written

    def _look_at(self, call: _Call, file: int) -> None:
        key = next((key for key in _CALLED if isinstance(call.data.get(key), str)), None)
        lists = self._lists.get(call.server)
        if key is None or lists is None or not call.certain:
            return
        name, listing = call.data[key], lists.get(_CALLED[key])
        if listing is None or "${" in name or name in METHODS_AS_TOOLS:
            return
        if key == "uri":
            near = None if name in listing.entries else did_you_mean(name, listing.entries)
            if near is not None:
                message = f'server "{call.server}" lists no resource {quoted(name)}'
                self._add_problem(file, call.server, (*call.path, key), message, near, Severity.WARNING)
            return
        entry = listing.entries.get(name)
        if entry is None:
            self._add_problem(file, call.server, (*call.path, key), *listing.unknown(call.server, name), Severity.ERROR)
            return
        arguments = call.data.get("args") or {}
        if isinstance(arguments, dict):
            for fault in entry.find_argument_faults(arguments):
                self._look_at_fault(fault, entry, arguments, call, file, key)

    def _look_at_fault(
        self, fault: ArgumentFault, entry: Entry, arguments: dict[str, Any], call: _Call, file: int, key: str
    ) -> None:
        value = _value_at(arguments, fault.path)
        if fault.kind not in ("unknown", "missing") and "${" in repr(value):
            return  # what it becomes is known only when it is called
        path, correction = (*call.path, "args", *fault.path), None
        schema = entry.descriptor.get("inputSchema")
        if fault.kind == "missing":
            name = fault.expected
            if isinstance(name, str):
                value = walk.skeleton(schema, walk.described(schema, (*fault.path, name)))
                correction = _Correction((*path, name), value, is_new=True)
            if "args" not in call.data:
                correction = correction and _Correction(path, {name: value}, is_new=True)
                path = (*call.path, key)
        elif fault.kind != "unknown" and self._places.raw(file, path) == value:
            meant = _meant(value, fault, entry, arguments)
            correction = None if meant is None else _Correction(path, meant[0], is_new=False)
        is_key = fault.kind == "unknown" or (fault.kind == "missing" and path[-1:] == ("args",))
        self._add_problem(
            file, call.server, path, fault.message, fault.hint, Severity.WARNING, key=is_key, correction=correction
        )

    def _look_at_tools(self, test: PlacedTest, entry: dict[str, Any]) -> None:
        """The names of tools in the lists and measures of an agent test: of no weight in a run, but never meant."""
        named = entry.get("servers", [self._server_of(entry, self._only_server)])
        servers = [server for server in named if isinstance(server, str)] if isinstance(named, list) else []
        listings = {server: self._lists.get(server, {}).get("tools") for server in servers}
        known = {name for listing in listings.values() if listing is not None for name in listing.entries}
        if not servers or None in listings.values():
            return
        for path, name in _tools_in(entry):
            if name not in known and "${" not in name:
                own = listings[servers[0]] if len(servers) == 1 else None
                none_lists = f'no server of this test lists a tool "{name}"'
                message = none_lists if own is None else own.unknown(servers[0], name)[0]
                place = (*test.path, *path)
                self._add_problem(test.file, servers[0], place, message, did_you_mean(name, known), Severity.WARNING)

    def _add_problem(
        self,
        file: int,
        server: str,
        path: Pointer,
        message: str,
        hint: str | None,
        severity: Severity,
        *,
        key: bool = False,
        correction: _Correction | None = None,
    ) -> None:
        count = len(self._places.problems)
        message = self._redactor.redact_text(message) + self._by.get(server, "")
        self._places.report(file, path, message, hint, severity=severity, key=key)
        if len(self._places.problems) > count:
            self.corrections.append(correction if len(self.corrections) < _MOST_FIXES else None)


def _lists_of(catalog: Mapping[str, Any]) -> dict[str, Listing]:
    """The lists of a catalog that are whole, and that its server declared to have."""
    failed, declared = catalog.get("errors") or {}, catalog.get("capabilities") or {}
    found: dict[str, Listing] = {}
    if not isinstance(failed, dict) or not isinstance(declared, dict):
        return found
    for what in _CALLED.values():
        if what in declared and what not in failed and isinstance(catalog.get(what), list):
            entries = [one for one in catalog[what] if isinstance(one, dict)]
            if what == "resources":
                entries = [{**one, "name": one.get("uri")} for one in entries]
            found[what] = Listing(what, entries)
    return found


def _steps(entry: Mapping[str, object], key: str) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    steps = entry.get(key)
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict):
            yield (key, number), step


def _tools_in(entry: Mapping[str, object]) -> Iterator[tuple[Pointer, str]]:
    """Every name of a tool in `tools` and in the measures of an agent test, with its place."""
    waiting: list[tuple[Pointer, Any]] = [((key,), entry[key]) for key in ("tools", *AGENT_GATES) if key in entry]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, key), inner) for key, inner in value.items() if key not in ("args", "server")]
        elif isinstance(value, list):
            waiting += [((*path, number), inner) for number, inner in enumerate(value)]
        elif isinstance(value, str) and is_tool_of_measure(path):
            yield path, value


def _value_at(value: Any, path: Pointer) -> Any:
    for part in path:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return None
    return value


def _meant(value: object, fault: ArgumentFault, entry: Entry, arguments: dict[str, Any]) -> tuple[Any] | None:
    """The value that was meant by one of another type, such as 3 by "3", where the schema takes that."""
    for candidate in _read_otherwise(value):
        changed = _with_value(arguments, fault.path, candidate)
        if all(one.path[: len(fault.path)] != fault.path for one in entry.find_argument_faults(changed)):
            return (candidate,)
    return None


def _read_otherwise(value: object) -> Iterator[Any]:
    if isinstance(value, str):
        text = value.strip()
        truth = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(text.casefold())
        if truth is not None:
            yield truth
        for kind in (int, float):
            with suppress(ValueError, OverflowError):
                number = kind(text)
                if math.isfinite(number):
                    yield number
        yield value.casefold()
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, (int, float)):
        if isinstance(value, float) and value.is_integer():
            yield int(value)
        yield str(value)
    if not isinstance(value, (list, dict)):
        yield [value]


def _with_value(value: Any, path: Pointer, new: Any) -> Any:
    if not path:
        return new
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = _with_value(value[path[0]], path[1:], new)
    return copy


def _with_fix(problem: Diagnostic, correction: _Correction, lines: Sequence[str]) -> Diagnostic:
    line = lines[problem.line - 1] if problem.line <= len(lines) else ""
    try:
        text = in_flow(correction.value)
    except (Unwritable, ValueError, RecursionError):
        return problem
    if correction.is_new and correction.path[-1] == "args":
        return problem._replace(fix=_args_behind(problem, text, line))
    if correction.is_new:
        return problem._replace(insert=Insert(correction.path, correction.value))
    word = line[problem.column - 1 : problem.end_column - 1]
    if not word or word[0] in "|>&*!" or problem.end_column > len(line) + 1:
        return problem
    return problem._replace(fix=Fix(problem.line, problem.column, problem.end_column, text))


def _args_behind(problem: Diagnostic, arguments: str, line: str) -> Fix | None:
    """`args` behind the tool's name: in the same braces, or on a line of its own."""
    key = _CALLED_KEY.search(line[: problem.column - 1])
    if key is None:
        return None
    end = problem.end_column
    flow = any(mark in line[: problem.column] for mark in "{[")
    return Fix(problem.line, end, end, f"{', ' if flow else chr(10) + ' ' * key.start()}args: {arguments}")
