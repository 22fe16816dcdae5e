"""The console script: `--version` answered before anything else is imported, the workbench opened, or the engine's command run.

The engine's command line may not import the workbench, so what opens it is decided here.
"""

from __future__ import annotations

import os
import sys

from mcptest_engine.cli.streams import open_streams


def main() -> None:
    """Run the command line of this process and exit with its code."""
    arguments = sys.argv[1:]
    open_streams()
    if arguments in (["--version"], ["-V"]):
        from mcptest_engine import __version__

        try:
            sys.stdout.write(f"mcptest {__version__}\n")
        except OSError:
            _leave(1)
        _leave(0)
    import gc
    import signal

    # nothing made while starting up is garbage: looking for it took a tenth of the time
    gc.set_threshold(100_000, 20, 100)
    completes = "_MCPTEST_COMPLETE" in os.environ  # a shell asks what may follow
    if not completes and (not arguments or arguments[0] in ("tui", "--plain") or arguments == ["demo"]):
        from mcptest_tui.opening import open_workbench

        code = open_workbench(arguments)
        if code is not None:
            _leave(code)
    # Nothing is started yet, so Ctrl-C may simply leave; a run puts its own handler in this one's place.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from mcptest_engine.cli.main import main as run_command

    _leave(run_command(arguments))


def _leave(code: int) -> None:
    """Exit as `sys.exit` would, but without taking the interpreter apart, which costs 5 to 10 ms of every command."""
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # closed, or on a disk that is full
            code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
