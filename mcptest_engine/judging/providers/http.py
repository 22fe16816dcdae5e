"""The HTTP client through which a provider's SDK asks: no redirect is followed, since keys would go along with it.

Proxies are those of the environment, but never for this machine, as for servers. An answer has a largest size, unpacked: the
SDKs hold whatever comes.
"""

from __future__ import annotations

import ssl
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from mcptest_engine.judging.providers.wire import LARGEST, is_event_stream
from mcptest_engine.servers.failures import CallFailed
from mcptest_engine.servers.http_bodies import chunks
from mcptest_engine.servers.urls import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcptest_engine.judging.providers.wire import ProviderError, ProviderErrors

CONNECT_SECONDS = 10.0
LARGEST_BODY = 64 * 1024 * 1024


def client_for(base: str, *, anonymous: bool = False) -> httpx2.AsyncClient:
    """A client whose only limit of time is that of connecting: a call's own is kept by who asks.

    `anonymous`: it sends no `Authorization`, whatever it is given.
    """
    parts = urlsplit(base)
    here = is_loopback(parts.hostname or "")
    plain = parts.scheme == "http"
    return httpx2.AsyncClient(
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if plain
        else True,  # trusts nobody; certificates take long to read
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20),
        mounts=dict.fromkeys(("all://", "http://", "https://")) if here else None,
        headers={"Accept-Encoding": "gzip, deflate"},  # what is unpacked within limits
        event_hooks={"request": [_drop_authorization] if anonymous else [], "response": [_limit_body]},
    )


class _TooMuch(httpx2.ReadError):
    """A body that is over the limit, or that a limit cannot be kept for."""


class _LimitedBody(httpx2.AsyncByteStream):
    """The body of a response, unpacked, up to `LARGEST_BODY`, and of one event up to `LARGEST`."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._has_events = is_event_stream(response.headers)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = event_size = 0
        try:
            async with aclosing(chunks(self._response)) as body:
                async for chunk in body:
                    size += len(chunk)
                    ended = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\r\n\r\n"))
                    event_size = len(chunk) - ended if ended >= 0 else event_size + len(chunk)
                    if size > LARGEST_BODY or (self._has_events and event_size > LARGEST):  # an SDK takes its square
                        raise _TooMuch(f"more than {(LARGEST if size <= LARGEST_BODY else LARGEST_BODY) >> 20} MiB")
                    yield chunk
        except CallFailed as wrong:
            raise _TooMuch(wrong.clause) from None

    async def aclose(self) -> None:
        await self._response.stream.aclose()  # type: ignore[union-attr]


async def _limit_body(response: httpx2.Response) -> None:
    packed = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    response.stream = _LimitedBody(packed)
    response.headers.pop("content-encoding", None)
    response.headers.pop("content-length", None)


async def _drop_authorization(request: httpx2.Request) -> None:
    request.headers.pop("Authorization", None)


def lost(errors: ProviderErrors, why: BaseException | None) -> ProviderError:
    """What a call comes to whose connection was never there, or broke."""
    if isinstance(why, _TooMuch):
        return errors.bad(str(why))
    if isinstance(why, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.ProxyError)):
        return errors.unreachable(why)
    return errors.broken_off(errors.quoted(str(why)) if why is not None and str(why) else "connection lost")
