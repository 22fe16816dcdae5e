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
"""So many answers to a server that does not take them wait; it gets no more."""
MAX_WAITING_REPLY_BYTES = 64 * 1024 * 1024
"""So many bytes of them may wait; more, and the session is ended."""
UNREAD_REPLIES = "sent requests without reading the answers: more than 64 MiB of them were waiting"
"""How a session ended that is over that."""


def transport_of(url: object) -> str:
    """The kind of transport that a server with this URL is reached by: also a command with a URL is reached there."""
    return "stdio" if url is None else "http"


class Receiver(Protocol):
    """The session, as its transport sees it. None of the methods raises, and all but the last are plain calls."""

    remarks: Remarks
    server_messages: ServerMessages

    def received(self, line: bytes, at: float, *, cut_off: bool = False) -> None:
        """One message, or noise; `at` is the monotonic time at which its last byte came.

        `cut_off`: the connection ended before the line did, so that it may be part of a message.
        """

    def waiting(self) -> Iterable[tuple[str, float]]:
        """What is asked and not answered yet, and since which monotonic time."""

    def started(self, pid: int) -> None:
        """The server's process has started."""

    def wrote(self, at: float, *, ended: bool = False) -> None:
        """Something came on its stderr, or no more will."""

    def overflowed(self, failure: CallFailed) -> None:
        """A message was dropped that is more than is read; `failure` says of what there was too much."""

    def failed(self, call: Call, failure: CallFailed | ServerError) -> None:
        """No answer will come for `call`."""

    def expired(self, ending: Ending) -> None:
        """The server knows the session no longer: no further call goes over it, and those under way get their own answers."""

    def lost(self, ending: Ending) -> None:
        """The connection is gone, and every call with it."""

    async def danger_of_repeating(self, call: Call) -> str:
        """Why the request may not be sent again, where the server may have taken it; "" when it may. Lists the tools."""


class Transport(Protocol):
    """A way to reach a server.

    `kind` is "stdio", "http" or, once it has turned out to be one, "sse" (HTTP of 2024-11-05). `auth` is how mcptest shows who
    it is, as in the record. `cancels_by_closing`: giving a call up closes its exchange, and that is all the cancelling the
    revision knows.
    """

    kind: str
    auth: str
    cancels_by_closing: bool

    def open(self, receiver: Receiver) -> None:
        """Start the process or the client; does not wait. Raises: ServerDidNotStart, AuthFailed."""

    async def ready(self) -> None:
        """Start the program of a server over HTTP, and wait until it can be used. Raises: ServerDidNotStart, AuthFailed."""

    def send(self, line: bytes, call: Call | None, *, urgent: bool) -> None:
        """Send one message; `call` is set for a request. `urgent`: nothing follows in this turn of the loop."""

    def withdraw(self, call: Call) -> bool:
        """The caller no longer waits. True when the request never left, so that nothing has to be cancelled."""

    def offering(self, protocol_version: str, *, stateless: bool) -> None:
        """From here on requests speak this revision: before the probe and with the fallback from it, before `initialize`.

        `stateless`: there is no session, no GET stream and no `initialize`; every request names its revision, its method and
        what it is about in headers. Source: MCP 2026-07-28, basic/transports.
        """

    def handshake_done(self, protocol_version: str | None) -> None:
        """From here on the revision is agreed on; over HTTP the server's own stream is opened now, without waiting for it."""

    async def listening(self, timeout_seconds: float) -> None:
        """Wait until what the server sends unasked would arrive: its own stream is open, or it has none. Never raises."""

    def unfinished(self) -> bytes:
        """The start of a line that has begun and not ended; b"" when there is none, and over HTTP."""

    async def delivered(self) -> None:
        """Wait until what has been sent without a call is delivered, where that can be known."""

    async def close(self) -> Ending:
        """Close the connection and leave nothing running."""

    def stderr_since(self, at: float) -> str:
        """The kept end of what was written on stderr after the monotonic time `at`; "" where there is none."""


class ConnectionlessTransport:
    """What transports without a pipe or a socket share: nothing has to be opened, agreed on or waited for."""

    cancels_by_closing = False

    async def ready(self) -> None:
        """Do nothing: no program is started."""

    def offering(self, protocol_version: str, *, stateless: bool) -> None:
        """Do nothing: the transport is the same for every revision."""

    def handshake_done(self, protocol_version: str | None) -> None:
        """Do nothing: there is no stream to open."""

    async def listening(self, timeout_seconds: float) -> None:
        """What is sent unasked arrives from the start."""

    def unfinished(self) -> bytes:
        """Return b"": messages come whole."""
        return b""

    async def delivered(self) -> None:
        """Do nothing: what is sent is delivered at once."""
