"""Logging in at a server: the authorization code flow in a browser, or the device flow; and the same for a client under test.

`log_in` and `log_in_by_device` give back a token and store nothing. `interactive_auth` logs in whenever a session is refused,
also in its middle, and keeps what it gets in memory. The surprising thing: none of them opens a browser: `open_url` is given,
so that a test or a headless driver can follow the authorization URL by itself.
Source: MCP 2025-11-25, basic/authorization; OAuth 2.1; RFC 8252, RFC 8628.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from typing import TYPE_CHECKING, TypeVar

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.oauth_device import GRANT, DeviceCode, DeviceProvider, Timing
from mcptest_engine.servers.oauth_flow import (
    Flow,
    MemoryStorage,
    challenge_response,
    checked_authorization_url,
    known_client,
)
from mcptest_engine.servers.oauth_http import OAuthHttp, OAuthTrouble
from mcptest_engine.servers.oauth_loopback import RedirectListener
from mcptest_engine.servers.spec import HttpOptions
from mcptest_engine.servers.token_store import StoredToken
from mcptest_engine.servers.urls import may_take_secrets, shown_url

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_PATIENCE_SECONDS = 30.0
_CLIENT_NAME = "mcptest"
_PROBE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mcptest", "version": "0"}},
}
_MCP_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class LoginRequest:
    """What a login is asked for; the same for both flows."""

    def __init__(
        self,
        url: str,
        *,
        scope: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        http: HttpOptions | None = None,
    ) -> None:
        self.url = url
        self.scope = scope
        self.client = known_client(client_id, client_secret)
        self.http = http or HttpOptions()
        self.redact = Redactor([client_secret] if client_secret else ()).redact_text


async def log_in(
    url: str,
    *,
    open_url: Callable[[str], Awaitable[None] | None],
    scope: str | None = None,
    client_id: str | None = None,
    client_secret: str | None = None,
    timeout_seconds: float = 300.0,
    http: HttpOptions | None = None,
) -> StoredToken:
    """Log in at the MCP server `url` with a browser that `open_url` sends off, and return the token.

    Raises: AuthFailed.
    """
    asked = LoginRequest(url, scope=scope, client_id=client_id, client_secret=client_secret, http=http)
    browser = _Browser(asked.url, open_url, asked.redact)
    provider = OAuthClientProvider(
        url, _metadata(["authorization_code", "refresh_token"]), MemoryStorage(asked.client), browser.open, browser.wait
    )
    flow = Flow(provider, asked.redact)

    async def steps() -> StoredToken:
        async with OAuthHttp(asked.http, _PATIENCE_SECONDS) as requests:
            return await browser.during(provider, lambda: _token_for(asked, flow, requests))

    return await _bounded(url, timeout_seconds, steps)


async def log_in_by_device(
    url: str,
    *,
    show: Callable[[DeviceCode], None],
    scope: str | None = None,
    client_id: str | None = None,
    client_secret: str | None = None,
    timeout_seconds: float = 900.0,
    http: HttpOptions | None = None,
    timing: Timing | None = None,
) -> StoredToken:
    """Log in at the MCP server `url` with a code that `show` tells the user, and return the token.

    Raises: AuthFailed.
    """
    asked = LoginRequest(url, scope=scope, client_id=client_id, client_secret=client_secret, http=http)
    provider = DeviceProvider(url, _metadata([GRANT, "refresh_token"], responses=[]), MemoryStorage(asked.client))
    flow = Flow(provider, asked.redact, needs_browser=False)

    async def steps() -> StoredToken:
        async with OAuthHttp(asked.http, _PATIENCE_SECONDS) as requests:
            provider.flow, provider.http, provider.show = flow, requests, show
            provider.redact, provider.timing = asked.redact, timing or Timing()
            return await _token_for(asked, flow, requests)

    return await _bounded(url, timeout_seconds, steps)


class InteractiveTokens:
    """Tokens of a session that logs in by itself, at a 401 and at a 403 that asks for more scope. See `oauth.TokenAuth`."""

    def __init__(
        self,
        url: str,
        open_url: Callable[[str], Awaitable[None] | None],
        client: LoginRequest,
        *,
        client_metadata_url: str | None,
        timeout_seconds: float,
    ) -> None:
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._options = client.http
        self._browser = _Browser(url, open_url, client.redact)
        self._provider = OAuthClientProvider(
            url,
            _metadata(["authorization_code", "refresh_token"]),
            MemoryStorage(client.client),
            self._browser.open,
            self._browser.wait,
            client_metadata_url,
        )
        self._flow = Flow(self._provider, client.redact)
        self._lock = asyncio.Lock()
        self.remarks: list[str] = []

    def secrets(self) -> tuple[str, ...]:
        """Every token and secret held now."""
        tokens, info = self._provider.context.current_tokens, self._provider.context.client_info
        held = (tokens and tokens.access_token, tokens and tokens.refresh_token, info and info.client_secret)
        return tuple(secret for secret in held if secret)

    async def current(self, request: httpx2.Request) -> str | None:
        """The token to send; None before the first refusal."""
        context = self._provider.context
        if context.current_tokens is not None and not context.is_token_valid() and context.can_refresh_token():
            async with self._lock:
                if not context.is_token_valid():
                    await self._bounded_token(request, None)
        return context.current_tokens.access_token if context.current_tokens else None

    async def renewed(self, refused: str | None, response: httpx2.Response) -> str | None:
        """The token to try again with, or None when this refusal has no remedy. Raises: AuthFailed."""
        async with self._lock:
            tokens = self._provider.context.current_tokens
            if tokens is not None and tokens.access_token != refused:
                return tokens.access_token  # somebody else logged in meanwhile
            challenge = httpx2.Response(
                response.status_code,
                headers=[pair for pair in response.headers.multi_items() if pair[0].lower() == "www-authenticate"],
                request=response.request,
            )
            token = await self._bounded_token(response.request, challenge)
        return None if token is None else token.access_token

    async def aclose(self) -> None:
        """Nothing: a token that is only in memory may be lost."""

    async def _bounded_token(self, request: httpx2.Request, challenge: httpx2.Response | None) -> OAuthToken | None:
        async def steps() -> OAuthToken | None:
            async with OAuthHttp(self._options, _PATIENCE_SECONDS) as requests:
                return await self._browser.during(
                    self._provider, lambda: self._flow.token(requests, request, challenge)
                )

        return await _bounded(self._url, self._timeout_seconds, steps)


def interactive_auth(
    url: str,
    open_url: Callable[[str], Awaitable[None] | None],
    *,
    client_id: str | None = None,
    client_secret: str | None = None,
    client_metadata_url: str | None = None,
    timeout_seconds: float = 300.0,
    http: HttpOptions | None = None,
) -> httpx2.Auth:
    """An `httpx2.Auth` that logs in at `url` when it is refused, through a browser that `open_url` sends off.

    `client_metadata_url` is a client id that is a URL (SEP-991). Its flow raises AuthFailed.
    """
    from mcptest_engine.servers.token_auth import TokenAuth

    asked = LoginRequest(url, client_id=client_id, client_secret=client_secret, http=http)
    tokens = InteractiveTokens(
        url, open_url, asked, client_metadata_url=client_metadata_url, timeout_seconds=timeout_seconds
    )
    return TokenAuth(url, tokens, steps_up=True)


class _Browser:
    """The provider's two handlers: they send a browser off, and wait for what it brings back."""

    def __init__(
        self, url: str, open_url: Callable[[str], Awaitable[None] | None], redact: Callable[[str], str]
    ) -> None:
        self._url = url
        self._open_url = open_url
        self._redact = redact
        self._port = 0  # kept from one login to the next: a client is registered with its port
        self._listener: RedirectListener | None = None

    async def during(self, provider: OAuthClientProvider, steps: Callable[[], Awaitable[T]]) -> T:
        """Listen while `steps` run."""
        async with RedirectListener(self._redact, self._port) as listener:
            self._listener, self._port = listener, listener.port
            provider.context.client_metadata.redirect_uris = [AnyUrl(listener.redirect_uri)]
            return await steps()

    async def open(self, authorization_url: str) -> None:
        assert self._listener is not None
        self._listener.expect(checked_authorization_url(authorization_url))
        opened = self._open_url(authorization_url)
        if inspect.isawaitable(opened):
            await opened

    async def wait(self) -> AuthorizationCodeResult:
        assert self._listener is not None
        came = await self._listener.answer()
        return AuthorizationCodeResult(code=came.code, state=came.state, iss=came.iss)


async def _token_for(asked: LoginRequest, flow: Flow, http: OAuthHttp) -> StoredToken:
    request, challenge = await _challenged(asked, http)
    token = await flow.token(http, request, challenge_response(request, challenge, asked.scope))
    if token is None:
        raise OAuthTrouble("the login ended without a token")
    return _stored(asked, flow, token)


async def _challenged(asked: LoginRequest, http: OAuthHttp) -> tuple[httpx2.Request, str | None]:
    """Ask the server as a session would, and return its challenge; None where it asked for no token."""
    request = httpx2.Request("POST", asked.url, headers=_MCP_HEADERS, content=json.dumps(_PROBE))
    async with http.stream(request, "server") as response:
        session = response.headers.get("mcp-session-id")
        challenge = response.headers.get("www-authenticate") if response.status_code in (401, 403) else None
    if session is not None:
        ending = httpx2.Request("DELETE", asked.url, headers={"Mcp-Session-Id": session})
        async with http.stream(ending, "server"):
            pass  # whether it ends a session that was opened for nothing is its own affair
    return request, challenge


def _stored(asked: LoginRequest, flow: Flow, token: OAuthToken) -> StoredToken:
    client, now = flow.client(), time.time()
    return StoredToken(
        url=asked.url,
        access_token=token.access_token,
        last_refreshed=now,
        token_type=token.token_type,
        refresh_token=token.refresh_token,
        expires_at_unix=None if token.expires_in is None else now + token.expires_in,
        scope=token.scope,
        client_id=client.client_id,
        client_secret=client.client_secret,
        auth_method=client.auth_method,
        token_endpoint=flow.token_endpoint(),
        resource=flow.resource(),
        issuer=flow.issuer(),
    )


async def _bounded(url: str, timeout_seconds: float, steps: Callable[[], Awaitable[T]]) -> T:
    """What `steps` come to. Raises: AuthFailed for their troubles, and when the time is over."""
    shown = shown_url(url)
    if not may_take_secrets(url):
        message = f"no login at {shown}: tokens go only to https or to this machine"
        raise AuthFailed(message, server=shown, hint="use an https URL")
    try:
        async with asyncio.timeout(timeout_seconds):
            return await steps()
    except TimeoutError:
        message = f"login at {shown} failed: nobody logged in within {duration(timeout_seconds)}"
        raise AuthFailed(message, server=shown, hint="give it more time with --timeout") from None
    except OAuthTrouble as wrong:
        raise AuthFailed(f"login at {shown} failed: {wrong.message}", server=shown, hint=wrong.hint) from wrong


def _metadata(grants: list[str], *, responses: list[str] | None = None) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        redirect_uris=None,
        client_name=_CLIENT_NAME,
        grant_types=grants,
        response_types=["code"] if responses is None else responses,
    )
