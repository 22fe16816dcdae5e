"""The headers of each message, in both lifecycles.

In the handshake lifecycle they name the session and, from 2025-06-18 on, the revision. In the stateless one they name the
revision, the method and its subject on every POST. The suite's `headers` override all of them, so that a test may send
anything.

Source: MCP 2025-11-25, basic/transports; MCP 2026-07-28, basic/transports, request headers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import mcptest_engine
from mcptest_engine.servers import wire
from mcptest_engine.servers.param_headers import TOKEN, header_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.servers.calls import Call

RawHeaders = list[tuple[bytes, bytes]]

_WITHOUT_VERSION_HEADER = frozenset({"2024-11-05", "2025-03-26"})
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?|")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_ANY_ANSWER = "application/json, text/event-stream"
_STREAM = "text/event-stream"


class RequestHeaders:
    """The headers of all requests of one session, updated by the handshake.

    `session_id` is the server's, None without one. `stateless`: the offered revision has no sessions.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        self.session_id: str | None = None
        self.stateless = False
        self._version: str | None = None
        self._own = own
        self._replaced = frozenset(name.lower() for name in own)
        self._of_posts: RawHeaders | None = None

    def offer(self, revision: str, *, stateless: bool) -> None:
        """Offer `revision` from the next request on, and forget an earlier opening."""
        self.stateless = stateless
        self.session_id = None
        self.agree(revision if stateless else None)

    def agree(self, revision: str | None) -> None:
        """Use the agreed `revision` from the next request on."""
        # A revision that does not fit into a header is the server's mistake; it is reported elsewhere.
        sendable = revision is not None and revision not in _WITHOUT_VERSION_HEADER and _VISIBLE.fullmatch(revision)
        self._version = revision if sendable else None
        self._of_posts = None

    def take_session_id(self, session_id: str | None) -> bool:
        """Store the id from the answer to `initialize`; false when it is not visible ASCII, as it must be."""
        if session_id is not None and not _VISIBLE.fullmatch(session_id):
            return False
        self.session_id = session_id
        self._of_posts = None
        return True

    def of_post(self, line: bytes, call: Call | None) -> RawHeaders:
        """The headers for the POST of one message."""
        if self._of_posts is None:
            self._of_posts = self._raw({"Accept": _ANY_ANSWER, "Content-Type": "application/json", **self._session()})
        headers = self._of_posts
        if self.stateless:
            headers = headers + self._raw(_about(line, call), own=False)
        if call is not None and call.headers:
            headers = headers + self._raw(call.headers, own=False)
        if call is not None and call.fault is not None and call.fault.kind == "disconnect":
            # A compressed body returns its connection to the pool at its end, before it can be closed.
            headers = [(name, value) for name, value in headers if name != b"Accept-Encoding"]
            headers += self._raw({"Accept-Encoding": "identity"}, own=False)
        return headers

    def of_stream(self, last_event_id: str | None) -> RawHeaders:
        """The headers for a GET of an event stream, resumed after `last_event_id` where that is known."""
        headers = self._raw({"Accept": _STREAM, "Cache-Control": "no-store", **self._session()})
        if last_event_id is not None:
            headers.append((b"Last-Event-ID", last_event_id.encode()))
        return headers

    def of_delete(self) -> RawHeaders:
        """The headers for the DELETE that ends the session."""
        return self._raw({"Accept": _ANY_ANSWER, **self._session()})

    def _session(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "gzip, deflate", "User-Agent": f"mcptest/{mcptest_engine.__version__}"}
        if self._version is not None:
            headers["MCP-Protocol-Version"] = self._version
        if self.session_id is not None:
            headers["Mcp-Session-Id"] = self.session_id
        return headers

    def _raw(self, ours: Mapping[str, str], *, own: bool = True) -> RawHeaders:
        chosen = {name: value for name, value in ours.items() if name.lower() not in self._replaced}
        if own:
            chosen.update(self._own)
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in chosen.items()]


def header_fault(headers: Mapping[str, str]) -> str | None:
    """Why HTTP cannot carry `headers`; None when it can. The clause quotes no value, since it may be a secret."""
    for name, value in headers.items():
        if not TOKEN.fullmatch(name):
            return f"`{name}` is not the name of an HTTP header"
        if not value.isascii():
            return f"the value of the header `{name}` contains a character that is not ASCII"
        if not _VALUE.fullmatch(value):
            what = "a line break" if "\n" in value or "\r" in value else "a control character"
            what = what if value == value.strip(" \t") else "a blank at its start or end"
            return f"the value of the header `{name}` contains {what}"
    return None


def _about(line: bytes, call: Call | None) -> dict[str, str]:
    """The parts of a message that the stateless revision repeats in headers; {} for a reply."""
    message: Any = wire.parse(line) if call is None else {"method": call.method, "params": call.params}
    method = message.get("method")
    if not isinstance(method, str):
        return {}
    about = {"Mcp-Method": header_text(method)}
    params = message.get("params") or {}
    name = params.get(_NAMED_BY[method]) if method in _NAMED_BY else None
    if isinstance(name, str):
        about["Mcp-Name"] = header_text(name)
    return about
