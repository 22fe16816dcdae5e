"""The `httpx2.Auth` that sends a bearer token, wherever that comes from, and what the sources of tokens share.

The surprising thing: httpx2's own way with an `Auth` is to let one request wait for another. Here requests never wait for one
another, only for a token that all of them need.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

import httpx2

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.servers.auth import challenge_parameter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from mcptest_engine.servers.spec import ServerSpec

_SHARE_OF_TIME = 0.8


class Tokens(Protocol):
    """Where a `TokenAuth` gets its token."""

    def secrets(self) -> tuple[str, ...]:
        """Every token and secret held now."""

    async def current(self, request: httpx2.Request) -> str | None:
        """The token to send, or None to go without one. Raises: AuthFailed."""

    async def renewed(self, refused: str | None, response: httpx2.Response) -> str | None:
        """The token to send after `response` refused that one; None when there is no better one. Raises: AuthFailed."""


class TokenAuth(httpx2.Auth):
    """Sends a bearer token, and asks once more with a new one when it was refused.

    `steps_up`: a 403 that asks for more scope counts as a refusal too.
    """

    def __init__(self, url: str, tokens: Tokens, *, steps_up: bool = False) -> None:
        self._origin = _origin(httpx2.URL(url))
        self._tokens = tokens
        self._steps_up = steps_up

    def secrets(self) -> tuple[str, ...]:
        """Every token and secret held now: what must never be shown."""
        return self._tokens.secrets()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send `request` with the token, at most twice."""
        if _origin(request.url) != self._origin:
            yield request
            return
        token = await self._tokens.current(request)
        _show(request, token)
        response = yield request
        if not self._is_refusal(response):
            return
        renewed = await self._tokens.renewed(token, response)
        if renewed is None or renewed == token:
            return
        await _drop_body(response)
        _show(request, renewed)
        yield request

    def _is_refusal(self, response: httpx2.Response) -> bool:
        if response.status_code == 401:
            return True
        challenge = response.headers.get("www-authenticate")
        wants_scope = challenge_parameter(challenge, "error") == "insufficient_scope"
        return self._steps_up and response.status_code == 403 and wants_scope


class OneAtATime:
    """Those who ask while somebody is at it wait, and share what it came to, be it a failure."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._attempts = 0
        self._failure: AuthFailed | None = None

    async def share(self, steps: Callable[[], Awaitable[None]]) -> None:
        """Run `steps`, unless somebody else's run ended during the wait. Raises: AuthFailed, of either."""
        attempts = self._attempts
        async with self._lock:
            if self._attempts == attempts:
                await self._attempt(steps)
            elif self._failure is not None:
                told = self._failure
                raise AuthFailed(told.message, server=told.server, hint=told.hint)

    async def _attempt(self, steps: Callable[[], Awaitable[None]]) -> None:
        try:
            await steps()
        except AuthFailed as failure:
            self._attempts, self._failure = self._attempts + 1, failure
            raise
        self._attempts, self._failure = self._attempts + 1, None


def patience_seconds(spec: ServerSpec) -> float:
    """How long an authorization server may take: less than the call that waits for it, so that the failure names it."""
    return _SHARE_OF_TIME * min(spec.connect_timeout_seconds, spec.timeout_seconds)


def keep_secrets(spec: ServerSpec, secrets: tuple[str, ...]) -> None:
    """Have them redacted in everything that the run shows, before they are sent for the first time."""
    for secret in secrets:
        spec.keep_secret(secret)


def _show(request: httpx2.Request, token: str | None) -> None:
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"


async def _drop_body(response: httpx2.Response) -> None:
    """httpx2 reads the answer to the end before it sends the next request; a refusal's body may have no end."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    await response.stream.aclose()
    response.stream = httpx2.ByteStream(b"")


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)
