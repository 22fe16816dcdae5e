"""The ids of a suite's tests: `suite-path::kind::full name`, with `#2` and so on where two would be equal.

Source: decisions 14. The plan of a run and whoever shows a suite that is not running number them alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.kinds import TestKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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


def names_of(kind: TestKind, entry: Mapping[str, Any], name: str) -> Iterator[tuple[TestKind, str]]:
    """The tests that an entry of a suite comes to: the entry itself, or what a composition has of cases and judged metrics.

    `name` is the entry's. The entry may be anything in a suite that is not sound.
    """
    if kind is not TestKind.COMPOSITION:
        yield kind, name
        return
    cases, graded = entry.get("cases"), entry.get("eval")
    rows = (
        [row["name"] for row in cases if isinstance(row, dict) and isinstance(row.get("name"), str)]
        if (isinstance(cases, list))
        else [None]
    )
    for row in rows:
        full = name if row is None else name_of_case(name, row)
        yield kind, full
        for metric in graded if isinstance(graded, dict) else ():
            yield TestKind.EVAL, name_of_metric(full, str(metric))


def name_of_case(name: str, case: str) -> str:
    """The full name of a composition run with one row of its data. Source: decisions 14, full names."""
    return f"{name} [{case}]"


def name_of_metric(name: str, metric: str) -> str:
    """The name of what a model judges of a test."""
    return f"{name}: {metric}"
