"""Whatever a server does over HTTP, its own test fails once and says why, and nobody else's is harmed."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.hostile.behaviours import SERVER
from tests.hostile.http_behaviours import HTTP_BEHAVIOURS, PLAIN, TLS, HttpBehaviour
from tests.hostile.runs import ECHO, assert_told, call, run, write_suite
from tests.servers_client.http_scripts import HostileServer, scripted
from tests.servers_client.test_http_tls import pem, private_pem, signed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def plain() -> Iterator[HostileServer]:
    yield from scripted()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileServer]:
    """One with a certificate that it signed itself."""
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    file = tmp_path_factory.mktemp("certificate") / "server.pem"
    file.write_bytes(pem(signed(key.public_key(), key, "server", authority=False)) + private_pem(key))
    yield from scripted(file)


@pytest.fixture(scope="module")
def nobody() -> Iterator[str]:
    """The URL of a port that is taken, so that it is nobody else's, and not listened on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"


def url_of(row: HttpBehaviour, plain: HostileServer, tls: HostileServer, nobody: str) -> str:
    if not row.speaks:
        return nobody
    server = {PLAIN: plain, TLS: tls}[row.speaks]
    scripts = {row.method: [list(row.steps)] * 5} if row.steps else {}
    url = server.url(scripts | ({"initialize": [list(row.opening)]} if row.opening else {}))
    return row.scheme + url.removeprefix(row.speaks)


@pytest.mark.parametrize("row", HTTP_BEHAVIOURS, ids=lambda row: row.does.replace(" ", "-"))
def test_one_bad_server_fails_its_own_test_and_no_other(
    row: HttpBehaviour, plain: HostileServer, tls: HostileServer, nobody: str, tmp_path: Path
) -> None:
    """One clear failure of the tests concerned within its timeout, the rest of the run unharmed."""
    url = url_of(row, plain, tls, nobody)
    limits: dict[str, Any] = {"timeout_ms": row.waits_ms} if row.waits_ms else {}
    servers = {"good": ECHO, SERVER: {"url": url, **limits}}
    record = run(write_suite(tmp_path, servers, [call("before", "good"), call("bad", SERVER), call("after", "good")]))
    before, bad, after = record.tests
    assert [test.verdict.value for test in (before, bad, after)] == ["pass", "fail", "pass"]
    assert_told(bad.failure, row.kind, row.says.replace("{url}", url.partition("?")[0]), row.hint)
    assert record.exit_code == 1
