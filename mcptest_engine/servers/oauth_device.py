"""The device flow: a person enters a code on another device, while the token endpoint is polled. Source: RFC 8628."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.oauth_http import OAuthTrouble, check_endpoint, json_object, oauth_error, quoted_body
from mcptest_engine.servers.oauth_tokens import TOKEN_ENDPOINT, Grant, read_grant
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_engine.servers.oauth_flow import Flow
    from mcptest_engine.servers.oauth_http import OAuthHttp

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_ENDPOINT = "device authorization endpoint"
_DEFAULT_INTERVAL = 5.0
_SLOWER = 5.0
_LONGEST_INTERVAL = 60.0
_DEFAULT_LIFETIME = 600.0
_ENDED = {
    "access_denied": "the login was refused",
    "expired_token": "the code was not entered in time",
}


class DeviceCode(NamedTuple):
    """What a person needs to log in: the page and the code. `complete_uri` contains the code already."""

    user_code: str
    verification_uri: str
    complete_uri: str | None
    lifetime_seconds: float


class Timing(NamedTuple):
    """How the polling waits and reads the clock, both in seconds."""

    wait: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


async def device_grant(
    flow: Flow, http: OAuthHttp, show: Callable[[DeviceCode], None], redact: Callable[[str], str], timing: Timing
) -> Grant:
    """Get a code, pass it to `show`, and poll until somebody has entered it. Raises: OAuthTrouble."""
    endpoint = flow.metadata.get("device_authorization_endpoint")
    if not isinstance(endpoint, str):
        where = shown_url(flow.issuer or flow.url)
        raise OAuthTrouble(f"the authorization server {where} offers no device login", hint="log in without --device")
    members = await _request_code(flow, http, endpoint, redact)
    show(_code_of(members, endpoint))
    return await _poll(flow, http, members, redact, timing)


async def _request_code(flow: Flow, http: OAuthHttp, endpoint: str, redact: Callable[[str], str]) -> dict[str, object]:
    form = _form(flow) | ({"scope": flow.scope} if flow.scope else {})
    check_endpoint(endpoint, _ENDPOINT)
    response = await http.send(flow.request(endpoint, form), _ENDPOINT)
    where = f"the {_ENDPOINT} {shown_url(endpoint)}"
    code, description = oauth_error(response, redact)
    if code is not None:
        raise OAuthTrouble(f"{where} refused: {description}", code=code)
    members = json_object(response)
    if response.status_code != 200 or members is None:
        raise OAuthTrouble(f"{where} answered HTTP {response.status_code}{quoted_body(response, redact)}")
    return members


async def _poll(
    flow: Flow, http: OAuthHttp, members: dict[str, object], redact: Callable[[str], str], timing: Timing
) -> Grant:
    """Poll the token endpoint until there is a token. Source: RFC 8628 sections 3.4 and 3.5."""
    form = {**_form(flow), "grant_type": GRANT, "device_code": str(members.get("device_code"))}
    interval = _number(members.get("interval"), _DEFAULT_INTERVAL)
    lifetime = _number(members.get("expires_in"), _DEFAULT_LIFETIME)
    deadline = timing.clock() + lifetime
    check_endpoint(flow.token_endpoint, TOKEN_ENDPOINT)
    while True:
        await timing.wait(interval)
        if timing.clock() > deadline:
            raise OAuthTrouble(f"the code was not entered within {duration(lifetime)}", hint="log in again")
        try:
            response = await http.send(flow.request(flow.token_endpoint, form), TOKEN_ENDPOINT)
        except OAuthTrouble:  # the network may recover: poll less often
            interval = min(2 * interval + 1, _LONGEST_INTERVAL)
            continue
        code, description = oauth_error(response, redact)
        if code == "slow_down":
            interval += _SLOWER
        elif code in _ENDED:
            raise OAuthTrouble(f"{_ENDED[code]}: {description}", code=code, hint="log in again")
        elif code != "authorization_pending":
            return read_grant(response, redact)


def _form(flow: Flow) -> dict[str, str]:
    assert flow.client is not None
    return {"client_id": flow.client.client_id, **flow.resource_form()}


def _code_of(members: dict[str, object], endpoint: str) -> DeviceCode:
    user_code, uri = members.get("user_code"), members.get("verification_uri")
    if not isinstance(user_code, str) or not isinstance(uri, str) or not isinstance(members.get("device_code"), str):
        where = f"the {_ENDPOINT} {shown_url(endpoint)}"
        raise OAuthTrouble(f"{where} answered without `device_code`, `user_code` or `verification_uri`")
    check_endpoint(uri, "page for the code,")
    complete = members.get("verification_uri_complete")
    if isinstance(complete, str):
        check_endpoint(complete, "page for the code,")
    return DeviceCode(
        one_line(user_code, 100),
        one_line(uri, 1000),
        one_line(complete, 1000) if isinstance(complete, str) else None,
        _number(members.get("expires_in"), _DEFAULT_LIFETIME),
    )


def _number(value: object, default: float) -> float:
    return (
        float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
        else default
    )
