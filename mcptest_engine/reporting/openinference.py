"""`openinference`: a run as spans, one JSON object a line, with the attribute names of OpenInference where it has them.

The run is a span, each test one below it, and below a test what it did: its call, the steps of its `verify`, the nodes of a
composition, an agent's answers and tool calls, and what judged it. Ids are hashes of the run's id and of a span's place, so
that a record gives the same spans every time. A trace is read leniently: what it lacks is left out.
Source: OpenInference, semantic conventions.
"""

from __future__ import annotations

import hashlib
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.results import TestKind, Verdict
from mcptest_engine.core.safe_json import safe_json
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.text import utc_text
from mcptest_engine.core.values import dataclass
from mcptest_engine.reporting import facts, hook_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

SCHEMA_VERSION = "mcptest.dev/openinference/v1"
VALUE_LIMIT = 32_000
_STATUS = {Verdict.PASS: "OK", Verdict.FAIL: "ERROR"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span before it is written. `place` is what its id is made of, `start_ms` counts from the start of the run."""

    place: str
    parent: str | None
    name: str
    kind: str
    status: str
    duration_ms: float | None = None
    start_ms: float | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)


def render(record: RunRecord, options: RenderOptions) -> str:  # noqa: ARG001 - every format takes both
    """The run's span, then each test's, each followed by those below it."""
    try:
        start = datetime.fromisoformat(record.started_at)
    except ValueError:
        start = None
    trace_id = _hash(record.run_id, "trace", 32)
    return "".join(f"{safe_json(_span_json(span, record.run_id, trace_id, start))}\n" for span in _spans(record))


def _span_json(span: Span, run_id: str, trace_id: str, start: datetime | None) -> dict[str, object]:
    out: JsonDict = {
        "schema_version": SCHEMA_VERSION,
        "trace_id": trace_id,
        "span_id": _hash(run_id, span.place, 16),
        "parent_span_id": None if span.parent is None else _hash(run_id, span.parent, 16),
        "name": span.name,
        "span_kind": span.kind,
        "status_code": span.status,
    }
    if start is not None and span.start_ms is not None:
        out["start_time"] = _time(start, span.start_ms)
        if span.duration_ms is not None:
            out["end_time"] = _time(start, span.start_ms + span.duration_ms)
    if span.duration_ms is not None:
        out["duration_ms"] = span.duration_ms
    out["attributes"] = {"openinference.span.kind": span.kind, **span.attributes}
    return out


def _hash(run_id: str, place: str, length: int) -> str:
    return hashlib.sha256(f"{run_id}\0{place}".encode("utf-8", "replace")).hexdigest()[:length]


def _time(start: datetime, milliseconds: float) -> str | None:
    try:
        return utc_text(start + timedelta(milliseconds=milliseconds), "microseconds")
    except (OverflowError, ValueError):
        return None


def _spans(record: RunRecord) -> Iterator[Span]:
    totals = record.totals.to_json()
    attributes: dict[str, object] = {
        "mcptest.run.id": one_line(record.run_id),
        **{f"mcptest.run.{name}": count for name, count in totals.items()},
        "mcptest.run.verdict": record.verdict.value,
        "mcptest.run.mode": one_line(record.mode),
        "mcptest.suite.name": one_line(record.suite.name),
        "mcptest.suite.path": one_line(record.suite.path),
        "mcptest.version": one_line(record.mcptest_version),
    }
    if (reason := facts.run_reason(record)) is not None:
        attributes["mcptest.run.reason"] = reason
    if unchecked := facts.unchecked_text(record):
        attributes["mcptest.run.unchecked"] = unchecked
    if warnings := hook_facts.other_warnings(record):
        attributes["mcptest.run.warnings"] = list(warnings)
    if hooks := [hook.text for hook in hook_facts.hook_failures(record)]:
        attributes["mcptest.run.failed_hooks"] = hooks
    if (spending := record.spending) is not None:
        attributes |= _usage_attributes(spending.tokens, spending.cost_usd)
    status = _STATUS[Verdict.PASS if record.verdict is Verdict.PASS else Verdict.FAIL]
    yield Span(
        place="run",
        parent=None,
        name="mcptest.run",
        kind="CHAIN",
        status=status,
        duration_ms=record.duration_ms,
        start_ms=0.0,
        attributes=attributes,
    )
    seen: dict[str, int] = {}
    for test in record.tests:
        seen[test.id] = number = seen.get(test.id, 0) + 1
        yield from _test_spans(test, f"test\0{test.id}" + (f"\0{number}" if number > 1 else ""))


def _test_spans(test: TestResult, place: str) -> Iterator[Span]:
    yield Span(
        place=place,
        parent="run",
        name="mcptest.test",
        kind="CHAIN",
        status=_STATUS.get(test.verdict, "UNSET"),
        duration_ms=test.duration_ms,
        start_ms=test.started_offset_ms,
        attributes=_test_attributes(test),
    )
    params = _mapping((test.request or {}).get("params"))
    if test.request is not None and test.request.get("method") == "tools/call" and test.trace is None:
        attributes = {
            **_tool_attributes(params.get("name"), test.server),
            **_value_attributes("input", params.get("arguments", {})),
            **_value_attributes("output", test.output),
        }
        failed = (
            test.output is None or "error" in test.output or _mapping(test.output.get("result")).get("isError") is True
        )
        yield Span(
            place=f"{place}\0call",
            parent=place,
            name=_name_text(params.get("name")),
            kind="TOOL",
            status="ERROR" if failed else "OK",
            duration_ms=test.duration_ms,
            start_ms=test.started_offset_ms,
            attributes=attributes,
        )
    for step in test.verify:
        sent = _mapping(_mapping(step.request).get("params"))
        attributes = {
            **_tool_attributes(step.tool, step.server),
            "mcptest.verify.index": step.index,
            "mcptest.verify.status": step.verdict.value,
            **_value_attributes("input", sent.get("arguments", sent)),
            **_value_attributes("output", step.output),
        }
        yield Span(
            place=f"{place}\0verify\0{step.index}",
            parent=place,
            name=one_line(step.label),
            kind="TOOL",
            status=_STATUS.get(step.verdict, "UNSET"),
            duration_ms=step.duration_ms,
            attributes=attributes,
        )
    if isinstance(test.trace, dict):
        yield from _node_spans(test, place)
    yield from _conversations(test, place)
    yield from _judgement_span(test, place)


def _conversations(test: TestResult, place: str) -> Iterator[Span]:
    """The conversation of a test, or of each of its runs where these are one row."""
    status = _STATUS.get(test.verdict, "UNSET")
    trials = enumerate(map(_mapping, test.trials), 1)
    held = [(number, trial) for number, trial in trials if isinstance(trial.get("trace"), dict)]
    for number, trial in held:
        own = {"pass": "OK", "fail": "ERROR"}.get(str(trial.get("verdict")), "UNSET")
        yield from _agent_spans(trial["trace"], f"{place}\0agent\0{number}", parent=place, status=own, trial=number)
    if held or not isinstance(test.trace, dict):
        return
    if test.kind is TestKind.AGENT or "tool_calls" in test.trace:
        start = test.started_offset_ms
        yield from _agent_spans(test.trace, f"{place}\0agent", parent=place, status=status, start_ms=start)


def _test_attributes(test: TestResult) -> dict[str, object]:
    out: JsonDict = {
        "mcptest.test.name": one_line(test.name),
        "mcptest.test.status": test.verdict.value,
        "mcptest.test.id": one_line(test.id),
        "mcptest.test.kind": test.kind.value,
        "mcptest.test.server": one_line(test.server),
        "mcptest.test.file": one_line(test.file),
        "mcptest.test.line": test.line,
    }
    if test.cached:
        out["mcptest.test.cached"] = True
    if test.flaky:
        out["mcptest.test.flaky"] = True
    if test.attempts:
        out["mcptest.test.attempts"] = len(test.attempts)
    if test.verdict is Verdict.FAIL:
        out["mcptest.test.failure.kind"] = "assertion" if test.failure is None else test.failure.kind.value
        out["mcptest.test.message"] = "\n".join(reason.text for reason in facts.reasons(test))
        if test.failure is not None and test.failure.cause is not None:
            out["mcptest.test.failure.cause"] = test.failure.cause.kind
            out["mcptest.test.hint"] = one_line(test.failure.rerun_text or test.failure.hint or "")
    elif remark := facts.remark(test):
        out["mcptest.test.message"] = remark
    out |= {f"mcptest.test.scorer_error.{name}": value for name, value in facts.scorer_error_members(test).items()}
    if test.score is not None:
        out |= {"mcptest.test.score": test.score, "mcptest.test.threshold": test.threshold}
    out |= {f"mcptest.metric.{one_line(metric.name)}": metric.value for metric in test.derived_metrics}
    if test.tags:
        out["tag.tags"] = [one_line(tag) for tag in test.tags]
    if test.tokens is not None:
        out |= _usage_attributes(test.tokens, test.cost_usd)
    return out


def _node_spans(test: TestResult, place: str) -> Iterator[Span]:
    """The nodes of a composition, and below a node that called more than once its calls."""
    for node_id, node in _mapping(_mapping(test.trace).get("nodes")).items():
        node = _mapping(node)
        own = f"{place}\0node\0{node_id}"
        attributes: dict[str, object] = {
            **_tool_attributes(node.get("tool"), node.get("server")),
            "mcptest.node.id": one_line(str(node_id)),
            "mcptest.node.status": one_line(str(node.get("status"))),
            "mcptest.node.needs": [one_line(str(parent)) for parent in _list(node.get("needs"))],
            **_value_attributes("input", node.get("args")),
            **_value_attributes("output", node.get("output")),
            **_usage(node),
        }
        if node.get("message") is not None:
            attributes["mcptest.node.message"] = one_line(str(node["message"]), facts.MESSAGE_LIMIT)
        began = _number_or_none(node.get("started_ms"))
        start = None if began is None else test.started_offset_ms + began
        status = {"ok": "OK", "err": "ERROR"}.get(str(node.get("status")), "UNSET")
        yield Span(
            place=own,
            parent=place,
            name=_name_text(node_id),
            kind="TOOL",
            status=status,
            duration_ms=_number_or_none(node.get("duration_ms")),
            start_ms=start,
            attributes=attributes,
        )
        for index, call in enumerate(map(_mapping, _list(node.get("calls")))):
            failed = call.get("message") is not None or call.get("status") == "err"
            yield Span(
                place=f"{own}\0{index}",
                parent=own,
                name=_name_text(node.get("tool")),
                kind="TOOL",
                status="ERROR" if failed else "OK",
                duration_ms=_number_or_none(call.get("duration_ms")),
                attributes={
                    **_tool_attributes(node.get("tool"), node.get("server")),
                    **_value_attributes("input", call.get("args")),
                    **_value_attributes("output", call.get("output", call.get("result"))),
                    **_usage(call),
                },
            )


def _agent_spans(
    trace: JsonMapping,
    place: str,
    *,
    parent: str,
    status: str,
    start_ms: float | None = None,
    trial: int | None = None,
) -> Iterator[Span]:
    """The agent, its model's answers as LLM spans, and its tool calls, each below the answer that requested it."""
    conversation = _mapping(trace.get("conversation"))
    turns = [_mapping(turn) for turn in _list(conversation.get("turns"))]
    answers = _numbered(turns, trace)
    attributes = {
        **({} if trial is None else {"mcptest.trial.number": trial}),
        **_value_attributes("input", next((turn.get("content") for turn in turns if turn.get("role") == "user"), None)),
        **_value_attributes("output", trace.get("final_response")),
        **_model(trace.get("model")),
        **_tokens(conversation.get("tokens")),
        **_usage_attributes(None, _number_or_none(_mapping(trace.get("cost")).get("total"))),
    }
    if trace.get("stop") is not None:
        attributes["mcptest.agent.stop"] = one_line(str(trace["stop"]), 100)
    yield Span(
        place=place,
        parent=parent,
        name="agent",
        kind="AGENT",
        status=status,
        duration_ms=_number_or_none(trace.get("duration_ms")),
        start_ms=start_ms,
        attributes=attributes,
    )
    yield from _turn_spans(turns, answers, trace, place)
    known = set(answers.values())
    for index, call in enumerate(map(_mapping, _list(trace.get("tool_calls")))):
        made_in = call.get("turn")
        within = type(made_in) is int and made_in in known
        failed = call.get("error") is not None or call.get("is_error") is True
        yield Span(
            place=f"{place}\0call\0{index}",
            parent=f"{place}\0turn\0{made_in}" if within else place,
            name=_name_text(call.get("name")),
            kind="TOOL",
            status="ERROR" if failed or _mapping(call.get("result")).get("isError") is True else "OK",
            duration_ms=_number_or_none(call.get("duration_ms")),
            attributes={
                **_tool_attributes(call.get("name"), call.get("server")),
                **_value_attributes("input", call.get("args") if call.get("args") is not None else call.get("raw")),
                **_value_attributes(
                    "output", call.get("result") if call.get("result") is not None else call.get("error")
                ),
            },
        )


def _turn_spans(
    turns: list[Mapping[str, object]], answers: Mapping[int, int], trace: Mapping[str, object], place: str
) -> Iterator[Span]:
    """The answers of the model, each with the messages since the answer before as its input."""
    system_prompt = _mapping(trace.get("conversation")).get("system_prompt")
    sent = [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
    after_last = 0
    for at, number in answers.items():
        turn = turns[at]
        yield Span(
            place=f"{place}\0turn\0{number}",
            parent=place,
            name=f"turn {number}",
            kind="LLM",
            status="OK",
            duration_ms=_number_or_none(turn.get("duration_ms")),
            attributes={
                "mcptest.turn.index": number,
                **_model(turn.get("model", trace.get("model"))),
                **_messages("input", [*sent, *turns[after_last:at]]),
                **_messages("output", [turn]),
                **_value_attributes("output", turn.get("content")),
                **_tokens(turn.get("tokens")),
            },
        )
        sent, after_last = [], at + 1


def _numbered(turns: list[Mapping[str, object]], trace: Mapping[str, object]) -> dict[int, int]:
    """The places of the model's answers with their numbers; in a shortened trace, the last ones are counted from the end."""
    spoken = [at for at, turn in enumerate(turns) if turn.get("role") in (None, "assistant")]
    total = trace.get("turns")
    left_out = total - len(spoken) if "turns_total" in trace and type(total) is int and total > len(spoken) else 0
    return {at: nth + (left_out if 2 * at >= len(turns) else 0) for nth, at in enumerate(spoken, 1)}


def _messages(side: str, turns: list[Any]) -> JsonDict:
    """Turns by the names of OpenInference: roles, contents, and the calls that a model asked for."""
    out: JsonDict = {}
    for index, turn in enumerate(turns):
        own = f"llm.{side}_messages.{index}.message"
        out[f"{own}.role"] = one_line(str(turn.get("role") or "assistant"), 100)
        if (content := turn.get("content")) is not None:
            out[f"{own}.content"] = _value_attributes("output", content)["output.value"]
        if turn.get("name") is not None:
            out[f"{own}.name"] = _name_text(turn["name"])
        for nth, call in enumerate(map(_mapping, _list(turn.get("tool_calls")))):
            function = f"{own}.tool_calls.{nth}.tool_call.function"
            out[f"{function}.name"] = _name_text(call.get("name"))
            out[f"{function}.arguments"] = safe_json(call.get("args"))[:VALUE_LIMIT]
    return out


def _judgement_span(test: TestResult, place: str) -> Iterator[Span]:
    """The judgement of a scorer or an LLM judge."""
    judgement = _mapping(test.judgement)
    if "verdict" not in judgement:
        return
    names = ("verdict", "score", "threshold", "reasoning", "criteria", "path", "jury", "extra")
    yield Span(
        place=f"{place}\0judgement",
        parent=place,
        name=_name_text(test.scorer or judgement.get("by")),
        kind="EVALUATOR",
        status="OK",
        attributes={
            **_value_attributes("input", {name: judgement.get(name) for name in ("input", "output")}),
            **_value_attributes("output", {name: judgement[name] for name in names if judgement.get(name) is not None}),
            **_model(judgement.get("model")),
            **_usage_attributes(None, _number_or_none(judgement.get("cost_usd"))),
        },
    )


def _tool_attributes(name: object, server: object) -> JsonDict:
    tool = {} if name is None else {"tool.name": _name_text(name)}
    return tool if server is None else {**tool, "mcptest.server": one_line(str(server))}


def _name_text(name: object) -> str:
    return one_line(str(name), 200) if name is not None else "call"


def _value_attributes(side: str, value: object) -> dict[str, object]:
    """`input.value` or `output.value` with its type; {} where there is none. A long one is cut, and says so."""
    if value is None:
        return {}
    is_text = isinstance(value, str)
    text = sanitise(value) if isinstance(value, str) else safe_json(value)
    clipped = {} if len(text) <= VALUE_LIMIT else {f"mcptest.{side}.clipped_at": VALUE_LIMIT}
    kind = "text/plain" if is_text or clipped else "application/json"
    return {f"{side}.value": text[:VALUE_LIMIT], f"{side}.mime_type": kind, **clipped}


def _model(name: object) -> dict[str, object]:
    return {"llm.model_name": one_line(name, 200)} if isinstance(name, str) else {}


def _tokens(tokens: object) -> dict[str, object]:
    names = {"total": "total", "input": "prompt", "output": "completion"}
    counts = {name: _number_or_none(_mapping(tokens).get(key)) for key, name in names.items()}
    return {f"llm.token_count.{name}": count for name, count in counts.items() if count is not None}


def _usage(node: Mapping[str, object]) -> dict[str, object]:
    return {
        **_model(node.get("model")),
        **_usage_attributes(_number_or_none(node.get("tokens")), _number_or_none(node.get("cost_usd"))),
    }


def _usage_attributes(tokens: float | None, cost_usd: float | None) -> dict[str, object]:
    total: dict[str, object] = {} if tokens is None else {"llm.token_count.total": tokens}
    return total if cost_usd is None else {**total, "llm.cost.total": cost_usd}


def _mapping(value: object) -> JsonMapping:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _number_or_none(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
