"""What a run comes to as a whole: its exit code, its verdict, and the reason where no failed test tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cost_gate import CostGate

_NOTHING: Mapping[Verdict, str] = {}
_TOOLS_SHOWN = 10
WORDS = {Verdict.INCONCLUSIVE: "inconclusive", Verdict.SKIP: "skipped"}


def _count(record: RunRecord, verdict: Verdict) -> int:
    return record.totals.inconclusive if verdict is Verdict.INCONCLUSIVE else record.totals.skipped


def _failing_findings(record: RunRecord) -> dict[str, str]:
    """What servers did beside the answers to tests that fails the run, with the option that says so."""
    return {
        finding["message"]: "`validity: fail`"
        if finding["kind"] == "invalid_opening"
        else "`hygiene: fail` or `--strict`"
        for server in record.servers
        for finding in server.findings
        if finding["fails"]
    }


def exit_code(
    record: RunRecord,
    *,
    empty_is_fine: bool,
    not_ready: bool = False,
    capped: bool = False,
    failing: Mapping[Verdict, str] = _NOTHING,
    only_skips: bool = False,
) -> ExitCode:
    """The exit code of a run that was executed; the first that applies of 130, 3, 5, 1 and 6.

    `empty_is_fine`: a shard may hold no test. `not_ready`: the time of a `wait_for_ready` ran out. `capped`: a cap on costs
    kept tests back, or was overrun. `failing`: the verdicts that fail the run besides "fail", with what says so. `only_skips`:
    the suite skips every test itself.
    """
    if record.interrupted:
        return ExitCode.INTERRUPTED
    if not_ready:
        return ExitCode.NOT_READY
    if not record.tests:
        return ExitCode.PASSED if empty_is_fine else ExitCode.NO_TESTS
    if capped:
        return ExitCode.POLICY
    if record.totals.failed or any(_count(record, verdict) for verdict in failing) or _failing_findings(record):
        return ExitCode.FAILED
    if only_skips and not empty_is_fine:
        return ExitCode.NO_TESTS
    return ExitCode.GATE if record.missed_gates else ExitCode.PASSED


def concluded(
    record: RunRecord,
    *,
    performance: Mapping[str, Any],
    empty_is_fine: bool,
    missed: str | None,
    not_ready: bool = False,
    capped: bool = False,
    unaffordable: Sequence[str] = (),
    failing: Mapping[Verdict, str] = _NOTHING,
    only_skips: bool = False,
    cost_gate: CostGate | None = None,
) -> RunRecord:
    """The record with its exit code, verdict and closing warnings.

    `missed` is why nothing was selected; `unaffordable` are the tools that the budget of calls left uncalled. Costs over
    the gate's are told, also where tests failed.
    """
    code = exit_code(
        record,
        empty_is_fine=empty_is_fine,
        not_ready=not_ready,
        capped=capped or bool(unaffordable),
        failing=failing,
        only_skips=only_skips,
    )
    warnings = list(record.warnings)
    if unaffordable:
        tools = ", ".join(f"`{one_line(name, 60)}`" for name in unaffordable[:_TOOLS_SHOWN])
        more = f" and {len(unaffordable) - _TOOLS_SHOWN} more" if len(unaffordable) > _TOOLS_SHOWN else ""
        warnings.append(f"the limit of tool calls is reached; not called: {tools}{more}. Allow more with --max-calls")
    warnings[:0] = record.missed_gates  # first: they may be why the run failed
    for message, said in reversed(_failing_findings(record).items()):
        warnings[:0] = [f"{message} (fails the run: {said})"]
        warnings = [warning for warning in warnings if warning != message]
    if code is ExitCode.FAILED and not record.totals.failed:
        for verdict, said in failing.items():
            if count := _count(record, verdict):
                tests = counted(count, f"{WORDS[verdict]} test")
                warnings.append(f"{tests} {'fails' if count == 1 else 'fail'} the run ({said})")
    if code is ExitCode.NO_TESTS and not record.tests:
        warnings.append(missed or "the suite has no tests to run")
    slow = _slow(record, performance.get("p95_latency_ms"))
    if slow is not None:
        warnings.append(slow)
    if cost_gate is not None:
        from mcptest_engine.running.cost_gate import regression  # few runs have one

        told, over = regression(record, cost_gate)
        warnings += [] if told is None else [told]
        if over and code is ExitCode.PASSED:
            code = ExitCode.GATE
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
    return f"p95 latency {reached:.0f}ms is above the desired {cap:g}ms (performance.p95_latency_ms)"
