"""The Messages API of Anthropic, through its official SDK. An answer is streamed, and returned when it is complete.

Importing the SDK takes seconds, so this module is imported in a thread before the first request.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anthropic
import anthropic.resources.messages  # else imported by the first request, on the event loop
import httpx2

from mcptest_engine.judging.providers.http import client_for, lost
from mcptest_engine.judging.providers.values import Role, ToolUse
from mcptest_engine.judging.providers.wire import (
    LARGEST,
    ProviderAnswer,
    ToolNames,
    arguments_of,
    as_object,
    count_of,
    is_event_stream,
    json_body,
    with_schema_instruction,
    word_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.judging.providers.setup import Endpoint
    from mcptest_engine.judging.providers.values import ModelRequest, Turn
    from mcptest_engine.judging.providers.wire import ProviderErrors

_STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_THINKING = frozenset({"thinking", "redacted_thinking"})


class Provider:
    """Sends requests to one endpoint. Its connections stay open until `close`.

    `optional` names what a request may leave out, with the words by which a refusal mentions it.
    """

    optional: Mapping[str, tuple[str, ...]] = {
        "temperature": ("temperature",),
        "schema": ("output_config", "output_format", "schema", "structured output"),
    }

    def __init__(self, endpoint: Endpoint, errors: ProviderErrors) -> None:
        self._errors = errors
        self._client = anthropic.AsyncAnthropic(
            api_key=endpoint.key,
            base_url=endpoint.base,
            max_retries=0,  # requests are repeated by our own rules, within the time of the whole call
            http_client=client_for(endpoint.base),
        )

    async def close(self) -> None:
        await self._client.close()

    async def send(self, request: ModelRequest, without: frozenset[str]) -> ProviderAnswer:
        """Send a request without the parts named in `without`, and return the whole answer. Raises: ProviderError."""
        names = ToolNames(request.tools)
        try:
            async with self._client.messages.with_streaming_response.create(
                **_params(request, names, without), stream=True
            ) as response:
                if not is_event_stream(response.headers):
                    return _read_answer(
                        json_body(self._errors, await response.read(), response.headers), self._errors
                    ).whole_answer(names)
                answer = _Answer(self._errors)
                async for event in await response.parse():
                    answer.take(event.to_dict(mode="python", warnings=False) if hasattr(event, "to_dict") else {})
                return answer.whole_answer(names)
        except anthropic.APIStatusError as wrong:
            raise self._errors.of_status(wrong.status_code, wrong.body, wrong.response.headers) from None
        except anthropic.APITimeoutError as wrong:
            raise self._errors.unreachable(wrong.__cause__) from None
        except anthropic.APIConnectionError as wrong:
            raise lost(self._errors, wrong.__cause__) from None
        except anthropic.APIError as wrong:
            raise self._errors.bad(self._errors.quoted(wrong.message)) from None
        except httpx2.HTTPError as wrong:
            raise lost(self._errors, wrong) from None
        except (ValueError, RecursionError, UnicodeError):
            raise self._errors.bad("a stream whose events are not JSON") from None


class _Answer:
    """An answer that is coming, event by event. Blocks are told apart by their index."""

    def __init__(self, errors: ProviderErrors) -> None:
        self._errors = errors
        self._blocks: dict[int, dict[str, object]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._size = 0
        self.stop: object = None
        self.whole = False
        self.usage: dict[str, object] = {}

    def take(self, event: Mapping[str, object]) -> None:
        """One event. Events and deltas of unknown types are passed over. Source: the Messages API, streaming."""
        match event.get("type"):
            case "message_start":
                self._use(_dict(event.get("message")).get("usage"))
            case "content_block_start":
                self.start(_index(event), _dict(event.get("content_block")))
            case "content_block_delta":
                self._more(_index(event), _dict(event.get("delta")))
            case "message_delta":
                self.stop = _dict(event.get("delta")).get("stop_reason") or self.stop
                self._use(event.get("usage"))
            case "message_stop":
                self.whole = True

    def start(self, index: int, block: JsonDict) -> None:
        self._blocks[index] = dict(block)
        self._pieces[index] = [text] if isinstance(text := block.get("text"), str) else []
        self._grow(sum(map(len, self._pieces[index])))

    def _more(self, index: int, delta: Mapping[str, object]) -> None:
        for name in ("text", "partial_json"):
            if isinstance(piece := delta.get(name), str):
                self._pieces.setdefault(index, []).append(piece)
                self._grow(len(piece))
        for name in ("thinking", "signature"):
            if isinstance(piece := delta.get(name), str):
                block = self._blocks.setdefault(index, {"type": "thinking"})
                block[name] = f"{block.get(name) or ''}{piece}"
                self._grow(len(piece))

    def _grow(self, by: int) -> None:
        self._size += by
        if self._size > LARGEST:
            raise self._errors.bad(f"more than {LARGEST // (1024 * 1024)} MiB")

    def _use(self, usage: object) -> None:
        self.usage.update({name: count for name, count in _dict(usage).items() if count_of(count) is not None})

    def whole_answer(self, names: ToolNames) -> ProviderAnswer:
        """All of it. Raises: ProviderError for an answer that ended before its end."""
        if not self.whole:
            raise self._errors.broken_off("no `message_stop` came")
        text, uses, thinking = [], [], []
        for index, block in sorted(self._blocks.items()):
            written = "".join(self._pieces.get(index, ()))
            if block.get("type") == "text":
                text.append(written)
            elif block.get("type") == "tool_use":
                if not written and isinstance(whole := block.get("input"), dict):
                    written = json.dumps(whole)
                args, raw = arguments_of(written)
                uses.append(
                    ToolUse(str(block.get("id") or f"call_{index}"), names.own(str(block.get("name"))), args, raw)
                )
            elif block.get("type") in _THINKING:
                thinking.append(block)
        if not self._blocks and self.stop is None:
            raise self._errors.bad("an empty answer")
        said = "".join(text)
        stop = _STOPS.get(str(self.stop)) or word_of(self.stop)
        return ProviderAnswer(
            said,
            tuple(uses),
            "tools" if uses and stop == "end" else stop,
            _tokens_in(self.usage),
            count_of(self.usage.get("output_tokens")),
            tuple(thinking),
        )


def _read_answer(told: JsonDict, errors: ProviderErrors) -> _Answer:
    """An answer that came in one piece, from an endpoint that does not stream."""
    if isinstance(told.get("error"), dict):
        raise errors.of_status(200, told, {})
    if not isinstance(told.get("content"), list):
        raise errors.bad("JSON without `content`")
    answer = _Answer(errors)
    for index, block in enumerate(told["content"]):
        answer.start(index, _dict(block))
    answer.take({"type": "message_delta", "delta": told, "usage": told.get("usage")})
    answer.whole = True
    return answer


def _tokens_in(usage: Mapping[str, object]) -> int | None:
    """All that was read, be it from the provider's cache or into it."""
    if count_of(usage.get("input_tokens")) is None:
        return None
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(count_of(usage.get(name)) or 0 for name in kinds)


def _params(request: ModelRequest, names: ToolNames, without: frozenset[str]) -> dict[str, object]:
    params: JsonDict = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [_message(turn, names) for turn in request.turns],
    }
    schema = None if request.schema is None or "schema" in without else _strict(request.schema)
    system = with_schema_instruction(request.system, request.schema if schema is None else None)
    if system:
        params["system"] = system
    if schema is not None:
        params["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if request.temperature is not None and "temperature" not in without:
        # the SDK has no parameter for it any more: newer models take none
        params["extra_body"] = {"temperature": request.temperature}
    if request.tools:
        params["tools"] = [
            {
                "name": names.name_for_model(tool.name),
                "description": tool.description,
                "input_schema": as_object(tool.input_schema),
            }
            for tool in request.tools
        ]
    return params


def _strict(schema: Mapping[str, object]) -> dict[str, object] | None:
    """The schema in the part of the language that the provider knows; None where it cannot be said in that."""
    try:
        strict: dict[str, object] = anthropic.transform_schema(dict(schema))
        return strict
    except (ValueError, TypeError, AssertionError):
        return None


def _message(turn: Turn, names: ToolNames) -> dict[str, object]:
    blocks: list[JsonDict] = [dict(block) for block in turn.thinking]
    blocks += [
        {
            "type": "tool_result",
            "tool_use_id": answer.id,
            "content": answer.text or "(empty)",
            **({"is_error": True} if answer.is_error else {}),
        }
        for answer in turn.answers
    ]
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {
            "type": "tool_use",
            "id": use.id,
            "name": names.name_for_model(use.name),
            "input": dict(use.args) if use.args is not None else {"unreadable": use.raw},
        }
        for use in turn.uses
    ]
    role = "assistant" if turn.role is Role.ASSISTANT else "user"
    return {"role": role, "content": blocks or [{"type": "text", "text": "(nothing)"}]}


def _index(event: Mapping[str, object]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
