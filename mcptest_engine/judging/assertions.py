"""Judging the assertions of one test against the answer's envelope."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.results import AssertionResult, Mismatch
from mcptest_engine.core.targets import Absent, Spread, parse_target, resolve_answer
from mcptest_engine.judging.matchers import Context, Undecided, compile_judge
from mcptest_engine.suite.items import ASSERT_SET

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.judging.matchers import Snapshots
    from mcptest_engine.judging.opinions import Opinions

    Redact = Callable[[Any], Any]
    LineOf = Callable[[int, int | None], int | None]
    """The line of an assertion by its index, or by that of its set and its own in that; None where it is not known."""

SECRET_DIFFERS = "does not hold; what differs is secret"
_NO_CONTEXT, _OF_ERROR = Context(), Context(target="error")


def judge_assertions(
    assertions: Sequence[JsonMapping],
    envelope: JsonMapping,
    *,
    snapshots: Snapshots | None = None,
    test_name: str = "",
    redact: Redact | None = None,
    opinions: Opinions | None = None,
    line_of: LineOf | None = None,
) -> tuple[AssertionResult, ...]:
    """Judge every assertion, in order; each is a mapping of the suite: target, matcher, and perhaps name, message, transform.

    A set of assertions (`assert-set`) comes to one row; those in it are numbered `3.1`, `3.2` in messages. `line_of` is asked
    for the lines of those that fail.

    `test_name` is what a snapshot without a name of its own goes by, with the target. With `redact`, messages are worded
    over redacted values, so that clipping cannot leave half a secret; `actual` is the value itself, neither redacted nor
    clipped. `opinions` are those of models; what hangs on one that is not there stays open: its row's `passed` is None. Never
    raises for what a server sent.
    """
    rows: list[AssertionResult] = []
    if opinions is not None:
        opinions.begin()

    def judged(index: int, assertion: JsonMapping, label: str, of_set: int | None = None) -> AssertionResult:
        def shown_label() -> str:
            place = (index, None) if of_set is None else (of_set, index)
            line = None if line_of is None else line_of(*place)
            return label if line is None else f"{label}, line {line}"

        if snapshots is None and opinions is None:
            context = _OF_ERROR if assertion["target"] == "error" else _NO_CONTEXT
            return _judge_one(index, shown_label, assertion, envelope, context, redact)
        context = Context(snapshots, test_name, assertion["target"], opinions, label)
        row = _judge_one(index, shown_label, assertion, envelope, context, redact)
        said = None if opinions is None else opinions.used()
        return row if said is None else replace(row, judgement=said)

    for number, item in enumerate(assertions):
        if ASSERT_SET not in item:
            rows.append(judged(number, item, str(number + 1)))
            continue
        from mcptest_engine.judging.scoring import judged_set

        written = item[ASSERT_SET]
        inner = (
            judged(index, one, f"{number + 1}.{index + 1}", number) for index, one in enumerate(written["assertions"])
        )
        rows.append(judged_set(number, written, tuple(inner)))
    return tuple(rows)


def _judge_one(
    index: int,
    label: Callable[[], str],
    assertion: JsonMapping,
    envelope: JsonMapping,
    context: Context,
    redact: Redact | None,
) -> AssertionResult:
    target, matcher = assertion["target"], assertion["matcher"]
    actual: object = None
    try:
        actual = resolve_answer(parse_target(target), envelope)
        if "transform" in assertion:
            actual, mismatch = _transformed(assertion["transform"]["jq"], actual, redact)
        else:
            mismatch = None
        if mismatch is None:
            reason = compile_judge(matcher, context)(actual)
            if reason is not None:
                mismatch = _worded(matcher, actual, reason(), context, redact) if redact else reason()
    except RecursionError:
        mismatch = Mismatch(message="the value is nested too deeply to be checked")
    except Undecided as open_:
        return _open(index, label, assertion, actual, open_)
    if mismatch is None:
        return AssertionResult(
            index=index,
            target=target,
            matcher=matcher,
            passed=True,
            name=assertion.get("name"),
            weight=assertion.get("weight", 1.0),
            absent=isinstance(actual, Absent),
            actual=_stored_value(actual),
            transform=_transform_of(assertion),
        )
    return _failed_row(index, label, assertion, envelope, actual, mismatch, redact)


def _open(
    index: int, label: Callable[[], str], assertion: JsonMapping, actual: object, open_: Undecided
) -> AssertionResult:
    from mcptest_engine.core.sanitise import one_line

    return AssertionResult(
        index=index,
        target=assertion["target"],
        matcher=assertion["matcher"],
        passed=None,
        name=assertion.get("name"),
        weight=assertion.get("weight", 1.0),
        message=f"assertion {label()} (`{one_line(assertion['target'])}`) is {open_}",
        deferred=open_.deferred,
        absent=isinstance(actual, Absent),
        actual=_stored_value(actual),
        transform=_transform_of(assertion),
    )


def _failed_row(
    index: int,
    label: Callable[[], str],
    assertion: JsonMapping,
    envelope: JsonMapping,
    actual: object,
    mismatch: Mismatch,
    redact: Redact | None,
) -> AssertionResult:
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.judging.answer_text import error_clause

    target = assertion["target"]
    reason = mismatch.message
    told = error_clause(parse_target(target), envelope, redact)
    full = reason
    if told and isinstance(actual, Absent) and "result" not in envelope:
        reason = "does not exist"
        full = f"{reason}: {told}"
    elif told:
        full = f"{reason}; {told}"
    own = assertion.get("message")
    note = one_line(own) if own else None
    lead = f"{f'{note}: ' if note else ''}assertion {label()} (`{one_line(target)}`) failed: "
    return AssertionResult(
        index=index,
        target=target,
        matcher=assertion["matcher"],
        passed=False,
        name=assertion.get("name"),
        weight=assertion.get("weight", 1.0),
        message=f"{lead}{full}",
        note=note,
        reason=full,
        brief=f"{lead}{reason}" if told else None,
        pointer=mismatch.pointer or None,
        diff=mismatch.diff,
        absent=isinstance(actual, Absent),
        actual=_stored_value(actual),
        transform=_transform_of(assertion),
    )


def _transform_of(assertion: JsonMapping) -> str | None:
    """The jq program that the value goes through first."""
    return assertion["transform"]["jq"] if "transform" in assertion else None


def _transformed(program: str, actual: object, redact: Redact | None) -> tuple[object, Mismatch | None]:
    """The one output of a jq program for the value; an absent value stays absent.

    jq quotes the beginning of what it could not take, so why it failed is told over the redacted value.
    """
    output, mismatch = run_transform(program, actual)
    if mismatch is None or redact is None or isinstance(actual, Absent):
        return output, mismatch
    shown = redact(actual)
    if shown is not actual:
        mismatch = run_transform(program, shown)[1] or Mismatch(message=SECRET_DIFFERS)
    return output, mismatch


def run_transform(program: str, actual: object) -> tuple[object, Mismatch | None]:
    """The one output of a jq program for a value, or why there is none."""
    from mcptest_engine.core.clipping import show_text
    from mcptest_engine.core.jq import JqProgramError, JqRunError, run_program
    from mcptest_engine.judging.matchers.jq_program import program_failure_text
    from mcptest_engine.judging.matchers.reasons import absent_entry

    if isinstance(actual, Absent):
        return actual, None
    lacking = absent_entry(actual)
    if lacking is not None:
        return actual, lacking()
    name = f"transform `{show_text(program, 120)}`"
    try:
        outputs = run_program(program, actual)
    except (JqProgramError, JqRunError) as wrong:
        return actual, Mismatch(message=f"{name} {program_failure_text(wrong)}")
    if len(outputs) == 1:
        return outputs[0], None
    count = f"{len(outputs)} outputs" if outputs else "no output"
    return actual, Mismatch(message=f"{name} gave {count}; exactly one is needed")


def _worded(
    matcher: Mapping[str, object], actual: object, mismatch: Mismatch, context: Context, redact: Redact
) -> Mismatch:
    """The mismatch told over redacted values; told as it is when nothing in them is secret."""
    shown_matcher, shown_actual = redact(matcher), actual if isinstance(actual, Absent) else redact(actual)
    if (shown_matcher is matcher and shown_actual is actual) or "snapshot" in matcher:
        return mismatch  # snapshots are compared redacted anyway
    try:
        reason = compile_judge(shown_matcher, context)(shown_actual)
    except Undecided:
        reason = None
    return Mismatch(message=SECRET_DIFFERS) if reason is None else reason()


def _stored_value(actual: object) -> object:
    """A value for the record: absent entries of a list are null there, and so is what is absent altogether."""
    if isinstance(actual, Spread):
        return [None if isinstance(entry, Absent) else entry for entry in actual]
    return None if isinstance(actual, Absent) else actual
