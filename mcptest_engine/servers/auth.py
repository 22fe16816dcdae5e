"""Decides which secrets may be sent where, and describes HTTP 401 and 403.

A token is sent to https or to this machine only, and never along a redirect to another origin. The failure for a 401 or 403 has
three lines: the server's answer, which setting to correct, and the command that diagnoses it. A `ServerSpec` does not say
whether a token of `mcptest login` was sent, so the token store is read again for that message.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from mcptest_engine.core.errors import AuthFailed, Refusal
from mcptest_engine.servers.urls import is_loopback, login_command, may_take_secrets, shown_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.token_store import StoredToken

_LONGEST_CHALLENGE = 500
_PARAMETER = r'(?:^|[\s,]){name}\s*=\s*(?:"([^"]*)"|([^\s,]+))'


def check_secrets_may_go(spec: ServerSpec, *, with_token: bool = False) -> None:
    """Raises: AuthFailed when a secret header, a token, or a password in the URL would be sent unencrypted over a network.

    A proxy counts as a network. `with_token`: a stored token would be sent, which the spec does not mention.
    """
    assert spec.url is not None
    parts = urlsplit(spec.url)
    secret = bool(spec.secret_headers) or spec.oauth is not None or parts.password is not None or with_token
    if not secret or parts.scheme == "https":
        return
    if spec.secret_headers:
        what = "the bearer token is" if spec.auth == "bearer" else f"the header `{min(spec.secret_headers)}` is"
    else:
        what = "the OAuth token is" if spec.oauth is not None or with_token else "the password in the URL is"
    if may_take_secrets(spec.url):
        _check_proxy(spec, what)
        return
    raise AuthFailed.because(
        f"{what} not sent to {shown_url(spec.url)}: tokens go only to https or to this machine",
        server=spec.name,
        hint="use an https URL",
    )


def _check_proxy(spec: ServerSpec, what: str) -> None:
    """Raises: AuthFailed when the proxy for an http URL, which can read everything, is on another machine."""
    from mcptest_engine.servers.http_proxies import proxy_for  # rarely needed: secrets mostly go to https

    proxy = proxy_for(spec, spec.url or "")
    if proxy is None or is_loopback(urlsplit(proxy).hostname or ""):
        return
    raise AuthFailed.because(
        f"{what} not sent to {shown_url(spec.url or '')} through the proxy {shown_url(proxy)}, "
        "which could read it: tokens go only to https or to this machine",
        server=spec.name,
        hint="use an https URL, or no `http.proxy`",
    )


def refused(spec: ServerSpec, status: int, challenge: str | None) -> AuthFailed:
    """Build the failure for HTTP 401 or 403; `challenge` is the `WWW-Authenticate` header."""
    assert spec.url is not None
    what, remedy, may_log_in = _input_to_mend(spec, challenge)
    advertised = _advertised(challenge)
    url = shown_url(spec.url)
    doctor = f"mcptest doctor --url {shlex.quote(url)}"
    if spec.bearer_token_env:
        doctor += f" --bearer-token-env {shlex.quote(spec.bearer_token_env)}"
    clause = f"HTTP {status} from {url}, server advertises {advertised}.\n{what};\n{remedy}. Diagnose with: {doctor}"
    failed = AuthFailed.because(clause, server=spec.name)
    failed.refusal = Refusal(status, advertised, what, remedy, may_log_in)
    return failed


def takes_stored_token(spec: ServerSpec) -> bool:
    """Whether a token of `mcptest login` would be sent: the suite has no other credentials for this server."""
    own = spec.oauth is not None or spec.bearer_token_env is not None
    return spec.url is not None and not own and not any(name.lower() == "authorization" for name in spec.headers)


def challenge_parameter(challenge: str | None, name: str) -> str | None:
    """A parameter of a `WWW-Authenticate` header, such as "scope". Source: RFC 9110 section 11.6.1."""
    found = re.search(_PARAMETER.format(name=re.escape(name)), challenge or "", re.IGNORECASE)
    return None if found is None else found[1] or found[2]


def _advertised(challenge: str | None) -> str:
    if not challenge or not challenge.strip():
        return "no scheme"
    challenge = challenge.strip()
    if len(challenge) > _LONGEST_CHALLENGE:
        challenge = challenge[:_LONGEST_CHALLENGE] + "…"
    scheme, _, parameters = challenge.partition(" ")
    return f"{scheme} ({parameters.strip()})" if parameters.strip() else scheme


class _Mend(NamedTuple):
    """What was wrong with the credentials, and how to fix it; `may_log_in` is as in `Refusal`."""

    what: str
    remedy: str
    may_log_in: bool = False


def _input_to_mend(spec: ServerSpec, challenge: str | None) -> _Mend:
    if spec.oauth is not None:
        return _of_client_credentials(spec.oauth, challenge)
    variable = spec.bearer_token_env
    if variable and "authorization" not in spec.secret_headers:
        what = f"env var `{variable}` (named by `bearer_token_env`) is not set or is empty in this process"
        return _Mend(what, "export a valid token into it")
    if variable:
        what = f"the token in env var `{variable}` (named by `bearer_token_env`) was not accepted"
        return _Mend(what, "export a valid token into it")
    stored = _stored(spec)
    if stored is not None:
        return _of_login(stored, challenge)
    if spec.secret_headers:
        names = ", ".join(f"`{name}`" for name in sorted(spec.secret_headers))
        return _Mend(f"the credentials in {names} (from `headers`) were not accepted", "correct what `headers` names")
    remedy = "name the env var that holds one with `bearer_token_env`"
    tells_login = spec.url is not None and challenge_parameter(challenge, "resource_metadata") is not None
    if tells_login:
        remedy += f", or log in with: {login_command(spec.url or '')}"
    return _Mend("no token was sent", remedy, may_log_in=not tells_login)


def _of_client_credentials(oauth: Mapping[str, object], challenge: str | None) -> _Mend:
    variable = oauth.get("client_secret_env")
    secret = f"env var `{variable}` (named by `client_secret_env`)"
    what = f"the token that client `{oauth.get('client_id')}` was given (`auth.oauth`, client credentials) was not accepted"
    wanted = challenge_parameter(challenge, "scope")
    if challenge_parameter(challenge, "error") == "insufficient_scope" and wanted:
        return _Mend(what, f'give the client the scope "{wanted}" and name it with `scope`')
    return _Mend(what, f"correct `client_id`, the secret in {secret}, or the `scope`")


def _of_login(stored: StoredToken, challenge: str | None) -> _Mend:
    import time

    over = stored.expires_at_unix is not None and stored.expires_at_unix <= time.time()
    what = "the token stored by `mcptest login` was not accepted"
    if over and not stored.can_be_refreshed:
        what = "the token stored by `mcptest login` has expired and cannot be refreshed"
    wanted = challenge_parameter(challenge, "scope")
    if challenge_parameter(challenge, "error") == "insufficient_scope" and wanted:
        return _Mend(what, f"log in with the scope that is asked for: {login_command(stored.url, '--scope', wanted)}")
    return _Mend(what, f"log in again with: {login_command(stored.url)}")


def _stored(spec: ServerSpec) -> StoredToken | None:
    """The stored token of this URL, where that was sent."""
    if spec.url is None or not takes_stored_token(spec):
        return None
    from mcptest_engine.servers import token_store

    try:
        return token_store.load(spec.url)
    except token_store.StoreTrouble:
        return None
