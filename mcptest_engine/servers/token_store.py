"""The tokens that `mcptest login` stores: one file for each URL under `~/.mcptest/auth`, readable by this user only.

    ~/.mcptest/auth/<sha256 of the URL>.json    one token, mode 0600, written whole or not at all
    ~/.mcptest/auth/<sha256 of the URL>.lock    held while the token is refreshed

The lock is polled, because waiting in the kernel could not be cancelled, and another process may hold it for as long as an
authorization server takes to answer.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import McptestError
from mcptest_engine.servers.urls import login_command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_TEXTS = ("refresh_token", "scope", "client_id", "client_secret", "token_endpoint", "resource", "issuer")
_LARGEST = 1024 * 1024
_PAUSE_SECONDS = 0.02


class StoredToken(NamedTuple):
    """The token of one login at `url`, and what is needed to refresh it.

    `expires_at_unix` and `last_refreshed` are seconds since 1970; without an expiry the server named none. `auth_method` is how
    the client authenticates at `token_endpoint`: "none", "client_secret_basic" or "client_secret_post".
    """

    url: str
    access_token: str
    last_refreshed: float
    token_type: str = "Bearer"
    refresh_token: str | None = None
    expires_at_unix: float | None = None
    scope: str | None = None
    client_id: str | None = None
    client_secret: str | None = None
    auth_method: str = "none"
    token_endpoint: str | None = None
    resource: str | None = None
    issuer: str | None = None

    def __repr__(self) -> str:
        return f"StoredToken(url={self.url!r}, …)"  # a traceback must not show a token

    @property
    def can_be_refreshed(self) -> bool:
        """Whether there is a refresh token, and an endpoint for it."""
        return bool(self.refresh_token and self.token_endpoint)

    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return tuple(secret for secret in (self.access_token, self.refresh_token, self.client_secret) if secret)


class StoreTrouble(McptestError):
    """A token file that cannot be read, written or locked. Exit 1: neither the command line nor the suite is wrong."""

    stderr_tail = ""


def path_for(url: str) -> Path:
    """The file for the token of exactly this URL, whether it exists or not."""
    home = os.path.expanduser("~")  # noqa: PTH111 - does not raise where there is none
    name = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
    return Path(home, ".mcptest", "auth", f"{name}.json")


def shown_path(path: Path) -> str:
    """`path` with the home directory as `~`."""
    home = os.path.expanduser("~")  # noqa: PTH111
    text = str(path)
    return f"~{text[len(home) :]}" if len(home) > 1 and text.startswith(f"{home}/") else text


def load(url: str) -> StoredToken | None:
    """The token for exactly this URL; None when there is none. Raises: StoreTrouble for a file without a token of mcptest."""
    path = path_for(url)
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    except OSError as wrong:
        raise _trouble("cannot be read", path, wrong) from wrong
    token = _decode_token(data)
    if token is None or token.url != url:
        what = "contains no token of mcptest" if token is None else "belongs to another URL"
        hint = f"`{login_command(url)}` writes it again; `--logout` removes it"
        raise StoreTrouble(f"the file of the stored token, {shown_path(path)}, {what}", hint=hint)
    return token


def stored() -> tuple[tuple[StoredToken, ...], tuple[Path, ...]]:
    """Every stored token, by URL, and the files that hold none or cannot be read. Never raises."""
    tokens, others = list[StoredToken](), list[Path]()
    try:
        paths = sorted(path_for("").parent.glob("*.json"))
    except OSError:
        paths = []
    for path in paths:
        try:
            with path.open("rb") as file:
                token = _decode_token(file.read(_LARGEST + 1))
        except OSError:
            token = None
        if token is None:
            others.append(path)
        else:
            tokens.append(token)
    return tuple(sorted(tokens, key=lambda token: token.url)), tuple(others)


def save(token: StoredToken) -> Path:
    """Write the token to its file and return the path. Raises: StoreTrouble."""
    from mcptest_engine.workspace.atomic import write_atomic

    path = prepare(token.url)
    members = {name: value for name, value in token._asdict().items() if value is not None}
    try:
        write_atomic(path, json.dumps(members, indent=2).encode() + b"\n", mode=0o600)
    except OSError as wrong:
        raise _trouble("cannot be written", path, wrong) from wrong
    return path


def remove(url: str) -> bool:
    """Delete the token for exactly this URL, even from a damaged file; False when there was none. Raises: StoreTrouble."""
    path = path_for(url)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as wrong:
        raise _trouble("cannot be removed", path, wrong) from wrong
    return True


def prepare(url: str) -> Path:
    """Create the directory, mode 0700, and return the token's path. Raises: StoreTrouble when it is not writable.

    Called before a login begins and before a refresh token is used, so that the new token can be stored.
    """
    path = path_for(url)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent.stat().st_mode & 0o077:
            path.parent.chmod(0o700)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as wrong:
        raise _trouble("cannot be written", path, wrong) from wrong
    return path


@contextlib.asynccontextmanager
async def locked(url: str, patience_seconds: float) -> AsyncIterator[None]:
    """Hold the lock of all processes for refreshing the token of `url`.

    Raises: StoreTrouble when the lock cannot be made, or another process holds it for all of `patience_seconds`.
    """
    path = prepare(url).with_suffix(".lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as wrong:
        raise _trouble("cannot be locked", path, wrong) from wrong
    try:
        await _take(descriptor, path, patience_seconds)
        yield
    finally:
        os.close(descriptor)  # which releases the lock


async def _take(descriptor: int, path: Path, patience_seconds: float) -> None:
    import asyncio

    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"the stored token is being refreshed by another process: {shown_path(path)} stays locked"
                raise StoreTrouble(message) from None
        except OSError as wrong:  # a file system without locks
            raise _trouble("cannot be locked", path, wrong) from wrong
        else:
            return
        await asyncio.sleep(_PAUSE_SECONDS)


def _decode_token(data: bytes) -> StoredToken | None:
    """Parse a token file; None when it is damaged, foreign, or of a later version."""
    try:
        members: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(members, dict) or not all(isinstance(members.get(key), str) for key in ("url", "access_token")):
        return None
    if not isinstance(members.get("last_refreshed"), int | float) or not members["access_token"]:
        return None
    if any(not isinstance(members.get(key), str | None) for key in (*_TEXTS, "token_type", "auth_method")):
        return None
    if not isinstance(members.get("expires_at_unix"), int | float | None):
        return None
    return StoredToken(**{key: value for key, value in members.items() if key in StoredToken._fields})


def _trouble(what: str, path: Path, wrong: OSError) -> StoreTrouble:
    hints = {
        errno.EROFS: "the file system is read-only",
        errno.EACCES: "it must belong to you and be writable",
        errno.ENOSPC: "free some space on the disk",
    }
    reason = wrong.strerror or str(wrong)
    return StoreTrouble(f"the stored token {what}: {shown_path(path)}: {reason}", hint=hints.get(wrong.errno or 0))
