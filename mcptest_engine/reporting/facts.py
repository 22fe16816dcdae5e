"""What every reporter says of a run, read off the record once: reasons, counts, durations, values as text.

All text given here is one line and sanitised, whoever it came from: names, messages and values may be a server's
words. A reporter adds the escaping of its own format.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.costs import base_id
from mcptest_engine.core.enums import Strength, is_weak
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.results import JUDGED_FAILURES, FailureKind, Part, Verdict
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.text import LONG_WAIT_MS, counted, number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.results import AssertionResult, Failure, TestResult, VerifyResult
    from mcptest_engine.core.run_record import RunRecord, SuiteNotRun, SuiteRun

UNKNOWN = "unknown"
MESSAGE_LIMIT = 2000
STDERR_LINES = 12
DIFF_LINES = 40
_SCORED_FAILURES = frozenset({FailureKind.SCORE, FailureKind.METRIC})

_EXIT_REASONS: dict[int, str] = {
    ExitCode.FAILED: "the run failed",
    ExitCode.INVALID: "the suite or the command line is invalid",
    ExitCode.NOT_READY: "not ready: a server could not be reached in time",
    ExitCode.POLICY: "refused by policy",
    ExitCode.GATE: "a quality gate was not met",
    ExitCode.NO_TESTS: "the selection matched no test",
    ExitCode.INTERRUPTED: "the run was interrupted",
}
_SHARDS_MISSING = "the tests of some shards are missing"
"""Why a suite of merged shards stops at a gate without having missed one."""


def file_in_repository(source: Mapping[str, object], file: str) -> str:
    """A file of a record with this `source` as CI systems look it up: from the top of the repository, if known; "" stays so."""
    below = source.get("path")
    if not file or not isinstance(below, str):
        return one_line(file)
    from posixpath import join, normpath

    return one_line(normpath(join(below, file)))


def duration_text(milliseconds: float) -> str:
    """`<1ms`, `12ms`, `3.4s`, `2m 05s`."""
    if milliseconds < 999.5:
        return f"{milliseconds:.0f}ms" if milliseconds >= 1 or milliseconds <= 0 else "<1ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f}s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return f"{minutes}m {seconds:02d}s"


def behind_text(test: TestResult) -> str:
    """`906ms of it waiting for stock_report`: the wait for an earlier call; "" where it was short."""
    if test.behind is None or test.behind["ms"] < LONG_WAIT_MS:
        return ""
    called = one_line(str(test.behind.get("tool") or test.behind.get("method")), 100)
    return f"{duration_text(test.behind['ms'])} of it waiting for {called}"


def tests_with(record: RunRecord, verdict: Verdict) -> tuple[TestResult, ...]:
    """The tests that came to `verdict`, in declared order."""
    return tuple(test for test in record.tests if test.verdict is verdict)


def strength_text(test: TestResult) -> str:
    """`value`, or `value 83 %` with the share of wrong answers that the test noticed; "" where it is not known."""
    if test.strength is None:
        return ""
    if test.mutation_score is None:
        return test.strength.value
    return f"{test.strength.value} {percent_text(test.mutation_score)}"


def percent_text(share: float) -> str:
    """A share from 0 to 1, rounded down: 99.6 % is not all."""
    return f"{int(share * 100 + 1e-9)} %"


def weak_tests(record: RunRecord) -> tuple[TestResult, ...]:
    """The tests that passed and say little by it, in declared order."""
    return tuple(test for test in tests_with(record, Verdict.PASS) if is_weak(test.strength, test.mutation_score))


def weak_text(test: TestResult) -> str:
    """Why a test says little by passing."""
    if test.mutation_score is not None:
        return f"weak: it noticed {percent_text(test.mutation_score)} of the wrong answers"
    what = (
        "an answer comes"
        if test.strength is Strength.ANSWERED
        else f"the call {'fails' if is_error(test) else 'succeeds'}"
    )
    return f"weak: it checks that {what}, and nothing in the answer"


def is_error(test: TestResult) -> bool:
    """Whether the answer to a test of one call is an error."""
    output = test.output or {}
    result = output.get("result")
    return output.get("error") is not None or (isinstance(result, dict) and result.get("isError") is True)


def strength_counts(record: RunRecord) -> dict[Strength, int]:
    """How many tests demand what, the strongest first, skipped ones left out; {} of a record that does not tell."""
    found = [test.strength for test in record.tests if test.verdict is not Verdict.SKIP and test.strength is not None]
    return {strength: count for strength in reversed(Strength) if (count := found.count(strength))}


def value_checks(counts: Mapping[Strength, int]) -> str:
    """Of the counts of `strength_counts`: `2 of 7 tests check a value`."""
    value, total = counts.get(Strength.VALUE, 0), sum(counts.values())
    return f"{value:,} of {total:,} {'test' if total == 1 else 'tests'} {'checks' if 1 in (value, total) else 'check'} a value"


class Repeated(NamedTuple):
    """A test that `--repeat` ran several times: its name, and how many of the runs passed."""

    name: str
    passed: int
    runs: int

    @property
    def text(self) -> str:
        """The counts as text: `6 of 9 passed`."""
        return f"{self.passed} of {self.runs} passed"


def repeated_tests(record: RunRecord) -> tuple[Repeated, ...]:
    """Each test that was repeated, in declared order, skipped runs left out; () of a run without `--repeat`."""
    groups: dict[str, list[TestResult]] = {}
    for test in record.tests:
        if (base := base_id(test.id)) != test.id:
            groups.setdefault(base, []).append(test)
    return tuple(
        Repeated(one_line(group[0].name.rpartition(" #")[0]), sum(one.verdict is Verdict.PASS for one in run), len(run))
        for group in groups.values()
        if len(group) > 1 and (run := [one for one in group if one.verdict is not Verdict.SKIP])
    )


def flaky_tests(record: RunRecord) -> tuple[TestResult, ...]:
    """The tests that passed only after a failed attempt, in declared order."""
    return tuple(test for test in record.tests if test.flaky)


def counts_text(record: RunRecord) -> str:
    """`2 passed, 0 failed, 0 inconclusive`, and the rest where there are any.

    That nothing was checked, and why, comes first.
    """
    totals = record.totals
    unchecked = unchecked_text(record)
    rare = (
        (totals.skipped, "skipped"),
        (len(flaky_tests(record)), "flaky"),
        (totals.cached, "cached"),
    )
    more = "".join(f", {count} {word}" for count, word in rare if count)
    sums = f"{totals.passed} passed, {totals.failed} failed, {totals.inconclusive} inconclusive{more}"
    return f"{unchecked}; {sums}" if unchecked else sums


def failed_assertions(test: TestResult | VerifyResult) -> tuple[AssertionResult, ...]:
    """The written assertions that failed, each set followed by what failed in it; deferred ones are not among them."""
    failed = (item for item in test.assertions if item.passed is False and item.implicit is None)
    return tuple(row for item in failed for row in (item, *_failed_inside(item)))


def _fails_first(test: TestResult | VerifyResult) -> bool:
    """Whether the call came to another outcome than the test wants, or to an invalid result: all else may follow from that."""
    if test.failure is not None and test.failure.kind is FailureKind.INVALID:
        return True
    return any(row.implicit is not None and row.passed is False for row in test.assertions)


def _failed_inside(item: AssertionResult) -> Iterator[AssertionResult]:
    return (row for row in item.leaves() if item.set is not None and row.passed is False)


def score_text(test: TestResult) -> str:
    """`score 0.75, needs 0.7` of a test that was scored, and its metrics; "" for any other."""
    parts = []
    if test.score is not None and test.threshold is not None:
        parts.append(f"score {_beside(test.score, test.threshold)}")
    parts += [f"{one_line(one.name)} {_beside(one.value, one.threshold)}" for one in test.derived_metrics]
    return "; ".join(parts)


def _beside(value: float, threshold: float | None) -> str:
    """`0.75, needs 0.7`; where it is below, with as many digits as show that it is."""
    if threshold is None:
        return number_text(value)
    if value >= threshold:
        return f"{number_text(value)}, needs {number_text(threshold)}"
    from mcptest_engine.judging.scoring import apart, exact

    return ", needs ".join(apart(exact(value), exact(threshold)))


class Reason(NamedTuple):
    """One line on why a test failed, and the assertion that it is about, None where it is about none."""

    text: str
    assertion: AssertionResult | None = None


def reasons(test: TestResult) -> tuple[Reason, ...]:
    """Why a test failed, at least one line: each failed assertion, what failed besides, then each step of `verify` that did.

    What kept the test from being judged comes before the assertions on the HTTP answer, which is all there was to judge; that
    the others found no result goes without saying. The budget that a composition crossed comes first of all.
    """
    own = _own_failure(test)
    fails_first = own is not None and _fails_first(test)
    found = [Reason(_weighed(test, row, brief=fails_first), row) for row in failed_assertions(test)]
    if own is not None and (fails_first or own.kind in _SCORED_FAILURES):
        found = _reasons_of(own) + found
    elif own is not None and own.kind not in JUDGED_FAILURES:
        found = _reasons_of(own) + [reason for reason in found if _is_about_http(reason)]
    elif own is not None and (own.kind is not FailureKind.ASSERTION or not found):
        found += _reasons_of(own)
    elif own is not None:  # the assertions say what failed, and the other parts of the message what else did
        found = [*_parts(own, Part.BUDGET, Part.CAUSE), *found, *_parts(own, Part.ALSO)]
    for step in _failed_steps(test):
        found += _step_reasons(step)
    return tuple(found) or (Reason(one_line(test.message or "failed without a reason", MESSAGE_LIMIT)),)


def _parts(failure: Failure, *wanted: Part) -> list[Reason]:
    return [Reason(one_line(text, MESSAGE_LIMIT)) for part in wanted for text in failure.texts(part)]


def first_reason(test: TestResult) -> str:
    """Why a test failed, in one line, with what running it again has shown of the cause."""
    text = reasons(test)[0].text
    if test.failure is not None and test.failure.rerun_text:
        return f"{text}; {test.failure.rerun_text}"
    if test.failure is None or test.failure.cause is None or not test.failure.hint:
        return text
    return f"{text}; {one_line(test.failure.hint, MESSAGE_LIMIT)}"


def _weighed(test: TestResult, row: AssertionResult, *, brief: bool) -> str:
    """An assertion's line, with its weight where a score was reckoned with it."""
    text = assertion_text(row, brief=brief)
    return text if test.score is None or row.weight == 1 else f"{text} (weight {number_text(row.weight)})"


def _is_about_http(reason: Reason) -> bool:
    return reason.assertion is not None and reason.assertion.target.lstrip(".").startswith("http")


def shown_assertion(test: TestResult) -> AssertionResult | None:
    """The assertion whose value is shown beside the first reason; None where none belongs to it."""
    first = reasons(test)[0].assertion or next(iter(failed_assertions(test)), None)
    return first if first is None or first.set is None else next(_failed_inside(first), None)


def _reasons_of(failure: Failure) -> list[Reason]:
    # The message of a refused token is ours and has three lines; any other line break is a server's.
    lines = failure.message.split("\n") if failure.kind is FailureKind.AUTH else [failure.message]
    return [Reason(one_line(line, MESSAGE_LIMIT)) for line in lines]


def _step_reasons(step: VerifyResult) -> list[Reason]:
    label, missed = one_line(step.label), _fails_first(step)
    found = [Reason(f"{label}: {assertion_text(row, brief=missed)}", row) for row in failed_assertions(step)]
    failure = step.failure
    if failure is not None and (failure.kind is not FailureKind.ASSERTION or not found or missed):
        first, *further = _reasons_of(failure)
        told = [Reason(f"{label}: {first.text}"), *further]
        found = told + found if missed else found + told
    return found


def _failed_steps(test: TestResult) -> tuple[VerifyResult, ...]:
    return tuple(step for step in test.verify if step.failure is not None)


def _own_failure(test: TestResult) -> Failure | None:
    """The failure of the test's own call, None where only a step of `verify` failed."""
    failure, steps = test.failure, _failed_steps(test)
    if failure is None or (steps and not failure.parts and failure.message == steps[0].summary):  # of an older version
        return None
    return failure.without_step()


def failed_server(test: TestResult) -> str:
    """The name of the server whose words a failure carries: "scorer `name`" where they are a scorer's.

    It is the test's own, unless only a step of `verify` failed, or a node of a composition that calls another one.
    """
    scorer = None if test.failure is None else test.failure.scorer_error
    if scorer is not None:
        return f"scorer `{one_line(str(scorer.get('scorer')), 80)}`"
    steps = _failed_steps(test)
    if steps and _own_failure(test) is None:
        return one_line(steps[0].server)
    return one_line(_server_of_failed_node(test) or test.server)


def graph_of(test: TestResult) -> JsonMapping | None:
    """The trace of a composition; None for a test without one, and for an agent's, which has no nodes."""
    return test.trace if test.trace is not None and "composition" in test.trace else None


def _server_of_failed_node(test: TestResult) -> str | None:
    trace = graph_of(test)
    if trace is None:
        return None
    nodes = (trace["nodes"].get(node_id) for node_id in trace["composition"]["order"])
    return next((str(node["server"]) for node in nodes if node is not None and node["status"] == "err"), None)


def assertion_text(assertion: AssertionResult, *, brief: bool = False) -> str:
    """The line of an assertion that did not hold; a `brief` one has not the error of the call."""
    message = (assertion.brief if brief else None) or assertion.message
    message = message or f"assertion {assertion.index + 1} (`{assertion.target}`) failed"
    return one_line(message, MESSAGE_LIMIT)


def remark(test: TestResult) -> str:
    """The reason of a skipped or inconclusive test, or ""."""
    if test.message:
        return one_line(test.message, MESSAGE_LIMIT)
    deferred = (assertion.message for assertion in test.assertions if assertion.passed is None)
    return next((one_line(message, MESSAGE_LIMIT) for message in deferred if message), "")


def listed_remark(test: TestResult) -> str:
    """What is to be said beside a test that neither simply passed nor failed."""
    if test.verdict in {Verdict.SKIP, Verdict.INCONCLUSIVE}:
        return remark(test)
    told = [flaky_text(test)] if test.flaky else []
    score = score_text(test)
    return "; ".join([*told, score] if score else told)


def inconclusive_text(test: TestResult) -> str:
    """Why a test is inconclusive, never empty."""
    return remark(test) or "there was nothing to check"


def unchecked_text(record: RunRecord) -> str:
    """`nothing was checked: 2 tests skipped: REASON` of a run in which no test passed or failed; "" of any other run."""
    totals = record.totals
    if record.interrupted or totals.passed or totals.failed:
        return ""
    if not record.tests:
        is_empty_part = record.shard is not None and record.exit_code != ExitCode.NO_TESTS
        return "" if not is_empty_part else "nothing was checked: this shard has no test"
    reasons: dict[tuple[str, str], int] = {}
    for test in record.tests:
        key = (
            (test.verdict.value, inconclusive_text(test))
            if test.verdict is Verdict.INCONCLUSIVE
            else ("skipped", remark(test))
        )
        reasons[key] = reasons.get(key, 0) + 1
    (word, reason), count = max(reasons.items(), key=lambda item: item[1])
    more = f"; {counted(len(reasons) - 1, 'more reason')}" if len(reasons) > 1 else ""
    return f"nothing was checked: {counted(count, 'test')} {word}{f': {reason}' if reason else ''}{more}"


def inconclusive_groups(record: RunRecord) -> list[tuple[str, tuple[TestResult, ...]]]:
    """Each reason why tests are inconclusive with those that have it, in declared order."""
    groups: dict[str, list[TestResult]] = {}
    for test in tests_with(record, Verdict.INCONCLUSIVE):
        groups.setdefault(inconclusive_text(test), []).append(test)
    return [(reason, tuple(tests)) for reason, tests in groups.items()]


def fault_text(test: TestResult) -> str | None:
    """What the test did to its first answer, and what was judged instead; None where it did nothing."""
    first = test.attempts[0] if test.attempts else None
    if first is None or first.fault is None:
        return None
    fault, made = one_line(first.fault, 40), len(test.attempts)
    if first.verdict is not Verdict.INCONCLUSIVE:
        return f"1st answer delayed by `fault: {fault}`" if fault == "delay_ms" else f"`fault: {fault}` had no effect"
    taken = f"1st answer {'cut off' if fault == 'disconnect' else 'dropped'} by `fault: {fault}`"
    return f"{taken}; {_ordinal(made)} attempt judged" if made > 1 else f"{taken}; `verify` alone judged"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in {11, 12, 13} else "th"
    return f"{number}{ending}"


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
    if record.exit_code == ExitCode.NOT_READY:
        words = _not_ready_text(record) or words
    elif record.exit_code == ExitCode.INVALID and record.suites:
        left_out = {suite.reason for suite in record.not_run} - {"ended"}
        words = "a folder cannot be read" if left_out == {"unreadable"} else "a suite is invalid"
    elif record.exit_code == ExitCode.GATE and record.suites and not record.missed_gates:
        words = _SHARDS_MISSING
    elif record.exit_code == ExitCode.NO_TESTS and record.tests:
        words = "the suite skips every test that was selected"
    return f"{words} (exit code {record.exit_code})"


def _not_ready_text(record: RunRecord) -> str | None:
    """Which server was waited for in vain, in the words of the first test that needed it."""
    failures = (test.failure for test in record.tests if test.failure is not None)
    message = next((failure.message for failure in failures if failure.not_ready), None)
    return None if message is None else f"not ready: {one_line(message, MESSAGE_LIMIT)}"


def warning_texts(record: RunRecord) -> tuple[str, ...]:
    """The run's warnings, one line each."""
    return tuple(one_line(warning, MESSAGE_LIMIT) for warning in record.warnings)


def missed_gates(record: RunRecord) -> tuple[str, ...]:
    """The warnings of the limits of effects that were exceeded and of the floors of coverage that were missed."""
    return tuple(one_line(text, MESSAGE_LIMIT) for text in record.missed_gates)


def suite_lines(record: RunRecord) -> list[str]:
    """A line for each suite of a run of several: its path, its sums, and why it failed where no failed test says it."""
    width = max((len(one_line(run.path)) for run in record.suites), default=0)
    return [f"{one_line(run.path).ljust(width)}  {run.verdict.upper()}  {suite_text(run)}" for run in record.suites]


def not_run_lines(suites: Sequence[SuiteNotRun]) -> list[str]:
    """What a report over several suites says of those that were not run."""
    ended = [suite.path for suite in suites if suite.reason == "ended"]
    stopped = "because the command ended before: " + ", ".join(ended)
    return [
        *([f"{counted(len(ended), 'suite')} not run, {stopped}"] if ended else []),
        *(_not_run_line(suite) for suite in suites if suite.reason != "ended"),
    ]


def _not_run_line(suite: SuiteNotRun) -> str:
    what = "suites in it were not run" if suite.reason == "unreadable" else "the suite was not run"
    problems = [one["message"] for one in suite.problems]
    more = f" (and {counted(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
    return f"{suite.path}: {what}{f': {problems[0]}{more}' if problems else ''}"


def suite_text(run: SuiteRun) -> str:
    """What came of one suite of several."""
    totals, code = run.totals, run.exit_code
    words = _SHARDS_MISSING if code == ExitCode.GATE and not run.missed_gates else _EXIT_REASONS.get(code)
    reason = "" if code in {ExitCode.PASSED, ExitCode.FAILED} else f"; {words} (exit code {code})"
    return (
        f"{totals.passed} passed, {totals.failed} failed, {totals.inconclusive} inconclusive, {totals.skipped} skipped "
        f"({duration_text(run.duration_ms)}){reason}"
    )


def place(test: TestResult) -> str:
    """`file:line` of what failed or of the test's entry, the file alone without a line, or ""."""
    file, line = place_of(test)
    return f"{one_line(file)}:{line}" if file and line > 0 else one_line(file)


def place_of(test: TestResult) -> tuple[str, int]:
    """The file and line that a report points at: its row of a data file, the case or the node at fault, or the test's entry."""
    if test.row is not None:
        return test.row["file"], test.row["line"]
    at_fault = None if test.failure is None else test.failure.line
    return test.file, test.line if at_fault is None else at_fault


def diff_lines(assertion: AssertionResult) -> list[str]:
    """The lines of an assertion's diff, sanitised, cut with a note where they are many; [] without a diff."""
    lines = text_lines(assertion.diff or "")
    if len(lines) <= DIFF_LINES:
        return lines
    return [*lines[:DIFF_LINES], f"… {counted(len(lines) - DIFF_LINES, 'more line')}"]


def stderr_lines(test: TestResult, limit: int = STDERR_LINES) -> list[str]:
    """The last lines of the stderr that a failure carries, sanitised; [] without one."""
    tail = test.failure.stderr_tail if test.failure is not None else None
    return last_lines(tail or "", limit)


def last_lines(text: str, limit: int) -> list[str]:
    """The last lines of what a program wrote, sanitised, each no longer than a message."""
    lines = text_lines(text)[-limit:]
    return [line if len(line) <= MESSAGE_LIMIT else f"{line[:MESSAGE_LIMIT]} …" for line in lines]


def value_text(value: object) -> str:
    """A value on one line: a text as it is, anything else as compact JSON."""
    if isinstance(value, str) and value:
        return one_line(value)
    return one_line(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))


def scorer_error_text(test: TestResult) -> str:
    """`scorer error: timeout`, where a scorer or a judge gave no verdict; "" for any other test."""
    error = None if test.failure is None else test.failure.scorer_error
    return "" if error is None else f"scorer error: {one_line(str(error.get('kind')), 40)}"


def scorer_error_members(test: TestResult) -> dict[str, str]:
    """{"scorer", "kind"} where a scorer or a judge gave no verdict, for reports that hold values; {} for any other test."""
    error = None if test.failure is None else test.failure.scorer_error
    return {} if error is None else {name: one_line(str(error.get(name)), 80) for name in ("scorer", "kind")}


def text_lines(text: str) -> list[str]:
    """The lines of a text of several, sanitised; other line separators than the newline are made visible first."""
    return (
        [line.rstrip() for line in sanitise(text.replace("\r\n", "\n").strip("\n")).split("\n")] if text.strip() else []
    )


def answer_origins(record: RunRecord) -> dict[str, int]:
    """How many answers were judged by where they came from: one a test, of a composition one a node that was run."""
    found = dict.fromkeys(("live", "cached", "replayed", "mocked", "frozen"), 0)
    asked = "replayed" if record.mode == "replayed" else "live"
    for test in record.tests:
        trace = test.trace
        if trace is not None and "composition" in trace:
            nodes = trace.get("nodes")
            for node in nodes.values() if isinstance(nodes, dict) else ():
                if isinstance(node, dict) and "started_ms" in node:
                    found["mocked" if node.get("mocked") else "frozen" if node.get("frozen") else asked] += 1
        elif test.cached:
            found["cached"] += 1
        elif test.output is not None or trace is not None:
            found[asked] += 1
    return found


def cost_text(cost: float | None) -> str:
    """`$0.0123`, or "unknown"; never a number with an exponent."""
    if cost is None:
        return UNKNOWN
    text = f"{cost:.6f}".rstrip("0")
    whole, _, part = text.partition(".")
    return f"${int(whole):,}.{part.ljust(2, '0')}" if float(text) or not cost else "under $0.000001"
