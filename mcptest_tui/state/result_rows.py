"""What the detail of a test says, as lines: each assertion, whose the failure is, attempts, history, the end of the
server's stderr.

A line is pieces of (text, ink), the ink being a name that the view has a colour for. All text in them is
sanitised here; wrapping is the view's.
"""

from __future__ import annotations

import math
import time
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.enums import FAILS_ALONE, FAILS_ALONE_WORDS
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import render, render_pointer
from mcptest_engine.core.text import counted
from mcptest_engine.judging.differences import NOTHING
from mcptest_tui.state.diff_rows import EQUALITY, differences, expected_of, matcher_name
from mcptest_tui.state.hook_rows import hook_lines
from mcptest_tui.state.json_rows import is_cut, readable
from mcptest_tui.state.judged_rows import (
    DEFERRED,
    cost_lines,
    gate_lines,
    judgement_lines,
    scorer_error_lines,
    shown_as,
    spending_lines,
    trial_lines,
)
from mcptest_tui.state.run_view import FAULTS, FAULTS_OF, ServerView, Summary, needs_arguments, slowest
from mcptest_tui.state.score_rows import bar, metrics, number, shares
from mcptest_tui.state.text_lines import BLANK, LIMIT, TextLine, indented, line, readable_text, safe, safe_lines
from mcptest_tui.state.verdict_notes import cause_of, first_problem_text
from mcptest_tui.words import MARKS, is_ascii, key_of, mark, strength_shown, took_shown, took_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.running.documents import Document
    from mcptest_tui.state.test_row import TestRow
    from mcptest_tui.state.text_lines import Piece

MOST_EFFECTS = 10
STDERR_SHOWN = 3
"""How the `skip:` of a generated test begins that a person should check."""
MOST_CAUSES, NAMED = 12, 3
MOST_TOOLS, TOOL_WIDTH = 12, 32
FOLDED, PLACE_WIDTH, MOST_PLACES = 60, 32, 30
ARROW = f" {MARKS['arrow']} "
BARS = "_.-=+*#%@" if is_ascii() else "▁▂▃▄▅▆▇█"


VERDICT_ORDER = ("fail", "inconclusive", "pass", "skip")
WORDS = {
    "pass": "passed",
    "fail": "failed",
    "inconclusive": "inconclusive",
    "deferred": "deferred",
    "skip": "skipped",
    "new": "not run yet",
    "stopped": "not run",
    "queued": "waiting",
    "running": "running",
}


# A test

_DONE = {
    "agent": "the model answered without an error",
    "composition": "every node was done, or skipped by its condition",
}
"""What a test without assertions passed by, where that is no answer of a server."""


def result_lines(
    row: TestRow,
    result: Mapping[str, object],
    server: ServerView | None,
    repro: str,
    hooks: Sequence[Mapping[str, object]] = (),
) -> list[TextLine]:
    """The tab "Result"; `hooks` are those around this test in the last run."""
    lines = [_headline(row, result), *outcome_lines(result, server)]
    lines += _hooks("hooks around this test", hooks)
    lines += _ways_on(result)
    if result.get("verdict") != "skip":
        lines += [BLANK, line(("run it again  ", "dim"), repro)]
    return lines


def _ways_on(result: Mapping[str, Any]) -> list[TextLine]:
    """The keys for a test that a person has to look at before it can pass or fail; [] for others."""
    edit = key_of("open.edit")
    if needs_arguments(result):
        keys = [(key_of("review.open"), "gives it other arguments in Review"), (edit, "opens it in the editor")]
    elif "skip" in (result.get("definition") or {}):
        keys = [(edit, "opens it in the editor: remove its `skip:` to run it")]
    else:
        return []
    return [BLANK, *key_lines(keys)]


def outcome_lines(result: Mapping[str, Any], server: ServerView | None = None) -> list[TextLine]:
    """The result of a test below its verdict: score, failure, assertions, metrics, `verify`, attempts, end of stderr."""
    lines: list[TextLine] = []
    judgement = result.get("judgement")
    judged = isinstance(judgement, dict) and "verdict" in judgement
    if result.get("score") is not None and not judged:
        lines.append(line(("score  ", "dim"), *bar(result["score"], result.get("threshold"))))
    failure = result.get("failure")
    assertions = [item for item in result.get("assertions") or () if isinstance(item, dict)]
    is_answered = any(item.get("implicit") == "outcome" and item.get("actual") == "success" for item in assertions)
    if isinstance(failure, dict):
        lines += _failure(result, failure)
        lines += scorer_error_lines(failure)
    elif shown_as(result) == DEFERRED:
        lines += [BLANK, line((safe(result["deferred"]), "deferred"))]
        lines.append(line(("inconclusive: no model could be asked", "dim")))
    elif result.get("message") and not judged:
        lines += [BLANK, line(safe(result["message"]))]
        if result.get("verdict") == "inconclusive":
            lines.append(line(("neither passed nor failed", "dim")))
    if isinstance(judgement, dict) and judged:
        lines += [BLANK, *judgement_lines(judgement)]
    if assertions:
        lines.append(BLANK)
        its_shares = shares(result) or [""] * len(assertions)
        rows = zip(assertions, its_shares, strict=False)
        for assertion, share in sorted(rows, key=lambda one: one[0].get("passed") is not False):
            lines += _item(assertion, share, is_answered)
    elif result.get("verdict") == "pass" and not judged and not result.get("derived_metrics"):
        done = _DONE.get(str(result.get("kind")), "the server answered without an error")
        lines += [BLANK, line((f"no assertions: {done}", "dim"))]
    trace = result.get("trace")
    if isinstance(trace, dict) and not result.get("trials"):
        lines += gate_lines(trace)
    lines += trial_lines(result.get("trials") or ())
    found = [line(*pieces, at=2) for pieces in metrics(result)]
    lines += [BLANK, line(("metrics", "bold")), *found] if found else []
    lines += _verify(result)
    lines += _attempts(result)
    lines += cost_lines(result)
    if isinstance(failure, dict) and "scorer_error" not in failure:
        lines += _stderr_lines(failure, server)
    return lines


def reason_of(row: TestRow, stored: dict[str, Any] | None = None) -> str:
    """The verdict of a test and why, in one line: `! inconclusive: nothing was checked: every node was skipped`.

    `stored` is the result of a test that ran in an earlier session, once it was read.
    """
    result = row.result or stored
    if result is None:
        return f"{mark(row.shown)} {WORDS.get(row.shown, row.shown)}: {key_of('open.detail')} shows why"
    words = result.get("deferred") or first_problem_text(result)
    return f"{mark(row.shown)} {WORDS.get(row.shown, row.shown)}{f': {words}' if words else ''}"


def busy_text(row: TestRow) -> str:
    """What a busy test is doing: `running`, or what its verdict waits for."""
    if row.answered == "alone":
        return "its server failed while other tests ran: it runs again alone, after them"
    return f"answered, waits for the server's list of {row.block}" if row.answered else WORDS[row.status]


def new_lines(row: TestRow, place: str, keys: Sequence[tuple[str, str]], repro: str) -> list[TextLine]:
    """A test that has no result yet: what it calls, and what the keys do."""
    calls = ("calls", row.tool) if row.tool else ("kind", row.kind)
    added = "   added while the suite was open" if row.added and not row.busy else ""
    status = row.status if row.busy or row.status == "stopped" else "new"
    strength = strength_shown(row.strength, row.mutation_score)
    words = row.message if status == "stopped" else busy_text(row) if row.busy else WORDS[status]
    lines = [
        line((f"{mark(status)} {safe(words)}", "bold"), (added, "dim")),
        BLANK,
        *_facts((calls, ("server", row.server), ("strength", strength), ("at", place), ("tags", ", ".join(row.tags)))),
        BLANK,
    ]
    lines += [*key_lines(keys), BLANK] if keys else []
    return [*lines, line(("on a command line  ", "dim"), repro)]


def key_lines(keys: Sequence[tuple[str, str]]) -> list[TextLine]:
    """Return one line for each key and what it does."""
    width = max((len(key) for key, _ in keys), default=0)
    return [line((f"{key:>{width}}  ", "key"), safe(what)) for key, what in keys]


def _headline(row: TestRow, result: Mapping[str, Any]) -> TextLine:
    verdict = shown_as(result)
    pieces: list[Piece] = []
    if row.status == "stopped":
        pieces.append((f"{mark('stopped')} {safe(row.message)}; before that   ", "bold"))
    pieces += [(f"{mark(verdict)} {WORDS.get(verdict, verdict)}", verdict)]
    duration = result.get("duration_ms")
    if isinstance(duration, (int, float)) and verdict != DEFERRED:
        pieces.append((f"   {took_text(duration, result.get('behind'))}", ""))
    attempts = result.get("attempts") or ()
    if len(attempts) > 1:
        pieces.append((f"   {len(attempts)} attempts", "inconclusive" if result.get("flaky") else ""))
    if result.get("flaky"):
        pieces.append(("   flaky", "inconclusive"))
    if result.get("cached"):
        pieces.append(("   from the cache", "dim"))
    if row.strength:
        told = strength_shown(row.strength, row.mutation_score)
        pieces.append((f"   strength: {told}", "inconclusive" if row.is_weak else "dim"))
    if row.busy:
        pieces.append((f"   again: {busy_text(row)}" if row.answered else f"   {WORDS[row.status]} again", "running"))
    elif row.waits:
        pieces.append((f"   waits for {key_of('run.this')}: {row.waits}", "inconclusive"))
    elif row.outdated:
        pieces.append(("   from an earlier version of the test", "dim"))
    return line(*pieces)


def _failure(result: Mapping[str, Any], failure: Mapping[str, object]) -> Iterator[TextLine]:
    kind = str(failure.get("kind", ""))
    faults = {**FAULTS, **FAULTS_OF.get(str(result.get("kind")), {})}
    if kind != "assertion":
        yield line((faults.get(kind, kind), "dim"), (f"  ({kind})" if kind else "", "dim"))
    assertions = (item for item in result.get("assertions") or () if isinstance(item, dict))
    first = next((item for item in assertions if item.get("passed") is False), None)
    message = failure.get("message")
    if kind == "assertion" and first is not None:  # told below, but for what failed before it in a composition
        message = cause_of(failure)
    if message:
        yield BLANK
        for text in safe_lines(message):
            yield line((text, "fail"))
    rerun = failure.get("cause")
    if isinstance(rerun, dict) and rerun.get("kind") == FAILS_ALONE:
        yield line((FAILS_ALONE_WORDS, "dim"))
    if failure.get("hint"):
        yield line(("hint: ", "hint"), (safe(failure["hint"]), "hint"))


def _item(item: Any, share: str, is_answered: bool) -> Iterator[TextLine]:
    """An assertion, or a set with its own below it; `share` is what it did to the score of the test.

    `is_answered` says that the call came to no error, which the message of an assertion would tell too.
    """
    inside = item.get("set")
    if not isinstance(inside, dict):
        yield from _assertion(item, share, is_answered)
        return
    verdict = _verdict_of(item)
    name = safe(inside.get("name") or "assert-set")
    judged = inside.get("score") is not None
    score = bar(inside["score"], inside.get("threshold")) if judged else [("not judged", "dim")]
    yield line((f"{mark(verdict)} ", verdict), (f"{name}  ", "bold"), *score, (f"   {share}" if share else "", "dim"))
    for assertion in inside.get("assertions") or ():
        if isinstance(assertion, dict):
            yield from (indented(told) for told in _assertion(assertion, "", is_answered))


def _verdict_of(assertion: Mapping[str, object]) -> str:
    passed = assertion.get("passed")
    if "deferred" in assertion:
        return DEFERRED
    return "pass" if passed is True else "fail" if passed is False else "inconclusive"


_IMPLICIT = {
    "success": ("the call succeeded", "the call failed"),
    "error": ("the call failed, as the test expects", "the call succeeded, but the test expects it to fail"),
    "valid": ("the result is valid MCP", "the result is not valid MCP"),
}
"""Of what is expected of every call: what is said where it holds, and where it does not."""


def _assertion(assertion: Mapping[str, object], share: str, is_answered: bool) -> Iterator[TextLine]:
    passed, verdict = assertion.get("passed"), _verdict_of(assertion)
    name, expected = safe(matcher_name(assertion)), expected_of(assertion)
    rubric = expected.get("rubric") if name == "llm-judge" and isinstance(expected, dict) else None
    short = _value(expected if rubric is None else rubric, 60)
    held = (f"  {name} {short}", "dim") if passed is True else (f"  {name}", "bold")
    is_implicit = "implicit" in assertion
    if is_implicit and passed is not None:
        held = (f"  {_IMPLICIT.get(str(expected), ('', ''))[not passed]}", "dim")
    own = assertion.get("name")
    found = [] if passed is not False or is_implicit else _differing(assertion)
    yield line(
        (f"{mark(verdict)} ", verdict),
        (safe(assertion.get("target")), ""),
        held,
        (f"   {safe(own)}" if own else "", "dim"),
        (f"   {share}" if share else "", "dim"),
        *([("   ", ""), ("expected", "expected"), (ARROW, "dim"), ("actual", "actual")] if found else ()),
    )
    yield from found
    judgement = assertion.get("judgement")
    if isinstance(judgement, dict):
        yield from judgement_lines(judgement, at=4, alone=passed is not True)
        if passed is not None:
            return
    if passed is True or is_implicit:  # the failure above has told the rest
        return
    if passed is False:
        limit = FOLDED if found else LIMIT
        yield line(("expected  ", "dim"), (_value(expected, limit), "expected"), at=4)
        actual = ("nothing: the target does not exist", "actual") if "actual" not in assertion else None
        yield line(("actual    ", "dim"), actual or (_value(assertion["actual"], limit), "actual"), at=4)
    if assertion.get("note"):
        yield line(safe(assertion["note"]), at=4)
    reason = safe(assertion.get("reason") or assertion.get("message") or "")
    is_told = is_answered and name in EQUALITY and "actual" in assertion
    both = f"expected `{_value(expected, FOLDED)}`, got `{_value(assertion.get('actual'), FOLDED)}`"
    if reason and not (is_told and (found or reason == both or not isinstance(expected, (dict, list, str)))):
        yield line((reason, "dim"), at=4)
    place = render_pointer(str(assertion.get("pointer") or ""))
    if place and not found and f"`{place}`" not in reason:
        yield line(("at  ", "dim"), safe(place), at=4)


def _differing(assertion: Mapping[str, object]) -> list[TextLine]:
    """Every place where a value differs from what it was to equal, a row each: `notes[1].size  1.75 → 1.5`.

    [] where the value differs as a whole, and where only its beginning is here.
    """
    name, expected, actual = matcher_name(assertion), expected_of(assertion), assertion.get("actual")
    if name not in EQUALITY or not isinstance(expected, (dict, list)) or not isinstance(actual, type(expected)):
        return []
    found = list(islice(differences(readable(expected), readable(actual), subset=name == "subset"), MOST_PLACES + 1))
    places = [safe(render(one.path)) for one in found[:MOST_PLACES]]
    width = min(max(map(cell_len, places), default=0), PLACE_WIDTH)
    lines = [
        line(
            (f"{place}{' ' * max(width - cell_len(place), 0)}  ", "bold"),
            *(_side(one.expected, "expected"), (ARROW, "dim"), _side(one.actual, "actual")),
            at=4,
        )
        for place, one in zip(places, found, strict=False)
    ]
    if len(found) > MOST_PLACES:
        lines.append(line((f"and more: {len(places)} differences are listed, the tab Diff has all", "dim"), at=4))
    return lines


def _side(value: object, ink: str) -> Piece:
    return ("nothing", "dim") if value is NOTHING else (_value(value, FOLDED), ink)


def _verify(result: Mapping[str, Any]) -> Iterator[TextLine]:
    steps = [step for step in result.get("verify") or () if isinstance(step, dict)]
    if not steps:
        return
    yield BLANK
    yield line(("verified after the call", "bold"))
    for step in steps:
        verdict = str(step.get("verdict", ""))
        called = step.get("name") or step.get("tool") or step.get("server")
        took = f"   {took_shown(step['duration_ms'])}" if isinstance(step.get("duration_ms"), (int, float)) else ""
        yield line((f"{mark(verdict)} ", verdict), f"#{step.get('index', '')} {safe(called)}", (took, "dim"), at=2)
        if verdict != "pass" and step.get("message"):
            yield line(safe(step["message"]), at=4)
        for assertion in step.get("assertions") or ():
            if isinstance(assertion, dict) and assertion.get("passed") is False:
                yield from (indented(told) for told in _item(assertion, "", False))


def _attempts(result: Mapping[str, Any]) -> Iterator[TextLine]:
    attempts = [item for item in result.get("attempts") or () if isinstance(item, dict)]
    if not attempts:
        return
    yield BLANK
    yield line(("attempts", "bold"))
    for place, attempt in enumerate(attempts, 1):
        verdict = str(attempt.get("verdict", ""))
        fault = f"  fault: {safe(attempt['fault'])}" if attempt.get("fault") else ""
        yield line(
            (f"{mark(verdict)} ", verdict),
            f"{place}  {took_shown(attempt.get('duration_ms', 0))}",
            (fault, "inconclusive"),
            (f"  {safe(attempt['message'])}" if attempt.get("message") else "", "dim"),
            at=2,
        )


def _stderr_lines(failure: Mapping[str, object], server: ServerView | None) -> Iterator[TextLine]:
    tail = safe_lines(failure.get("stderr_tail") or ("" if server is None else server.stderr))
    tail = [text for text in tail if text.strip()][-STDERR_SHOWN:]
    if tail and failure.get("kind") != "assertion":
        yield BLANK
        yield line(("the end of the server's stderr", "bold"))
        for text in tail:
            yield line((f"{MARKS['split']} ", "dim"), text)


# Several tests


def summary_lines(summary: Summary, failing: Sequence[TestRow] = ()) -> list[TextLine]:
    """The last run, and what fails now."""
    ink = "pass" if summary.passed else "fail" if summary.counts.get("fail") or summary.gates else "bold"
    lines = [line((safe(summary.title), ink), ("   interrupted" if summary.interrupted else "", "inconclusive"))]
    lines += [line((f"{mark('fail')} ", "fail"), safe(gate), at=2) for gate in summary.gates]
    for title, names, sign in (
        ("failing since this run", summary.broken, "fail"),
        ("passing again", summary.mended, "pass"),
    ):
        if names:
            lines += [BLANK, line((title, "bold"))]
            lines += [line((f"{mark(sign)} ", sign), safe(name), at=2) for name in names[:10]]
            if len(names) > 10:
                lines.append(line((f"and {len(names) - 10} more", "dim"), at=4))
    lines += _failing(failing)
    if summary.rollups:
        found = ((one.get("name"), number(one.get("mean")), int(one.get("count") or 0)) for one in summary.rollups)
        lines += [BLANK, line(("metrics", "bold"))]
        lines += [
            line(f"{safe(name)}  ", mean, (f"  mean of {counted(count, 'test')}", "dim"), at=2)
            for name, mean, count in found
        ]
    if summary.models or summary.scorers:
        lines += [BLANK, line(("spent  ", "bold"), summary.cost_text)]
        lines += spending_lines(summary.models, summary.scorers)
    lines += _effect_lines(summary.effects)
    lines += _hooks("hooks", summary.hooks)
    if summary.total > 1 and summary.slowest:
        lines += [BLANK, line(("slowest", "bold")), *_slowest(summary.slowest)]
    return lines


def _effect_lines(rows: Sequence[Mapping[str, Any]]) -> list[TextLine]:
    """The calls of a run by tool: first those that changed something or could have, and those that were not executed."""
    if not rows:
        return []

    def is_plain(row: Mapping[str, object]) -> bool:
        changing = row.get("class") in ("destructive", "mutating") or row.get("limited_as")
        return not changing and row.get("decision") not in ("dry", "denied")

    lines = [BLANK, line(("effects", "bold"))]
    for row in sorted(rows, key=is_plain)[:MOST_EFFECTS]:
        tool_class = f"{row['limited_as']} by its name" if row.get("limited_as") else row.get("class")
        words = (tool_class, row.get("decision"), f"by {row.get('decided_by')}")
        told = ", ".join(safe(str(word).replace("_", " ")) for word in words)
        lines.append(
            line(f"{safe(row.get('tool'))}  ", f"{counted(int(row.get('count') or 0), 'call')}  ", (told, "dim"), at=2)
        )
    if len(rows) > MOST_EFFECTS:
        lines.append(line((f"and {len(rows) - MOST_EFFECTS} more", "dim"), at=4))
    return lines


def _hooks(title: str, hooks: Sequence[Mapping[str, object]]) -> list[TextLine]:
    if not hooks:
        return []
    return [BLANK, line((title, "bold")), *(line(*pieces, at=at) for at, pieces in hook_lines(hooks))]


def group_lines(
    rows: Sequence[TestRow], keys: Sequence[tuple[str, str]], summary: Summary | None = None
) -> list[TextLine]:
    """A suite or a block: the last run of it if there is one, what fails in it, what is slow, what the keys do."""
    failing = [row for row in rows if row.standing == "fail"]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    pieces: list[Piece] = [(f"{counted(len(rows), 'test')}:", "bold")]
    waiting = sum(row.deferred and row.status == "inconclusive" for row in rows)
    for verdict in filter(counts.get, (*VERDICT_ORDER, "stopped", "running", "queued", "new")):
        some = f" ({waiting} deferred)" if verdict == "inconclusive" and waiting else ""
        comma = "," if len(pieces) > 1 else ""
        pieces += [
            (f"{comma} ", ""),
            (f"{counts[verdict]} {WORDS[verdict]}{some}", "dim" if verdict == "queued" else verdict),
        ]
    if summary is not None:
        of_all = (
            []
            if summary.total == len(rows)
            else [line(*pieces), BLANK, line((f"last run, of {counted(summary.total, 'test')}", "bold"))]
        )
        return [*of_all, *summary_lines(summary, failing), *tool_lines(rows), BLANK, *key_lines(keys)]
    lines = [line(*pieces), *_failing(failing)]
    timed = slowest(rows)
    if len(timed) > 1:
        lines += [BLANK, line(("slowest", "bold")), *_slowest(timed)]
    return [*lines, *tool_lines(rows), BLANK, *key_lines(keys)]


def _failing(rows: Sequence[TestRow]) -> list[TextLine]:
    """The failing tests by their cause, the one of most tests first: what failed alike is told once. Bounded."""
    if not rows:
        return []
    lines = [BLANK, line(("failing", "bold"))]
    groups = failures_by_cause(rows)
    for group in groups[:MOST_CAUSES]:
        if len(group) == 1:
            lines.append(line((f"{mark('fail')} ", "fail"), safe(group[0].name), at=2))
        else:
            more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
            names = ", ".join(safe(row.name) for row in group[:NAMED])
            lines.append(line((f"{mark('fail')} ", "fail"), (f"{len(group)} tests  ", "bold"), f"{names}{more}", at=2))
        message = (group[0].result or {}).get("message")
        if message:
            lines.append(line((safe(message)[:300], "dim"), at=4))
        if len(group) > 1:
            lines.append(line((f"{key_of('run.alike')} on one of them runs these alone", "dim"), at=4))
    left = sum(map(len, groups[MOST_CAUSES:]))
    if left:
        lines.append(line((f"and {left} more", "dim"), at=4))
    return lines


def failures_by_cause(rows: Sequence[TestRow]) -> list[list[TestRow]]:
    """Failed tests that failed alike, those of the cause with most tests first.

    Alike are failures of one kind with one message, of assertions at one target for one reason, and all failures of
    one server that ended or did not answer.
    """
    groups: dict[tuple[str, ...], list[TestRow]] = {}
    for row in rows:
        groups.setdefault(_cause_of(row), []).append(row)
    return sorted(groups.values(), key=len, reverse=True)


def _cause_of(row: TestRow) -> tuple[str, ...]:
    result = row.result or {}
    failure = result.get("failure")
    kind = str(failure.get("kind", "")) if isinstance(failure, dict) else ""
    if kind == "server" and row.kind not in ("agent", "composition"):
        return (kind, row.path, row.server)
    assertions = (item for item in result.get("assertions") or () if isinstance(item, dict))
    first = next((item for item in assertions if item.get("passed") is False), None)
    if kind == "assertion" and first is not None and "reason" in first:
        return (kind, cause_of(failure), str(first.get("target")), str(first["reason"]))
    message = str(readable_text(result.get("message")))
    return (kind, message) if message else (kind, row.id)


def tool_lines(rows: Sequence[TestRow]) -> list[TextLine]:
    """How long the tests of each tool took without the time behind others, the slowest first; [] for fewer than two tools."""
    times: dict[str, list[float]] = {}
    for row in rows:
        if row.tool and row.own_ms is not None and not row.deferred and row.verdict not in ("skip", "new"):
            times.setdefault(row.tool, []).append(row.own_ms)
    if len(times) < 2:
        return []
    table: list[Sequence[str]] = [("tool", "tests", "median", "p95", "worst")]
    for tool, took in sorted(times.items(), key=lambda one: -_quantile(one[1], 0.95))[:MOST_TOOLS]:
        shares = (_quantile(took, 0.5), _quantile(took, 0.95), max(took))
        table.append((one_line(tool, TOOL_WIDTH), str(len(took)), *map(took_shown, shares)))
    widths = [max(cell_len(row[column]) for row in table) for column in range(5)]
    lines = [BLANK]
    for at, row_ in enumerate(table):
        name = f"{row_[0]}{' ' * (widths[0] - cell_len(row_[0]))}"
        numbers = "".join(f"  {text:>{widths[column]}}" for column, text in enumerate(row_) if column)
        lines.append(line((name, "bold" if not at else ""), (numbers, "dim" if not at else ""), at=2))
    if len(times) > MOST_TOOLS:
        lines.append(line((f"and {len(times) - MOST_TOOLS} more", "dim"), at=4))
    return lines


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all do not exceed, by the nearest rank."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def problem_lines(document: Document, since: float | None, *, editor: bool = True) -> list[TextLine]:
    """What is wrong in a suite; `editor`: with the key that opens it there."""
    errors = [item for item in document.diagnostics if item.severity == "error"]
    lines = (
        [line((f"{mark('fail')} {counted(len(errors), 'problem')}: this suite does not run", "fail"))]
        if errors
        else [line((counted(len(document.diagnostics), "warning"), "inconclusive"))]
    )
    if since is not None:
        at = time.strftime("%H:%M", time.localtime(since))
        lines.append(line((f"the tests that are shown are from {at}, when it loaded last", "dim")))
    for item in document.diagnostics[:20]:
        name = "" if item.file == document.path else f"{item.file.rpartition('/')[2]}:"
        lines += [BLANK, line((f"{safe(name)}{item.line}:{item.column}  ", "dim"), safe(item.message))]
        if item.hint:
            lines.append(line((safe(item.hint), "hint"), at=4))
    if len(document.diagnostics) > 20:
        lines += [BLANK, line((f"and {len(document.diagnostics) - 20} more", "dim"))]
    return (
        [*lines, BLANK, *key_lines(((key_of("open.edit"), "opens the editor at the first one"),))] if editor else lines
    )


def _slowest(timed: Sequence[tuple[str, float]]) -> list[TextLine]:
    texts = [took_shown(took) for _, took in timed]
    width = max(map(len, texts))
    return [line((f"{text:>{width}}  ", "dim"), safe(name), at=2) for text, (name, _) in zip(texts, timed, strict=True)]


# History and log


def spark(values: Sequence[float]) -> str:
    """Return the values as a row of bars; the smallest value has the lowest."""
    if not values:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(BARS[int((value - low) / span * (len(BARS) - 1))] for value in values)


def history_lines(past: Sequence[Mapping[str, Any]], now: float | None = None) -> list[TextLine]:
    """The tab "History": newest first, as the engine gives it."""
    if not past:
        return [line(("no run of this test is saved yet", "dim"))]
    if len(past) == 1:
        return [line(("1 run", "dim")), BLANK, *_past(past, now)]
    times = [float(item.get("duration_ms") or 0.0) for item in reversed(past)]
    lines = [
        line(
            ("took     ", "dim"),
            (spark(times), "running"),
            (f"   {took_shown(min(times))} to {took_shown(max(times))}", "dim"),
        ),
        line(("verdict  ", "dim"), *((mark(_verdict(item)), _verdict(item)) for item in reversed(past))),
    ]
    lines += _since(past)
    return [*lines, BLANK, *_past(past, now)]


def _since(past: Sequence[Mapping[str, object]]) -> list[TextLine]:
    """The first run of the failures that last until now."""
    if _verdict(past[0]) != "fail":
        return []
    failing = 0
    while failing < len(past) and _verdict(past[failing]) == "fail":
        failing += 1
    first = past[failing - 1]
    often = f"   {counted(failing, 'run')}" + (" and maybe longer" if failing == len(past) else "")
    return [line(("failing  ", "dim"), (f"since {_when(first)}", "fail"), (often, "dim"))]


def _past(past: Sequence[Mapping[str, Any]], now: float | None) -> list[TextLine]:
    lines = []
    for item in past:
        verdict = _verdict(item)
        took, _, behind = took_text(float(item.get("duration_ms") or 0.0), item.get("behind")).partition(", ")
        behind = f"  {behind}" if behind else ""
        message = f"  {safe(item['message'])}" if item.get("message") else ""
        lines.append(
            line((f"{mark(verdict)} ", verdict), f"{_when(item, now)}  ", (f"{took:>9}{behind}", "dim"), message)
        )
    return lines


def _verdict(item: Mapping[str, object]) -> str:
    return shown_as(item)


def _when(item: Mapping[str, object], now: float | None = None) -> str:
    """Return when a run started, as `today 12:41:07` or as a date and a time."""
    try:
        at = datetime.fromisoformat(str(item.get("started_at", ""))).astimezone()
    except ValueError:
        return safe(item.get("started_at", ""))
    today = datetime.fromtimestamp(now if now is not None else time.time()).astimezone()
    return at.strftime("today %H:%M:%S" if at.date() == today.date() else "%Y-%m-%d %H:%M")


def log_lines(row: TestRow, server: ServerView | None) -> list[TextLine]:
    failure = (row.result or {}).get("failure")
    tail = str((failure or {}).get("stderr_tail") or "") if isinstance(failure, dict) else ""
    source = "around this call" if tail else "in the run of this result"
    text = tail or ("" if server is None else server.of_run(row.run_id).stderr)
    name = safe(row.server)
    if not text.strip() and server is not None and server.stderr:
        return [line((f"the stderr of {name} in that run is no longer saved", "dim"))]
    if not text.strip():
        return [line((f"{name} wrote nothing on stderr", "dim"))]
    lines = [line((f"stderr of {name}, {source}", "dim")), BLANK]
    return [*lines, *(line(part) for part in safe_lines(text))]


def _facts(facts: Sequence[tuple[str, str]]) -> list[TextLine]:
    width = max(len(name) for name, _ in facts)
    return [line((f"{name:<{width}}  ", "dim"), safe(text)) for name, text in facts if text]


def _value(value: object, limit: int) -> str:
    return one_line(compact(readable_text(value) if is_cut(value) else value, limit), limit)
