"""The guard of the viewer: only reading requests from this machine, at the viewer's own name, are answered.

A foreign page can send a browser here under its own name that resolves to this machine (DNS rebinding), or from its own origin;
the guard checks `Host`, `Origin` and `Sec-Fetch-Site`.
Source: Fetch Standard, Origin header; Fetch Metadata, section 2; RFC 9110, sections 7.4 (421) and 15.5.6 (405).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")
METHODS = frozenset({"GET", "HEAD"})
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
"""The content security policy of responses that are not pages."""


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: HTTPStatus
    message: str


def refusal(method: str, headers: Mapping[str, str], port: int) -> Refusal | None:
    """Why a request is refused, or None. The names of `headers` are in lower case."""
    hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
    if headers.get("host", "").lower() not in hosts:
        return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "this viewer answers only at the address that it printed")
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
        return Refusal(HTTPStatus.FORBIDDEN, "this viewer refuses pages of another origin")
    if headers.get("sec-fetch-site", "none").lower() not in ("none", "same-origin"):
        message = "this viewer refuses pages of another origin; open the address directly"
        return Refusal(HTTPStatus.FORBIDDEN, message)
    if method not in METHODS:
        return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "this viewer accepts only GET and HEAD")
    return None


class Guarded:
    """The application behind the guard: refuses what `refusal` refuses, and adds the headers to every response."""

    def __init__(self, inner: ASGIApp, port: int) -> None:
        self._inner, self._port = inner, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", NOTHING)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        sent = Headers(scope=scope)
        joined = {name: ", ".join(sent.getlist(name)) for name in sent}  # a header that came twice has no allowed value
        refused = refusal(scope["method"], joined, self._port)
        if refused is None:
            await self._inner(scope, receive, send_guarded)
            return
        allow = {"Allow": "GET, HEAD"} if refused.status == 405 else {}
        answer = PlainTextResponse(f"{refused.message}\n", refused.status, allow)
        await answer(scope, receive, send_guarded)
