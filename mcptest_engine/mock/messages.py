"""Messages in and out of the mock, and what is to be done about one: the words that its session and its transports share.

Named tuples rather than frozen dataclasses, as in `manifest`: a mock starts once for every server of every run.

Source: JSON-RPC 2.0; MCP 2025-11-25 and 2026-07-28, basic. Of JSON-RPC, batches are refused: no current revision has them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mcptest_engine.core.safe_json import decode_json, json_fault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class Served(Protocol):
        """One client's session, whoever answers in it: a manifest or a cassette."""

        def receive(self, message: Mapping[str, object]) -> Effect:
            """What to do about one message that `read_message` has let through."""

        def receive_stateless(
            self,
            message: Mapping[str, object],
            headers: Mapping[str, str] | None,
            repeated: frozenset[str] = frozenset(),
        ) -> Effect:
            """The same for a request of the stateless era; `headers` are those of HTTP, `repeated` those given twice."""

        def notification_of(self, change: Change) -> bytes | None:
            """What this client is told of a change without having asked in a `subscriptions/listen`, None for nothing."""


PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
RESOURCE_NOT_FOUND = -32002
"""Until 2025-11-25; 2026-07-28 says INVALID_PARAMS instead."""
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022

RequestKey = tuple[type, str | int | float]
"""A request's id with its type, so that 1 and "1" are two requests."""


class Change(NamedTuple):
    """Something of the server's own has changed: `method` is the notification that tells of it, `uri` the resource."""

    method: str
    uri: str | None = None


class Answer(NamedTuple):
    """Send `body`, `delay_ms` from now, unless the request `key` is cancelled before; None cannot be cancelled.

    `before` goes out at once; whoever listens for `changes` is told of them then. `error_code` is that of an error.
    """

    body: bytes
    key: RequestKey | None = None
    delay_ms: float = 0.0
    before: tuple[bytes, ...] = ()
    changes: tuple[Change, ...] = ()
    error_code: int | None = None


class ClientRequest(NamedTuple):
    """Send `before` and the request `body` to the client; its answer, once received, answers the request `key`."""

    body: bytes
    key: RequestKey
    before: tuple[bytes, ...] = ()


class Listen(NamedTuple):
    """Send `body`; from then on, and until the request `key` is cancelled, tell `listener` of changes."""

    body: bytes
    key: RequestKey
    listener: Listener


class Hang(NamedTuple):
    """Never answer the request `key`."""

    key: RequestKey


class Cancel(NamedTuple):
    """Forget the request `key`: its answer is not wanted any more."""

    key: RequestKey


class Silence(NamedTuple):
    """Nothing is due: a notification, or an answer to a request that was never made."""


class Wedge(NamedTuple):
    """Read and answer nothing any more."""


class Crash(NamedTuple):
    """End the process at once, with what is due before it sent."""


Effect = Answer | ClientRequest | Listen | Hang | Cancel | Silence | Wedge | Crash


class Listener(NamedTuple):
    """An open `subscriptions/listen`: the methods of the notifications that it wants, and the resources."""

    subscription: str | float
    methods: frozenset[str]
    uris: frozenset[str]

    def notification_of(self, change: Change) -> bytes | None:
        """The notification for this listener, None when it did not ask for any.

        Source: MCP 2026-07-28, subscriptions: each names the subscription that it belongs to.
        """
        wanted = change.uri in self.uris if change.uri is not None else change.method in self.methods
        return notification_of(change, self.subscription) if wanted else None


class BadMessage(ValueError):
    """Bytes that are no JSON-RPC message; `answer` is the error to send for them."""

    def __init__(self, code: int, message: str, key: str | float | None = None) -> None:
        super().__init__(message)
        body = encode({"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": message}})
        self.answer = Answer(body=body, error_code=code)


class RpcError(Exception):
    """The request cannot be served: `error` is the JSON-RPC error object."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


def read_message(body: bytes) -> dict[str, Any]:
    """One JSON-RPC message. Raises: BadMessage for anything that is none."""
    try:
        message = decode_json(body.decode())
    except (ValueError, RecursionError) as wrong:
        raise BadMessage(PARSE_ERROR, f"Parse error: {json_fault(wrong)}") from None
    if isinstance(message, list):
        raise BadMessage(INVALID_REQUEST, "Invalid request: batches are not supported")
    if not isinstance(message, dict):
        raise BadMessage(INVALID_REQUEST, "Invalid request: a message must be an object")
    key = message.get("id")
    known_key = key if isinstance(key, str | int | float) and not isinstance(key, bool) else None
    if message.get("jsonrpc") != "2.0":
        raise BadMessage(INVALID_REQUEST, 'Invalid request: `jsonrpc` must be "2.0"', known_key)
    if "method" in message and not isinstance(message["method"], str):
        raise BadMessage(INVALID_REQUEST, "Invalid request: `method` must be a string", known_key)
    if "method" not in message and "result" not in message and "error" not in message:
        raise BadMessage(INVALID_REQUEST, "Invalid request: `method` is missing", known_key)
    if "id" in message and known_key is None and "method" in message:
        raise BadMessage(INVALID_REQUEST, "Invalid request: `id` must be a string or a number")
    return message


def success(key: str | float, result: object, *, delay_ms: float = 0.0) -> Answer:
    """The answer to the request `key`."""
    body = encode({"jsonrpc": "2.0", "id": key, "result": result})
    return Answer(body=body, key=(type(key), key), delay_ms=delay_ms)


def failure(key: str | float, error: Mapping[str, Any], *, delay_ms: float = 0.0) -> Answer:
    """The answer to the request `key` with a JSON-RPC error."""
    body = encode({"jsonrpc": "2.0", "id": key, "error": error})
    return Answer(body=body, key=(type(key), key), delay_ms=delay_ms, error_code=error["code"])


def tool_error(text: str) -> dict[str, Any]:
    """The result of a tool that could not do what it was asked."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def notification(method: str, params: Mapping[str, object]) -> bytes:
    """A notification of the server."""
    return encode({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def notification_of(change: Change, subscription: str | float | None = None) -> bytes:
    """The notification that tells of a change, in a subscription of the stateless era or outside of any."""
    uri = {} if change.uri is None else {"uri": change.uri}
    meta = {} if subscription is None else {"_meta": {"io.modelcontextprotocol/subscriptionId": subscription}}
    return notification(change.method, {**meta, **uri})


def encode(message: Mapping[str, object]) -> bytes:
    """A message as UTF-8 without line breaks."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair came in as an argument; escaped, it can go out again
        return json.dumps(message, separators=(",", ":")).encode("ascii")


def invalid(message: str) -> NoReturn:
    """Raises: RpcError for parameters that are not what they must be."""
    raise RpcError(INVALID_PARAMS, message)
