"""The console script: `--version` and `mock` answered before anything else is imported, then the engine's commands."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit with its code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from mcptest_engine import __version__

        sys.stdout.write(f"mcptest {__version__}\n")
        return
    from mcptest_engine.cli.main import main as run_command

    sys.exit(run_command(arguments))


if __name__ == "__main__":
    main()
