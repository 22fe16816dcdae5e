"""Reads bodies of HTTP answers within limits: of size, of time, and of what a compressed one unpacks to.

A compressed body is unpacked in pieces of at most 1 MiB, so that a decompression bomb is noticed before it fills the memory. At
most one coding is unpacked: nested codings could keep the processor busy for minutes with a few bytes.
"""

from __future__ import annotations

import asyncio
import zlib
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, cast

from mcptest_engine.core.errors import ProtocolBroken
from mcptest_engine.servers.failures import CallFailed, too_large

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable

    import httpx2

    from mcptest_engine.servers.spec import ServerSpec

_MIB = 1024 * 1024
_UNPACKED_FREELY = 16 * _MIB
_MAX_RATIO = 100
_CODINGS = frozenset({"gzip", "deflate"})
_TOLD_BYTES = _MIB
_TOLD_SECONDS = 1.0


def chunks(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Yield the unpacked body as it arrives.

    Raises: httpx2.HTTPError; CallFailed for a coding that was not asked for, a damaged or incomplete body, and a decompression
    bomb.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return _raw(response)
    if coding not in _CODINGS:
        raise CallFailed(ProtocolBroken, f'answered with the content encoding "{coding[:80]}", which was not asked for')
    return _unpacked(response, coding)


async def read_body(response: httpx2.Response, spec: ServerSpec, partial: bytearray) -> bytes:
    """Read the whole body; `partial` holds what has arrived, also when this raises.

    Raises: as `chunks`; CallFailed when it exceeds the limit of a message.
    """
    async with aclosing(chunks(response)) as body:
        async for chunk in body:
            partial += chunk
            if len(partial) > spec.max_message_bytes:
                raise too_large(spec.max_message_bytes)
    return bytes(partial)


async def read_error_body(response: httpx2.Response) -> bytes:
    """The start of a failure's body, read for a short time and as far as possible. Never raises."""
    import httpx2

    pieces, size = [], 0
    try:
        async with asyncio.timeout(_TOLD_SECONDS), aclosing(chunks(response)) as body:
            async for chunk in body:
                pieces.append(chunk)
                size += len(chunk)
                if size >= _TOLD_BYTES:
                    break
    except (TimeoutError, httpx2.HTTPError, CallFailed):
        pass  # the status matters more than why its body failed
    return b"".join(pieces)[:_TOLD_BYTES]


async def cut(response: httpx2.Response) -> None:
    """Close the connection, so that it is not reused: what is left in it would be taken for the next answer. Never raises."""
    import httpx2

    if response.is_closed:
        return  # read to its end: another call may use the connection by now
    stream = response.extensions.get("network_stream")
    with suppress(httpx2.HTTPError, OSError):
        if stream is not None:
            await stream.aclose()
        await response.aclose()


async def _raw(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives.

    `Response.aiter_raw` would return the connection to the pool at the body's end. The caller must still be able to close it
    after judging the body.
    """
    async for chunk in cast("AsyncIterable[bytes]", response.stream):
        yield chunk


async def _unpacked(response: httpx2.Response, coding: str) -> AsyncGenerator[bytes, None]:
    """Unpack a body of one coding. A gzip body may have several members (RFC 1952, 2.2), and must be complete."""
    packed_size, size, unpacker = 0, 0, None
    async with aclosing(_raw(response)) as chunks_of_body:
        async for chunk in chunks_of_body:
            packed_size += len(chunk)
            packed = chunk
            while packed:
                if unpacker is None or unpacker.eof:
                    if unpacker is not None and not (packed := packed.lstrip(b"\0")):
                        break  # padding after the last member
                    unpacker = zlib.decompressobj(_window_bits(coding, packed))
                try:
                    piece = unpacker.decompress(packed, _MIB)
                except zlib.error as wrong:
                    fault = f"sent a compressed body that cannot be unpacked: {wrong}"
                    raise CallFailed(ProtocolBroken, fault) from None
                packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
                size += len(piece)
                if size > _UNPACKED_FREELY and size > _MAX_RATIO * packed_size:
                    freely = _UNPACKED_FREELY // _MIB
                    clause = f"sent a compressed body that unpacks to over {freely} MiB, more than {_MAX_RATIO} times its size"
                    raise CallFailed(ProtocolBroken, clause)
                if piece:
                    yield piece
    if unpacker is not None and not unpacker.eof:
        raise CallFailed(ProtocolBroken, "sent a compressed body that is cut short: its end is missing")


def _window_bits(coding: str, packed: bytes) -> int:
    """How zlib must read a coding. "deflate" is a zlib stream (RFC 9110, 8.4.1.2), but many servers send a bare one."""
    if coding == "gzip":
        return zlib.MAX_WBITS | 16
    has_header = packed[0] & 0x0F == zlib.DEFLATED and (len(packed) < 2 or int.from_bytes(packed[:2]) % 31 == 0)
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
