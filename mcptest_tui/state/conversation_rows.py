"""A conversation of an agent test as entries: who said what, which tools were called, and how it ended.

Entries hold texts as they came, clipped to what is shown; whoever draws them makes them safe. A record may be of any shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.costs import is_amount
from mcptest_engine.core.text import counted
from mcptest_tui.state.json_rows import is_cut
from mcptest_tui.state.judged_rows import is_number, shown_as
from mcptest_tui.state.spending import cost_of, usd
from mcptest_tui.words import took_shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mcptest_engine.engine_process.workbench_events import AgentTurn

    Path = tuple[str | int, ...]

SHOWN = 1_200
"""Characters of a text that stand in the conversation; Enter shows the rest."""
PREVIEW = 400
STOPS = {
    "end": "the model ended the conversation",
    "max_turns": "ended: max_turns was reached",
    "length": "ended: the last answer was cut off (length)",
    "refusal": "ended: the model refused (refusal)",
    "budget": "ended: its budget was used up (budget)",
    "error": "ended: the model gave no answer (error)",
    "interrupted": "ended: the run was interrupted",
}


class Entry(NamedTuple):
    """One part of a conversation.

    `kind` is "run" (the head of one of several runs), "say", "call" or "note". `label` stands in the left column with `number`,
    the turn of the model. `status` gives a mark; `told` stands at the right end, `outcome` is what came of a call. `path` leads
    to the whole in the result, `length` is that of a text of which only the beginning is here, `server` whose tool it is.
    """

    kind: str
    label: str = ""
    text: str = ""
    number: int = 0
    status: str = ""
    told: str = ""
    outcome: str = ""
    path: Path = ()
    length: int = 0
    server: str = ""


def entries_of(result: Mapping[str, Any], shut: Collection[int] = ()) -> list[Entry]:
    """All of the conversations of a result; of several runs those in `shut` (from 1) show their head only."""
    trials = [one for one in result.get("trials") or () if isinstance(one, dict) and "verdict" in one]
    if not trials:
        trace = result.get("trace")
        return list(_conversation(trace, ("trace",))) if isinstance(trace, dict) else []
    entries: list[Entry] = []
    for number, trial in enumerate(trials, 1):
        entries.append(_head(number, trial, number in shut))
        trace = trial.get("trace")
        if number not in shut and isinstance(trace, dict):
            entries += _conversation(trace, ("trials", number - 1, "trace"))
    return entries


def live_entries(talk: Sequence[AgentTurn]) -> list[Entry]:
    """Return the conversations from the events of a run so far, run by run."""
    runs: dict[int, list[AgentTurn]] = {}
    for event in talk:
        runs.setdefault(event.get("trial", 0), []).append(event)
    entries: list[Entry] = []
    for number, events in sorted(runs.items()):
        last = events[-1]
        spent = f"{last['tokens']:,} tokens   {usd(cost_of(last['cost_usd']))}"
        if number:
            entries.append(Entry("run", f"run {number}", number=number, status="running", told=spent))
        for event in events:
            entries.append(Entry("say", "assistant", event["text"], event["turn"]))
            entries += [Entry("call", text=name, status="queued") for name in event["tools"]]
        if not number:
            entries.append(Entry("note", text=f"running   {spent}", status="running"))
    return entries


def missing_parts(result: Mapping[str, object]) -> list[tuple[Path, list[Any]]]:
    """The lists of turns and calls that are not here to their end, each with its path."""
    places: list[tuple[Path, Any]] = [(("trace",), result.get("trace"))]
    trials = result.get("trials")
    if isinstance(trials, list):
        places += [
            (("trials", at, "trace"), one.get("trace")) for at, one in enumerate(trials) if isinstance(one, dict)
        ]
    found: list[tuple[Path, list[Any]]] = []
    for path, trace in places:
        if isinstance(trace, dict):
            told = trace.get("conversation")
            turns = told.get("turns") if isinstance(told, dict) else None
            for own, held in (
                ((*path, "conversation", "turns"), turns),
                ((*path, "tool_calls"), trace.get("tool_calls")),
            ):
                if isinstance(held, list) and held and _more(held[-1]):
                    found.append((own, held))
    return found


def _head(number: int, trial: Mapping[str, Any], is_shut: bool) -> Entry:
    told = []
    if is_number(trial.get("duration_ms")):
        told.append(took_shown(trial["duration_ms"]))
    if is_amount(trial.get("tokens")):
        told += [f"{trial['tokens']:,} tokens", usd(cost_of(trial.get("cost_usd")))]
    message = str(trial.get("message") or "")
    return Entry(
        "run", f"run {number}", message, number, shown_as(trial), "   ".join(told), "closed" if is_shut else "open"
    )


def _conversation(trace: Mapping[str, object], path: Path) -> Iterator[Entry]:
    talk = trace.get("conversation")
    talk = talk if isinstance(talk, dict) else {}
    own = (*path, "conversation")
    if talk.get("system_prompt"):
        yield _say("system", talk["system_prompt"], (*own, "system_prompt"))
    turns, calls = _list(talk.get("turns")), _list(trace.get("tool_calls"))
    left_out = _left_out(trace, "turns_total", turns)
    by_turn = _by_turn(calls, (*path, "tool_calls"))
    replies = sum(1 for one in turns if isinstance(one, dict) and one.get("role") == "assistant")
    total = trace.get("turns")
    number = 0
    for at, turn in enumerate(turns):
        if left_out and at == len(turns) // 2:
            yield Entry("note", text=f"{counted(left_out, 'turn')} in between are not saved here")
            number += max((int(total) if is_amount(total) else replies) - replies, 0)
        if not isinstance(turn, dict):
            continue
        if rest := _more(turn):
            yield Entry("note", text=f"reading {counted(rest, 'more turn')} …")
            continue
        role = str(turn.get("role", ""))
        if role == "tool":
            continue  # it is what the call came to, which stands with the call
        if role != "assistant":
            yield _say(role, turn.get("content"), (*own, "turns", at, "content"))
            continue
        number += 1
        made = by_turn.get(number) or list(_unanswered_calls(turn))
        if turn.get("content") or not made:
            yield _say("assistant", turn.get("content"), (*own, "turns", at, "content"), number)
        else:
            made = [made[0]._replace(number=number), *made[1:]]  # which then says whose turn it is
        yield from made
    yield _end(trace, talk)


def _say(role: str, content: Any, path: Path, number: int = 0) -> Entry:
    text = content["text"] if is_cut(content) else "" if content is None else str(content)
    length = content["$cut"] if is_cut(content) else len(text)
    return Entry("say", role, text[:SHOWN], number, path=path, length=length if length > SHOWN else 0)


def _by_turn(calls: Sequence[object], path: Path) -> dict[int, list[Entry]]:
    found: dict[int, list[Entry]] = {}
    for at, call in enumerate(calls):
        if isinstance(call, dict) and is_number(call.get("turn")):
            found.setdefault(int(call["turn"]), []).append(_call(call, (*path, at)))
    return found


def _call(call: Mapping[str, Any], path: Path) -> Entry:
    name = str(call.get("name", ""))
    args = call.get("raw") if call.get("args") is None else call.get("args")
    text = "" if args in (None, {}) else args if isinstance(args, str) else compact(args, PREVIEW)
    took = took_shown(call["duration_ms"]) if is_number(call.get("duration_ms")) else ""
    outcome = _plain(call["error"]) if call.get("error") is not None else answer_text(call.get("result"))
    status = "fail" if call.get("is_error") or call.get("error") is not None else "pass"
    server = str(call.get("server") or "")
    return Entry("call", text, name, status=status, told=took, outcome=outcome[:PREVIEW], path=path, server=server)


def answer_text(result: object) -> str:
    """Return the first text of a tool's answer, or the whole answer without one."""
    if not isinstance(result, dict):
        return ""
    for item in _list(result.get("content")):
        if isinstance(item, dict) and item.get("type") == "text":
            return _plain(item.get("text"))[:PREVIEW]
    return compact(result, PREVIEW)


def _plain(text: Any) -> str:
    return str(text["text"]) if is_cut(text) else "" if text is None else str(text)


def _unanswered_calls(turn: Mapping[str, object]) -> Iterator[Entry]:
    """Return the calls that the model requested and that have no results yet."""
    for call in _list(turn.get("tool_calls")):
        if isinstance(call, dict) and "name" in call:
            args = call.get("args")
            yield Entry("call", compact(args, PREVIEW) if args else "", str(call["name"]), status="queued")


def _end(trace: Mapping[str, Any], talk: Mapping[str, object]) -> Entry:
    stop = str(trace.get("stop", ""))
    parts = [STOPS.get(stop, f"ended: {stop}" if stop else "")]
    if is_amount(trace.get("turns")):
        parts.append(counted(int(trace["turns"]), "turn"))
    tokens = talk.get("tokens")
    if isinstance(tokens, dict) and is_amount(tokens.get("total")):
        sides = (
            f" ({tokens['input']:,} in, {tokens['output']:,} out)"
            if is_amount(tokens.get("input")) and is_amount(tokens.get("output"))
            else ""
        )
        parts.append(f"{tokens['total']:,} tokens{sides}")
    cost = trace.get("cost")
    if isinstance(cost, dict):
        parts.append(usd(cost_of(cost.get("total"))))
    return Entry("note", text="   ".join(filter(None, parts)), status="" if stop in ("", "end") else "inconclusive")


def _left_out(trace: Mapping[str, object], name: str, held: Sequence[object]) -> int:
    total = trace.get(name)
    return max(int(total) - len(held), 0) if is_amount(total) else 0


def _more(item: object) -> int:
    """Return how many entries the value stands for that were left out, else 0."""
    if isinstance(item, dict) and len(item) == 1 and is_amount(item.get("$more")):
        return int(item["$more"])
    return 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
