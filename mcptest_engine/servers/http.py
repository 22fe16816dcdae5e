"""The Streamable HTTP transport: one POST for each message, answered by JSON or by an event stream.

Nothing is retried and no redirect leaves the origin: what the server answered is what the test sees, status and headers
included. The surprising thing: an answer belongs to the call whose POST it came with, so a body that is no answer fails that
call at once, whatever id it carries.
Source: MCP 2025-11-25, basic/transports#streamable-http.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import mcptest_engine
from mcptest_engine.core.errors import AuthFailed, ProtocolBroken, ServerDidNotStart, ServerDied, ServerError
from mcptest_engine.servers import auth, wire
from mcptest_engine.servers.failures import CallFailed, Ending
from mcptest_engine.servers.sse import EventSplitter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Receiver

_MAX_REDIRECTS = 5
_OK = range(200, 300)


class HttpTransport:
    """One client, shared by all exchanges of a session."""

    kind = "http"

    def __init__(self, spec: ServerSpec) -> None:
        assert spec.url is not None
        self._spec = spec
        self._url = spec.url
        self._client: httpx2.AsyncClient | None = None
        self._headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        self._session_id: str | None = None
        self._posts: dict[asyncio.Task[None], Call | None] = {}
        self._notification_failure: ServerError | None = None

    def open(self, receiver: Receiver) -> None:
        """Make the client. Raises: ServerDidNotStart for what is no URL, AuthFailed for a token that may not go there."""
        self._receiver = receiver
        try:
            parts = urlsplit(self._url)
        except ValueError:  # such as an unclosed bracket in an IPv6 address
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            message = f'server "{self._spec.name}" did not start: "{self._url}" is no http or https URL'
            raise ServerDidNotStart(message, server=self._spec.name)
        auth.check_secrets_may_go(self._spec)
        self._client = _client(self._spec, secure=parts.scheme == "https", here=auth.is_loopback(parts.hostname))

    def send(self, line: bytes, call: Call | None, *, urgent: bool) -> None:  # noqa: ARG002  # each message is a POST
        """Start the POST of one message."""
        task = asyncio.get_running_loop().create_task(self._post(line, call))
        self._posts[task] = call
        task.add_done_callback(self._posts.pop)

    def withdraw(self, call: Call) -> bool:
        """Give the exchange up. It was sent, so the server is owed a cancellation."""
        for task, its_call in self._posts.items():
            if its_call is call:
                task.cancel()
        return False

    def handshake_done(self, protocol_version: str | None) -> None:
        """Every further request names the revision. Source: basic/transports#protocol-version-header."""
        if protocol_version is not None:
            self._headers["MCP-Protocol-Version"] = protocol_version

    def unfinished(self) -> bytes:
        """A body that is cut off is told as what it is."""
        return b""

    async def settled(self) -> None:
        """Wait for the POSTs of notifications. Raises: AuthFailed when one was refused."""
        await self._deliver(self._spec.connect_timeout_seconds)
        if self._notification_failure is not None:
            raise self._notification_failure

    def stderr_since(self, at: float) -> str:  # noqa: ARG002  # there is no stderr
        """Nothing: the process is elsewhere."""
        return ""

    async def close(self) -> Ending:
        """Give up what is under way, end the session with DELETE, and close the connections."""
        await self._deliver(self._spec.grace_seconds)
        posts = tuple(self._posts)
        for task in posts:
            task.cancel()
        await asyncio.gather(*posts, return_exceptions=True)
        if self._client is not None:
            try:
                await self._end_session(self._client)
            finally:
                await self._client.aclose()
        return Ending(clause="was closed by mcptest")

    async def _deliver(self, timeout_seconds: float) -> None:
        """Give the POSTs of notifications and replies the time to arrive."""
        pending = [task for task, call in self._posts.items() if call is None]
        if pending:
            await asyncio.wait(pending, timeout=timeout_seconds)

    async def _end_session(self, client: httpx2.AsyncClient) -> None:
        if self._session_id is None:
            return
        import httpx2

        try:
            async with asyncio.timeout(max(self._spec.grace_seconds, 0.1)):
                await client.delete(self._url, headers=self._all_headers())
        except (TimeoutError, httpx2.HTTPError):
            pass  # a server need not support it, and may be gone

    async def _post(self, line: bytes, call: Call | None) -> None:
        import httpx2

        try:
            response = await self._exchange(line)
            try:
                await self._take(response, call)
            finally:
                await response.aclose()
        except httpx2.HTTPError as wrong:
            self._fail(call, CallFailed(ServerDied, f"{_network_reason(wrong)} at {auth.shown_url(self._url)}"))
        except (CallFailed, ServerError) as failure:
            self._fail(call, failure)
        except (httpx2.InvalidURL, httpx2.StreamError, ValueError) as wrong:  # such as a header that is not ASCII
            self._fail(call, CallFailed(ServerDied, f"could not be asked over HTTP: {wrong}"))

    async def _exchange(self, line: bytes) -> httpx2.Response:
        """POST `line` and return the open response; a redirect inside the origin that keeps the method is followed."""
        assert self._client is not None
        for _ in range(_MAX_REDIRECTS):
            request = self._client.build_request("POST", self._url, content=line, headers=self._all_headers())
            response = await self._client.send(request, stream=True)
            if not response.has_redirect_location:
                return response
            await response.aclose()
            target = request.url.join(response.headers["location"])
            if response.status_code not in (307, 308) or _origin(target) != _origin(request.url):
                raise _redirected(response.status_code, str(target))
            self._url = str(target)
        raise CallFailed(ProtocolBroken, f"answered with more than {_MAX_REDIRECTS} redirects in a row")

    def _all_headers(self) -> dict[str, str]:
        headers = dict(self._headers)
        if self._session_id is not None:
            headers["Mcp-Session-Id"] = self._session_id
        headers.update(self._spec.headers)
        return headers

    async def _take(self, response: httpx2.Response, call: Call | None) -> None:
        status = response.status_code
        if call is not None:
            call.http = {"status": status, "headers": dict(response.headers)}
        if status in (401, 403):
            raise auth.refused(self._spec, status, response.headers.get("www-authenticate"))
        if status not in _OK:
            await self._take_failure(response, call)
            return
        if call is None:
            return
        if call.method == "initialize":
            self._session_id = response.headers.get("mcp-session-id")
        if _content_type(response) == "text/event-stream":
            await self._take_events(response, call)
        else:
            await self._take_body(response, call)

    async def _take_events(self, response: httpx2.Response, call: Call) -> None:
        """Every message of the stream, until the server ends it: it may go on after the answer."""
        events, size = EventSplitter(), 0
        async for chunk in response.aiter_bytes():
            at, size = monotonic(), size + len(chunk)
            for event in events.feed(chunk):
                size = 0
                if event.data:
                    self._receiver.received(event.data, at)
            if size > self._spec.max_message_bytes:
                raise self._too_large()
        self._still_waiting(call, "its event stream ended before the answer")

    async def _take_body(self, response: httpx2.Response, call: Call) -> None:
        body = await self._read(response)
        kind = _content_type(response)
        if not body.strip():
            self._still_waiting(call, f"HTTP {response.status_code} with an empty body")
            return
        if kind == "application/json":
            self._receiver.received(body, monotonic())
            self._still_waiting(call, f"HTTP {response.status_code} with a body that is no answer to it", body)
        else:
            fault = f'HTTP {response.status_code} with the content type "{kind}"'
            self._still_waiting(call, fault, body)

    async def _take_failure(self, response: httpx2.Response, call: Call | None) -> None:
        """A status that is no success. A JSON-RPC error for this very call in the body is still its answer."""
        body = await self._read(response)
        if call is not None and _is_error_for(body, call):
            self._receiver.received(body, monotonic())
            return
        told = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
        if response.status_code == 404 and self._session_id is not None:
            clause = f"ended the session ({told})"
            self._receiver.lost(Ending(clause=clause))
            raise CallFailed(ServerDied, clause)
        shown = f": {wire.clip(body, redact=self._spec.redact)}" if body.strip() else ""
        raise CallFailed(ProtocolBroken, f"answered with {told}{shown}")

    async def _read(self, response: httpx2.Response) -> bytes:
        chunks, size = [], 0
        async for chunk in response.aiter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > self._spec.max_message_bytes:
                raise self._too_large()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _too_large(self) -> CallFailed:
        limit = self._spec.max_message_bytes // (1024 * 1024)
        return CallFailed(ProtocolBroken, f"sent a message of over {limit} MiB, which is more than is read")

    def _still_waiting(self, call: Call, fault: str, body: bytes = b"") -> None:
        if not call.future.done():
            shown = f": {wire.clip(body, redact=self._spec.redact)}" if body else ""
            clause = f'broke the protocol in its answer to "{call.method}": {fault}{shown}'
            self._receiver.failed(call, CallFailed(ProtocolBroken, clause))

    def _fail(self, call: Call | None, failure: CallFailed | ServerError) -> None:
        if call is not None:
            self._receiver.failed(call, failure)
        elif isinstance(failure, AuthFailed):
            self._notification_failure = failure
        elif isinstance(failure, CallFailed):
            self._receiver.remarked(f"did not take a notification: it {failure.clause}")


def _client(spec: ServerSpec, *, secure: bool, here: bool) -> httpx2.AsyncClient:
    import httpx2

    return httpx2.AsyncClient(
        verify=secure,  # loading the certificate store costs 50 ms: not for a plain URL, and no redirect leads to TLS
        trust_env=not here,  # a proxy cannot reach this machine's loopback
        timeout=httpx2.Timeout(None, connect=spec.connect_timeout_seconds),  # the session times its calls
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        headers={"User-Agent": f"mcptest/{mcptest_engine.__version__}"},
        follow_redirects=False,
    )


def _content_type(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, port


def _redirected(status: int, target: str) -> CallFailed:
    where = auth.shown_url(target)
    return CallFailed(
        ProtocolBroken,
        f'answered with a redirect (HTTP {status}) to "{where}", which is not followed',
        hint=f"if that is the server you mean, make it the `url`: {where}",
    )


def _is_error_for(body: bytes, call: Call) -> bool:
    try:
        message: Any = wire.parse(body)
    except wire.Unreadable:
        return False
    return isinstance(message, dict) and message.get("id") == call.id and "error" in message


def _network_reason(wrong: httpx2.HTTPError) -> str:
    """What the network did, as a clause; the cause is at the bottom of a chain of exceptions."""
    import httpx2

    for cause in _causes(wrong):
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
    if isinstance(wrong, httpx2.ConnectError):
        return f"could not be reached: {str(wrong) or 'connection failed'}"
    return f"closed the connection without an answer ({type(wrong).__name__})"


def _causes(wrong: BaseException) -> Iterator[BaseException]:
    yield wrong
    if isinstance(wrong, BaseExceptionGroup):
        for inner in wrong.exceptions:
            yield from _causes(inner)
    deeper = wrong.__cause__ or wrong.__context__
    if deeper is not None:
        yield from _causes(deeper)
