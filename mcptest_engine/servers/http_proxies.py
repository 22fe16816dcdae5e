"""Which proxy a request uses: the suite's, one of the environment, or none.

This is the only place that decides it, for the client, the wait for readiness and the rule on secrets. A proxy of the
environment is never used for this machine, whose loopback it could not reach.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

from mcptest_engine.servers.urls import is_loopback

if TYPE_CHECKING:
    from mcptest_engine.servers.spec import ServerSpec

_PORTS = {"http": 80, "https": 443}


def proxy_for(spec: ServerSpec, url: str) -> str | None:
    """The URL of the proxy for `url`, as it was written; None for a direct connection. Raises: ValueError for a bad URL."""
    if spec.http.proxy is not None:
        return spec.http.proxy
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host):
        return None
    named = getproxies()
    proxy = named.get(parts.scheme) or named.get("all")
    if not proxy or _is_excepted(host, parts.port or _PORTS.get(parts.scheme), named.get("no", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_excepted(host: str, port: int | None, no_proxy: str) -> bool:
    """Whether NO_PROXY lists the host: its name, a parent domain, its address or its network, each with or without a port."""
    entries = (entry.strip().lower().rpartition("://")[2] for entry in no_proxy.split(","))
    return any(_covers(entry, host, port) for entry in entries if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        pass  # one of the two is a name, or has a port
    name, _, its_port = entry.rpartition(":") if entry.rpartition(":")[2].isdigit() else (entry, "", "")
    if its_port and its_port != str(port):
        return False
    domain = name.strip("[]").removeprefix("*")
    if domain.startswith("."):
        return host.endswith(domain)  # subdomains, and not the domain itself
    return host == domain or host.endswith("." + domain)
