"""From an answer to an outcome: which verdict, whose failure, in which words. Pure, but for the snapshot store handed in."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.enums import ERROR_FAILURES, ExpectedOutcome
from mcptest_engine.core.errors import (
    AnswerLost,
    AuthFailed,
    CallMismatch,
    CallTimeout,
    InvalidResult,
    NotReady,
    did_you_mean,
)
from mcptest_engine.core.results import AssertionResult, Failure, FailureKind, Part, Verdict
from mcptest_engine.core.targets import parse_target
from mcptest_engine.judging.assertions import judge_assertions
from mcptest_engine.judging.validity import find_invalidity, find_task_handle
from mcptest_engine.servers.failures import is_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.core.results import DerivedMetric, NotRun, TestResult, VerifyResult
    from mcptest_engine.judging.opinions import Opinions
    from mcptest_engine.judging.snapshots import SnapshotStore
    from mcptest_engine.judging.validity import Validity
    from mcptest_engine.running.cases import JudgedRequest

_ABOUT_ASKING = frozenset(
    {("result",), ("result", "resultType"), ("result", "inputRequests"), ("result", "requestState")}
)
UNKNOWN_NAME_CODES = frozenset({-32601, -32602})
VALIDITY_HINT = "the server violates the protocol; `run_options: { validity: warn }` makes this a warning"
ERROR_HINT = "if the test expects this error, say `outcome: error`"


class Outcome(NamedTuple):
    """What one attempt came to. `output` is what the record keeps of the answer, `size` the bytes that it came in.

    `request` is what was asked, where that is not what the test says; `trace` is a composition's or an agent's, `judgement`,
    `trials` and `behind` are as in `TestResult`; `cached`: a grading that was kept; `model` is the one that answered. `lost`:
    the answer was taken away by the test's own `fault`, so that there is nothing to judge yet. `gone`: the server did not
    start, or ended. `not_run` and `deferred` are as in `TestResult`.
    `verify` holds the steps that followed, in order.
    """

    verdict: Verdict
    duration_ms: float
    message: str | None = None
    failure: Failure | None = None
    assertions: tuple[AssertionResult, ...] = ()
    output: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    size: int = 0
    lost: bool = False
    gone: bool = False
    verify: tuple[VerifyResult, ...] = ()
    score: float | None = None
    threshold: float | None = None
    metrics: tuple[DerivedMetric, ...] = ()
    request: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    judgement: Mapping[str, Any] | None = None
    trials: tuple[Mapping[str, Any], ...] = ()
    cached: bool = False
    model: str | None = None
    behind: Mapping[str, Any] | None = None
    not_run: NotRun | None = None
    deferred: str | None = None


def deferred_outcome(reason: str) -> Outcome:
    """The outcome of what waits for a model that could not be asked; `reason` is why."""
    return Outcome(Verdict.INCONCLUSIVE, 0.0, message=f"deferred: {reason}", deferred=reason)


def failure_of(error: ServerError) -> Failure:
    """The failure that an error of the server's side is told as."""
    kind = FailureKind.SERVER
    if isinstance(error, CallTimeout):
        kind = FailureKind.TIMEOUT
    elif isinstance(error, AuthFailed):
        kind = FailureKind.AUTH
    elif isinstance(error, InvalidResult):
        kind = FailureKind.INVALID
    elif isinstance(error, CallMismatch):
        kind = FailureKind.SUITE
    tail, not_ready = error.stderr_tail or None, isinstance(error, NotReady)
    return Failure(kind=kind, message=error.message, hint=error.hint, stderr_tail=tail, not_ready=not_ready)


def failed_outcome(error: ServerError, *, duration_ms: float) -> Outcome:
    """The outcome of an attempt that got no answer to judge; what was told over HTTP instead is kept.

    An answer that the test had taken away is no failure: it was asked for.
    """
    output = None if error.http is None else {"http": error.http}
    if isinstance(error, AnswerLost):
        return Outcome(
            verdict=Verdict.INCONCLUSIVE, duration_ms=duration_ms, message=error.message, output=output, lost=True
        )
    failure = failure_of(error)
    return Outcome(
        verdict=Verdict.FAIL, duration_ms=duration_ms, message=failure.message, failure=failure, output=output
    )


def refused_outcome(asked: JudgedRequest, outcome: Outcome, judged: Outcome) -> Outcome:
    """An attempt that HTTP refused (`outcome`), where the test expects something of `http` (`judged`).

    It passes when all that it expects holds, the status does say no, and the test could not pass with a status of success. One
    that wants success gets none here, and a status of success without an answer is a broken answer: green means checked.
    """
    http = (outcome.output or {}).get("http")
    if judged.verdict is Verdict.PASS and asked.outcome is not ExpectedOutcome.SUCCESS and is_refusal(http):
        from mcptest_engine.judging.expectations import expects_refusal  # few tests expect one

        if expects_refusal(asked.expect["assertions"], asked.threshold):
            return judged
    return outcome._replace(assertions=judged.assertions)


def judge(
    asked: JudgedRequest,
    envelope: Mapping[str, Any],
    *,
    snapshots: SnapshotStore | None,
    redact: Callable[[Any], Any],
    opinions: Opinions | None = None,
    validity: Validity | None = None,
) -> Outcome:
    """Judge one answer; messages are worded over `redact`. Without `opinions` what a model is to say stays open.

    First of all the call must come to what the test wants of it: success where it says nothing (`asked.outcome`). Where made-up
    arguments were refused there is nothing else to judge. Then the result has to be valid, as `validity` has it.
    An assertion that fails comes before a budget that is exceeded: the failure is of its kind, and its message tells both.
    With a threshold the score decides in the assertions' place, and metrics may fail a test that passed.
    """
    expect = asked.expect
    assertions = expect.get("assertions", ())
    came = answer_kind(envelope)
    if asked.guess is not None and came is not None:
        undecided = _judge_guess(asked, envelope, came, redact)
        if undecided is not None:
            return undecided
    rows: tuple[AssertionResult, ...] = ()
    if assertions:
        rows = judge_assertions(
            assertions,
            envelope,
            snapshots=snapshots,
            test_name=asked.snapshot_name,
            redact=redact,
            opinions=opinions,
            line_of=asked.line_of,
        )
    scored = None
    if rows and (asked.threshold is not None or asked.metrics):
        from mcptest_engine.judging.scoring import score_test  # it brings exact fractions, which few suites need

        scored = score_test(rows, threshold=asked.threshold, metrics=asked.metrics)
    implicit, failure, warnings = _judge_unasked(asked, envelope, rows, validity, redact)
    rows = (*rows, *implicit)
    if failure is None:
        failure = _failure_of_rows(asked, envelope, rows, None if scored is None else scored.failure)
    if len(expect) > ("assertions" in expect):
        from mcptest_engine.judging.budgets import judge_budgets  # many suites have none

        budgets = judge_budgets(expect, envelope)
        warnings = (*warnings, *budgets.warnings)
        if budgets.failure is not None:
            also = budgets.failure.message
            failure = budgets.failure if failure is None else failure.with_part(Part.ALSO, also)
    deferred = failure is None and any(row.passed is None for row in rows)
    verdict = Verdict.FAIL if failure is not None else Verdict.INCONCLUSIVE if deferred else Verdict.PASS
    outcome = Outcome(
        verdict=verdict,
        duration_ms=envelope["duration_ms"],
        message=failure.message if failure is not None else None,
        failure=failure,
        assertions=rows,
        output=_output(envelope),
        warnings=warnings,
    )
    if scored is None:
        return outcome
    return outcome._replace(
        score=scored.score,
        threshold=scored.threshold,
        metrics=scored.metrics,
        warnings=(*outcome.warnings, *(text for metric in scored.metrics for text in metric.missing_texts())),
    )


def _judge_guess(
    asked: JudgedRequest, envelope: Mapping[str, Any], came: str, redact: Callable[[Any], Any]
) -> Outcome | None:
    """The outcome of refused made-up arguments: nobody knows whether the server or they are to blame, so nothing is judged.

    None where they were not refused.
    """
    from mcptest_engine.running.guesses import refused_guess  # few suites have one

    message = refused_guess(asked, envelope, redact)
    if message is None:
        return None
    return Outcome(
        verdict=Verdict.INCONCLUSIVE,
        duration_ms=envelope["duration_ms"],
        message=message,
        assertions=(replace(_outcome_row(0, asked.outcome, came), passed=None, message=message),),
        output=_output(envelope),
    )


def _judge_unasked(
    asked: JudgedRequest,
    envelope: Mapping[str, object],
    rows: tuple[AssertionResult, ...],
    validity: Validity | None,
    redact: Callable[[Any], Any],
) -> tuple[list[AssertionResult], Failure | None, tuple[str, ...]]:
    """What is expected of every call without being written, as (its rows, the first failure, warnings)."""
    came, made = answer_kind(envelope), []
    failure: Failure | None = None
    if asked.outcome is not ExpectedOutcome.ANY and came is not None:
        row = _outcome_row(len(rows), asked.outcome, came)
        if not row.passed:
            failure = _outcome_failure(envelope, came, redact)
            row = replace(row, message=f"`outcome: {asked.outcome}` failed: {failure.message}")
        made.append(row)
    unfinished = find_task_handle(envelope.get("result"))
    if unfinished is not None:
        return made, failure or Failure(kind=FailureKind.INVALID, message=unfinished), ()
    if validity is None or came is None or not validity.covers(asked.method):
        return made, failure, ()
    fault = find_invalidity(asked.method, envelope, validity, redact)
    if not validity.fails:
        return made, failure, () if fault is None else (fault[0],)
    made.append(_validity_row(len(rows) + len(made), fault))
    if failure is None and fault is not None:
        failure = Failure(kind=FailureKind.INVALID, message=fault[0], hint=VALIDITY_HINT)
    return made, failure, ()


def _assertion_failure(row: AssertionResult, asked: JudgedRequest) -> Failure:
    line = None if asked.line_of is None or row.implicit is not None else asked.line_of(row.index, None)
    return Failure(kind=FailureKind.ASSERTION, message=row.message or f"assertion {row.index + 1} failed", line=line)


def _failure_of_rows(
    asked: JudgedRequest, envelope: Mapping[str, object], rows: tuple[AssertionResult, ...], of_score: Failure | None
) -> Failure | None:
    """Why the answer fails the test: an assertion, unless a score decides in its place; the score or a metric; no result."""
    if asked.threshold is None or not asked.expect.get("assertions"):
        failed = next((_assertion_failure(row, asked) for row in rows if row.passed is False), None)
        if failed is not None:
            return failed
    return _unanswered_failure(envelope, rows) if of_score is None else of_score


def _unanswered_failure(envelope: Mapping[str, object], rows: tuple[AssertionResult, ...]) -> Failure | None:
    """A call of the stateless era that ended in a question has no result; only a test that looks at the question judges it."""
    result = envelope.get("result")
    if not isinstance(result, dict) or result.get("resultType") != "input_required":
        return None
    looked_at = (row.target for item in rows for row in item.leaves())
    if any(tuple(parse_target(target).segments[:2]) in _ABOUT_ASKING for target in looked_at):
        return None
    requests = result.get("inputRequests")
    methods = [str(one.get("method")) for one in requests.values() if isinstance(one, dict)] if requests else []
    asked = ", ".join(f"`{method}`" for method in dict.fromkeys(methods))
    message = f"the call requires input: {asked}, and `client:` has no answer to that"
    if not asked:
        message = "the result is `input_required`, but it requests no input"
    return Failure(kind=FailureKind.ASSERTION, message=message)


SUCCESS = "success"


def answer_kind(envelope: Mapping[str, object]) -> str | None:
    """What came for a call: "success", "tool_error" or "protocol_error"; None where no answer came."""
    if envelope["error"] is not None:
        return FailureKind.PROTOCOL_ERROR.value
    if "result" not in envelope:
        return None
    result = envelope["result"]
    return FailureKind.TOOL_ERROR.value if isinstance(result, dict) and result.get("isError") is True else SUCCESS


def doubted_outcome(outcome: Outcome, message: str) -> Outcome:
    """The outcome of a refusal that turned out to show nothing: valid arguments got the same error."""
    rows = tuple(replace(row, passed=None, message=message) for row in outcome.assertions if row.implicit == "outcome")
    return outcome._replace(
        verdict=Verdict.INCONCLUSIVE, message=message, assertions=rows, score=None, threshold=None, metrics=()
    )


@lru_cache(maxsize=256)
def _outcome_row(index: int, wanted: ExpectedOutcome, came: str) -> AssertionResult:
    """The row of what is expected of every call without being written. It has no weight: it enters no score."""
    return AssertionResult(
        index=index,
        target="outcome",
        matcher={"exact": wanted.value},
        passed=(came == SUCCESS) is (wanted is ExpectedOutcome.SUCCESS),
        weight=0.0,
        actual=came,
        implicit="outcome",
    )


_VALID_MATCHER: Mapping[str, Any] = {"exact": "valid"}


def _validity_row(index: int, fault: tuple[str, str] | None) -> AssertionResult:
    """The row of what every result is held to without being written. It has no weight: it enters no score."""
    if fault is None:
        return _valid_row(index)
    message, place = fault
    return replace(
        _valid_row(index),
        passed=False,
        actual="invalid",
        message=f"`validity` failed: {message}",
        pointer=place or None,
    )


@lru_cache(maxsize=64)
def _valid_row(index: int) -> AssertionResult:
    return AssertionResult(
        index=index,
        target="validity",
        matcher=_VALID_MATCHER,
        passed=True,
        weight=0.0,
        actual="valid",
        implicit="valid",
    )


def _outcome_failure(envelope: Mapping[str, object], came: str, redact: Callable[[Any], Any]) -> Failure:
    """A call that came to another outcome than its test wants, told in the server's words."""
    if came == SUCCESS:
        return Failure(
            kind=FailureKind.ASSERTION, message="the call succeeded, but the test expects an error (`outcome: error`)"
        )
    from mcptest_engine.judging.answer_text import call_error_text

    told = call_error_text(envelope, redact)
    assert told is not None
    return Failure(kind=FailureKind(came), message=told, hint=ERROR_HINT)


def with_tool_hint(result: TestResult, answered: Mapping[str, Collection[str]]) -> TestResult:
    """A failed call of a tool that the server does not know, with the nearest name among those that `answered` of it."""
    if result.failure is not None and result.trace is not None and "composition" not in result.trace:
        return result
    if result.failure is not None and result.trace is not None:
        hint = _unknown_node_hint(result.trace, answered)
        before = result.failure.hint or ""
        if hint is None or hint in before:
            return result
        return replace(result, failure=replace(result.failure, hint=f"{before}; {hint}" if before else hint))
    if result.failure is None or (result.failure.hint is not None and result.failure.kind not in ERROR_FAILURES):
        return result
    calls: tuple[TestResult | VerifyResult, ...] = (result, *result.verify)
    hints = (_unknown_tool_hint(call, answered.get(call.server, ())) for call in calls if call.failure is not None)
    hint = next((hint for hint in hints if hint is not None), None)
    return result if hint is None else replace(result, failure=replace(result.failure, hint=hint))


def _unknown_tool_hint(call: TestResult | VerifyResult, answered: Collection[str]) -> str | None:
    output = call.output or {}
    if call.tool is None or call.tool in answered:
        return None
    if not _says_unknown(output.get("error"), output.get("result"), call.tool):
        return None
    return did_you_mean(call.tool, answered)


def _unknown_node_hint(trace: Mapping[str, Any], answered: Mapping[str, Collection[str]]) -> str | None:
    """The nearest name to the tool of the first node that failed, where its server does not know that tool."""
    nodes = (trace["nodes"][node_id] for node_id in trace["composition"]["order"])
    node = next((node for node in nodes if node["status"] == "err"), None)
    if node is None:
        return None
    message, tool = str(node.get("message", "")), str(node["tool"])
    if tool in answered.get(node["server"], ()):
        return None
    codes = {call.get("error_code") for call in (node, *node.get("calls", ()))}
    if codes.isdisjoint(UNKNOWN_NAME_CODES) and not _is_about_unknown(message, tool):
        return None
    return did_you_mean(tool, answered.get(node["server"], ()))


def _is_about_unknown(text: str, tool: str) -> bool:
    text = text.lower()
    return tool.lower() in text and ("unknown tool" in text or "not found" in text)


def _says_unknown(error: object, answer: object, tool: str) -> bool:
    """Whether the server does not know the tool: a protocol error, or, as the official Python SDK has it, a tool error."""
    if isinstance(error, dict):
        return error.get("code") in UNKNOWN_NAME_CODES
    if not isinstance(answer, dict) or answer.get("isError") is not True:
        return False
    return _is_about_unknown(json.dumps(answer.get("content"), ensure_ascii=False)[:2_000], tool)


def _output(envelope: Mapping[str, object]) -> dict[str, Any]:
    output = {"result": envelope["result"]} if "result" in envelope else {}
    if envelope["error"] is not None:
        output["error"] = envelope["error"]
    for key in ("notifications", "server_requests"):
        if envelope[key]:
            output[key] = envelope[key]
    if envelope["http"] is not None:
        output["http"] = envelope["http"]
    return output
