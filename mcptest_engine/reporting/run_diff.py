"""Two runs compared, as text and as Markdown."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import number_text
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.compositions import tokens_text
from mcptest_engine.reporting.layout import escape_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.compare import Pair, RunComparison

MESSAGE_LIMIT = 200


class Section(NamedTuple):
    """The tests of a kind of change, what the kind is called, its colour on a terminal, and what is said of each test."""

    heading: str
    colour: str
    pairs: tuple[Pair, ...]
    remark: Callable[[Pair], str]


def run_diff_text(compared: RunComparison, paint: Callable[[str, str], str]) -> str:
    """The runs, notes, a block for each thing that may have happened to a test, and the sums."""
    lines = [f"{word:<6} {_run_line(run)}" for word, run in (("before", compared.before), ("after", compared.after))]
    lines += [paint("33", f"note: {note}") for note in compared.notes]
    lines.append("")
    for section in sections(compared):
        lines.append(paint(section.colour, section.heading))
        lines += [f"  {one_line(pair.either.name)}{_after_colon(section.remark(pair))}" for pair in section.pairs]
        lines.append("")
    return "\n".join([*lines, sums(compared)]) + "\n"


def run_diff_markdown(compared: RunComparison) -> str:
    """A heading with the sums, then a list for each section."""
    lines = [f"## {escape_markdown(one_line(compared.after.suite.name))}: {sums(compared)}", ""]
    lines += [
        f"- {word}: {escape_markdown(_run_line(run))}"
        for word, run in (("before", compared.before), ("after", compared.after))
    ]
    lines += [f"- note: {escape_markdown(note)}" for note in compared.notes]
    for section in sections(compared):
        lines += ["", f"### {section.heading.capitalize()}", ""]
        for pair in section.pairs:
            remark = section.remark(pair)
            lines.append(
                f"- <code>{html.escape(one_line(pair.either.name))}</code>{_after_colon(escape_markdown(remark))}"
            )
    return "\n".join(lines) + "\n"


def sums(compared: RunComparison) -> str:
    """`1 newly failing, 2 fixed, 0 still failing, 7 unchanged`, with what else there is between."""
    newly, fixed, still = map(len, (compared.newly_failing, compared.fixed, compared.still_failing))
    always = f"{newly} newly failing, {fixed} fixed, {still} still failing"
    rare = (
        (len(compared.changed), "changed"),
        (len(compared.new), "new"),
        (len(compared.gone), "gone"),
        (len(compared.slower), "slower"),
        (len(compared.faster), "faster"),
    )
    return always + "".join(f", {count} {word}" for count, word in rare if count)


def _run_line(record: RunRecord) -> str:
    told = f"{facts.counts_text(record)} in {facts.duration_text(record.duration_ms)}"
    spent = record.spending
    cost = "" if spent is None else f", {tokens_text(spent.tokens, spent.cost_usd)}"
    return f"{one_line(record.run_id)}  {record.verdict.value}: {told}{cost}"


def sections(compared: RunComparison) -> Iterator[Section]:
    """The kinds of change that there are, the worst first."""
    found = (
        Section("newly failing", "1;31", compared.newly_failing, _failure_text),
        Section("fixed", "1;32", compared.fixed, lambda _pair: ""),
        Section("still failing", "31", compared.still_failing, _failure_text),
        Section("another verdict", "33", compared.changed, _verdicts),
        Section("newly flaky", "33", compared.newly_flaky, lambda pair: facts.flaky_text(pair.either)),
        Section("new", "36", tuple(pair for pair in compared.new if pair not in compared.newly_failing), _verdict),
        Section("gone", "36", compared.gone, _verdict),
        Section("slower", "33", compared.slower, _times),
        Section("faster", "32", compared.faster, _times),
        Section("another score", "36", compared.scores, _scores),
        Section("another cost", "36", compared.costs, _costs),
    )
    return (section for section in found if section.pairs)


def _after_colon(remark: str) -> str:
    return f": {remark}" if remark else ""


def _failure_text(pair: Pair) -> str:
    return one_line(facts.reasons(pair.either)[0].text, MESSAGE_LIMIT) + (" (new test)" if pair.before is None else "")


def _verdict(pair: Pair) -> str:
    return pair.either.verdict.value


def _verdicts(pair: Pair) -> str:
    assert pair.before is not None
    assert pair.after is not None
    remark = facts.remark(pair.after)
    return f"{pair.before.verdict.value} became {pair.after.verdict.value}" + (
        f" ({one_line(remark, MESSAGE_LIMIT)})" if remark else ""
    )


def _times(pair: Pair) -> str:
    assert pair.before is not None
    assert pair.after is not None
    times = f"{facts.duration_text(pair.before.duration_ms)} became {facts.duration_text(pair.after.duration_ms)}"
    ratio = pair.ratio
    if ratio is None or ratio <= 0:
        return times
    return f"{times} ({ratio:.1f} times)" if ratio >= 1 else f"{times} ({1 / ratio:.1f} times faster)"


def _scores(pair: Pair) -> str:
    one, other = (
        test.score if test is not None and test.score is not None else 0.0 for test in (pair.before, pair.after)
    )
    return f"{number_text(one)} became {number_text(other)}"


def _costs(pair: Pair) -> str:
    return f"{_cost_text(pair.before)} became {_cost_text(pair.after)}"


def _cost_text(test: TestResult | None) -> str:
    if test is None or test.tokens is None:
        return "(nothing said)"
    return tokens_text(test.tokens, test.cost_usd)
