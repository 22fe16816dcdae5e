"""Requests to a token endpoint, and their answers.

Source: RFC 6749 sections 2.3.1 (client authentication), 4.4, 5 and 6; RFC 8707 (`resource`).
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, quote

import httpx2

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.servers.oauth_http import OAuthTrouble, check_endpoint, json_object, oauth_error, quoted_body
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.servers.oauth_http import OAuthHttp

TOKEN_ENDPOINT = "token endpoint"
_WINDOW_SECONDS = 60.0
_SECRET_MEMBERS = (
    "code",
    "code_verifier",
    "refresh_token",
    "client_secret",
    "device_code",
    "client_assertion",
    "assertion",
)


class Client(NamedTuple):
    """The OAuth client. `auth_method` is "none", "client_secret_basic" or "client_secret_post"."""

    client_id: str
    client_secret: str | None = None
    auth_method: str = "none"

    def __repr__(self) -> str:
        return f"Client({self.client_id!r}, …)"

    def shown(self, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Headers and form of a request with this client's credentials."""
        if self.auth_method == "client_secret_basic" and self.client_secret:
            return {"Authorization": f"Basic {self._basic()}"}, dict(form)
        members = {**form, "client_id": self.client_id}
        if self.auth_method == "client_secret_post" and self.client_secret:
            members["client_secret"] = self.client_secret
        return {}, members

    def secrets(self) -> tuple[str, ...]:
        """The client secret, as it is and as it is sent."""
        return (self.client_secret, self._basic()) if self.client_secret else ()

    def _basic(self) -> str:
        both = f"{quote(self.client_id, safe='')}:{quote(self.client_secret or '', safe='')}"
        return base64.b64encode(both.encode()).decode()


class Grant(NamedTuple):
    """An issued token. `lifetime_seconds` is None when the server named none."""

    access_token: str
    lifetime_seconds: float | None = None
    refresh_token: str | None = None
    scope: str | None = None

    def __repr__(self) -> str:
        return "Grant(…)"


def expired(expires_at: float | None, issued_at: float, now: float, window_seconds: float = _WINDOW_SECONDS) -> bool:
    """Whether a token has expired, or will within the window. A short-lived one is used for at least half of its life."""
    if expires_at is None:
        return False
    return now >= expires_at - min(window_seconds, max(0.0, expires_at - issued_at) / 2)


async def request_token(
    http: OAuthHttp, endpoint: str, form: Mapping[str, str], client: Client, redact: Callable[[str], str]
) -> Grant:
    """Request a token once. Raises: OAuthTrouble when the endpoint cannot be reached, refuses, or returns no token."""
    check_endpoint(endpoint, TOKEN_ENDPOINT)
    headers, members = client.shown(form)
    request = httpx2.Request("POST", endpoint, data=members, headers=headers)
    return read_grant(await http.send(request, TOKEN_ENDPOINT), redact)


def read_grant(response: httpx2.Response, redact: Callable[[str], str]) -> Grant:
    """Read the token of an answer. Raises: OAuthTrouble, with the OAuth error, when there is none."""
    who = f"the {TOKEN_ENDPOINT} {shown_url(str(response.request.url))}"
    redact = _without_what_was_sent(response.request, redact)
    code, description = oauth_error(response, redact)
    if code is not None:
        raise OAuthTrouble(f"{who} refused: {description}", code=code)
    if response.status_code not in (200, 201):
        raise OAuthTrouble(f"{who} answered HTTP {response.status_code}{quoted_body(response, redact)}")
    members = json_object(response)
    if members is None:
        kind = one_line(str(response.headers.get("content-type", "")).partition(";")[0], 60) or "no content type"
        raise OAuthTrouble(f"{who} answered with {kind} instead of a token{quoted_body(response, redact)}")
    token = members.get("access_token")
    if not isinstance(token, str) or not token or " " in token or not (token.isascii() and token.isprintable()):
        what = "no `access_token`" if not token else "an `access_token` that cannot go into a header"
        raise OAuthTrouble(f"{who} answered with {what}")
    token_type = members.get("token_type")
    if isinstance(token_type, str) and token_type.lower() != "bearer":
        raise OAuthTrouble(f'{who} gave a token of the type "{one_line(token_type, 60)}": mcptest sends Bearer tokens')
    refresh, scope = members.get("refresh_token"), members.get("scope")
    return Grant(
        token,
        _seconds(members.get("expires_in")),
        refresh if isinstance(refresh, str) and refresh else None,
        scope if isinstance(scope, str) else None,
    )


def _without_what_was_sent(request: httpx2.Request, redact: Callable[[str], str]) -> Callable[[str], str]:
    """Extend `redact` by the secrets of the sent form, which an endpoint may repeat."""
    form = parse_qs(request.content.decode("utf-8", "replace"))
    sent = Redactor([value for name in _SECRET_MEMBERS for value in form.get(name, ())])
    # Whole values first: if `redact` masked a part by a pattern, the rest of the value would remain.
    return lambda text: redact(str(sent.redact_registered(text)))


def _seconds(value: object) -> float | None:
    """Read the lifetime; some servers send the number as text. None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < 1e12 else None  # NaN is neither
