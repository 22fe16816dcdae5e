"""The commands that open the workbench, drawn or as plain lines: whether it can open here, and opening it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

USAGE = """\
Usage: mcptest tui [--plain [--color]] [PATH…]

  Open the workbench on the suites under these paths (default: here). The same as
  `mcptest` without arguments.

  Example:
    mcptest tui tests/weather.yml

Options:
  --plain     Commands and results as lines of text, for screen readers and scripts.
  --color     With --plain, colour the verdicts.
  -h, --help  Show this message and exit.
"""
INVALID = 2
COLLECT_SECONDS = 2.0
"""After so long the first screen is drawn, and the suites are read."""


def open_workbench(arguments: list[str]) -> int | None:
    """The exit code, or None when the engine's command line has to answer."""
    demo = arguments == ["demo"]
    paths = [] if demo else arguments[arguments[:1] == ["tui"] :]
    if any(path in ("-h", "--help") for path in paths):
        sys.stdout.write(USAGE)
        return 0
    if not _has_folder():
        return _refused("the current folder no longer exists", "go to another one, such as `cd ~`")
    plain, color = "--plain" in paths, "--color" in paths
    paths = [path for path in paths if path not in ("--plain", "--color")]
    unknown = next((path for path in paths if path.startswith("-") and path != "--"), None)
    if unknown is not None:
        return _refused(f"no such option: {unknown}", "see `mcptest tui --help`")
    paths = [path for path in paths if path != "--"]
    if plain:
        from mcptest_tui.plain import run_plain

        return run_plain(paths, color=color)
    obstacle = _obstacle()
    if obstacle is not None:
        return (
            None
            if demo
            else _refused(obstacle, "`mcptest --plain` works with lines of text; or run a suite with `mcptest run`")
        )
    if demo:
        from mcptest_engine.workspace.suite_file import demo_suite

        try:
            paths = [str(demo_suite(Path.cwd()))]
        except OSError:
            return None  # said by the command line
    _draw_on_the_terminal()
    return run_workbench(paths)


def run_workbench(paths: list[str]) -> int:
    """Run the full-screen workbench until the person quits; return the exit code."""
    import gc

    gc.disable()  # nothing made until the first paint is garbage, and looking for it delays that
    os.environ.setdefault("TEXTUAL_FPS", "120")  # read when Textual is imported; halves the time from key to paint
    from mcptest_tui.app import Workbench
    from mcptest_tui.garbage import keep_all

    # Not by `asyncio.run`, which would wait for a thread that reads a suite.
    loop = asyncio.new_event_loop()
    loop.call_later(COLLECT_SECONDS, keep_all)
    code = Workbench(paths).run(loop=loop)
    return code if isinstance(code, int) else 1


def _has_folder() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def _obstacle() -> str | None:
    """Return why no workbench can be drawn here, None when it can."""
    if os.environ.get("TERM", "") in ("dumb", ""):
        return "the workbench needs a full-screen terminal; TERM is " + (os.environ.get("TERM") or "not set")
    for stream, name in ((sys.stdin, "stdin"), (sys.stdout, "stdout")):
        if stream is None or not stream.isatty():
            return f"the workbench needs a terminal, and {name} is not one"
    return None


def _draw_on_the_terminal() -> None:
    """Draw on stdout where stderr, which Textual uses, is a file or closed."""
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]


def _refused(message: str, hint: str) -> int:
    sys.stderr.write(f"error: {message}; {hint}\n")
    return INVALID
