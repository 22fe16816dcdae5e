"""What a request may do: read, from this machine, at this viewer's own name.

A page elsewhere can send a browser here under a name of its own that it points at this machine (DNS rebinding), or ask from its
own origin; `Host`, `Origin` and `Sec-Fetch-Site` tell.
Source: Fetch Standard, Origin header; Fetch Metadata, section 2; RFC 9110, sections 7.4 (421) and 15.5.6 (405).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

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
"""The policy of what is no page."""


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: HTTPStatus
    message: str


def refusal(method: str, headers: Mapping[str, str], port: int) -> Refusal | None:
    """None for a request that may be answered. The names of `headers` are in small letters."""
    hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
    if headers.get("host", "").lower() not in hosts:
        return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "this viewer answers only at the address that it printed")
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
        return Refusal(HTTPStatus.FORBIDDEN, "this viewer refuses pages of another origin")
    if headers.get("sec-fetch-site", "none").lower() not in ("none", "same-origin"):
        told = "this viewer refuses pages of another origin; open the address directly"
        return Refusal(HTTPStatus.FORBIDDEN, told)
    if method not in METHODS:
        return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "this viewer accepts only GET and HEAD")
    return None
