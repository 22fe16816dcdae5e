"""A connection pool for the HTTP client with cheap checks of idle connections.

Before each request, a pool asks every idle connection whether the server has closed it. The stock check takes longer than
sending the request: with 32 calls at a time it is most of the time. Here a connection keeps its socket, and the check is one
poll of it. The rest is the stock pool's; with a proxy, the stock transport is used.
"""

from __future__ import annotations

import select
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

import httpcore2
import httpx2

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Iterable, Iterator

_CAN_POLL = hasattr(select, "poll")


class PooledTransport(httpx2.AsyncBaseTransport):
    """The connections of one client. Raises httpx2's exceptions, as the stock transport does."""

    def __init__(self, certificates: ssl.SSLContext | None, *, kept_alive: int, kept_alive_seconds: float) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=certificates,
            max_connections=None,
            max_keepalive_connections=kept_alive,
            keepalive_expiry=kept_alive_seconds,
            network_backend=_Backend(),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; the caller reads the body."""
        url = request.url
        where = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        sent = httpcore2.Request(
            request.method, where, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        with _httpx_failures():
            response = await self._pool.handle_async_request(sent)
        return httpx2.Response(
            response.status, headers=response.headers, stream=_Body(response), extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_failures():
            async with aclosing(self._response.aiter_stream()) as parts:
                async for part in parts:
                    yield part

    async def aclose(self) -> None:
        with _httpx_failures():
            await self._response.aclose()


class _Backend(httpcore2.AnyIOBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return _Stream(await super().connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._socket = stream.get_extra_info("socket")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable" and _CAN_POLL and self._socket is not None:
            return _is_readable(self._socket.fileno())
        return self._stream.get_extra_info(info)


def _is_readable(descriptor: int) -> bool:
    """Whether an idle connection has something to read: its end, or unexpected bytes."""
    if descriptor < 0:
        return True  # closed
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


@contextmanager
def _httpx_failures() -> Iterator[None]:
    try:
        yield
    except Exception as wrong:
        theirs = getattr(httpx2, type(wrong).__name__, None) if type(wrong).__module__.startswith("httpcore2") else None
        if theirs is None:
            raise
        raise theirs(str(wrong)) from wrong
