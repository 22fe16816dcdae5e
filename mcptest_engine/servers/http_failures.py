"""The messages of HTTP failures: refused connections, TLS, answers that are not HTTP, statuses, HTML pages.

Every network exception becomes one clause here. A library's words appear only where they say more than ours could.
"""

from __future__ import annotations

import html
import re
import socket
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcptest_engine.core.errors import ProtocolBroken, ServerDied
from mcptest_engine.servers import wire
from mcptest_engine.servers.failures import CallFailed, duration, out_of_memory
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx2

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.wire import Redact

KEPT_BODY_CHARACTERS = 4096

_USUAL_PATH = "/mcp"
_NOT_HERE = frozenset({404, 405, 410})
_OF_MESSAGES = frozenset({"application/json", "text/event-stream"})

_LOOKED_AT = 64 * 1024
_MARKUP = re.compile(r"\s*<(!doctype\s+html|html|head|body|h[1-6]|p|div|title|center|pre)\b", re.IGNORECASE)
_HIDDEN = (
    ("<!--", "-->"),
    ("<script", "</script>"),
    ("<style", "</style>"),
    ("<head>", "</head>"),  # and not <header>
    ("<head ", "</head>"),
)
_TLS_ALERT = re.compile(r"bytearray\(b'\\x1[56]\\x03")
_QUOTED_BYTES = re.compile(r"bytearray\((b(['\"]).*\2)\)")
_SPOKE_PLAIN = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})


def network_failure(
    wrong: Exception, spec: ServerSpec, *, answering: bool = False, opening: bool = False
) -> CallFailed:
    """The failure for an exception of the HTTP client.

    `answering`: the headers had arrived. `opening`: it is the first request.
    """
    import httpx2

    where = f" at {shown_url(spec.url or '')}"
    for cause in causes(wrong):
        failure = _failure_of_cause(cause, where, spec)
        if failure is not None:
            return failure
    if isinstance(wrong, httpx2.ConnectTimeout):
        seconds = spec.http.connect_timeout_seconds or spec.connect_timeout_seconds
        return _unreached(f"no connection within {duration(seconds)}{where}")
    if isinstance(wrong, httpx2.ProxyError):
        return _unreached(f"its proxy answered: {wrong}{where}")
    if isinstance(wrong, httpx2.ConnectError):
        return _unreached(f"{_message(wrong) or 'the connection was closed while it was made'}{where}")
    if isinstance(wrong, httpx2.RemoteProtocolError):
        return _no_http(str(wrong), spec, where, answering=answering, opening=opening)
    if isinstance(wrong, httpx2.DecodingError):
        return CallFailed(ProtocolBroken, f"sent a compressed body that cannot be unpacked: {_message(wrong)}")
    if isinstance(wrong, httpx2.NetworkError):
        return _closed(spec, where, answering=answering, opening=opening)
    # A bad header or URL of ours, an OAuth failure, or something unforeseen: the call must not wait for its timeout.
    message = spec.redact(_message(wrong)) or type(wrong).__name__
    return CallFailed(ServerDied, f"could not be reached over HTTP: {message}")


def causes(wrong: BaseException) -> Iterator[BaseException]:
    """The exceptions of a chain or group, innermost first."""
    yield wrong
    if isinstance(wrong, BaseExceptionGroup):
        for inner in wrong.exceptions:
            yield from causes(inner)
    deeper = wrong.__cause__ or wrong.__context__
    if deeper is not None:
        yield from causes(deeper)


def http_status_text(response: httpx2.Response) -> str:
    """Such as "HTTP 404 Not Found"."""
    return f"HTTP {response.status_code} {response.reason_phrase}".rstrip()


def redirected(response: httpx2.Response, target: httpx2.URL | None, *, same_origin: bool) -> CallFailed:
    """The failure for a redirect that was not followed."""
    status = response.status_code
    if target is None:
        return CallFailed(ProtocolBroken, f"answered with a redirect (HTTP {status}) to something that is not a URL")
    where = shown_url(str(target))
    if same_origin and status in (307, 308):
        return CallFailed(ProtocolBroken, f'answered with endless redirects, the last to "{where}"')
    return CallFailed(
        ProtocolBroken,
        f'answered with a redirect (HTTP {status}) to "{where}", which is not followed',
        hint=f"if that is the right server, use this `url`: {where}",
    )


def media_type(http: JsonMapping) -> str:
    """The media type of a response, such as "text/html"; "" when it names none."""
    return str((http.get("headers") or {}).get("content-type", "")).partition(";")[0].strip().lower()


def endpoint_hint(url: str, http: Mapping[str, object]) -> str | None:
    """A hint where the MCP endpoint may be, when the first answer at `url` is not from one; else None."""
    is_message = media_type(http) in _OF_MESSAGES and '"jsonrpc"' in str(http.get("body", '"jsonrpc"'))
    if http.get("status") not in _NOT_HERE and (http.get("status") != 200 or is_message):
        return None
    parts = urlsplit(url)
    if parts.path.rstrip("/") == _USUAL_PATH:
        return "check the path, and whether this is the right server"
    usual = shown_url(f"{parts.scheme}://{parts.netloc}{_USUAL_PATH}")
    return f"check the path: most servers use {_USUAL_PATH}, so try {usual}"


def quoted(body: bytes, redact: Redact) -> str:
    """A colon and the start of a body, for the end of a clause; of a page its visible text; "" when it is empty."""
    shown = wire.clip(visible_text(body), redact=redact)
    return f": {shown}" if shown else ""


def stored_body(body: bytes, redact: Redact) -> str:
    """A body as `http.body` stores it."""
    return wire.clip(body, KEPT_BODY_CHARACTERS, redact)


def visible_text(body: bytes) -> bytes:
    """The visible text of an HTML page, in one line; other bodies unchanged."""
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    if not _MARKUP.match(text):
        return body
    shown = text
    for opening, closing in _HIDDEN:
        shown = _without(shown, opening, closing)
    words = _split_visible_text(shown) or _split_visible_text(text)  # a page with only a title
    if len(body) > _LOOKED_AT:
        words = words[:-1]  # cut off: the rest may be the first half of a secret
    return " ".join(words).encode("utf-8", "replace")


def _split_visible_text(markup: str) -> list[str]:
    return html.unescape(_without(markup, "<", ">")).split()


def _without(text: str, start: str, end: str) -> str:
    """Remove everything from each `start` to the next `end`, ignoring case.

    In linear time, which a regular expression would not guarantee.
    """
    folded, pieces, at = text.lower(), [], 0
    if len(folded) != len(text):  # a letter whose lower case is longer
        folded = text
    while (opens := folded.find(start, at)) >= 0:
        pieces += [text[at:opens], " "]
        closes = folded.find(end, opens)
        if closes < 0:
            return "".join(pieces)
        at = closes + len(end)
    return "".join([*pieces, text[at:]])


def _failure_of_cause(cause: BaseException, where: str, spec: ServerSpec) -> CallFailed | None:
    if isinstance(cause, MemoryError):
        return out_of_memory()
    if isinstance(cause, ConnectionRefusedError):
        at_proxy = "" if spec.http.proxy is None else f" by the proxy {shown_url(spec.http.proxy)} for the server"
        return _unreached(f"connection refused{at_proxy}{where}", short="connection refused")
    if isinstance(cause, socket.gaierror):
        return _unreached(f"its host name was not found{where}")
    if isinstance(cause, ssl.SSLCertVerificationError):
        hint = "name the authority that signed its certificate in `http.verify`, or set `http.verify: false`"
        if spec.config_dir is None:  # a timeout that no suite set
            hint += ": in a suite, under the server; --url alone has no such setting"
        return _unreached(f"TLS failed: {cause.verify_message}{where}", hint)
    if isinstance(cause, ssl.SSLError):
        way_on = "it may use plain HTTP: try an http URL" if cause.reason in _SPOKE_PLAIN else None
        return _unreached(f"TLS failed: {cause.reason or cause.args[-1]}{where}", way_on)
    return None


def _no_http(message: str, spec: ServerSpec, where: str, *, answering: bool, opening: bool) -> CallFailed:
    """The failure for an answer that h11 could not parse, or that ended too soon."""
    if "disconnected" in message or "closed connection" in message:
        return _closed(spec, where, answering=answering, opening=opening)
    if _TLS_ALERT.search(message):
        return CallFailed(ProtocolBroken, "answered with TLS to plain HTTP", hint="it may use TLS: try an https URL")
    if "too long" in message:
        return CallFailed(ProtocolBroken, "answered with HTTP headers of more than 100 KiB, which is too large")
    reason = spec.redact(_QUOTED_BYTES.sub(r"\1", message))
    return CallFailed(ProtocolBroken, f"answered with something other than HTTP: {reason[:300]}")


def _closed(spec: ServerSpec, where: str, *, answering: bool, opening: bool) -> CallFailed:
    if answering:
        return CallFailed(ServerDied, f"closed the connection in the middle of its answer{where}")
    plain = opening and (spec.url or "").startswith("http:")
    hint = "a port with TLS does this to plain HTTP: try an https URL" if plain else None
    return CallFailed(ServerDied, f"closed the connection without an answer{where}", hint=hint)


def _unreached(reason: str, hint: str | None = None, short: str | None = None) -> CallFailed:
    return CallFailed(ServerDied, f"could not be reached: {reason}", hint=hint, short=short, unreached=reason)


def _message(wrong: BaseException) -> str:
    return str(wrong).split("\n", 1)[0]
