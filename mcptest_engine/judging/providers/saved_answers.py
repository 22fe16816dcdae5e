"""Where answers of models are kept: in the cache of a workspace, or on the cassette of a run.

An answer that holds a secret is never kept in the cache, since one without it would be another answer; on a cassette it stands
without the secret, and questions are compared without theirs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.providers.documents import answer_document, answer_from, request_document, request_key
from mcptest_engine.judging.providers.values import NO_PROVIDER, ModelError, ModelFault
from mcptest_engine.servers.recorded_exchanges import normalised
from mcptest_engine.workspace.result_cache import open_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.judging.providers.values import ModelReply, ModelRequest
    from mcptest_engine.workspace.workspace import Workspace

    Redact = Callable[[Any], Any]

_SHOWN = 80
_ROLES = {"user": "the prompt", "assistant": "the answer of the model", "tool": "the answers of its tools"}


class AnswerCache:
    """Answers kept from run to run. A disk that refuses one costs the answer's keeping and nothing else."""

    def __init__(self, workspace: Workspace, redact: Redact) -> None:
        self._redact = redact
        self._files = open_cache(workspace, "models")
        self.problem: str | None = None

    def get(self, request: ModelRequest, base: str) -> ModelReply | None:
        """The kept answer; None where there is none that can be read."""
        entry = self._files.get(request_key(request, base))
        if entry is None:
            return None
        try:
            return answer_from(entry["answer"], model=request.model, duration_ms=float(entry["duration_ms"]))
        except (KeyError, ValueError, TypeError):
            return None

    def put(self, request: ModelRequest, base: str, reply: ModelReply) -> None:
        """Keep an answer as it came."""
        answer = answer_document(reply)
        if self._redact(answer) is not answer:
            return
        key = request_key(request, base)
        members = {"model": request.model, "answer": answer, "duration_ms": round(reply.duration_ms, 3)}
        try:
            if (data := self._files.encode(key, members)) is not None:
                self._files.put(key, data)
        except OSError as wrong:
            self.problem = f"answers of models were not saved: {wrong.strerror or wrong}"

    def close(self) -> None:
        """Hold the folder to its bounds."""
        self._files.close()


class Recording:
    """The answers of a run, in the order in which they came, for its cassette. Redaction is the caller's, at the end."""

    def __init__(self) -> None:
        self._exchanges: list[dict[str, object]] = []
        self._chosen: dict[str, str] = {}
        self._tools: dict[str, str] = {}

    def choose(self, model: str, *, judging: bool) -> None:
        """Note which model was taken where none was named."""
        self._chosen["judge" if judging else "test"] = model

    def put(self, request: ModelRequest, reply: ModelReply) -> None:
        """Add a request and its reply to the recording."""
        answer = answer_document(reply)
        answer.pop("thinking", None)  # for its provider alone, which is not asked when this is replayed
        asked = request_document(request)
        if "tools" in asked:  # every turn of a conversation is offered the same
            asked["tools"] = self._tools.setdefault(_text(asked["tools"]), str(len(self._tools) + 1))
        self._exchanges.append({"request": asked, "answer": answer, "duration_ms": round(reply.duration_ms, 3)})

    def section(self) -> JsonDict | None:
        """What stands under `models` in a cassette; None where no model was asked."""
        if not self._exchanges:
            return None
        tools = {number: json.loads(told) for told, number in self._tools.items()}
        return {"chosen": self._chosen, "tools": tools, "exchanges": self._exchanges}


class Replay:
    """Answers from a cassette. Each is given once, in the order of those to equal questions; nobody is asked."""

    def __init__(self, section: JsonMapping | None, *, name: str, redact: Redact) -> None:
        self._name, self._redact = name, redact
        self._there = section is not None
        self._chosen: Mapping[str, str] = {} if section is None else section.get("chosen", {})
        exchanges = [] if section is None else section["exchanges"]
        tools = {} if section is None else section.get("tools", {})
        self._questions = [_Question(_with_tools(exchange["request"], tools)) for exchange in exchanges]
        self._waiting: dict[str, list[JsonMapping]] = {}
        for question, exchange in zip(self._questions, exchanges, strict=True):
            self._waiting.setdefault(question.key, []).append(exchange)
        for found in self._waiting.values():
            found.reverse()  # taken from the end

    def missing(self) -> str | None:
        """Why nothing can be asked: a run without a model was recorded, and it is the same run."""
        return None if self._there else f"{NO_PROVIDER}: the cassette `{self._name}` has no answer of a model"

    def chosen(self, *, judging: bool) -> str | None:
        """The model that was taken where none was named."""
        return self._chosen.get("judge" if judging else "test")

    def answer(self, request: ModelRequest) -> ModelReply:
        """The recorded answer. Raises: ModelError."""
        question = _Question(self._redact(request_document(request)))
        waiting = self._waiting.get(question.key)
        if not waiting:
            raise ModelError(
                ModelFault.NOT_RECORDED,
                f"`{request.model}` is replayed from `{self._name}`, and {self._difference(question)}",
                hint=f"record it again: mcptest run --record {self._name}",
            )
        exchange = waiting.pop()
        try:
            reply = answer_from(exchange["answer"], model=request.model, duration_ms=float(exchange["duration_ms"]))
            return reply._replace(kept=False)
        except (ValueError, TypeError) as wrong:
            raise ModelError(ModelFault.NOT_RECORDED, f"the cassette `{self._name}` has {wrong}") from None

    def _difference(self, asked: _Question) -> str:
        """What is different from the nearest question on the tape, in words."""
        if asked.key in self._waiting:
            return "every recorded answer to this question has been used"
        if not self._questions:
            return "the cassette has no answer of a model"
        models = sorted({question.model for question in self._questions})
        if asked.model not in models:
            return f"the cassette has only answers of {_names_text(models)}: the model id has changed"
        same = [question for question in self._questions if question.model == asked.model]
        return min(same, key=asked.distance).unlike(asked)


class _Question:
    """A question as it is compared: without what changes from run to run by its nature."""

    def __init__(self, told: Mapping[str, object]) -> None:
        self.told: JsonMapping = normalised(dict(told))
        self.key = _text(self.told)
        self.model = str(self.told.get("model"))
        self._turns: list[str] = [_text(turn) for turn in self.told.get("turns", ())]

    def _alike(self, other: _Question) -> int:
        """How many turns from the first on are equal."""
        pairs = zip(self._turns, other._turns, strict=False)
        return next((at for at, (one, two) in enumerate(pairs) if one != two), min(len(self._turns), len(other._turns)))

    def distance(self, other: _Question) -> tuple[int, int, int, int]:
        """Less is nearer: parts that differ, turns not in common, how many turns more or fewer, and how much of one differs."""
        names = ({*self.told} | {*other.told}) - {"turns", "variant"}
        apart = sum(_text(self.told.get(name)) != _text(other.told.get(name)) for name in names)
        alike = self._alike(other)
        one, two = (turns[alike] if alike < len(turns) else "" for turns in (self._turns, other._turns))
        return apart, -alike, abs(len(self._turns) - len(other._turns)), _apart(one, two)

    def unlike(self, asked: _Question) -> str:
        """In words, what of `asked` is not as it was recorded here."""
        found = []
        if self.told.get("system") != asked.told.get("system"):
            found.append(f"the system prompt has changed{_change(self.told.get('system'), asked.told.get('system'))}")
        if _text(self.told.get("tools")) != _text(asked.told.get("tools")):
            found.append(_tools_changed(self.told.get("tools", ()), asked.told.get("tools", ())))
        if self._turns != asked._turns:
            found.append(self._turn_unlike(asked))
        found += [
            f"`{name}` has changed"
            for name in ("schema", "max_tokens", "temperature")
            if _text(self.told.get(name)) != _text(asked.told.get(name))
        ]
        if not found and self.told.get("variant") != asked.told.get("variant"):
            found.append("the recording has fewer answers to this question")
        return "; ".join(found) or "the question has changed"

    def _turn_unlike(self, asked: _Question) -> str:
        at = self._alike(asked)
        ours, theirs = self.told.get("turns", ()), asked.told.get("turns", ())
        if at >= len(theirs):
            return "the conversation is shorter than the recorded one"
        role = theirs[at].get("role", "user")
        what = _ROLES.get(role, "the conversation") + ("" if at == 0 else f" in turn {at + 1}")
        if role == "user" and "schema" in asked.told:  # only judges are asked for an answer of a form
            what = "the question to the judge"
        if at >= len(ours):
            return f"the conversation is longer than the recorded one: {what}"
        return f"{what} has changed{_change(_said(ours[at]), _said(theirs[at]))}"


def _with_tools(request: Mapping[str, object], tools: Mapping[str, object]) -> Mapping[str, object]:
    offered = request.get("tools")
    return {**request, "tools": tools.get(offered, [])} if isinstance(offered, str) else request


def _said(turn: JsonMapping) -> str:
    parts = [turn.get("text", "")]
    parts += [f"{use['name']}({_text(use.get('args', use.get('raw')))})" for use in turn.get("uses", ())]
    parts += [answer.get("text", "") for answer in turn.get("answers", ())]
    return " ".join(part for part in parts if part)


def _change(recorded: object, asked: object) -> str:
    """Both sides from a little before where they part, on one line each."""
    one, two = str(recorded or ""), str(asked or "")
    at = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    start = max(0, at - 20)
    mark = "…" if start else ""
    return f": recorded `{mark}{one_line(one[start:], _SHOWN)}`, asked `{mark}{one_line(two[start:], _SHOWN)}`"


def _apart(one: str, two: str) -> int:
    """How many characters stand between the beginning and the end that two texts have in common."""
    shortest = min(len(one), len(two))
    start = next((at for at in range(shortest) if one[at] != two[at]), shortest)
    end = next((at for at in range(shortest - start) if one[-1 - at] != two[-1 - at]), shortest - start)
    return max(len(one), len(two)) - start - end


def _tools_changed(recorded: Iterable[JsonMapping], asked: Iterable[JsonMapping]) -> str:
    ours = {tool["name"]: _text(tool) for tool in recorded}
    theirs = {tool["name"]: _text(tool) for tool in asked}
    told = [
        ("new", [name for name in theirs if name not in ours]),
        ("gone", [name for name in ours if name not in theirs]),
    ]
    told.append(("changed", [name for name in ours if name in theirs and ours[name] != theirs[name]]))
    words = [f"{word}: {_names_text(names)}" for word, names in told if names]
    return f"the tools offered have changed ({'; '.join(words) or 'their order'})"


def _names_text(names: list[str]) -> str:
    shown = ", ".join(f"`{one_line(name, _SHOWN)}`" for name in names[:4])
    return f"{shown}, …" if len(names) > 4 else shown


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
