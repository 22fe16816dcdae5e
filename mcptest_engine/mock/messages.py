"""The messages of the mock and the effects that its session passes to its transports.

Named tuples rather than frozen dataclasses, as in `manifest`: a mock starts once for every server of every run. Source:
JSON-RPC 2.0; MCP 2025-11-25 and 2026-07-28, basic. JSON-RPC batches are refused: no current revision has them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mcptest_engine.core.safe_json import decode_json, json_fault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from mcptest_engine.core.json_types import JsonMapping

    class Served(Protocol):
        """One client's session, answered from a manifest or a cassette."""

        def receive(self, message: Mapping[str, object]) -> Effect:
            """The effect of a message that `read_message` has parsed."""

        def receive_stateless(
            self,
            message: Mapping[str, object],
            headers: Mapping[str, str] | None,
            repeated: frozenset[str] = frozenset(),
        ) -> Effect:
            """The effect of a request of the stateless lifecycle; `headers` are those of HTTP, `repeated` those given twice."""

        def notification_of(self, change: Change) -> bytes | None:
            """The notification of a change for a client without `subscriptions/listen`, None for nothing."""


PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
RESOURCE_NOT_FOUND = -32002
"""Until 2025-11-25; 2026-07-28 uses INVALID_PARAMS instead."""
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022

RequestKey = tuple[type, str | int | float]
"""A request's id with its type, because 1 and "1" are different requests."""


class Change(NamedTuple):
    """A change in the server: `method` is the notification that announces it, `uri` the resource."""

    method: str
    uri: str | None = None


class Answer(NamedTuple):
    """Send `body` after `delay_ms`, unless the request `key` is cancelled before; None cannot be cancelled.

    `before` is sent at once, and so are the notifications of `changes` to those who listen. `error_code` is that of an error.
    """

    body: bytes
    key: RequestKey | None = None
    delay_ms: float = 0.0
    before: tuple[bytes, ...] = ()
    changes: tuple[Change, ...] = ()
    error_code: int | None = None


class ClientRequest(NamedTuple):
    """Send `before` and the request `body` to the client; its answer leads to that of the request `key`."""

    body: bytes
    key: RequestKey
    before: tuple[bytes, ...] = ()


class Listen(NamedTuple):
    """Send `body`; from then on, until the request `key` is cancelled, notify `listener` of changes."""

    body: bytes
    key: RequestKey
    listener: Listener


class Hang(NamedTuple):
    """Never answer the request `key`."""

    key: RequestKey


class Cancel(NamedTuple):
    """Drop the request `key`: its answer is no longer wanted."""

    key: RequestKey


class Silence(NamedTuple):
    """Send nothing: for a notification, or an answer to a request that was never sent."""


class Wedge(NamedTuple):
    """Stop reading and answering."""


class Crash(NamedTuple):
    """End the process at once, after sending what is due before."""


Effect = Answer | ClientRequest | Listen | Hang | Cancel | Silence | Wedge | Crash


class Listener(NamedTuple):
    """An open `subscriptions/listen`: the methods of its notifications, and its resources."""

    subscription: str | float
    methods: frozenset[str]
    uris: frozenset[str]

    def notification_of(self, change: Change) -> bytes | None:
        """The notification for this listener, None when it did not ask for it.

        Source: MCP 2026-07-28, subscriptions: each notification names its subscription.
        """
        wanted = change.uri in self.uris if change.uri is not None else change.method in self.methods
        return notification_of(change, self.subscription) if wanted else None


class BadMessage(ValueError):
    """Bytes that are no JSON-RPC message; `answer` is the error to send."""

    def __init__(self, code: int, message: str, key: str | float | None = None) -> None:
        super().__init__(message)
        body = encode({"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": message}})
        self.answer = Answer(body=body, error_code=code)


class RpcError(Exception):
    """The request cannot be answered: `error` is the JSON-RPC error object."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


def read_message(body: bytes) -> dict[str, object]:
    """Parse one JSON-RPC message. Raises: BadMessage for anything else."""
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
    """Build the answer to the request `key`."""
    body = encode({"jsonrpc": "2.0", "id": key, "result": result})
    return Answer(body=body, key=(type(key), key), delay_ms=delay_ms)


def failure(key: str | float, error: JsonMapping, *, delay_ms: float = 0.0) -> Answer:
    """Build the error answer to the request `key`."""
    body = encode({"jsonrpc": "2.0", "id": key, "error": error})
    return Answer(body=body, key=(type(key), key), delay_ms=delay_ms, error_code=error["code"])


def tool_error(text: str) -> dict[str, object]:
    """Build the result of a tool that failed."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def notification(method: str, params: Mapping[str, object]) -> bytes:
    """Build a notification of the server."""
    return encode({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def notification_of(change: Change, subscription: str | float | None = None) -> bytes:
    """Build the notification of a change, for a subscription of the stateless lifecycle or without one."""
    uri = {} if change.uri is None else {"uri": change.uri}
    meta = {} if subscription is None else {"_meta": {"io.modelcontextprotocol/subscriptionId": subscription}}
    return notification(change.method, {**meta, **uri})


def encode(message: Mapping[str, object]) -> bytes:
    """Encode a message as UTF-8 without line breaks."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair was an argument; it can be sent back as an escape
        return json.dumps(message, separators=(",", ":")).encode("ascii")


def invalid(message: str) -> NoReturn:
    """Raises: RpcError for wrong parameters."""
    raise RpcError(INVALID_PARAMS, message)
