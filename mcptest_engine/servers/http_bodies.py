"""Bodies of HTTP answers, read within limits: of size, of time, and of what a compressed one unpacks to.

A compressed body comes unpacked in pieces of at most 1 MiB, so that a bomb is seen before it fills the memory. One coding at
most is unpacked: of a coding within a coding, a few bytes could keep the processor busy for minutes without a byte coming out.
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
    """The body, unpacked, as it comes. Raises: httpx2.HTTPError; CallFailed for a coding not asked for, for what cannot be
    unpacked or is cut short, and for a bomb.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return _raw(response)
    if coding not in _CODINGS:
        raise CallFailed(ProtocolBroken, f'answered with the content encoding "{coding[:80]}", which was not asked for')
    return _unpacked(response, coding)


async def read_body(response: httpx2.Response, spec: ServerSpec, partial: bytearray) -> bytes:
    """The whole body; what has come so far stands in `partial`, also when this raises. Raises: as `chunks`; CallFailed when it
    is over the limit of a message.
    """
    async with aclosing(chunks(response)) as body:
        async for chunk in body:
            partial += chunk
            if len(partial) > spec.max_message_bytes:
                raise too_large(spec.max_message_bytes)
    return bytes(partial)


async def read_error_body(response: httpx2.Response) -> bytes:
    """What a failure says in its body: its start, for a short time, as far as it can be read. Never raises."""
    import httpx2

    told, size = [], 0
    try:
        async with asyncio.timeout(_TOLD_SECONDS), aclosing(chunks(response)) as body:
            async for chunk in body:
                told.append(chunk)
                size += len(chunk)
                if size >= _TOLD_BYTES:
                    break
    except (TimeoutError, httpx2.HTTPError, CallFailed):
        pass  # the status says more than how its body failed
    return b"".join(told)[:_TOLD_BYTES]


async def cut(response: httpx2.Response) -> None:
    """Close the connection itself, so that nothing else is asked over it: what lies in it would be taken for an answer.

    Never raises.
    """
    import httpx2

    if response.is_closed:
        return  # read to its end: the connection may serve another call by now
    stream = response.extensions.get("network_stream")
    with suppress(httpx2.HTTPError, OSError):
        if stream is not None:
            await stream.aclose()
        await response.aclose()


async def _raw(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body as it comes. `Response.aiter_raw` would give the connection back at the body's end, to the next call; whoever is
    to judge the body first must still be able to cut it then.
    """
    async for chunk in cast("AsyncIterable[bytes]", response.stream):
        yield chunk


async def _unpacked(response: httpx2.Response, coding: str) -> AsyncGenerator[bytes, None]:
    """The body of a coding. A gzip body may be several members, one after the other (RFC 1952, 2.2), and has to be whole."""
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
                    told = f"sent a compressed body that unpacks to over {freely} MiB, more than {_MAX_RATIO} times its size"
                    raise CallFailed(ProtocolBroken, told)
                if piece:
                    yield piece
    if unpacker is not None and not unpacker.eof:
        raise CallFailed(ProtocolBroken, "sent a compressed body that is cut short: its end is missing")


def _window_bits(coding: str, packed: bytes) -> int:
    """How zlib reads a coding; "deflate" is a zlib stream (RFC 9110, 8.4.1.2), and of many servers a bare one."""
    if coding == "gzip":
        return zlib.MAX_WBITS | 16
    has_header = packed[0] & 0x0F == zlib.DEFLATED and (len(packed) < 2 or int.from_bytes(packed[:2]) % 31 == 0)
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
