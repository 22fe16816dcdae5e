"""Files that servers write themselves: a run that is started because such a file has changed changes it again, for ever.

A person may well save a source while a run is on, and again. So sources and suites are never taken for such files, and others
only when they have changed with several runs, one after the other.
"""

from __future__ import annotations

import os

RUNS_IN_A_ROW = 3
SOURCES = frozenset(
    {".yml", ".yaml", ".env", ".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php", ".go"}
    | {".lua", ".pl", ".rs", ".java", ".kt", ".cs", ".sh", ".toml"}
)


class WrittenFiles:
    """Counts with how many runs in a row each file has changed."""

    def __init__(self) -> None:
        self.given_up: set[str] = set()
        self._runs: dict[str, int] = {}

    def changed(self, path: str, *, during_run: bool) -> bool:
        """A file has changed; true when that has to be the runs' own doing, which it then stays."""
        if not during_run:
            self._runs.pop(path, None)
            return False
        if os.path.splitext(path)[1] in SOURCES or os.path.basename(path) == ".env":  # noqa: PTH119, PTH122
            return False
        self._runs[path] = self._runs.get(path, 0) + 1
        if self._runs[path] < RUNS_IN_A_ROW:
            return False
        self.given_up.add(path)
        return True
