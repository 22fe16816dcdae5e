"""The certificates that a server's `http.verify` trusts."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ServerDidNotStart

if TYPE_CHECKING:
    from mcptest_engine.servers.spec import ServerSpec

_CERTIFICATE_SUFFIXES = frozenset({".pem", ".crt", ".cer"})


def trusted_certificates(spec: ServerSpec) -> ssl.SSLContext:
    """Load the certificates that `http.verify` names. Raises: ServerDidNotStart."""
    import httpx2

    verify = spec.http.verify
    try:
        if isinstance(verify, bool):
            return httpx2.create_ssl_context(verify=verify)
        return _trusting(Path(verify))
    except FileNotFoundError:
        raise cannot_start(spec, f'{_source(verify)} "{_certificates_name(verify)}", which does not exist') from None
    except ssl.SSLError:
        raise cannot_start(
            spec, f'{_source(verify)} "{_certificates_name(verify)}", which contains no certificate'
        ) from None
    except OSError as wrong:
        raise cannot_start(
            spec, f'{_source(verify)} "{_certificates_name(verify)}", which cannot be read: {wrong.strerror}'
        ) from None


def _source(verify: bool | str) -> str:
    return "`http.verify` names" if isinstance(verify, str) else "the environment names the certificates"


def _certificates_name(verify: bool | str) -> str:
    return verify if isinstance(verify, str) else os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR", "")


def _trusting(path: Path) -> ssl.SSLContext:
    """Trust the authorities of a file, or of all files of a directory; OpenSSL alone requires file names that are hashes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not path.is_dir():
        context.load_verify_locations(cafile=path)
        return context
    context.load_verify_locations(capath=path)
    for file in sorted(path.iterdir()):
        if file.suffix in _CERTIFICATE_SUFFIXES:
            context.load_verify_locations(cafile=file)
    return context


def cannot_start(spec: ServerSpec, clause: str) -> ServerDidNotStart:
    """Build the error for a server whose spec cannot be used; `clause` is the reason."""
    return ServerDidNotStart(f'server "{spec.name}" did not start: {clause}', server=spec.name, clause=clause)
