"""Checks the way from a URL to an open connection: syntax, secrets, proxy, name, port, TLS.

Each layer is tried as a run would, and the first failure ends the checks. Behind a proxy, name and port are the proxy's, and
only the request itself tests TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mcptest_engine.core.errors import AuthFailed, ServerError
from mcptest_engine.core.text import counted
from mcptest_engine.servers.auth import check_secrets_may_go
from mcptest_engine.servers.diagnosis.checks import Check, Status
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.http_proxies import proxy_for
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from mcptest_engine.servers.diagnosis.checks import Tell
    from mcptest_engine.servers.spec import ServerSpec

_PORTS = {"http": 80, "https": 443}
_DAY_SECONDS = 24 * 3600
_SOON_DAYS = 14
_SHOWN_ADDRESSES = 3
_TLS_HINTS = {
    "certificate has expired": "renew the server's certificate, or check this machine's clock",
    "certificate is not yet valid": "check this machine's clock",
}
_UNTRUSTED = (
    "name the authority that signed it in `http.verify` of a suite's server, "
    "or for a test machine set `http.verify: false` there"
)


class _Address(NamedTuple):
    family: int
    where: tuple[Any, ...]


async def check_network(spec: ServerSpec, tell: Tell, *, seconds: float) -> bool:
    """Check every layer below HTTP, each within `seconds`; false once one has failed."""
    assert spec.url is not None
    if not _check_url(spec, tell) or not _check_secrets(spec, tell):
        return False
    parts = urlsplit(spec.url)
    try:
        proxy = proxy_for(spec, spec.url)
    except ValueError as wrong:
        tell(Check(layer="proxy", name="proxy", status=Status.FAILED, detail=f"cannot be used: {wrong}"))
        return False
    if proxy is not None:
        whose = "`http.proxy`" if spec.http.proxy is not None else "the environment"
        detail = f"requests go through {shown_url(proxy)}, as {whose} says; the next checks are of the proxy"
        tell(Check(layer="proxy", name="proxy", status=Status.OK, detail=detail))
        parts = urlsplit(proxy)
    host = parts.hostname or ""
    addresses = await _resolved(host, parts.port or _PORTS.get(parts.scheme, 80), tell, seconds)
    if not addresses:
        return False
    port = parts.port or _PORTS.get(parts.scheme, 80)
    reached = await _reached(host, port, addresses, tell, seconds)
    if reached is None:
        return False
    if proxy is not None:
        reached.close()
        return True
    if parts.scheme == "http":
        reached.close()
        tell(Check(layer="tls", name="TLS", status=Status.SKIPPED, detail="the URL is http"))
        return True
    return await _secured(spec, host, reached, tell, seconds)


def _check_url(spec: ServerSpec, tell: Tell) -> bool:
    url = spec.url or ""
    hint = None
    try:
        parts = urlsplit(url)
        _ = parts.port
        wrong = _url_fault(parts.scheme, parts.hostname, parts.port)
    except ValueError as fault:
        reason = str(fault)
        parts, wrong = urlsplit(""), f"is not a URL: {reason[:1].lower()}{reason[1:]}"
    if wrong is None and (" " in url or not url.isprintable()):
        wrong = "contains a space or a control character"
    if wrong is not None:
        if "://" not in url:
            hint = f"begin with http:// or https://, for example http://{shown_url(url)}"
        elif parts.scheme in ("ws", "wss"):
            hint = "MCP uses http and https"
        tell(Check(layer="url", name="URL", status=Status.FAILED, detail=f"`{shown_url(url)}` {wrong}", hint=hint))
        return False
    tell(Check(layer="url", name="URL", status=Status.OK, detail=shown_url(url)))
    return True


def _url_fault(scheme: str, host: str | None, port: int | None) -> str | None:
    if scheme not in _PORTS:
        return "is not an http or https URL"
    if not host:
        return "names no host"
    return "has the port 0, on which no server can listen" if port == 0 else None


def _check_secrets(spec: ServerSpec, tell: Tell) -> bool:
    try:
        check_secrets_may_go(spec)
    except AuthFailed as refused:
        tell(Check(layer="auth", name="auth", status=Status.FAILED, detail=refused.clause, hint=refused.hint))
        return False
    return True


async def _resolved(host: str, port: int, tell: Tell, seconds: float) -> list[_Address]:
    """The addresses of `host`, without repetition."""
    try:
        ipaddress.ip_address(host)
        literal = True
    except ValueError:
        literal = False
    began = perf_counter()

    def done(status: Status, detail: str, hint: str | None = None) -> None:
        took = None if literal else _since(began)
        tell(Check(layer="dns", name="name", status=status, detail=detail, hint=hint, duration_ms=took))

    try:
        async with asyncio.timeout(seconds):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        done(Status.FAILED, f"`{host}`: no answer within {duration(seconds)}", "check this machine's name servers")
        return []
    except (socket.gaierror, UnicodeError) as wrong:
        why = wrong.strerror if isinstance(wrong, socket.gaierror) and wrong.strerror else str(wrong)
        done(
            Status.FAILED,
            f"name not found: `{host}` ({why.lower()})",
            "check the spelling, the network and the VPN",
        )
        return []
    addresses = [_Address(family, where) for family, where in dict.fromkeys((one[0], one[4]) for one in found)]
    texts = [str(address.where[0]) for address in addresses]
    more = len(texts) - _SHOWN_ADDRESSES
    listed = ", ".join(texts[:_SHOWN_ADDRESSES]) + (f" and {counted(more, 'other')}" if more > 0 else "")
    if literal:
        done(Status.SKIPPED, "the URL contains an address, not a name")
    else:
        done(Status.OK, f"`{host}` is {listed}")
    return addresses


async def _reached(host: str, port: int, addresses: list[_Address], tell: Tell, seconds: float) -> socket.socket | None:
    """Connect to the first address that accepts."""
    loop, refused = asyncio.get_running_loop(), list[str]()
    began, hint = perf_counter(), None
    for address in addresses:
        shown = f"[{address.where[0]}]" if ":" in str(address.where[0]) else str(address.where[0])
        try:
            connection = socket.socket(address.family, socket.SOCK_STREAM)
        except OSError as wrong:
            refused.append(f"{wrong.strerror or wrong} at {shown}:{port}")
            continue
        connection.setblocking(False)
        try:
            async with asyncio.timeout(seconds):
                await loop.sock_connect(connection, address.where)
        except BaseException as wrong:
            connection.close()
            if not isinstance(wrong, OSError):  # TimeoutError is an OSError too
                raise
            why, hint = _why_not_reached(wrong, host, port, seconds)
            refused.append(f"{why} at {shown}:{port}")
            continue
        detail = f"connected to {shown}:{port}" + (f", after {'; '.join(refused)}" if refused else "")
        tell(Check(layer="tcp", name="TCP", status=Status.OK, detail=detail, duration_ms=_since(began)))
        return connection
    detail = "; ".join(refused)
    tell(Check(layer="tcp", name="TCP", status=Status.FAILED, detail=detail, hint=hint, duration_ms=_since(began)))
    return None


def _why_not_reached(wrong: OSError, host: str, port: int, seconds: float) -> tuple[str, str | None]:
    if isinstance(wrong, ConnectionRefusedError):
        return (
            "connection refused",
            f"nothing listens on port {port} of {host}: is the server running, and is it that port?",
        )
    if isinstance(wrong, TimeoutError) and wrong.errno is None:
        return (
            f"no connection within {duration(seconds)}",
            "a firewall may drop the connection, or the address is wrong",
        )
    return (wrong.strerror or str(wrong)).lower(), "check the network and the address"


async def _secured(spec: ServerSpec, host: str, connection: socket.socket, tell: Tell, seconds: float) -> bool:
    """Make the TLS handshake with the certificates that a run trusts."""
    from mcptest_engine.servers.certificates import trusted_certificates

    began = perf_counter()

    def done(status: Status, detail: str, hint: str | None = None) -> None:
        tell(Check(layer="tls", name="TLS", status=status, detail=detail, hint=hint, duration_ms=_since(began)))

    writer = None
    try:
        context = trusted_certificates(spec)
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=host)
        done(*_certificate_result(writer.get_extra_info("ssl_object"), verified=spec.http.verify is not False))
    except ServerError as wrong:  # the file of `http.verify`
        done(Status.FAILED, wrong.clause)
        return False
    except ssl.SSLCertVerificationError as wrong:
        reason = wrong.verify_message.rstrip(".")
        untrusted = _UNTRUSTED if spec.config_dir is not None else f"{_UNTRUSTED}; --url alone has no such setting"
        hint = (
            "the certificate is for another host: use the name in the certificate"
            if "mismatch" in reason
            else untrusted
        )
        done(Status.FAILED, reason, _TLS_HINTS.get(reason, hint))
        return False
    except TimeoutError:
        done(Status.FAILED, f"no handshake within {duration(seconds)}", "does this port use TLS?")
        return False
    except ssl.SSLError as wrong:
        done(Status.FAILED, _ssl_failure(wrong), "it may use plain HTTP: try an http URL")
        return False
    except OSError:
        done(Status.FAILED, "the connection was closed during the handshake", "does this port use TLS?")
        return False
    finally:
        if writer is None:
            connection.close()
        else:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
    return True


def _ssl_failure(wrong: ssl.SSLError) -> str:
    reason = (wrong.reason or str(wrong.args[-1])).replace("_", " ").lower()
    plain = reason in {"wrong version number", "http request", "record layer failure", "packet length too long"}
    return f"the answer is not TLS ({reason})" if plain else f"the handshake failed: {reason}"


def _certificate_result(connection: ssl.SSLObject, *, verified: bool) -> tuple[Status, str, str | None]:
    version = connection.version() or "TLS"
    if not verified:
        return Status.WARNING, f"{version}, its certificate is not checked (`http.verify: false`)", None
    certificate = connection.getpeercert() or {}
    alternatives: Any = certificate.get("subjectAltName", ())
    names = [str(value) for kind, value in alternatives if kind in ("DNS", "IP Address")]
    detail = f"{version}, certificate for {', '.join(names[:_SHOWN_ADDRESSES])}"
    try:
        left = ssl.cert_time_to_seconds(str(certificate["notAfter"])) - time()
    except (KeyError, ValueError):
        return Status.OK, detail, None
    days = int(left // _DAY_SECONDS)
    detail += f", valid for {counted(days, 'more day')}"
    return (Status.WARNING, detail, "renew it soon") if days < _SOON_DAYS else (Status.OK, detail, None)


def _since(began: float) -> float:
    return (perf_counter() - began) * 1000
