"""`sarif`: the failed tests of a run as SARIF 2.1.0 results, for code-scanning services. The format itself is in `sarif.py`.

One result of kind `fail` for each failed test, its rule the kind of failure; passing, skipped and inconclusive ones are counted
in the run's properties and give no result. What the run as a whole failed of is a notification of its invocation.
Source: OASIS SARIF 2.1.0, sections 3.20 (invocation) and 3.58 (notification).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import FailureKind, Verdict
from mcptest_engine.core.safe_json import safe_json
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import facts, hook_facts
from mcptest_engine.reporting.failure_text import failure_text
from mcptest_engine.reporting.repro import repro_line
from mcptest_engine.reporting.sarif import SarifResult, SarifRule, plain, sarif_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

_RULES: Mapping[FailureKind, str] = {
    FailureKind.ASSERTION: "an answer is not what the test expects",
    FailureKind.TOOL_ERROR: "a tool reported an error that the test does not expect",
    FailureKind.PROTOCOL_ERROR: "the server answered with a JSON-RPC error that the test does not expect",
    FailureKind.INVALID: "a result violates the protocol or the tool's output schema",
    FailureKind.BUDGET: "an answer took more time, tokens or money than the test allows",
    FailureKind.SCORE: "the score of a test is below its threshold",
    FailureKind.METRIC: "a metric of a test is below its threshold",
    FailureKind.SERVER: "the server did not start, died, or violated the protocol",
    FailureKind.TIMEOUT: "no answer came in time",
    FailureKind.AUTH: "the server refused the credentials",
    FailureKind.HOOK: "a hook failed",
    FailureKind.SCORER: "a scorer gave no verdict",
    FailureKind.SUITE: "the suite has an error that appeared only at run time",
}


def render(record: RunRecord, options: RenderOptions) -> str:
    failed = facts.tests_with(record, Verdict.FAIL)
    rules = [_rule(kind) for kind in FailureKind if any(_kind(test) is kind for test in failed)]
    results = [_sarif_result(record, test, options) for test in failed]
    log = sarif_log(version=record.mcptest_version, rules=rules, results=results, more=_run_members(record))
    return safe_json(log, indent=2) + "\n"


def _kind(test: TestResult) -> FailureKind:
    return FailureKind.ASSERTION if test.failure is None else test.failure.kind


def _rule(kind: FailureKind) -> SarifRule:
    return SarifRule(
        id=f"mcptest.{kind.value}",
        name=f"{kind.value}-failure",
        severity="high",
        text=_RULES[kind],
        help="Run the test again with the command that its message ends in.",
        is_security=False,
    )


def _sarif_result(record: RunRecord, test: TestResult, options: RenderOptions) -> SarifResult:
    text = failure_text(test, [f"repro: {repro_line(record, test, options)}"])
    file, line = facts.place_of(test)
    return SarifResult(
        rule=f"mcptest.{_kind(test).value}",
        severity="high",
        message=f"{one_line(test.name)}: {text}",
        place=one_line(test.id),
        file=facts.file_in_repository(record.source, file) or None,
        line=line,
        member="function",
        properties={
            "duration_ms": test.duration_ms,
            "server": one_line(test.server),
            **({"scorer_error": error} if (error := facts.scorer_error_members(test)) else {}),
            **({} if test.tool is None else {"tool": one_line(test.tool)}),
            **({"tags": list(dict.fromkeys(map(one_line, test.tags)))} if test.tags else {}),
        },
    )


def _run_members(record: RunRecord) -> dict[str, object]:
    reason = facts.run_reason(record)
    told = [] if reason is None else [_notification("error", reason)]
    if unchecked := facts.unchecked_text(record):
        told.append(_notification("warning", unchecked))
    told += [
        _notification("error" if hook.phase == "beforeAll" else "warning", hook.text)
        for hook in hook_facts.hook_failures(record)
    ]
    told += [_notification("warning", warning) for warning in hook_facts.other_warnings(record)]
    invocation: dict[str, object] = {"executionSuccessful": reason is None and not hook_facts.failed_hooks(record)}
    invocation["exitCode"] = record.exit_code
    if told:
        invocation["toolExecutionNotifications"] = told
    return {
        "automationDetails": {"id": f"mcptest/{one_line(record.suite.path)}/{one_line(record.run_id)}"},
        "invocations": [invocation],
        "properties": {"started_at": one_line(record.started_at), **record.totals.to_json()},
    }


def _notification(level: str, text: str) -> dict[str, object]:
    return {"level": level, "message": {"text": plain(text)}}
