"""Which secrets may go where, and how a refusal is told.

A token goes to https or to this machine, never elsewhere and never along a redirect to another origin. A 401 or 403 is
told in three lines: what the server said, which input to mend, and the command that looks closer.
"""

from __future__ import annotations

import ipaddress
import shlex
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from mcptest_engine.core.errors import AuthFailed

if TYPE_CHECKING:
    from mcptest_engine.servers.spec import ServerSpec


def check_secrets_may_go(spec: ServerSpec) -> None:
    """Raises: AuthFailed when a secret header, or a password in the URL, would travel in the clear over a network."""
    assert spec.url is not None
    parts = urlsplit(spec.url)
    secret = bool(spec.secret_headers) or parts.password is not None
    if not secret or parts.scheme == "https" or is_loopback(parts.hostname or ""):
        return
    if not spec.secret_headers:
        what = "the password in the URL is"
    else:
        what = "the bearer token is" if spec.auth == "bearer" else f"the header `{min(spec.secret_headers)}` is"
    raise AuthFailed(
        f"auth failed: {what} not sent to {shown_url(spec.url)}: tokens go only to https or to this machine",
        server=spec.name,
        hint="use an https URL",
    )


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine by its name or address alone, without a look-up."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refused(spec: ServerSpec, status: int, challenge: str | None) -> AuthFailed:
    """The failure for HTTP 401 or 403; `challenge` is the `WWW-Authenticate` header."""
    assert spec.url is not None
    what, remedy = _input_to_mend(spec)
    url = shown_url(spec.url)
    doctor = f"mcptest doctor --url {shlex.quote(url)}"
    if spec.bearer_token_env:
        doctor += f" --bearer-token-env {shlex.quote(spec.bearer_token_env)}"
    message = (
        f"auth failed: HTTP {status} from {url}, server advertises {_advertised(challenge)}.\n"
        f"{what};\n"
        f"{remedy}. Diagnose with: {doctor}"
    )
    return AuthFailed(message, server=spec.name)


def shown_url(url: str) -> str:
    """`url` without what may be secret in it: user, password, query, fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _advertised(challenge: str | None) -> str:
    if not challenge or not challenge.strip():
        return "no scheme"
    scheme, _, parameters = challenge.strip().partition(" ")
    return f"{scheme} ({parameters.strip()})" if parameters.strip() else scheme


def _input_to_mend(spec: ServerSpec) -> tuple[str, str]:
    variable = spec.bearer_token_env
    if variable and "authorization" not in spec.secret_headers:
        what = f"env var `{variable}` (named by `bearer_token_env`) is not set or is empty in this process"
        return what, "export a valid token into it"
    if variable:
        return (
            f"the token in env var `{variable}` (named by `bearer_token_env`) was not accepted",
            "export a valid token into it",
        )
    if spec.secret_headers:
        names = ", ".join(f"`{name}`" for name in sorted(spec.secret_headers))
        return f"the credentials in {names} (from `headers`) were not accepted", "mend what `headers` names"
    return "no token was sent", "name the env var that holds one with `bearer_token_env`"
