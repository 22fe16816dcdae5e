"""The ids of a suite's tests: `suite-path::kind::full name`, with `#2` and so on where two would be equal.

Source: decisions 14. The plan of a run and whoever shows a suite that is not running number them alike.
"""

from __future__ import annotations


class DeclaredIds:
    """Gives out ids in declared order; `path` is the suite's as records tell it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: dict[str, int] = {}
        self._taken: set[str] = set()

    def take(self, kind: str, name: str) -> tuple[str, int]:
        """The id of the next test, and its number among those of the same name, from 1."""
        case_id = f"{self._path}::{kind}::{name}"
        count = self._seen[case_id] = self._seen.get(case_id, 0) + 1
        while count > 1 and f"{case_id} #{count}" in self._taken:  # a test may be called "a #2"
            count = self._seen[case_id] = count + 1
        own_id = case_id if count == 1 else f"{case_id} #{count}"
        self._taken.add(own_id)
        return own_id, count
