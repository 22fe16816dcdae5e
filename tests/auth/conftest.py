"""A real authorization server with an MCP server behind it, a realm of its own for each test, and an empty home."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers.spec import ServerSpec, spec_from_settings
from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who", "arguments": {}}}


class Realm:
    """One realm of `tests/servers/oauth_server.py`, as its tests see it."""

    def __init__(self, origin: str, name: str, knobs: dict[str, Any]) -> None:
        self.origin = origin
        self.name = name
        self.url = f"{origin}/{name}/mcp"
        self.token_endpoint = f"{origin}/{name}/as/token"
        self._control("PUT", knobs)

    def seen(self, place: str) -> list[dict[str, Any]]:
        """The requests to `place` ("token", "register", "mcp", …), in order: {place, form, authorization}."""
        with urllib.request.urlopen(f"{self.origin}/realms/{self.name}") as answer:
            return [one for one in json.load(answer) if one["place"] == place]

    def revoke(self) -> None:
        self._control("POST", {"revoke": True})

    def release(self) -> None:
        self._control("POST", {"release": True})

    def wait_until_held(self) -> None:
        self._control("POST", {"held": True})

    def _control(self, method: str, orders: dict[str, Any]) -> None:
        request = urllib.request.Request(
            f"{self.origin}/realms/{self.name}", method=method, data=json.dumps(orders).encode()
        )
        urllib.request.urlopen(request).close()


@pytest.fixture(scope="session")
def oauth_origin() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-S", str(SERVERS / "oauth_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()


_numbers = itertools.count(1)


@pytest.fixture
def make_realm(oauth_origin: str) -> Callable[..., Realm]:
    def make(**knobs: Any) -> Realm:
        return Realm(oauth_origin, f"r{next(_numbers)}", knobs)

    return make


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def spec_for(
    url: str, auth: dict[str, Any] | None = None, secrets: Redactor | None = None, **settings: Any
) -> ServerSpec:
    """The spec of a server `api` at `url`; the environment holds CLIENT_SECRET."""
    redactor = secrets or Redactor(["s3cret-s3cret"])
    return spec_from_settings(
        "api",
        {"url": url, **({"auth": auth} if auth else {}), **settings},
        suite_env={},
        environ={"CLIENT_SECRET": "s3cret-s3cret", "MCP_TOKEN": "token-of-the-suite"},
        redactor=redactor,
    )


async def ask(url: str, auth: httpx2.Auth | None, client: httpx2.AsyncClient | None = None) -> httpx2.Response:
    """One `tools/call`, as a transport sends it; its body is read."""
    async with httpx2.AsyncClient(timeout=30, verify=False) as own:
        used = client or own
        response = await used.send(used.build_request("POST", url, json=CALL), stream=True, auth=auth)
        await response.aread()
        await response.aclose()
        return response


async def follow(address: str) -> None:
    """A browser without a head: opens the address and goes where it is sent."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=30, verify=False) as client:
        await client.get(address)
