"""mcptest's MCP server over Streamable HTTP, for the official conformance suite, which asks for a URL: front_door.py FOLDER.

The server is the one that `mcptest mcp-server` serves on stdin and stdout, its verbs and resources; only the transport is
another, that of the mock server. Prints the URL and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from typing import TYPE_CHECKING, Any

from mcptest_engine.front_door.server import Client, open_door
from mcptest_engine.mock.http import Address, serve_http
from mcptest_engine.mock.log import Log, LogLevel
from mcptest_engine.mock.messages import Answer, Listen, Listener, Silence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.mock.messages import Effect


class Session:
    """What the mock's transport serves: each answer is waited for in another thread's event loop."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop, sent: list[bytes]) -> None:
        self._client, self._loop, self._sent = client, loop, sent

    def receive(self, message: Mapping[str, Any]) -> Effect:
        """A message of a session; one that is no request has no answer."""
        return Silence() if "method" not in message or "id" not in message else self._answered(message, None)

    def receive_stateless(
        self, message: Mapping[str, Any], headers: Mapping[str, str] | None, repeated: frozenset[str] = frozenset()
    ) -> Effect:
        """A request of the stateless era."""
        return self._answered(
            message, {name: "" if name in repeated else text for name, text in (headers or {}).items()}
        )

    def notification_of(self, _change: object) -> None:
        """Nothing changes."""

    def _answered(self, message: Mapping[str, Any], headers: Mapping[str, str] | None) -> Effect:
        key = (type(message["id"]), message["id"])
        body = asyncio.run_coroutine_threadsafe(self._client.answer(message, headers), self._loop).result()
        if body is None:
            return Listen(body=self._sent.pop(), key=key, listener=Listener(message["id"], frozenset(), frozenset()))
        error = json.loads(body).get("error")
        return Answer(body=body, key=key, error_code=None if error is None else error["code"])


def main(folder: str) -> int:
    """Serve the workspace in `folder` on a free port of this machine."""
    loop, door = asyncio.new_event_loop(), open_door(folder, writes_enabled=True)
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def session() -> Session:
        sent: list[bytes] = []
        return Session(Client(door, sent.append), loop, sent)

    def announce(url: str) -> None:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()

    return serve_http(session, Log(LogLevel.ERROR), address=Address("127.0.0.1", 0), token=None, announce=announce)


sys.exit(main(sys.argv[1]))
