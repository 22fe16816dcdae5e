"""HTTP requests to authorization servers: separate from the session's traffic, limited in time and size, never unencrypted.

A server under test at a plain `http://localhost` URL may name an authorization server anywhere. So each request gets a client
for its own URL, and https certificates are always checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import httpx2

import mcptest_engine
from mcptest_engine.core.errors import ServerDidNotStart
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.servers import wire
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.http_failures import causes
from mcptest_engine.servers.urls import is_loopback, may_take_secrets, shown_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.spec import HttpOptions

LARGEST_ANSWER = 1024 * 1024
_SHOWN = 300
_DECODED = ("content-encoding", "content-length", "transfer-encoding")


class OAuthTrouble(Exception):
    """Why there is no token, as a sentence without a subject before it.

    `code` is the OAuth error of the authorization server, such as "invalid_client"; `hint` says how to fix it.
    """

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint


class OAuthHttp:
    """Sends requests to authorization servers; an async context manager that closes its clients.

    `role` in `send` is the name of the other side in error messages, such as "token endpoint".
    """

    def __init__(self, options: HttpOptions, patience_seconds: float) -> None:
        self._options = options
        self._patience_seconds = patience_seconds
        self._clients: dict[tuple[bool, bool], httpx2.AsyncClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients.values():
            await client.aclose()

    async def send(self, request: httpx2.Request, role: str) -> httpx2.Response:
        """Send a request and read the whole answer; redirects are not followed. Raises: OAuthTrouble without an answer, or over
        plain http.
        """
        who = f"the {role} {shown_url(str(request.url))}"
        check_endpoint(str(request.url), role)
        try:
            async with asyncio.timeout(self._patience_seconds):
                return await self._read(request)
        except TimeoutError:
            raise OAuthTrouble(f"{who} did not answer within {duration(self._patience_seconds)}") from None
        except _TooLarge:
            raise OAuthTrouble(f"{who} answered with more than {LARGEST_ANSWER // 1024} KiB") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as wrong:
            raise OAuthTrouble(f"{who} {network_reason(wrong)}") from wrong

    @contextlib.asynccontextmanager
    async def stream(self, request: httpx2.Request, role: str) -> AsyncIterator[httpx2.Response]:
        """Send a request and yield the open answer, when its body does not matter. Raises: OAuthTrouble as `send` does."""
        who = f"the {role} {shown_url(str(request.url))}"
        try:
            async with asyncio.timeout(self._patience_seconds):
                response = await self._client(request.url).send(request, stream=True)
        except TimeoutError:
            raise OAuthTrouble(f"{who} did not answer within {duration(self._patience_seconds)}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as wrong:
            raise OAuthTrouble(f"{who} {network_reason(wrong)}") from wrong
        try:
            yield response
        finally:
            await response.aclose()

    async def _read(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._client(request.url).send(request, stream=True)
        try:
            chunks, size = [], 0
            async for chunk in response.aiter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if size > LARGEST_ANSWER:
                    raise _TooLarge
        finally:
            await response.aclose()
        headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _DECODED]
        whole = httpx2.Response(response.status_code, headers=headers, content=b"".join(chunks), request=request)
        whole.next_request = response.next_request
        return whole

    def _client(self, url: httpx2.URL) -> httpx2.AsyncClient:
        secure, here = url.scheme == "https", is_loopback(url.host)
        if (secure, here) not in self._clients:
            self._clients[secure, here] = httpx2.AsyncClient(
                verify=self._certificates() if secure else False,
                proxy=self._proxy(secure=secure),
                trust_env=not here,
                timeout=httpx2.Timeout(None, connect=self._options.connect_timeout_seconds),
                headers={"User-Agent": f"mcptest/{mcptest_engine.__version__}", "Accept": "application/json"},
                follow_redirects=False,
            )
        return self._clients[secure, here]

    def _certificates(self) -> ssl.SSLContext:
        """The certificates that `http.verify` names. Raises: OAuthTrouble."""
        from mcptest_engine.servers.certificates import trusted_certificates
        from mcptest_engine.servers.spec import ServerSpec

        try:
            return trusted_certificates(ServerSpec(name="", http=self._options))
        except ServerDidNotStart as wrong:
            raise OAuthTrouble(f"no authorization server can be asked: {wrong.clause}") from None

    def _proxy(self, *, secure: bool) -> str | None:
        """The suite's proxy; None for plain http and a proxy on another machine, which could read the secret."""
        proxy = self._options.proxy
        return proxy if proxy is None or secure or is_loopback(urlsplit(proxy).hostname or "") else None


class _TooLarge(Exception):
    """The answer exceeds the size limit."""


def check_endpoint(url: str, role: str) -> None:
    """Raises: OAuthTrouble for text that is no http or https URL, and for a URL to which no secret may be sent."""
    try:
        parts, _ = urlsplit(url), httpx2.URL(url)  # neither of the two refuses every bad URL
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (httpx2.InvalidURL, ValueError):
        sound = False
    if not sound:
        raise OAuthTrouble(f'the {role} "{one_line(url.partition("?")[0], 100)}" is not an http or https URL')
    if not may_take_secrets(url):
        clause = "tokens and secrets go only to https or to this machine"
        raise OAuthTrouble(f"the {role} {shown_url(url)} is not asked: {clause}", hint="use an https URL")


def json_object(response: httpx2.Response) -> JsonDict | None:
    """Parse the JSON object in an answer's body; None for anything else."""
    try:
        value = wire.parse(response.content)
    except wire.Unreadable:
        return None
    return value if isinstance(value, dict) else None


def quoted_body(response: httpx2.Response, redact: Callable[[str], str]) -> str:
    """A colon and the start of an answer's body without secrets; "" when it is empty."""
    text = one_line(wire.clip(response.content, _SHOWN, redact))
    return f": {text}" if text else ""


def oauth_error(response: httpx2.Response, redact: Callable[[str], str]) -> tuple[str | None, str]:
    """The OAuth error code of an answer and its description; (None, "") without one. Source: RFC 6749 section 5.2."""
    members = json_object(response) or {}
    code, description = members.get("error"), members.get("error_description")
    if not isinstance(code, str) or not code:
        return None, ""
    return code, describe_oauth_error(code, description, redact)


def describe_oauth_error(code: str, description: object, redact: Callable[[str], str]) -> str:
    """Describe an OAuth error in short: `invalid_client "no such client"`, without secrets."""
    text = one_line(redact(code), 100)
    if isinstance(description, str) and description.strip():
        text += f' "{one_line(redact(description.strip()[:4096]), 200)}"'
    return text


def network_reason(wrong: BaseException) -> str:
    """Describe a network exception as a clause; the cause is at the end of the chain."""
    for cause in causes(wrong):
        if isinstance(cause, ConnectionRefusedError):
            return "could not be reached: connection refused"
        if isinstance(cause, socket.gaierror):
            return "could not be reached: its host name was not found"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"could not be reached: TLS failed: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"could not be reached: TLS failed: {cause.reason}"
    if isinstance(wrong, httpx2.ConnectTimeout):
        return "could not be reached: no connection in time"
    if isinstance(wrong, httpx2.ConnectError | OSError):
        return f"could not be reached: {one_line(str(wrong), 200) or 'connection failed'}"
    return f"closed the connection without an answer ({type(wrong).__name__})"
