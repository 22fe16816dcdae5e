"""Waits until a server that another program starts can be reached.

Ready means that its port accepts connections, or, where the suite names a URL for it, that this URL answers with a 2xx status.
"""

from __future__ import annotations

import asyncio
import contextlib
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcptest_engine.core.errors import NotReady
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.http_proxies import proxy_for
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from mcptest_engine.servers.spec import Readiness, ServerSpec

_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
_TRY_SECONDS = 5.0
SHORT_TRY_SECONDS = 0.2
"""A try with less time than this says little about the server: the reason of an earlier one is reported."""
NO_TIME = "there was no time left"
PORTS = {"http": 80, "https": 443}


async def wait_until_ready(spec: ServerSpec) -> None:
    """Return once the server is ready. Raises: NotReady when `spec.wait_for_ready` runs out, with the last reason."""
    ready = spec.wait_for_ready
    assert ready is not None
    deadline = monotonic() + ready.timeout_seconds
    pause, reason = _FIRST_PAUSE_SECONDS, ""
    while (left := deadline - monotonic()) > 0:
        wrong = await tried(spec, ready, min(left, _TRY_SECONDS))
        if wrong is None:
            return
        if left > SHORT_TRY_SECONDS or not reason:
            reason = wrong
        await asyncio.sleep(max(0.0, min(pause, deadline - monotonic())))
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
    where = shown_url(ready.url or spec.url or "")
    waited = duration(ready.timeout_seconds)
    clause = f"was not ready within {waited} (`wait_for_ready`): {reason or NO_TIME} at {where}"
    raise NotReady(f'server "{spec.name}" {clause}', server=spec.name, clause=clause)


async def tried(spec: ServerSpec, ready: Readiness, seconds: float) -> str | None:
    """Try once to reach the server: why that failed, as a phrase; None when it worked."""
    try:
        async with asyncio.timeout(seconds):
            if ready.url is not None or proxy_for(spec, spec.url or "") is not None:
                return await _readiness_problem(spec, ready.url)
            return await _connected(spec.url or "")
    except TimeoutError:
        return "no answer"


async def _connected(url: str) -> str | None:
    parts = urlsplit(url)
    try:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS.get(parts.scheme, 80))
    except OSError as wrong:
        return "connection refused" if isinstance(wrong, ConnectionRefusedError) else str(wrong.strerror or wrong)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None


async def _readiness_problem(spec: ServerSpec, url: str | None) -> str | None:
    """Request the readiness URL. Without one, behind a proxy, any answer counts that is not the proxy's own error."""
    import httpx2

    from mcptest_engine.servers.certificates import trusted_certificates

    here = url or spec.url or ""
    try:
        verify = trusted_certificates(spec) if here.startswith("https") else False
        proxy = proxy_for(spec, here)
        async with (
            httpx2.AsyncClient(verify=verify, proxy=proxy, trust_env=False) as client,
            client.stream(
                "GET", here, timeout=_TRY_SECONDS
            ) as response,  # its body may be an event stream, which does not end
        ):
            fine = response.is_success if url is not None else response.status_code not in {502, 503, 504}
            return None if fine else f"HTTP {response.status_code}"
    except (httpx2.HTTPError, httpx2.InvalidURL, ImportError, OSError, ValueError) as wrong:
        return "connection refused" if "refused" in str(wrong).lower() else f"no answer ({type(wrong).__name__})"
