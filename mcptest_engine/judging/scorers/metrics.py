"""The five metrics that a model judges of a trace: what each asks, and what of the trace the judge is shown. Pure.

The trace is an agent's conversation or a composition's graph, as records keep them: secrets are out of it. Calls are numbered,
so that a judge can say of each whether it was right.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.rubrics import Rubric, read_rubric
from mcptest_engine.judging.scorers.fences import Material
from mcptest_engine.judging.scorers.judge import Graded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.json_types import JsonMapping

RUBRIC = "rubric"
MOST_CALLS = 60
VALUE_LIMIT = 2_000
"""Characters of one call's arguments or result that a judge is shown."""
_LINE_BREAKS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""The ends of lines that JSON leaves as they are."""
_BY_CALL = frozenset({"mcp_use", "argument_correctness"})

_QUESTIONS = {
    "mcp_task_completion": """\
Whether the task was done.

- 1: all that the task asks for was achieved, and what the calls returned shows it.
- Between: a part was achieved; go by the weight of what is missing.
- 0: nothing of it was achieved, or it is only claimed.

A claim of the answer that no call bears out counts against it. How the task was done, and how well the answer is put, does \
not matter here.""",
    "mcp_use": """\
Whether the right tools were used, and well.

- Every call served the task, by a tool that is made for it.
- No call that was needed is missing, and none was repeated without reason.
- What went wrong in a call was seen and dealt with.
- What the calls returned was used.

1 is all of it, 0 is none. Where the task needs no tool and none was called, it is 1. A call has something against it when it \
was needless, when another tool should have been called, or when its failure was ignored.""",
    "argument_correctness": """\
Whether the tools were called with the right arguments.

- Every argument follows from the task or from what earlier calls returned; none is made up.
- Nothing that the task specifies is left out, and nothing is added that it does not ask for.
- Values have the kind, the unit and the form that the tool expects, as far as the calls show it.

The score is about the share of the calls whose arguments are right, and lower where a wrong one does harm. Where the task \
needs no call and none was made, it is 1; where it needs one and none was made, it is 0. Whether the tool itself was the right \
one does not matter here.""",
    "plan_quality": """\
Whether the steps make a good plan for the task.

- They cover the task: nothing that has to be done is missing.
- Their order is sensible: what a step needs is there when it comes.
- None is needless, repeated, or a detour.
- What comes back is taken up: a step that failed, or that showed something new, changed what came next.

1 is all of it, 0 is none. Judge the way and not the outcome: a good plan that met with a failing tool is still good.""",
}
METRICS = (RUBRIC, *_QUESTIONS)


class _Call(NamedTuple):
    tool: str
    told: str


def rubric_of(metric: str, written: object, threshold: float | None = None) -> Rubric:
    """What a metric is judged by; of `rubric` that is what the suite writes. Raises: ValueError for a metric there is not."""
    if metric == RUBRIC:
        return read_rubric(written, threshold=threshold)
    if metric not in _QUESTIONS:
        raise ValueError(f"there is no metric `{metric}`")
    return read_rubric(_QUESTIONS[metric], threshold=threshold)


def graded_of(metric: str, trace: Mapping[str, object], task: str) -> Graded:
    """What a judge of a metric is shown: the task, the calls in order, and what came of them."""
    calls = list(_node_calls(trace) if "nodes" in trace else _agent_calls(trace))
    output = trace.get("output") if "nodes" in trace else trace.get("final_response", "")
    answer = output if isinstance(output, str) else _json(output, VALUE_LIMIT * 10)
    shown = "\n\n".join(f"call {number}: {call.told}" for number, call in enumerate(calls[:MOST_CALLS], start=1))
    if len(calls) > MOST_CALLS:
        shown += f"\n\n(and {len(calls) - MOST_CALLS} more calls)"
    task = task or _task(trace)
    materials = [
        *([Material("task", task)] if task else []),
        Material("calls", shown or "(no call was made)"),
        Material("answer", answer or "(no answer was given)"),
    ]
    by_call = metric in _BY_CALL
    return Graded(
        tuple(materials),
        calls=tuple(call.tool for call in calls[:MOST_CALLS]) if by_call else (),
        input=task,
        output=answer,
    )


def is_judgeable(trace: JsonMapping | None) -> bool:
    """Whether anything came to pass that could be judged."""
    if trace is None:
        return False
    if "nodes" in trace:
        return any(node["status"] != "skipped" for node in trace["nodes"].values())
    return bool(trace.get("tool_calls") or trace.get("final_response"))


def _agent_calls(trace: JsonMapping) -> Iterator[_Call]:
    for call in trace.get("tool_calls", ()):
        name = one_line(str(call.get("name")))
        server = f" (server {call['server']})" if call.get("server") else ""
        lines = [
            f"{name}{server}",
            f"args: {_json(call.get('args') if call.get('args') is not None else call.get('raw'))}",
        ]
        if call.get("error") is not None:
            lines.append(f"failed: {_json(call['error'])}")
        elif "result" in call:
            lines.append(
                f"{'reported an error' if call.get('is_error') else 'returned'}: {_json(_texts(call['result']))}"
            )
        yield _Call(name, "\n".join(lines))


def _node_calls(trace: JsonMapping) -> Iterator[_Call]:
    nodes = trace["nodes"]
    order = [*trace.get("composition", {}).get("order", ())]
    for node_id in [*order, *(name for name in nodes if name not in order)]:
        node = nodes[node_id]
        tool = one_line(str(node["tool"]))
        head = f"{tool} (step `{node_id}`" + (f", after {', '.join(node['needs'])})" if node.get("needs") else ")")
        if node["status"] == "skipped":
            continue
        rows = node["calls"] if isinstance(node.get("calls"), list) else [node]
        for row in rows:
            lines = [head, f"args: {_json(row.get('args'))}"]
            if row.get("status") == "err":
                lines.append(f"failed: {_json(row.get('message', 'without a reason'))}")
            else:
                lines.append(f"returned: {_json(_texts(row.get('output')))}")
            yield _Call(tool, "\n".join(lines))


def _task(trace: JsonMapping) -> str:
    """What an agent was asked, as its conversation has it."""
    turns = trace.get("conversation", {}).get("turns", ())
    return next((str(turn.get("content", "")) for turn in turns if turn.get("role") == "user"), "")


def _texts(result: Any) -> Any:
    """The texts of a tool's result, which is all that most hold; anything else as it is."""
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, list) or set(result) - {"content", "isError", "_meta"}:
        return result
    told = (block.get("text") if isinstance(block, dict) else None for block in content)
    texts = [text for text in told if isinstance(text, str)]
    return "\n".join(texts) if texts and len(texts) == len(content) else result


def _json(value: object, limit: int = VALUE_LIMIT) -> str:
    """`value` as JSON on one line, a text in quotes too: what a server wrote must not look like a line of ours."""
    text = json.dumps(value, ensure_ascii=False).translate(_LINE_BREAKS)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
