"""What every reporter says of a run, read off the record once: reasons, counts, durations, values as text.

All text given here is one line and sanitised, whoever it came from: names, messages and values may be a server's
words. A reporter adds the escaping of its own format.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.results import FailureKind, Verdict
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.results import AssertionResult, RunRecord, TestResult

MESSAGE_LIMIT = 2000
STDERR_LINES = 12
DIFF_LINES = 40

_EXIT_REASONS: dict[int, str] = {
    ExitCode.FAILED: "the run failed",
    ExitCode.INVALID: "the suite or the command line is invalid",
    ExitCode.NOT_READY: "the servers were not ready in time",
    ExitCode.POLICY: "refused by policy",
    ExitCode.GATE: "a quality gate was not met",
    ExitCode.NO_TESTS: "the selection matched no test",
    ExitCode.INTERRUPTED: "the run was interrupted",
}


def duration_text(milliseconds: float) -> str:
    """`<1ms`, `12ms`, `3.4s`, `2m 05s`."""
    if milliseconds < 999.5:
        return f"{milliseconds:.0f}ms" if milliseconds >= 1 or milliseconds <= 0 else "<1ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f}s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return f"{minutes}m {seconds:02d}s"


def tests_with(record: RunRecord, verdict: Verdict) -> tuple[TestResult, ...]:
    """The tests that came to `verdict`, in declared order."""
    return tuple(test for test in record.tests if test.verdict is verdict)


def flaky_tests(record: RunRecord) -> tuple[TestResult, ...]:
    """The tests that passed only after a failed attempt, in declared order."""
    return tuple(test for test in record.tests if test.flaky)


def counts_text(record: RunRecord) -> str:
    """`2 passed, 0 failed, 0 inconclusive`, and the rest where there are any. Source: decisions 4, every summary."""
    totals = record.totals
    rare = (
        (totals.skipped, "skipped"),
        (len(flaky_tests(record)), "flaky"),
        (totals.cached, "cached"),
    )
    more = "".join(f", {count} {word}" for count, word in rare if count)
    return f"{totals.passed} passed, {totals.failed} failed, {totals.inconclusive} inconclusive{more}"


def failed_assertions(test: TestResult) -> tuple[AssertionResult, ...]:
    """The assertions that did not hold; deferred ones are not among them."""
    return tuple(assertion for assertion in test.assertions if assertion.passed is False)


def reasons(test: TestResult) -> tuple[str, ...]:
    """Why a test failed, at least one line: each failed assertion, then what failed besides."""
    found = [assertion_text(assertion) for assertion in failed_assertions(test)]
    failure = test.failure
    if failure is not None and (failure.kind is not FailureKind.ASSERTION or not found):
        # The message of a refused token is ours and has three lines; any other line break is a server's.
        lines = failure.message.split("\n") if failure.kind is FailureKind.AUTH else [failure.message]
        found += [one_line(line, MESSAGE_LIMIT) for line in lines]
    return tuple(found) or (one_line(test.message or "failed without a reason", MESSAGE_LIMIT),)


def assertion_text(assertion: AssertionResult) -> str:
    """The line of an assertion that did not hold."""
    message = assertion.message or f"assertion #{assertion.index} (`{assertion.target}`) failed"
    return one_line(message, MESSAGE_LIMIT)


def remark(test: TestResult) -> str:
    """The reason of a skipped or inconclusive test, or ""."""
    if test.message:
        return one_line(test.message, MESSAGE_LIMIT)
    deferred = (assertion.message for assertion in test.assertions if assertion.passed is None)
    return next((one_line(message, MESSAGE_LIMIT) for message in deferred if message), "")


def inconclusive_text(test: TestResult) -> str:
    """Why a test is inconclusive, never empty."""
    return remark(test) or "there was nothing to judge by"


def flaky_text(test: TestResult) -> str:
    """How a flaky test came to its pass."""
    return f"flaky: passed at attempt {max(len(test.attempts), 2)}"


def run_reason(record: RunRecord) -> str | None:
    """Why the run as a whole did not pass where no failed test says it, or None.

    Such runs are those that were interrupted, refused, stopped at a gate, or that selected no test; their warnings
    say more.
    """
    if record.interrupted:
        return _EXIT_REASONS[ExitCode.INTERRUPTED]
    if record.verdict is not Verdict.FAIL or (record.totals.failed and record.exit_code == ExitCode.FAILED):
        return None
    words = _EXIT_REASONS.get(record.exit_code, _EXIT_REASONS[ExitCode.FAILED])
    return f"{words} (exit code {record.exit_code})"


def warning_texts(record: RunRecord) -> tuple[str, ...]:
    """The run's warnings, one line each."""
    return tuple(one_line(warning, MESSAGE_LIMIT) for warning in record.warnings)


def place(test: TestResult) -> str:
    """`file:line` of the test's entry, the file alone without a line, or ""."""
    file = one_line(test.file)
    return f"{file}:{test.line}" if file and test.line > 0 else file


def diff_lines(assertion: AssertionResult) -> list[str]:
    """The lines of an assertion's diff, sanitised, cut with a note where they are many; [] without a diff."""
    lines = _lines(assertion.diff or "")
    if len(lines) <= DIFF_LINES:
        return lines
    return [*lines[:DIFF_LINES], f"… {counted(len(lines) - DIFF_LINES, 'more line')}"]


def stderr_lines(test: TestResult, limit: int = STDERR_LINES) -> list[str]:
    """The last lines of the stderr that a failure carries, sanitised; [] without one."""
    tail = test.failure.stderr_tail if test.failure is not None else None
    return _lines(tail or "")[-limit:]


def value_text(value: Any) -> str:
    """A value on one line: a text as it is, anything else as compact JSON."""
    if isinstance(value, str) and value:
        return one_line(value)
    return one_line(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))


def detail_text(test: TestResult, more: Iterable[str] = (), *, stderr: bool = True) -> str:
    """A failed test's reasons, differences, stderr, hint and `more` as plain lines, without a final newline."""
    failed = failed_assertions(test)
    lines: list[str] = []
    for number, reason in enumerate(reasons(test)):
        lines.append(reason)
        if number < len(failed):
            lines += ("  " + line for line in diff_lines(failed[number]))
    tail = stderr_lines(test) if stderr else []
    if tail:
        lines.append(f"stderr of {one_line(test.server)}:")
        lines += ("  " + line for line in tail)
    if test.failure is not None and test.failure.hint:
        lines.append(f"hint: {one_line(test.failure.hint, MESSAGE_LIMIT)}")
    return "\n".join([*lines, *more])


def _lines(text: str) -> list[str]:
    """The lines of a text of several, sanitised; other line separators than the newline are made visible first."""
    return (
        [line.rstrip() for line in sanitise(text.replace("\r\n", "\n").strip("\n")).split("\n")] if text.strip() else []
    )
