"""What a run comes to as a whole: its exit code, its verdict, and the reason where no failed test tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.results import RunRecord, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def exit_code(record: RunRecord, *, empty_is_fine: bool, not_ready: bool = False) -> ExitCode:
    """The exit code of a run that was executed; the first that applies of 130, 3 and 1.

    `empty_is_fine`: a shard may hold no test. `not_ready`: the time of a `wait_for_ready` ran out.
    """
    if record.interrupted:
        return ExitCode.INTERRUPTED
    if not_ready:
        return ExitCode.NOT_READY
    if not record.tests:
        return ExitCode.PASSED if empty_is_fine else ExitCode.NO_TESTS
    return ExitCode.FAILED if record.totals.failed else ExitCode.PASSED


def concluded(
    record: RunRecord,
    *,
    performance: Mapping[str, Any],
    empty_is_fine: bool,
    declared: int,
    not_ready: bool = False,
) -> RunRecord:
    """The record with its exit code, verdict and closing warnings."""
    code = exit_code(record, empty_is_fine=empty_is_fine, not_ready=not_ready)
    warnings = list(record.warnings)
    if code is ExitCode.NO_TESTS:
        warnings.append(
            f"the selection matched none of {declared} tests" if declared else "the suite has no tests to run"
        )
    slow = _slow(record, performance.get("p95_latency_ms"))
    if slow is not None:
        warnings.append(slow)
    verdict = Verdict.PASS if code is ExitCode.PASSED else Verdict.FAIL
    return replace(record, exit_code=int(code), verdict=verdict, warnings=tuple(warnings))


def _slow(record: RunRecord, cap: float | None) -> str | None:
    """The advisory of `performance.p95_latency_ms`: the nearest-rank 95th percentile of the tests that were decided."""
    times = sorted(test.duration_ms for test in record.tests if test.verdict in {Verdict.PASS, Verdict.FAIL})
    if cap is None or not times:
        return None
    reached = times[max(0, -(-len(times) * 95 // 100) - 1)]
    if reached <= cap:
        return None
    return f"p95 latency {reached:.0f}ms is over the advised {cap:g}ms (performance.p95_latency_ms)"
