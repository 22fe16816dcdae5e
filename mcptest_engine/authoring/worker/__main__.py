"""The process: that of `running.worker`, with the larger service."""

from __future__ import annotations

from mcptest_engine.authoring.worker.service import AuthoringService
from mcptest_engine.running.worker.__main__ import main as serve


def main() -> None:
    """Serve until stdin ends, then leave."""
    serve(AuthoringService)


if __name__ == "__main__":
    main()
