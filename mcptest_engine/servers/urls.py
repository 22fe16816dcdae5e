"""Facts about a URL: whether it is this machine, may receive secrets, or has the origin of another; and how it is shown."""

from __future__ import annotations

import ipaddress
import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    import httpx2


def may_take_secrets(url: str) -> bool:
    """Whether a token may be sent to `url`: https, or this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine by its name or address, without a look-up."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def login_command(url: str, *flags: str) -> str:
    """The command that logs in at `url`; the reader must fill in the parts that may be secret."""
    shown = shown_url(url)
    return shlex.join(["mcptest", "login", shown if shown == url else "URL", *flags])


def shown_url(url: str) -> str:
    """Remove the parts of `url` that may be secret: user, password, query, fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None
    if parts is None or not parts.netloc:
        return _shown_text(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _shown_text(text: str) -> str:
    """Remove them from text that is no URL, such as "user:password@host"."""
    scheme, between, rest = text.rpartition("://")
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return scheme + between + rest.rpartition("@")[2]


def same_origin(first: httpx2.URL, second: httpx2.URL) -> bool:
    """Whether both have the same scheme, host and port. Source: RFC 6454, 4."""
    return _origin(first) == _origin(second)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, port
