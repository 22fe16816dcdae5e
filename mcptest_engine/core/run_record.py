"""The run record: a whole run with its tests, servers and hooks.

The record is complete: every reporter but the live ones is a function of it, so `mcptest report` prints byte for byte what the
run printed. `RunRecord.to_json` and `RunRecord.from_json` write and read it whole; code that needs a few members of many
records reads their JSON (`Workspace.recent_runs`). The published JSON Schema is `mcptest schema --record`. Absent means absent:
an optional member that was not there is left out, never written as null.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from mcptest_engine.core.costs import CompositionSum, Spending
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.json_object import JsonObject
from mcptest_engine.core.results import MetricRollup, TestResult
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.coverage import Dimension
    from mcptest_engine.core.effects import Effects
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.ledger import Ledger

SCHEMA_VERSION = "mcptest.run/v1"
_COMMAND_LIMIT = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult(JsonObject):
    """One command of a hook that was run.

    `test` is the id of the test around which it ran, None for `beforeAll` and `afterAll`. `passed` is false when it failed, and
    `message` then says how. `exit_code` is None for a program that did not start or was killed. `output` is the end of what it
    wrote on stdout and stderr.
    """

    JSON_MEMBERS = "phase test? command passed duration_ms started_offset_ms exit_code? message? output?"

    phase: str
    command: str
    passed: bool
    duration_ms: float
    started_offset_ms: float
    test: str | None = None
    exit_code: int | None = None
    message: str | None = None
    output: str = ""

    @property
    def called(self) -> str:
        """What the command goes by, in one line: "beforeAll: ./seed.sh"."""
        return f"{self.phase}: {one_line(self.command, _COMMAND_LIMIT)}"

    @property
    def summary(self) -> str:
        """How the command failed, in one line: "beforeAll failed: ./seed.sh exited with 3"."""
        return f"{self.phase} failed: {one_line(self.command, _COMMAND_LIMIT)} {self.message or 'failed'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord(JsonObject):
    """How one server of the run was reached and what it said of itself; `stderr_tail` is "" when it wrote nothing.

    `findings` are faults that are no test's, each {"kind", "message", "fails"}: "stdout_noise" for lines on stdout that are no
    message, "outlives_stdin" for a process that goes on when its stdin is closed, "crashed" for one that ends between calls or
    at its end by a signal or with another exit code than 0, "invalid_opening" for an answer to `initialize` or
    `server/discover` that breaks the protocol; `fails` tells whether it fails the run.
    """

    JSON_MEMBERS = (
        "name transport auth server_info protocol_version restarts stderr_tail findings? tools? reached? program?"
    )

    name: str
    transport: str
    auth: str = "none"
    server_info: JsonMapping | None = None
    protocol_version: str | None = None
    restarts: int = 0
    stderr_tail: str = ""
    findings: tuple[JsonMapping, ...] = ()
    tools: tuple[str, ...] | None = None
    reached: tuple[str, ...] = ()
    program: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How many tests have which verdict; `total` counts every row of `tests`."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    inconclusive: int = 0
    skipped: int = 0
    cached: int = 0

    def to_json(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of(cls, tests: tuple[TestResult, ...]) -> Totals:
        count = dict.fromkeys(Verdict, 0)
        for test in tests:
            count[test.verdict] += 1
        return cls(
            total=len(tests),
            passed=count[Verdict.PASS],
            failed=count[Verdict.FAIL],
            inconclusive=count[Verdict.INCONCLUSIVE],
            skipped=count[Verdict.SKIP],
            cached=sum(test.cached for test in tests),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInfo(JsonObject):
    """Which suite ran: its name, its path relative to the workspace, and the SHA-256 of its text as hex."""

    JSON_MEMBERS = "name path sha256"

    name: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """The run of one suite among those of several: which suite, the id of its own record, and what came of it.

    `coverage` is that of its own record; so are `effects`, None where the suite does not limit them.
    """

    name: str
    path: str
    sha256: str
    run_id: str
    verdict: str
    exit_code: int
    duration_ms: float
    totals: Totals
    coverage: tuple[Dimension, ...] = ()
    effects: Effects | None = None

    @property
    def missed_gates(self) -> list[str]:
        """A line for each limit of effects that was exceeded and for each floor of coverage that was missed."""
        return _missed_gates(self.effects, self.coverage)

    def to_json(self) -> JsonDict:
        out = {name: getattr(self, name) for name in self.__slots__} | {"totals": self.totals.to_json()}
        out.pop("coverage"), out.pop("effects")
        if self.coverage:
            out["coverage"] = {row.name: row.to_json() for row in self.coverage}
        if self.effects is not None:
            out["effects"] = self.effects.to_json()
        return out

    @classmethod
    def from_json(cls, data: JsonMapping) -> SuiteRun:
        effects = _effects(data["effects"]) if "effects" in data else None
        coverage = _coverage(data.get("coverage", {}))
        return cls(**{**data, "totals": Totals(**data["totals"]), "coverage": coverage, "effects": effects})


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteNotRun(JsonObject):
    """One suite of several that was not run: it is `invalid`, or the command ended before it (`ended`).

    `unreadable` is a folder that cannot be read, with whatever suites it holds. `problems` say why a suite is invalid or a
    folder unreadable: {file, line, column, message, hint}, lines and columns from 1, null where unknown.
    """

    JSON_MEMBERS = "path reason problems"

    path: str
    reason: str
    problems: tuple[JsonMapping, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A whole run, as written to `.mcptest/runs/<run_id>.json` and printed by `--reporter json`.

    `run_id` is a ULID, `started_at` RFC 3339 in UTC, `verdict` is "pass" or "fail" and mirrors the exit code. `source` is
    {repo, branch, commit, dirty}, each null where unknown; `environment` is {os, arch, python, ci}. `shard` is (index, count),
    counted from 1, for a run of one part, and `places` then says where each of `tests` stands in the whole run, from 0,
    `selection` is a digest of the tests that all shards of it hold.
    `flags` are those of the command line that change what a test is, such as `--var`. `cassette` is the name of the one that
    was recorded or replayed. `requested_by` is there when the MCP server made the run: {via: "mcp-server", client: {name,
    version}, session, lineage}, without `client` where it did not say who it is. `coverage` is () where what the servers offer
    was not known to the run; `coverage_notes` are those of the warnings that are about it.
    `unsaved_snapshots`: not every snapshot of the run could be saved.
    `effects` is None where no tool was called, and in records of before it was there. `subset` is
    (taken, declared) where the run took only some of the suite's tests. `ledger` is None where no earlier run was looked at.
    `suites` are the runs of which a report over several suites is made, () for the run of one; `not_run` are the other suites.
    """

    run_id: str
    mcptest_version: str
    started_at: str
    duration_ms: float
    verdict: Verdict
    suite: SuiteInfo
    source: JsonMapping
    environment: Mapping[str, object]
    servers: tuple[ServerRecord, ...]
    tests: tuple[TestResult, ...]
    mode: str = "live"
    profile: str | None = None
    interrupted: bool = False
    exit_code: int = 0
    shard: tuple[int, int] | None = None
    places: tuple[int, ...] = ()
    selection: str | None = None
    flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    hooks: tuple[HookResult, ...] = ()
    cassette: str | None = None
    requested_by: JsonMapping | None = None
    coverage: tuple[Dimension, ...] = ()
    coverage_notes: tuple[str, ...] = ()
    unsaved_snapshots: bool = False
    effects: Effects | None = None
    subset: tuple[int, int] | None = None
    ledger: Ledger | None = None
    suites: tuple[SuiteRun, ...] = ()
    not_run: tuple[SuiteNotRun, ...] = ()
    totals: Totals = field(default_factory=Totals)

    def __repr__(self) -> str:
        return f"<RunRecord of {self.suite.name!r}: {self.verdict.value}, {self.totals.passed} of {self.totals.total} passed>"

    def to_json(self, *, streamed: bool = False) -> JsonDict:
        """The record as JSON values, keys in the published order.

        With `streamed`, `tests` is an iterator that makes each test's JSON when it is asked for: a long run has many.
        """
        tests = (test.to_json() for test in self.tests)
        out: JsonDict = {
            "schema_version": SCHEMA_VERSION,
            "run_id": self.run_id,
            "mcptest_version": self.mcptest_version,
            "started_at": self.started_at,
            "duration_ms": self.duration_ms,
            "verdict": self.verdict.value,
            "exit_code": self.exit_code,
            "mode": self.mode,
            **({} if self.cassette is None else {"cassette": self.cassette}),
            **({} if self.requested_by is None else {"requested_by": self.requested_by}),
            "profile": self.profile,
            "interrupted": self.interrupted,
            **({} if self.shard is None else {"shard": self._shard_json(self.shard)}),
            **({} if not self.flags else {"flags": list(self.flags)}),
            **({} if self.subset is None else {"subset": {"taken": self.subset[0], "declared": self.subset[1]}}),
            "suite": self.suite.to_json(),
            "source": self.source,
            "environment": self.environment,
            "servers": [server.to_json() for server in self.servers],
            "totals": self.totals.to_json(),
            **({} if self.ledger is None else {"ledger": self.ledger.to_json()}),
            "tests": tests if streamed and self.tests else list(tests),
        }
        if self.suites:
            out["suites"] = [run.to_json() for run in self.suites]
        if self.not_run:
            out["not_run"] = [suite.to_json() for suite in self.not_run]
        if self.places:
            out["places"] = list(self.places)
        if rollups := self.metric_rollups:
            out["metric_rollups"] = [rollup.to_json() for rollup in rollups]
        if compositions := self.compositions:
            out["compositions"] = [one.to_json() for one in compositions]
        if spending := self.spending:
            out["spending"] = spending.to_json()
        if self.coverage:
            out["coverage"] = {row.name: row.to_json() for row in self.coverage}
        if self.coverage_notes:
            out["coverage_notes"] = list(self.coverage_notes)
        if self.unsaved_snapshots:
            out["unsaved_snapshots"] = True
        if self.effects is not None:
            out["effects"] = self.effects.to_json()
        if self.warnings:
            out["warnings"] = list(self.warnings)
        if self.hooks:
            out["hooks"] = [hook.to_json() for hook in self.hooks]
        return out

    def _shard_json(self, shard: tuple[int, int]) -> JsonDict:
        told = {"index": shard[0], "count": shard[1]}
        return told if self.selection is None else {**told, "selection": self.selection}

    @property
    def metric_rollups(self) -> tuple[MetricRollup, ...]:
        """Each metric of the tests with its mean and count; () where none reported one."""
        return MetricRollup.of(self.tests)

    @property
    def compositions(self) -> tuple[CompositionSum, ...]:
        """Each composition with its cases; () without any."""
        return CompositionSum.of(self.tests)

    @property
    def missed_gates(self) -> list[str]:
        """A line for each limit of effects that was exceeded and for each floor of coverage that was missed."""
        of_suites = (f"{suite.path}: {line}" for suite in self.suites for line in suite.missed_gates)
        return [*_missed_gates(self.effects, self.coverage), *of_suites]

    @property
    def spending(self) -> Spending | None:
        """What the calls of the run say that they cost; None where none says."""
        return Spending.of(self.tests)

    @classmethod
    def from_json(cls, data: object) -> RunRecord:
        """The record that `to_json` gave. Raises RecordError when `data` is not one of this schema version."""
        if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
            found = data.get("schema_version") if isinstance(data, dict) else type(data).__name__
            raise RecordError(f"not a run record of {SCHEMA_VERSION} (found {found!r})")
        try:
            return cls(
                run_id=data["run_id"],
                mcptest_version=data["mcptest_version"],
                started_at=data["started_at"],
                duration_ms=data["duration_ms"],
                verdict=Verdict(data["verdict"]),
                exit_code=data["exit_code"],
                mode=data["mode"],
                cassette=data.get("cassette"),
                requested_by=data.get("requested_by"),
                profile=data["profile"],
                interrupted=data["interrupted"],
                flags=tuple(data.get("flags", ())),
                shard=(data["shard"]["index"], data["shard"]["count"]) if "shard" in data else None,
                selection=data["shard"].get("selection") if "shard" in data else None,
                suite=SuiteInfo.from_json(data["suite"]),
                source=data["source"],
                environment=data["environment"],
                servers=tuple(ServerRecord.from_json(item) for item in data["servers"]),
                totals=Totals(**data["totals"]),
                tests=tuple(TestResult.from_json(item) for item in data["tests"]),
                places=tuple(data.get("places", ())),
                warnings=tuple(data.get("warnings", ())),
                hooks=tuple(HookResult.from_json(item) for item in data.get("hooks", ())),
                coverage=_coverage(data.get("coverage", {})),
                coverage_notes=tuple(data.get("coverage_notes", ())),
                unsaved_snapshots=data.get("unsaved_snapshots", False),
                effects=_effects(data["effects"]) if "effects" in data else None,
                subset=(data["subset"]["taken"], data["subset"]["declared"]) if "subset" in data else None,
                ledger=_ledger(data["ledger"]) if "ledger" in data else None,
                suites=tuple(map(SuiteRun.from_json, data.get("suites", ()))),
                not_run=tuple(map(SuiteNotRun.from_json, data.get("not_run", ()))),
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as wrong:
            raise RecordError(f"the run record is damaged: {type(wrong).__name__}: {wrong}") from wrong

    def with_tests(self, tests: tuple[TestResult, ...]) -> RunRecord:
        """The same run with other tests, its totals counted anew."""
        return replace(self, tests=tests, totals=Totals.of(tests))


def _effects(data: Mapping[str, object]) -> Effects:
    from mcptest_engine.core.effects import Effects

    return Effects.from_json(data)


def _ledger(data: Mapping[str, object]) -> Ledger:
    from mcptest_engine.core.ledger import Ledger

    return Ledger.from_json(data)


def _missed_gates(effects: Effects | None, coverage: tuple[Dimension, ...]) -> list[str]:
    return [*([] if effects is None else effects.exceeded()), *(row.summary for row in coverage if row.is_short)]


def _coverage(data: JsonMapping) -> tuple[Dimension, ...]:
    if not data:
        return ()
    from mcptest_engine.core.coverage import Dimension  # few runs have any, and `run` waits for this module

    return tuple(Dimension.from_json(name, row) for name, row in data.items())
