"""OAuth client credentials: a token for a program, as a suite's `auth.oauth` asks for. Source: RFC 6749 section 4.4."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import httpx2

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers.oauth_http import OAuthHttp, OAuthTrouble
from mcptest_engine.servers.oauth_tokens import Client, Grant, expired, request_token
from mcptest_engine.servers.token_auth import OneAtATime, keep_secrets, patience_seconds
from mcptest_engine.servers.urls import same_origin, shown_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.servers.spec import ServerSpec

_TRY_WITHOUT_RESOURCE = ("invalid_target", "invalid_request")
_MENDED_BY_CLIENT = ("invalid_client", "unauthorized_client", "invalid_grant", "access_denied")


class ClientCredentials:
    """The suite's `auth.oauth`: gets a token for a client id and a secret, and holds it in memory. Source: RFC 6749 section
    4.4.

    Without a `token_endpoint` the first request is sent without a token, and the server's refusal leads to the token endpoint.
    """

    def __init__(self, spec: ServerSpec, oauth: JsonMapping, clock: Callable[[], float] = time.time) -> None:
        self._spec = spec
        self._clock = clock
        self._client = _client(spec, oauth)
        self._method_is_open = "auth_method" not in oauth
        self._secret_env = oauth.get("client_secret_env")
        self._scope: str | None = oauth.get("scope")
        self._endpoint: str | None = oauth.get("token_endpoint")
        self._resource: str | None = shown_url(spec.url or "")
        self._grant: Grant | None = None
        self._issued_at = 0.0
        self._one = OneAtATime()
        self.remarks: list[str] = []
        self._redactor = Redactor(self._client.secrets())
        keep_secrets(spec, self._client.secrets())

    def secrets(self) -> tuple[str, ...]:
        """The client's secret and the token."""
        return (*self._client.secrets(), *((self._grant.access_token,) if self._grant else ()))

    async def current(self, request: httpx2.Request) -> str | None:  # noqa: ARG002
        """The token, requested when there is none or it has expired."""
        grant = self._grant
        if grant is not None:
            lifetime = grant.lifetime_seconds
            expires_at = None if lifetime is None else self._issued_at + lifetime
            if not expired(expires_at, self._issued_at, self._clock()):
                return grant.access_token
        if self._endpoint is None:
            return None
        return await self._new_token(grant, None)

    async def renewed(self, refused: str | None, response: httpx2.Response) -> str | None:
        """Another token, requested once however many requests were refused."""
        grant = self._grant
        if grant is not None and grant.access_token != refused:
            return grant.access_token
        return await self._new_token(grant, response)

    async def aclose(self) -> None:
        """Do nothing: a token in memory need not be saved."""

    async def _new_token(self, stale: Grant | None, refusal: httpx2.Response | None) -> str:
        async def renew() -> None:
            if self._grant is stale:
                grant = await self._request_grant(refusal)
                keep_secrets(self._spec, (grant.access_token,))
                self._grant, self._issued_at = grant, self._clock()

        await self._one.share(renew)
        assert self._grant is not None
        return self._grant.access_token

    async def _request_grant(self, refusal: httpx2.Response | None) -> Grant:
        try:
            async with OAuthHttp(self._spec.http, patience_seconds(self._spec)) as http:
                if self._endpoint is None:
                    assert refusal is not None
                    return await self._discovered(http, refusal)
                return await self._direct(http, self._endpoint)
        except OAuthTrouble as wrong:
            raise self._request_failure(wrong) from wrong

    async def _direct(self, http: OAuthHttp, endpoint: str) -> Grant:
        form = {"grant_type": "client_credentials"} | ({"scope": self._scope} if self._scope else {})
        resource = {"resource": self._resource} if self._resource else {}
        try:
            return await request_token(http, endpoint, {**form, **resource}, self._client, self._redact)
        except OAuthTrouble as wrong:
            if not resource or wrong.code not in _TRY_WITHOUT_RESOURCE:
                raise
        grant = await request_token(http, endpoint, form, self._client, self._redact)
        self._resource = None  # an authorization server that does not know RFC 8707 and refuses `resource`
        return grant

    async def _discovered(self, http: OAuthHttp, refusal: httpx2.Response) -> Grant:
        """Get a token from the authorization server that the refusal names; later tokens are requested there directly."""
        from mcptest_engine.servers.oauth_flow import Challenge, Flow

        async def request_grant(http: OAuthHttp) -> Grant:
            scope = {"scope": flow.scope} if flow.scope else {}
            return await flow.request_token(http, {"grant_type": "client_credentials", **flow.resource_form(), **scope})

        flow = Flow(
            self._spec.url or "",
            self._redact,
            request_grant,
            grants=("client_credentials",),
            client=self._client,
            scope=self._scope,
            needs_browser=False,
            method_is_open=self._method_is_open,
        )
        challenge = Challenge(refusal.status_code, refusal.headers.get("www-authenticate"))
        grant = await flow.token(http, refusal.request, challenge)
        if grant is None:
            raise OAuthTrouble("discovery ended without a token")
        self._endpoint, self._resource, self._client = flow.token_endpoint, flow.resource, flow.client or self._client
        self._remark_elsewhere(self._endpoint)
        return grant

    def _remark_elsewhere(self, endpoint: str) -> None:
        """Add a remark when the secret was sent to another origin than the server's: the server chose that endpoint."""
        if not same_origin(httpx2.URL(endpoint), httpx2.URL(self._spec.url or "")):
            self.remarks.append(
                f"names the token endpoint {shown_url(endpoint)}, at another origin; the client secret was sent there; "
                "set `token_endpoint` in the suite to choose it"
            )

    def _redact(self, text: str) -> str:
        return self._spec.redact(str(self._redactor.redact_registered(text)))

    def _request_failure(self, wrong: OAuthTrouble) -> AuthFailed:
        secret = f"the secret in env var `{self._secret_env}` (named by `client_secret_env`)"
        hint = wrong.hint if self._endpoint is not None else "set `token_endpoint`"
        if wrong.code in _MENDED_BY_CLIENT:
            hint = f"correct `client_id` (`{self._client.client_id}`) or {secret}"
        elif wrong.code == "invalid_scope":
            hint = "correct `scope`"
        return AuthFailed.because(wrong.message, server=self._spec.name, hint=hint)


def _client(spec: ServerSpec, oauth: JsonMapping) -> Client:
    secret = oauth.get("client_secret")
    if not secret:
        variable = oauth.get("client_secret_env")
        clause = f"env var `{variable}` (named by `client_secret_env`) is not set or is empty in this process"
        raise AuthFailed.because(
            clause, server=spec.name, hint=f"export the secret of client `{oauth['client_id']}` into it"
        )
    return Client(oauth["client_id"], secret, oauth.get("auth_method", "client_secret_basic"))
