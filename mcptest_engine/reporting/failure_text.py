"""Why a test failed, as the plain lines that most reporters print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.agents import conversation_lines
from mcptest_engine.reporting.compositions import graph_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.results import TestResult


def failure_text(test: TestResult, more: Iterable[str] = (), *, stderr: bool = True) -> str:
    """A failed test's reasons, differences, stderr, hint and `more` as plain lines, without a final newline."""
    lines: list[str] = []
    for text, assertion in facts.reasons(test):
        lines.append(text)
        if assertion is not None:
            lines += ("  " + line for line in facts.diff_lines(assertion))
    if test.trace is not None:
        lines += graph_lines(test) + conversation_lines(test)
    if test.judgement is not None or any(row.judgement for item in test.assertions for row in item.leaves()):
        from mcptest_engine.reporting.judged import judgement_lines  # few tests are graded

        lines += ("  " + line for line in judgement_lines(test))
    if error := facts.scorer_error_text(test):
        lines.append(error)
    tail = facts.stderr_lines(test) if stderr else []
    if tail:
        lines.append(f"stderr of {facts.failed_server(test)}:")
        lines += ("  " + line for line in tail)
    if test.failure is not None and test.failure.rerun_text:
        lines.append(test.failure.rerun_text)
    if test.failure is not None and test.failure.hint:
        lines.append(f"hint: {one_line(test.failure.hint, facts.MESSAGE_LIMIT)}")
    return "\n".join([*lines, *more])
