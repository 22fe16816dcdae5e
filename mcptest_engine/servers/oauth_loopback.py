"""The listener on 127.0.0.1 to which a browser is redirected after a login.

One GET with the `state` that was sent ends the wait. Any other request, such as one for an icon, is refused and changes
nothing. The pages hold fixed text only: nothing that was received is sent back. Source: RFC 8252 section 7.3, RFC 9207.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from mcptest_engine.servers.oauth_http import OAuthTrouble, describe_oauth_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_PATH = "/callback"
_HEAD_LIMIT = 64 * 1024
_HEAD_SECONDS = 10.0
_DONE = "mcptest has its answer. You can close this window and go back to the terminal."
_REFUSED = "The login was refused. mcptest says more in the terminal; you can close this window."
_FOREIGN = "This is not the answer to the login that mcptest is waiting for."
_NOTHING = "There is nothing here."
_PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>mcptest</title>
<body style="font: 1.1rem system-ui, sans-serif; margin: 4rem auto; max-width: 32rem"><p>{words}</p></body></html>
"""


class Redirected(NamedTuple):
    """The redirect's parameters: those of RFC 6749 section 4.1.2 and the issuer of RFC 9207."""

    code: str
    state: str | None
    iss: str | None

    def __repr__(self) -> str:
        return "Redirected(…)"


class RedirectListener:
    """Listens while it is entered, and has its `redirect_uri` from then on. `port` 0 takes a free port."""

    def __init__(self, redact: Callable[[str], str], port: int = 0) -> None:
        self.port = port
        self._redact = redact
        self._state: str | None = None
        self._answer: asyncio.Future[Redirected] | None = None
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()
        self._answering: set[asyncio.Task[None]] = set()  # without connections on which nothing was sent yet

    @property
    def redirect_uri(self) -> str:
        """Where the browser is sent back to."""
        return f"http://127.0.0.1:{self.port}{_PATH}"

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._serve_connection, "127.0.0.1", self.port, limit=_HEAD_LIMIT)
        except OSError as wrong:
            reason = wrong.strerror or str(wrong)
            raise OAuthTrouble(
                f"cannot listen on 127.0.0.1:{self.port} for the answer of the login: {reason}"
            ) from wrong
        self.port = self._server.sockets[0].getsockname()[1]
        self._answer = asyncio.get_running_loop().create_future()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        if self._answering:  # the last page is still being sent
            await asyncio.wait(set(self._answering), timeout=1.0)
        talks = tuple(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        if self._answer is not None and not self._answer.cancel():
            self._answer.exception()

    def expect(self, authorization_url: str) -> None:
        """Accept only the answer to this request, which its `state` proves."""
        self._state = _parameters(authorization_url).get("state")

    async def answer(self) -> Redirected:
        """Wait for the redirect. Raises: OAuthTrouble when the login was refused."""
        assert self._answer is not None
        return await self._answer

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            self._answering.add(task)
            status, words = self._handle_request(head)
            writer.write(_response(status, words))
            await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # not a browser, or too slow
        finally:
            self._talks.discard(task)
            self._answering.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _handle_request(self, head: bytes) -> tuple[str, str]:
        """Handle one request; return the end of the status line and the text of the page."""
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = rest.partition(" ")[0]
        try:
            there = method == "GET" and urlsplit(target).path == _PATH
        except ValueError:
            there = False
        parameters = _parameters(target) if there else {}
        if "code" not in parameters and "error" not in parameters:
            return "404 Not Found", _NOTHING
        if not self._is_ours(parameters):  # any page in the browser may send requests here
            return "400 Bad Request", _FOREIGN
        assert self._answer is not None
        if self._answer.done():
            return "409 Conflict", _NOTHING
        return self._finish_login(parameters, self._answer)

    def _is_ours(self, parameters: dict[str, str]) -> bool:
        """Whether it has the `state` that was sent. Source: RFC 6749 sections 4.1.2 and 4.1.2.1, also for an error."""
        state = parameters.get("state")
        if state is None or self._state is None:
            return False
        return secrets.compare_digest(state.encode(), self._state.encode())

    def _finish_login(self, parameters: dict[str, str], answer: asyncio.Future[Redirected]) -> tuple[str, str]:
        if "error" in parameters:
            code = parameters["error"]
            description = describe_oauth_error(code, parameters.get("error_description"), self._redact)
            answer.set_exception(OAuthTrouble(f"the authorization server refused the login: {description}", code=code))
            return "200 OK", _REFUSED
        answer.set_result(Redirected(parameters["code"], parameters.get("state"), parameters.get("iss")))
        return "200 OK", _DONE


def _parameters(url: str) -> dict[str, str]:
    try:
        query = urlsplit(url).query
        return {name: values[0] for name, values in parse_qs(query, max_num_fields=50).items()}
    except ValueError:
        return {}


def _response(status: str, words: str) -> bytes:
    body = _PAGE.format(words=words).encode()
    headers = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join((*headers, "", "")).encode() + body
