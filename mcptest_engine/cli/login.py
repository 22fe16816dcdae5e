"""`mcptest login`: get a token for a server and store it for runs on its URL; show it; delete it."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from mcptest_engine.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcptest_engine.servers.oauth_device import DeviceCode
    from mcptest_engine.servers.token_store import StoredToken

_DEFAULT_TIMEOUT_SECONDS = 300.0


@click.command()
@click.argument("url")
@click.option("--device", is_flag=True, help="Enter a code on another machine, in place of a browser here.")
@click.option("--no-browser", is_flag=True, help="Print the address to open; the answer still comes to this machine.")
@click.option(
    "--scope",
    metavar="SCOPES",
    help="Request these scopes in place of those that the server names; separated by spaces.",
)
@click.option(
    "--client-id", metavar="ID", help="Your client at the authorization server, if mcptest cannot register itself."
)
@click.option("--client-secret-env", metavar="NAME", help="The variable that holds that client's secret.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=_DEFAULT_TIMEOUT_SECONDS,
    metavar="SECONDS",
    show_default=True,
    help="How long to wait for the login.",
)
@click.option(
    "--status", is_flag=True, help="Show whether a token is stored and when it expires; exit 1 if there is none."
)
@click.option("--logout", is_flag=True, help="Remove the stored token.")
@click.pass_context
def command(ctx: click.Context, /, url: str, **flags: object) -> None:
    """Log in to a server with OAuth and store the token. Every run on this URL then uses it.

    \b
    Example:
      mcptest login https://api.example.com/mcp
    """
    _check(url, flags)
    if flags["status"]:
        ctx.exit(_status(url))
    if flags["logout"]:
        ctx.exit(_logout(url))
    ctx.exit(_login(url, flags))


def _check(url: str, flags: dict[str, Any]) -> None:
    from mcptest_engine.suite.secrets import has_userinfo

    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable() and " " not in url
        _ = parts.port
    except ValueError:
        sound = False
    if not sound:
        hint = "for example: mcptest login https://api.example.com/mcp"
        raise UsageError("`mcptest login` needs the http or https URL of a server", hint=hint)
    if has_userinfo(url):
        raise UsageError(
            "the URL must not contain a user name or password", hint="log in without them: mcptest login URL"
        )
    if flags["status"] and flags["logout"]:
        raise UsageError("--status and --logout cannot be combined", hint="use one of them")
    if flags["device"] and flags["no_browser"]:
        raise UsageError("--device needs no browser here anyway", hint="give one of --device and --no-browser")
    if flags["client_secret_env"] and not flags["client_id"]:
        raise UsageError("--client-secret-env requires --client-id")
    scope = flags["scope"]
    if scope is not None and not (
        scope.isascii() and scope.isprintable() and scope.strip() and not {'"', "\\"} & {*scope}
    ):
        raise UsageError("--scope needs scopes separated by spaces", hint='for example: --scope "read write"')


def _login(url: str, flags: dict[str, Any]) -> int:
    from mcptest_engine.servers import token_store
    from mcptest_engine.servers.urls import may_take_secrets

    if not may_take_secrets(url):
        raise UsageError(
            f"no login at {_url_text(url)}: tokens go only to https or to this machine", hint="use an https URL"
        )
    secret = _client_secret(flags["client_secret_env"])
    token_store.prepare(url)  # checked first, so that nobody logs in for nothing
    from mcptest_engine.servers.oauth_login import LoginRequest, log_in, log_in_by_device

    login = LoginRequest(url, scope=flags["scope"], client_id=flags["client_id"], client_secret=secret)
    seconds = flags["timeout_seconds"]
    if flags["device"]:
        steps = log_in_by_device(login, _show_code, seconds)
    else:
        steps = log_in(login, _print_address if flags["no_browser"] else _open_browser, seconds)
    token = _run_login(_stored_token(url, steps))
    if token is None:
        sys.stderr.write("\ninterrupted: nothing was stored\n")
        return ExitCode.INTERRUPTED
    _print_token(token)
    return ExitCode.PASSED


def _client_secret(variable: str | None) -> str | None:
    if variable is None:
        return None
    secret = os.environ.get(variable)
    if not secret:
        message = f"env var `{variable}`, named by --client-secret-env, is not set or is empty"
        raise UsageError(message, hint="export the client's secret into it")
    return secret


async def _stored_token(url: str, steps: Coroutine[object, object, StoredToken]) -> StoredToken:
    """Store the token of a login. While a run refreshes the old one, this waits for its lock."""
    from mcptest_engine.servers import token_store

    token = await steps
    async with token_store.locked(url, 60.0):
        token_store.save(token)
    return token


def _run_login(steps: Coroutine[object, object, StoredToken]) -> StoredToken | None:
    """Run the login's steps and return the token; None after Ctrl-C. The token is stored completely or not at all."""
    import asyncio

    from mcptest_engine.cli.ending import ending_on_signals

    async def main() -> StoredToken:
        task = asyncio.ensure_future(steps)
        with ending_on_signals(task, quietly=True):
            return await task

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        return None


def _open_browser(address: str) -> None:
    """Open the browser in a thread: some browsers do not return."""
    import threading

    from mcptest_engine.core.sanitise import sanitise

    def open_it() -> None:
        import webbrowser

        try:
            opened = webbrowser.open(address)
        except (webbrowser.Error, OSError):
            opened = False
        if not opened:
            sys.stderr.write("no browser could be started: open the address above yourself\n")

    sys.stderr.write(f"opening your browser to log in; if it does not open, go to\n  {sanitise(address)}\n")
    sys.stderr.flush()
    threading.Thread(target=open_it, daemon=True).start()


def _print_address(address: str) -> None:
    from mcptest_engine.core.sanitise import sanitise

    sys.stderr.write("open this address in a browser on this machine to log in\n")
    sys.stderr.flush()
    sys.stdout.write(f"{sanitise(address)}\n")
    sys.stdout.flush()


def _show_code(code: DeviceCode) -> None:
    """Print what to do on the other device; address and code go to stdout, everything else to stderr."""
    from mcptest_engine.servers.failures import duration

    sys.stderr.write(
        f"open the address on any machine and enter the code; it is valid for {duration(code.lifetime_seconds)}\n"
    )
    sys.stderr.flush()
    sys.stdout.write(f"{code.verification_uri}\ncode: {code.user_code}\n")
    if code.complete_uri is not None and code.complete_uri != code.verification_uri:
        sys.stdout.write(f"or, with the code in it: {code.complete_uri}\n")
    sys.stdout.flush()


def _print_token(token: StoredToken) -> None:
    from mcptest_engine.servers import token_store

    path = token_store.shown_path(token_store.path_for(token.url))
    sys.stdout.write(f"logged in at {_url_text(token.url)}\n")
    sys.stdout.write(f"the token is stored in {path} and {_until(token)}\n")
    sys.stdout.write("every run on this URL uses it, unless its suite has an `auth`\n")


def _status(url: str) -> int:
    from mcptest_engine.servers import token_store

    token = token_store.load(url)
    if token is None:
        sys.stdout.write(f"no token is stored for {_url_text(url)}\n")
        return ExitCode.FAILED
    path = token_store.shown_path(token_store.path_for(url))
    sys.stdout.write(f"a token for {_url_text(url)} is stored in {path} and {_until(token)}\n")
    if token.scope:
        from mcptest_engine.core.sanitise import one_line

        sys.stdout.write(f"scope: {one_line(token.scope, 500)}\n")
    return ExitCode.PASSED


def _logout(url: str) -> int:
    from mcptest_engine.servers import token_store

    if token_store.remove(url):
        sys.stdout.write(
            f"the token for {_url_text(url)} is removed; the server may still accept it until it expires\n"
        )
    else:
        sys.stdout.write(f"no token is stored for {_url_text(url)}\n")
    return ExitCode.PASSED


def _until(token: StoredToken) -> str:
    """How long the token is valid, as a clause."""
    renewed = "; it is refreshed automatically" if token.can_be_refreshed else ""
    end = token.expires_at_unix
    if end is None:
        return f"valid until the server revokes it{renewed}"
    if end <= time.time():
        rest = " and is refreshed when it is next used" if token.can_be_refreshed else "; log in again"
        return f"expired at {_moment(end)}{rest}"
    return f"valid until {_moment(end)}{renewed}"


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return "a time after the year 9999"


def _url_text(url: str) -> str:
    from mcptest_engine.servers.urls import shown_url

    return shown_url(url)
