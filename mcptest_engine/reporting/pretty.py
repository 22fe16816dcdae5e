"""`pretty`: a run for a person at a terminal, or reading a log. One line a test, what failed in detail, one line of sums.

The list is what takes the time with thousands of passing tests, so a plain name goes through no more than a check and a
concatenation. The words carry the meaning; colours only repeat it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import TestKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted, number_text
from mcptest_engine.reporting import agents, compositions, facts, hook_facts, judged
from mcptest_engine.reporting.layout import WORDS, Ink, columns, fold, pad, word_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

INDENT = "  "
NAME_COLUMNS = 56  # longer names push their own line's time to the right and nobody else's
MIN_NAME_COLUMNS = 16
TIME_COLUMNS = 16  # what is kept free behind a name on a terminal
SLOWEST_SHOWN = 3
SLOWEST_FROM_TESTS = 5
SLOW_MS = 100.0


def render(record: RunRecord, options: RenderOptions) -> str:
    """Tests, compositions, failures in detail, the slowest, repeats, metrics, costs, warnings and sums; blank lines between."""
    ink = Ink(on=options.color)
    sections = (
        *_lists(record, options, ink),
        compositions.list_lines(record, ink),
        *_failures(record, options, ink),
        _slowest(record, ink),
        _repeats(record),
        _metrics(record, ink),
        compositions.spending_lines(record, ink),
        [line for warning in hook_facts.other_warnings(record) for line in _labelled("warning", warning, options, ink)],
        [INDENT + line for line in facts.suite_lines(record)],
        [*compositions.sum_lines(record), _trailer(record, ink)],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _lists(record: RunRecord, options: RenderOptions, ink: Ink) -> tuple[list[str], ...]:
    """The tests, under the path of each suite where there are several."""
    tests = [test for test in record.tests if test.kind is not TestKind.COMPOSITION]
    if not record.suites:
        return (_test_list(tests, options, ink),)
    return tuple(
        [INDENT + ink.bold(one_line(run.path)), *_test_list(own, options, ink)]
        for run in record.suites
        if (own := [test for test in tests if test.id.startswith(f"{run.path}::")])
    )


def _test_list(tests: Sequence[TestResult], options: RenderOptions, ink: Ink) -> list[str]:
    """One line a test in declared order; under a heading a server where there are several."""
    names = [one_line(test.name) for test in tests]
    word_width = max((len(WORDS[verdict]) for verdict in {test.verdict for test in tests}), default=0)
    words = {verdict: f"{INDENT}{word_of(verdict, ink, word_width)}{INDENT}" for verdict in WORDS}
    margin = len(INDENT) * 2 + word_width
    room = max(options.width - margin - TIME_COLUMNS, MIN_NAME_COLUMNS) if options.width else NAME_COLUMNS
    width = max((min(columns(name), NAME_COLUMNS, room) for name in names), default=0)
    by_server: dict[str, list[str]] = {}
    for test, name in zip(tests, names, strict=True):
        rows = by_server.setdefault(test.server, [])
        if (
            test.verdict is Verdict.PASS
            and not test.flaky
            and not test.cached
            and test.score is None
            and not test.derived_metrics
            and test.trace is None
            and test.judgement is None
            and name.isascii()
            and len(name) <= width
        ):
            time = ink.dim(f"({facts.duration_text(test.duration_ms)})")
            rows.append(f"{words[Verdict.PASS]}{name.ljust(width)}  {time}")
        else:
            rows += _test_rows(words[test.verdict], test, name, (margin, width, options.width), ink)
    blocks = [
        [INDENT + ink.bold(one_line(server) or "(no server)"), *rows] if len(by_server) > 1 else rows
        for server, rows in by_server.items()
    ]
    return [line for number, block in enumerate(blocks) for line in (["", *block] if number else block)]


def _test_rows(word: str, test: TestResult, name: str, sizes: tuple[int, int, int], ink: Ink) -> Iterator[str]:
    """A test's line, and below it what a terminal has no room for beside it.

    `sizes` are the columns before the name, those of the name, and those of the terminal (0: as many as it takes).
    """
    margin, width, limit = sizes
    *folded, last = fold(name, limit - margin) if limit else [name]
    skipped = test.verdict is Verdict.SKIP
    cached = ", cached" if test.cached else ""
    took = f", {text}" if (text := agents.took_text(test)) else ""
    time = "" if skipped else f"  ({facts.duration_text(test.duration_ms)}{took}{cached})"
    remark = facts.listed_remark(test)
    beside = not limit or margin + width + len(time) + len(INDENT) + columns(remark) <= limit
    row = pad(last, width) + ink.dim(time) + (INDENT + ink.yellow(remark) if remark and beside else "")
    if folded:
        yield word + folded[0]
        yield from (" " * margin + line for line in folded[1:])
    yield ((" " * margin if folded else word) + row).rstrip()
    if reason := judged.reason_text(test):
        yield from (
            " " * margin + ink.dim(line) for line in fold(reason, max(limit - margin, MIN_NAME_COLUMNS) if limit else 0)
        )
    if remark and not beside:
        yield from (" " * margin + ink.yellow(line) for line in fold(remark, max(limit - margin, MIN_NAME_COLUMNS)))


def _failures(record: RunRecord, options: RenderOptions, ink: Ink) -> tuple[list[str], ...]:
    """What failed in detail: the tests, and the hooks."""
    if not facts.tests_with(record, Verdict.FAIL) and not hook_facts.failed_hooks(record):
        return ()
    from mcptest_engine.reporting.pretty_failures import failure_blocks, hook_blocks

    return failure_blocks(record, options, ink), hook_blocks(record, options, ink)


def _slowest(record: RunRecord, ink: Ink) -> list[str]:
    """The slowest tests by their own time, where there are enough to compare and some stand out from the middle one."""
    tests = record.tests
    if len(tests) < SLOWEST_FROM_TESTS:
        return []
    times = sorted(test.own_ms for test in tests)
    least = max(SLOW_MS, 2 * times[len(times) // 2])
    slow = sorted((test for test in tests if test.own_ms > least), key=lambda test: -test.own_ms)
    if not slow:
        return []
    shown = slow[:SLOWEST_SHOWN]
    width = max(len(facts.duration_text(test.duration_ms)) for test in shown)
    lines = [f"{INDENT}slowest"]
    for test in shown:
        time, behind = facts.duration_text(test.duration_ms).rjust(width), facts.behind_text(test)
        suite = one_line(test.id.partition("::")[0]) if record.suites else ""
        more = f"  ({', '.join(filter(None, (suite, behind)))})" if suite or behind else ""
        lines.append(f"{INDENT * 2}{ink.dim(time)}  {one_line(test.name)}{ink.dim(more) if more else ''}")
    return lines


def _repeats(record: RunRecord) -> list[str]:
    """How many runs of each repeated test passed."""
    repeats = facts.repeated_tests(record)
    width = max((columns(one.name) for one in repeats), default=0)
    rows = [f"{INDENT * 2}{pad(one.name, width)}  {one.text}" for one in repeats]
    return [f"{INDENT}repeats", *rows] if rows else []


def _metrics(record: RunRecord, ink: Ink) -> list[str]:
    """Each metric's mean over the run."""
    rollups = [(one_line(rollup.name), rollup) for rollup in record.metric_rollups]
    if not rollups:
        return []
    width = max(columns(name) for name, _ in rollups)
    rows = (
        f"{INDENT * 2}{pad(name, width)}  {number_text(found.mean)}  "
        + ink.dim(f"mean of {counted(found.count, 'test')}")
        for name, found in rollups
    )
    return [f"{INDENT}metrics", *rows]


def _labelled(label: str, text: str, options: RenderOptions, ink: Ink) -> Iterator[str]:
    """`  label: text`, its further lines under the text's beginning."""
    room = max(options.width - len(INDENT) - len(label) - 2, 20) if options.width else 0
    first, *rest = fold(text, room)
    yield f"{INDENT}{ink.yellow(label + ':')} {first}"
    for line in rest:
        yield f"{INDENT}{' ' * (len(label) + 2)}{line}"


def _trailer(record: RunRecord, ink: Ink) -> str:
    """`2 passed, 0 failed in 99ms`, with the reason in front where the run failed and no test says why."""
    sums = f"{facts.counts_text(record)} in {facts.duration_text(record.duration_ms)}"
    reason = facts.run_reason(record)
    if reason is not None:
        sums = f"{'interrupted' if record.interrupted else reason}: {sums}"
    if record.verdict is Verdict.FAIL:
        return ink.strong_red(sums)
    nothing_passed = record.totals.passed == 0
    return ink.strong_yellow(sums) if nothing_passed or record.totals.inconclusive else ink.strong_green(sums)
