"""`agent`: a run for a coding agent, which pays for every token: the verdict, then failures, within a budget.

The lines are a contract: `VERDICT`, `FAIL`, `assert:`, `actual:`, `repro:`, `OMITTED`, and `REASON` where a run
failed and no test did, or where all did because `beforeAll` had. `NOTE` says what a pass leaves out, such as the tests
beside a focused one; `STRENGTH` how many of its tests check a value; `INCONCLUSIVE` is a reason and the tests that
have it, since a pass with them checked less.
Every text on them is escaped to one line, so no server can forge another. The budget counts the whole result, a token
for every four characters; the verdict and the first failure are given whatever it is.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from mcptest_engine.core.results import ERROR_FAILURES, FailureKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import CHARACTERS_PER_TOKEN, counted
from mcptest_engine.core.values import dataclass
from mcptest_engine.reporting import facts, hook_facts
from mcptest_engine.reporting.agents import conversation_lines
from mcptest_engine.reporting.compositions import graph_lines
from mcptest_engine.reporting.ledger import ledger_lines
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import HookResult, RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

ASSERT_LIMIT = 600
ACTUAL_LIMIT = 300
NOTES = 3
NAMES = 20
WEAK_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFailure:
    """One failed test for an agent: one line each, `actual` None where nothing came that could be shown.

    `clipped` is true when `actual` is only a part of the value.
    """

    test: str
    assert_: str
    actual: str | None
    clipped: bool
    repro: str


def render(record: RunRecord, options: RenderOptions) -> str:
    """The verdict line, the reason where no test gives it, and as many failures as the budget holds."""
    head = _verdict(record) + _reason(record) + _notes(record)
    failures = facts.tests_with(record, Verdict.FAIL)
    undecided = _undecided(record)
    blocks: list[str] = []
    size = len(head)
    for test in failures:
        block = _block(agent_failure(record, test, options))
        size += len(block)
        if blocks and _tokens(size) > options.agent_budget:
            break
        blocks.append(block)
    if len(blocks) == len(failures):
        return _with_undecided(head + "".join(blocks), undecided, options.agent_budget)
    return _shortened(head, blocks, len(failures), options.agent_budget)


def agent_failure(record: RunRecord, test: TestResult, options: RenderOptions) -> AgentFailure:
    """What an agent needs of one failed test: the first reason, what came instead, and how to run it again."""
    actual, clipped = _actual(test)
    if hook_facts.is_blocked_by_hook(test):
        around = (hook for hook in hook_facts.failed_hooks(record) if hook.test == test.id)
        actual = next((text for hook in around for text in _hook_output(hook)), None)
    return AgentFailure(
        test=one_line(test.name),
        assert_=_assert(test),
        actual=actual,
        clipped=clipped,
        repro=repro_line(record, test, options),
    )


def _notes(record: RunRecord) -> str:
    """Tests that were changed to pass, and the warnings of a run that passed: nobody would look for what is missing in it.

    Of other runs, what no failure says.
    """
    unchecked = facts.unchecked_text(record)
    told = record.warnings
    if record.verdict is not Verdict.PASS:
        told = () if record.interrupted or _reason(record) else tuple(_run_problems(record))
    told = (unchecked, *told) if unchecked else told
    not_run = facts.not_run_lines(record.not_run)
    more = [f"{counted(len(not_run) - NOTES, 'more suite')} not run"] if len(not_run) > NOTES else []
    mixed = (one for one in facts.repeated_tests(record) if one.passed < one.runs)
    repeats = (f"{one.text}: {one.name}" for one in islice(mixed, NOTES))
    told = (*ledger_lines(record), *not_run[:NOTES], *more, *told[:NOTES], *repeats)
    notes = "".join(f"NOTE {one_line(text, ACTUAL_LIMIT)}\n" for text in told) + _strength(record)
    effects = "" if record.effects is None else record.effects.summary()
    return f"{notes}EFFECTS {effects}\n" if effects else notes


def _run_problems(record: RunRecord) -> Iterator[str]:
    """What is amiss in cleaning up, in metrics, coverage and effects: it fails no test."""
    yield from facts.missed_gates(record)
    names = {test.id: test.name for test in record.tests}
    for hook in hook_facts.failed_hooks(record):
        if hook.phase in ("afterEach", "afterAll"):
            yield hook.summary if hook.test is None else f"{names.get(hook.test, hook.test)}: {hook.summary}"
    missing: dict[str, str] = {}
    for test in record.tests:
        for text in (text for metric in test.derived_metrics for text in metric.missing_texts()):
            missing.setdefault(text, test.name)
    yield from (f"{name}: {text}" for text, name in missing.items())


def _strength(record: RunRecord) -> str:
    """Of a run that passed: how many tests check a value, and which passed without looking at the answer."""
    counts = facts.strength_counts(record)
    if not counts or record.verdict is not Verdict.PASS:
        return ""
    weak = facts.weak_tests(record)
    shown = "; ".join(one_line(test.name, 100) for test in weak[:WEAK_NAMES])
    more = f"; and {len(weak) - WEAK_NAMES} more" if len(weak) > WEAK_NAMES else ""
    return f"STRENGTH {facts.value_checks(counts)}{f', weak: {shown}{more}' if weak else ''}\n"


def _undecided(record: RunRecord) -> list[tuple[str, int]]:
    """A line for each reason why tests are inconclusive, and how many have it."""
    return [
        (f"INCONCLUSIVE {one_line(reason, ACTUAL_LIMIT)}: {_names(tests)}\n", len(tests))
        for reason, tests in facts.inconclusive_groups(record)
    ]


def _names(tests: tuple[TestResult, ...]) -> str:
    shown = "; ".join(one_line(test.name, ACTUAL_LIMIT) for test in tests[:NAMES])
    return shown if len(tests) <= NAMES else f"{shown}; and {len(tests) - NAMES} more"


def _with_undecided(text: str, undecided: list[tuple[str, int]], budget: int) -> str:
    """The text with as many lines of reasons as the budget holds, and how many tests those are that it does not."""
    left = sum(count for _, count in undecided)
    for line, count in undecided:
        more = f"OMITTED {left} inconclusive\n"
        if _tokens(len(text) + len(line) + (len(more) if left > count else 0)) > budget:
            return text + more
        text += line
        left -= count
    return text


def _shortened(head: str, blocks: list[str], failures: int, budget: int) -> str:
    """The text with as many blocks as leave room for saying how many are missing, and at least one."""
    while True:
        text = head + "".join(blocks) + _omitted(failures - len(blocks))
        if len(blocks) == 1 or _tokens(len(text)) <= budget:
            return text
        blocks.pop()


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _verdict(record: RunRecord) -> str:
    totals = record.totals
    rest = f"{totals.failed} failed, {totals.inconclusive} inconclusive, {totals.cached} cached"
    passed = f"{totals.passed}/{totals.total} passed"
    return f"VERDICT {record.verdict.value} {passed} ({rest}, {record.duration_ms:.0f}ms)\n"


def _reason(record: RunRecord) -> str:
    reason = facts.run_reason(record)
    setup = hook_facts.setup_failure(record)
    if setup is not None and reason is None:  # every test gives this reason: what the hook wrote is said here, once
        return f"REASON {'; '.join([one_line(setup.summary, ASSERT_LIMIT), *_hook_output(setup)])}\n"
    if reason is None:
        return ""
    not_run = facts.not_run_lines(record.not_run)  # each has a note
    told = [reason, *(warning for warning in record.warnings if warning not in not_run)]
    return f"REASON {one_line('; '.join(told), ASSERT_LIMIT)}\n"


def _hook_output(hook: HookResult) -> Iterator[str]:
    """`output: …`, the end of what a failed hook wrote, if it wrote anything."""
    text = one_line("\n".join(hook_facts.output_lines(hook)))
    if text:
        yield f"output: {text if len(text) <= ACTUAL_LIMIT else '…' + text[-ACTUAL_LIMIT:]}"


def _block(failure: AgentFailure) -> str:
    actual = f"actual: {failure.actual}\n" if failure.actual is not None else ""
    return f"FAIL {failure.test}\nassert: {failure.assert_}\n{actual}repro: {failure.repro}\n"


def _omitted(count: int) -> str:
    return f"OMITTED {count} more failures (raise the agent reporter token budget to see them)\n"


def _assert(test: TestResult) -> str:
    """The first reason, the number of further ones, and the hint. After a sum, of a set or a score, the first part of it."""
    first, *further = facts.reasons(test)
    text = one_line(first.text, ASSERT_LIMIT)
    kind = None if test.failure is None else test.failure.kind
    sums = kind is FailureKind.SCORE if first.assertion is None else first.assertion.set is not None
    while sums and further and (row := further[0].assertion) is not None:
        part, *further = further
        text = f"{text}: {one_line(part.text, ASSERT_LIMIT)}"
        sums = row.set is not None
    what = "more failed assertion" if all(reason.assertion is not None for reason in further) else "more reason"
    also = f" (and {counted(len(further), what)})" if further else ""
    hint = test.failure.hint if test.failure is not None else None
    if test.failure is not None and test.failure.rerun_text:
        also += f" ({test.failure.rerun_text})"
    return text + also + (f" (hint: {one_line(hint, ACTUAL_LIMIT)})" if hint else "")


def _actual(test: TestResult) -> tuple[str | None, bool]:
    """What came: the value that the assertion of the first reason saw, what was graded, or the last words of who failed."""
    failed = facts.shown_assertion(test)
    if test.judgement is not None and isinstance(test.judgement.get("output"), str):
        text = one_line(test.judgement["output"])
        return one_line(text, ACTUAL_LIMIT), len(text) > ACTUAL_LIMIT
    if failed is None and test.trace is not None:
        text = one_line("; ".join(line.strip() for line in (*graph_lines(test), *conversation_lines(test))))
        return (one_line(text, ACTUAL_LIMIT), len(text) > ACTUAL_LIMIT) if text else (None, False)
    if failed is not None:
        if failed.absent:
            return None, False
        text = facts.value_text(failed.actual)
        return one_line(text, ACTUAL_LIMIT), len(text) > ACTUAL_LIMIT
    tail = "\n".join(facts.stderr_lines(test))
    if not tail or (test.failure is not None and test.failure.kind in {FailureKind.ASSERTION, *ERROR_FAILURES}):
        return None, False
    text = one_line(tail)
    # The end of a traceback says what went wrong, its beginning does not.
    return "stderr: " + (text if len(text) <= ACTUAL_LIMIT else "…" + text[-ACTUAL_LIMIT:]), len(text) > ACTUAL_LIMIT
