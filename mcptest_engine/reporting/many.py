"""The runs of several suites as one record, which every reporter renders."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.effects import merged_effects
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.errors import ExitCode, Severity
from mcptest_engine.core.run_record import SuiteInfo, SuiteNotRun, SuiteRun
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.merge import server_names, with_server_names, worst_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_engine.core.errors import Problem
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


def join_records(records: Sequence[RunRecord], *, not_run: Sequence[SuiteNotRun] = ()) -> RunRecord:
    """One record out of the runs of different suites, and of those that were `not_run`.

    Each test has the id of its own suite's run. If several suites use a server name, the path of the suite follows it:
    `shop (a/mcptest.yml)`. Coverage and the limits of `effects` apply to one suite, so they are in `suites`; the ledger is in
    the records of the runs. The exit code is that of the worst.
    """
    uses = Counter(name for record in records for name in server_names(record))
    records = [
        with_server_names(
            record, {name: f"{name} ({record.suite.path})" for name in server_names(record) if uses[name] > 1}
        )
        for record in records
    ]
    first = records[0]
    joined = first.with_tests(tuple(test for record in records for test in record.tests))
    codes = {ExitCode(record.exit_code) for record in records} | {
        ExitCode.INVALID for suite in not_run if suite.reason != "ended"
    }
    code = worst_code(codes - ({ExitCode.NO_TESTS} if joined.tests else set()))
    effects = merged_effects(record.effects for record in records)
    return replace(
        joined,
        suites=tuple(map(_suite_run, records)),
        not_run=tuple(not_run),
        suite=SuiteInfo(
            name=f"{len(records) + len(not_run)} suites",
            path=".",
            sha256=sha256("".join(record.suite.sha256 for record in records).encode()).hexdigest(),
        ),
        duration_ms=sum(record.duration_ms for record in records),
        interrupted=any(record.interrupted for record in records),
        places=(),
        selection=None,
        subset=None,
        ledger=None,
        coverage=(),
        coverage_notes=tuple(f"{record.suite.path}: {note}" for record in records for note in record.coverage_notes),
        unsaved_snapshots=any(record.unsaved_snapshots for record in records),
        effects=None if effects is None else replace(effects, limits=None),
        exit_code=int(code),
        verdict=Verdict.PASS if code is ExitCode.PASSED else Verdict.FAIL,
        servers=tuple(server for record in records for server in record.servers),
        warnings=(
            *facts.not_run_lines(not_run),
            *(f"{record.suite.path}: {warning}" for record in records for warning in record.warnings),
        ),
        hooks=tuple(hook for record in records for hook in record.hooks),
    )


def _suite_run(record: RunRecord) -> SuiteRun:
    """The run of one suite, as the record of several lists it."""
    return SuiteRun(
        name=record.suite.name,
        path=record.suite.path,
        sha256=record.suite.sha256,
        run_id=record.run_id,
        verdict=record.verdict.value,
        exit_code=record.exit_code,
        duration_ms=record.duration_ms,
        totals=record.totals,
        coverage=record.coverage,
        effects=record.effects if record.effects is not None and record.effects.limits else None,
    )


def invalid_suite(path: Path, problems: Sequence[Problem], workspace: Workspace) -> SuiteNotRun:
    """A suite that did not load, or a folder that cannot be read, as the record of a run of several has it."""
    errors = [one for one in problems if one.severity is Severity.ERROR] or problems
    return SuiteNotRun(
        path=workspace.relative(path),
        reason="unreadable" if os.path.isdir(path) else "invalid",  # noqa: PTH112 - never raises
        problems=tuple(
            {
                "file": workspace.relative(Path(one.file or path)),
                "line": one.span and one.span.line,
                "column": one.span and one.span.column,
                "message": one.shown,
                "hint": one.hint,
            }
            for one in errors
        ),
    )


def ended_suites(suites: Iterable[LoadedSuite], workspace: Workspace) -> list[SuiteNotRun]:
    """Suites that the command ended before, as the record of a run of several has them."""
    return [SuiteNotRun(path=workspace.relative(suite.path), reason="ended") for suite in suites]
