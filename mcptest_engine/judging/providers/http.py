"""The HTTP client through which a provider's SDK asks: no redirect is followed, since keys would go along with it.

Proxies are those of the environment, but never for this machine, as for servers.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from mcptest_engine.servers.auth import is_loopback

if TYPE_CHECKING:
    from mcptest_engine.judging.providers.wire import Teller, Trouble

CONNECT_SECONDS = 10.0


def client_for(base: str, *, anonymous: bool = False) -> httpx2.AsyncClient:
    """A client whose only limit of time is that of connecting: a call's own is kept by who asks.

    `anonymous`: it sends no `Authorization`, whatever it is given.
    """
    parts = urlsplit(base)
    here = is_loopback(parts.hostname or "")
    plain = parts.scheme == "http"
    return httpx2.AsyncClient(
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if plain
        else True,  # trusts nobody; certificates take long to read
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20),
        mounts=dict.fromkeys(("all://", "http://", "https://")) if here else None,
        event_hooks={"request": [_drop_authorization]} if anonymous else None,
    )


async def _drop_authorization(request: httpx2.Request) -> None:
    request.headers.pop("Authorization", None)


def lost(teller: Teller, why: BaseException | None) -> Trouble:
    """What a call comes to whose connection was never there, or broke."""
    if isinstance(why, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.ProxyError)):
        return teller.unreachable(why)
    return teller.broken_off(teller.quoted(str(why)) if why is not None and str(why) else "connection lost")
