"""The failures of `pretty`, one block each: what, where, why, what differs, what the server said, how to run it again.

Several lines from a server stand behind a bar, so that none of them can pass for a line of the report, or, in a CI
log, for a command to the runner. A server's last words are printed once, however many tests they ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import ERROR_FAILURES, FailureKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import render_pointer
from mcptest_engine.reporting import agents, compositions, facts, hook_facts, judged
from mcptest_engine.reporting.layout import WORDS, fold, word_of
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.results import AssertionResult, TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.layout import Ink
    from mcptest_engine.reporting.registry import RenderOptions

BAR = "│ "
_PLAIN = ERROR_FAILURES | {FailureKind.ASSERTION, FailureKind.INVALID}
_MARGIN = 5  # the columns in front of a block's body


def failure_blocks(record: RunRecord, options: RenderOptions, ink: Ink) -> list[str]:
    """The lines of every failed test's block, a blank one between two blocks; [] when nothing failed.

    Tests that a failed `beforeAll` kept from running have none: the hook's own block says it for all of them.
    """
    failed = facts.tests_with(record, Verdict.FAIL)
    if hook_facts.setup_failure(record) is not None:
        failed = tuple(test for test in failed if not hook_facts.is_blocked_by_hook(test))
    several_servers = len({test.server for test in record.tests}) > 1
    told: dict[tuple[str, str], int] = {}
    lines: list[str] = []
    for number, test in enumerate(failed, start=1):
        body = [
            *_heading(test, several_servers, ink),
            *_why(test, options, ink),
            *_graph(test, options),
            *_verify(test, options, ink),
            *_stderr(test, number, told, ink),
            *_remedies(record, test, options, ink),
        ]
        label = f"{number})".rjust(_MARGIN - 1)
        title = f"{label} {ink.strong_red(one_line(test.name))}"
        lines += ([""] if lines else []) + [title, *(f"{' ' * _MARGIN}{line}" for line in body)]
    return lines


def hook_blocks(record: RunRecord, options: RenderOptions, ink: Ink) -> list[str]:
    """The lines of every hook that failed, with the end of its output; [] when none did."""
    lines = []
    for told in hook_facts.hook_failures(record):
        first, *rest = fold(told.title, _room(options))
        lines.append(f"{' ' * _MARGIN}{ink.strong_red(first)}")
        lines += [f"{' ' * _MARGIN}{ink.strong_red(line)}" for line in rest]
        lines += [f"{' ' * _MARGIN}  {ink.dim(BAR)}{line}".rstrip() for line in told.lines]
    return ["  hooks", *lines] if lines else []


def _heading(test: TestResult, several_servers: bool, ink: Ink) -> Iterator[str]:
    """Where the test stands, its server where that is not plain, and the kind of a failure that is no assertion's."""
    failure = test.failure
    server = facts.failed_server(test) if test.trace is not None else one_line(test.server)
    provider = agents.provider_failure_text(test)
    is_server = not provider and (failure is None or failure.scorer_error is None)
    kind = facts.scorer_error_text(test) or provider or (f"{failure.kind.value} failure" if failure is not None else "")
    parts = [
        facts.place(test),
        f"server {server}" if is_server and (several_servers or server != one_line(test.server)) else "",
        f"({kind})" if failure is not None and failure.kind not in _PLAIN else "",
    ]
    if any(parts):
        yield ink.dim("  ".join(part for part in parts if part))


def _why(test: TestResult, options: RenderOptions, ink: Ink) -> Iterator[str]:
    """Each reason, and under that of an assertion the first place that differs and the diff."""
    for text, assertion in facts.reasons(test):
        yield from fold(text, _room(options))
        if assertion is not None:
            yield from _difference(assertion, ink)


def _difference(assertion: AssertionResult, ink: Ink) -> Iterator[str]:
    place = one_line(render_pointer(assertion.pointer or ""))
    if place and f"`{place}`" not in (assertion.message or ""):
        yield f"  at {ink.cyan(place)}"
    for line in facts.diff_lines(assertion):
        paint = ink.red if line.startswith("-") else ink.green if line.startswith("+") else ink.dim
        yield f"  {ink.dim(BAR)}{paint(line)}".rstrip()


def _graph(test: TestResult, options: RenderOptions) -> Iterator[str]:
    """What failed in the graph of a composition, and what that kept from running; what models called, said and judged."""
    for line in (*compositions.graph_lines(test), *agents.conversation_lines(test), *judged.judgement_lines(test)):
        own = line.lstrip(" ")
        margin = " " * (len(line) - len(own))
        first, *rest = fold(own, max(_room(options) - len(margin), 0))
        yield margin + first
        yield from (f"{margin}  {further}" for further in rest)


def _verify(test: TestResult, options: RenderOptions, ink: Ink) -> Iterator[str]:
    """Every step of `verify` with its verdict, in order: what of the state was as expected, and what was not.

    Where a single step failed, the reason has said it all.
    """
    if not test.verify or (len(test.verify) == 1 and test.verify[0].failure is not None):
        return
    yield "verified:"
    width = max(len(WORDS[step.verdict]) for step in test.verify)
    for step in test.verify:
        called = one_line(step.called, 200)
        reason = f": {one_line(step.message, 200)}" if step.verdict is Verdict.SKIP and step.message else ""
        first, *rest = fold(f"{called}{reason}", max(_room(options) - width - 4, 0))
        yield f"  {word_of(step.verdict, ink, width)}  {first}"
        yield from (f"{' ' * (width + 4)}{line}" for line in rest)


def _stderr(test: TestResult, number: int, told: dict[tuple[str, str], int], ink: Ink) -> Iterator[str]:
    tail = facts.stderr_lines(test)
    if not tail:
        return
    server = facts.failed_server(test)
    first = told.setdefault((server, "\n".join(tail)), number)
    if first != number:
        yield f"stderr of {server}: as under {first})"
        return
    yield f"stderr of {server}:"
    for line in tail:
        yield f"  {ink.dim(BAR)}{line}".rstrip()


def _remedies(record: RunRecord, test: TestResult, options: RenderOptions, ink: Ink) -> Iterator[str]:
    if test.failure is not None and test.failure.rerun_text:
        yield test.failure.rerun_text
    if test.failure is not None and test.failure.hint:
        first, *rest = fold(f"hint: {one_line(test.failure.hint, facts.MESSAGE_LIMIT)}", _room(options))
        yield ink.yellow(first)
        yield from (ink.yellow(f"      {line}") for line in rest)
    fault = facts.fault_text(test)
    if fault is not None:
        yield fault
    if len(test.attempts) > (2 if fault is not None and test.attempts[0].verdict is Verdict.INCONCLUSIVE else 1):
        yield f"attempts: {', '.join(_attempts(test))}"
    # Never folded: it is there to be copied.
    yield f"{ink.dim('repro:')} {repro_line(record, test, options)}"


def _attempts(test: TestResult) -> Iterator[str]:
    """Each attempt's verdict and time, and its reason where that is another one than the test's."""
    final = facts.reasons(test)[0].text
    for attempt in test.attempts:
        message = one_line(attempt.message or "", 120)
        other = f", {message}" if message and message != one_line(final, 120) else ""
        yield f"{attempt.verdict.value} ({facts.duration_text(attempt.duration_ms)}{other})"


def _room(options: RenderOptions) -> int:
    return max(options.width - _MARGIN, 30) if options.width else 0
