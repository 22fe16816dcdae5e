"""A token that `mcptest login` stored: sent, refreshed before it expires, and written back, by one process at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers import token_store
from mcptest_engine.servers.oauth_http import OAuthHttp, OAuthTrouble
from mcptest_engine.servers.oauth_tokens import Client, expired, request_token
from mcptest_engine.servers.token_auth import OneAtATime, keep_secrets, patience_seconds
from mcptest_engine.servers.urls import login_command

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.token_store import StoredToken

_WINDOW_SECONDS = 60.0
_LOCK_PATIENCE_SECONDS = 60.0


def stored_login(spec: ServerSpec) -> StoredLogin | None:
    """The stored login for the URL of `spec`, or None. Raises: AuthFailed for a file that cannot be read."""
    with _storage_errors(spec):
        stored = token_store.load(spec.url or "")
    return None if stored is None else StoredLogin(spec, stored)


class StoredLogin:
    """Sends a stored token; refreshes it a minute before it expires, or when it was refused, and writes it back to its file.

    A refresh goes on when the call that needed it is cancelled, and closing a session waits for it: the authorization server
    may have replaced the refresh token already, and without the answer the login would be lost.
    """

    def __init__(self, spec: ServerSpec, stored: StoredToken, clock: Callable[[], float] = time.time) -> None:
        self._spec = spec
        self._clock = clock
        self._token = stored
        self._tired_of: str | None = None
        self._one = OneAtATime()
        self.remarks: list[str] = []
        keep_secrets(spec, stored.secrets())

    def secrets(self) -> tuple[str, ...]:
        """The tokens and the client's secret."""
        return self._token.secrets()

    async def current(self, request: httpx2.Request) -> str | None:  # noqa: ARG002
        """The token. While the old one is valid, a failed refresh is ignored, and not repeated until it expires."""
        token = self._token
        if not token.can_be_refreshed or not self._is_over(token, window_seconds=_WINDOW_SECONDS):
            return token.access_token
        if self._is_over(token, window_seconds=0.0):
            return await self._new_token(token)
        if self._tired_of == token.access_token:
            return token.access_token
        try:
            return await self._new_token(token)
        except AuthFailed:
            self._tired_of = token.access_token
            return token.access_token

    async def renewed(self, refused: str | None, response: httpx2.Response) -> str | None:  # noqa: ARG002
        """The token that another process obtained meanwhile, or a refreshed one; None when it cannot be refreshed."""
        token = self._token
        return token.access_token if token.access_token != refused else await self._new_token(token)

    async def aclose(self) -> None:
        """Wait for a running refresh, for as long as the authorization server may take."""
        await self._one.finish(patience_seconds(self._spec))

    def _is_over(self, token: StoredToken, window_seconds: float) -> bool:
        return expired(token.expires_at_unix, token.last_refreshed, self._clock(), window_seconds)

    async def _new_token(self, stale: StoredToken) -> str:
        async def refresh() -> None:
            if self._token is stale:
                await self._refresh(stale)

        await self._one.share(refresh)
        return self._token.access_token

    async def _refresh(self, stale: StoredToken) -> None:
        """Under the lock of all processes: take the token that another one obtained meanwhile, else refresh and store it."""
        with _storage_errors(self._spec):
            if not stale.can_be_refreshed:  # no lock needed, and a read-only home directory does not matter
                self._adopt(token_store.load(stale.url) or stale)
                return
            async with token_store.locked(stale.url, _LOCK_PATIENCE_SECONDS):
                token = token_store.load(stale.url) or stale
                if token.access_token == stale.access_token and token.can_be_refreshed:
                    token = await self._renew(token)
                    token_store.save(token)
                self._adopt(token)

    def _adopt(self, token: StoredToken) -> None:
        keep_secrets(self._spec, token.secrets())
        self._token = token

    async def _renew(self, token: StoredToken) -> StoredToken:
        form = {"grant_type": "refresh_token", "refresh_token": token.refresh_token or ""}
        if token.resource is not None:
            form["resource"] = token.resource
        client = Client(token.client_id or "", token.client_secret, token.auth_method)
        redactor = Redactor((*token.secrets(), *client.secrets()))
        try:
            async with OAuthHttp(self._spec.http, patience_seconds(self._spec)) as http:
                grant = await request_token(http, token.token_endpoint or "", form, client, redactor.redact_text)
        except OAuthTrouble as wrong:
            raise self._refresh_failure(wrong) from wrong
        now, lifetime = self._clock(), grant.lifetime_seconds
        return token._replace(
            access_token=grant.access_token,
            refresh_token=grant.refresh_token or token.refresh_token,
            scope=grant.scope or token.scope,
            expires_at_unix=None if lifetime is None else now + lifetime,
            last_refreshed=now,
        )

    def _refresh_failure(self, wrong: OAuthTrouble) -> AuthFailed:
        clause = f"the token stored by `mcptest login` could not be refreshed: {wrong.message}"
        hint = wrong.hint or "try again later"
        if wrong.code is not None:
            hint = f"log in again with: {login_command(self._token.url)}"
        return AuthFailed.because(clause, server=self._spec.name, hint=hint)


class _storage_errors:  # noqa: N801 - reads as what it does, in a `with` statement
    """Turns errors of the token file into failures of the server whose token it is."""

    def __init__(self, spec: ServerSpec) -> None:
        self._server = spec.name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, wrong: BaseException | None, trace: object) -> None:
        if isinstance(wrong, token_store.StoreTrouble):
            raise AuthFailed.because(wrong.message, server=self._server, hint=wrong.hint) from wrong
