"""What of a result is kept: secrets taken out, large values clipped or put beside the record.

Everything that a listener, a report or the disk sees of a server has passed here. The way of an ordinary result is cheap:
when nothing in the answer is secret, nothing is copied. A test's name and its tags pass untouched: the loader has refused
those that hold a secret.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.schemas import nested_deeper_than

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.results import AssertionResult, Attempt, Failure, TestResult, VerifyResult

    Externalise = Callable[[Any, str], Any]

ACTUAL_LIMIT = 4_096
MARGIN = 3 * ACTUAL_LIMIT
DEEPEST = 200
"""Levels of arrays and objects in each other that every reader of a record can follow."""
CERTAINLY_SMALL = 128 * 1024
"""An answer of fewer bytes stays under the megabyte from which on outputs are put aside, however it is written out."""


class Keeper:
    """Makes results fit to be kept. `externalise(output, name)` gives the output or a reference to its side file."""

    def __init__(self, redactor: Redactor, externalise: Externalise) -> None:
        self._redactor = redactor
        self._externalise = externalise
        self.redact = redactor.redact
        self.redact_text = redactor.redact_text

    def keep(self, result: TestResult, *, size: int) -> TestResult:
        """The same result, fit for the record. Returns `result` itself when there was nothing to do.

        `size` is how many bytes the answer came in; 0 when it was certainly small.
        """
        redact = self._redactor.redact
        request, output = redact(result.request), shallow(redact(result.output))
        tool = self._text(result.tool)
        changed = request is not result.request or output is not result.output or tool is not result.tool
        assertions = result.assertions
        if assertions:
            kept = tuple(self._keep_row(row) for row in assertions)
            if any(new is not old for new, old in zip(kept, assertions, strict=True)):
                assertions, changed = kept, True
        own_name = result.id.rsplit("::", 1)[-1]
        if output is not None and (size or result.trace is not None):
            small = self._externalise(output, own_name)
            changed, output = changed or small is not output, small
        trace, trials = result.trace, result.trials
        if trace is not None:
            trace = self._keep_trace(trace, own_name)
            changed = True
        if trials:
            from mcptest_engine.running.kinds.agent.record import keep_trials

            trials = keep_trials(trials, redactor=self._redactor, externalise=self._externalise, name=own_name)
            changed = True
        judgement = result.judgement
        if judgement is not None:
            judgement, changed = self._keep_judgement(judgement), True
        behind = result.behind
        if behind is not None:
            behind = redact(behind)
            changed = changed or behind is not result.behind
        if result.failure is None and result.message is None and not (result.attempts or result.verify or changed):
            return result
        return replace(
            result,
            tool=tool,
            request=request,
            output=output,
            assertions=assertions,
            message=self._text(result.message),
            failure=self.keep_failure(result.failure),
            attempts=tuple(self._keep_attempt(attempt) for attempt in result.attempts),
            verify=tuple(self._keep_step(step, own_name) for step in result.verify),
            trace=trace,
            trials=trials,
            judgement=judgement,
            behind=behind,
        )

    def _keep_trace(self, trace: Mapping[str, Any], own_name: str) -> Mapping[str, Any]:
        if "conversation" in trace:
            from mcptest_engine.running.kinds.agent.record import keep_conversation  # few suites have one

            return keep_conversation(trace, redactor=self._redactor, externalise=self._externalise, name=own_name)
        from mcptest_engine.running.kinds.composition.record import keep_trace

        return keep_trace(trace, redactor=self._redactor, externalise=self._externalise, name=own_name)

    def _keep_judgement(self, judgement: Mapping[str, Any]) -> Mapping[str, Any]:
        from mcptest_engine.running.kinds.eval.record import keep_judgement  # few suites have one

        return keep_judgement(judgement, self._redactor)

    def _keep_step(self, step: VerifyResult, own_name: str) -> VerifyResult:
        redact = self._redactor.redact
        output = shallow(redact(step.output))
        if output is not None:
            output = self._externalise(output, f"{own_name} verify {step.index}")
        return replace(
            step,
            name=self._text(step.name),
            tool=self._text(step.tool),
            message=self._text(step.message),
            failure=self.keep_failure(step.failure),
            assertions=tuple(self._keep_row(row) for row in step.assertions),
            request=redact(step.request),
            output=output,
        )

    def _keep_row(self, row: AssertionResult) -> AssertionResult:
        if row.set is not None:
            name = self._text(row.name)
            inner = tuple(self._keep_row(one) for one in row.set.assertions)
            kept = replace(row.set, name=name, assertions=inner)
            return replace(row, name=name, message=self._text(row.message), set=kept)
        actual, matcher = self._keep_actual(row.actual), self._keep_matcher(row.matcher)
        target, name = self.redact_text(row.target), self._text(row.name)
        if (
            row.message is None
            and actual is row.actual
            and matcher is row.matcher
            and target is row.target
            and name is row.name
            and row.diff is None
            and row.judgement is None
        ):
            return row
        return replace(
            row,
            target=target,
            matcher=matcher,
            name=name,
            message=self._text(row.message),
            pointer=self._text(row.pointer),
            diff=self._text(row.diff),
            actual=actual,
            judgement=None if row.judgement is None else self._keep_judgement(row.judgement),
        )

    def _keep_matcher(self, matcher: Mapping[str, Any]) -> Mapping[str, Any]:
        for operand in matcher.values():
            if type(operand) is not str or self.redact_text(operand) is not operand:
                kept: Mapping[str, Any] = self._redactor.redact(matcher)
                return kept
        return matcher

    def _keep_actual(self, value: Any) -> Any:
        """Redacted, then clipped; of a long text only a margin past the clip is looked through.

        The end of that margin may be the first half of a secret, and masks may have drawn it near: it is never shown.
        """
        if isinstance(value, str) and len(value) > MARGIN:
            beginning = self.redact_text(value[:MARGIN])
            certain = max(len(beginning) - self._redactor.longest, 0)
            return f"{beginning[: min(certain, ACTUAL_LIMIT)]}… ({len(value)} characters)"
        return clip(self._redactor.redact(value))

    def keep_failure(self, failure: Failure | None) -> Failure | None:
        """The failure as it may be kept."""
        if failure is None:
            return None
        return replace(
            failure,
            message=self.redact_text(failure.message),
            hint=self._text(failure.hint),
            stderr_tail=self._text(failure.stderr_tail),
            scorer_error=None if failure.scorer_error is None else self._keep_error(failure.scorer_error),
            cause=None if failure.cause is None else replace(failure.cause, beside=self._text(failure.cause.beside)),
        )

    def _keep_error(self, error: Mapping[str, Any]) -> Mapping[str, Any]:
        """A scorer's error, whose members are all texts."""
        return {key: self.redact_text(value) if isinstance(value, str) else value for key, value in error.items()}

    def _keep_attempt(self, attempt: Attempt) -> Attempt:
        return attempt if attempt.message is None else replace(attempt, message=self.redact_text(attempt.message))

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self.redact_text(text)


def clip(value: Any, limit: int = ACTUAL_LIMIT) -> Any:
    """`value`, or its beginning as text when it is larger than the record should hold twice, or too deep."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}… ({len(value)} characters)"
    if not isinstance(value, (dict, list)):
        return value
    weight = _weight(value, limit)
    if weight > limit:
        return f"{_beginning(value, limit)}… (clipped)"
    if weight > DEEPEST and nested_deeper_than(value, DEEPEST):  # each level weighs something
        return too_deep(value)
    return value


def shallow(output: Any) -> Any:
    """An answer's output in which each member that is nested too deeply for a record is the beginning of it as text."""
    if not isinstance(output, dict) or not nested_deeper_than(output, DEEPEST):
        return output
    return {
        key: _shallow_member(member) if nested_deeper_than(member, DEEPEST - 1) else member
        for key, member in output.items()
    }


def too_deep(value: Any) -> str:
    """The beginning of a value that is nested too deeply for a record, as text."""
    return f"{_beginning(value, ACTUAL_LIMIT)}… (clipped: nested more than {DEEPEST} levels deep)"


def _shallow_member(member: Any) -> Any:
    """A member of the output, still of its own kind: `result` stays an object, `notifications` an array."""
    if isinstance(member, dict):
        return {key: too_deep(item) if nested_deeper_than(item, DEEPEST - 2) else item for key, item in member.items()}
    return [too_deep(item) if nested_deeper_than(item, DEEPEST - 2) else item for item in member]


def _beginning(value: Any, limit: int) -> str:
    return compact(value, limit)[:limit]


def _weight(value: Mapping[str, Any] | list[Any], limit: int) -> int:
    """About how many characters `value` takes as JSON; counting stops past `limit`."""
    total, waiting = 0, [value]
    while waiting and total <= limit:
        item: Any = waiting.pop()
        if isinstance(item, str):
            total += len(item) + 2
        elif isinstance(item, dict):
            for key, member in item.items():
                total += len(key) + 4
                waiting.append(member)
        elif isinstance(item, list):
            total += len(item) + 1
            waiting.extend(item)
        else:
            total += 5
    return total
