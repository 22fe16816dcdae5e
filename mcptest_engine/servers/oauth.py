"""`auth_for` chooses the `httpx2.Auth` that adds the token of a server's spec to its requests.

There are two kinds: OAuth client credentials of the suite, whose token is held in memory and requested once for each server and
run; and a token that `mcptest login` stored for exactly this URL. For other servers almost nothing is imported. Tokens are sent
only to https or to this machine.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcptest_engine.servers import auth
from mcptest_engine.servers.token_store import path_for
from mcptest_engine.servers.urls import may_take_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.token_auth import TokenAuth

_known: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[object, ...], TokenAuth]] = WeakKeyDictionary()
"""All sessions of a server share its token: a restart, or a test's own session, requests none. Ends with the event loop."""


def auth_for(spec: ServerSpec) -> TokenAuth | None:
    """The `Auth` of a URL server, or None when its spec names none and `mcptest login` stored none.

    Called on a running event loop. Raises: AuthFailed for a client secret that is not set, a token that would be sent
    unencrypted, and a stored token that cannot be read.
    """
    if spec.oauth is not None:
        return _by_client_credentials(spec)
    if auth.takes_stored_token(spec) and os.path.exists(path_for(spec.url or "")):  # noqa: PTH110
        return _by_stored_login(spec)
    return None


def _by_client_credentials(spec: ServerSpec) -> TokenAuth:
    from mcptest_engine.servers.client_credentials import ClientCredentials
    from mcptest_engine.servers.token_auth import TokenAuth

    auth.check_secrets_may_go(spec)
    oauth = spec.oauth or {}
    key = (spec.name, spec.url, spec.http, *sorted((name, str(value)) for name, value in oauth.items()))
    return _shared(key, lambda: TokenAuth(spec.url or "", ClientCredentials(spec, oauth)))


def _by_stored_login(spec: ServerSpec) -> TokenAuth | None:
    from mcptest_engine.servers.stored_login import stored_login
    from mcptest_engine.servers.token_auth import TokenAuth

    login = stored_login(spec)
    if login is None or not may_take_secrets(spec.url or ""):
        return None
    key = (spec.name, spec.url, spec.http, *login.secrets())
    return _shared(key, lambda: TokenAuth(spec.url or "", login))


def _shared(key: tuple[object, ...], make: Callable[[], TokenAuth]) -> TokenAuth:
    of_loop = _known.setdefault(asyncio.get_running_loop(), {})
    if key not in of_loop:
        of_loop[key] = make()
    return of_loop[key]
