"""JSON-RPC as bytes: encoding messages, splitting chunks into lines, telling apart what arrived.

Nothing here knows processes or sockets, and nothing is repaired: a message is passed on as it was sent, or refused with the
reason. An unreadable answer is still searched for an id, because its call should fail at once with the bad line, and not by its
timeout.
"""

from __future__ import annotations

import gc
import json
from codecs import BOM_UTF8
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.safe_json import JsonFault, decode_json, json_decoder, json_fault
from mcptest_engine.servers.memory import MAX_VALUE_BYTES, is_too_much

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonDict

    Redact = Callable[[str], str]

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of MCP that open with `initialize`, oldest first."""
DEFAULT_REVISION = HANDSHAKE_REVISIONS[-1]
BATCH_REVISION = "2025-03-26"
"""The one revision in which a message may be an array of messages."""

METHOD_NOT_FOUND = -32601
HEADER_MISMATCH = -32020

CLIPPED_FROM = 16 * 1024
"""The bytes of a line in which secrets are looked for before its start is quoted."""

_LARGE = 1024 * 1024
_UNSURE = 4096  # characters at the end of that part: they may be the first half of a secret
_MISSING = object()
_MOST_REPEATED = 8
_ID_IN_TEXT = lazy_pattern(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')


class Kind(StrEnum):
    """The kind of a line. An answer may still be malformed (`answer_fault`)."""

    ANSWER = "answer"
    REQUEST = "request"
    NOTIFICATION = "notification"
    BATCH = "batch"
    NOISE = "noise"


class Unreadable(ValueError):
    """A line that is not JSON, or exceeds the limits (`is_too_much`).

    `reason` is a phrase, `detail` the same without "it is not JSON". `call_id` is the integer id of a line that looks like an
    answer.
    """

    def __init__(self, reason: str, call_id: int | None, *, is_too_much: bool = False, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail or reason
        self.call_id = call_id
        self.is_too_much = is_too_much


def encode_request(call_id: int, method: str, params: Mapping[str, object] | None) -> bytes:
    """Encode a request as one line with its newline. `params` None omits the member.

    Raises: UsageError when `params` contain a value that JSON does not have, such as NaN.
    """
    if params is None:
        return f'{{"jsonrpc":"2.0","id":{call_id},"method":{_dump(method)}}}\n'.encode()
    return _message_line(f'{{"jsonrpc":"2.0","id":{call_id},"method":{_dump(method)},"params":', params)


def encode_notification(method: str, params: Mapping[str, object] | None = None) -> bytes:
    """Encode a notification as one line, newline included."""
    if params is None:
        return f'{{"jsonrpc":"2.0","method":{_dump(method)}}}\n'.encode()
    return _message_line(f'{{"jsonrpc":"2.0","method":{_dump(method)},"params":', params)


def encode_reply(
    request_id: object, *, result: Mapping[str, object] | None = None, error: Mapping[str, object] | None = None
) -> bytes:
    """Encode a reply to a request of the server as one line with its newline."""
    member, value = ("result", result) if error is None else ("error", error)
    return _message_line(f'{{"jsonrpc":"2.0","id":{_dump(request_id)},"{member}":', value)


def parse(line: bytes, decode: Callable[[str], Any] | None = None) -> Any:
    """Parse the JSON value of `line`; a custom `decode` (`decoder_of_repeats`) is for lines up to 1 MiB.

    Integers are exact. Raises: Unreadable, also for NaN and Infinity, which JSON does not have, for a number such as 1e999 that
    would become infinity, for an integer with more digits than Python reads (4,300), and for a value that takes more memory
    than one message may.
    """
    size = len(line)
    if size >= _LARGE and is_too_much(line):
        limit = MAX_VALUE_BYTES // (1024 * 1024)
        reason = f"it would take more than {limit} MiB of memory, which is too much"
        raise Unreadable(reason, id_within(line), is_too_much=True)
    try:
        return (decode or decode_json)(line.decode()) if size < _LARGE else _decode_large(line.decode())
    except (ValueError, RecursionError, MemoryError) as wrong:
        fault = json_fault(wrong)
        if isinstance(wrong, json.JSONDecodeError) and line.startswith(BOM_UTF8):
            fault = JsonFault("it begins with a byte order mark", syntax=True)
        raise Unreadable(str(fault), id_within(line), detail=fault.detail) from None


def kind_of(message: object) -> Kind:
    """The kind of a parsed line.

    An object without `jsonrpc`, `result` and `error` is noise: servers log JSON on stdout, and `{"id": 3, "level": …}` is no
    answer to call 3.
    """
    if isinstance(message, list):
        return Kind.BATCH
    if not isinstance(message, dict):
        return Kind.NOISE
    if "method" in message:
        if message.get("jsonrpc") != "2.0" or not isinstance(message["method"], str):
            return Kind.NOISE
        return Kind.REQUEST if "id" in message else Kind.NOTIFICATION
    return Kind.ANSWER if "jsonrpc" in message or "result" in message or "error" in message else Kind.NOISE


def as_it_is(text: str) -> str:
    """Return the text unchanged: the `redact` of callers without secrets."""
    return text


def answer_fault(message: Mapping[str, object], redact: Redact = as_it_is) -> str | None:
    """Why `message` is no JSON-RPC answer, or None when it is one. Source: JSON-RPC 2.0, 5; MCP 2025-11-25, basic.

    A result must be an object, and an error must have an integer code and a text; tests judge the rest. `redact` removes
    secrets from quoted text before it is cut.
    """
    if message.get("jsonrpc") != "2.0":
        if "jsonrpc" not in message:
            return "it has no `jsonrpc` member"
        return f'its `jsonrpc` is {_encode_clipped(message["jsonrpc"], redact)}, not "2.0"'
    result = message.get("result", _MISSING)
    error = message.get("error", _MISSING)
    if error is _MISSING:
        if type(result) is dict:
            return None
        if result is _MISSING:
            return "it has neither `result` nor `error`"
        return f"its `result` is {json_type(result)}, not an object"
    if result is not _MISSING:
        return "it has both `result` and `error`"
    return _error_fault(error, redact)


def json_type(value: object) -> str:
    """The JSON type of `value` with its article, such as "an array"."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def is_step(message: Mapping[str, object]) -> bool:
    """Whether a stateless answer does not end its call: it asks for input, or for missing headers."""
    result, error = message.get("result"), message.get("error")
    asks = isinstance(result, dict) and result.get("resultType") == "input_required"
    return asks or (isinstance(error, dict) and error.get("code") == HEADER_MISMATCH)


def clip(line: bytes, limit: int = 300, redact: Redact = as_it_is) -> str:
    """Decode the start of a raw line for a message; bytes that are not UTF-8 become U+FFFD.

    `redact` removes secrets first, so that the cut leaves no half of one.
    """
    text = redact(line[:CLIPPED_FROM].decode("utf-8", "replace").strip())
    if len(line) > CLIPPED_FROM:
        return text[: max(min(limit, len(text) - _UNSURE), 0)] + "…"
    return text if len(text) <= limit else text[:limit] + "…"


class LineSplitter:
    """Splits chunks into lines at `\n`; the time for a long line is proportional to its length.

    A line over `max_bytes`, or one that takes more memory than there is, is dropped up to the next newline. `overflowed` counts
    both, `out_of_memory` the latter.
    """

    __slots__ = ("_held", "_max_bytes", "_skipping", "out_of_memory", "overflowed")

    def __init__(self, max_bytes: int) -> None:
        # One buffer and no list of chunks: hundreds of freed chunks would fragment the heap, and the process would stay large.
        self._held = bytearray()
        self._max_bytes = max_bytes
        self._skipping = False
        self.overflowed = self.out_of_memory = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, without newlines; blank lines are left out."""
        first, *rest = data.split(b"\n")
        if not rest:
            self._hold(first)
            return []
        last = rest.pop()
        lines = [line for line in (self._finish(first), *rest) if line and not line.isspace()]
        if last:
            self._hold(last)
        return lines

    def beginning(self) -> bytes:
        """The start of the unfinished line, which stays in the buffer."""
        return bytes(self._held[: CLIPPED_FROM + 1])

    def rest(self) -> bytes:
        """Remove and return what came after the last newline: a server may die in the middle of a line."""
        rest, self._held = self._held, bytearray()
        return bytes(rest)

    def _hold(self, piece: bytes) -> None:
        if self._skipping:
            return
        try:
            self._held += piece
        except MemoryError:
            self._give_up()
            self.out_of_memory += 1
        if len(self._held) > self._max_bytes:
            self._give_up()

    def _give_up(self) -> None:
        self._held = bytearray()
        self._skipping = True
        self.overflowed += 1

    def _finish(self, end: bytes) -> bytes:
        if self._skipping:
            self._skipping = False
            return b""
        if not self._held:
            return end
        try:
            self._held += end
            line = self.rest()
        except MemoryError:
            self._held = bytearray()
            self.out_of_memory += 1
        else:
            if len(line) <= self._max_bytes:
                return line
        self.overflowed += 1
        return b""


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_dump = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # ASCII: lone surrogates become escapes


def decoder_of_repeats(repeated: list[str]) -> Callable[[str], object]:
    """Make a `decode` for `parse` that adds each name that an object holds twice to `repeated`; the last one counts.

    JSON does not say which one counts, so that another client may see another value. Source: RFC 8259, 4.
    """

    def members(pairs: list[tuple[str, Any]]) -> JsonDict:
        value = dict(pairs)
        if len(value) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen and name not in repeated and len(repeated) < _MOST_REPEATED:
                    repeated.append(name)
                seen.add(name)
        return value

    return json_decoder(members)


def _decode_large(text: str) -> object:
    # The cycle collector would scan the growing value again and again, and it cannot have cycles.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return decode_json(text)
    finally:
        if was_enabled:
            gc.enable()


def _message_line(head: str, value: object) -> bytes:
    try:
        text = _encode(value)
    except ValueError as wrong:
        raise UsageError(f"this cannot be sent as JSON: {wrong}") from None
    try:
        return f"{head}{text}}}\n".encode()
    except UnicodeEncodeError:  # a lone surrogate: JSON can express it as an escape
        return f"{head}{_dump(value)}}}\n".encode()


def id_within(line: bytes) -> int | None:
    """Find the id of a broken line that looks like an answer, at its start or end, where most servers put it."""
    if (
        not line.lstrip().removeprefix(BOM_UTF8).startswith(b"{")
        or b'"jsonrpc"' not in line
        or b'"method"' in line[:200]
    ):
        return None
    found = _ID_IN_TEXT.search(line[:200]) or _ID_IN_TEXT.search(line[-200:])
    return int(found.group(1)) if found else None


def _error_fault(error: object, redact: Redact) -> str | None:
    if not isinstance(error, dict):
        return f"its `error` is {json_type(error)}, not an object"
    code = error.get("code", _MISSING)
    if type(code) is not int:
        if code is _MISSING:
            return "its `error.code` is missing"
        return f"its `error.code` is {_encode_clipped(code, redact)}, {json_type(code)}, not an integer"
    if not isinstance(error.get("message"), str):
        return "its `error.message` is missing" if "message" not in error else "its `error.message` is not a string"
    return None


def _encode_clipped(value: object, redact: Redact) -> str:
    text = redact(json.dumps(value))
    return text if len(text) <= 60 else text[:60] + "…"
