"""The device flow: a code that is typed in on another machine, and a token endpoint that is asked until it is there.

Discovery and registration are the SDK's; the flow itself is ours, since the SDK has none. Source: RFC 8628.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
from mcp.client.auth import OAuthClientProvider

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.oauth_flow import READY_ANSWER
from mcptest_engine.servers.oauth_http import OAuthTrouble, check_endpoint, json_object, oauth_error, quoted_body
from mcptest_engine.servers.oauth_tokens import TOKEN_ENDPOINT
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
    """What a person needs: where to go and what to type there. `complete_uri` has the code in it already."""

    user_code: str
    verification_uri: str
    complete_uri: str | None
    lifetime_seconds: float


class Timing(NamedTuple):
    """How the polling waits and tells the time, both in seconds."""

    wait: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class DeviceProvider(OAuthClientProvider):
    """The SDK's provider with the browser's part replaced. `flow`, `http` and `show` are set before it is used."""

    flow: Flow
    http: OAuthHttp
    show: Callable[[DeviceCode], None]
    redact: Callable[[str], str]
    timing: Timing

    async def _perform_authorization(self) -> httpx2.Request:
        """Where the SDK would send a browser off: the request for a token, with its answer."""
        endpoint = self.flow.metadata.get("device_authorization_endpoint")
        if not isinstance(endpoint, str):
            where = shown_url(self.flow.issuer() or self.context.server_url)
            raise OAuthTrouble(
                f"the authorization server {where} offers no device login", hint="log in without --device"
            )
        members = await self._ask_for_code(endpoint)
        self.show(_code_of(members, endpoint))
        return await self._poll(members)

    async def _ask_for_code(self, endpoint: str) -> dict[str, Any]:
        form = self._form()
        if self.context.client_metadata.scope:
            form["scope"] = self.context.client_metadata.scope
        response = await self.http.send(self._request(endpoint, form), _ENDPOINT)
        where = f"the {_ENDPOINT} {shown_url(endpoint)}"
        code, told = oauth_error(response, self.redact)
        if code is not None:
            raise OAuthTrouble(f"{where} refused: {told}", code=code)
        members = json_object(response)
        if response.status_code != 200 or members is None:
            raise OAuthTrouble(f"{where} answered HTTP {response.status_code}{quoted_body(response, self.redact)}")
        return members

    async def _poll(self, members: dict[str, Any]) -> httpx2.Request:
        """Ask until there is a token. Source: RFC 8628 sections 3.4 and 3.5."""
        form = {**self._form(), "grant_type": GRANT, "device_code": str(members.get("device_code"))}
        interval = _number(members.get("interval"), _DEFAULT_INTERVAL)
        lifetime = _number(members.get("expires_in"), _DEFAULT_LIFETIME)
        deadline = self.timing.clock() + lifetime
        while True:
            await self.timing.wait(interval)
            if self.timing.clock() > deadline:
                raise OAuthTrouble(f"the code was not entered within {duration(lifetime)}", hint="log in again")
            request = self._request(self.flow.token_endpoint(), form)
            try:
                response = await self.http.send(request, TOKEN_ENDPOINT)
            except OAuthTrouble:  # the network may come back: ask less often
                interval = min(2 * interval + 1, _LONGEST_INTERVAL)
                continue
            code, told = oauth_error(response, self.redact)
            if code == "slow_down":
                interval += _SLOWER
            elif code in _ENDED:
                raise OAuthTrouble(f"{_ENDED[code]}: {told}", code=code, hint="log in again")
            elif code != "authorization_pending":
                request.extensions[READY_ANSWER] = response
                return request

    def _form(self) -> dict[str, str]:
        info = self.context.client_info
        assert info is not None
        form = {"client_id": info.client_id}
        if self.context.should_include_resource_param(self.context.protocol_version):
            form["resource"] = self.context.get_resource_url()
        return form

    def _request(self, endpoint: str, form: dict[str, str]) -> httpx2.Request:
        check_endpoint(endpoint, _ENDPOINT)
        members, headers = self.context.prepare_token_auth(dict(form), {})
        return httpx2.Request("POST", endpoint, data=members, headers=headers)


def _code_of(members: dict[str, Any], endpoint: str) -> DeviceCode:
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
