"""Chat completions of OpenAI and of every endpoint that speaks as it does, through its official SDK.

An answer is streamed, and returned when it is complete. Endpoints differ in what they know, so what one refuses is left out and
asked for once more. Importing the SDK takes seconds: this module is imported in a thread before the first request.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import httpx2
import openai
import openai.resources.chat.completions  # else imported by the first request, on the event loop

from mcptest_engine.judging.providers.http import client_for, lost
from mcptest_engine.judging.providers.values import Role, ToolUse
from mcptest_engine.judging.providers.wire import (
    LARGEST,
    ProviderAnswer,
    ToolNames,
    arguments_of,
    as_object,
    count_of,
    error_of,
    is_event_stream,
    json_body,
    with_schema_instruction,
    word_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.judging.providers.setup import Endpoint
    from mcptest_engine.judging.providers.values import ModelRequest, Turn
    from mcptest_engine.judging.providers.wire import ProviderErrors

_STOPS = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "content_filter": "refusal",
}
_REASONS = re.compile(r"o\d|gpt-[5-9]|gpt-\d\d")
"""Models that know `max_completion_tokens` alone."""


class Provider:
    """Sends requests to one endpoint. Its connections stay open until `close`.

    `optional` names what a request may leave out or replace, with the words by which a refusal mentions it.
    """

    optional: Mapping[str, tuple[str, ...]] = {
        "max_tokens": ("max_tokens", "max_completion_tokens"),
        "temperature": ("temperature",),
        "schema": ("response_format", "json_schema", "schema", "structured output"),
        "usage": ("stream_options", "include_usage"),
        "reasoning": ("reasoning_effort",),
    }

    def __init__(self, endpoint: Endpoint, errors: ProviderErrors) -> None:
        self._errors = errors
        self._own = endpoint.own
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key or "none",  # the SDK wants one
            base_url=endpoint.base,
            max_retries=0,  # requests are repeated by our own rules, within the time of the whole call
            http_client=client_for(endpoint.base, anonymous=endpoint.key is None),
        )

    async def close(self) -> None:
        await self._client.close()

    async def send(self, request: ModelRequest, without: frozenset[str]) -> ProviderAnswer:
        """Send a request without the parts named in `without`, and return the whole answer. Raises: ProviderError."""
        names = ToolNames(request.tools)
        params = _params(request, names, without, own=self._own)
        try:
            async with self._client.chat.completions.with_streaming_response.create(**params, stream=True) as response:
                if not is_event_stream(response.headers):
                    told = json_body(self._errors, await response.read(), response.headers)
                    return _read_answer(told, self._errors).whole_answer(names)
                answer = _Answer(self._errors)
                async for chunk in await response.parse():
                    answer.take(chunk.to_dict(mode="python", warnings=False) if hasattr(chunk, "to_dict") else {})
                return answer.whole_answer(names)
        except openai.APIStatusError as wrong:
            body = wrong.body if wrong.body is not None else wrong.response.text
            raise self._errors.of_status(wrong.status_code, body, wrong.response.headers) from None
        except openai.APITimeoutError as wrong:
            raise self._errors.unreachable(wrong.__cause__) from None
        except openai.APIConnectionError as wrong:
            raise lost(self._errors, wrong.__cause__) from None
        except openai.APIError as wrong:
            kind, words = error_of(wrong.body if wrong.body is not None else wrong.message)
            raise self._errors.of_kind(kind, words) from None
        except httpx2.HTTPError as wrong:
            raise lost(self._errors, wrong) from None
        except (ValueError, RecursionError):
            raise self._errors.bad("a stream whose events are not JSON") from None


class _Call:
    """A tool call whose name and arguments come in pieces."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []


class _Answer:
    """An answer that is coming, chunk by chunk. Tool calls are told apart by their index, or by their id where it lacks."""

    def __init__(self, errors: ProviderErrors) -> None:
        self._errors = errors
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._size = 0
        self._stop: object = None
        self._usage: dict[str, object] = {}
        self._choices = 0

    def take(self, chunk: Mapping[str, object]) -> None:
        """One chunk. Source: chat completions, streaming."""
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                self._choices += 1
                self._stop = choice.get("finish_reason") or self._stop
                self._add(choice.get("delta") or choice.get("message"))

    def _add(self, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        for name, pieces in (("content", self._text), ("refusal", self._refusal)):
            self._keep(delta.get(name), pieces)
        told = delta.get("tool_calls")
        for part in told if isinstance(told, list) else ():
            if isinstance(part, dict):
                call = self._call(part)
                function = part.get("function")
                function = function if isinstance(function, dict) else {}
                call.id = call.id or _text(part.get("id"))
                call.name = call.name or _text(function.get("name"))
                arguments = function.get("arguments")
                self._keep(json.dumps(arguments) if isinstance(arguments, dict) else arguments, call.pieces)

    def _call(self, part: Mapping[str, object]) -> _Call:
        index, own = part.get("index"), _text(part.get("id"))
        if isinstance(index, int):
            found = next((call for call in self._calls if call.index == index), None)
        else:
            index, last = None, self._calls[-1] if self._calls else None
            found = last if last is not None and own in ("", last.id) else None
        if found is None:
            found = _Call(index)
            self._calls.append(found)
        return found

    def _keep(self, piece: object, pieces: list[str]) -> None:
        if isinstance(piece, str) and piece:
            pieces.append(piece)
            self._size += len(piece)
            if self._size > LARGEST:
                raise self._errors.bad(f"more than {LARGEST // (1024 * 1024)} MiB")

    def whole_answer(self, names: ToolNames) -> ProviderAnswer:
        """All of it. Raises: ProviderError for an answer that ended before its end."""
        if not self._choices:
            raise self._errors.bad("no `choices`")
        if self._stop is None:
            raise self._errors.broken_off("no `finish_reason` came")
        uses = tuple(self._uses(names))
        text, refusal = "".join(self._text), "".join(self._refusal)
        stop = _STOPS.get(str(self._stop)) or word_of(self._stop)
        if uses and stop == "end":
            stop = "tools"
        if refusal and not text:
            text, stop = refusal, "refusal"
        return ProviderAnswer(
            text,
            uses,
            stop,
            count_of(self._usage.get("prompt_tokens")),
            count_of(self._usage.get("completion_tokens")),
        )

    def _uses(self, names: ToolNames) -> Iterator[ToolUse]:
        for number, call in enumerate(self._calls):
            args, raw = arguments_of("".join(call.pieces))
            yield ToolUse(call.id or f"call_{number}", names.own(call.name), args, raw)


def _read_answer(told: dict[str, object], errors: ProviderErrors) -> _Answer:
    """An answer that came in one piece, from an endpoint that does not stream."""
    if told.get("error"):
        raise errors.of_kind(*error_of(told))
    answer = _Answer(errors)
    answer.take(told)
    return answer


def _params(request: ModelRequest, names: ToolNames, without: frozenset[str], *, own: bool) -> dict[str, object]:
    """What is asked. `own`: by an endpoint of the user's, which may know the older name of a limit alone."""
    newer = not own or _REASONS.match(request.model) is not None
    limit = "max_completion_tokens" if newer != ("max_tokens" in without) else "max_tokens"
    in_words = request.schema if "schema" in without else None
    system = with_schema_instruction(request.system, in_words)
    messages = [message for turn in request.turns for message in _messages(turn, names)]
    params: JsonDict = {
        "model": request.model,
        "messages": ([{"role": "system", "content": system}] if system else []) + messages,
        limit: request.max_tokens,
    }
    if "usage" not in without:
        params["stream_options"] = {"include_usage": True}
    if request.temperature is not None and "temperature" not in without:
        params["temperature"] = request.temperature
    if "reasoning" in without:
        params["reasoning_effort"] = "none"
    if request.schema is not None and in_words is None:
        params["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": dict(request.schema), "strict": _is_strict(request.schema)},
        }
    if request.tools:
        params["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": names.name_for_model(tool.name),
                    "description": tool.description,
                    "parameters": as_object(tool.input_schema),
                },
            }
            for tool in request.tools
        ]
    return params


def _is_strict(schema: object) -> bool:
    """Whether a provider that holds to a schema strictly takes it: objects closed, with every property required."""
    if isinstance(schema, dict):
        if "properties" in schema and (
            schema.get("additionalProperties") is not False
            or sorted(schema.get("required", ())) != sorted(schema["properties"])
        ):
            return False
        return all(_is_strict(part) for part in schema.values())
    return all(_is_strict(part) for part in schema) if isinstance(schema, list) else True


def _messages(turn: Turn, names: ToolNames) -> Iterator[JsonDict]:
    for answer in turn.answers:
        yield {"role": "tool", "tool_call_id": answer.id, "content": answer.text}
    if turn.role is Role.ASSISTANT:
        calls = [
            {
                "id": use.id,
                "type": "function",
                "function": {
                    "name": names.name_for_model(use.name),
                    "arguments": json.dumps({"unreadable": use.raw} if use.args is None else use.args),
                },
            }
            for use in turn.uses
        ]
        yield {
            "role": "assistant",
            "content": turn.text or ("" if not calls else None),
            **({"tool_calls": calls} if calls else {}),
        }
    elif turn.role is Role.USER or turn.text:
        yield {"role": "user", "content": turn.text}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
