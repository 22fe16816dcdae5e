"""The runs of several suites as one record, which every reporter renders."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from mcptest_engine.core.effects import merged_effects
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.kinds import Verdict
from mcptest_engine.core.run_record import SuiteInfo, SuiteRun
from mcptest_engine.reporting.merge import worst_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.core.run_record import RunRecord, ServerRecord


def join_records(records: Sequence[RunRecord], *, broken: Sequence[str] = ()) -> RunRecord:
    """One record out of the runs of different suites; `broken` are the paths of those that did not load.

    Each test keeps the id that it has in its own suite's run. Coverage and ledger stand in the records of those runs. The exit
    code is that of the worst.
    """
    first = records[0]
    runs = tuple(
        SuiteRun(
            name=record.suite.name,
            path=record.suite.path,
            sha256=record.suite.sha256,
            run_id=record.run_id,
            verdict=record.verdict.value,
            exit_code=record.exit_code,
            duration_ms=record.duration_ms,
            totals=record.totals,
        )
        for record in records
    )
    joined = first.with_tests(tuple(test for record in records for test in record.tests))
    codes = {ExitCode(record.exit_code) for record in records} | ({ExitCode.INVALID} if broken else set())
    code = worst_code(codes - ({ExitCode.NO_TESTS} if joined.tests else set()))
    servers: list[ServerRecord] = []
    for server in (server for record in records for server in record.servers):
        if server not in servers:
            servers.append(server)
    effects = [record.effects for record in records if record.effects is not None]
    return replace(
        joined,
        suites=runs,
        suite=SuiteInfo(
            name=f"{len(records) + len(broken)} suites",
            path=".",
            sha256=sha256("".join(record.suite.sha256 for record in records).encode()).hexdigest(),
        ),
        duration_ms=sum(record.duration_ms for record in records),
        interrupted=any(record.interrupted for record in records),
        shard=None,
        places=(),
        selection=None,
        subset=None,
        ledger=None,
        coverage=(),
        effects=merged_effects(effects),
        exit_code=int(code),
        verdict=Verdict.PASS if code is ExitCode.PASSED else Verdict.FAIL,
        servers=tuple(servers),
        warnings=(
            *(f"{path}: the suite has problems, and was not run" for path in broken),
            *(f"{record.suite.path}: {warning}" for record in records for warning in record.warnings),
        ),
        hooks=tuple(hook for record in records for hook in record.hooks),
    )
