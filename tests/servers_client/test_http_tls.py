"""TLS: what `http.verify` trusts, and how every failure of it is told."""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import ServerDidNotStart, ServerError
from mcptest_engine.servers.spec import HttpOptions
from tests.servers_client.http_scripts import HostileServer, call, scripted, start_fails, web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcptest_engine.servers.session import Session


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority's certificate in `ca/authority.pem`, one that it signed with its key in `server.pem`."""
    from cryptography.hazmat.primitives.asymmetric import ec

    directory = tmp_path_factory.mktemp("certificates")
    (directory / "ca").mkdir()
    own_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = signed(own_key.public_key(), own_key, "authority", authority=True)
    (directory / "ca" / "authority.pem").write_bytes(pem(authority))
    server = signed(key.public_key(), own_key, "server", authority=False)
    (directory / "server.pem").write_bytes(pem(server) + private_pem(key))
    return directory


def signed(public_key: Any, signing_key: Any, name: str, *, authority: bool) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    now = dt.datetime.now(dt.UTC)
    named = {which: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, which)]) for which in (name, "authority")}
    identifier = x509.SubjectKeyIdentifier.from_public_key(public_key)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    usage = x509.KeyUsage(True, False, False, False, False, authority, authority, False, False)
    builder = (
        x509.CertificateBuilder(named["authority"], named[name], public_key, x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(issuer, critical=False)
    )
    return builder.sign(signing_key, hashes.SHA256())


def pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return bytes(certificate.public_bytes(Encoding.PEM))


def private_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


@pytest.fixture(scope="module")
def secure(certificates: Path) -> Iterator[HostileServer]:
    yield from scripted(certificates / "server.pem")


@pytest.fixture(scope="module")
def plain() -> Iterator[HostileServer]:
    yield from scripted()


async def answered(session: Session) -> None:
    await session.listening(30)
    assert (await call(session)).answer["result"]


@pytest.mark.parametrize("trusted", ["ca/authority.pem", "ca", False])
def test_verify_names_whom_to_trust(
    trusted: str | bool, secure: HostileServer, certificates: Path, with_session: Callable
) -> None:
    """A file, a directory of files, or nobody at all."""
    verify = str(certificates / trusted) if isinstance(trusted, str) else trusted
    with_session(web(secure.url(), http=HttpOptions(verify=verify)), answered)


def test_a_certificate_of_nobody_known_is_told_with_a_way_on(secure: HostileServer, run: Callable) -> None:
    """The reason is OpenSSL's; the hint names `http.verify`."""
    failed = start_fails(run, web(secure.url()))
    assert isinstance(failed, ServerDidNotStart)
    told = "TLS failed: unable to get local issuer certificate at https://127.0.0.1"
    assert failed.message.startswith(f'cannot connect to server "web": {told}')
    assert failed.hint is not None
    assert "`http.verify`" in failed.hint


def test_a_certificate_for_another_host_is_told(secure: HostileServer, certificates: Path, run: Callable) -> None:
    """Whoever signed it."""
    options = HttpOptions(verify=str(certificates / "ca/authority.pem"))
    failed = start_fails(run, web(secure.url(host="localhost"), http=options))
    assert "TLS failed: Hostname mismatch" in failed.message


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing.pem", 'names "{path}", which does not exist'),
        ("empty.pem", 'names "{path}", which contains no certificate'),
    ],
)
def test_a_file_that_names_nobody_is_told(
    name: str, told: str, secure: HostileServer, tmp_path: Path, run: Callable
) -> None:
    """Before anything is sent."""
    (tmp_path / "empty.pem").write_text("nothing\n")
    path = str(tmp_path / name)
    failed = start_fails(run, web(secure.url(), http=HttpOptions(verify=path)))
    assert isinstance(failed, ServerDidNotStart)
    assert failed.message == f'server "web" did not start: `http.verify` {told.format(path=path)}'


def test_a_plain_url_loads_no_certificates(plain: HostileServer, with_session: Callable) -> None:
    """So a file that is not there is no trouble."""
    with_session(web(plain.url(), http=HttpOptions(verify="/nowhere/ca.pem")), answered)


def test_https_at_a_port_that_speaks_plain_http_is_told(plain: HostileServer, run: Callable) -> None:
    """With the URL to try."""
    failed = start_fails(run, web(plain.url().replace("http:", "https:"), http=HttpOptions(verify=False)))
    assert isinstance(failed, ServerError)
    assert "TLS failed: " in failed.message
    assert failed.hint == "it may use plain HTTP: try an http URL"


def test_plain_http_at_a_port_that_speaks_tls_is_told(secure: HostileServer, run: Callable) -> None:
    """The server answers with an alert of TLS, or closes."""
    failed = start_fails(run, web(secure.url().replace("https:", "http:")))
    assert failed.hint is not None
    assert "https URL" in failed.hint
