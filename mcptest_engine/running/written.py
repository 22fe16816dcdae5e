"""Files that servers write themselves: a run that is started because such a file has changed changes it again, for ever.

A person may well save a source while a run is on, and again. So sources and suites are never taken for such files, and others
only when they have changed with several runs, one after the other.
"""

from __future__ import annotations

import os

RUNS_IN_A_ROW = 3
WRITTEN_WITHIN_SECONDS = 2.0
"""A change is told so long after it was made, at most: one so soon after a run may be its doing."""
SOURCES = frozenset(
    {".yml", ".yaml", ".env", ".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php", ".go"}
    | {".lua", ".pl", ".rs", ".java", ".kt", ".cs", ".sh", ".toml"}
)


class WrittenFiles:
    """Counts with how many runs each file has changed since it last did without one."""

    def __init__(self) -> None:
        self.given_up: set[str] = set()
        self._runs: dict[str, set[object]] = {}

    def changed(self, path: str, *, run: object) -> bool:
        """A file has changed, `run` being what tells the run apart that was on, None for none.

        True when that has to be the runs' own doing. It stays so until the file changes outside of a run.
        """
        if run is None:
            self._runs.pop(path, None)
            self.given_up.discard(path)
            return False
        if os.path.splitext(path)[1] in SOURCES or os.path.basename(path) == ".env":  # noqa: PTH119, PTH122
            return False
        if path in self.given_up:
            return True
        runs = self._runs.setdefault(path, set())
        runs.add(run)
        if len(runs) < RUNS_IN_A_ROW:
            return False
        self.given_up.add(path)
        return True
