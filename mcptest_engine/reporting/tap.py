"""`tap`: Test Anything Protocol, version 14, with a YAML diagnostic block under each test that did not pass.

A test that could not be judged is `not ok … # TODO inconclusive`: shown, never a pass, and by TAP's own rule no
failure. A run that failed without a failed test ends in `Bail out!`, as does an interrupted one. Source:
testanything.org, TAP 14.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mcptest_engine.core.results import FailureKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import compositions, facts, hook_facts
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

# What a YAML reader refuses, or takes for the end of a line, and may stand escaped in a double-quoted scalar.
_NOT_PLAIN_YAML = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def render(record: RunRecord, options: RenderOptions) -> str:
    """The version, the plan, a line for each test in declared order, and the reason where the run itself failed."""
    reason = facts.run_reason(record)
    lines = ["TAP version 14", f"1..{len(record.tests)}"]
    if not record.tests and reason is None:
        lines[-1] += " # SKIP no tests"
    if unchecked := facts.unchecked_text(record):
        lines.append(f"# {_plain(unchecked)}")
    for number, test in enumerate(record.tests, start=1):
        lines += _point(record, number, test, options)
    if reason is not None:
        lines.append(f"Bail out! {_plain('; '.join([reason, *facts.warning_texts(record)]))}")
    else:
        lines += (f"# {warning}" for warning in hook_facts.other_warnings(record))
    lines += (f"# {_plain(line)}" for line in _compositions(record))
    for told in hook_facts.hook_failures(record):
        lines += (f"# {line}" for line in told.text.split("\n"))
    return "\n".join(lines) + "\n"


def _compositions(record: RunRecord) -> Iterator[str]:
    yield from (f"composition {name}: {told}" for name, told in compositions.case_sums(record))
    yield from compositions.sum_lines(record)


def _point(record: RunRecord, number: int, test: TestResult, options: RenderOptions) -> Iterator[str]:
    name = _plain(one_line(test.name))
    match test.verdict:
        case Verdict.PASS:
            yield f"ok {number} - {name}"
            told = [*_marks(test), *_scores(test)]
            if told:
                yield from _diagnostics([f"duration_ms: {test.duration_ms}", *told])
        case Verdict.SKIP:
            yield f"ok {number} - {name} # SKIP {_plain(facts.remark(test))}".rstrip()
        case Verdict.INCONCLUSIVE:
            yield f"not ok {number} - {name} # TODO inconclusive: {_plain(facts.inconclusive_text(test))}"
        case Verdict.FAIL:
            yield f"not ok {number} - {name}"
            yield from _diagnostics(_failure_lines(record, test, options))


def _marks(test: TestResult) -> Iterator[str]:
    if test.cached:
        yield "cached: true"
    if test.flaky:
        yield "flaky: true"


def _failure_lines(record: RunRecord, test: TestResult, options: RenderOptions) -> Iterator[str]:
    """The members of a failed test's diagnostic block."""
    first, *further = facts.reasons(test)
    failure = test.failure
    yield f"message: {_quoted(first.text)}"
    if further:
        yield "also:"
        yield from (f"  - {_quoted(reason.text)}" for reason in further)
    yield "severity: fail"
    yield f"kind: {(failure.kind if failure is not None else FailureKind.ASSERTION).value}"
    if error := facts.scorer_error_members(test):
        yield "scorer_error:"
        yield from (f"  {key}: {_quoted(value)}" for key, value in error.items())
    yield f"duration_ms: {test.duration_ms}"
    yield from _marks(test)
    yield "at:"
    file, line = facts.place_of(test)
    yield f"  file: {_quoted(one_line(file))}"
    yield f"  line: {line}"
    yield f"server: {_quoted(facts.failed_server(test) if test.trace is not None else one_line(test.server))}"
    yield from _scores(test)
    assertion = facts.shown_assertion(test)
    if assertion is not None:
        if not assertion.absent:
            yield f"found: {_quoted(one_line(facts.value_text(assertion.actual), 300))}"
        yield from _literal("diff", facts.diff_lines(assertion))
    yield from _literal("graph", compositions.graph_lines(test))
    yield from _literal("stderr", facts.stderr_lines(test))
    if failure is not None and failure.rerun_text:
        yield f"note: {_quoted(failure.rerun_text)}"
    if failure is not None and failure.hint:
        yield f"hint: {_quoted(one_line(failure.hint))}"
    if len(test.attempts) > 1:
        yield f"attempts: {len(test.attempts)}"
    yield f"repro: {_quoted(repro_line(record, test, options))}"


def _scores(test: TestResult) -> list[str]:
    """The score, its threshold and the metrics, as members of a diagnostic block."""
    found = [] if test.score is None else [f"score: {test.score!r}", f"threshold: {test.threshold!r}"]
    if test.derived_metrics:
        found.append("metrics:")
        found += [f"  {_quoted(one_line(metric.name))}: {metric.value!r}" for metric in test.derived_metrics]
    return found


def _diagnostics(members: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield "  ---"
    yield from (f"  {member}" for member in members)
    yield "  ..."


def _literal(key: str, lines: Sequence[str]) -> Iterator[str]:
    """A text of several lines as a block scalar, or quoted where a reader might see the end of the block in it."""
    if not lines:
        return
    if any(line.lstrip().startswith("...") or _NOT_PLAIN_YAML.search(line) for line in lines):
        text = "\n".join(lines)
        yield f"{key}: {_quoted(text)}"
        return
    yield f"{key}: |2-"
    yield from (f"  {line}" if line else "" for line in lines)


def _quoted(text: str) -> str:
    """A text as a double-quoted YAML scalar; JSON's are that, but for what YAML cannot print."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isascii() else _NOT_PLAIN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _plain(text: str) -> str:
    """A description, a directive's reason: one line in which `#` begins no directive."""
    return text.replace("\\", "\\\\").replace("#", "\\#")
