"""Redacts and truncates test results before they are stored, and spills large values to side files.

Every result of a test passes here. Among others, the record's servers are redacted in `pool.py`, a node's state in
`kinds/composition/run.py`, hooks in `hooks.py`. An ordinary result is cheap: when nothing in the answer is secret, nothing is
copied. A test's name and its tags pass untouched: the loader has refused those that hold a secret.
"""

from __future__ import annotations

from dataclasses import replace
from operator import is_not
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import RECORD_CHARACTERS, truncate, truncate_deep_members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.results import AssertionResult, Attempt, Failure, TestResult, VerifyResult

    Spill = Callable[[Any, str], Any]

MARGIN = 3 * RECORD_CHARACTERS
CERTAINLY_SMALL = 128 * 1024
"""An answer of fewer bytes stays under the megabyte from which on outputs are put aside, however it is written out."""


class ResultStorage:
    """Prepares results to be stored. `spill(output, name)` returns the output, or a reference to its side file."""

    def __init__(self, redactor: Redactor, spill: Spill) -> None:
        self._redactor = redactor
        self._spill = spill
        self.redact = redactor.redact
        self.redact_text = redactor.redact_text

    def prepare(self, result: TestResult, *, size: int) -> TestResult:
        """Redact, truncate and spill one test result. Returns `result` itself when there was nothing to do.

        `size` is how many bytes the answer came in; 0 when it was certainly small.
        """
        redact = self._redactor.redact
        request, output = redact(result.request), truncate_deep_members(redact(result.output))
        tool = self._redact_text(result.tool)
        changed = request is not result.request or output is not result.output or tool is not result.tool
        assertions, own_name = result.assertions, result.id.rpartition("::")[2]
        if assertions:
            kept = tuple(map(self._redact_assertion, assertions))
            if any(map(is_not, kept, assertions)):
                assertions, changed = kept, True
        if output is not None and (size or result.trace is not None):
            small = self._spill(output, own_name)
            changed, output = changed or small is not output, small
        trace, trials = result.trace, result.trials
        if trace is not None:
            trace = self._redact_trace(trace, own_name)
            changed = True
        if trials:
            from mcptest_engine.running.kinds.agent.record import redact_trials

            trials = redact_trials(trials, redactor=self._redactor, spill=self._spill, name=own_name)
            changed = True
        judgement = result.judgement
        if judgement is not None:
            judgement, changed = self._redact_judgement(judgement), True
        behind, definition = result.behind, result.definition
        if behind is not None:
            behind = redact(behind)
            changed = changed or behind is not result.behind
        if definition is not None:
            definition = redact(definition)
            changed = changed or definition is not result.definition
        if result.failure is None and result.message is None and not (result.attempts or result.verify or changed):
            return result
        return replace(
            result,
            tool=tool,
            request=request,
            output=output,
            assertions=assertions,
            message=self._redact_text(result.message),
            deferred=self._redact_text(result.deferred),
            failure=self.redact_failure(result.failure),
            attempts=tuple(self._redact_attempt(attempt) for attempt in result.attempts),
            verify=tuple(self._redact_step(step, own_name) for step in result.verify),
            trace=trace,
            trials=trials,
            judgement=judgement,
            behind=behind,
            definition=definition,
        )

    def _redact_trace(self, trace: Mapping[str, object], own_name: str) -> Mapping[str, Any]:
        if "conversation" in trace:
            from mcptest_engine.running.kinds.agent.record import redact_conversation  # few suites have one

            return redact_conversation(trace, redactor=self._redactor, spill=self._spill, name=own_name)
        from mcptest_engine.running.kinds.composition.record import redact_trace

        return redact_trace(trace, redactor=self._redactor, spill=self._spill, name=own_name)

    def _redact_judgement(self, judgement: Mapping[str, object]) -> Mapping[str, Any]:
        from mcptest_engine.running.kinds.eval.record import redact_judgement  # few suites have one

        return redact_judgement(judgement, self._redactor)

    def _redact_step(self, step: VerifyResult, own_name: str) -> VerifyResult:
        redact = self._redactor.redact
        output = truncate_deep_members(redact(step.output))
        if output is not None:
            output = self._spill(output, f"{own_name} verify {step.index}")
        return replace(
            step,
            name=self._redact_text(step.name),
            tool=self._redact_text(step.tool),
            message=self._redact_text(step.message),
            failure=self.redact_failure(step.failure),
            assertions=tuple(self._redact_assertion(row) for row in step.assertions),
            request=redact(step.request),
            output=output,
        )

    def _redact_assertion(self, row: AssertionResult) -> AssertionResult:
        if row.implicit is not None and row.message is None:
            return row  # all of its words are ours
        if row.set is not None:
            name = self._redact_text(row.name)
            inner = tuple(self._redact_assertion(one) for one in row.set.assertions)
            kept = replace(row.set, name=name, assertions=inner)
            message, deferred = self._redact_text(row.message), self._redact_text(row.deferred)
            return replace(row, name=name, message=message, deferred=deferred, set=kept)
        actual, matcher = self._redact_actual(row.actual), self._redact_matcher(row.matcher)
        target, name = self.redact_text(row.target), self._redact_text(row.name)
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
            message=self._redact_text(row.message),
            deferred=self._redact_text(row.deferred),
            note=self._redact_text(row.note),
            reason=self._redact_text(row.reason),
            brief=self._redact_text(row.brief),
            pointer=self._redact_text(row.pointer),
            diff=self._redact_text(row.diff),
            actual=actual,
            judgement=None if row.judgement is None else self._redact_judgement(row.judgement),
        )

    def _redact_matcher(self, matcher: Mapping[str, object]) -> Mapping[str, Any]:
        for operand in matcher.values():
            if type(operand) is not str or self.redact_text(operand) is not operand:
                kept: Mapping[str, Any] = self._redactor.redact(matcher)
                return kept
        return matcher

    def _redact_actual(self, value: object) -> Any:
        """Redact, then truncate; of a long text only a margin past the cut is searched for secrets.

        The end of that margin may be the first half of a secret, and masks may have drawn it near: it is never shown.
        """
        if isinstance(value, str) and len(value) > MARGIN:
            beginning = self.redact_text(value[:MARGIN])
            certain = max(len(beginning) - self._redactor.longest, 0)
            return f"{beginning[: min(certain, RECORD_CHARACTERS)]}… ({len(value)} characters)"
        return truncate(self._redactor.redact(value))

    def redact_failure(self, failure: Failure | None) -> Failure | None:
        """Return the failure without secrets."""
        if failure is None:
            return None
        return replace(
            failure,
            message=self.redact_text(failure.message),
            parts=tuple((part, self.redact_text(text)) for part, text in failure.parts),
            hint=self._redact_text(failure.hint),
            stderr_tail=self._redact_text(failure.stderr_tail),
            scorer_error=None if failure.scorer_error is None else self._redact_error(failure.scorer_error),
            cause=None
            if failure.cause is None
            else replace(failure.cause, beside=self._redact_text(failure.cause.beside)),
        )

    def _redact_error(self, error: Mapping[str, object]) -> Mapping[str, Any]:
        """A scorer's error, whose members are all texts."""
        return {key: self.redact_text(value) if isinstance(value, str) else value for key, value in error.items()}

    def _redact_attempt(self, attempt: Attempt) -> Attempt:
        return attempt if attempt.message is None else replace(attempt, message=self.redact_text(attempt.message))

    def _redact_text(self, text: str | None) -> str | None:
        return None if text is None else self.redact_text(text)
