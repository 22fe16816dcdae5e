"""The scripted HTTP server `tests/servers/http_hostile.py` as tests use it: scripts in, URL out, and what it saw."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

import pytest

from mcptest_engine.core.errors import ServerError
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.session import Session

Step = dict[str, Any]
PROGRAM = Path(__file__).resolve().parents[1] / "servers" / "http_hostile.py"
CLOSE: Step = {"close": True}
RESET: Step = {"reset": True}
HANG: Step = {"hang": True}
ANSWER = "<json>"


def head(status: str = "200 OK", kind: str = "application/json", **headers: object) -> str:
    """The start of an HTTP answer; a header's underscores are dashes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}"]
    return "\r\n".join(lines + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]) + "\r\n\r\n"


def whole(status: str, body: str, kind: str = "text/plain", **headers: object) -> list[Step]:
    """A whole answer whose connection can be used again."""
    return [{"send": head(status, kind, Content_Length=len(body), **headers) + body}]


def stream(*events: str, end: Step = CLOSE) -> list[Step]:
    """An event stream that ends, or does what `end` says."""
    return [{"send": head(kind="text/event-stream") + "".join(events)}, end]


def event(data: str = ANSWER, **fields: object) -> str:
    """One event; `event(ANSWER, id="7")`."""
    return "".join(f"{name}: {value}\n" for name, value in fields.items()) + f"data: {data}\n\n"


class HostileServer:
    """The server as a process, from `with` to its end; of each URL that it gives the path is new."""

    def __init__(self, certificate: Path | None = None) -> None:
        self._arguments = [] if certificate is None else [str(certificate)]
        self._scheme = "http" if certificate is None else "https"
        self._paths = count(1)

    def __enter__(self) -> Self:
        command = [sys.executable, "-S", str(PROGRAM), *self._arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *wrong: object) -> None:
        self._process.communicate()

    def url(self, scripts: dict[str, list[list[Step]]] | None = None, host: str = "127.0.0.1") -> str:
        """A URL of its own whose requests are answered by `scripts`, by JSON-RPC or HTTP method."""
        query = urlencode({kind: json.dumps(script) for kind, script in (scripts or {}).items()})
        return f"{self._scheme}://{host}:{self.port}/{next(self._paths)}" + (f"?{query}" if query else "")

    def calling(self, *steps: Step) -> str:
        """A URL whose first `tools/call` is answered by `steps`."""
        return self.url({"tools/call": [list(steps)]})

    def seen(self, url: str, method: str = "") -> list[dict[str, Any]]:
        """Every request to the path of `url`, of one HTTP or JSON-RPC method where that is given."""
        path = "/" + url.split("/", 3)[3].partition("?")[0]
        found = [request for request in self._asked("/seen") if request["path"] == path]
        return [request for request in found if method in ("", request["method"], rpc_method(request))]

    def open_connections(self) -> int:
        """How many connections there are."""
        return int(self._asked("/open"))

    def wait_for_connections(self, most: int) -> None:
        """Until no more than so many are open."""
        self._asked(f"/open?most={most}")

    def _asked(self, path: str) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=30) as response:
            return json.load(response)


def rpc_method(request: dict[str, Any]) -> str | None:
    """The JSON-RPC method of a request that was seen."""
    method: str | None = json.loads(request["body"]).get("method") if request["body"] else None
    return method


def web(url: str, **settings: Any) -> ServerSpec:
    """The spec of a server at `url`."""
    return ServerSpec(name="web", url=url, **settings)


async def call(session: Session, seconds: float = 30, **settings: Any) -> Any:
    """Call a tool; gives the exchange."""
    return await session.request("tools/call", {"name": "x"}, timeout_seconds=seconds, **settings)


async def call_fails(session: Session, error: type[ServerError] = ServerError, **settings: Any) -> ServerError:
    """Call a tool; gives the failure."""
    with pytest.raises(error) as failed:
        await call(session, **settings)
    return failed.value


def start_fails(run: Callable[..., Any], spec: ServerSpec) -> ServerError:
    """Connect; gives the failure."""
    with pytest.raises(ServerError) as failed:
        run(connect(spec))
    return failed.value


def scripted(certificate: Path | None = None) -> Iterator[HostileServer]:
    """What a fixture yields from."""
    with HostileServer(certificate) as server:
        yield server
