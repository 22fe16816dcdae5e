"""From a refused request to a token: discovery, registration, and the authorization code grant with PKCE.

Other grants belong to the caller: a `Flow` is given a function that requests the token once the endpoints are known.

The `mcp` package has an OAuth client too. It is not used here: importing it takes more than a second of CPU time, its models
refuse metadata without an authorization endpoint and drop that of the device flow, and its errors do not say which answer was
wrong.

Source: MCP 2025-11-25 and 2026-07-28, basic/authorization; RFC 9728, RFC 8414, RFC 7591, RFC 7636, RFC 8707, RFC 9207.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

import httpx2

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.servers.auth import challenge_parameter
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
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict

CODE_GRANT = "authorization_code"
_CLIENT_NAME = "mcptest"
_PROTOCOL_HEADER = "mcp-protocol-version"
_NAMES_RESOURCE_FROM = "2025-06-18"
"""From this revision on, a token request names its resource, also where the resource has no metadata."""
_ASKED_AS = "2025-11-25"
_METHODS = ("client_secret_basic", "client_secret_post")
_KNOWN_METHODS = (None, "none", *_METHODS)


class Challenge(NamedTuple):
    """Why a request was refused: the status, and the server's `WWW-Authenticate` header."""

    status: int
    header: str | None

    @property
    def needs_scope(self) -> bool:
        """Whether the token is valid but lacks a scope."""
        return self.status == 403 and challenge_parameter(self.header, "error") == "insufficient_scope"


class Flow:
    """Gets a token for the server at `url`, and remembers what it discovered. Steps are repeated where necessary.

    `grant` is the last token. `metadata` is the authorization server's, as received. `client` is the client that requests:
    known beforehand, or registered. `ask` requests the token once both are known; `grants` are the grant types to register.
    `scope` overrides the scope that the server asks for. `redirect_uri` is where the browser returns to. `needs_browser` is
    False for grants without an authorization endpoint. `method_is_open`: the client's authentication method was not given, so
    the metadata decides. `client_metadata_url` is a client id that is a URL.
    """

    def __init__(
        self,
        url: str,
        redact: Callable[[str], str],
        ask: Callable[[OAuthHttp], Awaitable[Grant]],
        *,
        grants: Sequence[str],
        client: Client | None = None,
        scope: str | None = None,
        needs_browser: bool = True,
        method_is_open: bool = True,
        client_metadata_url: str | None = None,
    ) -> None:
        self.url = url
        self.grant: Grant | None = None
        self.metadata: JsonDict = {}
        self.client = client
        self.scope = scope
        self.redirect_uri: str | None = None
        self._redact, self._ask = redact, ask
        self._grants = grants
        self._given_scope = scope
        self._needs_browser, self._method_is_open = needs_browser, method_is_open
        self._client_metadata_url = client_metadata_url
        self._registered_at: str | None = None
        self._resource_metadata: JsonDict | None = None
        self._revision: str | None = None
        self._ends_at: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether the token has expired."""
        return self._ends_at is not None and time.time() > self._ends_at

    @property
    def issuer(self) -> str | None:
        """The authorization server, None without metadata."""
        return self.metadata.get("issuer")

    @property
    def token_endpoint(self) -> str:
        """The token endpoint; without metadata the path that MCP 2025-03-26 fixed."""
        return str(self.metadata.get("token_endpoint") or urljoin(_origin(self.url), "/token"))

    @property
    def resource(self) -> str | None:
        """The `resource` of token requests, None where it is left out. Source: RFC 8707."""
        if self._resource_metadata is not None:
            named = self._resource_metadata["resource"]
            return named if _is_at_or_below(named, self.url) else _resource_of(self.url)
        return _resource_of(self.url) if (self._revision or "") >= _NAMES_RESOURCE_FROM else None

    async def token(self, http: OAuthHttp, request: httpx2.Request, challenge: Challenge) -> Grant | None:
        """Get a token after the refusal of `request`; None when no token would help. Raises: OAuthTrouble."""
        if challenge.status != 401 and not challenge.needs_scope:
            return None
        self._revision = request.headers.get(_PROTOCOL_HEADER)
        if challenge.status == 401 or not self.metadata:
            await self._discover(http, challenge)
        self._choose_scope(challenge)
        if self.client is None:
            await self._get_client(http)
        elif self._method_is_open and self.metadata:
            self.client = self.client._replace(auth_method=self._supported_method(self.client.client_secret))
        self._set_grant(await self._ask(http))
        return self.grant

    async def refreshed(self, http: OAuthHttp) -> Grant | None:
        """Refresh the token; None when there is no refresh token, or it is refused. Raises: OAuthTrouble."""
        old = self.grant
        if old is None or old.refresh_token is None or self.client is None:
            return None
        form = {"grant_type": "refresh_token", "refresh_token": old.refresh_token, "client_id": self.client.client_id}
        response = await self._post_form(http, form)
        self.grant = self._ends_at = None
        if response.status_code == 200:
            new = read_grant(response, self._redact)
            self._set_grant(
                new._replace(refresh_token=new.refresh_token or old.refresh_token, scope=new.scope or old.scope)
            )
        return self.grant

    async def request_token(self, http: OAuthHttp, form: Mapping[str, str]) -> Grant:
        """Request a token from the token endpoint. Raises: OAuthTrouble."""
        response = await self._post_form(http, form)
        self._check_found(response)
        return read_grant(response, self._redact)

    async def code_grant(self, http: OAuthHttp, browse: Callable[[str], Awaitable[tuple[str, str | None]]]) -> Grant:
        """Open a browser and exchange its code; `browse` takes a URL and returns the code and `iss`. Raises: OAuthTrouble."""
        assert self.client is not None
        assert self.redirect_uri is not None
        verifier = secrets.token_urlsafe(64)
        challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        parameters = {
            "response_type": "code",
            "client_id": self.client.client_id,
            "redirect_uri": self.redirect_uri,
            "state": secrets.token_urlsafe(32),
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **self.resource_form(),
            **({"scope": self.scope} if self.scope else {}),
        }
        if "offline_access" in (self.scope or "").split():
            parameters["prompt"] = "consent"  # Source: OpenID Connect Core, section 11
        endpoint = str(self.metadata.get("authorization_endpoint") or urljoin(_origin(self.url), "/authorize"))
        check_endpoint(endpoint, "authorization endpoint")
        code, issuer = await browse(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}")
        self._check_issuer_of_answer(issuer)
        form = {
            "grant_type": CODE_GRANT,
            "code": code,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client.client_id,
            "code_verifier": verifier,
        }
        return await self.request_token(http, {**form, **self.resource_form()})

    def resource_form(self) -> dict[str, str]:
        """The form's `resource` member, where it has one."""
        return {} if self.resource is None else {"resource": self.resource}

    def request(self, endpoint: str, form: Mapping[str, str]) -> httpx2.Request:
        """Build the POST of a form with the client's credentials."""
        assert self.client is not None
        headers, members = self.client.shown(form)
        return httpx2.Request("POST", endpoint, data=members, headers=headers)

    async def _post_form(self, http: OAuthHttp, form: Mapping[str, str]) -> httpx2.Response:
        check_endpoint(self.token_endpoint, TOKEN_ENDPOINT)
        return await http.send(self.request(self.token_endpoint, form), TOKEN_ENDPOINT)

    def _set_grant(self, grant: Grant) -> None:
        self.grant = grant if grant.scope is not None else grant._replace(scope=self.scope)
        self._ends_at = None if grant.lifetime_seconds is None else time.time() + grant.lifetime_seconds

    async def _discover(self, http: OAuthHttp, challenge: Challenge) -> None:
        """Find the authorization server and its metadata. Raises: OAuthTrouble for metadata that cannot be trusted."""
        self._resource_metadata = await self._find_resource_metadata(http, challenge) or self._resource_metadata
        named = self._named_server()
        issuer = named or _origin(self.url)
        if self._registered_at is not None and not _same_issuer(self._registered_at, issuer):
            self.client = self.grant = self._registered_at = None  # another server does not know that client
            self.metadata = {}
        for url in _server_metadata_urls(named, self.url):
            response = await _get(http, url)
            if response.status_code == 200 and (found := self._server_metadata(response)) is not None:
                found_issuer = found["issuer"]
                if found_issuer != issuer and (named is not None or not _same_issuer(found_issuer, issuer)):
                    raise OAuthTrouble(
                        f"the metadata at {shown_url(url)} is of another issuer: {self._quoted(found_issuer)}, not "
                        f"{self._quoted(issuer)}"
                    )
                self._take_metadata(found, url)
                return
            if response.status_code >= 500:
                return

    async def _find_resource_metadata(self, http: OAuthHttp, challenge: Challenge) -> JsonDict | None:
        """Read the metadata of the protected resource. Source: RFC 9728. Raises: OAuthTrouble."""
        failed: int | None = None
        for url in _resource_metadata_urls(challenge_parameter(challenge.header, "resource_metadata"), self.url):
            response = await _get(http, url)
            if response.status_code >= 500 or response.status_code == 429:
                failed = response.status_code
            found = json_object(response) if response.status_code == 200 else None
            if found is None or not _is_resource_metadata(found):
                continue
            if not _is_at_or_below(found["resource"], self.url):
                raise OAuthTrouble(
                    f"the metadata at {shown_url(url)} is of another resource: {self._quoted(found['resource'])}, not "
                    f"{shown_url(self.url)}"
                )
            return found
        if failed is not None:  # which does not mean that there is none
            raise OAuthTrouble(f"the metadata of the protected resource could not be read: HTTP {failed}")
        return None

    def _named_server(self) -> str | None:
        return None if self._resource_metadata is None else str(self._resource_metadata["authorization_servers"][0])

    def _server_metadata(self, response: httpx2.Response) -> JsonDict | None:
        """The authorization server's metadata, None when the answer holds none. Source: RFC 8414."""
        found = json_object(response)
        needed = ("issuer", "token_endpoint", *(("authorization_endpoint",) if self._needs_browser else ()))
        optional = ("registration_endpoint", "device_authorization_endpoint")
        if found is None or not all(_is_url(found.get(name)) for name in needed):
            return None
        return found if all(_is_url(found[name]) for name in optional if found.get(name) is not None) else None

    def _take_metadata(self, found: JsonDict, url: str) -> None:
        """Use this metadata. Raises: OAuthTrouble for a server without S256, which MCP clients must refuse.
        Source: MCP 2025-11-25, basic/authorization#authorization-code-protection.
        """
        methods = found.get("code_challenge_methods_supported")
        if self._needs_browser and not (isinstance(methods, list) and "S256" in methods):
            state = "is missing" if methods is None else f"is {one_line(self._redact(json.dumps(methods)[:1024]), 100)}"
            raise OAuthTrouble(
                f"{shown_url(url)} does not say that PKCE with S256 is supported: "
                f"`code_challenge_methods_supported` {state}; MCP requires that a client refuses that",
                hint='the authorization server\'s metadata needs `"code_challenge_methods_supported": ["S256"]`',
            )
        self.metadata = found

    def _choose_scope(self, challenge: Challenge) -> None:
        """Use the given scope, else the one that the server asks for; a request for more scope adds to the granted one."""
        if self._given_scope is not None:
            return
        offered = _scopes(self.metadata)
        wanted = challenge_parameter(challenge.header, "scope") or _scope_text(
            _scopes(self._resource_metadata) or offered
        )
        if wanted and "offline_access" in (offered or ()) and "refresh_token" in self._grants:
            wanted = _scope_text([*wanted.split(), "offline_access"])
        if challenge.needs_scope:
            granted = None if self.grant is None else self.grant.scope
            wanted = _scope_text([word for scope in (self.scope, granted, wanted) for word in (scope or "").split()])
        self.scope = wanted

    async def _get_client(self, http: OAuthHttp) -> None:
        """Get a client id: the URL of the client's metadata, or by registration. Raises: OAuthTrouble."""
        if self._client_metadata_url and self.metadata.get("client_id_metadata_document_supported") is True:
            self.client = Client(self._client_metadata_url)
            return
        place = self.metadata.get("registration_endpoint")
        request = httpx2.Request("POST", place or urljoin(_origin(self.url), "/register"), json=self._registration())
        response = await http.send(request, "registration endpoint")
        if not response.is_redirect:
            self._check_found(response)
        self.client = self._registered(response)
        if self.issuer is not None and (place is not None or _origin(self.issuer) == _origin(self.url)):
            self._registered_at = self.issuer

    def _registration(self) -> JsonDict:
        return {
            "client_name": _CLIENT_NAME,
            "application_type": "native",
            "grant_types": list(self._grants),
            "response_types": ["code"] if self._needs_browser else [],
            **({"redirect_uris": [self.redirect_uri]} if self.redirect_uri else {}),
            **({"scope": self.scope} if self.scope else {}),
        }

    def _registered(self, response: httpx2.Response) -> Client:
        """Read the client from the answer to a registration. Source: RFC 7591 section 3.2. Raises: OAuthTrouble."""
        who = f"the registration endpoint {shown_url(str(response.request.url))}"
        code, description = oauth_error(response, self._redact)
        if response.status_code not in (200, 201):
            reason = description if code else f"HTTP {response.status_code}{quoted_body(response, self._redact)}"
            hint = "register mcptest there yourself and give its client id with --client-id"
            raise OAuthTrouble(f"{who} refused: {reason}", code=code, hint=hint)
        members = json_object(response)
        if members is None:
            raise OAuthTrouble(f"{who} answered with no client")
        name, secret = members.get("client_id"), members.get("client_secret") or None
        if not isinstance(name, str) or not name:
            raise OAuthTrouble(f"{who} answered without a `client_id` that is a text")
        if secret is not None and not isinstance(secret, str):
            raise OAuthTrouble(f"{who} answered with a `client_secret` that is not a text")
        method = members.get("token_endpoint_auth_method") or self._supported_method(secret)
        if method not in _KNOWN_METHODS:
            raise OAuthTrouble(
                f"{who} requires that the client authenticates with {self._quoted(method)}, which mcptest does not support"
            )
        if method in _METHODS and secret is None:
            raise OAuthTrouble(f"{who} registered the client for `{method}` and gave it no `client_secret`")
        return Client(name, secret, method)

    def _supported_method(self, secret: str | None) -> str:
        """The client's authentication method at the token endpoint, where none was given."""
        if not secret:
            return "none"
        supported = self.metadata.get("token_endpoint_auth_methods_supported")
        if not isinstance(supported, list):
            return _METHODS[0]  # the default of RFC 8414 section 2
        return next((method for method in _METHODS if method in supported), _METHODS[0])

    def _check_found(self, response: httpx2.Response) -> None:
        """Raises: OAuthTrouble where nothing was discovered and the endpoints of 2025-03-26 do not exist either."""
        if self.metadata or response.status_code not in (404, 405):
            return
        named = self._named_server()
        it = "it names no authorization server (RFC 9728)"
        if named is not None:
            it = f"the authorization server that it names, {shown_url(named)}, publishes no metadata (RFC 8414)"
        raise OAuthTrouble(
            f"no authorization server is known for {shown_url(self.url)}: {it}, and "
            f"{shown_url(str(response.request.url))} answered HTTP {response.status_code}"
        )

    def _check_issuer_of_answer(self, iss: str | None) -> None:
        """Raises: OAuthTrouble for an answer that may be from another authorization server. Source: RFC 9207."""
        if iss is None and self.metadata.get("authorization_response_iss_parameter_supported") is True:
            raise OAuthTrouble("the answer of the login lacks `iss`, which the authorization server promises")
        if iss is not None and iss != self.issuer:
            raise OAuthTrouble(
                f"the answer of the login is of another issuer: `iss` is {self._quoted(iss)}, not "
                f"{self._quoted(self.issuer or 'known')}"
            )

    def _quoted(self, value: object) -> str:
        return f'"{one_line(self._redact(str(value)[:1024]), 100)}"'


async def _get(http: OAuthHttp, url: str) -> httpx2.Response:
    return await http.send(httpx2.Request("GET", url, headers={_PROTOCOL_HEADER: _ASKED_AS}), "OAuth metadata")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _resource_of(url: str) -> str:
    """The name of the resource at `url`. Source: RFC 8707 section 2."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment=""))


def _is_at_or_below(resource: str, url: str) -> bool:
    """Whether `url` is the resource, or below it."""
    if _origin(resource).lower() != _origin(url).lower():
        return False
    return f"{urlsplit(url).path.rstrip('/')}/".startswith(f"{urlsplit(resource).path.rstrip('/')}/")


def _same_issuer(first: str, second: str) -> bool:
    """Whether both texts are equal; a slash after an issuer without a path does not count. Source: RFC 8414 section 3.3."""
    return first == second or (first.rstrip("/") == second.rstrip("/") == _origin(first))


def _resource_metadata_urls(named: str | None, url: str) -> Iterator[str]:
    """The possible URLs of the resource's metadata, in order. Source: RFC 9728 sections 3.1 and 5.1."""
    path = urlsplit(url).path
    if named:
        yield named
    if path not in ("", "/"):
        yield f"{_origin(url)}/.well-known/oauth-protected-resource{path}"
    yield f"{_origin(url)}/.well-known/oauth-protected-resource"


def _server_metadata_urls(server: str | None, url: str) -> Iterator[str]:
    """The possible URLs of the authorization server's metadata, in order. Source: RFC 8414 sections 3.1 and 5."""
    if server is None:
        yield f"{_origin(url)}/.well-known/oauth-authorization-server"
        return
    origin, path = _origin(server), urlsplit(server).path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _is_url(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_resource_metadata(found: Mapping[str, object]) -> bool:
    servers = found.get("authorization_servers")
    return _is_url(found.get("resource")) and isinstance(servers, list) and bool(servers) and all(map(_is_url, servers))


def _scopes(metadata: Mapping[str, object] | None) -> list[str] | None:
    found = None if metadata is None else metadata.get("scopes_supported")
    return [scope for scope in found if isinstance(scope, str)] if isinstance(found, list) else None


def _scope_text(scopes: Sequence[str] | None) -> str | None:
    return " ".join(dict.fromkeys(scopes)) or None if scopes else None
