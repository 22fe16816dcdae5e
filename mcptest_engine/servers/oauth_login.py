"""Logs in at a server with a browser (authorization code flow) or a code (device flow); also during a session.

`log_in` and `log_in_by_device` return a token and store nothing. `interactive_auth` logs in whenever a session is refused, and
holds the token in memory. None of them opens a browser: the caller passes `open_url`, so that a test can follow the
authorization URL itself. Source: MCP 2025-11-25, basic/authorization; OAuth 2.1; RFC 8252, RFC 8628.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from typing import TYPE_CHECKING, TypeVar

import httpx2

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.oauth_device import GRANT, DeviceCode, Timing, device_grant
from mcptest_engine.servers.oauth_flow import CODE_GRANT, Challenge, Flow
from mcptest_engine.servers.oauth_http import OAuthHttp, OAuthTrouble
from mcptest_engine.servers.oauth_loopback import RedirectListener
from mcptest_engine.servers.oauth_tokens import Client, Grant
from mcptest_engine.servers.spec import HttpOptions
from mcptest_engine.servers.token_store import StoredToken
from mcptest_engine.servers.urls import may_take_secrets, shown_url

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_PATIENCE_SECONDS = 30.0
_PROBE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mcptest", "version": "0"}},
}
_MCP_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class LoginRequest:
    """The server to log in at, the scope to ask for, and a client id where one is registered already."""

    def __init__(
        self, url: str, *, scope: str | None = None, client_id: str | None = None, client_secret: str | None = None
    ) -> None:
        self.url = url
        self.scope = scope
        self.client = None if client_id is None else Client(client_id, client_secret)
        self.redact = Redactor([client_secret] if client_secret else ()).redact_text


async def log_in(
    login: LoginRequest, open_url: Callable[[str], Awaitable[None] | None], timeout_seconds: float = 300.0
) -> StoredToken:
    """Log in with a browser; `open_url` opens the authorization page. Return the token. Raises: AuthFailed."""
    browser = _Browser(login, open_url)

    async def steps() -> StoredToken:
        async with OAuthHttp(HttpOptions(), _PATIENCE_SECONDS) as requests:
            return await browser.during(lambda: _token_for(login, browser.flow, requests))

    return await _bounded(login.url, timeout_seconds, steps)


async def log_in_by_device(
    login: LoginRequest,
    show: Callable[[DeviceCode], None],
    timeout_seconds: float = 900.0,
    timing: Timing | None = None,
) -> StoredToken:
    """Log in with a code; `show` displays it to the user. Return the token. Raises: AuthFailed."""

    async def request_grant(http: OAuthHttp) -> Grant:
        return await device_grant(flow, http, show, login.redact, timing or Timing())

    flow = Flow(
        login.url,
        login.redact,
        request_grant,
        grants=(GRANT, "refresh_token"),
        client=login.client,
        scope=login.scope,
        needs_browser=False,
    )

    async def steps() -> StoredToken:
        async with OAuthHttp(HttpOptions(), _PATIENCE_SECONDS) as requests:
            return await _token_for(login, flow, requests)

    return await _bounded(login.url, timeout_seconds, steps)


class InteractiveTokens:
    """The tokens of a session that logs in by itself, after a 401 and after a 403 that asks for more scope."""

    def __init__(
        self,
        open_url: Callable[[str], Awaitable[None] | None],
        login: LoginRequest,
        *,
        client_metadata_url: str | None,
        timeout_seconds: float,
    ) -> None:
        self._url = login.url
        self._timeout_seconds = timeout_seconds
        self._browser = _Browser(login, open_url, client_metadata_url)
        self._flow = self._browser.flow
        self._lock = asyncio.Lock()
        self.remarks: list[str] = []

    def secrets(self) -> tuple[str, ...]:
        """Every token and secret held now."""
        grant, client = self._flow.grant, self._flow.client
        secrets = (grant and grant.access_token, grant and grant.refresh_token, client and client.client_secret)
        return tuple(secret for secret in secrets if secret)

    async def current(self, request: httpx2.Request) -> str | None:  # noqa: ARG002
        """The token to send; None before the first refusal."""
        if self._flow.is_over:
            async with self._lock:
                if self._flow.is_over:
                    await self._bounded_grant(self._flow.refreshed)
        return None if self._flow.grant is None else self._flow.grant.access_token

    async def renewed(self, refused: str | None, response: httpx2.Response) -> str | None:
        """The token to retry with, or None when a login would not help. Raises: AuthFailed."""
        async with self._lock:
            grant = self._flow.grant
            if grant is not None and grant.access_token != refused:
                return grant.access_token  # another request logged in meanwhile
            challenge = Challenge(response.status_code, response.headers.get("www-authenticate"))
            grant = await self._bounded_grant(lambda http: self._flow.token(http, response.request, challenge))
        return None if grant is None else grant.access_token

    async def aclose(self) -> None:
        """Do nothing: a token in memory need not be saved."""

    async def _bounded_grant(self, get: Callable[[OAuthHttp], Awaitable[Grant | None]]) -> Grant | None:
        async def steps() -> Grant | None:
            async with OAuthHttp(HttpOptions(), _PATIENCE_SECONDS) as requests:
                return await self._browser.during(lambda: get(requests))

        return await _bounded(self._url, self._timeout_seconds, steps)


def interactive_auth(
    login: LoginRequest,
    open_url: Callable[[str], Awaitable[None] | None],
    *,
    client_metadata_url: str | None = None,
    timeout_seconds: float = 300.0,
) -> httpx2.Auth:
    """An `httpx2.Auth` that logs in when the server refuses; `open_url` opens the authorization page.

    `client_metadata_url` is a client id that is a URL (SEP-991). Its flow raises AuthFailed.
    """
    from mcptest_engine.servers.token_auth import TokenAuth

    tokens = InteractiveTokens(
        open_url, login, client_metadata_url=client_metadata_url, timeout_seconds=timeout_seconds
    )
    return TokenAuth(login.url, tokens, steps_up=True)


class _Browser:
    """A flow that opens a browser and waits for its redirect."""

    def __init__(
        self,
        login: LoginRequest,
        open_url: Callable[[str], Awaitable[None] | None],
        client_metadata_url: str | None = None,
    ) -> None:
        self.flow = Flow(
            login.url,
            login.redact,
            lambda http: self.flow.code_grant(http, self._browse),
            grants=(CODE_GRANT, "refresh_token"),
            client=login.client,
            scope=login.scope,
            client_metadata_url=client_metadata_url,
        )
        self._open_url = open_url
        self._redact = login.redact
        self._port = 0  # the same for each login: a client is registered with its port
        self._listener: RedirectListener | None = None

    async def during(self, steps: Callable[[], Awaitable[T]]) -> T:
        """Run `steps` while the redirect address listens."""
        async with RedirectListener(self._redact, self._port) as listener:
            self._listener, self._port = listener, listener.port
            self.flow.redirect_uri = listener.redirect_uri
            return await steps()

    async def _browse(self, authorization_url: str) -> tuple[str, str | None]:
        assert self._listener is not None
        self._listener.expect(authorization_url)
        opened = self._open_url(authorization_url)
        if inspect.isawaitable(opened):
            await opened
        redirect = await self._listener.answer()
        return redirect.code, redirect.iss


async def _token_for(login: LoginRequest, flow: Flow, http: OAuthHttp) -> StoredToken:
    request, challenge = await _request_challenge(login, http)
    grant = await flow.token(http, request, Challenge(401, challenge))
    assert grant is not None  # a 401 yields a token, or raises
    return _stored_token(login, flow, grant)


async def _request_challenge(login: LoginRequest, http: OAuthHttp) -> tuple[httpx2.Request, str | None]:
    """Send a request as a session would, and return it with the server's challenge; None when no token was required."""
    request = httpx2.Request("POST", login.url, headers=_MCP_HEADERS, content=json.dumps(_PROBE))
    async with http.stream(request, "server") as response:
        session = response.headers.get("mcp-session-id")
        challenge = response.headers.get("www-authenticate") if response.status_code in (401, 403) else None
    if session is not None:
        ending = httpx2.Request("DELETE", login.url, headers={"Mcp-Session-Id": session})
        async with http.stream(ending, "server"):
            pass  # whether it ends the session that this request opened is up to the server
    return request, challenge


def _stored_token(login: LoginRequest, flow: Flow, grant: Grant) -> StoredToken:
    client, now = flow.client, time.time()
    assert client is not None
    return StoredToken(
        url=login.url,
        access_token=grant.access_token,
        last_refreshed=now,
        refresh_token=grant.refresh_token,
        expires_at_unix=None if grant.lifetime_seconds is None else now + grant.lifetime_seconds,
        scope=grant.scope,
        client_id=client.client_id,
        client_secret=client.client_secret,
        auth_method=client.auth_method,
        token_endpoint=flow.token_endpoint,
        resource=flow.resource,
        issuer=flow.issuer,
    )


async def _bounded(url: str, timeout_seconds: float, steps: Callable[[], Awaitable[T]]) -> T:
    """Run `steps` within the time limit. Raises: AuthFailed when they fail, and when the time runs out."""
    shown = shown_url(url)
    if not may_take_secrets(url):
        message = f"no login at {shown}: tokens go only to https or to this machine"
        raise AuthFailed(message, server=shown, hint="use an https URL")
    try:
        async with asyncio.timeout(timeout_seconds):
            return await steps()
    except TimeoutError:
        message = f"login at {shown} failed: there was no login within {duration(timeout_seconds)}"
        raise AuthFailed(message, server=shown, hint="give it more time with --timeout") from None
    except OAuthTrouble as wrong:
        raise AuthFailed(f"login at {shown} failed: {wrong.message}", server=shown, hint=wrong.hint) from wrong
