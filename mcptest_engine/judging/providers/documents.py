"""Questions and answers as JSON: what an answer is kept under, and how it is kept.

The ids of calls are a provider's own making, so they are numbered anew: two conversations that say the same are the same.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from mcptest_engine import __version__
from mcptest_engine.judging.providers.values import ModelReply, ToolUse

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.judging.providers.values import ModelRequest, Turn

_FRAME_TOKENS = 1_000
"""What a provider puts around a question: the marks of turns, its own words about tools and the form of the answer."""


def request_document(request: ModelRequest) -> JsonDict:
    """All of a question that its answer may hang on; what is not there is left out. How long it may take is none of it."""
    ids: dict[str, str] = {}
    told = {
        "model": request.model,
        "variant": request.variant,
        "system": request.system,
        "turns": [_turn(turn, ids) for turn in request.turns],
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}
            for tool in request.tools
        ],
        "schema": None if request.schema is None else dict(request.schema),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
    }
    return {name: value for name, value in told.items() if value not in (None, "", [])}


def most_tokens_in(request: ModelRequest) -> int:
    """An upper estimate of the tokens of a question: a token stands for one byte of text at least."""
    told = [request_document(request), [block for turn in request.turns for block in turn.thinking]]
    data = json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
    return len(data) + _FRAME_TOKENS


def request_key(request: ModelRequest, base: str) -> str:
    """What an answer goes by in the cache. The key of a judge's verdict is (version, provider, question)."""
    told = json.dumps([__version__, base, request_document(request)], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def answer_document(reply: ModelReply) -> dict[str, object]:
    """An answer to be kept."""
    told: JsonDict = {
        "text": reply.text,
        "stop": reply.stop,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "cost_usd": reply.cost_usd,
    }
    if reply.uses:
        told["uses"] = [_use(use, use.id) for use in reply.uses]
    if reply.thinking:
        told["thinking"] = [dict(block) for block in reply.thinking]
    return told


def answer_from(told: JsonMapping, *, model: str, duration_ms: float) -> ModelReply:
    """The answer that was kept. Raises: ValueError for what is none."""
    try:
        cost = told["cost_usd"]
        return ModelReply(
            model=model,
            text=_of(str, told["text"]),
            uses=tuple(
                ToolUse(_of(str, use["id"]), _of(str, use["name"]), use.get("args"), _of(str, use.get("raw", "")))
                for use in told.get("uses", ())
            ),
            stop=_of(str, told["stop"]),
            tokens_in=_of(int, told["tokens_in"]),
            tokens_out=_of(int, told["tokens_out"]),
            cost_usd=None if cost is None else float(cost),
            duration_ms=duration_ms,
            kept=True,
            thinking=tuple(told.get("thinking", ())),
        )
    except (KeyError, TypeError, AttributeError) as wrong:
        raise ValueError(f"not an answer of a model: {wrong}") from None


def _of(kind: type[Any], value: object) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.60} is no {kind.__name__}")
    return value


def _turn(turn: Turn, ids: dict[str, str]) -> dict[str, object]:
    told: JsonDict = {"role": turn.role.value}
    if turn.text:
        told["text"] = turn.text
    if turn.uses:
        told["uses"] = [_use(use, ids.setdefault(use.id, f"call_{len(ids) + 1}")) for use in turn.uses]
    if turn.answers:
        told["answers"] = [
            {
                "id": ids.setdefault(answer.id, f"call_{len(ids) + 1}"),
                "text": answer.text,
                **({"is_error": True} if answer.is_error else {}),
            }
            for answer in turn.answers
        ]
    return told


def _use(use: ToolUse, number: str) -> dict[str, object]:
    told: JsonDict = {"id": number, "name": use.name}
    return {**told, "raw": use.raw} if use.args is None else {**told, "args": dict(use.args)}
