"""The `httpx2.Auth` that sends a bearer token, and what the sources of tokens share.

By httpx2's own way, one request with an `Auth` waits for another. Here requests wait only for a token that all of them need.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

import httpx2

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.core.tasks import retrieve_exception
from mcptest_engine.servers.auth import challenge_parameter
from mcptest_engine.servers.urls import same_origin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from mcptest_engine.servers.spec import ServerSpec

_SHARE_OF_TIME = 0.8


class Tokens(Protocol):
    """A source of tokens for `TokenAuth`. `remarks` are clauses about the server: oddities while a token was obtained."""

    remarks: list[str]

    def secrets(self) -> tuple[str, ...]:
        """Every token and secret held now."""

    async def current(self, request: httpx2.Request) -> str | None:
        """The token to send, or None to go without one. Raises: AuthFailed."""

    async def renewed(self, refused: str | None, response: httpx2.Response) -> str | None:
        """The token to send after `response` refused that one; None when there is no better one. Raises: AuthFailed."""

    async def aclose(self) -> None:
        """Wait, for a bounded time, until a new token is stored: a session ends. Others may go on asking for tokens."""


class TokenAuth(httpx2.Auth):
    """Sends a bearer token, and repeats a refused request once with a new one.

    `steps_up`: a 403 that asks for more scope counts as a refusal too.
    """

    def __init__(self, url: str, tokens: Tokens, *, steps_up: bool = False) -> None:
        self._url = httpx2.URL(url)
        self._tokens = tokens
        self._steps_up = steps_up

    def secrets(self) -> tuple[str, ...]:
        """Every token and secret held now, which must not be shown."""
        return self._tokens.secrets()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Oddities while a token was obtained, the latest last: clauses whose subject is the server."""
        return tuple(self._tokens.remarks)

    async def aclose(self) -> None:
        """Wait, for a bounded time, until a new token is stored: the session ends."""
        await self._tokens.aclose()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send `request` with the token, at most twice."""
        if not same_origin(request.url, self._url):
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
    """Runs one task at a time that obtains a token; other callers wait for it and share its result.

    The task is not cancelled with its callers: once an authorization server has replaced a refresh token, only its answer has
    the valid one.
    """

    def __init__(self) -> None:
        self._run: asyncio.Task[None] | None = None

    async def share(self, steps: Callable[[], Coroutine[object, object, None]]) -> None:
        """Run `steps`, unless they run already, and wait for their end. Raises: AuthFailed, for all who wait."""
        run = self._run
        if run is None or run.done():
            run = self._run = asyncio.get_running_loop().create_task(steps())
            run.add_done_callback(retrieve_exception)
        await asyncio.wait((run,))  # which does not cancel the run when this is cancelled
        failure = run.exception()
        if isinstance(failure, AuthFailed):
            raise AuthFailed(failure.message, server=failure.server, hint=failure.hint) from failure
        if failure is not None:
            raise failure

    async def finish(self, timeout_seconds: float) -> None:
        """Give a running task time to end. It is not cancelled: another session may wait for it."""
        if self._run is not None and not self._run.done():
            await asyncio.wait((self._run,), timeout=timeout_seconds)


def patience_seconds(spec: ServerSpec) -> float:
    """How long an authorization server may take: less than the waiting call, so that the failure names the right side."""
    return _SHARE_OF_TIME * min(spec.connect_timeout_seconds, spec.timeout_seconds)


def keep_secrets(spec: ServerSpec, secrets: tuple[str, ...]) -> None:
    """Register the secrets for redaction before they are sent for the first time."""
    for secret in secrets:
        spec.keep_secret(secret)


def _show(request: httpx2.Request, token: str | None) -> None:
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"


async def _drop_body(response: httpx2.Response) -> None:
    """Drop the body: httpx2 reads an answer to its end before the next request, and a refusal's body may have no end."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    await response.stream.aclose()
    response.stream = httpx2.ByteStream(b"")
