"""One message over HTTP: its POST, and everything else that must be sent to get its answer.

The answer is JSON, or an event stream that may end before the answer and be resumed. An answer belongs to the call whose POST
it answers, so a body that is no answer fails that call at once, whatever id it carries.

Source: MCP 2025-11-25, basic/transports#sending-messages-to-the-server; MCP 2026-07-28, basic/transports.
"""

from __future__ import annotations

import asyncio
import json
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import CallTimeout, ProtocolBroken, ServerDied, ServerError
from mcptest_engine.servers import auth, http_failures, wire
from mcptest_engine.servers.failures import CallFailed, Ending, answer_lost, duration
from mcptest_engine.servers.http_bodies import cut, read_body, read_error_body
from mcptest_engine.servers.http_client import redirect_target
from mcptest_engine.servers.http_retries import Retries
from mcptest_engine.servers.http_stream import MAX_FRUITLESS, STREAM_TYPE, EventStream, content_type, is_message
from mcptest_engine.servers.urls import same_origin

if TYPE_CHECKING:
    from collections.abc import Coroutine

    import httpx2

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.http_headers import RawHeaders
    from mcptest_engine.servers.http_stream import HttpContext
    from mcptest_engine.servers.sse import ServerSentEvent

_OK = range(200, 300)
_AFTER_ANSWER_SECONDS = 0.25  # a stream should end after the answer; one that does not costs a connection
_ACKNOWLEDGED_SECONDS = 0.25  # read the empty body of a 202, so that its connection can be reused
_OPENING = frozenset({"initialize", "server/discover"})
_STANDING = frozenset({"subscriptions/listen"})  # this exchange is long by design


class _Again(NamedTuple):
    """The exchange goes on: after a pause the message is sent again, or its stream is resumed."""

    after_seconds: float
    resume: bool = False


class HttpExchange:
    """One message and its answer; `call` is None for a notification or a reply."""

    def __init__(
        self, http: HttpContext, line: bytes, call: Call | None, headers: RawHeaders, *, endpoint: str | None = None
    ) -> None:
        self._http = http
        self._line = line
        self._call = call
        self._headers = headers
        self._endpoint = endpoint  # the stream of 2024-11-05 carries the answer; the POST goes to its endpoint
        self._before = {} if call is None or call.http is None else call.http  # that stream's status and headers
        self._events: EventStream | None = None
        self._retries: Retries | None = None

    async def run(self) -> None:
        """Return when the answer is handed over, or is known not to come. Raises: CallFailed, AuthFailed."""
        again = await self._within_limit(self._post())
        while again is not None:
            await asyncio.sleep(again.after_seconds)
            again = await self._within_limit(self._resumed() if again.resume else self._post())

    async def _within_limit(self, step: Coroutine[object, object, _Again | None]) -> _Again | None:
        call, spec = self._call, self._http.spec
        seconds, is_own = spec.http.timeout_seconds, spec.http.timeout_seconds is not None
        if seconds is None and call is None:
            # Nobody waits for it: without a limit, each would hold a connection to a server that has stopped.
            seconds = spec.connect_timeout_seconds
        if seconds is None or (call is not None and call.method in _STANDING):
            return await step
        try:
            async with asyncio.timeout(seconds) as limit:
                return await step
        except TimeoutError:
            if not limit.expired():
                raise
            method = "" if call is None else f' "{call.method}"'
            whose = " (`http.timeout`)" if is_own else ""
            clause = f"did not answer{method} within {duration(seconds)}{whose}"
            raise CallFailed(CallTimeout, clause, own_limit=is_own) from None

    # --- one POST

    async def _post(self) -> _Again | None:
        response = await self._sent("POST", self._headers, self._line)
        try:
            return await self._take(response)
        except Exception as wrong:
            await cut(response)
            if isinstance(wrong, CallFailed | ServerError):
                raise
            raise self._broken_off(wrong) from None
        finally:
            await response.aclose()

    async def _sent(self, method: str, headers: RawHeaders, content: bytes | None = None) -> httpx2.Response:
        try:
            may_loop = self._call is None or self._call.method != "tools/call"
            return await self._http.client.send(method, headers, content, url=self._endpoint, may_loop=may_loop)
        except (CallFailed, ServerError):
            raise
        except Exception as wrong:  # noqa: BLE001  # whatever it is, the call must not wait for its timeout
            opening = self._call is not None and self._call.method in _OPENING
            raise http_failures.network_failure(wrong, self._http.spec, opening=opening) from None

    def _broken_off(self, wrong: Exception) -> CallFailed:
        return http_failures.network_failure(wrong, self._http.spec, answering=True)

    async def _take(self, response: httpx2.Response) -> _Again | None:
        call = self._call
        if call is not None:
            self._keep(call, response)
        if response.status_code not in _OK:
            return await self._take_refusal(response)
        if call is None or self._endpoint is not None:
            await _acknowledged(response)
            return None
        if call.method == "initialize" and not self._http.headers.stateless:
            self._take_session_id(response)
        if content_type(response) == STREAM_TYPE:
            return await self._take_events(response, call)
        await self._take_body(response, call)
        return None

    def _keep(self, call: Call, response: httpx2.Response) -> None:
        if self._endpoint is not None and response.status_code in _OK:
            return  # the status and headers of the stream are stored with the answer that arrives on it
        call.http = {"status": response.status_code, "headers": dict(response.headers)}
        if self._retries is not None and self._retries.kept:
            call.http["retries"] = self._retries.kept

    def _take_session_id(self, response: httpx2.Response) -> None:
        if not self._http.headers.take_session_id(response.headers.get("mcp-session-id")):
            raise CallFailed(ProtocolBroken, "gave a session id that is not visible ASCII")

    def _hand_on(self, call: Call, line: bytes, at: float) -> None:
        """Hand over one message.

        Raises: CallFailed for the answer to another call, and for `fault: disconnect` once the final answer has arrived.
        """
        cuts = call.fault is not None and call.fault.kind == "disconnect"
        if cuts or len(self._http.posts) > 1:
            for answer in _answers(line):
                if cuts and _is_for(answer, call) and not (self._http.headers.stateless and wire.is_step(answer)):
                    raise answer_lost(call.method, "disconnect")
                if self._is_for_another(answer, call):
                    self._keep_body(line)
                    reason = f"its `id` is {json.dumps(answer['id'])[:80]}, where the request's was {call.id}"
                    raise self._broken(call, reason, line)
        self._http.receiver.received(line, at)

    def _is_for_another(self, answer: dict[str, object], call: Call) -> bool:
        others = (other for other in self._http.posts.values() if other is not None and other is not call)
        return any(_is_for(answer, other, spelt=True) and not other.future.done() for other in others)

    async def _take_body(self, response: httpx2.Response, call: Call) -> None:
        body, partial = b"", bytearray()
        try:
            body = await read_body(response, self._http.spec, partial)
        except Exception:
            self._keep_body(bytes(partial))
            raise
        kind, status = content_type(response), response.status_code
        if body.strip() and kind == "application/json":
            self._hand_on(call, body, monotonic())
            if _is_answered(call):
                if self._is_unusable_answer(call, body):
                    await cut(response)
                return
        self._keep_body(body)
        if not body.strip():
            raise self._broken(call, f"HTTP {status} with an empty body")
        if kind == "application/json":
            raise self._broken(call, f"HTTP {status} with a body that does not answer it", body)
        described = f'the content type "{kind}"' if kind else "no content type"
        raise self._broken(call, f"HTTP {status} with {described}", body)

    def _is_unusable_answer(self, call: Call, body: bytes) -> bool:
        """Whether the session could not use this as the answer: it is stored, and its connection is not reused."""
        future = call.future
        broken = future.done() and not future.cancelled() and future.exception() is not None
        if broken:
            self._keep_body(body)
        return broken

    def _broken(self, call: Call, fault: str, body: bytes = b"") -> CallFailed:
        shown = http_failures.quoted(body, self._http.spec.redact)
        return CallFailed(ProtocolBroken, f'broke the protocol in its answer to "{call.method}": {fault}{shown}')

    def _keep_body(self, body: bytes) -> None:
        call = self._call
        if call is not None and call.http is not None and body.strip():
            call.http["body"] = http_failures.stored_body(body, self._http.spec.redact)

    # --- event streams

    async def _take_events(self, response: httpx2.Response, call: Call) -> _Again | None:
        """Hand over every message of one connection. After the answer, the stream has a moment to end, so that it can be
        reused.
        """
        if self._events is None:
            self._events = EventStream(self._http.spec.max_message_bytes)
        events, broken_off = self._events, None
        try:
            async with asyncio.timeout(None) as leash:
                await events.read(response, lambda event, at: self._take_event(event, at, call, leash))
        except TimeoutError:
            if not leash.expired():
                raise
        except (CallFailed, ServerError):
            raise
        except Exception as wrong:  # noqa: BLE001  # the connection: what it means depends on what it has brought
            broken_off = self._broken_off(wrong)
        return None if _is_answered(call) else self._after_end(call, events, broken_off)

    def _take_event(self, event: ServerSentEvent, at: float, call: Call, leash: asyncio.Timeout) -> None:
        if not is_message(event):
            return
        self._hand_on(call, event.data, at)
        if _is_answered(call) and leash.when() is None:
            self._is_unusable_answer(call, event.data)
            leash.reschedule(asyncio.get_running_loop().time() + _AFTER_ANSWER_SECONDS)

    def _after_end(self, call: Call, events: EventStream, broken_off: CallFailed | None) -> _Again:
        """Handle a connection that ended before the answer. Raises: CallFailed when the stream cannot be resumed."""
        cannot = events.last_event_id is None or self._http.headers.stateless
        if not cannot and events.fruitless < MAX_FRUITLESS:
            return _Again(events.retry_seconds, resume=True)
        self._keep_body(events.unfinished)
        if broken_off is not None and not events.unfinished:
            raise broken_off
        fault = "its event stream ended before the answer"
        if events.unfinished:
            fault = "its event stream ended in the middle of an event, before the answer"
        if not cannot:
            fault += f", and {MAX_FRUITLESS} connections in a row delivered nothing more"
        raise self._broken(call, fault, events.unfinished)

    async def _resumed(self) -> _Again | None:
        """Resume the stream where it ended."""
        call, events = self._call, self._events
        assert call is not None
        assert events is not None
        try:
            response = await self._sent("GET", self._http.headers.of_stream(events.last_event_id))
        except CallFailed as failure:
            events.fruitless += 1
            return self._after_end(call, events, failure)
        try:
            self._keep(call, response)
            if response.status_code in _OK and content_type(response) == STREAM_TYPE:
                return await self._take_events(response, call)
            return await self._take_refusal(
                response, f" to a GET for the rest of its event stream (`{_resume_point(events)}`)"
            )
        except CallFailed:
            await cut(response)
            raise
        finally:
            await response.aclose()

    # --- refusals

    async def _take_refusal(self, response: httpx2.Response, to_what: str = "") -> _Again | None:
        """Handle a response that is no success. A JSON-RPC error for this call in its body is still the answer."""
        body = await read_error_body(response)
        if response.status_code not in (401, 403) and self._hand_on_error(body):
            return None
        wait = await self._wait_before_next(response, body, resumes=bool(to_what))
        if wait is not None:
            if self._call is not None and self._retries is not None:
                self._call.http = {**self._before, "retries": self._retries.kept}  # the call has no answer yet
            return _Again(wait, resume=bool(to_what))
        self._keep_body(body)
        raise self._refusal(response, body, to_what)

    def _hand_on_error(self, body: bytes) -> bool:
        call = self._call
        if call is None:
            return False
        line = _error_line(body, call, or_null_id=self._http.headers.stateless)
        if line is None:
            return False
        self._hand_on(call, line, monotonic())
        return True

    async def _wait_before_next(self, response: httpx2.Response, body: bytes, *, resumes: bool) -> float | None:
        spec = self._http.spec
        if self._retries is None:
            self._retries = Retries(self._call, spec.connect_timeout_seconds, self._http.receiver.danger_of_repeating)
        stored = http_failures.stored_body(body, spec.redact)
        return await self._retries.wait_before_next(response, stored, resumes=resumes)

    def _refusal(self, response: httpx2.Response, body: bytes, to_what: str) -> CallFailed | ServerError:
        status, status_text = response.status_code, http_failures.http_status_text(response)
        if status in (401, 403):
            return auth.refused(self._http.spec, status, response.headers.get("www-authenticate"))
        if response.has_redirect_location:
            target = redirect_target(response)
            same = target is not None and same_origin(target, response.request.url)
            return http_failures.redirected(response, target, same_origin=same)
        if status == 404 and self._http.headers.session_id is not None:
            clause = f"ended the session ({status_text})"
            self._http.receiver.expired(Ending(clause=clause))
            return CallFailed(ServerDied, clause)
        shown = http_failures.quoted(body, self._http.spec.redact)
        refusal = "" if self._retries is None else self._retries.refusal
        return CallFailed(ProtocolBroken, f"answered with {status_text}{to_what}{shown}{refusal}")


def _is_answered(call: Call) -> bool:
    """Whether the answer has arrived; a delayed one has, though it is not handed over yet."""
    return call.size > 0 or call.future.done()


def _resume_point(events: EventStream) -> str:
    return f"Last-Event-ID: {(events.last_event_id or '')[:80]}"


async def _acknowledged(response: httpx2.Response) -> None:
    """Read the empty body of an acknowledgement to its end."""
    try:
        async with asyncio.timeout(_ACKNOWLEDGED_SECONDS):
            await read_error_body(response)
    except TimeoutError:
        pass  # the connection is closed instead of reused


def is_answer_to(line: bytes, call: Call) -> bool:
    """Whether `line` holds the answer to `call`."""
    return any(_is_for(answer, call) for answer in _answers(line))


def _answers(line: bytes) -> list[JsonDict]:
    """The answers in one message or in an array of messages; [] when the line cannot be parsed."""
    try:
        message = wire.parse(line)
    except wire.Unreadable:
        return []
    messages = message if isinstance(message, list) else [message]
    return [item for item in messages if wire.kind_of(item) is wire.Kind.ANSWER]


def _is_for(answer: dict[str, object], call: Call, *, spelt: bool = False) -> bool:
    """Whether the id is the call's. `spelt`: also when it is the same number as a text. `true` is not 1."""
    its_id = answer.get("id")
    if isinstance(its_id, str):
        return spelt and its_id == str(call.id)
    return not isinstance(its_id, bool) and its_id == call.id


def _error_line(body: bytes, call: Call, *, or_null_id: bool) -> bytes | None:
    """Return `body` when it is a JSON-RPC error for `call`, else None.

    `or_null_id`: a stateless server that could not read the request sends `"id": null`. That body answers this very exchange,
    so the call's id is put in.
    """
    try:
        message: Any = wire.parse(body)
    except wire.Unreadable:
        return None
    if not isinstance(message, dict) or "error" not in message:
        return None
    if _is_for(message, call):
        return body
    if or_null_id and message.get("id") is None:
        return json.dumps({**message, "id": call.id}).encode()
    return None
