"""A conversation with a model as it grows, and as targets see it and the record keeps it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.costs import added_up, sum_costs
from mcptest_engine.core.values import dataclass
from mcptest_engine.judging.providers.values import Role, ToolAnswer, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.core.effects import CallDecision, DecidedBy
    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.judging.providers.values import ModelError, ModelReply, ToolUse
    from mcptest_engine.safety.tool_classes import ToolClass


END, MAX_TURNS, LENGTH, REFUSAL, BUDGET, ERROR, RUNNING = (
    "end",
    "max_turns",
    "length",
    "refusal",
    "budget",
    "error",
    "interrupted",
)


@dataclass(slots=True, kw_only=True)
class ToolCall:
    """A call that the model asked for. `error` says why there is no result; `told` is what the model is told of it.

    `name` is the tool's own, or what the model made up; `server` is None then, and for a `distractor`, which is on no server.
    `lost` is the server's failure to answer. `tool_class` and the decision are None for a call of no tool, for one that was
    not made since the conversation had ended, and for one whose server could not be asked for its tools.
    """

    name: str
    server: str | None
    args: Mapping[str, Any] | None
    turn: int
    raw: str | None = None
    result: Mapping[str, Any] | None = None
    error: str | None = None
    is_error: bool = False
    told: str = ""
    duration_ms: float = 0.0
    lost: ServerError | None = None
    distractor: bool = False
    tool_class: ToolClass | None = None
    decision: CallDecision | None = None
    decided_by: DecidedBy | None = None

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"name": self.name, "server": self.server, "args": self.args}
        if self.raw is not None:
            out["raw"] = self.raw
        if self.result is not None:
            out["result"] = self.result
        if self.error is not None:
            out["error"] = self.error
        if self.distractor:
            out["distractor"] = True
        if self.decision is not None and self.decided_by is not None and self.tool_class is not None:
            out |= {
                "class": self.tool_class.value,
                "decision": self.decision.value,
                "decided_by": self.decided_by.value,
            }
        return {**out, "is_error": self.is_error, "duration_ms": round(self.duration_ms, 3), "turn": self.turn}


@dataclass(slots=True, kw_only=True)
class Conversation:
    """What was said so far. `stop` says why it ended, `fault` which model gave no answer, where that is why.

    `remarks` are warnings about it, such as of tools that could not be offered.
    """

    model: str
    prompt: str
    system_prompt: str | None = None
    stop: str = RUNNING
    fault: ModelError | None = None
    calls: list[ToolCall] = field(default_factory=list)
    replies: list[ModelReply] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    surface_tokens: int = 0
    duration_ms: float = 0.0
    _names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.turns.append(Turn(Role.USER, self.prompt))

    @property
    def final_response(self) -> str:
        """The text of the model's last answer; "" before the first one."""
        return self.replies[-1].text if self.replies else ""

    @property
    def tokens(self) -> int:
        """What all answers took, in and out."""
        return sum(reply.tokens for reply in self.replies)

    @property
    def cost_usd(self) -> float | None:
        """What all answers cost; None where a price is not known."""
        return sum_costs(reply.cost_usd for reply in self.replies)

    @property
    def unanswered(self) -> Iterator[ToolCall]:
        """The calls that a server failed to answer."""
        return (call for call in self.calls if call.lost is not None)

    def take_reply(self, reply: ModelReply) -> None:
        """Add the model's reply to the conversation."""
        self.replies.append(reply)
        self.turns.append(reply.as_turn())

    def take_answers(self, uses: Sequence[ToolUse], calls: Sequence[ToolCall]) -> None:
        """The calls that the model asked for were made; it is told what came of them, in the order that it asked."""
        self._names.update((use.id, call.name) for use, call in zip(uses, calls, strict=True))
        answers = (ToolAnswer(use.id, call.told, call.is_error) for use, call in zip(uses, calls, strict=True))
        self.turns.append(Turn(Role.TOOL, answers=tuple(answers)))

    def envelope(self) -> dict[str, Any]:
        """The trace: what targets see, and what the record keeps."""
        tokens_in = sum(reply.tokens_in for reply in self.replies)
        tokens_out = sum(reply.tokens_out for reply in self.replies)
        conversation: dict[str, Any] = {"turns": list(self._recorded_turns())}
        if self.system_prompt is not None:
            conversation["system_prompt"] = self.system_prompt
        conversation["tokens"] = {"total": tokens_in + tokens_out, "input": tokens_in, "output": tokens_out}
        return {
            "tool_calls": [call.to_json() for call in self.calls],
            "tool_names": [call.name for call in self.calls],
            "final_response": self.final_response,
            "conversation": conversation,
            "model": self.model,
            "stop": self.stop,
            "turns": len(self.replies),
            "duration_ms": round(self.duration_ms, 3),
            "cost": {"total": self.cost_usd},
            **({"models": self._models()} if self.replies else {}),
        }

    def _models(self) -> list[dict[str, Any]]:
        """What each model was paid; an answer that was kept cost nothing now."""
        return added_up(
            {"model": reply.model, "calls": 1, "tokens": reply.tokens, "cost_usd": reply.cost_usd}
            for reply in self.replies
            if not reply.kept
        )

    def _recorded_turns(self) -> Iterator[dict[str, Any]]:
        """The turns in the words of the record; what tools answered is a turn for each."""
        named = iter(self.calls)
        for turn in self.turns:
            if turn.role is Role.TOOL:
                for answer in turn.answers:
                    name = self._names.get(answer.id, "")
                    told = {"role": turn.role.value, "name": name, "content": answer.text}
                    yield {**told, "is_error": True} if answer.is_error else told
            elif turn.uses:
                asked = [{"name": call.name, "args": call.args} for _, call in zip(turn.uses, named, strict=False)]
                yield {"role": turn.role.value, "content": turn.text, "tool_calls": asked}
            else:
                yield {"role": turn.role.value, "content": turn.text}
