"""The records of a suite's shards as the record of one run, for `mcptest report --merge`.

A shard knows the place of each of its tests in the whole run. Records that do not say it are woven together by file and line,
and no record's own order is ever changed.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from mcptest_engine.core.coverage import SHARD_MISSING, SHARDED, added_up, short_lines
from mcptest_engine.core.effects import merged_effects
from mcptest_engine.core.errors import ExitCode, RecordError
from mcptest_engine.core.results import TestResult, Verdict, rename_server
from mcptest_engine.core.run_record import SuiteRun, Totals
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting.facts import not_run_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mcptest_engine.core.coverage import Dimension
    from mcptest_engine.core.run_record import RunRecord, ServerRecord, SuiteNotRun

_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.INVALID,
    ExitCode.NOT_READY,
    ExitCode.POLICY,
    ExitCode.FAILED,
    ExitCode.GATE,
)


def merge_records(records: Sequence[RunRecord], *, allow_missing: bool = False) -> RunRecord:
    """One record out of those of disjoint shards of one suite.

    Identity and start are those of the earliest shard, the duration that of the longest; servers are joined by name,
    their restarts added up; totals, coverage, effects, verdict and exit code are made anew. No shard can judge the floors of
    `coverage`: they are judged here, on all of them.
    A shard that is missing is told, and nothing passes without it (exit code 6), unless it is allowed to be. Raises
    RecordError for no record, for records of different suites or divisions, and for a test that two records hold.
    """
    if not records:
        raise RecordError("there is no run record to merge")
    _check_one_suite(records)
    _check_one_selection(records)
    _check_disjoint(records)
    records = _with_same_servers(records)
    first = min(records, key=lambda record: (record.started_at, record.run_id))
    merged = first.with_tests(_woven(records))
    missing = _missing_shards(records)
    if len(records) > 1 or first.shard is not None:
        merged = replace(
            merged,
            coverage=_coverage(records, records, judged=not missing),
            effects=merged_effects(record.effects for record in records),
            suites=_suites(records, missing=missing, allow_missing=allow_missing),
        )
    not_run, not_run_texts = _not_run(records)
    warnings = _warnings(records, merged, not_run_texts)
    noted = {*_short(merged), *unjudged_floors(merged), *(text for one in records for text in one.coverage_notes)}
    code = _exit_code(records, merged)
    if missing and code is ExitCode.PASSED and (not allow_missing or unjudged_floors(merged)):
        code = ExitCode.GATE  # what did not run has not passed, and no floor can be judged without it
    return replace(
        merged,
        duration_ms=max(record.duration_ms for record in records),
        interrupted=any(record.interrupted for record in records),
        shard=None,
        places=(),
        selection=None,
        subset=_subset(records),
        ledger=first.ledger if len(records) == 1 else None,
        exit_code=int(code),
        verdict=Verdict.PASS if code is ExitCode.PASSED else Verdict.FAIL,
        mode=first.mode if len({record.mode for record in records}) == 1 else "live",
        cassette=first.cassette if len({record.cassette for record in records}) == 1 else None,
        profile=first.profile if len({record.profile for record in records}) == 1 else None,
        not_run=not_run,
        servers=_servers(records),
        warnings=(*missing, *warnings),
        coverage_notes=tuple(text for text in warnings if text in noted),
        unsaved_snapshots=any(record.unsaved_snapshots for record in records),
        hooks=tuple(hook for record in records for hook in record.hooks),
    )


def _suites(records: Sequence[RunRecord], *, missing: Sequence[str], allow_missing: bool) -> tuple[SuiteRun, ...]:
    """The suites of runs over several, each with what all shards say of it; what did not run in one of them has not passed."""
    runs: dict[str, list[SuiteRun]] = {}
    for record in records:
        for suite in record.suites:
            runs.setdefault(suite.path, []).append(suite)
    left_out = {suite.path for record in records for suite in record.not_run}
    is_whole = not missing or allow_missing
    return tuple(
        _merged_suite(records, runs[path], judged=not missing, may_pass=is_whole and path not in left_out)
        for path in _suite_ranks(records)
        if path in runs
    )


def _suite_ranks(records: Sequence[RunRecord]) -> dict[str, int]:
    """The place of each suite in the command; the suites that it ended before stand after those that it ran."""
    ended = [[suite.path for suite in record.not_run if suite.reason == "ended"] for record in records]
    return _ranks(
        [*(suite.path for suite in record.suites), *left_out] for record, left_out in zip(records, ended, strict=True)
    )


def _not_run(records: Sequence[RunRecord]) -> tuple[tuple[SuiteNotRun, ...], list[str]]:
    """The suites that no shard ran, and the warnings about them and about the suites that only some shards ran."""
    run = {suite.path for record in records for suite in record.suites}
    left_out = {suite.path: suite for record in records for suite in record.not_run}.values()
    partly = [suite for suite in left_out if suite.path in run and suite.reason == "ended"]
    lines = [
        *not_run_lines([suite for suite in left_out if suite not in partly]),
        *(f"{suite.path}: not every shard ran its tests, because one of the commands ended early" for suite in partly),
    ]
    return tuple(suite for suite in left_out if suite.path not in run), lines


def _merged_suite(records: Sequence[RunRecord], runs: Sequence[SuiteRun], *, judged: bool, may_pass: bool) -> SuiteRun:
    totals = Totals(**{name: sum(getattr(run.totals, name) for run in runs) for name in Totals.__slots__})
    merged = replace(
        runs[0],
        duration_ms=max(run.duration_ms for run in runs),
        totals=totals,
        coverage=_coverage(records, runs, judged=judged),
        effects=merged_effects(run.effects for run in runs),
    )
    codes = {run.exit_code for run in runs} - ({ExitCode.NO_TESTS} if totals.total else set())
    code = worst_code(codes | ({ExitCode.GATE} if merged.missed_gates or not may_pass else set()))
    return replace(
        merged, exit_code=int(code), verdict=(Verdict.PASS if code is ExitCode.PASSED else Verdict.FAIL).value
    )


def _subset(records: Sequence[RunRecord]) -> tuple[int, int] | None:
    """How many tests all shards took of those that the suite has; None where they took all."""
    subsets = [record.subset for record in records if record.subset is not None]
    taken, declared = sum(taken for taken, _ in subsets), max((declared for _, declared in subsets), default=0)
    return (taken, declared) if len(subsets) == len(records) and taken < declared else None


def _coverage(
    records: Sequence[RunRecord], runs: Sequence[RunRecord | SuiteRun], *, judged: bool
) -> tuple[Dimension, ...]:
    """What the runs of a suite cover together; a shard that had no test counts for nothing."""
    parts = [run.coverage for run in runs if run.totals.total]
    if not any(parts) or any(record.shard is None for record in records):
        return ()
    return added_up(parts, judged=judged)


def _short(merged: RunRecord) -> list[str]:
    """The lines of the floors that are not reached, those of a suite among several with its path before them."""
    of_suites = (f"{suite.path}: {line}" for suite in merged.suites for line in short_lines(suite.coverage))
    return [*short_lines(merged.coverage), *of_suites]


def unjudged_floors(merged: RunRecord) -> list[str]:
    """A line for each suite whose floors could not be judged, since a shard of its run is missing."""
    suites = [("", merged.coverage), *((f"{suite.path}: ", suite.coverage) for suite in merged.suites)]
    return [f"{path}{SHARD_MISSING}" for path, rows in suites if any(row.floor and not row.judged for row in rows)]


def _missing_shards(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """A line for each shard that is not among the records, as far as they say of which they are."""
    shards = {record.shard for record in records if record.shard is not None}
    counts = {count for _, count in shards}
    if len(counts) > 1:
        told = ", ".join(f"{index}/{count}" for index, count in sorted(shards, key=lambda shard: shard[::-1]))
        raise RecordError(f"the shards have different counts: {told}", hint="use `--shard i/n` with one n")
    return tuple(
        f"shard {index}/{count} is missing: its tests are not in this report"
        for count in counts
        for index in range(1, count + 1)
        if (index, count) not in shards
    )


def _check_one_suite(records: Sequence[RunRecord]) -> None:
    first = records[0]
    for other in records[1:]:
        if _is_same_suite(first, other):
            continue
        changed = (other.suite.name, other.suite.path) == (first.suite.name, first.suite.path)
        names = [f'"{one_line(record.suite.name)}" ({one_line(record.suite.path)})' for record in (first, other)]
        raise RecordError(
            f"the runs {first.run_id} and {other.run_id} are of different "
            + (f"texts of the suite {names[0]}" if changed else f"suites: {names[0]} and {names[1]}"),
            hint="merge the records of one suite's shards, all made from the same text",
        )


def _is_same_suite(one: RunRecord, other: RunRecord) -> bool:
    """Whether these are runs of one suite, or of the same suites: a command may have ended before it ran all of them."""
    if not one.suites or not other.suites:
        return one.suite == other.suite
    texts, others = ({run.path: run.sha256 for run in record.suites} for record in (one, other))
    paths = texts.keys() | {suite.path for suite in one.not_run}
    other_paths = others.keys() | {suite.path for suite in other.not_run}
    return paths == other_paths and all(texts[path] == others[path] for path in texts.keys() & others.keys())


def _check_one_selection(records: Sequence[RunRecord]) -> None:
    found = {record.selection: record for record in records if record.selection is not None}
    if len(found) > 1:
        one, other, *_ = found.values()
        raise RecordError(
            f"the runs {one.run_id} and {other.run_id} are shards of different selections of tests",
            hint="use the same `--filter`, `--tag`, `--repeat` and other options that choose tests for all shards",
        )


def _check_disjoint(records: Sequence[RunRecord]) -> None:
    owners: dict[str, int] = {}
    for number, record in enumerate(records):
        for test in record.tests:
            if owners.setdefault(test.id, number) != number:
                other = records[owners[test.id]]
                raise RecordError(
                    f'the test "{one_line(test.name)}" is in both runs {other.run_id} and {record.run_id}',
                    hint="a test is in one shard only: name each record once, and use `--shard i/n` with one n",
                )


def _woven(records: Sequence[RunRecord]) -> tuple[TestResult, ...]:
    """The tests of all shards by their places; else each shard's in its own order, the smallest (file, line) next first.

    Those of several suites stand in the order of the suites.
    """
    if all(len(record.places) == len(record.tests) for record in records):
        placed = (pair for record in records for pair in zip(record.places, record.tests, strict=True))
        return tuple(test for _, test in sorted(placed, key=itemgetter(0)))
    suites = _suite_ranks(records)
    rank = _ranks([test.file for test in record.tests] for record in records)

    def suite_rank(test: TestResult) -> int:
        return suites.get(test.id.partition("::")[0], 0)

    shards = [sorted(record.tests, key=suite_rank) for record in records]
    return tuple(heapq.merge(*shards, key=lambda test: (suite_rank(test), rank[test.file], test.line)))


def _ranks(orders: Iterable[Iterable[str]]) -> dict[str, int]:
    """The place of each name in the order that all orders agree on, such as that imports stand before what imports them."""
    after: dict[str, set[str]] = {}
    for order in orders:
        names = list(dict.fromkeys(order))
        for place, name in enumerate(names):
            after.setdefault(name, set()).update(names[:place])
    ranks: dict[str, int] = {}
    while len(ranks) < len(after):
        left = [name for name in after if name not in ranks]
        ready = [name for name in left if after[name] <= ranks.keys()]
        # Shards that contradict each other leave no name ready; then the order in which names were met decides.
        ranks[(ready or left)[0]] = len(ranks)
    return ranks


def _exit_code(records: Sequence[RunRecord], merged: RunRecord) -> ExitCode:
    """The most telling of the shards' codes; a shard that had no test says nothing as long as another had one."""
    codes = {record.exit_code for record in records}
    if merged.totals.failed:
        codes.add(ExitCode.FAILED)
    if merged.missed_gates:
        codes.add(ExitCode.GATE)
    worst = worst_code(codes) if not codes.isdisjoint(_WORST_FIRST) else None
    if worst is not None:
        return worst
    if not merged.tests and ExitCode.NO_TESTS in codes:
        return ExitCode.NO_TESTS
    if codes <= {0, int(ExitCode.NO_TESTS)}:
        return ExitCode.NO_TESTS if _only_skips(records, merged) else ExitCode.PASSED
    return ExitCode.FAILED


def worst_code(codes: Collection[int]) -> ExitCode:
    """The most telling of exit codes, any other failure before none."""
    worst = next((code for code in _WORST_FIRST if code in codes), None)
    if worst is not None:
        return worst
    return (
        ExitCode.NO_TESTS if ExitCode.NO_TESTS in codes else ExitCode.PASSED if set(codes) <= {0} else ExitCode.FAILED
    )


def _only_skips(records: Sequence[RunRecord], merged: RunRecord) -> bool:
    """Whether the suite skips every test itself: no hook and no policy had a part in it, as far as the records say so.

    Those of version 0.1, which are without `strength`, do not.
    """
    if any(record.hooks for record in records) or not merged.tests:
        return False
    return all(
        test.verdict is Verdict.SKIP and test.not_run is None and test.strength is not None for test in merged.tests
    )


def server_names(record: RunRecord) -> set[str]:
    """The servers of a record and of its tests."""
    return {server.name for server in record.servers} | {test.server for test in record.tests if test.server}


def with_server_names(record: RunRecord, names: Mapping[str, str]) -> RunRecord:
    """The record with other names for these servers."""
    if not names:
        return record
    effects = record.effects
    if effects is not None:
        calls = (replace(call, server=names.get(call.server, call.server)) for call in effects.calls)
        effects = replace(effects, calls=tuple(calls))
    return replace(
        record,
        tests=tuple(rename_server(test, names.get(test.server, test.server)) for test in record.tests),
        servers=tuple(replace(server, name=names.get(server.name, server.name)) for server in record.servers),
        effects=effects,
    )


def _with_same_servers(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The shards of several suites with the path of its suite behind a server's name in all of them, or in none.

    A shard whose tests call it for one suite alone does not have it.
    """
    suites: dict[str, set[str]] = {}
    bare: list[dict[str, str]] = []
    for record in records:
        bare.append({})
        for test in record.tests if record.suites and len(records) > 1 else ():
            suite = f" ({test.id.partition('::')[0]})"
            name = test.server.removesuffix(suite)
            suites.setdefault(name, set()).add(suite)
            if name == test.server:
                bare[-1][name] = f"{name}{suite}"
    return [
        with_server_names(record, {name: whole for name, whole in names.items() if len(suites[name]) > 1})
        for record, names in zip(records, bare, strict=True)
    ]


def _servers(records: Sequence[RunRecord]) -> tuple[ServerRecord, ...]:
    joined: dict[str, ServerRecord] = {}
    for record in records:
        for server in record.servers:
            known = joined.get(server.name)
            joined[server.name] = server if known is None else _join_servers(known, server)
    return tuple(joined.values())


def _join_servers(one: ServerRecord, other: ServerRecord) -> ServerRecord:
    tails = dict.fromkeys(tail for tail in (one.stderr_tail, other.stderr_tail) if tail)
    return replace(
        one,
        server_info=one.server_info if one.server_info is not None else other.server_info,
        protocol_version=one.protocol_version or other.protocol_version,
        restarts=one.restarts + other.restarts,
        tools=one.tools if one.tools is not None else other.tools,
        stderr_tail="\n".join(tails),
        findings=tuple({finding["message"]: finding for finding in (*one.findings, *other.findings)}.values()),
    )


def _warnings(records: Sequence[RunRecord], merged: RunRecord, not_run: Sequence[str]) -> tuple[str, ...]:
    """Each shard's warnings once; that a shard matched no test is left out where another did, or left the floors to others."""
    told = [record for record in records if record.tests or not merged.tests]
    texts = (warning for record in told for warning in record.warnings)
    judged_here = [("", merged.coverage), *((f"{suite.path}: ", suite.coverage) for suite in merged.suites)]
    own = {f"{path}{SHARDED}" for path, rows in judged_here if rows}
    own |= {text for record in told for text in record.missed_gates}
    own |= {text for record in records for text in not_run_lines(record.not_run)}
    rest = (text for text in texts if text not in own)
    return tuple(dict.fromkeys((*merged.missed_gates, *unjudged_floors(merged), *not_run, *rest)))
