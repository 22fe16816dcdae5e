"""What comes from a client: every request gets an answer, also one that the SDK's parser refuses.

The SDK puts a line that it cannot read aside without a word, takes a request whose id is neither a string nor an integer for a
notification, and its client waits for ever. Here half a surrogate pair (a text that was cut in the middle of a character) is
mended, and anything else is answered with a JSON-RPC error, under the request's id where one can be made out.
"""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.safe_json import JsonFault, load_json
from mcptest_engine.front_door.paging import HALF_CHARACTERS

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

_REQUEST = lazy_pattern(
    r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]{0,99}"\s*,\s*)?"id"\s*:\s*([0-9]{1,15})\s*[,}]'
)
"""How a request begins, up to its id: after what cannot be read, the client would wait for that one for ever."""


_ODD_ID = lazy_pattern(r'"id"\s*:\s*(?!["0-9-])|"id"\s*:\s*-?[0-9]+[.eE]')
"""An id somewhere in a line that may be none of a request; most lines have none, and are not parsed twice."""


def open_stdin() -> anyio.AsyncFile[str]:
    """The process's stdin as the SDK's server reads it; children that inherit the descriptor find it at its end."""
    private = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Not closed: a thread may wait for a line when everything else has ended.
    lines = _Lines(os.fdopen(private, encoding="utf-8", errors="replace", closefd=False))
    return anyio.wrap_file(cast("TextIO", lines))


class _Lines:
    """Lines as they came, but one with an odd id as a JSON string, which the SDK refuses and `Incoming` can read."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def readline(self) -> str:
        """The next line, "" at the end."""
        line = self._file.readline()
        return json.dumps(line) + "\n" if _ODD_ID.search(line) and _has_odd_id(line) else line


def _has_odd_id(line: str) -> bool:
    try:
        told = load_json(line)
    except JsonFault:
        return False  # the SDK refuses it too
    return isinstance(told, dict) and "method" in told and "id" in told and not _is_id(told["id"])


def _is_id(value: object) -> bool:
    """Source: MCP 2025-11-25, basic#requests."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


class Incoming:
    """The SDK's stream of messages, in which no exception is left."""

    def __init__(self, messages: ReadStream[SessionMessage | Exception], answers: WriteStream[SessionMessage]) -> None:
        self._messages, self._answers = messages, answers

    async def receive(self) -> SessionMessage | Exception:
        """The next message that can be read."""
        while True:
            item = await self._messages.receive()
            if isinstance(item, SessionMessage):
                return item
            found = _mended(item)
            if isinstance(found, SessionMessage):
                return found
            if found is not None:
                await self._answers.send(SessionMessage(found))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        from anyio import EndOfStream

        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Close the SDK's stream."""
        await self._messages.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_told: object) -> None:
        await self.aclose()


def _mended(refused: Exception) -> SessionMessage | types.JSONRPCError | None:
    """The message that was meant, or the error to answer with; None for an empty line."""
    told = _input_of(refused)
    if isinstance(told, str):
        if not told.strip():
            return None
        try:
            told = load_json(told)
        except JsonFault as wrong:
            asked = _REQUEST.match(told)
            known = None if asked is None else {"id": int(asked[1])}
            return _error(known, types.PARSE_ERROR, f"this line cannot be read: {wrong}")
        if isinstance(told, dict) and "method" in told and "id" in told and not _is_id(told["id"]):
            shown = json.dumps(told["id"])[:80]
            return _error(
                told, types.INVALID_REQUEST, f"the id of a request is a string or an integer, and this is {shown}"
            )
    try:
        mended = _without_halves(told)
        return SessionMessage(types.jsonrpc_message_adapter.validate_python(mended, by_name=False))
    except RecursionError:
        return _error(told, types.INVALID_REQUEST, "the request is nested too deeply")
    except ValidationError:
        return _error(told, types.INVALID_REQUEST, "this is no JSON-RPC request, notification or response")


def _input_of(refused: Exception) -> Any:
    if not isinstance(refused, ValidationError):
        return ""
    errors = refused.errors(include_url=False)
    # What a message lacks is told of the whole of it, what is wrong in it of that part alone.
    return next((error["input"] for error in errors if error["type"] == "missing"), errors[0]["input"])


def _without_halves(value: Any) -> Any:
    match value:
        case str():
            return value if value.isascii() else HALF_CHARACTERS.sub("\ufffd", value)
        case dict():
            return {_without_halves(key): _without_halves(part) for key, part in value.items()}
        case list():
            return [_without_halves(part) for part in value]
    return value


def _error(told: Any, code: int, message: str) -> types.JSONRPCError:
    number = told.get("id") if isinstance(told, dict) else None
    known: Any = number if _is_id(number) else None
    if isinstance(known, str):
        known = HALF_CHARACTERS.sub("\ufffd", known)
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=message[:300]))
