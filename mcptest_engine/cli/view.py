"""`mcptest view`: the saved runs, in a browser."""

from __future__ import annotations

import os
import sys
import threading

import click

from mcptest_engine.cli.common import find_here
from mcptest_engine.core.environment import is_ci


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port. [default: any free port]"
)
@click.option("--no-open", is_flag=True, help="Only print the address, and open no browser.")
def command(port: int, no_open: bool) -> None:
    """Show the saved runs of this workspace in a browser: lists, reports, trends, comparisons.

    It listens on loopback only and never writes. Ctrl-C ends it.

    \b
    Example:
      mcptest view --port 8099 --no-open
    """
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.reporting.viewer.server import listening, serve

    workspace = find_here()
    listener = listening(port)

    def announce(url: str) -> None:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        sys.stderr.write(f"listening: the runs of {one_line(str(workspace.root))} are shown until Ctrl-C\n")
        sys.stderr.flush()
        if not no_open and _has_browser():
            threading.Thread(target=_open, args=(url,), daemon=True).start()

    serve(workspace, listener, announce)


def _has_browser() -> bool:
    """Whether a browser would open where the user sees it."""
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY") or is_ci(os.environ):
        return False
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        sys.stderr.write("no browser was opened; open the address yourself\n")
