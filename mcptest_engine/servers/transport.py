"""The interfaces of a transport and of the session that receives its messages.

A transport carries lines of bytes and knows only as much of MCP as its way of transport requires. It gets the `Call` with each
request, since over HTTP an exchange belongs to one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.failures import CallFailed, Ending
    from mcptest_engine.servers.remarks import Remarks
    from mcptest_engine.servers.server_messages import ServerMessages


MAX_WAITING_REPLIES = 256
"""The most replies that wait for a server that does not read; it gets no more."""
MAX_WAITING_REPLY_BYTES = 64 * 1024 * 1024
"""The most bytes of them; beyond that, the session is ended."""
UNREAD_REPLIES = "sent requests without reading the answers: more than 64 MiB of them were waiting"
"""How a session ended that exceeded the limit."""


def transport_of(url: object) -> str:
    """The kind of transport for a server with this URL; a command with a URL uses HTTP too."""
    return "stdio" if url is None else "http"


class Receiver(Protocol):
    """The session, as its transport sees it. No method raises, and all but the last are plain calls."""

    remarks: Remarks
    server_messages: ServerMessages

    def received(self, line: bytes, at: float, *, cut_off: bool = False) -> None:
        """Receive one message, or noise; `at` is the monotonic time of its last byte.

        `cut_off`: the connection ended before the line did, so that it may be incomplete.
        """

    def waiting(self) -> Iterable[tuple[str, float]]:
        """The requests that wait for an answer, each with its monotonic start time."""

    def started(self, pid: int) -> None:
        """The server's process has started."""

    def wrote(self, at: float, *, ended: bool = False) -> None:
        """Something came on its stderr, or no more will."""

    def overflowed(self, failure: CallFailed) -> None:
        """A message over the size limit was dropped; `failure` says which limit."""

    def failed(self, call: Call, failure: CallFailed | ServerError) -> None:
        """No answer will come for `call`."""

    def expired(self, ending: Ending) -> None:
        """The server has forgotten the session: no further call uses it, and waiting calls get their own answers."""

    def lost(self, ending: Ending) -> None:
        """The connection is lost, and every call with it."""

    async def danger_of_repeating(self, call: Call) -> str:
        """Why the request may not be sent again, in case the server has received it; "" when it may. Lists the tools."""


class Transport(Protocol):
    """A way to reach a server.

    `kind` is "stdio", "http", "in-process" or, once it is known to be one, "sse" (HTTP of 2024-11-05). `auth` is the kind of
    credentials, as in the record. `cancels_by_closing`: a call is cancelled by closing its exchange, and the revision has no
    other way.
    """

    kind: str
    auth: str
    cancels_by_closing: bool

    def open(self, receiver: Receiver) -> None:
        """Start the process or the client; does not wait. Raises: ServerDidNotStart, AuthFailed."""

    async def ready(self) -> None:
        """Start the program of a server over HTTP, and wait until it can be used. Raises: ServerDidNotStart, AuthFailed."""

    def send(self, line: bytes, call: Call | None, *, urgent: bool) -> None:
        """Send one message; `call` is set for a request. `urgent`: no other message follows in this turn of the loop."""

    def withdraw(self, call: Call) -> bool:
        """Stop waiting for a call. True when its request was not sent, so that it need not be cancelled."""

    def offering(self, protocol_version: str, *, stateless: bool) -> None:
        """Use this revision from the next request on: set before the probe, and before the `initialize` that follows it.

        `stateless`: there is no session, no GET stream and no `initialize`; every request names its revision, its method and
        its subject in headers. Source: MCP 2026-07-28, basic/transports.
        """

    def handshake_done(self, protocol_version: str | None) -> None:
        """Use the agreed revision; over HTTP the server's own stream is opened now, without waiting for it."""

    async def listening(self, timeout_seconds: float) -> None:
        """Wait until the server's notifications can arrive: its own stream is open, or it has none. Never raises."""

    def unfinished(self) -> bytes:
        """The start of an unfinished line; b"" when there is none, and over HTTP."""

    async def delivered(self) -> None:
        """Wait until notifications and replies are delivered, where that can be known."""

    async def close(self) -> Ending:
        """Close the connection and leave nothing running."""

    def stderr_since(self, at: float) -> str:
        """The stored part of what was written on stderr after the monotonic time `at`; "" where there is none."""


class ConnectionlessTransport:
    """The methods that do nothing in transports without a pipe or a socket."""

    cancels_by_closing = False

    async def ready(self) -> None:
        """Do nothing: no program is started."""

    def offering(self, protocol_version: str, *, stateless: bool) -> None:
        """Do nothing: the transport is the same for every revision."""

    def handshake_done(self, protocol_version: str | None) -> None:
        """Do nothing: there is no stream to open."""

    async def listening(self, timeout_seconds: float) -> None:
        """Return at once: the server's messages arrive from the start."""

    def unfinished(self) -> bytes:
        """Return b"": messages come whole."""
        return b""

    async def delivered(self) -> None:
        """Do nothing: what is sent is delivered at once."""
