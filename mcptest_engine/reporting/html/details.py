"""All that is known of one test, as the page's script shows it when the test is opened.

The members are those of the run record, but for the name, which the table has. What holds a value of a suite or a server
(`matcher`, `actual`, `request`, `output`, `args`, `result`) is the number that `Values` gave it. A composition's trace gives
`graph`, an agent's `conversation`; what else a trace holds is `trace`. `judgement` and `trials` are in `judged.py`. Traces
are read leniently: a member that is not there, or is something else, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.json_types import Json, JsonDict, JsonMapping
    from mcptest_engine.reporting.html.values import Values

_PLAIN = (
    "id", "kind", "server", "tool", "case", "verdict", "duration_ms", "started_offset_ms", "behind", "cached",
    "flaky",
    "attempts", "file", "line", "tags", "score", "threshold", "derived_metrics", "message", "failure", "cost_usd", "tokens",
    "model", "scorer", "strength", "mutation_score",
)  # fmt: skip
_NODE = (
    "id", "status", "server", "tool", "needs", "started_ms", "duration_ms", "message", "hint", "mocked", "frozen", "cost_usd",
    "tokens", "model", "calls_total",
)  # fmt: skip
_CALL = (
    "item",
    "iteration",
    "attempt",
    "status",
    "started_ms",
    "duration_ms",
    "message",
    "name",
    "server",
    "is_error",
    "turn",
)
_ROW = ("index", "implicit", "name", "target", "weight", "passed", "message", "pointer", "diff")
_STEP = ("index", "name", "server", "tool", "verdict", "duration_ms", "message", "failure")
_VALUES = ("args", "arguments", "input", "result", "output")
_CONVERSED = frozenset({"conversation", "tool_calls", "tool_names", "final_response", "model", "stop"})


def details_of(
    data: JsonMapping, values: Values, *, hooks: Sequence[Mapping[str, object]] = (), repro: str | None = None
) -> JsonDict:
    """One test, from its JSON values in the record. `hooks` are those that ran around it."""
    out = _members(data, _PLAIN)
    if not data.get("tags"):
        out.pop("tags", None)
    if not data.get("cached"):
        out.pop("cached", None)
    out["assertions"] = [_assertion(row, values) for row in data["assertions"]]
    out.update(_exchange(data, values))
    if data.get("verify"):
        out["verify"] = [_step(step, values) for step in data["verify"]]
    if isinstance(data.get("trace"), dict):
        out.update(_trace(data["trace"], values))
    if (judgement := judgement_of(data.get("judgement"), values)) is not None:
        out["judgement"] = judgement
    trials = [trial for trial in data.get("trials") or () if isinstance(trial, dict)]
    if trials:
        out.pop("conversation", None)  # which is that of one of them
        out["trials"] = [_trial(trial, values) for trial in trials]
    if hooks:
        out["hooks"] = [*hooks]
    if repro is not None:
        out["repro"] = repro
    return out


def _members(data: Mapping[str, object], names: Sequence[str]) -> JsonDict:
    return {name: data[name] for name in names if name in data}


def _assertion(row: JsonMapping, values: Values) -> JsonDict:
    out = _members(row, _ROW)
    if row.get("weight") == 1:
        del out["weight"]
    for name in ("matcher", "actual"):
        if name in row and "set" not in row:
            out[name] = values.json(row[name])
    if (judgement := judgement_of(row.get("judgement"), values)) is not None:
        out["judgement"] = judgement
    inside = row.get("set")
    if inside is not None:
        out["set"] = _members(inside, ("name", "threshold", "score", "passed"))
        out["set"]["assertions"] = [_assertion(one, values) for one in inside["assertions"]]
    return out


def _exchange(data: Mapping[str, object], values: Values) -> dict[str, object]:
    """What was sent and what came; of an output in a file of its own, where that is."""
    out: JsonDict = {}
    if data.get("request") is not None:
        out["request"] = values.json(data["request"])
    output = data.get("output")
    if isinstance(output, dict) and "$file" in output:
        out["aside"] = {"path": output["$file"], "bytes": output.get("bytes")}
    elif output is not None:
        out["output"] = values.json(output)
    return out


def _trial(trial: Mapping[str, object], values: Values) -> dict[str, object]:
    trace = trial.get("trace")
    talk = _trace(trace, values).get("conversation") if isinstance(trace, dict) else None
    return {**trial_of(trial), **({} if talk is None else {"conversation": talk})}


def _step(step: JsonMapping, values: Values) -> JsonDict:
    rows = [_assertion(row, values) for row in step["assertions"]]
    return {**_members(step, _STEP), "assertions": rows, **_exchange(step, values)}


def _trace(trace: Mapping[str, object], values: Values) -> dict[str, object]:
    """The graph, the conversation, and what is left of a trace."""
    out: JsonDict = {}
    rest = dict(trace)
    nodes = trace.get("nodes")
    if isinstance(nodes, dict) and nodes and all(isinstance(node, dict) for node in nodes.values()):
        out["graph"] = [_node_json(name, node, values) for name, node in nodes.items()]
        about = trace.get("composition")
        path = about.get("critical_path") if isinstance(about, dict) else None
        out["critical_path"] = path if isinstance(path, list) else []
        del rest["nodes"]
    conversation = trace.get("conversation")
    if isinstance(conversation, dict) or isinstance(trace.get("tool_calls"), list):
        out["conversation"] = _conversation(trace, conversation if isinstance(conversation, dict) else {}, values)
        rest = {name: value for name, value in rest.items() if name not in _CONVERSED}
    if rest:
        out["trace"] = values.json(rest)
    return out


def _node_json(name: str, node: JsonMapping, values: Values) -> JsonDict:
    out = {"id": name, "status": "", "needs": [], **_members(node, _NODE)}
    out["needs"] = [str(one) for one in out["needs"]] if isinstance(out["needs"], list) else []
    out.update(_texts(node, values))
    if isinstance(node.get("calls"), list):
        out["calls"] = [_call_json(call, values) for call in node["calls"] if isinstance(call, dict)]
    return out


def _call_json(call: JsonMapping, values: Values) -> JsonDict:
    out = {**_members(call, _CALL), **_texts(call, values)}
    if isinstance(call.get("error"), str):
        out["error"] = call["error"]
    if isinstance(call.get("raw"), str):
        out["raw"] = values.text(call["raw"])
    return out


def _texts(data: Mapping[str, object], values: Values) -> dict[str, object]:
    return {name: values.json(data[name]) for name in _VALUES if data.get(name) is not None}


def _conversation(trace: Mapping[str, object], conversation: Mapping[str, object], values: Values) -> dict[str, object]:
    turns, calls, tokens = conversation.get("turns"), trace.get("tool_calls"), conversation.get("tokens")
    out: JsonDict = {}
    if isinstance(turns, list):
        out["turns"] = [_turn(turn, values) for turn in turns if isinstance(turn, dict)]
    if isinstance(calls, list):
        out["calls"] = [_call_json(call, values) for call in calls if isinstance(call, dict)]
    if isinstance(tokens, dict):
        out["tokens"] = {str(name): count for name, count in tokens.items() if isinstance(count, int | float)}
    if isinstance(trace.get("model"), str):
        out["model"] = trace["model"]
    for name, said in (("stop", trace.get("stop")), ("system", conversation.get("system_prompt"))):
        if isinstance(said, str):
            out[name] = said if name == "stop" else values.text(said)
    if trace.get("final_response") is not None:
        out["final"] = _said(trace["final_response"], values)
    return out


def _turn(turn: JsonMapping, values: Values) -> JsonDict:
    out: JsonDict = {"role": str(turn.get("role", "unknown"))}
    if isinstance(turn.get("name"), str):
        out["name"] = turn["name"]
    if turn.get("is_error") is True:
        out["is_error"] = True
    if turn.get("content") is not None:
        out["content"] = _said(turn["content"], values)
    if isinstance(turn.get("tool_calls"), list):
        out["calls"] = [_call_json(call, values) for call in turn["tool_calls"] if isinstance(call, dict)]
    return out


def _said(content: object, values: Values) -> Json:
    return values.text(content) if isinstance(content, str) else values.json(content)


_FACTS: Mapping[str, type | tuple[type, ...]] = {
    "by": str,
    "verdict": str,
    "score": (int, float),
    "threshold": (int, float),
    "model": str,
}
_TEXTS = ("reasoning", "input", "output")
_ROWS = {
    "criteria": ("name", "weight", "score", "passed", "reasoning"),
    "path": ("ask", "answer", "score", "reasoning"),
    "jury": ("model", "score", "passed", "reasoning"),
    "findings": ("call", "tool", "ok", "reasoning"),
}
_TRIAL = ("verdict", "duration_ms", "message", "tokens", "cost_usd")
_SCALARS = (str, int, float, bool, type(None))


def judgement_of(written: object, values: Values) -> dict[str, object] | None:
    """A judgement; None for what is none, such as what only says what the judge cost that gave no verdict."""
    if not isinstance(written, dict) or not isinstance(written.get("verdict"), str):
        return None
    out: JsonDict = {name: written[name] for name, kind in _FACTS.items() if isinstance(written.get(name), kind)}
    out |= {name: values.text(text) for name in _TEXTS if isinstance(text := written.get(name), str) and text}
    extra = written.get("extra")
    by_judge = written.get("by") == "judge" and isinstance(extra, dict)
    found = {**written, "findings": extra.get("findings") if by_judge and isinstance(extra, dict) else None}
    for name, members in _ROWS.items():
        rows = found[name] if isinstance(found.get(name), list) else []
        if told := [_plain(row, members) for row in rows if isinstance(row, dict)]:
            out[name] = told
    if isinstance(extra, dict) and not by_judge:
        out["extra"] = values.json(extra)
    return out


def trial_of(trial: Mapping[str, object]) -> dict[str, object]:
    """One of the runs, without its conversation."""
    return _plain(trial, _TRIAL)


def _plain(row: Mapping[str, object], members: tuple[str, ...]) -> dict[str, object]:
    return {name: row[name] for name in members if name in row and isinstance(row[name], _SCALARS)}
