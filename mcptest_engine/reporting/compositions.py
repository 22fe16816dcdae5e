"""What every reporter says of compositions: their lines, what failed in a graph and what was not run for it, costs.

All text given here is one line and sanitised. Two lines are a contract with whoever reads logs:
`composition [PASS] NAME [CASE]` and `ran N composition(s): P passed, F failed`. See docs/how-to/compositions.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.costs import GOLDEN, compositions_of
from mcptest_engine.core.results import FailureKind, Part, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.layout import Ink, columns, pad, word_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.costs import CompositionSum, Spending
    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.results import Failure, TestResult
    from mcptest_engine.core.run_record import RunRecord

INDENT = "  "
NODES_SHOWN = 5
IDS_SHOWN = 8
ARGS_LIMIT = 300
MODELS_SHOWN = 12
MODEL_LIMIT = 48
UNNAMED = "(no model named)"
_OLD_WORDS = {"`when` did not hold": "when", "not run": "budget"}
"""How the message of a skipped node begins in records that do not have `skipped_by`."""
_PLAIN = Ink(on=False)


class GraphFailure(NamedTuple):
    """A node that failed: why, the arguments of the call that failed as they were resolved, and what was skipped for it."""

    node: str
    message: str
    args: str | None
    skipped: tuple[str, ...]


def line_of(test: TestResult, ink: Ink = _PLAIN) -> str:
    """The headline of a composition: `composition [PASS] NAME [CASE]`."""
    return f"composition [{word_of(test.verdict, ink)}] {one_line(test.name)}"


def sum_lines(record: RunRecord) -> list[str]:
    """`ran 2 composition(s): 2 passed, 0 failed`, and the rest where there are any; [] without a composition."""
    tests = list(compositions_of(record.tests))
    if not tests:
        return []
    count = {verdict: sum(test.verdict is verdict for test in tests) for verdict in Verdict}
    rare = ((Verdict.INCONCLUSIVE, "inconclusive"), (Verdict.SKIP, "skipped"))
    more = "".join(f", {count[verdict]} {word}" for verdict, word in rare if count[verdict])
    return [f"ran {len(tests)} composition(s): {count[Verdict.PASS]} passed, {count[Verdict.FAIL]} failed{more}"]


def cases_text(one: CompositionSum) -> str:
    """`1 of 2 cases passed, 1 of 1 golden matched`; "" of one that has no cases and was run once."""
    if len(one.tests) == 1 and one.tests[0].case is None:
        return ""
    golden = [row.passed is True for test in one.tests for row in test.assertions if row.name == GOLDEN]
    matched = f", {sum(golden)} of {len(golden)} golden matched" if golden else ""
    return f"{one.count_of(Verdict.PASS)} of {counted(len(one.tests), 'case')} passed{matched}"


def spending_text(spending: Spending | None) -> str:
    """`4,200 tokens, $0.0123`, or `4,200 tokens, cost unknown`; "" where no call says what it cost."""
    if spending is None:
        return ""
    if not spending.models and not spending.tokens:
        return f"scorers {facts.cost_text(spending.scorers_usd)}" if spending.scorers_usd else ""
    return tokens_text(spending.tokens, spending.cost_usd)


def tokens_text(tokens: int, cost: float | None) -> str:
    """What models cost, as text: `4,200 tokens, $0.0123`."""
    return f"{tokens:,} tokens, {'cost unknown' if cost is None else facts.cost_text(cost)}"


def case_sums(record: RunRecord) -> Iterator[tuple[str, str]]:
    """(name, `1 of 2 cases passed (674ms, 550 tokens, $0.034)`) of each composition that has cases or cost anything."""
    return ((one_line(one.name), told) for one in record.compositions if (told := _case_sum(one)))


def _case_sum(one: CompositionSum) -> str:
    cases, spent = cases_text(one), spending_text(one.spending)
    about = ", ".join(part for part in (facts.duration_text(one.duration_ms), spent) if part)
    return f"{cases} ({about})" if cases else about if spent else ""


def list_lines(record: RunRecord, ink: Ink) -> list[str]:
    """The composition's lines, its cases together, and below them how many of them passed; [] without any."""
    lines = []
    for one in record.compositions:
        for test in one.tests:
            remark = facts.listed_remark(test)
            lines.append(line_of(test, ink) + (f"  {ink.yellow(remark)}" if remark else ""))
        if told := _case_sum(one):
            lines.append(f"{INDENT}{ink.dim(f'{one_line(one.name)}: {told}')}")
    return lines


def spending_lines(record: RunRecord, ink: Ink) -> list[str]:
    """What each model and scorer cost, as a table under `spent`; [] where no call says."""
    spending = record.spending
    told = [] if spending is None else model_rows(spending)
    if not told:
        return []
    rows = [("model", "calls", "tokens", "cost"), *told]
    widths = [max(columns(row[column]) for row in rows) for column in range(4)]
    lines = [
        INDENT * 2
        + pad(row[0], widths[0])
        + "".join(f"  {cell.rjust(widths[at])}" for at, cell in enumerate(row) if at)
        for row in rows
    ]
    return [f"{INDENT}spent", ink.dim(lines[0]), *lines[1:]]


def model_rows(spending: Spending) -> list[tuple[str, str, str, str]]:
    """(model, calls, tokens, cost) of the dearest models as text, of scorers that cost anything, and of all where several."""
    rows = [
        (
            one_line(row["model"], MODEL_LIMIT) if row["model"] else UNNAMED,
            f"{row['calls']:,}",
            f"{row['tokens']:,}",
            cost,
        )
        for row in spending.models[:MODELS_SHOWN]
        for cost in (facts.cost_text(row["cost_usd"]),)
    ]
    if len(spending.models) > MODELS_SHOWN:
        rows.append((f"… {counted(len(spending.models) - MODELS_SHOWN, 'more model')}", "", "", ""))
    paid = [row for row in spending.scorers if row["cost_usd"]]
    rows += [
        (f"scorer {one_line(row['scorer'], MODEL_LIMIT)}", f"{row['calls']:,}", "", facts.cost_text(row["cost_usd"]))
        for row in paid
    ]
    if len(rows) > 1:
        calls = sum(row["calls"] for row in (*spending.models, *paid))
        rows.append(("all", f"{calls:,}", f"{spending.tokens:,}", facts.cost_text(spending.cost_usd)))
    return rows


def graph_lines(test: TestResult) -> list[str]:
    """What failed in the graph of a failed composition, and what was not run for it; what its reasons say is not repeated."""
    trace = facts.graph_of(test)
    if trace is None or test.verdict is not Verdict.FAIL:
        return []
    said = " ".join(reason.text for reason in facts.reasons(test))
    if test.failure is not None and test.failure.hint:
        said += one_line(test.failure.hint)
    lines: list[str] = []
    failures = graph_failures(trace)
    for failure in failures[:NODES_SHOWN]:
        lines.append(f"node `{failure.node}`" + ("" if failure.message in said else f": {failure.message}"))
        if failure.args is not None:
            lines.append(f"{INDENT}args: {failure.args}")
        if failure.skipped:
            lines.append(f"{INDENT}skipped because of it: {_ids(failure.skipped)}")
    if len(failures) > NODES_SHOWN:
        lines.append(f"… {counted(len(failures) - NODES_SHOWN, 'more failed node')}")
    return lines + list(_unrun(trace, test.failure))


def _unrun(trace: JsonMapping, failure: Failure | None) -> Iterator[str]:
    """The budget that was crossed, and nodes that nothing failed for: those it kept from running, and by their own `when`."""
    cap = trace["composition"].get("budget_tripped")
    is_told = failure is not None and (failure.kind is FailureKind.BUDGET or failure.texts(Part.BUDGET))
    if cap is not None and not is_told:
        yield f"budget {cap} was exceeded"
    unrun = [node["id"] for node in trace["nodes"].values() if node["status"] == "skipped"]
    if cap is not None and unrun:
        yield f"not run: {_ids(unrun)}"
    elif unrun:
        held = [node for node in trace["nodes"].values() if _skipped_by(node) == "when"]
        if held:
            yield f"skipped by `when`: {_ids([node['id'] for node in held])}"


def graph_failures(trace: JsonMapping) -> list[GraphFailure]:
    """The nodes that failed, in order."""
    nodes = trace["nodes"]
    children: dict[str, list[str]] = {}
    for node in nodes.values():
        for parent in node["needs"]:
            children.setdefault(parent, []).append(node["id"])
    return [
        GraphFailure(
            node=one_line(node["id"]),
            message=one_line(node.get("message") or "failed", facts.MESSAGE_LIMIT),
            args=_args_of(node),
            skipped=tuple(_skipped_after(node["id"], nodes, children)),
        )
        for node in nodes.values()
        if node["status"] == "err"
    ]


def _args_of(node: JsonMapping) -> str | None:
    """The arguments of the call that failed the node, with the item it was for; None where none was made.

    In a fan-out the calls that it cancelled have failed too; `item` is the one that is at fault.
    """
    if "args" in node:
        return one_line(facts.value_text(node["args"]), ARGS_LIMIT)
    calls = node.get("calls", ())
    at_fault = [call for call in calls if "item" in node and call.get("item") == node["item"]]
    failed = at_fault or [call for call in calls if call["status"] == "err"]
    if not failed:
        return None
    call = failed[-1]
    item = f" (item [{call['item']}])" if "item" in call else ""
    return one_line(facts.value_text(call["args"]), ARGS_LIMIT) + item


def _skipped_after(failed: str, nodes: JsonMapping, children: Mapping[str, list[str]]) -> Iterator[str]:
    """The nodes that were skipped since `failed` failed, or since one of these was."""
    waiting, seen = [failed], {failed}
    while waiting:
        for child in children.get(waiting.pop(0), ()):
            if child not in seen and _skipped_by(nodes[child]) == "parent":
                seen.add(child)
                waiting.append(child)
                yield child


def _skipped_by(node: JsonMapping) -> str | None:
    """What a node was skipped by: "when", "parent", "budget" or "interrupted"; None for a node that was not skipped."""
    if node["status"] != "skipped" or "skipped_by" in node:
        return node.get("skipped_by")
    told = str(node.get("message", ""))
    return next((cause for words, cause in _OLD_WORDS.items() if told.startswith(words)), "parent")


def _ids(ids: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(f"`{one_line(node_id)}`" for node_id in ids[:IDS_SHOWN])
    return shown if len(ids) <= IDS_SHOWN else f"{shown} and {len(ids) - IDS_SHOWN} more"
