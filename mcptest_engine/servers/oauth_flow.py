"""The `mcp` SDK's OAuth provider, run for its token alone: discovery, registration, PKCE, resource and issuer checks.

The provider is made to sit in front of every request, one request at a time. Here it never sees one: it is handed the challenge
that the server answered with, its own requests are sent by `OAuthHttp`, and when it would send the request again it is done. So
nothing waits behind it, no event stream is read by it, and what an authorization server answered is told in our words.

Importing this module imports `mcp`, which takes most of a second: it is imported only where a token has to be got by discovery.
Source: MCP 2025-11-25 and 2026-07-28, basic/authorization; RFC 9728, RFC 8414, RFC 7591.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urljoin

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import ValidationError

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.servers.http_failures import causes
from mcptest_engine.servers.oauth_http import (
    OAuthHttp,
    OAuthTrouble,
    check_endpoint,
    json_object,
    oauth_error,
    quoted_body,
)
from mcptest_engine.servers.oauth_tokens import TOKEN_ENDPOINT, Client, Grant, read_grant
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable

# What the provider logs are its errors with their traceback, tokens in quoted bodies included; they are told by us.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)

READY_ANSWER = "mcptest.ready_answer"
"""The key of `Request.extensions` under which an answer waits that has been got already."""

_MOST_FAULTS = 3
_METHODS = ("client_secret_basic", "client_secret_post")


class MemoryStorage:
    """The provider's storage: nothing outlives the object. A client that is known beforehand needs no registration."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens so far."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client, registered or known beforehand."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a client that was registered."""
        self.client = client_info


class Flow:
    """One provider, and what was found out on its way. `metadata` is the authorization server's, as it came.

    `needs_browser` is False for grants without an authorization endpoint, whose absence is then no fault of the metadata.
    `method_is_open`: how the client shows itself was not given, so that the authorization server's metadata decides.
    """

    def __init__(
        self,
        provider: OAuthClientProvider,
        redact: Callable[[str], str],
        *,
        needs_browser: bool = True,
        method_is_open: bool = True,
    ) -> None:
        self.provider = provider
        self.metadata: dict[str, Any] = {}
        self._redact = redact
        self._needs_browser = needs_browser
        self._method_is_open = method_is_open

    async def token(
        self, http: OAuthHttp, request: httpx2.Request, challenge: httpx2.Response | None
    ) -> OAuthToken | None:
        """Turn the refusal of `request` into a token; without a challenge only refresh one that has expired.

        None when the provider has no answer to it. Raises: OAuthTrouble.
        """
        probe = httpx2.Request(request.method, request.url, headers=request.headers)
        challenge = challenge or httpx2.Response(200, request=probe)
        flow = self.provider.async_auth_flow(probe)
        try:
            outgoing, told = await anext(flow), False
            while not (outgoing is probe and told):
                told = told or outgoing is probe
                answer = challenge if outgoing is probe else await self._send(http, outgoing)
                outgoing = await flow.asend(answer)
        except StopAsyncIteration:
            return self.provider.context.current_tokens if challenge.is_success else None
        except OAuthFlowError as wrong:
            raise OAuthTrouble(self._provider_words(wrong)) from wrong
        finally:
            await flow.aclose()
        return self.provider.context.current_tokens

    def client(self) -> Client:
        """Who asked for the token, for asking again without the provider."""
        info = self.provider.context.client_info
        assert info is not None
        return Client(info.client_id, info.client_secret, info.token_endpoint_auth_method or "none")

    def token_endpoint(self) -> str:
        """Where tokens come from; without metadata the place that MCP 2025-03-26 fixed."""
        metadata = self.provider.context.oauth_metadata
        return str(metadata.token_endpoint) if metadata else urljoin(self.provider.context.server_url, "/token")

    def resource(self) -> str | None:
        """The resource that the token is for, where that was said. Source: RFC 8707."""
        context = self.provider.context
        return context.get_resource_url() if context.should_include_resource_param(context.protocol_version) else None

    def issuer(self) -> str | None:
        """The authorization server, where it published metadata."""
        metadata = self.provider.context.oauth_metadata
        return str(metadata.issuer) if metadata else None

    async def _send(self, http: OAuthHttp, request: httpx2.Request) -> httpx2.Response:
        if READY_ANSWER in request.extensions:
            response = cast("httpx2.Response", request.extensions[READY_ANSWER])
            read_grant(response, self._redact)
            return response
        if request.method == "GET":
            return self._noted(await http.send(request, "OAuth metadata"))
        if _is_form(request):
            return await self._ask_token(http, request)
        return await self._register(http, request)

    def _noted(self, response: httpx2.Response) -> httpx2.Response:
        """Remember the authorization server's metadata, and see to what the provider does not do with it."""
        document = json_object(response) if response.status_code == 200 else None
        if document is None or not isinstance(document.get("issuer"), str):
            return response
        self.metadata = document
        if self._needs_browser:
            self._check_pkce(document, response)
        self._choose_method(self.provider.context.client_info)
        if self._needs_browser or "authorization_endpoint" in document:
            return response
        patched = json.dumps({**document, "authorization_endpoint": document["issuer"]})
        return httpx2.Response(200, headers=response.headers, content=patched, request=response.request)

    def _check_pkce(self, document: dict[str, Any], response: httpx2.Response) -> None:
        """Raises: OAuthTrouble for an authorization server that does not say that it supports PKCE with S256.

        Source: MCP 2025-11-25, basic/authorization#authorization-code-protection: clients must refuse to proceed.
        """
        methods = document.get("code_challenge_methods_supported")
        if isinstance(methods, list) and "S256" in methods:
            return
        found = "is missing" if methods is None else f"is {one_line(self._redact(json.dumps(methods)[:1024]), 100)}"
        raise OAuthTrouble(
            f"{shown_url(str(response.request.url))} does not say that PKCE with S256 is supported: "
            f"`code_challenge_methods_supported` {found}; MCP has a client refuse that",
            hint='the authorization server\'s metadata needs `"code_challenge_methods_supported": ["S256"]`',
        )

    async def _ask_token(self, http: OAuthHttp, request: httpx2.Request) -> httpx2.Response:
        response = await http.send(request, TOKEN_ENDPOINT)
        refreshing = "refresh_token" in parse_qs(request.content.decode()).get("grant_type", ())
        if not refreshing and not response.is_redirect:  # a refresh that is refused is followed by the whole flow
            self._missing_metadata(response)
            read_grant(response, self._redact)
        return response

    async def _register(self, http: OAuthHttp, request: httpx2.Request) -> httpx2.Response:
        response = await http.send(request, "registration endpoint")
        if response.is_redirect:
            return response
        self._missing_metadata(response)
        where = shown_url(str(request.url))
        code, told = oauth_error(response, self._redact)
        if response.status_code not in (200, 201):
            reason = told if code else f"HTTP {response.status_code}{quoted_body(response, self._redact)}"
            hint = "register mcptest there yourself and give its client id with --client-id"
            raise OAuthTrouble(f"the registration endpoint {where} refused: {reason}", code=code, hint=hint)
        if json_object(response) is None:
            raise OAuthTrouble(f"the registration endpoint {where} answered with no client")
        return _with_method(response, self._supported_method)

    def _missing_metadata(self, response: httpx2.Response) -> None:
        """Raises: OAuthTrouble where nothing was discovered, and the places of old are not there either."""
        if self.metadata or response.status_code not in (404, 405):
            return
        context = self.provider.context
        named = context.auth_server_url
        it = "it names no authorization server (RFC 9728)"
        if named is not None:
            it = f"the authorization server that it names, {shown_url(named)}, publishes no metadata (RFC 8414)"
        raise OAuthTrouble(
            f"nothing says where tokens for {shown_url(context.server_url)} come from: {it}, and "
            f"{shown_url(str(response.request.url))} answered HTTP {response.status_code}"
        )

    def _choose_method(self, info: OAuthClientInformationFull | None) -> None:
        """How a client that was known beforehand shows itself is the authorization server's to say, unless it was given."""
        if info is not None and self._method_is_open:
            info.token_endpoint_auth_method = self._supported_method(bool(info.client_secret))

    def _supported_method(self, has_secret: bool) -> str:
        if not has_secret:
            return "none"
        supported = self.metadata.get("token_endpoint_auth_methods_supported")
        if not isinstance(supported, list):
            return _METHODS[0]  # the default of RFC 8414 section 2
        return next((method for method in _METHODS if method in supported), _METHODS[0])

    def _provider_words(self, wrong: OAuthFlowError) -> str:
        """The provider's own refusals, such as of another issuer; the state of a request is nobody's business."""
        text = str(wrong)
        if text.startswith("State parameter mismatch"):
            return "the answer that came back belongs to another login: its `state` is not the one that was sent"
        invalid = next((cause for cause in causes(wrong) if isinstance(cause, ValidationError)), None)
        if invalid is not None:  # its own words would quote the whole answer, secrets included
            faults = [
                f"`{'.'.join(map(str, fault['loc']))}`: {fault['msg']}"
                for fault in invalid.errors(include_url=False, include_context=False, include_input=False)
            ]
            text = f"{text.partition(':')[0]}: {'; '.join(faults[:_MOST_FAULTS])}"
        told = one_line(self._redact(text[:4096]), 400)
        return told[:1].lower() + told[1:]


def known_client(client_id: str | None, client_secret: str | None = None) -> OAuthClientInformationFull | None:
    """A client that was registered by hand, or None."""
    if client_id is None:
        return None
    return OAuthClientInformationFull(client_id=client_id, client_secret=client_secret)


def challenge_response(request: httpx2.Request, header: str | None, scope: str | None) -> httpx2.Response:
    """A 401 for the provider: the server's own challenge, with `scope` in the place of the one that it asks for."""
    from mcptest_engine.servers.auth import challenge_parameter

    if scope is None:
        headers = {} if header is None else {"WWW-Authenticate": header}
    else:
        where = challenge_parameter(header, "resource_metadata")
        first = f'resource_metadata="{where}", ' if where else ""
        headers = {"WWW-Authenticate": f'Bearer {first}scope="{scope}"'}
    return httpx2.Response(401, headers=headers, request=request)


def grant_of(token: OAuthToken) -> Grant:
    """The SDK's token as ours."""
    return Grant(token.access_token, token.expires_in, token.refresh_token, token.scope)


def checked_authorization_url(url: str) -> str:
    """`url`, which is about to be opened. Raises: OAuthTrouble for anything but https or this machine."""
    check_endpoint(url, "authorization endpoint")
    return url


def _is_form(request: httpx2.Request) -> bool:
    return str(request.headers.get("content-type", "")).startswith("application/x-www-form-urlencoded")


def _with_method(response: httpx2.Response, supported: Callable[[bool], str]) -> httpx2.Response:
    """A registration whose answer does not say how the client is to show itself, with what it must mean filled in."""
    members = json_object(response) or {}
    if members.get("token_endpoint_auth_method"):
        return response
    members["token_endpoint_auth_method"] = supported(bool(members.get("client_secret")))
    return httpx2.Response(
        response.status_code, headers=response.headers, content=json.dumps(members), request=response.request
    )
