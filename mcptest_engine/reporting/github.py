"""`github`: GitHub Actions annotations. A failure is an `::error` at the test's line, what is doubtful a `::warning`.

GitHub shows the first ten errors and the first ten warnings of a step as annotations, so what failed the run as a whole comes
first, and a line says when there are more. The job summary beside them is `md`, and written by `cli/sinks.py`.

The escapes are the runner's: `%`, carriage return and newline in a message, and `:` and `,` besides in a property.
Paths are relative to the workspace, which GitHub takes for the repository's root. Source: actions/toolkit,
`command.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import compositions, facts, hook_facts
from mcptest_engine.reporting.failure_text import failure_text
from mcptest_engine.reporting.merge import unjudged_floors
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord, SuiteNotRun
    from mcptest_engine.reporting.registry import RenderOptions

SHOWN = 10
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(record: RunRecord, options: RenderOptions) -> str:
    """The annotations in declared order, those of the run, and a line of sums."""
    lines = [
        _annotation("error" if told.phase == "beforeAll" else "warning", told.text, title=told.phase)
        for told in hook_facts.hook_failures(record)
    ]
    reason = facts.run_reason(record)
    if reason is not None:
        lines.append(_annotation("error", reason, title="mcptest"))
    alike = hook_facts.setup_failure(record) is not None  # the hook's annotation says it for all of them
    tests = (test for test in record.tests if not (alike and hook_facts.is_blocked_by_hook(test)))
    lines += (line for test in tests if (line := _of_test(record, test, options)))
    for suite in record.not_run:
        lines += problem_lines(suite, record.source)
    gates = (*facts.missed_gates(record), *unjudged_floors(record)) if record.exit_code == ExitCode.GATE else ()
    for warning in hook_facts.other_warnings(record):
        lines.append(_annotation("error" if warning in gates else "warning", warning, title="mcptest"))
    lines += _beyond(lines)
    lines += (f"mcptest: composition {name}: {told}" for name, told in compositions.case_sums(record))
    lines += (f"mcptest: {line}" for line in compositions.sum_lines(record))
    lines += (f"mcptest: {line}" for line in facts.suite_lines(record))
    sums = f"{facts.counts_text(record)} in {facts.duration_text(record.duration_ms)}"
    lines.append(f"mcptest: {sums}{', interrupted' if record.interrupted else ''}")
    return "\n".join(lines) + "\n"


def problem_lines(suite: SuiteNotRun, source: Mapping[str, object]) -> list[str]:
    """An annotation for each problem of an invalid suite; `source` is that of a run record."""
    return [
        _annotation(
            "error",
            "\n".join(filter(None, (one["message"], one["hint"]))),
            title="mcptest",
            file=facts.file_in_repository(source, one["file"]),
            line=one["line"] or 0,
            column=one["column"] or 0,
        )
        for one in suite.problems
    ]


def _beyond(lines: list[str]) -> list[str]:
    """A line for each level of which there are more annotations than GitHub shows."""
    counts = {level: sum(line.startswith(f"::{level} ") for line in lines) for level in ("error", "warning")}
    return [
        f"mcptest: GitHub shows {SHOWN} of these {count} {level}s as annotations; this log and the job summary have more"
        for level, count in counts.items()
        if count > SHOWN
    ]


def _of_test(record: RunRecord, test: TestResult, options: RenderOptions) -> str | None:
    if test.verdict is Verdict.FAIL:
        return _at(record, test, "error", failure_text(test, [f"repro: {repro_line(record, test, options)}"]))
    if test.verdict is Verdict.INCONCLUSIVE:
        return _at(record, test, "warning", f"inconclusive: {facts.inconclusive_text(test)}")
    if test.flaky:
        return _at(record, test, "warning", facts.flaky_text(test))
    return None


def _at(record: RunRecord, test: TestResult, level: str, message: str) -> str:
    file, line = facts.place_of(test)
    return _annotation(
        level,
        message,
        file=facts.file_in_repository(record.source, file),
        line=line,
        title=one_line(test.name),
    )


def _annotation(level: str, message: str, *, title: str, file: str = "", line: int = 0, column: int = 0) -> str:
    is_placed = bool(file) and line > 0
    place = {
        "file": file,
        "line": str(line) if is_placed else "",
        "col": str(column) if is_placed and column > 0 else "",
        "title": title,
    }
    properties = ",".join(f"{key}={value.translate(_PROPERTY)}" for key, value in place.items() if value)
    return f"::{level} {properties}::{message.translate(_DATA)}"
